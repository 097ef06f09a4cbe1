package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
)

// TestPhases: where concurrent regions are cut into phases, the result is the
// same, counts included. (But memory that is attached to a dynamic window after
// a finding in it may have no name then.)
func TestPhases(t *testing.T) {
	cut := int64(0)
	n := min(600, programs(t))
	for seed := range n {
		p := oracle.Generate(seed, oracle.Options{Calls: 150, Without: oracle.DynamicWins})
		files, err := p.Files()
		require.NoError(t, err)
		clock := []string{evc.Encoded, evc.Vector}[seed%2]
		phases := 0
		count := func(Progress) { phases++ }
		whole := inMemoryWith(t, files, Options{Clock: clock, Jobs: 1, Progress: count, turn: 1 + int(seed%4)})
		regions := phases
		phases = 0
		phased := inMemoryWith(t, files, Options{Clock: clock, Jobs: 1, Progress: count, phase: 6 + int(seed%30), turn: 1 + int(seed%4)})
		if phases > regions {
			cut++
		}
		require.Equal(t, len(whole.Findings), len(phased.Findings), "seed %d", seed)
		for i := range whole.Findings {
			require.Equal(t, whole.Findings[i], phased.Findings[i], "seed %d", seed)
		}
		require.Equal(t, whole, phased, "seed %d:\n%s", seed, p)
	}
	require.Greater(t, cut, n/6)
}
