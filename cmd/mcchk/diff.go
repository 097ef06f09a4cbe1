package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/report"
)

type diffOptions struct {
	json   bool
	failOn string
	found  foundOptions
	unseen unseenOptions
}

func (o *diffOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "write JSON")
	f.StringVar(&o.failOn, "fail-on", "error", "least severity of new findings that gives exit status 1: error, warning, note, never")
	registerCompletion(cmd, "fail-on", fixedWords(severityNames()...))
	o.found.addFlags(cmd)
	o.unseen.addFlags(f)
}

func newDiffCommand(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare the findings of two runs",
		Long: `Compares two reports, each a file that --format json wrote or a directory of traces,
and lists the findings that are new in the second, gone from it, and still there.
Findings are recognized as those of a baseline are: whatever ranks, addresses and
line numbers they have. Directories are analysed first.

Exit status: 0 no new finding at or above --fail-on, 1 there are new ones, 2 wrong
use, 3 the second run is undecided, or a report or trace cannot be read. Findings
that a baseline or a suppression accepted in the second report do not fail.`,
		Example: `  mcchk diff main.json branch.json
  mcchk diff --json main.json mcchk-traces`,
		Args: needs(2, 2, "two reports (JSON) or directories of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.diff(cmd.Context(), args[0], args[1], o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *diffOptions) check() error {
	if !slices.Contains(severityNames(), o.failOn) {
		return usagef("--fail-on: %q is none of %s%s", o.failOn, strings.Join(severityNames(), ", "), didYouMean(o.failOn, severityNames()))
	}
	if _, err := o.unseen.parts(); err != nil {
		return err
	}
	return o.found.check()
}

func (a *app) diff(ctx context.Context, before, after string, o diffOptions) error {
	old, err := a.saved(ctx, before, o)
	if err != nil {
		return err
	}
	now, err := a.saved(ctx, after, o)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // paths stay absolute
	}
	d := report.Compare(old, now, func(s conflicts.Severity) bool { return fails(s, o.failOn) }, dir)
	if o.json {
		err = d.WriteJSON(a.out)
	} else {
		err = d.WriteText(a.out, a.colorOn(a.out))
	}
	switch {
	case err != nil:
		return err
	case d.Failing > 0:
		return &statusError{status: exitFindings}
	case d.After.Verdict == analysis.Undecided:
		return &statusError{status: exitFailure}
	}
	return nil
}

// saved reads a JSON report, or analyses a directory as one.
func (a *app) saved(ctx context.Context, path string, o diffOptions) (*report.Saved, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		s, err := report.Read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
	dirs, err := a.runDirs([]string{path})
	if err != nil {
		return nil, err
	}
	of := analyzeOptions{model: o.found.model, predict: o.found.predict, layers: o.found.layers, unseen: o.unseen}
	res, err := a.analyzeRuns(ctx, dirs, of)
	if err != nil {
		return nil, err
	}
	for _, w := range res.Warnings {
		a.say("warning: %s: %s", path, w)
	}
	var buf bytes.Buffer
	if err := report.JSON(&buf, res); err != nil {
		return nil, err
	}
	return report.Read(&buf)
}
