package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/symbols/collect"
	"github.com/mcchk/mcchk/trace"
	"github.com/mcchk/mcchk/tracer"
)

// defaultTraceDir is where run writes traces unless told otherwise.
const defaultTraceDir = "mcchk-traces"

type runOptions struct {
	dir       string
	noAnalyze bool
	noSources bool
	repeat    int
	timeout   time.Duration
	maxTrace  sizeValue
	preload   bool
	mpicc     string
	live      liveOptions
	analyze   analyzeOptions
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.dir, "output", "o", defaultTraceDir, "directory for the traces; those of an earlier run there are replaced")
	f.BoolVar(&o.noAnalyze, "no-analyze", false, "only record")
	f.BoolVar(&o.noSources, "no-sources", false, "keep no source text with the traces")
	f.IntVar(&o.repeat, "repeat", 1, "run the program `N` times, and report what was found in how many of the runs")
	f.DurationVar(&o.timeout, "timeout", 0, "end the program after this time, such as 10m (default never)")
	f.Var(&o.maxTrace, "max-trace", "end recording, not the program, where the traces would have more than `SIZE` together, such as 10GiB; each process may write an equal part; 0: no limit")
	f.BoolVar(&o.preload, "preload", false, "record a program that was not compiled with mcchk cc: its calls, not its loads and stores")
	f.StringVar(&o.mpicc, "mpicc", "", "with --preload: compiler of the MPI library that the program uses (default $MCCHK_MPICC, then .mcchk.yaml, then mpicc)")
	o.live.addFlags(cmd)
	f.BoolVar(&o.live.on, "live", false, "analyse while the program runs, and tell findings at once")
	f.Var(&o.live.maxDisk, "max-disk", "with --live: let all traces together take `SIZE` of disk at most, such as 1GiB; what was analysed is given back; 0: no limit")
	f.StringVar(&o.live.whenFull, "when-full", fullWait, "with --max-disk: wait has the program wait for the analysis where there is no room, drop has recording end")
	registerCompletion(cmd, "when-full", fixedWords(fullWait, fullDrop))
	f.BoolVar(&o.live.keep, "keep", false, "with --live: keep the traces")
	o.analyze.addFlags(cmd)
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [-o DIR] -- COMMAND...",
		Short: "Run a program traced, and analyse the traces",
		Long: `Runs a command, usually an MPI launcher and a program built by 'mcchk cc', with a
fresh trace directory, then analyses the traces as 'mcchk analyze' does. Source
places, and the text of the recorded lines with four lines around each, are stored
with the traces, so that they can be analysed on any machine. --no-sources leaves
the text out.

--live analyses while the program runs, and tells each finding on standard error soon
after the concurrent region that it is in is over. At the end it reports as ever, and
removes the traces, unless --keep is given. --stop-on error ends the program at the
first error. With --no-analyze, it records so that 'mcchk watch' can analyse meanwhile.

--repeat N runs it N times, with the traces of each in a directory of its own (run-1,
run-2, … below DIR), and judges all of them together.

Exit status: that of the analysis, but 3 instead of 0 if the program itself failed.`,
		Example: "  mcchk run -- mpiexec -n 2 ./app\n  mcchk run --repeat 5 -- mpiexec -n 2 ./app\n  mcchk run -o traces --no-analyze -- mpiexec -n 2 ./app",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at > 0 || (at < 0 && len(args) > 0) {
				return fmt.Errorf("unexpected %q: the command comes after --, as in: mcchk run -- mpiexec -n 2 ./app", args[0])
			}
			if len(args) == 0 {
				return errors.New("no command: mcchk run -- mpiexec -n 2 ./app")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.analyze.check(); err != nil {
				return err
			}
			if err := a.refuseTerminal(o.analyze.report.outputs); err != nil && !o.noAnalyze {
				return err
			}
			if o.repeat < 1 {
				return usagef("--repeat: %d is less than 1", o.repeat)
			}
			if o.timeout < 0 {
				return usagef("--timeout: %v is negative", o.timeout)
			}
			if err := o.checkLive(); err != nil {
				return err
			}
			if o.live.on && !o.noAnalyze {
				return a.runLive(cmd.Context(), args, o)
			}
			return a.runProgram(cmd.Context(), args, o)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().SetInterspersed(false) // the command's flags are not ours, with -- or without
	return cmd
}

