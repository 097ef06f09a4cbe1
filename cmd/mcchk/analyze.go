package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/report"
	"github.com/mcchk/mcchk/tracer"
)

// Values of --fail-on.
const failNever = "never"

// analyzeOptions are those of analyze, and of run for its second half.
type analyzeOptions struct {
	clock    string
	jobs     int
	predict  bool
	model    string
	pairwise bool
	layers   layerOptions
	unseen   unseenOptions
	report   reportOptions
}

// reportOptions say what becomes of a result.
type reportOptions struct {
	formats []string
	failOn  string
	gate    gateOptions
	memory  memoryValue // also for the analysis itself
	stats   bool        // likewise

	outputs []output // what formats mean
}

// output is one report to write: to a file, or to standard output.
type output struct {
	format string
	render report.Func
	path   string // "" is standard output
}

func (o *analyzeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.clock, "clock", evc.Auto, "clocks that order events: evc (encoded vector clocks), vector, or auto (the cheaper)")
	f.StringVar(&o.model, "memory-model", "auto", "memory model of windows: auto (what MPI_WIN_MODEL says), unified or separate")
	f.BoolVar(&o.predict, "predict", false, "also warn of accesses that would race if locks were granted, or memory updated, in another order (MC202)")
	f.IntVar(&o.jobs, "jobs", 0, "parallel workers; 0: one per processor")
	f.BoolVar(&o.pairwise, "pairwise", false, "compare every pair of accesses, as the papers do: slower, with the same findings")
	f.BoolVar(&o.report.stats, "stats", false, "print the cost of the analysis on standard error: regions, clocks, memory, time")
	registerCompletion(cmd, "memory-model", fixedWords(memoryModels...))
	registerCompletion(cmd, "clock", fixedWords(evc.Names()...))
	o.layers.addFlags(f)
	o.unseen.addFlags(f)
	o.report.addFlags(cmd)
}

func (o *reportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	formats := strings.Join(report.Formats(), ", ")
	f.StringArrayVar(&o.formats, "format", nil, "write a report as `FORMAT[=FILE]`: "+formats+"; repeatable (default text)")
	f.StringVar(&o.failOn, "fail-on", "error", "least severity of findings that gives exit status 1: error, warning, note, never")
	f.Var(&o.memory, "max-memory", "use `SIZE` of memory at most, such as 512MiB or 2GiB, and files in $TMPDIR for the rest; auto: half of what the machine, its control group or Slurm gives; 0: no limit")
	o.gate.addFlags(f)
	registerCompletion(cmd, "format", fixedWords(report.Formats()...))
	registerCompletion(cmd, "fail-on", fixedWords(severityNames()...))
}

func fixedWords(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

func registerCompletion(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag does not exist: a mistake of ours, seen by every test
	}
}

// memoryModels are the values of --memory-model.
var memoryModels = []string{string(analysis.ModelAuto), string(analysis.ModelUnified), string(analysis.ModelSeparate)}

func severityNames() []string { return []string{"error", "warning", "note", failNever} }

// check validates the options and finds the formats.
func (o *analyzeOptions) check() error {
	if !slices.Contains(evc.Names(), o.clock) {
		return usagef("--clock: %q is none of %s%s", o.clock, strings.Join(evc.Names(), ", "), didYouMean(o.clock, evc.Names()))
	}
	if !slices.Contains(memoryModels, o.model) {
		return usagef("--memory-model: %q is none of %s%s", o.model, strings.Join(memoryModels, ", "), didYouMean(o.model, memoryModels))
	}
	if o.jobs < 0 {
		return usagef("--jobs: %d is negative", o.jobs)
	}
	if err := o.layers.check(); err != nil {
		return err
	}
	if _, err := o.unseen.parts(); err != nil {
		return err
	}
	return o.report.check()
}

func (o *reportOptions) check() error {
	if !slices.Contains(severityNames(), o.failOn) {
		return usagef("--fail-on: %q is none of %s%s", o.failOn, strings.Join(severityNames(), ", "), didYouMean(o.failOn, severityNames()))
	}
	if len(o.formats) == 0 {
		o.formats = report.Formats()[:1]
	}
	o.outputs = nil
	onStdout := ""
	for _, spec := range o.formats {
		out, err := parseFormat(spec)
		if err != nil {
			return err
		}
		if out.path == "" {
			if onStdout != "" {
				return usagef("--format: %s and %s both go to standard output; give one a file (--format %s=FILE)", onStdout, out.format, out.format)
			}
			onStdout = out.format
		}
		o.outputs = append(o.outputs, out)
	}
	return o.gate.read()
}

// stdoutName is the name of a file that stands for standard output.
const stdoutName = "-"

