package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/evc"
)

// signal is what a signal event deposits for the wait events that match it
// (seed 001, definitions 4 and 5).
type signal struct {
	given   bool
	region  int
	time    evc.Time
	mark    Mark // what an Observer has it carry
	waiters []*proc
}

// wait is a wait event on a signal. A soft one is given up when nothing else
// can go on.
type wait struct {
	on   *signal
	soft bool
	what func() string // what is waited for, for a process that stands still
	then func() []wait // what else to wait for, known only when this is over
}

func (m *Machine) give(s *signal, t evc.Time) {
	s.given, s.region, s.time = true, m.index, t
	for _, p := range s.waiters {
		if p.state == waiting {
			p.state = running
			m.queue = append(m.queue, p)
		}
	}
	s.waiters = nil
}

// synchronize performs a synchronization event of the process: the signals
// carry its timestamp, its clock ticks once (R1), and it goes on with after
// when every wait is over.
func (m *Machine) synchronize(p *proc, c *call, signals []*signal, waits []wait, after func()) {
	now := m.clock.Time(m.clock.Now(int(p.rank)))
	m.clock.Tick(int(p.rank))
	p.syncCall, p.after = p.info(c), after
	if c.members != nil {
		p.syncCall = p.newInfo(c)
		p.syncCall.Members = c.members
	}
	p.room = append(p.room[:0], waits...)
	p.waits = p.room // not nil: an event is under way
	m.markAll(p, signals)
	for _, s := range signals {
		m.give(s, now)
	}
	if !c.Returned {
		// The process never left this call: its signals stand, and nothing
		// of what comes after it was recorded.
		p.state = ended
		return
	}
	m.goOn(p)
}

// goOn takes the waits of the process's synchronization event as far as they
// are over. It reports whether the event is finished.
func (m *Machine) goOn(p *proc) bool {
	for len(p.waits) > 0 {
		w := p.waits[0]
		if !w.on.given {
			w.on.waiters = append(w.on.waiters, p)
			p.state = waiting
			return false
		}
		if w.on.region == m.index {
			m.clock.Merge(int(p.rank), w.on.time)
			m.waited(p, w.on.mark)
		}
		p.waits = p.waits[1:]
		if w.then != nil {
			p.waits = append(w.then(), p.waits...)
		}
	}
	p.waits = nil
	p.state = running
	if m.observer != nil {
		m.observer.Over(p.rank)
	}
	p.beginSegment(m, p.syncCall)
	if after := p.after; after != nil {
		p.after = nil
		after()
	}
	return true
}

// direction is how a collective call orders its processes (detection model,
// section 3).
type direction uint8

const (
	noOrder direction = iota
	allToAll
	oneToAll
	allToOne
	prefix
	neighbourhood // each after its neighbours
	everybody     // all-to-all, and in an intercommunicator with the own group as well
)

// meets reports whether anybody waits for all of a group.
func (d direction) meets() bool { return d == allToAll || d == everybody || d == allToOne }

// sequence says among which calls a collective call is counted: the n-th of
// each member belong together.
type sequence uint64

const (
	onComm     sequence = iota // those of a communicator
	onWindow                   // those of a window
	persisting                 // those that make persistent requests of a communicator
	creating                   // the one that made a communicator
)

// collKey names one collective call.
type collKey struct {
	on    int64 // communicator or window
	of    sequence
	n     uint64
	round uint64 // of a persistent one: which start
}

// noRoot stands for the root of a call in which the process takes no part.
const noRoot int32 = -1

// collective is one collective call: what its members have deposited.
type collective struct {
	fn    string
	left  int
	sides [2]gathering // of the groups of an intercommunicator; otherwise the first
	each  map[int32]*signal
}

// gathering is the arrival of one group at a collective call.
type gathering struct {
	arrived int
	region  int
	joined  evc.Time // of those that arrived in this region
	met     Mark     // of all that arrived
	full    signal   // given when all have arrived
}

