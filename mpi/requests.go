package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// requests are those of one process.
type requests struct {
	requests   map[int64]*request
	persistent map[int64]*persistent
	coming     coming
	general    map[int64]*core.Signal // of generalized requests that the program has not said to be complete
}

func newRequests() requests {
	return requests{requests: map[int64]*request{}, persistent: map[int64]*persistent{}, general: map[int64]*core.Signal{}}
}

// request is a non-blocking operation that is not yet complete.
type request struct {
	id      int64
	spans   []*core.Pending
	waits   []core.Wait
	after   func(by *regions.CallInfo) // to do when the waits are over; may be nil
	op      *operation                 // of a one-sided operation with a request
	epoch   *epochs
	sent    *core.Match // of a send
	awaited *core.Match // of a receive
	part    *partitions
}

// doStartGeneral begins a generalized request, which is complete for whoever waits once a thread
// of its process has said so (MPI 4.1, 13.2).
func doStartGeneral(m *Model, p *process, c *core.Call, _ *entry) {
	done := &core.Signal{}
	m.addRequest(p, c, &request{waits: []core.Wait{{On: done, What: func() string { return "for MPI_Grequest_complete of its request" }}}})
	p.requests.general[c.Int(argRequest)] = done
}

func doCompleteGeneral(_ *Model, p *process, c *core.Call, _ *entry) {
	id := c.Int(argRequest)
	if done := p.requests.general[id]; done != nil {
		delete(p.requests.general, id)
		p.Synchronize(c, []*core.Signal{done}, nil, nil)
	}
}

// arrives makes the request wait for a message.
func (r *request) arrives(p *process, s *core.Match) {
	r.awaited = s
	r.waits = append(r.waits, awaitMessage(s))
	r.after = func(by *regions.CallInfo) { s.Finish(p.Strand, by) }
}

func (m *Model) addRequest(p *process, c *core.Call, r *request) {
	id := c.Int(argRequest)
	if id == 0 {
		return
	}
	p.requests.requests[id] = r
	r.id = id
	for _, s := range r.spans {
		s.Of = r
	}
}

// openBuffer begins an access to a buffer of a request.
func (p *process) openBuffer(a regions.Access) *core.Pending {
	x := p.m.NewAccess()
	*x = a
	return p.OpenBuffer(x)
}

// endBuffers ends the accesses of a request to buffers of its process.
func (m *Model) endBuffers(p *process, r *request, by *regions.CallInfo) {
	for _, s := range r.spans {
		s.Complete(p.Now(), by)
	}
	if r.op != nil {
		m.finishOperation(p, r.epoch, r.op, p.Now(), by, buffers)
	}
}

// completeRequests performs the completion of requests by one call.
func (m *Model) completeRequests(p *process, c *core.Call, ids, statuses []int64) {
	info := p.Info(c)
	var waits []core.Wait
	var after []func(*regions.CallInfo)
	var told []core.Fetched
	for i, id := range ids {
		r := p.requests.requests[id]
		if r == nil {
			continue
		}
		delete(p.requests.requests, id)
		m.endBuffers(p, r, info)
		if r.op != nil {
			if x := r.op.shared; x != nil && x.region == m.Index() { // another strand may have completed it
				told = x.show(p, buffers, told)
			}
		}
		if n := (i + 1) * trace.StatusWords; n <= len(statuses) && statuses[n-1] != 0 {
			continue // cancelled
		}
		waits = append(waits, r.waits...)
		if r.after != nil {
			after = append(after, r.after)
		}
	}
	if len(waits)+len(after) == 0 {
		if len(told) > 0 {
			p.Fetch(c, told, c.End)
		}
		return
	}
	fetched, learned := p.Learn(told, c.End)
	p.Synchronize(c, nil, append(waits, fetched...), func() {
		for _, f := range after {
			f(info)
		}
		learned()
	})
}

