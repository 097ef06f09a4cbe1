package trace

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyText draws text that is not always UTF-8.
func anyText(t *rapid.T, label string) string {
	if rapid.Bool().Draw(t, label+" is bytes") {
		return string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, label)) + "x"
	}
	return rapid.StringN(0, 20, -1).Draw(t, label) + "x"
}

func anyWords(t *rapid.T, label string) []int64 {
	w := rapid.SliceOfN(rapid.Int64(), 0, 5).Draw(t, label)
	if len(w) == 0 {
		return nil
	}
	return w
}

func anyRuns(t *rapid.T, least int) (runs []RankRun, size int) {
	for range rapid.IntRange(least, 3).Draw(t, "runs") {
		r := RankRun{
			First:  rapid.Int64Range(100, 200).Draw(t, "first"),
			Stride: rapid.Int64Range(-10, 10).Draw(t, "stride"),
			Count:  rapid.Int64Range(1, 10).Draw(t, "count"),
		}
		runs = append(runs, r)
		size += int(r.Count)
	}
	return runs, size
}

func anyAccess(t *rapid.T) Access {
	return Access{
		Addr:    rapid.Uint64Range(1<<60, 1<<61).Draw(t, "addr"),
		Stride:  rapid.Int64Range(-1<<20, 1<<20).Draw(t, "stride"),
		Count:   rapid.Uint64Range(0, 1<<30).Draw(t, "count"),
		Size:    rapid.Uint32Range(1, math.MaxUint16).Draw(t, "size"),
		Stack:   rapid.Uint32().Draw(t, "stack"),
		Store:   rapid.Bool().Draw(t, "store"),
		Atomic:  rapid.Bool().Draw(t, "atomic"),
		Library: rapid.Bool().Draw(t, "library"),
	}
}

func anyGrid(t *rapid.T) Grid {
	n := rapid.Uint16Range(1, 255)
	step := rapid.OneOf(rapid.Int64Range(-1<<20, 1<<20), rapid.Int64Range(-1<<50, 1<<50))
	return Grid{
		Access: anyAccess(t), Rows: n.Draw(t, "rows"), Planes: n.Draw(t, "planes"),
		RowStep: step.Draw(t, "row step"), PlaneStep: step.Draw(t, "plane step"),
	}
}

func anyCall(t *rapid.T, w *Writer, fns []*Fn) Call {
	c := Call{
		Fn:       rapid.SampledFrom(fns).Draw(t, "fn"),
		Begin:    rapid.Int64().Draw(t, "begin"),
		End:      rapid.Int64().Draw(t, "end"),
		Returned: rapid.Bool().Draw(t, "returned"),
		Failed:   rapid.Bool().Draw(t, "failed"),
		Stack:    rapid.Uint32().Draw(t, "stack"),
		Seq:      w.seq + rapid.Uint64Range(1, 3).Draw(t, "step"),
	}
	for _, a := range c.Fn.Args {
		var v Value
		switch {
		case a.Kind == ArgStatuses:
			v.List = rapid.SliceOfN(rapid.Int64(), 4, 4).Draw(t, a.Name)
		case a.Kind.IsList():
			v.List = anyWords(t, a.Name)
		default:
			v.Int = rapid.Int64().Draw(t, a.Name)
		}
		c.Args = append(c.Args, v)
	}
	return c
}

