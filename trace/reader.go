package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
)

var errAccess = errors.New("an access without size, or past the end of the address space")

func errRedefined(old, f *Fn) error {
	return fmt.Errorf("function %d is defined again, as %q after %q", f.ID, f.Name+" "+f.argText(), old.Name+" "+old.argText())
}

// Reader reads the events of one process in its order: call n, the accesses of
// every strand that follow it, call n+1. It holds one chunk a strand.
// Accesses of different strands between two calls have no order; each strand's
// own are in program order. The end of the process comes last.
//
// Definitions are applied as they are passed; what a call defines (a new
// communicator) is known only after the next ReadEvent.
//
// A Reader is for one goroutine.
type Reader struct {
	chunks *chunkReader
	file   io.Closer // nil unless opened by Open or a Dir
	defs   definitions
	merge  merge
	call   Call    // what Event.Call points to
	words  []int64 // and its lists
	region uint32
	closed bool
	skip   func(lo, hi uint64) bool // see Skip
	told   bool                     // elements are told chunk by chunk
	early  []Definition             // of ReadBatch, before an event that was not there yet
}

// Open opens a trace file, plain or compressed with zstd. The header is read;
// the errors of a bad one name the path and the offset.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads from a stream, plain or compressed with zstd. The name
// stands in errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	c, err := newChunkReader(in, name)
	if err != nil {
		return nil, err
	}
	return &Reader{chunks: c}, nil
}

// Header returns the head of the file.
func (r *Reader) Header() Header { return r.chunks.header }

// Close closes the file unless it was given to NewReader. What the definitions said stays.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.chunks.close()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Cut tells, after ReadEvent returned io.EOF, where and why the file stops
// before its process did. It is nil when the file is complete.
func (r *Reader) Cut() *Cut { return r.chunks.cut }

// Skip lets the Reader pass over accesses without reading them, where the file
// tells what they are and skip says that none of those in the addresses [lo, hi)
// are wanted. Instead there are events of KindSkipped with their number. Loads and
// stores are told chunk by chunk then, in such an event too, so that what is
// counted up to some call is the same whatever is passed over; so they are also
// where skip is nil, and nothing is passed over. Skip is called before the first
// event is read.
func (r *Reader) Skip(skip func(lo, hi uint64) bool) { r.skip, r.told = skip, true }

// pass passes over a chunk, the one that comes next, whose accesses are not
// wanted, and returns what it holds; nil where it must be read.
func (r *Reader) pass(c *Chunk) *Index {
	if r.skip == nil || c.index == 0 {
		return nil
	}
	x, ok := r.chunks.index()
	if !ok || !r.skip(x.Lo, x.Hi) {
		return nil
	}
	r.chunks.pass()
	if x.Stores == 0 {
		x.Lo, x.Hi = 0, 0
	}
	return &x
}

// comingIndex returns the index of a chunk that was read; nil where there is none to
// be told.
func (r *Reader) comingIndex(l *loaded) *Index {
	at := int(l.chunk.index) - chunkHeaderSize
	if !r.told || l.chunk.index == 0 || at >= len(l.buf) || RecordKind(l.buf[at]) != RecordIndex {
		return nil
	}
	x, err := decodeIndex(l.buf[at:])
	if err != nil {
		return nil
	}
	return &x
}

// Region is the number of synchronizations over all processes that the process
// had passed when the chunk of the last event was begun: a lower bound for the
// event.
func (r *Reader) Region() uint32 { return r.region }

// ReadEvent reads the next event into ev. Event.Call, its Args and their
// Lists stay valid until the next ReadEvent. It returns io.EOF at the end and
// where the file is cut (see Cut), ErrNotYet where the file is followed and its
// process has written no more yet, other errors only when the input cannot be
// read.
func (r *Reader) ReadEvent(ev *Event) error {
	if s := r.merge.run; s != nil && s.skipped == nil {
		if b := s.buf[s.pos:]; len(b) >= accessSize && b[0] == byte(RecordAccess) {
			rawAccess((*[accessSize]byte)(b), &ev.Access)
			s.pos += accessSize
			if _, state := ev.Access.normalise(); state == accessOK {
				ev.Kind = KindAccess
				ev.Strand, ev.Counted = s.id, s.counted
				return nil
			}
			s.pos -= accessSize
		}
	}
	return r.next(ev)
}

