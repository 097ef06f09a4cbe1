package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
)

// across explains accesses by two processes.
func (w *Wording) across() conflicts.Explanation {
	a, b := w.InOrder()
	e := conflicts.Explanation{Sought: w.paths(a, b)}
	switch {
	case w.Finding.Began != 0 && a.Pending && a.Done.Call != "":
		e.Why = fmt.Sprintf("%s of %s is not complete until %s, and nothing makes %s wait for that before %s",
			w.Access(a), w.rank(a.Rank), w.CallOf(a.Done, a.Rank), w.rank(b.Rank), w.Access(b))
		if b.Heard.Call != "" {
			e.Why += fmt.Sprintf("; the last call of %s that happens before it is %s, which does not complete the operation", w.rank(a.Rank), w.heard(a, b))
		}
		e.Why += w.missed(a, b)
	case endless(a):
		e.Why = w.never(a) + w.missed(a, b)
	case endless(b):
		e.Why = w.never(b) + w.missed(b, a)
	case sameStretch(a, b):
		e.Why = fmt.Sprintf("both lie between %s and %s, where nothing makes %s and %s wait for each other",
			w.Call(a.Started), w.CallOf(a.Done, a.Rank), w.rank(a.Rank), w.rank(b.Rank))
	default:
		e.Why = fmt.Sprintf("%s; %s; nothing makes one wait for the other", w.extent(a), w.extent(b))
		e.Why += w.misses(a, b)
		for _, s := range []*conflicts.Side{a, b} {
			if s.Beside.Call != "" {
				e.Why += "; " + w.beside(s)
			}
		}
	}
	e.Why += w.bytes(a, b) + w.local(a)
	if local := w.local(b); local != w.local(a) {
		e.Why += local
	}
	if locks, ok := w.locks(a, b); ok {
		e.Sought = append(e.Sought, locks)
		e.Why += w.sharing(a, b)
	}
	for _, pair := range [][2]*conflicts.Side{{a, b}, {b, a}} {
		if op, own := pair[0], pair[1]; ByOtherThread(op, own) && own.Passed.Call == "" {
			e.Why += fmt.Sprintf("; %s is called by %s of %s, and nothing puts %s of %s behind that",
				w.Call(op.Done), threadName(op.Done.Thread), w.rank(own.Rank), w.Access(own), threadName(own.Thread))
		}
	}
	e.Fixes = w.fixAcross(a, b)
	if throughTwo(a, b) {
		object := w.model.Terms().Object
		through := fmt.Sprintf("%s goes through the %s of %s, %s through that of %s", w.Access(a), object, w.Call(a.Made), w.Access(b), w.Call(b.Made))
		if a.Atomic && b.Atomic {
			e.Why = fmt.Sprintf("operations are atomic to each other through one %s only, and %s; %s", object, through, e.Why)
			e = First(e, Propose(conflicts.FixOperation, "make both through the same %s, if any order will do", object))
		} else {
			e.Why += "; " + through
		}
	}
	for _, s := range []*conflicts.Side{b, a} {
		if s.Passed.Call != "" {
			e.Why += w.passed(s)
			at := 0
			if len(e.Fixes) > 0 && e.Fixes[0].Kind == conflicts.FixOperation { // an atomic one needs no order
				at = 1
			}
			e.Fixes = slices.Insert(e.Fixes, at, w.waitForStrand(s))
			break
		}
	}
	e.Why += w.relaxed()
	if m, ok := w.Stronger(); ok {
		e.Fixes = slices.Insert(e.Fixes, 0, m)
	}
	if a.Thread != 0 || b.Thread != 0 {
		e.Fixes = eachKindFirst(e.Fixes)
	}
	return e
}

// missed says that a call behind an operation, or beside it, does not complete it, which looks as if
// it did.
func (w *Wording) missed(a, b *conflicts.Side) string {
	if a.Beside.Call != "" {
		return "; " + w.beside(a)
	}
	if p, ok := w.Vain(a, b); ok {
		return fmt.Sprintf("; %s is called behind %s, but %s", w.Call(p), w.Access(a), w.model.Idle(p.Call, a, b))
	}
	return ""
}

// Vain returns a call behind an operation, and before what the other access's process has heard of, that
// looks as if it completed it; false: there is none.
func (w *Wording) Vain(a, b *conflicts.Side) (conflicts.SyncPoint, bool) {
	for _, p := range []conflicts.SyncPoint{a.Missed, a.Next} {
		call, late := w.model.Call(p.Call), b.Heard.Call != "" && b.Heard.Rank == p.Rank && b.Heard.Event <= p.Event
		if a.Pending && p.Call != "" && (call.Only || call.Seems) && !late && !samePoint(p, a.Local) && !samePoint(p, a.Done) {
			return p, true
		}
	}
	return conflicts.SyncPoint{}, false
}

