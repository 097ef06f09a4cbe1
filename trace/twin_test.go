package trace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dump returns the lines of a file, complete or cut.
func dump(t testing.TB, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	err := Dump(context.Background(), bytes.NewReader(data), &out)
	var cut *Cut
	if !errors.As(err, &cut) {
		require.NoError(t, err)
	}
	return out.String()
}

func pack(t testing.TB, lines string) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Pack(context.Background(), strings.NewReader(lines), &out), lines)
	return out.Bytes()
}

// records reads a file to its end, without offsets and sizes of chunks.
func records(t testing.TB, data []byte) []Record {
	t.Helper()
	r, err := NewRecordReader(bytes.NewReader(data), "test")
	require.NoError(t, err)
	defer r.Close()
	var all []Record
	for {
		var rec Record
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		rec.Call.Args = append([]Value(nil), rec.Call.Args...)
		for i, v := range rec.Call.Args {
			rec.Call.Args[i].List = append([]int64(nil), v.List...)
		}
		rec.Offset = 0
		rec.Chunk.Offset, rec.Chunk.Size, rec.Chunk.Used = 0, 0, 0
		all = append(all, rec)
	}
}

func TestDumpGolden(t *testing.T) {
	want := `{"mcct":1,"run":"00000000000000000000000000000000","rank":0,"ranks":2,"pid":7,"monotonic":0,"realtime":0,"host":"node"}
{"chunk":{"strand":0,"seq":0,"region":0,"sealed":true}}
{"info":"mpi.library","value":"a library"}
{"comm":1,"rank":0,"ranks":[[0,1,2]]}
{"type":1,"combiner":"named","name":"MPI_INT","size":4,"lb":0,"extent":4}
{"type":2,"combiner":"vector","size":40,"lb":0,"extent":76,"ints":[10,1,2],"types":[1]}
{"op":1,"name":"MPI_SUM"}
{"module":"/bin/program","start":"0x400000","end":"0x500000","bias":"0x1000","build_id":"0123456789"}
{"clock":{"local":5,"reference":6,"round_trip":2}}
{"pc":"0x1000000000010","func":"halo","file":"a.c","line":12,"inlined":true}
{"pc":"0x1000000000010","func":"main","file":"a.c","line":30}
{"stack":2147483648,"pcs":["0x1000000000010"]}
{"fn":1024,"name":"MPI_Win_create","args":"base:p,size:i,disp_unit:i,comm:c,win:w,model:i,accumulate_ops:i,accumulate_ordering:i"}
{"call":"MPI_Win_create","seq":1,"begin":1,"end":2,"stack":2147483648,"returned":true,"args":{"base":"0x10000","size":4096,"disp_unit":4,"comm":1,"win":1,"model":0,"accumulate_ops":0,"accumulate_ordering":15}}
{"fn":1025,"name":"MPI_Win_start","args":"group:G,assert:a,win:w"}
{"call":"MPI_Win_start","seq":2,"begin":3,"end":4,"stack":2147483648,"returned":true,"args":{"group":[1],"assert":0,"win":1}}
{"lost":{"reason":1,"calls":2,"accesses":3}}
{"mark":2}
{"fn":1026,"name":"MPI_Win_free","args":"win:w"}
{"call":"MPI_Win_free","seq":3,"begin":5,"end":6,"stack":2147483648,"returned":true,"args":{"win":1}}
{"chunk":{"strand":0,"seq":2,"region":0,"sealed":true,"accesses":true}}
{"mark":2}
{"access":"store","addr":"0x10000","size":8,"stride":16,"count":100,"stack":2147483648}
{"access":"load","addr":"0x10800","size":4,"stride":-4,"count":10,"stack":2147483648,"atomic":true,"library":true}
{"access":"load","addr":"0x10800","size":4,"stride":0,"count":0,"stack":0}
{"chunk":{"strand":0,"seq":3,"region":0,"sealed":true}}
{"end":{"idle":1,"accesses":110,"units":1}}
`
	data := file(t, small)
	require.Equal(t, want, dump(t, data))
	packed := pack(t, want)
	require.Equal(t, want, dump(t, packed))
	require.Equal(t, data, packed)
}

