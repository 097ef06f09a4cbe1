package core

import (
	"encoding/binary"
	"slices"
)

// planner looks for an order in which operations on a word take effect, so that one
// of them is decided, and others can be.
type planner struct {
	manner
	word  *word
	lanes []lane          // of the word's visitors
	reads []*WordOp       // that wait, and write nothing; by their ends
	from  int             // those before took effect
	of    map[int64][]int // of many reads: those that found a value; built when it is asked for
	waits []int           // of many reads: the others
	far   int             // goals that are not reached

	value Value  // after the steps
	seen  []bool // of reads
	steps []*WordOp
	open  []bool    // of steps, whether there was another way
	left  int       // steps that the search may still make
	may   []*WordOp // room for what next returns
	eager bool      // what leaves a value as it is comes as soon as it can
	tried map[string]bool

	vague  bool  // the value was not known at some step
	number int64 // of the planner, once its reads have their slots
}

// lane is what a strand does to a word, in its order: the updates that are issued, and
// what is foreseen. Beside that it looks at its own memory, where what it has issued need not
// have arrived.
type lane struct {
	ops    []*WordOp
	issued int
	taken  int
	looks  []*WordOp
	looked int
}

const (
	// searchSteps bounds a search.
	searchSteps = 1 << 12
	// A search that takes more than so many begins anew, and tries fewer orders.
	easySteps = 1 << 8
	// A step costs as many times more as it has so many operations that read to choose from.
	manyReads = 32
	// So many operations at most are looked at together, those that were known first.
	mostGoals = 1 << 8
	// All searches of a run may take so many steps, and so many more for each operation
	// that is decided; after that, a decision is looked for only with the first few of the
	// operations that wait, one by one, and in so few steps.
	searchDebt, searchGain = 1 << 20, 1 << 8
	spentOps, spentSteps   = 4, 1 << 6
)

// waiting returns the operations that wait and can be decided only with others: which
// fetched what no version has that is there. Those that were over first come first. Of many
// it is a part: of those that read the same and were known together the last, and no more than
// mostGoals. Once searches have taken what they may, it is the operation alone.
func (w *word) waiting(op *WordOp, how manner) []*WordOp {
	if w.m.words.spent() {
		return []*WordOp{op}
	}
	var all []*WordOp
	for _, r := range w.blocked.runs {
		if len(all) >= mostGoals {
			break
		}
		x := r.last()
		if x == nil {
			continue
		}
		if op.run == r && op != x {
			all = append(all, op)
		}
		if x == op || x.update != nil || w.find(x, how) == nil {
			all = append(all, x)
		}
	}
	if len(all) >= mostGoals && !slices.Contains(all, op) {
		all = append(all, op)
	}
	slices.SortFunc(all, (*WordOp).compare)
	return all
}

// again reports whether an operation has read the same as one that the strand issued before,
// and both were known at once: wherever the later one fits into an order, the other one does.
func (op *WordOp) again(before *WordOp) bool {
	return op.strand == before.strand && op.update == nil && before.update == nil && op.meets == nil && before.meets == nil &&
		op.found == before.found && op.ended == before.ended && op.behind == before.behind && op.began >= before.began
}

// only returns how an operation is decided where there is no choice; nil: there is one. What
// is only read is there, and of the steps up to an update each is the only one that can be
// next. Every plan begins with these steps, whatever its goals are: so neither a loop that
// polls nor a counter, of which each update fetches another value, costs a search.
func (w *word) only(op *WordOp, how manner) *choice {
	if !how.timely || op.meets != nil || !w.last().value.Known {
		return nil
	}
	if op.update == nil {
		if w.find(op, how) == w.last() {
			return &choice{op: op, version: w.last()}
		}
		return nil
	}
	p := w.planner(how)
	for p.value.Known {
		p.may = p.may[:0]
		next := p.next()
		if len(next) != 1 {
			return nil
		}
		if p.step(next[0]); next[0] == op {
			return &choice{steps: p.steps}
		}
	}
	return nil
}

