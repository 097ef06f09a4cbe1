package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// chunkLength returns the length of records at which a Writer begins a new chunk,
// bytes. An analysis holds two chunks of each process: the more processes, the
// smaller.
func chunkLength(ranks int) int {
	const all, least, most = 64 << 20, 8 << 10, 256 << 10
	return min(max(all/max(ranks, 1), least), most)
}

// Writer writes a trace file. Chunks are sealed with their checksums unless
// BeginChunk asks for an open one. Accesses have chunks of their own, unless
// BeginChunk says what chunks there are. It keeps one chunk of each kind in memory.
//
// The first error stays: every later method returns it, and so does Close, so
// that a caller may check only there.
type Writer struct {
	out       io.Writer
	err       error
	chunk     Chunk // of all but accesses
	begun     bool
	whole     bool       // the chunk is not divided, however long, and takes accesses as well
	buf       []byte     // the chunk: header and records
	accesses  accessPart // the other chunk, of the same strand
	length    int        // of a chunk that is divided, bytes
	seq       uint64     // the last call written
	at        uint64     // the call that the strand has come to
	time      int64      // of the last call, for CallNamed
	fns       map[uint16]*Fn
	names     named
	plain     bool // records are written at full length
	compactor compactor
}

// accessPart is a chunk of accesses alone.
type accessPart struct {
	chunk Chunk
	begun bool
	first bool   // it was begun before the chunk of all else
	mark  uint64 // the last one in it
	buf   []byte
}

// NewWriter writes the header h. Version 0 stands for the current one. The
// caller closes out after Close.
func NewWriter(out io.Writer, h Header) (*Writer, error) {
	b, err := encodeHeader(h)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(b); err != nil {
		return nil, err
	}
	return &Writer{out: out, length: chunkLength(h.Ranks), fns: map[uint16]*Fn{}}, nil
}

// BeginChunk ends the present chunk and begins one with this strand, sequence
// number, region and seal; the other fields of c are not used. The chunk holds
// all that follows until BeginChunk, Strand or Region begins another.
func (w *Writer) BeginChunk(c Chunk) error {
	err := w.begin(c)
	w.whole = true
	return err
}

func (w *Writer) begin(c Chunk) error {
	if w.flush() == nil {
		w.chunk, w.begun, w.whole, w.at = c, true, false, c.Seq
		w.buf = append(w.buf[:0], make([]byte, chunkHeaderSize)...)
	}
	return w.err
}

// Strand makes the following records those of another thread.
func (w *Writer) Strand(id uint32) error {
	if w.begun && w.chunk.Strand == id {
		return w.err
	}
	return w.begin(Chunk{Strand: id, Seq: w.seq, Region: w.chunk.Region, Sealed: true})
}

// Region tells the number of synchronizations over all processes passed so
// far. It is written with the chunks begun from now on.
func (w *Writer) Region(n uint32) error {
	if w.chunk.Region == n {
		return w.err
	}
	return w.begin(Chunk{Strand: w.chunk.Strand, Seq: w.seq, Region: n, Sealed: true})
}

// flush writes the present chunks, in the order in which they were begun.
func (w *Writer) flush() error {
	if p := &w.accesses; p.begun && p.first {
		w.flushAccesses()
	}
	if w.begun {
		w.write(&w.chunk, w.buf)
	}
	w.begun = false
	w.flushAccesses()
	return w.err
}

func (w *Writer) flushAccesses() {
	if p := &w.accesses; p.begun {
		p.begun = false
		p.buf = w.write(&p.chunk, p.buf)
	}
}

// write writes a chunk, and returns its storage.
func (w *Writer) write(c *Chunk, b []byte) []byte {
	if w.err != nil {
		return b
	}
	var x Index
	indexed := false
	if c.Accesses && c.Sealed {
		x, indexed = indexOf(b[chunkHeaderSize:], c.Seq)
	}
	if !w.plain {
		if short, ok := w.compactor.compact(b[chunkHeaderSize:], c.Seq); ok {
			b = append(b[:chunkHeaderSize], short...)
		}
	}
	kind := chunkAny
	switch {
	case indexed:
		kind = len(b)
		b = appendIndex(b, &x)
	case c.Accesses:
		kind = chunkAccesses
	}
	copy(b, chunkMagic)
	le.PutUint32(b[4:], uint32(len(b)))
	le.PutUint32(b[8:], c.Strand)
	le.PutUint32(b[20:], uint32(len(b)-chunkHeaderSize))
	le.PutUint64(b[24:], c.Seq)
	le.PutUint32(b[32:], c.Region)
	le.PutUint32(b[36:], uint32(kind))
	if c.Sealed {
		le.PutUint32(b[16:], chunkSealed)
		le.PutUint32(b[12:], checksum(b[chunkHeaderSize:]))
	}
	_, w.err = w.out.Write(b)
	return b
}

// Close writes what is left. It does not close the underlying writer.
func (w *Writer) Close() error { return w.flush() }

// room makes sure that a record can be appended to the present chunk.
func (w *Writer) room() error {
	if w.err == nil && (!w.begun || !w.whole && len(w.buf) >= w.length) {
		return w.begin(Chunk{Strand: w.chunk.Strand, Seq: w.seq, Region: w.chunk.Region, Sealed: true})
	}
	return w.err
}

