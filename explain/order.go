package explain

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// fixAcross lists what would order accesses of two processes. Each must fix the
// finding when it is carried out to the letter, be allowed by the model, and say
// which value remains where that is its choice.
func (w *Wording) fixAcross(a, b *conflicts.Side) []conflicts.Fix {
	var out []conflicts.Fix
	if w.Finding.Began != 0 && a.Pending {
		out = append(out, w.fixLate(a, b)...)
	} else {
		out = append(out, w.fixUnordered(a, b)...)
	}
	if m, ok := w.model.Lock(w, a, b); ok {
		out = append(out, m)
	}
	return out
}

// fixLate: a starts before b in any case, but is complete too late.
func (w *Wording) fixLate(a, b *conflicts.Side) []conflicts.Fix {
	var out []conflicts.Fix
	if how := w.model.Completing(w, a); how.How != "" && b.Heard.Call != "" && !how.All {
		out = append(out, ProposeAt(conflicts.FixComplete, b.Heard, "%s%s after %s and before %s of rank %d, which happens before %s",
			how.How, how.Or, w.Access(a), w.Call(b.Heard), a.Rank, w.Access(b)))
	}
	if w.model.Call(a.Done.Call).Fence {
		return append(out, ProposeAt(conflicts.FixMove, a.Done, "move %s after %s", w.Deed(b), w.Call(a.Done)))
	}
	if own := w.model.Late(w, a, b); own != nil {
		return append(out, own...)
	}
	switch wait := w.model.Terms().Wait; {
	case a.Done.Call != "" && earlier(b, a.Done):
		return append(out, ProposeAt(conflicts.FixMove, a.Done, "move %s after %s, with rank %d waiting for rank %d in between (%s)",
			w.Deed(b), w.Call(a.Done), b.Rank, a.Rank, wait))
	case a.Done.Call != "":
		return append(out, ProposeAt(conflicts.FixSynchronize, a.Done, "let rank %d wait for rank %d (%s) after %s and before %s",
			b.Rank, a.Rank, wait, w.Call(a.Done), w.Access(b)))
	}
	return append(out, Propose(conflicts.FixSynchronize, "complete %s, then synchronize the two processes", w.Access(a)))
}

// earlier reports whether an access stands before a call in one function: both
// processes come by them in that order.
func earlier(s *conflicts.Side, p conflicts.SyncPoint) bool {
	x, _ := symbols.Here(s.Stack)
	y, _ := symbols.Here(p.Stack)
	return x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && x.Line < y.Line
}

// ClosedBy reports whether an operation is complete only with a call of the
// other access's process.
func ClosedBy(op, own *conflicts.Side) bool {
	return op.Pending && !own.Pending && op.Done.Call != "" && op.Done.Rank == own.Rank && op.Rank != own.Rank
}

// Outcome says what is in memory, or read, when one access comes before another.
func (w *Wording) Outcome(first, second *conflicts.Side) string {
	x, y := w.Deed(first), w.Deed(second)
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

// Deed names what makes an access, which is what can be moved: of a call's
// buffer the call.
func (w *Wording) Deed(s *conflicts.Side) string { return bare(s) + w.At(s.Stack) }

// fixUnordered: either of the two may come first.
func (w *Wording) fixUnordered(a, b *conflicts.Side) []conflicts.Fix {
	order := w.fixOrder(a, b)
	if a.Class != regions.Target || b.Class != regions.Target {
		return order
	}
	separate := Propose(conflicts.FixSeparate, "let the two processes use different places of the %s%s", w.model.Terms().Object, w.Places())
	atomic, can := w.model.Atomic(w, a, b)
	var out []conflicts.Fix
	if SamePlace(a.Stack, b.Stack) { // there is no room between a line and itself
		out = append(out, separate)
	}
	if can && a.Atomic != b.Atomic { // the one is atomic already
		out, can = append(out, atomic), false
	}
	out = append(out, order...)
	if can {
		out = append(out, atomic)
	}
	if !SamePlace(a.Stack, b.Stack) {
		out = append(out, separate)
	}
	return out
}

// fixOrder says which synchronization would order two accesses of which either
// may come first.
func (w *Wording) fixOrder(a, b *conflicts.Side) []conflicts.Fix {
	if own := w.model.Order(w, a, b); own != nil {
		return own
	}
	if SamePlace(a.Stack, b.Stack) {
		again := ""
		if w.Finding.Again {
			again = "; in a loop, do so in each iteration, and let the first wait for the second before the next one"
		}
		return []conflicts.Fix{Propose(conflicts.FixSynchronize, "let one process wait for the other: %s%s, then the other access%s",
			w.ending(a), w.model.Terms().Between, again)}
	}
	x, y, _ := Meant(a, b)
	return []conflicts.Fix{w.inTurn(x, y), w.turned(x, y)}
}

// ending says what completes an access, as the first of several steps.
func (w *Wording) ending(s *conflicts.Side) string {
	if !s.Pending {
		return ""
	}
	if how := w.model.Completing(w, s).How; how != "" {
		return how + ", then "
	}
	return "complete the operation, then "
}

// after says after what an access is over, and what to call for that to be so
// where the program completes it too late.
func (w *Wording) after(s *conflicts.Side) (first, after string) {
	switch how := w.model.Completing(w, s).How; {
	case !s.Pending:
		return "", "after " + w.Access(s)
	case s.Done.Call != "" && (how == "" || w.model.Call(s.Done.Call).Only):
		return "", "after " + w.Call(s.Done)
	case how != "":
		return fmt.Sprintf("%s after %s, and ", how, w.Access(s)), "after that"
	}
	return fmt.Sprintf("complete %s, and ", w.Access(s)), "after that"
}

// inTurn orders two accesses as the program names them.
func (w *Wording) inTurn(x, y *conflicts.Side) conflicts.Fix {
	first, after := w.after(x)
	m := ProposeAt(conflicts.FixSynchronize, Place(y), "%slet rank %d wait for rank %d (%s) %s and before %s%s",
		first, y.Rank, x.Rank, w.model.Terms().Wait, after, w.Access(y), w.Outcome(x, y))
	m.Text += w.again(x, y)
	return m
}

// again says what a loop needs besides, in which x comes before y: that y is
// over before the next x.
func (w *Wording) again(x, y *conflicts.Side) string {
	if !w.Finding.Again {
		return ""
	}
	first, after := w.after(y)
	return fmt.Sprintf("; in a loop whose next iteration uses the same bytes, %slet rank %d wait for rank %d too %s", first, x.Rank, y.Rank, after)
}

// turned orders two accesses against the order in which the program names them:
// so the one has to move.
func (w *Wording) turned(x, y *conflicts.Side) conflicts.Fix {
	first, after := w.after(y)
	return ProposeAt(conflicts.FixMove, Place(x), "the other way round: %smove %s %s, with rank %d waiting for rank %d in between (%s)%s",
		first, w.Deed(x), after, x.Rank, y.Rank, w.model.Terms().Wait, w.Outcome(y, x)+w.again(y, x))
}
