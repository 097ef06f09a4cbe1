package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/report"
	"github.com/mcchk/mcchk/symbols/collect"
	"github.com/mcchk/mcchk/trace"
	"github.com/mcchk/mcchk/tracer"
)

// liveOptions are those of an analysis while the program runs.
type liveOptions struct {
	on, keep bool
	stopOn   string
	maxDisk  sizeValue
	whenFull string
}

// Values of --when-full.
const (
	fullWait = "wait"
	fullDrop = "drop"
)

func (o *liveOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.stopOn, "stop-on", failNever, "end the program at the first finding of this severity: error, warning, note, never")
	registerCompletion(cmd, "stop-on", fixedWords(severityNames()...))
}

func (o *liveOptions) check() error {
	if !slices.Contains(severityNames(), o.stopOn) {
		return usagef("--stop-on: %q is none of %s%s", o.stopOn, strings.Join(severityNames(), ", "), didYouMean(o.stopOn, severityNames()))
	}
	return nil
}

// checkLive refuses what does not go together.
func (o *runOptions) checkLive() error {
	if err := o.live.check(); err != nil {
		return err
	}
	if all := []string{fullWait, fullDrop}; !slices.Contains(all, o.live.whenFull) {
		return usagef("--when-full: %q is none of %s%s", o.live.whenFull, strings.Join(all, ", "), didYouMean(o.live.whenFull, all))
	}
	switch {
	case !o.live.on && o.live.maxDisk.bytes > 0:
		return usagef("--max-disk needs --live: without it, --max-trace ends recording at a size")
	case o.live.keep && o.live.maxDisk.bytes > 0:
		return usagef("--max-disk gives back what was analysed, and --keep keeps it: leave one out")
	case !o.live.on && o.live.keep:
		return usagef("--keep is for --live: without it, the traces are kept anyway")
	case !o.live.on && o.live.stopOn != failNever:
		return usagef("--stop-on needs --live")
	case !o.live.on:
		return nil
	case o.repeat > 1:
		return usagef("--live analyses one run: leave --repeat out")
	case o.noAnalyze && (o.live.keep || o.live.stopOn != failNever):
		return usagef("--no-analyze leaves the analysis to 'mcchk watch': leave --keep and --stop-on out")
	case o.noAnalyze:
		return nil
	}
	return o.analyze.checkLive()
}

// checkLive refuses what an analysis cannot do while the program runs.
func (o *analyzeOptions) checkLive() error {
	if o.predict {
		return usagef("--predict reads the traces twice: record first, and analyse then")
	}
	return nil
}

// errStopped is why a program was ended at a finding.
var errStopped = errors.New("the program was ended at a finding (--stop-on)")

// teller tells findings while a program runs.
type teller struct {
	a    *app
	o    liveOptions
	dir  string
	stop func()
	done bool     // the program was told to end
	also []string // files of a line for each finding, which get theirs now; the report takes their place
	told bool     // something
}

func (a *app) newTeller(o liveOptions, outputs []output, stop func()) *teller {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	t := &teller{a: a, o: o, dir: dir, stop: stop}
	for _, out := range outputs {
		if out.format == shortFormat && out.path != "" {
			t.also = append(t.also, out.path)
		}
	}
	return t
}

// Formats for people: in the second one findings can be told one by one.
const (
	longFormat  = "text"
	shortFormat = "short"
)

func (t *teller) tell(f *conflicts.Finding) {
	line := report.Line(f, report.Options{Dir: t.dir})
	t.a.say("found: %s", line)
	for _, path := range t.also {
		if err := addLine(path, line, !t.told); err != nil {
			t.a.say("warning: %v", err)
			t.also = nil
			break
		}
	}
	t.told = true
	if !t.done && fails(f.Severity, t.o.stopOn) {
		t.done = true
		t.a.say("ending the program (--stop-on %s)", t.o.stopOn)
		t.stop()
	}
}

