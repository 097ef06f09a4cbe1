package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/clocks"
	"github.com/mcchk/mcchk/experiments"
	"github.com/mcchk/mcchk/synth"
)

type clocksExperiment struct {
	clocks experiments.Clocks
	output string
}

func newClocksExperiment(a *app) *cobra.Command {
	var o clocksExperiment
	cmd := &cobra.Command{
		Use:   "clocks -o DIR",
		Short: "What correcting times does to runs with drifting clocks, 64 to 8,192 processes",
		Long: `Generates runs whose clocks drift, as 'mcchk generate --drift' does, and corrects their
times: how many messages run backwards or faster than the least latency, and how many
corrections that takes (figure 5); by how much they were wrong (table 3); what becomes of
the lengths of local intervals (table 4); what the correction takes beside an analysis
(figure 6). Since the true times are known, also how wrong the time between neighbouring
events of the run is, whatever their processes, by measured, interpolated and corrected
times, and how far these are from what the clock of rank 0 showed.`,
		Example: "  mcchk experiment clocks -o experiments\n  mcchk experiment clocks --pattern alltoall --ranks 16,32 -o experiments",
		Args:    needs(0, 0, "nothing"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.experimentClocks(cmd.Context(), o) },
	}
	f, c := cmd.Flags(), &o.clocks
	f.StringVar(&c.Pattern, "pattern", synth.Ring, "what the programs do: "+strings.Join(synth.Patterns(), ", "))
	f.IntSliceVar(&c.Ranks, "ranks", []int{64, 128, 256, 512, 1024, 2048, 4096, 8192}, "numbers of processes")
	f.IntVar(&c.PerHost, "per-host", 4, "processes on each host")
	f.Int64Var(&c.Steps, "steps", 20, "repetitions of the pattern in each trace")
	f.IntVar(&c.Runs, "runs", 3, "runs with each number of processes, with other clocks each")
	f.Uint64Var(&c.Seed, "seed", 1, "random seed of the first run")
	f.StringVar(&c.Dir, "traces", "", "directory for temporary traces (default: that for temporary files)")
	addOutputFlag(cmd, &o.output)
	registerCompletion(cmd, "pattern", cobra.FixedCompletions(describedPatterns("\t"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *clocksExperiment) check() error {
	c := &o.clocks
	switch {
	case o.output == "":
		return usagef("experiment clocks needs -o DIR")
	case !slices.Contains(synth.Patterns(), c.Pattern):
		return usagef("--pattern: %q is none of %s%s", c.Pattern, strings.Join(synth.Patterns(), ", "), didYouMean(c.Pattern, synth.Patterns()))
	case len(c.Ranks) == 0 || slices.Min(c.Ranks) < 2:
		return usagef("--ranks: numbers of processes from 2 on are needed")
	case c.PerHost < 1:
		return usagef("--per-host: %d is less than 1", c.PerHost)
	case c.Steps < 1:
		return usagef("--steps: %d is not positive", c.Steps)
	case c.Runs < 1:
		return usagef("--runs: %d is not positive", c.Runs)
	}
	return nil
}

func (a *app) experimentClocks(ctx context.Context, o clocksExperiment) error {
	if err := o.check(); err != nil {
		return err
	}
	progress := a.newProgress()
	o.clocks.Correct = correctDrift
	o.clocks.Progress = func(what string) {
		progress.last = time.Time{} // each is worth showing
		progress.say("%s", what)
	}
	res, err := o.clocks.Run(ctx)
	progress.clear()
	if err != nil {
		return err
	}
	return a.writeExperiment(o.output, res)
}

// longest leaves the pauses of generated runs out of what becomes of intervals.
const longest = time.Minute

// correctDrift writes the traces of a run with drifting clocks, and corrects its times.
func correctDrift(ctx context.Context, dir string, c synth.Config, perHost int) (*experiments.Corrected, error) {
	_, run, err := synthesize(ctx, dir, c, perHost)
	if err != nil {
		return nil, err
	}
	out := &experiments.Corrected{Errors: map[clocks.Kind]experiments.Errors{}}
	start := time.Now()
	if _, err := analysis.Run(ctx, dir, analysis.Options{}); err != nil {
		return nil, err
	}
	out.Analysis = time.Since(start)
	res, err := analysis.Clocks(ctx, dir, analysis.ClocksOptions{From: clocks.Interpolated, Latency: driftLatency(), Longest: longest.Nanoseconds()})
	if err != nil {
		return nil, err
	}
	out.Table, out.Jumps = res.Table, res.Jumps
	interpolated, err := analysis.Times(ctx, dir, clocks.Interpolated)
	if err != nil {
		return nil, err
	}
	for _, kind := range clocks.Kinds() {
		start := time.Now()
		times, err := analysis.Times(ctx, dir, kind)
		if err != nil {
			return nil, err
		}
		if kind == clocks.Corrected {
			out.Clocks = time.Since(start)
		}
		out.Errors[kind] = run.errors(times, interpolated)
	}
	return out, nil
}
