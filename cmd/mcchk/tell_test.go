package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
)

// TestToldInFiles: a short report that goes to a file has each finding as it is told, and
// nothing of another run.
func TestToldInFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "told.txt")
	require.NoError(t, os.WriteFile(path, []byte("of another run\n"), 0o600))
	var said bytes.Buffer
	told := (&app{err: &said}).newTeller(liveOptions{stopOn: failNever}, []output{{format: "short", path: path}, {format: "json", path: path + "x"}}, nil)
	for n, rule := range []string{"MC101", "MC102"} {
		told.tell(&conflicts.Finding{Rule: rule, Severity: conflicts.Error})
		lines, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, n+1, bytes.Count(lines, []byte("\n")), "%s", lines)
		require.Contains(t, string(lines), "["+rule+"]")
		require.Contains(t, said.String(), "["+rule+"]")
	}
	require.NoFileExists(t, path+"x")
}
