package trace

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawGrid draws a grid as a loop makes it, somewhere in the middle of the address space.
func drawGrid(t *rapid.T) Grid {
	step := rapid.SampledFrom([]int64{0, 8, -8, 16, 100, -128, 4096})
	return Grid{
		Access: Access{
			Addr: rapid.Uint64Range(1<<20, 1<<20+5000).Draw(t, "address"), Size: rapid.SampledFrom([]uint32{1, 4, 8}).Draw(t, "size"),
			Stack: rapid.Uint32Range(1, 4).Draw(t, "stack"), Store: rapid.Bool().Draw(t, "store"),
			Count: rapid.Uint64Range(0, 5).Draw(t, "count"), Stride: rapid.Int64Range(-20, 20).Draw(t, "stride"),
		},
		Rows: rapid.Uint16Range(1, 6).Draw(t, "rows"), Planes: rapid.Uint16Range(1, 6).Draw(t, "planes"),
		RowStep: step.Draw(t, "row step"), PlaneStep: step.Draw(t, "plane step"),
	}
}

// singly writes the accesses of a grid one by one.
func (w *Writer) singly(g *Grid) {
	for p := range int64(g.Planes) {
		for r := range int64(g.Rows) {
			a := g.Access
			a.Addr += uint64(r*g.RowStep + p*g.PlaneStep)
			w.Access(&a)
		}
	}
}

// drawGrids draws what writes accesses and grids, with calls between some, as they are or
// singly.
func drawGrids(t *rapid.T) (as, singly func(w *Writer)) {
	type step struct {
		call bool
		grid Grid
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		s := step{call: rapid.IntRange(0, 3).Draw(t, "call") == 0, grid: drawGrid(t)}
		if rapid.Bool().Draw(t, "one") {
			s.grid.Rows, s.grid.Planes = 1, 1
		}
		return s
	}), 1, 20).Draw(t, "steps")
	write := func(grid func(*Writer, *Grid)) func(w *Writer) {
		return func(w *Writer) {
			for i := range steps {
				if steps[i].call {
					w.CallNamed("MPI_Win_fence", 0, Args{"win": 1})
				}
				grid(w, &steps[i].grid)
			}
			w.End(End{Units: 1})
		}
	}
	return write(func(w *Writer, g *Grid) {
		if g.accesses() == 1 {
			w.Access(&g.Access)
			return
		}
		w.Grid(g)
	}), write((*Writer).singly)
}

// ownFields clears what events have of others before them.
func ownFields(evs []Event) []Event {
	for i := range evs {
		if evs[i].Kind != KindAccess {
			evs[i].Access = Access{}
		}
	}
	return evs
}

// TestGridIsItsAccesses: whoever reads a grid reads the accesses that it is, one by one and
// by batches, whether chunks are passed over or not.
func TestGridIsItsAccesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rank-0.mcct")
	rapid.Check(t, func(rt *rapid.T) {
		as, singly := drawGrids(rt)
		length := rapid.SampledFrom([]int{300, 1 << 18}).Draw(rt, "length")
		data := file(t, func(w *Writer) { w.length = length; as(w) })
		want, r := events(t, file(t, singly))
		require.Nil(rt, r.Cut())
		got, r := events(t, data)
		require.Nil(rt, r.Cut())
		want = ownFields(want)
		require.Equal(rt, want, ownFields(got))
		want = slices.DeleteFunc(want, func(ev Event) bool { return ev.Kind == KindEnd })
		require.Equal(rt, want, append([]Event{}, batched(t, data)...))

		require.NoError(rt, os.WriteFile(path, data, 0o644))
		r, err := NewReader(newFiles().newFile(path, 0, -1), path)
		require.NoError(rt, err)
		r.Skip(func(lo, hi uint64) bool { return lo%3 != 0 })
		a, b, c, d := counted(want)
		e, f, g, h := counted(drain(t, r))
		require.Equal(rt, []any{a, b, c, d}, []any{e, f, g, h})
	})
}

// TestGridIsAFewRows: a grid is not taken apart, however large and however a batch cuts it.
func TestGridIsAFewRows(t *testing.T) {
	grid := Grid{Access: Access{Addr: 1 << 40, Size: 8, Stride: 8, Count: 90, Stack: 1}, Rows: 60000, RowStep: 1 << 20, Planes: 1}
	data := file(t, func(w *Writer) {
		w.CallNamed("MPI_Init", 0, nil)
		w.Grid(&grid)
		grid.Rows, grid.Planes, grid.PlaneStep = 94, 94, 1<<30
		w.Grid(&grid)
		w.End(End{Units: 1})
	})
	r, err := NewReader(bytes.NewReader(data), "f")
	require.NoError(t, err)
	var rows, accesses int
	for b := new(Batch); b.Err == nil; {
		r.ReadBatch(b, 64)
		for _, item := range b.Items {
			rows += len(item.Stretch.Rows)
			accesses += item.Stretch.Len
		}
	}
	require.Nil(t, r.Cut())
	require.Equal(t, 60000+94*94, accesses)
	require.Less(t, rows, 2+94+5)
}

// TestGridBounds: they are those of the accesses, and grids outside the address space are
// none.
func TestGridBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		var want [2]uint64
		var accesses []Access
		for p := range int64(g.Planes) {
			for r := range int64(g.Rows) {
				a := g.Access
				a.Addr += uint64(r*g.RowStep + p*g.PlaneStep)
				if _, state := a.normalise(); state == accessOK {
					accesses = append(accesses, a)
				}
			}
		}
		for i, a := range accesses {
			if i == 0 {
				want = [2]uint64{a.Addr, a.End()}
			}
			want = [2]uint64{min(want[0], a.Addr), max(want[1], a.End())}
		}
		n := g
		lo, hi, state := n.normalise()
		if len(accesses) == 0 {
			require.Equal(t, accessEmpty, state)
			return
		}
		require.Equal(t, accessOK, state)
		require.Equal(t, want, [2]uint64{lo, hi})
		for k, a := range accesses {
			require.Equal(t, a, n.access(k))
		}

		n = g
		n.Addr += math.MaxUint64 - (hi - 1) // its last byte is that of the address space
		_, _, state = n.normalise()
		require.Equal(t, accessBad, state)
		n = g
		n.Addr -= lo
		lo, _, state = n.normalise()
		require.Equal(t, accessOK, state)
		require.Zero(t, lo)
		n = g
		n.Addr -= want[0] + 1
		_, _, state = n.normalise()
		require.Equal(t, accessBad, state)
	})
}
