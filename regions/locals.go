package regions

import (
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// Stretch is loads and stores of one strand in the memory of its process that
// follow one another in one separate region, under the same locks. Each is an
// event: the first has number Pos, the others follow one by one.
type Stretch struct {
	Rows          []trace.Rows
	Len           int    // accesses
	Lo, Hi        uint64 // a range of addresses that holds all of them, half-open
	Pos           uint64
	Seg           int32
	Thread        uint32
	locks         uint32 // index in Region.lockSets
	Loads, Stores bool   // there are some
}

// LocalAccess returns access k of row i of a stretch of a line as an Access.
func (r *Region) LocalAccess(line int32, s *Stretch, i, k int) *Access {
	l := s.Rows[i].Access(k)
	run := intervals.Strided(0, uint64(l.Size), uint64(l.Stride), l.Count)
	p, rank := Point{Line: line, Seg: s.Seg, Pos: s.PosOf(i, k)}, r.Process(line)
	a := LoadOrStore(&l)
	a.Owner, a.Rank = rank, rank
	a.Base, a.Layout = l.Addr, intervals.NewLayout([]intervals.Run{run})
	a.Start, a.End, a.Locks, a.Bounds = p, p, r.lockSets[s.locks], r.Segment(p).Bounds
	a.Call = NewCallInfo(CallSite{Rank: rank, Thread: s.Thread, Stack: l.Stack}, p.Pos)
	return &a
}

// PosOf returns the number of the event that access k of row i is.
func (s *Stretch) PosOf(i, k int) uint64 { return s.Pos + uint64(s.Rows[i].Number(k)) }

// NewStretch returns rows of a stretch of the trace as a stretch of the region:
// the first access of the whole stretch has number pos.
func NewStretch(s *trace.Stretch, rows []trace.Rows, pos uint64, seg int32, strand uint32) Stretch {
	held := Stretch{
		Rows: rows, Len: s.Len, Lo: s.Lo, Hi: s.Hi, Loads: s.Loads > 0, Stores: s.Stores > 0,
		Pos: pos, Seg: seg, Thread: strand,
	}
	if len(rows) < len(s.Rows) {
		held.bound()
	}
	return held
}

// bound finds out what holds for all rows.
func (s *Stretch) bound() {
	s.Lo, s.Hi = s.Rows[0].Bounds()
	s.Loads, s.Stores = false, false
	for i := range s.Rows {
		r := &s.Rows[i]
		lo, hi := r.Bounds()
		s.Lo, s.Hi = min(s.Lo, lo), max(s.Hi, hi)
		s.Loads, s.Stores = s.Loads || !r.Store, s.Stores || r.Store
	}
}

// LoadOrStore returns what a run of loads or stores does, without whose memory it
// is, which bytes and when.
func LoadOrStore(a *trace.Access) Access {
	acc := Access{Kind: Read, Role: Load}
	if a.Store {
		acc.Kind, acc.Role = Write, Store
	}
	if a.Atomic {
		acc.Atomic = a.Size
	}
	return acc
}
