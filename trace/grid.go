package trace

import (
	"fmt"
	"math"
	"math/bits"
)

// Grid is runs of loads or stores at equal distances, as loops over a matrix or a
// field make them: Planes times Rows accesses, of which that with row r of plane p
// begins at Addr + r·RowStep + p·PlaneStep. They come plane by plane, and row by row.
// A tracer writes them as one record; a Reader delivers them as the accesses that
// they are, a plane of a Batch as one Rows.
type Grid struct {
	Access             // the first
	Rows, Planes       uint16
	RowStep, PlaneStep int64 // bytes; they say nothing where there is one
}

// mostInGrid is how many accesses a Grid has at most.
const mostInGrid = math.MaxUint16

// accesses returns how many accesses a Grid stands for.
func (g *Grid) accesses() int { return int(g.Rows) * int(g.Planes) }

// normalise makes the first access of the grid normal, as it does an access by itself, a
// single row in each of several planes the rows of one plane, and steps that say nothing 0.
// It returns a range of addresses that holds all bytes, half-open.
func (g *Grid) normalise() (lo, hi uint64, state accessState) {
	if hi, state = g.Access.normalise(); state == accessEmpty {
		return 0, 0, state
	}
	if n := g.accesses(); state != accessOK || n == 0 || n > mostInGrid {
		return 0, 0, accessBad
	}
	if g.Rows == 1 {
		g.Rows, g.RowStep, g.Planes = g.Planes, g.PlaneStep, 1
	}
	if g.Rows == 1 {
		g.RowStep = 0
	}
	if g.Planes == 1 {
		g.PlaneStep = 0
	}
	lo = g.Addr
	for _, d := range [...]struct {
		n    uint16
		step int64
	}{{g.Rows, g.RowStep}, {g.Planes, g.PlaneStep}} {
		step := uint64(d.step)
		if d.step < 0 {
			step = -step
		}
		over, far := bits.Mul64(uint64(d.n-1), step)
		if over != 0 || d.step < 0 && far > lo || d.step > 0 && far > math.MaxUint64-hi {
			return 0, 0, accessBad
		}
		if d.step < 0 {
			lo -= far
		} else {
			hi += far
		}
	}
	return lo, hi, accessOK
}

// access returns access k of a normal grid.
func (g *Grid) access(k int) Access {
	a := g.Access
	a.Addr += uint64(k%int(g.Rows))*uint64(g.RowStep) + uint64(k/int(g.Rows))*uint64(g.PlaneStep)
	return a
}

// rows returns the accesses of a normal grid from access k on that are of one plane, up
// to most of them, as accesses of a stretch from number at on.
func (g *Grid) rows(k, most, at int) Rows {
	a := g.access(k)
	r := RowsOf(&a, at)
	if n := min(int(g.Rows)-k%int(g.Rows), most); n > 1 {
		r.N, r.Pitch, r.Every = uint16(n), g.RowStep, 1
	}
	return r
}

// decodeGrid decodes a grid as it is written.
func decodeGrid(b []byte, g *Grid) error {
	if len(b) != gridSize {
		return errShort
	}
	rawAccess((*[accessSize]byte)(b), &g.Access)
	g.Stack = u32(b, 32)
	g.Rows, g.Planes = u16(b, 36), u16(b, 38)
	g.RowStep, g.PlaneStep = i64(b, 40), i64(b, 48)
	return nil
}

func appendGrid(b []byte, g *Grid) ([]byte, error) {
	check := *g
	if _, _, state := check.normalise(); g.Size > math.MaxUint16 || state == accessBad {
		return b, fmt.Errorf("impossible accesses: address %#x, %d elements of %d bytes, stride %d, %d rows %d bytes apart, %d planes %d bytes apart",
			g.Addr, g.Count, g.Size, g.Stride, g.Rows, g.RowStep, g.Planes, g.PlaneStep)
	}
	from := len(b)
	b = begin(b, RecordGrid, accessFlags(g.Store, g.Atomic, g.Library), uint16(g.Size))
	b = app64(b, g.Addr)
	b = app64(b, g.Stride)
	b = app64(b, g.Count)
	b = le.AppendUint32(b, g.Stack)
	b = le.AppendUint16(b, g.Rows)
	b = le.AppendUint16(b, g.Planes)
	b = app64(b, g.RowStep)
	return finish(app64(b, g.PlaneStep), from)
}

// addRows adds rows that follow what the stretch has. Those that go on with the last ones
// there become one with them.
func (f *folder) addRows(next *Rows, s *Stretch) {
	f.period, f.single = 0, 0
	clear(f.latest[:])
	s.count(uint64(next.N)*next.Count, next)
	s.Len += int(next.N)
	if n := len(s.Rows); n > 0 && s.Rows[n-1].goesOn(next) {
		r := &s.Rows[n-1]
		r.Pitch, r.Every = int64(next.Addr-r.Access(int(r.N)-1).Addr), 1
		r.N += next.N
		return
	}
	s.Rows = append(s.Rows, *next)
}

// goesOn reports whether the accesses of next, and they alone, follow those of r at the
// same distances.
func (r *Rows) goesOn(next *Rows) bool {
	if r.Every > 1 || !r.alike(next) || r.Number(int(r.N)-1)+1 != int(next.At) && r.N > 1 || r.At+1 != next.At && r.N == 1 {
		return false
	}
	step := int64(next.Addr - r.Access(int(r.N)-1).Addr)
	return (r.N == 1 || r.Pitch == step) && (next.N == 1 || next.Pitch == step)
}
