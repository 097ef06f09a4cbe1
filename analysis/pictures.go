package analysis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/lattice"
)

// Pictures is what the drawings of a report need beside the findings.
type Pictures struct {
	Windows []WindowMap
	// Lattices are the events around the first findings of the result, then those
	// of the accepted ones, as far as there is room: by their number in the list
	// of both.
	Lattices []*lattice.Lattice
	// Missing says why there are none; otherwise "".
	Missing string
}

// What Draw is bounded by.
const (
	drawnFindings = 300 // findings with events around them
	drawnAround   = 5   // calls shown before and behind a moment of a finding
)

// ErrOtherRun: the traces are not those that the result is of.
var ErrOtherRun = errors.New("the traces are of another run")

// Draw reads the traces of a result once more, and returns what drawings need.
// It asks for the traces, so that it can be done, and gives the same, for the
// result of Run and for that of MergePartials. Of the options it heeds Progress, MaxMemory and Heap.
// Of a result of several runs, each finding is drawn from the run that it is shown of.
// Errors are those of Run, ErrOtherRun, and the context's.
func Draw(ctx context.Context, res *Result, opts Options) (*Pictures, error) {
	findings := slices.Clone(res.Findings)
	for i := range res.Accepted {
		findings = append(findings, res.Accepted[i].Finding)
	}
	if len(res.Runs) > 0 {
		return drawRuns(ctx, res.Runs, findings, opts)
	}
	return drawRun(ctx, res, findings, opts)
}

// drawRuns draws from several runs. The maps are those of all of them.
func drawRuns(ctx context.Context, runs []*Result, findings []conflicts.Finding, opts Options) (*Pictures, error) {
	out := &Pictures{Lattices: make([]*lattice.Lattice, min(len(findings), drawnFindings))}
	for k, run := range runs {
		var at []int // in findings
		var of []conflicts.Finding
		for i := range findings {
			if findings[i].Runs.Shown == k {
				at, of = append(at, i), append(of, findings[i])
			}
		}
		p, err := drawRun(ctx, run, of, opts)
		if err != nil {
			return nil, err
		}
		for n, l := range p.Lattices {
			if at[n] < len(out.Lattices) {
				out.Lattices[at[n]] = l
			}
		}
		for _, m := range p.Windows {
			m.Run = k
			out.Windows = append(out.Windows, m)
		}
	}
	return out, nil
}

func drawRun(ctx context.Context, res *Result, findings []conflicts.Finding, opts Options) (*Pictures, error) {
	r, err := reopen(ctx, res, opts)
	if err != nil {
		return nil, err
	}
	defer r.close()
	drawn := findings[:min(len(findings), drawnFindings)]
	maps := newMapBuilder(findings)
	around := lattice.NewNeighbourhoods(r.dir.Ranks, len(drawn), drawnAround, targetsOf(drawn, r.dir.Ranks, -1))
	if err := r.draw(maps, around); err != nil {
		return nil, err
	}
	n, _ := r.newNamer() // the error is a warning of the result already
	return &Pictures{Windows: maps.maps(n), Lattices: around.Lattices(r.places())}, nil
}

// reopen opens the traces that a result is of, for another replay. Of the options it
// heeds those that the result does not depend on.
func reopen(ctx context.Context, res *Result, opts Options) (*run, error) {
	opts.Clock, opts.MemoryModel, opts.Layers = res.Clock, res.Model, res.Layers
	opts.Predict, opts.Stats, opts.Unseen = false, false, nil
	r, err := start(ctx, res.Directory, opts)
	if err != nil {
		return nil, err
	}
	if run := hex.EncodeToString(r.dir.Run[:]); run != res.Run {
		r.close()
		return nil, fmt.Errorf("%w: %s, not %s", ErrOtherRun, run, res.Run)
	}
	return r, nil
}

// draw replays the run for its maps and lattices.
func (r *run) draw(maps *mapBuilder, around *lattice.Neighbourhoods) error {
	r.streams = prefetchAll(r.readers)
	defer r.streams.stop()
	opts := r.replayOptions()
	opts.Observer = around
	m, err := core.NewMachine(r.streams.streams(), opts, r.models()...)
	if err != nil {
		return err
	}
	for region, err := range r.replayed(m) {
		if err != nil {
			return err
		}
		if err := maps.add(region); err != nil {
			return err
		}
		r.at.Regions, r.at.Accesses = region.Index+1, m.Stats().Accesses
		r.tell()
		region.Release()
	}
	return nil
}
