//go:build !quick

package tracer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// Where the kernels' memory lies (testdata/loops/kernels.h).
const (
	arenaStart = 0x200000000000
	arenaSize  = 65536
)

// touch is what a line of a kernel does to a byte of the arena.
type touch struct {
	kernel int
	line   string
	store  bool
	at     uint64
}

// piece is a part of the arena that is a window.
type piece struct{ from, end uint64 }

// kernelRuns is how the same kernels are compiled and run: each touch of the program
// with the logger must be recorded, and no other.
type kernelRuns struct {
	b        *bench
	language Language
	options  []string
	lines    bool // compared too
}

// ways are how kernels are compiled. Loads and stores that the optimizer has made outside
// of loops have no line of their own, and are shown with one beside them.
var ways = map[string][]way{
	"gcc": {
		{"O0", []string{"-O0"}, true},
		{"O1", []string{"-O1"}, false},
		{"O2", []string{"-O2"}, false},
		{"O2 lines", []string{"-O2", "-fno-tree-loop-im", "-fno-tree-pre"}, true},
		{"O3", []string{"-O3", "-march=native"}, false},
	},
	"clang": {
		{"O0", []string{"-O0"}, true},
		{"O1", []string{"-O1"}, false},
		{"O2", []string{"-O2"}, false},
		{"O2 lines", []string{"-O2", "-mllvm", "-licm-max-num-uses-traversed=0"}, true},
		{"O3", []string{"-O3", "-march=native"}, false},
	},
}

type way struct {
	name    string
	options []string
	lines   bool
}

// TestLoopsAreRecordedExactly draws nests of loops and compares what is recorded of them
// with all that the sanitizer's calls announce, and what they compute. MCCHK_KERNELS sets how many are drawn for
// each way of compiling them, MCCHK_KERNELS_SEED the first of the seeds.
func TestLoopsAreRecordedExactly(t *testing.T) {
	t.Parallel()
	need(t, "addr2line")
	kernels, first := numberFrom(t, "MCCHK_KERNELS", 20), uint64(numberFrom(t, "MCCHK_KERNELS_SEED", 0))
	for _, compiler := range []string{"gcc", "clang"} {
		for _, language := range []Language{C, CXX} {
			for _, way := range ways[compiler] {
				first += 1 << 20
				seed := first
				t.Run(fmt.Sprint(compiler, " ", language, " ", way.name), func(t *testing.T) {
					t.Parallel()
					for done := 0; done < kernels; done += maxKernels {
						r := kernelRuns{newBench(t, platform{"mpich", compiler}, nil), language, way.options, way.lines}
						r.check(seed+uint64(done), min(maxKernels, kernels-done))
					}
				})
			}
		}
	}
}

// maxKernels is how many kernels a program has.
const maxKernels = 200

func numberFrom(t *testing.T, variable string, fallback int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}

// check compares kernels of a seed.
func (r *kernelRuns) check(seed uint64, kernels int) {
	b := r.b
	for _, name := range []string{"kernels.h", "arena.h", "opaque.c", "logger.c", "traced.c"} {
		text, err := os.ReadFile(filepath.Join("testdata", "loops", name))
		require.NoError(b.t, err)
		b.write(map[string]string{name: string(text)})
	}
	b.write(map[string]string{"kernels.c": kernelsSource(seed, kernels)})
	r.build()
	want := r.logged()
	require.NotEmpty(b.t, want)
	for _, pieces := range [][]piece{{{0, arenaSize}}, {{29000, 30301}, {31234, 33003}}, {{32900, 32910}}} {
		got := r.recorded(pieces)
		require.Empty(b.t, differences(want, got, pieces), "seed %d, pieces %v", seed, pieces)
		require.Equal(b.t, r.sums("log.sums"), r.sums("sums"), "seed %d, pieces %v: another result", seed, pieces)
	}
}

// sums are what the kernels have left in the arena, one after the other.
func (r *kernelRuns) sums(name string) []string {
	text, err := os.ReadFile(r.b.path(name))
	require.NoError(r.b.t, err)
	return strings.Fields(string(text))
}

// build makes the two programs.
func (r *kernelRuns) build() {
	b, x := r.b, "c"
	if r.language == CXX {
		x = "c++"
	}
	compiler := compilerFor(r.language, b.p.compiler)
	options := append(r.options, "-g", "-fno-strict-aliasing", "-w", "-fno-pie")
	tc := &Toolchain{Family: b.p.compiler, X86: true, Version: "14"}
	instrumented := append(slices.Clone(options), tc.instrumentFlags()...)
	if b.p.compiler == "clang" {
		instrumented = append(instrumented, "-fno-vectorize", "-fno-unroll-loops")
	}
	b.command(nil, compiler, append(instrumented, "-x", x, "-c", "kernels.c", "-o", "logged.o")...)
	b.command(nil, compiler, append(options, "-x", x, "-c", "opaque.c", "-o", "opaque.o")...)
	b.command(nil, b.p.compiler, "-g", "-c", "logger.c", "-o", "logger.o")
	b.command(nil, compiler, "-no-pie", "-Wl,--wrap=memcpy,--wrap=memset", "logged.o", "logger.o", "opaque.o", "-o", "logged", "-lm")
	b.command(nil, "mpicc."+b.p.mpi, "-g", "-c", "traced.c", "-o", "harness.o")
	b.must(r.language, append(options, "-x", x, "-c", "kernels.c", "-o", "kernels.o")...)
	b.must(r.language, "-no-pie", "kernels.o", "harness.o", "opaque.o", "-o", "traced", "-lm")
}

