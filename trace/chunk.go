package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// readStep is how much a chunk's buffer grows at once when the file has not
// yet shown that it is as long as the chunk claims.
const readStep = 1 << 20

// readBuffer holds chunk headers and skipped room; records are read past it.
const readBuffer = 4 << 10

// chunkReader reads the chunks of a file one after another. It stops without
// an error, and says so in cut, where the file is damaged or ends too early.
type chunkReader struct {
	name   string
	in     *bufio.Reader
	zst    *zstd.Decoder // nil when the file is not compressed
	header Header
	offset int64 // of the next unread byte
	ahead  Chunk // the next chunk, when peeked
	peeked bool
	done   bool // nothing more to read: end, cut or error
	cut    *Cut
	err    error    // of the operating system
	free   [][]byte // buffers of chunks that were given back

	at   passable // what in reads, where it can be read anywhere
	from int64    // where in it the header is
	tail []byte   // room for an index

	follow *follower // of a file that is still written; else nil
}

// passable is a file of which parts need not be read.
type passable interface {
	io.Reader
	io.ReaderAt
	io.Seeker
}

// newChunkReader reads the header. The stream may be compressed with zstd.
func newChunkReader(r io.Reader, name string) (*chunkReader, error) {
	c := &chunkReader{name: name}
	if err := c.start(r); err != nil {
		return nil, err
	}
	h, n, err := readHeader(c.in)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%s: offset %d: %w", name, n, err)
	}
	c.header, c.offset = h, n
	if h.GivenBack {
		c.stop(n, ErrGivenBack.Error())
	}
	return c, nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (c *chunkReader) start(r io.Reader) error {
	if at, ok := r.(passable); ok {
		if from, err := at.Seek(0, io.SeekCurrent); err == nil { // it is no pipe
			c.at, c.from = at, from
		}
	}
	c.in = bufio.NewReaderSize(r, readBuffer)
	if b, err := c.in.Peek(len(zstdMagic)); err != nil || !bytes.Equal(b, zstdMagic) {
		return nil // readHeader says what is wrong, if anything is
	}
	c.at = nil
	src := &sourceReader{in: c.in}
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.zst = z
	c.in = bufio.NewReaderSize(&plainReader{zst: z, src: src}, readBuffer)
	return nil
}

// sourceReader remembers an error of the operating system, to tell it from
// damaged compressed data.
type sourceReader struct {
	in  io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// damageError is data that cannot be decompressed.
type damageError struct{ err error }

func (d *damageError) Error() string { return "damaged zstd data: " + d.err.Error() }
func (d *damageError) Unwrap() error { return d.err }

// plainReader reads decompressed data.
type plainReader struct {
	zst *zstd.Decoder
	src *sourceReader
}

func (p *plainReader) Read(b []byte) (int, error) {
	n, err := p.zst.Read(b)
	switch {
	case err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
	case p.src.err != nil:
		err = p.src.err
	default:
		err = &damageError{err}
	}
	return n, err
}

func (c *chunkReader) close() {
	if c.zst != nil {
		c.zst.Close()
		c.zst = nil
	}
	c.done = true
}

// stop ends the reading at a damaged or missing place. The first stop counts.
func (c *chunkReader) stop(offset int64, reason string) {
	if c.cut == nil {
		c.cut = &Cut{Offset: offset, Reason: reason}
	}
	c.done, c.peeked = true, false
}

// fail ends the reading because of err, which the input gave with n bytes of
// what was asked for.
func (c *chunkReader) fail(err error, what string) {
	var damage *damageError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		c.stop(c.offset, "the file ends inside "+what)
	case errors.As(err, &damage):
		c.stop(c.offset, damage.Error())
	default:
		c.err = fmt.Errorf("%s: offset %d: %w", c.name, c.offset, err)
		c.done = true
	}
}

// finish is called when the last record was read: a file without an end
// record is not the whole of what its process did.
func (c *chunkReader) finish(ended bool) {
	if c.cut == nil && c.err == nil && !ended {
		c.stop(c.offset, "no end record: the process died, exited without finalizing the library, or its file was cut")
	}
}

