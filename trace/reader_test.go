package trace

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// file builds a file of rank 0 of 2 with write.
func file(t testing.TB, write func(w *Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Rank: 0, Ranks: 2, PID: 7, Host: "node"})
	require.NoError(t, err)
	write(w)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// copyEvent makes an event independent of its reader.
func copyEvent(ev Event) Event {
	if ev.Kind != KindCall {
		ev.Call = nil
		return ev
	}
	c := *ev.Call
	c.Args = nil
	for _, v := range ev.Call.Args {
		c.Args = append(c.Args, Value{Int: v.Int, List: append([]int64(nil), v.List...)})
	}
	ev.Call = &c
	return ev
}

// events reads to the end of the stream.
func events(t testing.TB, data []byte) ([]Event, *Reader) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), "test")
	require.NoError(t, err)
	return drain(t, r), r
}

// drain reads what is left of a stream.
func drain(t testing.TB, r *Reader) (all []Event) {
	t.Helper()
	for {
		var ev Event
		err := r.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, copyEvent(ev))
	}
}

// small writes one record of every kind.
func small(w *Writer) {
	w.Info("mpi.library", "a library")
	w.Comm(&Comm{ID: CommWorld, Rank: 0, Size: 2, Ranks: []RankRun{{0, 1, 2}}})
	w.Type(&Type{ID: 1, Name: "MPI_INT", Size: 4, Extent: 4})
	w.Type(&Type{ID: 2, Combiner: Vector, Size: 40, Extent: 76, Ints: []int64{10, 1, 2}, Types: []int64{1}})
	w.Op(1, "MPI_SUM")
	w.Module(&Module{Path: "/bin/program", BuildID: "0123456789", Start: 0x400000, End: 0x500000, Bias: 0x1000})
	w.Clock(Clock{Local: 5, Reference: 6, RoundTrip: 2})
	stack, _ := w.StackAt(Source{Func: "halo", File: "a.c", Line: 12, Inlined: true}, Source{Func: "main", File: "a.c", Line: 30})
	w.CallNamed("MPI_Win_create", stack, Args{"base": 0x10000, "size": 4096, "disp_unit": 4, "comm": CommWorld, "win": 1})
	w.CallNamed("MPI_Win_start", stack, Args{"group": []int{1}, "win": 1})
	w.Access(&Access{Addr: 0x10000, Size: 8, Stride: 16, Count: 100, Stack: stack, Store: true})
	w.Access(&Access{Addr: 0x10800, Size: 4, Stride: -4, Count: 10, Stack: stack, Atomic: true, Library: true})
	w.Access(&Access{Addr: 0x10800, Size: 4})
	w.Lost(Lost{Reason: 1, Calls: 2, Accesses: 3})
	w.Mark(2)
	w.CallNamed("MPI_Win_free", stack, Args{"win": 1})
	w.End(End{Idle: 1, Accesses: 110, Units: 1})
}

func TestReaderDeliversEveryKind(t *testing.T) {
	got, r := events(t, file(t, small))
	require.Nil(t, r.Cut())
	var kinds []Kind
	for _, ev := range got {
		kinds = append(kinds, ev.Kind)
	}
	require.Equal(t, []Kind{KindCall, KindCall, KindLost, KindAccess, KindAccess, KindCall, KindEnd}, kinds)

	create := got[0].Call
	require.Equal(t, "MPI_Win_create", create.Fn.Name)
	require.Equal(t, uint64(1), create.Seq)
	require.Equal(t, int64(4096), create.Args[create.Fn.Arg("size")].Int)
	require.Equal(t, []int64{1}, got[1].Call.Args[0].List)
	require.Equal(t, Access{Addr: 0x10000, Size: 8, Stride: 16, Count: 100, Stack: create.Stack, Store: true}, got[3].Access)
	require.Equal(t, Access{Addr: 0x10800 - 36, Size: 4, Stride: 4, Count: 10, Stack: create.Stack, Atomic: true, Library: true}, got[4].Access)
	require.Equal(t, Lost{Reason: 1, Calls: 2, Accesses: 3}, got[2].Lost)
	require.Equal(t, End{Idle: 1, Accesses: 110, Units: 1}, got[6].End)

	require.Equal(t, Header{Version: 5, Rank: 0, Ranks: 2, PID: 7, Host: "node"}, r.Header())
	require.Equal(t, "MPI_INT", r.Type(1).Name)
	require.Equal(t, []int64{10, 1, 2}, r.Type(2).Ints)
	require.Equal(t, 1, r.Comm(CommWorld).WorldRank(1))
	require.Equal(t, "MPI_SUM", r.Op(1))
	require.Equal(t, []string{"a library"}, r.Info("mpi.library"))
	require.Len(t, r.Modules(), 1)
	require.Equal(t, []Clock{{Local: 5, Reference: 6, RoundTrip: 2}}, r.Clocks())
	pcs := r.Stack(create.Stack)
	require.Len(t, pcs, 1)
	require.Equal(t, []string{"halo", "main"}, []string{r.Sources(pcs[0])[0].Func, r.Sources(pcs[0])[1].Func})
	require.Equal(t, End{Idle: 1, Accesses: 110, Units: 1}, *r.End())
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
}

func BenchmarkDecode(b *testing.B) {
	const accesses = 1 << 20
	data := file(b, func(w *Writer) {
		for i := range accesses {
			if i%4096 == 0 {
				w.CallNamed("MPI_Win_fence", 1, Args{"win": 1})
			}
			w.Access(&Access{Addr: uint64(0x10000 + 64*i), Size: 8, Stride: 8, Count: 4, Stack: uint32(i % 7)})
		}
		w.End(End{})
	})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(data), "bench")
		if err != nil {
			b.Fatal(err)
		}
		var ev Event
		n := 0
		for r.ReadEvent(&ev) == nil {
			n++
		}
		if n != accesses+accesses/4096+1 {
			b.Fatalf("%d events, cut %v", n, r.Cut())
		}
	}
	b.ReportMetric(accesses*float64(b.N)/b.Elapsed().Seconds()/1e6, "Maccess/s")
}