// addLine adds a line to a file, the first one to an empty one.
func addLine(path, line string, first bool) error {
	how := os.O_APPEND
	if first {
		how = os.O_TRUNC
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o666)
	if err != nil {
		return fmt.Errorf("telling findings: %w", err)
	}
	_, err = fmt.Fprintln(f, line)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// ended is what becomes of a program.
type ended struct {
	exit tracer.Exit
	err  error
}

// runLive runs a program and analyses meanwhile.
func (a *app) runLive(ctx context.Context, command []string, o runOptions) error {
	_, err := os.Stat(o.dir)
	first := err != nil
	release, err := tracer.Claim(o.dir)
	if err != nil {
		return err
	}
	defer release()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var over atomic.Bool
	started, end := make(chan struct{}), make(chan ended, 1)
	go func() {
		var x ended
		x.exit, x.err = a.backend.run(running, tracer.RunOptions{
			Dir: o.dir, Command: command, Timeout: o.timeout, MaxTrace: o.maxTrace.bytes, Version: currentVersion().Version,
			Preload: o.preload, MPICC: o.mpicc, Live: true, MaxDisk: o.live.maxDisk.bytes, Drop: o.live.whenFull == fullDrop, Started: func() { close(started) },
			Stdin: a.in, Stdout: a.out, Stderr: a.err,
		})
		over.Store(true)
		end <- x
	}()
	select {
	case <-started:
	case x := <-end:
		return programError(x.err, x.exit)
	}
	t := a.newTeller(o.live, o.analyze.report.outputs, func() { stop(errStopped) })
	res, failed := a.analyzeLive(ctx, o.dir, o.analyze, t, analysis.LiveOptions{Over: over.Load})
	x := <-end
	stopped := errors.Is(x.err, errStopped) || t.done && ctx.Err() == nil
	timedOut := errors.Is(x.err, tracer.ErrTimeout)
	switch {
	case stopped:
		x.err = nil
	case timedOut:
		a.say("%v", x.err)
		x.err = nil
	case x.err != nil && ctx.Err() == nil:
		return programError(x.err, x.exit)
	case x.exit.Status != 0:
		a.say("the program %v", x.exit)
	}
	if failed != nil {
		return failed
	}
	if stopped {
		res.Warnings = append(res.Warnings, "the program was ended at a finding (--stop-on): the caveats name what was running")
	}
	if o.live.keep {
		if _, err := a.backend.collect(ctx, o.dir, collect.Options{NoSources: o.noSources}); err != nil && ctx.Err() == nil {
			a.say("source lines were not stored with the traces: %v", err)
		}
	}
	if ctx.Err() == nil && !stopped {
		for _, advice := range a.backend.advice(ctx, o.dir, command, first) {
			a.say("note: %s", advice)
		}
	}
	err = a.conclude(ctx, res, o.analyze.report)
	if o.live.keep {
		a.say("traces are in %s", o.dir)
	} else if e := tracer.RemoveTraces(o.dir); e != nil {
		a.say("the traces were not removed: %v", e)
	}
	if err == nil && (timedOut || x.exit.Status != 0) {
		a.say("the traces have no findings, but the program failed, so the exit status is %d", exitFailure)
		return &statusError{status: exitFailure}
	}
	return err
}

// analyzeLive analyses a run while it goes on.
func (a *app) analyzeLive(ctx context.Context, dir string, o analyzeOptions, t *teller, opts analysis.LiveOptions) (*analysis.Result, error) {
	progress := a.newProgress()
	opts.Options, opts.Version = o.analysis(progress, a.getenv), versionOfParts()
	told := leastBehind
	opts.Progress = func(at analysis.Progress) {
		if at.BehindFor >= told {
			progress.clear()
			a.say("the analysis has fallen behind the program: by %d calls, %v", at.Behind, at.BehindFor.Round(time.Second))
			told = 2 * at.BehindFor
		}
		progress.say("analysing while the program runs: %s", liveLine(at))
	}
	opts.Told = func(f *conflicts.Finding) {
		progress.clear()
		t.tell(f)
	}
	began := time.Now()
	res, err := a.backend.live(ctx, dir, opts)
	progress.clear()
	if err == nil && o.report.stats {
		a.sayStats(res, time.Since(began))
	}
	return res, err
}

// liveLine says how far an analysis is of a program that still runs.
func liveLine(at analysis.Progress) string {
	line := fmt.Sprintf("%d concurrent regions, %d accesses", at.Regions, at.Accesses)
	if at.BehindFor >= 2*time.Second {
		line += fmt.Sprintf(", %d calls and %v behind", at.Behind, at.BehindFor.Round(time.Second))
	}
	return line
}

// leastBehind is from when on it is told that the analysis falls behind.
const leastBehind = 10 * time.Second

func newWatchCommand(a *app) *cobra.Command {
	var o analyzeOptions
	var live liveOptions
	var resume bool
	cmd := &cobra.Command{
		Use:   "watch [DIR]",
		Short: "Analyse a program while it runs",
		Long: `Analyses the traces of a program that somebody else has started, such as a batch job,
while it runs: with 'mcchk run --live --no-analyze', or with MCCHK_LIVE=1 and
MCCHK_TRACE_DIR in its environment. It waits until the program begins, tells each
finding on standard error soon after the concurrent region that it is in is over,
and reports when all processes have ended, as 'mcchk analyze' does. The traces stay.

--stop-on error ends the processes that run on this host at the first error.

--resume is for an analysis that was killed. It begins anew where the traces are
whole. Where some were given back (--max-disk), it reports what had been found by
then, with a caveat that says how far that is: the verdict is not "no race found".
The program does not wait for an analysis any more, and is not recorded further.

Exit status: that of mcchk analyze.`,
		Example: "  mcchk watch traces\n  mcchk watch traces --stop-on error --format html=report.html",
		Args:    needs(0, 1, "a directory of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, check := range []func() error{o.check, o.checkLive, live.check, func() error { return a.refuseTerminal(o.report.outputs) }} {
				if err := check(); err != nil {
					return err
				}
			}
			dir := defaultTraceDir
			if len(args) > 0 {
				dir = args[0]
			}
			return a.watch(cmd.Context(), dir, o, live, resume)
		},
	}
	o.addFlags(cmd)
	live.addFlags(cmd)
	cmd.Flags().BoolVar(&resume, "resume", false, "take the place of an analysis that was killed")
	return cmd
}

