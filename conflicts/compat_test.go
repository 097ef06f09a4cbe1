package conflicts

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/intervals"
)

func TestMisalignedAgainstElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	draw := func(size uint64) intervals.Run {
		block := size * (1 + rng.Uint64N(3))
		return intervals.Strided(rng.Uint64N(40), block, block+1+rng.Uint64N(12), 1+rng.Uint64N(6))
	}
	starts := func(r intervals.Run, size uint64) (out []uint64) {
		for k := range r.Count {
			for e := uint64(0); e < r.Size; e += size {
				out = append(out, r.Lo+k*r.Stride+e)
			}
		}
		return out
	}
	found := 0
	for range 50_000 {
		size := []uint64{2, 4, 8}[rng.IntN(3)]
		a, b := draw(size), draw(size)
		want := false
		for _, x := range starts(a, size) {
			for _, y := range starts(b, size) {
				want = want || x != y && x < y+size && y < x+size
			}
		}
		require.Equal(t, want, misalignedRuns(a, b, size), "%v %v size %d", a, b, size)
		if want {
			found++
		}
	}
	require.Greater(t, found, 1000)
}
