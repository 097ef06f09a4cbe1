package regions

// What does not fit into memory is searched slice by slice: the memory of a process
// is dealt out in small blocks, so that each slice has some of every part of it. A
// pair of accesses belongs to the slice that has the first byte that both access.

const (
	sliceBlockBits = 12 // of the size of a block of memory, bytes
	sliceBits      = 8
	sliceCount     = 1 << sliceBits // slices that there are at most
	wideSlice      = sliceCount     // stands for several
)

// Slice is some of the memory of a process. The zero value is all of it.
type Slice struct {
	from, to uint16 // half-open
}

// Whole reports whether the slice is all memory.
func (s Slice) Whole() bool { return s.to == 0 }

// Has reports whether the slice has the byte at an address.
func (s Slice) Has(addr uint64) bool {
	n := blockSlice(addr >> sliceBlockBits)
	return s.Whole() || s.from <= n && n < s.to
}

// blockSlice returns the slice that a block belongs to.
func blockSlice(block uint64) uint16 { return uint16(hash(block) >> (64 - sliceBits)) }

// sliceOf returns the slice that has all bytes [lo, hi), or wideSlice.
func sliceOf(lo, hi uint64) uint16 {
	first, last := lo>>sliceBlockBits, (max(hi, lo+1)-1)>>sliceBlockBits
	if first != last {
		return wideSlice
	}
	return blockSlice(first)
}

// Touches reports whether the slice may have any of the bytes [lo, hi).
func (s Slice) Touches(lo, hi uint64) bool {
	if s.Whole() {
		return true
	}
	first, last := lo>>sliceBlockBits, (max(hi, lo+1)-1)>>sliceBlockBits
	if last-first >= sliceCount {
		return true
	}
	for b := first; b <= last; b++ {
		if n := blockSlice(b); s.from <= n && n < s.to {
			return true
		}
	}
	return false
}

// Slices returns slices that make up the memory of a process, each with no more than
// so many moments of accesses of calls, as far as that is possible.
func (r *Region) Slices(owner int32, most int) []Slice {
	all := &r.moments[owner]
	if all.len() <= most {
		return []Slice{{}}
	}
	var count [sliceCount]int
	for i := range all.chunks {
		c := &all.chunks[i]
		if w := c.stored; w != nil {
			before := 0
			for k := range count {
				count[k] += int(w.ends[k]) - before
				before = int(w.ends[k])
			}
		}
		for k := range c.moments {
			m := &c.moments[k]
			if n := sliceOf(r.shapes[m.shape].access.Layout.Bounds(m.base)); n < wideSlice {
				count[n]++
			}
		}
	}
	var out []Slice
	sum := 0 // of the last
	for i, n := range count {
		if sum += n; i == 0 || sum > most {
			out, sum = append(out, Slice{from: uint16(i)}), n
		}
		out[len(out)-1].to = uint16(i + 1)
	}
	return out
}
