package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/trace"
)

const (
	programsDir  = "bench/programs"
	buildTimeout = 2 * time.Minute
	runTimeout   = time.Minute
	killDelay    = 5 * time.Second
	enough       = 8 * time.Second // for the rounds of one program: no further one is begun
	processes    = 2
)

// sample is what a program says of one run (bench_report in bench.h).
type sample struct {
	seconds  float64
	cpu      float64 // seconds
	checksum string
	peak     float64 // KiB: VmHWM
	own      float64 // KiB: RssAnon and RssShmem
	files    float64 // KiB: RssFile, among it the trace being written
}

// parseSample finds a program's result line in its output.
func parseSample(output string) (sample, error) {
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "bench ")
		if !ok {
			continue
		}
		values := map[string]string{}
		for _, field := range strings.Fields(rest) {
			key, value, _ := strings.Cut(field, "=")
			values[key] = value
		}
		s := sample{checksum: values["checksum"]}
		var errs []error
		number := func(key string) float64 {
			v, err := strconv.ParseFloat(values[key], 64)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
			return v
		}
		s.seconds, s.cpu, s.peak, s.files = number("seconds"), number("cpu"), number("peak_kib"), number("file_kib")
		s.own = number("anon_kib") + number("shmem_kib")
		if s.seconds <= 0 || s.checksum == "" {
			errs = append(errs, errors.New("no time or no checksum"))
		}
		return s, errors.Join(errs...)
	}
	return sample{}, fmt.Errorf("the program printed no result: %q", output)
}

// measured is a program's runs, plain and traced in turn.
type measured struct {
	setup         setup
	program       program
	plain, traced []sample
	size          traceSize // of the last traced run
	analyses      []float64 // of its traces, seconds
}

// traceSize is what the traces of one run hold, over all processes.
type traceSize struct {
	bytes    int64
	calls    uint64
	records  uint64 // of accesses
	elements uint64 // loads and stores in them
}

// launcher builds and runs programs below its folder.
type launcher struct {
	work  string
	mcchk string
	level string // of optimization, such as -O2
}

// measure builds a program both ways, and runs one and the other in turn. The
// results must agree, and the analysis of the last trace must find no race.
func (l *launcher) measure(ctx context.Context, s setup, p program, rounds int) (measured, error) {
	m := measured{setup: s, program: p}
	plain, err := l.build(ctx, s, p, false)
	if err != nil {
		return m, err
	}
	traced, err := l.build(ctx, s, p, true)
	if err != nil {
		return m, err
	}
	dir := filepath.Join(l.work, "traces")
	defer os.RemoveAll(dir)
	for begin := time.Now(); len(m.plain) == 0 || len(m.plain) < rounds && time.Since(begin) < enough; {
		a, err := l.run(ctx, nil, s, plain, p)
		if err != nil {
			return m, fmt.Errorf("plain: %w", err)
		}
		b, err := l.run(ctx, []string{l.mcchk, "run", "--no-analyze", "-o", dir, "--"}, s, traced, p)
		if err != nil {
			return m, fmt.Errorf("traced: %w", err)
		}
		if a.checksum != b.checksum {
			return m, fmt.Errorf("the traced program computes %s, the plain one %s", b.checksum, a.checksum)
		}
		m.plain, m.traced = append(m.plain, a), append(m.traced, b)
	}
	if m.size, err = sizeOf(dir); err != nil {
		return m, err
	}
	for range m.plain {
		seconds, err := analyse(ctx, dir)
		if err != nil {
			return m, err
		}
		m.analyses = append(m.analyses, seconds)
	}
	return m, nil
}

// build compiles a program, plain or with mcchk cc, unless that was
// done before.
func (l *launcher) build(ctx context.Context, s setup, p program, traced bool) (string, error) {
	wrapper, compiler := "mpicc."+s.mpi, s.compiler
	if p.language == "cc" {
		wrapper, compiler = "mpicxx."+s.mpi, map[string]string{"gcc": "g++", "clang": "clang++"}[s.compiler]
	}
	name := strings.Join([]string{p.name, s.mpi, s.compiler, "plain"}, "-")
	command := []string{wrapper}
	env := []string{"OMPI_CC=" + compiler, "MPICH_CC=" + compiler, "OMPI_CXX=" + compiler, "MPICH_CXX=" + compiler}
	if traced {
		name = strings.Join([]string{p.name, s.mpi, s.compiler, "traced"}, "-")
		command = []string{l.mcchk, "cc", "--mpicc", wrapper, "--compiler", compiler}
		env = []string{"MCCHK_CACHE=" + filepath.Join(l.work, "cache")}
	}
	binary := filepath.Join(l.work, name)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	command = append(command, l.level, "-g", "-o", binary, filepath.Join(programsDir, p.name+"."+p.language), "-lm")
	return binary, l.command(ctx, buildTimeout, env, command...)
}

// run starts a program once, with what goes before the launcher.
func (l *launcher) run(ctx context.Context, before []string, s setup, binary string, p program) (sample, error) {
	command := append(before[:len(before):len(before)], "mpiexec."+s.mpi)
	if s.mpi == "openmpi" { // which would tie each process to a core, however busy that is
		command = append(command, "--oversubscribe", "--bind-to", "none")
	}
	command = append(command, "-n", strconv.Itoa(processes), binary)
	out, err := l.output(ctx, runTimeout, nil, append(command, p.args()...)...)
	if err != nil {
		return sample{}, err
	}
	return parseSample(out)
}

func (l *launcher) command(ctx context.Context, timeout time.Duration, env []string, command ...string) error {
	_, err := l.output(ctx, timeout, env, command...)
	return err
}

// output runs a command, which is asked to end when its time is over, and
// killed when it does not.
func (l *launcher) output(ctx context.Context, timeout time.Duration, env []string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v: %w", timeout, ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// sizeOf counts what the traces of a directory hold.
func sizeOf(dir string) (traceSize, error) {
	var size traceSize
	d, err := trace.OpenDir(dir)
	if err != nil {
		return size, err
	}
	for _, f := range d.Files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return size, err
		}
		size.bytes += info.Size()
		if err := size.count(f.Path); err != nil {
			return size, err
		}
	}
	return size, nil
}

// analyse analyses the traces of a program, which has no races, and returns how
// long that takes, seconds.
func analyse(ctx context.Context, dir string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	start := time.Now()
	res, err := analysis.Run(ctx, dir, analysis.Options{})
	if err != nil {
		return 0, err
	}
	return time.Since(start).Seconds(), clean(res)
}

// clean reports an error unless an analysis found nothing and has no caveats.
func clean(res *analysis.Result) error {
	if res.Verdict == analysis.NoRace && len(res.Findings) == 0 {
		return nil
	}
	err := fmt.Errorf("the program is right, but the verdict is %q with %d findings", res.Verdict, len(res.Findings))
	for _, f := range res.Findings {
		err = fmt.Errorf("%w; %s: %s", err, f.Rule, f.Why)
	}
	for _, d := range res.Caveats {
		err = fmt.Errorf("%w; %s", err, d.Text)
	}
	return err
}

func (s *traceSize) count(path string) error {
	r, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	var ev trace.Event
	for {
		switch err := r.ReadEvent(&ev); {
		case errors.Is(err, io.EOF):
			if cut := r.Cut(); cut != nil {
				return fmt.Errorf("%s: %v", path, cut)
			}
			return nil
		case err != nil:
			return err
		}
		switch ev.Kind {
		case trace.KindCall:
			s.calls++
		case trace.KindAccess:
			s.records++
			s.elements += ev.Access.Count
		}
	}
}