// took takes the result of an encoder.
func (w *Writer) took(b []byte, err error) error {
	from := len(w.buf)
	w.buf = b
	if err == nil && w.chunk.Accesses && from < len(b) {
		if !RecordKind(b[from]).amongAccesses() {
			err = errors.New("a chunk of accesses takes nothing but accesses and marks; stacks and all else are defined in a chunk before it")
		}
	}
	if err == nil && len(b) > maxChunkSize {
		err = fmt.Errorf("a chunk longer than %d bytes", maxChunkSize)
	}
	if err != nil {
		w.err = err
	}
	return err
}

// Fn defines a function. The same definition may be given again.
func (w *Writer) Fn(f *Fn) error {
	if err := w.room(); err != nil {
		return err
	}
	if old := w.fns[f.ID]; old != nil && (old.Name != f.Name || !slices.Equal(old.Args, f.Args)) {
		w.err = errRedefined(old, f)
		return w.err
	}
	w.fns[f.ID] = f
	return w.took(appendFn(w.buf, f))
}

// Call writes a call of a function defined before. A Seq of 0 stands for the
// next number.
func (w *Writer) Call(c *Call) error {
	if err := w.room(); err != nil {
		return err
	}
	if c.Fn == nil || w.fns[c.Fn.ID] == nil {
		w.err = fmt.Errorf("call %d of a function that is not defined", c.Seq)
		return w.err
	}
	return w.call(c.Fn.ID, c, nil)
}

// call writes a call with its arguments, or as words when c.Fn is nil.
func (w *Writer) call(id uint16, c *Call, words []int64) error {
	if err := w.room(); err != nil {
		return err
	}
	d := *c
	if d.Seq == 0 {
		d.Seq = w.seq + 1
	}
	w.seq, w.at = max(w.seq, d.Seq), max(w.at, d.Seq)
	w.time = max(w.time, d.Begin, d.End)
	return w.took(appendCall(w.buf, id, &d, words))
}

// Access writes a run of loads or stores, as it is given.
func (w *Writer) Access(a *Access) error {
	return w.access(func(b []byte) ([]byte, error) { return appendAccess(b, a) })
}

// Grid writes runs of loads or stores at equal distances, as they are given.
func (w *Writer) Grid(g *Grid) error {
	return w.access(func(b []byte) ([]byte, error) { return appendGrid(b, g) })
}

// access writes a record of accesses, which the function appends.
func (w *Writer) access(appendTo func([]byte) ([]byte, error)) error {
	if w.err != nil {
		return w.err
	}
	p := &w.accesses
	if w.whole && w.begun {
		return w.took(appendTo(w.buf))
	}
	if p.begun && len(p.buf) >= w.length {
		if w.flush() != nil {
			return w.err
		}
	}
	if !p.begun {
		w.beginAccesses()
	}
	b := p.buf
	if len(b) == chunkHeaderSize || p.mark != w.at {
		b, w.err = appendMark(b, w.at)
		p.mark = w.at
	}
	if w.err == nil {
		p.buf, w.err = appendTo(b)
	}
	return w.err
}

func (w *Writer) beginAccesses() {
	p := &w.accesses
	p.chunk = Chunk{Strand: w.chunk.Strand, Seq: w.seq, Region: w.chunk.Region, Sealed: true, Accesses: true}
	w.at = max(w.at, w.seq)
	p.begun, p.first = true, !w.begun
	p.buf = append(p.buf[:0], make([]byte, chunkHeaderSize)...)
}

// Stack defines a call stack: program counters, innermost first.
func (w *Writer) Stack(id uint32, pcs []uint64) error {
	return w.StackWith(&Stack{ID: id, PCs: pcs})
}

// StackWith defines a call stack with its frame pointers.
func (w *Writer) StackWith(s *Stack) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendStack(w.buf, s))
}

// Type defines a datatype.
func (w *Writer) Type(t *Type) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendType(w.buf, t))
}

// Comm defines a communicator.
func (w *Writer) Comm(c *Comm) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendComm(w.buf, c))
}

// Module adds to the memory map.
func (w *Writer) Module(m *Module) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendModule(w.buf, m))
}

// Mark says that what the strand records from now on follows call seq of
// another strand.
func (w *Writer) Mark(seq uint64) error {
	if err := w.room(); err != nil {
		return err
	}
	w.at = max(w.at, seq)
	return w.took(appendMark(w.buf, seq))
}

// Clock relates the process's clock to that of world rank 0.
func (w *Writer) Clock(c Clock) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendClock(w.buf, c))
}

// Lost says what was not recorded at this place.
func (w *Writer) Lost(l Lost) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendLost(w.buf, l))
}

// End writes the closing summary, the last record of strand 0. Unless BeginChunk
// says what chunks there are it begins one, so that a file that was cut has none.
func (w *Writer) End(e End) error {
	if w.err == nil && !(w.begun && w.whole) {
		w.err = w.begin(Chunk{Strand: w.chunk.Strand, Seq: w.seq, Region: w.chunk.Region, Sealed: true})
	}
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendEnd(w.buf, e))
}

// Info writes a key and a value of the tracer's own information.
func (w *Writer) Info(key, value string) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendInfo(w.buf, key, value))
}

// Op names a reduction operation.
func (w *Writer) Op(id int64, name string) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendOp(w.buf, id, name))
}

// Block tells where a block of memory was allocated.
func (w *Writer) Block(x *Block) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendBlock(w.buf, x))
}

// Source gives a source place of a program counter. Several for one are its
// inlined frames, innermost first.
func (w *Writer) Source(s *Source) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.took(appendSource(w.buf, s))
}
