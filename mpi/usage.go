package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
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
// wrong with its use is said all the same, since that may be why. It may have done
// something in spite of the error (MPI 4.1, 9.3): have come after what another
// process did, as the receive of a message that was too long, or have completed
// requests (3.7.5).
func (m *Model) failed(p *process, c *core.Call, r *entry) {
	if r.check != nil {
		r.check(m, p, c)
	}
	if r.op != (operationRole{}) {
		m.oneSided(p, c, r)
	}
	oneOfAll := r.group != noFile && m.FullOrder() // a collective call is not known to be one
	if oneOfAll || kindOf(c.Fn.Name, r) == core.SynchronizingCall && !m.concernsNobody(p, c) {
		p.MayHaveOrdered(c.Fn.Name)
	}
	if completions[c.Fn.Name] != nil {
		m.endRequests(p, c)
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

// concernsNobody reports whether a call names a rank that is none of its group's,
// so that it cannot have done anything.
func (m *Model) concernsNobody(p *process, c *core.Call) bool {
	none := func(rank int64, n int) bool {
		return rank != trace.ProcNull && rank != trace.AnySource && (rank < 0 || rank >= int64(n))
	}
	switch {
	case c.Has(argWin):
		e := p.wins[c.Int(argWin)]
		return e != nil && c.Has(argRank) && none(c.Int(argRank), len(e.win.members))
	case c.Has(argComm):
		comm := m.comms[c.Int(argComm)]
		if comm == nil || comm.side(p.Rank) == nil {
			return false
		}
		n := len(peers(comm.side(p.Rank)))
		return c.Has(argDest) && none(c.Int(argDest), n) || c.Has(argSource) && none(c.Int(argSource), n)
	}
	return false
}

// endRequests ends what the requests of a call use: after an error it is not known
// which of them it completed.
func (m *Model) endRequests(p *process, c *core.Call) {
	var ids []int64
	if c.Has(argRequest) {
		ids = append(ids, c.Int(argRequest))
	} else {
		ids = c.List(argRequests)
	}
	info := p.Info(c)
	for _, id := range ids {
		if r := p.requests.requests[id]; r != nil {
			delete(p.requests.requests, id)
			m.endBuffers(p, r, info)
		}
	}
}
