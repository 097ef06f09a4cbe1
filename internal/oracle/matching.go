package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// activation is one run of an operation from where it is started to where it is
// known to be complete.
type activation struct {
	call  int  // index of the call with its arguments: start itself, or the _init call
	start int  // index of the call that starts it
	req   int  // its request; -1 for a blocking call
	done  int  // index of the call that completes it, start for a blocking one; -1 none
	run   int  // how many times the same persistent request was started before
	sent  int  // of a receive or probe: the activation that sent its message; -1 none
	gone  bool // cancelled
	index int  // its place among what was posted on its channel
}

// post is a receive, or a matched probe, in the order that messages match in.
type post struct {
	act     int  // activation of the receive; of an Mprobe once it is received
	started bool // the receive has started
}

// wire is what was sent and posted on a channel so far.
type wire struct {
	sent  []int // activations
	posts []*post
}

// matching says which calls of a program belong together.
type matching struct {
	p       *Program
	acts    []activation
	starts  [][]int // by call: activations started there
	dones   [][]int // by call: activations completed there
	probed  map[int]*probe
	wires   map[channel]*wire
	current map[int]int // request → activation that is active
	runs    map[int]int // request → how often it was started
	inits   map[int]int // request → call that made it
	handles map[[2]int]*post
	named   map[int]int // activation that a Pready or Parrived is about
}

// probe is the message that a call saw.
type probe struct {
	wire  *wire
	index int
}

// match pairs the calls of a program up, in the order in which they began.
func (p *Program) match() *matching {
	m := &matching{
		p: p, starts: make([][]int, len(p.Calls)), dones: make([][]int, len(p.Calls)),
		probed: map[int]*probe{}, wires: map[channel]*wire{},
		current: map[int]int{}, runs: map[int]int{}, inits: map[int]int{}, handles: map[[2]int]*post{}, named: map[int]int{},
	}
	for i := range p.Calls {
		m.call(i)
	}
	for _, w := range m.wires {
		for k, q := range w.posts {
			if q.act >= 0 && k < len(w.sent) {
				m.acts[q.act].sent = w.sent[k]
			}
		}
	}
	return m
}

func (m *matching) wire(ch channel) *wire {
	if m.wires[ch] == nil {
		m.wires[ch] = &wire{}
	}
	return m.wires[ch]
}

func (m *matching) call(i int) {
	c := &m.p.Calls[i]
	switch c.family() {
	case messageCall, collectiveCall, operationCall:
		switch c.form() {
		case blocking:
			m.begin(i, i, -1)
			m.acts[len(m.acts)-1].done = i
			m.dones[i] = []int{len(m.acts) - 1}
		case nonblocking:
			m.begin(i, i, c.Reqs[0])
		case persistent:
			m.inits[c.Reqs[0]] = i
		}
	case probeCall:
		m.probe(i)
	case requestCall:
		m.request(i)
	}
}

func (m *matching) probe(i int) {
	c := &m.p.Calls[i]
	if c.Source == ProcNull || (c.Fn == "MPI_Iprobe" || c.Fn == "MPI_Improbe") && !c.Flag {
		return
	}
	w := m.wire(c.recvChannel())
	m.probed[i] = &probe{w, len(w.posts)}
	if c.Fn == "MPI_Mprobe" || c.Fn == "MPI_Improbe" {
		q := &post{act: -1}
		w.posts = append(w.posts, q)
		m.handles[[2]int{c.Rank, c.Msg}] = q
	}
}

// begin starts an activation.
func (m *matching) begin(call, start, req int) {
	c := &m.p.Calls[call]
	a := len(m.acts)
	m.acts = append(m.acts, activation{call: call, start: start, req: req, done: -1, run: m.runs[req], sent: -1})
	m.starts[start] = append(m.starts[start], a)
	if req >= 0 {
		m.runs[req]++
		m.current[req] = a
	}
	if c.sends() && c.Peer != ProcNull {
		w := m.wire(c.sendChannel())
		m.acts[a].index = len(w.sent)
		w.sent = append(w.sent, a)
	}
	if c.receives() && c.Source != ProcNull {
		w := m.wire(c.recvChannel())
		w.posts = append(w.posts, &post{act: a, started: true})
	}
	if c.does() == "MPI_Mrecv" {
		if q := m.handles[[2]int{c.Rank, c.Msg}]; q != nil {
			q.act, q.started = a, true
		}
	}
}

func (m *matching) request(i int) {
	c := &m.p.Calls[i]
	switch c.Fn {
	case "MPI_Start", "MPI_Startall":
		for _, r := range c.Reqs {
			if init, ok := m.inits[r]; ok {
				m.begin(init, i, r)
			}
		}
	case "MPI_Cancel":
		m.cancel(c)
	case "MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived":
		if a, ok := m.current[c.Reqs[0]]; ok {
			m.named[i] = a
		}
	default:
		for _, r := range c.completed() {
			if a, ok := m.current[r]; ok && m.acts[a].done < 0 {
				m.acts[a].done = i
				m.dones[i] = append(m.dones[i], a)
			}
		}
	}
}

