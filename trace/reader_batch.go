package trace

import (
	"errors"
	"slices"
)

// Batch is a stretch of the events of one process, and what they define: what
// one goroutine reads for another. It owns all that its items point to.
type Batch struct {
	Items []Item
	// Err is what ReadEvent returned behind the last item; nil: there is more.
	Err error

	rows    []Rows
	fold    folder // of the last item, where that is accesses
	calls   []Call
	args    []Value
	words   []int64
	defined []Definition
}

// Item is a call, a loss, an end, accesses that were passed over, or several
// accesses of one strand without anything between them.
type Item struct {
	Kind    Kind
	Strand  uint32
	Stretch Stretch
	Call    *Call
	Other   *Event // a loss, an end, or what was passed over
	// Defines is what is known with this item and was not before it.
	Defines []Definition
}

// End returns the address behind the last byte of an access that a Reader gave.
func (a *Access) End() uint64 { return a.Addr + uint64(a.Stride)*(a.Count-1) + uint64(a.Size) }

// Definition is the definition of a datatype, a communicator or an operation, or information.
type Definition struct {
	Type       *Type
	Comm       *Comm
	Op         int64 // of the operation Name; 0: none
	Name       string
	Key, Value string // of information about the process
}

// mostRepeated is how many times as many accesses a batch may have as rows.
const mostRepeated = 16

// ReadBatch reads up to n events into b, in place of what it holds; accesses
// that repeat at equal distances, a loop's, count little. The definitions of
// the Reader itself may be used again once no ReadBatch is under way.
//
// Of a file that is followed, it reads what is there, and waits where nothing is.
func (r *Reader) ReadBatch(b *Batch, n int) {
	defer r.guard()()
	if r.chunks.follow != nil {
		r.giveBack()
	}
	b.reset()
	r.defs.log = &b.defined
	defer func() { r.defs.log = nil }()
	var ev Event
	defined := 0 // of the definitions, that an item has
	if len(r.early) > 0 {
		b.defined = append(b.defined, r.early...)
		r.early = r.early[:0]
	}
	for events, most := 0, mostRepeated*n; n > 0 && events < most; {
		if rows, taken := r.takeAccesses(b, n); taken > 0 {
			n -= rows
			events += taken
			continue
		}
		r.lend(b)
		b.Err = r.ReadEvent(&ev)
		if errors.Is(b.Err, ErrNotYet) {
			if b.Err = nil; len(b.Items) > 0 {
				r.early = append(r.early[:0], b.defined[defined:]...)
				return
			}
			r.giveBack()
			b.Err = r.chunks.follow.wait()
			if b.Err == nil {
				continue
			}
		}
		if b.Err != nil {
			return
		}
		r.chunks.follow.came()
		b.take(&ev, r.words, b.defined[defined:len(b.defined):len(b.defined)])
		defined = len(b.defined)
		n--
		events++
	}
}

// reset empties the batch. Items hold parts of the other lists, which may therefore be
// moved but not be shortened.
func (b *Batch) reset() {
	clear(b.Items)
	clear(b.defined)
	b.Items, b.Err = b.Items[:0], nil
	b.rows, b.calls, b.args, b.words, b.defined = b.rows[:0], b.calls[:0], b.args[:0], b.words[:0], b.defined[:0]
}

