package mpi

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// defs is what a trace defines, of datatypes alone.
type defs struct {
	noDefinitions
	types map[int64]*trace.Type
}

func (d defs) Type(id int64) *trace.Type { return d.types[id] }

func typesOf(ts ...*trace.Type) *process {
	d := defs{types: map[int64]*trace.Type{}}
	for _, t := range ts {
		d.types[int64(t.ID)] = t
	}
	return &process{defs: d, datatypes: newDatatypes()}
}

var (
	intType    = &trace.Type{ID: 1, Name: "MPI_INT", Size: 4, Extent: 4}
	doubleType = &trace.Type{ID: 2, Name: "MPI_DOUBLE", Size: 8, Extent: 8}
)

func solid(pairs ...uint64) []intervals.Run {
	var out []intervals.Run
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, intervals.Solid(pairs[i], pairs[i+1]))
	}
	return out
}

func TestDatatypes(t *testing.T) {
	tests := []struct {
		name  string
		typ   trace.Type
		want  []intervals.Run
		basic string
	}{
		{"contiguous", trace.Type{Combiner: trace.Contiguous, Extent: 12, Ints: []int64{3}, Types: []int64{1}}, solid(0, 12), "MPI_INT"},
		{"vector: a column", trace.Type{Combiner: trace.Vector, Extent: 8, Ints: []int64{4096, 1, 4096}, Types: []int64{2}},
			[]intervals.Run{{Lo: 0, Size: 8, Stride: 4096 * 8, Count: 4096}}, "MPI_DOUBLE"},
		{"vector without holes", trace.Type{Combiner: trace.Vector, Ints: []int64{3, 2, 2}, Types: []int64{1}}, solid(0, 24), "MPI_INT"},
		{"hvector", trace.Type{Combiner: trace.Hvector, Ints: []int64{2, 1}, Addrs: []int64{10}, Types: []int64{1}},
			[]intervals.Run{{Lo: 0, Size: 4, Stride: 10, Count: 2}}, "MPI_INT"},
		{"indexed", trace.Type{Combiner: trace.Indexed, Ints: []int64{2, 1, 2, 5, 0}, Types: []int64{1}}, solid(0, 8, 20, 24), "MPI_INT"},
		{"hindexed", trace.Type{Combiner: trace.Hindexed, Ints: []int64{2, 1, 1}, Addrs: []int64{3, 20}, Types: []int64{1}},
			[]intervals.Run{{Lo: 3, Size: 4, Stride: 17, Count: 2}}, "MPI_INT"},
		{"indexed_block", trace.Type{Combiner: trace.IndexedBlock, Ints: []int64{3, 1, 0, 2, 5}, Types: []int64{1}},
			[]intervals.Run{{Lo: 0, Size: 4, Stride: 8, Count: 2}, intervals.Solid(20, 24)}, "MPI_INT"},
		{"struct of two basic types", trace.Type{Combiner: trace.Struct, Ints: []int64{2, 1, 2}, Addrs: []int64{0, 8}, Types: []int64{1, 2}},
			solid(0, 4, 8, 24), ""},
		{"subarray in C order", trace.Type{Combiner: trace.Subarray, Ints: []int64{2, 4, 5, 2, 3, 1, 2, 0}, Types: []int64{1}},
			[]intervals.Run{{Lo: 28, Size: 12, Stride: 20, Count: 2}}, "MPI_INT"},
		{"subarray in Fortran order", trace.Type{Combiner: trace.Subarray, Ints: []int64{2, 5, 4, 3, 2, 2, 1, 1}, Types: []int64{1}},
			[]intervals.Run{{Lo: 28, Size: 12, Stride: 20, Count: 2}}, "MPI_INT"},
		{"resized", trace.Type{Combiner: trace.Resized, Extent: 16, Addrs: []int64{0, 16}, Types: []int64{1}}, solid(0, 4), "MPI_INT"},
		{"dup", trace.Type{Combiner: trace.Dup, Types: []int64{2}}, solid(0, 8), "MPI_DOUBLE"},
		{"a pair with a hole", trace.Type{Name: "MPI_SHORT_INT", Size: 6, Extent: 8}, solid(0, 2, 4, 8), "MPI_SHORT_INT"},
		{"a pair without", trace.Type{Name: "MPI_DOUBLE_INT", Size: 12, Extent: 16}, solid(0, 12), "MPI_DOUBLE_INT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.typ.ID = 9
			got, err := typesOf(intType, doubleType, &tt.typ).typeOf(9)
			require.NoError(t, err)
			require.Equal(t, tt.want, got.bytes.Layout().Runs())
			require.Equal(t, tt.basic, got.basic)
		})
	}
}

