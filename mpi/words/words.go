// Package words says what MPI calls things in explanations, and explains what only
// MPI has: epochs, accumulate operations, the separate memory model, and calls
// that are wrong where they stand.
package words

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
)

// vocabulary is the explain.Model of MPI.
type vocabulary struct{}

// Explain says why nothing orders the accesses of a finding, what was looked for,
// and what would fix it.
func Explain(f *conflicts.Finding) conflicts.Explanation {
	w := explain.New(vocabulary{}, f)
	switch f.Rule {
	case conflicts.RuleCopies, conflicts.RuleCopyUpdates:
		return copies(w)
	case conflicts.RuleShared:
		e := w.Explain()
		a, b := w.InOrder()
		e.Fixes = w.Told(a, b)
		if explain.SameLine(a.Stack, b.Stack) { // what reads and writes may be one statement
			e.Fixes = append(e.Fixes, explain.Propose(conflicts.FixLock, "let one process at a time execute the statement (a lock, with MPI_Win_sync behind it and before it is released), or update the memory atomically (MPI_Accumulate, MPI_Fetch_and_op, or an atomic operation of the language), if either order will do"))
			if a.Write && b.Write {
				e.Fixes = append(e.Fixes, explain.Propose(conflicts.FixSynchronize, "let one process execute the statement, and all wait for it behind that (MPI_Win_sync and a barrier), if all store the same"))
			}
		}
		e.Fixes = append(e.Fixes, betweenShared(w, "call MPI_Win_sync, then synchronize the processes (a barrier, or a message from one to the other), then call MPI_Win_sync again", "MPI_Win_sync", "MPI_Barrier", "MPI_Win_sync")...)
		if (fenced(&f.First) || fenced(&f.Second)) && len(f.First.Locks)+len(f.Second.Locks) == 0 {
			e.Fixes = append(e.Fixes, betweenShared(w, "call MPI_Win_fence", "MPI_Win_fence")...)
		}
		e.Fixes = append(e.Fixes, w.Answers(&f.First, &f.Second)...)
		if m, ok := w.Stronger(); ok {
			e = explain.First(e, m)
		}
		return e
	case conflicts.RuleAtomicOp:
		return otherOperation(w)
	case conflicts.RuleAssertion:
		return changed(w)
	}
	e := w.Explain()
	if m, ok := polled(w); ok {
		e = explain.First(e, m)
	}
	return e
}

// otherOperation explains atomic operations that are not the same. Most of them are meant to meet:
// of what would order them, one thing is enough.
func otherOperation(w *explain.Wording) conflicts.Explanation {
	f, e := w.Finding, w.Explain()
	ops := []string{f.First.Op, f.Second.Op}
	rule, key := "MPI guarantees atomicity only for the same operation or MPI_NO_OP", ""
	switch {
	case f.Mode == mpi.SameOp && slices.Contains(ops, "MPI_NO_OP"):
		rule, key = `the window's info key accumulate_ops is "same_op", with which not even MPI_NO_OP may meet another operation`, `leave the info key accumulate_ops at its default, "same_op_no_op"`
	case f.First.Rank == f.Second.Rank && f.First.Thread == f.Second.Thread && explain.SamePlace(f.First.Made.Stack, f.Second.Made.Stack):
		rule, key = "the window's info key accumulate_ordering gives up the order of such operations of one process", "leave the info key accumulate_ordering at its default, so that they take effect in program order"
	}
	e.Why = fmt.Sprintf("%s, and these are %s and %s; %s", rule, f.First.Op, f.Second.Op, e.Why)
	order := e.Fixes
	same := "use the same operation in both calls"
	if slices.Contains(ops, "MPI_REPLACE") && slices.Contains(ops, mpi.CompareAndSwap) {
		same = "use MPI_Compare_and_swap in both calls, where the value that the other one replaces is known, as to the holder of a lock"
	}
	e.Fixes = []conflicts.Fix{
		explain.Propose(conflicts.FixOperation, "%s", same),
		explain.Propose(conflicts.FixOther, "leave it as it is if the MPI library in use guarantees that the two are atomic with respect to each other"),
	}
	if swaps(&f.First) || swaps(&f.Second) { // it is to find what it replaces, as the tail of a queue of waiters (12.8)
		slices.Reverse(e.Fixes)
	}
	if key != "" {
		e.Fixes = slices.Insert(e.Fixes, 0, explain.Propose(conflicts.FixOther, "%s", key))
	}
	if i := slices.IndexFunc(order, func(m conflicts.Fix) bool {
		return m.Kind == conflicts.FixSynchronize || m.Kind == conflicts.FixComplete
	}); i >= 0 {
		e.Fixes = append(e.Fixes, order[i])
	}
	return e
}

