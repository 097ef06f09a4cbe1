package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Type is a datatype: a predefined one, or the call that makes it.
type Type struct {
	Name  string // of a predefined type
	Bytes int    // data in a predefined type: 6 for MPI_SHORT_INT

	Make trace.Combiner // trace.Named for a predefined type
	// Ints, Addrs and Olds are what MPI_Type_get_contents returns, constants
	// as docs/trace-format.md has them. Olds are indices in Program.Types.
	Ints, Addrs, Olds []int
}

// String returns the type as one would write it.
func (t Type) String() string {
	if t.Make == trace.Named {
		return t.Name
	}
	return fmt.Sprintf("%s(%s,%s,types %s)", t.Make, list(t.Ints), list(t.Addrs), list(t.Olds))
}

func list(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ",") }

// Indices of the predefined types in Program.Types.
const (
	Int = iota
	Short
	Int8
	Long
	Float
	Double
	Byte
	Char
	Unsigned
	FloatInt
	DoubleInt
	LongInt
	TwoInt
	ShortInt
	predefined
)

// pairs is the index of the first pair type (MPI standard, 6.9.4).
const pairs = FloatInt

// Predefined returns the types that every program begins with.
func Predefined() []Type {
	return []Type{
		Int:       {Name: "MPI_INT", Bytes: 4},
		Short:     {Name: "MPI_SHORT", Bytes: 2},
		Int8:      {Name: "MPI_INT8_T", Bytes: 1},
		Long:      {Name: "MPI_LONG", Bytes: 8},
		Float:     {Name: "MPI_FLOAT", Bytes: 4},
		Double:    {Name: "MPI_DOUBLE", Bytes: 8},
		Byte:      {Name: "MPI_BYTE", Bytes: 1},
		Char:      {Name: "MPI_CHAR", Bytes: 1},
		Unsigned:  {Name: "MPI_UNSIGNED", Bytes: 4},
		FloatInt:  {Name: "MPI_FLOAT_INT", Bytes: 8},
		DoubleInt: {Name: "MPI_DOUBLE_INT", Bytes: 12},
		LongInt:   {Name: "MPI_LONG_INT", Bytes: 12},
		TwoInt:    {Name: "MPI_2INT", Bytes: 8},
		ShortInt:  {Name: "MPI_SHORT_INT", Bytes: 6},
	}
}

// part is a run of bytes of a type map that belong to one predefined type.
type part struct {
	off, size int // bytes from the buffer's address, and how many
	first     int // offset of the first byte of the element of a predefined type
	basic     int // index of that type
}

// layout is a type map, in order.
type layout struct {
	parts  []part
	count  int // elements of predefined types
	align  int // of the most demanding of them
	lb, ub int
}

// predefinedLayout lays out a predefined type as C does. A pair type has two
// parts, and may have a hole between them or behind.
func predefinedLayout(t, size int) layout {
	one := func(n int) layout {
		return layout{parts: []part{{0, n, 0, t}}, count: 1, align: n, ub: n}
	}
	two := func(first, at, extent int) layout {
		return layout{parts: []part{{0, first, 0, t}, {at, 4, 0, t}}, count: 1, align: extent - at, ub: extent}
	}
	switch t {
	case FloatInt, TwoInt:
		return two(4, 4, 8)
	case DoubleInt, LongInt:
		return two(8, 8, 16)
	case ShortInt:
		return two(2, 4, 8)
	}
	return one(size)
}

// layout returns the type map of a type.
func (p *Program) layout(t int) *layout {
	for n := len(p.layouts); n <= t; n++ {
		l := p.layOut(n)
		p.layouts = append(p.layouts, &l)
	}
	return p.layouts[t]
}

// layOut works out the type map by its definition in the MPI standard (5.1).
func (p *Program) layOut(t int) layout {
	d := p.Types[t]
	if d.Make == trace.Named {
		return predefinedLayout(t, d.Bytes)
	}
	old := p.layout(d.Olds[0])
	extent := old.ub - old.lb
	var at []int // of each copy of the old type
	block := func(first, n int) {
		for j := range n {
			at = append(at, first+j*extent)
		}
	}
	switch d.Make {
	case trace.Dup, trace.Resized:
		block(0, 1)
	case trace.Contiguous:
		block(0, d.Ints[0])
	case trace.Vector:
		for i := range d.Ints[0] {
			block(i*d.Ints[2]*extent, d.Ints[1])
		}
	case trace.Hvector:
		for i := range d.Ints[0] {
			block(i*d.Addrs[0], d.Ints[1])
		}
	case trace.Indexed:
		for i := range d.Ints[0] {
			block(d.Ints[1+d.Ints[0]+i]*extent, d.Ints[1+i])
		}
	case trace.Hindexed:
		for i := range d.Ints[0] {
			block(d.Addrs[i], d.Ints[1+i])
		}
	case trace.IndexedBlock:
		for i := range d.Ints[0] {
			block(d.Ints[2+i]*extent, d.Ints[1])
		}
	case trace.HindexedBlock:
		for i := range d.Ints[0] {
			block(d.Addrs[i], d.Ints[1])
		}
	case trace.Struct:
		return p.structLayout(d)
	case trace.Subarray, trace.Darray:
		owned, cells := d.cells()
		for _, k := range owned {
			at = append(at, k*extent)
		}
		l := old.copies(at)
		l.lb, l.ub = 0, cells*extent
		return l
	}
	l := old.copies(at)
	if d.Make == trace.Resized {
		l.lb, l.ub = d.Addrs[0], d.Addrs[0]+d.Addrs[1]
	}
	return l
}

