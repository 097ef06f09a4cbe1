// Package gaspi is the model of GASPI: what its calls order, complete and touch
// (detection model, "GASPI").
//
// One table (table.go) says what each call means; the files beside it hold the state
// that a part needs: segments (segments.go), queues and the operations on them
// (operations.go, queues.go), notifications (notifications.go), groups and collective
// calls (groups.go), passive communication (passive.go).
package gaspi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Model is GASPI in one replay.
type Model struct {
	*core.Machine
	processes  []*process
	segments   segments
	slots      map[slotKey]*slot
	alike      core.Alike
	operations uint64
}

var _ core.Model = (*Model)(nil)

// New returns the model for one replay.
func New() *Model {
	return &Model{segments: segments{all: map[segmentKey]*segment{}}, slots: map[slotKey]*slot{}, alike: core.NewAlike()}
}

// process is a GASPI process: what the model knows of it beside its strands.
type process struct {
	*core.Strand // whose calls are replayed now
	m            *Model
	segments     map[int64]*part // by identifier: those that it has made last
	making       map[int64]*core.Signal
	made         map[int64]int
	queues       map[int64]*queue
	groups       map[int64]*group
	begun        map[gatheringCall]*begun    // collective calls that timed out
	passive      map[passiveSide]core.Moment // of a process with threads, when it last sent or received
	calls        core.Gatherings
	unsure       bool // calls were lost: what is pending, and which segments there are, is not known
}

// Attach is that of core.Model.
func (m *Model) Attach(machine *core.Machine) {
	m.Machine = machine
	all := &group{}
	for rank := range machine.Strands() {
		all.members = append(all.members, int32(rank))
	}
	for rank := range machine.Strands() {
		m.processes = append(m.processes, &process{
			Strand: machine.Strand(int32(rank)), m: m,
			segments: map[int64]*part{}, making: map[int64]*core.Signal{}, made: map[int64]int{},
			queues: map[int64]*queue{}, groups: map[int64]*group{groupAll: all},
			begun: map[gatheringCall]*begun{}, passive: map[passiveSide]core.Moment{}, calls: core.Gatherings{},
		})
	}
}

// Bind is that of core.Model.
func (m *Model) Bind(fn *trace.Fn) *core.Meaning {
	e := table[fn.Name]
	if e == nil {
		return nil
	}
	w := &core.Meaning{Kind: e.kind, Completes: completesOnly(fn.Name)}
	if e.do != nil {
		w.Replay = func(s *core.Strand, c *core.Call) {
			p := m.processes[s.Rank]
			if e.results && !c.Returned {
				return // what it did is not known, and nothing follows it
			}
			if p.unsure && e.kind != core.OtherCall {
				p.NotUnderstood(c, "calls before it were not recorded")
			}
			e.do(p, c)
		}
	}
	if atomics[fn.Name] {
		w.Polls = func(_ *core.Strand, round []*trace.Call) uint64 { return polls(round) }
	}
	if e.gathers {
		w.Sequence = func(c *core.Call) any { return gathers(c) }
	}
	if e.foresee != nil {
		w.Foresee = func(s *core.Strand, c *core.Call, f *core.Foresight) {
			e.foresee(m.processes[s.Rank], c, f)
		}
	}
	return w
}

// Describe is that of core.Model.
func (m *Model) Describe(s *core.Strand, c *core.Call, o *core.ObservedCall) {
	e := table[c.Fn.Name]
	if e == nil || e.kind != core.OperationCall || !c.Has(argRank) {
		return
	}
	rank := c.Int(argRank)
	if rank < 0 || rank >= int64(len(m.processes)) {
		return
	}
	o.Target = int32(rank)
	arg := argSegmentRemote
	if c.Has(argSegment) {
		arg = argSegment
	}
	if !c.Has(arg) || c.IsList(arg) {
		return
	}
	if x := m.processes[rank].segments[c.Int(arg)]; x != nil {
		o.Object = x.ID
	}
}

// Turn is that of core.Model.
func (m *Model) Turn(s *core.Strand) { m.processes[s.Rank].Strand = s }

// Lost is that of core.Model.
func (m *Model) Lost(s *core.Strand) { m.processes[s.Rank].unsure = true }

// HeldUntil is that of core.Model: GASPI has no locks.
func (m *Model) HeldUntil(*core.Strand, any, regions.Lock) bool { return false }

// BeginRegion is that of core.Model.
func (m *Model) BeginRegion() { m.forget((*journal).settle) }

// forget forgets, where there are several strands, what all know of notifications and operations.
func (m *Model) forget(operations func(*journal, func(*operation) bool)) {
	if !m.Machine.Threaded() {
		return
	}
	for _, p := range m.processes {
		for _, q := range p.queues {
			q.over(p, operations)
		}
	}
	for _, s := range m.slots {
		s.forget(m)
	}
}

// Locate is that of core.Locator.
func (m *Model) Locate(owner int32, addr uint64) (regions.Exposed, bool) {
	if x := m.exposed(); x != nil {
		return x.At(owner, addr, 0)
	}
	return regions.Exposed{}, false
}

// EndPhase is that of core.Model.
func (m *Model) EndPhase(r *regions.Region) {
	m.forget((*journal).forget)
	if x := m.exposed(); x != nil {
		r.Exposures = append(r.Exposures, x)
	}
}

// EndRegion is that of core.Model.
func (m *Model) EndRegion(bool) {}

// WholeRegions is that of core.Model.
func (m *Model) WholeRegions() bool { return false }

// Counts is that of core.Model.
func (m *Model) Counts() core.Counts {
	return core.Counts{Model: "GASPI", Operations: m.operations, Objects: len(m.segments.all)}
}
