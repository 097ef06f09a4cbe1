package explain

import (
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
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
	a, b, ok := w.weak()
	if !ok {
		return conflicts.Fix{}, false
	}
	x := &b.Weak
	const of = " for the atomic operation of "
	var use []string
	if x.RelaxedWrite {
		use = append(use, "memory_order_release"+of+w.rank(a.Rank)+w.At(x.Wrote.Stack))
	}
	if x.RelaxedRead {
		use = append(use, "memory_order_acquire"+of+w.rank(b.Rank)+w.At(x.Read.Stack))
	}
	return Propose(conflicts.FixSynchronize, "use %s, or such fences, so that %s comes after %s", strings.Join(use, ", and "), w.Access(b), w.Access(a)), true
}
