package tracer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Advice returns what somebody who has just recorded a run should know of it before
// reading its verdict, each a sentence without a full stop: that it was one process
// without a launcher, and, where it is the first run of its directory, that another
// compiler which is installed would make it faster. What cannot be found out is left
// out.
func Advice(ctx context.Context, dir string, command []string, first bool) []string {
	t, err := trace.OpenDir(dir)
	if err != nil {
		return nil
	}
	r, err := trace.Open(t.Files[0].Path)
	if err != nil {
		return nil
	}
	defer r.Close()
	var event trace.Event
	if err := r.ReadEvent(&event); err != nil { // what is said of the run comes before
		return nil
	}
	var out []string
	program := r.Info("program")
	if t.Ranks == 1 && len(program) > 0 && filepath.Base(program[0]) == filepath.Base(command[0]) {
		out = append(out, fmt.Sprintf("the program ran as one process, without a launcher; to see how processes share memory: mcchk run -- mpiexec -n 2 %s", strings.Join(command, " ")))
	}
	var info BuildInfo
	builds := r.Info("build")
	if first && len(builds) > 0 && json.Unmarshal([]byte(builds[0]), &info) == nil {
		tools := newTools("", os.Environ())
		switch {
		case info.Mode == ModeMixed:
			out = append(out, "only parts of the program are instrumented inline; if all of it is (mcchk doctor says what that needs) it runs faster while it is traced")
		case info.Mode == ModeCall && strings.HasPrefix(info.Compiler, familyGCC) && inlines(ctx, &tools):
			out = append(out, fmt.Sprintf("the program is compiled with %s without mcchk's plug-in; with it (mcchk doctor says what it needs), or with clang, which is installed (mcchk cc --compiler clang), it runs several times faster while it is traced", info.Compiler))
		case info.Mode == ModeCall && !strings.HasPrefix(info.Compiler, "gfortran"):
			out = append(out, "each load and store of the program is a call, which is the slow way; "+fasterThanCalls(info.Compiler))
		}
	}
	return out
}

// inlines reports whether clang is installed, with the llvm-link that inlining needs.
func inlines(ctx context.Context, t *tools) bool {
	clang, err := t.look("clang")
	if err != nil {
		return false
	}
	out, _, err := t.output(ctx, "", clang, "-dumpversion")
	major, _, _ := strings.Cut(strings.TrimSpace(out), ".")
	return err == nil && findLLVMLink(ctx, t, clang, major) != ""
}
