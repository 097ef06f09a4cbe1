package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// simulation runs a program call by call. It says whether a call may be made
// now by the rules of the MPI standard, and whether a process is inside a call
// that has not returned.
type simulation struct {
	p     *Program
	ranks []process
	locks map[lockKey]*lockState
	colls map[collKey][]collective
	sent  map[channel]int
	recvd map[channel]int
	pscw  map[pscwKey]int
}

// process is what one process is doing.
type process struct {
	inside  func() bool // returns true once its last call can return; nil when it has returned
	wins    map[int]*winState
	passed  map[collKey]int
	reqs    map[int]func() bool // pending requests and whether they can complete
	reqBufs map[int][2]int      // their buffers
	ops     []pendingOp
}

// winState is a window as one process sees it.
type winState struct {
	freed    bool
	fence    bool          // a fence has opened an epoch
	locks    map[int]int64 // open lock epochs by target
	all      bool          // an MPI_Win_lock_all epoch is open
	acquired map[int]bool  // targets locked within it
	access   []int         // targets of MPI_Win_start
	exposure []int         // origins of MPI_Win_post
}

type pendingOp struct {
	win, target int
	fence       bool // issued in a fence epoch
	bufs        [][2]int
}

type lockKey struct{ win, target int }

type lockState struct {
	holders map[int]int64 // by process
	tickets int
}

type collective struct {
	fn      string
	root    int
	assert  int64
	arrived map[int]bool
}

type pscwKey struct {
	fn                  string
	win, origin, target int
}

func newSimulation(p *Program) *simulation {
	s := &simulation{
		p: p, ranks: make([]process, p.Ranks), locks: map[lockKey]*lockState{},
		colls: map[collKey][]collective{}, sent: map[channel]int{}, recvd: map[channel]int{}, pscw: map[pscwKey]int{},
	}
	for i := range s.ranks {
		s.ranks[i] = process{wins: map[int]*winState{}, passed: map[collKey]int{}, reqs: map[int]func() bool{}, reqBufs: map[int][2]int{}}
	}
	return s
}

// blocked reports whether the process is inside a call that cannot return yet.
func (s *simulation) blocked(rank int) bool {
	in := s.ranks[rank].inside
	return in != nil && !in()
}

// step makes one call, or returns why it cannot be made and changes nothing.
// It fills in the call's ticket.
func (s *simulation) step(c *Call) error {
	if s.blocked(c.Rank) {
		return fmt.Errorf("process %d is still inside its last call", c.Rank)
	}
	if err := s.checkMemory(c); err != nil {
		return err
	}
	var err error
	var inside func() bool
	switch {
	case c.isLocal():
	case c.isOperation():
		err = s.operation(c)
	case c.isCollective():
		inside, err = s.collective(c)
	case c.onWindow():
		inside, err = s.epoch(c)
	case c.sends() || c.receives():
		inside, err = s.message(c)
	case c.Fn == "MPI_Wait" || c.Fn == "MPI_Waitall":
		inside, err = s.waitFor(c)
	default:
		err = fmt.Errorf("unknown call %s", c.Fn)
	}
	if err != nil {
		return err
	}
	s.ranks[c.Rank].inside = inside
	return nil
}

// finished returns what is still open after the last call.
func (s *simulation) finished() error {
	for r := range s.ranks {
		q := &s.ranks[r]
		if s.blocked(r) {
			return fmt.Errorf("process %d never leaves its last call", r)
		}
		if len(q.reqs) > 0 || len(q.ops) > 0 {
			return fmt.Errorf("process %d has pending operations", r)
		}
		for w, ws := range q.wins {
			if len(ws.locks) > 0 || ws.all || ws.access != nil || ws.exposure != nil {
				return fmt.Errorf("process %d has an open epoch on window %d", r, w)
			}
		}
	}
	for ch, n := range s.sent {
		if s.recvd[ch] != n {
			return fmt.Errorf("unmatched messages from %d to %d", ch.from, ch.to)
		}
	}
	for ch, n := range s.recvd {
		if s.sent[ch] != n {
			return fmt.Errorf("unmatched receives at %d from %d", ch.to, ch.from)
		}
	}
	return nil
}

