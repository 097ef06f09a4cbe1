package trace

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Many files are read side by side, by several goroutines, of which only a few
// are open.
func TestFilesFewOpen(t *testing.T) {
	const most, count, size = 3, 40, 10_000
	dir := t.TempDir()
	all := newFiles()
	all.most = most
	var want [][]byte
	var files []*lazyFile
	for i := range count {
		data := bytes.Repeat([]byte{byte(i)}, size+i)
		path := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.WriteFile(path, data, 0o644))
		want = append(want, data)
		files = append(files, all.newFile(path, 0, -1))
	}
	got := make([][]byte, count)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			buf := make([]byte, 999)
			for left := true; left; {
				left = false
				for i := w; i < count; i += 8 {
					n, err := files[i].Read(buf)
					got[i] = append(got[i], buf[:n]...)
					left = left || err == nil
					all.mu.Lock()
					if all.open > most {
						t.Errorf("%d files are open", all.open)
					}
					all.mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, want, got)
	require.EqualValues(t, count*size+count*(count-1)/2, all.read.Load())
	require.Zero(t, all.open, "files at their end stay open")
	_, err := files[0].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, files[0].Close())
	_, err = files[0].Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed)

	_, err = all.newFile(filepath.Join(dir, "none"), 0, -1).Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Zero(t, all.open)

	f := all.newFile(filepath.Join(dir, "7"), 100, 50) // a piece
	piece, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, want[7][:50], piece)
	require.NoError(t, f.Close())
}

// tarOf packs files.
func tarOf(t *testing.T, headers []tar.Header, data [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, h := range headers {
		h.Mode, h.Size = 0o644, int64(len(data[i]))
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(data[i])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestOpenDirOfArchives(t *testing.T) {
	a := tarOf(t, []tar.Header{{Name: "run/rank-0.mcct"}, {Name: "run/run.json"}, {Name: "run/rank-2.mcct.zst"}},
		[][]byte{rankFile(t, 1, 0, 4), []byte("{}"), compress(t, rankFile(t, 1, 2, 4))})
	b := tarOf(t, []tar.Header{{Name: "rank-1.mcct"}}, [][]byte{rankFile(t, 1, 1, 4)})
	dir := t.TempDir()
	write := func(name string, data []byte) {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, data, 0o644))
	}
	write("a.tar", a)
	write("sub/b.tar", b)
	write("rank-3.mcct", rankFile(t, 1, 3, 4))
	d, err := OpenDir(dir)
	require.NoError(t, err)
	require.Empty(t, d.Missing)
	require.Empty(t, d.Bad)
	require.Equal(t, filepath.Join(dir, "a.tar")+":run/rank-2.mcct.zst", d.Files[2].Path)
	require.Zero(t, d.BytesRead())
	readers, err := d.OpenAll()
	require.NoError(t, err)
	for rank, r := range readers {
		require.Equal(t, rank, r.Header().Rank)
		var ev Event
		require.NoError(t, r.ReadEvent(&ev))
		require.Equal(t, KindEnd, ev.Kind)
		require.ErrorIs(t, r.ReadEvent(&ev), io.EOF)
		require.Nil(t, r.Cut())
		require.NoError(t, r.Close())
	}
	require.Equal(t, d.Bytes(), d.BytesRead())

	write("sub/b.tar", b[:len(b)/4]) // cut
	write("rank-1.mcct", rankFile(t, 1, 1, 4))
	d, err = OpenDir(dir)
	require.NoError(t, err)
	require.Empty(t, d.Missing)
	write("c.tar", []byte("no archive at all, but long enough to be looked at"))
	d, err = OpenDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, d.Bad)
	require.Contains(t, d.Bad[len(d.Bad)-1].Path, ".tar")
}
