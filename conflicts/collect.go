package conflicts

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Site is where an access comes from, in the terms of its process's trace: its
// rank and stack, and what it is.
type Site struct {
	Rank  int32
	Stack uint32
	Role  string // regions.Role.Name
	Fn    string // of the call; "" for loads and stores
}

// Group is all pairs of one rule between the same two sites. The pair shown is
// the first in the order of regions, owners and time.
type Group struct {
	Rule          string
	First, Second Site
	Sample        Sample
	Count         uint64
	owners        map[int32]bool
}

// Owners returns the world ranks whose memory the pairs of the group met in.
func (g *Group) Owners() []int32 { return slices.Sorted(maps.Keys(g.owners)) }

// Sample is what a finding tells of a pair, without holding on to its region.
type Sample struct {
	Region        int
	Owner         int32
	Lo, Hi        uint64 // addresses of Owner, half-open
	First, Second Touch
	Exposed       *regions.Exposed // the memory that the bytes lie in; nil when in none that is exposed
	// Locks are two calls that took locks which exclude each other, in the order
	// of the run: nothing else orders the accesses. nil unless the order of
	// locks was left out.
	Locks [2]*regions.CallInfo
	// FirstBegan says that the first access starts before the second, and
	// SecondBegan the reverse, whatever the timing; at most one of them holds.
	FirstBegan, SecondBegan bool
}

// Touch is one access of a sample.
type Touch struct {
	Kind   regions.Kind
	Class  regions.Class // of its role
	Elem   *regions.Element
	Call   *regions.CallInfo
	within *regions.Bounds     // of the separate region that it starts in
	span   *regions.Completion // nil of an instantaneous access
	heard  regions.Heard       // of the other access's process, when it started
	locks  *regions.LockSet
	before *regions.CallInfo // nearer than those of within; nil if none is
	after  *regions.CallInfo
	pos    uint64
	// Lo and Hi bound the bytes accessed, as addresses of the owner, half-open;
	// Holes: there are others between. Unit is that of the Access.
	Lo, Hi uint64
	Holes  bool
	Unit   uint32
	record *TouchRecord // of an access that was read from a file
}

// Started returns the last synchronization before the access, calls that only
// lock or complete included; nil at the start of the run.
func (t *Touch) Started() *regions.CallInfo {
	if t.before != nil {
		return t.before
	}
	return t.within.Begin
}

// Done returns what completes the access; of an instantaneous access the next
// synchronization; nil when there is none. It is known once the replay is over.
func (t *Touch) Done() *regions.CallInfo {
	if t.span != nil {
		return t.span.By
	}
	return t.Next()
}

// Next returns the first synchronization after the access started; nil when
// there is none. It is known once the replay is over.
func (t *Touch) Next() *regions.CallInfo {
	if t.after != nil {
		return t.after
	}
	return t.within.End
}

// Turns returns the synchronizations of processes before and after the access:
// those of Started and Next that order processes. nil as there.
func (t *Touch) Turns() (before, after *regions.CallInfo) { return t.within.Begin, t.within.End }

// Heard returns the last call of the other access's process that the process of
// this one had heard of when it made the access; nil when of none. It is known
// once the replay is over.
func (t *Touch) Heard() *regions.CallInfo {
	if t.record != nil {
		return t.record.Heard
	}
	return t.heard.Call()
}

// Held returns the locks that protect the access.
func (t *Touch) Held() []regions.Lock {
	if t.record != nil {
		return t.record.Held
	}
	return t.locks.Held()
}

// Spans reports whether the access is not instantaneous.
func (t *Touch) Spans() bool { return t.span != nil }

type groupKey struct {
	rule          string
	first, second Site
}

// Collector gathers pairs into groups. It belongs to one goroutine.
type Collector struct {
	groups map[groupKey]*Group
}

// NewCollector returns an empty collector.
func NewCollector() *Collector { return &Collector{groups: map[groupKey]*Group{}} }

