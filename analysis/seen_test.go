package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

// TestSeenInALaterRegion: what a fence put before a flag is one access of the region in
// which somebody sees the flag, though it began in the region before.
func TestSeenInALaterRegion(t *testing.T) {
	files := scenarioFiles(t, "openshmem.txtar", "what is seen to be complete in a later region is one access there")
	res := inMemoryWith(t, files, Options{Clock: evc.Auto})
	require.Len(t, res.Findings, 1)
	require.EqualValues(t, 1, res.Findings[0].Count)
}
