package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// chunked is a file of one strand with several chunks.
func chunked(t testing.TB) []byte {
	return file(t, func(w *Writer) {
		small := func(n int) {
			for i := range n {
				w.Access(&Access{Addr: uint64(0x1000 + i), Size: 1, Count: 1, Stack: 1})
			}
		}
		w.Info("program", "p")
		w.CallNamed("MPI_Init", 0, nil)
		small(2)
		w.BeginChunk(Chunk{Seq: 1, Region: 1, Sealed: true})
		small(3)
		w.CallNamed("MPI_Win_post", 0, Args{"group": []int{0, 1}, "win": 1})
		w.BeginChunk(Chunk{Seq: 2, Region: 1, Sealed: true})
		w.CallNamed("MPI_Finalize", 0, nil)
		w.End(End{Units: 1})
	})
}

// twoStrands is a file whose second strand has chunks between those of the first.
func twoStrands(t testing.TB) []byte {
	return file(t, func(w *Writer) {
		w.CallNamed("MPI_Init", 0, nil)
		w.Access(&Access{Addr: 1, Size: 1, Count: 1})
		w.CallNamed("MPI_Win_fence", 0, Args{"win": 1})
		w.Access(&Access{Addr: 2, Size: 1, Count: 1})
		w.BeginChunk(Chunk{Strand: 1, Seq: 1, Sealed: true})
		w.Access(&Access{Addr: 0x101, Size: 1, Count: 1})
		w.Mark(2)
		w.Access(&Access{Addr: 0x102, Size: 1, Count: 1})
		w.CallNamed("MPI_Win_sync", 0, Args{"win": 1})
		w.BeginChunk(Chunk{Strand: 0, Seq: 2, Sealed: true})
		w.Access(&Access{Addr: 3, Size: 1, Count: 1})
		w.CallNamed("MPI_Finalize", 0, nil)
		w.End(End{Units: 1})
	})
}

// apart is a file whose accesses have chunks of their own.
func apart(t testing.TB) []byte {
	return file(t, func(w *Writer) {
		w.length = 160
		w.CallNamed("MPI_Init", 0, nil)
		for i := range 20 {
			for k := range 1 + i%3 {
				w.Access(&Access{Addr: uint64(100*i + k), Size: 1, Count: 1})
			}
			w.CallNamed("MPI_Win_fence", 0, Args{"win": 1})
		}
		w.CallNamed("MPI_Finalize", 0, nil)
		w.End(End{Units: 1})
	})
}

// strandsOf divides events as chunks do.
func strandsOf(evs []Event) map[[2]uint32][]Event {
	by := map[[2]uint32][]Event{}
	for _, ev := range evs {
		key := [2]uint32{ev.Strand}
		if ev.Kind == KindAccess {
			key[1] = 1
		}
		by[key] = append(by[key], ev)
	}
	return by
}

func requirePrefix(t *testing.T, whole, part []Event) {
	t.Helper()
	require.LessOrEqual(t, len(part), len(whole))
	for i := range part {
		require.Equal(t, whole[i], part[i])
	}
}

func TestCutAnywhere(t *testing.T) {
	for name, data := range map[string][]byte{"one strand": chunked(t), "two strands": twoStrands(t), "accesses apart": apart(t)} {
		t.Run(name, func(t *testing.T) {
			whole, r := events(t, data)
			require.Nil(t, r.Cut())
			all := strandsOf(whole)
			for n := range data {
				if n < headerSize {
					_, err := NewReader(bytes.NewReader(data[:n]), "a.mcct")
					require.ErrorContains(t, err, "a.mcct: offset ")
					continue
				}
				got, r := events(t, data[:n])
				require.NotNil(t, r.Cut(), n)
				require.LessOrEqual(t, r.Cut().Offset, int64(n))
				if name == "one strand" {
					requirePrefix(t, whole, got)
				}
				for s, part := range strandsOf(got) {
					requirePrefix(t, all[s], part)
				}
				require.NotPanics(t, func() { dump(t, data[:n]) })
			}
		})
	}
}