// anyRecord writes a record of any kind.
func anyRecord(t *rapid.T, w *Writer, fns []*Fn) error {
	switch RecordKind(rapid.IntRange(0, int(RecordSource)+2).Draw(t, "record")) {
	case RecordChunk:
		return w.BeginChunk(Chunk{
			Strand: rapid.Uint32Range(0, 3).Draw(t, "strand"),
			Seq:    w.seq,
			Region: rapid.Uint32().Draw(t, "region"),
			Sealed: rapid.Bool().Draw(t, "sealed"),
		})
	case RecordCall:
		c := anyCall(t, w, fns)
		return w.Call(&c)
	case RecordAccess:
		a := anyAccess(t)
		return w.Access(&a)
	case RecordFn:
		return w.Fn(rapid.SampledFrom(fns).Draw(t, "fn"))
	case RecordStack:
		s := Stack{ID: rapid.Uint32().Draw(t, "id"), PCs: rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(t, "pcs")}
		s.Pointers = rapid.SliceOfN(rapid.Uint64(), 0, len(s.PCs)).Draw(t, "pointers")
		return w.StackWith(&s)
	case RecordType:
		return w.Type(&Type{
			ID:       rapid.Uint32().Draw(t, "id"),
			Combiner: Combiner(rapid.Uint16().Draw(t, "combiner")),
			Name:     anyText(t, "name"),
			Size:     rapid.Int64().Draw(t, "size"),
			LB:       rapid.Int64().Draw(t, "lb"),
			Extent:   rapid.Int64().Draw(t, "extent"),
			Ints:     anyWords(t, "ints"),
			Addrs:    anyWords(t, "addrs"),
			Types:    anyWords(t, "types"),
		})
	case RecordComm:
		c := &Comm{ID: rapid.Int64().Draw(t, "id"), Inter: rapid.Bool().Draw(t, "inter")}
		c.Ranks, c.Size = anyRuns(t, 1)
		c.Remote, _ = anyRuns(t, 0)
		c.Rank = rapid.IntRange(0, c.Size-1).Draw(t, "rank")
		return w.Comm(c)
	case RecordModule:
		return w.Module(&Module{Path: anyText(t, "path"), BuildID: rapid.SampledFrom([]string{"", "00ff", "0123456789abcdef01"}).Draw(t, "build"), Start: rapid.Uint64().Draw(t, "start")})
	case RecordMark:
		return w.Mark(rapid.Uint64().Draw(t, "mark"))
	case RecordClock:
		return w.Clock(Clock{rapid.Uint64().Draw(t, "local"), rapid.Uint64().Draw(t, "reference"), 3})
	case RecordLost:
		return w.Lost(Lost{rapid.Byte().Draw(t, "reason"), rapid.Uint64().Draw(t, "calls"), 4})
	case RecordEnd:
		return w.End(End{rapid.Uint64().Draw(t, "idle"), 5, 6})
	case RecordInfo:
		return w.Info(anyText(t, "key"), anyText(t, "value"))
	case RecordOp:
		return w.Op(int64(rapid.Uint32().Draw(t, "op")), anyText(t, "name"))
	case RecordSource + 2:
		g := anyGrid(t)
		return w.Grid(&g)
	case RecordSource + 1:
		return w.Block(&Block{Base: rapid.Uint64().Draw(t, "base"), Size: 7, Seq: rapid.Uint64().Draw(t, "seq"), Stack: rapid.Uint32().Draw(t, "stack")})
	default:
		return w.Source(&Source{
			PC:      rapid.Uint64().Draw(t, "pc"),
			Func:    anyText(t, "func"),
			File:    anyText(t, "file"),
			Line:    rapid.Uint32().Draw(t, "line"),
			Column:  rapid.Uint32().Draw(t, "column"),
			Inlined: rapid.Bool().Draw(t, "inlined"),
		})
	}
}

func TestRoundTripProperty(t *testing.T) {
	every := "n:i,p:p,r:r,g:g,c:c,w:w,q:q,t:t,o:o,a:a,l:l,G:G,I:I,P:P,T:T,Q:Q,S:S,new:z,news:Z"
	args, err := parseArgs(every)
	require.NoError(t, err)
	fns := []*Fn{{ID: 0, Name: "none"}, {ID: 7, Name: "every", Args: args}, {ID: 8, Name: "none", Args: args[:1]}}
	rapid.Check(t, func(rt *rapid.T) {
		data := file(t, func(w *Writer) {
			require.NoError(rt, w.BeginChunk(Chunk{Sealed: true}))
			for _, f := range fns {
				require.NoError(rt, w.Fn(f))
			}
			for range rapid.IntRange(0, 30).Draw(rt, "records") {
				require.NoError(rt, anyRecord(rt, w, fns))
			}
		})
		lines := dump(t, data)
		require.True(rt, bytes.Equal(data, pack(t, lines)), lines)
	})
}

