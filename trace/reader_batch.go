package trace

import (
	"math"
	"math/bits"
	"slices"
)

// Batch is a stretch of the events of one process, and what they define: what
// one goroutine reads for another. It owns all that its items point to.
type Batch struct {
	Items []Item
	// Err is what ReadEvent returned behind the last item; nil: there is more.
	Err error

	accesses []Access
	calls    []Call
	args     []Value
	words    []int64
	defined  []Definition
}

// Item is a call, a loss, an end, or several accesses of one strand without
// anything between them.
type Item struct {
	Kind    Kind
	Strand  uint32
	Stretch Stretch
	Call    *Call
	Lost    Lost
	End     End
	// Defines is what is known with this item and was not before it.
	Defines []Definition
}

// Stretch is accesses of one strand without anything between them, and what
// holds for all of them together.
type Stretch struct {
	Accesses      []Access
	Lo, Hi        uint64 // a range of addresses that holds all of them, half-open
	Loads, Stores uint64 // elements
}

// MaxStretch is how many accesses a Stretch of a Batch has at most: the fewer,
// the closer are its bounds.
const MaxStretch = 128

// NewStretch returns the stretch of some accesses.
func NewStretch(accesses []Access) Stretch {
	s := Stretch{Accesses: accesses}
	for i := range accesses {
		a := &accesses[i]
		s.count(a, a.End())
	}
	return s
}

// count adds an access that ends at hi.
func (s *Stretch) count(a *Access, hi uint64) {
	if s.Hi == 0 || a.Addr < s.Lo {
		s.Lo = a.Addr
	}
	s.Hi = max(s.Hi, hi)
	if a.Store {
		s.Stores += a.Count
	} else {
		s.Loads += a.Count
	}
}

// End returns the address behind the last byte of an access that a Reader gave.
func (a *Access) End() uint64 { return a.Addr + uint64(a.Stride)*(a.Count-1) + uint64(a.Size) }

// Definition is the definition of a datatype, a communicator or an operation.
type Definition struct {
	Type *Type
	Comm *Comm
	Op   int64 // of the operation Name; 0: none
	Name string
}

// ReadBatch reads up to n events into b, in place of what it holds. The
// definitions of the Reader itself may be used again once no ReadBatch is
// under way.
func (r *Reader) ReadBatch(b *Batch, n int) {
	b.reset(n)
	r.defs.log = &b.defined
	defer func() { r.defs.log = nil }()
	var ev Event
	for n > 0 {
		if taken := r.takeAccesses(b, n); taken > 0 {
			n -= taken
			continue
		}
		r.lend(b)
		defined := len(b.defined)
		if b.Err = r.ReadEvent(&ev); b.Err != nil {
			return
		}
		b.take(&ev, b.defined[defined:len(b.defined):len(b.defined)])
		n--
	}
}

// reset empties the batch and makes room for n accesses. Items hold parts of
// the other lists, which may therefore be moved but not be shortened.
func (b *Batch) reset(n int) {
	clear(b.Items)
	clear(b.defined)
	b.Items, b.Err = b.Items[:0], nil
	if cap(b.accesses) < n {
		b.accesses = make([]Access, 0, n)
	}
	b.accesses, b.calls, b.args, b.words, b.defined = b.accesses[:0], b.calls[:0], b.args[:0], b.words[:0], b.defined[:0]
}

// takeAccesses takes up to n of the accesses that follow the last item, where
// that is a stretch of the same strand with room for more, and returns how many.
func (r *Reader) takeAccesses(b *Batch, n int) int {
	s := r.merge.run
	if s == nil || len(b.Items) == 0 {
		return 0
	}
	item := &b.Items[len(b.Items)-1]
	if item.Kind != KindAccess || item.Strand != s.id {
		return 0
	}
	last := item.Stretch
	from, n := len(b.accesses), min(n, MaxStretch-len(last.Accesses))
	at, room := from, b.accesses[:min(cap(b.accesses), len(b.accesses)+n)]
	rest := s.buf[s.pos:]
	for at < len(room) && len(rest) >= accessSize && rest[0] == byte(RecordAccess) {
		a := &room[at]
		rawAccess((*[accessSize]byte)(rest), a)
		over, span := bits.Mul64(a.Count-1, uint64(a.Stride))
		hi := a.Addr + span + uint64(a.Size)
		if over != 0 || a.Stride <= 0 || a.Count < 2 || a.Size == 0 || hi <= a.Addr || span > math.MaxUint64/2 {
			var state accessState
			if hi, state = a.normalise(); state != accessOK {
				break
			}
		}
		last.count(a, hi)
		rest = rest[accessSize:]
		at++
	}
	s.pos = len(s.buf) - len(rest)
	b.accesses = room[:at]
	last.Accesses = b.accesses[from-len(last.Accesses) : at : at]
	item.Stretch = last
	return at - from
}

// lend gives the reader room of the batch for the next call.
func (r *Reader) lend(b *Batch) {
	const args, words = 32, 256 // of most calls
	b.args, b.words = slices.Grow(b.args, args), slices.Grow(b.words, words)
	r.call.Args, r.words = b.args[len(b.args):], b.words[len(b.words):]
}

// take adds an event.
func (b *Batch) take(ev *Event, defines []Definition) {
	item := Item{Kind: ev.Kind, Strand: ev.Strand, Defines: defines}
	switch ev.Kind {
	case KindAccess:
		b.accesses = append(b.accesses, ev.Access)
		n := len(b.accesses)
		item.Stretch = NewStretch(b.accesses[n-1 : n : n])
	case KindCall:
		b.calls = append(b.calls, *ev.Call)
		item.Call = &b.calls[len(b.calls)-1]
		b.args = append(b.args, item.Call.Args...)
		item.Call.Args = b.args[len(b.args)-len(item.Call.Args) : len(b.args) : len(b.args)]
		for i := range item.Call.Args {
			if list := item.Call.Args[i].List; len(list) > 0 {
				b.words = append(b.words, list...)
				n := len(b.words)
				item.Call.Args[i].List = b.words[n-len(list) : n : n]
			}
		}
	case KindLost:
		item.Lost = ev.Lost
	case KindEnd:
		item.End = ev.End
	}
	b.Items = append(b.Items, item)
}
