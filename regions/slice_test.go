package regions

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
)

// TestSlices: slices are all memory, each byte is in one of them, and a slice gives
// just the accesses that touch it, from memory and from files.
func TestSlices(t *testing.T) {
	for _, limit := range []int64{0, 1 << 16} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			const n = 20_000
			s := NewStorage(1, limit)
			s.Begin()
			rng := rand.New(rand.NewPCG(1, 1))
			layouts := []*intervals.Layout{
				intervals.NewLayout([]intervals.Run{intervals.Solid(0, 8)}),
				intervals.NewLayout([]intervals.Run{intervals.Solid(8, 3000)}),
				intervals.NewLayout([]intervals.Run{intervals.Solid(0, 3<<20)}),
			}
			type bounds struct{ lo, hi uint64 }
			want := map[uint64]bounds{} // by position
			for pos := range uint64(n) {
				layout := layouts[0]
				if k := rng.IntN(1000); k < 20 {
					layout = layouts[1+k/19]
				}
				p := Point{Pos: pos}
				a := Access{Role: testBuffer, Base: 8 * rng.Uint64N(1<<20), Layout: layout, Start: p, End: p, Call: NewCallInfo(CallSite{}, pos)}
				lo, hi := layout.Bounds(a.Base)
				want[pos] = bounds{lo, hi}
				require.True(t, s.Settle(&a, nil))
			}
			r := s.HandOver(true)
			r.Segments[0] = []Segment{{Bounds: &Bounds{}}}
			require.Equal(t, limit > 0, r.spill != nil)

			require.Equal(t, []Slice{{}}, r.Slices(0, n))
			const most = 1000
			all := r.Slices(0, most)
			require.Greater(t, len(all), n/most)
			require.Less(t, len(all), 2*n/most)
			var room Scratch
			seen := map[uint64]int{}
			for _, slice := range all {
				list, err := r.Series(0, slice, &room)
				require.NoError(t, err)
				got := map[uint64]bool{}
				for i := range list {
					for k := range list[i].Len() {
						got[list[i].Access(k).Start.Pos] = true
					}
				}
				for pos, b := range want {
					require.Equal(t, slice.Touches(b.lo, b.hi), got[pos], "access at %x", b.lo)
					if slice.Has(b.lo) {
						require.True(t, got[pos])
						seen[pos]++
					}
				}
			}
			require.Len(t, seen, n)
			for pos, times := range seen {
				require.Equal(t, 1, times, "access %d", pos)
			}
			r.Release()
			require.Zero(t, s.pool.held)
		})
	}
}

// TestMomentsAtAnyAddress: accesses at irregular addresses take next to nothing but
// their moments.
func TestMomentsAtAnyAddress(t *testing.T) {
	s := NewStorage(1, 0)
	s.Begin()
	rng := rand.New(rand.NewPCG(1, 1))
	layout := intervals.NewLayout([]intervals.Run{intervals.Solid(0, 8)})
	site := CallSite{Fn: "f"}
	for pos := range uint64(10_000) {
		p := Point{Pos: pos}
		require.True(t, s.Settle(&Access{Role: testBuffer, Base: rng.Uint64(), Layout: layout, Start: p, End: p, Call: &CallInfo{CallSite: &site, Pos: pos}}, nil))
	}
	require.Len(t, s.series.shapes, 1)
	require.Empty(t, s.calls)
	require.Less(t, s.pool.held, int64(3*momentBytes/2*10_000))
}

// TestSeveralEndAtOnce: accesses that begin one after the other and that one call
// completes are one moment.
func TestSeveralEndAtOnce(t *testing.T) {
	s := NewStorage(1, 0)
	s.Begin()
	layout := intervals.NewLayout([]intervals.Run{intervals.Solid(0, 8)})
	site, span := CallSite{Fn: "f"}, &Completion{}
	for flush := range uint64(3) {
		by := &CallInfo{CallSite: &CallSite{Fn: "flush"}, Pos: 100*flush + 50}
		for k := range uint64(20) {
			start := Point{Pos: 100*flush + 2*k}
			require.True(t, s.Settle(&Access{
				Role: testTarget, Layout: layout, Start: start, End: Point{Pos: by.Pos}, Span: span, Call: &CallInfo{CallSite: &site, Pos: start.Pos},
			}, by))
		}
	}
	require.Equal(t, 3, s.series.moments[0].len())
	r := s.HandOver(true)
	r.Segments[0] = []Segment{{Bounds: &Bounds{}}}
	var room Scratch
	list, err := r.Series(0, Slice{}, &room)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, 60, list[0].Len())
	a := list[0].Access(27)
	require.Equal(t, []uint64{114, 150}, []uint64{a.Start.Pos, a.End.Pos})

	room.LetGo() // or a worker would hold the region until it has another
	require.NotZero(t, cap(room.series))
	for _, x := range room.series[:cap(room.series)] {
		require.Nil(t, x.region)
	}
}
