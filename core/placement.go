package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/evc"
)

// How updates of a word are put in order: each takes effect between its issue and its
// completion, those of one strand in the order of issue, and each fetches what the one
// before left. So the issued updates are a queue for each strand, and the word takes
// from them, one by one, as few as leave a value that somebody has fetched (planner.go).
//
// Strands that have fetched are decided in the order in which they knew their values, in
// time: all that can have gone before is known then, since whatever a strand does
// later begins later. Whatever is chosen agrees with all that was recorded so far, so
// that a correct program is race-free in it; another choice may show other races.

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
			w.hold(op.saw, op.found)
			w.hold(op.made, op.leaves())
		}
		op.see(op.saw)
		return
	}
	if !op.writes() {
		op.withdraw()
	}
	w.block(op)
	w.visitor(op.strand)
}

// withdraw takes an operation that turned out to write nothing out of the updates.
func (op *WordOp) withdraw() {
	if op.update == nil {
		return
	}
	op.word.visitor(op.strand).drop(func(x *WordOp) bool { return x == op })
	op.update = nil
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
		if len(marks) > 0 {
			op.over.mark = &foundMark{marks, op}
		}
	}
	op.word.m.give(&op.over, op.learns(v))
}

// settled lets go of what only matters while it is not known where the operation belongs:
// else each would keep all before it.
func (op *WordOp) settled() { op.floor, op.after, op.looked = nil, nil, nil }

// place carries a choice out.
func (w *word) place(c *choice) {
	w.open = w.open || c.open
	if c.version != nil {
		c.op.sees(c.version, false)
		return
	}
	if c.zero {
		w.hold(w.versions[0], w.initial(c.presumed))
	}
	for _, x := range c.steps {
		if x.update == nil {
			x.sees(w.last(), false)
			continue
		}
		if x.found.Known {
			w.hold(w.last(), x.found)
		}
		w.take(x)
		if x.blocked {
			x.sees(x.saw, false)
		}
	}
	if s := newSchedule(c.rest, c.restOpen); s != nil {
		w.schedule = s
	}
}

// sees says which version an operation fetched that waits to be decided; sure: it can be no other
// one, though its value is not known.
func (op *WordOp) sees(v *version, sure bool) {
	unknown := !v.value.Known && v.number > 0 && (v.by == nil || v.by.strand != op.strand && !sure)
	hidden := op.unsure != nil && v.by == nil && op.hides()
	if hidden && op.uncover() {
		return
	}
	if op.unsure != nil && (unknown || hidden) {
		op.unsure()
	}
	if op.meets == nil {
		op.word.hold(v, op.found)
	}
	op.see(v)
	op.word.unblock(op)
	op.word.follow(op, (*schedule).decided)
}

// take makes the first update of a strand's queue the last version.
func (w *word) take(op *WordOp) {
	v := w.visitor(op.strand)
	v.queue = v.queue[1:]
	last := w.last()
	value, _ := op.update(last.value)
	if op.found.Known {
		value = op.leaves()
	}
	op.bound = op.lowerBound()
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
	op.made.publish(op, last)
	w.took(op)
	w.versions = append(w.versions, op.made)
	w.follow(op, (*schedule).decided)
	if op.complete {
		v.saw(op.completed, op.made)
		for _, at := range op.also {
			v.saw(at, op.made)
		}
	}
}

