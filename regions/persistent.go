package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/trace"
)

// persistent is a persistent request: the call that made it, to be done again
// at each start (MPI 4.1, 3.9).
type persistent struct {
	call  *trace.Call
	rule  *rule
	start func(*Machine, *proc, *call, *persistent)
	key   collKey      // of a collective call
	parts *partitioned // of a partitioned message
	round uint64       // of a partitioned message: starts so far
}

func doInit(_ *Machine, p *proc, c *call, r *rule) {
	p.persist(c, &persistent{rule: r, start: (*Machine).startMessage})
}

func (p *proc) persist(c *call, t *persistent) {
	if id := c.num("request"); id != 0 {
		t.call = keep(c.Call)
		p.persistent[id] = t
	}
}

func (m *Machine) startMessage(p *proc, c *call, t *persistent) {
	if c.has("source") {
		doIrecv(m, p, c, t.rule)
	} else {
		doIsend(m, p, c, t.rule)
	}
}

// doStartRequests begins what persistent requests stand for.
func doStartRequests(m *Machine, p *proc, c *call, _ *rule) {
	c.Call = keep(c.Call) // a wildcard receive reads ahead
	p.event.Call = c.Call
	var ids []int64
	if c.has("requests") {
		ids = c.list("requests")
	} else {
		ids = []int64{c.num("request")}
	}
	for _, id := range ids {
		t := p.persistent[id]
		if t == nil {
			m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("request %d was made by a call that is not understood", id))
			continue
		}
		again, fn := *t.call, *t.call.Fn
		fn.Name = c.Fn.Name
		again.Fn, again.Stack, again.Returned = &fn, c.Stack, c.Returned
		t.start(m, p, &call{Call: &again}, t)
	}
}

// doMprobe: the message was sent, and is taken off the queue here, to be
// received later.
func doMprobe(m *Machine, p *proc, c *call, _ *rule) {
	st := c.list("status")
	if !c.Returned || c.has("flag") && c.num("flag") == 0 || len(st) < 2 || st[0] < 0 {
		return
	}
	if s := m.received(p, c, st[0], st[1]); s != nil {
		p.messages[c.num("handle")] = s
		m.synchronize(p, c, nil, []wait{awaitMessage(s)}, nil)
	}
}

func (p *proc) message(c *call) *slot {
	h := c.num("message")
	s := p.messages[h]
	delete(p.messages, h)
	return s
}

func doMrecv(m *Machine, p *proc, c *call, _ *rule) {
	if s := p.message(c); s != nil && c.Returned {
		m.synchronize(p, c, []*signal{&s.back}, []wait{awaitMessage(s)}, func() {
			s.finish(p, p.syncCall)
			m.receiveInto(p, c, "buf", "count", "datatype")
		})
	}
}

func doImrecv(m *Machine, p *proc, c *call, _ *rule) {
	req := &request{}
	if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", ReceiveBuffer, Write); ok {
		req.spans = append(req.spans, m.openBuffer(p, a))
	}
	m.addRequest(p, c, req)
	if s := p.message(c); s != nil {
		req.arrives(p, s)
		m.synchronize(p, c, []*signal{&s.back}, nil, nil)
	}
}
