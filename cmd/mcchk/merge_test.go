package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/report"
	"github.com/mcchk/mcchk/synth"
)

// TestPartsOfTraces: recorded and synthetic traces, analysed in parts, give the
// same bytes in every format, and the same status.
func TestPartsOfTraces(t *testing.T) {
	recorded, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "traces", "*", "run.json"))
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	var dirs []string
	for _, path := range recorded {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range synth.Patterns() {
		dir := filepath.Join(t.TempDir(), pattern)
		_, err := synth.Generate(t.Context(), dir, synth.Config{Pattern: pattern, Ranks: 3, Accesses: 2000, Races: 4, Seed: 9})
		require.NoError(t, err)
		dirs = append(dirs, dir)
	}
	run := func(args ...string) (int, []byte) {
		a, out, _ := testApp()
		a.backend = realBackend()
		a.color = colorNever
		status := a.run(context.Background(), append([]string{"mcchk"}, args...))
		return status, out.Bytes()
	}
	for i, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			n := 1 + i%4
			var parts []string
			for k := range n {
				part := filepath.Join(t.TempDir(), "part")
				status, out := run("analyze", "--shard", fmt.Sprintf("%d/%d", k+1, n), "--predict", dir, "-o", part)
				require.Equal(t, exitOK, status)
				require.Empty(t, out)
				parts = append(parts, part)
			}
			for _, format := range report.Formats() {
				status, whole := run("analyze", "--predict", "--format", format, dir)
				mergedStatus, merged := run(append([]string{"merge", "--format", format}, parts...)...)
				require.Equal(t, status, mergedStatus)
				require.NotEmpty(t, whole)
				require.True(t, bytes.Equal(whole, merged), "%s in %d parts:\n%s\nand in a whole:\n%s", format, n, merged, whole)
			}
		})
	}
}
