package core

import (
	"cmp"
	"math"
	"slices"
)

// The steps of a planner: what may take effect next, and that it does.

// next returns what may take effect next, those first that were over first or, where the word
// is so, what is sure to. Which of them does makes a difference. They stay until may is cut
// back to its length before.
func (p *planner) next() []*WordOp {
	p.vague = p.vague || !p.value.Known
	from := len(p.may)
	end := p.due()
	for i := range p.lanes {
		if ops := p.rest(i); len(ops) > 0 && ops[0].fits(p.value, p.manner) {
			p.may = append(p.may, ops[0])
		}
		if x := p.look(i); x != nil && x.fits(p.value, p.manner) {
			p.may = append(p.may, x)
		}
	}
	may := func(x *WordOp) bool { return !(p.timely && x.began > end) && p.follows(x) }
	if p.value.Known && !p.other { // one that fits is next, or one of a lane
		i := p.first(may)
		if i < len(p.reads) {
			p.may = append(p.may, p.reads[i])
		}
	} else {
		for i := p.from; i < len(p.reads); i++ {
			if x := p.reads[i]; !p.seen[i] && x.fits(p.value, p.manner) {
				p.may = append(p.may, x)
			}
		}
	}
	all := slices.DeleteFunc(p.may[from:], func(x *WordOp) bool { return !may(x) })
	if p.word.sure {
		slices.SortFunc(all, (*WordOp).inTurn)
	} else {
		slices.SortFunc(all, (*WordOp).compare)
	}
	if p.other {
		turn(all, end)
	}
	if p.value.Known {
		for i, x := range all {
			if !p.changes(x) {
				return all[i : i+1] // nothing depends on whether it comes now or later
			}
		}
	}
	return all
}

// rest returns what is left of a lane, where its strand goes on with that.
func (p *planner) rest(lane int) []*WordOp {
	l := &p.lanes[lane]
	switch {
	case l.taken == len(l.ops):
		return nil
	case l.taken < l.issued:
	case l.looked < len(l.looks) && l.looks[l.looked].began < l.ops[l.taken].began, p.reading(l.ops[l.taken].strand):
		return nil
	}
	return l.ops[l.taken:]
}

// look returns what the strand of a lane looks at next in its own memory; nil: nothing, or it
// does something else before that. It does not wait for what it has only issued.
func (p *planner) look(lane int) *WordOp {
	l := &p.lanes[lane]
	if l.looked == len(l.looks) {
		return nil
	}
	x := l.looks[l.looked]
	for _, before := range l.ops[l.taken:] {
		if before.began > x.began {
			break
		}
		if before.fetches {
			return nil
		}
	}
	if p.reading(x.strand) {
		return nil
	}
	return x
}

// due returns by when something takes effect that has not, ns: what was over first of that.
func (p *planner) due() int64 {
	end := int64(math.MaxInt64)
	for i := range p.lanes {
		end = min(end, endOfFirst(p.rest(i)))
		if x := p.look(i); x != nil {
			end = min(end, x.end())
		}
	}
	for p.from < len(p.reads) && p.seen[p.from] {
		p.from++
	}
	if p.from < len(p.reads) {
		end = min(end, p.reads[p.from].end())
	}
	return end
}

// changes reports whether what may take effect next makes a difference for others. What is
// known to leave the value that it fetched makes none either; but it comes after more or
// fewer updates, so that the order of ends counts where the search is short.
func (p *planner) changes(x *WordOp) bool {
	return x.writes() && !(p.eager && x.found.Known && x.leaves() == x.found)
}