// decideWords lets a strand go on that waits for what it has fetched from a word. It
// reports whether there was one.
func (m *Machine) decideWords() bool {
	undecided := &m.words.undecided
	n := undecided.Len()
	if n == 0 {
		return false
	}
	m.words.debt, m.words.short = max(0, m.words.debt-searchGain), false
	all := (*undecided)[:1:1] // mostly the first can be decided
	if all[0].word.ordersAll() {
		all[0].appear(all[0].word.issues())
		return true
	}
	if m.words.spent() && n > spentOps {
		n, all, m.words.short = spentOps, undecided.first(spentOps), true
	}
	rounds := [][]manner{{{timely: true, foresees: true}, {timely: true}}, {{}}}
	if m.opts.OtherOrder { // the times of calls make an order likely, and no more
		rounds = [][]manner{{{foresees: true, other: true}, {other: true}}}
	}
	for i, round := range rounds {
		var postponed []*word
		tried := map[*word]int{} // of words whose values contradict the times of calls
		for k := range n {
			if k == len(all) && k < spentOps {
				all = undecided.first(min(n, spentOps))
			} else if k == len(all) {
				if w := all[0].word; i == 0 && w.untimely && tried[w] == k && w.blocked.n == undecided.Len() {
					break // of that word only the first ones are tried, and there is no other
				}
				all = undecided.sorted()
			}
			op := all[k]
			if c, later := op.word.scheduled(op); later {
				postponed = append(postponed, op.word)
				continue
			} else if c != nil {
				op.decideBy(c, false)
				return true
			}
			if i == 0 && op.word.untimely {
				if tried[op.word] == spentOps {
					continue
				}
				tried[op.word]++
			}
			for _, how := range round {
				if c := op.word.choose(op, how); c != nil {
					op.decideBy(c, i > 0)
					return true
				}
			}
		}
		if len(postponed) > 0 { // nothing is issued any more that a schedule waits for
			for _, w := range postponed {
				w.schedule = nil
			}
			return m.decideWords()
		}
	}
	if m.words.short {
		all[0].doubt("what left a value that an atomic operation fetched was not found in the time that there is for it")
	}
	if w := all[0].word; (w.open || w.followed()) && !m.opts.OtherOrder {
		all[0].doubt("an atomic operation fetched a value that no update can have left in the order that was taken for those before it")
	}
	if all[0].word.unlearn() {
		return true
	}
	if all[0].uncover() {
		return true
	}
	m.open.lost++
	all[0].appear(all[0].word.last().before.time)
	return true
}

// decideBy carries out how the operation is decided; odd: against the times of the calls.
func (op *WordOp) decideBy(c *choice, odd bool) {
	w := op.word
	w.m.open.note(c, op, odd)
	w.untimely = w.untimely || odd
	w.rests(c, op)
	w.place(c)
}

// rests says where an operation may also have fetched what the word held at first, which is
// not known any more.
func (w *word) rests(c *choice, op *WordOp) {
	first := w.versions[0]
	if !w.lost || first.number > 0 || first.value.Known || c.version == first || op.floor != first || len(op.after) > 0 {
		return
	}
	w.m.Report(Problem{
		Kind: Values, Rank: op.strand.Rank,
		Text: "what words hold was not remembered, of too many that atomic operations update (with a higher --max-memory of more) or of too many updates in no known order, and a value that was fetched may have been there before",
	})
}

// appear lets an operation have fetched what nobody is known to have written; it comes after what
// is given.
func (op *WordOp) appear(after evc.Time) {
	w := op.word
	if op.update != nil { // what the strand issued before has taken effect
		for v := w.visitor(op.strand); v.queue[0] != op; {
			x := v.queue[0]
			w.take(x)
			if x.blocked {
				x.sees(x.saw, false)
			}
		}
	}
	v := &version{number: w.last().number + 1, value: op.found}
	w.m.give(&v.before, after)
	if w.ordersAll() {
		v.published, v.publishes = after, true
	}
	w.versions = append(w.versions, v)
	if op.update != nil {
		w.take(op)
	}
	op.sees(v, false)
}

// manner is how an operation is decided.
type manner struct {
	unknown  bool // it may have fetched what is not known
	timely   bool // the times of the calls agree
	foresees bool // it agrees with what is still to come
	zero     bool // the word held at first what most likely it did, which is 0 for most (word.initial)
	presumed bool // the same, whatever operations that do not wait have found
	other    bool // of several orders, another one than the usual one
}

// precedes reports whether an operation was over when another began, by the times of
// their calls.
func (op *WordOp) precedes(o *WordOp) bool { return op.end() < o.began }

// end returns when the operation was certainly over.
func (op *WordOp) end() int64 {
	end := int64(math.MaxInt64)
	switch {
	case op.complete:
		end = op.done
	case op.will > 0:
		end = op.will
	}
	if op.found.Known || op.blocked {
		end = min(end, op.ended)
	}
	return end
}

// endOfFirst returns when the first of operations that take effect one after the other was
// certainly over: no later than one of those behind it, of which only a few are looked at.
func endOfFirst(ops []*WordOp) int64 {
	const most = 16
	for _, op := range ops[:min(len(ops), most)] {
		if end := op.end(); end < math.MaxInt64 {
			return end
		}
	}
	return math.MaxInt64
}

