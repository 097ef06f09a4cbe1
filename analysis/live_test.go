package analysis

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
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

// TestNewsWaitToBeKept: what an analysis is about to tell is kept before, in case it is killed;
// where keeping takes long, telling waits for it.
func TestNewsWaitToBeKept(t *testing.T) {
	l := &live{run: &run{}, machine: &core.Machine{}, keeper: keeper{wrote: time.Now(), took: time.Hour}}
	require.True(t, l.keep(true), "nothing is given back")
	l.path = filepath.Join(t.TempDir(), "no directory", soFarFile)
	require.False(t, l.keep(true))
	require.False(t, l.keep(false))
	l.problem = "the disk is full"
	require.True(t, l.keep(true), "it cannot be kept")
}
