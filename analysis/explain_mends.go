package analysis

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// mendAcross lists what would order accesses of two processes. Each must mend
// the finding when it is carried out to the letter, be allowed by MPI, and say
// which value remains where that is its choice.
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
	if isLock(a.Epoch) && a.Epoch != mpi.LockAllEpoch {
		how += " (or MPI_Win_unlock)"
	}
	if how != "" && b.Heard.Call != "" && a.Epoch != mpi.FenceEpoch {
		out = append(out, mendAt(conflicts.MendComplete, b.Heard, "%s after %s and before %s of rank %d, so that rank %d hears of it in time",
			how, w.access(a), w.call(b.Heard), a.Rank, b.Rank))
	}
	switch {
	case a.Done.Call == "MPI_Win_fence":
		out = append(out, mendAt(conflicts.MendMove, a.Done, "move %s behind %s", w.deed(b), w.call(a.Done)))
	case closedBy(a, b):
		out = append(out, w.mendExposed(a, b)...)
	case a.Epoch == mpi.StartEpoch && b.Rank == w.f.Owner:
		out = append(out, mend(conflicts.MendMove, "move %s behind the MPI_Win_wait that closes the exposure epoch", w.access(b)))
	case a.Done.Call != "" && earlier(b, a.Done):
		out = append(out, mendAt(conflicts.MendMove, a.Done, "make %s only after %s, when rank %d has waited for rank %d (a barrier that both call, or a message)",
			w.deed(b), w.call(a.Done), b.Rank, a.Rank))
	case a.Done.Call != "":
		out = append(out, mendAt(conflicts.MendSynchronize, a.Done, "let rank %d wait for rank %d (a barrier that both call, or a message) after %s and before %s",
			b.Rank, a.Rank, w.call(a.Done), w.access(b)))
	default:
		out = append(out, mend(conflicts.MendSynchronize, "complete %s, then synchronize the two processes", w.access(a)))
	}
	return out
}

// earlier reports whether an access stands before a call in one function: both
// processes come by them in that order.
func earlier(s *conflicts.Side, p conflicts.SyncPoint) bool {
	x, _ := symbols.Here(s.Stack)
	y, _ := symbols.Here(p.Stack)
	return x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && x.Line < y.Line
}

// closedBy reports whether an operation is complete only with a call of the
// other access's process: its MPI_Win_wait.
func closedBy(op, own *conflicts.Side) bool {
	return op.Pending && !own.Pending && op.Done.Call != "" && op.Done.Rank == own.Rank && op.Rank != own.Rank
}

// mendExposed: a process accesses its memory between its MPI_Win_post and its
// MPI_Win_wait. It may do so before or behind, and the value is another.
func (w *wording) mendExposed(op, own *conflicts.Side) []conflicts.Mend {
	post := "the MPI_Win_post that opens the exposure epoch"
	if own.Started.Call == "MPI_Win_post" {
		post = w.call(own.Started)
	}
	before := mendAt(conflicts.MendMove, own.Started, "move %s before %s%s", w.deed(own), post, w.outcome(own, op))
	behind := mendAt(conflicts.MendMove, op.Done, "move %s behind %s%s", w.deed(own), w.call(op.Done), w.outcome(op, own))
	if op.Write && !own.Write {
		return []conflicts.Mend{behind, before}
	}
	return []conflicts.Mend{before, behind}
}

// outcome says what is in memory, or read, when one access comes before another.
func (w *wording) outcome(first, second *conflicts.Side) string {
	x, y := w.deed(first), w.deed(second)
	if p, q := bare(first), bare(second); p != q {
		x, y = p, q
	}
	switch {
	case !second.Write:
		return fmt.Sprintf(", so that %s reads what %s wrote", y, x)
	case !first.Write:
		return fmt.Sprintf(", so that %s reads the value from before %s", x, y)
	case second.Atomic:
		return fmt.Sprintf(", so that %s works on the value of %s", y, x)
	}
	return fmt.Sprintf(", so that the value of %s remains", y)
}

// bare names an access without its place.
func bare(s *conflicts.Side) string {
	if s.Call == "" {
		return "the " + s.Role
	}
	return s.Call
}

// deed names what makes an access, which is what can be moved: of a call's
// buffer the call.
func (w *wording) deed(s *conflicts.Side) string { return bare(s) + w.at(s.Stack) }