// parseFormat reads FORMAT[=FILE]; the file "-" is standard output, as no file is.
// text[=FILE],short is another way to write short[=FILE].
func parseFormat(spec string) (output, error) {
	plain, short := strings.CutSuffix(spec, ","+shortFormat)
	name, path, hasPath := strings.Cut(plain, "=")
	render, ok := report.Lookup(name)
	switch {
	case !ok:
		return output{}, usagef("--format: %q is none of %s%s", name, strings.Join(report.Formats(), ", "), didYouMean(name, report.Formats()))
	case hasPath && path == "":
		return output{}, usagef("--format %s: the file is missing", spec)
	case short && name != longFormat:
		return output{}, usagef("--format %s: there is a short form of text only (--format %s=FILE)", spec, shortFormat)
	case short:
		name = shortFormat
		render, _ = report.Lookup(name)
	}
	if path == stdoutName {
		path = ""
	}
	return output{name, render, path}, nil
}

func newAnalyzeCommand(a *app) *cobra.Command {
	var o analyzeOptions
	var shard shardOptions
	cmd := &cobra.Command{
		Use:   "analyze [DIR...]",
		Short: "Report the races in recorded traces",
		Long: `Reports pairs of accesses, in a directory of traces, that conflict and that nothing
orders. Findings go to standard output, everything else to standard error.

Several directories, or one that 'mcchk run --repeat' wrote, are several runs of a
program. They give one result: it says in how many runs each finding was found, and
its verdict is the worst of them.

Findings that a baseline (--baseline) or a suppressions file (--suppressions)
accepts do not count.

With --shard I/N it analyses one of N parts and writes a partial result to the file
named by -o; 'mcchk merge' joins the parts. Under srun or mpiexec with several
tasks, each task analyses its own part, and ".I-of-N" is added to the name.

Ctrl-C ends the analysis with a report of the findings so far, and exit status 3.

Exit status: 0 nothing found at or above --fail-on, 1 findings, 2 wrong use,
3 no verdict possible: traces unreadable or incomplete.`,
		Example: `  mcchk analyze traces
  mcchk analyze traces --format text --format json=report.json
  mcchk analyze monday tuesday wednesday
  mcchk analyze traces --write-baseline baseline.json
  mcchk analyze traces --baseline baseline.json
  srun mcchk analyze traces -o part && mcchk merge part.*`,
		Args: needs(0, -1, "a directory of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			s, path, ok, err := shard.part(a.getenv)
			if err != nil {
				return err
			}
			if ok {
				err = refuseForParts(cmd, s)
			} else {
				err = a.refuseTerminal(o.report.outputs)
			}
			if err != nil {
				return err
			}
			dirs, err := a.runDirs(args)
			switch {
			case err != nil:
				return err
			case !ok:
				return a.analyze(cmd.Context(), dirs, o)
			case len(dirs) > 1:
				return usagef("part %s is of one run, and these are %d (%s, …): analyse them one by one, or --shard none", s, len(dirs), dirs[0])
			}
			return a.analyzePart(cmd.Context(), dirs[0], s, path, o)
		},
	}
	o.addFlags(cmd)
	shard.addFlags(cmd.Flags())
	registerCompletion(cmd, "shard", fixedWords(shardAuto, shardNone))
	return cmd
}

// refuseTerminal refuses to write a page for browsers to a terminal.
func (a *app) refuseTerminal(outputs []output) error {
	for _, out := range outputs {
		if out.format == "html" && out.path == "" && isTerminal(a.out) {
			return usagef("an HTML report is for a browser: name a file with --format html=FILE")
		}
	}
	return nil
}

// analysis returns the options of the analysis itself.
func (o *analyzeOptions) analysis(p *progress, getenv func(string) string) analysis.Options {
	opts := analysis.Options{
		Clock: o.clock, Jobs: o.jobs, MemoryModel: analysis.MemoryModel(o.model), Predict: o.predict,
		Layers: o.layers.Layers, Pairwise: o.pairwise, Stats: o.report.stats, Progress: p.update,
	}
	opts.Unseen, _ = o.unseen.parts() // check has tried
	o.report.memory.bound(&opts, getenv)
	return opts
}

// analyze analyses the directories of one run or of several, reports, and returns the
// verdict as a status.
func (a *app) analyze(ctx context.Context, dirs []string, o analyzeOptions) error {
	res, err := a.analyzeRuns(ctx, dirs, o)
	if err != nil {
		return err
	}
	return a.conclude(ctx, res, o.report)
}