// structLayout pads the extent to a multiple of the strictest alignment, as
// C does (5.1.6).
func (p *Program) structLayout(d Type) layout {
	var r layout
	begun := false
	for i := range d.Ints[0] {
		old := p.layout(d.Olds[i])
		for j := range d.Ints[1+i] {
			r.add(old, d.Addrs[i]+j*(old.ub-old.lb), !begun)
			begun = true
		}
	}
	if r.align > 0 {
		r.ub += (r.align - (r.ub-r.lb)%r.align) % r.align
	}
	return r
}

// cells lists the elements of a subarray or darray by their index in the whole
// array, ascending, and says how many the whole array has (5.1.3, 5.1.4).
func (t Type) cells() (owned []int, all int) {
	var sizes []int
	var mine func(dim, i int) bool
	fortran := t.Ints[len(t.Ints)-1] == 1
	if t.Make == trace.Subarray {
		n := t.Ints[0]
		sizes = t.Ints[1 : 1+n]
		sub, start := t.Ints[1+n:1+2*n], t.Ints[1+2*n:1+3*n]
		mine = func(dim, i int) bool { return i >= start[dim] && i < start[dim]+sub[dim] }
	} else {
		n, rank := t.Ints[2], t.Ints[1]
		sizes = t.Ints[3 : 3+n]
		dist, args, procs := t.Ints[3+n:3+2*n], t.Ints[3+2*n:3+3*n], t.Ints[3+3*n:3+4*n]
		coords := make([]int, n)
		for k := n - 1; k >= 0; k-- { // processes are in row-major order whatever the array's
			coords[k], rank = rank%procs[k], rank/procs[k]
		}
		mine = func(dim, i int) bool {
			switch arg := args[dim]; dist[dim] {
			case distributeBlock:
				if arg == distributeDefault {
					arg = (sizes[dim] + procs[dim] - 1) / procs[dim]
				}
				return i/arg == coords[dim]
			case distributeCyclic:
				if arg == distributeDefault {
					arg = 1
				}
				return i/arg%procs[dim] == coords[dim]
			}
			return true
		}
	}
	all = 1
	for _, s := range sizes {
		all *= s
	}
	for k := range all {
		in, rest := true, k
		for n := range sizes {
			dim := len(sizes) - 1 - n // the last varies fastest
			if fortran {
				dim = n
			}
			in = in && mine(dim, rest%sizes[dim])
			rest /= sizes[dim]
		}
		if in {
			owned = append(owned, k)
		}
	}
	return owned, all
}

// Distributions of a darray, as in a trace.
const (
	distributeNone = iota
	distributeBlock
	distributeCyclic
	distributeDefault = -1 // argument of a distribution
)

// copies places a layout at each of these offsets.
func (l *layout) copies(at []int) layout {
	var r layout
	for i, a := range at {
		r.add(l, a, i == 0)
	}
	return r
}

// add puts a copy of another layout at an offset.
func (l *layout) add(m *layout, at int, first bool) {
	for _, q := range m.parts {
		q.off += at
		q.first += at
		l.parts = append(l.parts, q)
	}
	l.count += m.count
	l.align = max(l.align, m.align)
	if first {
		l.lb, l.ub = at+m.lb, at+m.ub
		return
	}
	l.lb, l.ub = min(l.lb, at+m.lb), max(l.ub, at+m.ub)
}

// elements returns the type map of count elements of type t.
func (p *Program) elements(t, count int) layout {
	l := p.layout(t)
	at := make([]int, count)
	for i := range at {
		at[i] = i * (l.ub - l.lb)
	}
	return l.copies(at)
}

// reach returns the bounds of the data of count elements of type t, from the
// buffer's address on: two zeros where there are none.
func (p *Program) reach(t, count int) (lo, hi int) {
	l := p.layout(t)
	if count == 0 || len(l.parts) == 0 {
		return 0, 0
	}
	for i, q := range l.parts {
		if i == 0 {
			lo, hi = q.off, q.off+q.size
		}
		lo, hi = min(lo, q.off), max(hi, q.off+q.size)
	}
	last := (count - 1) * (l.ub - l.lb)
	return min(lo, lo+last), max(hi, hi+last)
}

// extent returns the extent in bytes of a type.
func (p *Program) extent(t int) int {
	l := p.layout(t)
	return l.ub - l.lb
}

// basic returns the index of the predefined type that t is made of, or -1 when
// it is made of several.
func (p *Program) basic(t int) int {
	for p.Types[t].Make != trace.Named {
		olds := p.Types[t].Olds
		b := p.basic(olds[0])
		if slices.ContainsFunc(olds, func(o int) bool { return p.basic(o) != b }) {
			return -1
		}
		t = olds[0]
		if len(olds) > 1 {
			return b
		}
	}
	return t
}

// bytes returns the size in bytes of the data of count elements of type t.
func (p *Program) bytes(t, count int) int {
	n := 0
	for _, q := range p.layout(t).parts {
		n += q.size
	}
	return n * count
}

// count returns how many elements of predefined types a buffer has.
func (p *Program) count(b Buf) int { return b.Count * p.layout(b.Type).count }
