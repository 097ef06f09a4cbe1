package mpi

import (
	"github.com/mcchk/mcchk/core"
)

// certain returns the epochs of the process on the window that a call names, or
// nil when they are not known for sure: calls were lost, or returned an error.
func (m *Model) certain(p *process, c *core.Call) *epochs {
	if p.unsure || !c.Has(argWin) {
		return nil
	}
	if e := p.window(c.Int(argWin)); e != nil && p.knows(e) {
		return e
	}
	return nil
}

// knows reports whether the epochs of the process on a window are known for sure.
func (p *process) knows(e *epochs) bool { return !p.unsure && !e.unsure }

// failed takes a call that returned an error. It counts as not made; what is
// wrong with its use is said all the same, since that may be why.
func (m *Model) failed(p *process, c *core.Call, r *entry) {
	if r.check != nil {
		r.check(m, p, c)
	}
	if r.op != (operationRole{}) {
		m.oneSided(p, c, r)
	}
	if r.group != noFile && m.FullOrder() {
		p.MayHaveOrdered(c.Fn.Name) // it is not known to be one call of all
	}
	if r.order != core.NoOrder {
		p.order.lost = true
	}
	switch {
	case !c.Has(argWin):
		p.order.lost = p.order.lost || c.Has(argComm)
	case p.wins[c.Int(argWin)] != nil:
		p.wins[c.Int(argWin)].unsure = true
	}
}
