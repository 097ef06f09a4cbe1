package mpi

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// datatype is a flattened datatype: the bytes of one element, and its basic
// type where that is one and the same throughout.
type datatype struct {
	bytes  *intervals.Sequence
	extent int64
	basic  string // "" when it has several basic types
	size   uint64 // bytes of one basic element
}

// shortInt is the one basic type that has a hole within it.
const shortInt = "MPI_SHORT_INT"

// maxRuns bounds the runs of one flattened datatype; more are not understood.
const maxRuns = 1 << 20

// datatypes are those of one process's trace.
type datatypes struct {
	types    map[int64]*datatype
	buffers  map[bufferKey]*buffer
	alike    core.Alike
	recent   [8]*buffer       // some of the last asked for
	lastElem *regions.Element // of the last atomic access
}

func newDatatypes() datatypes {
	return datatypes{types: map[int64]*datatype{}, buffers: map[bufferKey]*buffer{}, alike: core.NewAlike()}
}

// typeOf returns the flattened datatype with that identifier in the process's
// trace (MPI 4.1, 5.1).
func (p *process) typeOf(id int64) (*datatype, error) {
	if t, ok := p.types[id]; ok {
		return t, nil
	}
	t, err := p.flatten(id, 0, false)
	if err != nil {
		return nil, err
	}
	p.types[id] = t
	return t, nil
}

// flatten flattens a datatype; filled, with the holes that basic types have
// within them.
func (p *process) flatten(id int64, depth int, filled bool) (*datatype, error) {
	def := p.defs.Type(id)
	switch {
	case def == nil:
		return nil, fmt.Errorf("datatype %d is not defined in the trace", id)
	case depth > 64:
		return nil, fmt.Errorf("datatype %d is nested more than 64 deep", id)
	}
	if def.Combiner == trace.Named {
		return namedType(def, filled), nil
	}
	parts := make([]*datatype, len(def.Types))
	for i, t := range def.Types {
		part, err := p.flatten(t, depth+1, filled)
		if err != nil {
			return nil, err
		}
		parts[i] = part
	}
	b := typeBuilder{def: def, parts: parts}
	bytes, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("datatype %d (combiner %d): %w", id, def.Combiner, err)
	}
	if len(bytes.Layout().Runs()) > maxRuns {
		return nil, fmt.Errorf("datatype %d has more than %d separate blocks", id, maxRuns)
	}
	out := &datatype{bytes: bytes, extent: def.Extent}
	out.basic, out.size = b.basic()
	return out, nil
}

func namedType(def *trace.Type, filled bool) *datatype {
	t := &datatype{bytes: intervals.Nothing, extent: def.Extent, basic: def.Name, size: uint64(max(def.Size, 0))}
	if def.Size > 0 {
		t.bytes = intervals.Ascending(intervals.Solid(uint64(def.LB), uint64(def.LB)+uint64(def.Size)))
	}
	if def.Name == shortInt && def.Extent > def.Size {
		const short = 2
		n := uint64(def.Size) - short
		t.size = uint64(def.Extent)
		t.bytes = intervals.Ascending(intervals.Solid(0, short), intervals.Solid(uint64(def.Extent)-n, uint64(def.Extent)))
		if filled {
			t.bytes = intervals.Ascending(intervals.Solid(0, t.size))
		}
	}
	return t
}

// typeBuilder applies one type constructor to its parts.
type typeBuilder struct {
	def   *trace.Type
	parts []*datatype
	bad   error
}

// basic returns the basic type of all that the datatype has, and the bytes of one
// element of it; "" when there are several. Members of a structure that have no
// elements do not count.
func (b *typeBuilder) basic() (name string, size uint64) {
	var one *datatype
	for i, part := range b.parts {
		switch {
		case b.def.Combiner == trace.Struct && b.int(1+i) == 0:
		case one == nil:
			one = part
		case part.basic != one.basic:
			return "", 0
		}
	}
	if one == nil {
		return "", 0
	}
	return one.basic, one.size
}

func (b *typeBuilder) int(i int) int64 {
	if i >= len(b.def.Ints) {
		b.bad = fmt.Errorf("integer %d of the constructor is missing", i)
		return 0
	}
	return b.def.Ints[i]
}

func (b *typeBuilder) addr(i int) int64 {
	if i >= len(b.def.Addrs) {
		b.bad = fmt.Errorf("address %d of the constructor is missing", i)
		return 0
	}
	return b.def.Addrs[i]
}

func (b *typeBuilder) part(i int) *datatype {
	if i >= len(b.parts) {
		b.bad = fmt.Errorf("datatype %d of the constructor is missing", i)
		return &datatype{bytes: intervals.Nothing}
	}
	return b.parts[i]
}

