package conflicts

import "github.com/mcchk/mcchk/regions"

// GroupRecord is a Group as a file can hold it.
type GroupRecord struct {
	Rule          string
	First, Second Site
	Sample        SampleRecord
	Count         uint64
	Owners        []int32
}

// SampleRecord is a Sample as a file can hold it.
type SampleRecord struct {
	Region        int
	Owner         int32
	Lo, Hi        uint64
	First, Second TouchRecord
	Exposed       *regions.Exposed
	Locks         [2]*regions.CallInfo

	FirstBegan, SecondBegan bool
}

// TouchRecord is a Touch as a file can hold it. Of an atomic access's elements
// it has the type and the operation.
type TouchRecord struct {
	Kind          regions.Kind
	Class         regions.Class
	Atomic        bool
	Type, Op      string
	Call          *regions.CallInfo
	Started, Next *regions.CallInfo
	Done, Heard   *regions.CallInfo
	Held          []regions.Lock
	Spans         bool
	Pos           uint64
	Before, After *regions.CallInfo // Turns
	Lo, Hi        uint64
	Holes         bool
	Unit          uint32
}

// Record returns the group for a file, once the replay is over.
func (g *Group) Record() GroupRecord {
	s := &g.Sample
	return GroupRecord{
		Rule: g.Rule, First: g.First, Second: g.Second, Count: g.Count, Owners: g.Owners(),
		Sample: SampleRecord{
			Region: s.Region, Owner: s.Owner, Lo: s.Lo, Hi: s.Hi,
			First: s.First.toRecord(), Second: s.Second.toRecord(),
			Exposed: s.Exposed, Locks: s.Locks, FirstBegan: s.FirstBegan, SecondBegan: s.SecondBegan,
		},
	}
}

func (t *Touch) toRecord() TouchRecord {
	r := TouchRecord{
		Kind: t.Kind, Class: t.Class, Call: t.Call, Started: t.Started(), Next: t.Next(), Done: t.Done(),
		Heard: t.Heard(), Held: t.Held(), Spans: t.Spans(), Pos: t.pos,
		Lo: t.Lo, Hi: t.Hi, Holes: t.Holes, Unit: t.Unit,
	}
	r.Before, r.After = t.Turns()
	if t.Elem != nil {
		r.Atomic, r.Type, r.Op = true, t.Elem.Type, t.Elem.Op
	}
	return r
}

// Group is the inverse of Group.Record.
func (r *GroupRecord) Group() *Group {
	s := &r.Sample
	g := &Group{
		Rule: r.Rule, First: r.First, Second: r.Second, Count: r.Count, owners: map[int32]bool{},
		Sample: Sample{
			Region: s.Region, Owner: s.Owner, Lo: s.Lo, Hi: s.Hi,
			First: s.First.touch(), Second: s.Second.touch(),
			Exposed: s.Exposed, Locks: s.Locks, FirstBegan: s.FirstBegan, SecondBegan: s.SecondBegan,
		},
	}
	for _, o := range r.Owners {
		g.owners[o] = true
	}
	return g
}

func (r *TouchRecord) touch() Touch {
	t := Touch{
		Kind: r.Kind, Class: r.Class, Call: r.Call, within: &regions.Bounds{Begin: r.Before, End: r.After}, before: r.Started, after: r.Next,
		pos: r.Pos, Lo: r.Lo, Hi: r.Hi, Holes: r.Holes, Unit: r.Unit, record: r,
	}
	if r.Atomic {
		t.Elem = &regions.Element{Type: r.Type, Op: r.Op}
	}
	if r.Spans {
		t.span = &regions.Completion{By: r.Done}
	}
	return t
}

// Join returns the groups of several searches for different parts of memory as
// one list, as one search would have found them. The lists must not be used
// afterwards.
func Join(lists ...[]*Group) []*Group {
	var cs []*Collector
	for _, list := range lists {
		c := NewCollector()
		for _, g := range list {
			c.groups[groupKey{g.Rule, g.First, g.Second}] = g
		}
		cs = append(cs, c)
	}
	return Merge(cs)
}
