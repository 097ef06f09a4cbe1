// Package mpi is the model of MPI: what its calls order, complete and touch
// (detection model, "Accesses" and "Order"), and where they must not stand.
//
// One table (table.go) says what each call means, for people and for the replay;
// the files beside it hold the state that a part of MPI needs: datatypes
// (types.go), communicators (comms.go), windows (window.go), epochs (epochs.go, locks.go),
// one-sided operations (rma.go), messages (messages.go), collective calls
// (collectives.go) and the buffers of both (touches.go), requests (requests.go),
// persistent and partitioned ones (persistent.go, partitioned.go), files (files.go),
// shared windows (shared.go), windows with the separate memory model (separate.go),
// order that the program declares (declared.go), order through memory (words.go). completion.go says what completes
// pending buffers. Checks of usage stand in usage_*.go.
//
// The package knows nothing of how strands are ordered and accesses are stored:
// it says everything in the primitives of package core. Nor does it know which
// accesses conflict.
package mpi

import (
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// MemoryModel says which windows have the separate memory model (MPI 4.1,
// 12.4), in which loads and stores work on a private copy of the memory, and
// one-sided operations of others on a public copy for each window.
type MemoryModel string

// Memory models. In any of them windows made by MPI_Win_allocate_shared are
// unified: MPI defines no semantics for others (12.2.3).
const (
	MemoryAuto     MemoryModel = "auto"     // what MPI_WIN_MODEL said when the window was made
	MemoryUnified  MemoryModel = "unified"  // all are unified
	MemorySeparate MemoryModel = "separate" // all are separate
)

// Model is MPI in one replay.
type Model struct {
	*core.Machine
	memory     MemoryModel
	whose      func() *Fetched // which windows are fetched from; nil: that is not known
	fetched    *Fetched        // that, once it was asked for
	procs      []*process
	present    int // of them that have a trace
	comms      map[int64]*communicator
	foreign    map[foreignComm]*regions.CallInfo // the calls that made them
	windows    windows
	copies     []*copies    // parts of windows with the separate memory model
	reaches    []*reach     // into dynamic windows, of operations issued in this region
	spare      []*operation // for reuse
	order      callOrder
	mappings   map[mapping]*mapped // of memory that processes may share without MPI
	operations uint64              // one-sided operations so far
	apart      bool                // none becomes one with another: for tests
}

var _ core.Model = (*Model)(nil)

// New returns the model for one replay. fetched tells from where operations fetch, and
// is asked once, if at all; where it is nil, or returns nil, that may be any.
func New(memory MemoryModel, fetched func() *Fetched) *Model {
	return &Model{memory: memory, whose: fetched, comms: map[int64]*communicator{}, foreign: map[foreignComm]*regions.CallInfo{}, mappings: map[mapping]*mapped{}, windows: windows{byID: map[int64]*window{}}, order: callOrder{lost: map[core.MeetKey]bool{}}}
}

// definitions is what a trace of MPI calls defines; *trace.Reader is one.
type definitions interface {
	Type(id int64) *trace.Type
	Comm(id int64) *trace.Comm
	Op(id int64) string
}

// process is one process, which the model knows more of than its strands.
type process struct {
	*core.Strand // whose calls are replayed now
	m            *Model
	defs         definitions
	datatypes
	requests
	epochsOn
	exposed    intervals.Set[*piece] // memory of it, by windows
	order      processOrder
	neighbours map[int64]neighbours    // by communicator
	messages   map[int64]*core.Match   // found by matched probes, by handle
	files      map[int64]*core.Pending // buffers of split collective calls, by file
	shared     map[int64]*sharedFile   // with core.Options.FullOrder: files that are open
	fetching   map[int64]*fetch        // operations that fetch words, by the tracer's number
	results    map[uint64]int64        // the last of them that puts what it fetches at an address
	foreseen   map[uint64]int64        // the same of operations that are still to come
	receipt    *receipt
	turns      turns
	unsure     bool // calls were lost: which epochs are open is not known
}

// noDefinitions is the trace of a process that defines nothing.
type noDefinitions struct{}

func (noDefinitions) Type(int64) *trace.Type { return nil }
func (noDefinitions) Comm(int64) *trace.Comm { return nil }
func (noDefinitions) Op(int64) string        { return "" }

// Attach is that of core.Model.
func (m *Model) Attach(machine *core.Machine) {
	m.Machine = machine
	for rank := range machine.Strands() {
		p := &process{
			Strand: machine.Strand(int32(rank)), m: m, defs: noDefinitions{},
			datatypes:  newDatatypes(),
			requests:   newRequests(),
			epochsOn:   epochsOn{wins: map[int64]*epochs{}},
			order:      processOrder{taken: map[core.MeetKey]*taken{}},
			neighbours: map[int64]neighbours{},
			messages:   map[int64]*core.Match{},
			files:      map[int64]*core.Pending{},
			shared:     map[int64]*sharedFile{},
			fetching:   map[int64]*fetch{},
			results:    map[uint64]int64{},
			foreseen:   map[uint64]int64{},
		}
		if defs, ok := p.Stream().(definitions); ok {
			p.defs = defs
		}
		p.receipt = p.newReceipt()
		m.procs = append(m.procs, p)
		if !m.Absent(p.Rank) {
			m.present++
		}
	}
}

// Bind is that of core.Model.
func (m *Model) Bind(fn *trace.Fn) *core.Meaning {
	r := table[fn.Name]
	if arg, ok := foreignCalls[fn.Name]; ok {
		return m.bindForeign(arg)
	}
	if r == nil {
		return nil
	}
	known := ""
	if trace.IsNote(fn.Name) {
		known = "an MPI call"
	}
	meaning := &core.Meaning{
		Known:    known,
		Kind:     kindOf(fn.Name, r),
		Landmark: r.marked, Completes: stated[fn.Name].Copies, MayOrder: r.mayOrder, CanOrder: r.group != noFile, Aborts: r.aborts,
		Replay: func(s *core.Strand, c *core.Call) {
			p := m.procs[s.Rank]
			if p.turns.level != "" && p.Threaded() && known == "" {
				m.takeTurn(p, c)
			}
			if r.check != nil {
				r.check(m, p, c)
			}
			if r.do != nil {
				r.do(m, p, c, r)
			}
		},
		Failed: func(s *core.Strand, c *core.Call) { m.failed(m.procs[s.Rank], c, r) },
	}
	if r.op != (operationRole{}) && fn.Arg("result_addr") >= 0 {
		meaning.Polls = func(s *core.Strand, round []*trace.Call) uint64 { return m.polls(m.procs[s.Rank], round) }
	}
	if fn.Name == "MPI_Win_lock" {
		meaning.Passed = func(s *core.Strand, c *trace.Call) { m.passed(m.procs[s.Rank], c) }
	}
	if r.foresee != nil {
		meaning.Foresee = func(s *core.Strand, c *core.Call, f *core.Foresight) {
			r.foresee(m, m.procs[s.Rank], c, r, f)
		}
	}
	return meaning
}

// Turn is that of core.Model.
func (m *Model) Turn(s *core.Strand) { m.procs[s.Rank].Strand = s }

// Lost is that of core.Model.
func (m *Model) Lost(s *core.Strand) {
	p := m.procs[s.Rank]
	p.unsure, p.order.lost = true, true
}

// BeginRegion is that of core.Model.
func (m *Model) BeginRegion() {
	for _, w := range m.windows.purge() {
		m.Forget(w.ID)
		m.withdraw(w)
	}
	if m.Threaded() {
		for _, p := range m.procs {
			p.forgetFetches()
			for _, e := range p.wins {
				e.beside = besideOps{}
			}
		}
	}
	m.beginCopies()
	m.order.first, m.order.arrived = nil, 0
}

// Locate is that of core.Locator.
func (m *Model) Locate(owner int32, addr uint64) (regions.Exposed, bool) {
	return m.windows.At(owner, addr, 0)
}

// EndPhase is that of core.Model.
func (m *Model) EndPhase(r *regions.Region) {
	r.Exposures = append(r.Exposures, m.windows.snapshot())
	if copies := m.regionCopies(); len(copies) > 0 {
		r.ForChecks = append(r.ForChecks, copies)
	}
}

// EndRegion is that of core.Model.
func (m *Model) EndRegion(last bool) {
	m.checkReaches()
	if last {
		m.checkDeadlock()
	}
}

// WholeRegions is that of core.Model: the separate memory model is checked in
// whole regions.
func (m *Model) WholeRegions() bool { return len(m.copies) > 0 }

// Counts is that of core.Model.
func (m *Model) Counts() core.Counts {
	return core.Counts{Model: "MPI", Operations: m.operations, Objects: m.windows.created}
}

// kindOf says what calls of a function are for.
func kindOf(fn string, r *entry) core.CallKind {
	switch {
	case r.do == nil:
		return core.OtherCall
	case r.op != (operationRole{}):
		return core.OperationCall
	case windowSync[fn] != nil, r.order != core.NoOrder && r.form != persisted, r.signals != "", r.waits != "", r.completes != "":
		return core.SynchronizingCall
	}
	return core.OtherCall
}

// Describe is that of core.Model.
func (m *Model) Describe(s *core.Strand, c *core.Call, o *core.ObservedCall) {
	p := m.procs[s.Rank]
	o.Order = orderOf(c.Fn.Name)
	if c.Has(argWin) {
		o.Object = c.Int(argWin)
	}
	rank := argTargetRank
	if o.Kind != core.OperationCall {
		rank = argRank
	}
	if e := p.wins[o.Object]; e != nil {
		o.Number = e.win.Number
		if member := e.member(c, rank); member >= 0 {
			o.Target = e.win.members[member]
			if o.Kind == core.OperationCall {
				o.Mode = e.epochTo(member)
			}
		}
	}
}

// orderOf says what kind of order the signals of a function give.
func orderOf(fn string) core.OrderKind {
	switch {
	case declaredCalls[fn] != nil:
		return core.DeclaredOrder
	case fn == "MPI_Win_post", fn == "MPI_Win_complete":
		return core.ExposureOrder
	case fn == "MPI_Win_unlock", fn == "MPI_Win_unlock_all":
		return core.GrantOrder
	case messageCalls[fn] != nil:
		return core.MessageOrder
	}
	return core.CollectiveOrder
}

// member returns the member of the window that an argument of a call names, or -1.
func (e *epochs) member(c *core.Call, arg core.ArgName) int32 {
	if !c.Has(arg) {
		return -1
	}
	return e.win.target(c.Int(arg))
}

// Families of epochs, for core.ObservedInterval: those that may be open side by
// side are of different ones.
const (
	activeFamily   = iota // from fence to fence, or start to complete
	lockFamily            // of locks
	exposureFamily        // from post to wait
)

// epoch tells an observer of an epoch of the process that opens or closes. target
// is a rank in the window, or -1.
func (m *Model) epoch(p *process, e *epochs, kind regions.Mode, target int32, opens bool) {
	if !m.Observed() {
		return
	}
	o := core.ObservedInterval{Rank: p.Rank, Object: &e.win.Object, Target: -1, Mode: kind, Begins: opens}
	switch kind {
	case SharedLockEpoch, ExclusiveLockEpoch, LockAllEpoch, TransferEpoch:
		o.Family = lockFamily
	case ExposureEpoch:
		o.Family = exposureFamily
	default:
		o.Family = activeFamily
	}
	if target >= 0 {
		o.Target = e.win.members[target]
	}
	m.Interval(&o)
}

// isProgramCall reports whether a name in the table is a call of MPI, and no
// note of the tracer or declaration.
func isProgramCall(name string) bool { return strings.HasPrefix(name, "MPI_") }
