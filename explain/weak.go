package explain

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// weak returns the two sides so that the second would come after the first by atomic operations
// of the language, were they not relaxed; false: there are none.
func (w *Wording) weak() (first, second *conflicts.Side, ok bool) {
	a, b := w.InOrder()
	if b.Weak.Wrote.Call == "" {
		a, b = b, a
	}
	return a, b, b.Weak.Wrote.Call != ""
}

// relaxed says that atomic operations of the language order nothing; "" where there are none.
func (w *Wording) relaxed() string {
	a, b, ok := w.weak()
	if !ok {
		return ""
	}
	x := &b.Weak
	which := "both are"
	switch {
	case !x.RelaxedRead:
		which = "the writing one is"
	case !x.RelaxedWrite:
		which = "the reading one is"
	}
	return fmt.Sprintf("; an atomic operation of %s has read%s what one of %s had written%s, but %s relaxed, which without fences orders nothing",
		w.rank(b.Rank), w.At(x.Read.Stack), w.rank(a.Rank), w.At(x.Wrote.Stack), which)
}

// Stronger proposes memory orders with which atomic operations of the language would order the
// accesses; false where there are none.
func (w *Wording) Stronger() (conflicts.Fix, bool) {
	_, b, ok := w.weak()
	if !ok {
		return conflicts.Fix{}, false
	}
	var steps []conflicts.Step
	if x := &b.Weak; x.RelaxedWrite {
		steps = append(steps, Order(x.Wrote, conflicts.Release))
	}
	if x := &b.Weak; x.RelaxedRead {
		steps = append(steps, Order(x.Read, conflicts.Acquire))
	}
	return w.Strengthen(steps), true
}

// Order is the step that gives an atomic operation of the language a memory order.
func Order(at conflicts.SyncPoint, order string) conflicts.Step {
	return conflicts.Step{Do: conflicts.StepOrder, Calls: []string{order}, At: at}
}

// mostNamed is how many memory orders a proposal names: of more, not all are to be changed.
const mostNamed = 4

// Strengthen proposes memory orders by which the accesses are ordered, by steps that give them.
func (w *Wording) Strengthen(steps []conflicts.Step) conflicts.Fix {
	var use []string
	for i := range steps {
		if here, ok := symbols.Here(steps[i].At.Stack); ok && here.File != w.file {
			w.file = ""
		}
	}
	for i := range steps {
		use = append(use, fmt.Sprintf("%s for %s", steps[i].Calls[0], w.Call(steps[i].At)))
	}
	a, b := w.InOrder()
	ordered := fmt.Sprintf("%s and %s are ordered", w.Access(a), w.Access(b))
	if len(steps) > mostNamed {
		return Doing(Propose(conflicts.FixSynchronize, "use acquire and release orders for some of the atomic operations that have weaker ones, or such fences: with all of them, %s", ordered), steps...)
	}
	return Doing(Propose(conflicts.FixSynchronize, "use %s, or such fences, so that %s", strings.Join(use, ", and "), ordered), steps...)
}