// planner returns one that has made no step.
func (w *word) planner(how manner) *planner {
	p := &planner{manner: how, word: w, value: w.last().value, lanes: make([]lane, len(w.visitors))}
	for i, v := range w.visitors {
		p.lanes[i] = lane{ops: v.queue, issued: len(v.queue)}
	}
	return p
}

// plan returns the steps up to the operation on a way that reaches all the goals, or as
// many of them as do not follow what is only foreseen; nil: there are none.
func (w *word) plan(op *WordOp, how manner, goals []*WordOp, ahead [][]*WordOp) *choice {
	c, short := w.planSo(op, how, goals, ahead)
	if short { // the other of the two orders in which they can be tried
		w.sure = !w.sure
		if c, short = w.planSo(op, how, goals, ahead); c == nil {
			w.sure = !w.sure
		}
	}
	w.m.words.short = w.m.words.short || short
	return c
}

// planSo is plan, in the order in which operations were last tried with success; short: it was
// not looked for to the end.
func (w *word) planSo(op *WordOp, how manner, goals []*WordOp, ahead [][]*WordOp) (c *choice, short bool) {
	p, found := w.searched(how, goals, ahead)
	if !found {
		return nil, p.left == 0
	}
	n := 0 // up to the last of the operations that are decided so
	for i, x := range p.steps {
		if x.foreseen() {
			break
		}
		if x.blocked {
			n = i + 1
		}
		if x == op {
			break
		}
	}
	if n == 0 {
		return nil, false
	}
	c = &choice{steps: p.steps[:n], zero: how.zero, presumed: how.presumed, open: slices.Contains(p.open[:n], true)}
	if c.open {
		p.needed(c, goals)
	}
	if len(c.steps) == n && ahead != nil && !p.vague {
		c.rest, c.restOpen = p.steps[n:], p.open[n:]
	}
	return c, false
}

// search reports whether a way reaches all the goals.
func (w *word) search(how manner, goals []*WordOp, ahead [][]*WordOp) bool {
	_, found := w.searched(how, goals, ahead)
	return found
}

// searched returns a planner that has looked for a way which reaches all the goals.
func (w *word) searched(how manner, goals []*WordOp, ahead [][]*WordOp) (p *planner, found bool) {
	p = w.planner(how)
	p.far, p.left = len(goals), w.m.words.steps()
	if how.zero {
		p.value = w.initial(how.presumed)
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		if ahead != nil {
			l.ops = slices.Clone(l.ops)
			for _, x := range ahead[i] {
				if x.look {
					l.looks = append(l.looks, x)
				} else {
					l.ops = append(l.ops, x)
				}
			}
		}
		if !w.m.words.spent() {
			p.left += len(l.ops) + len(l.looks)
		}
	}
	if ahead != nil {
		p.left = min(p.left, foresightSteps)
	}
	for _, x := range goals {
		x.goal = p
		if x.update == nil && !x.foreseen() {
			p.reads = append(p.reads, x)
		}
	}
	slices.SortFunc(p.reads, (*WordOp).before)
	p.seen = make([]bool, len(p.reads))
	steps, first := p.left, p.value
	rest := max(steps-easySteps, 0)
	p.left -= rest
	if found = p.search(); !found && p.left == 0 && rest > 0 { // from the beginning: what was tried there may lead nowhere
		p.eager, p.value, p.tried = true, first, nil
		p.left, rest = rest, 0
		found = p.search()
	}
	p.left += rest
	for _, x := range goals {
		x.goal = nil
	}
	steps = (steps-p.left)*(1+len(p.reads)/manyReads) + len(p.steps)/manyReads
	w.m.words.debt += steps
	w.m.stats.Searched += uint64(steps)
	return p, found
}

