package symbols

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathsWithoutParents(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, sub := range []string{"build", "src", "far/build"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	for _, file := range []string{"src/a.c", "far/b.c", "b.c"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "far/build"), filepath.Join(dir, "link")))
	for name, want := range map[string]string{
		"/build/../src/a.c":    "/src/a.c",
		"/build/../src/gone.c": "/build/../src/gone.c",
		"/link/../b.c":         "/link/../b.c", // far/b.c, and not b.c
		"/src/a.c":             "/src/a.c",
	} {
		require.Equal(t, dir+want, withoutParents(dir+name))
	}
}
