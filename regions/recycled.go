package regions

import (
	"slices"
	"sort"
)

// recycled is memory of a process that was given up at a moment: what is accessed there
// later are other variables.
type recycled struct {
	lo, hi uint64
	pos    uint64 // of the event in the trace of the process
}

// holds reports whether bytes [lo, hi) are all of it.
func (g recycled) holds(lo, hi uint64) bool { return g.lo <= lo && hi <= g.hi }

// Recycle notes that memory [lo, hi) of a process was given up with that event of its
// trace, the last one so far.
func (s *Storage) Recycle(rank int32, lo, hi, pos uint64) {
	if s.recycled == nil {
		s.recycled = make([][]recycled, s.processes)
	}
	s.recycled[rank] = append(s.recycled[rank], recycled{lo, hi, pos})
}

// Recycles reports whether accesses to bytes [lo, hi) by the processes of two others may be to
// different variables, since the bytes were given up in the region.
func (r *Region) Recycles(a, b *Access, lo, hi uint64) bool {
	return r.recycled != nil && a.Rank == a.Owner && b.Rank == a.Owner &&
		slices.ContainsFunc(r.recycled[a.Owner], func(g recycled) bool { return g.holds(lo, hi) })
}

// Recycled reports whether two accesses of strands of one process to its memory are to
// different variables: between them, bytes [lo, hi) were given up.
func (r *Region) Recycled(a, b *Access, lo, hi uint64) bool {
	if r.recycled == nil || a.Rank != a.Owner || b.Rank != a.Owner {
		return false
	}
	if b.Start.Pos < a.Start.Pos || !b.Start.Within() {
		a, b = b, a
	}
	if !a.End.Within() || !b.Start.Within() || r.Process(a.End.Line) != a.Owner {
		return false
	}
	list := r.recycled[a.Owner]
	for _, g := range list[sort.Search(len(list), func(i int) bool { return list[i].pos >= a.End.Pos }):] {
		if g.pos >= b.Start.Pos {
			return false
		}
		if g.holds(lo, hi) {
			return true
		}
	}
	return false
}
