//go:build !quick

package tracer

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimesOfProcesses: by their times, what one process finds can have been left by another.
func TestTimesOfProcesses(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "times")
	out, err := exec.CommandContext(t.Context(), "gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-Iruntime", "-o", program,
		"testdata/times.c", "runtime/clock.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	found := 0
	for tries := 0; tries < 20 && found < 1000; tries++ {
		out, err := exec.CommandContext(t.Context(), program).Output()
		require.NoError(t, err)
		var others, stale, early int
		_, err = fmt.Sscan(string(out), &others, &stale, &early)
		require.NoError(t, err)
		require.Zero(t, stale, "of %d loads that found something new", others)
		require.Zero(t, early, "of %d loads that found something new", others)
		found += others
	}
	require.GreaterOrEqual(t, found, 1000, "the two processes never ran at once")
}
