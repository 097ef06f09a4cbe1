package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/report"
)

// Values of --format of lattice.
const (
	latticeSVG  = "svg"
	latticeDOT  = "dot"
	latticeJSON = "json"
	latticeText = "text"
)

type latticeOptions struct {
	region  int
	finding string
	around  int
	limit   int
	format  string
	output  string
	order   bool
	found   foundOptions
}

// foundOptions are those of the analysis that findings depend on.
type foundOptions struct {
	model   string
	predict bool
	layers  layerOptions
}

func (o *foundOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.model, "memory-model", memoryModels[0], "memory model of windows, as for analyze: auto, unified or separate")
	f.BoolVar(&o.predict, "predict", false, "with the findings that analyze --predict adds")
	registerCompletion(cmd, "memory-model", fixedWords(memoryModels...))
	o.layers.addFlags(f)
}

func (o *foundOptions) check() error {
	if !slices.Contains(memoryModels, o.model) {
		return usagef("--memory-model: %q is none of %s%s", o.model, strings.Join(memoryModels, ", "), didYouMean(o.model, memoryModels))
	}
	return o.layers.check()
}

func (o *latticeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.region, "region", -1, "concurrent region `N`, from 0, as numbered in the JSON report")
	f.StringVar(&o.finding, "finding", "", "a finding: its `NUMBER`, from 1 in the order of the JSON report, or the beginning of its fingerprint (default 1, without --region)")
	f.IntVar(&o.around, "around", 5, "with --finding: calls to show before and after the start and the completion of its accesses")
	f.IntVar(&o.limit, "limit", 2000, "with --region: show at most this many events, the first ones; 0: all")
	f.StringVar(&o.format, "format", "", "svg, dot (Graphviz) or json; with --total-order text or json (default: what the file's name ends with, else svg or text)")
	f.StringVarP(&o.output, "output", "o", "", "file to write (default standard output)")
	f.BoolVar(&o.order, "total-order", false, "list all events in one order that is consistent with all dependences")
	registerCompletion(cmd, "format", fixedWords(latticeSVG, latticeDOT, latticeJSON, latticeText))
	o.found.addFlags(cmd)
}

