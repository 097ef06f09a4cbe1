package trace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// counted turns accesses into what is said of those that are passed over, so that
// a stream can be compared with one in which some are.
func counted(evs []Event) (calls []uint64, before []uint64, loads, stores uint64) {
	var n uint64
	for _, ev := range evs {
		switch ev.Kind {
		case KindAccess:
			n++
			switch {
			case ev.Counted:
			case ev.Access.Store:
				stores += ev.Access.Count
			default:
				loads += ev.Access.Count
			}
		case KindSkipped:
			n += ev.Skipped.Accesses
			loads += ev.Skipped.Loads
			stores += ev.Skipped.Stores
		case KindCall:
			calls, before = append(calls, ev.Call.Seq), append(before, n)
		}
	}
	return calls, append(before, n), loads, stores
}

// TestSkip: what is passed over is counted where it stands, and nothing that is
// wanted is passed over, whether the file can be read anywhere or not.
func TestSkip(t *testing.T) {
	data := file(t, func(w *Writer) {
		w.length = 400
		w.CallNamed("MPI_Init", 0, nil)
		for i := range 100 {
			for k := range i % 7 {
				w.Access(&Access{Addr: uint64(1000*(i/10) + k), Size: 4, Stride: 4, Count: 2, Store: k%2 == 0})
			}
			w.CallNamed("MPI_Win_fence", 0, Args{"win": 1})
			if i%30 == 29 {
				w.Access(&Access{Addr: 5, Size: 1}) // says nothing
			}
		}
		w.CallNamed("MPI_Finalize", 0, nil)
		w.End(End{Units: 1})
	})
	whole, _ := events(t, data)
	dir := t.TempDir()
	path := filepath.Join(dir, "rank-0.mcct")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	require.NoError(t, os.WriteFile(path+".zst", compress(t, data), 0o644))
	wanted := map[uint64]bool{}
	for _, tt := range []struct {
		name string
		skip func(lo, hi uint64) bool
		all  bool
	}{
		{"all", func(lo, hi uint64) bool { return true }, true},
		{"none", func(lo, hi uint64) bool { return false }, false},
		{"low addresses", func(lo, hi uint64) bool { return hi <= 5000 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := newFiles()
			r, err := NewReader(files.newFile(path, 0, -1), path)
			require.NoError(t, err)
			r.Skip(tt.skip)
			got := drain(t, r)
			require.Nil(t, r.Cut())
			a, b, c, d := counted(whole)
			e, f, g, h := counted(got)
			require.Equal(t, []any{a, b, c, d}, []any{e, f, g, h})
			seen := map[uint64]bool{}
			for _, ev := range got {
				if ev.Kind == KindAccess {
					seen[ev.Access.Addr] = true
				}
			}
			for _, ev := range whole {
				if ev.Kind == KindAccess {
					wanted[ev.Access.Addr] = true
					if lo := ev.Access.Addr; !tt.skip(lo, ev.Access.End()) {
						require.True(t, seen[lo], "%d", lo)
					}
				}
			}
			require.Equal(t, tt.all, len(seen) == 0)
			if tt.name == "low addresses" {
				require.Less(t, len(seen), len(wanted))
			}

			// A compressed file is read through, and nothing is passed over.
			z, err := Open(path + ".zst")
			require.NoError(t, err)
			z.Skip(tt.skip)
			plain := drain(t, z)
			require.Nil(t, z.Cut())
			accesses := strandsOf(plain)[[2]uint32{0, 1}]
			for i := range accesses {
				require.True(t, accesses[i].Counted)
				accesses[i].Counted, accesses[i].Skipped = false, Skipped{}
			}
			require.Equal(t, strandsOf(whole)[[2]uint32{0, 1}], accesses)
			e, f, g, h = counted(plain)
			require.Equal(t, []any{a, b, c, d}, []any{e, f, g, h})
		})
	}
}

// TestSkipCut: an index that is cut off is not missed.
func TestSkipCut(t *testing.T) {
	data := apart(t)
	whole, _ := events(t, data)
	all, _, _, _ := counted(whole)
	path := filepath.Join(t.TempDir(), "rank-0.mcct")
	for n := headerSize; n < len(data); n += 13 {
		require.NoError(t, os.WriteFile(path, data[:n], 0o644))
		r, err := NewReader(newFiles().newFile(path, 0, -1), path)
		require.NoError(t, err)
		r.Skip(func(lo, hi uint64) bool { return true })
		calls, _, _, _ := counted(drain(t, r))
		require.NotNil(t, r.Cut(), "%d bytes", n)
		require.True(t, slices.Equal(all[:len(calls)], calls), "%d bytes", n)
	}
}

// TestIndexDamaged: no index with a damaged byte is believed.
func TestIndexDamaged(t *testing.T) {
	want := Index{Loads: 3, Stores: 4, Lo: 5, Hi: 60, Groups: []Group{{1, 2}, {3, 4}}}
	b := appendIndex(nil, &want)
	got, err := decodeIndex(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for i := range len(b) - 4 { // the last four say nothing
		b[i] ^= 1
		_, err := decodeIndex(b)
		require.ErrorIs(t, err, errIndex, "byte %d", i)
		b[i] ^= 1
	}
}
