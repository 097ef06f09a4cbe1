package trace

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A trace may be read while its process writes it (docs/trace-format.md, "A file that
// is read while it is written"). Then a Reader gives what will not change any more, and
// waits for the rest; once the process has ended, it goes on as with any other file. So
// the events are the same, in the same order, and how the file ends is told the same.
//
// Each thread tells up to where in the order of the process it writes nothing any more: up
// to its last call, or to any call that has begun while it waits. What comes before the
// first of these places stands in the file, also in chunks that are still open.

// ErrNotYet is the error of a Reader that follows a trace of which nothing more is
// there for now.
var ErrNotYet = errors.New("the process has not recorded more yet")

const (
	leastPause, mostPause = 2 * time.Millisecond, 50 * time.Millisecond
	// An open chunk is read again and again, so not too often; one that is sealed
	// meanwhile is read at once.
	openEvery = 100 * time.Millisecond
	deadEvery = 500 * time.Millisecond
)

// follower is the following of one file. A nil one follows nothing.
type follower struct {
	how    *Following
	file   *lazyFile
	head   Header
	live   Live
	mu     sync.Mutex // held by the reading goroutine but while it waits
	over   bool       // nothing in the file changes any more
	bound  uint64     // places before it are complete (Live.Bound)
	seen   bool       // the file has something to tell at all
	read   time.Time  // when open chunks were read last
	locked bool       // the process was seen to hold its lock
	asked  time.Time  // when it was found out last whether the process is alive
	pause  time.Duration
	given  atomic.Pointer[Live] // what the process told last, for others
	freed  int64                // bytes of the file that were given back
	done   []Chunk              // that were read to their end, and not given back
	fixed  error                // why nothing more can be given back
	flat   []byte               // storage
	room   reading
}

func (f *follower) following() bool { return f != nil && !f.over }

// followFile lets a reader of a whole plain file follow it.
func (r *Reader) followFile(f *lazyFile, how *Following) {
	if how == nil || r.chunks.zst != nil || strings.HasSuffix(f.path, ".zst") {
		return
	}
	r.chunks.follow = &follower{how: how, file: f, head: r.Header()}
}

// guard keeps the goroutine that follows the file from changing what is known.
func (r *Reader) guard() func() {
	f := r.chunks.follow
	if f == nil {
		return func() {}
	}
	f.mu.Lock()
	return f.mu.Unlock
}

// wait waits until something may have come.
func (f *follower) wait() error {
	f.pause = min(max(leastPause, f.pause*3/2), mostPause)
	f.mu.Unlock()
	defer f.mu.Lock()
	return sleep(f.how.ctx, f.pause)
}

// came notes that something was there.
func (f *follower) came() {
	if f != nil {
		f.pause = 0
	}
}

// ended reports whether nothing in the file changes any more.
func (f *follower) ended() bool {
	if f.live.Ended || f.how.Over != nil && f.how.Over() {
		return true
	}
	if time.Since(f.asked) < deadEvery {
		return false
	}
	f.asked = time.Now()
	return !f.alive()
}

// peekFollowed is peek as long as the file is written: nil where no chunk begins yet. What
// it finds counts until refresh. Where the process does not tell how far it is, chunks may
// yet be moved: the file is read when it is finished.
func (c *chunkReader) peekFollowed() *Chunk {
	f := c.follow
	if f.seen || f.given.Load() == nil {
		return nil
	}
	f.seen = true
	h, _, ok := f.header(c, c.offset)
	if !ok {
		return nil
	}
	c.ahead, c.peeked = h, true
	return &c.ahead
}

// header reads the header of a chunk, and its checksum.
func (f *follower) header(c *chunkReader, offset int64) (h Chunk, sum uint32, ok bool) {
	var b [chunkHeaderSize]byte
	if _, err := f.file.ReadAt(b[:], offset); err != nil || string(b[:4]) != chunkMagic {
		return h, 0, false
	}
	h, reason := parseChunk(b[:], offset)
	return h, le.Uint32(b[12:]), reason == ""
}

// payload reads the records of a chunk.
func (f *follower) payload(c *chunkReader, h *Chunk) ([]byte, bool) {
	var buf []byte
	if k := len(c.free); k > 0 {
		buf, c.free = c.free[k-1], c.free[:k-1]
	}
	n := int(h.Used)
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	m, err := f.file.ReadAt(buf, h.Offset+chunkHeaderSize)
	f.file.all.read.Add(int64(m))
	return buf[:m], err == nil || errors.Is(err, io.EOF) && m == n
}

// growing is what is known of a chunk that is still written.
type growing struct {
	open      bool   // it was not sealed when it was read
	given     int    // bytes of its records, none of them compact, that were read
	dry       bool   // all that was read was given
	used, sum uint32 // of its header then …
	all       bool   // … and all records counted: as long as it is the same, there are no more
}

func (s *strand) place() uint64 {
	if s.after {
		return 2*s.at + 1
	}
	return 2 * s.at
}

// certain reports whether no record that is not read yet comes before the head of s.
func (r *Reader) certain(s *strand) bool {
	return s != nil && !s.ending && s.place() < r.chunks.follow.bound
}

// loadFollowed reads the next chunk of a file that is still written, as far as it will not
// change any more. It reports whether it did.
func (r *Reader) loadFollowed(l *loaded) bool {
	c, f := r.chunks, r.chunks.follow
	if s := r.merge.find(&l.chunk); s != nil && s.open && len(s.queue) == 0 {
		if r.extend(s); s.open {
			return false // it is sealed before the next is begun
		}
	}
	buf, now, ok := f.look(c, &l.chunk)
	if !ok {
		return false
	}
	l.buf, l.growing = buf, now
	c.offset += int64(l.chunk.Size)
	c.peeked, f.seen = false, false
	return true
}

// look reads a chunk: all its records when it is sealed, and otherwise those that will not
// change any more, none of them compact.
func (f *follower) look(c *chunkReader, h *Chunk) (buf []byte, g growing, ok bool) {
	for range 100 {
		now, sum, ok := f.header(c, h.Offset)
		if !ok {
			return nil, g, false
		}
		raw, ok := f.payload(c, &now)
		if !ok {
			c.release(raw)
			return nil, g, false
		}
		if now.Sealed {
			if checksum(raw) != sum { // of a file of another node, not all may have come
				c.release(raw)
				return nil, g, false
			}
			*h = now
			return raw, g, true
		}
		again, sumAgain, ok := f.header(c, h.Offset)
		if !ok || sum != sumAgain || sum%2 == 1 || again.Sealed {
			c.release(raw)
			continue // its records were made compact meanwhile, or it was sealed
		}
		flat, err := f.flatten(raw, now.Seq)
		c.release(raw)
		if err != nil {
			return nil, g, false
		}
		*h = now
		n := complete(flat, now.Accesses, now.Seq, f.bound)
		g = growing{open: true, given: n, used: now.Used, sum: sum, all: n == len(flat)}
		return append(c.spare(), flat[:n]...), g, true
	}
	return nil, g, false
}

// same reports whether nothing has come to a chunk since it was read.
func (f *follower) same(c *chunkReader, g *growing, at int64) bool {
	h, sum, ok := f.header(c, at)
	return ok && g.all && !h.Sealed && h.Used == g.used && sum == g.sum
}

func (c *chunkReader) spare() []byte {
	if k := len(c.free); k > 0 {
		b := c.free[k-1]
		c.free = c.free[:k-1]
		return b[:0]
	}
	return nil
}

// flatten expands the records of a chunk, without those that say nothing.
func (f *follower) flatten(raw []byte, seq uint64) ([]byte, error) {
	x := &f.room
	x.begin(raw, seq)
	f.flat = f.flat[:0]
	err := x.walk(func(b []byte) bool {
		f.flat = append(f.flat, b...)
		return true
	})
	return f.flat, err
}

// walk visits the records from here on that say something, expanded, as long as visit
// returns true, and passes them.
func (x *reading) walk(visit func([]byte) bool) error {
	for x.leave() {
		n, err := recordLength(x.buf[x.pos:])
		if err != nil {
			return err
		}
		b := x.buf[x.pos : x.pos+n]
		switch RecordKind(b[0]) {
		case RecordCompactCalls, RecordCompactAccesses:
			if err := x.enter(b); err != nil {
				return err
			}
			continue
		default:
			if !saysNothing(b) && !visit(b) {
				return nil
			}
		}
		x.pos += n
	}
	return nil
}

// complete returns how many bytes of the records of a chunk stand before the bound.
func complete(flat []byte, accesses bool, seq, bound uint64) int {
	for at := 0; at < len(flat); {
		n, err := recordLength(flat[at:])
		if err != nil {
			return at
		}
		b := flat[at : at+n]
		switch kind := RecordKind(b[0]); {
		case kind == RecordMark && n >= markSize:
			if seq = max(seq, u64(b, 8)); 2*seq+1 >= bound {
				return at
			}
		case kind == RecordCall && n >= callSize:
			if 2*u64(b, 8) >= bound {
				return at
			}
		case kind == RecordAccess || kind == RecordGrid:
			if !accesses || 2*seq+1 >= bound {
				return at
			}
		case kind == RecordLost || kind == RecordEnd:
			return at
		}
		at += n
	}
	return len(flat)
}

// extend reads on in the chunk of a strand that was still open. It reports whether it
// could be read.
func (r *Reader) extend(s *strand) bool {
	c, f := r.chunks, r.chunks.follow
	h := s.chunk
	buf, now, ok := f.look(c, &h)
	if !ok {
		return false
	}
	if !now.open {
		r.closeChunk(s, h, buf)
		return true
	}
	more := buf[min(s.given, len(buf)):]
	now.given, now.dry = s.given+len(more), s.dry
	s.growing = now
	s.buf = append(s.buf[:copy(s.buf, s.buf[s.pos:])], more...)
	s.pos = 0
	c.release(buf)
	if len(more) > 0 && s.dry {
		s.dry = false
		r.advance(s)
	}
	return true
}

// close goes on in the records of a chunk as it will stay, behind those that were given.
func (r *Reader) closeChunk(s *strand, h Chunk, buf []byte) {
	passed := s.given - (len(s.buf) - s.pos)
	r.chunks.release(s.buf)
	s.chunk, s.open = h, false
	s.reading.begin(buf, h.Seq)
	err := s.pass(passed)
	switch {
	case err != nil:
		s.dry = false
		r.damage(s, err)
	case s.dry:
		s.dry = false
		r.advance(s)
	}
}

// pass passes records of so many bytes, as they are when they are not compact.
func (x *reading) pass(n int) error {
	if n == 0 {
		return x.walk(func([]byte) bool { return false })
	}
	return x.walk(func(b []byte) bool {
		if n <= 0 {
			return false
		}
		n -= len(b)
		return true
	})
}

// extendQueued is extend for a chunk that its strand has not come to.
func (r *Reader) extendQueued(l *loaded) bool {
	h := l.chunk
	buf, now, ok := r.chunks.follow.look(r.chunks, &h)
	if !ok {
		return false
	}
	r.chunks.release(l.buf)
	l.chunk, l.buf, l.growing = h, buf, now
	return true
}

// refresh finds out what the process has written since. It reports whether there is more.
func (r *Reader) refresh() bool {
	f := r.chunks.follow
	live, ok := readLive(f.file)
	if ok {
		f.live = live
		f.given.Store(&live)
	}
	if f.ended() {
		r.finishFollowing()
		return true
	}
	f.seen, r.chunks.peeked = false, false
	if !ok {
		return false // it can be read when it is finished
	}
	if live.Bound <= f.bound || time.Since(f.read) < openEvery {
		return false
	}
	before := f.bound
	f.bound, f.read = live.Bound, time.Now()
	if !r.extendAll() {
		f.bound = before
		return false
	}
	return true
}

// extendAll reads on in all open chunks. It reports whether all could be read.
func (r *Reader) extendAll() bool {
	c, f := r.chunks, r.chunks.follow
	all := true
	read := func(g *growing, at int64, on func() bool) {
		if g.open && !f.same(c, g, at) && !on() {
			all = false
		}
	}
	for _, s := range slices.Clone(r.merge.strands) {
		for i := range s.queue {
			l := &s.queue[i]
			read(&l.growing, l.chunk.Offset, func() bool { return r.extendQueued(l) })
		}
		read(&s.growing, s.chunk.Offset, func() bool { return r.extend(s) })
	}
	return all
}

// finishFollowing goes on with a file that nobody writes any more.
func (r *Reader) finishFollowing() {
	c, f := r.chunks, r.chunks.follow
	f.over, c.peeked = true, false
	f.file.at = f.file.from + c.offset
	c.in.Reset(f.file)
	for _, s := range slices.Clone(r.merge.strands) {
		for i := range s.queue {
			if l := &s.queue[i]; l.open {
				c.release(l.buf)
				l.chunk, l.buf = f.last(c, l.chunk)
				l.open = false
			}
		}
		if s.open {
			h, buf := f.last(c, s.chunk)
			r.closeChunk(s, h, buf)
		}
	}
}

// last reads the chunk of a file that nobody writes any more, whether it was sealed or not.
func (f *follower) last(c *chunkReader, h Chunk) (Chunk, []byte) {
	now, sum, ok := f.header(c, h.Offset)
	if !ok {
		c.stop(h.Offset, "no chunk begins here")
		return h, nil
	}
	buf, whole := f.payload(c, &now)
	switch {
	case !whole:
		c.stop(h.Offset+chunkHeaderSize+int64(len(buf)), "the file ends inside a chunk")
	case now.Sealed && checksum(buf) != sum:
		c.stop(h.Offset, "the checksum of a chunk is wrong")
		return now, nil
	}
	return now, trimTorn(buf, &now)
}

// ErrGivenBack is the error of traces that were given back, in part, while they were
// analysed: nobody else can analyse them.
var ErrGivenBack = errors.New("what the processes recorded first was given back while it was analysed (--max-disk)")
