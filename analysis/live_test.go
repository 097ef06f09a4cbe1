package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever waits for a program is told once that it has begun.
func TestLiveTellsThatItBegins(t *testing.T) {
	begun := 0
	res, err := Live(t.Context(), "../fixtures/traces/jacobi_halo_wrong", LiveOptions{
		Over:  func() bool { return true },
		Begun: func() { begun++ },
	})
	require.NoError(t, err)
	require.Len(t, res.Findings, 2)
	require.Equal(t, 1, begun)
}
