package core

import (
	"context"
	"errors"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

type state uint8

const (
	running state = iota
	waiting       // for the first of its waits
	arrived       // stands at a meeting of all strands
	ended
)

// Strand is one line of program order: a process of the replay, or one of several
// threads or tasks of it (threads.go).
type Strand struct {
	*Process

	state     state
	call      Call   // the call under way; what it has of the trace is good until the strand goes on
	callEnded int64  // when the last call was over, ns; 0: there was none
	pos       uint64 // number of the present event in the trace of the process
	thread    uint32 // that makes it
	line      int32  // of package regions; noLine as long as the strand has done nothing
	path      *path  // of the line
	sync      synchronization
	issued    issues
	ended     uint64     // accesses that it has completed
	foresees  *Foresight // what it is going to do to words
	fenced    fences
	reread    reread
	recent    recentStores
	meeting   meetingOfAll // at which it stands
	member                 // of a process with several strands
}

// Pos returns the number of the present event in the trace, from 1.
func (s *Strand) Pos() uint64 { return s.pos }

// Thread returns the thread that makes the present event.
func (s *Strand) Thread() uint32 { return s.thread }

// Now returns the present moment of the strand.
func (s *Strand) Now() regions.Point {
	return regions.Point{Line: s.line, Seg: s.path.segment(), Pos: s.pos}
}

// Knows reports whether a moment of a strand of this region comes before the
// present moment of this one.
func (s *Strand) Knows(at regions.Point) bool {
	return at.Line == s.line || s.m.clock.Knows(s.m.clock.Now(int(s.line)), int(at.Line), at.Number())
}

// Moment is a moment of a strand, in whichever concurrent region.
type Moment struct {
	At     regions.Point
	Region int
}

// Moment returns the present moment of the strand.
func (s *Strand) Moment() Moment { return Moment{s.Now(), s.m.index} }

// ComesAfter reports whether a moment comes before the present one of the strand.
func (s *Strand) ComesAfter(x Moment) bool { return x.Region != s.m.index || s.Knows(x.At) }

// Before reports whether one moment is known to come before another. How two strands were
// ordered in a region or phase that is over is not known any more.
func (m *Machine) Before(x, y Moment) bool {
	switch {
	case x.Region != y.Region:
		return x.Region < y.Region
	case x.At.Line == y.At.Line:
		return x.At.Pos <= y.At.Pos
	case y.Region != m.index:
		return false
	}
	p := m.paths[y.At.Line]
	i := y.At.Seg - p.first
	return i >= 0 && m.clock.Knows(p.segs[i].Stamp, int(x.At.Line), x.At.Number())
}

// IsPast reports whether a moment is known to come before all that is to come, because
// its region or its phase is over.
func (m *Machine) IsPast(x Moment) bool {
	return x.Region != m.index || x.At.Seg < m.paths[x.At.Line].first
}

// beginRegion begins a concurrent region, for the first strand of a process.
func (s *Strand) beginRegion() {
	s.path.segs, s.path.first = s.m.store.Region().Segments[s.line], 0
	s.beginSegment(s.meeting.call)
	s.m.store.SetLocks(s.Rank, s.memory.own)
	s.leaveMeeting()
}

// leaveMeeting lets a strand go on that stands at a meeting of all strands.
func (s *Strand) leaveMeeting() {
	s.meeting.call = nil
	s.due, s.stale, s.closed = evc.Time{}, false, false
	if s.state != arrived {
		return
	}
	s.state = running
	if s.meeting.left {
		s.state = ended
	}
}

// path is the separate regions of a line in the present phase.
type path struct {
	segs   []regions.Segment // those that are not past
	first  int32             // the number of segs[0] in the concurrent region
	bounds []regions.Bounds  // room for the next
	made   int               // of them at once, the last time
	marks  []regions.Landmark
	named  struct { // the last landmark that explanations name
		regions.Landmark
		in *regions.Bounds
	}
}

// segment returns the number of the present separate region.
func (p *path) segment() int32 { return p.first + int32(len(p.segs)) - 1 }

// last returns the present separate region.
func (p *path) last() *regions.Segment { return &p.segs[len(p.segs)-1] }

// at returns a separate region that is not past.
func (p *path) at(segment int32) *regions.Segment { return &p.segs[segment-p.first] }

// newBounds returns the bounds of a separate region that begins with a call.
func (p *path) newBounds(by *regions.CallInfo) *regions.Bounds {
	if len(p.bounds) == 0 {
		p.made = min(max(4, 2*p.made), 64)
		p.bounds = make([]regions.Bounds, p.made)
	}
	b := &p.bounds[0]
	p.bounds = p.bounds[1:]
	b.Begin = by
	return b
}

// lastNamed returns the last call of the strand that explanations name; nil: there was none.
func (s *Strand) lastNamed() *regions.CallInfo {
	if n := &s.path.named; n.in == s.within() {
		return n.Info(s.Rank)
	}
	return s.within().Begin
}

// within returns the bounds of the present separate region.
func (s *Strand) within() *regions.Bounds { return s.path.last().Bounds }

// beginSegment begins a separate region with a synchronization event, which
// ends the one before.
func (s *Strand) beginSegment(by *regions.CallInfo) {
	p := s.path
	n := len(p.segs)
	if n > 0 && by != nil && trace.IsNote(by.Fn) {
		// The tracer's own notes are no calls that a user knows.
		s.addSegment(p.segs[n-1].Bounds)
		return
	}
	if n > 0 {
		p.end(by, s.Rank)
	}
	s.addSegment(p.newBounds(by))
}

func (s *Strand) addSegment(calls *regions.Bounds) { s.m.addSegment(s.line, calls) }

// end ends the present separate region of a process with a call.
func (p *path) end(by *regions.CallInfo, rank int32) {
	bounds := p.last().Bounds
	if bounds.End = by; p.named.in == bounds {
		bounds.Last = p.named.Info(rank)
	}
}

// addSegment adds a separate region with the timestamp that a line has now.
func (m *Machine) addSegment(line int32, calls *regions.Bounds) {
	seg := regions.Segment{Stamp: m.clock.Now(int(line)), Bounds: calls}
	p := m.paths[line]
	p.segs = append(p.segs, seg)
	m.phase.grown += m.weight(seg.Stamp)
}

// Landmark notes the call in the present separate region, as one that
// explanations name.
func (s *Strand) Landmark(c *Call, loose bool) {
	s.mark(regions.Landmark{Pos: s.pos, Fn: c.Fn, Stack: c.Stack, Thread: s.thread, Loose: loose})
}

// noteNamed notes a call as the last in its separate region that explanations name.
func (s *Strand) noteNamed(l regions.Landmark) {
	s.path.named.Landmark, s.path.named.in = l, s.within()
}

func (s *Strand) mark(l regions.Landmark) {
	seg, p := s.path.last(), s.path
	room := min(max(8, 2*cap(p.marks)), 256)
	n := len(seg.Landmarks)
	if len(p.marks) == cap(p.marks) {
		p.marks = append(make([]regions.Landmark, 0, room+2*n), seg.Landmarks...)
	}
	p.marks = append(p.marks, l)
	if !l.Leaves {
		s.noteNamed(l)
	}
	all := len(p.marks)
	seg.Landmarks = p.marks[all-n-1 : all : all]
}

// run replays the events of the process until its strands must wait, or its trace
// ends.
func (s *Strand) run(ctx context.Context) error {
	if s.state == running && s.sync.waits != nil && !s.goOn() && s.team == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if tick := s.m.opts.Tick; tick != nil {
		tick()
	}
	if s.team != nil {
		return s.team.run(0)
	}
	// Others have their turn behind a call: so it does not depend on which
	// accesses are passed over.
	for n := 0; s.state == running; {
		if st, thread := s.ahead.stretch(); st != nil {
			s.stopPolling()
			s.stretch(st, thread)
			if s.m.store.Err() != nil { // there may be no call for long
				return nil
			}
			n += st.Len
			continue
		}
		if !s.read() {
			if s.state == running { // others go on meanwhile
				s.m.queue.add(s)
			}
			return nil
		}
		switch s.event.Kind {
		case trace.KindSkipped:
			s.stopPolling()
			if err := s.passOver(); err != nil {
				return err
			}
			n += int(s.event.Skipped.Accesses)
			continue
		case trace.KindCall:
			if s.polls() {
				if n++; n < s.m.opts.Turn {
					continue
				}
				s.m.queue.add(s)
				return nil
			}
		default:
			s.stopPolling()
		}
		s.replay()
		if s.team != nil {
			return s.team.run(n)
		}
		if n++; n >= s.m.opts.Turn && s.event.Kind == trace.KindCall && s.state == running {
			s.m.queue.add(s)
			return nil
		}
	}
	return nil
}

// read reads the next event. It reports whether there is one.
func (s *Strand) read() bool {
	err := s.ahead.read(&s.event)
	if err == nil {
		return true
	}
	if errors.Is(err, trace.ErrNotYet) {
		return false
	}
	s.state = ended
	s.unreadable(err)
	return false
}

// replay replays the event that was read.
func (s *Strand) replay() {
	m, ev := s.m, &s.event
	s.pos++
	s.thread = ev.Strand
	switch ev.Kind {
	case trace.KindAccess:
		s.local()
	case trace.KindCall:
		m.stats.Calls++
		s.replayCall()
	case trace.KindLost:
		m.stats.LostCalls += ev.Lost.Calls
		m.stats.LostAccess += ev.Lost.Accesses
		if ev.Lost.Calls > 0 {
			for _, model := range m.models {
				model.Lost(s)
			}
		}
		s.missed(ev.Lost.Calls > 0)
		m.Report(Problem{Kind: Lost, Rank: s.Rank, Count: ev.Lost.Calls + ev.Lost.Accesses, Text: lostReason(ev.Lost.Reason)})
	case trace.KindEnd:
		m.stats.Units += ev.End.Units
		m.stats.Ended++
		s.done = true
	}
}

func lostReason(r uint8) string {
	switch r {
	case 1:
		return "the disk was full"
	case 2:
		return "the tracer reached its memory limit"
	case 4:
		return "the trace had the size that --max-trace allows"
	case 5:
		return "the traces took all that --max-disk allows"
	}
	return "the tracer could not record"
}
