package regions

import (
	"github.com/mcchk/mcchk/trace"
)

// awaitReceive is the wait of a synchronous send. It is soft: a wildcard receive
// that completes too far ahead has no known match.
func awaitReceive(s *slot) wait {
	return wait{on: &s.back, soft: true, what: func() string { return "for the message to be received" }}
}

// sent matches a send, and returns what it signals and waits for.
func (m *Machine) sent(p *proc, c *call, dest, tag string, mode sendMode) (signals []*signal, waits []wait) {
	to := c.num(dest)
	if to == trace.ProcNull {
		return nil, nil
	}
	ch := m.message(p, c, m.rankIn(p, c), to, c.num(tag))
	if ch == nil {
		return nil, nil
	}
	s := ch.nextSent()
	if mode == synchronous {
		waits = append(waits, awaitReceive(s))
	}
	return []*signal{&s.forth}, waits
}

// received matches a receive of which source and tag are known.
func (m *Machine) received(p *proc, c *call, source, tag int64) *slot {
	if source == trace.ProcNull {
		return nil
	}
	ch := m.message(p, c, source, m.rankIn(p, c), tag)
	if ch == nil {
		return nil
	}
	return ch.nextReceived()
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
func (m *Machine) messageBuffer(p *proc, c *call, buf, count, typ string, role Role, kind Kind) (Access, bool) {
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
	signals, waits := m.sent(p, c, "dest", "tag", r.send)
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", SendBuffer, Read); ok {
			m.instant(p, a)
		}
	}
	if signals != nil {
		m.synchronize(p, c, signals, waits, nil)
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

func doSendrecv(m *Machine, p *proc, c *call, _ *rule) {
	m.sendrecv(p, c, [3]string{"sendbuf", "sendcount", "sendtype"}, [3]string{"recvbuf", "recvcount", "recvtype"})
}

func doSendrecvReplace(m *Machine, p *proc, c *call, _ *rule) {
	both := [3]string{"buf", "count", "datatype"}
	m.sendrecv(p, c, both, both)
}

// sendrecv takes the names of the arguments that tell the buffers.
func (m *Machine) sendrecv(p *proc, c *call, out, in [3]string) {
	signals, waits := m.sent(p, c, "dest", "sendtag", standard)
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, out[0], out[1], out[2], SendBuffer, Read); ok {
			m.instant(p, a)
		}
	}
	var after func()
	if c.Returned && c.num("source") != trace.ProcNull {
		source, tag := actual(c, c.num("source"), c.num("recvtag"))
		if s := m.received(p, c, source, tag); s != nil {
			signals = append(signals, &s.back)
			waits = append(waits, awaitMessage(s))
			after = func() { m.receiveInto(p, c, in[0], in[1], in[2]) }
		}
	}
	if len(signals) > 0 {
		m.synchronize(p, c, signals, waits, after)
	}
}

func doIsend(m *Machine, p *proc, c *call, r *rule) {
	signals, waits := m.sent(p, c, "dest", "tag", r.send)
	req := &request{waits: waits}
	if c.num("dest") != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", SendBuffer, Read); ok {
			req.spans = append(req.spans, m.openBuffer(p, a))
		}
	}
	m.addRequest(p, c, req)
	if signals != nil {
		m.synchronize(p, c, signals, nil, nil)
	}
}

func doIrecv(m *Machine, p *proc, c *call, _ *rule) {
	source, tag := c.num("source"), c.num("tag")
	if source == trace.ProcNull {
		m.addRequest(p, c, &request{})
		return
	}
	req := &request{}
	if a, ok := m.messageBuffer(p, c, "buf", "count", "datatype", ReceiveBuffer, Write); ok {
		req.spans = append(req.spans, m.openBuffer(p, a))
	}
	m.addRequest(p, c, req)
	if source == trace.AnySource || tag == trace.AnyTag {
		c.Call = keep(c.Call) // reading ahead uses it again
		p.event.Call = c.Call
		st := p.ahead.status(c.num("request"))
		if len(st) < trace.StatusWords || st[3] != 0 {
			return // never completed, or cancelled: it got no message
		}
		source, tag = st[0], st[1]
	}
	if s := m.received(p, c, source, tag); s != nil {
		req.waits = []wait{awaitMessage(s)}
		m.synchronize(p, c, []*signal{&s.back}, nil, nil)
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

// doRequestFree: the operation goes on, and nothing tells when it is over; its
// buffers stay in use until the process ends (3.7.3).
func doRequestFree(_ *Machine, p *proc, c *call, _ *rule) {
	delete(p.requests, c.num("request"))
	delete(p.persistent, c.num("request"))
}
