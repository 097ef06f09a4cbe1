package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// meant returns two accesses in the order in which the program names them: by
// line where both stand in one function, and otherwise a write before a read.
// lines reports that it is by line.
func meant(a, b *conflicts.Side) (first, second *conflicts.Side, lines bool) {
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
func (w *wording) misses(a, b *conflicts.Side) string {
	if samePlace(a.Stack, b.Stack) {
		return ""
	}
	x, y, _ := meant(a, b)
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
func (w *wording) passes(x, y *conflicts.Side, t *conflicts.Turn, at *conflicts.Side) string {
	other := x
	if at == x {
		other = y
	}
	switch {
	case t.Call == "" || t.Rank != at.Rank || at == x && x.Done.Rank == x.Rank && t.Event < x.Done.Event:
		return "" // not between them
	case t.Members != nil && !slices.Contains(t.Members, other.Rank):
		return fmt.Sprintf("; %s stands between them, but rank %d takes no part in it", w.callOf(t.SyncPoint, -1), other.Rank)
	}
	if partly := ordersPartly(t.Call); partly != "" {
		return fmt.Sprintf("; %s stands between them, but makes %s", w.call(t.SyncPoint), partly)
	}
	return ""
}

// ordersPartly says whom a collective call makes wait, where that is not all for
// all (MPI 4.1, 6.1 and 8.6); "" otherwise.
func ordersPartly(call string) string {
	name := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(call, "MPI_")), "i")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "w"), "v")
	switch {
	case strings.HasPrefix(name, "neighbor_"):
		return "each process wait for its neighbours only"
	case name == "reduce", name == "gather":
		return "only its root wait"
	case name == "bcast", name == "scatter":
		return "the others wait for its root only"
	case name == "scan", name == "exscan":
		return "each process wait for those of lower rank only"
	}
	return ""
}

// heedless says that a process waited for somebody before its access, and not
// for the other access.
func (w *wording) heedless(a, b *conflicts.Side) string {
	if !a.Pending || !waits(b.Started.Call) || b.Started.With != "" || b.Heard.Call == "" || samePoint(b.Heard, b.Started) {
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

// local says what completed an operation at its origin only, which is easily
// taken for more.
func (w *wording) local(s *conflicts.Side) string {
	if s.Local.Call == "" || s.Local.Call == "MPI_Win_complete" || buffer(s) { // what MPI_Win_complete leaves is said anyway
		return ""
	}
	return fmt.Sprintf("; %s completes %s at its origin only, not at rank %d", w.call(s.Local), w.access(s), w.f.Owner)
}

// bytes says which bytes each of two one-sided operations accesses, where
// these are not the same.
func (w *wording) bytes(a, b *conflicts.Side) string {
	if !w.shifted(a, b) {
		return ""
	}
	return fmt.Sprintf("; %s and %s of the window%s", verb(a), verb(b), w.unit())
}

// places says which bytes the operations access now.
func (w *wording) places() string {
	if a, b := w.inOrder(); w.shifted(a, b) {
		return fmt.Sprintf(" (now %s and %s%s)", byteRange(a), byteRange(b), w.unit())
	}
	return ""
}

// shifted reports whether two one-sided operations access different bytes of a
// window that overlap.
func (w *wording) shifted(a, b *conflicts.Side) bool {
	return w.f.Window != 0 && oneSided(a.Call) && oneSided(b.Call) && !buffer(a) && !buffer(b) && a.Hi > a.Lo && b.Hi > b.Lo &&
		(a.Lo != b.Lo || a.Hi != b.Hi)
}

func verb(s *conflicts.Side) string {
	does := "reads"
	if s.Write {
		does = "writes"
	}
	between := ""
	if s.Holes {
		between = "some of "
	}
	return fmt.Sprintf("rank %d %s %s%s", s.Rank, does, between, byteRange(s))
}

func byteRange(s *conflicts.Side) string { return fmt.Sprintf("bytes %d to %d", s.Lo, s.Hi-1) }

// unit names the displacement unit of the window.
func (w *wording) unit() string {
	if w.f.DispUnit == 0 || w.f.Attached.Call != "" {
		return ""
	}
	return fmt.Sprintf(", where the displacement unit of rank %d is %d", w.f.Owner, w.f.DispUnit)
}