// swaps reports whether an operation fetches what it replaces.
func swaps(s *conflicts.Side) bool {
	return s.Op == "MPI_REPLACE" && s.Call != "MPI_Accumulate" && s.Call != "MPI_Raccumulate"
}

// fenced reports whether fences are what separates an access from others. Within a lock, such
// as that of MPI_Win_lock_all for the whole run, a fence is an error (MPI 4.1, 12.5).
func fenced(s *conflicts.Side) bool {
	return s.Started.Call == "MPI_Win_fence" || s.Next.Call == "MPI_Win_fence"
}

// betweenShared lets all processes make calls between two loads or stores: in the order in
// which the program names them and, in a loop or where that is not known, the other way
// round too.
func betweenShared(w *explain.Wording, what string, calls ...string) []conflicts.Fix {
	a, b := w.InOrder()
	if explain.SameLine(a.Stack, b.Stack) {
		return []conflicts.Fix{explain.Propose(conflicts.FixSynchronize, "let the processes execute the statement in turn; between them, %s", what)}
	}
	m := explain.Propose(conflicts.FixSynchronize, "between the two accesses, %s", what)
	x, y, lines := explain.Meant(a, b)
	there := meetShared(w, m, x, y, what, calls)
	if !lines {
		m = explain.Propose(conflicts.FixSynchronize, "between %s and %s, %s", w.Access(y), w.Access(x), what)
		return []conflicts.Fix{there, meetShared(w, m, y, x, what, calls)}
	}
	m = explain.Propose(conflicts.FixSynchronize, "between %s and the next %s, %s", w.Access(y), w.Named(x), what)
	next := meetShared(w, m, y, x, what, calls)
	if w.Finding.Again {
		return []conflicts.Fix{there, next}
	}
	explain.OrElse(&there, next)
	return []conflicts.Fix{there}
}

// meetShared adds the steps to a fix between two loads or stores, and what more would be.
func meetShared(w *explain.Wording, m conflicts.Fix, x, y *conflicts.Side, what string, calls []string) conflicts.Fix {
	more := explain.Doing(explain.ProposeAt(conflicts.FixSynchronize, explain.Place(y), "each time before %s, and after %s, %s", w.Access(y), w.Access(x), what),
		explain.MeetEach(w, explain.Place(x), explain.Place(y), calls...))
	m = explain.Doing(m, explain.Meet(w, explain.Place(x), explain.Place(y), calls...))
	m.Directly = fmt.Sprintf("directly after %s, %s", w.Access(x), what)
	m.Finally = fmt.Sprintf("after %s and what follows it, before %s, %s", w.Access(x), w.Access(y), what)
	m.More = &more
	return m
}

// changed explains that a process changed memory of which it asserts the contrary.
func changed(w *explain.Wording) conflicts.Explanation {
	a, b := &w.Finding.First, &w.Finding.Second
	since := "it was created"
	if last := a.Before.SyncPoint; last.Call != "" {
		since = "its last synchronization of it, " + w.Call(last)
	}
	return conflicts.Explanation{
		Why:   fmt.Sprintf("%s of rank %d asserts MPI_MODE_NOSTORE, but %s changes the process's part of the window after %s", a.Call, a.Rank, w.Access(b), since),
		Fixes: []conflicts.Fix{{Kind: conflicts.FixOther, Text: "leave out MPI_MODE_NOSTORE"}},
	}
}

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string { return explain.New(vocabulary{}, f).Message() }

// What names an access: "MPI_Put", "the send buffer of MPI_Send".
func What(s *conflicts.Side) string { return explain.What(vocabulary{}, s) }

