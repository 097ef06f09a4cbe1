// Package shmem is the model of OpenSHMEM: what its calls order, complete and touch
// (detection model, "OpenSHMEM").
//
// One table (table.go) says what each family of functions means; the files beside it
// hold the state that a part needs: symmetric memory (symmetric.go), contexts and
// teams (contexts.go), operations and their completion (operations.go), collective
// calls (collectives.go) and their buffers (buffers.go), waits for values (waits.go), and locks (locks.go).
package shmem

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Model is OpenSHMEM in one replay.
type Model struct {
	*core.Machine
	pes         []*pe
	symmetric   symmetric
	world       *team
	teams       map[teamKey]*team
	alike       core.Alike
	collectives map[core.MeetKey]*collective // to which not all have come and left
	numbered    int64                        // the number of the last of them
	operations  uint64
	whose       func() *Fetched // what is fetched; nil: that is not known
	fetched     *Fetched        // that, once it was asked for
	apart       bool            // operations are held one by one
}

var _ core.Model = (*Model)(nil)

// New returns the model for one replay. fetched tells what PEs fetch, and is asked at most
// once; nil: that is not known.
func New(fetched func() *Fetched) *Model {
	return &Model{
		whose:     fetched,
		symmetric: newSymmetric(), teams: map[teamKey]*team{},
		alike: core.NewAlike(), collectives: map[core.MeetKey]*collective{},
	}
}

// pe is one processing element, which the model knows more of than its strands.
type pe struct {
	*core.Strand // whose calls are replayed now
	m            *Model
	parts        []part // of its symmetric memory; never changed in place
	made         int    // blocks of the symmetric heap so far
	contexts     map[int64]*context
	modes        int // of contexts so far
	teams        map[int64]*team
	calls        core.Gatherings // collective calls so far
	locks        map[place]*heldLock
	unsure       bool // calls were lost: what is pending, and which blocks there are, is not known
}

// Attach is that of core.Model.
func (m *Model) Attach(machine *core.Machine) {
	m.Machine = machine
	m.world = &team{domain: worldDomain}
	for rank := range machine.Strands() {
		m.world.members = append(m.world.members, int32(rank))
	}
	for rank := range machine.Strands() {
		m.pes = append(m.pes, &pe{
			Strand: machine.Strand(int32(rank)), m: m,
			contexts: map[int64]*context{defaultContext: {team: m.world}},
			teams:    map[int64]*team{worldTeam: m.world},
			calls:    core.Gatherings{}, locks: map[place]*heldLock{},
		})
	}
}

// Bind is that of core.Model.
func (m *Model) Bind(fn *trace.Fn) *core.Meaning {
	e, f := lookup(fn.Name)
	if e == nil {
		return nil
	}
	f.signed = f.signed || e.signed
	w := &core.Meaning{Kind: e.kind, MayOrder: e.mayOrder, Aborts: e.aborts, Completes: completesOnly(f)}
	if trace.IsNote(fn.Name) {
		w.Known = "an OpenSHMEM call"
	}
	if e.do != nil {
		w.Replay = func(s *core.Strand, c *core.Call) {
			m.learnFetched()
			p := m.pes[s.Rank]
			if e.results && !c.Returned {
				return // what it did is not known, and nothing follows it
			}
			if p.unsure && e.kind != core.OtherCall {
				p.NotUnderstood(c, "calls before it were not recorded")
			}
			e.do(p, &call{Call: c, function: f})
		}
	}
	if e.foresee != nil {
		w.Foresee = func(s *core.Strand, c *core.Call, ahead *core.Foresight) {
			e.foresee(m.pes[s.Rank], &call{Call: c, function: f}, ahead)
		}
	}
	return w
}

// call is a call, and what its function's name says.
type call struct {
	*core.Call
	function
}

// Describe is that of core.Model.
func (m *Model) Describe(s *core.Strand, c *core.Call, o *core.ObservedCall) {
	e, _ := lookup(c.Fn.Name)
	if e == nil {
		return
	}
	o.Object = symmetricMemory
	if e.kind == core.OperationCall && c.Has(argPE) {
		if x := m.pes[s.Rank].contexts[ctxOf(c)]; x != nil {
			o.Target = x.team.member(c.Int(argPE))
		}
	}
}

// Turn is that of core.Model.
func (m *Model) Turn(s *core.Strand) { m.pes[s.Rank].Strand = s }

// Lost is that of core.Model.
func (m *Model) Lost(s *core.Strand) { m.pes[s.Rank].unsure = true }

// HeldUntil is that of core.Model: shmem_clear_lock completes what is pending on the
// default context before it gives up the lock.
func (m *Model) HeldUntil(_ *core.Strand, of any, _ regions.Lock) bool {
	op, mine := of.(*operation)
	return mine && op.ctx == defaultContext
}

// BeginRegion is that of core.Model.
func (m *Model) BeginRegion() {
	m.symmetric.gone = nil
	for _, p := range m.pes {
		for _, x := range p.contexts {
			x.settle(p)
		}
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
	for _, p := range m.pes {
		for _, x := range p.contexts {
			x.forget()
		}
	}
	if x := m.exposed(); x != nil {
		r.Exposures = append(r.Exposures, x)
	}
	if x := m.symmetric.gone; x != nil {
		r.Exposures = append(r.Exposures, x)
	}
}

// EndRegion is that of core.Model.
func (m *Model) EndRegion(bool) {}

// WholeRegions is that of core.Model.
func (m *Model) WholeRegions() bool { return false }

// Counts is that of core.Model.
func (m *Model) Counts() core.Counts {
	return core.Counts{Model: "OpenSHMEM", Operations: m.operations, Objects: len(m.symmetric.heap)}
}