func TestTwinKeepsWhatIsUnusual(t *testing.T) {
	data := file(t, func(w *Writer) {
		w.BeginChunk(Chunk{Strand: 3, Seq: 9, Region: 4})
		w.BeginChunk(Chunk{Strand: 1, Seq: 1, Region: 2, Sealed: true})
		w.call(12, &Call{Seq: 5, Begin: -1, Failed: true}, []int64{1, -2})
		w.Fn(&Fn{ID: 1, Name: "f\xff", Args: []Arg{{"quote\"", 'p'}, {"list", 'P'}, {"new", 'z'}, {"news", 'Z'}}})
		first := &Fn{ID: 2, Name: "same"}
		second := &Fn{ID: 3, Name: "same", Args: []Arg{{"a", 'i'}}}
		w.Fn(first)
		w.Fn(second)
		w.Call(&Call{Fn: first, Seq: 6})
		w.Call(&Call{Fn: second, Seq: 7, Args: []Value{{Int: -1 << 63}}})
		w.Info("bytes", "\xff\x00\n\"\\\x1f…")
		w.Type(&Type{ID: 4, Combiner: 77, Addrs: []int64{-8}})
		w.Type(&Type{ID: 5, Combiner: OtherCombiner})
		w.Comm(&Comm{ID: 1 << 33, Rank: 1, Size: 3, Inter: true, Ranks: []RankRun{{4, -2, 2}, {9, 0, 1}}, Remote: []RankRun{{1, 1, 5}}})
		w.Source(&Source{PC: 1 << 63, Func: "f", File: "", Column: 2})
		w.Block(&Block{Base: 1 << 63, Size: 1<<64 - 1, Seq: 9, Stack: 1})
		w.Access(&Access{Addr: 1 << 63, Size: 65535, Stride: 1 << 20, Count: 1 << 40, Store: true})
		w.Clock(Clock{Local: 1<<64 - 1})
	})
	lines := dump(t, data)
	packed := pack(t, lines)
	require.Equal(t, lines, dump(t, packed))
	require.Equal(t, records(t, data), records(t, packed))
	require.Equal(t, data, packed)
}

func TestPackByHand(t *testing.T) {
	got, r := events(t, pack(t, `
# the story of a bug
{"mcct":1,"rank":1,"ranks":2}
{"call":"MPI_Win_lock","stack":[{"func":"main","file":"a.c","line":3}],"args":{"lock_type":"MPI_LOCK_SHARED","win":1}}
{"access":"load","addr":4096,"size":4,"count":3,"stack":[{"func":"f","file":"a.c","line":9,"inlined":true},{"func":"main","file":"a.c","line":4}]}
{"access":"store","addr":"0x2000","size":8,"strand":1}
{"access":"store","addr":"0x3000","size":8,"rows":2,"row_step":-64,"strand":1}
{"call":"own","args":{"win:w":5,"many:I":[1,2]}}
{"call":"own","args":{"many":[3]},"returned":false}
{"end":{"units":1}}
`))
	require.Nil(t, r.Cut())
	require.Equal(t, 1, r.Header().Rank)
	require.Len(t, got, 8)
	lock := got[0].Call
	require.Equal(t, []Value{{Int: LockShared}, {}, {}, {Int: 1}, {}}, lock.Args)
	require.Equal(t, []any{uint64(1), int64(1), int64(2), true}, []any{lock.Seq, lock.Begin, lock.End, lock.Returned})
	require.Equal(t, Access{Addr: 4096, Size: 4, Stride: 4, Count: 3, Stack: got[1].Access.Stack}, got[1].Access)
	require.Equal(t, "f", r.Sources(r.Stack(got[1].Access.Stack)[0])[0].Func)
	require.Equal(t, uint32(1), got[2].Strand)
	require.Equal(t, Access{Addr: 0x2000, Size: 8, Count: 1, Store: true}, got[2].Access)
	require.Equal(t, []uint64{0x3000, 0x2fc0}, []uint64{got[3].Access.Addr, got[4].Access.Addr})
	require.Equal(t, []Value{{Int: 5}, {List: []int64{1, 2}}}, got[5].Call.Args)
	require.Equal(t, []Value{{}, {List: []int64{3}}}, got[6].Call.Args)
	require.Equal(t, int64(0), got[6].Call.End)
	require.Equal(t, KindEnd, got[7].Kind)
}

