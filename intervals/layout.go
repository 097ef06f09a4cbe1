package intervals

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Layout is the bytes of count elements of a datatype, relative to a base
// address. Offsets are signed; they are kept modulo 2^64 and added to a base
// by Shift. A Layout is not changed once built and may be shared.
type Layout struct {
	runs []Run // relative, sorted by signed Lo
	lo   int64 // lowest offset
	hi   int64 // end of the highest (exclusive)
	flat bool  // no run ends before the one in front of it does
}

// Empty is the layout without bytes.
var Empty = &Layout{}

// NewLayout returns the layout of the given runs, whose Lo are signed offsets
// modulo 2^64. It sorts and joins them where they touch, and keeps the slice.
func NewLayout(runs []Run) *Layout {
	if len(runs) == 0 {
		return Empty
	}
	slices.SortFunc(runs, func(a, b Run) int {
		switch {
		case int64(a.Lo) < int64(b.Lo):
			return -1
		case int64(a.Lo) > int64(b.Lo):
			return 1
		}
		return 0
	})
	out := runs[:1]
	for _, r := range runs[1:] {
		last := &out[len(out)-1]
		if last.Count == 1 && r.Count == 1 && r.Lo-last.Lo <= last.Size {
			last.Size = max(last.Size, r.Lo-last.Lo+r.Size)
			continue
		}
		if !extend(last, r) {
			out = append(out, r)
		}
	}
	l := &Layout{runs: slices.Clip(out), lo: int64(out[0].Lo)}
	l.hi, l.flat = int64(out[0].Hi()), true
	for _, r := range out[1:] {
		end := int64(r.Hi())
		l.flat = l.flat && end >= l.hi
		l.hi = max(l.hi, end)
	}
	return l
}

// extend appends the solid block r to last when it continues its stride, or
// makes last a strided run of the two.
func extend(last *Run, r Run) bool {
	if r.Count != 1 || r.Size != last.Size {
		return false
	}
	d := r.Lo - last.Lo
	switch {
	case last.Count == 1:
		*last = Strided(last.Lo, last.Size, d, 2)
	case d == last.Stride*last.Count:
		last.Count++
	default:
		return false
	}
	return true
}

// Repeat returns count copies of the layout, extent bytes apart.
func (l *Layout) Repeat(count uint64, extent int64) *Layout {
	if count == 1 || len(l.runs) == 0 {
		return l
	}
	if count == 0 {
		return Empty
	}
	if len(l.runs) == 1 && l.runs[0].Count == 1 {
		r := l.runs[0]
		if extent < 0 {
			r.Lo -= uint64(-extent) * (count - 1)
			extent = -extent
		}
		return NewLayout([]Run{Strided(r.Lo, r.Size, uint64(extent), count)})
	}
	if len(l.runs) == 1 && extent >= 0 && uint64(extent) == l.runs[0].Stride*l.runs[0].Count {
		r := l.runs[0]
		r.Count *= count
		return NewLayout([]Run{r})
	}
	runs := make([]Run, 0, uint64(len(l.runs))*count)
	for k := range count {
		for _, r := range l.runs {
			runs = append(runs, r.Shift(k*uint64(extent)))
		}
	}
	return NewLayout(runs)
}

// Shifted returns the layout moved by d bytes.
func (l *Layout) Shifted(d int64) *Layout {
	if d == 0 || len(l.runs) == 0 {
		return l
	}
	runs := make([]Run, len(l.runs))
	for i, r := range l.runs {
		runs[i] = r.Shift(uint64(d))
	}
	return &Layout{runs: runs, lo: l.lo + d, hi: l.hi + d, flat: l.flat}
}

// Join returns the union of layouts.
func Join(ls ...*Layout) *Layout {
	var runs []Run
	for _, l := range ls {
		runs = append(runs, l.runs...)
	}
	return NewLayout(runs)
}

// Runs returns the runs relative to the base, by ascending offset. The caller
// must not change them.
func (l *Layout) Runs() []Run { return l.runs }

