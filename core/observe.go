package core

import (
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Observer is told what a Machine replays: calls, and what orders them, causes
// before effects. It is called from the goroutine of Next, must not block, and
// must not use the Machine.
//
// What a signal or a meeting carries is a Mark, which the observer makes and gets
// back where somebody waits for it; the Machine keeps it as long as that may be.
// Whoever waits for a Mark of an earlier concurrent region is not told so: what
// ended that region has ordered them already.
type Observer interface {
	// Call: a process makes a call. All that follows of that process until its
	// next Call is about this one.
	Call(c *ObservedCall)
	// Signal: the call orders others after itself. The Mark goes to all that wait
	// for any of the call's signals.
	Signal(rank int32) Mark
	// Meet: the process has come to a meeting of which the Mark is that of those
	// that came before it, nil for the first. The Mark returned takes its place.
	Meet(met Mark, rank int32) Mark
	// Wait: the call is ordered after what carries the Mark.
	Wait(rank int32, on Mark)
	// Over: the call has waited for all that it waits for.
	Over(rank int32)
	// Interval: the process begins or ends something that lasts.
	Interval(e *ObservedInterval)
	// Region: the concurrent region with that number begins.
	Region(index int)
}

// StrandObserver is an Observer that tells the strands of a process apart.
type StrandObserver interface {
	Observer
	// Strand: what follows of the process is about a strand: 0 is the one that it began
	// with, and the only one of which nothing has to be said before another one was.
	Strand(rank int32, strand int64)
	// Gone: a strand has ended.
	Gone(rank int32, strand int64)
}

// ValueObserver is an Observer that is told by which values processes are ordered.
type ValueObserver interface {
	Observer
	// Found: what the process waits for next, up to the next call of Found or Over, had left the value that it has found.
	Found(v *ObservedValue)
}

// ObservedValue is a value that orders a process after those that left it.
type ObservedValue struct {
	Rank    int32        // whose process has found it
	Pos     uint64       // of the operation that found it: number of its event in the trace of its process
	Fn      string       // that is
	Stack   uint32       // it has
	Word    regions.Word // that held it
	Value   Value
	Exposed regions.Exposed // what exposes the word; Object nil where that is not known
}

// Locator is a Model that tells what exposes memory at the moment.
type Locator interface {
	// Locate returns what exposes the byte at addr of a process, and whether anything does.
	Locate(owner int32, addr uint64) (regions.Exposed, bool)
}

// Mark is what an Observer has signals carry.
type Mark any

// CallKind says what a call is for.
type CallKind uint8

// Kinds of calls.
const (
	OtherCall         CallKind = iota
	OperationCall              // issues a one-sided operation
	SynchronizingCall          // orders processes, opens or closes an interval, or completes something
	NoteCall                   // the tracer's own: no call of the program
)

// OrderKind says what kind of order the signals of a call give.
type OrderKind uint8

// Kinds of order.
const (
	CollectiveOrder OrderKind = iota // of a meeting
	MessageOrder
	ExposureOrder // between those who expose memory and those who access it
	GrantOrder    // of one who held a lock before another
	DeclaredOrder // that the program declared
)

// ObservedCall is a call as an Observer sees it.
type ObservedCall struct {
	Rank   int32 // world rank
	Thread uint32
	Pos    uint64 // number of the event in the process's trace, from 1
	Kind   CallKind
	Order  OrderKind    // of what it signals
	Call   *trace.Call  // until the next event
	Mode   regions.Mode // of an operation
	Object int64        // that the call names; 0: none
	Number int          // of the object, as Object.Number; 0: none, or not known
	Target int32        // world rank that the call names in the object; -1: none
}

// ObservedInterval is the beginning or the end of something that lasts at one
// process: an epoch of MPI, for example.
type ObservedInterval struct {
	Rank   int32
	Object *regions.Object
	Target int32 // world rank, of a lock; -1: not one process's
	Mode   regions.Mode
	Family int  // a number of the model: intervals of one family, object and target do not overlap
	Begins bool // otherwise it ends
}

// watch tells an Observer; nil: there is none.
type watch struct {
	observer Observer
	strands  StrandObserver // the same, if it is one
	observed ObservedCall   // room for what it is told
}

func newWatch(o Observer) watch {
	strands, _ := o.(StrandObserver)
	return watch{observer: o, strands: strands}
}

// of tells which strand of its process something is about.
func (w *watch) of(s *Strand) {
	if w.strands != nil && s.team != nil {
		w.strands.Strand(s.Rank, s.number)
	}
}

// gone tells that a strand has ended.
func (w *watch) gone(s *Strand) {
	if w.strands != nil {
		w.strands.Gone(s.Rank, s.number)
	}
}

// Observed reports whether the replay has an Observer.
func (m *Machine) Observed() bool { return m.watch.observer != nil }

// Interval tells of something that begins or ends, where the replay has an
// Observer.
func (m *Machine) Interval(e *ObservedInterval) {
	if m.watch.observer != nil {
		m.watch.observer.Interval(e)
	}
}

// call tells of the call that begins.
func (w *watch) call(s *Strand, c *Call) {
	o := &w.observed
	*o = ObservedCall{Rank: s.Rank, Thread: s.thread, Pos: s.pos, Call: c.Call, Target: -1}
	if meaning := c.function.meaning; meaning != nil {
		o.Kind = meaning.Kind
	}
	for _, model := range s.m.models {
		if c.function.model == nil || c.function.model == model {
			model.Describe(s, c, o)
		}
	}
	if trace.IsNote(c.Fn.Name) {
		o.Kind = NoteCall
	}
	w.of(s)
	w.observer.Call(o)
}

// meet tells that a strand has come to where all members of a group meet.
func (w *watch) meet(met Mark, s *Strand) Mark {
	if w.observer == nil {
		return nil
	}
	w.of(s)
	return w.observer.Meet(met, s.Rank)
}

// signal has signals of the strand's call carry its mark.
func (w *watch) signal(by *Strand, signals []*Signal) {
	if w.observer == nil || len(signals) == 0 {
		return
	}
	w.of(by)
	mark := w.observer.Signal(by.Rank)
	for _, s := range signals {
		s.mark = mark
	}
}

// markList is the marks of several signals.
type markList []Mark

// waited tells that a strand has waited for a signal that carried a mark.
func (w *watch) waited(s *Strand, on Mark) {
	if w.observer == nil || on == nil {
		return
	}
	w.of(s)
	var all markList
	switch on := on.(type) {
	case *foundMark:
		w.found(s, on.op)
		all = on.marks
	case markList:
		all = on
	default:
		all = markList{on}
	}
	for _, mark := range all {
		w.observer.Wait(s.Rank, mark)
	}
}

// foundMark is the marks of the updates up to one that an operation on a word has found.
type foundMark struct {
	marks markList
	op    *WordOp
}

// found tells what an operation has found on a word, whose updates the strand waits for.
func (w *watch) found(s *Strand, op *WordOp) {
	o, ok := w.observer.(ValueObserver)
	if !ok || op.saw == nil {
		return
	}
	v := &ObservedValue{Rank: s.Rank, Pos: op.pos, Fn: op.fn, Stack: op.stack, Word: op.word.key, Value: op.saw.value}
	for _, m := range s.m.models {
		if l, ok := m.(Locator); ok {
			if x, ok := l.Locate(v.Word.Owner, v.Word.Addr); ok {
				v.Exposed = x
				break
			}
		}
	}
	o.Found(v)
}

// over tells that a strand has waited for all that its call waits for.
func (w *watch) over(s *Strand) {
	if w.observer != nil {
		w.of(s)
		w.observer.Over(s.Rank)
	}
}

// released tells that all strands have left the meeting that ended the region
// before.
func (w *watch) released(m *Machine) {
	if w.observer == nil {
		return
	}
	w.observer.Region(m.index)
	for _, p := range m.processes {
		if p.first.state == running && m.ending.met != nil {
			w.waited(p.first, m.ending.met)
			w.over(p.first)
		}
	}
	m.ending.met = nil
}
