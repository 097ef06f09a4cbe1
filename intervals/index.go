package intervals

import "slices"

// Index finds which of many byte ranges overlap a given one. It is built once
// and then only asked: ranges are sorted by their start, and a tree of maximal
// ends over them skips what lies before the query. Building takes O(n log n),
// a query O(log n) for each range that it finds.
type Index struct {
	lo  []uint64
	id  []int32
	max []uint64 // max[i] of a perfect binary tree over the ends; leaves from size on
	sz  int
}

// Range is a byte range [Lo, Hi) with the caller's identifier.
type Range struct {
	Lo, Hi uint64
	ID     int32
}

// Build fills the index with ranges, which it sorts (by Lo, then ID).
// Storage of an earlier Build is used again.
func (x *Index) Build(ranges []Range) {
	slices.SortFunc(ranges, func(a, b Range) int {
		switch {
		case a.Lo != b.Lo && a.Lo < b.Lo:
			return -1
		case a.Lo != b.Lo:
			return 1
		}
		return int(a.ID) - int(b.ID)
	})
	n := len(ranges)
	x.sz = 1
	for x.sz < n {
		x.sz *= 2
	}
	x.lo, x.id = x.lo[:0], x.id[:0]
	x.max = slices.Grow(x.max[:0], 2*x.sz)[:2*x.sz]
	clear(x.max)
	for i, r := range ranges {
		x.lo = append(x.lo, r.Lo)
		x.id = append(x.id, r.ID)
		x.max[x.sz+i] = r.Hi
	}
	for i := x.sz - 1; i > 0; i-- {
		x.max[i] = max(x.max[2*i], x.max[2*i+1])
	}
}

// Len returns the number of ranges.
func (x *Index) Len() int { return len(x.lo) }

// Any reports whether any range might overlap [lo, hi): a quick test of the
// bounding box of all.
func (x *Index) Any(lo, hi uint64) bool {
	return len(x.lo) > 0 && x.lo[0] < hi && x.max[1] > lo
}

// Overlapping calls yield with the identifier of every range that overlaps
// [lo, hi), in order of start; it stops when yield returns false. It reports whether
// yield never did.
func (x *Index) Overlapping(lo, hi uint64, yield func(id int32) bool) bool {
	if !x.Any(lo, hi) {
		return true
	}
	end, _ := slices.BinarySearch(x.lo, hi) // ranges [0, end) start below hi
	for i := x.next(0, lo); i >= 0 && i < end; i = x.next(i+1, lo) {
		if !yield(x.id[i]) {
			return false
		}
	}
	return true
}

// next returns the first position at or after i whose end is above lo, or -1.
func (x *Index) next(i int, lo uint64) int {
	if i >= len(x.lo) {
		return -1
	}
	n := x.sz + i
	for x.max[n] <= lo {
		// Go up while n is a right child, then to the right neighbour.
		for n&1 == 1 {
			n >>= 1
		}
		if n == 0 {
			return -1
		}
		n++
	}
	for n < x.sz {
		n *= 2
		if x.max[n] <= lo {
			n++
		}
	}
	return n - x.sz
}
