package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// checkRange says whether the bytes that an operation accesses lie in the part
// of the window that its target has: "the target buffer must be contained in
// the target window" (MPI 4.1, 12.3.1). Holes in a datatype are not accessed
// and may lie anywhere. What lies outside is taken from the access.
func (m *Model) checkRange(b *opBuilder, a *regions.Access) {
	w, i := b.e.win, b.op.target
	if a.Layout.IsEmpty() {
		return
	}
	if w.dynamic != nil {
		if !b.c.Failed && b.p.knows(b.e) {
			m.reaches = append(m.reaches, &reach{op: b.op, win: w, access: *a})
			b.op.held = true
		}
		return
	}
	lo, hi := a.Layout.Bounds(a.Base)
	wlo, whi := w.base[i], w.base[i]+w.size[i]
	if lo >= wlo && hi <= whi && lo < hi {
		return
	}
	outside := a.Layout.Without(a.Base, wlo, whi).Runs()
	if len(outside) == 0 {
		return
	}
	first := outside[0].Shift(a.Base)
	from := int64(first.Lo - wlo)
	if b.p.knows(b.e) {
		m.Misuse(core.Usage{Rule: conflicts.RuleOutsideWindow, Call: b.op.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget,
			Concerned: core.Concerned{Owner: a.Owner, Object: &w.Object, Lo: first.Lo, Hi: first.Lo + first.Size, Base: wlo},
			Why: fmt.Sprintf("rank %d's part of the window has %d bytes, and %s accesses bytes %d to %d of it",
				a.Owner, w.size[i], b.c.Fn.Name, from, from+int64(first.Size)-1),
			Fix: fmt.Sprintf("keep target displacement, count and datatype within the %d bytes (displacements count in rank %d's displacement unit, %d)",
				w.size[i], a.Owner, w.unit[i])})
	}
	a.Layout = a.Layout.Within(a.Base, wlo, whi)
}

// reach is an operation on a dynamic window. What memory its target attaches
// in the same concurrent region is known when that ends.
type reach struct {
	op     *operation
	win    *window
	access regions.Access
}

// checkReaches says whether the operations on dynamic windows that were issued
// in the region that ends access attached memory only (12.2.4). Memory counts
// that was attached at any moment of the region, since the order of attachment
// and operation may be one that is not seen.
func (m *Model) checkReaches() {
	for _, r := range m.reaches {
		a := &r.access
		rest := a.Layout
		for _, s := range m.procs[a.Owner].exposed.Overlapping(rest.Bounds(a.Base)) {
			if s.Value.window == r.win {
				rest = rest.Without(a.Base, s.Lo, s.Hi)
			}
		}
		if rest.IsEmpty() || m.procs[a.Owner].unsure {
			continue
		}
		first := rest.Runs()[0].Shift(a.Base)
		m.Misuse(core.Usage{Rule: conflicts.RuleOutsideWindow, Call: r.op.call, As: a.Role.Name, Writes: a.Role != GetTarget,
			Concerned: core.Concerned{Owner: a.Owner, Object: &r.win.Object, Lo: first.Lo, Hi: first.Lo + first.Size},
			Why: fmt.Sprintf("rank %d has no memory attached to the window at addresses 0x%x to 0x%x, which %s accesses",
				a.Owner, first.Lo, first.Lo+first.Size-1, r.op.call.Fn),
			Fix: fmt.Sprintf("let rank %d attach the memory before the operation and detach it after; the target displacement is an address in rank %d (MPI_Get_address)", a.Owner, a.Owner)})
	}
	clear(m.reaches)
	m.reaches = m.reaches[:0]
	for _, w := range m.windows.live {
		m.forgetDetached(w)
	}
}
