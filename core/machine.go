// Package core replays the event streams of the processes of a run and yields
// concurrent regions, one at a time.
//
// It knows the primitives that order strands and make accesses, and no
// programming model: signals and waits (signals.go), channels on which they match
// in order (channel.go), meetings of groups (meet.go), counters (counter.go), the
// order of locks (lockorder.go), values of words (words.go), accesses that are pending until something
// completes them (pending.go) or that start no earlier than something else
// (guard.go), and locks that protect accesses (memory.go). A Model says of each
// recorded call which of them it stands for.
//
// A Machine replays the strands side by side: one that waits for a signal that
// was not given yet stands still until it is. When all strands stand at a meeting
// of all, the concurrent region is over: a regions.Region holds the accesses of
// that stretch, each with its start and its completion, and the timestamps of the
// separate regions these lie in. What is still pending is carried into the next
// region. Long regions come in phases (phase.go).
//
// A strand is a process, or one of several threads or tasks of it (threads.go).
package core

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Machine replays the streams of a run.
type Machine struct {
	models    []Model
	opts      Options
	clocks    *evc.Maker
	clock     evc.Clock // of the present phase
	index     int       // of the present concurrent region
	processes []*Process
	threaded  bool          // some have had more than one strand
	phases    int           // so far
	paths     []*path       // by line
	absent    []int32       // processes without a trace
	queue     line[*Strand] // that can go on

	store     *regions.Storage // of accesses
	pending   pendingAccesses
	locks     heldLocks
	phase     phase
	ending    globalMeeting
	registry  registry
	functions functions
	words     words
	writing   writing
	rooms     rooms
	weak      []*regions.Weak // of the phase
	open      Choices
	doubtful  map[WordKey]bool // words whose values contradicted the order that was taken

	watch watch
	record
	stopped bool      // nothing more can be replayed
	short   *Holdings // what was held where there was no room to go on; or nil
}

// record is what is told of a replay beside its regions.
type record struct {
	stats    Stats
	problems problems
	usages   usages
}

// Options of a replay.
type Options struct {
	Clock string // a name that evc.NewMaker knows
	// Part of the memory whose accesses regions hold. All else, counts
	// included, is the same for all parts.
	Part regions.Part
	// AnyLockOrder leaves out the order in which locks were granted: then
	// locks only exclude. What such a replay finds could have happened had
	// they been granted in another order.
	AnyLockOrder bool
	// IgnoreValues leaves out the order through memory (words.go).
	IgnoreValues bool
	// FullOrder has calls order processes that need not, where their model knows how
	// (Meaning.CanOrder). What conflicts then is not ordered by any of them.
	FullOrder bool
	// Doubtful is words from which, with FullOrder, who fetches comes after all that was
	// issued: those of a replay before (Machine.Doubtful).
	Doubtful map[WordKey]bool
	// OtherOrder takes another of the orders of updates that values leave open than the
	// likeliest.
	OtherOrder bool
	// Memory is how many bytes of accesses may be held; what is more is
	// written to files without a name in os.TempDir. 0 means no limit.
	Memory int64
	// Tick, if set, is called at each turn of a strand.
	Tick func()
	// Enough, if set, is asked after each turn of a strand. Once it is true, the region
	// ends with what there is of it, and is the last: as where all traces are cut.
	Enough func() bool
	// Room, if set, says whether there are so many bytes. It is asked where about as many
	// are needed at once to go on behind a region, which is the last where there are not
	// (Short).
	Room func(bytes int64) bool
	// Batch is how many accesses that are pending together, of one operation, are carried
	// into the next region as they are; fewer are held one by one. 0 means a default.
	Batch int
	// Phase is how many loads, stores, accesses of calls and separate regions
	// a phase of a concurrent region holds before it may end; 0 means a
	// default that takes some two to ten megabytes, by the number of processes, and 1
	// that it ends wherever anything is past, which is for tests.
	Phase int
	// Observer, if set, is told what is replayed.
	Observer Observer
	// OrderOnly says that nothing is asked of the replay but what an Observer is told: then
	// what is complete need not be held until all processes know of it.
	OrderOnly bool
	// Words is of how many words it is remembered what they hold; 0 means a default.
	Words int
	// Turn is how many events of a strand are replayed before others have
	// their turn at its next call, so that none gets far ahead, and its accesses become past;
	// 0 means a default.
	Turn int
}

