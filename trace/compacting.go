package trace

import (
	"math"
	"math/bits"
)

const (
	// expandedMost is how many bytes of records a Writer puts into a compact one, unless
	// it is one record: then up to expandedOne.
	expandedMost = 8 << 10
	expandedOne  = 8 * math.MaxUint16
)

// compactor makes the records of a chunk compact.
type compactor struct {
	places places
	b      []byte
}

// compact returns the records of a chunk that was begun at call seq in fewer bytes, valid
// until the next call; false where that cannot be done.
func (p *compactor) compact(records []byte, seq uint64) ([]byte, bool) {
	p.places.haveCalls()
	p.places.haveAccesses()
	p.places.reset(seq)
	p.b = p.b[:0]
	for rest := records; len(rest) > 0; {
		from := len(p.b)
		p.b = append(p.b, make([]byte, compactHead)...)
		taken := 0
		for len(rest) > taken {
			n, err := recordLength(rest[taken:])
			if err != nil || RecordKind(rest[taken]).packing() {
				return nil, false
			}
			if taken > 0 && (taken+n > expandedMost || compactAs(rest[taken:]) != compactAs(rest)) {
				break
			}
			if n > expandedOne && RecordKind(rest[taken]) == RecordCall {
				return nil, false // those that follow refer to it
			}
			p.record(rest[taken : taken+n])
			taken += n
		}
		if taken > expandedOne {
			p.b = append(p.b[:from], rest[:taken]...) // a long record, alone
		} else {
			p.b = pad(p.b, from)
			le.PutUint64(p.b[from:], uint64(compactAs(rest))|uint64(taken/8)<<16|uint64(len(p.b)-from)<<32)
		}
		rest = rest[taken:]
	}
	return p.b, len(p.b) < len(records)
}

// compactAs tells which kind of compact record takes the record at the beginning of b.
func compactAs(b []byte) RecordKind {
	if kind := RecordKind(b[0]); kind == RecordAccess || kind == RecordGrid && len(b) >= gridSize || kind == RecordMark {
		return RecordCompactAccesses
	}
	return RecordCompactCalls
}

func (p *compactor) record(b []byte) {
	switch kind := RecordKind(b[0]); {
	case kind == RecordCall && len(b) >= callSize:
		p.call(b)
	case kind == RecordAccess:
		p.access(b)
	case kind == RecordGrid && len(b) == gridSize:
		p.grid(b)
	case kind == RecordMark && len(b) == markSize:
		p.mark(b)
	default:
		p.literal(b)
	}
}

func (p *compactor) literal(b []byte) { p.b = append(append(p.b, compactLiteral), b...) }

func (p *compactor) number(v uint64) { p.b = appendNumber(p.b, v) }

// placeFor returns the place of a call: that of its stack, unless another function is called there.
func (p *compactor) placeFor(b []byte) uint32 {
	first, stack, n := placeOf(b), u32(b, 32), uint32(len(b)-callSize)/8
	l := &p.places.calls[first]
	if l.head == 0 || l.stack != stack || l.head == u64(b, 0)&^0xff00 {
		return first
	}
	return (stack + 37*uint32(u16(b, 2)) + 11*n) % callPlaces
}

func (p *compactor) call(b []byte) {
	k := p.placeFor(b)
	l := &p.places.calls[k]
	seq, begin, end := u64(b, 8), u64(b, 16), u64(b, 24)
	if l.head != u64(b, 0)&^0xff00 || uint64(l.stack) != u64(b, 32) {
		p.places.keepCall(b, p.alone(b, k))
		return
	}
	if b[1] != callReturned || seq != p.places.seq+1 {
		p.b = append(p.b, compactOdd, byte(k), b[1])
		p.number(zigzag(seq - p.places.seq))
	} else {
		p.b = append(p.b, byte(k))
	}
	p.number(zigzag(begin - p.places.end))
	p.number(zigzag(end - begin))
	p.places.seq, p.places.end = seq, end
	changed := uint64(0)
	for i, w := range l.words {
		if u64(b, callSize+8*i) != w {
			changed |= 1 << i
		}
	}
	p.number(changed)
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros64(changed)
		w := u64(b, callSize+8*i)
		p.number(zigzag(w - l.words[i]))
		l.words[i] = w
	}
}

// alone writes a call that is compared with no other and is to become that of a place, in whichever
// form is shorter. It returns the place.
func (p *compactor) alone(b []byte, place uint32) uint32 {
	from := len(p.b)
	words := b[callSize:]
	n := len(words) / 8
	if place == placeOf(b) {
		p.b = append(p.b, compactAlone, b[1])
	} else {
		p.b = append(p.b, compactApart, byte(place), b[1])
	}
	for _, v := range [...]uint64{uint64(u16(b, 2)), u64(b, 32), uint64(n)} {
		p.number(v)
	}
	begin := u64(b, 16)
	for _, d := range [...]uint64{u64(b, 8) - p.places.seq, begin - p.places.end, u64(b, 24) - begin} {
		p.number(zigzag(d))
	}
	asGuessed := uint64(0)
	for i := range n {
		d := u64(words, 8*i) - guess(words, i)
		if d == 0 {
			asGuessed++
			continue
		}
		p.number(asGuessed)
		p.number(zigzag(d))
		asGuessed = 0
	}
	if asGuessed > 0 {
		p.number(asGuessed)
	}
	if len(p.b)-from > len(b) {
		p.b = p.b[:from]
		p.literal(b)
		return placeOf(b)
	}
	return place
}

func (p *compactor) access(b []byte) {
	k := accessPlaceOf(b)
	l, last := &p.places.accesses[k], p.places.accesses[p.places.last]
	a := accessPlace{head: u64(b, 0), addr: u64(b, 8), stride: u64(b, 16), count: u64(b, 24)}
	if l.head == a.head {
		a.step = a.addr - l.addr
		same := a.stride == l.stride && a.count == l.count
		switch {
		case same && a.step == l.step:
			p.b = append(p.b, byte(k))
		case a.addr == last.addr && a.stride == last.stride && a.count == last.count:
			p.b = append(p.b, byte(accessAgain+k))
		case same:
			p.b = append(p.b, byte(accessBy+k))
			p.number(zigzag(a.step))
		default:
			p.b = append(p.b, byte(accessOther+k))
			p.number(zigzag(a.step))
			p.number(zigzag(a.stride - l.stride))
			p.number(zigzag(a.count - l.count))
		}
	} else {
		p.literal(b)
	}
	*l, p.places.last = a, uint8(k)
}

func (p *compactor) grid(b []byte) {
	k := gridPlaceOf(b)
	l := &p.places.grids[k]
	if l.head != u64(b, 0) || l.stack != u32(b, 32) {
		p.literal(b)
		l.keep(b)
		return
	}
	old := l.fields
	l.keep(b)
	changed := byte(0)
	for i := range old {
		if l.fields[i] != old[i] {
			changed |= 1 << i
		}
	}
	p.b = append(p.b, compactGrid, byte(k), changed)
	p.number(uint64(l.rows))
	p.number(uint64(l.planes))
	for ; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros8(changed)
		p.number(zigzag(l.fields[i] - old[i]))
	}
}

func (p *compactor) mark(b []byte) {
	seq := u64(b, 8)
	p.b = append(p.b, compactMark)
	p.number(seq - p.places.mark)
	p.places.mark = seq
}