func TestDatatypesThatAreNotUnderstood(t *testing.T) {
	tests := []struct {
		name, want string
		typ        trace.Type
	}{
		{"an unknown constructor", "not understood yet", trace.Type{Combiner: 255, Types: []int64{1}}},
		{"darray", "0 dimensions", trace.Type{Combiner: trace.Darray, Types: []int64{1}, Ints: []int64{1, 0, 0}}},
		{"missing integers", "integer 2 of the constructor is missing", trace.Type{Combiner: trace.Vector, Ints: []int64{1, 1}, Types: []int64{1}}},
		{"a part that is not defined", "datatype 7 is not defined", trace.Type{Combiner: trace.Dup, Types: []int64{7}}},
		{"a part of itself", "nested", trace.Type{Combiner: trace.Dup, Types: []int64{9}}},
		{"a negative count", "count -1", trace.Type{Combiner: trace.Contiguous, Ints: []int64{-1}, Types: []int64{1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.typ.ID = 9
			_, err := typesOf(intType, &tt.typ).typeOf(9)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// Buffers of random nested vectors hold the bytes that the definition lists.
func TestBuffersAgainstTypeMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 2_000 {
		n, block, stride := 1+rng.Int64N(4), 1+rng.Int64N(3), rng.Int64N(9)-4
		inner := &trace.Type{ID: 5, Combiner: trace.Vector, Ints: []int64{n, block, stride}, Types: []int64{1}}
		inner.Extent = 4 * (1 + rng.Int64N(12))
		m := 1 + rng.Int64N(4)
		outer := &trace.Type{ID: 6, Combiner: trace.Contiguous, Ints: []int64{m}, Types: []int64{5}, Extent: m * inner.Extent}
		count := 1 + rng.Int64N(3)
		layout, _, err := typesOf(intType, inner, outer).buffer(count, 6)
		require.NoError(t, err)

		want, got := map[int64]bool{}, map[int64]bool{}
		for c := range count {
			for o := range m {
				for k := range n {
					for b := range block * 4 {
						want[c*outer.Extent+o*inner.Extent+k*stride*4+b] = true
					}
				}
			}
		}
		for _, r := range layout.Runs() {
			for k := range r.Count {
				for b := range r.Size {
					got[int64(r.Lo+k*r.Stride+b)] = true
				}
			}
		}
		require.Equal(t, want, got)
		for x := range got {
			lo, hi := layout.Bounds(0)
			require.True(t, x >= int64(lo) && x < int64(hi))
		}
	}
}

// The parts of a random darray belong to the processes that the definition of
// its distributions says, and together they are the array.
func TestDarrays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1_000 {
		n := 1 + rng.IntN(3)
		sizes, how, args, procs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		total, all := int64(1), int64(1)
		for d := range n {
			sizes[d], how[d], procs[d], args[d] = 1+rng.Int64N(7), rng.Int64N(3), 1+rng.Int64N(3), defaultArg
			switch {
			case how[d] == notDistributed:
				procs[d] = 1
			case rng.IntN(2) == 0 && how[d] == cyclic:
				args[d] = 1 + rng.Int64N(3)
			case rng.IntN(2) == 0:
				args[d] = (sizes[d]+procs[d]-1)/procs[d] + rng.Int64N(2)
			}
			total, all = total*procs[d], all*sizes[d]
		}
		order := rng.Int64N(2)
		owner := map[int64]int64{}
		for rank := range total {
			ints := []int64{total, rank, int64(n)}
			for _, l := range [][]int64{sizes, how, args, procs} {
				ints = append(ints, l...)
			}
			def := &trace.Type{ID: 9, Combiner: trace.Darray, Extent: 4 * all, Ints: append(ints, order), Types: []int64{1}}
			got, err := typesOf(intType, def).typeOf(9)
			require.NoError(t, err)
			for _, r := range got.bytes.Layout().Runs() {
				for k := range r.Count {
					for b := uint64(0); b < r.Size; b += 4 {
						at := int64(r.Lo+k*r.Stride+b) / 4
						require.NotContains(t, owner, at)
						owner[at] = rank
					}
				}
			}
		}
		require.Len(t, owner, int(all))
		for at, rank := range owner {
			require.Equal(t, ownerOf(at, order, sizes, how, args, procs), rank)
		}
	}
}

// ownerOf returns the process that element `at` of a darray belongs to.
func ownerOf(at, order int64, sizes, how, args, procs []int64) int64 {
	n := len(sizes)
	index := make([]int64, n)
	for k := range n {
		d := k
		if order == 0 {
			d = n - 1 - k
		}
		index[d] = at % sizes[d]
		at /= sizes[d]
	}
	rank := int64(0)
	for d := range n {
		block := args[d]
		if block == defaultArg {
			block = 1
			if how[d] == blockwise {
				block = (sizes[d] + procs[d] - 1) / procs[d]
			}
		}
		coordinate := int64(0)
		if how[d] != notDistributed {
			coordinate = index[d] / block % procs[d]
		}
		rank = rank*procs[d] + coordinate
	}
	return rank
}
