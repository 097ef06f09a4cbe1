package oracle

import (
	"slices"
)

// communicate queues a message, or two that cross, with their receives.
func (g *generator) communicate() {
	comm := pick(g.Rand, g.usable)
	a := pick(g.Rand, g.p.Comms[comm].all())
	_, peers := g.p.Comms[comm].group(a)
	b := pick(g.Rand, peers)
	if a == b {
		g.toItself(comm, a)
		return
	}
	kinds := []func(comm, a, b int){g.message, g.message, g.exchange}
	for _, k := range []struct {
		feature Feature
		talk    func(comm, a, b int)
	}{
		{NullProcess, g.toNobody}, {Cancels, g.cancelled}, {Persistent, g.persistent}, {Partitioned, g.partitioned},
		{SendModes, g.ready}, {SendModes, g.exchange}, {Probes, g.probed}, {Probes, g.probed},
	} {
		if g.with(k.feature) {
			kinds = append(kinds, k.talk)
		}
	}
	if !g.again() {
		pick(g.Rand, kinds)(comm, a, b)
	}
}

// again starts persistent requests once more, now and then.
func (g *generator) again() bool {
	if len(g.groups) == 0 || g.chance(0.7) {
		return false
	}
	g.restart(pick(g.Rand, g.groups))
	return true
}

// sendForms and receiveForms are the calls that messages are made with.
func (g *generator) sendForm() string {
	fns := []string{"MPI_Send", "MPI_Ssend", "MPI_Isend"}
	if g.with(SendModes) {
		fns = append(fns, "MPI_Bsend", "MPI_Issend", "MPI_Ibsend", "MPI_Issend")
	}
	return pick(g.Rand, fns)
}

func (g *generator) newRequest() []int {
	g.reqs++
	return []int{g.reqs - 1}
}

// talk queues a call at a process, with a request where it makes one.
func (g *generator) talk(r int, c Call) Call {
	c.Rank = r
	if c.form() != blocking && c.Reqs == nil {
		c.Reqs = g.newRequest()
	}
	g.push(r, c, 0)
	return c
}

// after holds the wait for a request back until the last call queued at the
// process has been made.
func (g *generator) after(r int, reqs []int) {
	q := g.queue[r]
	for i := range q {
		if len(q[i].Reqs) > 0 && q[i].Reqs[0] == reqs[0] {
			q[i].quiet = true
		}
	}
	q[len(q)-1].frees = reqs
}

func (g *generator) message(comm, a, b int) {
	u := g.unit()
	send := g.sendSide(g.sendForm(), u, comm, a, b)
	recv := g.receiveSide(pick(g.Rand, []string{"MPI_Recv", "MPI_Irecv"}), b, a, send)
	g.talk(a, send)
	g.talk(b, recv)
	if send.form() == nonblocking && g.with(FreedRequests) && g.chance(0.2) {
		q := g.queue[a]
		last := &q[len(q)-1]
		last.Origin, last.quiet = g.privately(last.Origin), true
		g.push(a, Call{Fn: "MPI_Request_free", Unit: u, Reqs: last.Reqs}, 0)
	}
}

// privately moves a buffer to memory of no window.
func (g *generator) privately(b Buf) Buf {
	lo, hi := g.p.reach(b.Type, b.Count)
	b.Of, b.Off = 0, g.IntN(private-(hi-lo)+1)&^3-lo
	return b
}

// toItself queues a message of a process to itself; the receive is posted first,
// or the send does not wait for it.
func (g *generator) toItself(comm, a int) {
	u := g.unit()
	send := g.sendSide("MPI_Isend", u, comm, a, a)
	recv := g.receiveSide("MPI_Irecv", a, a, send)
	if g.chance(0.5) {
		recv = g.talk(a, recv)
		send.Fn = g.sendForm()
		g.talk(a, send)
		g.after(a, recv.Reqs)
		return
	}
	send = g.talk(a, send)
	recv.Fn = pick(g.Rand, []string{"MPI_Recv", "MPI_Irecv"})
	g.talk(a, recv)
	g.after(a, send.Reqs)
}