// runProgram runs, resolves and analyses.
func (a *app) runProgram(ctx context.Context, command []string, o runOptions) error {
	_, err := os.Stat(o.dir)
	first := err != nil
	release, err := tracer.Claim(o.dir)
	if err != nil {
		return err
	}
	defer release()
	var all recorded
	for number := range max(1, o.repeat) {
		if o.repeat > 1 {
			number++ // from 1: run-1, run-2, …
			a.say("run %d of %d", number, o.repeat)
		}
		if err = a.record(ctx, command, number, first && number <= 1, &all, o); err != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(all.dirs) == 0:
		return err
	case err != nil: // the runs before it are judged
		a.say("%v", err)
		all.failed = true
	}
	return a.judge(ctx, &all, o)
}

// recorded is what became of one run of a program, or of several.
type recorded struct {
	dirs       []string // with the traces
	failed     bool     // one of them did
	unresolved error    // why source lines were not stored with the traces
}

// record runs the program once, and stores source lines with its traces. number is that
// of one of several runs, from 1; 0: there is one.
func (a *app) record(ctx context.Context, command []string, number int, first bool, all *recorded, o runOptions) error {
	dir := o.dir
	if number > 0 {
		dir = tracer.RunDir(o.dir, number)
	}
	exit, err := a.backend.run(ctx, tracer.RunOptions{
		Dir: o.dir, Number: number, Command: command, Timeout: o.timeout, MaxTrace: o.maxTrace.bytes, Version: currentVersion().Version,
		Preload: o.preload, MPICC: o.mpicc, Live: o.live.on, MaxDisk: o.live.maxDisk.bytes, Drop: o.live.whenFull == fullDrop,
		Stdin: a.in, Stdout: a.out, Stderr: a.err,
	})
	if ctx.Err() != nil {
		a.sayRecorded(dir)
		return ctx.Err()
	}
	timedOut := errors.Is(err, tracer.ErrTimeout)
	switch {
	case timedOut:
		a.say("%v; what it recorded is in %s", err, dir)
	case err != nil:
		return programError(err, exit)
	case exit.Status != 0:
		a.say("the program %v", exit)
	}
	_, unresolved := a.backend.collect(ctx, dir, collect.Options{NoSources: o.noSources})
	for _, world := range tracer.SpawnedDirs(dir) {
		_, err := a.backend.collect(ctx, world, collect.Options{NoSources: o.noSources})
		unresolved = cmp.Or(unresolved, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if number <= 1 {
		for _, advice := range a.backend.advice(ctx, dir, command, first) {
			a.say("note: %s", advice)
		}
	}
	all.dirs = append(all.dirs, dir)
	all.failed = all.failed || timedOut || exit.Status != 0
	all.unresolved = cmp.Or(all.unresolved, unresolved)
	return nil
}

// sayRecorded tells where the traces are of a run that was interrupted, if there are any.
func (a *app) sayRecorded(dir string) {
	if d, err := trace.OpenDir(dir); err == nil && len(d.Files) > 0 {
		a.say("what was recorded until the interruption is in %s: mcchk analyze %[1]s", dir)
	}
}

// judge analyses what was recorded.
func (a *app) judge(ctx context.Context, all *recorded, o runOptions) error {
	var err error
	if !o.noAnalyze {
		err = a.analyze(ctx, all.dirs, o.analyze)
	}
	var verdict *statusError
	if all.unresolved != nil && (err == nil || errors.As(err, &verdict)) { // or err says it all
		a.say("source lines were not stored with the traces: %v", all.unresolved)
	}
	if o.noAnalyze {
		a.say("traces are in %s", o.dir)
	}
	if err != nil {
		return err
	}
	if all.failed {
		// A run that failed is not passed, whatever its traces say.
		if !o.noAnalyze {
			a.say("the traces have no findings, but the program failed, so the exit status is %d", exitFailure)
		}
		return &statusError{status: exitFailure}
	}
	return nil
}

// programError adds how the program ended to an error of the tracing.
func programError(err error, exit tracer.Exit) error {
	if errors.Is(err, tracer.ErrNoTraces) && exit.Status != 0 {
		return fmt.Errorf("the program %v, and no traces were written: did it start (its messages are above), was it compiled with mcchk cc (or another of its compilers), and did it come to MPI_Init, shmem_init or gaspi_proc_init, where traces begin (MPI_Session_init begins none)?", exit)
	}
	if errors.Is(err, tracer.ErrNotLoaded) && exit.Status != 0 {
		return fmt.Errorf("the program %v, and %w", exit, err)
	}
	return err
}
