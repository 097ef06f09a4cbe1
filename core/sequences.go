package core

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// sequences are the calls that wait in the queues of a process's strands and that it makes
// one after another, whichever of its threads does (Meaning.Sequence): where they are in the
// trace, in its order. Nothing but the trace may order them, and a strand that stands at an
// earlier event must not lose its turn by that.
type sequences map[any][]uint64

// sequence returns the sequence that a call belongs to; nil: none.
func (f *function) sequence(c *trace.Call) any {
	if f.meaning == nil || f.meaning.Sequence == nil {
		return nil
	}
	return f.meaning.Sequence(&Call{Call: c, function: f})
}

// sequence returns the sequence that an event belongs to; nil: none.
func (x *item) sequence() any {
	if x.fn == nil {
		return nil
	}
	return x.fn.sequence(x.event.Call)
}

// GoesOn reports whether the strand is known to make the next call of a sequence, at once.
func (s *Strand) GoesOn(sequence any) bool {
	if s.team == nil {
		s.ReadAhead()
		next := s.ahead.peek(0)
		return next != nil && next.Kind == trace.KindCall && s.m.function(next.Call.Fn).sequence(next.Call) == sequence
	}
	return s.queue.len() > 0 && s.queue.at(0).sequence() == sequence && s.team.inTurn(s.queue.at(0))
}

// inTurn reports whether no earlier call of its sequence is queued.
func (t *team) inTurn(x *item) bool {
	if len(t.sequences) == 0 {
		return true
	}
	queued := t.sequences[x.sequence()]
	return len(queued) == 0 || queued[0] >= x.pos
}

// put notes that a call is put into a queue.
func (q sequences) put(x *item) {
	if of := x.sequence(); of != nil {
		q[of] = append(q[of], x.pos)
	}
}

// take notes that a call was taken from there.
func (q sequences) take(x *item) {
	of := x.sequence()
	if of == nil {
		return
	}
	if q[of] = slices.Delete(q[of], 0, 1); len(q[of]) == 0 {
		delete(q, of)
	}
}
