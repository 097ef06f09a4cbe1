package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Feature is something that a generated program may contain.
type Feature uint

// Features that Options.Without can leave out. Each program has some of them:
// it draws which.
const (
	NoPrecede     Feature = 1 << iota // fences with MPI_MODE_NOPRECEDE (choice 4)
	Overlapping                       // two windows over the same memory (choice 15)
	ShortMessages                     // receive buffers longer than the message (choice 10)
	InPlace                           // MPI_IN_PLACE (choice 9)
	Wildcards                         // MPI_ANY_SOURCE, MPI_ANY_TAG
	Derived                           // derived datatypes
	Exposure                          // post, start, complete, wait
	Locks                             // lock, lock_all and their flushes
	Atomics                           // accumulates and fetching operations
	Messages                          // point-to-point communication
	SubComms                          // communicators other than MPI_COMM_WORLD
	EmptyOps                          // one-sided operations with a count of 0

	RequestOps    // one-sided operations with requests
	SendModes     // buffered, ready and synchronous sends, Sendrecv_replace, Isendrecv
	Persistent    // persistent point-to-point communication
	Probes        // probes, matched ones too
	NullProcess   // MPI_PROC_NULL
	Cancels       // MPI_Cancel of a receive
	TestForms     // completion that depends on timing: Waitany, Waitsome, the Test family, MPI_Request_get_status
	FreedRequests // MPI_Request_free of an active send
	Collectives   // all blocking collectives
	NonblockingCollectives
	PersistentCollectives
	Neighbours  // Cartesian and graph communicators and their collectives
	Intercomms  // intercommunicators
	Partitioned // partitioned communication
	SharedWins  // MPI_Win_allocate_shared
	DynamicWins // MPI_Win_create_dynamic
	WindowInfo  // accumulate_ops, accumulate_ordering
	NoCheck     // MPI_MODE_NOCHECK
	PairTypes   // MPI_DOUBLE_INT and the like
	AllTypes    // every datatype constructor; otherwise contiguous and vector
	Outlasting  // locks of shared windows that are given up before what uses the memory is complete
	Scattered   // short messages, into datatypes whose data are not in the order of their addresses
	features
)

// Ordinary features are in most programs, the others in some.
const Ordinary = NoPrecede | Overlapping | ShortMessages | InPlace | Wildcards | Derived | Exposure | Locks | Atomics | Messages | SubComms | EmptyOps

// Options of Generate. The zero value asks for everything.
type Options struct {
	MinRanks, MaxRanks int     // 2 and 5 when 0
	Calls              int     // about how many calls at most; 20 to 120 by the seed when 0
	Without            Feature // what to leave out
	All                bool    // every program has everything that is not left out
	// Purge is the chance that accesses and operations that conflict are
	// taken out again, until the program has no race or few: 0 means the
	// default 0.6; negative never.
	Purge float64
}

// Generate makes a program from a seed: the same for the same seed and
// options. It is the history of a run that could happen, and normalized.
func Generate(seed int64, opts Options) *Program {
	if opts.MinRanks == 0 {
		opts.MinRanks = 2
	}
	if opts.MaxRanks == 0 {
		opts.MaxRanks = 5
	}
	if opts.Purge == 0 {
		opts.Purge = 0.6
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0x6d63_6368_6b))
	g := newGenerator(r, opts)
	if err := g.run(); err != nil {
		panic(fmt.Sprintf("oracle: seed %d: %v\n%s", seed, err, g.p)) // the generator is wrong
	}
	p := g.p
	g.number()
	if r.Float64() < opts.Purge {
		p = purge(p, r)
	}
	return p
}

// generator builds a program while it simulates it. What several processes do
// together is queued at all of them at once, in one order, so that no process
// waits for another that waits for it; the rest each decides for itself.
type generator struct {
	*rand.Rand
	has     Feature
	p       *Program
	s       *simulation
	queue   [][]task
	plan    []mode   // of each window, once all queues are done
	seen    [][]mode // of each window as each process has reached it
	closing []closing
	units   int
	reqs    int
	msgs    []int // matched messages of each process
	limit   int
	memory  []Window       // where each window's memory is, also that of a dynamic one
	usable  []int          // communicators that all members have, as the queues stand
	groups  []started      // persistent requests that can be started again
	once    []started      // and those that cannot
	locks   map[[3]int]int // unit of each open lock epoch: process, window, target
	pending [][]pendingRequest
}

