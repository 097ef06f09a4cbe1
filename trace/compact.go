package trace

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Most records of a file are compact: several together stand in one, each as what
// differs from the last one of its place (docs/trace-format.md, "compact calls" and
// "compact accesses"). Readers expand them into records of full length, so that
// nothing else knows of it.

const (
	compactHead = 8 // of a compact record, before its stream

	callPlaces     = 128
	callWordsMost  = 64 // calls with more are not compared with others
	compactOdd     = 0x80
	compactAlone   = 0x81
	compactApart   = 0x82
	compactLiteral = 0xff

	accessPlaces = 60
	accessAgain  = accessPlaces // as the access before it, of whatever place
	accessBy     = 2 * accessPlaces
	accessOther  = 3 * accessPlaces
	compactMark  = 4 * accessPlaces
	compactGrid  = compactMark + 1
	compactBits  = compactGrid + 1
	gridFields   = 5 // address, stride, count, steps

	markSize = 16
)

// reading is the reading of the records of a chunk, in which compact ones are expanded
// when they are reached.
type reading struct {
	buf      []byte // those being read …
	pos      int    // … from here on
	chunk    []byte // where buf is expanded: the records of the chunk, …
	rest     int    // … from where on they are to be read then, …
	from     int    // … and where those in buf come from
	expanded []byte // storage
	places   places
}

// places is the last call or access of each place, as far as a chunk was read.
type places struct {
	calls    *[callPlaces]callPlace // nil while there is none
	seq, end uint64                 // of the last call
	accesses *[accessPlaces]accessPlace
	last     uint8 // place of the last access
	grids    *[accessPlaces]gridPlace
	mark     uint64
}

type callPlace struct {
	head  uint64 // the first eight bytes of a call that returned; 0: none
	stack uint32
	words []uint64
}

type accessPlace struct {
	head, addr, stride, count uint64 // head: the first eight bytes; 0: none
	step                      uint64
}

// gridPlace is the last grid of a place.
type gridPlace struct {
	head         uint64 // the first eight bytes; 0: none
	stack        uint32
	rows, planes uint16
	fields       [gridFields]uint64
}

// reset forgets the places, for a chunk that was begun at call seq.
func (p *places) reset(seq uint64) {
	if p.calls != nil {
		for i := range p.calls {
			p.calls[i].head = 0
		}
	}
	if p.accesses != nil {
		clear(p.accesses[:])
		clear(p.grids[:])
	}
	p.seq, p.end, p.mark = seq, 0, seq
	p.last = 0
}

func (p *places) haveCalls() {
	if p.calls == nil {
		p.calls = new([callPlaces]callPlace)
	}
}

func (p *places) haveAccesses() {
	if p.accesses == nil {
		p.accesses = new([accessPlaces]accessPlace)
		p.grids = new([accessPlaces]gridPlace)
	}
}

// begin begins with the records of a chunk that was begun at call seq.
func (r *reading) begin(buf []byte, seq uint64) {
	r.buf, r.pos, r.chunk = buf, 0, nil
	r.places.reset(seq)
}

// storage returns the buffer of the chunk.
func (r *reading) storage() []byte {
	if r.chunk != nil {
		return r.chunk
	}
	return r.buf
}

// empty returns what is worth keeping when nothing is left.
func (r *reading) empty() reading { return reading{expanded: r.expanded, places: r.places} }

// offset returns where in the chunk the present record begins, or the compact one that holds it.
func (r *reading) offset() int {
	if r.chunk != nil {
		return r.from
	}
	return r.pos
}

// leave goes on in the chunk when all that was expanded has been read. It reports
// whether there is more.
func (r *reading) leave() bool {
	if r.chunk == nil || r.pos < len(r.buf) {
		return r.pos < len(r.buf)
	}
	r.buf, r.pos, r.chunk = r.chunk, r.rest, nil
	return r.pos < len(r.buf)
}

var errNested = errors.New("a compact record within another")

// enter expands the compact record b, the present one, and goes on with the first record in it.
func (r *reading) enter(b []byte) error {
	if r.chunk != nil {
		return errNested
	}
	if err := r.expand(b); err != nil {
		return err
	}
	r.chunk, r.from, r.rest = r.buf, r.pos, r.pos+len(b)
	r.buf, r.pos = r.expanded, 0
	return nil
}

// moreAccesses goes on with the compact accesses that follow those that were
// expanded and read last, and reports whether there are any.
func (r *reading) moreAccesses() bool {
	if r.chunk == nil || r.pos < len(r.buf) || r.rest == len(r.chunk) || RecordKind(r.chunk[r.rest]) != RecordCompactAccesses {
		return false
	}
	n, err := recordLength(r.chunk[r.rest:])
	if err != nil {
		return false // it will be met again
	}
	if err := r.expand(r.chunk[r.rest : r.rest+n]); err != nil {
		r.places.reset(0)
		return false // nor can it be expanded then
	}
	r.from, r.rest = r.rest, r.rest+n
	r.buf, r.pos = r.expanded, 0
	return true
}

