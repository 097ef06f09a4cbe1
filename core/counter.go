package core

import "github.com/mcchk/mcchk/evc"

// CounterKey names a counter: a number at one strand's part of an object.
type CounterKey struct {
	Object int64
	Owner  int32
	Number int64
}

// Counter orders signals as they were counted in the run. Who waits for a count
// waits for all signals counted before it (section 4.6 of the paper that signals.go names).
type Counter struct {
	next   int64             // signals 0 to next-1 were replayed
	early  map[int64]*Signal // replayed, from next on
	upTo   map[int64]*Signal // by count: all signals before it
	past   int64             // counts up to this order nothing any more
	joined evc.Time          // of signals 0 to next-1 in region
	region int
	marks  []Mark // theirs, with an Observer
}

// Counter returns the counter of that name.
func (m *Machine) Counter(k CounterKey) *Counter {
	o := m.registry.counters[k]
	if o == nil {
		o = &Counter{early: map[int64]*Signal{}, upTo: map[int64]*Signal{}}
		m.registry.counters[k] = o
	}
	return o
}

// Count gives signal n of a counter, from 0. It reports false, and gives none,
// where there was a signal n before.
func (s *Strand) Count(c *Call, o *Counter, n int64) bool {
	if n < o.next || o.early[n] != nil {
		return false
	}
	g := &Signal{}
	o.early[n] = g
	s.Synchronize(c, []*Signal{g}, nil, nil)
	s.m.advance(o)
	return true
}

// Await waits for the first n signals of a counter. Softly: a signal may be
// missing from the trace of a process that died.
func (s *Strand) Await(c *Call, o *Counter, n int64, what func() string) {
	if n > o.past {
		s.Synchronize(c, nil, []Wait{{On: o.before(n), Soft: true, What: what}}, nil)
	}
}

// advance takes in the signals that follow those taken in.
func (m *Machine) advance(o *Counter) {
	for g := o.early[o.next]; g != nil && g.given; g = o.early[o.next] {
		delete(o.early, o.next)
		o.next++
		if o.region != m.index {
			o.region, o.joined, o.marks = m.index, evc.Time{}, nil
		}
		if g.region == m.index {
			o.joined = m.clock.Join(o.joined, g.time)
			if g.mark != nil {
				o.marks = append(o.marks, g.mark)
			}
		}
		all := o.before(o.next)
		all.mark = markList(o.marks)
		m.give(all, o.joined)
	}
}

// before returns the signal that stands for all with a lower number.
func (o *Counter) before(n int64) *Signal {
	s := o.upTo[n]
	if s == nil {
		s = &Signal{}
		o.upTo[n] = s
	}
	return s
}

// forget forgets the signals that are ordered before all that is to come.
func (o *Counter) forget(m *Machine) {
	for o.past < o.next {
		if !m.past(o.before(o.past + 1)) {
			return
		}
		o.past++
		delete(o.upTo, o.past)
	}
}
