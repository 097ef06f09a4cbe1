package regions

import (
	"cmp"
	"slices"
)

// Sequences are accesses, or some that are alike one after the other, by when they start and
// end, whatever their addresses are. Their storage serves one use after the other.
type Sequences struct {
	all []sequence
	of  map[sequenceKey]int // the number of each
}

// sequenceKey is what accesses of one sequence have in common: the group, the line that they start on, and that
// which they end on, or endless. Many that were added as one take long, and would keep others from lying
// close together.
type sequenceKey struct {
	group, start, end int32
	many              bool
}

// sequence is accesses of a group that start on one line and end on one, in the order of their ends, or
// those that do not end, in the order of their starts. Those that nothing orders with another
// access lie close together.
type sequence struct {
	lo, hi   uint64 // all bytes lie in it, half-open
	instants []instant
	near     [2]int // where the last were that were looked for: the next time these are looked at first
}

// instant is when an access starts and ends, or the first and the last of many that are alike; and,
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
		x.of = map[sequenceKey]int{}
	}
	clear(x.of)
}

// Add adds an access of a group to bytes [lo, hi), or many, of which the first starts and the last ends then. It
// reports false, and does not, where their times say nothing.
func (x *Sequences) Add(id, group int32, many bool, lo, hi uint64, start, end Point) bool {
	key := sequenceKey{group, start.Line, end.Line, many}
	if end.Seg < 0 {
		key.end = endless
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
			x.all[k] = sequence{lo: lo, instants: x.all[k].instants[:0]}
		} else {
			x.all = append(x.all, sequence{lo: lo})
		}
	}
	q := &x.all[k]
	q.lo, q.hi = min(q.lo, lo), max(q.hi, hi)
	q.instants = append(q.instants, instant{id, start, end})
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
// some with a, which is to bytes [lo, hi); but none of groups that lie elsewhere. Where these are more than
// most, it reports false and visits none.
func (x *Sequences) Near(r *Region, a *Access, lo, hi uint64, most int, visit func(id int32)) bool {
	n := most
	for k := range x.all {
		if q := &x.all[k]; q.meets(lo, hi) {
			if n -= q.find(r, a); n < 0 {
				return false
			}
		}
	}
	if n == most {
		return true
	}
	for k := range x.all {
		q := &x.all[k]
		if !q.meets(lo, hi) {
			continue
		}
		for i := q.near[0]; i < q.near[1]; i++ {
			visit(q.instants[i].id)
		}
	}
	return true
}

// meets reports whether accesses may be to bytes in [lo, hi).
func (q *sequence) meets(lo, hi uint64) bool { return q.lo < hi && lo < q.hi }

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