func (r *reading) expand(b []byte) (err error) {
	size := 8 * int(u16(b, 2))
	r.expanded = slices.Grow(r.expanded[:0], size)[:size]
	if RecordKind(b[0]) == RecordCompactCalls {
		return r.places.expandCalls(r.expanded, b[compactHead:])
	}
	return r.places.expandAccesses(r.expanded, b[compactHead:])
}

// numbers reads a stream of bytes and numbers.
type numbers struct {
	b   []byte
	at  int
	bad bool // it was too short
}

// next reads a number. How many bytes follow its first is how many of the lowest
// bits of that are zero.
func (s *numbers) next() uint64 {
	if len(s.b)-s.at < 9 {
		return s.last()
	}
	b := s.b[s.at:]
	w := le.Uint64(b)
	n := bits.TrailingZeros8(uint8(w))
	s.at += n + 1
	if n == 8 {
		return le.Uint64(b[1:])
	}
	return w << (56 - 8*n) >> (57 - 7*n)
}

// last is next close to the end of the stream.
func (s *numbers) last() uint64 {
	var room [16]byte
	left := copy(room[:], s.b[s.at:])
	t := numbers{b: room[:]}
	v := t.next()
	s.at += t.at
	if t.at > left {
		s.bad, s.at = true, len(s.b)
		return 0
	}
	return v
}

func (s *numbers) byte() byte {
	if s.at >= len(s.b) {
		s.bad = true
		return compactLiteral
	}
	s.at++
	return s.b[s.at-1]
}

// signed is the inverse of zigzag.
func signed(v uint64) uint64 { return v>>1 ^ -(v & 1) }

func zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }

