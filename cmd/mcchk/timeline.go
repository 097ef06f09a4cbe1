package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/clocks"
)

func newTimelineCommand(a *app) *cobra.Command {
	var output, kind string
	var found foundOptions
	cmd := &cobra.Command{
		Use:   "timeline [DIR]",
		Short: "Write the traces as a timeline for Perfetto or Chrome",
		Long: `Writes the traces of a run as trace events (JSON), which https://ui.perfetto.dev
and chrome://tracing display: a process for each rank with its threads; calls and
epochs as slices; messages and other order between processes as flows; the
accesses of findings as marks.

Times are corrected ones: nothing ends before what it waited for ('mcchk clocks'
says what that changes). --clocks interpolated leaves them as the clocks of the
processes had them, with offsets that change as measured; --clocks measured, with
the offsets at the beginning of the run. Traces without times, written by hand or
by 'mcchk generate', get logical times; the metadata tells which.

Exit status: 0 written, 2 wrong use, 3 the traces cannot be read.`,
		Example: "  mcchk timeline traces -o timeline.json",
		Args:    needs(0, 1, "a directory of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := found.check(); err != nil {
				return err
			}
			if output == "" && isTerminal(a.out) {
				return usagef("a timeline is a file of many thousand lines, for Perfetto or Chrome: name one with -o")
			}
			dir, err := a.traceDir(args)
			if err != nil {
				return err
			}
			times, err := clockKind(kind, clocks.Kinds())
			if err != nil {
				return err
			}
			return a.timeline(cmd.Context(), dir, output, times, found)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default standard output)")
	cmd.Flags().StringVar(&kind, "clocks", string(clocks.Corrected), "times to go by: "+strings.Join(kindNames(clocks.Kinds()), ", "))
	registerCompletion(cmd, "clocks", fixedWords(kindNames(clocks.Kinds())...))
	found.addFlags(cmd)
	return cmd
}

func (a *app) timeline(ctx context.Context, dir, output string, times clocks.Kind, o foundOptions) error {
	res, err := a.analyzed(ctx, dir, o)
	if err != nil {
		return err
	}
	return a.write(output, func(w io.Writer) error {
		return analysis.Timeline(ctx, res.Directory, times, res.Layers, res.Findings, w)
	})
}