// spans returns the bounds in its process's memory of the call's buffers.
func (p *Program) spans(c *Call) [][2]int {
	var out [][2]int
	add := func(b Buf) {
		if b.Count > 0 {
			l := p.elements(b.Type, b.Count)
			out = append(out, [2]int{b.Off + l.lb, b.Off + l.ub})
		}
	}
	if c.isLocal() {
		last := c.Off + (c.Count-1)*c.Stride
		return [][2]int{{min(c.Off, last), max(c.Off, last) + c.Elem}}
	}
	origin, result, compare := p.buffers(c)
	for _, b := range []*Buf{origin, result, compare} {
		if b != nil {
			add(*b)
		}
	}
	return out
}

// buffers returns the buffers that the call uses; nil for each that it does not.
func (p *Program) buffers(c *Call) (origin, result, compare *Buf) {
	switch c.Fn {
	case "MPI_Put", "MPI_Accumulate", "MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Bcast":
		return &c.Origin, nil, nil
	case "MPI_Get", "MPI_Recv", "MPI_Irecv":
		return nil, &c.Result, nil
	case "MPI_Get_accumulate", "MPI_Fetch_and_op":
		if c.Op == "MPI_NO_OP" {
			return nil, &c.Result, nil
		}
		return &c.Origin, &c.Result, nil
	case "MPI_Sendrecv":
		return &c.Origin, &c.Result, nil
	case "MPI_Compare_and_swap":
		return &c.Origin, &c.Result, &c.Compare
	case "MPI_Reduce", "MPI_Allreduce":
		if c.Fn == "MPI_Reduce" && c.Peer != c.Rank {
			return &c.Origin, nil, nil
		}
		if c.InPlace {
			return nil, &c.Result, nil
		}
		return &c.Origin, &c.Result, nil
	}
	return nil, nil, nil
}

// checkMemory wants the call's buffers inside its process's memory, and not in
// memory that MPI_Win_allocate has not yet given or MPI_Win_free has taken.
func (s *simulation) checkMemory(c *Call) error {
	for _, b := range s.p.spans(c) {
		if b[0] < 0 || b[1] > s.p.Size[c.Rank] {
			return errors.New("buffer outside the process's memory")
		}
		for w := range s.p.Wins {
			win := &s.p.Wins[w]
			if !win.allocates() || !slices.Contains(s.p.Comms[win.Comm].Ranks, c.Rank) || b[1] <= win.Off[c.Rank] || b[0] >= win.Off[c.Rank]+win.Size[c.Rank] {
				continue
			}
			if ws := s.ranks[c.Rank].wins[w]; ws == nil || ws.freed {
				return errors.New("buffer in memory that is not allocated")
			}
		}
	}
	return nil
}

func (s *simulation) lock(k lockKey) *lockState {
	if s.locks[k] == nil {
		s.locks[k] = &lockState{holders: map[int]int64{}}
	}
	return s.locks[k]
}

// free reports whether the process may get the lock now.
func (l *lockState) free(rank int, kind int64) bool {
	for r, k := range l.holders {
		if r != rank && (k == trace.LockExclusive || kind == trace.LockExclusive) {
			return false
		}
	}
	return true
}

// window returns the caller's view of a window that is alive.
func (s *simulation) window(c *Call) (*winState, error) {
	if c.Win < 0 || c.Win >= len(s.p.Wins) {
		return nil, errors.New("no such window")
	}
	ws := s.ranks[c.Rank].wins[c.Win]
	if ws == nil || ws.freed {
		return nil, errDead
	}
	return ws, nil
}

var errDead = errors.New("the window does not exist now")

// operation checks that a one-sided operation lies in an epoch that allows it.
func (s *simulation) operation(c *Call) error {
	ws, err := s.window(c)
	if err != nil {
		return err
	}
	win := &s.p.Wins[c.Win]
	if !slices.Contains(s.p.Comms[win.Comm].Ranks, c.Peer) {
		return errors.New("target outside the window's communicator")
	}
	if c.TCount > 0 {
		l := s.p.elements(c.TType, c.TCount)
		if at := c.Disp * win.Unit[c.Peer]; at+l.lb < 0 || at+l.ub > win.Size[c.Peer] {
			return errors.New("target outside the window")
		}
	}
	c.Ticket = -1
	fence := false
	switch {
	case ws.all:
		if !ws.acquired[c.Peer] {
			l := s.lock(lockKey{c.Win, c.Peer})
			if !l.free(c.Rank, trace.LockShared) {
				return errors.New("the target is locked")
			}
			l.holders[c.Rank] = trace.LockShared
			c.Ticket = l.tickets
			l.tickets++
			ws.acquired[c.Peer] = true
		}
	case ws.locks[c.Peer] != 0 || slices.Contains(ws.access, c.Peer):
	case ws.fence && len(ws.locks) == 0 && ws.access == nil && ws.exposure == nil:
		fence = true
	default:
		return errors.New("operation outside an epoch")
	}
	q := &s.ranks[c.Rank]
	q.ops = append(q.ops, pendingOp{win: c.Win, target: c.Peer, fence: fence, bufs: s.p.spans(c)})
	return nil
}

