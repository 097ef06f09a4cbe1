package analysis

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
)

// addUsages adds usage errors to the findings, those of equal source places
// joined. They come in the order of the replay: the first is the one shown.
func (n *namer) addUsages(entries map[findingKey]*entry, usages []regions.Usage) {
	for i := range usages {
		u := &usages[i]
		f := n.usage(u)
		key := findingKey{f.Rule, keyOf(&f.First), keyOf(&f.Second)}
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
func (n *namer) usage(u *regions.Usage) conflicts.Finding {
	f := conflicts.Finding{
		Rule: models.UsageRule(u.Kind), Severity: conflicts.Error, Class: conflicts.Usage,
		First: n.caller(u.Call), Owner: int(u.Owner), Region: u.Region, Count: u.Count,
		Explanation: conflicts.Explanation{Why: u.Why, Mends: []conflicts.Mend{{Kind: conflicts.MendOther, Text: u.Mend}}},
	}
	f.First.Started = n.syncPoint(u.Last)
	if u.As != "" {
		f.First.Role, f.First.Class = u.As, regions.Target
		f.First.Write = u.Writes
	}
	if u.Other != nil {
		f.Second = n.caller(u.Other)
		if u.Kind == regions.UsedAfterFree {
			f.Second.Role, f.Second.Class = regions.Freed.Name, regions.Freed.Class
			f.Second.Write = true
		}
	}
	if u.Via != nil {
		f.Why += fmt.Sprintf(" (%s was issued in it)", newWording(&f).call(n.syncPoint(u.Via)))
	}
	if w := u.Object; w != nil {
		f.Window, f.WinName = w.ID, n.object(w)
	}
	if u.Lo < u.Hi {
		f.Lo, f.Hi = u.Lo-u.Base, u.Hi-u.Base
		if u.Lo < u.Base { // before the window: no offset in it
			f.Lo, f.Hi, f.Window, f.WinName = u.Lo, u.Hi, 0, ""
		}
	}
	if u.Kind == regions.CallOrder && keyOf(&f.First).compare(keyOf(&f.Second)) > 0 {
		f.First, f.Second = f.Second, f.First
	}
	return f
}

// caller is the side of a call that is not an access.
func (n *namer) caller(c *regions.CallInfo) conflicts.Side {
	return conflicts.Side{
		Rank: int(c.Rank), Strand: c.Strand, Event: c.Pos, Call: c.Fn, Role: "call",
		Stack: n.stack(c.Rank, c.Stack), Epoch: c.Mode,
	}
}

// gone reports whether a side is memory that was given up.
func gone(s *conflicts.Side) bool {
	return s.Role == regions.Detached.Name || s.Call == "" && (s.Role == regions.Freed.Name || s.Role == regions.OutOfScope.Name)
}

// givesUp is the verb for what a side that gives memory up does.
func givesUp(s *conflicts.Side) string {
	if s.Role == regions.Detached.Name {
		return "detaches"
	}
	return "frees"
}

// gone explains a conflict with memory that was given up.
func (w *wording) gone() conflicts.Explanation {
	a, b := &w.f.First, &w.f.Second
	if a.Rank != b.Rank {
		return conflicts.Explanation{
			Why: fmt.Sprintf("%s of rank %d may access the memory when rank %d %s it%s, and no synchronization puts the one before the other",
				w.access(a), a.Rank, b.Rank, givesUp(b), w.at(b.Stack)),
			Sought: []conflicts.Sought{w.path(a, b)},
			Mends: []conflicts.Mend{mend(conflicts.MendSynchronize,
				"complete the operation and synchronize the two processes before the memory is given up: MPI_Win_free does both for window memory")},
		}
	}
	e := conflicts.Explanation{
		Why: fmt.Sprintf("%s is not complete when rank %d %s the memory that it uses%s", w.access(a), b.Rank, givesUp(b), w.at(b.Stack)),
		Sought: []conflicts.Sought{{
			Kind: conflicts.SoughtCompletion, From: a.Done,
			Text: fmt.Sprintf("a call that completes %s before %s: %s", w.access(a), w.access(b), w.between(a, b)),
		}},
	}
	if b.Role == regions.OutOfScope.Name {
		e.Why = fmt.Sprintf("%s is not complete when the function returns whose variable it uses%s", w.access(a), w.at(b.Stack))
	}
	if how := w.completing(a); how != "" {
		e.Mends = append(e.Mends, mendAt(conflicts.MendComplete, place(b), "%s between %s and %s", how, w.access(a), w.access(b)))
	} else {
		e.Mends = append(e.Mends, mendAt(conflicts.MendComplete, place(b), "complete %s before (close the epoch, flush it, or wait for the request)", w.access(a)))
	}
	e.Mends = append(e.Mends, mend(conflicts.MendSeparate, "let the memory live longer"))
	return e
}
