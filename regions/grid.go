package regions

import (
	"math"
	"math/bits"
)

// grid finds ranges of bytes that lie in the way of others. A range lies in cells of the
// level that has the smallest ones (of 256 bytes or more) which are no smaller than it is:
// in one, or in two that adjoin. So to add or remove one, and to look at a cell, takes the same however many
// there are.
type grid struct {
	levels map[uint8]*gridLevel // by the logarithm of the size of their cells
	n      int
}

// gridLevel is the ranges of about one size.
type gridLevel struct {
	cells map[uint64][]*gridEntry
	n     int // ranges
}

// gridEntry is a range of bytes [lo, hi).
type gridEntry struct {
	lo, hi uint64
	group  *carriedGroup // or
	chunk  *carriedChunk
	at     [2]int32 // where it lies in its cells
}

// leastLevel is the level of the smallest cells: neighbours share one.
const leastLevel = 8

// levelOf returns the level of a range, and its first and last cell there.
func levelOf(lo, hi uint64) (level uint8, first, last uint64) {
	level = uint8(max(leastLevel, bits.Len64(hi-lo-1)))
	return level, shiftRight(lo, level), shiftRight(hi-1, level)
}

func shiftRight(x uint64, by uint8) uint64 {
	if by > 63 {
		return 0
	}
	return x >> by
}

func (g *grid) add(e *gridEntry) {
	if e.hi <= e.lo {
		return
	}
	level, first, last := levelOf(e.lo, e.hi)
	l := g.levels[level]
	if l == nil {
		if g.levels == nil {
			g.levels = map[uint8]*gridLevel{}
		}
		l = &gridLevel{cells: map[uint64][]*gridEntry{}}
		g.levels[level] = l
	}
	for i, cell := range cellsOf(first, last) {
		e.at[i] = int32(len(l.cells[cell]))
		l.cells[cell] = append(l.cells[cell], e)
	}
	l.n++
	g.n++
}

// cellsOf returns the one or two cells of a range.
func cellsOf(first, last uint64) []uint64 {
	if first == last {
		return []uint64{first}
	}
	return []uint64{first, last}
}

func (g *grid) remove(e *gridEntry) {
	if e.hi <= e.lo {
		return
	}
	level, first, last := levelOf(e.lo, e.hi)
	l := g.levels[level]
	for i, cell := range cellsOf(first, last) {
		all := l.cells[cell]
		n := len(all) - 1
		if moved := all[n]; moved != e {
			k := 0
			if _, from, _ := levelOf(moved.lo, moved.hi); from != cell {
				k = 1
			}
			moved.at[k], all[e.at[i]] = e.at[i], moved
		}
		all[n] = nil
		if n == 0 {
			delete(l.cells, cell)
		} else {
			l.cells[cell] = all[:n]
		}
	}
	if l.n--; l.n == 0 {
		delete(g.levels, level)
	}
	g.n--
}

// all visits all ranges, some of them twice.
func (g *grid) all(visit func(*gridEntry)) {
	for _, l := range g.levels {
		for _, some := range l.cells {
			for _, e := range some {
				visit(e)
			}
		}
	}
}

// overlapping visits the ranges that share bytes with [lo, hi), some of them twice.
func (g *grid) overlapping(lo, hi uint64, visit func(*gridEntry)) {
	if hi <= lo {
		return
	}
	some := func(all []*gridEntry) {
		for _, e := range all {
			if e.lo < hi && lo < e.hi {
				visit(e)
			}
		}
	}
	for level, l := range g.levels {
		first, last := shiftRight(lo, level), shiftRight(hi-1, level)
		if last-first >= uint64(len(l.cells)) {
			for _, all := range l.cells {
				some(all)
			}
			continue
		}
		for cell := first; ; cell++ {
			some(l.cells[cell])
			if cell == last || cell == math.MaxUint64 {
				break
			}
		}
	}
}