// compare orders operations by their ends.
func (op *WordOp) compare(o *WordOp) int {
	if c := cmp.Compare(op.end(), o.end()); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(op.began, o.began), cmp.Compare(op.strand.line, o.strand.line))
}

// choice is how an operation is decided.
type choice struct {
	op       *WordOp
	version  *version  // that it fetched, and that was there already; or
	steps    []*WordOp // what takes effect, the last one of those that wait
	zero     bool      // the word held at first what most likely it did
	presumed bool      // the same, whatever operations that do not wait have found
	open     bool      // there may be others
	rest     []*WordOp // what comes behind, where all is known that may be between it
	restOpen []bool    // of these, whether there may be others
	strange  bool      // what was fetched is not known to have been there
}

// initial returns what the word most likely held at first: what an operation has found
// that none leaves, and otherwise what is presumed, which is 0 where nothing is known; always
// that where asked to.
func (w *word) initial(presume bool) Value {
	presumed := Value{Bits: w.presumed, Known: true}
	if presume {
		return presumed
	}
	left := map[int64]bool{}
	var found []int64
	for _, v := range w.visitors {
		for _, op := range v.queue {
			after, _ := op.update(op.found)
			if zero, _ := op.update(Value{Known: true}); !zero.Known {
				return presumed // a store of the owner may have left whatever was found
			}
			if !after.Known {
				return presumed
			}
			left[after.Bits] = true
			if op.found.Known {
				found = append(found, op.found.Bits)
			}
		}
	}
	for op := range w.blocked.all() {
		if op.found.Known {
			found = append(found, op.found.Bits)
		}
	}
	if i := slices.IndexFunc(found, func(f int64) bool { return !left[f] }); i >= 0 {
		return Value{Bits: found[i], Known: true}
	}
	return presumed
}

// choose returns how an operation that waits can be decided; nil: it cannot.
func (w *word) choose(op *WordOp, how manner) *choice {
	if c := w.only(op, how); c != nil {
		return c
	}
	if op.meets != nil { // a wait is over with the first that ended it, whatever came since
		if v := w.find(op, how); v != nil {
			return &choice{op: op, version: v}
		}
	}
	unknown := how
	unknown.unknown = true
	tries := []manner{how, unknown}
	zero := how // where it is not known what the word held at first
	if first := w.last(); first.number == 0 && !first.value.Known && !w.lost {
		zero.zero = true
		after := zero // behind a store of the owner
		after.unknown = true
		tries = []manner{zero, how, after, unknown}
		if w.initial(false).Bits != w.presumed && !how.other { // what one found that only said so may still be left by somebody
			presumed := zero
			presumed.presumed = true
			tries = slices.Insert(tries, 0, presumed)
		}
	}
	var ahead [][]*WordOp
	var later []*WordOp
	closed := false
	look := func() {
		if how.foresees && ahead == nil {
			ahead, later, closed = w.foreseen()
		}
	}
	agrees := false // the first of the tries, with what is to come
	if how.other {
		if c := w.there(op, tries[:len(tries)/2]); c != nil {
			return c
		}
	} else if zero.zero && !w.alone(op) { // what it held at first agrees with all that waits and that is to come
		look()
		i := slices.IndexFunc(tries, func(how manner) bool {
			return (how.zero || how.unknown) && w.search(how, near(op, w.waiting(op, how), later), ahead)
		})
		if i > 0 {
			tries = slices.Concat(tries[i:i+1], tries[:i], tries[i+1:])
		}
		agrees = i >= 0
	}
	for i, how := range tries {
		if w.hopeless(op, how) {
			continue
		}
		waiting := w.waiting(op, how)
		c := w.plan(op, how, waiting, nil)
		if c == nil && i == 0 && agrees { // another agrees with less
			if c = w.plan(op, how, near(op, waiting, later), ahead); c != nil {
				return c.lookedAhead(how, closed)
			}
		}
		if c == nil {
			continue
		}
		if t := w.there(op, []manner{how}); t != nil { // either may be: what is to come decides
			look()
			if closed && w.contradicted(op, how, waiting, later, ahead) {
				return t
			}
		}
		guess := zero.zero && how == unknown // that the word held it at first: it counts only where nothing to come explains it
		if c.strange = how.unknown; c.open || guess {
			better := []manner{how}
			if guess {
				better = []manner{zero, how}
			}
			look()
			for _, how := range better {
				if len(later) == 0 && (how.unknown || !guess || ahead == nil) {
					continue
				}
				if c := w.most(op, how, slices.Concat(waiting, later), len(waiting), ahead); c != nil {
					return c.lookedAhead(how, closed)
				}
			}
		}
		return c
	}
	there := w.there(op, tries)
	if there != nil && !there.first() {
		return there
	}
	look()
	for _, how := range tries {
		if how.unknown && there != nil {
			return there
		}
		goals := slices.Concat(w.waiting(op, how), later)
		slices.SortStableFunc(goals, (*WordOp).compare)
		i := slices.Index(goals, op)
		copy(goals[1:i+1], goals[:i])
		goals[0] = op
		if c := w.most(op, how, goals, 1, ahead); c != nil {
			return c.lookedAhead(how, closed)
		}
	}
	return nil
}

