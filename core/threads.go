package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// A process with several threads, or tasks, is a team of strands. The trace says in
// notes which strand a thread goes on with, and what orders them: releases and
// acquires of objects (detection model, "Threads").
//
// A strand has a line, that is, a component of the clocks, from the moment on when it
// first does more than to acquire and release: those that never do cost nothing. The
// line of a strand that has ended goes on with one that comes after all that it did.
// Notes begin no separate region by themselves: what a strand acquired counts from its
// next event on, which so begins one.

// noLine is the line of a strand that has none.
const noLine int32 = -1

// member is what a strand of a team is beside others.
type member struct {
	number  int64
	due     evc.Time        // what it has learned since its present separate region began
	stale   bool            // that region is over: its next event begins another
	closed  bool            // and one in which nothing happens was begun behind it
	sure    bool            // what it came after when it began is known
	closing bool            // its end was read
	until   *await          // it does nothing before it acquires an object; or nil
	queue   line[*item]     // its events that were read and not replayed
	latest  int64           // when its last call was over that was read, ns
	index   int             // among those of the team that have not ended
	made    *object         // that it has acquired first, until it has begun
	bounds  *regions.Bounds // that it goes on in, if it has begun before
	queued  *recent         // what was put into the queue last, behind anything else; or nil
	kept    *recent         // what the region was given last; or nil

	callsBefore uint64  // of the process, before the accesses that are replayed
	parked      *parked // at an acquire that waits; or nil
}

// team is the strands of a process.
type team struct {
	*Process
	byNumber  map[int64]*Strand
	byThread  map[uint32]*Strand
	others    []*Strand // beside the first that have not ended
	objects   map[int64]*object
	free      []freeLine
	read      uint64 // events of the trace so far
	calls     uint64 // that were read, but for notes
	reached   int64  // when the last call that was read began, ns
	queued    int    // items in queues
	sequences sequences
	allowance int  // that there may be of these before reading stops
	over      bool // the trace was read to its end
	notYet    bool // nothing more was there
	room      item // what was read last
}

// freeLine is the line of a strand that has ended.
type freeLine struct {
	line   int32
	last   uint32 // the number of the last separate region there in which something happened, as clocks count
	closed bool   // that region is over, and one in which nothing happens was begun behind it
}

// form makes a team of a process that had one strand.
func (p *Process) form() {
	s := p.first
	s.sure, s.foresees = true, nil
	p.team = &team{
		Process: p, byNumber: map[int64]*Strand{0: s}, byThread: map[uint32]*Strand{0: s},
		objects: map[int64]*object{}, read: s.pos, calls: s.callsBefore, sequences: sequences{},
	}
	p.m.threaded = true
}

// run replays events of the process until its strands must wait, or the trace ends; n
// were replayed in this turn. Where a strand waits, the others go on up to its next
// event: that was recorded after what it waits for, so that there is most of the time
// nothing to be kept. Where nothing else can go on, more is read (readOn).
func (t *team) run(n int) error {
	for {
		if some, err := t.takeQueued(); err != nil {
			return err
		} else if some {
			t.allowance = 0
		}
		if t.queued > t.allowance || !t.next() {
			break
		}
		x := &t.room
		if err := t.step(false); err != nil || t.m.store.Err() != nil {
			return err
		}
		if n += x.events(); n >= t.m.opts.Turn && x.stretch == nil && x.event.Kind == trace.KindCall {
			t.m.queue.add(t.first)
			return nil
		}
	}
	if t.notYet {
		t.notYet = false
		t.m.queue.add(t.first)
		return nil
	}
	if !t.over {
		return nil
	}
	for s := range t.members {
		if !t.busy(s) {
			s.state = ended
		}
	}
	return nil
}

// step takes what was read, or keeps it until its strand can go on; where the process only
// reads on, so that calls are replayed in the order in which they were made, what is no
// note in any case.
func (t *team) step(ahead bool) error {
	x := &t.room
	s := t.strandOf(x)
	if x.isNote() {
		s = t.note(s, x)
	}
	if s == nil || s.state == ended {
		return nil
	}
	if x.fn != nil {
		s.latest = max(s.latest, x.event.Call.End)
		t.reached = max(t.reached, x.event.Call.Begin)
	}
	if t.busy(s) || ahead && !x.isNote() || !t.inTurn(x) {
		t.put(s, x)
		return nil
	}
	return t.take(s, x)
}

