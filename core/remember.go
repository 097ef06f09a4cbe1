package core

import "slices"

// What words hold that no strand is at work on. A word is forgotten with its region, or
// where nothing is done to it for a while; what it holds then is remembered, where its
// updates decide that, until something else writes there: so that the next operation on
// it does not take for the beginning of a word what is none.

// DefaultWords is Options.Words where they do not say: of so many words, the last ones, it is remembered
// what they hold, and of at most as many before them.
const DefaultWords = 1 << 17

// mostCarried bounds the updates that are kept, as long as their order is open, of words of which it
// depends on that what they hold.
const mostCarried = 1 << 10

// held is what a word holds; presumed: if it held at first what most do; open: in the one of
// several orders that was taken; lost: that is not known any more.
type held struct {
	bits                 int64
	presumed, open, lost bool
}

// remembered is what words hold.
type remembered struct {
	last, before map[WordKey]held
	lost         bool // of some that is not known any more
}

// remember notes what a word holds that is forgotten.
func (m *Machine) remember(k WordKey, h held) {
	r := &m.words.held
	if len(r.last) >= m.opts.Words {
		for _, h := range r.before {
			r.lost = r.lost || h.lost || h.bits != 0 // which is presumed of words of which nothing is known
		}
		r.before, r.last = r.last, nil
	}
	if r.last == nil {
		r.last = map[WordKey]held{}
	}
	r.last[k] = h
	m.processes[k.Owner].words.add(m, k)
}

// recall gives back what a word holds, of which something is known again from now on.
func (r *remembered) recall(k WordKey) (held, bool) {
	h, ok := r.last[k]
	if ok {
		delete(r.last, k)
		return h, true
	}
	h, ok = r.before[k]
	delete(r.before, k)
	return h, ok
}

// has reports whether it is remembered what a word holds.
func (r *remembered) has(k WordKey) bool {
	_, last := r.last[k]
	_, before := r.before[k]
	return last || before
}

// left returns what the word holds when all that was issued has taken effect, if that is
// known; open: it depends on the order of updates.
func (w *word) left() (h held, known, open bool) {
	v := w.last().value
	if !v.Known && w.last().number == 0 && !w.lost {
		v, h.presumed = w.initial(false), true
	}
	var lanes [][]*WordOp
	for _, x := range w.visitors {
		if len(x.queue) > 0 {
			lanes = append(lanes, x.queue)
		}
	}
	if op := final(lanes); op != nil {
		v, _ = op.update(Value{})
		return held{bits: v.Bits}, v.Known, false
	}
	if len(lanes) > 0 && !slices.ContainsFunc(lanes, func(lane []*WordOp) bool { return !lane[len(lane)-1].blurs() }) {
		return h, false, false // whichever is the last
	}
	all := slices.Concat(lanes...)
	if len(lanes) > 1 && (all[0].group == "" || slices.ContainsFunc(all, func(op *WordOp) bool { return op.group != all[0].group })) {
		return h, false, true
	}
	for _, op := range all {
		if len(lanes) == 1 && op.found.Known {
			v, h.presumed = op.found, false
		}
		fixed, _ := op.update(Value{})
		if v, _ = op.update(v); fixed.Known {
			h.presumed = false
		}
	}
	h.bits, h.open = v.Bits, w.open
	return h, v.Known, false
}

// blurs reports whether it is never known what the update leaves: that of a store, or of an
// operation on floating-point numbers.
func (op *WordOp) blurs() bool {
	after, _ := op.update(Value{Known: true})
	return !after.Known
}

// final returns the update that took effect after all others of these, by strand, where what
// it leaves has nothing to do with what was there before; nil: none is known to.
func final(lanes [][]*WordOp) *WordOp {
	for _, lane := range lanes {
		op := lane[len(lane)-1]
		if fixed, _ := op.update(Value{}); !fixed.Known && !op.blurs() {
			continue
		}
		beside := func(other []*WordOp) bool {
			x := other[len(other)-1]
			return x != op && !slices.Contains(op.after, x)
		}
		if !slices.ContainsFunc(lanes, beside) {
			return op
		}
	}
	return nil
}

// leave remembers what the word holds, which is forgotten: unless something wrote to it
// beside the operations on it, or will yet. It reports whether the order of its updates
// matters for that, and is open.
func (w *word) leave() (open bool) {
	for _, v := range w.visitors {
		if slices.ContainsFunc(v.queue, func(op *WordOp) bool { return !op.complete }) {
			return false
		}
	}
	if w.disturbed || w.m.blind(w.key.Owner) {
		return false
	}
	h, known, open := w.left()
	if known {
		w.m.remember(w.key, h)
	} else if w.lost {
		w.m.remember(w.key, held{lost: true})
	}
	return open
}

// Commutes says that updates of a word of the same group leave the same in whatever order
// they take effect.
func (op *WordOp) Commutes(group string) {
	if op != nil {
		op.group = group
	}
}

// unlearn takes it that something has written to a word unseen, since it was remembered what it
// holds. It reports whether that may be.
func (w *word) unlearn() bool {
	first := w.last()
	if !w.recalled || first.number > 0 {
		return false
	}
	w.recalled, w.presumed = false, 0
	w.hold(first, Value{})
	return true
}