// throughTwo reports whether two operations are made through two objects that expose the same memory.
func throughTwo(a, b *conflicts.Side) bool {
	return a.Made.Call != "" && b.Made.Call != "" && !samePoint(a.Made, b.Made)
}

// eachKindFirst puts the first fix of each kind before the others, but for those that
// move an access or give it another place: threads rarely stand where that helps.
func eachKindFirst(all []conflicts.Fix) []conflicts.Fix {
	var first, rest []conflicts.Fix
	for _, m := range all {
		same := func(n conflicts.Fix) bool { return n.Kind == m.Kind }
		if m.Kind == conflicts.FixMove || m.Kind == conflicts.FixSeparate || slices.ContainsFunc(first, same) {
			rest = append(rest, m)
		} else {
			first = append(first, m)
		}
	}
	return append(first, rest...)
}

// sharing says that locks do not keep the accesses apart, where one looks as if
// they did.
func (w *Wording) sharing(a, b *conflicts.Side) string {
	ofA, ofB := w.Finding.LocksThatMatter(a), w.Finding.LocksThatMatter(b)
	terms := w.model.Terms()
	shares := func(l conflicts.Lock) bool {
		return slices.ContainsFunc(ofB, func(k conflicts.Lock) bool { return k.Window == l.Window })
	}
	without := b
	switch {
	case w.OnlyVoid(a, b):
		return "; a lock " + terms.VoidLock + " excludes nobody"
	case len(ofA) > 0 && len(ofB) > 0 && slices.ContainsFunc(ofA, shares):
		return "; shared locks do not exclude each other"
	case len(ofA) > 0 && len(ofB) > 0 && terms.OwnLocks:
		return fmt.Sprintf("; a lock excludes only %s that hold the same one", terms.Processes)
	case len(ofA) > 0 && len(ofB) > 0:
		return fmt.Sprintf("; locks of one %s do not exclude those of another", terms.Object)
	case len(ofA) == 0 && len(ofB) == 0:
		return ""
	case throughTwo(a, b) && len(a.Locks) > 0 && len(b.Locks) > 0 && !terms.OwnLocks:
		return fmt.Sprintf("; locks of one %s do not exclude those of another", terms.Object)
	case len(ofA) == 0:
		without = a
	}
	if terms.OwnLocks {
		return fmt.Sprintf("; a lock excludes only %s that hold it too, and %s does not for %s", terms.Processes, w.rank(without.Rank), w.Access(without))
	}
	return fmt.Sprintf("; a lock on %s excludes only %s that lock it too, and %s does not for %s", w.rank(w.Finding.Owner), terms.Processes, w.rank(without.Rank), w.Access(without))
}

// OnlyVoid reports whether locks of two accesses would exclude each other, were none of them void.
func (w *Wording) OnlyVoid(a, b *conflicts.Side) bool {
	for _, l := range w.Finding.LocksThatMatter(a) {
		for _, k := range w.Finding.LocksThatMatter(b) {
			if (l.Void || k.Void) && l.Window == k.Window && (l.Exclusive || k.Exclusive) && (l.Target == k.Target || l.Target < 0 || k.Target < 0) {
				return true
			}
		}
	}
	return false
}

// endless reports whether an access is pending and no call completes it.
func endless(s *conflicts.Side) bool { return s.Pending && s.Done.Call == "" }

func (w *Wording) never(s *conflicts.Side) string {
	return fmt.Sprintf("no call completes %s of %s %s, so nothing is ordered after it", w.Access(s), w.rank(s.Rank), whileThere(s))
}

// whileThere says until when an access is pending that no call completes: a buffer may be
// gone before the run is over.
func whileThere(s *conflicts.Side) string {
	if s.Class.Buffer() {
		return "as long as its buffer is there"
	}
	return "in the recorded run"
}

// sameStretch reports whether both accesses lie between the same two calls, each of its
// own process.
func sameStretch(a, b *conflicts.Side) bool {
	return a.Started.Call != "" && samePoint(a.Started, b.Started) && a.Done.Call != "" && samePoint(a.Done, b.Done) &&
		(a.Done.Rank == a.Rank || a.Done.Rank != b.Rank)
}

// extent says from when until when an access may touch memory.
func (w *Wording) extent(s *conflicts.Side) string {
	name := fmt.Sprintf("%s of %s", w.Access(s), w.rank(s.Rank))
	switch {
	case s.Pending:
		return fmt.Sprintf("%s may access the bytes until %s", name, w.CallOf(s.Done, s.Rank))
	case s.Started.Call != "" && s.Done.Call != "" && !itself(s):
		return fmt.Sprintf("%s lies between %s and %s", name, w.Call(s.Started), w.Call(s.Done))
	case s.Done.Call != "" && !itself(s):
		return fmt.Sprintf("%s lies before %s", name, w.Call(s.Done))
	case s.Started.Call != "":
		return fmt.Sprintf("%s lies after %s", name, w.Call(s.Started))
	}
	return name + " has no synchronization around it"
}

