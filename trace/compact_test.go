package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNumbers: those of docs/trace-format.md, and each length.
func TestNumbers(t *testing.T) {
	require.Equal(t, []byte{0x0b}, appendNumber(nil, 5))
	require.Equal(t, []byte{0xb2, 0x04}, appendNumber(nil, 300))
	for bits := range 65 {
		for _, v := range []uint64{1<<bits - 1, 1 << bits, 1<<bits + 1} {
			b := appendNumber(nil, v)
			require.Len(t, b, min(9, max(1, (len(fmt.Sprintf("%b", v))+6)/7)))
			for _, behind := range []int{0, 1, 20} {
				s := numbers{b: append(bytes.Clone(b), make([]byte, behind)...)}
				require.Equal(t, v, s.next())
				require.Equal(t, len(b), s.at)
				require.False(t, s.bad)
			}
			s := numbers{b: b[:len(b)-1]}
			s.next()
			require.True(t, s.bad)
			require.Equal(t, v, signed(zigzag(v)))
		}
	}
	require.Equal(t, uint64(7), zigzag(math.MaxUint64-3)) // -4
	require.Equal(t, uint64(8), zigzag(4))
}

// repeated draws what programs do: calls of few places with arguments that change
// little or much, and accesses of few places at regular and other distances.
func repeated(t *rapid.T) func(w *Writer) {
	type step struct {
		kind, place, many int
		by, value         int64
	}
	number := rapid.OneOf(rapid.Int64Range(-8, 8), rapid.Int64(), rapid.Just(int64(0)))
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			kind: rapid.IntRange(0, 9).Draw(t, "kind"), place: rapid.SampledFrom([]int{0, 1, 2, 30, 31, 60, 128, 129}).Draw(t, "place"),
			many: rapid.IntRange(1, 70).Draw(t, "many"), by: number.Draw(t, "by"), value: number.Draw(t, "value"),
		}
	}), 1, 30).Draw(t, "steps")
	return func(w *Writer) {
		put := &Fn{ID: 1, Name: "put", Args: []Arg{{"at", ArgNumber}, {"to", ArgRank}}}
		list := &Fn{ID: 2, Name: "list", Args: []Arg{{"of", ArgNumbers}, {"n", ArgNumber}}}
		w.Fn(put)
		w.Fn(list)
		time, addr := int64(1), uint64(1)<<40
		for _, s := range steps {
			for k := range s.many {
				time += 100 + s.value%50
				c := Call{Begin: time, End: time + s.by%90, Returned: true, Stack: uint32(s.place)}
				switch s.kind {
				case 0:
					c.Fn, c.Args = put, []Value{{Int: s.value + int64(k)*s.by}, {Int: 3}}
				case 1:
					of := make([]int64, s.place*(1+s.many/60*20)) // at most 2580: more than a compact record holds otherwise
					for i := range of {
						of[i] = s.value + int64(i)*s.by
					}
					c.Fn, c.Args = list, []Value{{List: of}, {Int: s.by}}
				case 2:
					c.Fn, c.Args, c.Failed, c.Seq = put, []Value{{Int: s.value}, {Int: s.by}}, s.by > 0, w.seq+uint64(s.many)
				case 3:
					c.Fn, c.Args, c.Returned, c.End = put, []Value{{}, {}}, false, 0
				case 9: // in turn, from one place
					if c.Fn, c.Args = put, []Value{{Int: s.value + int64(k)*s.by}, {Int: 3}}; k%2 > 0 {
						c.Fn, c.Args = list, []Value{{List: make([]int64, k/2%2)}, {Int: s.by}}
					}
				default:
					addr += uint64(s.by % 1000)
					if s.kind == 8 {
						w.Grid(&Grid{
							Access: Access{Addr: addr, Size: 8, Stride: s.value%100 + 200, Count: uint64(1 + k%3), Stack: uint32(s.place), Store: s.by < 0},
							Rows:   uint16(1 + s.many%7), RowStep: s.value % 10000, Planes: uint16(1 + k%5), PlaneStep: int64(k%2) * 100000,
						})
						continue
					}
					a := Access{Addr: addr, Size: 8, Count: 1, Stack: uint32(s.place), Store: s.kind == 5, Atomic: s.kind == 6}
					if s.kind == 7 {
						a.Stride, a.Count = s.value%100+200, uint64(s.many)
					}
					w.Access(&a)
					continue
				}
				w.Call(&c)
			}
		}
		w.End(End{Units: 1})
	}
}

