package regions

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// loads is a stream of nothing but loads, one behind the other.
type loads struct{ left int }

func (l *loads) ReadEvent(ev *trace.Event) error {
	if l.left == 0 {
		return io.EOF
	}
	l.left--
	*ev = trace.Event{Kind: trace.KindAccess, Access: trace.Access{Addr: uint64(1000 + 8*l.left), Size: 8, Count: 1, Stack: 7, Library: l.left%2 == 0}}
	return nil
}

func (*loads) Type(int64) *trace.Type { return nil }
func (*loads) Comm(int64) *trace.Comm { return nil }
func (*loads) Op(int64) string        { return "" }

func loadsOf(t *testing.T, limit int64, n int) *Region {
	m, err := NewMachine([]Stream{&loads{n}}, Options{Clock: "vector", Memory: limit})
	require.NoError(t, err)
	r, err := m.Next(context.Background())
	require.NoError(t, err)
	return r
}

// TestStored: rooms in a file hold what was in memory, and those that lie apart
// are not read.
func TestStored(t *testing.T) {
	const n = 1000
	collect := func(r *Region, lo, hi uint64) (all []trace.Access) {
		var s Scratch
		var err error
		for stretches, old := range r.Stretches(0, lo, hi, &s, &err) {
			require.False(t, old)
			for i := range stretches {
				all = slices.AppendSeq(all, trace.InOrder(stretches[i].Rows))
			}
		}
		require.NoError(t, err)
		return all
	}
	whole, stored := loadsOf(t, 0, n), loadsOf(t, 4000, n)
	require.Nil(t, whole.spill)
	require.NotNil(t, stored.spill)
	require.Equal(t, n, stored.LocalCount(0))
	require.Equal(t, collect(whole, 0, 1<<32), collect(stored, 0, 1<<32))
	require.Less(t, len(collect(stored, 1000, 1008)), n/10)
	stored.Release()
	whole.Release()
	require.Zero(t, stored.store.held)
}

// TestFullDisk: what cannot be written or read is an error that says what was
// not kept.
func TestFullDisk(t *testing.T) {
	f, err := os.Open("/dev/null")
	require.NoError(t, err)
	m, err := NewMachine([]Stream{&loads{1000}}, Options{Clock: "vector", Memory: 4000})
	require.NoError(t, err)
	m.store.spill = &spillFile{f: f}
	_, err = m.Next(context.Background())
	require.ErrorContains(t, err, "accesses that do not fit into memory: write /dev/null")

	r := loadsOf(t, 4000, 1000)
	require.NoError(t, r.spill.f.Truncate(10))
	var s Scratch
	for range r.Stretches(0, 0, 1<<32, &s, &err) {
	}
	require.ErrorContains(t, err, "reading accesses that did not fit into memory")
}
