package core

import (
	"cmp"
	"slices"
)

// How updates of a word are put in order: each takes effect between its issue and its
// completion, those of one strand in the order of issue, and each fetches what the one
// before left. So the issued updates are a queue for each strand, and the word takes
// from them, one by one, as few as leave a value that somebody has fetched.
//
// Where several could come next, which the values alone do not tell (a lock word that
// is 0 or 1 is taken by either of two), the times of the calls decide. Whatever is
// chosen agrees with all that was recorded, so that a correct program is race-free in
// it; another choice may show other races.

// writes reports whether the operation writes, as far as is known.
func (op *WordOp) writes() bool {
	if op.update == nil {
		return false
	}
	_, writes := op.update(op.found)
	return writes
}

// leaves returns what the operation leaves where it fetched what it did.
func (op *WordOp) leaves() Value {
	v, _ := op.update(op.found)
	return v
}

// decide decides what the operation saw, where that is known at once.
func (op *WordOp) decide() {
	w := op.word
	if op.made != nil { // somebody has seen its update before
		if !op.saw.value.Known {
			op.saw.value, op.made.value = op.found, op.leaves()
		}
		op.see(op.saw)
		return
	}
	if !op.writes() {
		op.withdraw()
		if v := w.find(op, true); v != nil {
			op.see(v)
			return
		}
	}
	if len(w.blocked) == 0 {
		w.m.words.blocked = append(w.m.words.blocked, w)
	}
	w.blocked = append(w.blocked, op)
	w.changed = true
}

// withdraw takes an operation that turned out to write nothing out of the updates.
func (op *WordOp) withdraw() {
	if op.update == nil {
		return
	}
	op.update = nil
	v := op.word.visitor(op.strand)
	if i := slices.Index(v.queue, op); i >= 0 {
		v.queue = slices.Delete(v.queue, i, i+1)
	}
}

// see says which version the operation fetched. It comes after all updates up to
// that, and after nothing where v is nil.
func (op *WordOp) see(v *version) {
	op.saw = v
	if v == nil {
		op.word.m.Announce(&op.over)
		return
	}
	if op.word.m.watch.observer != nil {
		var marks markList
		for _, m := range v.marks {
			marks = append(marks, m.mark)
		}
		op.over.mark = marks
	}
	op.word.m.give(&op.over, v.before.time)
}

// oldest returns the oldest version that the operation may have fetched; nil where
// updates that it comes after are not placed.
func (op *WordOp) oldest() *version {
	v := op.floor
	for _, x := range op.after {
		switch {
		case x.made != nil && x.made.number > v.number:
			v = x.made
		case x.made == nil && x.update != nil:
			return nil
		}
	}
	return v
}

// find returns the first version that an operation that writes nothing may have
// fetched, of those whose value is known, or is not; nil: there is none.
func (w *word) find(op *WordOp, known bool) *version {
	oldest := op.oldest()
	if oldest == nil {
		return nil
	}
	for _, v := range w.versions[max(0, oldest.number-w.versions[0].number):] {
		if v.value == op.found || !known && !v.value.Known {
			return v
		}
	}
	return nil
}

// place takes updates from the queues, and then the operation. v is what it fetched,
// if that is not what they leave.
func (w *word) place(op *WordOp, steps []*WordOp, v *version) {
	for _, x := range steps {
		w.take(x)
	}
	if v == nil {
		v = w.last()
	}
	v.value = op.found
	if op.update != nil {
		w.take(op)
	}
	op.see(v)
	w.unblock(op)
}

// unblock takes an operation off those that are not decided.
func (w *word) unblock(op *WordOp) {
	i := slices.Index(w.blocked, op)
	w.blocked = slices.Delete(w.blocked, i, i+1)
	w.changed = true
}

