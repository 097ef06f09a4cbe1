package regions

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
)

// TestOpen: an Open gives the accesses back that it was given, and takes
// next to nothing where they are at equal distances to one address.
func TestOpen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	layout := intervals.NewLayout([]intervals.Run{intervals.Strided(0, 8, 0, 1)})
	site := &CallSite{Fn: "put"}
	access := func(base, pos uint64, seg int32) *Access {
		return &Access{
			Base: base, Layout: layout, Role: Load, Start: Point{Seg: seg, Pos: pos}, End: Point{Seg: Never},
			Call: &CallInfo{CallSite: site, Pos: pos},
		}
	}
	for _, bases := range []int{1, 3, 1000} {
		var want []*Access
		var open *Open
		pos := uint64(0)
		for i := range 5000 {
			pos += 1 + uint64(random.IntN(50)/49)
			a := access(uint64(random.IntN(bases))*8, pos, int32(i/4000))
			if want = append(want, a); open == nil {
				open = NewOpen(a)
				continue
			}
			require.True(t, want[0].MayJoin(a))
			open.Add(a)
		}
		require.Equal(t, len(want), open.Len())
		if bases == 1 {
			require.Less(t, open.Moments(), 500)
		}
		type when struct {
			base  uint64
			start Point
		}
		count := map[when]int{}
		for _, a := range want {
			count[when{a.Base, a.Start}]++
		}
		open.Each(func(a *Access) {
			require.Equal(t, a.Start.Pos, a.Call.Pos)
			count[when{a.Base, a.Start}]--
		})
		for w, n := range count {
			require.Zero(t, n, w)
		}
	}
	require.False(t, access(0, 1, 0).MayJoin(access(0, 1, Earlier)))
}