// Key returns the same text for layouts with the same runs, and no others.
func (l *Layout) Key() string {
	b := make([]byte, 0, 32*len(l.runs))
	for _, r := range l.runs {
		for _, n := range [...]uint64{r.Lo, r.Size, r.Stride, r.Count} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return string(b)
}

// IsEmpty reports whether the layout has no bytes.
func (l *Layout) IsEmpty() bool { return len(l.runs) == 0 }

// Bytes returns the number of bytes of its runs.
func (l *Layout) Bytes() uint64 {
	var n uint64
	for _, r := range l.runs {
		n += r.Bytes()
	}
	return n
}

// mostCompared is how many runs of a layout are compared with each other.
const mostCompared = 64

// Overlaps reports whether elements with so many bytes of data, of which it is the layout, have
// bytes in common: some are missing, or runs meet. Of many runs that does not look at all.
func (l *Layout) Overlaps(data uint64) bool {
	if l.Bytes() < data {
		return true
	}
	for i, r := range l.runs[:min(len(l.runs), mostCompared)] {
		for _, before := range l.runs[:i] {
			if int64(before.Hi()) <= int64(r.Lo) {
				continue
			}
			// Addresses that are above 0 whatever the offsets are.
			if _, _, ok := Meet(before.Shift(-uint64(l.lo)), r.Shift(-uint64(l.lo))); ok {
				return true
			}
		}
	}
	return false
}

// Blocks returns the number of solid blocks of its runs.
func (l *Layout) Blocks() uint64 {
	var n uint64
	for _, r := range l.runs {
		n += r.Count
	}
	return n
}

// Pieces calls yield with at most so many ranges, but for one more for each run, that
// together hold all bytes of the layout at a base address: its blocks, or where these are
// more, as many of them at a time as are needed. It stops when yield returns false, and
// reports whether yield never did.
func (l *Layout) Pieces(base uint64, most int, yield func(lo, hi uint64) bool) bool {
	each := (l.Blocks() + uint64(most) - 1) / uint64(most) // blocks of a piece
	if each == 0 {
		return true
	}
	var lo, hi, n uint64 // of a piece of several runs
	for _, r := range l.runs {
		r = r.Shift(base)
		if r.Count >= each {
			for k := uint64(0); k < r.Count; k += each {
				last := min(k+each, r.Count) - 1
				if !yield(r.Lo+k*r.Stride, r.Lo+last*r.Stride+r.Size) {
					return false
				}
			}
			continue
		}
		if n == 0 {
			lo, hi = r.Lo, r.Hi()
		}
		lo, hi = min(lo, r.Lo), max(hi, r.Hi())
		if n += r.Count; n < each {
			continue
		}
		if n = 0; !yield(lo, hi) {
			return false
		}
	}
	return n == 0 || yield(lo, hi)
}

// Bounds returns the bounding box [lo, hi) of the layout at a base address.
func (l *Layout) Bounds(base uint64) (lo, hi uint64) {
	return base + uint64(l.lo), base + uint64(l.hi)
}

// MeetLayouts returns a range of bytes that layout a at base abase and layout b
// at bbase share, and true; or false if there is none. Of all such ranges it is
// one in the lowest run of a that meets b.
func MeetLayouts(abase uint64, a *Layout, bbase uint64, b *Layout) (lo, hi uint64, ok bool) {
	if a.IsEmpty() || b.IsEmpty() {
		return 0, 0, false
	}
	blo, bhi := b.Bounds(bbase)
	for _, ra := range a.runs {
		ra = ra.Shift(abase)
		if ra.Hi() <= blo {
			continue
		}
		if ra.Lo >= bhi {
			break
		}
		if lo, hi, ok = meetRun(ra, bbase, b); ok {
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// Meets reports whether the layout at a base address shares a byte with a run.
func (l *Layout) Meets(base uint64, r Run) bool {
	_, _, ok := meetRun(r, base, l)
	return ok
}

func meetRun(ra Run, bbase uint64, b *Layout) (lo, hi uint64, ok bool) {
	top := ra.Hi()
	runs := b.runs
	if b.flat && len(runs) > 8 {
		// Those that end before ra begins come first.
		first, _ := slices.BinarySearchFunc(runs, ra.Lo+1, func(r Run, lo uint64) int {
			return cmp.Compare(r.Hi()+bbase, lo)
		})
		runs = runs[first:]
	}
	for _, rb := range runs {
		rb = rb.Shift(bbase)
		if rb.Lo >= top {
			break
		}
		if lo, hi, ok = Meet(ra, rb); ok {
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// first returns the layout without what comes after its first n bytes, in the
// order of the addresses. Runs that lie within one another are not understood.
func (l *Layout) first(n uint64) *Layout {
	if n >= l.Bytes() {
		return l
	}
	var runs []Run
	for _, r := range l.runs {
		if n == 0 {
			break
		}
		whole := min(n/r.Size, r.Count)
		if whole > 0 {
			head := Strided(r.Lo, r.Size, r.Stride, whole)
			runs = append(runs, head)
			n -= whole * r.Size
		}
		if whole < r.Count && n > 0 {
			at := r.Lo + whole*r.Stride
			runs = append(runs, Solid(at, at+n))
			n = 0
		}
	}
	return NewLayout(runs)
}

// Within returns what the layout at a base address has in [lo, hi), relative to
// the same base. Blocks are cut where the range begins and ends.
func (l *Layout) Within(base, lo, hi uint64) *Layout { return l.clip(base, lo, hi, true) }

// Without returns what the layout at a base address has outside of [lo, hi).
func (l *Layout) Without(base, lo, hi uint64) *Layout { return l.clip(base, lo, hi, false) }

func (l *Layout) clip(base, lo, hi uint64, inside bool) *Layout {
	if blo, bhi := l.Bounds(base); l.IsEmpty() || bhi <= lo || blo >= hi {
		if inside {
			return Empty
		}
		return l
	} else if blo >= lo && bhi <= hi {
		if inside {
			return l
		}
		return Empty
	}
	var runs []Run
	for _, r := range l.runs {
		runs = appendClipped(runs, r.Shift(base), lo, hi, inside)
	}
	for i := range runs {
		runs[i] = runs[i].Shift(-base)
	}
	return NewLayout(runs)
}

// appendClipped appends what a run has inside of [lo, hi), or outside of it.
func appendClipped(runs []Run, r Run, lo, hi uint64, inside bool) []Run {
	// Blocks [0, first) end before lo, blocks [last, Count) begin at or after hi.
	first, last := r.blocksBefore(lo), r.Count
	if r.Lo >= hi {
		last = 0
	} else if r.Stride > 0 {
		last = min(r.Count, (hi-1-r.Lo)/r.Stride+1)
	}
	first = min(first, last)
	blocks := func(from, to uint64) {
		if from < to {
			runs = append(runs, Strided(r.Lo+from*r.Stride, r.Size, r.Stride, to-from))
		}
	}
	piece := func(from, to uint64) {
		if from < to {
			runs = append(runs, Solid(from, to))
		}
	}
	if !inside {
		blocks(0, first)
		blocks(last, r.Count)
	}
	for k := first; k < last; {
		b := r.Lo + k*r.Stride
		switch {
		case b < lo || b+r.Size > hi: // cut
			if inside {
				piece(max(b, lo), min(b+r.Size, hi))
			} else {
				piece(b, min(b+r.Size, lo))
				piece(max(b, hi), b+r.Size)
			}
			k++
		default: // whole blocks up to the last, which may be cut
			whole := last - k
			if end := r.Lo + (last-1)*r.Stride + r.Size; end > hi && whole > 1 {
				whole--
			}
			if inside {
				blocks(k, k+whole)
			}
			k += whole
		}
	}
	return runs
}

// blocksBefore returns how many blocks end at or before addr.
func (r Run) blocksBefore(addr uint64) uint64 {
	if addr < r.Lo+r.Size {
		return 0
	}
	if r.Stride == 0 {
		return 1
	}
	return min(r.Count, (addr-r.Lo-r.Size)/r.Stride+1)
}
