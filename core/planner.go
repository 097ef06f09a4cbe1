package core

import (
	"encoding/binary"
	"slices"
)

// planner looks for updates after which a word holds what an operation has fetched,
// or what is not known.
type planner struct {
	word *word
	op   *WordOp
	manner
	from *wordState // nil: the present one
	need []int      // how many of each queue have to be taken at least

	value Value // after the steps
	taken []int // of each queue
	steps []*WordOp
	left  int // steps that the search may still make
	tried map[string]bool
}

// searchSteps bounds the search.
const searchSteps = 1 << 12

func newPlanner(op *WordOp, how manner, from *wordState) *planner {
	p := &planner{word: op.word, op: op, manner: how, from: from}
	for _, v := range p.word.visitors {
		n := 0
		if op.update != nil && v.strand == op.strand {
			n = slices.Index(v.queue, op)
		}
		for _, x := range slices.Concat(op.after, how.also) {
			if x.strand == v.strand && x.made == nil {
				n = max(n, 1+slices.Index(v.queue, x))
			}
		}
		if how.timely && v.strand != op.strand {
			for n < len(v.queue) && v.queue[n].precedes(op) {
				n++
			}
		}
		p.need = append(p.need, n)
	}
	p.reset()
	return p
}

func (p *planner) reset() {
	p.value, p.taken, p.steps = p.word.last().value, make([]int, len(p.word.visitors)), nil
	if p.from != nil {
		p.value = p.from.value
		copy(p.taken, p.from.taken)
	}
}

// plan finds the steps. Those whose calls came first are tried first.
func (p *planner) plan() bool {
	for !p.fits() {
		heads := p.heads()
		if len(heads) == 0 {
			p.reset()
			p.left, p.tried = searchSteps, map[string]bool{}
			return len(p.word.visitors) > 1 && p.search()
		}
		p.step(heads[0])
	}
	return true
}

// search tries all orders in which the queues can be taken.
func (p *planner) search() bool {
	if p.fits() {
		return true
	}
	key := make([]byte, 0, 2*len(p.taken))
	for _, n := range p.taken {
		key = binary.AppendUvarint(key, uint64(n))
	}
	key = binary.AppendVarint(key, p.value.Bits)
	if p.left == 0 || p.tried[string(key)] {
		return false
	}
	p.left--
	p.tried[string(key)] = true
	value := p.value
	for _, i := range p.heads() {
		p.step(i)
		if p.search() {
			return true
		}
		p.taken[i]--
		p.steps, p.value = p.steps[:len(p.steps)-1], value
	}
	return false
}

// fits reports whether the operation may come next.
func (p *planner) fits() bool {
	for i, n := range p.taken {
		if n < p.need[i] {
			return false
		}
	}
	if p.unknown {
		return !p.value.Known
	}
	return p.value == p.op.found
}

// heads returns the queues whose first update may come next, in the order of their
// calls. Not those of which it is known what they fetched: these are decided for
// themselves.
func (p *planner) heads() []int {
	var heads []int
	began := func(i int) int64 { return p.word.visitors[i].queue[p.taken[i]].began }
	for i, v := range p.word.visitors {
		if n := p.taken[i]; n < len(v.queue) && !v.queue[n].found.Known && !(p.timely && p.op.ended < v.queue[n].began) {
			heads = append(heads, i)
		}
	}
	slices.SortStableFunc(heads, func(a, b int) int { return int(began(a) - began(b)) })
	return heads
}

// step takes the first update of a queue.
func (p *planner) step(i int) {
	x := p.word.visitors[i].queue[p.taken[i]]
	p.taken[i]++
	p.steps = append(p.steps, x)
	p.value, _ = x.update(p.value)
}
