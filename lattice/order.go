package lattice

import (
	"container/heap"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// TotalOrder returns one order of all events that is consistent with all
// dependences: every event stands behind those that it depends on. Among
// events that could come next it takes the one that the fewest must precede
// (Event.Layer), then that of the lowest line, so that the order does not depend
// on how the run was replayed. It takes O(n log n) of n events and edges.
//
// The order also agrees with every order of writes to a place, and every mapping
// of reads to writes, that the run had ("Consistent Global Views", definition 2.2) where these
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

// Ordered returns the lattice with its events in TotalOrder.
func (l *Lattice) Ordered() *Lattice {
	out := *l
	place := make([]int, len(l.Events))
	out.Events = make([]Event, len(l.Events))
	for n, i := range l.TotalOrder() {
		place[i], out.Events[n] = n, l.Events[i]
	}
	out.Edges = make([]Edge, len(l.Edges))
	for i, e := range l.Edges {
		e.From, e.To = place[e.From], place[e.To]
		out.Edges[i] = e
	}
	sortEdges(out.Edges)
	out.Accesses = slices.Clone(l.Accesses)
	for i := range out.Accesses {
		a := &out.Accesses[i]
		a.Event = place[a.Event]
		if a.Done >= 0 {
			a.Done = place[a.Done]
		}
	}
	return &out
}

// WriteOrder writes the events in TotalOrder, one a line: number, process, event,
// place, and what was found there of what another one wrote.
func (l *Lattice) WriteOrder(w io.Writer) error {
	o := l.Ordered()
	begins := map[int][]string{}
	for _, a := range o.Accesses {
		begins[a.Event] = append(begins[a.Event], fmt.Sprintf("%s of finding %d", a.Letter, a.Finding+1))
		if a.Done >= 0 {
			begins[a.Done] = append(begins[a.Done], fmt.Sprintf("completes %s of finding %d", a.Letter, a.Finding+1))
		}
	}
	for _, x := range o.Edges {
		if x.Found != nil {
			begins[x.To] = append(begins[x.To], fmt.Sprintf("found %s, left by %d", x.Found, x.From+1))
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range o.Events {
		e := &o.Events[i]
		who, what := "all", e.Name+" (joined)"
		if e.Line != NoLine {
			who, what = o.Lines[e.Line].Name(), e.Label()
		}
		line := fmt.Sprintf("%d\t%s\t%s\t%s\t%s", i+1, who, what, e.Place, strings.Join(begins[i], ", "))
		fmt.Fprintln(tw, strings.TrimRight(line, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	return nil
}
