package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/mpi"
)

// Late: what completes an access in an epoch of MPI_Win_start is a call of the
// process whose memory it is.
func (vocabulary) Late(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	switch {
	case explain.ClosedBy(a, b):
		return exposed(w, a, b)
	case isStart(a) && b.Rank == w.Finding.Owner:
		return []conflicts.Fix{explain.Propose(conflicts.FixMove, "move %s after the MPI_Win_wait that closes the exposure epoch", w.Access(b))}
	}
	return nil
}

// Order says what orders accesses in fence epochs, in those of MPI_Win_start, and by statements
// with coarrays.
func (vocabulary) Order(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	switch {
	case isTransfer(a) || isTransfer(b):
		return images(w, a, b)
	case a.Epoch == mpi.FenceEpoch || b.Epoch == mpi.FenceEpoch:
		return fence(w, a, b)
	case explain.ClosedBy(a, b):
		return exposed(w, a, b)
	case explain.ClosedBy(b, a):
		return exposed(w, b, a)
	case isStart(a) && inExposure(b):
		return exposed(w, endsWith(a, b.Next), b)
	case isStart(b) && inExposure(a):
		return exposed(w, endsWith(b, a.Next), a)
	case isStart(a) || isStart(b):
		return []conflicts.Fix{explain.Propose(conflicts.FixSynchronize,
			"make the accesses in different exposure epochs of rank %d (MPI_Win_complete and MPI_Win_wait between the two)", w.Finding.Owner)}
	}
	return nil
}

// isTransfer reports whether an access is part of a statement with coarrays.
func isTransfer(s *conflicts.Side) bool { return s.Epoch == mpi.TransferEpoch }

// Together lets each process, or image, do two operations of a finding as one update.
func Together(f *conflicts.Finding, read, write *conflicts.Side) string {
	w, how := explain.New(vocabulary{}, f), Terms().Update
	switch {
	case isTransfer(read) && isTransfer(write):
		how = "in one critical construct (or between lock and unlock of one lock variable), or with an atomic subroutine"
	case w.OnlyVoid(read, write):
		how = "in one epoch of MPI_Win_lock with MPI_LOCK_EXCLUSIVE and without MPI_MODE_NOCHECK, or with one MPI_Fetch_and_op or MPI_Accumulate"
	}
	return w.Together(read, write, how)
}

// polled proposes to fetch atomically what a loop may wait for: a load is neither atomic with what
// leaves the value, nor does anything behind the loop come after that.
func polled(w *explain.Wording) (conflicts.Fix, bool) {
	load, leaves := &w.Finding.First, &w.Finding.Second
	if leaves.Polls {
		load, leaves = leaves, load
	}
	if !load.Polls || isTransfer(leaves) {
		return conflicts.Fix{}, false
	}
	also := ""
	if !leaves.Atomic {
		also = fmt.Sprintf(", and leave it with MPI_Accumulate and MPI_REPLACE in place of %s", w.Access(leaves))
	}
	m := explain.ProposeAt(conflicts.FixOperation, explain.Place(load),
		"if the loop waits for what %s leaves, fetch that there with MPI_Fetch_and_op and MPI_NO_OP, and an MPI_Win_flush behind it, in place of %s%s: what follows the loop comes after it then",
		w.Access(leaves), w.Access(load), also)
	m.Leads = true
	return m, true
}

// images orders statements of images, or lets one at a time execute them.
func images(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	both, construct := "both statements", "one and the same critical construct"
	one := explain.SameLine(a.Stack, b.Stack) // what reads and writes may be one statement
	if one {
		both, construct = "the statement", "critical and end critical"
	}
	alone := explain.Propose(conflicts.FixLock,
		"enclose %s in %s (or in lock and unlock of one lock variable), if either order will do", both, construct)
	if one {
		return []conflicts.Fix{alone}
	}
	first, second, lines := explain.Meant(a, b)
	all := inEitherOrder(w, first, second, lines, syncAll)
	if lines && w.Finding.Again {
		all = append(all, w.InTurns(first, second, "execute sync all, or sync images in both,", "MPI_Barrier"))
	}
	return append(all, alone)
}

