package analysis

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/symbols"
)

// explain says why nothing orders the accesses of a finding, what was looked
// for, and what would mend it.
func explain(f *conflicts.Finding) conflicts.Explanation {
	w := newWording(f)
	switch f.Rule {
	case conflicts.RuleMemoryGone:
		return w.gone()
	case conflicts.RuleCopies, conflicts.RuleCopyUpdates:
		return w.copies()
	case conflicts.RuleAtomicType:
		e := w.unordered()
		if f.First.Type != "" && f.First.Type == f.Second.Type {
			e.Why = "atomic operations are only defined for elements at the same address, and the elements of these overlap only in part; " + e.Why
			return first(e, mend(conflicts.MendSeparate, "let the elements lie at the same places, or at different ones%s", w.places()))
		}
		e.Why = fmt.Sprintf("atomic operations on shared bytes are only defined for the same basic type at the same address, and these use %s and %s; %s",
			elements(&f.First), elements(&f.Second), e.Why)
		return first(e, mend(conflicts.MendOperation, "use one datatype for all atomic operations on these bytes"))
	case conflicts.RuleAtomicOp:
		e := w.unordered()
		e.Why = fmt.Sprintf("MPI promises atomicity only for the same operation or MPI_NO_OP, and these are %s and %s; %s", f.First.Op, f.Second.Op, e.Why)
		e = first(e, mend(conflicts.MendOperation, "use the same operation in both"))
		e.Mends = append(e.Mends, mend(conflicts.MendOther, "leave it if the MPI library in use promises that the two are atomic to each other"))
		return e
	}
	return w.unordered()
}

// first puts a mend before the others.
func first(e conflicts.Explanation, m conflicts.Mend) conflicts.Explanation {
	e.Mends = append([]conflicts.Mend{m}, e.Mends...)
	return e
}