// Issued names a call of a usage error that explains it: " (MPI_Put (line 9) was
// issued in it)".
func Issued(f *conflicts.Finding, call conflicts.SyncPoint) string {
	return fmt.Sprintf(" (%s was issued in it)", explain.New(vocabulary{}, f).Call(call))
}

// Loose is what a call asserts that makes no process wait by that.
const Loose = "MPI_MODE_NOPRECEDE"

// Epoch says in which epoch an access was made: "fence epoch"; "" where none
// matters.
func Epoch(f *conflicts.Finding, s *conflicts.Side) string {
	switch {
	case s.Epoch != "":
		return string(s.Epoch) + " epoch"
	case s.Call != "" && !s.Class.Buffer() && f.Class != conflicts.Usage:
		return "in no epoch"
	}
	return ""
}

// Terms are the words of the model.
func Terms() explain.Terms { return vocabulary{}.Terms() }

func (vocabulary) Terms() explain.Terms {
	return explain.Terms{
		Rank:      "rank",
		Process:   "process",
		Processes: "processes",
		Object:    "window",
		Counted:   "window",
		Wait:      "a barrier that both call, or a message",
		Between:   "a barrier that both call or a message",
		Order:     "message, barrier or fence",
		Complete:  "close the epoch, flush it, or wait for the request",
		OwnAtomic: "an atomic operation of the process on its own part (MPI_Fetch_and_op or MPI_Get_accumulate with MPI_NO_OP, MPI_Accumulate)",
		GivesUp:   "MPI_Win_free does both for window memory",
		Meet:      "MPI_Barrier",
		LockOfAll: "all ranks (MPI_Win_lock_all)",
		VoidLock:  "with MPI_MODE_NOCHECK",
		Update:    "in one epoch of MPI_Win_lock with MPI_LOCK_EXCLUSIVE, or with one MPI_Fetch_and_op or MPI_Accumulate",
	}
}

func (vocabulary) Call(fn string) explain.Call {
	facts := mpi.FactsOf(fn)
	return explain.Call{
		Waits:  facts.Waits,
		Fence:  facts.Completes == mpi.CompletesAll,
		Only:   facts.Only,
		Seems:  facts.Copies,
		Ends:   facts.Unlocks,
		Tries:  facts.Tries,
		Known:  facts.Closes == mpi.StartEpoch, // what MPI_Win_complete leaves
		Tells:  facts.OneSided,
		Sends:  sends(fn),
		Takes:  takes(fn),
		Partly: partly(facts.Orders),
	}
}

func sends(fn string) bool {
	sends, _ := mpi.Blocks(fn)
	return sends
}

// takes reports whether an operation fetches what it changes.
func takes(fn string) bool {
	switch fn {
	case "MPI_Fetch_and_op", "MPI_Get_accumulate", "MPI_Rget_accumulate", "MPI_Compare_and_swap":
		return true
	}
	return false
}

// partly says whom a collective call makes wait, where that is not all for all
// (MPI 4.1, 6.1 and 8.6); "" otherwise.
func partly(o mpi.Orders) string {
	switch o {
	case mpi.OrdersNeighbours:
		return "each process wait for its neighbours only"
	case mpi.OrdersRootLast:
		return "only its root wait"
	case mpi.OrdersRootFirst:
		return "the others wait for its root only"
	case mpi.OrdersByRank:
		return "each process wait for those of lower rank only"
	}
	return ""
}

func (vocabulary) Idle(fn string, s, other *conflicts.Side) string {
	switch {
	case s.Class.OneSided():
	case mpi.FactsOf(s.Call).End != "":
		return "does not end it"
	default:
		return "does not complete its request"
	}
	switch call := mpi.FactsOf(fn); {
	case call.Only && call.Completes == mpi.CompletesAtOrigin && !s.Class.Buffer():
		return "completes operations at their origin only"
	case call.Copies:
		return "completes no operation"
	case call.Window && s.Thread != other.Thread:
		return "does not complete the operation: nothing orders it after that, or it is for another window, target or kind of epoch"
	case call.Window:
		return "does not complete it: it is for another window, target or kind of epoch"
	case call.Completes == mpi.CompletesRequests:
		return "completes requests only, and not this one"
	}
	return "completes no one-sided operation"
}