// completions says for each call of the Wait and Test family which requests it
// completes, and with what statuses.
var completions = map[string]func(*core.Call) (ids, statuses []int64){
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

func doWait(m *Model, p *process, c *core.Call, _ *entry) {
	if ids, statuses := completions[c.Fn.Name](c); len(ids) > 0 {
		m.completeRequests(p, c, ids, statuses)
	}
}

// over reports whether a call of the Wait or Test family completed anything.
func over(c *core.Call) bool { return c.Returned && (!c.Has(argFlag) || c.Int(argFlag) != 0) }

func waitOne(c *core.Call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	return []int64{c.Int(argRequest)}, c.List(argStatus)
}

func waitAll(c *core.Call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	return c.List(argRequests), c.List(argStatuses)
}

func waitAny(c *core.Call) (ids, statuses []int64) {
	all := c.List(argRequests)
	i := c.Int(argIndex)
	if !over(c) || i < 0 || i >= int64(len(all)) {
		return nil, nil
	}
	return all[i : i+1], c.List(argStatus)
}

func waitSome(c *core.Call) (ids, statuses []int64) {
	if !over(c) {
		return nil, nil
	}
	all := c.List(argRequests)
	for _, i := range c.List(argIndices) {
		if i >= 0 && i < int64(len(all)) {
			ids = append(ids, all[i])
		}
	}
	return ids, c.List(argStatuses)
}

// doRequestFree: the operation goes on. A send is over when its message has been
// received, which the process may come to know by an answer (MPI 4.1, example
// 3.14), before the request is freed or later; of what else goes on, nothing tells
// when it is over, and its buffers stay in use until the process ends.
func doRequestFree(m *Model, p *process, c *core.Call, _ *entry) {
	id := c.Int(argRequest)
	r := p.requests.requests[id]
	if r != nil && r.op != nil {
		return // checkGivenUp
	}
	if r != nil && r.sent != nil {
		info := p.Info(c)
		for _, s := range r.spans {
			if r.sent.KnownTo(p.Strand) {
				s.Complete(p.Now(), info)
			} else {
				r.sent.Carry(s.Renew(info))
			}
		}
	}
	delete(p.requests.requests, id)
	delete(p.persistent, id)
}

// doCancel: a receive that will turn out to be cancelled gets no message, so
// that the one it was matched with goes to the next.
func doCancel(m *Model, p *process, c *core.Call, _ *entry) {
	id := c.Int(argRequest)
	r := p.requests.requests[id]
	if r == nil || r.sent == nil && r.awaited == nil {
		return
	}
	st := p.peekStatus(id)
	switch {
	case len(st) < trace.StatusWords || st[3] == 0: // it was too late
	case r.awaited != nil && r.awaited.GiveBack():
		r.waits, r.after, r.awaited = nil, nil, nil
	case r.awaited != nil:
		p.NotUnderstood(c, "it cancels a receive behind which others wait for the same messages")
	default:
		p.NotUnderstood(c, "it cancels a send")
	}
}

// coming is what the calls to come will complete: messages match in the order in
// which receives are posted, so which one a wildcard receive will turn out to have
// got must be known then.
type coming struct {
	at       core.Lookahead
	statuses map[int64][][]int64 // of requests; persistent ones several times
}

// status returns the status with which a request will complete, or nil when it
// never does or that is too far ahead. The next time it is about the request's
// next completion.
func (p *process) status(request int64) []int64 {
	st := p.peekStatus(request)
	if st != nil {
		all := p.coming.statuses
		all[request] = all[request][1:]
	}
	return st
}

// peekStatus is status, and the next time the answer is the same.
func (p *process) peekStatus(request int64) []int64 {
	x := &p.coming
	if x.at.Over() {
		*x = coming{at: p.Ahead(), statuses: map[int64][][]int64{}}
	}
	for {
		if st := x.statuses[request]; len(st) > 0 {
			return st[0]
		}
		c := x.at.Call()
		if c == nil {
			return nil
		}
		x.note(core.NewCall(c))
	}
}

// note remembers the statuses of the requests that a call completes.
func (x *coming) note(c *core.Call) {
	completes := completions[c.Fn.Name]
	if completes == nil {
		return
	}
	ids, statuses := completes(c)
	for i, id := range ids {
		if n := (i + 1) * trace.StatusWords; id != 0 && n <= len(statuses) {
			x.statuses[id] = append(x.statuses[id], statuses[n-trace.StatusWords:n])
		}
	}
}