// syncAll lets the images wait for each other behind x and before y, which is called that.
func syncAll(w *explain.Wording, x, y *conflicts.Side, name string) conflicts.Fix {
	m := explain.Doing(explain.Propose(conflicts.FixSynchronize, "execute sync all, or sync images in both, after %s and before %s%s",
		w.Access(x), name, w.Outcome(x, y)), explain.Meet(w, explain.Place(x), explain.Place(y), "MPI_Barrier"))
	return explain.Between(m, "after "+w.Access(x), "before "+name)
}

// inEitherOrder puts something between two accesses as far as they may come in either order: where the
// lines do not say it, and in a loop, where it may be the next iteration that one of them is ahead in.
func inEitherOrder(w *explain.Wording, x, y *conflicts.Side, lines bool, between func(w *explain.Wording, x, y *conflicts.Side, name string) conflicts.Fix) []conflicts.Fix {
	all := []conflicts.Fix{between(w, x, y, w.Access(y))}
	switch {
	case !lines:
		all = append(all, between(w, y, x, w.Access(x)))
	case w.Finding.Again:
		all = append(all, between(w, y, x, "the next "+w.Named(x)))
	}
	return all
}

func isStart(s *conflicts.Side) bool { return s.Epoch == mpi.StartEpoch }

// fence puts a fence between two accesses.
func fence(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	if explain.SamePlace(a.Stack, b.Stack) {
		return []conflicts.Fix{explain.Propose(conflicts.FixSynchronize, "let the two processes take turns, with MPI_Win_fence, called by all processes of the window, between them")}
	}
	x, y, lines := explain.Meant(a, b)
	all := inEitherOrder(w, x, y, lines, fenceBetween)
	if lines && w.Finding.Again {
		all = append(all, w.InTurns(x, y, "call MPI_Win_fence in all processes of the window", "MPI_Win_fence"))
	}
	return all
}

// fenceBetween puts a fence behind x and before y, which is called that.
func fenceBetween(w *explain.Wording, x, y *conflicts.Side, name string) conflicts.Fix {
	if x.Pending && !x.Class.OneSided() { // a fence completes operations, and no requests
		return w.BehindCompletion(x, y, "call MPI_Win_fence in all processes of the window", name, "MPI_Win_fence")
	}
	m := explain.Doing(explain.Propose(conflicts.FixSynchronize, "call MPI_Win_fence in all processes of the window after %s and before %s%s",
		w.Access(x), name, w.Outcome(x, y)), explain.Meet(w, explain.Place(x), explain.Place(y), "MPI_Win_fence"))
	return explain.Between(m, "after "+w.Access(x), "before "+name)
}

// inExposure reports whether the owner's access lies between MPI_Win_post and the call that ends the
// exposure epoch.
func inExposure(s *conflicts.Side) bool {
	return !s.Pending && s.Call == "" && mpi.FactsOf(s.Started.Call).Opens == mpi.ExposureEpoch && mpi.FactsOf(s.Next.Call).Closes == mpi.ExposureEpoch
}

// endsWith is a get, which is complete with a call of its own process: what the owner does after that
// call of its own comes after it, too.
func endsWith(get *conflicts.Side, call conflicts.SyncPoint) *conflicts.Side {
	op := *get
	op.Done = call
	return &op
}

// exposed: a process accesses its memory between its MPI_Win_post and its
// MPI_Win_wait. It may do so before or after, and the value is another.
func exposed(w *explain.Wording, op, own *conflicts.Side) []conflicts.Fix {
	post := "the MPI_Win_post that opens the exposure epoch"
	if mpi.FactsOf(own.Started.Call).Opens == mpi.ExposureEpoch {
		post = w.Call(own.Started)
	}
	before := explain.ProposeAt(conflicts.FixMove, own.Started, "move %s before %s%s", w.Deed(own), post, w.Outcome(own, op))
	if mpi.FactsOf(own.Started.Call).Opens == mpi.ExposureEpoch {
		before = explain.Doing(before, explain.Advance(explain.Place(own), own.Started))
	}
	after := w.MoveAfter(own, op.Done, w.Outcome(op, own))
	switch {
	case !explain.ByOtherThread(op, own):
	case own.Passed.Call == "": // it may stand there already
		after = w.WaitForThread(op, own)
	default: // which is proposed anyway
		return []conflicts.Fix{before}
	}
	if op.Write && !own.Write {
		return []conflicts.Fix{after, before}
	}
	return []conflicts.Fix{before, after}
}

