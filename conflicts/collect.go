package conflicts

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/mcchk/mcchk/regions"
)

// Collector gathers pairs into groups, without holding on to their regions. It
// belongs to one goroutine.
type Collector struct {
	groups map[groupKey]*growing
	found  *atomic.Int64 // counts them, with those of others; or nil
}

// growing is a Group that pairs are added to.
type growing struct {
	count         uint64
	owners        map[int32]bool
	sample        Sample // but for what is not known yet
	first, second outcome
	// exposures say what exposes the memory, once the replay is over: objects that
	// it was still making are known then. prefer is the object that comes first.
	exposures []regions.Exposure
	prefer    int64
}

// outcome is what a Touch says that is known only once the replay is over.
type outcome struct {
	within        *regions.Bounds     // of the separate region that it starts in
	span          *regions.Completion // nil of an instantaneous access
	heard         regions.Heard       // of the other access's process, when it started
	passed        *regions.CallInfo   // of another strand of its process
	left          *regions.CallInfo   // of its process, before it: the last value that others may have found
	weak          *regions.Weak       // by which it does not come after the other access
	locks         *regions.LockSet
	before, after *regions.CallInfo // nearer than those of within; nil if none is
}

// NewCollector returns an empty collector.
func NewCollector() *Collector { return &Collector{groups: map[groupKey]*growing{}} }

// SiteOf returns where an access comes from.
func SiteOf(a *regions.Access) Site {
	return Site{Rank: a.Rank, Stack: a.Call.Stack, Made: a.Call.Made, Role: a.Role.Name, Fn: a.Call.Fn}
}

// Add takes count pairs of which p is the first.
func (c *Collector) Add(p Pair, count uint64) {
	key := groupKey{p.Rule, SiteOf(p.First), SiteOf(p.Second)}
	g := c.groups[key]
	if g == nil {
		g = &growing{owners: map[int32]bool{}}
		c.groups[key] = g
		if c.found != nil {
			c.found.Add(1)
		}
	}
	first := g.count == 0
	g.count += count
	g.owners[p.First.Owner] = true
	if first || p.earlier(&g.sample) {
		g.show(&p)
	}
}

// earlier reports whether the pair comes before a sample, in the order of
// Sample.EarlierThan.
func (p *Pair) earlier(s *Sample) bool {
	return cmp.Or(
		cmp.Compare(p.Region.Index, s.Region),
		cmp.Compare(p.First.Owner, s.Owner),
		cmp.Compare(p.First.Start.Pos, s.First.Pos),
		cmp.Compare(p.Second.Start.Pos, s.Second.Pos),
		cmp.Compare(p.Lo, s.Lo),
	) < 0
}

// show makes a pair the one that the group shows.
func (g *growing) show(p *Pair) {
	s := Sample{Region: p.Region.Index, Owner: p.First.Owner, Lo: p.Lo, Hi: p.Hi, First: touch(p.First), Second: touch(p.Second)}
	g.exposures, g.prefer = append(g.exposures[:0], p.Region.Exposures...), max(p.First.Call.Object, p.Second.Call.Object)
	s.Locks[0], s.Locks[1] = p.Region.LockOrder(p.First, p.Second)
	s.FirstBegan, s.SecondBegan = p.Region.StartsBefore(p.First, p.Second), p.Region.StartsBefore(p.Second, p.First)
	g.sample, g.first, g.second = s, p.outcome(p.First), p.outcome(p.Second)
	g.first.weak, g.second.weak = p.Region.WeakOrder(p.Second, p.First), p.Region.WeakOrder(p.First, p.Second)
	if p.First.Rank != p.Second.Rank {
		g.first.heard, g.second.heard = p.Region.Heard(p.First, p.Second), p.Region.Heard(p.Second, p.First)
		g.first.passed, g.second.passed = p.Region.Passed(p.First, p.Second), p.Region.Passed(p.Second, p.First)
	}
}

func touch(a *regions.Access) Touch {
	t := Touch{Class: a.Role.Class, Call: a.Call, Pos: a.Start.Pos, Spans: a.Span != nil, Unit: a.Unit}
	t.Write = a.Kind == regions.Write || a.Kind == regions.AtomicWrite
	t.Atomic = a.Kind == regions.AtomicRead || a.Kind == regions.AtomicWrite
	if a.Elem != nil {
		t.Type, t.Op = a.Elem.Type, a.Elem.Op
	}
	t.Lo, t.Hi = a.Layout.Bounds(a.Base)
	t.Holes = a.Layout.Bytes() < t.Hi-t.Lo
	return t
}

func (p *Pair) outcome(a *regions.Access) outcome {
	o := outcome{within: a.Bounds, span: a.Span, locks: a.Locks}
	o.before, o.after = p.Region.Around(a.Start)
	o.left = p.Region.Left(a.Start)
	return o
}

// complete adds to a Touch what is known once the replay is over.
func (o *outcome) complete(t *Touch) {
	t.Before, t.After = o.within.Begin, o.within.End
	t.Started, t.Next = cmp.Or(o.before, t.Before), cmp.Or(o.after, t.After)
	t.Done = t.Next
	if o.span != nil {
		t.Done, t.Beside = o.span.By, o.span.Beside
		if o.span.Freed != nil && t.Call.Local == nil {
			call := *t.Call
			call.Local = o.span.Freed
			t.Call = &call
		}
	}
	if last := o.within.Last; t.Spans && last != nil && last.Pos > t.Pos && (t.Done == nil || last.Pos < t.Done.Pos || last.Rank != t.Done.Rank) {
		t.Missed = last
	}
	t.Heard, t.Left, t.Passed, t.Weak, t.Held = o.heard.Call(), o.left, o.passed, o.weak, o.locks.Held()
}

// made returns the call that made the object that a call accesses memory
// through, as all processes know it.
func (g *growing) made(c *regions.CallInfo) *regions.CallInfo {
	if c.Made == 0 {
		return nil
	}
	for _, x := range g.exposures {
		if made := x.Made(c.Object); made != nil {
			return made
		}
	}
	return nil
}

// Groups returns what was gathered, once the replay is over, in no order.
func (c *Collector) Groups() []Group {
	out := make([]Group, 0, len(c.groups))
	for key, g := range c.groups {
		s := g.sample
		g.first.complete(&s.First)
		g.second.complete(&s.Second)
		s.First.Made, s.Second.Made = g.made(s.First.Call), g.made(s.Second.Call)
		if e, ok := regions.ExposedAt(g.exposures, s.Owner, s.Lo, g.prefer); ok {
			s.Exposed = &e
		}
		out = append(out, Group{
			Rule: key.rule, First: key.first, Second: key.second,
			Sample: s, Count: g.count, Owners: slices.Sorted(maps.Keys(g.owners)),
		})
	}
	return out
}
