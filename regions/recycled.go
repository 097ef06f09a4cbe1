package regions

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"
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
// trace. Strands that wait are replayed later than others, so that events come in any order.
func (s *Storage) Recycle(rank int32, lo, hi, pos uint64) {
	if s.recycled == nil {
		s.recycled = make([][]recycled, s.processes)
	}
	s.recycled[rank] = append(s.recycled[rank], recycled{lo, hi, pos})
}

// recycling is what a process gave up in a region up to the end of a phase. It is sorted when
// somebody asks.
type recycling struct {
	noted  []recycled // as they were replayed
	once   sync.Once
	inTime []recycled // by the position in the trace
	widest []recycled // those that no other holds, by address
}

// handRecycled returns what each process has given up so far; nil: nothing.
func (s *Storage) handRecycled() []*recycling {
	if s.recycled == nil {
		return nil
	}
	all := make([]*recycling, len(s.recycled))
	for i, list := range s.recycled {
		all[i] = &recycling{noted: list}
	}
	return all
}

func (x *recycling) sort() {
	x.inTime = slices.SortedFunc(slices.Values(x.noted), func(g, h recycled) int { return cmp.Compare(g.pos, h.pos) })
	byAddress := slices.SortedFunc(slices.Values(x.noted), func(g, h recycled) int {
		return cmp.Or(cmp.Compare(g.lo, h.lo), cmp.Compare(h.hi, g.hi))
	})
	for _, g := range byAddress {
		if n := len(x.widest); n == 0 || g.hi > x.widest[n-1].hi {
			x.widest = append(x.widest, g)
		}
	}
}

// everHolds reports whether bytes [lo, hi) were given up together at any moment.
func (x *recycling) everHolds(lo, hi uint64) bool {
	x.once.Do(x.sort)
	i := sort.Search(len(x.widest), func(i int) bool { return x.widest[i].lo > lo })
	return i > 0 && x.widest[i-1].holds(lo, hi)
}

// Recycles reports whether accesses to bytes [lo, hi) by the processes of two others may be to
// different variables, since the bytes were given up in the region.
func (r *Region) Recycles(a, b *Access, lo, hi uint64) bool {
	return r.recycled != nil && a.Rank == a.Owner && b.Rank == a.Owner && r.recycled[a.Owner].everHolds(lo, hi)
}

// Lifetime is how long bytes of a process are those of the same variable.
type Lifetime struct {
	region       *Region
	owner        int32
	since, until uint64 // events in its trace: the variable was made after one, and is gone with the other
}

// Lifetime returns that of bytes [lo, hi) of a process, which Recycles was asked about, for an
// access that its own strands make, from start to end.
func (r *Region) Lifetime(owner int32, start, end Point, lo, hi uint64) Lifetime {
	x := r.recycled[owner]
	x.once.Do(x.sort)
	t := Lifetime{region: r, owner: owner, until: math.MaxUint64}
	from := func(p Point) int {
		return sort.Search(len(x.inTime), func(i int) bool { return x.inTime[i].pos >= p.Pos })
	}
	if start.Within() {
		for i := from(start) - 1; i >= 0 && t.since == 0; i-- {
			if x.inTime[i].holds(lo, hi) {
				t.since = x.inTime[i].pos
			}
		}
	}
	if t.ends(end) {
		for i := from(end); i < len(x.inTime) && t.until == math.MaxUint64; i++ {
			if x.inTime[i].holds(lo, hi) {
				t.until = x.inTime[i].pos
			}
		}
	}
	return t
}

// ends reports whether an access is complete in the region by what its own process did.
func (t Lifetime) ends(end Point) bool {
	return end.Within() && t.region.Process(end.Line) == t.owner
}

// Before reports whether an access of the process that completes with end was over when the
// variable was made: what gives up memory belongs to what was there before.
func (t Lifetime) Before(end Point) bool { return t.since > 0 && t.ends(end) && end.Pos <= t.since }

// After reports whether one that begins with start did so when the variable was gone.
func (t Lifetime) After(start Point) bool { return start.Within() && start.Pos > t.until }
