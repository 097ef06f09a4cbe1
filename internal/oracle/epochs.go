package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

var errNoEpoch = errors.New("no such epoch is open")

// epoch makes a synchronization call on a window other than a fence.
func (s *simulation) epoch(c *Call) (func() bool, error) {
	ws, err := s.window(c)
	if err != nil {
		return nil, err
	}
	switch c.Fn {
	case "MPI_Win_lock":
		return nil, s.lockOne(c, ws)
	case "MPI_Win_lock_all":
		return nil, s.lockAll(c, ws)
	case "MPI_Win_unlock":
		if ws.locks[c.Peer] == 0 {
			return nil, errNoEpoch
		}
		delete(ws.locks, c.Peer)
		delete(s.lock(lockKey{c.Win, c.Peer}).holders, c.Rank)
		s.complete(c.Rank, c.Win, c.Peer)
	case "MPI_Win_unlock_all":
		if !ws.all {
			return nil, errNoEpoch
		}
		for _, t := range s.p.Comms[s.p.Wins[c.Win].Comm].Ranks {
			delete(s.lock(lockKey{c.Win, t}).holders, c.Rank)
		}
		ws.all, ws.acquired = false, map[int]bool{}
		s.complete(c.Rank, c.Win, -1)
	case "MPI_Win_attach", "MPI_Win_detach":
		return nil, s.attach(c, ws)
	case "MPI_Win_flush", "MPI_Win_flush_local":
		if ws.locks[c.Peer] == 0 && (!ws.all || !slices.Contains(s.p.Comms[s.p.Wins[c.Win].Comm].Ranks, c.Peer)) {
			return nil, errNoEpoch
		}
	case "MPI_Win_flush_all", "MPI_Win_flush_local_all":
		if len(ws.locks) == 0 && !ws.all {
			return nil, errNoEpoch
		}
	case "MPI_Win_sync":
	default:
		return s.startComplete(c, ws)
	}
	return nil, nil
}

// passive returns why a lock epoch may not begin now on these targets.
func (s *simulation) passive(c *Call, ws *winState, targets []int) error {
	if ws.all || ws.access != nil || ws.exposure != nil {
		return errors.New("another epoch is open")
	}
	members := s.p.Comms[s.p.Wins[c.Win].Comm].Ranks
	if s.pendingFence(c.Win, members...) {
		return errors.New("operations are pending in a fence epoch")
	}
	for _, t := range targets {
		if !slices.Contains(members, t) {
			return errors.New("target outside the window's communicator")
		}
		if tw := s.ranks[t].wins[c.Win]; tw == nil || tw.freed || tw.exposure != nil {
			return errors.New("the target is exposed")
		}
	}
	return nil
}

func (s *simulation) lockOne(c *Call, ws *winState) error {
	if err := s.passive(c, ws, []int{c.Peer}); err != nil {
		return err
	}
	l := s.lock(lockKey{c.Win, c.Peer})
	if ws.locks[c.Peer] != 0 || !l.free(c.Rank, c.Lock) {
		return errors.New("the target is locked")
	}
	l.holders[c.Rank] = c.Lock
	c.Ticket = l.tickets
	l.tickets++
	ws.locks[c.Peer] = c.Lock
	ws.fence = false
	return nil
}

// lockAll locks the caller's own rank at once, since loads and stores there
// need it, and every other target at the first operation to it.
func (s *simulation) lockAll(c *Call, ws *winState) error {
	if err := s.passive(c, ws, s.p.Comms[s.p.Wins[c.Win].Comm].Ranks); err != nil {
		return err
	}
	own := s.lock(lockKey{c.Win, c.Rank})
	if len(ws.locks) > 0 || !own.free(c.Rank, trace.LockShared) {
		return errors.New("the target is locked")
	}
	own.holders[c.Rank] = trace.LockShared
	ws.all, ws.fence = true, false
	return nil
}