// TestCompactSaysTheSame: whatever is read from compact records is read from those
// of full length, in fewer bytes.
func TestCompactSaysTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		write := repeated(rt)
		length := rapid.SampledFrom([]int{300, 5000, 1 << 18}).Draw(rt, "length")
		full := file(t, func(w *Writer) { w.plain, w.length = true, length; write(w) })
		data := file(t, func(w *Writer) { w.length = length; write(w) })
		require.LessOrEqual(t, len(data), len(full))
		require.Equal(t, dump(t, full), dump(t, data))
		want, _ := events(t, full)
		got, r := events(t, data)
		require.Nil(t, r.Cut())
		require.Equal(t, want, got)
		require.Equal(t, batched(t, full), batched(t, data))
	})
}

// batched reads a file by batches, and returns calls and accesses in their order.
func batched(t testing.TB, data []byte) (all []Event) {
	r, err := NewReader(bytes.NewReader(data), "f")
	require.NoError(t, err)
	var b Batch
	for b.Err == nil {
		r.ReadBatch(&b, 100)
		for _, item := range b.Items {
			ev := Event{Kind: item.Kind, Strand: item.Strand}
			switch item.Kind {
			case KindCall:
				ev.Call = item.Call
				all = append(all, copyEvent(ev))
			case KindAccess:
				for a := range InOrder(item.Stretch.Rows) {
					ev.Access = a
					all = append(all, ev)
				}
			}
		}
	}
	require.ErrorIs(t, b.Err, io.EOF)
	return all
}

// TestCompactIsShort: the sizes that docs/benchmarks.md tells of.
func TestCompactIsShort(t *testing.T) {
	const n = 10000
	x := uint64(88172645463325252)
	for _, tt := range []struct {
		name  string
		most  float64 // bytes each
		write func(w *Writer, i int)
	}{
		{"call that repeats itself", 8, func(w *Writer, i int) {
			w.CallNamed("MPI_Put", 1, Args{"origin_addr": 0x1000, "origin_count": 1, "origin_datatype": 2, "target_disp": i % 2})
		}},
		{"irregular access", 6, func(w *Writer, i int) {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			w.Access(&Access{Addr: 1<<40 + x%(1<<22)*8, Size: 8, Count: 1, Stack: 1})
		}},
		{"access of a row", 1.2, func(w *Writer, i int) {
			w.Access(&Access{Addr: uint64(1<<40 + i/3*8192), Size: 8, Stride: 8, Count: 1000, Stack: uint32(i % 3)})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := file(t, func(w *Writer) {
				for i := range n {
					tt.write(w, i)
				}
			})
			require.Less(t, float64(len(data))/n, tt.most)
		})
	}
}

// someCompact is a small file with compact records of all kinds.
func someCompact(t testing.TB) []byte {
	return file(t, func(w *Writer) {
		for i := range 12 {
			w.CallNamed("MPI_Win_post", 1, Args{"group": []int{0, i}, "win": 1})
			w.Access(&Access{Addr: uint64(0x1000 + 8*i), Size: 8, Count: 1, Stack: 1})
			w.Access(&Access{Addr: uint64(0x1000 + 8*i), Size: 8, Count: 1, Stack: 2, Store: true})
			w.Access(&Access{Addr: uint64(0x9000 + i*i*i), Size: 4, Stride: int64(4 * i), Count: 2 + uint64(i)%3, Stack: 3})
			w.Grid(&Grid{
				Access: Access{Addr: uint64(0x20000 + i*i*i), Size: 4, Stride: 4, Count: 2, Stack: 4},
				Rows:   uint16(1 + i%4), RowStep: int64(100 * i), Planes: 2, PlaneStep: -1000,
			})
		}
		w.call(w.names.fns["MPI_Win_post"].ID, &Call{Stack: 1, Begin: 1000}, []int64{0, 0, 1})
		w.End(End{Units: 1})
	})
}

// TestCompactCut: of a file that was cut is read what was whole, and no more.
func TestCompactCut(t *testing.T) {
	data := someCompact(t)
	whole, r := events(t, data)
	require.Nil(t, r.Cut())
	all := strandsOf(whole)
	for n := headerSize; n < len(data); n++ {
		got, r := events(t, data[:n])
		require.NotNil(t, r.Cut(), n)
		for s, part := range strandsOf(got) {
			requirePrefix(t, all[s], part)
		}
	}
}

// TestCompactDamaged: no byte that is not what it was, with a checksum that hides it,
// makes a reader fail otherwise than by saying where.
func TestCompactDamaged(t *testing.T) {
	data := someCompact(t)
	damaged := 0
	for at := headerSize; at < len(data); at++ {
		for _, change := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(data)
			bad[at] ^= change
			bad = repair(bad)
			r, err := NewReader(bytes.NewReader(bad), "f")
			require.NoError(t, err)
			var ev Event
			for err == nil {
				if err = r.ReadEvent(&ev); err == nil {
					checkEvent(t, r, &ev)
				}
			}
			require.ErrorIs(t, err, io.EOF)
			if cut := r.Cut(); cut != nil {
				damaged++
				require.LessOrEqual(t, cut.Offset, int64(len(bad)))
				require.NotEmpty(t, cut.Reason)
			}
			dump(t, bad)
			var b Batch
			if r, err = NewReader(bytes.NewReader(bad), "f"); err == nil {
				for b.Err == nil {
					r.ReadBatch(&b, 10)
				}
				require.True(t, errors.Is(b.Err, io.EOF))
			}
		}
	}
	require.Greater(t, damaged, len(data))
}

