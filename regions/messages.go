package regions

import (
	"github.com/mcchk/mcchk/trace"
)

// awaitReceive is the wait of a synchronous send. It is soft: a wildcard receive
// that completes too far ahead has no known match.
func awaitReceive(s *slot) wait {
	return wait{on: &s.back, soft: true, what: func() string { return "for the message to be received" }}
}

// sent matches a send, and returns its match, nil where there is none, and what
// it waits for.
func (m *Machine) sent(p *proc, c *call, dest, tag string, mode sendMode) (s *slot, waits []wait) {
	to := c.num(dest)
	if to == trace.ProcNull {
		return nil, nil
	}
	g := m.group(p, c, "comm")
	if g == nil {
		return nil, nil
	}
	ch := m.message(c, p.rank, g.peer(to), c.num(tag))
	if ch == nil {
		return nil, nil
	}
	s = ch.nextSent()
	if mode == synchronous {
		waits = append(waits, awaitReceive(s))
	}
	return s, waits
}

// incoming returns the channel of a receive of which source and tag are known,
// or nil.
func (m *Machine) incoming(p *proc, c *call, source, tag int64) *channel {
	if source == trace.ProcNull {
		return nil
	}
	g := m.group(p, c, "comm")
	if g == nil {
		return nil
	}
	return m.message(c, g.peer(source), p.rank, tag)
}

// received matches such a receive.
func (m *Machine) received(p *proc, c *call, source, tag int64) *slot {
	if ch := m.incoming(p, c, source, tag); ch != nil {
		return ch.nextReceived()
	}
	return nil
}

// actual returns the source and tag that a blocking receive got.
func actual(c *call, source, tag int64) (int64, int64) {
	if st := c.list("status"); len(st) >= 2 && source != trace.ProcNull {
		if source == trace.AnySource {
			source = st[0]
		}
		if tag == trace.AnyTag {
			tag = st[1]
		}
	}
	return source, tag
}

// message is the access to a buffer of a message.
func (m *Machine) messageBuffer(p *proc, c *call, buf, count, typ string, role *Role, kind Kind) (Access, bool) {
	layout, _, err := p.buffer(c.num(count), c.num(typ))
	if err != nil {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), err.Error())
		return Access{}, false
	}
	a := Access{Owner: p.rank, Rank: p.rank, Kind: kind, Role: role, Base: c.addr(buf), Layout: layout, Call: p.info(c)}
	return a, !layout.IsEmpty()
}

// receivedBytes shortens a receive's buffer to what arrived, when that is known.
func receivedBytes(a *Access, status []int64) {
	if len(status) >= 3 && status[2] >= 0 {
		a.Layout = a.Layout.First(uint64(status[2]))
	}
}

func doSend(m *Machine, p *proc, c *call, r *rule) {
	s, waits := m.sent(p, c, "dest", "tag", r.send)
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", SendBuffer, Read); ok {
			m.instant(p, a)
		}
	}
	if s != nil {
		m.synchronize(p, c, []*signal{&s.forth}, waits, nil)
	}
}

func doRecv(m *Machine, p *proc, c *call, _ *rule) {
	if !c.Returned || c.num("source") == trace.ProcNull {
		return
	}
	source, tag := actual(c, c.num("source"), c.num("tag"))
	s := m.received(p, c, source, tag)
	if s == nil {
		return
	}
	m.synchronize(p, c, []*signal{&s.back}, []wait{awaitMessage(s)}, func() {
		s.finish(p, p.syncCall)
		m.receiveInto(p, c, "buf", "count", "datatype")
	})
}

func (m *Machine) receiveInto(p *proc, c *call, buf, count, typ string) {
	a, ok := m.messageBuffer(p, c, buf, count, typ, ReceiveBuffer, Write)
	if !ok {
		return
	}
	if receivedBytes(&a, c.list("status")); !a.Layout.IsEmpty() {
		m.instant(p, a)
	}
}

// bufferArgs are the names of the arguments that tell a buffer.
type bufferArgs struct{ buf, count, typ string }

