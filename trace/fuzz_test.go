package trace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// repair makes the checksums of a mutated file right, so that the mutation
// reaches the decoders behind them.
func repair(data []byte) []byte {
	data = bytes.Clone(data)
	if len(data) < headerSize {
		return data
	}
	le.PutUint32(data[headerCRC:], checksum(data[:headerCRC]))
	at := int(le.Uint32(data[12:]))
	for at >= headerSize && at+chunkHeaderSize <= len(data) {
		b := data[at:]
		size, used := int(le.Uint32(b[4:])), int(le.Uint32(b[20:]))
		if size < chunkHeaderSize || chunkHeaderSize+used > len(b) {
			break
		}
		le.PutUint32(b[12:], checksum(b[chunkHeaderSize:chunkHeaderSize+used]))
		at += size
	}
	return data
}

func addSeeds(f *testing.F) {
	f.Add(file(f, small))
	f.Add(chunked(f))
	f.Add(twoStrands(f))
	f.Add(apart(f))
	f.Add(someCompact(f))
	f.Add(compress(f, chunked(f)))
}

// FuzzReader: no bytes make the reader panic, fail otherwise than in the
// header, deliver accesses that are not normalised, or calls of a strand out
// of order within a chunk.
func FuzzReader(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for i, data := range [][]byte{data, repair(data), data, repair(data)} {
			r, err := NewReader(bytes.NewReader(data), "f")
			if err != nil {
				continue
			}
			if i >= 2 {
				r.Skip(func(lo, _ uint64) bool { return lo%3 != 0 })
			}
			var ev Event
			for err == nil {
				if err = r.ReadEvent(&ev); err == nil {
					checkEvent(t, r, &ev)
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if r.Cut() == nil && r.End() == nil {
				t.Fatal("complete without an end record")
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func checkEvent(t *testing.T, r *Reader, ev *Event) {
	switch ev.Kind {
	case KindAccess:
		a := ev.Access
		if a.Size == 0 || a.Count == 0 || a.Stride < 0 || a.Stride == 0 && a.Count != 1 {
			t.Fatalf("access %+v", a)
		}
		if end := a.Addr + (a.Count-1)*uint64(a.Stride) + uint64(a.Size); end <= a.Addr {
			t.Fatalf("access %+v wraps around", a)
		}
	case KindCall:
		if ev.Call.Seq == 0 || len(ev.Call.Args) != len(ev.Call.Fn.Args) {
			t.Fatalf("call %+v", ev.Call)
		}
		r.Stack(ev.Call.Stack)
	case KindLost, KindEnd, KindSkipped:
	default:
		t.Fatalf("kind %d", ev.Kind)
	}
}

// FuzzRecordReader: what can be read of any bytes survives dumping and packing.
func FuzzRecordReader(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, repair(data)} {
			if r, err := NewRecordReader(bytes.NewReader(data), "f"); err == nil {
				r.Close()
				sameAgain(t, data)
			}
		}
	})
}

// sameAgain checks that dumping, packing and dumping a file gives the lines of
// the first dump.
func sameAgain(t *testing.T, data []byte) {
	lines := dump(t, data)
	var packed bytes.Buffer
	if err := Pack(context.Background(), strings.NewReader(lines), &packed); err != nil {
		t.Fatalf("%v\n%s", err, lines)
	}
	if again := dump(t, packed.Bytes()); again != lines {
		t.Fatalf("lines\n%s\nbecame\n%s", lines, again)
	}
}

// FuzzPack: no text makes Pack panic, and what it packs can be read.
func FuzzPack(f *testing.F) {
	f.Add(dump(f, file(f, small)))
	f.Add(dump(f, twoStrands(f)))
	f.Add(`{"mcct":1,"rank":0,"ranks":2}
{"call":"MPI_Put","args":{"origin_addr":"0x1000","target_rank":1,"win":1},"stack":[{"func":"f","inlined":true},{"func":"main","file":"a.c","line":1}]}
{"call":"own","args":{"a:i":1,"b:S":[1,2,3,4]},"strand":1}
{"access":"store","addr":1,"size":8,"count":2}
{"end":{"units":1}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		var packed bytes.Buffer
		if Pack(context.Background(), strings.NewReader(lines), &packed) != nil {
			return
		}
		r, err := NewRecordReader(bytes.NewReader(packed.Bytes()), "f")
		for err == nil {
			err = r.Read(&Record{})
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if cut := r.Cut(); cut != nil && cut.Offset != int64(packed.Len()) {
			t.Fatal(cut)
		}
		sameAgain(t, packed.Bytes())
	})
}
