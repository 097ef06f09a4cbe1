package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// turn says when a process may make a call of a program that is run for real.
type turn struct {
	take  int  // it is the call's turn when all with smaller numbers are over; -1 it has none
	await int  // without a turn of its own: the turn that lets the call return; -1 none
	early bool // the turn is over before the call is made, which may wait for others
}

// schedule returns the turns of all calls, by index, and how many turns there
// are. The calls take their turns in the order of p.Calls as far as MPI
// libraries let them, which make processes wait where the standard need not
// have them: a collective call returns when all have made it, a partitioned
// send is complete no sooner than its receive has been started, and
// MPI_Win_lock_all waits for all exclusive locks of the window. Everything that
// a trace shows stays as it is. An error means that there is no such order.
func (p *Program) schedule() ([]turn, int, error) {
	if err := p.Normalize(); err != nil {
		return nil, 0, err
	}
	s := &scheduler{
		p: p, sim: newSimulation(p), next: make([][]int, p.Ranks),
		turns: make([]turn, len(p.Calls)), waiting: make([]int, p.Ranks),
		arrived: map[instance]int{}, passed: make([]map[collKey]int, p.Ranks), inside: make([]func() bool, p.Ranks),
		requests: map[int]*scheduled{}, partitioned: map[string]int{}, cancelled: map[int]bool{},
	}
	for _, a := range p.match().acts {
		s.cancelled[a.req] = a.gone
	}
	for i := range p.Calls {
		s.next[p.Calls[i].Rank] = append(s.next[p.Calls[i].Rank], i)
	}
	for r := range p.Ranks {
		s.waiting[r], s.passed[r] = -1, map[collKey]int{}
	}
	for range p.Calls {
		if err := s.one(); err != nil {
			return nil, 0, err
		}
	}
	return s.turns, s.total, nil
}

var errOrder = errors.New("MPI libraries let the calls happen in no order that leaves this trace")

type scheduler struct {
	p       *Program
	sim     *simulation
	next    [][]int // calls still to be made by each process
	turns   []turn
	total   int
	waiting []int // by process: the call it is in whose await is not known yet; -1 none
	arrived map[instance]int
	passed  []map[collKey]int
	inside  []func() bool // by process: whether its last call returns, as far as collective operations are concerned

	requests    map[int]*scheduled // of collective and partitioned operations
	partitioned map[string]int     // sides of partitioned messages so far, by side and channel
	cancelled   map[int]bool       // requests whose last activation is cancelled
}

// scheduled is the request of a collective operation.
type scheduled struct {
	instance instance // the run counts
	members  int
	done     func() bool
}

// one makes the first call that can be made.
func (s *scheduler) one() error {
	var ready []int
	for r, calls := range s.next {
		if len(calls) > 0 && !s.blocked(r) {
			ready = append(ready, calls[0])
		}
	}
	slices.Sort(ready)
	for _, i := range ready {
		c := s.p.Calls[i]
		if !s.allowed(i) || s.sim.step(&c) != nil {
			continue
		}
		s.next[c.Rank] = s.next[c.Rank][1:]
		if d := &s.p.Calls[i]; c.Ticket != d.Ticket {
			return fmt.Errorf("call %d gets ticket %d instead of %d: %w", i, c.Ticket, d.Ticket, errOrder)
		}
		return s.made(i)
	}
	return errOrder
}

func (s *scheduler) blocked(r int) bool {
	return s.sim.blocked(r) || s.inside[r] != nil && !s.inside[r]()
}