// mendUnordered: either of the two may come first.
func (w *wording) mendUnordered(a, b *conflicts.Side) []conflicts.Mend {
	order := w.mendOrder(a, b)
	if !oneSided(a.Call) || !oneSided(b.Call) || buffer(a) || buffer(b) {
		return order
	}
	separate := mend(conflicts.MendSeparate, "let the two processes use different places of the window%s", w.places())
	accumulate, can := w.mendAccumulate(a, b)
	var out []conflicts.Mend
	if samePlace(a.Stack, b.Stack) { // there is no room between a line and itself
		out = append(out, separate)
	}
	if can && a.Atomic != b.Atomic { // the one is atomic already
		out, can = append(out, accumulate), false
	}
	out = append(out, order...)
	if can {
		out = append(out, accumulate)
	}
	if !samePlace(a.Stack, b.Stack) {
		out = append(out, separate)
	}
	return out
}

// mendAccumulate says with which accumulate operations the two may meet. There
// are none where elements would overlap in part, or operations differ.
func (w *wording) mendAccumulate(a, b *conflicts.Side) (conflicts.Mend, bool) {
	if w.f.Mode == mpi.SameOp && a.Write != b.Write || a.Atomic && b.Atomic || !aligned(a, b) || !joins(a, b) || !joins(b, a) {
		return conflicts.Mend{}, false
	}
	var parts []string
	kind := ""
	for _, s := range []*conflicts.Side{a, b} {
		switch {
		case s.Atomic:
			kind = " of the same datatype"
			if s.Type != "" {
				kind = fmt.Sprintf(" of the same datatype (%s)", s.Type)
			}
			continue
		case s.Write:
			parts = append(parts, "MPI_Accumulate with MPI_REPLACE in place of "+w.access(s))
		default:
			parts = append(parts, "MPI_Get_accumulate or MPI_Fetch_and_op with MPI_NO_OP in place of "+w.access(s))
		}
	}
	if len(parts) == 2 && parts[0] == parts[1] {
		parts = parts[:1]
	}
	if kind == "" {
		kind = " of one datatype"
	}
	return mend(conflicts.MendOperation, "use %s, if any order will do: accumulate operations%s may meet", strings.Join(parts, " and "), kind), true
}

// joins reports whether the accumulate operation that would take the place of s
// may meet the other one.
func joins(s, other *conflicts.Side) bool {
	return s.Atomic || !other.Atomic || !s.Write || !other.Write || other.Op == "MPI_REPLACE"
}

// aligned reports whether the elements of two operations are of one size and lie
// at the same places, as far as they overlap.
func aligned(a, b *conflicts.Side) bool {
	if a.Unit == 0 || a.Unit != b.Unit {
		return false
	}
	if a.Holes || b.Holes {
		return a.Lo == b.Lo && a.Hi == b.Hi
	}
	return a.Lo%uint64(a.Unit) == b.Lo%uint64(a.Unit)
}

// mendOrder says which synchronization would order two accesses of which either
// may come first.
func (w *wording) mendOrder(a, b *conflicts.Side) []conflicts.Mend {
	fence := mpi.FenceEpoch
	x, y, lines := meant(a, b)
	switch {
	case a.Epoch == fence || b.Epoch == fence:
		if samePlace(a.Stack, b.Stack) {
			return []conflicts.Mend{mend(conflicts.MendSynchronize, "let the two processes take turns, with MPI_Win_fence, called by all processes of the window, between them")}
		}
		if lines {
			return []conflicts.Mend{mend(conflicts.MendSynchronize, "call MPI_Win_fence in all processes of the window after %s and before %s%s",
				w.access(x), w.access(y), w.outcome(x, y))}
		}
		return []conflicts.Mend{mend(conflicts.MendSynchronize, "put MPI_Win_fence, called by all processes of the window, between the two accesses")}
	case closedBy(a, b):
		return w.mendExposed(a, b)
	case closedBy(b, a):
		return w.mendExposed(b, a)
	case isStart(a) || isStart(b):
		return []conflicts.Mend{mend(conflicts.MendSynchronize,
			"make the accesses in different exposure epochs of rank %d (MPI_Win_complete and MPI_Win_wait between the two)", w.f.Owner)}
	case samePlace(a.Stack, b.Stack):
		again := ""
		if w.f.Again {
			again = "; in a loop, each time, and the other way round before the next"
		}
		return []conflicts.Mend{mend(conflicts.MendSynchronize, "let one process wait for the other: %sa barrier that both call or a message, then the other access%s", w.ending(a), again)}
	}
	return []conflicts.Mend{w.inTurn(x, y), w.turned(x, y)}
}