// mode is what kind of epochs a window is in.
type mode int

const (
	unborn mode = iota
	idle
	fenced
	locked
	exposed
	dead
)

// task is a call that a process has to make some time.
type task struct {
	Call
	mode  mode  // what the window is in afterwards; 0 unchanged
	quiet bool  // its request may not be waited for yet
	opens int   // index + 1 of the window whose mode it is, where the call does not name it
	frees []int // requests that may be waited for from then on
	may   bool  // it is left out where it cannot be made
}

// closing is an exposure of a window that has yet to be ended.
type closing struct {
	win, unit        int
	origins, targets []int
}

type pendingRequest struct{ id, unit int }

func newGenerator(r *rand.Rand, opts Options) *generator {
	g := &generator{Rand: r, has: opts.draw(r), locks: map[[3]int]int{}, usable: []int{0}}
	n := opts.MinRanks + r.IntN(opts.MaxRanks-opts.MinRanks+1)
	g.limit = opts.Calls
	if g.limit == 0 {
		g.limit = 20 + r.IntN(101)
	}
	p := &Program{Ranks: n, Types: Predefined(), Comms: []Comm{{}}}
	for i := range n {
		p.Base = append(p.Base, 0x10000+16*uint64(r.IntN(4)))
		p.Size = append(p.Size, private)
		p.Comms[0].Ranks = append(p.Comms[0].Ranks, i)
	}
	g.p = p
	g.queue, g.pending, g.msgs = make([][]task, n), make([][]pendingRequest, n), make([]int, n)
	g.s = newSimulation(p)
	if g.with(Derived) {
		g.derivedTypes()
	}
	if g.with(SubComms) && g.chance(0.5) {
		g.newComm()
	}
	return g
}

// draw picks the features of a program.
func (o Options) draw(r *rand.Rand) Feature {
	var has Feature
	share := 0.1 + 0.5*r.Float64()
	for f := Feature(1); f < features; f <<= 1 {
		if p := r.Float64(); o.All || p < share || f&Ordinary != 0 && p < 0.9 {
			has |= f
		}
	}
	for f, needs := range map[Feature]Feature{
		Outlasting: SharedWins | Locks | RequestOps,
		Scattered:  ShortMessages | Derived | Messages,
	} {
		switch {
		case o.Without&(f|needs) != 0:
			has &^= f
		case has&f != 0:
			has |= needs
		}
	}
	return has &^ o.Without
}

func (g *generator) with(f Feature) bool   { return g.has&f != 0 }
func (g *generator) chance(p float64) bool { return g.Float64() < p }
func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
func (g *generator) unit() int             { g.units++; return g.units }
func (g *generator) push(r int, c Call, m mode) {
	c.Rank = r
	g.queue[r] = append(g.queue[r], task{Call: c, mode: m})
}

// run generates the whole history.
func (g *generator) run() error {
	if g.with(Outlasting) {
		g.newWindow("MPI_Win_allocate_shared", locked)
	} else {
		g.newWindow(g.someWindow(), g.someMode())
	}
	if g.chance(0.4) {
		g.newWindow(g.someWindow(), g.someMode())
	}
	for tries := 0; len(g.p.Calls) < g.limit && tries < 20*g.limit; tries++ {
		if g.chance(0.16) && g.backlog() < 3*g.p.Ranks {
			g.plot()
		}
		r := g.IntN(g.p.Ranks)
		if g.s.blocked(r) {
			continue
		}
		if len(g.queue[r]) > 0 && g.chance(0.25) {
			g.advance(r)
		} else {
			g.act(r)
		}
	}
	return g.drain()
}

func (g *generator) backlog() int {
	n := 0
	for _, q := range g.queue {
		n += len(q)
	}
	return n
}