// next is ReadEvent where the next record is not another access of the strand
// that the last event was of.
func (r *Reader) next(ev *Event) error {
	if r.closed {
		return fmt.Errorf("%s: %w", r.chunks.name, os.ErrClosed)
	}
	if s := r.merge.run; s != nil {
		r.merge.run = nil
		r.advance(s)
	}
	for {
		s := r.merge.least()
		if r.mustLoad(s) && r.load() {
			continue
		}
		if r.chunks.follow.following() && (r.mustLoad(s) || !r.certain(s)) {
			if r.refresh() {
				continue
			}
			return ErrNotYet
		}
		if s == nil {
			r.chunks.finish(r.defs.end != nil)
			if r.chunks.err != nil {
				return r.chunks.err
			}
			return io.EOF
		}
		if err := r.deliver(s, ev); err != nil {
			r.damage(s, err)
			continue
		}
		r.region = s.chunk.Region
		return nil
	}
}

// deliver turns the record at the head of s into an event.
func (r *Reader) deliver(s *strand, ev *Event) (err error) {
	if x := s.skipped; x != nil {
		ev.Kind, ev.Strand = KindSkipped, s.id
		ev.Skipped = Skipped{Accesses: uint64(x.Groups[s.pos-1].Accesses), Loads: x.Loads, Stores: x.Stores, Lo: x.Lo, Hi: x.Hi}
		x.Loads, x.Stores = 0, 0
		r.merge.run = s
		return nil
	}
	if x := s.coming; x != nil {
		ev.Kind, ev.Strand = KindSkipped, s.id
		ev.Skipped = Skipped{Loads: x.Loads, Stores: x.Stores}
		s.coming = nil
		r.merge.run = s
		return nil
	}
	n, err := recordLength(s.buf[s.pos:])
	if err != nil {
		return err
	}
	b := s.buf[s.pos : s.pos+n]
	ev.Strand, ev.Counted = s.id, s.counted
	switch RecordKind(b[0]) {
	case RecordAccess:
		ev.Kind = KindAccess
		rawAccess((*[accessSize]byte)(b), &ev.Access)
		if _, state := ev.Access.normalise(); state != accessOK {
			return errAccess
		}
	case RecordGrid:
		ev.Kind = KindAccess
		return r.deliverGrid(s, b, &ev.Access)
	case RecordCall:
		ev.Kind = KindCall
		ev.Call = &r.call
		if err := r.decodeCall(b); err != nil {
			return err
		}
		s.called(r.call.Seq)
		r.merge.called(r.call.Seq)
	case RecordLost:
		ev.Kind = KindLost
		if ev.Lost, err = decodeLost(b); err != nil {
			return err
		}
	case RecordEnd:
		ev.Kind = KindEnd
		if ev.End, err = decodeEnd(b); err != nil {
			return err
		}
	}
	s.pos += n
	r.merge.run = s
	return nil
}

// deliverGrid delivers the next access of the grid at the head of s.
func (r *Reader) deliverGrid(s *strand, b []byte, a *Access) error {
	var g Grid
	if err := s.grid(b, &g); err != nil {
		return err
	}
	*a = g.access(s.row)
	s.passRows(1, &g)
	r.merge.run = s
	return nil
}

// grid decodes the grid at the head of the strand, which says something.
func (s *strand) grid(b []byte, g *Grid) error {
	if err := decodeGrid(b, g); err != nil {
		return err
	}
	if _, _, state := g.normalise(); state != accessOK {
		return errAccess
	}
	return nil
}

// passRows passes n accesses of the grid at the head of the strand.
func (s *strand) passRows(n int, g *Grid) {
	if s.row += n; s.row == g.accesses() {
		s.row = 0
		s.pos += gridSize
	}
}

func (r *Reader) decodeCall(b []byte) (err error) {
	id := u16(b, 2)
	fn := fnAt(r.defs.fns, id)
	if fn == nil {
		return fmt.Errorf("a call of function %d, which is not defined", id)
	}
	r.words, err = decodeCall(b, fn, &r.call, r.words)
	return err
}

// damage gives up the strand at its present record, and all chunks not yet
// loaded. What other strands hold is still delivered.
func (r *Reader) damage(s *strand, err error) {
	r.chunks.stop(s.position(), err.Error())
	r.merge.drop(s, r.chunks)
}
