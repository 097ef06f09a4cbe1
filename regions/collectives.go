package regions

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// doCollective: a blocking collective call reads its buffers before it signals,
// and writes them after it has waited.
func doCollective(m *Machine, p *proc, c *call, r *rule) {
	g, root, ok := m.groupAndRoot(p, c)
	if !ok {
		return
	}
	read, written := m.touches(p, c, r, g, root)
	for _, a := range read {
		m.instant(p, a)
	}
	m.collect(p, c, collKey{on: c.num("comm")}, g, r.order, root, func() {
		for _, a := range written {
			m.instant(p, a)
		}
	})
}

// doStartCollective: a non-blocking collective call signals where it starts and
// waits where it is completed; its buffers are in use from one to the other.
func doStartCollective(m *Machine, p *proc, c *call, r *rule) {
	m.startCollective(p, c, r, p.take(collKey{on: c.num("comm")}))
}

func (m *Machine) startCollective(p *proc, c *call, r *rule, key collKey) {
	g, root, ok := m.groupAndRoot(p, c)
	if !ok {
		return
	}
	if key.of == onComm {
		m.inOrder(p, c, key, g)
	}
	req := &request{}
	read, written := m.touches(p, c, r, g, root)
	if c.has("sendbuf") && c.num("sendbuf") == trace.InPlace {
		read, written = nil, usedInPlace(read, written)
	}
	for _, a := range append(read, written...) {
		req.spans = append(req.spans, m.openBuffer(p, a))
	}
	signals, waits, done := m.join(p, c, key, g, r.order, root)
	req.waits, req.after = waits, func(*CallInfo) { done() }
	m.addRequest(p, c, req)
	m.synchronize(p, c, signals, nil, nil)
}

// usedInPlace is what a pending call with MPI_IN_PLACE does with its one buffer:
// all of it may be written until the call is complete.
func usedInPlace(read, written []Access) []Access {
	for _, a := range read {
		k := slices.IndexFunc(written, func(w Access) bool { return w.Base == a.Base })
		if k < 0 {
			a.Kind, a.Role = Write, ReceiveBuffer
			written = append(written, a)
			continue
		}
		written[k].Layout = intervals.Join(written[k].Layout, a.Layout)
	}
	return written
}

// doInitCollective: a persistent collective call. Those of one communicator
// belong together in the order in which they are made, whatever the order of
// their starts (MPI 4.1, 6.13).
func doInitCollective(m *Machine, p *proc, c *call, r *rule) {
	key := p.take(collKey{on: c.num("comm"), of: persisting})
	if g := m.group(p, c, "comm"); g != nil {
		m.inOrder(p, c, key, g)
	}
	p.persist(c, &persistent{rule: r, key: key, start: (*Machine).startPersistentCollective})
}

func (m *Machine) startPersistentCollective(p *proc, c *call, t *persistent) {
	t.key.round++
	m.startCollective(p, c, t.rule, t.key)
}

// doCreateGroup: a constructor that only the processes of the new communicator
// call, or of both groups of it. They find one another by what they made.
func doCreateGroup(m *Machine, p *proc, c *call, _ *rule) {
	arg := "newcomm"
	if c.has("newintercomm") {
		arg = "newintercomm"
	}
	id := c.num(arg)
	if id == 0 {
		return // this process is not in the group, or never returned
	}
	c.Call = keep(c.Call)
	p.event.Call = c.Call
	p.ahead.peek() // the definition of the new communicator follows the call
	if g := m.group(p, c, arg); g != nil {
		m.collect(p, c, collKey{on: id, of: creating}, g, everybody, noRoot, nil)
	}
}

// doMerge: MPI_Intercomm_merge, over both groups.
func doMerge(m *Machine, p *proc, c *call, _ *rule) {
	if g := m.group(p, c, "intercomm"); g != nil {
		m.collect(p, c, collKey{on: c.num("intercomm")}, g, everybody, noRoot, nil)
	}
}

// groupAndRoot returns the processes of a collective call's communicator and
// the world rank of its root: noRoot where it has none, or the process takes no
// part (MPI 4.1, 6.2.3).
func (m *Machine) groupAndRoot(p *proc, c *call) (g *group, root int32, ok bool) {
	if g = m.group(p, c, "comm"); g == nil {
		return nil, noRoot, false
	}
	if !c.has("root") {
		return g, noRoot, true
	}
	switch n := c.num("root"); {
	case g.inter() && n == trace.RootRank:
		return g, p.rank, true
	case g.inter() && n == trace.ProcNull:
		return g, noRoot, true
	default:
		if root = g.peer(n); root < 0 {
			m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("root %d is not in the communicator", n))
			return g, noRoot, false
		}
	}
	return g, root, true
}

// touches returns what a collective call reads and what it writes.
func (m *Machine) touches(p *proc, c *call, r *rule, g *group, root int32) (read, written []Access) {
	for _, t := range r.touches {
		if !m.covers(p, c, t.at, g, root) {
			continue
		}
		a, ok, err := p.touched(c, t, g, r.form != blocking)
		switch {
		case err != nil:
			m.problems.notUnderstood(c.Fn.Name, p.info(c), err.Error())
		case ok && t.write:
			written = append(written, a)
		case ok:
			read = append(read, a)
		}
	}
	return read, written
}

// covers reports whether a touch at that place is made by a process. Of an
// intercommunicator with a root, the processes beside the root take no part,
// and it itself only as the root.
func (m *Machine) covers(p *proc, c *call, at place, g *group, root int32) bool {
	switch inter := g.inter() && c.has("root"); {
	case inter && root == noRoot:
		return false
	case inter:
		return (at == atRoot) == (p.rank == root)
	case at == atRoot:
		return p.rank == root
	case at == others:
		return p.rank != root
	case at == notFirst:
		return g.rankOf(p.rank) > 0
	case at == havingOne:
		return slices.ContainsFunc(p.neighbours[c.num("comm")].destinations, func(n int64) bool { return n >= 0 })
	}
	return true
}

// doNeighborhood: neighbourhood collectives need the tracer's note of the
// neighbours.
func doNeighborhood(m *Machine, p *proc, c *call, r *rule) {
	if m.knowsNeighbours(p, c) {
		doCollective(m, p, c, r)
	}
}

func doStartNeighborhood(m *Machine, p *proc, c *call, r *rule) {
	if m.knowsNeighbours(p, c) {
		doStartCollective(m, p, c, r)
	}
}

func doInitNeighborhood(m *Machine, p *proc, c *call, r *rule) {
	if m.knowsNeighbours(p, c) {
		doInitCollective(m, p, c, r)
	}
}

func (m *Machine) knowsNeighbours(p *proc, c *call) bool {
	if _, ok := p.neighbours[c.num("comm")]; ok {
		return true
	}
	m.problems.notUnderstood(c.Fn.Name, p.info(c), "the trace does not tell the neighbours in its communicator")
	return false
}

// doLocal: a call that touches memory and orders nothing, such as MPI_Pack.
func doLocal(m *Machine, p *proc, c *call, r *rule) {
	read, written := m.touches(p, c, r, &group{local: []int32{p.rank}}, noRoot)
	for _, a := range slices.Concat(read, written) {
		m.instant(p, a)
	}
}
