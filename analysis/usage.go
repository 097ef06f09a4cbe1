package analysis

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
)

// addUsages adds usage errors to the findings, those of equal call paths
// joined. They come in the order of the replay: the first is the one shown.
func (n *namer) addUsages(entries map[findingKey]*entry, usages []core.Usage) {
	for i := range usages {
		u := &usages[i]
		if u.Rule == conflicts.RuleThreads && (n.unordered[int(u.Call.Rank)] || len(n.unknown) > 0) {
			continue // something that is not recorded may order the threads: the verdict says so
		}
		f := n.usage(u)
		key := n.keyOfFinding(&f)
		e := entries[key]
		if e == nil {
			e = &entry{finding: f, ranks: map[int]bool{}}
			entries[key] = e
		} else {
			e.finding.Count += u.Count
		}
		e.ranks[int(u.Call.Rank)] = true
		if u.Other != nil {
			e.ranks[int(u.Other.Rank)] = true
		}
	}
}

// usage turns a usage error into a finding.
func (n *namer) usage(u *core.Usage) conflicts.Finding {
	rule, _ := models.Lookup(u.Rule)
	f := conflicts.Finding{
		Rule: u.Rule, Severity: rule.Severity, Class: conflicts.Usage,
		First: n.caller(u.Call), Owner: int(u.Owner), Region: u.Region, Count: u.Count,
		Explanation: conflicts.Explanation{Why: u.Why, Fixes: []conflicts.Fix{{Kind: conflicts.FixOther, Text: u.Fix}}},
	}
	f.First.Started = n.syncPoint(u.Last)
	if u.As != "" {
		f.First.Role, f.First.Class = u.As, regions.Target
		f.First.Write = u.Writes
	}
	if u.Other != nil {
		f.Second = n.caller(u.Other)
		if as := u.OtherAs; as != nil {
			f.Second.Role, f.Second.Class = as.Name, as.Class
			f.Second.Write = true
		}
	}
	if u.Via != nil {
		f.Why += models.Issued(&f, n.syncPoint(u.Via))
	}
	if w := u.Object; w != nil {
		f.Window, f.WinName, f.WinNumber = w.ID, n.object(w), w.Number
		f.First.Made = n.syncPoint(w.Created)
	}
	if u.Lo < u.Hi {
		f.Lo, f.Hi = u.Lo-u.Base, u.Hi-u.Base
		if u.Lo < u.Base { // before the window: no offset in it
			f.Lo, f.Hi, f.Window, f.WinName, f.WinNumber = u.Lo, u.Hi, 0, "", 0
		}
	}
	if u.Either {
		if x, y := n.keyOf(&f.First), n.keyOf(&f.Second); x.compare(&y) > 0 {
			f.First, f.Second = f.Second, f.First
		}
	}
	return f
}

// caller is the side of a call that is not an access.
func (n *namer) caller(c *regions.CallInfo) conflicts.Side {
	return conflicts.Side{
		Rank: int(c.Rank), Thread: c.Thread, Event: c.Pos, Call: c.Fn, Role: "call",
		Stack: n.stack(c.Rank, c.Stack), Epoch: c.Mode,
	}
}