func (g *generator) sendSide(fn string, unit, comm, from, to int) Call {
	c := Call{Rank: from, Fn: fn, Unit: unit, Comm: comm, Peer: to, Tag: g.IntN(3)}
	c.Origin = g.buffer(from, g.basicType(), 1+g.IntN(2))
	return c
}

// receiveSide is the receive of a message that was sent with send.
func (g *generator) receiveSide(fn string, r, from int, send Call) Call {
	c := Call{Rank: r, Fn: fn, Unit: send.Unit, Comm: send.Comm, Source: from, Tag: send.Tag}
	c.Result = g.receiveBuffer(r, send)
	if g.with(Wildcards) {
		c.Any, c.AnyTag = g.chance(0.2), g.chance(0.2)
	}
	return c
}

// receiveBuffer picks a buffer for a message.
func (g *generator) receiveBuffer(r int, send Call) Buf {
	n := g.p.count(send.Origin)
	if g.with(ShortMessages) && g.chance(0.1) {
		n++
	}
	if g.with(Scattered) && g.chance(0.5) {
		if b, ok := g.longer(g.p.basic(send.Origin.Type), n); ok {
			return g.place(r, b)
		}
	}
	return g.buffer(r, g.p.basic(send.Origin.Type), n)
}

// exchange queues two messages that cross, or one of a chain.
func (g *generator) exchange(comm, a, b int) {
	forms := []string{"MPI_Sendrecv"}
	if g.with(SendModes) {
		forms = append(forms, "MPI_Sendrecv_replace", "MPI_Isendrecv", "MPI_Isendrecv_replace")
	}
	u := g.unit()
	x := g.sendSide(pick(g.Rand, forms), u, comm, a, b)
	y := g.sendSide(pick(g.Rand, forms), u, comm, b, a)
	basic, n := g.p.basic(x.Origin.Type), g.p.count(x.Origin)
	y.Origin = g.buffer(b, basic, n)
	x.Result, y.Result = g.receiveBuffer(a, y), g.receiveBuffer(b, x)
	x.Source, x.RTag, y.Source, y.RTag = b, y.Tag, a, x.Tag
	if g.with(NullProcess) && g.chance(0.2) {
		x.Source, y.Peer = ProcNull, ProcNull
	}
	g.talk(a, x)
	g.talk(b, y)
}

// toNobody queues a call that names MPI_PROC_NULL.
func (g *generator) toNobody(comm, a, _ int) {
	fns := []string{"MPI_Recv", "MPI_Irecv", g.sendForm(), "MPI_Sendrecv"}
	if g.with(Probes) {
		fns = append(fns, "MPI_Probe", "MPI_Iprobe")
	}
	c := g.sendSide(pick(g.Rand, fns), g.unit(), comm, a, ProcNull)
	c.Source = ProcNull
	c.Result = g.receiveBuffer(a, c)
	c.Flag = c.Fn == "MPI_Iprobe"
	g.talk(a, c)
}

// cancelled queues a receive that nothing is sent to, and its end.
func (g *generator) cancelled(comm, a, b int) {
	u := g.unit()
	c := Call{Fn: "MPI_Irecv", Unit: u, Comm: comm, Source: b, Tag: 100 + u}
	c.Result = g.buffer(a, g.basicType(), 1+g.IntN(2))
	c = g.talk(a, c)
	g.push(a, Call{Fn: "MPI_Cancel", Unit: u, Reqs: c.Reqs}, 0)
	g.after(a, c.Reqs)
}