// Completing says which call would complete an access earlier than it is, for a finding that
// another model explains.
func Completing(w *explain.Wording, s *conflicts.Side) explain.Completing {
	return vocabulary{}.Completing(w, s)
}

// Completing says which call would complete an access earlier than it is.
func (vocabulary) Completing(w *explain.Wording, s *conflicts.Side) explain.Completing {
	switch {
	case !s.Pending:
		return explain.Completing{}
	case !s.Class.OneSided() && mpi.FactsOf(s.Call).End != "":
		end := mpi.FactsOf(s.Call).End
		return explain.Completing{How: "call " + end, Call: end, Once: true}
	case !s.Class.OneSided():
		return explain.Completing{How: "complete its request (MPI_Wait, or an MPI_Test that succeeds)", Call: waiting(s), Once: true}
	case s.Class.Buffer() && mpi.FactsOf(s.Call).Request:
		return explain.Completing{How: "complete its request (MPI_Wait)", Call: waiting(s), Once: true}
	case s.Epoch == mpi.FenceEpoch:
		return explain.Completing{How: "call MPI_Win_fence in all processes of the window", Call: "MPI_Win_fence", All: true}
	case s.Epoch == mpi.StartEpoch:
		return explain.Completing{How: "close the epoch with MPI_Win_complete", Call: "MPI_Win_complete", Once: true}
	case !isLock(s.Epoch):
		return explain.Completing{}
	}
	or := ""
	if s.Epoch != mpi.LockAllEpoch && !w.Finding.Again && !goesOn(w, s) {
		or = " (or MPI_Win_unlock)"
	}
	if s.Class.Buffer() {
		return explain.Completing{How: "call MPI_Win_flush_local for its target (MPI_Win_flush will do too)", Or: or, Call: "MPI_Win_flush_local"}
	}
	on := ""
	if p, ok := w.Vain(s, w.Other(s)); ok && mpi.FactsOf(p.Call).Completes == mpi.CompletesOwn { // a flush of something else
		on = " on the same window"
	}
	return explain.Completing{How: fmt.Sprintf("call MPI_Win_flush for rank %d%s", w.Finding.Owner, on), Each: fmt.Sprintf("call MPI_Win_flush for its target%s", on), Or: or, Call: "MPI_Win_flush"}
}

// goesOn reports whether the other access of a finding is one for which the epoch of an operation has to
// go on.
func goesOn(w *explain.Wording, s *conflicts.Side) bool {
	f := w.Finding
	return f.First.Rank == f.Second.Rank && f.First.Class.OneSided() && f.Second.Class.OneSided() && f.First.Epoch == s.Epoch && f.Second.Epoch == s.Epoch
}

// waiting is the call that waits for the request of an access, where it is one that
// can be made earlier, or nothing waits for it.
func waiting(s *conflicts.Side) string {
	if s.Done.Call == "" {
		return "MPI_Wait"
	}
	if s.Done.Rank == s.Rank && mpi.FactsOf(s.Done.Call).Completes == mpi.CompletesRequests {
		return s.Done.Call
	}
	return ""
}

// Instead: MPI_Win_flush does what MPI_Win_flush_local does, and at the target too.
func (vocabulary) Instead(local string) string {
	switch local {
	case "MPI_Win_flush_local":
		return "MPI_Win_flush"
	case "MPI_Win_flush_local_all":
		return "MPI_Win_flush_all"
	}
	return ""
}

func (vocabulary) Copy(s *conflicts.Side) bool {
	return s.Class == regions.GivenUp && s.Role == mpi.CopyFreed.Name
}

func (vocabulary) OutOfScope(s *conflicts.Side) bool {
	return s.Class == regions.GivenUp && s.Role == mpi.OutOfScope.Name
}

func isLock(epoch regions.Mode) bool {
	switch epoch {
	case mpi.SharedLockEpoch, mpi.ExclusiveLockEpoch, mpi.LockAllEpoch:
		return true
	}
	return false
}
