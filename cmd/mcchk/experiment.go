package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/experiments"
	"github.com/mcchk/mcchk/synth"
)

func newExperimentCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment growth|scale|clocks",
		Short: "Repeat measurements of the papers on encoded vector clocks and on correcting times",
		Long: `Repeats measurements of "On the Growth of the Prime Numbers Based Encoded Vector
Clock" (Kshemkalyani and Voleti) and of "Scalable timestamp synchronization for event
traces of message-passing applications" (Becker, Rabenseifner, Wolf and Linford). Figures
go to standard output, and as CSV files into a directory. In a checkout of mcchk, 'go run
./experiments/plot DIR' draws those of growth and scale in a directory.`,
		Args: needs(1, 1, "growth, scale or clocks"),
		RunE: func(_ *cobra.Command, args []string) error {
			names := []string{"growth", "scale", "clocks"}
			return usagef("there is no experiment %q%s; the experiments are growth, scale and clocks", args[0], didYouMean(args[0], names))
		},
	}
	cmd.AddCommand(newGrowthCommand(a), newScaleCommand(a), newClocksExperiment(a))
	return cmd
}

// result is what experiments return.
type result interface {
	Summary() experiments.Table
	Tables() []experiments.Table
}

func (a *app) writeExperiment(dir string, r result) error {
	paths, err := experiments.Write(dir, r.Tables())
	if err != nil {
		return err
	}
	if err := r.Summary().WriteText(a.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\nwritten: %s\n", strings.Join(paths, ", "))
	return err
}

type growthOptions struct {
	growth experiments.Growth
	output string
}

func newGrowthCommand(a *app) *cobra.Command {
	var o growthOptions
	cmd := &cobra.Command{
		Use:   "growth -o DIR",
		Short: "How fast encoded clocks grow (section 3 of the paper, figures 3 to 7)",
		Long: `Simulates processes that send messages at random and never synchronise: events
until an encoded clock has 32n bits, the size of a plain vector, for n = 10 to
100 processes (figure 3); sizes of timestamps against events for n = 30, 60, 100
(figures 4 to 6); events until 32n bits against the share of internal events
(figure 7).`,
		Example: "  mcchk experiment growth -o experiments",
		Args:    needs(0, 0, "nothing"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.experimentGrowth(cmd.Context(), o) },
	}
	f, g := cmd.Flags(), &o.growth
	f.IntVar(&g.Runs, "runs", 10, "simulations averaged for each point of figures 3 and 7")
	f.Float64Var(&g.Delay, "delay", experiments.DefaultDelay, "mean delay of messages, in events of one process")
	f.Uint64Var(&g.Seed, "seed", 1, "random seed")
	f.IntVar(&g.Jobs, "jobs", 0, "parallel simulations; 0: one per processor")
	addOutputFlag(cmd, &o.output)
	return cmd
}

func addOutputFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVarP(dir, "output", "o", "", "directory for CSV files")
	registerCompletion(cmd, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

func (a *app) experimentGrowth(ctx context.Context, o growthOptions) error {
	switch {
	case o.output == "":
		return usagef("experiment growth needs -o DIR")
	case o.growth.Runs < 1:
		return usagef("--runs: %d is not positive", o.growth.Runs)
	case !(o.growth.Delay >= 0 && o.growth.Delay <= 1000):
		return usagef("--delay: %v is not between 0 and 1000", o.growth.Delay)
	case o.growth.Jobs < 0:
		return usagef("--jobs: %d is negative", o.growth.Jobs)
	}
	progress := a.newProgress()
	o.growth.Progress = func(done, of int) { progress.say("simulating: %d of %d", done, of) }
	res, err := o.growth.Run(ctx)
	progress.clear()
	if err != nil {
		return err
	}
	return a.writeExperiment(o.output, res)
}

type scaleOptions struct {
	scale  experiments.Scale
	output string
}

func newScaleCommand(a *app) *cobra.Command {
	var o scaleOptions
	cmd := &cobra.Command{
		Use:   "scale -o DIR",
		Short: "Time and memory with encoded and with vector clocks, 512 to 8,192 processes",
		Long: `Generates traces of growing numbers of processes, analyses each with every clock,
each time in a separate process, and compares time and peak memory. Vector clocks
of 8,192 processes take several GiB; --ranks selects other numbers. GOGC and
GOMEMLIMIT are passed on; GOGC is 100 when not set.`,
		Example: "  mcchk experiment scale -o experiments\n  mcchk experiment scale --pattern ring --ranks 64,128 --steps 1000 -o experiments",
		Args:    needs(0, 0, "nothing"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.experimentScale(cmd.Context(), o) },
	}
	f, s := cmd.Flags(), &o.scale
	f.StringVar(&s.Pattern, "pattern", synth.LockOptions, "what the programs do: "+strings.Join(synth.Patterns(), ", "))
	f.IntSliceVar(&s.Ranks, "ranks", []int{512, 1024, 2048, 4096, 8192}, "numbers of processes")
	f.StringSliceVar(&s.Clocks, "clock", []string{evc.Encoded, evc.Vector}, "clocks, as for analyze --clock")
	f.Int64Var(&s.Steps, "steps", 4, "repetitions of the pattern in each trace")
	f.IntVar(&s.Runs, "runs", 3, "analyses of each trace with each clock; the median counts")
	f.Uint64Var(&s.Seed, "seed", 1, "random seed")
	f.StringVar(&s.Dir, "traces", "", "directory for temporary traces (default: that for temporary files)")
	addOutputFlag(cmd, &o.output)
	registerCompletion(cmd, "pattern", cobra.FixedCompletions(describedPatterns("\t"), cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "clock", cobra.FixedCompletions([]string{evc.Encoded, evc.Vector}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *scaleOptions) check() error {
	s := &o.scale
	switch {
	case o.output == "":
		return usagef("experiment scale needs -o DIR")
	case !slices.Contains(synth.Patterns(), s.Pattern):
		return usagef("--pattern: %q is none of %s%s", s.Pattern, strings.Join(synth.Patterns(), ", "), didYouMean(s.Pattern, synth.Patterns()))
	case len(s.Ranks) == 0 || slices.Min(s.Ranks) < 2:
		return usagef("--ranks: numbers of processes from 2 on are needed")
	case len(s.Clocks) == 0:
		return usagef("--clock: a clock is needed")
	case s.Steps < 1:
		return usagef("--steps: %d is not positive", s.Steps)
	case s.Runs < 1:
		return usagef("--runs: %d is not positive", s.Runs)
	}
	return nil
}

func (a *app) experimentScale(ctx context.Context, o scaleOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	progress := a.newProgress()
	o.scale.Analyze = analyzeApart
	o.scale.Progress = func(what string) {
		progress.last = time.Time{} // each is worth showing
		progress.say("%s", what)
	}
	res, err := o.scale.Run(ctx)
	progress.clear()
	if err != nil {
		return err
	}
	return a.writeExperiment(o.output, res)
}

// analyzeApart analyses traces by another process of this program, whose time
// and memory are then its own.
func analyzeApart(ctx context.Context, dir, clock string) (experiments.Cost, error) {
	path, err := os.Executable()
	if err != nil {
		return experiments.Cost{}, err
	}
	cmd := exec.CommandContext(ctx, path, "analyze", "--clock", clock, dir)
	cmd.Args[0] = "mcchk"
	cmd.Env = os.Environ()
	if os.Getenv("GOGC") == "" {
		cmd.Env = append(cmd.Env, "GOGC=100") // peaks tell more of what is held than of when garbage is collected
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if ctx.Err() != nil {
		return experiments.Cost{}, ctx.Err()
	}
	if err != nil {
		return experiments.Cost{}, fmt.Errorf("mcchk analyze: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return experiments.Cost{
		Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Memory: peakMemory(cmd.ProcessState),
	}, nil
}

// peakMemory is the most memory that a process had resident, bytes.
func peakMemory(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10 // others count KiB
}
