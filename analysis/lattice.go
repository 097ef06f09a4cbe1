package analysis

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// ErrRegion is the error of a concurrent region that the run does not have.
var ErrRegion = errors.New("no such region")

// Neighbourhoods returns, for each of the findings that Run has found in the
// traces of a directory, the event lattice around its accesses: up to around
// calls before and behind where each access begins and is completed, and the
// synchronizations that the finding names. The traces are read once more, for
// all findings together and no further than needed. What is held grows with the
// findings and around. A finding without events, read from parts that were
// written by others for example, has an empty lattice.
//
// Errors are those of Run but for its options, and the context's.
func Neighbourhoods(ctx context.Context, dir string, layers symbols.Layers, findings []conflicts.Finding, around int) ([]*lattice.Lattice, error) {
	r, err := start(ctx, dir, Options{Layers: layers})
	if err != nil {
		return nil, err
	}
	defer r.close()
	b := lattice.NewNeighbourhoods(r.dir.Ranks, len(findings), around, targetsOf(findings, r.dir.Ranks, -1))
	if _, err := r.watch(b, b.Done); err != nil {
		return nil, err
	}
	return b.Lattices(r.places()), nil
}

// RegionLattice returns the event lattice of one concurrent region, from 0: all
// calls in it, and the accesses of those of the findings that lie in it, which
// Access.Finding counts as the list does. Of more than limit events the first
// are kept (0: no limit). An error wraps ErrRegion when there is no such region;
// others are those of Neighbourhoods.
func RegionLattice(ctx context.Context, dir string, layers symbols.Layers, region int, findings []conflicts.Finding, limit int) (*lattice.Lattice, error) {
	r, err := start(ctx, dir, Options{Layers: layers})
	if err != nil {
		return nil, err
	}
	defer r.close()
	b := lattice.NewRegion(r.dir.Ranks, region, limit, targetsOf(findings, r.dir.Ranks, region))
	n, err := r.watch(b, b.Done)
	if err != nil {
		return nil, err
	}
	if region < 0 || region >= n {
		return nil, fmt.Errorf("%w: %d; there are %d, from 0 to %d", ErrRegion, region, n, n-1)
	}
	return b.Lattice(r.places()), nil
}

// watch replays the run for an observer until that is done, and returns how many
// concurrent regions were begun.
func (r *run) watch(o core.Observer, done func() bool) (int, error) {
	r.streams = prefetchAll(r.readers)
	defer r.streams.stop()
	opts := r.replayOptions()
	opts.Observer = o
	opts.Part = noMemory
	m, err := core.NewMachine(r.streams.streams(), opts, r.models()...)
	if err != nil {
		return 0, err
	}
	n := 0
	for region, err := range r.replayed(m) {
		if err != nil {
			return 0, err
		}
		n = region.Index + 1
		region.Release()
		if done() {
			break
		}
	}
	return n, nil
}

// places names stacks for a lattice.
func (r *run) places() lattice.Places {
	n, _ := r.newNamer() // Run has warned of what cannot be read
	return func(rank int, stack uint32) lattice.Place { return placeOf(n.stack(int32(rank), stack)) }
}

func placeOf(stack []symbols.Frame) lattice.Place {
	f, ok := symbols.Here(stack)
	if !ok {
		return lattice.Place{}
	}
	return lattice.Place{Func: f.Func, File: f.File, Line: f.Line}
}

// targetsOf lists the accesses of findings: of those in one region, or of all
// (-1).
func targetsOf(findings []conflicts.Finding, ranks, region int) []lattice.Target {
	var out []lattice.Target
	for i := range findings {
		f := &findings[i]
		if region >= 0 && f.Region != region {
			continue
		}
		for k, s := range []*conflicts.Side{&f.First, &f.Second} {
			if s.Event > 0 && s.Rank < ranks {
				t := targetOf(i, k+1, s, ranks)
				t.Letter = letterOf(f, s)
				out = append(out, t)
			}
		}
	}
	return out
}

// letterOf is what drawings call an access: "A" is the one that a report speaks of first.
func letterOf(f *conflicts.Finding, s *conflicts.Side) string {
	if lead, _ := explain.Sides(f); s == lead {
		return "A"
	}
	return "B"
}

func targetOf(finding, number int, s *conflicts.Side, ranks int) lattice.Target {
	t := lattice.Target{
		Finding: finding, Side: number, At: lattice.Point{Rank: s.Rank, Pos: s.Event}, Strand: s.Thread, Name: s.Call,
		Returns: s.Class == regions.CallBuffer && s.Write && !s.Pending,
	}
	if s.Call == "" {
		t.Name, t.Memory, t.Place = s.Role, true, placeOf(s.Stack)
	}
	for _, p := range []conflicts.SyncPoint{s.Started, s.Next, s.Done, s.Heard, s.Passed} {
		at := lattice.Point{Rank: p.Rank, Pos: p.Event}
		if p.Call != "" && p.Event > 0 && p.Rank < ranks {
			t.Near = append(t.Near, at)
		}
	}
	if s.Pending && s.Done.Event > 0 && s.Done.Rank < ranks {
		t.Done = lattice.Point{Rank: s.Done.Rank, Pos: s.Done.Event}
	}
	return t
}

// noMemory is a part of memory with next to nothing in it, for replays that need
// no loads and stores.
var noMemory = regions.Part{Of: maxShards}