// first returns the place of the first of the operations that read, and whose value is there,
// that may be next; behind the last where there is none.
func (p *planner) first(may func(*WordOp) bool) int {
	next := func(i int) bool {
		return !p.seen[i] && p.reads[i].fits(p.value, p.manner) && may(p.reads[i])
	}
	n := len(p.reads)
	if n-p.from <= manyReads {
		for i := p.from; i < n; i++ {
			if next(i) {
				return i
			}
		}
		return n
	}
	if p.of == nil {
		p.of = map[int64][]int{}
		for i, x := range p.reads {
			if x.meets == nil && x.found.Known {
				p.of[x.found.Bits] = append(p.of[x.found.Bits], i)
			} else {
				p.waits = append(p.waits, i)
			}
		}
	}
	found := n
	for _, list := range [][]int{p.of[p.value.Bits], p.waits} {
		from, _ := slices.BinarySearch(list, p.from)
		if k := slices.IndexFunc(list[from:], next); k >= 0 {
			found = min(found, list[from+k])
		}
	}
	return found
}

// inTurn orders what may take effect next: what has found the value that is there comes before
// what may find any, since what it has found may not come again. So many additions are put in
// order that were completed together, where the ends of calls tell nothing.
func (op *WordOp) inTurn(o *WordOp) int {
	if op.found.Known != o.found.Known {
		if op.found.Known {
			return -1
		}
		return 1
	}
	return op.compare(o)
}

// turn puts what may take effect next in another order than the usual one, in which what begins
// behind an end is not tried before what does not; last comes what may turn out to write nothing.
func turn(all []*WordOp, end int64) {
	slices.SortStableFunc(all, func(a, b *WordOp) int { return cmp.Compare(max(a.began, end), max(b.began, end)) })
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b *WordOp) int { return cmp.Compare(a.guessed(), b.guessed()) })
}

// guessed is 1 where it is not known yet what the operation will have fetched, else 0.
func (op *WordOp) guessed() int {
	if op.fetches && !op.found.Known && op.meets == nil {
		return 1
	}
	return 0
}

// reading reports whether a strand waits for what it has read.
func (p *planner) reading(s *Strand) bool {
	for i := p.from; i < len(p.reads); i++ {
		if p.reads[i].strand == s && !p.seen[i] {
			return true
		}
	}
	return false
}

// follows reports whether all that an operation comes after has taken effect.
func (p *planner) follows(x *WordOp) bool {
	if b := x.behind; b != nil {
		if i := p.read(b); i >= 0 && !p.seen[i] || i < 0 && b.saw == nil {
			return false
		}
	}
	for _, y := range x.after {
		if y.made != nil || y.update == nil {
			continue
		}
		if l := &p.lanes[p.word.index(y.strand)]; y.turn-l.ops[0].turn >= l.taken {
			return false
		}
	}
	return true
}

// read returns the place of an operation among those that read, -1 where it is none of them.
func (p *planner) read(x *WordOp) int {
	if len(p.reads) == 0 {
		return -1
	}
	if p.number == 0 {
		p.word.m.words.planners++
		p.number = p.word.m.words.planners
		for i, op := range p.reads {
			op.planner, op.slot = p.number, i
		}
	}
	if x.planner != p.number {
		return -1
	}
	return x.slot
}

// step lets an operation take effect.
func (p *planner) step(x *WordOp) {
	p.steps = append(p.steps, x)
	before := p.value
	if x.found.Known {
		before = x.found
	}
	if x.goal == p {
		p.far--
	}
	if i := p.read(x); i >= 0 {
		p.seen[i], p.value = true, before
		return
	}
	l := &p.lanes[p.word.index(x.strand)]
	p.value = before
	if x.look {
		l.looked++
		return
	}
	l.taken++
	if x.update != nil {
		p.value, _ = x.update(before)
	}
}

// back takes the last step back, but for the value.
func (p *planner) back() {
	x := p.steps[len(p.steps)-1]
	p.steps, p.open = p.steps[:len(p.steps)-1], p.open[:len(p.open)-1]
	if x.goal == p {
		p.far++
	}
	if i := p.read(x); i >= 0 {
		p.seen[i], p.from = false, min(p.from, i)
		return
	}
	l := &p.lanes[p.word.index(x.strand)]
	if x.look {
		l.looked--
	} else {
		l.taken--
	}
}
