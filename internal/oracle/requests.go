package oracle

import (
	"errors"
	"fmt"
	"slices"
)

// request is one that a process has.
type request struct {
	call     Call // that made it
	active   bool
	done     func() bool // of an active one: whether it can complete
	instance int         // of a persistent collective: which of its sequence
	runs     int
	post     *post    // of an active receive
	ready    [][]bool // of a partitioned send: by run, which partitions are ready
}

// stream is what was sent and posted on a channel.
type stream struct {
	sent  int
	posts []*post
}

func (s *simulation) stream(ch channel) *stream {
	if s.streams[ch] == nil {
		s.streams[ch] = &stream{}
	}
	return s.streams[ch]
}

// reach checks that the caller may use the communicator with these processes.
func (s *simulation) reach(c *Call, others ...int) error {
	if c.Comm < 0 || c.Comm >= len(s.p.Comms) || !s.has(c.Rank, c.Comm) {
		return errors.New("the caller does not have the communicator")
	}
	_, peers := s.p.Comms[c.Comm].group(c.Rank)
	for _, o := range others {
		if o != ProcNull && !slices.Contains(peers, o) {
			return errors.New("outside the communicator")
		}
	}
	return nil
}

// has reports whether a process has a communicator now.
func (s *simulation) has(rank, comm int) bool {
	return slices.Contains(s.p.Comms[comm].all(), rank) && (!s.made[comm] || s.ranks[rank].comms[comm])
}

// message begins a point-to-point operation, and returns whether it can end.
func (s *simulation) message(c *Call) (func() bool, *post, error) {
	if c.does() == "MPI_Mrecv" {
		q := s.ranks[c.Rank].handles[c.Msg]
		if q == nil {
			return nil, nil, errors.New("no such message")
		}
		q.started = true
		delete(s.ranks[c.Rank].handles, c.Msg)
		return yes, nil, nil
	}
	var err error
	if c.sends() {
		err = s.reach(c, c.Peer)
	}
	if err == nil && c.receives() {
		err = s.reach(c, c.Source)
	}
	if err != nil {
		return nil, nil, err
	}
	sent, received := yes, yes
	if c.sends() && c.Peer != ProcNull {
		st := s.stream(c.sendChannel())
		n := st.sent
		if c.does() == "MPI_Rsend" && (n >= len(st.posts) || !st.posts[n].started) {
			return nil, nil, errors.New("ready send without a receive")
		}
		st.sent++
		if c.does() == "MPI_Ssend" {
			sent = func() bool { return n < len(st.posts) && st.posts[n].started }
		}
	}
	var q *post
	if c.receives() && c.Source != ProcNull {
		st := s.stream(c.recvChannel())
		q = &post{started: true}
		st.posts = append(st.posts, q)
		received = func() bool {
			n := slices.Index(st.posts, q)
			return n < st.sent // also when it is cancelled
		}
	}
	return func() bool { return sent() && received() }, q, nil
}

func yes() bool { return true }

// probe makes a probe of some kind.
func (s *simulation) probe(c *Call) (func() bool, error) {
	if err := s.reach(c, c.Source); err != nil {
		return nil, err
	}
	matched := c.Fn == "MPI_Mprobe" || c.Fn == "MPI_Improbe"
	if c.Source == ProcNull {
		if matched {
			return nil, errors.New("matched probe of MPI_PROC_NULL")
		}
		c.Flag = c.Fn == "MPI_Iprobe"
		return nil, nil
	}
	st := s.stream(c.recvChannel())
	n := len(st.posts)
	there := func() bool { return st.sent > n }
	if c.Fn == "MPI_Iprobe" || c.Fn == "MPI_Improbe" {
		switch {
		case !c.Flag:
			return nil, nil
		case !there():
			return nil, errors.New("nothing to be found")
		}
	}
	if matched {
		q := &s.ranks[c.Rank]
		if q.handles[c.Msg] != nil {
			return nil, errors.New("the message handle is in use")
		}
		q.handles[c.Msg] = &post{}
		st.posts = append(st.posts, q.handles[c.Msg])
	}
	return there, nil
}

// communicate makes a message or collective call of any form.
func (s *simulation) communicate(c *Call) (func() bool, error) {
	q := &s.ranks[c.Rank]
	if c.form() != blocking {
		if len(c.Reqs) != 1 || q.reqs[c.Reqs[0]] != nil {
			return nil, errors.New("the request is in use")
		}
	}
	if c.form() == persistent {
		r := &request{call: *c}
		if c.isCollective() {
			n, err := s.enter(c)
			if err != nil {
				return nil, err
			}
			r.instance = n
		} else if err := s.reach(c); err != nil {
			return nil, err
		}
		if c.Partitions > 0 {
			s.pair(r)
		}
		q.reqs[c.Reqs[0]] = r
		return nil, nil
	}
	var done func() bool
	var p *post
	var err error
	if c.isCollective() {
		done, err = s.collective(c)
	} else {
		done, p, err = s.message(c)
	}
	if err != nil || c.form() == blocking {
		return done, err
	}
	q.reqs[c.Reqs[0]] = &request{call: *c, active: true, done: done, post: p}
	return nil, nil
}