// members visits the strands that have not ended.
func (t *team) members(yield func(*Strand) bool) {
	if !yield(t.first) {
		return
	}
	for i := 0; i < len(t.others); i++ {
		if s := t.others[i]; !yield(s) {
			return
		}
	}
}

// takeQueued replays what was kept, as far as strands can go on, and reports whether some can.
func (t *team) takeQueued() (some bool, err error) {
	for s := t.nextQueued(); s != nil; s = t.nextQueued() {
		x := s.queue.take()
		t.queued -= 1 + x.again.items
		t.sequences.take(x)
		if err := t.take(s, x); err != nil {
			return true, err
		}
		some = true
	}
	return some, nil
}

// nextQueued returns the strand that can go on with what was read first of all that is
// queued: calls are replayed in the order in which they were made, as far as strands do
// not wait. nil: none can.
func (t *team) nextQueued() (first *Strand) {
	if t.queued == 0 {
		return nil
	}
	for s := range t.members {
		if s.state == running && s.sync.waits != nil {
			s.goOn()
		}
		if t.ready(s) && s.queue.len() > 0 && (first == nil || s.queue.at(0).pos < first.queue.at(0).pos) && t.inTurn(s.queue.at(0)) {
			first = s
		}
	}
	return first
}

// ready reports whether a strand can go on.
func (t *team) ready(s *Strand) bool { return s.state == running && s.sync.waits == nil }

// busy reports whether a strand has something to do before what is read now.
func (t *team) busy(s *Strand) bool { return !t.ready(s) || s.queue.len() > 0 }

// next reads the next event, into t.room.
func (t *team) next() bool {
	if t.over {
		return false
	}
	x := &t.room
	x.calls = t.calls
	x.stretch, x.fn, x.object, x.release, x.joined, x.waits, x.pos = nil, nil, nil, nil, evc.Time{}, nil, t.read
	if st, thread := t.ahead.stretch(); st != nil {
		x.stretch, x.thread = st, thread
	} else {
		if err := t.ahead.read(&x.event); err != nil {
			if t.notYet = errors.Is(err, trace.ErrNotYet); t.notYet {
				return false
			}
			t.over = true
			t.unreadable(err)
			return false
		}
		x.thread = x.event.Strand
		switch x.event.Kind {
		case trace.KindAccess:
			st := trace.StretchOf(&x.event.Access)
			st.Counted = x.event.Counted
			x.stretch = &st
		case trace.KindCall:
			x.fn = t.m.function(x.event.Call.Fn)
			if !x.isNote() {
				t.calls++
			}
		}
	}
	t.read += uint64(x.events())
	return true
}

// put keeps what was read until its strand can go on.
func (t *team) put(s *Strand, x *item) {
	t.queued++
	if t.repeated(s, x) {
		return
	}
	kept := *x
	switch {
	case x.stretch != nil:
		st := *x.stretch
		st.Rows = slices.Clone(st.Rows)
		kept.stretch = &st
	case x.event.Kind == trace.KindCall:
		kept.event.Call = keep(x.event.Call)
	}
	t.sequences.put(&kept)
	s.queue.add(&kept)
}

// take replays what was read.
func (t *team) take(s *Strand, x *item) error {
	s.pos = x.pos
	if s.until != nil && !(x.isNote() && x.object != s.until.on) { // other objects are libraries' own: they hold locks of theirs where threads are made
		s.endWait()
	}
	if x.isNote() {
		t.m.stats.Calls++
		s.pos, s.thread = x.pos+1, x.thread
		x.fn.note.do(s, x)
		return nil
	}
	if s.stale {
		s.wake()
	}
	if x.stretch != nil {
		s.callsBefore = x.calls
		s.stretch(x.stretch, x.thread)
		s.repeat(&x.again)
		return nil
	}
	t.event = x.event
	if x.event.Kind == trace.KindSkipped {
		s.thread = x.thread
		return s.passOver()
	}
	s.replay()
	if !t.ready(s) {
		s.keepCall()
	}
	return nil
}

// strandOf returns the strand that the thread of an event goes on with.
func (t *team) strandOf(x *item) *Strand {
	if s := t.byThread[x.thread]; s != nil && (s == t.first || s.state != ended || x.isNote()) {
		return s
	}
	if !x.isNote() {
		t.threads[x.thread] = true
	}
	return t.first
}

// begin adds a strand.
func (t *team) begin(number int64) *Strand {
	s := t.newStrand()
	s.number, s.stale, s.index = number, true, len(t.others)
	t.byNumber[number] = s
	t.others = append(t.others, s)
	return s
}

