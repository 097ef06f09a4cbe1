package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/synth"
)

type generateOptions struct {
	config  synth.Config
	output  string
	drift   bool
	perHost int
}

func (o *generateOptions) addFlags(cmd *cobra.Command) {
	f, c := cmd.Flags(), &o.config
	f.StringVar(&c.Pattern, "pattern", "", "what the program does: "+strings.Join(synth.Patterns(), ", "))
	f.IntVar(&c.Ranks, "ranks", 4, "processes")
	f.Int64Var(&c.Accesses, "accesses", 0, "total accesses: runs of loads or stores, and one-sided operations")
	f.Int64Var(&c.Steps, "steps", 0, "repetitions of the pattern (default: as many as --accesses needs)")
	f.Uint64Var(&c.Seed, "seed", 1, "random seed")
	f.IntVar(&c.Races, "races", 0, "planted races; "+synth.ExpectedFile+" lists them")
	f.IntVar(&c.Dims, "dims", 0, "halo: dimensions of the grid of processes, 2 or 3 (default 2)")
	f.StringVar(&c.Sync, "sync", "", "halo: synchronization, fence, pscw or messages (default fence)")
	f.BoolVar(&c.Compress, "compress", false, "compress the files with zstd")
	f.IntVar(&c.Jobs, "jobs", 0, "files written in parallel; 0: one per processor")
	f.BoolVar(&o.drift, "drift", false, "give calls the times that drifting clocks of several hosts show")
	f.IntVar(&o.perHost, "per-host", 1, "with --drift: processes on each host")
	f.StringVarP(&o.output, "output", "o", "", "directory for the traces")
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	registerCompletion(cmd, "pattern", fixed(describedPatterns("\t")...))
	registerCompletion(cmd, "dims", fixed("2", "3"))
	registerCompletion(cmd, "sync", fixed(synth.SyncFence, synth.SyncPSCW, synth.SyncMessages))
	registerCompletion(cmd, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

// describedPatterns are the patterns with what they do behind a separator.
func describedPatterns(separator string) []string {
	var lines []string
	for _, name := range synth.Patterns() {
		lines = append(lines, name+separator+synth.Describe(name))
	}
	return lines
}

func newGenerateCommand(a *app) *cobra.Command {
	var o generateOptions
	patterns := ""
	for _, name := range synth.Patterns() {
		patterns += fmt.Sprintf("  %-12s %s\n", name, synth.Describe(name))
	}
	cmd := &cobra.Command{
		Use:   "generate --pattern PATTERN (--accesses M | --steps S) -o DIR",
		Short: "Write synthetic traces of any size, with races at known places",
		Long: `Writes traces of an imaginary program: to try out mcchk, to measure it, and to
check that it finds what it should. Patterns:

` + patterns + `
No pattern has races of its own. --races plants races: pairs of accesses with
their own source lines (planted.c), one finding each. ` + synth.ExpectedFile + ` in the same
directory lists what was generated and what must be found, with rules, lines,
processes and bytes.

With --drift calls have wall-clock times, by the clocks of hosts with --per-host
processes each, which are apart, drift, and are put right by jumps; the run pauses for
ten minutes at its beginning and its end, where offsets are measured. ` + synth.ExpectedFile + `
has the clocks, so that true times are known. 'mcchk clocks' corrects such times.

An access is one record that touches memory others may touch: a run of loads or
stores, as the tracer records the loop over a row, or a one-sided operation. The
same options write the same bytes. A directory with other files in it is refused.`,
		Example: `  mcchk generate --pattern halo --ranks 16 --accesses 1000000 --races 5 -o traces
  mcchk analyze traces`,
		Args: needs(0, 0, "nothing"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.generate(cmd.Context(), o) },
	}
	o.addFlags(cmd)
	return cmd
}

func (a *app) generate(ctx context.Context, o generateOptions) error {
	c := o.config
	switch {
	case o.output == "":
		return usagef("generate needs -o DIR")
	case c.Pattern == "":
		return usagef("generate needs --pattern, one of %s", strings.Join(synth.Patterns(), ", "))
	case !slices.Contains(synth.Patterns(), c.Pattern):
		return usagef("--pattern: %q is none of %s%s", c.Pattern, strings.Join(synth.Patterns(), ", "), didYouMean(c.Pattern, synth.Patterns()))
	case c.Accesses == 0 && c.Steps == 0:
		return usagef("generate needs --accesses or --steps")
	case c.Jobs < 0:
		return usagef("--jobs: %d is negative", c.Jobs)
	case o.perHost < 1:
		return usagef("--per-host: %d is less than 1", o.perHost)
	case o.perHost > 1 && !o.drift:
		return usagef("--per-host is for --drift")
	}
	progress := a.newProgress()
	c.Progress = func(done, of int64) { progress.say("generating: %d of %d accesses", done, of) }
	var e *synth.Expected
	var err error
	if o.drift {
		e, _, err = synthesize(ctx, o.output, c, o.perHost)
	} else {
		e, err = synth.Generate(ctx, o.output, c)
	}
	progress.clear()
	if errors.Is(err, synth.ErrConfig) {
		return usagef("%w", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: %d processes, %d accesses in %d steps: %d one-sided operations, %d runs of %d loads and %d stores; planted races: %d, in %s\n",
		o.output, e.Ranks, e.Accesses, e.Steps, e.Operations, e.Runs, e.Loads, e.Stores, len(e.Races), filepath.Join(o.output, synth.ExpectedFile))
	return err
}