// drain brings everything to an end.
func (g *generator) drain() error {
	for len(g.closing) > 0 {
		g.close(0)
	}
	for w, m := range g.plan {
		if m == fenced {
			g.fence(w, idle)
		}
	}
	for _, s := range slices.Concat(g.groups, g.once) {
		for k, r := range s.ranks {
			g.push(r, Call{Fn: "MPI_Request_free", Unit: s.unit, Reqs: []int{s.reqs[k]}}, 0)
		}
	}
	for w, m := range g.plan {
		if m != dead {
			g.freeWindow(w)
		}
	}
	for _, comm := range g.usable[1:] {
		if g.chance(0.5) {
			g.make(Call{Fn: "MPI_Comm_free", Comm: comm}, g.p.Comms[comm].all(), nil)
		}
	}
	for idleTurns := 0; ; {
		var ready []int
		for r := range g.p.Ranks {
			if !g.s.blocked(r) && (len(g.queue[r]) > 0 || len(g.pending[r]) > 0) {
				ready = append(ready, r)
			}
		}
		if len(ready) == 0 {
			break
		}
		r := pick(g.Rand, ready)
		n := len(g.p.Calls)
		switch {
		case len(g.pending[r]) > 0 && g.chance(0.3):
			g.waitSome(r)
		case len(g.queue[r]) > 0:
			g.advance(r)
		}
		if idleTurns++; len(g.p.Calls) > n {
			idleTurns = 0
		}
		if idleTurns > 1000 {
			return fmt.Errorf("process %d cannot go on with %v", r, g.queue[r])
		}
	}
	return g.s.finished()
}

// emit makes a call if it may be made now.
func (g *generator) emit(c Call) bool {
	if g.s.step(&c) != nil {
		return false
	}
	g.p.Calls = append(g.p.Calls, c)
	switch c.Fn {
	case "MPI_Win_lock":
		g.locks[[3]int{c.Rank, c.Win, c.Peer}] = c.Unit
	case "MPI_Win_lock_all":
		g.locks[[3]int{c.Rank, c.Win, -1}] = c.Unit
	}
	return true
}

// number gives every call its source place.
func (g *generator) number() {
	lines := make([]int, g.p.Ranks)
	for i := range g.p.Calls {
		c := &g.p.Calls[i]
		lines[c.Rank]++
		c.Line = lines[c.Rank]
	}
}

// advance makes the next queued call of a process, or a call that it needs
// first.
func (g *generator) advance(r int) {
	t := g.queue[r][0]
	if t.may {
		g.tryOut(r, t.Call)
		return
	}
	if t.Fn == "MPI_Win_fence" || t.Fn == "MPI_Win_free" || t.Fn == "MPI_Win_detach" || t.Fn == "MPI_Win_post" || t.Fn == "MPI_Win_start" {
		if g.unlockAny(r, t.Win) {
			return
		}
	}
	if t.Fn == "MPI_Win_free" && g.p.Wins[t.Win].allocates() && g.letGo(r) {
		return
	}
	if t.Fn == "MPI_Win_wait" && g.chance(0.4) {
		test := t.Call
		test.Fn, test.Flag = "MPI_Win_test", g.chance(0.5)
		if g.emit(test) && test.Flag {
			g.queue[r] = g.queue[r][1:]
		}
		return
	}
	if g.inactive(r, &t.Call) && g.waitFor(r, t.Reqs[0]) {
		return
	}
	if g.startAll(r) {
		return
	}
	if !g.emit(t.Call) {
		if t.Fn == "MPI_Iprobe" || t.Fn == "MPI_Improbe" || t.Fn == "MPI_Parrived" {
			t.Flag, t.Msg = false, 0
			g.inVain(t.Call)
		}
		return
	}
	g.queue[r] = g.queue[r][1:]
	if t.mode != 0 {
		w := t.Win
		if t.opens > 0 {
			w = t.opens - 1
		}
		g.seen[w][r] = t.mode
	}
	if !t.quiet {
		g.track(r, &t.Call)
	}
	for _, q := range t.frees {
		g.pending[r] = append(g.pending[r], pendingRequest{q, t.Unit})
	}
}

// inVain makes a call that tests for something without success, now and then.
func (g *generator) inVain(c Call) {
	if g.chance(0.3) && len(g.p.Calls) < 2*g.limit {
		g.emit(c)
	}
}