// exchangeBuffers returns those of a call that sends and receives.
func exchangeBuffers(c *call) (out, in bufferArgs) {
	if c.has("sendbuf") {
		return bufferArgs{"sendbuf", "sendcount", "sendtype"}, bufferArgs{"recvbuf", "recvcount", "recvtype"}
	}
	both := bufferArgs{"buf", "count", "datatype"}
	return both, both
}

func doSendrecv(m *Machine, p *proc, c *call, _ *rule) {
	out, in := exchangeBuffers(c)
	s, waits := m.sent(p, c, "dest", "sendtag", standard)
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, out.buf, out.count, out.typ, SendBuffer, Read); ok {
			m.instant(p, a)
		}
	}
	signals := make([]*signal, 0, 2)
	if s != nil {
		signals = append(signals, &s.forth)
	}
	var after func()
	if c.Returned && c.num("source") != trace.ProcNull {
		source, tag := actual(c, c.num("source"), c.num("recvtag"))
		if s := m.received(p, c, source, tag); s != nil {
			signals = append(signals, &s.back)
			waits = append(waits, awaitMessage(s))
			after = func() {
				s.finish(p, p.syncCall)
				m.receiveInto(p, c, in.buf, in.count, in.typ)
			}
		}
	}
	if len(signals) > 0 {
		m.synchronize(p, c, signals, waits, after)
	}
}

// doIsendrecv: MPI 4.1, 3.10. Its request is complete when both are.
func doIsendrecv(m *Machine, p *proc, c *call, _ *rule) {
	out, in := exchangeBuffers(c)
	req := &request{}
	receives := c.num("source") != trace.ProcNull
	if c.num("dest") != trace.ProcNull && !(receives && in == out) { // one buffer is used once
		if a, ok := m.messageBuffer(p, c, out.buf, out.count, out.typ, SendBuffer, Read); ok {
			req.spans = append(req.spans, m.openBuffer(p, a))
		}
	}
	if receives {
		if a, ok := m.messageBuffer(p, c, in.buf, in.count, in.typ, ReceiveBuffer, Write); ok {
			req.spans = append(req.spans, m.openBuffer(p, a))
		}
	}
	m.addRequest(p, c, req)
	var signals []*signal
	if s, _ := m.sent(p, c, "dest", "sendtag", standard); s != nil {
		signals = append(signals, &s.forth)
	}
	if s := m.posted(p, c, "recvtag"); s != nil {
		req.arrives(p, s)
		signals = append(signals, &s.back)
	}
	if len(signals) > 0 {
		m.synchronize(p, c, signals, nil, nil)
	}
}

func doIsend(m *Machine, p *proc, c *call, r *rule) {
	s, waits := m.sent(p, c, "dest", "tag", r.send)
	req := &request{waits: waits, sent: s}
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", SendBuffer, Read); ok {
			req.spans = append(req.spans, m.openBuffer(p, a))
		}
	}
	m.addRequest(p, c, req)
	if s != nil {
		m.synchronize(p, c, []*signal{&s.forth}, nil, nil)
	}
}

func doIrecv(m *Machine, p *proc, c *call, _ *rule) {
	req := &request{}
	if c.num("source") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", ReceiveBuffer, Write); ok {
			req.spans = append(req.spans, m.openBuffer(p, a))
		}
	}
	m.addRequest(p, c, req)
	if s := m.posted(p, c, "tag"); s != nil {
		req.arrives(p, s)
		m.synchronize(p, c, []*signal{&s.back}, nil, nil)
	}
}

// posted matches a non-blocking receive. Of one with wildcards the request's
// completion tells which message it got; nil when it never got any.
func (m *Machine) posted(p *proc, c *call, tagArg string) *slot {
	source, tag := c.num("source"), c.num(tagArg)
	if source == trace.AnySource || source != trace.ProcNull && tag == trace.AnyTag {
		st := m.outcome(p, c)
		if len(st) < trace.StatusWords || st[3] != 0 {
			return nil
		}
		source, tag = st[0], st[1]
	}
	return m.received(p, c, source, tag)
}

// outcome reads ahead for the status with which a call's request will complete.
func (m *Machine) outcome(p *proc, c *call) []int64 {
	c.Call = keep(c.Call) // reading ahead uses its storage again
	p.event.Call = c.Call
	return p.ahead.status(c.num("request"))
}

