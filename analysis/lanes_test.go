package analysis

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestPutsOfAnyLength: puts of any length to any place, many or few between two fences, race with
// one another as often as they share bytes.
func TestPutsOfAnyLength(t *testing.T) {
	t.Parallel()
	const ints = 1 << 10
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		run := scenario.NewTrace(2)
		run.Every().Call(1, "win_create", scenario.Args{"base": 0x10000, "size": 4 * ints})
		run.Every().Call(2, "fence", nil)
		want, made := uint64(0), 0
		for range 2 + rng.IntN(20) {
			puts := make([][2]int, []int{1, 3, 100}[rng.IntN(3)])
			for i := range puts {
				lo := rng.IntN(ints)
				hi := lo + 1 + rng.IntN(ints-lo)
				for _, p := range puts[:i] {
					if lo < p[1] && p[0] < hi {
						want++
					}
				}
				puts[i] = [2]int{lo, hi}
				made++
				run.Rank(0).Call(10, "put", scenario.Args{"to": 1, "disp": 4 * lo, "count": hi - lo})
			}
			run.Every().Call(3, "fence", nil)
		}
		requirePairs(t, run, want, "seed %d, %d puts", seed, made)
	}
}

// requirePairs checks in how many pairs accesses of a run race, looked for and with every pair compared.
func requirePairs(t *testing.T, run *scenario.Trace, want uint64, what string, args ...any) {
	t.Helper()
	files := traceFiles(t, run)
	for _, opts := range []Options{{Clock: evc.Encoded}, {Clock: evc.Encoded, Pairwise: true}} {
		res := inMemoryWith(t, files, opts)
		got := uint64(0)
		for i := range res.Findings {
			got += res.Findings[i].Count
		}
		require.Equal(t, want, got, "%s, %+v: %+v", fmt.Sprintf(what, args...), opts, res.Caveats)
	}
}

// TestGetsOfAnyLength: gets of any length from any place into one buffer of each process, most of them complete
// before the next: two that are not race with one another.
func TestGetsOfAnyLength(t *testing.T) {
	t.Parallel()
	const ints = 1 << 10
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 7))
		run := scenario.NewTrace(2)
		run.Every().Call(1, "win_create", scenario.Args{"base": 0x10000, "size": 4 * ints})
		run.Every().Call(2, "lock_all", nil)
		want := uint64(0)
		for rank := range 2 {
			pending := uint64(0)
			for range 400 {
				lo := rng.IntN(ints)
				run.Rank(rank).Call(10, "get", scenario.Args{"from": 1 - rank, "disp": 4 * lo, "count": ints - lo, "addr": 0x90000})
				want += pending
				pending++
				if rng.IntN(10) > 0 {
					run.Rank(rank).Call(11, "flush", scenario.Args{"rank": 1 - rank})
					pending = 0
				}
			}
		}
		run.Every().Call(3, "unlock_all", nil)
		requirePairs(t, run, want, "seed %d", seed)
	}
}
