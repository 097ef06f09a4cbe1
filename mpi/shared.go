package mpi

import (
	"github.com/mcchk/mcchk/core"
)

// doSegment: the tracer's note where the part of a member of a shared-memory
// window lies.
func doSegment(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	member := e.win.target(c.Int(argRank))
	if member < 0 || !e.win.known[member] || e.win.members[member] == p.Rank {
		return
	}
	lo := c.Addr(argBase)
	p.AddAlias(core.Alias{
		Lo: lo, Hi: lo + c.Addr(argSize), Shift: e.win.base[member] - lo,
		Owner: e.win.members[member], Exposer: e.exposer(),
	})
}
