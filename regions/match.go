package regions

import (
	"github.com/mcchk/mcchk/trace"
)

// chanKey names a channel of signals from one process to another that match in
// order: messages of one communicator and tag, posts, completes.
type chanKey struct {
	kind     int64 // 'm' message, 'p' post → start, 'c' complete → wait
	on       int64
	from, to int32
	tag      int64
}

// channel matches the k-th signal with the k-th wait.
type channel struct {
	sent, received uint64
	slots          map[uint64]*slot
}

// slot is one match: the signal forth, the signal that a synchronous send
// waits for, and the accesses that the wait completes.
type slot struct {
	forth, back signal
	open        []*span
	openOut     int  // more of them, that are left out
	over        bool // the wait is over
	of          *channel
	n           uint64 // its number there, from 1
	sides       uint8  // how many of the two sides have it
	parts       *partitioned
}

// finish notes on the waiting side that the wait is over.
func (s *slot) finish(p *proc, by *CallInfo) {
	s.over = true
	for _, sp := range s.open {
		sp.close(p.here(), by)
	}
	s.open = nil
}

// giveBack takes the last match back from the receiving side, for the next
// receive. It reports whether the match is the last.
func (s *slot) giveBack() bool {
	c := s.of
	if c.received != s.n {
		return false
	}
	c.received--
	s.sides--
	c.slots[s.n] = s
	return true
}

func (m *Machine) channel(k chanKey) *channel {
	c := m.channels[k]
	if c == nil {
		c = &channel{slots: map[uint64]*slot{}}
		m.channels[k] = c
	}
	return c
}

// at returns the n-th match to one of its two sides.
func (c *channel) at(n uint64) *slot {
	s := c.look(n)
	if s.sides++; s.sides == 2 {
		delete(c.slots, n)
	}
	return s
}

// look returns the n-th match, of which at least one side is to come.
func (c *channel) look(n uint64) *slot {
	s := c.slots[n]
	if s == nil {
		s = &slot{of: c, n: n}
		c.slots[n] = s
	}
	return s
}

func (c *channel) nextSent() *slot {
	c.sent++
	return c.at(c.sent)
}

func (c *channel) nextReceived() *slot {
	c.received++
	return c.at(c.received)
}

// message returns the channel of a message between two processes over the
// call's communicator; nil when one of the two is none.
func (m *Machine) message(c *call, from, to int32, tag int64) *channel {
	if from < 0 || to < 0 {
		return nil
	}
	return m.channel(chanKey{kind: 'm', on: c.num("comm"), from: from, to: to, tag: tag})
}

// request is a non-blocking operation that is not yet complete.
type request struct {
	spans   []*span
	waits   []wait
	after   func(by *CallInfo) // to do when the waits are over; may be nil
	op      *operation         // of a one-sided operation with a request
	epoch   *epochs
	sent    *slot // of a send
	awaited *slot // of a receive
	part    *partitions
}

// arrives makes the request wait for a message.
func (r *request) arrives(p *proc, s *slot) {
	r.awaited = s
	r.waits = append(r.waits, awaitMessage(s))
	r.after = func(by *CallInfo) { s.finish(p, by) }
}

func (m *Machine) addRequest(p *proc, c *call, r *request) {
	id := c.num("request")
	if id == 0 {
		return
	}
	p.requests[id] = r
	for _, s := range r.spans {
		s.request = id
	}
}

// completeRequests performs the completion of requests by one call.
func (m *Machine) completeRequests(p *proc, c *call, ids, statuses []int64) {
	info := p.info(c)
	var waits []wait
	var after []func(*CallInfo)
	for i, id := range ids {
		r := p.requests[id]
		if r == nil {
			continue
		}
		delete(p.requests, id)
		for _, s := range r.spans {
			s.close(p.here(), info)
		}
		if r.op != nil {
			m.finish(p, r.epoch, info, buffers, func(o *operation) bool { return o == r.op })
		}
		if n := (i + 1) * trace.StatusWords; n <= len(statuses) && statuses[n-1] != 0 {
			continue // cancelled
		}
		waits = append(waits, r.waits...)
		if r.after != nil {
			after = append(after, r.after)
		}
	}
	if len(waits)+len(after) > 0 {
		m.synchronize(p, c, nil, waits, func() {
			for _, f := range after {
				f(info)
			}
		})
	}
}
