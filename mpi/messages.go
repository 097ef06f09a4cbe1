package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// awaitReceive is the wait of a synchronous send. It is soft: a wildcard receive
// that completes too far ahead has no known match.
func awaitReceive(s *core.Match) core.Wait {
	return core.Wait{On: &s.Back, Soft: true, What: func() string { return "for the message to be received" }}
}

// sent matches a send, and returns its match, nil where there is none, and what
// it waits for.
func (m *Model) sent(p *process, c *core.Call, dest, tag core.ArgName, mode sendMode) (s *core.Match, waits []core.Wait) {
	to := c.Int(dest)
	if to == trace.ProcNull {
		return nil, nil
	}
	g := m.group(p, c, argComm)
	if g == nil {
		return nil, nil
	}
	ch := m.channelOf(c, p.Rank, peer(g, to), c.Int(tag))
	if ch == nil {
		return nil, nil
	}
	s = ch.Send()
	if mode == synchronous {
		waits = append(waits, awaitReceive(s))
	}
	return s, waits
}

// incoming returns the channel of a receive of which source and tag are known,
// or nil.
func (m *Model) incoming(p *process, c *core.Call, source, tag int64) *core.Channel {
	if source == trace.ProcNull {
		return nil
	}
	g := m.group(p, c, argComm)
	if g == nil {
		return nil
	}
	return m.channelOf(c, peer(g, source), p.Rank, tag)
}

// channelOf returns the channel of a message between two processes over the
// call's communicator; nil when one of the two is none.
func (m *Model) channelOf(c *core.Call, from, to int32, tag int64) *core.Channel {
	if from < 0 || to < 0 {
		return nil
	}
	return m.Channel(core.ChannelKey{Kind: 'm', On: c.Int(argComm), From: from, To: to, Tag: tag})
}

// received matches such a receive.
func (m *Model) received(p *process, c *core.Call, source, tag int64) *core.Match {
	if ch := m.incoming(p, c, source, tag); ch != nil {
		return ch.Receive()
	}
	return nil
}

// actual returns the source and tag that a blocking receive got.
func actual(c *core.Call, source, tag int64) (int64, int64) {
	if st := c.List(argStatus); len(st) >= 2 && source != trace.ProcNull {
		if source == trace.AnySource {
			source = st[0]
		}
		if tag == trace.AnyTag {
			tag = st[1]
		}
	}
	return source, tag
}

// messageBuffer returns the access to a buffer of a message, and whether it has any
// bytes.
func (m *Model) messageBuffer(p *process, c *core.Call, buf, count, typ core.ArgName, role *regions.Role, kind regions.Kind) (regions.Access, bool) {
	layout, _, err := p.buffer(c.Int(count), c.Int(typ))
	if err != nil {
		p.NotUnderstood(c, err.Error())
		return regions.Access{}, false
	}
	a := regions.Access{Owner: p.Rank, Rank: p.Rank, Kind: kind, Role: role, Base: c.Addr(buf), Layout: layout, Call: p.Info(c)}
	return a, !layout.IsEmpty()
}

// receivedBytes shortens a receive's buffer to what arrived, when that is known:
// data fill it in the order of its datatype (MPI 4.1, 5.1).
func (p *process) receivedBytes(a *regions.Access, c *core.Call, count, typ core.ArgName) {
	status := c.List(argStatus)
	if len(status) < 3 || status[2] < 0 {
		return
	}
	if b, err := p.bufferOf(c.Int(count), c.Int(typ)); err == nil {
		a.Layout = b.bytes.First(uint64(status[2]))
	}
}

func doSend(m *Model, p *process, c *core.Call, r *entry) {
	s, waits := m.sent(p, c, argDest, argTag, r.send)
	if c.Int(argDest) != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, argBuf, argCount, argDatatype, SendBuffer, regions.Read); ok {
			p.Instant(a)
		}
	}
	if s != nil {
		p.Synchronize(c, []*core.Signal{&s.Forth}, waits, nil)
		leave(s, waits)
	}
}

// leave says that a blocking send is done with its match, unless it waits for the
// receiver.
func leave(s *core.Match, waits []core.Wait) {
	if len(waits) == 0 {
		s.Leave()
	}
}

// receipt is the blocking receive that a strand is in.
type receipt struct {
	match   *core.Match // nil: it is over
	call    *core.Call
	into    bufferArgs
	end     func() // ends the accesses to its buffers; nil: it writes to one when the message is there
	arrived func() // what is to do then
}

