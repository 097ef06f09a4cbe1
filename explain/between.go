package explain

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// Meant returns two accesses in the order in which the program names them: by
// line where both stand in one function, and otherwise a write before a read.
// lines reports that it is by line.
func Meant(a, b *conflicts.Side) (first, second *conflicts.Side, lines bool) {
	x, _ := symbols.Here(a.Stack)
	y, _ := symbols.Here(b.Stack)
	switch {
	case x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && y.Line > 0 && x.Line != y.Line:
		if y.Line < x.Line {
			return b, a, true
		}
		return a, b, true
	case b.Write && !a.Write:
		return b, a, false
	}
	return a, b, false
}

// misses says of calls that stand between two accesses why they do not order
// them, as the program names them.
func (w *Wording) misses(a, b *conflicts.Side) string {
	if SamePlace(a.Stack, b.Stack) {
		return ""
	}
	x, y, _ := Meant(a, b)
	after, before := w.passes(x, y, &x.After, x), w.passes(x, y, &y.Before, y)
	if after == before {
		before = ""
	}
	if after == "" && before == "" {
		return w.heedless(x, y)
	}
	return after + before
}

// passes says why a call of the process of side at, between x and y, does not
// make y wait for x; "" where that is not known.
func (w *Wording) passes(x, y *conflicts.Side, t *conflicts.Turn, at *conflicts.Side) string {
	other := x
	if at == x {
		other = y
	}
	comes := &other.Before // what it would be for the other one
	if at == y {
		comes = &other.After
	}
	switch {
	case t.Call == "" || t.Rank != at.Rank || at == x && x.Done.Rank == x.Rank && t.Event < x.Done.Event:
		return "" // not between them
	case !samePoint(t.SyncPoint, comes.SyncPoint) && outside(x, y, t):
		return ""
	case t.Members != nil && !slices.Contains(t.Members, other.Rank):
		return fmt.Sprintf("; %s is called between them, but %s takes no part in it", w.CallOf(t.SyncPoint, -1), w.rank(other.Rank))
	}
	if partly := w.model.Call(t.Call).Partly; partly != "" {
		return fmt.Sprintf("; %s is called between them, but makes %s", w.Call(t.SyncPoint), partly)
	}
	return ""
}

// outside reports whether a call stands before both accesses, or behind both, in a function that all
// three are made in.
func outside(x, y *conflicts.Side, t *conflicts.Turn) bool {
	for _, f := range t.Stack {
		a, b := lineIn(x.Stack, f), lineIn(y.Stack, f)
		if f.Layer == symbols.Application && f.Line > 0 && a > 0 && b > 0 {
			return f.Line < min(a, b) || f.Line > max(a, b)
		}
	}
	return false
}

// lineIn returns the line at which a stack is in the function of a frame; 0: in none.
func lineIn(stack []symbols.Frame, of symbols.Frame) int {
	for _, f := range stack {
		if f.Func != "" && f.Func == of.Func && f.File == of.File {
			return f.Line
		}
	}
	return 0
}

// heedless says that a process waited for somebody before its access, and not
// for the other access.
func (w *Wording) heedless(a, b *conflicts.Side) string {
	started := w.model.Call(b.Started.Call)
	if !a.Pending || !started.Waits || b.Started.With != "" || b.Heard.Call == "" || samePoint(b.Heard, b.Started) {
		return ""
	}
	if started.Fence && b.Heard.Call == b.Started.Call { // the same fence, at another line
		return ""
	}
	return fmt.Sprintf("; %s is called before %s, but does not wait for %s of %s", w.Call(b.Started), w.Access(b), w.Access(a), w.rank(a.Rank))
}

// local says what completed an operation at its origin only, which is easily
// taken for more.
func (w *Wording) local(s *conflicts.Side) string {
	if s.Local.Call == "" || w.model.Call(s.Local.Call).Known || s.Class.Buffer() {
		return ""
	}
	return fmt.Sprintf("; %s completes %s at its origin only, not at %s", w.Call(s.Local), w.Access(s), w.rank(w.Finding.Owner))
}

// bytes says which bytes each of two one-sided operations accesses, where
// these are not the same.
func (w *Wording) bytes(a, b *conflicts.Side) string {
	if !w.shifted(a, b) {
		return ""
	}
	return fmt.Sprintf("; %s and %s of the %s%s", w.verb(a), w.verb(b), w.model.Terms().Object, w.unit())
}

// Places says which bytes the operations access now.
func (w *Wording) Places() string {
	if a, b := w.InOrder(); w.shifted(a, b) {
		return fmt.Sprintf(" (now %s and %s%s)", byteRange(a), byteRange(b), w.unit())
	}
	return ""
}

// shifted reports whether two one-sided operations access different bytes of a
// window that overlap.
func (w *Wording) shifted(a, b *conflicts.Side) bool {
	return w.Finding.Window != 0 && a.Class == regions.Target && b.Class == regions.Target && a.Hi > a.Lo && b.Hi > b.Lo &&
		(a.Lo != b.Lo || a.Hi != b.Hi)
}

func (w *Wording) verb(s *conflicts.Side) string {
	does := "reads"
	if s.Write {
		does = "writes"
	}
	between := ""
	if s.Holes {
		between = "some of "
	}
	return fmt.Sprintf("%s %s %s%s", w.rank(s.Rank), does, between, byteRange(s))
}

func byteRange(s *conflicts.Side) string { return fmt.Sprintf("bytes %d to %d", s.Lo, s.Hi-1) }

// unit names the displacement unit that offsets count in.
func (w *Wording) unit() string {
	if w.Finding.DispUnit == 0 || w.Finding.Attached.Call != "" {
		return ""
	}
	return fmt.Sprintf(", where the displacement unit of %s is %d", w.rank(w.Finding.Owner), w.Finding.DispUnit)
}