// lookedAhead returns a choice that what is to come was looked at for, in a manner.
func (c *choice) lookedAhead(how manner, closed bool) *choice {
	if c.strange = how.unknown; how.unknown || how.other || !closed {
		c.rest = nil
	}
	return c
}

// mayBeLater reports whether it is not certain that one of the steps was over by the time of
// the last.
func (c *choice) mayBeLater(x *WordOp) bool {
	return !x.blocked && (x.end() > c.steps[len(c.steps)-1].end() || x.end() == math.MaxInt64)
}

// alone reports whether no other operation on the word is known that is not decided.
func (w *word) alone(op *WordOp) bool {
	return w.blocked.n == 1 && !slices.ContainsFunc(w.visitors, func(v *visitor) bool {
		return slices.ContainsFunc(v.queue, func(x *WordOp) bool { return x != op })
	})
}

// contradicted reports whether what is to come agrees with those that wait but for an operation, and
// not with all of them: as far as it is seen, of which the nearest is enough.
func (w *word) contradicted(op *WordOp, how manner, waiting, later []*WordOp, ahead [][]*WordOp) bool {
	for n := min(1, len(later)); n > 0; n = min(2*n, len(later)) {
		all := near(op, waiting, later[:n])
		if !w.search(how, all, ahead) {
			return w.search(how, slices.DeleteFunc(all, func(x *WordOp) bool { return x == op }), ahead)
		}
		if n == len(later) {
			break
		}
	}
	return false
}

// near returns an operation, the others of those that wait which were over before the last of those
// to come, and these. Who was over later comes behind what is not seen.
func near(op *WordOp, waiting, later []*WordOp) []*WordOp {
	if len(later) == 0 {
		return waiting
	}
	end := later[len(later)-1].end()
	all := slices.DeleteFunc(slices.Clone(waiting), func(x *WordOp) bool { return x != op && x.end() > end })
	return append(all, later...)
}

// first reports whether the operation fetched what the word may have held at first, and is
// not known: what others are known to leave comes before that.
func (c *choice) first() bool { return c.version.number == 0 && !c.version.value.Known }

// there returns how an operation that writes nothing can be decided by what is there
// already; nil: it cannot.
func (w *word) there(op *WordOp, tries []manner) *choice {
	if op.update != nil {
		return nil
	}
	for _, how := range tries {
		if v := w.find(op, how); v != nil {
			return &choice{op: op, version: v, strange: how.unknown}
		}
	}
	return nil
}

// most returns how an operation can be decided with as many goals as possible, the first
// ones, and with least of them at least; nil: it cannot. What others fetched may have
// been left by operations of which nothing is known yet.
func (w *word) most(op *WordOp, how manner, goals []*WordOp, least int, ahead [][]*WordOp) *choice {
	if c := w.plan(op, how, goals, ahead); c != nil || least == len(goals) {
		return c
	}
	c := w.plan(op, how, goals[:least], ahead)
	if c == nil {
		return nil
	}
	for low, high := least, len(goals); high-low > 1; { // low can be reached, high cannot
		n := (low + high) / 2
		if more := w.plan(op, how, goals[:n], ahead); more != nil {
			c, low = more, n
		} else {
			high = n
		}
	}
	return c
}
