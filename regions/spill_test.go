package regions

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// loadsOf returns a region of n loads of one process, one behind the other, of
// which limit bytes may be held.
func loadsOf(t *testing.T, limit int64, n int) *Region {
	s := NewStorage(1, limit)
	s.Begin()
	addLoads(s, n)
	require.NoError(t, s.Err())
	clocks, err := evc.NewMaker(evc.Vector, 1)
	require.NoError(t, err)
	s.Region().Segments[0] = []Segment{{}}
	r := s.HandOver(true)
	r.Clock = clocks.New()
	return r
}

func addLoads(s *Storage, n int) {
	for i := range n {
		a := trace.Access{Addr: uint64(1000 + 8*(n-i)), Size: 8, Count: 1, Stack: 7, Library: i%2 == 0}
		st := trace.StretchOf(&a)
		s.AddLocals(0, NewStretch(&st, st.Rows, uint64(i+1), 0, 0))
	}
}

// TestStored: rooms in a file hold what was in memory, and those that lie apart
// are not read.
func TestStored(t *testing.T) {
	const n = 1000
	collect := func(r *Region, lo, hi uint64) (all []trace.Access) {
		var s Scratch
		var err error
		for stretches, old := range r.Stretches(0, lo, hi, &s, &err) {
			require.False(t, old)
			for i := range stretches {
				all = slices.AppendSeq(all, trace.InOrder(stretches[i].Rows))
			}
		}
		require.NoError(t, err)
		return all
	}
	whole, stored := loadsOf(t, 0, n), loadsOf(t, 4000, n)
	require.Nil(t, whole.spill)
	require.NotNil(t, stored.spill)
	require.Equal(t, n, stored.LocalCount(0))
	require.Equal(t, collect(whole, 0, 1<<32), collect(stored, 0, 1<<32))
	require.Less(t, len(collect(stored, 1000, 1008)), n/10)
	pool := stored.pool
	stored.Release()
	whole.Release()
	require.Zero(t, pool.held)
}

// TestFullDisk: what cannot be written or read is an error that says what was
// not kept.
func TestFullDisk(t *testing.T) {
	f, err := os.Open("/dev/null")
	require.NoError(t, err)
	full := NewStorage(1, 4000)
	full.Begin()
	full.pool.spill = &spillFile{f: f}
	addLoads(full, 1000)
	require.ErrorContains(t, full.Err(), "accesses that do not fit into memory: write /dev/null")

	r := loadsOf(t, 4000, 1000)
	require.NoError(t, r.spill.f.Truncate(10))
	var s Scratch
	for range r.Stretches(0, 0, 1<<32, &s, &err) {
	}
	require.ErrorContains(t, err, "reading accesses that did not fit into memory")
}