// end ends a strand. Its line is free for one that comes after it.
func (t *team) end(s *Strand) {
	s.state, s.kept, s.queued = ended, nil, nil
	s.endWait()
	t.m.watch.gone(s)
	delete(t.byNumber, s.number)
	last := len(t.others) - 1
	t.others[s.index] = t.others[last]
	t.others[s.index].index = s.index
	t.others[last] = nil
	t.others = t.others[:last]
	if s.line != noLine {
		t.free = append(t.free, s.lastOnLine())
	}
}

// lastOnLine is the last separate region of a strand that has a line in which something
// happened.
func (s *Strand) lastOnLine() freeLine {
	last := s.Now().Number()
	if s.closed {
		last--
	}
	return freeLine{line: s.line, last: last, closed: s.closed}
}

// endRegions begins another separate region where the only one of a line in the phase is over.
// As long as a line has no other that one is not past, nor is what comes after it. Nothing
// happens in the new one, and nothing is learned in it: the line may go on with another strand.
func (t *team) endRegions() {
	end := func(line int32, closed *bool) {
		if segs := t.m.paths[line].segs; !*closed && len(segs) == 1 {
			*closed = true
			t.m.clock.Tick(int(line))
			t.m.addSegment(line, segs[0].Bounds)
		}
	}
	for s := range t.members {
		if s.stale && s.line != noLine && t.ready(s) {
			end(s.line, &s.closed)
		}
	}
	for i := range t.free {
		end(t.free[i].line, &t.free[i].closed)
	}
}

// active adds what strands know that may still do something: the lines of those that
// have one, and for others, those that are still to begin, and those of which it is known
// what they will know, a time.
func (t *team) active(known map[*Strand]evc.Time, lines []int, times []evc.Time) ([]int, []evc.Time) {
	for s := range t.members {
		will, waits := known[s]
		switch {
		case !s.active(), s.follows():
		case waits:
			times = append(times, will)
		case !s.sure && s.due.IsZero(): // it is about to acquire what it begins with, which is below
		case s.until != nil:
			times = append(times, t.m.clock.Join(s.time(), s.until.on.known(t.m)))
		case s.line == noLine, !s.due.IsZero(): // its next event begins another separate region, with what it has learned
			times = append(times, s.time())
		default:
			lines = append(lines, int(s.line))
		}
	}
	for _, o := range t.objects {
		if o.mayFork() {
			times = append(times, o.known(t.m))
		}
	}
	return lines, times
}

// active reports whether the strand may do something with no more than it knows now.
func (s *Strand) active() bool {
	if s.state == ended || s.state == arrived && !s.m.threaded {
		return false
	}
	return !s.until.lasts()
}

// follows reports whether all that the strand does next comes after what another one is still
// to do: it stands at an acquire of what that one releases, at a call that waits for others, or at a
// meeting of all to which others are still to come. However long it stands there, what it knows now
// does not matter.
func (s *Strand) follows() bool {
	switch s.state {
	case waiting:
		return s.parked != nil || slices.ContainsFunc(s.sync.waits, func(w Wait) bool { return w.Coming && !w.On.given })
	case arrived:
		return s.m.ending.arrived < s.m.present()
	}
	return false
}

// Beside reports whether other strands of the process may do something with less than what
// this one knows now.
func (s *Strand) Beside() bool {
	t := s.team
	if t == nil {
		return false
	}
	for o := range t.members {
		if o != s && o.active() {
			return true
		}
	}
	for _, o := range t.objects {
		if o.mayFork() {
			return true
		}
	}
	return false
}

// time is what a strand knows, its present separate region included.
func (s *Strand) time() evc.Time {
	if s.line == noLine {
		return s.due
	}
	c := s.m.clock
	return c.Join(c.Time(c.Now(int(s.line))), s.due)
}

// wake begins a separate region with what the strand has learned.
func (s *Strand) wake() {
	m := s.m
	if !s.sure && s != s.first {
		s.sure = true
		s.due = m.clock.Join(s.due, s.first.time())
		m.Report(Problem{Kind: Threads, Rank: s.Rank, Fn: FnBegin, Text: fmt.Sprintf("%s began where the trace does not say who made it", s.name())})
	}
	bounds := s.bounds
	if o := s.made; o != nil && o.before != nil {
		bounds = &regions.Bounds{Begin: o.before}
	}
	s.made = nil
	if s.line == noLine {
		s.line = s.team.takeLine(s.due)
		s.path = m.paths[s.line]
	} else {
		bounds = s.within()
	}
	if len(s.path.segs) > 0 { // a new line was ticked
		m.clock.Tick(int(s.line))
	}
	m.clock.Merge(int(s.line), s.due)
	s.due, s.stale, s.closed = evc.Time{}, false, false
	if bounds == nil {
		bounds = &regions.Bounds{}
	}
	s.addSegment(bounds)
}