// receive lets a process wait for a message in a blocking receive, which gives
// signals; waits are what else it waits for, first; end is what ends its accesses where
// they have begun.
func (p *process) receive(c *core.Call, s *core.Match, into bufferArgs, end func(), signals []*core.Signal, waits []core.Wait) {
	if p.receipt.match != nil { // another strand is in a receive
		p.receipt = p.newReceipt()
	}
	x := p.receipt
	x.match, x.call, x.into, x.end = s, c, into, end
	p.Synchronize(c, append(signals, &s.Back), append(waits, awaitMessage(s)), x.arrived)
}

// newReceipt returns room for a blocking receive of the process.
func (p *process) newReceipt() *receipt {
	x := &receipt{}
	x.arrived = func() { p.m.arrived(p, x) }
	return x
}

// arrived ends a blocking receive.
func (m *Model) arrived(p *process, x *receipt) {
	x.match.Finish(p.Strand, p.Synchronizing())
	x.match.Leave()
	x.match = nil
	if x.end != nil {
		x.end()
		return
	}
	m.receiveInto(p, x.call, x.into)
}

func doRecv(m *Model, p *process, c *core.Call, _ *entry) {
	if !c.Returned || c.Int(argSource) == trace.ProcNull {
		return
	}
	source, tag := actual(c, c.Int(argSource), c.Int(argTag))
	s := m.received(p, c, source, tag)
	if s == nil {
		return
	}
	p.receive(c, s, oneBuffer, nil, nil, nil)
}

func (m *Model) receiveInto(p *process, c *core.Call, into bufferArgs) {
	a, ok := m.messageBuffer(p, c, into.buf, into.count, into.typ, ReceiveBuffer, regions.Write)
	if !ok {
		return
	}
	if p.receivedBytes(&a, c, into.count, into.typ); !a.Layout.IsEmpty() {
		p.Instant(a)
	}
}

// bufferArgs are the names of the arguments that tell a buffer.
type bufferArgs struct{ buf, count, typ core.ArgName }

// oneBuffer are those of a call that has one.
var oneBuffer = bufferArgs{argBuf, argCount, argDatatype}

// exchangeBuffers returns those of a call that sends and receives.
func exchangeBuffers(c *core.Call) (out, in bufferArgs) {
	if c.Has(argSendbuf) {
		return bufferArgs{argSendbuf, argSendcount, argSendtype}, bufferArgs{argRecvbuf, argRecvcount, argRecvtype}
	}
	return oneBuffer, oneBuffer
}

func doSendrecv(m *Model, p *process, c *core.Call, _ *entry) {
	out, in := exchangeBuffers(c)
	s, waits := m.sent(p, c, argDest, argSendtag, standard)
	receives := c.Returned && c.Int(argSource) != trace.ProcNull
	var end func()
	if c.Int(argDest) != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, out.buf, out.count, out.typ, SendBuffer, regions.Read); ok {
			if receives && in != out {
				if b, ok := m.messageBuffer(p, c, in.buf, in.count, in.typ, ReceiveBuffer, regions.Write); ok {
					end = p.aliased(c, []regions.Access{a}, []regions.Access{b})
				}
			}
			if end == nil {
				p.Instant(a)
			}
		}
	}
	var incoming *core.Match
	if receives {
		source, tag := actual(c, c.Int(argSource), c.Int(argRecvtag))
		incoming = m.received(p, c, source, tag)
	}
	signals := make([]*core.Signal, 0, 2)
	if s != nil {
		signals = append(signals, &s.Forth)
	}
	switch {
	case incoming != nil:
		p.receive(c, incoming, in, end, signals, waits)
	case s != nil:
		p.Synchronize(c, signals, waits, nil)
	}
	if s != nil {
		leave(s, waits)
	}
}

// doIsendrecv: MPI 4.1, 3.10. Its request is complete when both are.
func doIsendrecv(m *Model, p *process, c *core.Call, _ *entry) {
	out, in := exchangeBuffers(c)
	req := &request{}
	receives := c.Int(argSource) != trace.ProcNull
	if c.Int(argDest) != trace.ProcNull && !(receives && in == out) { // one buffer is used once
		if a, ok := m.messageBuffer(p, c, out.buf, out.count, out.typ, SendBuffer, regions.Read); ok {
			req.spans = append(req.spans, p.openBuffer(a))
		}
	}
	if receives {
		if a, ok := m.messageBuffer(p, c, in.buf, in.count, in.typ, ReceiveBuffer, regions.Write); ok {
			req.spans = append(req.spans, p.openBuffer(a))
		}
	}
	m.addRequest(p, c, req)
	var signals []*core.Signal
	if s, _ := m.sent(p, c, argDest, argSendtag, standard); s != nil {
		signals = append(signals, &s.Forth)
	}
	if s := m.posted(p, c, argRecvtag); s != nil {
		req.arrives(p, s)
		signals = append(signals, &s.Back)
	}
	if len(signals) > 0 {
		p.Synchronize(c, signals, nil, nil)
	}
}

