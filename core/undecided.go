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
// order in which that was known.
type blockedOps struct {
	first, last *WordOp
	n           int
}

// all yields the operations.
func (b *blockedOps) all() iter.Seq[*WordOp] {
	return func(yield func(*WordOp) bool) {
		for op := b.first; op != nil; op = op.next {
			if !yield(op) {
				return
			}
		}
	}
}

// block adds the operation to those that are not decided.
func (w *word) block(op *WordOp) {
	b := &w.blocked
	op.blocked, op.prev = true, b.last
	if b.last == nil {
		b.first = op
	} else {
		b.last.next = op
	}
	b.last = op
	b.n++
	w.m.words.fetched++
	op.nth = w.m.words.fetched
	heap.Push(&w.m.words.undecided, op)
}

// unblock takes an operation off those that are not decided.
func (w *word) unblock(op *WordOp) {
	b := &w.blocked
	if op.prev == nil {
		b.first = op.next
	} else {
		op.prev.next = op.next
	}
	if op.next == nil {
		b.last = op.prev
	} else {
		op.next.prev = op.prev
	}
	b.n--
	heap.Remove(&w.m.words.undecided, op.place)
	op.blocked, op.prev, op.next = false, nil, nil
}

// sooner notes that the operation was over sooner than was known.
func (op *WordOp) sooner() {
	if op.blocked && !op.foreseen() {
		heap.Fix(&op.word.m.words.undecided, op.place)
	}
}
