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
	detached bool // and not freed
	member   int32
	lo, hi   uint64
	call     *regions.CallInfo
	at       regions.Point
	region   int
}

// doMemoryGone: the tracer's note that memory of the process was freed, or that
// the function returned whose variable it was. To what is pending on it that is
// like a store: it must come after (MPI 4.1, 3.7.2 and 12.3). Where window
// memory is freed, nothing may access it any more.
func doMemoryGone(m *Model, p *process, c *core.Call, _ *rule) {
	lo, size := c.Addr(argBase), c.Addr(argSize)
	if size == 0 || c.Bad() {
		return
	}
	role := Freed
	if c.Int(argWhy) != 0 {
		role = OutOfScope
	}
	info := p.Unnamed(c)
	p.InstantAt(regions.Access{
		Kind: regions.Write, Role: role, Base: lo, Call: info,
		Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, size)}),
	}, p.Rank, 0)
	p.GiveUp(lo, lo+size)
	if role == OutOfScope {
		return
	}
	for _, w := range m.windows.live {
		e := p.wins[w.ID]
		if e == nil {
			continue
		}
		for _, s := range w.memory(int(e.rank)) {
			if from, to := max(s.lo, lo), min(s.hi, lo+size); from < to {
				w.gone = append(w.gone, goneMemory{member: e.rank, lo: from, hi: to, call: info, at: p.Now(), region: m.Index()})
			}
		}
	}
}

// detached: what is pending on memory that is detached must be complete, and
// what comes later must not access it (MPI 4.1, 12.2.4).
func (m *Model) detached(p *process, c *core.Call, e *epochs) {
	for _, s := range e.win.dynamic[e.rank] {
		if s.lo != c.Addr(argBase) {
			continue
		}
		info := p.InfoOn(c, e.win.ID, "")
		p.InstantAt(regions.Access{
			Kind: regions.Write, Role: Detached, Base: s.lo, Call: info,
			Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, s.hi-s.lo)}),
		}, p.Rank, 0)
		e.win.gone = append(e.win.gone, goneMemory{detached: true, member: e.rank, lo: s.lo, hi: s.hi, call: info, at: p.Now(), region: m.Index()})
	}
}

// memory returns what a member exposes.
func (w *window) memory(member int) []span64 {
	switch {
	case !w.known[member]:
		return nil
	case w.dynamic != nil:
		return w.dynamic[member]
	}
	return []span64{{lo: w.base[member], hi: w.base[member] + w.size[member]}}
}

// checkGone says whether an operation begins after the memory that it accesses
// was freed or detached. What is concurrent with that is found as a conflict.
func (m *Model) checkGone(b *opBuilder, a *regions.Access) {
	w := b.e.win
	for i := range w.gone {
		g := &w.gone[i]
		if g.member != b.op.target {
			continue
		}
		lo, hi, ok := intervals.MeetLayouts(a.Base, a.Layout, g.lo, intervals.NewLayout([]intervals.Run{intervals.Solid(0, g.hi-g.lo)}))
		if !ok || !m.happenedBefore(g, b.p) {
			continue
		}
		if g.detached {
			m.Misuse(core.Usage{Rule: conflicts.RuleOutsideWindow, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget, Owner: a.Owner,
				Object: &w.Object, Lo: lo, Hi: hi,
				Why: fmt.Sprintf("rank %d detached the memory from the window earlier", a.Owner),
				Fix: "detach the memory after the last operation on it, and synchronize the two processes in between"})
			return
		}
		m.Misuse(core.Usage{Rule: conflicts.RuleMemoryGone, OtherAs: Freed, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget, Owner: a.Owner,
			Object: &w.Object, Lo: lo, Hi: hi, Base: w.start(int(b.op.target)),
			Why: fmt.Sprintf("rank %d freed memory of its part of the window before the window itself was freed", a.Owner),
			Fix: "free the memory after MPI_Win_free, or after MPI_Win_detach"})
		return
	}
}

// happenedBefore reports whether memory was freed before the present moment of
// a process.
func (m *Model) happenedBefore(g *goneMemory, p *process) bool {
	return g.region != m.Index() || p.Knows(g.at)
}

// start returns the address of the first byte of a member's part.
func (w *window) start(member int) uint64 {
	if w.dynamic != nil {
		return 0
	}
	return w.base[member]
}
