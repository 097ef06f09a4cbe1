package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/intervals"
)

// goneMemory is memory of a live window that its process has freed or detached.
type goneMemory struct {
	detached bool // and not freed
	member   int32
	lo, hi   uint64
	call     *CallInfo
	at       Point
	region   int
}

// doMemoryGone: the tracer's note that memory of the process was freed, or that
// the function returned whose variable it was. To what is pending on it that is
// like a store: it must come after (MPI 4.1, 3.7.2 and 12.3). Where window
// memory is freed, nothing may access it any more.
func doMemoryGone(m *Machine, p *proc, c *call, _ *rule) {
	lo, size := c.addr("base"), c.addr("size")
	if size == 0 || c.bad {
		return
	}
	role := Freed
	if c.num("why") != 0 {
		role = OutOfScope
	}
	info := p.newInfo(c)
	info.Fn = ""
	m.instantAt(p, Access{
		Kind: Write, Role: role, Base: lo, Call: info,
		Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, size)}),
	}, p.rank, 0)
	p.giveUp(m, lo, lo+size)
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
				w.gone = append(w.gone, goneMemory{member: e.rank, lo: from, hi: to, call: info, at: p.here(), region: m.index})
			}
		}
	}
}

// detached: what is pending on memory that is detached must be complete, and
// what comes later must not access it (MPI 4.1, 12.2.4).
func (m *Machine) detached(p *proc, c *call, e *epochs) {
	for _, s := range e.win.dynamic[e.rank] {
		if s.lo != c.addr("base") {
			continue
		}
		info := p.newInfo(c)
		info.Object = e.win.ID
		m.instantAt(p, Access{
			Kind: Write, Role: Detached, Base: s.lo, Call: info,
			Layout: intervals.NewLayout([]intervals.Run{intervals.Solid(0, s.hi-s.lo)}),
		}, p.rank, 0)
		e.win.gone = append(e.win.gone, goneMemory{detached: true, member: e.rank, lo: s.lo, hi: s.hi, call: info, at: p.here(), region: m.index})
	}
}

// giveUp ends the accesses of pending operations to buffers that lay in memory
// [lo, hi) of the process, just after this moment: what the program does there
// later is done to other variables.
func (p *proc) giveUp(m *Machine, lo, hi uint64) {
	after := p.here()
	after.Pos++
	for s := range m.spans.all {
		a := s.access
		if a.Rank != p.rank || a.Owner != p.rank || !a.Role.Class.Buffer() {
			continue
		}
		if from, to := a.Layout.Bounds(a.Base); from >= lo && to <= hi {
			s.close(after, nil)
		}
	}
	for _, e := range p.wins {
		for _, op := range e.ops {
			for i := range op.localOut {
				if b := &op.localOut[i]; !b.ended && b.lo >= lo && b.hi <= hi {
					b.ended = true
					m.endLeftOut(p, 1)
				}
			}
		}
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
func (m *Machine) checkGone(b *opBuilder, a *Access) {
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
			m.misuse(Usage{Kind: OutsideWindow, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget, Owner: a.Owner,
				Object: &w.Object, Lo: lo, Hi: hi,
				Why:  fmt.Sprintf("rank %d has detached the memory from the window before", a.Owner),
				Mend: "detach the memory after the last operation on it, and synchronize the two processes between"})
			return
		}
		m.misuse(Usage{Kind: UsedAfterFree, Call: b.op.call, Other: g.call, Last: b.e.last, As: a.Role.Name, Writes: a.Role != GetTarget, Owner: a.Owner,
			Object: &w.Object, Lo: lo, Hi: hi, Base: w.start(int(b.op.target)),
			Why:  fmt.Sprintf("rank %d freed memory of its part of the window, which is not freed itself", a.Owner),
			Mend: "free the memory after MPI_Win_free, or after MPI_Win_detach"})
		return
	}
}

// happenedBefore reports whether memory was freed before the present moment of
// a process.
func (m *Machine) happenedBefore(g *goneMemory, p *proc) bool {
	if g.region != m.index || g.at.Rank == p.rank {
		return true
	}
	return m.clock.Knows(m.clock.Now(int(p.rank)), int(g.at.Rank), g.at.region())
}

// start returns the address of the first byte of a member's part.
func (w *window) start(member int) uint64 {
	if w.dynamic != nil {
		return 0
	}
	return w.base[member]
}