func TestWriterDividesLongFiles(t *testing.T) {
	const n = 3 * (256 << 10) / accessSize
	data := file(t, func(w *Writer) {
		for i := range n {
			w.Access(&Access{Addr: uint64(i), Size: 1, Count: 1})
		}
		w.End(End{})
	})
	got, r := events(t, data)
	require.Nil(t, r.Cut())
	require.Len(t, got, n+1)
	chunks := 0
	for _, rec := range records(t, data) {
		if rec.Kind == RecordChunk {
			chunks++
		}
	}
	require.Equal(t, 4+1, chunks) // the end has one of its own
}

func TestWriterRefuses(t *testing.T) {
	tests := []struct {
		name  string
		write func(w *Writer) error
		want  string
	}{
		{"an access past the end", func(w *Writer) error { return w.Access(&Access{Addr: math.MaxUint64, Size: 8, Count: 1}) }, "impossible access"},
		{"a grid before the beginning", func(w *Writer) error {
			return w.Grid(&Grid{Access: Access{Addr: 100, Size: 8, Count: 1}, Rows: 3, RowStep: -51, Planes: 1})
		}, "impossible accesses"},
		{"a grid past the end", func(w *Writer) error {
			return w.Grid(&Grid{Access: Access{Addr: 100, Size: 8, Count: 1}, Rows: 3, Planes: 3, PlaneStep: math.MaxInt64 - 10})
		}, "impossible accesses"},
		{"a grid of none", func(w *Writer) error { return w.Grid(&Grid{Access: Access{Addr: 100, Size: 8, Count: 1}, Rows: 3}) }, "impossible accesses"},
		{"a grid of too many", func(w *Writer) error {
			return w.Grid(&Grid{Access: Access{Addr: 100, Size: 8, Count: 1}, Rows: 256, Planes: 256})
		}, "impossible accesses"},
		{"an access of 64 KiB elements", func(w *Writer) error { return w.Access(&Access{Size: 1 << 16, Count: 1}) }, "impossible access"},
		{"a definition among accesses", func(w *Writer) error {
			w.BeginChunk(Chunk{Accesses: true})
			return w.Stack(1, []uint64{2})
		}, "a chunk of accesses takes nothing but accesses and marks"},
		{"an undefined function", func(w *Writer) error { return w.Call(&Call{Fn: &Fn{}}) }, "not defined"},
		{"too few arguments", func(w *Writer) error {
			fn, _ := w.Define("MPI_Win_free", nil)
			return w.Call(&Call{Fn: fn})
		}, "call of MPI_Win_free with 0 arguments, which has 1"},
		{"a function name with a space", func(w *Writer) error { return w.Fn(&Fn{Name: "a b"}) }, "impossible function definition"},
		{"an unknown function", func(w *Writer) error { return w.CallNamed("MPI_X", 0, nil) }, "MPI_X is not in the built-in table"},
		{"an unknown argument", func(w *Writer) error { return w.CallNamed("MPI_Win_free", 0, Args{"x": 1}) }, "has no argument x"},
		{"a list for a word", func(w *Writer) error { return w.CallNamed("MPI_Win_free", 0, Args{"win": []int{1}}) }, "kind w does not take"},
		{"an argument of another type", func(w *Writer) error { return w.CallNamed("MPI_Win_free", 0, Args{"win": "1"}) }, "a string is no argument"},
		{"a communicator without its rank", func(w *Writer) error { return w.Comm(&Comm{ID: 5}) }, "communicator 5"},
		{"a value ending in zero", func(w *Writer) error { return w.Info("k", "v\x00") }, "ends in a zero byte"},
		{"a negative operation", func(w *Writer) error { return w.Op(-1, "x") }, "impossible operation -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := NewWriter(&nowhere{}, Header{Ranks: 1})
			require.NoError(t, err)
			require.ErrorContains(t, tt.write(w), tt.want)
			require.ErrorContains(t, w.Mark(1), tt.want, "the first error stays")
			require.ErrorContains(t, w.Close(), tt.want)
		})
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

func TestBuiltInFunctionsParse(t *testing.T) {
	for name := range mpiFunctions {
		args, ok := Function(name)
		require.True(t, ok, name)
		require.Equal(t, mpiFunctions[name], (&Fn{Args: args}).argText())
	}
	_, ok := Function("MPI_X")
	require.False(t, ok)
}