// The shortest and longest phases by default, and how much they have for each process: what
// a phase costs grows with the processes.
const (
	shortestPhase = 1 << 15
	longestPhase  = 1 << 17
	phaseShare    = 1 << 12
)

func (o Options) phase(processes int) int {
	switch {
	case o.AnyLockOrder:
		return math.MaxInt // what orders locks is looked for in whole regions
	case o.Phase > 0:
		return o.Phase
	}
	return min(max(phaseShare*processes, shortestPhase), longestPhase)
}

// Stats counts what a Machine has replayed.
type Stats struct {
	Calls      uint64
	Loads      uint64 // elements
	Stores     uint64
	Runs       uint64 // load and store records
	Accesses   uint64 // Runs and the accesses that calls make
	LostCalls  uint64
	LostAccess uint64
	Units      uint64 // instrumented translation units, the sum over processes
	Searched   uint64 // steps of searches for the order of operations on words
	Ended      int    // processes that came to their end
	Spilled    regions.SpillStats
	Counts
}

// NewMachine returns a Machine for the streams of all processes of a run, by
// world rank; nil for a process without a trace. A call is of the first of the
// models that knows its function. The error is that of evc.NewMaker.
func NewMachine(streams []Stream, opts Options, models ...Model) (*Machine, error) {
	clocks, err := evc.NewMaker(opts.Clock, len(streams))
	if err != nil {
		return nil, err
	}
	opts.Turn, opts.Words = cmp.Or(opts.Turn, 512), cmp.Or(opts.Words, DefaultWords)
	m := &Machine{
		models: models, opts: opts, clocks: clocks,
		store:    regions.NewStorage(len(streams), opts.Memory),
		phase:    phase{first: opts.phase(len(streams))},
		registry: newRegistry(), functions: functions{all: map[*trace.Fn]*function{}},
		watch: newWatch(opts.Observer),
	}
	m.pending.machine = m
	for i, s := range streams {
		m.processes = append(m.processes, newProcess(m, i, s))
		m.paths = append(m.paths, m.processes[i].first.path)
		if s == nil {
			m.absent = append(m.absent, int32(i))
		}
	}
	for _, model := range models {
		model.Attach(m)
	}
	m.beginRegion()
	return m, nil
}

// Strands returns the number of processes: world ranks are below it.
func (m *Machine) Strands() int { return len(m.processes) }

// Absent reports whether there is no trace of a process. What it did is not known: the
// others meet without it, and what it gave them counts as given, and as ordering
// nobody. So order between processes is not known for certain (MayOrder).
func (m *Machine) Absent(rank int32) bool { return slices.Contains(m.absent, rank) }

// Present returns how many of some processes have a trace.
func (m *Machine) Present(ranks []int32) int {
	n := len(ranks)
	for _, r := range m.absent {
		if slices.Contains(ranks, r) {
			n--
		}
	}
	return n
}

// Strand returns the first strand of a process.
func (m *Machine) Strand(rank int32) *Strand { return m.processes[rank].first }

// Index returns the number of the present concurrent region, from 0.
func (m *Machine) Index() int { return m.index }

// AnyLockOrder reports whether the order of locks is left out.
func (m *Machine) AnyLockOrder() bool { return m.opts.AnyLockOrder }

// Stats returns what was replayed so far.
func (m *Machine) Stats() Stats {
	s := m.stats
	s.Spilled = m.store.Spilled()
	met := map[Model]bool{}
	for _, f := range m.functions.all {
		met[f.model] = met[f.model] || !trace.IsNote(f.fn.Name)
	}
	for _, model := range m.models {
		c := model.Counts()
		s.Operations += c.Operations
		s.Objects += c.Objects
		switch {
		case !met[model]:
		case s.Model == "":
			s.Model = c.Model
		default:
			s.Model += " and " + c.Model
		}
	}
	return s
}