// ready queues a ready send: the receiver posts its receive, and says so.
func (g *generator) ready(comm, a, b int) {
	u := g.unit()
	send := g.sendSide(pick(g.Rand, []string{"MPI_Rsend", "MPI_Irsend"}), u, comm, a, b)
	send.Tag = 10
	recv := g.receiveSide("MPI_Irecv", b, a, send)
	recv.AnyTag = false
	again := g.with(Persistent) && g.chance(0.5)
	if again {
		send.Fn, recv.Fn = "MPI_Rsend_init", "MPI_Recv_init"
	}
	recv = g.talk(b, recv)
	if again {
		send = g.talk(a, send)
		g.once = append(g.once, started{unit: u, ranks: []int{a, b}, reqs: []int{send.Reqs[0], recv.Reqs[0]}})
		send = Call{Fn: "MPI_Start", Unit: u, Reqs: send.Reqs}
		g.push(b, Call{Fn: "MPI_Start", Unit: u, Reqs: recv.Reqs}, 0)
	}
	word := g.sendSide("MPI_Send", u, comm, b, a)
	word.Tag = 11
	g.talk(b, word)
	g.after(b, recv.Reqs)
	g.talk(a, g.receiveSide("MPI_Recv", a, b, word))
	g.talk(a, send)
}

// probed queues a message that the receiver looks for before it receives it.
func (g *generator) probed(comm, a, b int) {
	u := g.unit()
	send := g.sendSide(g.sendForm(), u, comm, a, b)
	send.Tag = 20 // what is probed for is what is received next
	g.talk(a, send)
	recv := g.receiveSide(pick(g.Rand, []string{"MPI_Recv", "MPI_Irecv"}), b, a, send)
	look := Call{Unit: u, Comm: comm, Source: a, Tag: send.Tag, Any: recv.Any, AnyTag: recv.AnyTag, Flag: true}
	fns := []string{"MPI_Probe", "MPI_Mprobe"}
	if g.with(TestForms) {
		fns = append(fns, "MPI_Iprobe", "MPI_Improbe")
	}
	look.Fn = pick(g.Rand, fns)
	if look.Fn == "MPI_Mprobe" || look.Fn == "MPI_Improbe" {
		g.msgs[b]++
		look.Msg = g.msgs[b]
		recv = Call{Fn: pick(g.Rand, []string{"MPI_Mrecv", "MPI_Imrecv"}), Unit: u, Comm: comm, Msg: look.Msg, Result: recv.Result}
	}
	if look.Fn == "MPI_Probe" || look.Fn == "MPI_Mprobe" {
		look.Flag = false
	}
	g.talk(b, look)
	g.talk(b, recv)
}

// started is what can be started again: the requests of its processes.
type started struct {
	unit  int // of the calls that made them
	ranks []int
	reqs  []int
	calls func(rank, req, unit int) // queues what else each start takes
}

// persistent queues the two sides of a persistent message.
func (g *generator) persistent(comm, a, b int) {
	u := g.unit()
	fns := []string{"MPI_Send_init", "MPI_Ssend_init"}
	if g.with(SendModes) {
		fns = append(fns, "MPI_Bsend_init")
	}
	send := g.sendSide(pick(g.Rand, fns), u, comm, a, b)
	send = g.talk(a, send)
	recv := g.talk(b, g.receiveSide("MPI_Recv_init", b, a, send))
	s := started{unit: u, ranks: []int{a, b}, reqs: []int{send.Reqs[0], recv.Reqs[0]}}
	g.groups = append(g.groups, s)
	g.restart(s)
}

// restart queues another start of persistent requests.
func (g *generator) restart(s started) {
	u := g.unit()
	for k, r := range s.ranks {
		g.push(r, Call{Fn: "MPI_Start", Unit: u, Reqs: []int{s.reqs[k]}}, 0)
		if s.calls != nil {
			s.calls(r, s.reqs[k], u)
		}
	}
}

// startAll joins starts that stand next to each other in a queue into one call.
func (g *generator) startAll(r int) bool {
	q := g.queue[r]
	if len(q) < 2 || q[0].Fn != "MPI_Start" || q[1].Fn != "MPI_Start" || q[0].Reqs[0] == q[1].Reqs[0] || g.chance(0.5) {
		return false
	}
	c := Call{Rank: r, Fn: "MPI_Startall", Unit: g.unit(), Reqs: []int{q[0].Reqs[0], q[1].Reqs[0]}}
	if !g.emit(c) {
		return false
	}
	g.queue[r] = q[2:]
	g.track(r, &c)
	return true
}

