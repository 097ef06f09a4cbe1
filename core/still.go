package core

import (
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// Threads live longer than a region: a pool of them waits for its next work while the
// first strand of its process meets with others. Where the first strands of all processes
// stand at a meeting of all, the region ends when nothing goes on beside it: all that
// other strands did comes before the meeting, and what they are to do next comes after
// something that their first strand does behind it. That tells what is recorded next:
// such a strand acquires what was not released yet. So a process reads on at a meeting,
// up to the next event of each of its strands, but not far, and where that is in vain more
// and more seldom.

// mostAhead is how many calls a process reads on at a meeting.
const mostAhead = 512

// parked is what a strand stands at that waits for releases of others.
type parked struct {
	item  *item
	after freeLine // the last separate region before it; its line is noLine where there is none
}

// park notes that the strand waits for what an acquire comes after.
func (s *Strand) park(x *item) {
	kept := *x
	kept.event.Call = keep(x.event.Call)
	s.parked = &parked{item: &kept, after: freeLine{line: noLine}}
	if s.line != noLine {
		s.parked.after = s.lastOnLine()
	}
}

// unparked: the strand has what it waited for.
func (s *Strand) unparked() { s.parked = nil }

// unpark puts a strand back before the acquire that it stands at, at the end of a region.
func (s *Strand) unpark() {
	m, waits := s.m, s.sync.waits
	waits[0].On.forsake(s)
	s.sync.over()
	s.sync.after, s.state = nil, running
	s.queue.putBack(s.parked.item)
	s.team.queued++
	m.stats.Calls--
	s.parked = nil
}

// stillness is whether other strands go on beside a meeting at which the first one stands.
type stillness uint8

const (
	restless stillness = iota // some do, or may
	unsure                    // that is for what is read next to say
	still
)

func (t *team) stillness() stillness {
	result := still
	for _, o := range t.objects {
		if o.by != nil && o.fork {
			return restless
		}
	}
	now := t.m.clock.Now(int(t.first.line))
	known := func(f freeLine) bool { return f.line == noLine || t.m.clock.Knows(now, int(f.line), f.last) }
	for _, f := range t.free {
		if !known(f) {
			return restless
		}
	}
	for _, s := range t.others {
		switch {
		case s.state == waiting && s.parked != nil:
			if !known(s.parked.after) {
				return restless
			}
		case !t.ready(s) || s.queue.len() > 0 || s.line != noLine && !known(s.lastOnLine()):
			return restless
		case !t.over:
			result = unsure
		}
	}
	return result
}

// stillness is that of all processes, at a meeting of all.
func (m *Machine) stillness() stillness {
	if m.ending.arrived == 0 || m.ending.arrived < m.present() {
		return restless
	}
	if !m.threaded {
		return still
	}
	result := still
	for _, p := range m.processes {
		if p.stream == nil {
			continue
		}
		if p.first.state != arrived {
			return restless
		}
		if p.team != nil {
			result = min(result, p.team.stillness())
		}
	}
	return result
}

// together reports whether all processes stand at a meeting that ends the region:
// there is nothing beside it. It reads on where that is to be found out.
func (m *Machine) together() (bool, error) {
	result := m.stillness()
	if result != unsure {
		return result == still, nil
	}
	e := &m.ending
	if e.passOver > 0 {
		e.passOver--
		return false, nil
	}
	for ahead := 0; result == unsure && ahead < mostAhead; ahead++ {
		for _, p := range m.processes {
			if t := p.team; t != nil && t.stillness() == unsure {
				if err := t.readCall(); err != nil {
					return false, err
				}
			}
		}
		result = m.stillness()
	}
	if result == still {
		e.inVain = 0
		return true, nil
	}
	e.inVain = min(2*e.inVain+1, 1<<10)
	e.passOver = e.inVain
	return false, nil
}

// goBack lets strands go on with what was read at a meeting in vain. It reports whether
// any can.
func (m *Machine) goBack() bool {
	any := false
	for _, p := range m.processes {
		if p.team != nil && p.team.nextQueued() != nil {
			m.queue.add(p.first)
			any = true
		}
	}
	return any
}

// readCall reads on up to the next call or note.
func (t *team) readCall() error {
	for t.next() {
		if err := t.step(true); err != nil || t.room.fn != nil {
			return err
		}
	}
	return nil
}

// beginRegion takes the strands beside the first into a new region: nothing that they did
// matters there.
func (t *team) beginRegion(by *regions.CallInfo) {
	t.free = nil
	for id, o := range t.objects {
		if o.own && !o.taken && o.awaits == 0 && len(o.open) == 0 && o.by != nil && o.by.state == ended {
			delete(t.objects, id) // who acquires what it released at its end is in a later region
		}
	}
	for _, s := range t.others {
		if s.parked != nil && s.line != noLine { // else it stands there as well in the new region
			s.unpark()
		}
		s.line, s.path = noLine, nil
		s.due, s.stale, s.closed = evc.Time{}, true, false
		s.bounds = &regions.Bounds{Begin: by}
	}
}
