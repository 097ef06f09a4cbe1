package regions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// Stream is what a Machine needs of one process's trace; *trace.Reader is one.
type Stream interface {
	ReadEvent(*trace.Event) error
	Type(id int64) *trace.Type
	Comm(id int64) *trace.Comm
	Op(id int64) string
}

// accessStream is a Stream that gives several accesses at once.
type accessStream interface {
	Stream
	// ReadStretch returns some of the accesses that come next, all of one
	// strand, and the strand; false where something else comes. They stay as
	// they are until the next event is read.
	ReadStretch() (trace.Stretch, uint32, bool)
}

// Stats counts what a Machine has replayed.
type Stats struct {
	Calls      uint64
	Operations uint64 // one-sided operations
	Loads      uint64 // elements
	Stores     uint64
	Runs       uint64 // load and store records
	Accesses   uint64 // Runs and the accesses that calls make
	Windows    int
	LostCalls  uint64
	LostAccess uint64
	Units      uint64 // instrumented translation units, the sum over processes
	Ended      int    // processes that came to their end
	Spilled    SpillStats
}

// Machine replays the streams of a run.
type Machine struct {
	clocks *evc.Maker
	procs  []*proc
	queue  []*proc // processes that can go on, in order

	index int // of the current concurrent region
	grown int // loads, stores, accesses of calls and separate regions of the phase, by what they take
	limit int // of grown, at which a phase may end
	phase int // the least of limits
	turn  int // events that a process replays before others have their turn
	old   int // calls that the phase before had already
	clock evc.Clock
	calls []*Access
	spans spanList
	slab  []Access

	moments    []moments // of accesses of the phase that are complete, by the owner of the memory
	settled    int       // accesses in them
	phases     int       // so far
	shapes     []*shape
	shapeOfKey map[shapeKey]*shape
	enders     []CallInfo // calls that completed accesses, without their Pos; two that are none first
	enderOf    map[CallInfo]uint32
	lastBy     *CallInfo // the last of them, which has number lastEnder
	lastEnder  uint32
	again      []*Access // of regions that have been searched, for reuse
	spareSpans []*span
	spareOps   []*operation
	leftOut    leftOut
	arrived    int   // processes that stand at the global synchronization
	closer     *proc // the first that came

	comms    map[int64]*communicator
	colls    map[collKey]*collective
	channels map[chanKey]*channel
	windows  windows
	lockSets []*LockSet
	store    *store
	epochs   uint64 // lock epochs so far

	model MemoryModel
	part  Part
	tick  func()

	observer Observer     // nil: none
	observed ObservedCall // room for what it is told
	met      Mark         // of the processes that stand at the global synchronization

	copies []*copies // parts of windows with the separate memory model

	anyLockOrder bool
	lockSpans    []*lockSpan // of the region, and those still open; with anyLockOrder only

	stats    Stats
	problems problems
	usages   usages
	order    callOrder
	reaches  []*reach        // into dynamic windows, of operations issued in this region
	mayOrder map[string]bool // calls met that may order processes, but need not
	stopped  bool            // nothing more can be replayed
}

// Options of a replay.
type Options struct {
	Clock string // a name that evc.NewMaker knows
	Model MemoryModel
	// Part of the memory whose loads and stores regions hold. All else, counts
	// included, is the same for all parts.
	Part Part
	// AnyLockOrder leaves out the order in which locks were granted: then
	// locks only exclude. What such a replay finds could have happened had
	// they been granted in another order.
	AnyLockOrder bool
	// Memory is how many bytes of accesses may be held; what is more is
	// written to files without a name in os.TempDir. 0 means no limit.
	Memory int64
	// Tick, if set, is called every few hundred events.
	Tick func()
	// Phase is how many loads, stores, accesses of calls and separate regions
	// a phase of a concurrent region holds before it may end; 0 means a
	// default that takes some ten megabytes.
	Phase int
	// Observer, if set, is told what is replayed.
	Observer Observer
	// Turn is how many events of a process are replayed before others have
	// their turn, so that none gets far ahead, and its accesses become past;
	// 0 means a default.
	Turn int
}

func (o Options) phase() int {
	switch {
	case o.AnyLockOrder:
		return math.MaxInt // what orders locks is looked for in whole regions
	case o.Phase > 0:
		return o.Phase
	}
	return 1 << 17
}

