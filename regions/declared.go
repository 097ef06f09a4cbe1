package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/evc"
)

// Order that the program declares, where its processes agree by polling (seed
// 001, section 4.6): signals and waits on a resource of a window, and on a
// process.

// resourceKey names a resource: a number at a member of a window.
type resourceKey struct {
	member int32
	number int64
}

// resource orders the signals on a resource as the tracer counted them. A wait
// waits for those counted by then, all of them.
type resource struct {
	next   int64             // signals 0 to next-1 were replayed
	early  map[int64]*signal // replayed, from next on
	upTo   map[int64]*signal // by count: all signals before it
	past   int64             // counts up to this order nothing any more
	joined evc.Time          // of signals 0 to next-1 in region
	region int
	marks  []Mark // theirs, with an Observer
}

// resource returns the resource that a call names; nil, and a problem noted,
// when it names none.
func (m *Machine) resource(p *proc, c *call) *resource {
	e := m.epochsOf(p, c)
	if e == nil {
		return nil
	}
	key := resourceKey{e.win.target(c.num("rank")), c.num("resource")}
	switch {
	case c.bad:
		return nil
	case key.member < 0:
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("rank %d is not in the window's group", c.num("rank")))
		return nil
	case c.num("count") < 0:
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("signals on resource %d could not be counted: resources are numbers from 0 to 62", key.number))
		return nil
	}
	o := e.win.resources[key]
	if o == nil {
		o = &resource{early: map[int64]*signal{}, upTo: map[int64]*signal{}}
		e.win.resources[key] = o
	}
	return o
}

// doDeclaredSignal: signals whoever waits for the resource from then on.
func doDeclaredSignal(m *Machine, p *proc, c *call, _ *rule) {
	o := m.resource(p, c)
	if o == nil {
		return
	}
	n := c.num("count")
	if n < o.next || o.early[n] != nil {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "a signal on a resource was counted twice")
		return
	}
	s := &signal{}
	o.early[n] = s
	m.synchronize(p, c, []*signal{s}, nil, nil)
	m.advance(o)
}

// advance takes in the signals that follow those taken in.
func (m *Machine) advance(o *resource) {
	for s := o.early[o.next]; s != nil && s.given; s = o.early[o.next] {
		delete(o.early, o.next)
		o.next++
		if o.region != m.index {
			o.region, o.joined, o.marks = m.index, evc.Time{}, nil
		}
		if s.region == m.index {
			o.joined = m.clock.Join(o.joined, s.time)
			if s.mark != nil {
				o.marks = append(o.marks, s.mark)
			}
		}
		all := o.before(o.next)
		all.mark = markList(o.marks)
		m.give(all, o.joined)
	}
}

// before returns the signal that stands for all with a lower number.
func (o *resource) before(n int64) *signal {
	s := o.upTo[n]
	if s == nil {
		s = &signal{}
		o.upTo[n] = s
	}
	return s
}

// forget forgets the signals that are ordered before all that is to come.
func (o *resource) forget(m *Machine) {
	for o.past < o.next {
		s := o.before(o.past + 1)
		if s.region == m.index && !m.clock.Past(s.time) {
			return
		}
		o.past++
		delete(o.upTo, o.past)
	}
}

// doDeclaredWait: waits for the signals on the resource so far. Softly: a signal
// may be missing from the trace of a process that died.
func doDeclaredWait(m *Machine, p *proc, c *call, _ *rule) {
	o := m.resource(p, c)
	if o == nil || c.num("count") <= o.past {
		return
	}
	what := func() string { return fmt.Sprintf("for a signal on resource %d", c.num("resource")) }
	m.synchronize(p, c, nil, []wait{{on: o.before(c.num("count")), soft: true, what: what}}, nil)
}

// declared returns the channel of the signals from one process to another.
func (m *Machine) declared(p *proc, c *call, peer string, sent bool) *channel {
	g := m.group(p, c, "comm")
	if g == nil {
		return nil
	}
	other := g.peer(c.num(peer))
	if other < 0 {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("rank %d is not in the communicator", c.num(peer)))
		return nil
	}
	key := chanKey{kind: 'd', on: c.num("comm"), tag: c.num("tag"), from: other, to: p.rank}
	if sent {
		key.from, key.to = p.rank, other
	}
	return m.channel(key)
}

// doProcessSignal: signals another process.
func doProcessSignal(m *Machine, p *proc, c *call, _ *rule) {
	if ch := m.declared(p, c, "dest", true); ch != nil {
		m.synchronize(p, c, []*signal{&ch.nextSent().forth}, nil, nil)
	}
}

// doProcessWait: waits for the signal of another process that it matches.
func doProcessWait(m *Machine, p *proc, c *call, _ *rule) {
	ch := m.declared(p, c, "source", false)
	if ch == nil {
		return
	}
	from := c.num("source")
	what := func() string { return fmt.Sprintf("for rank %d to call mcchk_signal_process", from) }
	m.synchronize(p, c, nil, []wait{{on: &ch.nextReceived().forth, soft: true, what: what}}, nil)
}
