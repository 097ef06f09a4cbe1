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
		if v := w.find(op, manner{timely: true}, nil); v != nil {
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
	op.settled()
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

// settled lets go of what only matters while it is not known where the operation belongs:
// else each would keep all before it.
func (op *WordOp) settled() { op.floor, op.after = nil, nil }

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
// fetched; nil: there is none.
func (w *word) find(op *WordOp, how manner, from *wordState) *version {
	oldest := op.oldest()
	if oldest == nil {
		return nil
	}
	all := w.versions[max(0, oldest.number-w.versions[0].number):]
	if how.timely {
		for i, v := range slices.Backward(all) {
			if v.by != nil && v.by.precedes(op) {
				all = all[i:]
				break
			}
		}
	}
	for _, v := range all {
		value := v.value
		if from != nil && from.fixed == v {
			value = from.become
		}
		if !how.unknown && value == op.found || how.unknown && !value.Known {
			return v
		}
	}
	return nil
}

// place carries a choice out.
func (w *word) place(c *choice) {
	if c.zero {
		w.versions[0].value = Value{Known: true}
	}
	for _, x := range c.steps {
		w.take(x)
	}
	v := c.version
	if v == nil {
		v = w.last()
	}
	v.value = c.op.found
	if c.op.update != nil {
		w.take(c.op)
	}
	c.op.see(v)
	w.unblock(c.op)
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
	op.saw, op.made = last, &version{number: last.number + 1, by: op, value: value, marks: last.marks}
	time := last.before.time
	if g := op.issued; g != nil {
		time = w.m.clock.Join(time, g.time)
		if g.mark != nil {
			op.made.marks = append(slices.DeleteFunc(slices.Clone(last.marks), func(m lineMark) bool { return m.line == op.strand.line }),
				lineMark{op.strand.line, g.mark})
		}
	}
	op.settled()
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
	var first *choice
	for _, w := range *list {
		c := w.choose()
		switch {
		case c == nil:
		case !c.unknown && !c.zero && !c.early:
			w.place(c)
			advanced = true
		case first == nil || c.op.earlier(first.op):
			first = c
		}
	}
	switch {
	case advanced || len(*list) == 0:
		return advanced
	case first == nil:
		first = m.unexplained()
	}
	first.op.word.place(first)
	return true
}

// unexplained returns the first of the operations of all words that fetched what no
// update leaves.
func (m *Machine) unexplained() *choice {
	var first *WordOp
	for _, w := range m.words.blocked {
		for _, op := range w.blocked {
			if first == nil || op.earlier(first) {
				first = op
			}
		}
	}
	return &choice{op: first, version: first.word.appear(first.found)}
}

// appear adds a version that nobody is known to have written.
func (w *word) appear(value Value) *version {
	v := &version{number: w.last().number + 1, value: value}
	w.m.give(&v.before, w.last().before.time)
	w.versions = append(w.versions, v)
	return v
}

// manner is how an operation is decided.
type manner struct {
	unknown bool      // it fetched what is not known
	timely  bool      // the times of the calls agree
	also    []*WordOp // updates that take effect before it
}

// precedes reports whether an update was over when another operation began, by the
// times of their calls.
func (op *WordOp) precedes(o *WordOp) bool { return op.complete && op.done < o.began }

// choice is an operation that can be decided.
type choice struct {
	op      *WordOp
	steps   []*WordOp // updates that are taken first
	version *version  // that it fetched; nil: what is there after the steps
	manner
	zero  bool // the word held 0 at first: most do
	early bool // a step fetches what is not known yet
	left  int  // how many others can still be decided then
}

// compare orders choices: the best first.
func (c *choice) compare(o *choice) int {
	return cmp.Or(cmp.Compare(o.left, c.left), compareBool(o.timely, c.timely), compareBool(c.unknown, o.unknown),
		cmp.Compare(len(c.steps), len(o.steps)), compareBool(c.zero, o.zero), compareBool(c.early, o.early),
		cmp.Compare(c.op.ended, o.op.ended), cmp.Compare(c.op.strand.line, o.op.strand.line))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// earlier reports whether an operation was over before another.
func (op *WordOp) earlier(o *WordOp) bool {
	return cmp.Or(cmp.Compare(op.ended, o.ended), cmp.Compare(op.strand.line, o.strand.line)) < 0
}

// mostChoices bounds how many choices are compared by what is left after them.
const mostChoices = 12

// choose returns the best choice; nil: there is none.
func (w *word) choose() *choice {
	if !w.changed {
		return nil
	}
	var all []*choice
	for _, op := range w.blocked {
		all = op.choices(all)
	}
	if len(all) == 0 {
		w.changed = false
		return nil
	}
	slices.SortStableFunc(all, (*choice).compare)
	if len(all) == 1 || len(w.blocked) == 1 {
		return all[0]
	}
	all = all[:min(len(all), mostChoices)]
	for _, c := range all {
		then := c.then()
		for _, op := range w.blocked {
			if op != c.op && (op.choice(manner{}, then) != nil || op.choice(manner{unknown: true}, then) != nil) {
				c.left++
			}
		}
	}
	return slices.MinFunc(all, (*choice).compare)
}

// choices adds how an operation can be decided.
func (op *WordOp) choices(all []*choice) []*choice {
	add := func(c *choice) {
		if c != nil {
			all = append(all, c)
		}
	}
	for _, timely := range [...]bool{true, false} {
		op.inManner(timely, add)
	}
	for _, o := range op.word.blocked { // what has to be there before o may have to be before op
		if also := o.waiting(); o != op && len(also) > 0 {
			add(op.choice(manner{also: also}, nil))
		}
	}
	return all
}

// waiting returns the updates that the operation comes after and that are not placed.
func (op *WordOp) waiting() []*WordOp {
	return slices.DeleteFunc(slices.Clone(op.after), func(x *WordOp) bool { return x.made != nil || x.update == nil })
}

func (op *WordOp) inManner(timely bool, add func(*choice)) {
	add(op.choice(manner{timely: timely}, nil))
	if first := op.word.last(); first.number == 0 && !first.value.Known {
		zero := Value{Known: true}
		c := op.choice(manner{timely: timely}, &wordState{value: zero, taken: make([]int, len(op.word.visitors)), fixed: first, become: zero})
		if c != nil {
			c.zero = true
		}
		add(c)
	}
	add(op.choice(manner{unknown: true, timely: timely}, nil))
}

// choice returns how an operation can be decided, from a state of its word on (nil:
// the present one); nil: it cannot.
func (op *WordOp) choice(how manner, from *wordState) *choice {
	c := &choice{op: op, manner: how}
	if !op.writes() && how.also == nil {
		if c.version = op.word.find(op, how, from); c.version != nil {
			return c
		}
	}
	p := newPlanner(op, how, from)
	if !p.plan() {
		return nil
	}
	c.steps = p.steps
	c.early = slices.ContainsFunc(c.steps, func(x *WordOp) bool { return x.fetches })
	return c
}

// wordState is a word after a choice.
type wordState struct {
	value  Value
	taken  []int    // of each queue
	fixed  *version // of which the choice says the value
	become Value    // it
}

// then returns the state after a choice.
func (c *choice) then() *wordState {
	w := c.op.word
	s := &wordState{value: w.last().value, taken: make([]int, len(w.visitors)), fixed: c.version, become: c.op.found}
	if c.zero {
		s.value = Value{Known: true}
		s.fixed, s.become = w.last(), s.value
	}
	take := func(op *WordOp) {
		i := slices.IndexFunc(w.visitors, func(v *visitor) bool { return v.strand == op.strand })
		s.taken[i]++
		s.value, _ = op.update(s.value)
	}
	for _, op := range c.steps {
		take(op)
	}
	switch {
	case c.version == nil && len(c.steps) == 0:
		s.fixed, s.become, s.value = w.last(), c.op.found, c.op.found
	case c.version == nil, c.version == w.last():
		s.value = c.op.found
	}
	if c.op.update != nil {
		take(c.op)
	}
	return s
}
