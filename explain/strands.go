package explain

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
)

// unorderedStrands reports whether the accesses are by two threads, or tasks, of one process
// that nothing orders: what one strand does has an order, and one call has one number.
func (w *Wording) unorderedStrands() bool { return UnorderedStrands(w.Finding) }

// UnorderedStrands reports it of a finding within one process.
func UnorderedStrands(f *conflicts.Finding) bool {
	return f.Began == 0 && f.First.Event != f.Second.Event
}

// strands explains accesses by two threads, or tasks, of one process.
func (w *Wording) strands() conflicts.Explanation {
	span, other := w.InOrder()
	if !span.Pending {
		span, other = other, span
	}
	ofSpan, ofOther, both := strandsOf(span, other)
	e := conflicts.Explanation{Why: fmt.Sprintf("%s is made by %s and %s by %s, and nothing orders the two: either may come first",
		w.Access(span), ofSpan, w.Access(other), ofOther)}
	if span.Pending && span.Done.Call != "" {
		e.Why += fmt.Sprintf("; %s is not complete until %s", w.Access(span), w.Call(span.Done))
	}
	e.Sought = []conflicts.Sought{{
		Kind: conflicts.SoughtPath, From: span.Done,
		Text: fmt.Sprintf("an order of %s between the accesses, by the end of one before the other begins, a lock, a barrier, or a dependence: there is none", both),
	}}
	end := w.Deed(span)
	if span.Done.Call != "" && span.Pending {
		end = w.Call(span.Done)
	}
	e.Fixes = []conflicts.Fix{ProposeAt(conflicts.FixSynchronize, Place(other),
		"let %s come after %s, or before %s begins (join, mutex or critical, barrier, depend clause, taskwait)", w.Deed(other), end, w.Deed(span))}
	switch {
	case span.Class.Buffer() && (other.Write || !span.Write):
		e.Fixes = append(e.Fixes, w.otherBuffer(span, other))
	case !span.Class.Buffer() && !other.Class.Buffer() && other.Class.OneSided():
		if atomic, ok := w.model.Atomic(w, span, other); ok {
			e.Fixes = append(e.Fixes, atomic)
		}
		e.Fixes = append(e.Fixes, Propose(conflicts.FixSeparate, "use different places of the %s", w.model.Terms().Object))
	}
	return e
}

// strandsOf names what makes the one access, and the other, and both. Several tasks may be
// executed by one thread.
func strandsOf(a, b *conflicts.Side) (ofA, ofB, both string) {
	if a.Thread == b.Thread {
		return "one task", "another, which the same thread executed", "the two tasks"
	}
	return threadName(a.Thread), threadName(b.Thread), "the two threads, or their tasks,"
}

// passed says that another strand of an access's process has waited for the other access.
func (w *Wording) passed(s *conflicts.Side) string {
	of, behind := "a task", fmt.Sprintf("%s, by another task,", w.Access(s))
	if s.Passed.Thread != s.Thread {
		of, behind = threadName(s.Passed.Thread), threadName(s.Thread)
	}
	return fmt.Sprintf("; %s of %s waits for it with %s, but nothing puts %s behind that", of, w.rank(s.Rank), w.Call(s.Passed), behind)
}

// waitForStrand proposes that an access come after what another strand has waited for.
func (w *Wording) waitForStrand(s *conflicts.Side) conflicts.Fix {
	if s.Passed.Thread == s.Thread {
		return ProposeAt(conflicts.FixSynchronize, Place(s), "in %s, let the task of %s wait for that of %s before it (barrier, depend clause, taskwait)",
			w.rank(s.Rank), w.Access(s), w.Call(s.Passed))
	}
	return w.waitIn(s, threadName(s.Passed.Thread), threadName(s.Thread), s.Passed, "")
}

func (w *Wording) waitIn(s *conflicts.Side, of, behind string, call conflicts.SyncPoint, outcome string) conflicts.Fix {
	return ProposeAt(conflicts.FixSynchronize, Place(s), "in %s, let %s wait for %s after %s and before %s (join, mutex or critical, barrier, depend clause, taskwait)%s",
		w.rank(s.Rank), behind, of, w.Call(call), w.Access(s), outcome)
}

// beside says that nothing puts an operation before a call of another strand that would complete it.
func (w *Wording) beside(s *conflicts.Side) string {
	return fmt.Sprintf("%s of %s would complete %s, but nothing puts %s of %s before that", w.Call(s.Beside), otherStrand(s),
		w.Access(s), w.Access(s), threadName(s.Thread))
}

// follows reports whether a call, or an access, is behind one that would complete an operation, by the
// same thread.
func follows(x, call conflicts.SyncPoint) bool {
	return call.Call != "" && x.Call != "" && x.Rank == call.Rank && x.Thread == call.Thread && x.Event >= call.Event
}

// otherStrand names the one that makes the call that would complete an operation.
func otherStrand(s *conflicts.Side) string {
	if s.Beside.Thread == s.Thread {
		return "another task"
	}
	return threadName(s.Beside.Thread)
}

// waitForCompleting proposes that an operation be put before that call.
func (w *Wording) waitForCompleting(s *conflicts.Side) conflicts.Fix {
	return ProposeAt(conflicts.FixSynchronize, Place(s), "in %s, let %s wait for %s after %s and before %s (join, mutex or critical, barrier, depend clause, taskwait)",
		w.rank(s.Rank), otherStrand(s), threadName(s.Thread), w.Access(s), w.Call(s.Beside))
}

// ByOtherThread reports whether an operation of another process is complete with a call of the
// process of an access, which another thread than that of the access made.
func ByOtherThread(op, own *conflicts.Side) bool {
	return ClosedBy(op, own) && op.Done.Thread != own.Thread
}

// closedBeside reports whether an operation is complete with a call of another thread of its process
// than that of an access of that.
func closedBeside(span, other *conflicts.Side) bool {
	return span.Done.Call != "" && span.Rank == other.Rank && span.Done.Thread != other.Thread
}

// WaitForThread proposes that an access come after the call of another thread with which an
// operation is complete (ByOtherThread).
func (w *Wording) WaitForThread(op, own *conflicts.Side) conflicts.Fix {
	return w.waitIn(own, threadName(op.Done.Thread), threadName(own.Thread), op.Done, w.Outcome(op, own))
}

func threadName(thread uint32) string {
	if thread == 0 {
		return "the main thread"
	}
	return fmt.Sprintf("thread %d", thread)
}