// mostTried is how many free lines are tried from either end: those that were free
// first are the likeliest to be known, and then the last.
const mostTried = 8

// takeLine returns a line for a strand that begins with what it knows.
func (t *team) takeLine(known evc.Time) int32 {
	fits := func(f freeLine) bool { return t.m.clock.Has(known, int(f.line), f.last) }
	n := len(t.free)
	for i, f := range t.free[:min(mostTried, n)] {
		if fits(f) {
			copy(t.free[1:i+1], t.free[:i])
			t.free = t.free[1:]
			return f.line
		}
	}
	for i := max(mostTried, n-mostTried); i < n; i++ {
		if f := t.free[i]; fits(f) {
			t.free = slices.Delete(t.free, i, i+1)
			return f.line
		}
	}
	return t.m.addLine(t.Rank)
}

// addLine adds a line of a process.
func (m *Machine) addLine(rank int32) int32 {
	line := m.store.AddLine(rank)
	m.paths = append(m.paths, &path{})
	if before := m.clock; int(line) >= before.Strands() {
		m.clock = before.Grow(2 * int(line))
		for _, p := range m.paths {
			for i := range p.segs {
				p.segs[i].Stamp = m.clock.Enter(before.Time(p.segs[i].Stamp))
			}
		}
	}
	return line
}

// meetBeside lets strands go on that stand at one meeting of all processes, which does
// not end the concurrent region, since other strands of these go on beside it. It
// reports whether there was one.
func (m *Machine) meetBeside() bool {
	at := map[MeetKey][]*Strand{}
	var keys []MeetKey
	for s := range m.all {
		if s.state == arrived && s.meeting.call != nil {
			k := s.meeting.key
			if at[k] == nil {
				keys = append(keys, k)
			}
			at[k] = append(at[k], s)
		}
	}
	for _, k := range keys {
		if len(at[k]) == m.present() {
			m.meetAll(at[k])
			return true
		}
	}
	return false
}

// meetAll lets strands go on that have all come to a meeting.
func (m *Machine) meetAll(all []*Strand) {
	var joined evc.Time
	for _, s := range all {
		joined = m.clock.Join(joined, m.clock.Time(m.clock.Now(int(s.line))))
	}
	met := m.ending.met
	m.ending.arrived, m.ending.met = m.ending.arrived-len(all), nil
	for _, s := range all {
		m.clock.Tick(int(s.line))
		m.clock.Merge(int(s.line), joined)
		m.watch.waited(s, met)
		m.watch.over(s)
		s.beginSegment(s.meeting.call)
		s.leaveMeeting()
		m.queue.add(s)
	}
	for _, s := range all {
		s.afterMeeting()
	}
}

// readAtOnce is how much more is read where nothing can go on.
const readAtOnce = 256

// readOn lets some processes read beyond events of strands that wait. It reports whether
// there is one that may.
func (m *Machine) readOn(which func(*team) bool) bool {
	any := false
	for _, p := range m.processes {
		if t := p.team; t != nil && !t.over && t.queued > t.allowance && t.queued < maxAhead && which(t) {
			t.allowance = t.queued + readAtOnce
			m.queue.add(p.first)
			any = true
		}
	}
	return any
}

// short reports whether a strand that was not read may have done something by the time of what
// others wait for, or too little was read of one to foresee what it does next, where that may be
// before all that was read.
func (t *team) short(blocked func() int64) bool {
	for s := range t.members {
		if s.active() && !s.follows() && s.until == nil && !s.closing && s.queue.len() < mostCallsAhead {
			return true
		}
	}
	for _, o := range t.objects {
		if o.mayFork() {
			return t.reached < blocked()
		}
	}
	return false
}

// tooShort returns team.short, for one look at all teams.
func (m *Machine) tooShort() func(*team) bool {
	blocked := sync.OnceValue(m.blockedUntil)
	return func(t *team) bool { return t.short(blocked) }
}

// blockedUntil returns when the last of the calls was over in which strands wait, ns: what begins
// behind that has nothing to do with what they found.
func (m *Machine) blockedUntil() int64 {
	last := int64(math.MinInt64)
	for s := range m.all {
		if s.state == waiting && s.parked == nil && s.call.Call != nil {
			last = max(last, s.call.End)
		}
	}
	return last
}
