package explain

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// givesUp is the verb for what a side that gives memory up does.
func givesUp(s *conflicts.Side) string {
	if s.Class == regions.Withdrawn {
		return "detaches"
	}
	return "frees"
}

// gone explains a conflict with memory that was given up.
func (w *Wording) gone() conflicts.Explanation {
	a, b := &w.Finding.First, &w.Finding.Second
	if a.Rank != b.Rank {
		e := conflicts.Explanation{
			Why: fmt.Sprintf("%s of %s may access the memory when %s %s it%s, and no synchronization orders the two",
				w.Access(a), w.rank(a.Rank), w.rank(b.Rank), givesUp(b), w.At(b.Stack)),
			Sought: []conflicts.Sought{w.path(a, b)},
		}
		if m, ok := w.inTime(a, b); ok && b.Heard.Event > a.Event && !w.model.Call(b.Call).Waits {
			e.Fixes = append(e.Fixes, m)
		}
		e.Fixes = append(e.Fixes, w.beforeRelease(a, b))
		return e
	}
	e := conflicts.Explanation{
		Why: fmt.Sprintf("%s is not complete when %s %s the memory that it uses%s", w.Access(a), w.rank(b.Rank), givesUp(b), w.At(b.Stack)),
		Sought: []conflicts.Sought{{
			Kind: conflicts.SoughtCompletion, From: a.Done,
			Text: fmt.Sprintf("a call that completes %s before %s: %s", w.Access(a), w.Access(b), w.between(a, b)),
		}},
	}
	if w.model.OutOfScope(b) {
		e.Why = fmt.Sprintf("%s is not complete when the function whose variable it uses returns%s", w.Access(a), w.At(b.Stack))
	}
	if w.copied(a, b) {
		e.Why = fmt.Sprintf("%s was given a copy of the array section or expression, which the compiler made for the call and frees when it returns%s, while the operation still uses it", w.Access(a), w.At(b.Stack))
		e.Fixes = append(e.Fixes, Propose(conflicts.FixSeparate, "pass contiguous memory that lasts until the operation is complete: a variable, or the first element of the section with a datatype that describes it (MPI_Type_vector)"))
		return e
	}
	complete := ProposeAt(conflicts.FixComplete, Place(b), "complete %s before (%s)", w.Access(a), w.model.Terms().Complete)
	if how := w.model.Completing(w, a); how.How != "" {
		complete.Text = fmt.Sprintf("%s between %s and %s", how.How, w.Access(a), w.Access(b))
		complete.Steps = w.complete(how, a, Place(b))
		complete = Until(complete, Place(b), fmt.Sprintf("%s directly after %s", how.How, w.Access(a)))
	}
	e.Fixes = append(e.Fixes, complete, Propose(conflicts.FixSeparate, "keep the memory until the operation is complete"))
	return e
}

// copied reports whether what gave memory up is the compiler, with its copy of an argument: also
// where a statement of Fortran allocates the memory, makes the call, and frees it.
func (w *Wording) copied(a, b *conflicts.Side) bool {
	if w.model.Copy(b) {
		return true
	}
	here, ok := symbols.Here(b.Stack)
	if b.Class != regions.GivenUp || !ok || sources.FormOf(here.File) == sources.NotFortran {
		return false
	}
	for _, stack := range [][]symbols.Frame{a.Stack, w.Finding.Block.Stack} {
		if there, _ := symbols.Here(stack); there.File != here.File || there.Line != here.Line {
			return false
		}
	}
	return true
}

// beforeRelease says what has to be done before another process gives memory up: where the
// call that does so makes all wait for each other, to complete the operation.
func (w *Wording) beforeRelease(a, b *conflicts.Side) conflicts.Fix {
	if how := w.model.Completing(w, a); how.Call != "" && w.model.Call(b.Call).Waits {
		return Doing(ProposeAt(conflicts.FixComplete, Place(a), "%s between %s and %s of %s", how.How, w.Access(a), w.Access(b), w.rank(a.Rank)),
			Insert(a, how.Call))
	}
	t := w.model.Terms()
	if w.Finding.Attached.Call != "" { // what gives up the object that exposes it may come later
		return w.inTurn(a, b)
	}
	return Propose(conflicts.FixSynchronize, "complete the operation and synchronize the two %s before the memory is released: %s", t.Processes, t.GivesUp)
}

// lockOrder says which order of locks would let the accesses race.
func (w *Wording) lockOrder() conflicts.Explanation {
	a, b := &w.Finding.First, &w.Finding.Second
	order := w.model.Terms().Order
	e := conflicts.Explanation{
		Why: fmt.Sprintf("%s of %s and %s of %s are ordered only by the order in which this run granted locks",
			w.Access(a), w.rank(a.Rank), w.Access(b), w.rank(b.Rank)),
		Fixes: []conflicts.Fix{
			Propose(conflicts.FixLock, "make the two accesses under locks that exclude each other"),
			Propose(conflicts.FixSynchronize, "synchronize the two %s in another way (%s)", w.model.Terms().Processes, order),
		},
	}
	first, then := w.Finding.Granted[0], w.Finding.Granted[1]
	if first.Call != "" {
		e.Why = fmt.Sprintf("%s of %s and %s of %s are ordered only because %s got its lock (%s%s) before %s (%s%s); had %s got it first, nothing would order them",
			w.Access(a), w.rank(a.Rank), w.Access(b), w.rank(b.Rank),
			w.rank(first.Rank), first.Call, w.where(first), w.rank(then.Rank), then.Call, w.where(then), w.rank(then.Rank))
		e.Sought = []conflicts.Sought{{
			Kind: conflicts.SoughtPath, From: first, Found: then,
			Text: fmt.Sprintf("a %s between %s and %s: there are only the locks", order, w.rank(a.Rank), w.rank(b.Rank)),
		}}
	}
	return e
}

// where names the place of a call: " at a.c:12", or nothing.
func (w *Wording) where(p conflicts.SyncPoint) string {
	if f, within, ok := symbols.Site(p.Stack); ok && f.File != "" {
		return fmt.Sprintf(" at %s:%d", w.Finding.Short(f.File), f.Line) + inFunction(within)
	}
	return ""
}
