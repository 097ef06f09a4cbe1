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
	here  map[instance]map[int]bool // who has come to a collective operation
	pscw  map[pscwKey]int

	streams map[channel]*stream
	sides   map[bool]map[channel][]*request // partitioned sends (true) and receives by channel
	made    map[int]bool                    // communicators that the program makes
}

// process is what one process is doing.
type process struct {
	inside  func() bool // returns true once its last call can return; nil when it has returned
	wins    map[int]*winState
	passed  map[collKey]int
	reqs    map[int]*request // those that it has
	handles map[int]*post    // messages that it matched and has not received
	comms   map[int]bool     // communicators that it has made
	freed   []span           // buffers of requests that were freed while active
	ops     []pendingOp
	team    *team // nil: there is one strand
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
	attached []span        // of a dynamic window
}

type pendingOp struct {
	win, target int
	fence       bool // issued in a fence epoch
	req         int  // -1 none
	reads       bool // changes nothing at its target
	bufs        []span
}

type lockKey struct{ win, target int }

type lockState struct {
	holders map[int]int64 // by process
	tickets int
}

type collective struct {
	fn     string
	root   int
	assert int64
}

type pscwKey struct {
	fn                  string
	win, origin, target int
}

func newSimulation(p *Program) *simulation {
	s := &simulation{
		p: p, ranks: make([]process, p.Ranks), locks: map[lockKey]*lockState{},
		colls: map[collKey][]collective{}, here: map[instance]map[int]bool{}, pscw: map[pscwKey]int{},
		streams: map[channel]*stream{}, sides: map[bool]map[channel][]*request{true: {}, false: {}}, made: map[int]bool{},
	}
	for i := range s.ranks {
		s.ranks[i] = process{wins: map[int]*winState{}, passed: map[collKey]int{}, reqs: map[int]*request{}, handles: map[int]*post{}, comms: map[int]bool{}}
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.makesComm() && c.New >= 0 {
			s.made[c.New] = true
		}
		if c.isStrandEvent() && s.ranks[c.Rank].team == nil {
			s.ranks[c.Rank].team = newTeam()
		}
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
	team := s.ranks[c.Rank].team
	var uses []resource
	if team != nil {
		uses = c.resources()
	}
	switch {
	case c.isStrandEvent():
		return team.event(c)
	case c.Strand != 0 && (team == nil || team.strands[c.Strand] == nil || team.strands[c.Strand].ended):
		return errNoStrand
	case team != nil && len(team.unknown(c, uses)) > 0:
		return errors.New("another strand does something that is not ordered with it")
	}
	if err := s.checkMemory(c); err != nil {
		return err
	}
	var err error
	var inside func() bool
	switch c.family() {
	case localAccess:
	case operationCall:
		err = s.operation(c)
	case collectiveCall, messageCall:
		inside, err = s.communicate(c)
	case probeCall:
		inside, err = s.probe(c)
	case requestCall:
		inside, err = s.requests(c)
	default:
		inside, err = s.epoch(c)
	}
	if err != nil {
		return err
	}
	s.ranks[c.Rank].inside = inside
	if team != nil {
		team.call(c, uses)
	}
	return nil
}

// finished returns what is still open after the last call.
func (s *simulation) finished() error {
	for r := range s.ranks {
		q := &s.ranks[r]
		if s.blocked(r) {
			return fmt.Errorf("process %d never leaves its last call", r)
		}
		if q.team != nil && len(q.team.beside()) > 0 {
			return fmt.Errorf("process %d ends beside a strand of it", r)
		}
		for _, x := range q.reqs {
			if x.active {
				return fmt.Errorf("process %d has active requests", r)
			}
		}
		if len(q.handles) > 0 || len(q.ops) > 0 {
			return fmt.Errorf("process %d has pending operations", r)
		}
		for w, ws := range q.wins {
			if len(ws.locks) > 0 || ws.all || ws.access != nil || ws.exposure != nil {
				return fmt.Errorf("process %d has an open epoch on window %d", r, w)
			}
		}
	}
	for ch, st := range s.streams {
		if st.sent != len(st.posts) {
			return fmt.Errorf("unmatched messages from %d to %d", ch.from, ch.to)
		}
	}
	return nil
}

// checkMemory wants the call's buffers inside its process's memory, and not in
// memory that MPI_Win_allocate has not yet given or MPI_Win_free has taken.
func (s *simulation) checkMemory(c *Call) error {
	for _, b := range s.p.spans(c) {
		if b.lo < 0 || b.hi > s.p.Size[b.rank] {
			return errors.New("buffer outside the process's memory")
		}
		if !s.allocated(c.Rank, b) {
			return errors.New("buffer in memory that is not allocated")
		}
	}
	return nil
}

// allocated reports whether memory is none that windows are given, or that of
// one that the process has now. That of another process can be seen through a
// shared window only.
func (s *simulation) allocated(rank int, b span) bool {
	some := b.rank != rank
	for w := range s.p.Wins {
		win := &s.p.Wins[w]
		if !win.allocates() || !b.meets(win.part(b.rank)) {
			continue
		}
		if ws := s.ranks[rank].wins[w]; ws != nil && !ws.freed && (b.rank == rank || win.At != nil && b.within(win.part(b.rank))) {
			return true
		}
		some = true
	}
	return !some
}

// part returns where in a process's memory a window lies.
func (w *Window) part(rank int) span { return span{rank, w.Off[rank], w.Off[rank] + w.Size[rank]} }

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
	if c.form() == nonblocking {
		if !ws.all && len(ws.locks) == 0 {
			return errors.New("operation with a request outside a lock epoch")
		}
		if s.ranks[c.Rank].reqs[c.Reqs[0]] != nil {
			return errors.New("the request is in use")
		}
	}
	if c.Peer == ProcNull {
		return s.toNobody(c, ws)
	}
	if !slices.Contains(s.p.Comms[win.Comm].Ranks, c.Peer) {
		return errors.New("target outside the window's communicator")
	}
	if lo, hi := s.p.reach(c.TType, c.TCount); lo < hi {
		if at := c.Disp * win.Unit[c.Peer]; !s.inside(c.Win, span{c.Peer, at + lo, at + hi}) {
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
	op := pendingOp{win: c.Win, target: c.Peer, fence: fence, req: -1, reads: c.onlyReads(), bufs: s.p.spans(c)}
	if c.form() == nonblocking {
		op.req = c.Reqs[0]
		q.reqs[op.req] = &request{call: *c, active: true, done: yes}
	}
	q.ops = append(q.ops, op)
	return nil
}

// inside reports whether the window has this memory, counted from where its
// displacements count.
func (s *simulation) inside(win int, b span) bool {
	w := &s.p.Wins[win]
	if w.Make != "MPI_Win_create_dynamic" {
		return b.within(span{b.rank, 0, w.Size[b.rank]})
	}
	ws := s.ranks[b.rank].wins[win]
	return ws != nil && slices.ContainsFunc(ws.attached, b.within)
}

// attach makes an MPI_Win_attach or MPI_Win_detach.
func (s *simulation) attach(c *Call, ws *winState) error {
	k := slices.IndexFunc(ws.attached, func(b span) bool { return b.lo == c.Off })
	switch {
	case s.p.Wins[c.Win].Make != "MPI_Win_create_dynamic":
		return errors.New("not a dynamic window")
	case c.Fn == "MPI_Win_detach" && k < 0:
		return errors.New("nothing is attached there")
	case c.Fn == "MPI_Win_detach":
		for r := range s.ranks {
			if slices.ContainsFunc(s.ranks[r].ops, func(o pendingOp) bool { return o.win == c.Win && o.target == c.Rank }) {
				return errors.New("operations are pending")
			}
		}
		ws.attached = slices.Delete(ws.attached, k, k+1)
		return nil
	}
	b := span{c.Rank, c.Off, c.Off + c.Bytes}
	if slices.ContainsFunc(ws.attached, b.meets) || !s.allocated(c.Rank, b) {
		return errors.New("the memory cannot be attached")
	}
	ws.attached = append(ws.attached, b)
	return nil
}

// toNobody makes an operation whose target is MPI_PROC_NULL.
func (s *simulation) toNobody(c *Call, ws *winState) error {
	c.Ticket = -1
	if !ws.all && len(ws.locks) == 0 && ws.access == nil && !ws.fence {
		return errors.New("operation outside an epoch")
	}
	if c.form() == nonblocking {
		s.ranks[c.Rank].reqs[c.Reqs[0]] = &request{call: *c, active: true, done: yes}
	}
	return nil
}

// requestDone completes an operation by its request: its buffers, and of one
// that only reads all of it.
func (s *simulation) requestDone(rank, req int) {
	q := &s.ranks[rank]
	q.ops = slices.DeleteFunc(q.ops, func(o pendingOp) bool { return o.req == req && o.reads })
	for i := range q.ops {
		if q.ops[i].req == req {
			q.ops[i].req, q.ops[i].bufs = -1, nil
		}
	}
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

// collective makes a collective call, and returns whether it can end.
func (s *simulation) collective(c *Call) (func() bool, error) {
	n, err := s.enter(c)
	if err != nil {
		return nil, err
	}
	q := &s.ranks[c.Rank]
	switch {
	case c.makesWindow():
		q.wins[c.Win] = &winState{locks: map[int]int64{}, acquired: map[int]bool{}}
	case c.Fn == "MPI_Win_free":
		q.wins[c.Win].freed = true
	case c.Fn == "MPI_Win_fence":
		s.complete(c.Rank, c.Win, -1)
		q.wins[c.Win].fence = c.Assert&trace.AssertNoSucceed == 0
	case c.makesComm() && c.New >= 0 && c.form() == blocking:
		q.comms[c.New] = true
	}
	return s.arrive(c, n, 0), nil
}

// enter takes the caller's next place in a sequence of collective calls, and
// returns it.
func (s *simulation) enter(c *Call) (int, error) {
	if err := s.collectiveAllowed(c); err != nil {
		return 0, err
	}
	if !slices.Contains(s.p.members(c), c.Rank) || !s.has(c.Rank, s.p.commOf(c)) {
		return 0, errors.New("not a member of the communicator")
	}
	key := s.p.collKey(c)
	q := &s.ranks[c.Rank]
	n := q.passed[key]
	if n == len(s.colls[key]) {
		s.colls[key] = append(s.colls[key], collective{fn: c.Fn, root: c.Peer, assert: c.Assert})
	}
	me := &s.colls[key][n]
	if me.fn != c.Fn || me.root != c.Peer && c.rooted() || me.assert != c.Assert {
		return 0, fmt.Errorf("%s meets %s", c.Fn, me.fn)
	}
	q.passed[key]++
	return n, nil
}

// arrive comes to a collective operation, and returns whether all are there
// that the caller has to wait for.
func (s *simulation) arrive(c *Call, n, run int) func() bool {
	at := instance{s.p.collKey(c), n, run}
	if s.here[at] == nil {
		s.here[at] = map[int]bool{}
	}
	here := s.here[at]
	here[c.Rank] = true
	var wanted []int
	for _, m := range s.p.members(c) {
		if m != c.Rank && s.p.signals(c, m, c.Rank) {
			wanted = append(wanted, m)
		}
	}
	return func() bool {
		for _, m := range wanted {
			if !here[m] {
				return false
			}
		}
		return true
	}
}

// collectiveAllowed checks what fences and the making and freeing of windows
// ask for beyond being collective.
func (s *simulation) collectiveAllowed(c *Call) error {
	q := &s.ranks[c.Rank]
	switch {
	case c.makesWindow():
		if q.wins[c.Win] != nil {
			return errors.New("the window exists")
		}
	case c.Fn == "MPI_Win_fence", c.Fn == "MPI_Win_free":
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
	meets := func(b span) bool { return b.meets(win.part(b.rank)) }
	q := &s.ranks[c.Rank]
	used := slices.ContainsFunc(q.freed, meets)
	for _, x := range q.reqs {
		if x.active || x.call.form() == persistent {
			used = used || slices.ContainsFunc(s.p.spans(&x.call), meets)
		}
	}
	for _, o := range q.ops {
		used = used || slices.ContainsFunc(o.bufs, meets)
	}
	for w, ws := range q.wins {
		if w != c.Win && !ws.freed {
			used = used || slices.ContainsFunc(ws.attached, meets) || s.p.Wins[w].Make == "MPI_Win_create" && meets(s.p.Wins[w].part(c.Rank))
		}
	}
	return used
}