func appendNumber(b []byte, v uint64) []byte {
	n := max(1, (bits.Len64(v)+6)/7)
	if n > 8 {
		return le.AppendUint64(append(b, 0), v)
	}
	v = (v<<1 | 1) << (n - 1)
	for range n {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

var (
	errCompactShort = errors.New("a compact record is shorter than what it says it holds")
	errCompactLong  = errors.New("a compact record is longer than what it says it holds")
	errNoPlace      = errors.New("a compact record refers to a place that no earlier one has")
)

// end checks that nothing but padding follows.
func (s *numbers) end() error {
	if len(s.b)-s.at >= 8 {
		return errCompactLong
	}
	return nil
}

// literal copies a record as it is to the beginning of out.
func (s *numbers) literal(out []byte) (record []byte, err error) {
	rest := s.b[s.at:]
	n, err := recordLength(rest)
	switch {
	case s.bad || err != nil:
		return nil, errCompactShort
	case n > len(out):
		return nil, errCompactLong
	}
	s.at += n
	copy(out, rest[:n])
	return out[:n], nil
}

// expandAccesses fills out with accesses and marks.
func (p *places) expandAccesses(out, b []byte) error {
	s := numbers{b: b}
	p.haveAccesses()
	for len(out) > 0 {
		n := p.expandOn(out, b[s.at:])
		s.at += n
		if out = out[n*accessSize:]; len(out) == 0 {
			break
		}
		tag := s.byte()
		if tag >= compactMark {
			n, err := p.expandOther(tag, out, &s)
			if err != nil {
				return err
			}
			out = out[n:]
			continue
		}
		if len(out) < accessSize {
			return errCompactLong
		}
		k := tag % accessPlaces
		l, last := &p.accesses[k], &p.accesses[p.last]
		if tag < accessBy {
			l.step = last.addr - l.addr
			l.stride, l.count = last.stride, last.count
		} else {
			l.step = signed(s.next())
		}
		if tag >= accessOther {
			l.stride += signed(s.next())
			l.count += signed(s.next())
		}
		if l.head == 0 {
			return errNoPlace
		}
		l.addr += l.step
		l.put((*[accessSize]byte)(out))
		p.last = k
		out = out[accessSize:]
	}
	if s.bad {
		return errCompactShort
	}
	return s.end()
}

// expandOn fills out with accesses that are each as far from the one before it of
// their place as that was from its own, as long as they follow one another. It
// returns how many they are.
func (p *places) expandOn(out, b []byte) int {
	accesses := p.accesses
	most := min(len(b), len(out)/accessSize)
	n := 0
	for ; n < most; n++ {
		tag := b[n]
		if tag >= accessAgain {
			break
		}
		l := &accesses[tag]
		if l.head == 0 {
			break
		}
		l.addr += l.step
		l.put((*[accessSize]byte)(out[n*accessSize:]))
		p.last = tag
	}
	return n
}

// accessPlaceOf returns the number of the place of an access.
func accessPlaceOf(record []byte) uint64 {
	return (2*uint64(u32(record, 4)) + uint64(record[1]&accessStore)) % accessPlaces
}

// put writes the last access as a record.
func (l *accessPlace) put(b *[accessSize]byte) {
	le.PutUint64(b[0:], l.head)
	le.PutUint64(b[8:], l.addr)
	le.PutUint64(b[16:], l.stride)
	le.PutUint64(b[24:], l.count)
}

// expandOther expands a mark, a grid, or an access that stands as it is. It returns the
// length of the record.
func (p *places) expandOther(tag byte, out []byte, s *numbers) (int, error) {
	switch {
	case tag == compactMark && len(out) >= markSize:
		p.mark += s.next()
		le.PutUint64(out, uint64(RecordMark)|markSize<<32)
		le.PutUint64(out[8:], p.mark)
		return markSize, nil
	case tag == compactMark:
		return 0, errCompactLong
	case tag == compactGrid:
		return p.expandGrid(out, s)
	case tag == compactBits:
		return expandBits(out, s)
	case tag != compactLiteral:
		return 0, fmt.Errorf("a compact record with an access that begins with %d", tag)
	}
	record, err := s.literal(out)
	if err != nil {
		return 0, err
	}
	if RecordKind(record[0]) == RecordGrid && len(record) == gridSize {
		p.grids[gridPlaceOf(record)].keep(record)
		return gridSize, nil
	}
	if RecordKind(record[0]) != RecordAccess {
		return 0, fmt.Errorf("a record of type %d among compact accesses", record[0])
	}
	p.last = uint8(accessPlaceOf(record))
	p.accesses[p.last] = accessPlace{head: u64(record, 0), addr: u64(record, 8), stride: u64(record, 16), count: u64(record, 24)}
	return accessSize, nil
}

// expandBits expands elements of which bits say which are accessed, an access for each run of
// them, and returns the length of these.
func expandBits(out []byte, s *numbers) (int, error) {
	flags, size, stack := s.byte(), s.next(), s.next()
	addr, distance, n := s.next(), s.next(), s.next()
	if size > math.MaxUint16 || stack > math.MaxUint32 || s.bad || n > uint64(len(s.b)-s.at) {
		return 0, errCompactShort
	}
	all := s.b[s.at : s.at+int(n)]
	s.at += int(n)
	run := accessPlace{head: uint64(RecordAccess) | uint64(flags)<<8 | size<<16 | stack<<32}
	is := func(i int) bool { return i < 8*len(all) && all[i/8]>>(i%8)&1 != 0 }
	used := 0
	for i := 0; i < 8*len(all); i++ {
		if all[i/8]>>(i%8) == 0 { // none that is left in it
			i |= 7
			continue
		}
		if !is(i) {
			continue
		}
		run.addr, run.count, run.stride = addr+uint64(i)*distance, 1, 0
		for ; is(i + 1); i++ {
			run.count++
			run.stride = distance
		}
		if len(out)-used < accessSize {
			return 0, errCompactLong
		}
		run.put((*[accessSize]byte)(out[used:]))
		used += accessSize
	}
	return used, nil
}

// gridPlaceOf returns the number of the place of a grid.
func gridPlaceOf(record []byte) uint64 {
	return (2*uint64(u32(record, 32)) + uint64(record[1]&accessStore)) % accessPlaces
}

// keep notes a grid that stands as a record.
func (l *gridPlace) keep(b []byte) {
	l.head, l.stack, l.rows, l.planes = u64(b, 0), u32(b, 32), u16(b, 36), u16(b, 38)
	l.fields = [gridFields]uint64{u64(b, 8), u64(b, 16), u64(b, 24), u64(b, 40), u64(b, 48)}
}

// expandGrid expands a grid, and returns the length of its record.
func (p *places) expandGrid(out []byte, s *numbers) (int, error) {
	k, changed := s.byte(), s.byte()
	rows, planes := s.next(), s.next()
	switch {
	case s.bad:
		return 0, errCompactShort
	case len(out) < gridSize || rows|planes > math.MaxUint16 || changed >= 1<<gridFields:
		return 0, errCompactLong
	case k >= accessPlaces || p.grids[k].head == 0:
		return 0, errNoPlace
	}
	l := &p.grids[k]
	for ; changed != 0; changed &= changed - 1 {
		l.fields[bits.TrailingZeros8(changed)] += signed(s.next())
	}
	le.PutUint64(out, l.head)
	for i, at := range [gridFields]int{8, 16, 24, 40, 48} {
		le.PutUint64(out[at:], l.fields[i])
	}
	le.PutUint32(out[32:], l.stack)
	le.PutUint16(out[36:], uint16(rows))
	le.PutUint16(out[38:], uint16(planes))
	return gridSize, nil
}