// Atomic says with which accumulate operations the two may meet. There are none
// where elements would overlap in part, or operations differ.
func (vocabulary) Atomic(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	if a.Rank == b.Rank {
		return inTheirOrder(w, a, b)
	}
	if isTransfer(a) || isTransfer(b) || w.Finding.Mode == mpi.SameOp && a.Write != b.Write || a.Atomic && b.Atomic || !aligned(a, b) || !joins(a, b) || !joins(b, a) {
		return conflicts.Fix{}, false
	}
	var parts []string
	var steps []conflicts.Step
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
			steps = append(steps, explain.Replace(explain.Place(s), "MPI_Accumulate"))
			parts = append(parts, "MPI_Accumulate with MPI_REPLACE in place of "+w.Access(s))
		default:
			steps = append(steps, explain.Replace(explain.Place(s), "MPI_Get_accumulate"))
			parts = append(parts, "MPI_Get_accumulate or MPI_Fetch_and_op with MPI_NO_OP in place of "+w.Access(s))
		}
	}
	if len(parts) == 2 && parts[0] == parts[1] {
		parts = parts[:1]
	}
	if kind == "" {
		kind = " of one datatype"
	}
	return explain.Doing(explain.Propose(conflicts.FixOperation, "use %s, if any order will do: concurrent accumulate operations%s are allowed",
		strings.Join(parts, " and "), kind), steps...), true
}

