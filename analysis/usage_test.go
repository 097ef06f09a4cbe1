package analysis

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// What calls assert is compared with what others do whatever the order of the replay,
// in parts, in phases, and by comparing every pair.
func TestAssertionsInAnyOrder(t *testing.T) {
	scenarios, err := scenario.ReadFile(filepath.Join("testdata", "scenarios", "asserts.txtar"))
	require.NoError(t, err)
	for _, s := range scenarios {
		files := traceFiles(t, s.Trace)
		for _, opts := range []Options{{turn: 1}, {turn: 2, phase: 2}, {turn: 3, Pairwise: true}, {turn: 1, phase: 4, MaxMemory: 1 << 10}} {
			opts.Clock, opts.Jobs = evc.Vector, 1
			require.NoError(t, s.Expect[0].Check(outcome(inMemoryWith(t, files, opts))), "%s: %+v", s.Name, opts)
			require.NoError(t, s.Expect[0].Check(outcome(inParts(t, files, opts, 3))), "%s: %+v, in parts", s.Name, opts)
		}
	}
}

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
