package analysis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/synth"
)

// TestSameResult: neither the number of workers, nor the clock, nor comparing
// every two accesses changes anything in a result.
func TestSameResult(t *testing.T) {
	t.Parallel()
	found, n := 0, upTo(t, 200)
	for seed := range n {
		p := oracle.Generate(seed, oracle.Options{Calls: 100})
		files, err := p.Files()
		require.NoError(t, err)
		one := inMemoryWith(t, files, Options{Clock: evc.Vector, Jobs: 1})
		found += len(one.Findings)
		for name, opts := range map[string]Options{
			"workers":  {Clock: evc.Vector, Jobs: 7},
			"auto":     {Clock: evc.Auto, Jobs: 2},
			"pairwise": {Clock: evc.Encoded, Jobs: 1, Pairwise: true},
		} {
			other := inMemoryWith(t, files, opts)
			other.Clock = one.Clock
			require.Equal(t, one, other, "seed %d, %s", seed, name)
		}
	}
	require.Greater(t, found, int(n/2))
}

// TestSameResultOfLargeTraces: the same where regions are searched by several
// workers.
func TestSameResultOfLargeTraces(t *testing.T) {
	t.Parallel()
	for _, c := range []synth.Config{
		{Pattern: "halo", Ranks: 6, Accesses: 100_000, Races: 12},
		{Pattern: "random", Ranks: 4, Accesses: 60_000, Races: 9, Seed: 3},
		{Pattern: "ring", Ranks: 5, Accesses: 150_000, Races: 7},
		{Pattern: "alltoall", Ranks: 12, Accesses: 20_000, Races: 5},
		{Pattern: "hot-counter", Ranks: 3, Accesses: 9_000, Races: 2},
	} {
		t.Run(c.Pattern, func(t *testing.T) {
			dir := t.TempDir()
			_, err := synth.Generate(context.Background(), dir, c)
			require.NoError(t, err)
			one, err := Run(context.Background(), dir, Options{Clock: evc.Vector, Jobs: 1})
			require.NoError(t, err)
			require.Len(t, one.Findings, c.Races)
			for _, opts := range []Options{{Jobs: 5}, {Clock: evc.Encoded, Jobs: 2}} {
				other, err := Run(context.Background(), dir, opts)
				require.NoError(t, err)
				other.Clock = one.Clock
				require.Equal(t, one, other)
			}
		})
	}
}
