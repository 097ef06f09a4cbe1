package mpi

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// doCollective: a blocking collective call reads its buffers before it signals,
// and writes them after it has waited.
func doCollective(m *Model, p *process, c *core.Call, r *entry) {
	g, root, ok := m.groupAndRoot(p, c)
	if !ok {
		return
	}
	read, written := m.touches(p, c, r, g, root)
	after := func() {
		for _, a := range written {
			p.Instant(a)
		}
	}
	if end := p.aliased(c, read, written); end != nil {
		read, after = nil, end
	}
	for _, a := range read {
		p.Instant(a)
	}
	m.collect(p, c, core.MeetKey{On: c.Int(argComm)}, g, r.order, root, after)
}

// meeting is a collective call as the process comes to it.
func (p *process) meeting(c *core.Call, key core.MeetKey, g *core.Group, dir core.Direction, root int32) core.Meeting {
	at := core.Meeting{Key: key, Group: g, Dir: dir, Root: root}
	if dir == core.Neighbours {
		for _, n := range p.neighbours[c.Int(argComm)].sources {
			if r := peer(g, n); r >= 0 {
				at.Sources = append(at.Sources, r)
			}
		}
	}
	return at
}

// collect performs a blocking collective call.
func (m *Model) collect(p *process, c *core.Call, key core.MeetKey, g *core.Group, dir core.Direction, root int32, after func()) {
	key = p.take(key)
	m.inOrder(p, c, key, g)
	if p.Meet(c, p.meeting(c, key, g, dir, root), after) {
		m.meets(p, p.Info(c))
	}
}

// Sequences of collective calls: the n-th call of each member that is counted
// in one belong together.
const (
	onComm     uint64 = iota // those of a communicator
	onWindow                 // those of a window
	persisting               // those that make persistent requests of a communicator
	creating                 // the one that made a communicator
	opening                  // those that open a file on a communicator
	onFile                   // and what is added: those of the first file, of the second, …
)

// sequence names the sequence of calls that a call is counted in.
func sequence(k core.MeetKey) core.MeetKey { return core.MeetKey{On: k.On, Of: k.Of} }

// take takes the process's next number in a sequence of collective calls.
func (p *process) take(key core.MeetKey) core.MeetKey {
	taken := p.order.sequence(sequence(key))
	taken.calls++
	key.N = taken.calls
	return key
}

// doStartCollective: a non-blocking collective call signals where it starts and
// waits where it is completed; its buffers are in use from one to the other.
func doStartCollective(m *Model, p *process, c *core.Call, r *entry) {
	m.startCollective(p, c, r, p.take(core.MeetKey{On: c.Int(argComm)}))
}

func (m *Model) startCollective(p *process, c *core.Call, r *entry, key core.MeetKey) {
	g, root, ok := m.groupAndRoot(p, c)
	if !ok {
		return
	}
	if key.Of == onComm {
		m.inOrder(p, c, key, g)
	}
	req := &request{}
	read, written := m.touches(p, c, r, g, root)
	if c.Has(argSendbuf) && c.Int(argSendbuf) == trace.InPlace {
		read, written = nil, usedInPlace(read, written)
	}
	for _, a := range append(read, written...) {
		req.spans = append(req.spans, p.openBuffer(a))
	}
	signals, waits, done := p.Join(c, p.meeting(c, key, g, r.order, root))
	req.waits, req.after = waits, func(*regions.CallInfo) { done() }
	m.addRequest(p, c, req)
	p.Synchronize(c, signals, nil, nil)
}

