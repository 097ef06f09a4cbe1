package trace

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Compact records of calls (docs/trace-format.md, "compact calls").

// expandCalls fills out with records.
func (p *places) expandCalls(out, b []byte) error {
	s := numbers{b: b}
	p.haveCalls()
	for len(out) > 0 {
		tag := s.byte()
		if tag == compactLiteral {
			record, err := s.literal(out)
			if err != nil {
				return err
			}
			if RecordKind(record[0]) == RecordCall && len(record) >= callSize {
				p.keepCall(record, placeOf(record))
			}
			out = out[len(record):]
			continue
		}
		if tag == compactAlone || tag == compactApart {
			place := uint32(0)
			if tag == compactApart {
				place = uint32(s.byte())
			}
			record, err := p.expandAlone(out, &s)
			if err != nil {
				return err
			}
			if tag == compactAlone {
				place = placeOf(record)
			}
			if place >= callPlaces {
				return errNoPlace
			}
			p.keepCall(record, place)
			out = out[len(record):]
			continue
		}
		flags, seq := byte(callReturned), p.seq+1
		if tag == compactOdd {
			tag, flags = s.byte(), s.byte()
			seq = p.seq + signed(s.next())
		}
		if tag >= callPlaces {
			return fmt.Errorf("a compact record with a call that begins with %d", tag)
		}
		l := &p.calls[tag]
		if l.head == 0 {
			return errNoPlace
		}
		size := callSize + 8*len(l.words)
		if len(out) < size {
			return errCompactLong
		}
		record := out[:size]
		out = out[size:]
		begin := p.end + signed(s.next())
		p.seq, p.end = seq, begin+signed(s.next())
		le.PutUint64(record, l.head)
		record[1] = flags
		le.PutUint64(record[8:], seq)
		le.PutUint64(record[16:], begin)
		le.PutUint64(record[24:], p.end)
		le.PutUint64(record[32:], uint64(l.stack))
		for changed := s.next(); changed != 0; changed &= changed - 1 {
			i := bits.TrailingZeros64(changed)
			if i >= len(l.words) {
				return errCompactLong
			}
			l.words[i] += signed(s.next())
		}
		words := record[callSize:]
		for _, w := range l.words {
			le.PutUint64(words, w)
			words = words[8:]
		}
	}
	if s.bad {
		return errCompactShort
	}
	return s.end()
}

// expandAlone writes a call that was compared with no other to the beginning of out.
func (p *places) expandAlone(out []byte, s *numbers) ([]byte, error) {
	flags := s.byte()
	fn, stack, n := s.next(), s.next(), s.next()
	switch {
	case s.bad:
		return nil, errCompactShort
	case fn > math.MaxUint16 || stack > math.MaxUint32 || n > uint64(len(out)) || callSize+8*int(n) > len(out):
		return nil, errCompactLong
	}
	record := out[:callSize+8*int(n)]
	le.PutUint64(record, uint64(RecordCall)|uint64(flags)<<8|fn<<16|uint64(len(record))<<32)
	le.PutUint64(record[8:], p.seq+signed(s.next()))
	begin := p.end + signed(s.next())
	le.PutUint64(record[16:], begin)
	le.PutUint64(record[24:], begin+signed(s.next()))
	le.PutUint64(record[32:], stack)
	for i, words := 0, record[callSize:]; i < int(n); {
		asGuessed := s.next()
		if s.bad || asGuessed > n-uint64(i) {
			return nil, errCompactLong
		}
		for range asGuessed {
			le.PutUint64(words[8*i:], guess(words, i))
			i++
		}
		if i < int(n) {
			le.PutUint64(words[8*i:], guess(words, i)+signed(s.next()))
			i++
		}
	}
	return record, nil
}

// guess is what word i of the arguments of a call is where they are lists of equal
// things or of what grows evenly: of numbers, or of statuses, which have four words.
func guess(words []byte, i int) uint64 {
	switch {
	case i < 4:
		return 0
	case i < 8:
		return u64(words, 8*(i-4))
	}
	return 2*u64(words, 8*(i-4)) - u64(words, 8*(i-8))
}

// placeOf returns the place of a call that is given none of its own.
func placeOf(record []byte) uint32 { return u32(record, 32) % callPlaces }

// keepCall notes a call that was compared with no other as that of its place.
func (p *places) keepCall(record []byte, place uint32) {
	p.seq, p.end = u64(record, 8), u64(record, 24)
	words := record[callSize:]
	if len(words) > 8*callWordsMost {
		return
	}
	l := &p.calls[place]
	l.head, l.stack = u64(record, 0)&^0xff00, u32(record, 32)
	l.words = slices.Grow(l.words[:0], len(words)/8)[:len(words)/8]
	for i := range l.words {
		l.words[i] = u64(words, 8*i)
	}
}
