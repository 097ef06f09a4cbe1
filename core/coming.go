package core

import "github.com/mcchk/mcchk/evc"

// What strands will know at least when they go on, that wait for what they have fetched. A
// process may be at work for long while another one's operation is under way: as seen from
// that, nothing of it is past, until it is decided what the operation fetched. But that is no
// version before some, which are known.

// least returns the oldest version that an operation may turn out to have fetched which is
// not decided, or may come after: an update comes after what is there, and find takes the
// last of the versions with the value, or the first that ends a wait; nil: that is not known.
func (w *word) least(op *WordOp) *version {
	if op.update != nil {
		return w.last()
	}
	oldest := op.oldest()
	if oldest == nil { // updates that it comes after are not placed
		return w.last()
	}
	var found *version
	for _, unknown := range []bool{false, true} {
		v := w.find(op, manner{unknown: unknown})
		switch {
		case v == nil && op.behind != nil && op.behind.saw == nil:
			return nil
		case v == nil:
			v = w.last()
		}
		if found == nil || v.number < found.number {
			found = v
		}
	}
	return found
}

// coming returns what strands will know at least that wait for what they have fetched.
func (m *Machine) coming() map[*Strand]evc.Time {
	if m.opts.OtherOrder { // in which reads may have fetched what was there long before
		return nil
	}
	known := map[*Strand]evc.Time{}
	for _, op := range m.words.undecided {
		s := op.strand
		if op.order.language || s.state != waiting || s.sync.waits[0].On != &op.over {
			continue
		}
		if v := op.word.least(op); v != nil {
			known[s] = m.clock.Join(m.clock.Time(m.clock.Now(int(s.line))), v.before.time)
		}
	}
	return known
}
