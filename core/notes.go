package core

import (
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// object is something that strands of a process release and acquire: what an acquire
// comes after are the releases that were read before it.
type object struct {
	own    bool     // it is one of the tracer, and no address
	fork   bool     // strands that have not begun may acquire it
	by     *Strand  // that released it last
	taken  bool     // it was acquired
	given  int64    // how often it was released
	comes  bool     // a strand that has begun says that it will release it once
	came   int64    // how many strands have waited for it
	awaits int      // how many do now
	region int      // in which it was released last
	phase  int      // of the replay
	joined evc.Time // of the releases in the region that were replayed, but for the last ones:
	late   []evc.Time
	open   []opening         // releases that were read, and are not replayed: of each strand the last
	before *regions.CallInfo // the last call of who released it last, for strands that begin
}

// mayFork reports whether a strand may begin with no more than what releases of the object tell now:
// who is read later comes after those that were read, too.
func (o *object) mayFork() bool { return o.fork && len(o.open) == 0 }

// opening is a release that a strand is still to make: it comes after those before it.
type opening struct {
	by     *Strand
	signal *Signal
}

// known is what an acquire learns now.
func (o *object) known(m *Machine) evc.Time {
	if o.region != m.index {
		return evc.Time{} // nothing that is new
	}
	o.joined, o.late = m.clock.JoinAll(o.joined, o.late), o.late[:0]
	return o.joined
}

// mostLate is how many releases are joined at a time: thousands of tasks release what
// is acquired once.
const mostLate = 256

// releasedAt adds a release.
func (o *object) releasedAt(m *Machine, now evc.Time) {
	if o.region != m.index {
		o.region, o.joined, o.late = m.index, evc.Time{}, o.late[:0]
	}
	if o.late = append(o.late, now); len(o.late) == mostLate {
		o.known(m)
	}
}

// item is an event that was read.
type item struct {
	event   trace.Event
	stretch *trace.Stretch // instead of the event
	thread  uint32
	pos     uint64 // events of the trace before it
	fn      *function
	object  *object // that a note names
	release *Signal // that a release gives which has to wait; otherwise nil
	// Of an acquire, what it learns, and whether it tells all that a strand comes after
	// which begins with it.
	joined evc.Time
	region int
	sure   bool
	waits  []Wait
	calls  uint64 // of the process, that were read before it
	again  repeats
	given  int64 // releases of the object that were replayed before it was read
}

// events returns how many events of the trace it stands for.
func (x *item) events() int {
	if x.stretch != nil {
		return x.stretch.Len
	}
	return events(&x.event)
}

func (x *item) isNote() bool { return x.fn != nil && x.fn.note != nil }

// note is what the trace says of strands in a pseudo call: what that changes at once, when
// it is read, and what it does in the order of its strand; nil: nothing.
type note struct {
	read func(t *team, s *Strand, x *item, arg int64)
	do   func(s *Strand, x *item)
	arg  ArgName
	// first: it matters to a process that has had one strand so far.
	first bool
	named bool // it is done by the strand that it names
}

var (
	argStrand   = NewArgName("strand")
	argObject   = NewArgName("object")
	argStrands  = NewArgName("strands")
	argReleases = NewArgName("releases")
)

// notes are those on strands, by the names that they have in traces.
var notes = map[string]*note{
	"mcchk_Strand":       {read: (*team).goOnWith, arg: argStrand, first: true},
	"mcchk_Strand_end":   {read: (*team).ends, do: endStrand, arg: argStrand, named: true},
	"mcchk_Strand_waits": {read: (*team).names, do: waitFor, arg: argObject},
	"mcchk_Will_release": {read: (*team).willRelease, arg: argObject},
	"mcchk_Release":      {read: (*team).releases, do: release, arg: argObject, first: true},
	"mcchk_Fork":         {read: (*team).forks, do: release, arg: argObject, first: true},
	"mcchk_Acquire":      {read: (*team).acquires, do: acquire, arg: argObject},
	"mcchk_Object_end":   {read: (*team).endObject, arg: argObject},
}

// note replays a note in a process that has had one strand so far.
func (s *Strand) note(c *Call) {
	n := c.function.note
	if !n.first || n.arg == argStrand && c.Int(argStrand) == s.number && s.thread == 0 {
		return
	}
	s.form()
	x := &s.team.room
	*x = item{event: s.event, thread: s.thread, pos: s.pos - 1, fn: c.function}
	if s.team.note(s, x) == s {
		n.do(s, x)
	}
}

// note takes a note that was read. It returns the strand in whose order there is more
// to be done; nil: there is not.
func (t *team) note(s *Strand, x *item) *Strand {
	n, arg := x.fn.note, int64(0)
	if n.arg != 0 {
		c := Call{Call: x.event.Call, function: x.fn}
		if arg = c.Int(n.arg); c.bad {
			s.NotUnderstood(&c, "it does not say which")
			return nil
		}
	}
	if s.state == ended && n.arg == argObject && n.do != nil {
		return nil // the thread tells late of what is known
	}
	if n.read != nil {
		n.read(t, s, x, arg)
	}
	switch {
	case n.do == nil:
		return nil
	case n.named:
		return t.byNumber[arg]
	}
	return s
}

// goOnWith: what the thread records from now on belongs to a strand.
func (t *team) goOnWith(_ *Strand, x *item, number int64) {
	s := t.byNumber[number]
	if s == nil {
		s = t.begin(number)
		s.thread = x.thread
	}
	t.byThread[x.thread] = s
}

// ends: nothing more of a strand is to come.
func (t *team) ends(_ *Strand, _ *item, number int64) {
	if s := t.byNumber[number]; s != nil {
		s.closing = true
	}
}

// endStrand: the strand is over.
func endStrand(s *Strand, _ *item) {
	if s != s.first {
		s.team.end(s)
	}
}

// await is that a strand does nothing before it acquires an object, but for releasing and
// acquiring others, which it does not before so many strands have waited for it, and so many more
// releases were made, and that which is to come. It comes after whoever that is, so that as long as there is somebody, what it knows now
// does not matter.
type await struct {
	on             *object
	strands, given int64
}

// lasts reports whether there is somebody who is known to come before what the strand
// does next. w may be nil.
func (w *await) lasts() bool {
	return w != nil && (w.on.came < w.strands || w.on.given < w.given || w.on.comes && w.on.given == 0)
}

func (t *team) names(_ *Strand, x *item, id int64) {
	x.object = t.object(id)
	x.given = x.object.given
}

// willRelease: the strand will release the object, once.
func (t *team) willRelease(_ *Strand, _ *item, id int64) { t.object(id).comes = true }

// waitFor: the strand does nothing before it acquires the object.
func waitFor(s *Strand, x *item) {
	c := Call{Call: x.event.Call, function: x.fn}
	s.endWait()
	s.until = &await{on: x.object, strands: c.Int(argStrands), given: x.given + c.Int(argReleases)}
	x.object.came++
	x.object.awaits++
}

func (s *Strand) endWait() {
	if s.until != nil {
		s.until.on.awaits--
		s.until = nil
	}
}

func (t *team) object(id int64) *object {
	o := t.objects[id]
	if o == nil {
		o = &object{own: id < 0}
		t.objects[id] = o
	}
	return o
}

// releases: what the strand did comes before all later acquires of the object.
func (t *team) releases(s *Strand, x *item, id int64) {
	x.object = t.object(id)
	if t.busy(s) {
		x.release = &Signal{}
		x.object.opens(s, x.release)
	}
}

// opens notes a release that the strand is still to make.
func (o *object) opens(by *Strand, signal *Signal) {
	if i := slices.IndexFunc(o.open, func(x opening) bool { return x.by == by }); i >= 0 {
		o.open[i].signal = signal
		return
	}
	o.open = append(o.open, opening{by, signal})
}

// forks: as releases, and strands that have not begun yet may acquire the object first.
func (t *team) forks(s *Strand, x *item, id int64) {
	t.object(id).fork = true
	t.releases(s, x, id)
}

func release(s *Strand, x *item) {
	m, o, now := s.m, x.object, s.time()
	o.releasedAt(m, now)
	o.given++
	o.phase, o.by = m.phases, s
	if o.fork && s.path != nil {
		o.before = s.lastNamed()
	}
	if x.release != nil {
		m.give(x.release, now)
		o.open = slices.DeleteFunc(o.open, func(y opening) bool { return y.signal == x.release })
	}
	s.stale, s.closed = true, false
}

// acquires: the strand comes after all releases of the object so far.
func (t *team) acquires(s *Strand, x *item, id int64) {
	o := t.objects[id]
	if o == nil {
		return
	}
	x.object, x.joined, x.region = o, o.known(t.m), t.m.index
	x.sure = o.fork || o.phase == t.m.phases
	o.taken = true
	for _, y := range o.open {
		x.waits = append(x.waits, Wait{On: y.signal, What: func() string { return "for another thread" }})
	}
}

func acquire(s *Strand, x *item) {
	o := x.object
	if o == nil {
		return
	}
	if !s.sure {
		s.sure, s.made = x.sure, o
	}
	if x.region == s.m.index && !x.joined.IsZero() {
		s.due, s.stale = s.m.clock.Join(s.due, x.joined), true
	}
	if len(x.waits) == 0 {
		return
	}
	s.park(x)
	s.call = Call{Call: keep(x.event.Call), function: x.fn, kept: true}
	s.callEnded = s.call.End
	if s.line == noLine { // it takes one once it knows whose it comes after: as many strands wait as there are read ahead
		s.sync.call = s.Info(&s.call)
		s.sync.begin(x.waits, s.unparked)
		s.goOn()
		return
	}
	s.wake()
	s.Synchronize(&s.call, nil, x.waits, s.unparked)
}

// endObject: nothing acquires the object any more.
func (t *team) endObject(_ *Strand, _ *item, id int64) { delete(t.objects, id) }