// requests makes a call on requests.
func (s *simulation) requests(c *Call) (func() bool, error) {
	q := &s.ranks[c.Rank]
	for _, r := range c.Reqs {
		if r >= 0 && q.reqs[r] == nil {
			return nil, errNoRequest
		}
	}
	switch c.Fn {
	case "MPI_Start", "MPI_Startall":
		return nil, s.start(c)
	case "MPI_Request_free":
		return nil, s.release(c)
	case "MPI_Cancel":
		return nil, s.cancel(c)
	case "MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived":
		return nil, s.partition(c)
	case "MPI_Testany":
		if !c.Flag && !s.anyActive(c) || c.Flag && len(c.Done) == 0 && s.anyActive(c) {
			return nil, errors.New("MPI_Testany would return another flag")
		}
	}
	if len(c.Reqs) == 0 {
		return nil, errNoRequest
	}
	var all []func() bool
	for _, r := range c.completed() {
		switch {
		case r < 0 || !q.reqs[r].active:
			if c.Fn != "MPI_Wait" && c.Fn != "MPI_Waitall" && c.Fn != "MPI_Testall" && c.Fn != "MPI_Test" {
				return nil, errors.New("the request is not active")
			}
		default:
			all = append(all, q.reqs[r].done)
		}
	}
	done := func() bool { return !slices.ContainsFunc(all, func(f func() bool) bool { return !f() }) }
	switch c.Fn {
	case "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status":
		if !done() {
			return nil, errors.New("the request is not complete")
		}
	case "MPI_Waitany", "MPI_Waitsome":
		if len(all) == 0 {
			return nil, errors.New("nothing completes")
		}
	}
	if c.Fn != "MPI_Request_get_status" {
		s.finish(c)
	}
	return done, nil
}

var errNoRequest = errors.New("no such request")

// finish forgets what the call completes.
func (s *simulation) finish(c *Call) {
	q := &s.ranks[c.Rank]
	for _, r := range c.completed() {
		if r < 0 || !q.reqs[r].active {
			continue
		}
		x := q.reqs[r]
		if x.call.isOperation() {
			s.requestDone(c.Rank, r)
		}
		if x.call.does() == "MPI_Comm_dup" {
			q.comms[x.call.New] = true
		}
		if x.active, x.post = false, nil; x.call.form() != persistent {
			delete(q.reqs, r)
		}
	}
}

func (s *simulation) anyActive(c *Call) bool {
	return slices.ContainsFunc(c.Reqs, func(r int) bool { return r >= 0 && s.ranks[c.Rank].reqs[r].active })
}

// start makes an MPI_Start or MPI_Startall.
func (s *simulation) start(c *Call) error {
	q := &s.ranks[c.Rank]
	for k, r := range c.Reqs {
		if r < 0 || q.reqs[r].active || q.reqs[r].call.form() != persistent || slices.Contains(c.Reqs[:k], r) {
			return errors.New("the request cannot be started")
		}
		if err := s.checkMemory(&q.reqs[r].call); err != nil {
			return err
		}
		if d := &q.reqs[r].call; d.does() == "MPI_Rsend" {
			st := s.stream(d.sendChannel())
			if len(c.Reqs) > 1 || d.Peer != ProcNull && (st.sent >= len(st.posts) || !st.posts[st.sent].started) {
				return errors.New("ready send without a receive")
			}
		}
	}
	for _, r := range c.Reqs {
		x := q.reqs[r]
		switch d := x.call; {
		case d.isCollective():
			x.done = s.arrive(&d, x.instance, x.runs)
		case d.Partitions > 0:
			x.done = s.startPartitions(x)
		default:
			done, p, err := s.message(&d)
			if err != nil {
				return fmt.Errorf("request %d: %w", r, err)
			}
			x.done, x.post = done, p
		}
		x.active = true
		x.runs++
	}
	return nil
}

// release makes an MPI_Request_free: of an inactive request, or of a send (MPI
// standard, 3.7.3; not of a one-sided operation, 12.3.5).
func (s *simulation) release(c *Call) error {
	q := &s.ranks[c.Rank]
	x := q.reqs[c.Reqs[0]]
	if x.active && (x.call.isOperation() || x.call.receives() || x.call.isCollective() || x.call.does() == "MPI_Mrecv" || x.call.Partitions > 0) {
		return errors.New("the request may not be freed")
	}
	if x.active {
		q.freed = append(q.freed, s.p.spans(&x.call)...)
	}
	delete(q.reqs, c.Reqs[0])
	return nil
}

// cancel makes an MPI_Cancel of a receive.
func (s *simulation) cancel(c *Call) error {
	x := s.ranks[c.Rank].reqs[c.Reqs[0]]
	if !x.active || x.post == nil || x.call.sends() {
		return errors.New("the request cannot be cancelled")
	}
	st := s.stream(x.call.recvChannel())
	if k := slices.Index(st.posts, x.post); k >= st.sent {
		st.posts = slices.Delete(st.posts, k, k+1)
	}
	return nil
}
