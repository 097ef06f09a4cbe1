package regions

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGridAgainstList: what a grid finds is what a list has, as ranges of all sizes come
// and go.
func TestGridAgainstList(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func() (lo, hi uint64) {
		lo = rng.Uint64N(1 << 12)
		if rng.IntN(20) == 0 {
			lo = ^uint64(0) - rng.Uint64N(1<<12)
		}
		return lo, min(lo+rng.Uint64N(1<<rng.IntN(13)), ^uint64(0))
	}
	var g grid
	var all []*gridEntry
	found := 0
	for range 20000 {
		switch lo, hi := draw(); rng.IntN(4) {
		case 0, 1:
			if len(all) < 200 {
				e := &gridEntry{lo: lo, hi: hi}
				all = append(all, e)
				g.add(e)
			}
		case 2:
			if len(all) > 0 {
				i := rng.IntN(len(all))
				g.remove(all[i])
				all = append(all[:i], all[i+1:]...)
			}
		default:
			want, has := map[*gridEntry]bool{}, map[*gridEntry]bool{}
			for _, e := range all {
				if lo < hi && e.lo < e.hi && e.lo < hi && lo < e.hi {
					want[e] = true
				}
			}
			g.overlapping(lo, hi, func(e *gridEntry) { has[e] = true })
			require.Equal(t, want, has)
			found += len(has)
		}
	}
	require.Greater(t, found, 1000)
	for _, e := range all {
		g.remove(e)
	}
	require.Zero(t, g.n)
	require.Empty(t, g.levels)
}