// TestCompactErrors: what is wrong with a compact record is said.
func TestCompactErrors(t *testing.T) {
	compact := func(kind RecordKind, size int, stream ...byte) []byte {
		b := append(begin(nil, kind, 0, uint16(size/8)), stream...)
		b = pad(b, 0)
		le.PutUint32(b[4:], uint32(len(b)))
		return b
	}
	access, err := appendAccess(nil, &Access{Addr: 8, Size: 8, Count: 1, Stack: 3})
	require.NoError(t, err)
	literal := append([]byte{compactLiteral}, access...)
	grid, err := appendGrid(nil, &Grid{Access: Access{Addr: 8, Size: 8, Count: 1, Stack: 3}, Rows: 1, Planes: 1})
	require.NoError(t, err)
	grid = append([]byte{compactLiteral}, grid...)
	for name, tt := range map[string]struct {
		record []byte
		want   string
	}{
		"nothing":          {compact(RecordCompactCalls, 40), errCompactShort.Error()},
		"no call before":   {compact(RecordCompactCalls, 40, 5, 1, 1, 1), errNoPlace.Error()},
		"short":            {compact(RecordCompactCalls, 400, compactLiteral, 3, 0, 0, 0), errCompactShort.Error()},
		"long":             {compact(RecordCompactCalls, 0, 1, 2, 3, 4, 5, 6, 7, 8), errCompactLong.Error()},
		"alone, cut":       {compact(RecordCompactCalls, 40, compactAlone), errCompactShort.Error()},
		"alone, too long":  {compact(RecordCompactCalls, 40, compactAlone, 1, 3, 3, 3, 1, 1, 1), errCompactLong.Error()},
		"too many words":   {compact(RecordCompactCalls, 48, compactAlone, 1, 3, 3, 3, 1, 1, 1, 5), errCompactLong.Error()},
		"no place":         {compact(RecordCompactAccesses, 32, 7), errNoPlace.Error()},
		"no such access":   {compact(RecordCompactAccesses, 32, 250), "an access that begins with 250"},
		"no such call":     {compact(RecordCompactCalls, 40, 131), "a call that begins with 131"},
		"apart, cut":       {compact(RecordCompactCalls, 40, compactApart, 5, 1), errCompactShort.Error()},
		"apart, too far":   {compact(RecordCompactCalls, 40, compactApart, 128, 1, 3, 3, 1, 1, 1, 1), errNoPlace.Error()},
		"half an access":   {compact(RecordCompactAccesses, 40, append(literal, 3)...), errCompactLong.Error()},
		"half a grid":      {compact(RecordCompactAccesses, 56+48, append(bytes.Clone(grid), compactGrid, 6, 0, 3, 3)...), errCompactLong.Error()},
		"grid, cut":        {compact(RecordCompactAccesses, 112, append(bytes.Clone(grid), compactGrid, 6, 1, 3, 3)...), errCompactShort.Error()},
		"no grid":          {compact(RecordCompactAccesses, 56, compactGrid, 6, 0, 3, 3), errNoPlace.Error()},
		"no place of one":  {compact(RecordCompactAccesses, 56, compactGrid, 60, 0, 3, 3), errNoPlace.Error()},
		"no field":         {compact(RecordCompactAccesses, 112, append(bytes.Clone(grid), compactGrid, 6, 32, 3, 3)...), errCompactLong.Error()},
		"bits, cut":        {compact(RecordCompactAccesses, 32, compactBits, 1, 9, 7, 17, 9, 9, 1), errCompactShort.Error()},
		"bits, too many":   {compact(RecordCompactAccesses, 32, compactBits, 1, 9, 7, 17, 9, 3, 5), errCompactLong.Error()},
		"bits, too few":    {compact(RecordCompactAccesses, 64, compactBits, 1, 9, 7, 17, 9, 3, 6), errCompactShort.Error()},
		"bits, no size":    {compact(RecordCompactAccesses, 32, compactBits, 1, 4, 0, 9, 7, 17, 9, 3, 6), errCompactShort.Error()},
		"half a mark":      {compact(RecordCompactAccesses, 8, compactMark, 3), errCompactLong.Error()},
		"no access":        {compact(RecordCompactAccesses, 16, append([]byte{compactLiteral}, rec(RecordMark, 1)...)...), "type 8 among"},
		"one in another":   {compact(RecordCompactCalls, 8, append([]byte{compactLiteral}, compact(RecordCompactCalls, 0)...)...), errNested.Error()},
		"numbers cut":      {compact(RecordCompactAccesses, 64, append(literal, accessBy+2*3, 0)...), errCompactShort.Error()},
		"passes the chunk": {rec(RecordCompactCalls, 1, 2)[:16], "passes the end of its chunk"},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := events(t, raw(t, tt.record))
			require.Empty(t, got)
			require.NotNil(t, r.Cut())
			require.Contains(t, r.Cut().Reason, tt.want)
			require.Equal(t, int64(headerSize+chunkHeaderSize), r.Cut().Offset)
		})
	}
}

