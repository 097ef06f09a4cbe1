package synth

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBudgets: the accesses of all processes and steps sum up, and no step has
// fewer than its pattern needs.
func TestBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Pattern: rapid.SampledFrom(Patterns()).Draw(t, "pattern"), Ranks: rapid.IntRange(2, 40).Draw(t, "ranks"),
			Accesses: rapid.Int64Range(1, 100_000).Draw(t, "accesses"), Races: rapid.IntRange(0, 20).Draw(t, "races"),
		}
		p, err := newPlan(c)
		if err != nil {
			require.ErrorIs(t, err, ErrConfig)
			return
		}
		sum, least := 2*int64(c.Races), p.pattern.shape(&p.Config).least
		for rank := range p.Ranks {
			for step := range p.Steps {
				n := p.budget(rank, step)
				require.GreaterOrEqual(t, n, least)
				sum += n
			}
		}
		require.Equal(t, c.Accesses, sum)
		require.Len(t, p.plants.all, c.Races)
		for _, x := range p.plants.all {
			require.Less(t, x.step, p.Steps)
			require.Equal(t, plantKinds[x.kind].within, x.first == x.second)
		}
	})
}

// TestLargePlans: nothing overflows at the limits.
func TestLargePlans(t *testing.T) {
	for _, pattern := range Patterns() {
		p, err := newPlan(Config{Pattern: pattern, Ranks: MaxRanks, Accesses: MaxAccesses, Races: 3})
		require.NoError(t, err)
		require.Positive(t, p.Steps)
		for _, rank := range []int{0, MaxRanks - 1} {
			each := float64(MaxAccesses) / MaxRanks / float64(p.Steps)
			require.InDelta(t, each, float64(p.budget(rank, p.Steps-1)), math.Max(2, each/1000))
		}
	}
}

func TestProcessGrid(t *testing.T) {
	tests := []struct {
		n, dims int
		want    []int
	}{
		{2, 2, []int{1, 2}}, {16, 2, []int{4, 4}}, {12, 2, []int{3, 4}}, {7, 2, []int{1, 7}}, {64, 3, []int{4, 4, 4}},
		{24, 3, []int{2, 3, 4}}, {8192, 2, []int{64, 128}}, {8192, 3, []int{16, 16, 32}}, {7, 3, []int{1, 1, 7}},
	}
	for _, test := range tests {
		require.Equal(t, test.want, processGrid(test.n, test.dims), "%d in %d dimensions", test.n, test.dims)
	}
}