func newLatticeCommand(a *app) *cobra.Command {
	var o latticeOptions
	cmd := &cobra.Command{
		Use:   "lattice [DIR] [--finding N | --region N]",
		Short: "Draw what orders the events around a finding, or of a region",
		Long: `Draws the event lattice of one concurrent region, or of the surroundings of a
finding: a line for each process with its calls and the accesses of findings, and
the direct dependences between processes. Dependences that others imply are left
out.

Every prefix of the events, in the order written, is a consistent cut.
--total-order lists them in such an order that does not depend on timing.

Exit status: 0 drawn, 2 wrong use (including a finding or region that does not
exist), 3 the traces cannot be read.`,
		Example: `  mcchk lattice traces --finding 1 -o finding.svg
  mcchk lattice -o finding.svg
  mcchk lattice traces --region 2 --format dot | dot -Tpdf -o region.pdf
  mcchk lattice traces --region 2 --total-order`,
		Args: needs(0, 1, "a directory of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			dir, err := a.traceDir(args)
			if err != nil {
				return err
			}
			return a.lattice(cmd.Context(), dir, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *latticeOptions) check(cmd *cobra.Command) error {
	region := cmd.Flags().Changed("region")
	formats := []string{latticeSVG, latticeDOT, latticeJSON}
	if o.order {
		formats = []string{latticeText, latticeJSON}
	}
	if ending := strings.TrimPrefix(filepath.Ext(o.output), "."); o.format == "" && slices.Contains(formats, ending) {
		o.format = ending
	}
	o.format = cmp.Or(o.format, formats[0])
	if !region && o.finding == "" {
		o.finding = "1"
	}
	switch {
	case region && cmd.Flags().Changed("finding"):
		return usagef("lattice draws a region or a finding: give --region or --finding, not both")
	case region && o.region < 0:
		return usagef("--region: %d is negative", o.region)
	case o.around < 0:
		return usagef("--around: %d is negative", o.around)
	case o.limit < 0:
		return usagef("--limit: %d is negative", o.limit)
	case !slices.Contains(formats, o.format):
		return usagef("--format: %q is none of %s%s", o.format, strings.Join(formats, ", "), didYouMean(o.format, formats))
	}
	return o.found.check()
}

func (a *app) lattice(ctx context.Context, dir string, o latticeOptions) error {
	res, err := a.analyzed(ctx, dir, o.found)
	if err != nil {
		return err
	}
	l, err := a.buildLattice(ctx, res, o)
	if err != nil {
		return err
	}
	if l.Truncated {
		a.say("region %d has more than %d events; these are the first (--limit)", o.region, o.limit)
	}
	return a.write(o.output, func(w io.Writer) error { return renderLattice(w, l, o) })
}

// analyzed analyses traces for a picture of them, and says what the result does
// not rest on.
func (a *app) analyzed(ctx context.Context, dir string, o foundOptions) (*analysis.Result, error) {
	progress := a.newProgress()
	opts := analysis.Options{MemoryModel: analysis.MemoryModel(o.model), Predict: o.predict, Layers: o.layers.Layers, Progress: progress.update}
	(&memoryValue{}).bound(&opts, a.getenv)
	res, err := a.backend.analyze(ctx, dir, opts)
	progress.clear()
	if err != nil {
		return nil, err
	}
	if why := whyInterrupted(res); why != "" {
		return nil, &statusError{exitFailure, errors.New(why)}
	}
	for _, w := range res.Warnings {
		a.say("warning: %s", w)
	}
	for _, d := range res.Caveats {
		a.say("note: %s", d.Text)
	}
	return res, nil
}

// write writes to a file, which it makes or replaces, or to standard output.
func (a *app) write(path string, render func(io.Writer) error) error {
	if path == "" || path == stdoutName {
		return render(a.out)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := render(f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

func (a *app) buildLattice(ctx context.Context, res *analysis.Result, o latticeOptions) (*lattice.Lattice, error) {
	if o.finding == "" {
		l, err := analysis.RegionLattice(ctx, res.Directory, res.Layers, o.region, res.Findings, o.limit)
		if errors.Is(err, analysis.ErrRegion) {
			return nil, usagef("--region: %w", err)
		}
		return l, err
	}
	i, err := findingAt(res, o.finding)
	if err != nil {
		return nil, err
	}
	all, err := analysis.Neighbourhoods(ctx, res.Directory, res.Layers, res.Findings[i:i+1], o.around)
	if err != nil {
		return nil, err
	}
	for k := range all[0].Accesses {
		all[0].Accesses[k].Finding = i
	}
	f := &res.Findings[i]
	all[0].Heading = f.Rule + ": " + report.Message(f)
	return all[0], nil
}

// findingAt finds a finding by number or fingerprint.
func findingAt(res *analysis.Result, name string) (int, error) {
	findings := res.Findings
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(findings) {
		return n - 1, nil
	}
	switch at, err := fingerprint.Find(findings, res.Sources, name); {
	case err == nil:
		return at[0], nil
	case errors.Is(err, fingerprint.ErrSeveral):
		return 0, usagef("--finding: %w: give more of it, or a number", err)
	}
	if len(findings) == 0 {
		return 0, usagef("--finding: there are no findings in these traces; --region draws a region")
	}
	return 0, usagef("--finding: %q is none of the %d findings:\n%s", name, len(findings), listFindings(res))
}

// listFindings lists the findings of a result for somebody who named none of them.
func listFindings(res *analysis.Result) string {
	const most = 20
	var list []string
	for i := range res.Findings[:min(most, len(res.Findings))] {
		f := fingerprint.Of(&res.Findings[i], res.Sources)
		list = append(list, fmt.Sprintf("  %d  %s  %s", i+1, f.Hash()[:12], f))
	}
	if more := len(res.Findings) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(list, "\n")
}

func renderLattice(w io.Writer, l *lattice.Lattice, o latticeOptions) error {
	switch {
	case o.order && o.format == latticeText:
		return l.WriteOrder(w)
	case o.order:
		return writeJSON(w, l.Ordered())
	case o.format == latticeDOT:
		return l.WriteDOT(w)
	case o.format == latticeJSON:
		return writeJSON(w, l)
	}
	return l.WriteSVG(w)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
