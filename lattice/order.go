package lattice

import "container/heap"

// TotalOrder returns one order of all events that is consistent with all
// dependences: every event stands behind those that it depends on. Among
// events that could come next it takes the one that the fewest must precede
// (Event.Layer), then that of the lowest line, so that the order does not depend
// on how the run was replayed. It takes O(n log n) of n events and edges.
//
// The order also agrees with every order of writes to a place, and every mapping
// of reads to writes, that the run had (seed 004, definition 2.2) where these
// follow from the dependences: that is so of all accesses that do not race. For
// accesses that do race a trace holds neither, and any order of them is one that
// the run may have had.
func (l *Lattice) TotalOrder() []int {
	next := make([][]int, len(l.Events))
	waits := make([]int, len(l.Events))
	edge := func(from, to int) {
		next[from] = append(next[from], to)
		waits[to]++
	}
	last := make([]int, len(l.Lines))
	for i := range last {
		last[i] = -1
	}
	for i := range l.Events {
		if n := l.Events[i].Line; n != NoLine {
			if last[n] >= 0 {
				edge(last[n], i)
			}
			last[n] = i
		}
	}
	for _, e := range l.Edges {
		edge(e.From, e.To)
	}
	ready := &queue{of: l}
	for i, n := range waits {
		if n == 0 {
			heap.Push(ready, i)
		}
	}
	order := make([]int, 0, len(l.Events))
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, k := range next[i] {
			if waits[k]--; waits[k] == 0 {
				heap.Push(ready, k)
			}
		}
	}
	return order
}

// queue is a heap of events that may come next.
type queue struct {
	of     *Lattice
	events []int
}

func (q *queue) Len() int { return len(q.events) }

func (q *queue) Less(a, b int) bool {
	x, y := &q.of.Events[q.events[a]], &q.of.Events[q.events[b]]
	switch {
	case x.Layer != y.Layer:
		return x.Layer < y.Layer
	case x.Line != y.Line:
		return x.Line < y.Line
	}
	return q.events[a] < q.events[b]
}

func (q *queue) Swap(a, b int) { q.events[a], q.events[b] = q.events[b], q.events[a] }

// Push is that of heap.Interface.
func (q *queue) Push(x any) { q.events = append(q.events, x.(int)) }

// Pop is that of heap.Interface.
func (q *queue) Pop() any {
	n := len(q.events) - 1
	x := q.events[n]
	q.events = q.events[:n]
	return x
}
