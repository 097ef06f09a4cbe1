// Command bench measures mcchk: what tracing costs a program, and how fast
// traces are analysed. It is started in the root of the repository by make
// bench, takes a few minutes, and prints one table a question beside the aims.
// It fails when a result is wrong (a traced program computes something else, a
// correct program is said to race), never on a time.
//
// programs.go says what is run and launch.go runs it; synthetic.go writes the
// traces that throughput.go analyses; table.go prints. Nothing is left in the
// tree: all files are below a temporary folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "at most so many launches of each program with Open MPI, plain and traced in turn; half as many with MPICH, and of each analysis")
	flag.StringVar(&o.only, "only", "", "run one part: programs, analysis, growth, live, endless, memory, locks, matrix or report")
	flag.StringVar(&o.match, "match", "", "of programs, the matrix, memory and locks, only what has a name that matches a regular expression")
	flag.IntVar(&o.acquisitions, "acquisitions", 1_000_000, "of locks, how many, and ten times as many")
	flag.Int64Var(&o.size, "size", 5<<30, "of endless, bytes of traces to write")
	flag.StringVar(&o.picture, "picture", "", "of endless, the file for a picture (SVG)")
	flag.StringVar(&o.level, "level", usualLevel, "of programs, how the compiler optimizes, such as -O0")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	only   string
	match  string
	size   int64

	acquisitions int
	picture      string
	level        string
}

const usualLevel = "-O2"

func (o options) run(ctx context.Context, out io.Writer) error {
	parts := o.parts()
	if o.rounds < 1 || o.only != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == o.only }) {
		return errors.New("-rounds must be positive, and -only programs, analysis, growth, live, endless, memory, locks, matrix or report")
	}
	work, err := os.MkdirTemp("", "mcchk-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	began := time.Now()
	fmt.Fprintf(out, "%s %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, p := range parts {
		if o.only == p.name || o.only == "" && p.usual {
			if err := p.run(ctx, out, work); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "\n%s in all\n", time.Since(began).Round(time.Second))
	return nil
}

// part is something to measure.
type part struct {
	name  string
	usual bool // it is measured unless one part is asked for
	run   func(ctx context.Context, out io.Writer, work string) error
}

func (o options) parts() []part {
	return []part{
		{"programs", true, o.programs},
		{"analysis", true, o.analysis},
		{"growth", true, o.growth},
		{"live", true, o.live},
		{"endless", false, o.endless},
		{"memory", false, o.memory},
		{"locks", false, o.locks},
		{"matrix", false, o.matrix},
		{"report", true, o.report},
	}
}

// matcher returns what names are to match.
func (o options) matcher() (*regexp.Regexp, error) {
	match, err := regexp.Compile(o.match)
	if err != nil {
		return nil, fmt.Errorf("-match: %w", err)
	}
	return match, nil
}

// programs measures what tracing costs.
func (o options) programs(ctx context.Context, out io.Writer, work string) error {
	if err := checkTools(); err != nil {
		return err
	}
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk"), level: o.level}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return err
	}
	match, err := o.matcher()
	if err != nil {
		return err
	}
	var results []measured
	for _, setup := range setups() {
		for _, p := range programs() {
			if !match.MatchString(p.title) {
				continue
			}
			m, err := l.measure(ctx, setup, p, setup.rounds(o.rounds))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.title, setup, err)
			}
			results = append(results, m)
		}
	}
	writeRunTimes(out, results, o.level)
	writeTraceSizes(out, results)
	writeAnalyses(out, results)
	writeMemory(out, results)
	return nil
}

// analysis measures how fast traces are analysed.
func (o options) analysis(ctx context.Context, out io.Writer, work string) error {
	var results []throughput
	for _, s := range synthetics() {
		dir := filepath.Join(work, s.name)
		if err := s.write(ctx, dir); err != nil {
			return fmt.Errorf("trace %s: %w", s.name, err)
		}
		rs, err := measureThroughput(ctx, s.title, dir, (o.rounds+1)/2)
		if err != nil {
			return fmt.Errorf("trace %s: %w", s.name, err)
		}
		results = append(results, rs...)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	writeThroughput(out, results)
	return nil
}

// checkTools reports missing commands by the Debian packages they are in.
func checkTools() error {
	needs := []struct{ command, pkg string }{
		{"mpicc.openmpi", "libopenmpi-dev"}, {"mpicxx.openmpi", "libopenmpi-dev"}, {"mpiexec.openmpi", "openmpi-bin"},
		{"mpicc.mpich", "libmpich-dev"}, {"mpicxx.mpich", "libmpich-dev"}, {"mpiexec.mpich", "mpich"},
		{"gcc", "gcc"}, {"g++", "g++"}, {"clang", "clang"}, {"llvm-link", "llvm"}, {"chromium", "chromium"},
	}
	var commands, packages []string
	for _, n := range needs {
		if _, err := exec.LookPath(n.command); err != nil {
			commands, packages = append(commands, n.command), append(packages, n.pkg)
		}
	}
	if len(commands) == 0 {
		return nil
	}
	return fmt.Errorf("%s not found; install with: apt-get install %s", strings.Join(commands, ", "), strings.Join(packages, " "))
}