// itself reports whether the synchronization after an access is the call that
// makes it.
func itself(s *conflicts.Side) bool {
	return s.Done.Call == s.Call && s.Done.Rank == s.Rank && SamePlace(s.Done.Stack, s.Stack)
}

// paths tells of the paths from the end of one access to the start of the other
// that were looked for: both ways, unless the one starts first in any case.
func (w *Wording) paths(a, b *conflicts.Side) []conflicts.Sought {
	out := []conflicts.Sought{w.path(a, b)}
	switch {
	case w.Finding.Began != 0:
	case SamePlace(a.Stack, b.Stack) && samePoint(a.Done, b.Done) && samePoint(a.Heard, b.Heard):
		out[0].Text += "; and the other way round"
	default:
		out = append(out, w.path(b, a))
	}
	return out
}

// path tells of the path from a to b.
func (w *Wording) path(a, b *conflicts.Side) conflicts.Sought {
	if ByOtherThread(a, b) {
		return conflicts.Sought{
			Kind: conflicts.SoughtCompletion, From: a.Done,
			Text: fmt.Sprintf("%s of %s by %s, which completes %s, before %s of %s: nothing orders the two threads", w.Call(a.Done), w.rank(a.Done.Rank), threadName(a.Done.Thread), w.Access(a), w.Access(b), threadName(b.Thread)),
		}
	}
	if a.Done.Call != "" && a.Done.Rank == b.Rank { // a call of its own
		return conflicts.Sought{
			Kind: conflicts.SoughtCompletion, From: a.Done,
			Text: fmt.Sprintf("%s of %s, which completes %s, before %s: it comes after that", w.Call(a.Done), w.rank(a.Done.Rank), w.Access(a), w.Access(b)),
		}
	}
	s := conflicts.Sought{Kind: conflicts.SoughtPath, From: a.Done, Found: b.Heard}
	end := w.Access(a)
	if a.Done.Call != "" && !itself(a) {
		end = w.Call(a.Done)
	}
	found := fmt.Sprintf("nothing of %s happens before it", w.rank(a.Rank))
	if b.Heard.Call != "" {
		found = fmt.Sprintf("the last call of %s that happens before it is %s", w.rank(a.Rank), w.heard(a, b))
	}
	s.Text = fmt.Sprintf("%s waiting for %s of %s before %s: %s", w.rank(b.Rank), end, w.rank(a.Done.Rank), w.Access(b), found)
	if a.Done.Call == "" || itself(a) {
		s.Text = fmt.Sprintf("%s waiting for %s of %s before %s: %s", w.rank(b.Rank), end, w.rank(a.Rank), w.Access(b), found)
	}
	return s
}

// heard names the last call of a's process that happens before b, which comes before that
// which completes a, though it may be of the same line.
func (w *Wording) heard(a, b *conflicts.Side) string {
	if last := w.Call(b.Heard); last != w.Call(a.Done) || a.Done.Rank != a.Rank {
		return last
	}
	return "an earlier " + strings.TrimPrefix(w.Call(b.Heard), "the ")
}

// locks tells which locks protect the accesses, where one does or seems to.
func (w *Wording) locks(a, b *conflicts.Side) (conflicts.Sought, bool) {
	if len(w.Finding.LocksThatMatter(a))+len(w.Finding.LocksThatMatter(b)) == 0 {
		return conflicts.Sought{}, false
	}
	both := fmt.Sprintf("%s holds %s, %s %s", w.rank(a.Rank), w.held(a), w.rank(b.Rank), w.held(b))
	if w.held(a) == w.held(b) {
		both = "both hold " + w.held(a)
	}
	sought := "an exclusive lock on the " + w.model.Terms().Object
	if w.model.Terms().OwnLocks {
		sought = "a lock that both hold"
	}
	return conflicts.Sought{Kind: conflicts.SoughtLock, Text: sought + ": " + both}, true
}

// held says which locks protect an access.
func (w *Wording) held(s *conflicts.Side) string {
	locks := w.Finding.LocksThatMatter(s)
	if len(locks) == 0 {
		return "none"
	}
	text := ""
	for i, l := range locks {
		if i > 0 {
			text += " and "
		}
		if w.model.Terms().OwnLocks {
			text += "the " + l.WinName
			continue
		}
		kind, target := "a shared lock", fmt.Sprintf("on %s", w.rank(l.Target))
		if l.Exclusive {
			kind = "an exclusive lock"
		}
		if l.Target < 0 {
			target = "on " + w.model.Terms().LockOfAll
		}
		if l.Window != w.Finding.Window {
			target += " of " + cmp.Or(l.WinName, "another "+w.model.Terms().Object)
		}
		if l.Void {
			target += " " + w.model.Terms().VoidLock + ", which excludes nobody"
		}
		text += kind + " " + target
	}
	return text
}