// FullOrder reports whether calls order processes that need not.
func (m *Machine) FullOrder() bool { return m.opts.FullOrder }

// CanOrder reports whether calls were met that MayOrder names, and a replay with
// Options.FullOrder would know how each of them orders.
func (m *Machine) CanOrder() bool {
	o := &m.problems.mayOrder
	return o.several && !o.unknown && len(m.absent) == 0 &&
		!slices.ContainsFunc(m.Problems(), func(p Problem) bool { return p.MayOrder })
}

// MayOrder names the calls met so far that may have ordered processes without
// the Machine knowing: those that are not understood, and those that need not
// synchronise; and processes without a trace. Sorted.
func (m *Machine) MayOrder() []string {
	names := map[string]bool{}
	if m.problems.mayOrder.several {
		maps.Copy(names, m.problems.mayOrder.names)
	}
	for _, p := range m.Problems() {
		if p.MayOrder {
			names[p.Fn] = true
		}
	}
	if n := len(m.absent); n == 1 {
		names[fmt.Sprintf("rank %d (of which there is no trace)", m.absent[0])] = true
	} else if n > 1 {
		names[fmt.Sprintf("%d processes (of which there is no trace)", n)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// present returns how many processes have a trace.
func (m *Machine) present() int { return len(m.processes) - len(m.absent) }

func (m *Machine) beginRegion() {
	m.phases++
	m.store.Begin()
	m.clock = m.clocks.Again(m.store.Region().Clock)
	m.phase.beginRegion()
	m.ending.arrived = 0
	for _, model := range m.models {
		model.BeginRegion()
	}
	m.forgetPast()
	m.paths = m.paths[:len(m.processes)]
	for _, p := range m.processes {
		if p.team != nil {
			p.team.beginRegion(p.first.meeting.call)
		}
		p.first.beginRegion()
		if p.first.state == running {
			m.queue.add(p.first)
		}
	}
	m.pending.carry()
	m.registry.carryLocks()
	m.watch.released(m)
	for _, p := range m.processes {
		p.first.afterMeeting()
	}
}

// afterMeeting does what the strand has to do when it leaves a meeting of all.
func (s *Strand) afterMeeting() {
	if after := s.sync.after; after != nil {
		s.sync.after = nil
		s.turn()
		after()
	}
}

// Next replays one concurrent region, or the next phase of a long one: all
// accesses that are not past, those of the phase before among them (see
// phase.go). It returns io.EOF after the last; other errors are the context's, and
// those of files that hold what does not fit into memory.
func (m *Machine) Next(ctx context.Context) (*regions.Region, error) {
	if m.stopped {
		return nil, io.EOF
	}
	for {
		r, err := m.drain(ctx)
		if r != nil || err != nil {
			return r, err
		}
		if m.queue.len() > 0 { // it is enough
			return m.endRegion(true), m.store.Err()
		}
		together, err := m.together()
		if err != nil {
			return nil, err
		}
		switch {
		case together:
			return m.endRegion(false), nil
		case m.ending.arrived == 0 && m.allEnded():
			return m.endRegion(true), nil
		case m.threaded && (m.meetBeside() || m.goBack() || m.readOn(m.tooShort())), m.decideWords(),
			m.threaded && m.readOn(func(*team) bool { return true }), m.releaseSoft():
		default:
			m.problems.stuck(m)
			return m.endRegion(true), nil
		}
	}
}

// drain lets every strand go on as far as it can, or until it is enough. It returns
// a phase when one is over before that.
func (m *Machine) drain(ctx context.Context) (*regions.Region, error) {
	for m.queue.len() > 0 {
		s := m.queue.take()
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		if m.store.Err() == nil && m.phase.full() {
			if r := m.endPhase(); r != nil {
				return r, m.store.Err()
			}
		}
		if err := m.store.Err(); err != nil {
			return nil, err
		}
		if m.opts.Enough != nil && m.opts.Enough() {
			m.queue.add(s) // something is left
			return nil, nil
		}
	}
	return nil, nil
}

func (m *Machine) allEnded() bool {
	for s := range m.all {
		if s.state != ended {
			return false
		}
	}
	return true
}

// releaseSoft lets one strand go on that waits only because its model draws an
// order where the run may have passed without it (Wait.Soft). It reports whether
// there was one.
func (m *Machine) releaseSoft() bool {
	var chosen *Strand
	for s := range m.all {
		if s.state != waiting || !s.sync.waits[0].Soft {
			continue
		}
		if early := s.sync.waits[0].Early; chosen == nil || early {
			chosen = s
			if early {
				break
			}
		}
	}
	if chosen == nil {
		return false
	}
	on := chosen.sync.waits[0].On
	if len(m.absent) > 0 { // others that wait for it would wait in vain too
		m.Announce(on)
		return true
	}
	on.forsake(chosen)
	chosen.sync.waits = chosen.sync.waits[1:]
	chosen.state = running
	m.queue.add(chosen)
	return true
}

// region returns the phase that ends, which is the last of the region or is not; last:
// nothing follows it.
func (m *Machine) region(regionEnds, last bool) *regions.Region {
	m.pending.list(regionEnds, last)
	m.stats.Accesses += uint64(m.store.NewCalls() + m.pending.leftOutNew)
	m.pending.leftOutNew = 0
	r := m.store.HandOver(m.wholeRegions())
	r.Index, r.Weight, r.Clock, r.LockSpans = m.index, m.phase.grown, m.clock, m.registry.lockSpansNow()
	r.Serial, r.Effects = m.serialWords(), m.effectsOfPhase()
	r.Weak, m.weak = m.weak, nil
	for i, p := range m.paths {
		r.Segments[i], r.First[i] = p.segs, p.first
	}
	for _, p := range m.processes {
		n := uint64(p.taken)
		m.stats.Runs += n
		m.stats.Accesses += n
		p.taken = 0
	}
	for _, model := range m.models {
		model.EndPhase(r)
	}
	return r
}

// Short returns what was held where there was no room to go on; nil: there was.
func (m *Machine) Short() *Holdings { return m.short }

// hasRoom reports whether there is room for what is pending where a phase ends, which
// is the last of the region or is not.
func (m *Machine) hasRoom(regionEnds bool) bool {
	if m.opts.Room == nil {
		return true
	}
	n := m.pending.toSpread(regionEnds)
	return n == 0 || m.opts.Room(n)
}

func (m *Machine) endRegion(last bool) *regions.Region {
	if !last && !m.hasRoom(true) {
		h := m.Holdings()
		h.OpenBytes += m.pending.toSpread(true)
		last, m.short = true, &h
	}
	for _, p := range m.processes {
		p.first.path.end(p.first.meeting.call, p.first.Rank)
		if p.team != nil && !last {
			p.first.turn()
		}
	}
	m.decideLocks()
	m.checkLocks()
	r := m.region(true, last)
	for _, model := range m.models {
		model.EndRegion(last)
	}
	m.index++
	if last {
		m.stopped = true
		return r
	}
	m.store.PutOff(r)
	m.beginRegion()
	return r
}

// Stream is what a Machine needs of one process's trace; *trace.Reader is one.
// Models may ask more of it. One whose process still runs waits for more, or gives
// trace.ErrNotYet: then the others go on, and it is asked again.
type Stream interface {
	ReadEvent(*trace.Event) error
}

// accessStream is a Stream that gives several accesses at once.
type accessStream interface {
	Stream
	// ReadStretch returns some of the accesses that come next, all of one
	// thread, and the thread; nil where something else comes. They stay as
	// they are until the next event is read.
	ReadStretch() (*trace.Stretch, uint32)
}