func doIsend(m *Model, p *process, c *core.Call, r *entry) {
	s, waits := m.sent(p, c, argDest, argTag, r.send)
	req := &request{waits: waits, sent: s}
	if c.Int(argDest) != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, argBuf, argCount, argDatatype, SendBuffer, regions.Read); ok {
			req.spans = append(req.spans, p.openBuffer(a))
		}
	}
	m.addRequest(p, c, req)
	if s != nil {
		p.Synchronize(c, []*core.Signal{&s.Forth}, nil, nil)
	}
}

func doIrecv(m *Model, p *process, c *core.Call, _ *entry) {
	req := &request{}
	if c.Int(argSource) != trace.ProcNull {
		if a, ok := m.messageBuffer(p, c, argBuf, argCount, argDatatype, ReceiveBuffer, regions.Write); ok {
			req.spans = append(req.spans, p.openBuffer(a))
		}
	}
	m.addRequest(p, c, req)
	if s := m.posted(p, c, argTag); s != nil {
		req.arrives(p, s)
		p.Synchronize(c, []*core.Signal{&s.Back}, nil, nil)
	}
}

// posted matches a non-blocking receive. Of one with wildcards the request's
// completion tells which message it got; nil when it never got any.
func (m *Model) posted(p *process, c *core.Call, tagArg core.ArgName) *core.Match {
	source, tag := c.Int(argSource), c.Int(tagArg)
	if source == trace.AnySource || source != trace.ProcNull && tag == trace.AnyTag {
		st := p.status(c.Int(argRequest))
		if len(st) < trace.StatusWords || st[3] != 0 {
			return nil
		}
		source, tag = st[0], st[1]
	}
	return m.received(p, c, source, tag)
}

// doProbe: a probe that found a message comes after its send. Softly: which
// message it saw is known only where all receives posted before are.
func doProbe(m *Model, p *process, c *core.Call, _ *entry) {
	st := c.List(argStatus)
	if !c.Returned || c.Has(argFlag) && c.Int(argFlag) == 0 || len(st) < 2 || st[0] < 0 {
		return
	}
	if ch := m.incoming(p, c, st[0], st[1]); ch != nil {
		w := awaitMessage(ch.Peek())
		w.Soft, w.Coming = true, false
		p.Synchronize(c, nil, []core.Wait{w}, nil)
	}
}

// awaitMessage is the wait of a receive.
func awaitMessage(s *core.Match) core.Wait {
	return core.Wait{On: &s.Forth, Coming: true, What: func() string { return "for a message" }}
}

// doMprobe: the message was sent, and is taken off the queue here, to be
// received later.
func doMprobe(m *Model, p *process, c *core.Call, _ *entry) {
	st := c.List(argStatus)
	if !c.Returned || c.Has(argFlag) && c.Int(argFlag) == 0 || len(st) < 2 || st[0] < 0 {
		return
	}
	if s := m.received(p, c, st[0], st[1]); s != nil {
		p.messages[c.Int(argHandle)] = s
		p.Synchronize(c, nil, []core.Wait{awaitMessage(s)}, nil)
	}
}

func (p *process) takeMessage(c *core.Call) *core.Match {
	h := c.Int(argMessage)
	s := p.messages[h]
	delete(p.messages, h)
	return s
}

func doMrecv(m *Model, p *process, c *core.Call, _ *entry) {
	if s := p.takeMessage(c); s != nil && c.Returned {
		p.receive(c, s, oneBuffer, nil, nil, nil)
	}
}

func doImrecv(m *Model, p *process, c *core.Call, _ *entry) {
	req := &request{}
	if a, ok := m.messageBuffer(p, c, argBuf, argCount, argDatatype, ReceiveBuffer, regions.Write); ok {
		req.spans = append(req.spans, p.openBuffer(a))
	}
	m.addRequest(p, c, req)
	if s := p.takeMessage(c); s != nil {
		req.arrives(p, s)
		p.Synchronize(c, []*core.Signal{&s.Back}, nil, nil)
	}
}