// times returns n copies of a part, one extent apart.
func (b *typeBuilder) times(part *datatype, n int64) *intervals.Sequence {
	x := b.block(part, n, 0)
	return x.Of.Repeat(x.Count, x.Step)
}

// block returns n copies of a part, one extent apart, as a part of a sequence.
func (b *typeBuilder) block(part *datatype, n, at int64) intervals.Part {
	if n < 0 || (n > maxRuns && part.scattered()) {
		b.bad = fmt.Errorf("count %d", n)
		n = 0
	}
	return intervals.Part{Of: part.bytes, At: at, Count: uint64(n), Step: part.extent}
}

// scattered reports whether the bytes of one element are several runs.
func (t *datatype) scattered() bool { return len(t.bytes.Layout().Runs()) > 1 }

func (b *typeBuilder) build() (*intervals.Sequence, error) {
	var l *intervals.Sequence
	switch b.def.Combiner {
	case trace.Dup, trace.Resized:
		l = b.part(0).bytes
	case trace.Contiguous:
		l = b.times(b.part(0), b.int(0))
	case trace.Vector:
		l = b.vector(b.int(2) * b.part(0).extent)
	case trace.Hvector:
		l = b.vector(b.addr(0))
	case trace.Indexed, trace.Hindexed, trace.IndexedBlock, trace.HindexedBlock, trace.Struct:
		l = b.blocks()
	case trace.Subarray:
		l = b.subarray()
	case trace.Darray:
		l = b.darray()
	default:
		return nil, fmt.Errorf("this constructor is not understood yet")
	}
	return l, b.bad
}

func (b *typeBuilder) vector(stride int64) *intervals.Sequence {
	block := b.times(b.part(0), b.int(1))
	count := b.int(0)
	if b.bad != nil || count < 0 || count > maxRuns && len(block.Layout().Runs()) > 1 {
		return intervals.Nothing
	}
	return block.Repeat(uint64(count), stride)
}

// blocks handles the constructors that place blocks at listed displacements.
func (b *typeBuilder) blocks() *intervals.Sequence {
	n := b.int(0)
	if n < 0 || n > int64(len(b.def.Ints)+len(b.def.Addrs)) {
		b.bad = fmt.Errorf("count %d", n)
		return intervals.Nothing
	}
	all := make([]intervals.Part, 0, n)
	for i := range int(n) {
		part := b.part(0)
		var length, at int64
		switch b.def.Combiner {
		case trace.Indexed:
			length, at = b.int(1+i), b.int(1+int(n)+i)*part.extent
		case trace.Hindexed:
			length, at = b.int(1+i), b.addr(i)
		case trace.IndexedBlock:
			length, at = b.int(1), b.int(2+i)*part.extent
		case trace.HindexedBlock:
			length, at = b.int(1), b.addr(i)
		case trace.Struct:
			part = b.part(i)
			length, at = b.int(1+i), b.addr(i)
		}
		all = append(all, b.block(part, length, at))
	}
	return intervals.Chain(all...)
}

// subarray: integers are ndims, sizes, subsizes, starts, order (0 C, 1 Fortran).
func (b *typeBuilder) subarray() *intervals.Sequence {
	n := int(b.int(0))
	if n < 1 || len(b.def.Ints) < 3*n+2 {
		b.bad = fmt.Errorf("a subarray of %d dimensions with %d integers", n, len(b.def.Ints))
		return intervals.Nothing
	}
	l := b.part(0).bytes
	extent := b.part(0).extent
	for k := range n {
		d := k // Fortran order: the first dimension is contiguous
		if b.int(3*n+1) == 0 {
			d = n - 1 - k
		}
		size, sub, start := b.int(1+d), b.int(1+n+d), b.int(1+2*n+d)
		if sub < 0 || sub > maxRuns && len(l.Layout().Runs()) > 1 {
			b.bad = fmt.Errorf("subsize %d", sub)
			return intervals.Nothing
		}
		l = l.Repeat(uint64(sub), extent).Shifted(start * extent)
		extent *= size
	}
	return l
}

// Distributions of a dimension of a darray, as the trace writes them.
const (
	notDistributed = 0
	blockwise      = 1
	cyclic         = 2
	defaultArg     = -1
)