// resumePatience is how long --resume waits for the traces of a program that is said to have
// begun.
const resumePatience = 10 * time.Second

// watch analyses a run that somebody else has started.
func (a *app) watch(ctx context.Context, dir string, o analyzeOptions, live liveOptions, resume bool) error {
	waiting := time.AfterFunc(time.Second, func() { a.say("waiting for the program to begin: all processes write to %s", dir) })
	defer waiting.Stop()
	var t *teller
	t = a.newTeller(live, o.report.outputs, func() { t.endProcesses(dir) })
	opts := analysis.LiveOptions{Over: func() bool { return runEnded(dir) }, Begun: func() { waiting.Stop() }}
	if resume { // the program began some time ago
		opts.Patience = resumePatience
	}
	res, err := a.analyzeLive(ctx, dir, o, t, opts)
	if errors.Is(err, trace.ErrGivenBack) {
		waiting.Stop()
		if !resume {
			return fmt.Errorf("%w\n'mcchk watch --resume %s' reports what had been found by then", err, dir)
		}
		var limits analysis.Options
		o.report.memory.bound(&limits, a.getenv)
		res, err = analysis.FoundSoFar(dir, versionOfParts(), limits.Heap)
	}
	if err != nil {
		return err
	}
	return a.conclude(ctx, res, o.report)
}

// runEnded reports whether mcchk run has noted the end of the run.
func runEnded(dir string) bool {
	r, err := tracer.ReadRunRecord(dir)
	return err == nil && r.End != nil
}

// endProcesses ends the processes of a run that are on this host.
func (t *teller) endProcesses(dir string) {
	host, err := os.Hostname()
	if err != nil {
		t.a.say("the program was not ended: %v", err)
		return
	}
	d, err := trace.OpenDir(dir)
	if err != nil {
		t.a.say("the program was not ended: %v", err)
		return
	}
	elsewhere := 0
	for _, f := range d.Files {
		switch {
		case f.Header.Host != host:
			elsewhere++
		case isWriter(f.Header.PID, f.Path):
			if err := unix.Kill(f.Header.PID, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
				t.a.say("process %d was not ended: %v", f.Header.PID, err)
			}
		}
	}
	if elsewhere > 0 {
		t.a.say("%d processes run on other hosts, and were not ended from here", elsewhere)
	}
}

// isWriter reports whether a process writes a trace: another one may have its number by now.
func isWriter(pid int, path string) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && strings.Contains(string(maps), "/"+filepath.Base(path))
}
