package core

import (
	"errors"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// maxAhead bounds how many events are read ahead of the replay.
const maxAhead = 1 << 20

// ahead reads a stream ahead of the replay, for what a call turns out to have
// done to be known when it is replayed.
type ahead struct {
	of     *Process
	stream Stream
	many   accessStream  // the stream, where it is one
	queue  []trace.Event // read ahead, not yet replayed
	room   []trace.Event // where the queue began, empty
	events int           // of them, accesses that were passed over included
	taken  int           // how many of the queue were replayed
	times  int           // how often all of a queue was replayed
	err    error         // that the stream ended with, behind the queue
}

// read returns the next event of the replay.
func (a *ahead) read(ev *trace.Event) error {
	if len(a.queue) > 0 {
		*ev = a.queue[0]
		a.queue = a.queue[1:]
		a.taken++
		a.events -= events(ev)
		return nil
	}
	if a.queue != nil {
		a.of.m.rooms.giveBack(a.room)
		a.queue, a.room, a.taken = nil, nil, 0
		a.times++
	}
	if a.err != nil {
		return a.err
	}
	return a.stream.ReadEvent(ev)
}

// stretch returns the accesses that come next, and their thread, where the
// stream gives several at once; otherwise nil.
func (a *ahead) stretch() (st *trace.Stretch, thread uint32) {
	if a.many == nil || a.queue != nil || a.err != nil {
		return nil, 0
	}
	return a.many.ReadStretch()
}

// more waits until one more event is read ahead, and reports whether there was one.
func (a *ahead) more() bool {
	for !a.another() {
		if a.err != nil {
			return false
		}
	}
	return true
}

// another reads one more event ahead, if it is there by now.
func (a *ahead) another() bool {
	a.of.current.keepCall()
	if a.err != nil {
		return false
	}
	var ev trace.Event
	switch err := a.stream.ReadEvent(&ev); {
	case errors.Is(err, trace.ErrNotYet):
		return false
	case err != nil:
		a.err = err
		return false
	}
	a.put(&ev)
	return true
}

// peek returns an event of those to come, by number; nil where it is not there, or not yet.
func (a *ahead) peek(i int) *trace.Event {
	for len(a.queue) <= i {
		if !a.another() {
			return nil
		}
	}
	return &a.queue[i]
}

// drop takes events off the queue.
func (a *ahead) drop(n int) {
	for i := range n {
		a.events -= events(&a.queue[i])
	}
	a.queue, a.taken = a.queue[n:], a.taken+n
}

// put adds an event that was read ahead.
func (a *ahead) put(ev *trace.Event) {
	if ev.Kind == trace.KindCall {
		ev.Call = keep(ev.Call)
	}
	if a.queue == nil {
		a.room = a.of.m.rooms.take()
		a.queue = a.room
	}
	n := len(a.queue)
	switch {
	case n < cap(a.queue):
	case 2*n <= cap(a.room): // what was replayed makes room
		copy(a.room[:n], a.queue)
		a.queue = a.room[:n]
	default:
		a.room = make([]trace.Event, 0, max(64, 2*n))
		a.queue = append(a.room, a.queue...)
	}
	a.queue = append(a.queue, *ev)
	a.events += events(ev)
}

// rooms is room for events that were read ahead, which is used again.
type rooms [][]trace.Event

// mostRooms bounds how much is kept, and mostInRoom the events that one has room for.
const mostRooms, mostInRoom = 32, 1 << 13

func (r *rooms) take() []trace.Event {
	if len(*r) == 0 {
		return nil
	}
	last := len(*r) - 1
	room := (*r)[last]
	(*r)[last], *r = nil, (*r)[:last]
	return room
}

func (r *rooms) giveBack(room []trace.Event) {
	if cap(room) <= mostInRoom && len(*r) < mostRooms {
		*r = append(*r, room)
	}
}

// events returns how many events one stands for, whatever is passed over.
func events(ev *trace.Event) int {
	if ev.Kind == trace.KindSkipped {
		return int(ev.Skipped.Accesses)
	}
	return 1
}

// keep copies a call, which a stream uses again.
func keep(c *trace.Call) *trace.Call {
	d := *c
	d.Args = slices.Clone(c.Args)
	for i := range d.Args {
		d.Args[i].List = slices.Clone(d.Args[i].List)
	}
	return &d
}

// keepCall keeps the call under way, of which reading ahead uses the storage
// again. Lists of its arguments that were asked for before are not kept.
func (s *Strand) keepCall() {
	if s.call.Call != nil && s.call.Call == s.event.Call && !s.call.kept {
		s.call.Call = keep(s.call.Call)
		s.event.Call = s.call.Call
		s.call.kept = true
	}
}

// Lookahead is a place in the events of a strand that are still to come.
type Lookahead struct {
	ahead  *ahead
	times  int
	next   int    // its number in the queue, from the first that the queue had
	number uint64 // of the event before it, in the trace
}

// Ahead returns the place of the next event.
func (s *Strand) Ahead() Lookahead {
	return Lookahead{ahead: &s.ahead, times: s.ahead.times, next: s.ahead.taken, number: s.events()}
}

// Over reports whether all that was read ahead has been replayed.
func (l *Lookahead) Over() bool { return l.ahead == nil || l.times != l.ahead.times }

// ended reports whether all events were read, up to the last one.
func (l *Lookahead) ended() bool {
	return l.next-l.ahead.taken == len(l.ahead.queue) && l.ahead.err != nil
}

// Call returns the next call behind the place, and moves the place behind it;
// nil when there is none, or it is too far ahead. The call stays as it is.
func (l *Lookahead) Call() *trace.Call { return l.within(maxAhead) }

// within is Call where only so many events are read ahead.
func (l *Lookahead) within(most int) *trace.Call {
	a := l.ahead
	if l.next < a.taken {
		l.next, l.number = a.taken, a.of.events()
	}
	for {
		if l.next-a.taken == len(a.queue) && (a.events >= most || !a.more()) {
			return nil
		}
		ev := &a.queue[l.next-a.taken]
		l.next++
		l.number += uint64(events(ev))
		if ev.Kind == trace.KindCall {
			return ev.Call
		}
	}
}

// NextCall returns the call that the strand makes next, with no load or store before it that is
// recorded; nil: it does something else, or that is not known.
func (s *Strand) NextCall() *trace.Call {
	a := &s.ahead
	if s.team != nil || len(a.queue) == 0 && !a.more() || a.queue[0].Kind != trace.KindCall {
		return nil
	}
	return a.queue[0].Call
}

// ReadAhead reads one event ahead if none was: what the trace defines before it is
// known then.
func (s *Strand) ReadAhead() {
	if len(s.ahead.queue) == 0 {
		s.ahead.more()
	}
}