// take makes the first update of a strand's queue the last version.
func (w *word) take(op *WordOp) {
	v := w.visitor(op.strand)
	v.queue = v.queue[1:]
	last := w.last()
	value, _ := op.update(last.value)
	op.saw, op.made = last, &version{number: last.number + 1, value: value, marks: last.marks}
	time := last.before.time
	if g := op.issued; g != nil {
		time = w.m.clock.Join(time, g.time)
		if g.mark != nil {
			op.made.marks = append(slices.DeleteFunc(slices.Clone(last.marks), func(m rankMark) bool { return m.rank == op.strand.Rank }),
				rankMark{op.strand.Rank, g.mark})
		}
	}
	w.m.give(&op.made.before, time)
	w.versions = append(w.versions, op.made)
	if op.complete {
		v.saw(op.completed, op.made)
	}
}

// decideWords lets strands go on that wait for what they have fetched from words:
// where known updates tell it, or else one of them. It reports whether there was one.
func (m *Machine) decideWords() bool {
	list := &m.words.blocked
	*list = slices.DeleteFunc(*list, func(w *word) bool { return len(w.blocked) == 0 })
	advanced := false
	for _, w := range *list {
		advanced = w.advance() || advanced
	}
	if advanced || len(*list) == 0 {
		return advanced
	}
	if w, c := m.earliest((*word).guess); w != nil {
		w.place(c.op, c.steps, c.version)
		return true
	}
	w, c := m.earliest((*word).unexplained)
	w.place(c.op, nil, w.appear(c.op.found))
	return true
}

// choice is an operation that can be decided.
type choice struct {
	op      *WordOp
	steps   []*WordOp
	version *version // that it fetched; nil: what is there after the steps
}

// sooner reports whether a choice is to be made before another.
func (c *choice) sooner(o *choice) bool {
	if o.op == nil {
		return true
	}
	if len(c.steps) != len(o.steps) {
		return len(c.steps) < len(o.steps)
	}
	return c.op.earlier(o.op)
}

// earlier reports whether an operation was over before another.
func (op *WordOp) earlier(o *WordOp) bool {
	return cmp.Or(cmp.Compare(op.ended, o.ended), cmp.Compare(op.strand.Rank, o.strand.Rank)) < 0
}

// earliest returns the earliest of the choices that words have; nil: there is none.
func (m *Machine) earliest(of func(*word) *choice) (*word, *choice) {
	var first *choice
	var at *word
	for _, w := range m.words.blocked {
		if c := of(w); c != nil && (first == nil || c.op.earlier(first.op)) {
			first, at = c, w
		}
	}
	return at, first
}

// advance decides what one of the operations has fetched, where known updates tell.
func (w *word) advance() bool {
	if !w.changed {
		return false
	}
	var best choice
	for _, op := range w.blocked {
		c := choice{op: op}
		if !op.writes() {
			c.version = w.find(op, true)
		}
		if c.version == nil {
			p := newPlanner(op, false)
			if !p.plan() {
				continue
			}
			c.steps = p.steps
		}
		if c.sooner(&best) {
			best = c
		}
	}
	if best.op == nil {
		w.changed = false
		return false
	}
	w.place(best.op, best.steps, best.version)
	return true
}

// guess returns an operation that may have fetched what is not known.
func (w *word) guess() *choice {
	var best choice
	for _, op := range w.blocked {
		c := choice{op: op}
		if !op.writes() {
			c.version = w.find(op, false)
		}
		if c.version == nil {
			p := newPlanner(op, true)
			if !p.plan() {
				continue
			}
			c.steps = p.steps
		}
		switch {
		case best.op == nil, op.makes(best.op) && !best.op.makes(op):
			best = c
		case best.op.makes(op) && !op.makes(best.op):
		case op.earlier(best.op):
			best = c
		}
	}
	if best.op == nil {
		return nil
	}
	return &best
}

// makes reports whether an operation leaves what another fetched.
func (op *WordOp) makes(o *WordOp) bool { return op.writes() && op.leaves() == o.found }

// unexplained returns the first of the operations that fetched what no update leaves.
func (w *word) unexplained() *choice {
	best := w.blocked[0]
	for _, op := range w.blocked[1:] {
		if op.earlier(best) {
			best = op
		}
	}
	return &choice{op: best}
}

// appear adds a version that nobody is known to have written.
func (w *word) appear(value Value) *version {
	v := &version{number: w.last().number + 1, value: value}
	w.m.give(&v.before, w.last().before.time)
	w.versions = append(w.versions, v)
	return v
}
