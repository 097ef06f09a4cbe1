package core

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// Strand is one line of program order: a process of the replay.
type Strand struct {
	Rank int32 // world rank of its process

	m *Machine
	reading
	state   state
	calls   functions
	call    Call // the call under way
	path    path
	sync    synchronization
	memory  memory
	taken   int               // loads and stores of the phase that are new in it, those of other parts included
	closing *regions.CallInfo // the meeting of all strands at which it stands
	left    bool              // and from which it never returned
}

// reading is the trace of a strand, as far as it was read.
type reading struct {
	stream  Stream
	ahead   ahead
	event   trace.Event
	pos     uint64          // events so far
	threads map[uint32]bool // beside the first
	done    bool            // it is complete
}

func newStrand(m *Machine, rank int, stream Stream) *Strand {
	s := &Strand{
		Rank: int32(rank), m: m,
		reading: reading{stream: stream, ahead: ahead{stream: stream}, threads: map[uint32]bool{}},
		calls:   functions{all: map[*trace.Fn]*function{}},
		sync:    synchronization{buffer: make([]Wait, 0, 4)},
	}
	s.path.rank = s.Rank
	s.ahead.strand = s
	if stream == nil {
		s.state = ended
	}
	s.ahead.many, _ = stream.(accessStream)
	return s
}

// Stream returns the trace of the strand.
func (s *Strand) Stream() Stream { return s.stream }

// Pos returns the number of the present event in the trace, from 1.
func (s *Strand) Pos() uint64 { return s.pos }

// Thread returns the thread that makes the present event.
func (s *Strand) Thread() uint32 { return s.event.Strand }

// Now returns the present moment of the strand.
func (s *Strand) Now() regions.Point {
	return regions.Point{Line: s.Rank, Seg: s.path.segment(), Pos: s.pos}
}

// Knows reports whether a moment of a strand of this region comes before the
// present moment of this one.
func (s *Strand) Knows(at regions.Point) bool {
	return at.Line == s.Rank || s.m.clock.Knows(s.m.clock.Now(int(s.Rank)), int(at.Line), at.Number())
}

func (s *Strand) beginRegion() {
	s.path.segs, s.path.first = s.m.store.Region().Segments[s.Rank], 0
	s.beginSegment(s.closing)
	s.m.store.SetLocks(s.Rank, s.memory.own)
	s.closing = nil
	if s.state == arrived {
		s.state = running
		if s.left {
			s.state = ended
		}
	}
}

// path is the separate regions of a strand in the present phase.
type path struct {
	rank   int32
	segs   []regions.Segment // those that are not past
	first  int32             // the number of segs[0] in the concurrent region
	bounds []regions.Bounds  // room for the next
	made   int               // of them at once, the last time
	marks  []regions.Landmark
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

// within returns the bounds of the present separate region.
func (s *Strand) within() *regions.Bounds { return s.path.last().Bounds }

// beginSegment begins a separate region with a synchronization event, which
// ends the one before.
func (s *Strand) beginSegment(by *regions.CallInfo) {
	p := &s.path
	n := len(p.segs)
	if n > 0 && by != nil && trace.IsNote(by.Fn) {
		// The tracer's own notes are no calls that a user knows.
		s.addSegment(p.segs[n-1].Bounds)
		return
	}
	if n > 0 {
		p.segs[n-1].Bounds.End = by
	}
	s.addSegment(p.newBounds(by))
}

func (s *Strand) addSegment(calls *regions.Bounds) {
	seg := regions.Segment{Stamp: s.m.clock.Now(int(s.Rank)), Bounds: calls}
	s.path.segs = append(s.path.segs, seg)
	s.m.phase.grown += s.m.weight(seg.Stamp)
}

// Landmark notes the call in the present separate region, as one that
// explanations name.
func (s *Strand) Landmark(c *Call, loose bool) {
	seg, p := s.path.last(), &s.path
	room := min(max(8, 2*cap(p.marks)), 256)
	n := len(seg.Landmarks)
	if len(p.marks) == cap(p.marks) {
		p.marks = append(make([]regions.Landmark, 0, room+2*n), seg.Landmarks...)
	}
	p.marks = append(p.marks, regions.Landmark{Pos: s.pos, Fn: c.Fn, Stack: c.Stack, Thread: s.event.Strand, Loose: loose})
	all := len(p.marks)
	seg.Landmarks = p.marks[all-n-1 : all : all]
}

// run replays the events of the strand until it must wait, or its trace ends.
func (s *Strand) run(ctx context.Context) error {
	if s.state == waiting || s.state == running && s.sync.waits != nil {
		if !s.goOn() {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if tick := s.m.opts.Tick; tick != nil {
		tick()
	}
	// Others have their turn behind a call: so it does not depend on which
	// accesses are passed over.
	for n := 0; s.state == running; {
		if st, thread := s.ahead.stretch(); st != nil {
			s.stretch(st, thread)
			if s.m.store.Err() != nil { // there may be no call for long
				return nil
			}
			n += st.Len
			continue
		}
		if !s.read() {
			return nil
		}
		if s.event.Kind == trace.KindSkipped {
			if err := s.passOver(); err != nil {
				return err
			}
			n += int(s.event.Skipped.Accesses)
			continue
		}
		s.replay()
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
	s.state = ended
	if !errors.Is(err, io.EOF) {
		s.m.Report(Problem{Kind: Damaged, Rank: s.Rank, Text: fmt.Sprintf("rank %d: %v", s.Rank, err)})
	}
	return false
}

// replay replays the event that was read.
func (s *Strand) replay() {
	m, ev := s.m, &s.event
	s.pos++
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
	}
	return "the tracer could not record"
}
