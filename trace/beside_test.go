package trace

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// besideDir is a directory of two traces: that of rank 0 in the folder a, that of
// rank 1 in the archive b.tar.
func besideDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "rank-0.mcct"), headOnly(t, 0), 0o600))
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range []struct {
		name string
		data []byte
	}{{"traces/rank-1.mcct", headOnly(t, 1)}, {"traces/sources.json", []byte("packed")}} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.data))}))
		_, err := w.Write(f.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.tar"), buf.Bytes(), 0o600))
	return dir
}

// headOnly is a trace without records.
func headOnly(t *testing.T, rank int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, Header{Rank: rank, Ranks: 2})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// TestOpenBeside: what lies beside traces is found where they are, the directory
// itself first, and none of it is a trace.
func TestOpenBeside(t *testing.T) {
	dir := besideDir(t)
	open := func() (*Beside, error) {
		d, err := OpenDir(dir)
		require.NoError(t, err)
		require.Len(t, d.Files, 2)
		require.Empty(t, d.Bad)
		return d.OpenBeside("sources.json")
	}
	for _, test := range []struct{ file, want string }{
		{"", "b.tar:traces/sources.json"},
		{"a/sources.json", "a/sources.json"},
		{"sources.json", "sources.json"},
	} {
		want := "packed"
		if test.file != "" {
			want = test.file
			require.NoError(t, os.WriteFile(filepath.Join(dir, test.file), []byte(want), 0o600))
		}
		b, err := open()
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, test.want), b.Path)
		data, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		require.NoError(t, b.Close())
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "sources.json")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "sources.json"), 0o600))
	_, err := open()
	require.ErrorContains(t, err, "sources.json: no regular file")

	d, err := OpenDir(dir)
	require.NoError(t, err)
	_, err = d.OpenBeside("symbols.json")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestOpenBesideInACutArchive(t *testing.T) {
	dir := besideDir(t)
	path := filepath.Join(dir, "b.tar")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:bytes.Index(data, []byte("traces/sources.json"))+100], 0o600))
	d, err := OpenDir(dir)
	require.NoError(t, err)
	_, err = d.OpenBeside("sources.json")
	require.ErrorContains(t, err, path)
	require.NotErrorIs(t, err, fs.ErrNotExist)
}