func mend(kind conflicts.MendKind, format string, args ...any) conflicts.Mend {
	return conflicts.Mend{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func mendAt(kind conflicts.MendKind, at conflicts.SyncPoint, format string, args ...any) conflicts.Mend {
	return conflicts.Mend{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)}
}

func elements(s *conflicts.Side) string {
	if s.Type == "" {
		return "a type of several basic types"
	}
	return s.Type
}

// unordered explains two accesses that nothing orders.
func (w *wording) unordered() conflicts.Explanation {
	if w.f.First.Rank == w.f.Second.Rank {
		return w.within()
	}
	return w.across()
}

// within explains accesses by one process, of which the one spans the other.
func (w *wording) within() conflicts.Explanation {
	span, other := w.inOrder()
	if !span.Pending {
		span, other = other, span
	}
	e := conflicts.Explanation{Why: w.open(span, other)}
	sought := conflicts.Sought{
		Kind: conflicts.SoughtCompletion, From: span.Done,
		Text: fmt.Sprintf("a call that completes %s before %s: there is none", w.access(span), w.access(other)),
	}
	if crossed(span, other) {
		sought.Found = other.Started
		sought.Text = fmt.Sprintf("a call that completes %s before %s: there is only %s", w.access(span), w.access(other), w.call(other.Started))
	}
	e.Sought = append(e.Sought, sought)
	e.Mends = w.mendWithin(span, other)
	return e
}

// open says until when an operation is pending.
func (w *wording) open(span, other *conflicts.Side) string {
	if span.Done.Call == "" {
		return fmt.Sprintf("no call completes %s in the recorded run, so %s may touch the bytes at the same time", w.access(span), w.access(other))
	}
	round := ""
	if earlierLine(other, span) {
		round = " when it comes round again"
	}
	why := fmt.Sprintf("%s is complete only with %s, and %s comes before that%s", w.access(span), w.call(span.Done), w.access(other), round)
	if crossed(span, other) {
		why += "; " + w.between(span, other)
	}
	return why
}

// earlierLine reports whether an access that was made later stands earlier in the
// same function: the program comes by in a loop.
func earlierLine(later, sooner *conflicts.Side) bool {
	x, _ := symbols.Here(later.Stack)
	y, _ := symbols.Here(sooner.Stack)
	return x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && x.Line < y.Line
}

// between says what stands between two accesses of one process.
func (w *wording) between(span, other *conflicts.Side) string {
	if !crossed(span, other) {
		return "no synchronization stands between them"
	}
	return w.call(other.Started) + " stands between them, but " + idle(other.Started.Call, span)
}

// crossed reports whether a synchronization is known to stand between the
// accesses.
func crossed(span, other *conflicts.Side) bool {
	return other.Started.Call != "" && !samePoint(span.Started, other.Started) &&
		!(other.Started.Call == span.Call && samePlace(other.Started.Stack, span.Stack))
}

// idle says why a call does not complete an access that spans it.
func idle(call string, span *conflicts.Side) string {
	if !oneSided(span.Call) {
		return "does not complete its request"
	}
	switch {
	case strings.HasPrefix(call, "MPI_Win_flush_local") && !buffer(span):
		return "completes operations at their origin only"
	case call == "MPI_Win_sync":
		return "completes no operation"
	case strings.HasPrefix(call, "MPI_Win_"):
		return "does not complete it: it is of another window, target or kind"
	case strings.HasPrefix(call, "MPI_Wait"), strings.HasPrefix(call, "MPI_Test"):
		return "completes requests only, and not this one"
	}
	return "it completes no one-sided operation"
}

// mendWithin lists what would order an operation and what the same process does
// before it is complete.
func (w *wording) mendWithin(span, other *conflicts.Side) []conflicts.Mend {
	var out []conflicts.Mend
	if how := w.completing(span); how != "" {
		out = append(out, mendAt(conflicts.MendComplete, place(other), "%s between %s and %s", how, w.access(span), w.access(other)))
	}
	if span.Done.Call != "" && (!oneSided(other.Call) || span.Done.Call == "MPI_Win_fence") {
		move := mendAt(conflicts.MendMove, span.Done, "move %s behind %s", w.access(other), w.call(span.Done))
		if span.Done.Call == "MPI_Win_fence" { // which all processes of the window call: one more is the greater change
			out = append([]conflicts.Mend{move}, out...)
		} else {
			out = append(out, move)
		}
	}
	switch {
	case buffer(span) && (other.Write || !span.Write):
		out = append(out, mendAt(conflicts.MendSeparate, place(other), "use a second buffer in %s", w.access(other)))
	case !buffer(span) && !buffer(other) && oneSided(other.Call):
		if w.f.Rule == conflicts.RuleSameOrigin && !(span.Atomic && other.Atomic) && w.f.Mode != mpi.SameOp && aligned(span, other) && joins(span, other) && joins(other, span) {
			out = append(out, mend(conflicts.MendOperation,
				"use accumulate operations for both (MPI_REPLACE for a put, MPI_NO_OP for a get): those of one process to one place take effect in their order"))
		}
		out = append(out, mend(conflicts.MendSeparate, "use different places of the window"))
	}
	return out
}

// completing says which call would complete an access earlier than it is.
func (w *wording) completing(s *conflicts.Side) string {
	switch {
	case !s.Pending:
		return ""
	case !oneSided(s.Call):
		return "complete its request (MPI_Wait, or an MPI_Test that succeeds)"
	case buffer(s) && strings.HasPrefix(s.Call, "MPI_R"):
		return "complete its request (MPI_Wait)"
	case s.Epoch == mpi.FenceEpoch:
		return "call MPI_Win_fence in all processes of the window"
	case s.Epoch == mpi.StartEpoch:
		return "close the epoch with MPI_Win_complete"
	case !isLock(s.Epoch):
		return ""
	case buffer(s):
		return "call MPI_Win_flush_local for its target (MPI_Win_flush will do too)"
	}
	return fmt.Sprintf("call MPI_Win_flush for rank %d", w.f.Owner)
}
