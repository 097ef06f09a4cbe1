package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// Type maps by the definitions of the MPI standard (5.1).
func TestLayout(t *testing.T) {
	made := func(make trace.Combiner, ints, addrs []int, olds ...int) Type {
		return Type{Make: make, Ints: ints, Addrs: addrs, Olds: olds}
	}
	types := append(Predefined(),
		made(trace.Contiguous, []int{2}, nil, Int),
		made(trace.Vector, []int{2, 1, -2}, nil, Int))
	const contiguous, negative = predefined, predefined + 1
	for _, c := range []struct {
		name   string
		typ    Type
		count  int
		offs   []int
		lb, ub int
		bytes  int
	}{
		{"dup", made(trace.Dup, nil, nil, Int), 2, []int{0, 4}, 0, 8, 8},
		{"none", made(trace.Dup, nil, nil, Int), 0, nil, 0, 0, 0},
		{"contiguous", made(trace.Contiguous, []int{2}, nil, Int), 2, []int{0, 4, 8, 12}, 0, 16, 16},
		{"contiguous of 0", made(trace.Contiguous, []int{0}, nil, Int), 2, nil, 0, 0, 0},
		{"vector", made(trace.Vector, []int{2, 2, 3}, nil, Short), 1, []int{0, 2, 6, 8}, 0, 10, 8},
		{"vectors", made(trace.Vector, []int{2, 2, 3}, nil, Short), 2, []int{0, 2, 6, 8, 10, 12, 16, 18}, 0, 20, 16},
		{"negative stride", made(trace.Vector, []int{2, 1, -2}, nil, Int), 2, []int{0, -8, 12, 4}, -8, 16, 16},
		{"contiguous of negative stride", made(trace.Contiguous, []int{2}, nil, negative), 1, []int{0, -8, 12, 4}, -8, 16, 16},
		{"vector of contiguous", made(trace.Vector, []int{2, 1, 2}, nil, contiguous), 1, []int{0, 4, 16, 20}, 0, 24, 16},
		{"hvector", made(trace.Hvector, []int{2, 2}, []int{12}, Int), 1, []int{0, 4, 12, 16}, 0, 20, 16},
		{"indexed", made(trace.Indexed, []int{2, 1, 2, 3, 0}, nil, Int), 1, []int{12, 0, 4}, 0, 16, 12},
		{"indexed with an empty block", made(trace.Indexed, []int{2, 0, 1, 0, 2}, nil, Int), 1, []int{8}, 8, 12, 4},
		{"hindexed", made(trace.Hindexed, []int{2, 1, 2}, []int{8, -8}, Int), 1, []int{8, -8, -4}, -8, 12, 12},
		{"indexed_block", made(trace.IndexedBlock, []int{2, 2, 3, 0}, nil, Short), 1, []int{6, 8, 0, 2}, 0, 10, 8},
		{"hindexed_block", made(trace.HindexedBlock, []int{2, 1}, []int{4, 12}, Int), 1, []int{4, 12}, 4, 16, 8},
		{"struct", made(trace.Struct, []int{2, 1, 1}, []int{0, 8}, Int, Double), 2, []int{0, 8, 16, 24}, 0, 32, 24},
		{"struct padded", made(trace.Struct, []int{2, 1, 1}, []int{0, 8}, Double, Int), 2, []int{0, 8, 16, 24}, 0, 32, 24},
		{"subarray in C order", made(trace.Subarray, []int{2, 3, 4, 2, 2, 1, 1, 0}, nil, Int), 1, []int{20, 24, 36, 40}, 0, 48, 16},
		{"subarray in Fortran order", made(trace.Subarray, []int{2, 3, 4, 2, 2, 1, 1, 1}, nil, Int), 1, []int{16, 20, 28, 32}, 0, 48, 16},
		{"darray, blocks", made(trace.Darray, []int{4, 3, 2, 4, 4, distributeBlock, distributeBlock, distributeDefault, distributeDefault, 2, 2, 0}, nil, Int),
			1, []int{40, 44, 56, 60}, 0, 64, 16},
		{"darray, short block", made(trace.Darray, []int{2, 1, 1, 5, distributeBlock, 3, 2, 0}, nil, Int), 1, []int{12, 16}, 0, 20, 8},
		{"darray, cyclic", made(trace.Darray, []int{2, 1, 1, 5, distributeCyclic, distributeDefault, 2, 0}, nil, Int), 1, []int{4, 12}, 0, 20, 8},
		{"darray, cyclic by two, undistributed", made(trace.Darray, []int{2, 0, 2, 5, 2, distributeCyclic, distributeNone, 2, distributeDefault, 2, 1, 0}, nil, Short),
			1, []int{0, 2, 4, 6, 16, 18}, 0, 20, 12},
		{"resized", made(trace.Resized, nil, []int{-4, 12}, Int), 2, []int{0, 12}, -4, 20, 8},
		{"short and int", made(trace.Dup, nil, nil, ShortInt), 2, []int{0, 4, 8, 12}, 0, 16, 12},
		{"double and int", made(trace.Dup, nil, nil, DoubleInt), 2, []int{0, 8, 16, 24}, 0, 32, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Program{Types: append(types, c.typ)}
			l := p.elements(len(types), c.count)
			var offs []int
			for _, q := range l.parts {
				offs = append(offs, q.off)
			}
			require.Equal(t, c.offs, offs)
			require.Equal(t, []int{c.lb, c.ub}, []int{l.lb, l.ub})
			require.Equal(t, c.bytes, p.bytes(len(types), c.count))
		})
	}
}
