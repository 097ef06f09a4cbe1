package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/trace"
)

// chanKey names a channel of signals from one process to another that match in
// order: messages of one communicator and tag, posts, completes.
type chanKey struct {
	kind     byte // 'm' message, 'p' post → start, 'c' complete → wait
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
}

func (m *Machine) channel(k chanKey) *channel {
	c := m.channels[k]
	if c == nil {
		c = &channel{slots: map[uint64]*slot{}}
		m.channels[k] = c
	}
	return c
}

func (c *channel) at(n uint64) *slot {
	s := c.slots[n]
	if s == nil {
		s = &slot{}
		c.slots[n] = s
	} else {
		delete(c.slots, n) // both sides have it now
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

// message returns the channel of a message between two ranks of a
// communicator, or nil when one of them is no process.
func (m *Machine) message(p *proc, c *call, from, to, tag int64) *channel {
	members := m.members(p, c)
	if members == nil || from < 0 || to < 0 || from >= int64(len(members)) || to >= int64(len(members)) {
		return nil
	}
	return m.channel(chanKey{kind: 'm', on: c.num("comm"), from: members[from], to: members[to], tag: tag})
}

// rankIn returns the rank of the process in the call's communicator, or -1.
func (m *Machine) rankIn(p *proc, c *call) int64 {
	for i, r := range m.members(p, c) {
		if r == p.rank {
			return int64(i)
		}
	}
	return -1
}

// members returns the world ranks of the call's communicator, by rank in it;
// nil, and a problem noted, when it is not known.
func (m *Machine) members(p *proc, c *call) []int32 {
	id := c.num("comm")
	if ranks, ok := m.comms[id]; ok {
		return ranks
	}
	ranks := m.commRanks(p, id)
	if ranks == nil && !c.bad {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("communicator %d is not defined, or connects two groups", id))
		return nil
	}
	m.comms[id] = ranks
	return ranks
}

func (m *Machine) commRanks(p *proc, id int64) []int32 {
	def := p.stream.Comm(id)
	switch {
	case def != nil && def.Inter:
		return nil
	case def != nil:
		var ranks []int32
		for _, run := range def.Ranks {
			for k := range run.Count {
				r := run.First + k*run.Stride
				if r < 0 || r >= int64(len(m.procs)) || len(ranks) >= len(m.procs) {
					return nil
				}
				ranks = append(ranks, int32(r))
			}
		}
		return ranks
	case id == trace.CommWorld:
		ranks := make([]int32, len(m.procs))
		for i := range ranks {
			ranks[i] = int32(i)
		}
		return ranks
	case id == int64(p.rank+1)<<32|1:
		return []int32{p.rank}
	}
	return nil
}

// request is a non-blocking operation that is not yet complete.
type request struct {
	spans []*span
	waits []wait
	after func()     // of a collective call
	op    *operation // of a one-sided operation with a request
	epoch *epochs
}

func (m *Machine) addRequest(p *proc, c *call, r *request) {
	if id := c.num("request"); id != 0 {
		p.requests[id] = r
	}
}

// completeRequests performs the completion of requests by one call.
func (m *Machine) completeRequests(p *proc, c *call, ids, statuses []int64) {
	info := p.info(c)
	var waits []wait
	var after []func()
	for i, id := range ids {
		r := p.requests[id]
		if r == nil {
			continue
		}
		delete(p.requests, id)
		if n := (i + 1) * trace.StatusWords; n > len(statuses) || statuses[n-1] == 0 {
			waits = append(waits, r.waits...) // not cancelled
		}
		if r.after != nil {
			after = append(after, r.after)
		}
		for _, s := range r.spans {
			s.close(p.here(), info)
		}
		if r.op != nil {
			r.epoch.finish(p, info, buffers, func(o *operation) bool { return o == r.op })
		}
	}
	if len(waits)+len(after) > 0 {
		m.synchronize(p, c, nil, waits, func() {
			for _, f := range after {
				f()
			}
		})
	}
}
