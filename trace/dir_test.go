package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rankFile makes a trace of a rank.
func rankFile(t *testing.T, run byte, rank, ranks int) []byte {
	t.Helper()
	return rankFileOf(t, 0, run, rank, ranks)
}

// rankFileOf is that of a certain process.
func rankFileOf(t *testing.T, pid int, run byte, rank, ranks int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{PID: pid, Run: [16]byte{run}, Rank: rank, Ranks: ranks})
	require.NoError(t, err)
	w.End(End{})
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestOpenDir(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string][]byte
		ranks   []int
		missing []int
		bad     int
		wantErr string
		is      error
	}{
		{name: "empty", wantErr: "no trace files", is: ErrNoTraces},
		{name: "other files", files: map[string][]byte{"a.txt": nil, "x/y/rank-0.mcct": rankFile(t, 1, 0, 1)}, wantErr: "no trace files", is: ErrNoTraces},
		{name: "complete", files: map[string][]byte{"rank-1.mcct": rankFile(t, 1, 1, 2), "rank-0.mcct": rankFile(t, 1, 0, 2)}, ranks: []int{0, 1}},
		{name: "in folders and compressed", files: map[string][]byte{"a/rank-1.mcct.zst": compress(t, rankFile(t, 1, 1, 2)), "b/rank-0.mcct": rankFile(t, 1, 0, 2)}, ranks: []int{0, 1}},
		{name: "plain beside compressed", files: map[string][]byte{"rank-0.mcct.zst": compress(t, rankFile(t, 1, 0, 1)), "rank-0.mcct": rankFile(t, 1, 0, 1)}, ranks: []int{0}},
		{name: "missing", files: map[string][]byte{"rank-1.mcct": rankFile(t, 1, 1, 4), "rank-3.mcct": rankFile(t, 1, 3, 4)}, ranks: []int{1, 3}, missing: []int{0, 2}},
		{name: "missing last", files: map[string][]byte{"rank-0.mcct": rankFile(t, 1, 0, 3)}, ranks: []int{0}, missing: []int{1, 2}},
		{name: "one bad", files: map[string][]byte{"rank-0.mcct": rankFile(t, 1, 0, 2), "rank-1.mcct": []byte("random")}, ranks: []int{0}, missing: []int{1}, bad: 1},
		{name: "all bad", files: map[string][]byte{"rank-0.mcct": []byte("random"), "rank-1.mcct": nil}, wantErr: "no readable trace file"},
		{name: "two runs", files: map[string][]byte{"rank-0.mcct": rankFile(t, 1, 0, 2), "rank-1.mcct": rankFile(t, 2, 1, 2)},
			wantErr: "run 01000000000000000000000000000000: rank-0.mcct; run 02000000000000000000000000000000: rank-1.mcct", is: ErrMixedRuns},
		{name: "copied twice", files: map[string][]byte{"a/rank-0.mcct": rankFile(t, 1, 0, 2), "b/rank-0.mcct": rankFile(t, 1, 0, 2)}, wantErr: "two copies of the trace of rank 0"},
		{name: "rank twice", files: map[string][]byte{"a/rank-0.mcct": rankFileOf(t, 17, 1, 0, 2), "b/rank-0.mcct": rankFileOf(t, 18, 1, 0, 2)}, wantErr: "two files of rank 0"},
		{name: "other number of processes", files: map[string][]byte{"rank-0.mcct": rankFile(t, 1, 0, 2), "rank-1.mcct": rankFile(t, 1, 1, 3)}, wantErr: "of a run of 2 processes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range tt.files {
				p := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
				require.NoError(t, os.WriteFile(p, data, 0o644))
			}
			d, err := OpenDir(dir)
			if tt.wantErr != "" {
				require.ErrorContains(t, err, tt.wantErr)
				require.ErrorContains(t, err, dir)
				if tt.is != nil {
					require.ErrorIs(t, err, tt.is)
				}
				return
			}
			require.NoError(t, err)
			var ranks []int
			for _, f := range d.Files {
				ranks = append(ranks, f.Header.Rank)
				r, err := d.Open(f.Header.Rank)
				require.NoError(t, err)
				require.ErrorContains(t, errAfter(r), "EOF")
				require.Nil(t, r.Cut())
				require.NoError(t, r.Close())
				require.ErrorIs(t, r.ReadEvent(&Event{}), os.ErrClosed)
			}
			require.Equal(t, tt.ranks, ranks)
			require.Equal(t, tt.missing, d.Missing)
			require.Len(t, d.Bad, tt.bad)
			for _, rank := range d.Missing {
				_, err := d.Open(rank)
				require.ErrorIs(t, err, os.ErrNotExist)
			}
		})
	}
	_, err := OpenDir(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func errAfter(r *Reader) (err error) {
	for err == nil {
		err = r.ReadEvent(&Event{})
	}
	return err
}

// A pipe of that name would block whoever opens it.
func TestOpenDirPassesOverPipes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rank-0.mcct"), rankFile(t, 1, 0, 2), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "rank-1.mcct"), 0o600))
	d, err := OpenDir(dir)
	require.NoError(t, err)
	require.Equal(t, []int{1}, d.Missing)
}