// darray is one process's part of a distributed array (MPI 4.1, 5.1.4).
// Integers are size, rank, ndims, gsizes, distribs, dargs, psizes, order.
func (b *typeBuilder) darray() *intervals.Sequence {
	n := int(b.int(2))
	if n < 1 || len(b.def.Ints) < 4*n+4 {
		b.bad = fmt.Errorf("a darray of %d dimensions with %d integers", n, len(b.def.Ints))
		return intervals.Nothing
	}
	at := make([]int64, n) // in the grid of processes, which is in row-major order
	for k, rank := n-1, b.int(1); k >= 0; k-- {
		procs := b.int(3 + 3*n + k)
		if procs < 1 {
			b.bad = fmt.Errorf("%d processes in dimension %d", procs, k)
			return intervals.Nothing
		}
		at[k], rank = rank%procs, rank/procs
	}
	l, extent := b.part(0).bytes, b.part(0).extent
	for k := range n {
		d := k // Fortran order: the first dimension is contiguous
		if b.int(4*n+3) == 0 {
			d = n - 1 - k
		}
		size, how, arg, procs := b.int(3+d), b.int(3+n+d), b.int(3+2*n+d), b.int(3+3*n+d)
		if size < 0 || arg < defaultArg || size > maxRuns && len(l.Layout().Runs()) > 1 {
			b.bad = fmt.Errorf("dimension %d has %d elements, distribution argument %d", d, size, arg)
			return intervals.Nothing
		}
		l = dealt(l, extent, size, how, arg, procs, at[d])
		extent *= size
	}
	return l
}

// dealt returns the elements of one dimension that belong to process `at` of
// `procs`, each l, extent bytes apart.
func dealt(l *intervals.Sequence, extent, size, how, arg, procs, at int64) *intervals.Sequence {
	switch how {
	case notDistributed:
		return l.Repeat(uint64(size), extent)
	case blockwise:
		if arg == defaultArg {
			arg = (size + procs - 1) / procs
		}
		n := max(0, min(arg, size-at*arg))
		return l.Repeat(uint64(n), extent).Shifted(at * arg * extent)
	}
	if arg == defaultArg {
		arg = 1
	}
	if arg == 0 || at*arg >= size {
		return intervals.Nothing
	}
	left, round := size-at*arg, procs*arg
	full := left / round
	rest := min(arg, left-full*round)
	if rest == arg {
		full, rest = full+1, 0
	}
	first := at * arg * extent
	block := l.Repeat(uint64(arg), extent)
	return intervals.Chain(
		intervals.Part{Of: block, At: first, Count: uint64(full), Step: round * extent},
		intervals.Part{Of: l, At: first + full*round*extent, Count: uint64(rest), Step: extent})
}

// buffer is a number of elements of a datatype.
type buffer struct {
	bufferKey
	bytes  *intervals.Sequence // relative to the buffer's address
	layout *intervals.Layout   // of these, one for buffers that have the same
	typ    *datatype

	compared, overlaps bool // whether elements lie in one place was looked at; they do
}

type bufferKey struct{ count, typ int64 }

// buffer returns the bytes of count elements of a datatype, relative to the
// buffer's address, and the datatype.
func (p *process) buffer(count, id int64) (*intervals.Layout, *datatype, error) {
	b, err := p.bufferOf(count, id)
	if err != nil {
		return nil, nil, err
	}
	return b.layout, b.typ, nil
}

func (p *process) bufferOf(count, id int64) (*buffer, error) {
	key := bufferKey{count, id}
	recent := &p.recent[uint64(count^id)%uint64(len(p.recent))]
	b := *recent
	if b == nil || b.bufferKey != key {
		var err error
		if b, err = p.newBuffer(key); err != nil {
			return nil, err
		}
		*recent = b
	}
	return b, nil
}

// newBuffer returns the buffer of that key, which is not among the recent ones.
func (p *process) newBuffer(key bufferKey) (*buffer, error) {
	switch {
	case key.count < 0:
		return nil, fmt.Errorf("a negative count (%d)", key.count)
	case key.count == 0:
		return &buffer{bufferKey: key, bytes: intervals.Nothing, layout: intervals.Empty, typ: &datatype{}}, nil
	}
	if b := p.buffers[key]; b != nil {
		return b, nil
	}
	t, err := p.typeOf(key.typ)
	if err != nil {
		return nil, err
	}
	if key.count > maxRuns && t.scattered() {
		return nil, fmt.Errorf("%d elements of a datatype with %d blocks", key.count, len(t.bytes.Layout().Runs()))
	}
	b := &buffer{bufferKey: key, bytes: t.bytes.Repeat(uint64(key.count), t.extent), typ: t}
	b.layout = p.alike.Layout(b.bytes.Layout())
	if len(p.buffers) >= 4096 { // programs with ever new counts
		clear(p.buffers)
	}
	p.buffers[key] = b
	return b, nil
}

// grid returns the elements of a buffer whose basic type has holes within it as
// blocks without; nil for other types.
func (p *process) grid(count, id int64, t *datatype) (*intervals.Layout, error) {
	if t.basic != shortInt || count < 1 {
		return nil, nil
	}
	filled, err := p.flatten(id, 0, true)
	if err != nil {
		return nil, err
	}
	return filled.bytes.Layout().Repeat(uint64(count), filled.extent), nil
}
