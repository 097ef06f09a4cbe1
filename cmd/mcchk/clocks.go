package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/clocks"
)

func newClocksCommand(a *app) *cobra.Command {
	var from string
	var asJSON bool
	var host, network time.Duration
	cmd := &cobra.Command{
		Use:   "clocks [DIR]",
		Short: "Say how far the clocks of the processes can be trusted, and correct them",
		Long: `Corrects the times of a run with the controlled logical clock, as 'mcchk timeline'
does, and says what was wrong with them before and after: how many messages arrive
before they left, or sooner than the least latency allows; how far events were
moved; how much the time between neighbouring events of a process changed.

Messages are all that one process waits for of another: those of collective calls,
epochs and locks too, as their meaning asks for. Events are the beginnings and ends
of calls. The least latency within a host is 0 unless --latency-host says otherwise,
and between hosts half of the quickest exchange by which clocks were compared
(--latency-network).

Exit status: 0 written, 2 wrong use, 3 the traces cannot be read or have no times.`,
		Example: "  mcchk clocks traces\n  mcchk clocks --json traces",
		Args:    needs(0, 1, "a directory of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, err := clockKind(from, clocks.Kinds()[:2])
			if err != nil {
				return err
			}
			dir, err := a.traceDir(args)
			if err != nil {
				return err
			}
			opts := analysis.ClocksOptions{From: kind}
			if opts.Latency.Host, err = latencyOf(cmd, "latency-host", host); err != nil {
				return err
			}
			if opts.Latency.Network, err = latencyOf(cmd, "latency-network", network); err != nil {
				return err
			}
			return a.clocks(cmd.Context(), dir, opts, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "clocks", string(clocks.Interpolated), "times before: "+strings.Join(kindNames(clocks.Kinds()[:2]), " or "))
	f.BoolVar(&asJSON, "json", false, "write JSON")
	f.DurationVar(&host, "latency-host", 0, "least time between processes of one host, such as 300ns")
	f.DurationVar(&network, "latency-network", 0, "least time between processes of different hosts, such as 2us")
	registerCompletion(cmd, "clocks", fixedWords(kindNames(clocks.Kinds()[:2])...))
	return cmd
}

// latencyOf returns a latency that a flag names, ns; -1: it names none.
func latencyOf(cmd *cobra.Command, flag string, d time.Duration) (int64, error) {
	switch {
	case !cmd.Flags().Changed(flag):
		return -1, nil
	case d < 0:
		return 0, usagef("--%s: %v is negative", flag, d)
	}
	return int64(d), nil
}

// clockKind reads the name of a kind of times.
func clockKind(name string, all []clocks.Kind) (clocks.Kind, error) {
	if !slices.Contains(all, clocks.Kind(name)) {
		names := kindNames(all)
		return "", usagef("--clocks: %q is none of %s%s", name, strings.Join(names, ", "), didYouMean(name, names))
	}
	return clocks.Kind(name), nil
}

func kindNames(all []clocks.Kind) []string {
	var names []string
	for _, k := range all {
		names = append(names, string(k))
	}
	return names
}

// clocksJSON is what clocks --json writes.
type clocksJSON struct {
	Directory string      `json:"directory"`
	Times     clocks.Kind `json:"times"` // before
	Hosts     int         `json:"hosts"`
	Latency   struct {
		Host    int64 `json:"host_ns"`
		Network int64 `json:"network_ns"`
	} `json:"latency"`
	clocks.Table
	Jumps int `json:"jumps"`
}

func (a *app) clocks(ctx context.Context, dir string, opts analysis.ClocksOptions, asJSON bool) error {
	res, err := analysis.Clocks(ctx, dir, opts)
	if errors.Is(err, analysis.ErrNoTimes) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err != nil {
		return err
	}
	if !asJSON {
		return writeClocks(a.out, opts.From, res)
	}
	out := clocksJSON{Directory: dir, Times: opts.From, Hosts: res.Hosts, Table: res.Table, Jumps: res.Jumps}
	out.Latency.Host, out.Latency.Network = res.Latency.Host, res.Latency.Network
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func writeClocks(w io.Writer, from clocks.Kind, res *analysis.ClocksResult) error {
	out := bufio.NewWriter(w)
	row := func(name string, of func(*clocks.Messages) string) {
		fmt.Fprintf(out, "%-28s %16s %16s\n", name, of(&res.Before), of(&res.After))
	}
	fmt.Fprintf(out, "%-28s %16s %16s\n", "messages", from, clocks.Corrected)
	row("all", func(m *clocks.Messages) string { return fmt.Sprint(m.Messages) })
	row("arrive before they leave", func(m *clocks.Messages) string { return share(m.Reversed, m.Messages) })
	row("  by, on average", func(m *clocks.Messages) string { return time.Duration(m.AverageReversed).String() })
	row("  at most", func(m *clocks.Messages) string { return time.Duration(m.MostReversed).String() })
	row("arrive sooner than they can", func(m *clocks.Messages) string { return share(m.Violations, m.Messages) })
	m, i := &res.Moves, &res.Intervals
	fmt.Fprintf(out, "\nhosts: %d; least latency: %v within one, %v between two\n", res.Hosts, time.Duration(res.Latency.Host), time.Duration(res.Latency.Network))
	fmt.Fprintf(out, "clocks put forward: %d times\n", res.Jumps)
	fmt.Fprintf(out, "events moved: %s, by %v on average, at most %v\n", share(m.Moved, m.Events), time.Duration(m.Average), time.Duration(m.Most))
	fmt.Fprintf(out, "intervals between events: %d, changed by %.4g %% on average, at most %.4g %%\n\n", i.Intervals, i.Average, i.Most)
	fmt.Fprintf(out, "%-28s %16s %16s\n", "changed by more than", "intervals", "time")
	for _, above := range i.Above {
		fmt.Fprintf(out, "%-28s %16s %16s\n", fmt.Sprintf("%g %%", above.Threshold), fmt.Sprintf("%.2f %%", above.Intervals), fmt.Sprintf("%.2f %%", above.Time))
	}
	return out.Flush()
}

func share(n, of int64) string {
	if of == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%.2f %%)", n, 100*float64(n)/float64(of))
}
