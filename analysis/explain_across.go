package analysis

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
)

// across explains accesses by two processes.
func (w *wording) across() conflicts.Explanation {
	a, b := w.inOrder()
	e := conflicts.Explanation{Sought: w.paths(a, b)}
	switch {
	case w.f.Began != 0 && a.Pending && a.Done.Call != "":
		e.Why = fmt.Sprintf("%s of rank %d is complete only with %s, and nothing makes rank %d wait for that before %s",
			w.access(a), a.Rank, w.call(a.Done), b.Rank, w.access(b))
		if b.Heard.Call != "" {
			e.Why += fmt.Sprintf("; the last that rank %d had heard of rank %d by then is %s", b.Rank, a.Rank, w.call(b.Heard))
		}
	case endless(a):
		e.Why = w.never(a)
	case endless(b):
		e.Why = w.never(b)
	case sameStretch(a, b):
		e.Why = fmt.Sprintf("both lie between %s and %s, and there nothing makes rank %d and rank %d wait for each other",
			w.call(a.Started), w.call(a.Done), a.Rank, b.Rank)
	default:
		e.Why = fmt.Sprintf("%s; %s; nothing makes the one wait for the other", w.extent(a), w.extent(b))
	}
	if locks, ok := w.locks(a, b); ok {
		e.Sought = append(e.Sought, locks)
	}
	e.Mends = w.mendAcross(a, b)
	return e
}

// endless reports whether an access is pending and no call completes it.
func endless(s *conflicts.Side) bool { return s.Pending && s.Done.Call == "" }

func (w *wording) never(s *conflicts.Side) string {
	return fmt.Sprintf("no call completes %s of rank %d in the recorded run, so nothing can come after it", w.access(s), s.Rank)
}

// sameStretch reports whether both accesses lie between the same two calls.
func sameStretch(a, b *conflicts.Side) bool {
	return a.Started.Call != "" && samePoint(a.Started, b.Started) && a.Done.Call != "" && samePoint(a.Done, b.Done)
}

// extent says from when until when an access may touch memory.
func (w *wording) extent(s *conflicts.Side) string {
	name := fmt.Sprintf("%s of rank %d", w.access(s), s.Rank)
	switch {
	case s.Pending:
		return fmt.Sprintf("%s may access the bytes until %s", name, w.call(s.Done))
	case s.Started.Call != "" && s.Done.Call != "":
		return fmt.Sprintf("%s lies between %s and %s", name, w.call(s.Started), w.call(s.Done))
	case s.Done.Call != "":
		return fmt.Sprintf("%s lies before %s", name, w.call(s.Done))
	case s.Started.Call != "":
		return fmt.Sprintf("%s lies after %s", name, w.call(s.Started))
	}
	return name + " has no synchronization around it"
}

// paths tells of the paths from the end of one access to the start of the other
// that were looked for: both ways, unless the one starts first in any case.
func (w *wording) paths(a, b *conflicts.Side) []conflicts.Sought {
	out := []conflicts.Sought{w.path(a, b)}
	if w.f.Began == 0 {
		out = append(out, w.path(b, a))
	}
	return out
}

// path tells of the path from a to b.
func (w *wording) path(a, b *conflicts.Side) conflicts.Sought {
	s := conflicts.Sought{Kind: conflicts.SoughtPath, From: a.Done, Found: b.Heard}
	from := fmt.Sprintf("%s of rank %d", w.access(a), a.Rank)
	if a.Done.Call != "" && !(a.Done.Call == a.Call && samePlace(a.Done.Stack, a.Stack)) {
		from = fmt.Sprintf("%s of rank %d, which %s", w.call(a.Done), a.Rank, map[bool]string{true: "completes", false: "follows"}[a.Pending]+" "+w.access(a))
	}
	if endless(a) {
		from += ", once it is complete,"
	}
	found := fmt.Sprintf("rank %d has heard nothing of rank %d", b.Rank, a.Rank)
	if b.Heard.Call != "" {
		found = fmt.Sprintf("there, rank %d has heard of rank %d up to %s", b.Rank, a.Rank, w.call(b.Heard))
	}
	s.Text = fmt.Sprintf("a message, barrier or fence from %s to %s of rank %d: %s", from, w.access(b), b.Rank, found)
	return s
}

// locks tells which locks protect the accesses, where one does or seems to.
func (w *wording) locks(a, b *conflicts.Side) (conflicts.Sought, bool) {
	if len(a.Locks)+len(b.Locks) == 0 && !isLock(a.Epoch) && !isLock(b.Epoch) {
		return conflicts.Sought{}, false
	}
	return conflicts.Sought{
		Kind: conflicts.SoughtLock,
		Text: fmt.Sprintf("locks of the same window and rank, one of them exclusive: %s, %s", w.held(a), w.held(b)),
	}, true
}

// held says which locks protect an access.
func (w *wording) held(s *conflicts.Side) string {
	text := fmt.Sprintf("rank %d holds ", s.Rank)
	if len(s.Locks) == 0 {
		if isLock(s.Epoch) {
			return text + "one with MPI_MODE_NOCHECK, which excludes nobody"
		}
		return text + "none"
	}
	for i, l := range s.Locks {
		kind, target := "a shared lock", fmt.Sprintf("of rank %d", l.Target)
		if l.Exclusive {
			kind = "an exclusive lock"
		}
		if l.Target < 0 {
			target = "of all ranks (MPI_Win_lock_all)"
		}
		if l.Window != w.f.Window {
			target += " at another window"
		}
		if i > 0 {
			text += " and "
		}
		text += kind + " " + target
	}
	return text
}