// analyzeRuns analyses the directories of one run or of several into one result. Processes
// that were started by MPI_Comm_spawn are as a run of their own.
func (a *app) analyzeRuns(ctx context.Context, dirs []string, o analyzeOptions) (*analysis.Result, error) {
	var all []string
	for _, dir := range dirs {
		all = append(append(all, dir), tracer.SpawnedDirs(dir)...)
	}
	var runs []*analysis.Result
	for _, dir := range all {
		res, err := a.analyzeRun(ctx, dir, o)
		if err != nil {
			return nil, err
		}
		runs = append(runs, res)
	}
	return analysis.Join(runs), nil
}

// analyzeRun analyses the directory of one run.
func (a *app) analyzeRun(ctx context.Context, dir string, o analyzeOptions) (*analysis.Result, error) {
	progress := a.newProgress()
	began := time.Now()
	res, err := a.backend.analyze(ctx, dir, o.analysis(progress, a.getenv))
	progress.clear()
	if err == nil && o.report.stats {
		a.sayStats(res, time.Since(began))
	}
	return res, err
}

// conclude reports a result, and returns the verdict as a status.
func (a *app) conclude(ctx context.Context, res *analysis.Result, o reportOptions) error {
	for _, w := range res.Warnings {
		a.say("warning: %s", w)
	}
	interrupted := whyInterrupted(res)
	res = a.gate(res, &o.gate)
	a.tryFixes(ctx, res, o)
	a.draw(ctx, res, o)
	for _, out := range o.outputs {
		if err := a.report(res, out, o.failOn); err != nil {
			return err
		}
	}
	a.sayWhere(res, o.outputs)
	a.sayWrapper(res)
	if err := a.writeGate(res, &o.gate); err != nil {
		return err
	}
	if interrupted != "" {
		return &statusError{exitFailure, errors.New(interrupted + "; the report has the findings so far")}
	}
	if status := verdictStatus(res, o.failOn); status != exitOK {
		if status == exitFindings && res.Verdict == analysis.NoRace {
			a.say("the exit status is 1 all the same, because --fail-on is %s", o.failOn)
		}
		return &statusError{status: status}
	}
	return nil
}

// whyInterrupted says why an analysis was ended before it was through; "" if it was
// not.
func whyInterrupted(res *analysis.Result) string {
	switch {
	case !res.Interrupted:
		return ""
	case slices.ContainsFunc(res.Caveats, func(c analysis.Caveat) bool { return c.Kind == analysis.TooLarge }):
		return "more memory was needed than --max-memory allows"
	}
	return "interrupted"
}

// sayWhere names the verdict and the files that tell more, where all reports go
// into files.
func (a *app) sayWhere(res *analysis.Result, outputs []output) {
	var files []string
	for _, out := range outputs {
		if out.path == "" {
			return
		}
		files = append(files, out.path)
	}
	a.say("%s; written to %s", report.Verdict(res), strings.Join(files, ", "))
}

// sayWrapper tells how findings are reported where the program calls a wrapper of its own.
func (a *app) sayWrapper(res *analysis.Result) {
	of := problems.Wrappers(res.Findings)
	if len(of) == 0 {
		return
	}
	w, file := of[0], of[0].File
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	a.say("%d of %d findings lie in %s, whose functions %d other lines call: if these only wrap calls, have reports lie at their callers, with wrappers: [%s] in .mcchk.yaml",
		w.Findings, len(res.Findings), file, w.Callers, file)
}

func (a *app) report(res *analysis.Result, out output, failOn string) error {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // paths stay absolute
	}
	opts := report.Options{Dir: dir, Color: a.color == colorAlways, Version: currentVersion().Version}
	opts.Fails = func(s conflicts.Severity) bool { return fails(s, failOn) }
	if out.path == "" {
		opts.Color = a.colorOn(a.out)
		return out.render(a.out, res, opts)
	}
	f, err := os.Create(out.path)
	if err != nil {
		return err
	}
	if err := out.render(f, res, opts); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// verdictStatus is the exit status that a result stands for. Findings from the
// threshold on give 1; otherwise an undecided result gives 3.
func verdictStatus(res *analysis.Result, failOn string) int {
	n := 0
	for i := range res.Findings {
		if fails(res.Findings[i].Severity, failOn) {
			n++
		}
	}
	switch {
	case n > 0:
		return exitFindings
	case res.Verdict == analysis.Undecided:
		return exitFailure
	}
	return exitOK
}

// fails reports whether a finding is at or above the threshold of --fail-on.
func fails(s conflicts.Severity, failOn string) bool {
	switch failOn {
	case failNever:
		return false
	case string(conflicts.Error):
		return s == conflicts.Error
	case string(conflicts.Warning):
		return s != conflicts.Note
	}
	return true
}