// ending says what completes an access, as the first of several steps.
func (w *wording) ending(s *conflicts.Side) string {
	if !s.Pending {
		return ""
	}
	if how := w.completing(s); how != "" {
		return how + ", then "
	}
	return "complete the operation, then "
}

// after says after what an access is over, and what to call for that to be so
// where the program completes it too late.
func (w *wording) after(s *conflicts.Side) (first, after string) {
	switch how := w.completing(s); {
	case !s.Pending:
		return "", "after " + w.access(s)
	case s.Done.Call != "" && (how == "" || strings.HasPrefix(s.Done.Call, "MPI_Win_flush") || strings.HasPrefix(s.Done.Call, "MPI_Wait")):
		return "", "after " + w.call(s.Done)
	case how != "":
		return fmt.Sprintf("%s after %s, and ", how, w.access(s)), "after that"
	}
	return fmt.Sprintf("complete %s, and ", w.access(s)), "after that"
}

// inTurn orders two accesses as the program names them.
func (w *wording) inTurn(x, y *conflicts.Side) conflicts.Mend {
	first, after := w.after(x)
	m := mendAt(conflicts.MendSynchronize, place(y), "%slet rank %d wait for rank %d (a barrier that both call, or a message) %s and before %s%s",
		first, y.Rank, x.Rank, after, w.access(y), w.outcome(x, y))
	m.Text += w.again(x, y)
	return m
}

// again says what a loop needs besides, in which x comes before y: that y is
// over before the next x.
func (w *wording) again(x, y *conflicts.Side) string {
	if !w.f.Again {
		return ""
	}
	first, after := w.after(y)
	return fmt.Sprintf("; in a loop whose next iteration uses the same bytes, %slet rank %d wait for rank %d too %s", first, x.Rank, y.Rank, after)
}

// turned orders two accesses against the order in which the program names them:
// so the one has to move.
func (w *wording) turned(x, y *conflicts.Side) conflicts.Mend {
	first, after := w.after(y)
	return mendAt(conflicts.MendMove, place(x), "the other way round: %smake %s only %s, when rank %d has waited for rank %d (a barrier that both call, or a message)%s",
		first, w.deed(x), after, x.Rank, y.Rank, w.outcome(y, x)+w.again(y, x))
}

func isStart(s *conflicts.Side) bool { return s.Epoch == mpi.StartEpoch }

// mendLock says which locks would do, where the program locks already. A lock
// must not be taken around a call that waits for other processes, nor within
// MPI_Win_lock_all (MPI 4.1, 12.5.3).
func (w *wording) mendLock(a, b *conflicts.Side) (conflicts.Mend, bool) {
	lockA, lockB := isLock(a.Epoch), isLock(b.Epoch)
	if w.f.Attached.Call != "" { // a lock does not keep the memory attached
		return conflicts.Mend{}, false
	}
	if !(lockA && (lockB || w.own(b)) || lockB && w.own(a)) {
		return conflicts.Mend{}, false
	}
	instead := ""
	if lockedAll(a) || lockedAll(b) {
		instead = ", instead of within MPI_Win_lock_all, where MPI allows no other lock"
	}
	return mend(conflicts.MendLock, "make each access between an MPI_Win_lock(MPI_LOCK_EXCLUSIVE, …) of rank %d and an MPI_Win_unlock of its own%s, if either order will do",
		w.f.Owner, instead), true
}

// own reports whether an access is a load or store of the owner's.
func (w *wording) own(s *conflicts.Side) bool {
	return s.Call == "" && s.Rank == w.f.Owner && !s.Pending && s.Epoch == ""
}

// lockedAll reports whether an access is made within MPI_Win_lock_all.
func lockedAll(s *conflicts.Side) bool {
	if s.Epoch == mpi.LockAllEpoch {
		return true
	}
	for _, l := range s.Locks {
		if l.Target < 0 {
			return true
		}
	}
	return false
}

func isLock(epoch regions.Mode) bool {
	switch epoch {
	case mpi.SharedLockEpoch, mpi.ExclusiveLockEpoch, mpi.LockAllEpoch:
		return true
	}
	return false
}