// inactive reports whether the call needs its request to be inactive and it is
// not yet.
func (g *generator) inactive(r int, c *Call) bool {
	if c.Fn != "MPI_Start" && c.Fn != "MPI_Request_free" {
		return false
	}
	x := g.s.ranks[r].reqs[c.Reqs[0]]
	return x != nil && x.active && x.call.form() == persistent
}

// waitFor completes one request.
func (g *generator) waitFor(r, req int) bool {
	c := Call{Rank: r, Fn: "MPI_Wait", Unit: g.requestUnit(r, req), Reqs: []int{req}}
	if !g.emit(c) {
		return false
	}
	g.track(r, &c)
	return true
}

func (g *generator) requestUnit(r, req int) int {
	if k := slices.IndexFunc(g.pending[r], func(q pendingRequest) bool { return q.id == req }); k >= 0 {
		return g.pending[r][k].unit
	}
	return g.unit()
}

// track keeps the list of requests that a process can complete.
func (g *generator) track(r int, c *Call) {
	forget := func(req int) {
		g.pending[r] = slices.DeleteFunc(g.pending[r], func(q pendingRequest) bool { return q.id == req })
	}
	switch {
	case c.Fn == "MPI_Request_get_status", c.Fn == "MPI_Cancel":
	case c.Fn == "MPI_Request_free":
		forget(c.Reqs[0])
	case c.Fn == "MPI_Start", c.Fn == "MPI_Startall":
		for _, q := range c.Reqs {
			if x := g.s.ranks[r].reqs[q]; x != nil && x.active && x.call.Partitions == 0 {
				g.pending[r] = append(g.pending[r], pendingRequest{q, c.Unit})
			}
		}
	case c.family() == requestCall:
		for _, q := range c.completed() {
			forget(q)
		}
	case c.form() == nonblocking && c.Fn != "MPI_Comm_idup":
		g.pending[r] = append(g.pending[r], pendingRequest{c.Reqs[0], c.Unit})
	}
}

// waitSome completes one or more requests of a process, in one of the ways that
// there are for it.
func (g *generator) waitSome(r int) {
	q := g.pending[r]
	forms := []string{"MPI_Wait", "MPI_Waitall", "MPI_Waitall"}
	if g.with(TestForms) {
		forms = append(forms, "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status")
	}
	c := Call{Rank: r, Fn: pick(g.Rand, forms), Unit: g.unit(), Flag: true}
	if c.Fn == "MPI_Wait" || c.Fn == "MPI_Test" || c.Fn == "MPI_Request_get_status" || len(q) == 1 && g.chance(0.5) {
		if c.Fn != "MPI_Test" && c.Fn != "MPI_Request_get_status" {
			c.Fn = "MPI_Wait"
		}
		x := pick(g.Rand, q)
		c.Unit, c.Reqs = x.unit, []int{x.id}
	} else {
		for _, x := range q {
			if g.chance(0.8) || len(c.Reqs) == 0 {
				c.Reqs = append(c.Reqs, x.id)
			}
			if g.with(NullProcess) && g.chance(0.1) {
				c.Reqs = append(c.Reqs, -1)
			}
		}
		for k, x := range c.Reqs {
			one := c.Fn == "MPI_Waitany" || c.Fn == "MPI_Testany"
			if x >= 0 && (len(c.Done) == 0 || !one && g.chance(0.5)) && (c.Fn[:8] == "MPI_Wait" || g.s.ranks[r].reqs[x].done()) {
				c.Done = append(c.Done, k)
			}
		}
	}
	switch c.Fn {
	case "MPI_Wait", "MPI_Waitall", "MPI_Testall", "MPI_Test", "MPI_Request_get_status":
		c.Done = nil
	case "MPI_Testany":
		c.Flag = len(c.Done) > 0
	}
	if c.Fn[:8] == "MPI_Wait" || c.Fn == "MPI_Testsome" {
		c.Flag = false
	}
	if !g.emit(c) {
		if c.Flag = false; c.Fn[:8] != "MPI_Wait" {
			g.inVain(c)
		}
		return
	}
	g.track(r, &c)
}
