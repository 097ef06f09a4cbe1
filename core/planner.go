package core

import (
	"encoding/binary"
	"slices"
)

// planner looks for an order in which operations on a word take effect, so that one
// of them is decided, and the others that wait can be.
type planner struct {
	manner
	word  *word
	op    *WordOp   // that is to be decided
	reads []*WordOp // that wait, and write nothing
	goals int       // that are not reached: operations which wait

	value Value  // after the steps
	taken []int  // of each queue
	seen  []bool // of reads
	steps []*WordOp
	left  int // steps that the search may still make
	tried map[string]bool
}

const (
	// searchSteps bounds a search.
	searchSteps = 1 << 12
	// All searches of a run may take so many steps, and so many more for each operation
	// that is decided; after that, they look no further than the operations in a row.
	searchDebt, searchGain = 1 << 20, 1 << 8
)

// plan returns the steps up to the operation; nil: there are none.
func (w *word) plan(op *WordOp, how manner) *choice {
	p := &planner{manner: how, word: w, op: op, value: w.last().value, taken: make([]int, len(w.visitors)), left: w.m.words.steps()}
	if how.zero {
		p.value = w.initial()
	}
	for _, v := range w.visitors {
		p.left += len(v.queue)
	}
	for _, x := range w.blocked {
		switch {
		case x.update != nil:
			p.goals++
		case x == op || !how.alone && w.find(x, how) == nil: // the others can be decided at any time
			p.reads = append(p.reads, x)
			p.goals++
		}
	}
	p.seen = make([]bool, len(p.reads))
	steps := p.left
	found := p.search()
	w.m.words.debt += steps - p.left
	if !found {
		w.m.words.short = w.m.words.short || p.left == 0
		return nil
	}
	i := slices.Index(p.steps, op)
	return &choice{op: op, steps: p.steps[:i+1], zero: how.zero}
}

// done reports whether there is nothing more to look for.
func (p *planner) done() bool {
	return p.goals == 0 || p.alone && slices.Contains(p.steps, p.op)
}

// search tries all orders in which the operations can take effect.
func (p *planner) search() bool {
	if p.done() {
		return true
	}
	if p.left == 0 || p.tried != nil && p.tried[p.key()] {
		return false
	}
	p.left--
	value := p.value
	for _, x := range p.next() {
		i := p.step(x)
		if p.search() {
			return true
		}
		p.back(x, i)
		p.value = value
	}
	if p.tried == nil {
		p.tried = map[string]bool{}
	}
	p.tried[p.key()] = true
	return false
}

// key is what matters of the steps for those to come.
func (p *planner) key() string {
	key := make([]byte, 0, 2*len(p.taken)+len(p.seen)+10)
	for _, n := range p.taken {
		key = binary.AppendUvarint(key, uint64(n))
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

// next returns what may take effect next, those first that were over first.
func (p *planner) next() []*WordOp {
	var all []*WordOp
	add := func(x *WordOp) {
		i, _ := slices.BinarySearchFunc(all, x, (*WordOp).compare)
		all = slices.Insert(all, i, x)
	}
	for i, v := range p.word.visitors {
		if n := p.taken[i]; n < len(v.queue) {
			add(v.queue[n])
		}
	}
	for i, x := range p.reads {
		if !p.seen[i] {
			add(x)
		}
	}
	if len(all) == 0 {
		return nil
	}
	end := all[0].end()
	return slices.DeleteFunc(all, func(x *WordOp) bool {
		return p.timely && x.began > end || !p.fits(x) || !p.follows(x)
	})
}

// fits reports whether an operation can have fetched what is there.
func (p *planner) fits(x *WordOp) bool {
	return x.fits(p.value, p.manner) && (!x.fresh || p.replaced(x))
}

// replaced reports whether something has taken effect since a wait began, for which what
// was there then was not enough.
func (p *planner) replaced(x *WordOp) bool {
	last, n := x.floor.number, p.word.last().number
	there := func(y *WordOp) bool { return y.complete || y.strand != x.strand } // when it began
	for _, y := range x.after {
		if y.made != nil && there(y) {
			last = max(last, y.made.number)
		}
	}
	for _, y := range p.steps {
		if y.update == nil {
			continue
		}
		if n++; there(y) && slices.Contains(x.after, y) {
			last = n
		}
	}
	return n > last
}

// follows reports whether all that an operation comes after has taken effect.
func (p *planner) follows(x *WordOp) bool {
	for _, y := range x.after {
		if y.made != nil || y.update == nil {
			continue
		}
		i := p.word.index(y.strand)
		if slices.Index(p.word.visitors[i].queue, y) >= p.taken[i] {
			return false
		}
	}
	return true
}

// step lets an operation take effect.
func (p *planner) step(x *WordOp) int {
	p.steps = append(p.steps, x)
	before := p.value
	if x.blocked {
		p.goals--
	}
	if x.found.Known {
		before = x.found
	}
	if x.update == nil {
		i := slices.Index(p.reads, x)
		p.seen[i], p.value = true, before
		return i
	}
	i := p.word.index(x.strand)
	p.taken[i]++
	p.value, _ = x.update(before)
	return i
}

// back takes a step back.
func (p *planner) back(x *WordOp, i int) {
	p.steps = p.steps[:len(p.steps)-1]
	if x.blocked {
		p.goals++
	}
	if x.update == nil {
		p.seen[i] = false
	} else {
		p.taken[i]--
	}
}
