// Package intervals holds sets of bytes as runs and strided runs, and answers
// whether two of them meet.
//
// A Run is count blocks of size bytes, stride apart; a Layout is a list of runs
// relative to a base address, as a datatype lays it out. Strided runs are never
// expanded: whether two of them meet is decided arithmetically, so that a
// column of a large matrix costs as much as one element. An Index finds those
// of many byte ranges that overlap a given one, and a Set does where ranges come
// and go between questions. All ranges are half-open.
package intervals

import "math/bits"

// Run is the union over k in [0, Count) of the bytes
// [Lo+k·Stride, Lo+k·Stride+Size). A solid run has Count 1 and Stride 0.
// Size and Count are at least 1; with Count > 1, Stride > Size.
type Run struct {
	Lo     uint64
	Size   uint64
	Stride uint64
	Count  uint64
}

// Solid returns the run [lo, hi). It needs lo < hi.
func Solid(lo, hi uint64) Run { return Run{Lo: lo, Size: hi - lo, Count: 1} }

// Strided returns the normal form of count blocks of size bytes, stride apart.
// Blocks that touch or overlap become one solid run. It needs size ≥ 1, count ≥ 1.
func Strided(lo, size, stride, count uint64) Run {
	if count == 1 || stride == 0 {
		return Run{Lo: lo, Size: size, Count: 1}
	}
	if stride <= size {
		return Run{Lo: lo, Size: stride*(count-1) + size, Count: 1}
	}
	return Run{Lo: lo, Size: size, Stride: stride, Count: count}
}

// Hi returns the end of the last block (exclusive).
func (r Run) Hi() uint64 { return r.Lo + r.Stride*(r.Count-1) + r.Size }

// Bytes returns the number of bytes in the run.
func (r Run) Bytes() uint64 { return r.Size * r.Count }

// Shift returns the run moved up by d bytes (modulo 2^64, so that a negative
// displacement can be added).
func (r Run) Shift(d uint64) Run { r.Lo += d; return r }

// Meet returns a range of bytes that both runs hold, half-open and not empty,
// and true; or false if there is none. The range lies within one block of each,
// and belongs to the first block of a that meets b.
func Meet(a, b Run) (lo, hi uint64, ok bool) {
	if a.Lo >= b.Hi() || b.Lo >= a.Hi() {
		return 0, 0, false
	}
	i, ok := firstBlock(a, b)
	if !ok {
		return 0, 0, false
	}
	lo = a.Lo + i*a.Stride
	hi = lo + a.Size
	// The first block of b that ends after lo meets [lo, hi).
	var j uint64
	if b.Count > 1 && lo >= b.Lo+b.Size {
		j = (lo-b.Lo-b.Size)/b.Stride + 1
	}
	blo := b.Lo + j*b.Stride
	return max(lo, blo), min(hi, blo+b.Size), true
}

// firstBlock returns the index of the first block of a that meets b. The
// bounding boxes of both overlap.
func firstBlock(a, b Run) (uint64, bool) {
	// Blocks of a outside of b's bounding box cannot meet it.
	var first uint64
	last := a.Count - 1
	if a.Count > 1 {
		if a.Lo+a.Size <= b.Lo {
			first = (b.Lo-a.Lo-a.Size)/a.Stride + 1
		}
		if top := b.Hi(); a.Lo+last*a.Stride >= top {
			last = (top - 1 - a.Lo) / a.Stride
		}
		if first > last {
			return 0, false
		}
	}
	if b.Count == 1 || a.Size+b.Size > b.Stride {
		// No gap of b is large enough to hold a block of a.
		return first, true
	}
	// Block i of a begins p = a.Lo + i·a.Stride - b.Lo bytes above b's first.
	// It meets block j of b when j·b.Stride lies in (p-b.Size, p+a.Size), that
	// is, when (p+a.Size-1) mod b.Stride is at most a.Size+b.Size-2. Within
	// b's bounding box the j so found is a block of b, or its neighbour is.
	t := b.Stride
	c := (a.Lo + first*a.Stride + a.Size - 1 - b.Lo) % t
	w := a.Size + b.Size - 2
	if c <= w {
		return first, true
	}
	if last == first {
		return 0, false
	}
	// a.Stride·x mod t must lie in [t-c, t-c+w]; it does not wrap, as c > w.
	x, ok := firstMultiple(a.Stride%t, t, t-c, t-c+w, last-first)
	if !ok {
		return 0, false
	}
	return first + x, true
}

// firstMultiple returns the smallest x in [0, limit] with l ≤ a·x mod m ≤ r,
// where 0 < l ≤ r < m and a < m. It runs Euclid's algorithm: if no multiple of
// a lies in [l, r], then x is the smallest with a multiple of a in
// [l+m·y, r+m·y], where y solves the same problem modulo a.
func firstMultiple(a, m, l, r, limit uint64) (uint64, bool) {
	if l == 0 {
		return 0, true
	}
	if a == 0 {
		return 0, false
	}
	if a > m-a {
		a, l, r = m-a, m-r, m-l
	}
	x := (l + a - 1) / a
	if x*a <= r {
		return x, x <= limit
	}
	// a·x ≤ a·limit bounds m·y, so a larger y need not be looked for.
	hi, lo := bits.Mul64(a, limit)
	bound := ^uint64(0)
	if hi < m {
		bound, _ = bits.Div64(hi, lo, m)
	}
	y, ok := firstMultiple((a-m%a)%a, a, l%a, r%a, bound)
	if !ok {
		return 0, false
	}
	hi, lo = bits.Mul64(m, y)
	lo, carry := bits.Add64(lo, l+a-1, 0)
	hi += carry
	if hi >= a {
		return 0, false
	}
	x, _ = bits.Div64(hi, lo, a)
	return x, x <= limit
}
