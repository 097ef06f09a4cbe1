package analysis

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/synth"
)

// tiny is a limit at which next to nothing may be held.
const tiny = 1 << 6

// TestMaxMemory: what does not fit into memory makes no difference, in whole
// regions and in phases, by lanes and by pairs, in either memory model.
func TestMaxMemory(t *testing.T) {
	t.Parallel()
	spilled := 0
	n := min(300, programs(t))
	for seed := range n {
		p := oracle.Generate(seed, oracle.Options{Calls: 150, All: seed%4 == 0})
		// So that windows lie across blocks of memory, which slices are made of.
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		base := slices.Clone(p.Base)
		for i := range base {
			base[i] += uint64(4096 - r.IntN(600))
		}
		p = p.MoveMemory(base)
		files, err := p.Files()
		require.NoError(t, err)
		opts := Options{Clock: []string{evc.Encoded, evc.Vector}[seed%2], Jobs: 1 + int(seed%3), Pairwise: seed%5 == 0, turn: 1 + int(seed%4)}
		if seed%3 == 0 {
			opts.phase = 6 + int(seed%30)
		}
		if seed%7 == 0 {
			opts.MemoryModel = ModelSeparate
		}
		whole := inMemoryWith(t, files, opts)
		opts.MaxMemory = tiny
		within := inMemoryWith(t, files, opts)
		if within.Stats.Spilled.Accesses > 0 {
			spilled++
		}
		require.Zero(t, whole.Stats.Spilled)
		within.Stats = whole.Stats
		require.Equal(t, whole, within, "seed %d:\n%s", seed, p)
	}
	require.Greater(t, spilled, int(n)/2)
}

// TestMaxMemorySynthetic is TestMaxMemory on traces whose races are known.
func TestMaxMemorySynthetic(t *testing.T) {
	t.Parallel()
	for _, c := range []synth.Config{
		{Pattern: "random", Ranks: 4, Accesses: 20_000, Steps: 2, Races: 5, Seed: 3},
		{Pattern: "ring", Ranks: 8, Steps: 3_000, Races: 5, Seed: 4},
		{Pattern: "halo", Ranks: 4, Accesses: 20_000, Races: 5, Seed: 5},
	} {
		t.Run(c.Pattern, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "traces")
			_, err := synth.Generate(context.Background(), dir, c)
			require.NoError(t, err)
			opts := Options{phase: 5_000}
			whole, err := Run(context.Background(), dir, opts)
			require.NoError(t, err)
			require.Len(t, whole.Findings, c.Races)
			opts.MaxMemory = 30 << 10
			within, err := Run(context.Background(), dir, opts)
			require.NoError(t, err)
			require.NotZero(t, within.Stats.Spilled.Accesses)
			require.NotZero(t, within.Stats.Spilled.Bytes)
			within.Stats = whole.Stats
			require.Equal(t, whole, within)
		})
	}
}

// TestMaxMemoryNoFile: where nothing can be written there is an error, and no
// verdict.
func TestMaxMemoryNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := synth.Generate(context.Background(), dir, synth.Config{Pattern: "halo", Ranks: 4, Accesses: 5_000})
	require.NoError(t, err)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	res, err := Run(context.Background(), dir, Options{MaxMemory: tiny})
	require.ErrorContains(t, err, "accesses that do not fit into memory: open")
	require.Nil(t, res)
}
