package regions

import "sort"

// recycled is memory of a process that was given up at a moment: what is accessed there
// later are other variables.
type recycled struct {
	lo, hi uint64
	pos    uint64 // of the event in the trace of the process
}

// Recycle notes that memory [lo, hi) of a process was given up with that event of its
// trace, the last one so far.
func (s *Storage) Recycle(rank int32, lo, hi, pos uint64) {
	if s.recycled == nil {
		s.recycled = make([][]recycled, s.processes)
	}
	s.recycled[rank] = append(s.recycled[rank], recycled{lo, hi, pos})
}

// Recycles reports whether any memory of a process was given up in the region that its
// strands may have been given again.
func (r *Region) Recycles(owner int32) bool { return r.recycled != nil && len(r.recycled[owner]) > 0 }

// Recycled reports whether two accesses of strands of one process to its memory are to
// different variables: between them, bytes [lo, hi) were given up.
func (r *Region) Recycled(a, b *Access, lo, hi uint64) bool {
	if !r.Recycles(a.Owner) || a.Rank != a.Owner || b.Rank != a.Owner {
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
		if g.lo <= lo && hi <= g.hi {
			return true
		}
	}
	return false
}