// complete forgets the operations of a process on a window to a target, or to
// all with target -1.
func (s *simulation) complete(rank, win, target int) {
	q := &s.ranks[rank]
	q.ops = slices.DeleteFunc(q.ops, func(o pendingOp) bool {
		return o.win == win && (target < 0 || o.target == target)
	})
}

// pending reports whether any process has operations pending in a fence epoch.
func (s *simulation) pendingFence(win int, ranks ...int) bool {
	for _, r := range ranks {
		if slices.ContainsFunc(s.ranks[r].ops, func(o pendingOp) bool { return o.win == win && o.fence }) {
			return true
		}
	}
	return false
}

// collective enters a collective call.
func (s *simulation) collective(c *Call) (func() bool, error) {
	if err := s.collectiveAllowed(c); err != nil {
		return nil, err
	}
	members, key := s.p.members(c), s.p.collKey(c)
	if !slices.Contains(members, c.Rank) {
		return nil, errors.New("not a member of the communicator")
	}
	q := &s.ranks[c.Rank]
	n := q.passed[key]
	if n == len(s.colls[key]) {
		s.colls[key] = append(s.colls[key], collective{fn: c.Fn, root: c.Peer, assert: c.Assert, arrived: map[int]bool{}})
	}
	me := &s.colls[key][n]
	if me.fn != c.Fn || me.root != c.Peer || me.assert != c.Assert {
		return nil, fmt.Errorf("%s meets %s", c.Fn, me.fn)
	}
	q.passed[key]++
	me.arrived[c.Rank] = true
	switch c.Fn {
	case "MPI_Win_create", "MPI_Win_allocate":
		q.wins[c.Win] = &winState{locks: map[int]int64{}, acquired: map[int]bool{}}
	case "MPI_Win_free":
		q.wins[c.Win].freed = true
	case "MPI_Win_fence":
		s.complete(c.Rank, c.Win, -1)
		q.wins[c.Win].fence = c.Assert&trace.AssertNoSucceed == 0
	}
	arrived := me.arrived
	all := func() bool { return len(arrived) == len(members) }
	switch {
	case c.Fn == "MPI_Bcast" && c.Rank != c.Peer:
		return func() bool { return arrived[c.Peer] }, nil
	case c.Fn == "MPI_Bcast", c.Fn == "MPI_Reduce" && c.Rank != c.Peer, c.Fn == "MPI_Win_fence" && c.Assert&trace.AssertNoPrecede != 0:
		return nil, nil
	}
	return all, nil
}

// collectiveAllowed checks what fences and the making and freeing of windows
// ask for beyond being collective.
func (s *simulation) collectiveAllowed(c *Call) error {
	q := &s.ranks[c.Rank]
	switch c.Fn {
	case "MPI_Win_create", "MPI_Win_allocate":
		if q.wins[c.Win] != nil {
			return errors.New("the window exists")
		}
	case "MPI_Win_fence", "MPI_Win_free":
		ws, err := s.window(c)
		if err != nil {
			return err
		}
		if len(ws.locks) > 0 || ws.all || ws.access != nil || ws.exposure != nil {
			return errors.New("an epoch is open")
		}
		if (c.Fn == "MPI_Win_free" || c.Assert&trace.AssertNoPrecede != 0) && s.pendingFence(c.Win, c.Rank) {
			return errors.New("operations are pending")
		}
		if c.Fn == "MPI_Win_free" && s.p.Wins[c.Win].allocates() && s.inUse(c) {
			return errors.New("pending operations use the memory")
		}
	}
	return nil
}

// inUse reports whether buffers of pending operations of the caller lie in the
// window's memory.
func (s *simulation) inUse(c *Call) bool {
	win := &s.p.Wins[c.Win]
	lo, hi := win.Off[c.Rank], win.Off[c.Rank]+win.Size[c.Rank]
	q := &s.ranks[c.Rank]
	for _, b := range q.reqBufs {
		if b[0] < hi && lo < b[1] {
			return true
		}
	}
	for _, o := range q.ops {
		for _, b := range o.bufs {
			if b[0] < hi && lo < b[1] {
				return true
			}
		}
	}
	return false
}