// letGo completes something that may still use memory about to be freed.
func (g *generator) letGo(r int) bool {
	if len(g.pending[r]) > 0 {
		g.waitSome(r)
		return true
	}
	for w := range g.p.Wins {
		if g.unlockAny(r, w) {
			return true
		}
	}
	return false
}

// unlockAny ends a lock epoch of the process on the window, if there is one.
func (g *generator) unlockAny(r, w int) bool {
	ws := g.s.ranks[r].wins[w]
	if ws == nil {
		return false
	}
	if ws.all || len(ws.locks) > 0 {
		for _, o := range g.s.ranks[r].ops {
			if o.win == w && o.req >= 0 {
				return g.waitFor(r, o.req)
			}
		}
	}
	if ws.all {
		return g.emit(Call{Rank: r, Fn: "MPI_Win_unlock_all", Unit: g.locks[[3]int{r, w, -1}], Win: w})
	}
	for _, t := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		if ws.locks[t] != 0 {
			return g.emit(Call{Rank: r, Fn: "MPI_Win_unlock", Unit: g.locks[[3]int{r, w, t}], Win: w, Peer: t})
		}
	}
	return false
}

// act lets a process do something on its own.
func (g *generator) act(r int) {
	switch x := g.Float64(); {
	case x < 0.2:
		g.touch(r)
	case x < 0.7:
		for try := 0; try < 4 && !g.oneSided(r); try++ {
		}
	case x < 0.93:
		for try := 0; try < 3 && !g.lockCall(r); try++ {
		}
	case len(g.pending[r]) > 0 && x < 0.97:
		g.waitSome(r)
	}
}

// touch makes a load or store.
func (g *generator) touch(r int) {
	c := Call{Rank: r, Fn: pick(g.Rand, []string{"load", "store"}), Unit: g.unit(), Elem: 1 << g.IntN(4), Count: 1}
	if g.chance(0.3) {
		c.Count = 2 + g.IntN(3)
		c.Stride = c.Elem + g.IntN(2*c.Elem+1)
		if g.chance(0.1) {
			c.Stride = -c.Stride
		}
	}
	span := g.p.spans(&c)[0]
	if c.Of, c.Off = g.elsewhere(r, span.lo, span.hi); c.Of == 0 {
		c.Off = g.offset(r, span.lo, span.hi)
	}
	g.emit(c)
}

// private is the size in bytes of the part of a process's memory that lies in
// no window, unless MPI_Win_create takes it; every buffer fits into it.
const private = 160

// offset picks a place for something that reaches from lo to hi around it, in
// the private part of a process's memory or in the memory of a window.
func (g *generator) offset(r, lo, hi int) int {
	from, size := 0, 32
	if w := g.IntN(max(1, len(g.p.Wins))); w < len(g.p.Wins) && slices.Contains(g.p.Comms[g.p.Wins[w].Comm].Ranks, r) && g.chance(0.7) &&
		!(g.p.Wins[w].allocates() && g.plan[w] == dead) {
		from, size = g.memory[w].Off[r], g.memory[w].Size[r]
	}
	room := size - (hi - lo)
	if room < 0 {
		from, room = 0, max(0, private-(hi-lo))
	}
	at := g.IntN(room + 1)
	if g.chance(0.7) {
		at &^= 3
	}
	return from - lo + at
}

// buffer picks a buffer that holds n elements of a predefined type. Its type
// may be derived, and n may become larger.
func (g *generator) buffer(r, basic, n int) Buf {
	b := Buf{Type: basic, Count: n}
	for t := predefined; t < len(g.p.Types); t++ {
		k := g.p.layout(t).count
		if g.p.basic(t) != basic || k == 0 || n%k != 0 || g.chance(0.5) {
			continue
		}
		if lo, hi := g.p.reach(t, n/k); hi-lo <= private {
			b.Type, b.Count = t, n/k
		}
	}
	return g.place(r, b)
}

func (g *generator) place(r int, b Buf) Buf {
	lo, hi := g.p.reach(b.Type, b.Count)
	if b.Of, b.Off = g.elsewhere(r, lo, hi); b.Of == 0 {
		b.Off = g.offset(r, lo, hi)
	}
	return b
}
