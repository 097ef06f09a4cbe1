package core

import "slices"

// sequences are the calls that wait in the queues of a process's strands and that it makes
// one after another, whichever of its threads does (Meaning.Sequence): where they are in the
// trace, in its order. Nothing but the trace may order them, and a strand that stands at an
// earlier event must not lose its turn by that.
type sequences map[any][]uint64

// sequence returns the sequence that an event belongs to; nil: none.
func (x *item) sequence() any {
	if x.fn == nil || x.fn.meaning == nil || x.fn.meaning.Sequence == nil {
		return nil
	}
	return x.fn.meaning.Sequence(&Call{Call: x.event.Call, function: x.fn})
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