// mendAcross lists what would order accesses of two processes. Where both may
// come first, it says "one".
func (w *wording) mendAcross(a, b *conflicts.Side) []conflicts.Mend {
	var out []conflicts.Mend
	if w.f.Rule == conflicts.RuleShared {
		return []conflicts.Mend{
			mend(conflicts.MendSynchronize, "put MPI_Win_sync, a barrier or a message from the one process to the other, and MPI_Win_sync again between the two accesses"),
			mend(conflicts.MendSynchronize, "put MPI_Win_fence between the two accesses"),
		}
	}
	if w.f.Began != 0 && a.Pending {
		out = append(out, w.mendLate(a, b)...)
	} else {
		out = append(out, w.mendUnordered(a, b)...)
	}
	if m, ok := w.mendLock(a, b); ok {
		out = append(out, m)
	}
	return out
}

// mendLate: a starts before b in any case, but is complete too late.
func (w *wording) mendLate(a, b *conflicts.Side) []conflicts.Mend {
	var out []conflicts.Mend
	how := w.completing(a)
	if isLock(a.Epoch) {
		how += " (or MPI_Win_unlock)"
	}
	if a.Epoch == regions.LockAllEpoch.String() {
		how = w.completing(a)
	}
	if how != "" && b.Heard.Call != "" && a.Epoch != regions.FenceEpoch.String() {
		out = append(out, mendAt(conflicts.MendComplete, b.Heard, "%s after %s and before %s of rank %d, so that rank %d hears of it in time",
			how, w.access(a), w.call(b.Heard), a.Rank, b.Rank))
	}
	switch {
	case a.Done.Call == "MPI_Win_fence":
		out = append(out, mendAt(conflicts.MendMove, a.Done, "move %s behind %s", w.access(b), w.call(a.Done)))
	case a.Epoch == regions.StartEpoch.String() && b.Rank == w.f.Owner:
		out = append(out, mend(conflicts.MendMove, "move %s behind the MPI_Win_wait that closes the exposure epoch", w.access(b)))
	case a.Done.Call != "":
		out = append(out, mendAt(conflicts.MendSynchronize, a.Done, "let rank %d wait for rank %d (a barrier or a message) after %s and before %s",
			b.Rank, a.Rank, w.call(a.Done), w.access(b)))
	default:
		out = append(out, mend(conflicts.MendSynchronize, "complete %s, then synchronize the two processes", w.access(a)))
	}
	return out
}

// mendUnordered: either of the two may come first.
func (w *wording) mendUnordered(a, b *conflicts.Side) []conflicts.Mend {
	var out []conflicts.Mend
	fence := regions.FenceEpoch.String()
	switch {
	case a.Epoch == fence || b.Epoch == fence:
		out = append(out, mend(conflicts.MendSynchronize, "put MPI_Win_fence, called by all processes of the window, between the two accesses"))
	case isStart(a) || isStart(b):
		out = append(out, mend(conflicts.MendSynchronize,
			"make the accesses in different exposure epochs of rank %d (MPI_Win_complete and MPI_Win_wait between the two)", w.f.Owner))
	case a.Pending || b.Pending:
		op := a
		if !a.Pending {
			op = b
		}
		how := w.completing(op)
		if how == "" {
			how = "complete the one that comes first"
		}
		out = append(out, mend(conflicts.MendSynchronize, "let one process wait for the other: %s, then a barrier or a message, then the other access", how))
	default:
		out = append(out, mend(conflicts.MendSynchronize, "put a barrier or a message from the one process to the other between the two accesses"))
	}
	if oneSided(a.Call) && oneSided(b.Call) && !buffer(a) && !buffer(b) {
		if !a.Atomic || !b.Atomic {
			out = append(out, mend(conflicts.MendOperation,
				"use accumulate operations for both, if any order will do (MPI_REPLACE for a put, MPI_NO_OP for a get)"))
		}
		out = append(out, mend(conflicts.MendSeparate, "let the two processes use different places of the window"))
	}
	return out
}

func isStart(s *conflicts.Side) bool { return s.Epoch == regions.StartEpoch.String() }

// mendLock says which locks would do, where the program locks already.
func (w *wording) mendLock(a, b *conflicts.Side) (conflicts.Mend, bool) {
	lockA, lockB := isLock(a.Epoch), isLock(b.Epoch)
	switch {
	case lockA && lockB:
		return mend(conflicts.MendLock, "make both accesses under MPI_Win_lock(MPI_LOCK_EXCLUSIVE, …) of rank %d, if either order will do", w.f.Owner), true
	case lockA && b.Epoch == "" && b.Rank == w.f.Owner && !b.Pending:
		return w.lockOwn(a, b), true
	case lockB && a.Epoch == "" && a.Rank == w.f.Owner && !a.Pending:
		return w.lockOwn(b, a), true
	}
	return conflicts.Mend{}, false
}

// lockOwn: a process accesses its own memory without the lock.
func (w *wording) lockOwn(op, own *conflicts.Side) conflicts.Mend {
	also := ""
	if op.Epoch != regions.ExclusiveLockEpoch.String() && !own.Write {
		also = fmt.Sprintf(", and lock exclusively for %s", w.access(op))
	}
	return mendAt(conflicts.MendLock, place(own), "make %s between MPI_Win_lock(MPI_LOCK_EXCLUSIVE, …) of its own rank and MPI_Win_unlock%s, if either order will do",
		w.access(own), also)
}

func isLock(epoch string) bool {
	switch epoch {
	case regions.SharedLockEpoch.String(), regions.ExclusiveLockEpoch.String(), regions.LockAllEpoch.String():
		return true
	}
	return false
}