func TestCutKeepsWholeRecords(t *testing.T) {
	data := file(t, func(w *Writer) {
		w.plain = true
		w.CallNamed("MPI_Init", 0, nil)
		for range 3 {
			w.Access(&Access{Addr: 8, Size: 8, Count: 1})
		}
	})
	index := indexHead + 8 + indexTail
	got, r := events(t, data[:len(data)-index-1])
	require.Len(t, got, 3)
	require.Equal(t, &Cut{Offset: int64(len(data) - index - 1), Reason: "the file ends inside a chunk"}, r.Cut())
}

func TestEveryBitFlipped(t *testing.T) {
	data := chunked(t)
	whole, _ := events(t, data)
	first := headerSize
	firstEnd := first + int(binary.LittleEndian.Uint32(data[first+4:]))
	for bit := range 8 * len(data) {
		bad := bytes.Clone(data)
		bad[bit/8] ^= 1 << (bit % 8)
		r, err := NewReader(bytes.NewReader(bad), "bad")
		if bit/8 < headerSize {
			require.Error(t, err, "bit %d", bit)
			continue
		}
		require.NoError(t, err)
		var got []Event
		for {
			var ev Event
			if err := r.ReadEvent(&ev); err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			got = append(got, copyEvent(ev))
		}
		if at := bit / 8; at >= first+chunkHeaderSize && at < firstEnd {
			require.Empty(t, got, "bit %d", bit)
			require.Equal(t, &Cut{Offset: headerSize, Reason: "the checksum of a chunk is wrong"}, r.Cut())
		} else {
			require.LessOrEqual(t, len(got), len(whole))
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	good := chunked(t)
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		le.PutUint32(b[headerCRC:], checksum(b[:headerCRC]))
		return b
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "f: offset 128: "},
		{"random", bytes.Repeat([]byte{0x5a}, 4096), "f: offset 0: not a trace file"},
		{"random and short", []byte("ELF"), "f: offset 0: not a trace file"},
		{"version", change(8, 6), "f: offset 8: version 6 of the trace format"},
		{"length", change(12, 127), "f: offset 12: impossible length 127"},
		{"longer than the file", change(14, 1)[:headerSize+1], "f: offset 12: impossible length"},
		{"rank", change(32, 9), "f: offset 32: impossible rank 9 of 2 processes"},
		{"no processes", change(36, 0), "f: offset 32: impossible rank 0 of 0 processes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "empty" {
				tt.want = "f: offset 0: the file is empty"
			}
			_, err := NewReader(bytes.NewReader(tt.data), "f")
			require.ErrorContains(t, err, tt.want)
			_, err = NewRecordReader(bytes.NewReader(tt.data), "f")
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLongerHeaderIsSkipped(t *testing.T) {
	data := chunked(t)
	want, _ := events(t, data)
	longer := append(bytes.Clone(data[:headerSize]), make([]byte, 8)...)
	le.PutUint32(longer[12:], headerSize+8)
	le.PutUint32(longer[headerCRC:], checksum(longer[:headerCRC]))
	got, r := events(t, append(longer, data[headerSize:]...))
	require.Nil(t, r.Cut())
	require.Equal(t, want, got)
}

// raw makes a file of one sealed chunk with these records.
func raw(t testing.TB, payload ...[]byte) []byte {
	return file(t, func(w *Writer) {
		w.plain = true
		w.BeginChunk(Chunk{Sealed: true})
		for _, p := range payload {
			w.buf = append(w.buf, p...)
		}
	})
}

// rec makes a record of a type, with 8-byte words after its first eight bytes.
func rec(kind RecordKind, words ...uint64) []byte {
	b := begin(nil, kind, 0, 0)
	for _, w := range words {
		b = app64(b, w)
	}
	le.PutUint32(b[4:], uint32(len(b)))
	return b
}

func fnRecord(text string) []byte {
	b, _ := finish(append(begin(nil, RecordFn, 0, 0), text...), 0)
	return b
}

func TestDamagedRecords(t *testing.T) {
	call := func(words ...uint64) []byte { return rec(RecordCall, append([]uint64{1, 0, 0, 0}, words...)...) }
	access := func(size byte, addr, stride, count uint64) []byte {
		b := rec(RecordAccess, addr, stride, count)
		b[2], b[4] = size, 0
		return b
	}
	const top = 1<<64 - 1
	tests := []struct {
		name   string
		record []byte
		want   string
	}{
		{"length 0", make([]byte, 8), "impossible record length 0"},
		{"odd length", []byte{99, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "impossible record length 9"},
		{"past the chunk", []byte{99, 0, 0, 0, 64, 0, 0, 0}, "passes the end of its chunk"},
		{"short call", rec(RecordCall, 1), "shorter than its fields"},
		{"short stack", rec(RecordStack), "shorter than its fields"},
		{"stack", rec(RecordStack, 5<<32|1, 7), "a stack of 5 frames and 0 frame pointers in"},
		{"type", rec(RecordType, 1, 0, 0, 0, 1<<32-1, 0), "shorter than its contents"},
		{"comm", rec(RecordComm, 1, 0, 9), "shorter than its runs"},
		{"comm of too many", rec(RecordComm, 1, 2<<32, 1, 0, 1, top), "impossible run of ranks"},
		{"comm with a rank less than none", rec(RecordComm, 1, 1<<32, 1, 1<<64-5, 0, 1), "impossible run of ranks"},
		{"comm of other size", rec(RecordComm, 1, 2<<32, 1, 0, 1, 1), "does not agree with its runs"},
		{"module", rec(RecordModule, 0, 0, 0, 100), "shorter than its texts"},
		{"source", rec(RecordSource, 0, 0, 100), "shorter than its texts"},
		{"fn without name", rec(RecordFn), "without a name"},
		{"fn without kind", fnRecord("f a"), "is not name:kind"},
		{"fn kind", fnRecord("f a:?"), "is not name:kind"},
		{"fn twice the argument", fnRecord("f a:i,a:i"), "argument a twice"},
		{"call without argument", append(fnRecord("f a:i"), call()...), "lacks argument a"},
		{"call too long", append(fnRecord("f"), call(1)...), "longer than its arguments"},
		{"list too long", append(fnRecord("f a:I"), call(2, 1)...), "impossible length 2"},
		{"list of negative length", append(fnRecord("f a:I"), call(top)...), "impossible length -1"},
		{"half a status", append(fnRecord("f a:S"), call(1, 1)...), "impossible length 1"},
		{"access of size 0", access(0, 1, 0, 1), "an access without size"},
		{"access past the end", access(8, top-7, 0, 1), "past the end"},
		{"run past the end", access(1, 1, 1<<62, 5), "past the end"},
		{"run before 0", access(1, 1, top, 3), "past the end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := raw(t, rec(RecordLost, 1, 1), tt.record, rec(RecordLost, 2, 2))
			got, r := events(t, data)
			require.Len(t, got, 1)
			require.ErrorContains(t, r.Cut(), tt.want)
			require.GreaterOrEqual(t, r.Cut().Offset, int64(headerSize+chunkHeaderSize+24))
			rr, err := NewRecordReader(bytes.NewReader(data), "f")
			require.NoError(t, err)
			for err == nil {
				err = rr.Read(&Record{})
			}
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, r.Cut(), rr.Cut())
		})
	}
}

func TestCallsOutOfOrderAreDamage(t *testing.T) {
	_, r := events(t, file(t, func(w *Writer) {
		fn, err := w.Define("MPI_Finalize", nil)
		require.NoError(t, err)
		w.Call(&Call{Fn: fn, Seq: 3})
		w.Call(&Call{Fn: fn, Seq: 3})
	}))
	require.ErrorContains(t, r.Cut(), "call 3 after call 3")
}

func TestUndefinedFunction(t *testing.T) {
	data := file(t, func(w *Writer) { w.call(4, &Call{Seq: 1}, nil) })
	_, r := events(t, data)
	require.ErrorContains(t, r.Cut(), "a call of function 4, which is not defined")
	require.Contains(t, dump(t, data), `{"call":4,"seq":1,`)
}

func TestUnknownRecordsAreSkipped(t *testing.T) {
	got, r := events(t, raw(t, rec(99, 1, 2), rec(RecordEnd, 1, 2, 3), rec(0, 4)))
	require.Nil(t, r.Cut())
	require.Len(t, got, 1)
}

func TestOpenChunks(t *testing.T) {
	open := file(t, func(w *Writer) {
		w.BeginChunk(Chunk{})
		w.CallNamed("MPI_Init", 0, nil)
		w.Access(&Access{Addr: 8, Size: 8, Count: 1})
	})
	closed := file(t, func(w *Writer) {
		w.BeginChunk(Chunk{})
		w.CallNamed("MPI_Init", 0, nil)
		w.Access(&Access{Addr: 8, Size: 8, Count: 1})
		w.End(End{})
	})
	// spare is room in the chunk that was not used; free is room after it.
	spare := func(data []byte, n, free int) []byte {
		b := append(bytes.Clone(data), make([]byte, n+free)...)
		at := headerSize + 4
		le.PutUint32(b[at:], le.Uint32(b[at:])+uint32(n))
		return b
	}
	tests := []struct {
		name string
		data []byte
		want string // of the cut
	}{
		{"died", open, "no end record"},
		{"died, with room", spare(open, 4096, 0), "no end record"},
		{"died, with room after", spare(open, 4096, 8192), "no end record"},
		{"ended", closed, ""},
		{"ended, with room", spare(closed, 4096, 4096), ""},
		{"ended, room cut off", spare(closed, 4096, 0)[:len(closed)+8], "the file ends inside a chunk"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, r := events(t, tt.data)
			if tt.want == "" {
				require.Nil(t, r.Cut())
				require.Len(t, got, 3)
				return
			}
			require.ErrorContains(t, r.Cut(), tt.want)
			require.GreaterOrEqual(t, len(got), 2)
		})
	}
}

