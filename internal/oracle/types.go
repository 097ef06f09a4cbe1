package oracle

import "fmt"

// Type is a datatype: a predefined one, or a vector of another. A contiguous
// type is a vector of one block.
type Type struct {
	Name   string // of a predefined type
	Bytes  int    // of a predefined type
	Old    int    // index in Program.Types of the type it is made from; -1 for a predefined type
	Vector bool   // by MPI_Type_vector; otherwise, with Old >= 0, by MPI_Type_contiguous
	N      int    // blocks of a vector, or count of a contiguous type
	Block  int    // elements a block
	Stride int    // from one block to the next, in extents of the old type
}

// String returns the type as one would write it.
func (t Type) String() string {
	switch {
	case t.Old < 0:
		return t.Name
	case t.Vector:
		return fmt.Sprintf("vector(%d,%d,%d,type %d)", t.N, t.Block, t.Stride, t.Old)
	}
	return fmt.Sprintf("contiguous(%d,type %d)", t.N, t.Old)
}

// Indices of the predefined types in Program.Types.
const (
	Int = iota
	Short
	Int8
	Long
	Float
	Double
	predefined
)

// Predefined returns the types that every program begins with.
func Predefined() []Type {
	return []Type{
		Int:    {Name: "MPI_INT", Bytes: 4, Old: -1},
		Short:  {Name: "MPI_SHORT", Bytes: 2, Old: -1},
		Int8:   {Name: "MPI_INT8_T", Bytes: 1, Old: -1},
		Long:   {Name: "MPI_LONG", Bytes: 8, Old: -1},
		Float:  {Name: "MPI_FLOAT", Bytes: 4, Old: -1},
		Double: {Name: "MPI_DOUBLE", Bytes: 8, Old: -1},
	}
}

// layout is a type map: where the basic elements lie, in order.
type layout struct {
	basic  int   // index of the predefined type they all have
	offs   []int // offset of each from the buffer's address
	lb, ub int
}

// layout works out the type map by its definition in the MPI standard (5.1.2).
func (p *Program) layout(t int) layout {
	d := p.Types[t]
	if d.Old < 0 {
		return layout{basic: t, offs: []int{0}, ub: d.Bytes}
	}
	old := p.layout(d.Old)
	var starts []int // in extents of the old type
	if d.Vector {
		for i := range d.N {
			for j := range d.Block {
				starts = append(starts, i*d.Stride+j)
			}
		}
	} else {
		for i := range d.N {
			starts = append(starts, i)
		}
	}
	return old.repeat(starts)
}

// repeat places copies of a layout at multiples of its extent.
func (l layout) repeat(starts []int) layout {
	r := layout{basic: l.basic}
	for i, s := range starts {
		at := s * (l.ub - l.lb)
		for _, o := range l.offs {
			r.offs = append(r.offs, at+o)
		}
		if lb := at + l.lb; i == 0 || lb < r.lb {
			r.lb = lb
		}
		if ub := at + l.ub; i == 0 || ub > r.ub {
			r.ub = ub
		}
	}
	return r
}

// elements returns the type map of count elements of type t.
func (p *Program) elements(t, count int) layout {
	starts := make([]int, count)
	for i := range starts {
		starts[i] = i
	}
	r := p.layout(t).repeat(starts)
	r.basic = p.basic(t)
	return r
}

// basic returns the index of the predefined type that t is made of.
func (p *Program) basic(t int) int {
	for p.Types[t].Old >= 0 {
		t = p.Types[t].Old
	}
	return t
}

// bytes returns the size in bytes of the data of count elements of type t.
func (p *Program) bytes(t, count int) int {
	l := p.elements(t, count)
	return len(l.offs) * p.Types[l.basic].Bytes
}
