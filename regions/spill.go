package regions

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// spillFile holds the rooms and moments of a phase that do not fit into memory. The file has
// no name any more, so that nothing is left of it however the analysis ends.
//
// A room is its stretches, each with its rows behind it; all is little-endian
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

// Bytes of a stretch, of rows and of a moment in the file.
const (
	storedStretch = 8 + 8 + 8 + 4 + 4 + 4 + 4 + 4 + 1
	storedRows    = 8 + 8 + 8 + 8 + 4 + 4 + 2 + 2 + 1 + 1
	storedMoment  = 6*4 + 5*8
)

// write adds bytes, and returns where they lie.
func (f *spillFile) write(b []byte) (at int64, err error) {
	at = f.size
	if _, err := f.f.WriteAt(b, at); err != nil {
		return 0, err
	}
	f.size += int64(len(b))
	return at, nil
}

// load reads bytes into the storage of s.
func (f *spillFile) load(at int64, size int, s *Scratch) error {
	s.buf = slices.Grow(s.buf[:0], size)[:size]
	if _, err := f.f.ReadAt(s.buf, at); err != nil {
		return fmt.Errorf("reading accesses that did not fit into memory: %w", err)
	}
	return nil
}

func appendStretch(b []byte, s *Stretch) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, s.Lo)
	b = le.AppendUint64(b, s.Hi)
	b = le.AppendUint64(b, s.Pos)
	b = le.AppendUint32(b, uint32(s.Seg))
	b = le.AppendUint32(b, s.Thread)
	b = le.AppendUint32(b, s.locks)
	b = le.AppendUint32(b, uint32(s.Len))
	b = le.AppendUint32(b, uint32(len(s.Rows)))
	b = append(b, flags(s.Loads, s.Stores))
	for i := range s.Rows {
		a := &s.Rows[i]
		b = le.AppendUint64(b, a.Addr)
		b = le.AppendUint64(b, uint64(a.Stride))
		b = le.AppendUint64(b, a.Count)
		b = le.AppendUint64(b, uint64(a.Pitch))
		b = le.AppendUint32(b, a.Size)
		b = le.AppendUint32(b, a.Stack)
		b = le.AppendUint16(b, a.N)
		b = le.AppendUint16(b, a.At)
		b = append(b, a.Every, flags(a.Store, a.Atomic, a.Library))
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
	if err := f.load(w.at, w.size, s); err != nil {
		return err
	}
	s.room.stretches, s.room.rows = s.room.stretches[:0], slices.Grow(s.room.rows[:0], w.rows)
	for b := s.buf; len(b) > 0; {
		var st Stretch
		b = takeStretch(b, &st, &s.room)
		s.room.stretches = append(s.room.stretches, st)
	}
	return nil
}

// takeStretch reads a stretch; r has room for its rows.
func takeStretch(b []byte, s *Stretch, r *room) []byte {
	le := binary.LittleEndian
	s.Lo, s.Hi, s.Pos = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	s.Seg, s.Thread, s.locks = int32(le.Uint32(b[24:])), le.Uint32(b[28:]), le.Uint32(b[32:])
	s.Len = int(le.Uint32(b[36:]))
	n := int(le.Uint32(b[40:]))
	s.Loads, s.Stores = b[44]&1 != 0, b[44]&2 != 0
	b = b[storedStretch:]
	from := len(r.rows)
	for ; n > 0; n-- {
		r.rows = append(r.rows, trace.Rows{
			Addr: le.Uint64(b), Stride: int64(le.Uint64(b[8:])), Count: le.Uint64(b[16:]), Pitch: int64(le.Uint64(b[24:])),
			Size: le.Uint32(b[32:]), Stack: le.Uint32(b[36:]),
			N: le.Uint16(b[40:]), At: le.Uint16(b[42:]), Every: b[44],
			Store: b[45]&1 != 0, Atomic: b[45]&2 != 0, Library: b[45]&4 != 0,
		})
		b = b[storedRows:]
	}
	s.Rows = r.rows[from:len(r.rows):len(r.rows)]
	return b
}

func appendMoment(b []byte, m *moment) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint32{m.shape, m.by, uint32(m.startSeg), uint32(m.endSeg), uint32(m.endLine), m.count} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range [...]uint64{m.base, m.start, m.end, m.step, m.endStep} {
		b = le.AppendUint64(b, v)
	}
	return b
}

// readMoments reads those moments of a chunk into s.chunk that may touch a slice.
func (f *spillFile) readMoments(w *storedMoments, slice Slice, s *Scratch) error {
	s.chunk = s.chunk[:0]
	if slice.Whole() {
		return f.readSome(w, 0, w.len(), s)
	}
	from := 0
	if slice.from > 0 {
		from = int(w.ends[slice.from-1])
	}
	if err := f.readSome(w, from, int(w.ends[slice.to-1]), s); err != nil {
		return err
	}
	return f.readSome(w, int(w.ends[wideSlice-1]), w.len(), s)
}

// readSome adds moments [from, to) of a chunk to s.chunk.
func (f *spillFile) readSome(w *storedMoments, from, to int, s *Scratch) error {
	if from == to {
		return nil
	}
	if err := f.load(w.at+int64(from)*storedMoment, (to-from)*storedMoment, s); err != nil {
		return err
	}
	le := binary.LittleEndian
	for b := s.buf; len(b) > 0; b = b[storedMoment:] {
		s.chunk = append(s.chunk, moment{
			shape: le.Uint32(b), by: le.Uint32(b[4:]), startSeg: int32(le.Uint32(b[8:])), endSeg: int32(le.Uint32(b[12:])),
			endLine: int32(le.Uint32(b[16:])), count: le.Uint32(b[20:]),
			base: le.Uint64(b[24:]), start: le.Uint64(b[32:]), end: le.Uint64(b[40:]), step: le.Uint64(b[48:]), endStep: le.Uint64(b[56:]),
		})
	}
	return nil
}