// inTheirOrder: accumulate operations of one process are ordered.
func inTheirOrder(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	if w.Finding.Rule != conflicts.RuleSameOrigin || w.Finding.Mode == mpi.SameOp || a.Atomic && b.Atomic ||
		!aligned(a, b) || !joins(a, b) || !joins(b, a) {
		return conflicts.Fix{}, false
	}
	return explain.Propose(conflicts.FixOperation,
		"use accumulate operations for both (MPI_REPLACE for a put, MPI_NO_OP for a get): those of one process to one location take effect in program order"), true
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

// Lock says which locks would do, where the program locks already. A lock
// must not be taken around a call that waits for other processes, nor within
// MPI_Win_lock_all (MPI 4.1, 12.5.3).
func (vocabulary) Lock(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	lockA, lockB := isLock(a.Epoch), isLock(b.Epoch)
	if w.Finding.Attached.Call != "" { // a lock does not keep the memory attached
		return conflicts.Fix{}, false
	}
	if !(lockA && (lockB || own(w, b)) || lockB && own(w, a)) {
		return conflicts.Fix{}, false
	}
	instead := ""
	if lockedAll(w, a) || lockedAll(w, b) {
		instead = ", instead of MPI_Win_lock_all, within which MPI allows no other lock"
	}
	fix := explain.Propose(conflicts.FixLock, "enclose each access in its own MPI_Win_lock(MPI_LOCK_EXCLUSIVE, …) on rank %d and MPI_Win_unlock%s, if either order will do",
		w.Finding.Owner, instead)
	if fix.Less = checked(w, a, b); fix.Less == nil {
		fix.Less = exclusive(w, a, b)
	}
	return fix, true
}

// checked proposes to take locks without MPI_MODE_NOCHECK that would exclude each other then. nil
// where there are none, or it is not known which calls take them.
func checked(w *explain.Wording, a, b *conflicts.Side) *conflicts.Fix {
	if !w.OnlyVoid(a, b) {
		return nil
	}
	var takes []conflicts.SyncPoint
	var names []string
	for _, s := range []*conflicts.Side{a, b} {
		if !unchecked(w, s) {
			continue
		}
		if !takesLock(s.Started) {
			return nil
		}
		if name := w.Call(s.Started); !slices.Contains(names, name) {
			takes, names = append(takes, s.Started), append(names, name)
		}
	}
	steps := make([]conflicts.Step, len(takes))
	for i, at := range takes {
		steps[i] = explain.Plain(at)
	}
	fix := explain.Doing(explain.ProposeAt(conflicts.FixLock, takes[0],
		"leave out MPI_MODE_NOCHECK in %s, if either order will do", strings.Join(names, " and in ")), steps...)
	return &fix
}

// unchecked reports whether the locks of an access on the window of the finding exclude nobody.
func unchecked(w *explain.Wording, s *conflicts.Side) bool {
	return slices.ContainsFunc(w.Finding.LocksThatMatter(s), func(l conflicts.Lock) bool { return l.Void })
}

func takesLock(at conflicts.SyncPoint) bool {
	return at.Call == "MPI_Win_lock" || at.Call == "MPI_Win_lock_all"
}

// exclusive proposes to take the shared lock of an access as an exclusive one, that of one
// that writes if there is one: who only reads may go on to share it. nil where it is not known
// which call takes it.
func exclusive(w *explain.Wording, a, b *conflicts.Side) *conflicts.Fix {
	if b.Write && !a.Write {
		a, b = b, a
	}
	for i, s := range []*conflicts.Side{a, b} {
		if s.Epoch != mpi.SharedLockEpoch || s.Started.Call != "MPI_Win_lock" || waitsWithin(s) {
			continue
		}
		other, without, also := []*conflicts.Side{b, a}[i], "", ""
		if unchecked(w, s) { // which excludes nobody, exclusive or not
			without = ", and without MPI_MODE_NOCHECK,"
		}
		steps := []conflicts.Step{explain.Replace(s.Started, "MPI_Win_lock")}
		if unchecked(w, other) && !explain.SamePlace(s.Started.Stack, other.Started.Stack) {
			if !takesLock(other.Started) {
				continue
			}
			also = fmt.Sprintf(", and without MPI_MODE_NOCHECK in %s", w.Call(other.Started))
			steps = append(steps, explain.Plain(other.Started))
		}
		fix := explain.Doing(explain.ProposeAt(conflicts.FixLock, s.Started,
			"lock with MPI_LOCK_EXCLUSIVE instead of MPI_LOCK_SHARED%s in %s%s, if either order will do", without, w.Call(s.Started), also), steps...)
		return &fix
	}
	return nil
}

// waitsWithin reports whether the process waits for others between an operation and the unlock that
// completes it: those may wait for the lock, were it exclusive.
func waitsWithin(s *conflicts.Side) bool {
	return s.Done.Call == "MPI_Win_unlock" && s.After.Call != "" && s.After.Rank == s.Rank && s.After.Event < s.Done.Event
}

// own reports whether an access is a load or store of the owner's.
func own(w *explain.Wording, s *conflicts.Side) bool {
	return s.Call == "" && s.Rank == w.Finding.Owner && !s.Pending && s.Epoch == ""
}

// lockedAll reports whether an access is made within MPI_Win_lock_all of the window.
func lockedAll(w *explain.Wording, s *conflicts.Side) bool {
	if s.Epoch == mpi.LockAllEpoch {
		return true
	}
	for _, l := range s.Locks {
		if l.Target < 0 && l.Window == w.Finding.Window {
			return true
		}
	}
	return false
}

// Declare says how to declare that a process which fetches a value in a loop waits for the
// one that leaves it there. target is the rank in the window.
func Declare(f *conflicts.Finding, target int64, leaves, fetches conflicts.SyncPoint) conflicts.Fix {
	w := explain.New(vocabulary{}, f)
	return explain.ProposeAt(conflicts.FixSynchronize, fetches,
		"if rank %d waits in a loop for the value that %s of rank %d leaves, and finds it with %s, the two are in order: declare it, with mcchk_signal(win, %d, 0) before %s and mcchk_wait(win, %d, 0) after the loop",
		fetches.Rank, w.Call(leaves), leaves.Rank, w.Call(fetches), target, w.Call(leaves), target)
}

// Strengthen proposes memory orders of atomic operations of the language that order the accesses
// of a finding, by steps that give them.
func Strengthen(f *conflicts.Finding, steps []conflicts.Step) conflicts.Fix {
	return explain.New(vocabulary{}, f).Strengthen(steps)
}
