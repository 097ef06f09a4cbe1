package conflicts

import (
	"context"
	"sync"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// Pair is two accesses of a region that conflict. First and Second are in an
// order that does not depend on how they were found.
type Pair struct {
	Region        *regions.Region
	First, Second *regions.Access
	Lo, Hi        uint64 // addresses of the owner that both access; half-open
	Rule          string
}

// Check finds the conflicts of one region with that many workers, and hands
// them to each worker's own collector: newCollector is called once a worker.
func Check(ctx context.Context, r *regions.Region, workers int, collectors []*Collector) error {
	owners := byOwner(r)
	next := make(chan int32)
	var wg sync.WaitGroup
	for w := range max(1, min(workers, len(collectors))) {
		wg.Go(func() {
			s := searcher{region: r, out: collectors[w]}
			for owner := range next {
				s.search(ctx, owner, owners[owner])
			}
		})
	}
	var err error
	for owner := range owners {
		if len(owners[owner]) == 0 {
			continue
		}
		select {
		case next <- int32(owner):
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			break
		}
	}
	close(next)
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// byOwner sorts what calls access by whose memory it is.
func byOwner(r *regions.Region) [][]*regions.Access {
	owners := make([][]*regions.Access, len(r.Locals))
	for _, a := range r.Calls {
		owners[a.Owner] = append(owners[a.Owner], a)
	}
	return owners
}

// searcher looks for conflicts in the memory of one process at a time.
type searcher struct {
	region *regions.Region
	out    *Collector
	lanes  []*lane
	index  map[class]*intervals.Index // of the lanes of each class
}

func (s *searcher) search(ctx context.Context, owner int32, calls []*regions.Access) {
	s.lanes = lanes(calls)
	ranges := map[class][]intervals.Range{}
	for i, l := range s.lanes {
		ranges[l.class] = append(ranges[l.class], intervals.Range{Lo: l.lo, Hi: l.hi, ID: int32(i)})
	}
	s.index = map[class]*intervals.Index{}
	for c, r := range ranges {
		s.index[c] = &intervals.Index{}
		s.index[c].Build(r)
	}
	for i, l := range s.lanes {
		if ctx.Err() != nil {
			return
		}
		s.overlapping(l.class, l.lo, l.hi, func(j int32) {
			if int32(i) <= j {
				s.compareLanes(l, s.lanes[j])
			}
		})
	}
	s.searchLocals(ctx, owner)
}

// overlapping visits the lanes that overlap [lo, hi) and whose class is not
// compatible.
func (s *searcher) overlapping(c class, lo, hi uint64, visit func(int32)) {
	for d, x := range s.index {
		if !c.compatible(d) {
			x.Overlapping(lo, hi, func(j int32) bool { visit(j); return true })
		}
	}
}

// compareLanes compares each access of one lane with those of another, or with
// the later ones of the same lane.
func (s *searcher) compareLanes(a, b *lane) {
	if !a.first().Span && !b.first().Span && a.first().Rank == b.first().Rank {
		return // one after the other
	}
	m, ok := s.meet(a.first(), b.first())
	if !ok {
		return
	}
	for i, x := range a.accesses {
		from := 0
		if a == b {
			from = i + 1
		}
		s.report(x, b, from, m)
	}
}

// meeting is what holds for all pairs of a pair of lanes.
type meeting struct {
	lo, hi uint64
	v      verdict
}

// meet says whether accesses conflict if nothing orders them.
func (s *searcher) meet(a, b *regions.Access) (m meeting, ok bool) {
	if a.Rank != b.Rank && regions.Exclude(a.Locks, b.Locks) {
		return m, false
	}
	if m.lo, m.hi, ok = intervals.MeetLayouts(a.Base, a.Layout, b.Base, b.Layout); !ok {
		return m, false
	}
	m.v = compare(a, b)
	return m, m.v != compatible
}

// report collects the pairs of an access and those of a lane that are
// concurrent with it.
func (s *searcher) report(a *regions.Access, l *lane, from int, m meeting) {
	if lo, hi := l.concurrent(s.region, a, from); lo < hi {
		s.out.add(newPair(s.region, a, l.accesses[lo], m.lo, m.hi, m.v), uint64(hi-lo))
	}
}

// searchLocals looks up each load and store in the lanes.
func (s *searcher) searchLocals(ctx context.Context, owner int32) {
	var reads, writes []*intervals.Index // that loads, and only stores, conflict with
	for c, x := range s.index {
		if mayConflict(regions.Read, c.kind) {
			reads = append(reads, x)
		} else {
			writes = append(writes, x)
		}
	}
	locals := s.region.Locals[owner]
	for i := range locals {
		if i&0xffff == 0 && ctx.Err() != nil {
			return
		}
		l := &locals[i]
		hi := l.Addr + uint64(l.Stride)*(l.Count-1) + uint64(l.Size)
		for _, x := range reads {
			s.lookUp(owner, i, x, l.Addr, hi)
		}
		if l.Store {
			for _, x := range writes {
				s.lookUp(owner, i, x, l.Addr, hi)
			}
		}
	}
}

// lookUp compares local access i of the owner, within [lo, hi), with the lanes
// of an index.
func (s *searcher) lookUp(owner int32, i int, x *intervals.Index, lo, hi uint64) {
	if !x.Any(lo, hi) {
		return
	}
	var a *regions.Access // made when it is first needed
	x.Overlapping(lo, hi, func(j int32) bool {
		lane := s.lanes[j]
		if !lane.first().Span && lane.first().Rank == owner {
			return true // one after the other
		}
		if a == nil {
			a = s.region.LocalAccess(owner, i)
		}
		if from, to := lane.concurrent(s.region, a, 0); from < to {
			if m, ok := s.meet(a, lane.first()); ok {
				s.out.add(newPair(s.region, a, lane.accesses[from], m.lo, m.hi, m.v), uint64(to-from))
			}
		}
		return true
	})
}

// newPair puts the two accesses into their order: by process, then by role and
// time, so that the same pair reads the same however it was found.
func newPair(r *regions.Region, a, b *regions.Access, lo, hi uint64, v verdict) Pair {
	if less(b, a) {
		a, b = b, a
	}
	return Pair{Region: r, First: a, Second: b, Lo: lo, Hi: hi, Rule: ruleOf(a, b, v)}
}

// less orders accesses: one-sided operations before others, then by process
// and by time.
func less(a, b *regions.Access) bool {
	if x, y := a.Role.Local(), b.Role.Local(); x != y {
		return y
	}
	if a.Rank != b.Rank {
		return a.Rank < b.Rank
	}
	if a.Start.Pos != b.Start.Pos {
		return a.Start.Pos < b.Start.Pos
	}
	return a.Role < b.Role
}

// ruleOf names the rule that a conflicting pair breaks.
func ruleOf(a, b *regions.Access, v verdict) string {
	switch {
	case v == otherAtomic:
		return RuleAtomicType
	case v == otherOp:
		return RuleAtomicOp
	case !a.Role.OneSided() && !b.Role.OneSided() && a.Rank != b.Rank:
		return RuleShared
	case !a.Role.OneSided() && !b.Role.OneSided():
		return RuleRequest
	case a.Role >= regions.SendBuffer || b.Role >= regions.SendBuffer:
		return RuleCallBuffer
	case a.Role.Local() || b.Role.Local():
		if a.Rank == b.Rank {
			return RuleBuffer
		}
		return RuleLocalRemote
	case a.Rank == b.Rank:
		return RuleSameOrigin
	}
	return RuleRemoteRemote
}