func TestPackErrors(t *testing.T) {
	const head = `{"mcct":1,"rank":0,"ranks":2}` + "\n"
	tests := []struct{ name, lines, want string }{
		{"empty", "", "no line: the first is the header"},
		{"no header", `{"mark":1}`, `line 1, column 1: field "mcct" is missing`},
		{"version", `{"mcct":2,"rank":0,"ranks":2}`, "line 1, column 1: version 2"},
		{"rank", `{"mcct":1,"rank":2,"ranks":2}`, "line 1: impossible rank 2 of 2"},
		{"run", `{"mcct":1,"rank":0,"ranks":2,"run":"12"}`, `line 1, column 36, field "run": 32 hexadecimal digits`},
		{"syntax", head + `{"mark":1,}`, "line 2, column 11: "},
		{"cut", head + `{"mark":1`, "line 2, column 9: unexpected end"},
		{"no object", head + `  [1]`, "line 2, column 3: an object"},
		{"two objects", head + `{"mark":1} {}`, "line 2, column 12: invalid character '{' after top-level value"},
		{"unknown line", head + `{"marc":1}`, "line 2, column 1: no field tells"},
		{"unknown field", head + "\n" + `{"mark":1,"marc":2}`, `line 3, column 18, field "marc": not known here`},
		{"twice", head + `{"mark":1,"mark":2}`, `field "mark" is there twice`},
		{"not whole", head + `{"mark":1.5}`, `line 2, column 9, field "mark": 1.5 is not a whole number`},
		{"negative", head + `{"mark":-1}`, `field "mark": -1 is not a number from 0`},
		{"too large", head + `{"access":"load","addr":0,"size":65536}`, `field "size": 65536 is not a number from 0 to 65535`},
		{"access kind", head + `{"access":"read","addr":0,"size":1}`, `field "access": "load" or "store"`},
		{"access without size", head + `{"access":"load","addr":0}`, `field "size" is missing`},
		{"access wraps", head + `{"access":"load","addr":"0xffffffffffffffff","size":8}`, `line 2, field "access": impossible access`},
		{"argument", head + `{"call":"MPI_Win_free","args":{"window":1}}`, `line 2, column 41, field "window": no argument of MPI_Win_free`},
		{"argument kind", head + `{"call":"MPI_Win_free","args":{"win:c":1}}`, `field "win:c": the argument is of kind w`},
		{"constant", head + `{"call":"MPI_Win_free","args":{"win":"MPI_X"}}`, `"MPI_X" is no number`},
		{"list", head + `{"call":"MPI_Win_post","args":{"group":1}}`, `field "group": a list`},
		{"element", head + `{"call":"MPI_Win_post","args":{"group":[1,"x"]}}`, `field "group": element 1`},
		{"status", head + `{"call":"MPI_Recv","args":{"status":[1]}}`, "not four a status"},
		{"function", head + `{"call":"MPI_X","args":{"win":1}}`, `field "call": MPI_X is not a built-in function`},
		{"fn again", head + `{"fn":1,"name":"f"}` + "\n" + `{"fn":1,"name":"g"}`, `line 3, field "fn": function 1 is defined again`},
		{"fn kinds", head + `{"fn":1,"name":"f","args":"a"}`, `field "args": argument "a" is not name:kind`},
		{"id", head + `{"call":"f","id":3}`, `field "id": no fn line defines f`},
		{"seq", head + `{"call":"MPI_Init","seq":0}`, `field "seq": calls are numbered from 1`},
		{"runs", head + `{"comm":1,"rank":0,"ranks":[[0,1]]}`, `field "ranks": run 0: [first rank, stride, count]`},
		{"own rank", head + `{"comm":1,"rank":3,"ranks":[[0,1,2]]}`, "communicator 1: rank 3 of 2"},
		{"combiner", head + `{"type":1,"combiner":"x","size":1}`, `field "combiner": one of named`},
		{"build id", head + `{"module":"/x","build_id":"x"}`, "impossible build id"},
		{"inner", head + `{"lost":{"reason":300}}`, `column 19, field "reason": 300`},
		{"text", head + `{"info":1}`, `field "info": a string`},
		{"not UTF-8", head + "{\"info\":\"\xff\"}", "line 2, column 1: not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Pack(context.Background(), strings.NewReader(tt.lines), io.Discard)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestDumpOfCutFile(t *testing.T) {
	data := file(t, func(w *Writer) { w.Mark(1) })
	var out bytes.Buffer
	err := Dump(context.Background(), bytes.NewReader(data), &out)
	var cut *Cut
	require.ErrorAs(t, err, &cut)
	require.Equal(t, int64(len(data)), cut.Offset)
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
}

func TestTwinStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Dump(ctx, bytes.NewReader(file(t, small)), io.Discard), context.Canceled)
	lines := `{"mcct":1,"rank":0,"ranks":2}` + strings.Repeat("\n", 2000)
	require.ErrorIs(t, Pack(ctx, strings.NewReader(lines), io.Discard), context.Canceled)
}
