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
			e.Why += fmt.Sprintf("; the last that rank %d had heard of rank %d by then is %s, which does not complete it", b.Rank, a.Rank, w.call(b.Heard))
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
		e.Why += w.misses(a, b) + w.misses(b, a)
	}
	if locks, ok := w.locks(a, b); ok {
		e.Sought = append(e.Sought, locks)
		e.Why += w.sharing(a, b)
	}
	e.Mends = w.mendAcross(a, b)
	return e
}

// misses says that a process waited for somebody before its access, and not for
// the other access.
func (w *wording) misses(a, b *conflicts.Side) string {
	if !a.Pending || !waits(b.Started.Call) || b.Heard.Call == "" || samePoint(b.Heard, b.Started) {
		return ""
	}
	if b.Started.Call == "MPI_Win_fence" && b.Heard.Call == b.Started.Call { // the same fence, at another line
		return ""
	}
	return fmt.Sprintf("; %s, which stands before %s, does not wait for %s of rank %d", w.call(b.Started), w.access(b), w.access(a), a.Rank)
}

// waits reports whether a call is one that programs order processes with.
func waits(call string) bool {
	switch call {
	case "MPI_Barrier", "MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Win_fence", "MPI_Win_wait",
		"MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv":
		return true
	}
	return false
}

// sharing says that locks do not keep the accesses apart, where one looks as if
// they did.
func (w *wording) sharing(a, b *conflicts.Side) string {
	switch {
	case len(a.Locks) > 0 && len(b.Locks) > 0:
		return "; shared locks do not exclude each other"
	case len(a.Locks) > 0:
		return fmt.Sprintf("; a lock of rank %d excludes only those that lock too, which rank %d does not for %s", w.f.Owner, b.Rank, w.access(b))
	case len(b.Locks) > 0:
		return fmt.Sprintf("; a lock of rank %d excludes only those that lock too, which rank %d does not for %s", w.f.Owner, a.Rank, w.access(a))
	}
	return ""
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
	case s.Started.Call != "" && s.Done.Call != "" && !itself(s):
		return fmt.Sprintf("%s lies between %s and %s", name, w.call(s.Started), w.call(s.Done))
	case s.Done.Call != "" && !itself(s):
		return fmt.Sprintf("%s lies before %s", name, w.call(s.Done))
	case s.Started.Call != "":
		return fmt.Sprintf("%s lies after %s", name, w.call(s.Started))
	}
	return name + " has no synchronization around it"
}

// itself reports whether the synchronization after an access is the call that
// makes it.
func itself(s *conflicts.Side) bool {
	return s.Done.Call == s.Call && samePlace(s.Done.Stack, s.Stack)
}

// paths tells of the paths from the end of one access to the start of the other
// that were looked for: both ways, unless the one starts first in any case.
func (w *wording) paths(a, b *conflicts.Side) []conflicts.Sought {
	out := []conflicts.Sought{w.path(a, b)}
	switch {
	case w.f.Began != 0:
	case samePlace(a.Stack, b.Stack) && samePoint(a.Done, b.Done) && samePoint(a.Heard, b.Heard):
		out[0].Text += "; and the other way round"
	default:
		out = append(out, w.path(b, a))
	}
	return out
}

// path tells of the path from a to b.
func (w *wording) path(a, b *conflicts.Side) conflicts.Sought {
	if a.Done.Call != "" && a.Done.Rank == b.Rank { // its own MPI_Win_wait
		return conflicts.Sought{
			Kind: conflicts.SoughtCompletion, From: a.Done,
			Text: fmt.Sprintf("%s of rank %d, which completes %s, before %s: it comes after that", w.call(a.Done), a.Done.Rank, w.access(a), w.access(b)),
		}
	}
	s := conflicts.Sought{Kind: conflicts.SoughtPath, From: a.Done, Found: b.Heard}
	from := fmt.Sprintf("%s of rank %d", w.access(a), a.Rank)
	if a.Done.Call != "" && !itself(a) {
		verb := "follows"
		if a.Pending {
			verb = "completes"
		}
		from = fmt.Sprintf("%s of rank %d, which %s,", w.call(a.Done), a.Done.Rank, verb+" "+w.access(a))
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
	case a.Done.Call != "" && a.Done.Rank == b.Rank: // its MPI_Win_wait
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
	out := []conflicts.Mend{w.mendOrder(a, b)}
	if !oneSided(a.Call) || !oneSided(b.Call) || buffer(a) || buffer(b) {
		return out
	}
	separate := mend(conflicts.MendSeparate, "let the two processes use different places of the window")
	operation := mend(conflicts.MendOperation, "use accumulate operations for both, if any order will do (MPI_REPLACE for a put, MPI_NO_OP for a get)")
	if !a.Atomic || !b.Atomic {
		out = append(out, operation)
	}
	if samePlace(a.Stack, b.Stack) { // there is no room between a line and itself
		return append([]conflicts.Mend{separate}, out...)
	}
	return append(out, separate)
}

// mendOrder says which synchronization would order two accesses of which either
// may come first.
func (w *wording) mendOrder(a, b *conflicts.Side) conflicts.Mend {
	fence := regions.FenceEpoch.String()
	switch {
	case a.Epoch == fence || b.Epoch == fence:
		if samePlace(a.Stack, b.Stack) {
			return mend(conflicts.MendSynchronize, "let the two processes take turns, with MPI_Win_fence, called by all processes of the window, between them")
		}
		return mend(conflicts.MendSynchronize, "put MPI_Win_fence, called by all processes of the window, between the two accesses")
	case a.Pending && a.Done.Rank == b.Rank && a.Done.Call != "" && !b.Pending: // its MPI_Win_wait
		return mendAt(conflicts.MendMove, a.Done, "move %s behind %s", w.access(b), w.call(a.Done))
	case b.Pending && b.Done.Rank == a.Rank && b.Done.Call != "" && !a.Pending:
		return mendAt(conflicts.MendMove, b.Done, "move %s behind %s", w.access(a), w.call(b.Done))
	case isStart(a) || isStart(b):
		return mend(conflicts.MendSynchronize,
			"make the accesses in different exposure epochs of rank %d (MPI_Win_complete and MPI_Win_wait between the two)", w.f.Owner)
	case a.Pending != b.Pending:
		op, other := a, b
		if b.Pending {
			op, other = b, a
		}
		if op.Done.Call != "" {
			return mendAt(conflicts.MendSynchronize, op.Done, "let rank %d wait for rank %d (a barrier or a message) after %s and before %s; or the other way round",
				other.Rank, op.Rank, w.call(op.Done), w.access(other))
		}
	case a.Pending:
		if how := w.completing(a); how != "" {
			return mend(conflicts.MendSynchronize, "let one process wait for the other: %s, then a barrier or a message, then the other access", how)
		}
	default:
		return mend(conflicts.MendSynchronize, "put a barrier or a message from the one process to the other between the two accesses")
	}
	return mend(conflicts.MendSynchronize, "let one process wait for the other: complete the operation, then a barrier or a message, then the other access")
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