// cancel takes a receive back when nothing has been sent to it.
func (m *matching) cancel(c *Call) {
	a, ok := m.current[c.Reqs[0]]
	if !ok {
		return
	}
	d := &m.p.Calls[m.acts[a].call]
	if !d.receives() || d.Source == ProcNull {
		return
	}
	w := m.wire(d.recvChannel())
	k := slices.IndexFunc(w.posts, func(q *post) bool { return q.act == a })
	if k >= len(w.sent) {
		w.posts = slices.Delete(w.posts, k, k+1)
		m.acts[a].gone = true
	}
}

// completed returns the requests that the call says are complete. That of
// MPI_Request_get_status stays, but is complete as well (MPI standard, 3.7.6).
func (c *Call) completed() []int {
	switch c.Fn {
	case "MPI_Wait", "MPI_Waitall":
		return c.Reqs
	case "MPI_Test", "MPI_Testall", "MPI_Request_get_status":
		if c.Flag {
			return c.Reqs
		}
	case "MPI_Testany":
		if !c.Flag {
			return nil
		}
		fallthrough
	case "MPI_Waitany", "MPI_Waitsome", "MPI_Testsome":
		out := make([]int, len(c.Done))
		for k, d := range c.Done {
			out[k] = c.Reqs[d]
		}
		return out
	}
	return nil
}

// bytesSent returns the size in bytes of the message of an activation's send.
func (m *matching) bytesSent(a int) int {
	c := &m.p.Calls[m.acts[a].call]
	return m.p.bytes(c.Origin.Type, c.Origin.Count)
}

// fillStatuses works out what the statuses of all calls say.
func (m *matching) fillStatuses() {
	for i := range m.p.Calls {
		c := &m.p.Calls[i]
		c.Statuses = nil
		switch {
		case c.family() == probeCall:
			c.Statuses = m.probeStatus(i)
		case c.family() == messageCall && c.form() == blocking && (c.receives() || c.does() == "MPI_Mrecv"):
			c.Statuses = []Status{m.status(m.starts[i][0])}
		case c.family() == requestCall:
			reqs := c.completed()
			if len(reqs) == 0 && (c.Fn == "MPI_Waitany" || c.Fn == "MPI_Testany" && c.Flag) {
				c.Statuses = []Status{emptyStatus}
			}
			for _, r := range reqs {
				c.Statuses = append(c.Statuses, m.requestStatus(i, r))
			}
		}
	}
}

// emptyStatus is that of a null or inactive request, and here of a send too
// (3.7.3).
var emptyStatus = Status{Source: int(trace.AnySource), Tag: int(trace.AnyTag)}

// requestStatus returns the status of a request that call i completes.
func (m *matching) requestStatus(i, req int) Status {
	if req < 0 {
		return emptyStatus
	}
	for a := range m.acts {
		if x := &m.acts[a]; x.req == req && x.done >= 0 && (x.done == i || x.done < i && m.alive(a, i)) {
			return m.status(a)
		}
	}
	return emptyStatus
}

// alive reports whether an activation that MPI_Request_get_status saw complete
// is still there for call i to complete.
func (m *matching) alive(a, i int) bool {
	x := &m.acts[a]
	for j := x.done; j < i; j++ {
		if d := &m.p.Calls[j]; d.Fn != "MPI_Request_get_status" && slices.Contains(d.completed(), x.req) {
			return false
		}
	}
	return true
}

func (m *matching) probeStatus(i int) []Status {
	c := &m.p.Calls[i]
	q := m.probed[i]
	switch {
	case c.Source == ProcNull && (c.Flag || c.Fn == "MPI_Probe" || c.Fn == "MPI_Mprobe"):
		return []Status{{Source: ProcNull, Tag: int(trace.AnyTag)}}
	case q == nil:
		return nil
	}
	return []Status{m.received(c, q.wire.sent[q.index])}
}

// received is the status of a message.
func (m *matching) received(c *Call, sent int) Status {
	_, peers := m.p.Comms[c.Comm].group(c.Rank)
	return Status{Source: slices.Index(peers, c.Source), Tag: c.recvChannel().tag, Bytes: m.bytesSent(sent)}
}

// status returns the status of a completed activation.
func (m *matching) status(a int) Status {
	x := &m.acts[a]
	c := &m.p.Calls[x.call]
	switch {
	case x.gone:
		s := emptyStatus
		s.Cancelled = true
		return s
	case c.receives() && c.Source == ProcNull:
		return Status{Source: ProcNull, Tag: int(trace.AnyTag)}
	case x.sent < 0:
		return emptyStatus
	case c.does() == "MPI_Mrecv":
		d := m.p.Calls[m.acts[x.sent].call]
		_, peers := m.p.Comms[d.Comm].group(c.Rank)
		return Status{Source: slices.Index(peers, d.Rank), Tag: d.Tag, Bytes: m.bytesSent(x.sent)}
	}
	return m.received(c, x.sent)
}