func (c *collective) from(rank int32) *signal {
	s := c.each[rank]
	if s == nil {
		s = &signal{}
		c.each[rank] = s
	}
	return s
}

// take takes the process's next number in a sequence of collective calls.
func (p *proc) take(key collKey) collKey {
	seq := key.sequence()
	key.n = p.collSeq[seq] + 1
	p.collSeq[seq] = key.n
	return key
}

// sequence names the sequence of calls that a call is counted in.
func (k collKey) sequence() collKey { return collKey{on: k.on, of: k.of} }

// join lets a process take part in a collective call, and returns what it gives
// and waits for, and what is to be done when it has waited. root is a world
// rank or noRoot, for the directions that have one.
func (m *Machine) join(p *proc, c *call, key collKey, g *group, dir direction, root int32) (signals []*signal, waits []wait, done func()) {
	coll := m.colls[key]
	if coll == nil {
		coll = &collective{fn: c.Fn.Name, each: map[int32]*signal{}}
		m.colls[key] = coll
	}
	own := &coll.sides[g.side]
	if own.region != m.index {
		own.region, own.joined = m.index, evc.Time{}
	}
	own.joined = m.clock.Join(own.joined, m.clock.Time(m.clock.Now(int(p.rank))))
	if dir.meets() {
		own.met = m.meet(own.met, p)
	}
	if own.arrived++; own.arrived == len(g.local) {
		own.full.mark = own.met
		m.give(&own.full, own.joined)
	}
	signals, waits = coll.ordering(p, c, g, dir, root)
	return signals, waits, func() {
		if coll.left++; coll.left == g.size() {
			delete(m.colls, key)
		}
	}
}

// collect performs a blocking collective call.
func (m *Machine) collect(p *proc, c *call, key collKey, g *group, dir direction, root int32, after func()) {
	key = p.take(key)
	m.inOrder(p, c, key, g)
	if (dir == allToAll || dir == everybody) && len(g.local) == len(m.procs) {
		m.arrive(p, c, after)
		return
	}
	signals, waits, done := m.join(p, c, key, g, dir, root)
	if len(g.local) < len(m.procs) && !g.inter() {
		c.members = &g.local
	}
	m.synchronize(p, c, signals, waits, func() {
		done()
		if after != nil {
			after()
		}
	})
}

// ordering returns what a member gives and waits for.
func (c *collective) ordering(p *proc, at *call, g *group, dir direction, root int32) (signals []*signal, waits []wait) {
	what := func() string { return fmt.Sprintf("for the other processes to call %s", c.fn) }
	await := func(s *signal) { waits = append(waits, wait{on: s, what: what}) }
	other := &c.sides[g.side]
	if g.inter() {
		other = &c.sides[1-g.side]
	}
	switch dir {
	case allToAll:
		await(&other.full)
	case everybody:
		await(&other.full)
		if g.inter() {
			await(&c.sides[g.side].full)
		}
	case oneToAll:
		switch root {
		case p.rank:
			signals = []*signal{c.from(root)}
		case noRoot:
		default:
			await(c.from(root))
		}
	case allToOne:
		if root == p.rank {
			await(&other.full)
		}
	case prefix:
		signals = []*signal{c.from(p.rank)}
		for _, r := range g.local {
			if r == p.rank {
				break
			}
			await(c.from(r))
		}
	case neighbourhood:
		signals = []*signal{c.from(p.rank)}
		for _, n := range p.neighbours[at.num("comm")].sources {
			if r := g.peer(n); r >= 0 {
				await(c.from(r))
			}
		}
	}
	return signals, waits
}

// arrive stops the process at a synchronization of all processes, which ends
// the concurrent region.
func (m *Machine) arrive(p *proc, c *call, after func()) {
	p.closing = p.info(c)
	p.state, p.after = arrived, after
	m.met = m.meet(m.met, p)
	if !c.Returned {
		// It reached the call, so that the others may have passed it; but
		// nothing of what it did after that was recorded.
		p.left, p.after = true, nil
	}
	m.arrived++
	m.meets(p)
}
