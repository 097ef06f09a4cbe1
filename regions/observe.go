package regions

import "github.com/mcchk/mcchk/trace"

// Observer is told what a Machine replays: calls, and what orders them, causes
// before effects. It is called from the goroutine of Next, must not block, and
// must not use the Machine.
//
// What a signal or a meeting of processes carries is a Mark, which the observer
// makes and gets back where somebody waits for it; the Machine keeps it as long
// as that may be. Whoever waits for a Mark of an earlier concurrent region is
// not told so: what ended that region has ordered them already.
type Observer interface {
	// Call: a process makes a call. All that follows of that process until its
	// next Call is about this one.
	Call(c *ObservedCall)
	// Signal: the call orders others after itself. The Mark goes to all that wait
	// for any of the call's signals.
	Signal(rank int32) Mark
	// Meet: the process has come to a collective call of which the Mark is that of
	// those that came before it, nil for the first. The Mark returned takes its place.
	Meet(met Mark, rank int32) Mark
	// Wait: the call is ordered after what carries the Mark.
	Wait(rank int32, on Mark)
	// Over: the call has waited for all that it waits for.
	Over(rank int32)
	// Epoch: the process opens or closes an epoch.
	Epoch(e *ObservedEpoch)
	// Region: the concurrent region with that number begins.
	Region(index int)
}

// Mark is what an Observer has signals carry.
type Mark any

// CallKind says what a call is for.
type CallKind uint8

// Kinds of calls.
const (
	OtherCall         CallKind = iota
	OperationCall              // issues a one-sided operation
	SynchronizingCall          // orders processes, opens or closes an epoch, or completes something
	NoteCall                   // the tracer's own: no call of the program
)

// ObservedCall is a call as an Observer sees it.
type ObservedCall struct {
	Rank   int32 // world rank
	Strand uint32
	Pos    uint64 // number of the event in the process's trace, from 1
	Kind   CallKind
	Call   *trace.Call // until the next event
	Mode   Mode        // of an operation
	Object int64       // that the call names; 0: none
	Number int         // of the object, as Object.Number; 0: none, or not known
	Target int32       // world rank that the call names in the object; -1: none
}

// ObservedEpoch is the opening or closing of an epoch of one process.
type ObservedEpoch struct {
	Rank   int32
	Object *Object
	Target int32 // world rank, of a lock; -1: not one process's
	Mode   Mode
	Family EpochFamily // epochs of one family and target do not overlap
	Opens  bool        // otherwise it closes
}

// EpochFamily tells apart epochs that may be open side by side.
type EpochFamily uint8

// Families of epochs.
const (
	ActiveFamily   EpochFamily = iota // from fence to fence, or start to complete
	LockFamily                        // of locks
	ExposureFamily                    // from post to wait
)

func familyOf(epoch Mode) EpochFamily {
	switch epoch {
	case SharedLockEpoch, ExclusiveLockEpoch, LockAllEpoch:
		return LockFamily
	}
	return ActiveFamily
}

// observe tells of the call that begins.
func (m *Machine) observe(p *proc, c *call, r *rule) {
	o := &m.observed
	*o = ObservedCall{Rank: p.rank, Strand: p.event.Strand, Pos: p.pos, Call: c.Call, Kind: kindOf(c, r), Target: -1}
	if c.has("win") {
		o.Object = c.num("win")
	}
	rank := "target_rank"
	if o.Kind != OperationCall {
		rank = "rank"
	}
	if e := p.wins[o.Object]; e != nil {
		o.Number = e.win.Number
		if member := e.member(c, rank); member >= 0 {
			o.Target = e.win.members[member]
			if o.Kind == OperationCall {
				o.Mode = e.epochTo(member)
			}
		}
	}
	m.observer.Call(o)
}

// member returns the member of the window that an argument of a call names, or -1.
func (e *epochs) member(c *call, arg string) int32 {
	if !c.has(arg) {
		return -1
	}
	return e.win.target(c.num(arg))
}

func kindOf(c *call, r *rule) CallKind {
	switch {
	case isNote(c.Fn.Name):
		return NoteCall
	case r == nil || r.do == nil:
		return OtherCall
	case r.op != (operationRole{}):
		return OperationCall
	case windowSync[c.Fn.Name] != nil, r.order != noOrder && r.form != persisted, r.signals != "", r.waits != "", r.completes != "":
		return SynchronizingCall
	}
	return OtherCall
}

// meet tells that a process has come to where all members of a group meet.
func (m *Machine) meet(met Mark, p *proc) Mark {
	if m.observer == nil {
		return nil
	}
	return m.observer.Meet(met, p.rank)
}

// markAll has signals of the process's call carry its mark.
func (m *Machine) markAll(p *proc, signals []*signal) {
	if m.observer == nil || len(signals) == 0 {
		return
	}
	mark := m.observer.Signal(p.rank)
	for _, s := range signals {
		s.mark = mark
	}
}

// markList is the marks of several signals.
type markList []Mark

// waited tells that a process has waited for a signal that carried a mark.
func (m *Machine) waited(p *proc, on Mark) {
	if m.observer == nil || on == nil {
		return
	}
	all, ok := on.(markList)
	if !ok {
		all = markList{on}
	}
	for _, mark := range all {
		m.observer.Wait(p.rank, mark)
	}
}

// released tells that all processes have left the synchronization that ended
// the region before.
func (m *Machine) released() {
	if m.observer == nil {
		return
	}
	m.observer.Region(m.index)
	for _, p := range m.procs {
		if p.state == running && m.met != nil {
			m.observer.Wait(p.rank, m.met)
			m.observer.Over(p.rank)
		}
	}
	m.met = nil
}

// epoch tells of an epoch of the process that opens or closes. target is a rank in
// the window, or -1.
func (m *Machine) epoch(p *proc, e *epochs, kind Mode, target int32, opens bool) {
	if m.observer == nil {
		return
	}
	o := ObservedEpoch{Rank: p.rank, Object: &e.win.Object, Target: -1, Mode: kind, Family: familyOf(kind), Opens: opens}
	if target >= 0 {
		o.Target = e.win.members[target]
	}
	m.observer.Epoch(&o)
}

// exposure is epoch for an exposure epoch.
func (m *Machine) exposure(p *proc, e *epochs, opens bool) {
	if m.observer != nil {
		m.observer.Epoch(&ObservedEpoch{Rank: p.rank, Object: &e.win.Object, Target: -1, Mode: ExposureEpoch, Family: ExposureFamily, Opens: opens})
	}
}
