package analysis

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// tellApart marks by which frames the calls are named that findings speak of beside their
// accesses: synchronizations, and what made windows. It comes before anything is named.
func (n *namer) tellApart(e *evidence) {
	byName := map[string][][]symbols.Frame{}
	seen := map[stackKey]bool{}
	add := func(calls ...*regions.CallInfo) {
		for _, c := range calls {
			if c == nil || seen[stackKey{c.Rank, c.Stack}] {
				continue
			}
			seen[stackKey{c.Rank, c.Stack}] = true
			byName[c.Fn] = append(byName[c.Fn], n.stack(c.Rank, c.Stack))
		}
	}
	for _, groups := range [][]conflicts.Group{e.Groups, e.Firm, e.Predicted, e.Others} {
		for i := range groups {
			s := &groups[i].Sample
			for _, t := range []*conflicts.Touch{&s.First, &s.Second} {
				add(t.Started, t.Next, t.Done, t.Heard, t.Passed, t.Before, t.After, t.Made, t.Missed, t.Beside, t.Call.Local)
				if t.Weak != nil {
					add(t.Weak.Wrote, t.Weak.Read)
				}
				for _, l := range t.Held {
					if l.Of != nil {
						add(l.Of.Created)
					}
				}
			}
			add(s.Locks[0], s.Locks[1])
			if s.Exposed != nil {
				add(s.Exposed.Created, s.Exposed.Attached)
			}
		}
	}
	for _, o := range e.Open {
		add(o.Candidates...)
	}
	for _, usages := range [][]core.Usage{e.Usages, e.FirmUsages} {
		for i := range usages {
			u := &usages[i]
			add(u.Last, u.Via)
			if u.Object != nil {
				add(u.Object.Created)
			}
		}
	}
	for _, stacks := range byName {
		symbols.TellApart(stacks)
	}
	for _, groups := range [][]conflicts.Group{e.Groups, e.Firm, e.Predicted, e.Others} {
		for i := range groups {
			n.tellWithin(&groups[i])
		}
	}
}

// tellWithin marks where the accesses and calls of a finding lie within one line that
// reports point at for both accesses, such as the call of a function of a wrapper; and where
// an access and the last call that the other process has heard of do, between which a fix goes.
func (n *namer) tellWithin(g *conflicts.Group) {
	first, second := n.stack(g.First.Rank, g.First.Stack), n.stack(g.Second.Rank, g.Second.Stack)
	others := [][]symbols.Frame{}
	for _, t := range []*conflicts.Touch{&g.Sample.First, &g.Sample.Second} {
		for _, c := range []*regions.CallInfo{t.Started, t.Next, t.Done, t.Heard, t.Passed} {
			if c != nil {
				others = append(others, n.stack(c.Rank, c.Stack))
			}
		}
	}
	symbols.TellWithin(first, second, others)
	for i, t := range []*conflicts.Touch{&g.Sample.First, &g.Sample.Second} {
		other := []*conflicts.Touch{&g.Sample.Second, &g.Sample.First}[i]
		var beside [][]symbols.Frame
		for _, c := range []*regions.CallInfo{t.Started, t.Next, t.Done, t.Passed, other.Heard} {
			if c != nil {
				beside = append(beside, n.stack(c.Rank, c.Stack))
			}
		}
		symbols.TellBeside([][]symbols.Frame{first, second}[i], beside)
	}
	for _, s := range []struct {
		stack []symbols.Frame
		heard *regions.CallInfo // of the process whose access that is
	}{{first, g.Sample.Second.Heard}, {second, g.Sample.First.Heard}} {
		if s.heard != nil {
			symbols.TellWithin(s.stack, n.stack(s.heard.Rank, s.heard.Stack), nil)
		}
	}
}
