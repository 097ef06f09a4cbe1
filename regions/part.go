package regions

// Part is one of several parts of the memory of all processes, so that several
// analyses can share the search for conflicts. The zero value is all memory.
type Part struct {
	Index int // from 0
	Of    int // parts in all; up to 1: there is no other
	// Processes says that parts are all memory of some processes. Otherwise
	// memory is dealt out in blocks, so that also that of a single process is
	// divided.
	Processes bool
}

// PartOf returns part i of n of a run of that many processes, from 0.
func PartOf(i, n, processes int) Part {
	return Part{Index: i, Of: n, Processes: processes >= 2*n}
}

// blockBits is the size of a block of memory as a power of two.
const blockBits = 16

// Whole reports whether the part is all memory.
func (p Part) Whole() bool { return p.Of <= 1 }

// Has reports whether the part has the byte at addr of a process.
func (p Part) Has(owner int32, addr uint64) bool {
	if p.Processes {
		return p.HasProcess(owner)
	}
	return p.Whole() || (uint64(owner)+addr>>blockBits)%uint64(p.Of) == uint64(p.Index)
}

// Touches reports whether the part has any of the blocks that the bytes
// [lo, hi) of a process lie in.
func (p Part) Touches(owner int32, lo, hi uint64) bool {
	if p.Whole() {
		return true
	}
	if p.Processes {
		return p.HasProcess(owner)
	}
	first, last := lo>>blockBits, (hi-1)>>blockBits
	if hi <= lo {
		last = first
	}
	if last-first >= uint64(p.Of)-1 {
		return true
	}
	n := uint64(p.Of)
	// The first block from first on that the part has.
	skip := (uint64(p.Index) + n - (uint64(owner)+first)%n) % n
	return skip <= last-first
}

// OneBlock reports whether the bytes [lo, hi) lie in one block, and so in one
// part.
func OneBlock(lo, hi uint64) bool { return lo>>blockBits == (hi-1)>>blockBits }

// HasProcess reports whether the part has what can only be looked at for all of
// a process's memory together.
func (p Part) HasProcess(owner int32) bool {
	return p.Whole() || uint64(owner)%uint64(p.Of) == uint64(p.Index)
}

// Wants reports whether what a process does in [lo, hi) of its own memory may
// matter to the part, also later, when its model looks at all of the process's
// memory together.
func (p Part) Wants(rank int32, lo, hi uint64) bool {
	return p.HasProcess(rank) || p.Touches(rank, lo, hi)
}