// NewMachine returns a Machine for the streams of all processes of a run, by
// world rank; nil for a process without a trace. The error is that of
// evc.NewMaker.
func NewMachine(streams []Stream, opts Options) (*Machine, error) {
	clocks, err := evc.NewMaker(opts.Clock, len(streams))
	if err != nil {
		return nil, err
	}
	m := &Machine{
		clocks:   clocks,
		store:    newStore(opts.Memory, len(streams)),
		comms:    map[int64]*communicator{},
		mayOrder: map[string]bool{},
		limit:    opts.phase(),
		phase:    opts.phase(),
		turn:     cmp.Or(opts.Turn, 512),
		colls:    map[collKey]*collective{},
		channels: map[chanKey]*channel{},
		windows:  windows{byID: map[int64]*window{}},

		model: opts.Model, part: opts.Part, tick: opts.Tick, observer: opts.Observer, anyLockOrder: opts.AnyLockOrder,
	}
	for i, s := range streams {
		m.procs = append(m.procs, newProc(i, s))
	}
	m.beginRegion()
	return m, nil
}

// Stats returns what was replayed so far.
func (m *Machine) Stats() Stats {
	s := m.stats
	s.Windows, s.Spilled = m.windows.created, m.store.spilled
	return s
}

// Problems returns what was not understood, not matched or missing so far, in
// a stable order.
func (m *Machine) Problems() []Problem { return m.problems.list(m) }