// takeAccesses takes accesses that follow the last item, where that is a
// stretch of the same strand with room for more. It returns how many they are,
// and how many rows they need, up to n.
func (r *Reader) takeAccesses(b *Batch, n int) (rows, taken int) {
	s := r.merge.run
	if s == nil || s.skipped != nil || len(b.Items) == 0 {
		return 0, 0
	}
	item := &b.Items[len(b.Items)-1]
	if item.Kind != KindAccess || item.Strand != s.id || item.Stretch.Counted != s.counted {
		return 0, 0
	}
	st, f := item.Stretch, &b.fold
	before, had := st.Len, len(st.Rows)
	from, most := len(b.rows)-had, min(n+had, MaxStretch)
	b.rows = slices.Grow(b.rows, max(0, most-had))
	st.Rows = b.rows[from:] // with room for as many
	rest := s.buf[s.pos:]
	for st.Len < MaxLen {
		if len(rest) < accessSize || rest[0] != byte(RecordAccess) {
			if s.pos = len(s.buf) - len(rest); !s.takeGrid(f, &st, most) && !s.moreAccesses() {
				break
			}
			rest = s.buf[s.pos:]
			continue
		}
		if f.period > 0 {
			if n := f.follow(rest, &st); n > 0 {
				rest = rest[n*accessSize:]
				continue
			}
		}
		if len(st.Rows) == most {
			break
		}
		var a Access
		rawAccess((*[accessSize]byte)(rest), &a)
		if !a.plain() {
			if _, state := a.normalise(); state != accessOK {
				break
			}
		}
		f.add(&a, &st)
		rest = rest[accessSize:]
	}
	s.pos = len(s.buf) - len(rest)
	rows = len(st.Rows) - had
	b.rows = b.rows[:from+len(st.Rows)]
	st.Rows = b.rows[from:len(b.rows):len(b.rows)]
	item.Stretch = st
	return max(0, rows), st.Len - before
}

// takeGrid takes accesses of the grid at the head of the strand, and reports whether
// there were any: there is one, and the stretch has room.
func (s *strand) takeGrid(f *folder, st *Stretch, most int) bool {
	b := s.buf[s.pos:]
	if len(b) < gridSize || b[0] != byte(RecordGrid) || saysNothing(b) || u32(b, 4) != gridSize {
		return false
	}
	var g Grid
	if s.grid(b[:gridSize], &g) != nil {
		return false // it will be met again
	}
	taken := 0
	for all := g.accesses(); s.row < all && st.Len < MaxLen; taken++ {
		rows := g.rows(s.row, MaxLen-st.Len, st.Len)
		if n := len(st.Rows); n == most && !st.Rows[n-1].goesOn(&rows) {
			break
		}
		f.addRows(&rows, st)
		if s.row += int(rows.N); s.row == all {
			s.passRows(0, &g)
			return true
		}
	}
	return taken > 0
}

// lend gives the reader room of the batch for the next call.
func (r *Reader) lend(b *Batch) {
	const args, words = 32, 256 // of most calls
	b.args, b.words = slices.Grow(b.args, args), slices.Grow(b.words, words)
	r.call.Args, r.words = b.args[len(b.args):], b.words[len(b.words):]
}

// take adds an event; words are those of the lists of a call.
func (b *Batch) take(ev *Event, words []int64, defines []Definition) {
	item := Item{Kind: ev.Kind, Strand: ev.Strand, Defines: defines}
	switch ev.Kind {
	case KindAccess:
		b.rows = append(b.rows, RowsOf(&ev.Access, 0))
		n := len(b.rows)
		item.Stretch.Rows = b.rows[n-1 : n : n]
		item.Stretch.add(&item.Stretch.Rows[0])
		item.Stretch.Counted = ev.Counted
		b.fold.begin(item.Stretch.Rows)
	case KindCall:
		b.calls = append(b.calls, *ev.Call)
		item.Call = &b.calls[len(b.calls)-1]
		b.keep(item.Call, words)
	default:
		item.Other = &Event{Kind: ev.Kind, Strand: ev.Strand, Lost: ev.Lost, End: ev.End, Skipped: ev.Skipped}
	}
	b.Items = append(b.Items, item)
}

// keep makes the arguments of a call the batch's own. Those that stand in the room
// that was lent are there already.
func (b *Batch) keep(c *Call, words []int64) {
	if n := len(c.Args); n > 0 && &c.Args[0] == &b.args[:cap(b.args)][len(b.args)] {
		b.args = b.args[:len(b.args)+n]
	} else {
		b.args = append(b.args, c.Args...)
		c.Args = b.args[len(b.args)-n : len(b.args)]
	}
	c.Args = slices.Clip(c.Args)
	if len(words) == 0 {
		return
	}
	if &words[0] == &b.words[:cap(b.words)][len(b.words)] {
		b.words = b.words[:len(b.words)+len(words)]
		return
	}
	for i := range c.Args {
		if list := c.Args[i].List; len(list) > 0 {
			b.words = append(b.words, list...)
			c.Args[i].List = slices.Clip(b.words[len(b.words)-len(list):])
		}
	}
}
