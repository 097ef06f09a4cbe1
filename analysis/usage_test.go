package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

// What was done behind a call that never returned in another process is analysed.
func TestBehindACallThatNeverReturned(t *testing.T) {
	res := inMemory(t, scenarioFiles(t, "open_epochs.txtar", "behind a call that never returned"), evc.Encoded, 1)
	require.EqualValues(t, 1, res.Basis.Operations)
}

// An operation that leaves the window names the bytes that it would reach there.
func TestBytesOutsideOfTheWindow(t *testing.T) {
	res := inMemory(t, scenarioFiles(t, "window_ranges.txtar", "the part outside is not compared"), evc.Encoded, 1)
	require.Len(t, res.Findings, 1)
	f := res.Findings[0]
	require.Equal(t, []uint64{64, 68}, []uint64{f.Lo, f.Hi})
	require.Equal(t, 1, f.Owner)
	require.True(t, f.Alone())
}