// MayOrder names the calls met so far that may have ordered processes without
// the Machine knowing: those that are not understood, and those that need not
// synchronise. Sorted.
func (m *Machine) MayOrder() []string {
	names := maps.Clone(m.mayOrder)
	for _, p := range m.Problems() {
		if p.MayOrder {
			names[p.Fn] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (m *Machine) beginRegion() {
	m.clock, m.calls, m.old, m.arrived, m.grown = m.clocks.New(), nil, 0, 0, 0
	m.limit, m.lockSets = m.phase, []*LockSet{nil}
	m.beginMoments()
	m.windows.purge()
	m.beginCopies()
	m.forgetLocks()
	for _, p := range m.procs {
		p.beginRegion(m)
		if p.state == running {
			m.queue = append(m.queue, p)
		}
	}
	m.carry()
	m.carryLocks()
	m.released()
	for _, p := range m.procs {
		if after := p.after; after != nil {
			p.after = nil
			after()
		}
	}
}

// lockIndex returns the index of a lock set among those of the region.
func (m *Machine) lockIndex(s *LockSet) uint32 {
	if s == nil {
		return 0
	}
	m.lockSets = append(m.lockSets, s)
	return uint32(len(m.lockSets) - 1)
}

// carry takes the accesses that are not complete into the region that begins:
// there they start with it.
func (m *Machine) carry() {
	m.leftOut.new = m.leftOut.open
	for s := range m.spans.all {
		a := m.newAccess(*s.access)
		a.Start = Point{Rank: a.Rank, Seg: before}
		a.Gated = s.gated
		a.Gate = Point{Rank: a.Owner, Seg: later}
		a.Old = !a.Gated
		s.access, s.listed = a, true
		m.calls = append(m.calls, a)
	}
}

// newAccess returns a copy of an access.
func (m *Machine) newAccess(a Access) *Access {
	p := m.accessRoom()
	*p = a
	return p
}

// accessRoom returns room for an access, with whatever was there before.
func (m *Machine) accessRoom() *Access {
	if len(m.again) == 0 {
		m.again = m.store.takeCalls(m.again)
	}
	if n := len(m.again); n > 0 {
		p := m.again[n-1]
		m.again = m.again[:n-1]
		return p
	}
	if len(m.slab) == 0 {
		m.slab = make([]Access, 256)
	}
	p := &m.slab[0]
	m.slab = m.slab[1:]
	return p
}

// Next replays one concurrent region, or the next phase of a long one: all
// accesses that are not past, those of the phase before among them (see
// phase.go). It returns io.EOF after the last; other errors are the context's, and
// those of files that hold what does not fit into memory.
func (m *Machine) Next(ctx context.Context) (*Region, error) {
	if m.stopped {
		return nil, io.EOF
	}
	for {
		r, err := m.drain(ctx)
		if r != nil || err != nil {
			return r, err
		}
		if m.arrived == len(m.procs) {
			return m.endRegion(false), nil
		}
		if m.arrived == 0 && m.allEnded() {
			return m.endRegion(true), nil
		}
		if !m.releaseSoft() {
			m.problems.stuck(m)
			return m.endRegion(true), nil
		}
	}
}

// drain lets every process go on as far as it can. It returns a phase when one
// is over before that.
func (m *Machine) drain(ctx context.Context) (*Region, error) {
	for len(m.queue) > 0 {
		p := m.queue[0]
		m.queue = m.queue[1:]
		if err := m.run(ctx, p); err != nil {
			return nil, err
		}
		if m.store.err == nil && m.grown >= m.limit {
			if r := m.endPhase(); r != nil {
				return r, m.store.err
			}
		}
		if m.store.err != nil {
			return nil, m.store.err
		}
	}
	m.queue = nil
	return nil, nil
}

func (m *Machine) allEnded() bool {
	for _, p := range m.procs {
		if p.state != ended {
			return false
		}
	}
	return true
}

// releaseSoft lets one process go on that waits only because the model draws
// an order where the MPI library may have let it pass: a lock that was granted
// late, a start that did not wait for its post, a synchronous send whose
// receive is known too late. It reports whether there was one.
func (m *Machine) releaseSoft() bool {
	for _, p := range m.procs {
		if p.state == waiting && p.waits[0].soft {
			p.waits = p.waits[1:]
			p.state = running
			m.queue = append(m.queue, p)
			return true
		}
	}
	return false
}

// region returns the phase that ends.
func (m *Machine) region() *Region {
	m.listOpen()
	r := &Region{moments: m.moments, settled: m.settled, shapes: m.shapes, enders: m.enders, Index: m.index, Weight: m.grown, Clock: m.clock, Calls: m.calls, Exposed: m.windows.snapshot(), lockSets: m.lockSets, lockSpans: m.regionLocks(), Kept: m.regionCopies(), store: m.store, spill: m.store.spill}
	m.store.spill = nil
	for _, p := range m.procs {
		r.Segments = append(r.Segments, p.segs)
		r.first = append(r.first, p.first)
		r.locals = append(r.locals, p.locals.first)
		n := uint64(p.taken)
		m.stats.Runs += n
		m.stats.Accesses += n
		p.taken = 0
	}
	m.stats.Accesses += uint64(len(m.calls) - m.old + m.settled + m.leftOut.new)
	m.leftOut.new = 0
	return r
}

func (m *Machine) endRegion(last bool) *Region {
	for _, p := range m.procs {
		p.segs[len(p.segs)-1].Calls.End = p.closing
	}
	m.settleLocks()
	r := m.region()
	m.checkReaches()
	if last {
		m.checkDeadlock()
	}
	m.index++
	if last {
		m.stopped = true
		return r
	}
	m.beginRegion()
	return r
}

// run replays the events of a process until it must wait, or its trace ends.
func (m *Machine) run(ctx context.Context, p *proc) error {
	if p.state == waiting || p.state == running && p.waits != nil {
		if !m.goOn(p) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.tick != nil {
		m.tick()
	}
	// Others have their turn behind a call: so it does not depend on which
	// accesses are passed over.
	for n := 0; p.state == running; {
		if st, strand, ok := p.ahead.stretch(); ok {
			p.stretch(m, &st, strand)
			n += st.Len
			continue
		}
		err := p.ahead.read(&p.event)
		if errors.Is(err, io.EOF) {
			p.state = ended
			return nil
		}
		if err != nil {
			p.state = ended
			m.problems.add(Problem{Kind: Damaged, Rank: p.rank, Text: fmt.Sprintf("rank %d: %v", p.rank, err)})
			return nil
		}
		if p.event.Kind == trace.KindSkipped {
			if err := p.passOver(m); err != nil {
				return err
			}
			n += int(p.event.Skipped.Accesses)
			continue
		}
		m.event(p)
		if n++; n >= m.turn && p.event.Kind == trace.KindCall && p.state == running {
			m.queue = append(m.queue, p)
			return nil
		}
	}
	return nil
}

func (m *Machine) event(p *proc) {
	p.pos++
	switch p.event.Kind {
	case trace.KindAccess:
		p.local(m)
	case trace.KindCall:
		m.stats.Calls++
		m.call(p)
	case trace.KindLost:
		m.stats.LostCalls += p.event.Lost.Calls
		m.stats.LostAccess += p.event.Lost.Accesses
		if p.event.Lost.Calls > 0 {
			p.unsure, p.disorder = true, true
		}
		m.problems.add(Problem{
			Kind: Lost, Rank: p.rank, Count: p.event.Lost.Calls + p.event.Lost.Accesses,
			Text: lostReason(p.event.Lost.Reason),
		})
	case trace.KindEnd:
		m.stats.Units += p.event.End.Units
		m.stats.Ended++
		p.finished = true
	}
}

func lostReason(r uint8) string {
	switch r {
	case 1:
		return "the disk was full"
	case 2:
		return "the tracer reached its memory limit"
	}
	return "the tracer could not record"
}