// allowed reports whether a call may be made now without leaving another trace
// and without the library making it wait for the turn of another.
func (s *scheduler) allowed(i int) bool {
	c := &s.p.Calls[i]
	switch {
	case c.family() == requestCall && c.Flag:
		return s.complete(c)()
	case c.Fn == "MPI_Cancel":
		x := s.sim.ranks[c.Rank].reqs[c.Reqs[0]]
		if x == nil || x.post == nil {
			return true // the simulation says what is wrong
		}
		st := s.sim.stream(x.call.recvChannel())
		return slices.Index(st.posts, x.post) >= st.sent == s.cancelled[c.Reqs[0]]
	case c.Fn == "MPI_Win_lock":
		if c.Lock == trace.LockExclusive && s.lockedAll(c) {
			return false
		}
		return s.sim.lock(lockKey{c.Win, c.Peer}).tickets == c.Ticket
	case c.isOperation() && c.Ticket >= 0:
		return s.sim.lock(lockKey{c.Win, c.Peer}).tickets == c.Ticket
	case c.Fn == "MPI_Win_lock_all":
		for k, l := range s.sim.locks {
			for r, kind := range l.holders {
				if k.win == c.Win && r != c.Rank && kind == trace.LockExclusive {
					return false
				}
			}
		}
	}
	return true
}

// lockedAll reports whether another process has locked all of the window.
func (s *scheduler) lockedAll(c *Call) bool {
	for r := range s.p.Ranks {
		if ws := s.sim.ranks[r].wins[c.Win]; r != c.Rank && ws != nil && ws.all {
			return true
		}
	}
	return false
}

// made gives a call its turn, and those that it lets return theirs.
func (s *scheduler) made(i int) error {
	c := &s.p.Calls[i]
	s.collective(c)
	t := turn{take: -1, await: -1}
	blocked := s.blocked(c.Rank)
	switch {
	case c.isLocal():
	case blocked && !(c.family() == messageCall && c.sends()):
		s.waiting[c.Rank] = i
	default:
		t.take, t.early = s.total, blocked
		s.total++
	}
	s.turns[i] = t
	for r, j := range s.waiting {
		if j < 0 || s.blocked(r) {
			continue
		}
		if t.take < 0 {
			return fmt.Errorf("call %d, which waits itself, lets call %d return", i, j)
		}
		s.turns[j].await, s.waiting[r] = t.take, -1
	}
	return nil
}

// collective notes what a call does for collective operations.
func (s *scheduler) collective(c *Call) {
	s.inside[c.Rank] = nil
	switch {
	case c.isCollective():
		k := s.p.collKey(c)
		at := instance{k, s.passed[c.Rank][k], 0}
		s.passed[c.Rank][k]++
		x := &scheduled{instance: at, members: len(s.p.members(c))}
		switch c.form() {
		case blocking:
			s.arrive(x)
			s.inside[c.Rank] = x.done
		case nonblocking:
			s.arrive(x)
			fallthrough
		case persistent:
			s.requests[c.Reqs[0]] = x
		}
	case c.Partitions > 0:
		ch, side := c.sendChannel(), "send"
		if c.does() == "MPI_Precv" {
			ch, side = c.recvChannel(), "receive"
		}
		k := collKey{of: fmt.Sprintf("partitioned %v", ch)}
		n := s.partitioned[side+k.of]
		s.partitioned[side+k.of]++
		s.requests[c.Reqs[0]] = &scheduled{instance: instance{k, n, 0}, members: 2}
	case c.Fn == "MPI_Start" || c.Fn == "MPI_Startall":
		for _, r := range c.Reqs {
			if x := s.requests[r]; x != nil {
				s.arrive(x)
				x.instance.run++
			}
		}
	case c.family() == requestCall:
		s.inside[c.Rank] = s.complete(c)
	}
}

// arrive comes to a collective operation, which is complete when all members
// have come.
func (s *scheduler) arrive(x *scheduled) {
	at, members := x.instance, x.members
	s.arrived[at]++
	x.done = func() bool { return s.arrived[at] == members }
}

// complete returns whether the collective operations are complete that the
// call completes.
func (s *scheduler) complete(c *Call) func() bool {
	var all []func() bool
	for _, r := range c.completed() {
		if x := s.requests[r]; x != nil && x.done != nil {
			all = append(all, x.done)
		}
	}
	return func() bool { return !slices.ContainsFunc(all, func(done func() bool) bool { return !done() }) }
}
