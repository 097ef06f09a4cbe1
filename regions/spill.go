package regions

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// spillFile holds the rooms of a phase that do not fit into memory. The file has
// no name any more, so that nothing is left of it however the analysis ends.
//
// A room is its stretches, each with its accesses behind it, in little-endian
// words without gaps. Nothing reads it but the process that wrote it.
type spillFile struct {
	f    *os.File
	size int64
}

func newSpillFile() (*spillFile, error) {
	f, err := os.CreateTemp("", "mcchk-spill-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &spillFile{f: f}, nil
}

func (f *spillFile) close() error {
	if f == nil {
		return nil
	}
	return f.f.Close()
}

// Bytes of a stretch and of an access in the file.
const (
	storedStretch = 8 + 8 + 8 + 4 + 4 + 4 + 4 + 1
	storedAccess  = 8 + 8 + 8 + 4 + 4 + 1
)

// write adds a room, which is not empty; buf is storage that can be used again.
func (f *spillFile) write(r *room, buf *[]byte) (*storedRoom, error) {
	w := &storedRoom{
		at: f.size, accesses: len(r.accesses), lo: r.stretches[0].Lo, hi: r.stretches[0].Hi,
		from: r.stretches[0].Seg, to: r.stretches[len(r.stretches)-1].Seg,
	}
	b := slices.Grow((*buf)[:0], len(r.stretches)*storedStretch+len(r.accesses)*storedAccess)
	for i := range r.stretches {
		s := &r.stretches[i]
		w.lo, w.hi = min(w.lo, s.Lo), max(w.hi, s.Hi)
		b = appendStretch(b, s)
	}
	*buf, w.size = b, len(b)
	if _, err := f.f.WriteAt(b, f.size); err != nil {
		return nil, err
	}
	f.size += int64(len(b))
	return w, nil
}

func appendStretch(b []byte, s *Stretch) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, s.Lo)
	b = le.AppendUint64(b, s.Hi)
	b = le.AppendUint64(b, s.Pos)
	b = le.AppendUint32(b, uint32(s.Seg))
	b = le.AppendUint32(b, s.Strand)
	b = le.AppendUint32(b, s.locks)
	b = le.AppendUint32(b, uint32(len(s.Accesses)))
	b = append(b, flags(s.Loads, s.Stores))
	for i := range s.Accesses {
		a := &s.Accesses[i]
		b = le.AppendUint64(b, a.Addr)
		b = le.AppendUint64(b, uint64(a.Stride))
		b = le.AppendUint64(b, a.Count)
		b = le.AppendUint32(b, a.Size)
		b = le.AppendUint32(b, a.Stack)
		b = append(b, flags(a.Store, a.Atomic, a.Library))
	}
	return b
}

func flags(of ...bool) byte {
	b := byte(0)
	for i, f := range of {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// read reads a room into s.
func (f *spillFile) read(w *storedRoom, s *Scratch) error {
	s.buf = slices.Grow(s.buf[:0], w.size)[:w.size]
	if _, err := f.f.ReadAt(s.buf, w.at); err != nil {
		return fmt.Errorf("reading loads and stores that did not fit into memory: %w", err)
	}
	s.room.stretches, s.room.accesses = s.room.stretches[:0], slices.Grow(s.room.accesses[:0], w.accesses)
	for b := s.buf; len(b) > 0; {
		var st Stretch
		b = takeStretch(b, &st, &s.room)
		s.room.stretches = append(s.room.stretches, st)
	}
	return nil
}

// takeStretch reads a stretch; r has room for its accesses.
func takeStretch(b []byte, s *Stretch, r *room) []byte {
	le := binary.LittleEndian
	s.Lo, s.Hi, s.Pos = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	s.Seg, s.Strand, s.locks = int32(le.Uint32(b[24:])), le.Uint32(b[28:]), le.Uint32(b[32:])
	n := int(le.Uint32(b[36:]))
	s.Loads, s.Stores = b[40]&1 != 0, b[40]&2 != 0
	b = b[storedStretch:]
	from := len(r.accesses)
	for ; n > 0; n-- {
		r.accesses = append(r.accesses, trace.Access{
			Addr: le.Uint64(b), Stride: int64(le.Uint64(b[8:])), Count: le.Uint64(b[16:]),
			Size: le.Uint32(b[24:]), Stack: le.Uint32(b[28:]),
			Store: b[32]&1 != 0, Atomic: b[32]&2 != 0, Library: b[32]&4 != 0,
		})
		b = b[storedAccess:]
	}
	s.Accesses = r.accesses[from:len(r.accesses):len(r.accesses)]
	return b
}