// TestBitsAreRuns: elements that bits name are accesses, those side by side one.
func TestBitsAreRuns(t *testing.T) {
	stream := []byte{compactBits, accessStore}
	for _, n := range []uint64{4, 7, 0x1000, 12, 10} { // size, stack, address, distance, bytes
		stream = appendNumber(stream, n)
	}
	stream = append(stream, 0b10000001, 0b1, 0, 0, 0, 0, 0, 0, 0b111, 0b10000000)
	record := append(begin(nil, RecordCompactAccesses, 0, 4*accessSize/8), stream...)
	record = pad(record, 0)
	le.PutUint32(record[4:], uint32(len(record)))
	got, _ := events(t, raw(t, record))
	var list []Access
	for _, ev := range got {
		require.Equal(t, KindAccess, ev.Kind)
		list = append(list, ev.Access)
	}
	require.Equal(t, []Access{
		{Addr: 0x1000, Size: 4, Count: 1, Store: true, Stack: 7},
		{Addr: 0x1000 + 7*12, Stride: 12, Size: 4, Count: 2, Store: true, Stack: 7},
		{Addr: 0x1000 + 64*12, Stride: 12, Size: 4, Count: 3, Store: true, Stack: 7},
		{Addr: 0x1000 + 79*12, Size: 4, Count: 1, Store: true, Stack: 7},
	}, list)
}

// TestRoomSaysNothing: neither among calls nor among accesses.
func TestRoomSaysNothing(t *testing.T) {
	access, err := appendAccess(nil, &Access{Addr: 8, Size: 8, Count: 1, Stack: 3})
	require.NoError(t, err)
	for _, accesses := range []bool{false, true} {
		data := file(t, func(w *Writer) {
			w.plain = true
			w.BeginChunk(Chunk{Sealed: true, Accesses: accesses})
			w.buf = append(w.buf, rec(RecordRoom, 1, 2, 3)...)
			w.Mark(0)
			w.buf = append(w.buf, access...)
			w.buf = append(w.buf, rec(RecordRoom)...)
			w.BeginChunk(Chunk{Sealed: true})
			w.End(End{})
		})
		got, r := events(t, data)
		require.Nil(t, r.Cut())
		require.Len(t, got, 2)
		require.Equal(t, uint64(8), got[0].Access.Addr)
	}
}

// TestIndexOfVersion1: groups are words there.
func TestIndexOfVersion1(t *testing.T) {
	want := Index{Loads: 3, Stores: 4, Lo: 5, Hi: 60, Groups: []Group{{1, 2}, {3, 4}}}
	b := begin(nil, RecordIndex, 0, 0)
	for _, v := range []uint64{3, 4, 5, 60, 2, 1 | 2<<32, 3 | 4<<32} {
		b = app64(b, v)
	}
	le.PutUint32(b[4:], uint32(len(b)+indexTail))
	b = app64(b, uint64(checksum(b)))
	got, err := decodeIndex(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	le.PutUint32(b[40:], 3)
	le.PutUint32(b[len(b)-indexTail:], checksum(b[:len(b)-indexTail]))
	_, err = decodeIndex(b)
	require.ErrorIs(t, err, errIndex)
}

// TestPassOverAccesses: all else is read as it was.
func TestPassOverAccesses(t *testing.T) {
	kinds := func(pass bool) (all []RecordKind, accesses int) {
		r, err := NewRecordReader(bytes.NewReader(someCompact(t)), "f")
		require.NoError(t, err)
		if pass {
			r.PassOverAccesses()
		}
		var rec Record
		for {
			if err := r.Read(&rec); err != nil {
				require.ErrorIs(t, err, io.EOF)
				require.Nil(t, r.Cut())
				return all, accesses
			}
			switch rec.Kind {
			case RecordAccess, RecordGrid, RecordMark:
				accesses++
			default:
				all = append(all, rec.Kind)
			}
		}
	}
	want, some := kinds(false)
	got, none := kinds(true)
	require.Equal(t, want, got)
	require.Positive(t, some)
	require.Zero(t, none)
}