// startComplete makes a post, start, complete, wait or test.
func (s *simulation) startComplete(c *Call, ws *winState) (func() bool, error) {
	switch c.Fn {
	case "MPI_Win_post", "MPI_Win_start":
		if s.pendingFence(c.Win, c.Rank) || len(ws.locks) > 0 || ws.all {
			return nil, errors.New("another epoch is open")
		}
	}
	switch c.Fn {
	case "MPI_Win_post":
		if ws.exposure != nil || len(s.lock(lockKey{c.Win, c.Rank}).holders) > 0 {
			return nil, errors.New("the window is exposed or locked")
		}
		ws.exposure, ws.fence = slices.Clone(c.Group), false
		for _, o := range c.Group {
			s.pscw[pscwKey{"post", c.Win, o, c.Rank}]++
		}
	case "MPI_Win_start":
		if ws.access != nil {
			return nil, errors.New("an access epoch is open")
		}
		ws.access, ws.fence = slices.Clone(c.Group), false
		for _, t := range c.Group {
			s.pscw[pscwKey{"start", c.Win, c.Rank, t}]++
		}
		return s.reached(c.Group, func(t int) (pscwKey, pscwKey) {
			return pscwKey{"post", c.Win, c.Rank, t}, pscwKey{"start", c.Win, c.Rank, t}
		}), nil
	case "MPI_Win_complete":
		if ws.access == nil {
			return nil, errNoEpoch
		}
		for _, t := range ws.access {
			s.pscw[pscwKey{"complete", c.Win, c.Rank, t}]++
			s.complete(c.Rank, c.Win, t)
		}
		ws.access = nil
	case "MPI_Win_wait", "MPI_Win_test":
		return s.exposureEnd(c, ws)
	default:
		return nil, fmt.Errorf("unknown call %s", c.Fn)
	}
	return nil, nil
}

// reached returns a function that reports whether, for every rank, the first
// counter has come as far as the second is now.
func (s *simulation) reached(ranks []int, keys func(rank int) (of, upTo pscwKey)) func() bool {
	want := map[pscwKey]int{}
	for _, r := range ranks {
		of, upTo := keys(r)
		want[of] = s.pscw[upTo]
	}
	return func() bool {
		for k, n := range want {
			if s.pscw[k] < n {
				return false
			}
		}
		return true
	}
}

func (s *simulation) exposureEnd(c *Call, ws *winState) (func() bool, error) {
	if ws.exposure == nil {
		return nil, errNoEpoch
	}
	done := s.reached(ws.exposure, func(o int) (pscwKey, pscwKey) {
		return pscwKey{"complete", c.Win, o, c.Rank}, pscwKey{"post", c.Win, o, c.Rank}
	})
	if c.Fn == "MPI_Win_test" {
		if c.Flag != done() {
			return nil, errors.New("MPI_Win_test would return another flag")
		}
		if !c.Flag {
			return nil, nil
		}
	}
	ws.exposure = nil
	return done, nil
}

// Normalize runs the program from its first call to its last, fills in tickets
// and statuses, and returns an error, which names the call, when this history
// breaks a rule of MPI that the generator keeps.
func (p *Program) Normalize() error {
	s := newSimulation(p)
	for i := range p.Calls {
		if err := s.step(&p.Calls[i]); err != nil {
			return fmt.Errorf("call %d (%s at %s): %w", i, p.Calls[i].Fn, p.Calls[i].Place(), err)
		}
	}
	if err := s.finished(); err != nil {
		return err
	}
	m := p.match()
	for a := range m.acts {
		x := &m.acts[a]
		if c := &p.Calls[x.call]; x.sent >= 0 && c.does() != "MPI_Sendrecv_replace" && m.bytesSent(x.sent) > p.bytes(c.Result.Type, c.Result.Count) {
			return fmt.Errorf("call %d: message longer than the buffer", x.call)
		}
	}
	m.fillStatuses()
	return nil
}
