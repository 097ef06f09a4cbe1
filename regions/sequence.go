package regions

import (
	"cmp"
	"slices"
)

// Sequences are accesses, or some that are alike one after the other, by when they start and
// end, whatever their addresses are. Their storage serves one use after the other.
type Sequences struct {
	all []sequence
	of  map[[2]int32]int // the number of that of each line that accesses start on, and of that which they end on, or endless
}

// sequence is accesses that start on one line and end on one, in the order of their ends, or
// those that do not end, in the order of their starts. Those that nothing orders with another
// access lie close together.
type sequence struct {
	instants []instant
	near     [2]int // where the last were that were looked for: the next time these are looked at first
}

// instant is when accesses start and end: the first and the last of those that are alike, and,
// once the sequence is sorted, the first of all behind them.
type instant struct {
	id         int32
	start, end Point
}

// endless is in place of the line of an end.
const endless int32 = -1

// Begin empties the sequences.
func (x *Sequences) Begin() {
	x.all = x.all[:0]
	if x.of == nil {
		x.of = map[[2]int32]int{}
	}
	clear(x.of)
}

// Add adds accesses. It reports false, and does not, where their times say nothing.
func (x *Sequences) Add(id int32, start, end Point) bool {
	key := [2]int32{start.Line, end.Line}
	if end.Seg < 0 {
		key[1] = endless
	}
	if start.Seg == Later || start.Seg == Earlier && end.Seg < 0 {
		return false
	}
	k, ok := x.of[key]
	if !ok {
		k = len(x.all)
		x.of[key] = k
		if k < cap(x.all) {
			x.all = x.all[:k+1]
			x.all[k] = sequence{instants: x.all[k].instants[:0]}
		} else {
			x.all = append(x.all, sequence{})
		}
	}
	x.all[k].instants = append(x.all[k].instants, instant{id, start, end})
	return true
}

// Sort makes what was added ready for Near.
func (x *Sequences) Sort() {
	for k := range x.all {
		list := x.all[k].instants
		if list[0].end.Seg < 0 {
			slices.SortFunc(list, func(a, b instant) int { return inTime(a.start, b.start) })
			continue
		}
		slices.SortFunc(list, func(a, b instant) int { return inTime(a.end, b.end) })
		for i := len(list) - 1; i > 0; i-- {
			if next := list[i].start; inTime(next, list[i-1].start) < 0 {
				list[i-1].start = next
			}
		}
	}
}

// inTime compares moments of one line, Earlier among them.
func inTime(p, q Point) int { return cmp.Or(cmp.Compare(p.Seg, q.Seg), cmp.Compare(p.Pos, q.Pos)) }

// Len returns the number of sequences.
func (x *Sequences) Len() int { return len(x.all) }

// Near visits, not each once, the numbers that accesses were added with of which nothing may order
// some with a. Where these are more than most, it reports false and visits none.
func (x *Sequences) Near(r *Region, a *Access, most int, visit func(id int32)) bool {
	n := most
	for k := range x.all {
		if n -= x.all[k].find(r, a); n < 0 {
			return false
		}
	}
	if n == most {
		return true
	}
	for k := range x.all {
		q := &x.all[k]
		for i := q.near[0]; i < q.near[1]; i++ {
			visit(q.instants[i].id)
		}
	}
	return true
}

// find finds the accesses of which nothing may order some with a. It returns their number.
func (q *sequence) find(r *Region, a *Access) int {
	n := len(q.instants)
	from := searchFrom(q.near[0], n, func(i int) bool { return r.mayOutlast(q.instants[i].end, a) })
	to := from + searchFrom(max(q.near[1]-from, 0), n-from, func(i int) bool { return r.over(a, q.instants[from+i].start) })
	q.near = [2]int{from, to}
	return to - from
}

// mayOutlast reports whether what ends at a moment is not known to be over where an access
// begins.
func (r *Region) mayOutlast(end Point, a *Access) bool {
	return !r.Before(end, a.Start) && !(a.Gated && r.Before(end, a.Gate))
}
