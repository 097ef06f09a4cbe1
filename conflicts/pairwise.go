package conflicts

import (
	"context"
	"math"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// searchPairs is the check of the papers: every two accesses to the memory of
// one process are compared (MC-Checker, MC-CChecker). It finds what search finds,
// and stands beside it for comparison. Two loads or stores of the owner are
// ordered, so that they need not be.
func (s *searcher) searchPairs(ctx context.Context, owner int32, calls []*regions.Access) {
	calls = slices.Clone(calls)
	all, err := s.region.Series(owner, regions.Slice{}, &s.scratch)
	if err != nil {
		s.err = err
		return
	}
	for _, series := range all {
		for i := range series.Len() {
			calls = append(calls, series.Access(i))
		}
	}
	for _, all := range s.region.CarriedOf(owner) {
		calls = append(calls, all...)
	}
	if len(calls) == 0 {
		return
	}
	for i, a := range calls {
		if ctx.Err() != nil {
			return
		}
		for _, b := range calls[i+1:] {
			s.comparePair(a, b)
		}
	}
	for line := range s.region.Lines(owner) {
		for stretches, old := range s.region.Stretches(line, 0, math.MaxUint64, &s.scratch, &s.err) {
			for k := range stretches {
				if ctx.Err() != nil {
					return
				}
				s.searchPairsOf(&stretches[k], old, line, calls)
			}
		}
	}
}

// searchPairsOf compares the loads and stores of a stretch with what calls access.
func (s *searcher) searchPairsOf(st *regions.Stretch, old bool, line int32, calls []*regions.Access) {
	for i := range st.Rows {
		for k := range int(st.Rows[i].N) {
			a := s.region.LocalAccess(line, st, i, k)
			a.Old = old
			for _, b := range calls {
				s.comparePair(a, b)
			}
		}
	}
}

func (s *searcher) comparePair(a, b *regions.Access) {
	if a.Old && b.Old || a.Span == nil && b.Span == nil && a.Start.Line == b.Start.Line || !mayConflict(a.Kind, b.Kind) {
		return
	}
	if s.region.Precedes(a, b) || s.region.Precedes(b, a) {
		return
	}
	m, ok := s.meet(a, b)
	if !ok || m.beside && (s.region.Before(a.Start, b.Start) || s.region.Before(b.Start, a.Start) || alsoChained(s.region, a, b) || alsoChained(s.region, b, a)) {
		return
	}
	if m.seen && (s.region.SeenBefore(a, b) || s.region.SeenBefore(b, a)) {
		return
	}
	if !s.recycled(a, b, m) {
		s.out.Add(NewPair(s.region, a, b, m.lo, m.hi, m.rule), 1)
	}
}

// recycled reports whether the accesses are to different variables.
func (s *searcher) recycled(a, b *regions.Access, m meeting) bool {
	if !s.region.Recycles(a, b, m.lo, m.hi) {
		return false
	}
	t := s.region.Lifetime(a.Owner, a.Start, a.End, m.lo, m.hi)
	return t.Before(b.End) || t.After(b.Start)
}