// SiteOf returns where an access comes from.
func SiteOf(a *regions.Access) Site {
	return Site{Rank: a.Rank, Stack: a.Call.Stack, Role: a.Role.Name, Fn: a.Call.Fn}
}

// Add takes count pairs of which p is the first.
func (c *Collector) Add(p Pair, count uint64) {
	key := groupKey{p.Rule, SiteOf(p.First), SiteOf(p.Second)}
	g := c.groups[key]
	if g == nil {
		g = &Group{Rule: p.Rule, First: key.first, Second: key.second, owners: map[int32]bool{}}
		c.groups[key] = g
	}
	first := g.Count == 0
	g.Count += count
	g.owners[p.First.Owner] = true
	if first || p.earlier(&g.Sample) {
		g.Sample = p.sample()
	}
}

// earlier reports whether the pair comes before a sample, in an order that
// does not depend on how pairs are found.
func (p *Pair) earlier(s *Sample) bool {
	return cmp.Or(
		cmp.Compare(p.Region.Index, s.Region),
		cmp.Compare(p.First.Owner, s.Owner),
		cmp.Compare(p.First.Start.Pos, s.First.pos),
		cmp.Compare(p.Second.Start.Pos, s.Second.pos),
		cmp.Compare(p.Lo, s.Lo),
	) < 0
}

func (p *Pair) sample() Sample {
	s := Sample{
		Region: p.Region.Index, Owner: p.First.Owner, Lo: p.Lo, Hi: p.Hi,
		First: p.touch(p.First), Second: p.touch(p.Second),
	}
	prefer := max(p.First.Call.Object, p.Second.Call.Object)
	s.Locks[0], s.Locks[1] = p.Region.LockOrder(p.First, p.Second)
	if e, ok := p.Region.ExposedAt(s.Owner, s.Lo, prefer); ok {
		s.Exposed = &e
	}
	s.FirstBegan, s.SecondBegan = p.Region.StartsBefore(p.First, p.Second), p.Region.StartsBefore(p.Second, p.First)
	if p.First.Rank != p.Second.Rank {
		s.First.heard, s.Second.heard = p.Region.Heard(p.First, p.Second.Rank), p.Region.Heard(p.Second, p.First.Rank)
	}
	return s
}

func (p *Pair) touch(a *regions.Access) Touch {
	t := Touch{Kind: a.Kind, Class: a.Role.Class, Elem: a.Elem, Call: a.Call, within: a.Within, span: a.Span, locks: a.Locks, pos: a.Start.Pos}
	t.before, t.after = p.Region.Around(a.Start)
	t.Lo, t.Hi = a.Layout.Bounds(a.Base)
	t.Holes, t.Unit = a.Layout.Bytes() < t.Hi-t.Lo, a.Unit
	return t
}

// Merge returns the groups of several collectors as one list, in a stable order.
func Merge(cs []*Collector) []*Group {
	all := NewCollector()
	for _, c := range cs {
		for key, g := range c.groups {
			old := all.groups[key]
			if old == nil {
				all.groups[key] = g
				continue
			}
			old.Count += g.Count
			maps.Copy(old.owners, g.owners)
			if g.Sample.Before(&old.Sample) {
				old.Sample = g.Sample
			}
		}
	}
	out := slices.Collect(maps.Values(all.groups))
	slices.SortFunc(out, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), a.First.compare(b.First), a.Second.compare(b.Second))
	})
	return out
}

// Before reports whether a sample comes before another in an order that does not
// depend on how pairs are found.
func (s *Sample) Before(t *Sample) bool {
	return cmp.Or(
		cmp.Compare(s.Region, t.Region), cmp.Compare(s.Owner, t.Owner),
		cmp.Compare(s.First.pos, t.First.pos), cmp.Compare(s.Second.pos, t.Second.pos),
		cmp.Compare(s.Lo, t.Lo),
	) < 0
}

func (s Site) compare(t Site) int {
	return cmp.Or(cmp.Compare(s.Rank, t.Rank), cmp.Compare(s.Stack, t.Stack), cmp.Compare(s.Role, t.Role), cmp.Compare(s.Fn, t.Fn))
}
