package core

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
)

// undecided are the operations of all words that have fetched what is not decided yet: a
// heap, of which the first was over first.
type undecided []*WordOp

func (u undecided) Len() int { return len(u) }

// Less is heap.Interface.
func (u undecided) Less(i, j int) bool {
	return u[i].before(u[j]) < 0
}

func (u undecided) Swap(i, j int) {
	u[i], u[j] = u[j], u[i]
	u[i].place, u[j].place = i, j
}

// Push is heap.Interface.
func (u *undecided) Push(x any) {
	op := x.(*WordOp)
	op.place = len(*u)
	*u = append(*u, op)
}

// Pop is heap.Interface.
func (u *undecided) Pop() any {
	all := *u
	op := all[len(all)-1]
	all[len(all)-1] = nil
	*u = all[:len(all)-1]
	return op
}

// first returns so many of the operations that were over first, in order.
func (u *undecided) first(n int) []*WordOp {
	all := make([]*WordOp, n)
	for i := range all {
		all[i] = heap.Pop(u).(*WordOp)
	}
	for _, op := range all {
		heap.Push(u, op)
	}
	return all
}

// sorted returns all operations, those that were over first first.
func (u undecided) sorted() []*WordOp {
	all := slices.Clone(u)
	slices.SortFunc(all, (*WordOp).before)
	return all
}

// before orders operations that are not decided: by their ends, and where their clocks do not
// tell them apart, as it became known what they fetched.
func (op *WordOp) before(o *WordOp) int {
	return cmp.Or(op.compare(o), cmp.Compare(op.nth, o.nth))
}

// blockedOps are the operations of a word that have fetched what is not decided yet, in the
// order in which that was known; and some that are decided since.
type blockedOps struct {
	runs []*run
	n    int // operations that are not decided
	open int // runs that have some
}

// run is operations of which each has read again what the one before has: wherever the last
// one fits into an order, so do the others.
type run struct {
	ops []*WordOp
	n   int // of them that are not decided
}

// all yields the operations that are not decided.
func (b *blockedOps) all() iter.Seq[*WordOp] {
	return func(yield func(*WordOp) bool) {
		for _, r := range b.runs {
			for _, op := range r.ops {
				if op.blocked && !yield(op) {
					return
				}
			}
		}
	}
}

// last returns the last operation of a run that is not decided; nil: all are.
func (r *run) last() *WordOp {
	for _, op := range slices.Backward(r.ops) {
		if op.blocked {
			return op
		}
	}
	return nil
}

// block adds the operation to those that are not decided.
func (w *word) block(op *WordOp) {
	w.m.words.fetched++
	op.blocked, op.nth = true, w.m.words.fetched
	b := &w.blocked
	k := len(b.runs)
	if k == 0 || b.runs[k-1].n > 0 && !op.again(b.runs[k-1].last()) {
		b.runs = append(b.runs, &run{})
		k++
	}
	if op.run = b.runs[k-1]; op.run.n == 0 {
		op.run.ops = op.run.ops[:0]
		b.open++
	}
	op.run.ops = append(op.run.ops, op)
	op.run.n++
	b.n++
	heap.Push(&w.m.words.undecided, op)
}

// unblock takes an operation off those that are not decided.
func (w *word) unblock(op *WordOp) {
	const few = 32
	heap.Remove(&w.m.words.undecided, op.place)
	op.blocked = false
	b, r := &w.blocked, op.run
	b.n--
	w.sure, w.untimely = w.sure && b.n > 0, w.untimely && b.n > 0
	if r.n--; len(r.ops) > few+2*r.n {
		r.ops = slices.DeleteFunc(r.ops, func(x *WordOp) bool { return !x.blocked })
	}
	if r.n == 0 {
		b.open--
	}
	switch {
	case b.n == 0: // the room is used again
		clear(r.ops)
		clear(b.runs)
		r.ops, b.runs = r.ops[:0], append(b.runs[:0], r)
	case len(b.runs) > few+2*b.open:
		b.runs = slices.DeleteFunc(b.runs, func(r *run) bool { return r.n == 0 })
	}
	op.run = nil
}

// sooner notes that the operation was over sooner than was known.
func (op *WordOp) sooner() {
	if op.made != nil {
		op.word.revised++
	}
	if op.blocked && !op.foreseen() {
		heap.Fix(&op.word.m.words.undecided, op.place)
	}
}