// doProbe: a probe that found a message comes after its send. Softly: which
// message it saw is known only where all receives posted before are.
func doProbe(m *Machine, p *proc, c *call, _ *rule) {
	st := c.list("status")
	if !c.Returned || c.has("flag") && c.num("flag") == 0 || len(st) < 2 || st[0] < 0 {
		return
	}
	if ch := m.incoming(p, c, st[0], st[1]); ch != nil {
		w := awaitMessage(ch.look(ch.received + 1))
		w.soft = true
		m.synchronize(p, c, nil, []wait{w}, nil)
	}
}

// awaitMessage is the wait of a receive.
func awaitMessage(s *slot) wait {
	return wait{on: &s.forth, what: func() string { return "for a message" }}
}

// completions says for each call of the Wait and Test family which requests it
// completes, and with what statuses.
var completions = map[string]func(*call) (ids, statuses []int64){
	"MPI_Wait":     waitOne,
	"MPI_Test":     waitOne,
	"MPI_Waitall":  waitAll,
	"MPI_Testall":  waitAll,
	"MPI_Waitany":  waitAny,
	"MPI_Testany":  waitAny,
	"MPI_Waitsome": waitSome,
	"MPI_Testsome": waitSome,

	"MPI_Request_get_status": waitOne,
}

func doWait(m *Machine, p *proc, c *call, _ *rule) {
	if ids, statuses := completions[c.Fn.Name](c); len(ids) > 0 {
		m.completeRequests(p, c, ids, statuses)
	}
}

// over reports whether a call of the Wait or Test family completed anything.
func over(c *call) bool { return c.Returned && (!c.has("flag") || c.num("flag") != 0) }

func waitOne(c *call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	return []int64{c.num("request")}, c.list("status")
}

func waitAll(c *call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	return c.list("requests"), c.list("statuses")
}

func waitAny(c *call) (ids, statuses []int64) {
	all := c.list("requests")
	i := c.num("index")
	if !over(c) || i < 0 || i >= int64(len(all)) {
		return nil, nil
	}
	return all[i : i+1], c.list("status")
}

func waitSome(c *call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	all := c.list("requests")
	for _, i := range c.list("indices") {
		if i >= 0 && i < int64(len(all)) {
			ids = append(ids, all[i])
		}
	}
	return ids, c.list("statuses")
}

// doRequestFree: the operation goes on. A send is over when its message has been
// received, which the process may come to know by an answer (MPI 4.1, example
// 3.14); of what else goes on, nothing tells when it is over, and its buffers
// stay in use until the process ends.
func doRequestFree(m *Machine, p *proc, c *call, _ *rule) {
	id := c.num("request")
	if m.oneSidedRequest(p, c) {
		return
	}
	if r := p.requests[id]; r != nil && r.sent != nil {
		r.sent.open = append(r.sent.open, r.spans...)
		if r.sent.over {
			r.sent.finish(p, p.info(c))
		}
	}
	delete(p.requests, id)
	delete(p.persistent, id)
}

// oneSidedRequest reports whether a call that gives up or cancels a request names
// that of a one-sided operation, for which both are errors.
func (m *Machine) oneSidedRequest(p *proc, c *call) bool {
	r := p.requests[c.num("request")]
	if r == nil || r.op == nil {
		return false
	}
	m.problems.notUnderstood(c.Fn.Name, p.info(c), "the request of a one-sided operation can neither be freed nor cancelled (MPI 4.1, 12.3.5)")
	return true
}

// doCancel: a receive that will turn out to be cancelled gets no message, so
// that the one it was matched with goes to the next.
func doCancel(m *Machine, p *proc, c *call, _ *rule) {
	id := c.num("request")
	r := p.requests[id]
	if m.oneSidedRequest(p, c) || r == nil || r.sent == nil && r.awaited == nil {
		return
	}
	c.Call = keep(c.Call)
	p.event.Call = c.Call
	st := p.ahead.coming(id)
	switch {
	case len(st) < trace.StatusWords || st[3] == 0: // it was too late
	case r.awaited != nil && r.awaited.giveBack():
		r.waits, r.after, r.awaited = nil, nil, nil
	case r.awaited != nil:
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "it cancels a receive behind which others wait for the same messages")
	default:
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "it cancels a send")
	}
}
