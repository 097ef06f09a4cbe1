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
		s.recycled, s.recycledKept = make([][]recycled, s.processes), make([]int, s.processes)
	}
	s.recycled[rank] = append(s.recycled[rank], recycled{lo, hi, pos})
}

// mostRecycled is how much a process may have given up since it was last gone through, at
// least, before that is done again.
const mostRecycled = 4096

// positions are where accesses that go on in the next phase start and end in the trace of
// their process, by rank; nil: nobody asks.
type positions [][]span

// span is positions from one to another.
type span struct{ from, to uint64 }

// positions returns room for those of the processes that have given up much.
func (s *Storage) positions() positions {
	var all positions
	for rank, list := range s.recycled {
		if len(list) >= mostRecycled && len(list) >= 2*s.recycledKept[rank] {
			if all == nil {
				all = make(positions, len(s.recycled))
			}
			all[rank] = []span{}
		}
	}
	return all
}

func (p positions) add(rank int32, from, to uint64) {
	if p != nil && p[rank] != nil {
		p[rank] = append(p[rank], span{from, to})
	}
}

// addCalls adds those of accesses of calls.
func (p positions) addCalls(calls []*Access) {
	for _, a := range calls {
		p.add(a.Rank, a.Start.Pos, a.Start.Pos)
		p.add(a.Rank, a.End.Pos, a.End.Pos)
	}
}

// forgetRecycled joins what each process gave up where no access that goes on starts or ends
// in between: of bytes that were given up many times it is all the same when. Of what comes
// all begins at the position that coming returns, or later.
func (s *Storage) forgetRecycled(going positions, coming func(rank int32) uint64) {
	for rank, list := range going {
		if list != nil {
			list = append(list, span{coming(int32(rank)), math.MaxUint64})
			s.recycled[rank] = joinRecycled(s.recycled[rank], list)
			s.recycledKept[rank] = len(s.recycled[rank])
		}
	}
}

// joinRecycled returns of what was given up between two of the spans, and within none, what no
// other holds.
func joinRecycled(noted []recycled, going []span) []recycled {
	slices.SortFunc(going, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	inTime := slices.SortedFunc(slices.Values(noted), func(g, h recycled) int { return cmp.Compare(g.pos, h.pos) })
	var out, gap []recycled
	end := func() {
		out = append(out, widest(gap)...)
		gap = gap[:0]
	}
	reached, next := uint64(0), 0 // the end of the spans before next, exclusive
	for _, g := range inTime {
		for ; next < len(going) && going[next].from <= g.pos; next++ {
			end()
			reached = max(reached, going[next].to)
		}
		if next > 0 && g.pos <= reached {
			out = append(out, g)
		} else {
			gap = append(gap, g)
		}
	}
	end()
	return out
}

// widest sorts by address, and returns those that no other holds.
func widest(list []recycled) []recycled {
	slices.SortFunc(list, func(g, h recycled) int {
		return cmp.Or(cmp.Compare(g.lo, h.lo), cmp.Compare(h.hi, g.hi))
	})
	var out []recycled
	for _, g := range list {
		if n := len(out); n == 0 || g.hi > out[n-1].hi {
			out = append(out, g)
		}
	}
	return out
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
	x.widest = widest(slices.Clone(x.noted))
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