// hopeless reports whether no order of updates leaves what an operation has read, found by a
// short search. It is asked before the many that wait with it are looked at.
func (w *word) hopeless(op *WordOp, how manner) bool {
	if op.update != nil || w.blocked.n <= manyReads || how.zero {
		return false
	}
	p := w.planner(how)
	p.far, p.left, p.reads, p.seen = 1, spentSteps, []*WordOp{op}, make([]bool, 1)
	op.goal = p
	found := p.search()
	op.goal = nil
	return !found && p.left > 0 && !p.vague
}

// needed leaves out of the steps of a choice updates that are not known to be over by the time
// of the last, where nothing of the rest depends on them, nor what leads to the other goals: they
// count as later.
func (p *planner) needed(c *choice, goals []*WordOp) {
	const most = 64
	left := easySteps
	for i := len(c.steps) - 2; i >= 0 && len(c.steps) <= most; i-- {
		if !c.mayBeLater(c.steps[i]) {
			continue
		}
		less := slices.Delete(slices.Clone(c.steps), i, i+1)
		if q := p.after(less); q != nil && q.reaches(goals, &left) {
			c.steps = less
		}
	}
}

// after returns a planner that has made steps from the beginning; nil: they are not possible.
func (p *planner) after(steps []*WordOp) *planner {
	q := &planner{manner: p.manner, word: p.word, reads: p.reads, value: p.word.last().value, lanes: slices.Clone(p.lanes), seen: make([]bool, len(p.reads))}
	if q.zero {
		q.value = q.word.initial(q.presumed)
	}
	for i := range q.lanes {
		q.lanes[i].taken, q.lanes[i].looked = 0, 0
	}
	for _, x := range steps {
		if q.may = q.may[:0]; !slices.Contains(q.next(), x) {
			return nil
		}
		q.step(x)
	}
	return q
}

// reaches reports whether a way on reaches those of the goals that are not among the steps, in
// so many steps of a search.
func (p *planner) reaches(goals []*WordOp, left *int) bool {
	for _, x := range goals {
		if !slices.Contains(p.steps, x) {
			x.goal = p
			p.far++
		}
	}
	p.left = *left
	found := p.search()
	*left = p.left
	for _, x := range goals {
		x.goal = nil
	}
	return found
}

// foreseen reports whether an operation is still to come.
func (op *WordOp) foreseen() bool { return op.word == nil }

// search tries all orders in which the operations can take effect.
func (p *planner) search() bool {
	read, from := len(p.steps), len(p.may)
	next := p.readOn()
	if p.far == 0 {
		return true
	}
	if p.left > 0 && (p.tried == nil || !p.tried[p.key()]) {
		p.left--
		value := p.value
		for _, x := range next {
			p.step(x)
			p.open = append(p.open, len(next) > 1)
			if p.search() {
				return true
			}
			p.back()
			p.value = value
		}
		if p.tried == nil {
			p.tried = map[string]bool{}
		}
		p.tried[p.key()] = true
	}
	for len(p.steps) > read {
		p.back()
	}
	p.may = p.may[:from]
	return false
}

// readOn takes the steps of operations that write nothing, as long as one is there that can be
// next: they change nothing for others, and so there is nothing to search. It returns what may
// take effect after them.
func (p *planner) readOn() []*WordOp {
	for from := len(p.may); p.far > 0; {
		p.may = p.may[:from]
		next := p.next()
		if len(next) != 1 || !p.value.Known || p.changes(next[0]) {
			return next
		}
		p.step(next[0])
		p.open = append(p.open, false)
	}
	return nil
}

// key is what matters of the steps for those to come.
func (p *planner) key() string {
	key := make([]byte, 0, 2*len(p.lanes)+len(p.seen)+10)
	for i := range p.lanes {
		key = binary.AppendUvarint(key, uint64(p.lanes[i].taken))
		if len(p.lanes[i].looks) > 0 {
			key = binary.AppendUvarint(key, uint64(p.lanes[i].looked))
		}
	}
	for _, seen := range p.seen {
		if seen {
			key = append(key, 1)
		} else {
			key = append(key, 0)
		}
	}
	if p.value.Known {
		key = binary.AppendVarint(append(key, 1), p.value.Bits)
	}
	return string(key)
}