func TestHugeChunkTakesNoMemory(t *testing.T) {
	data := append(raw(t), make([]byte, 64)...)
	at := headerSize
	le.PutUint32(data[at+4:], maxChunkSize)
	le.PutUint32(data[at+20:], maxChunkSize-chunkHeaderSize)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, r := events(t, data)
	runtime.ReadMemStats(&after)
	require.NotNil(t, r.Cut())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}

func TestInputErrorIsAnError(t *testing.T) {
	broken := errors.New("broken disk")
	data := chunked(t)
	r, err := NewReader(io.MultiReader(bytes.NewReader(data[:200]), iotest.ErrReader(broken)), "f")
	require.NoError(t, err)
	for err == nil {
		err = r.ReadEvent(&Event{})
	}
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "f: offset ")
}

func compress(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	for len(data) > 0 { // several blocks, so that a cut leaves some whole
		n := min(len(data), 1<<12)
		_, err = w.Write(data[:n])
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		data = data[n:]
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestCompressed(t *testing.T) {
	data := file(t, func(w *Writer) {
		w.plain = true
		w.CallNamed("MPI_Init", 0, nil)
		for i := range 1000 {
			w.Access(&Access{Addr: uint64(i * i), Size: 8, Count: 1})
		}
		w.End(End{})
	})
	want, _ := events(t, data)
	zst := compress(t, data)
	got, r := events(t, zst)
	require.Nil(t, r.Cut())
	require.Equal(t, want, got)
	require.NoError(t, r.Close())
	require.Equal(t, dump(t, data), dump(t, zst))

	got, r = events(t, zst[:len(zst)/2])
	require.NotNil(t, r.Cut())
	require.NotEmpty(t, got)
	for s, part := range strandsOf(got) {
		requirePrefix(t, strandsOf(want)[s], part)
	}

	bad := bytes.Clone(zst)
	for i := len(bad) / 2; i < len(bad)/2+40; i++ {
		bad[i] ^= 0x55
	}
	got, r = events(t, bad)
	require.NotNil(t, r.Cut())
	for s, part := range strandsOf(got) {
		requirePrefix(t, strandsOf(want)[s], part)
	}

	broken := errors.New("broken disk")
	rr, err := NewReader(io.MultiReader(bytes.NewReader(zst[:len(zst)/2]), iotest.ErrReader(broken)), "f")
	require.NoError(t, err)
	for err == nil {
		err = rr.ReadEvent(&Event{})
	}
	require.ErrorIs(t, err, broken)
}