// logged are the touches of the program with the logger.
func (r *kernelRuns) logged() map[touch]bool {
	b := r.b
	b.command(nil, b.path("logged"), "log")
	f, err := os.Open(b.path("log"))
	require.NoError(b.t, err)
	defer f.Close()
	var list []placed
	for s := bufio.NewScanner(f); s.Scan(); {
		var p placed
		var store int
		_, err := fmt.Sscanf(s.Text(), "%d %x %x %d %d", &p.kernel, &p.pc, &p.access.Addr, &p.access.Size, &store)
		require.NoError(b.t, err)
		p.access.Store, p.access.Count = store == 1, 1
		list = append(list, p)
	}
	return r.touches("logged", list)
}

// placed is an access of a kernel with its return address.
type placed struct {
	kernel int
	pc     uint64
	access trace.Access
}

// recorded are the touches in the trace of the other program, with these windows.
func (r *kernelRuns) recorded(pieces []piece) map[touch]bool {
	b := r.b
	dir := b.path(fmt.Sprint("traces-", pieces[0].from))
	command := append(b.launcher(), "-n", "1", b.path("traced"))
	for _, p := range pieces {
		command = append(command, fmt.Sprint(p.from), fmt.Sprint(p.end))
	}
	var out bytes.Buffer
	b.launch(func() {
		exit, err := Run(b.context(), RunOptions{Dir: dir, Command: command, WorkDir: b.dir, Stdout: &out, Stderr: &out, Timeout: testTimeout})
		require.NoError(b.t, err, out.String())
		require.Zero(b.t, exit, out.String())
	})
	file, err := trace.Open(rankFile(dir, 0))
	require.NoError(b.t, err)
	defer file.Close()
	var list []placed
	kernel := 0
	for {
		var ev trace.Event
		err := file.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(b.t, err)
		switch ev.Kind {
		case trace.KindCall:
			if ev.Call.Fn.Name == "MPI_Barrier" {
				kernel++
			}
		case trace.KindAccess:
			list = append(list, placed{kernel: kernel, access: ev.Access})
		case trace.KindLost:
			require.Fail(b.t, "records are lost")
		}
	}
	for i, p := range list { // all are defined by now
		stack := file.Stack(p.access.Stack)
		require.NotEmpty(b.t, stack, "kernel %d: %+v", p.kernel, p.access)
		list[i].pc = stack[0]
	}
	return r.touches("traced", list)
}

// touches are accesses in the arena, byte for byte, with lines of the kernels' source.
func (r *kernelRuns) touches(binary string, list []placed) map[touch]bool {
	pcs := map[uint64]string{}
	for _, p := range list {
		pcs[p.pc] = ""
	}
	if r.lines {
		r.findLines(binary, pcs)
	}
	all := map[touch]bool{}
	for _, p := range list {
		for k := range p.access.Count {
			start := p.access.Addr + k*uint64(p.access.Stride) - arenaStart
			for at := start; at < start+uint64(p.access.Size); at++ {
				if at < arenaSize {
					all[touch{p.kernel, pcs[p.pc], p.access.Store, at}] = true
				}
			}
		}
	}
	return all
}

// findLines finds the source lines of return addresses.
func (r *kernelRuns) findLines(binary string, pcs map[uint64]string) {
	var in strings.Builder
	order := slices.Sorted(maps.Keys(pcs))
	for _, pc := range order {
		fmt.Fprintf(&in, "%x\n", pc-1)
	}
	cmd := exec.CommandContext(r.b.context(), "addr2line", "-e", r.b.path(binary))
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	require.NoError(r.b.t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(r.b.t, lines, len(order))
	for i, pc := range order {
		_, pcs[pc], _ = strings.Cut(filepath.Base(lines[i]), ":")
		pcs[pc], _, _ = strings.Cut(pcs[pc], " ")
	}
}

// noLine is what addr2line says where code has no line.
const noLine = "?"

func withoutLines(all map[touch]bool) map[touch]bool {
	some := map[touch]bool{}
	for x := range all {
		x.line = noLine
		some[x] = true
	}
	return some
}

// differences tells what is recorded wrongly, the first few: bytes of the windows must be
// what the log has; beside them nothing may be recorded that is not in it. What the optimizer
// has made of accesses of several lines has none in one of the two, and one of them in the other.
func differences(want, got map[touch]bool, pieces []piece) []string {
	inside := func(at uint64) bool {
		return slices.ContainsFunc(pieces, func(p piece) bool { return p.from <= at && at < p.end })
	}
	// has says whether all have x, or the same at a line that only one of the two knows.
	has := func(all, anywhere map[touch]bool, x touch) bool {
		other := x
		other.line = noLine
		return all[x] || all[other] || x.line == noLine && anywhere[x]
	}
	wantAnywhere, gotAnywhere := withoutLines(want), withoutLines(got)
	var list []string
	for x := range want {
		if inside(x.at) && !has(got, gotAnywhere, x) {
			list = append(list, fmt.Sprintf("not recorded: %+v", x))
		}
	}
	for x := range got {
		if !has(want, wantAnywhere, x) {
			list = append(list, fmt.Sprintf("recorded, but not done: %+v", x))
		}
	}
	slices.Sort(list)
	if len(list) > 20 {
		list = append(list[:10], list[len(list)-10:]...)
	}
	return list
}
