package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// goneMemory is memory of a live window that its process has freed or detached.
type goneMemory struct {
	intervals.Entry[*goneMemory]
	detached bool // and not freed
	call     *regions.CallInfo
	when     moment
}

// isGone notes that the process has given up memory [lo, hi) of a window.
func (m *Model) isGone(p *process, e *epochs, lo, hi uint64, call *regions.CallInfo, detached bool) *goneMemory {
	g := &goneMemory{detached: detached, call: call, when: m.now(p)}
	g.Lo, g.Hi, g.Value = lo, hi, g
	if e.win.gone == nil {
		e.win.gone = make([]intervals.Set[*goneMemory], len(e.win.members))
	}
	e.win.gone[e.rank].Add(&g.Entry)
	return g
}

// isBack notes that a member has attached memory, of which some may have been given
// up before.
func (w *window) isBack(member int32, x *piece) {
	if w.gone == nil {
		return
	}
	gone := &w.gone[member]
	for _, g := range gone.Overlapping(x.Lo, x.Hi) {
		gone.Remove(g)
	}
}

// doMemoryGone: the tracer's note that memory of the process was freed, or that
// the function returned whose variable it was. To what is pending on it that is
// like a store: it must come after (MPI 4.1, 3.7.2 and 12.3). Where window
// memory is freed, nothing may access it any more.
func doMemoryGone(m *Model, p *process, c *core.Call, _ *entry) {
	lo, size := c.Addr(argBase), c.Addr(argSize)
	if size == 0 || c.Bad() {
		return
	}
	role := Freed
	switch c.Int(argWhy) {
	case 1:
		role = OutOfScope
	case 2:
		role = CopyFreed
	case 3: // another strand goes on with the thread
		p.Recycle(lo, lo+size)
		return
	}
	info := p.Unnamed(c)
	p.InstantAt(regions.Access{
		Kind: regions.Write, Role: role, Base: lo, Call: info,
		Layout: p.alike.Strided(1, size, size),
	}, p.Rank, 0)
	p.GiveUp(lo, lo+size)
	if role == OutOfScope {
		return
	}
	for _, s := range p.exposed.Overlapping(lo, lo+size) {
		x := s.Value
		if e := p.wins[x.window.ID]; e != nil && e.win == x.window && x.detached == nil {
			m.isGone(p, e, max(x.Lo, lo), min(x.Hi, lo+size), info, false)
		}
	}
}

// detached: what is pending on memory that is detached must be complete, and
// what comes later must not access it (MPI 4.1, 12.2.4).
func (m *Model) detached(p *process, c *core.Call, e *epochs, x *piece) {
	info := p.InfoOn(c, e.exposer(), "")
	p.InstantAt(regions.Access{Kind: regions.Write, Role: Detached, Base: x.Lo, Call: info, Layout: x.all()}, p.Rank, 0)
	p.NewMemory(x.Lo, x.Hi)
	x.detached = m.isGone(p, e, x.Lo, x.Hi, info, true)
}

// checkGone says whether an operation begins after the memory that it accesses
// was freed or detached. What is concurrent with that is found as a conflict.
func (m *Model) checkGone(b *opBuilder, a *regions.Access) {
	w := b.e.win
	for _, s := range w.gone[b.op.target].Overlapping(a.Layout.Bounds(a.Base)) {
		g := s.Value
		lo, hi, ok := intervals.MeetLayouts(a.Base, a.Layout, g.Lo, intervals.NewLayout([]intervals.Run{intervals.Solid(0, g.Hi-g.Lo)}))
		if !ok || !m.isPast(g.when, b.p) {
			continue
		}
		if g.detached {
			m.Misuse(core.Usage{Rule: conflicts.RuleOutsideWindow, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget,
				Concerned: core.Concerned{Owner: a.Owner, Object: &w.Object, Lo: lo, Hi: hi},
				Why:       fmt.Sprintf("rank %d detached the memory from the window earlier", a.Owner),
				Fix:       "detach the memory after the last operation on it, and synchronize the two processes in between"})
			return
		}
		m.Misuse(core.Usage{Rule: conflicts.RuleMemoryGone, OtherAs: Freed, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget,
			Concerned: core.Concerned{Owner: a.Owner, Object: &w.Object, Lo: lo, Hi: hi, Base: w.start(int(b.op.target))},
			Why:       fmt.Sprintf("rank %d freed memory of its part of the window before the window itself was freed", a.Owner),
			Fix:       "free the memory after MPI_Win_free, or after MPI_Win_detach"})
		return
	}
}

// start returns the address of the first byte of a member's part.
func (w *window) start(member int) uint64 {
	if w.dynamic != nil {
		return 0
	}
	return w.base[member]
}
