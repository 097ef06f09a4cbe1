package trace

import (
	"errors"
	"math"
)

// Index is what a chunk of accesses alone holds.
type Index struct {
	Loads, Stores uint64 // elements
	Lo, Hi        uint64 // a range of addresses that holds all bytes accessed, half-open
	Groups        []Group
}

// Group is the accesses behind a mark. Its call comes Later calls after that of
// the group before, and that of the first group after the one in the header of
// the chunk.
type Group struct{ Later, Accesses uint32 }

// Skipped is accesses that a Reader was told to pass over: those behind one mark.
// The elements are those of the whole chunk, with what comes first of it. Of a
// chunk that is not passed over they are told as well, with no accesses.
type Skipped struct {
	Accesses      uint64
	Loads, Stores uint64 // elements
	Lo, Hi        uint64 // where stores of the chunk may be, half-open; empty where there are none
}

const (
	indexHead = 48 // without groups
	indexTail = 8
	groupSize = 8 // of version 1

	indexNumbers = 1 // the form in which groups are numbers
)

// indexOf returns the index of the records of a chunk that was begun at call seq;
// false when there is nothing to be told, or it cannot be.
func indexOf(records []byte, seq uint64) (x Index, ok bool) {
	for len(records) > 0 {
		n, err := recordLength(records)
		if err != nil {
			return x, false
		}
		switch RecordKind(records[0]) {
		case RecordMark:
			at, err := decodeMark(records)
			if err != nil || at < seq || at-seq > math.MaxUint32 {
				return x, false
			}
			x.Groups = append(x.Groups, Group{Later: uint32(at - seq)})
			seq = at
		case RecordAccess:
			var a Access
			rawAccess((*[accessSize]byte)(records), &a)
			switch hi, state := a.normalise(); {
			case state == accessBad || len(x.Groups) == 0:
				return x, false
			case state == accessOK:
				x.add(&a, 1, a.Addr, hi)
			}
		case RecordGrid:
			var g Grid
			if decodeGrid(records[:n], &g) != nil {
				return x, false
			}
			switch lo, hi, state := g.normalise(); {
			case state == accessBad || len(x.Groups) == 0:
				return x, false
			case state == accessOK:
				x.add(&g.Access, g.accesses(), lo, hi)
			}
		default:
			return x, false
		}
		records = records[n:]
	}
	return x, len(x.Groups) > 0
}

// add counts n accesses like one, whose bytes lie in [lo, hi).
func (x *Index) add(a *Access, n int, lo, hi uint64) {
	x.Groups[len(x.Groups)-1].Accesses += uint32(n)
	if x.Hi == 0 {
		x.Lo = lo
	}
	x.Lo, x.Hi = min(x.Lo, lo), max(x.Hi, hi)
	if a.Store {
		x.Stores += uint64(n) * a.Count
	} else {
		x.Loads += uint64(n) * a.Count
	}
}

func appendIndex(b []byte, x *Index) []byte {
	from := len(b)
	b = begin(b, RecordIndex, indexNumbers, 0)
	for _, v := range [...]uint64{x.Loads, x.Stores, x.Lo, x.Hi, uint64(len(x.Groups))} {
		b = app64(b, v)
	}
	for _, g := range x.Groups {
		b = appendNumber(appendNumber(b, uint64(g.Later)), uint64(g.Accesses))
	}
	b = pad(b, from)
	le.PutUint32(b[from+4:], uint32(len(b)-from+indexTail))
	b = le.AppendUint32(b, checksum(b[from:]))
	return le.AppendUint32(b, 0)
}

var errIndex = errors.New("an index that its checksum does not fit")

func decodeIndex(b []byte) (x Index, err error) {
	if len(b) < indexHead+indexTail {
		return x, errShort
	}
	body := b[:len(b)-indexTail]
	n, groups := int64(u32(b, 40)), body[indexHead:]
	if u32(b, len(body)) != checksum(body) || n > int64(len(groups)) {
		return x, errIndex
	}
	x = Index{Loads: u64(b, 8), Stores: u64(b, 16), Lo: u64(b, 24), Hi: u64(b, 32), Groups: make([]Group, n)}
	if b[1] == indexNumbers {
		return x, decodeGroups(groups, x.Groups)
	}
	if int64(len(groups)) != groupSize*n {
		return x, errIndex
	}
	for i := range x.Groups {
		at := groupSize * i
		x.Groups[i] = Group{Later: u32(groups, at), Accesses: u32(groups, at+4)}
	}
	return x, nil
}

// decodeGroups reads groups that are numbers.
func decodeGroups(b []byte, groups []Group) error {
	s := numbers{b: b}
	for i := range groups {
		later, accesses := s.next(), s.next()
		if max(later, accesses) > math.MaxUint32 {
			return errIndex
		}
		groups[i] = Group{Later: uint32(later), Accesses: uint32(accesses)}
	}
	if s.bad || s.end() != nil {
		return errIndex
	}
	return nil
}
