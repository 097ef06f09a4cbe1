package analysis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMissingRank: without the trace of one process every error that is found is one
// of the whole run, as the brute-force checker knows them, and some are found.
func TestMissingRank(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range part(t, 4) {
		p, r := randomProgram(seed)
		want, err := pairsWanted(p)
		require.NoError(t, err)
		files, err := p.Files()
		require.NoError(t, err)
		files[seed%int64(len(files))] = nil
		res := inMemoryWith(t, files, fourWays(r)[seed%2].opts)
		require.Equal(t, MissingRank, res.Caveats[0].Kind)
		for _, pair := range pairsOf(res) {
			if strings.HasPrefix(pair, "error: ") {
				require.Contains(t, want, pair, "seed %d\n%s", seed, p)
				found++
			}
		}
		require.Contains(t, []Verdict{Race, Misuse, Undecided}, res.Verdict)
	}
	require.Greater(t, found, 10)
}