// peek returns the header of the next chunk, or nil when there is none.
func (c *chunkReader) peek() *Chunk {
	if c.peeked {
		return &c.ahead
	}
	if c.done {
		return nil
	}
	if c.follow.following() {
		return c.peekFollowed()
	}
	b, err := c.in.Peek(chunkHeaderSize)
	switch {
	case len(b) == 0 && errors.Is(err, io.EOF):
		c.done = true
		return nil
	case err != nil:
		c.fail(err, "a chunk header")
		return nil
	case allZero(b):
		c.done = true // room that the tracer had not yet begun to use
		return nil
	case string(b[:4]) != chunkMagic:
		c.stop(c.offset, "no chunk begins here")
		return nil
	}
	h, reason := parseChunk(b, c.offset)
	if reason != "" {
		c.stop(c.offset, reason)
		return nil
	}
	c.ahead, c.peeked = h, true
	return &c.ahead
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// parseChunk reads the header of a chunk, and says what is wrong with it.
func parseChunk(b []byte, offset int64) (h Chunk, reason string) {
	state := le.Uint32(b[16:])
	h = Chunk{
		Offset: offset,
		Size:   le.Uint32(b[4:]),
		Strand: le.Uint32(b[8:]),
		Used:   le.Uint32(b[20:]),
		Seq:    le.Uint64(b[24:]),
		Region: le.Uint32(b[32:]),
		Sealed: state == chunkSealed,
	}
	kind := le.Uint32(b[36:])
	if h.Accesses = kind != chunkAny; kind > chunkAccesses {
		h.index = kind
	}
	switch {
	case h.Size < chunkHeaderSize || h.Size > maxChunkSize || h.Size%8 != 0:
		return h, fmt.Sprintf("impossible chunk size %d", h.Size)
	case state > chunkSealed:
		return h, fmt.Sprintf("impossible chunk state %d", state)
	case h.Used > h.Size-chunkHeaderSize || h.Used%8 != 0:
		return h, fmt.Sprintf("impossible length %d of the records of a chunk", h.Used)
	case kind > chunkAccesses && (kind%8 != 0 || kind < chunkHeaderSize || kind-chunkHeaderSize >= h.Used || !h.Sealed):
		return h, fmt.Sprintf("impossible kind %d of chunk", kind)
	}
	return h, ""
}

// read takes the chunk that peek showed and returns its records. Fewer than
// Used bytes come only when the file was cut, and false when the chunk is
// damaged. Give the buffer back with release.
func (c *chunkReader) read() ([]byte, bool) {
	head := c.ahead
	c.peeked = false
	hb, err := c.in.Peek(chunkHeaderSize) // buffered since peek
	if err != nil {
		c.fail(err, "a chunk header")
		return nil, false
	}
	sum := le.Uint32(hb[12:])
	c.skip(chunkHeaderSize)
	buf := c.fill(int(head.Used))
	if len(buf) < int(head.Used) {
		return buf, true
	}
	if head.Sealed && checksum(buf) != sum {
		c.stop(head.Offset, "the checksum of a chunk is wrong")
		c.release(buf)
		return nil, false
	}
	c.skip(int(head.Size) - chunkHeaderSize - int(head.Used))
	return buf, true
}

// index reads the index of the chunk that peek showed, which it has; false when it
// cannot be, or says nothing.
func (c *chunkReader) index() (Index, bool) {
	if c.at == nil {
		return Index{}, false
	}
	head := &c.ahead
	size := int(chunkHeaderSize + head.Used - head.index)
	if size > readStep { // nothing has shown yet that the file is as long as the chunk claims
		return Index{}, false
	}
	b := slices.Grow(c.tail[:0], size)[:size]
	c.tail = b
	if n, _ := c.at.ReadAt(b, c.from+head.Offset+int64(head.index)); n < len(b) || RecordKind(b[0]) != RecordIndex {
		return Index{}, false
	}
	x, err := decodeIndex(b)
	return x, err == nil
}

// pass goes on behind the chunk that peek showed, without reading it.
func (c *chunkReader) pass() {
	n := int(c.ahead.Size)
	c.peeked = false
	ahead := n - c.in.Buffered()
	if ahead <= 0 {
		c.skip(n)
		return
	}
	if _, err := c.at.Seek(int64(ahead), io.SeekCurrent); err != nil {
		c.fail(err, "a chunk")
		return
	}
	c.in.Reset(c.at)
	c.offset += int64(n)
}

func (c *chunkReader) skip(n int) {
	m, err := c.in.Discard(n)
	c.offset += int64(m)
	if err != nil {
		c.fail(err, "a chunk")
	}
}

// fill reads n bytes, or as many as there are. It takes memory only as the
// bytes arrive.
func (c *chunkReader) fill(n int) []byte {
	var buf []byte
	if k := len(c.free); k > 0 {
		buf, c.free = c.free[k-1], c.free[:k-1]
	}
	for len(buf) < n {
		step := min(n-len(buf), max(readStep, len(buf), cap(buf)-len(buf)))
		buf = slices.Grow(buf, step)
		m, err := io.ReadFull(c.in, buf[len(buf):len(buf)+step])
		buf = buf[:len(buf)+m]
		c.offset += int64(m)
		if err != nil {
			c.fail(err, "a chunk")
			break
		}
	}
	return buf
}

// release gives a chunk's buffer back.
func (c *chunkReader) release(buf []byte) {
	if cap(buf) > 0 && len(c.free) < 4 {
		c.free = append(c.free, buf[:0])
	}
}