// usedInPlace is what a pending call with MPI_IN_PLACE does with its one buffer:
// all of it may be written until the call is complete.
func usedInPlace(read, written []regions.Access) []regions.Access {
	for _, a := range read {
		k := slices.IndexFunc(written, func(w regions.Access) bool { return w.Base == a.Base })
		if k < 0 {
			a.Kind, a.Role = regions.Write, ReceiveBuffer
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
func doInitCollective(m *Model, p *process, c *core.Call, r *entry) {
	key := p.take(core.MeetKey{On: c.Int(argComm), Of: persisting})
	if g := m.group(p, c, argComm); g != nil {
		m.inOrder(p, c, key, g)
	}
	p.persist(c, &persistent{entry: r, key: key, start: (*Model).startPersistentCollective})
}

func (m *Model) startPersistentCollective(p *process, c *core.Call, t *persistent) {
	t.key.Round++
	m.startCollective(p, c, t.entry, t.key)
}

// doCreateGroup: a constructor that only the processes of the new communicator
// call, or of both groups of it. They find one another by what they made.
func doCreateGroup(m *Model, p *process, c *core.Call, _ *entry) {
	arg := argNewcomm
	if c.Has(argNewintercomm) {
		arg = argNewintercomm
	}
	id := c.Int(arg)
	if id == 0 {
		return // this process is not in the group, or never returned
	}
	p.ReadAhead() // the definition of the new communicator follows the call
	if g := m.group(p, c, arg); g != nil {
		m.collect(p, c, core.MeetKey{On: id, Of: creating}, g, core.Everybody, core.NoRoot, nil)
	}
}

// doMerge: MPI_Intercomm_merge, over both groups.
func doMerge(m *Model, p *process, c *core.Call, _ *entry) {
	if g := m.group(p, c, argIntercomm); g != nil {
		m.collect(p, c, core.MeetKey{On: c.Int(argIntercomm)}, g, core.Everybody, core.NoRoot, nil)
	}
}

// groupAndRoot returns the processes of a collective call's communicator and
// the world rank of its root: core.NoRoot where it has none, or the process takes no
// part (MPI 4.1, 6.2.3).
func (m *Model) groupAndRoot(p *process, c *core.Call) (g *core.Group, root int32, ok bool) {
	if g = m.group(p, c, argComm); g == nil {
		return nil, core.NoRoot, false
	}
	if !c.Has(argRoot) {
		return g, core.NoRoot, true
	}
	switch n := c.Int(argRoot); {
	case g.Two() && n == trace.RootRank:
		return g, p.Rank, true
	case g.Two() && n == trace.ProcNull:
		return g, core.NoRoot, true
	default:
		if root = peer(g, n); root < 0 {
			p.NotUnderstood(c, fmt.Sprintf("root %d is not in the communicator", n))
			return g, core.NoRoot, false
		}
	}
	return g, root, true
}

// touches returns what a collective call reads and what it writes.
func (m *Model) touches(p *process, c *core.Call, r *entry, g *core.Group, root int32) (read, written []regions.Access) {
	for _, t := range r.touches {
		if !m.covers(p, c, t.at, g, root) {
			continue
		}
		a, ok, err := p.touched(c, t, g, r.form != blocking)
		switch {
		case err != nil:
			p.NotUnderstood(c, err.Error())
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
func (m *Model) covers(p *process, c *core.Call, at place, g *core.Group, root int32) bool {
	switch inter := g.Two() && c.Has(argRoot); {
	case inter && root == core.NoRoot:
		return false
	case inter:
		return (at == atRoot) == (p.Rank == root)
	case at == atRoot:
		return p.Rank == root
	case at == others:
		return p.Rank != root
	case at == notFirst:
		return rankIn(g, p.Rank) > 0
	case at == havingOne:
		return slices.ContainsFunc(p.neighbours[c.Int(argComm)].destinations, func(n int64) bool { return n >= 0 })
	}
	return true
}

// doNeighborhood: core.Neighbours collectives need the tracer's note of the
// neighbours.
func doNeighborhood(m *Model, p *process, c *core.Call, r *entry) {
	if m.knowsNeighbours(p, c) {
		doCollective(m, p, c, r)
	}
}

func doStartNeighborhood(m *Model, p *process, c *core.Call, r *entry) {
	if m.knowsNeighbours(p, c) {
		doStartCollective(m, p, c, r)
	}
}

func doInitNeighborhood(m *Model, p *process, c *core.Call, r *entry) {
	if m.knowsNeighbours(p, c) {
		doInitCollective(m, p, c, r)
	}
}

func (m *Model) knowsNeighbours(p *process, c *core.Call) bool {
	if _, ok := p.neighbours[c.Int(argComm)]; ok {
		return true
	}
	p.NotUnderstood(c, "the trace does not tell the neighbours in its communicator")
	return false
}

// doLocal: a call that touches memory and orders nothing, such as MPI_Pack.
func doLocal(m *Model, p *process, c *core.Call, r *entry) {
	read, written := m.touches(p, c, r, &core.Group{Local: []int32{p.Rank}}, core.NoRoot)
	for _, a := range slices.Concat(read, written) {
		p.Instant(a)
	}
}

func doFinalize(m *Model, p *process, c *core.Call, _ *entry) {
	p.order.end, p.order.at = p.Info(c), core.MeetKey{}
	p.Arrive(c, nil)
	m.meets(p, p.order.end)
}
