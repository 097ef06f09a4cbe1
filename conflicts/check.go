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
	ranges []intervals.Range
	reads  intervals.Index // accesses that span, and only read
	writes intervals.Index // accesses that span, and write
}

func (s *searcher) search(ctx context.Context, owner int32, calls []*regions.Access) {
	s.index(&s.reads, calls, func(a *regions.Access) bool { return a.Kind == regions.Read || a.Kind == regions.AtomicRead })
	s.index(&s.writes, calls, func(a *regions.Access) bool { return a.Kind == regions.Write || a.Kind == regions.AtomicWrite })
	for i, a := range calls {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		s.searchCall(calls, int32(i), a)
	}
	s.searchLocals(ctx, owner, calls)
}

func (s *searcher) index(x *intervals.Index, calls []*regions.Access, which func(*regions.Access) bool) {
	s.ranges = s.ranges[:0]
	for i, a := range calls {
		if a.Span && which(a) {
			lo, hi := a.Layout.Bounds(a.Base)
			s.ranges = append(s.ranges, intervals.Range{Lo: lo, Hi: hi, ID: int32(i)})
		}
	}
	x.Build(s.ranges)
}

// searchCall compares one access of a call with those that span: each pair of
// them once, and an instantaneous one with all.
func (s *searcher) searchCall(calls []*regions.Access, i int32, a *regions.Access) {
	lo, hi := a.Layout.Bounds(a.Base)
	visit := func(j int32) bool {
		if a.Span && j <= i {
			return true
		}
		s.compare(a, calls[j])
		return true
	}
	s.writes.Overlapping(lo, hi, visit)
	if a.Kind == regions.Write || a.Kind == regions.AtomicWrite {
		s.reads.Overlapping(lo, hi, visit)
	}
}

func (s *searcher) searchLocals(ctx context.Context, owner int32, calls []*regions.Access) {
	locals := s.region.Locals[owner]
	for i := range locals {
		if i&0xffff == 0 && ctx.Err() != nil {
			return
		}
		l := &locals[i]
		lo := l.Addr
		hi := lo + uint64(l.Stride)*(l.Count-1) + uint64(l.Size)
		if !s.writes.Any(lo, hi) && !(l.Store && s.reads.Any(lo, hi)) {
			continue
		}
		var a *regions.Access // made when it is first needed
		visit := func(j int32) bool {
			if a == nil {
				a = s.region.LocalAccess(owner, i)
			}
			s.compare(a, calls[j])
			return true
		}
		s.writes.Overlapping(lo, hi, visit)
		if l.Store {
			s.reads.Overlapping(lo, hi, visit)
		}
	}
}

// compare reports the pair if it shares bytes, the table forbids it, and
// neither order nor locks keep the two apart.
func (s *searcher) compare(a, b *regions.Access) {
	if !s.region.Concurrent(a, b) {
		return
	}
	if a.Rank != b.Rank && regions.Exclude(a.Locks, b.Locks) {
		return
	}
	lo, hi, ok := intervals.MeetLayouts(a.Base, a.Layout, b.Base, b.Layout)
	if !ok {
		return
	}
	v := compare(a, b)
	if v == compatible {
		return
	}
	s.out.add(newPair(s.region, a, b, lo, hi, v))
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
