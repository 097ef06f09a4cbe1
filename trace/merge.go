package trace

import (
	"errors"
	"fmt"
	"math"
)

const (
	// maxStrands bounds the chunks held at once; no process has as many threads.
	maxStrands = 1 << 12
	// maxWaiting bounds the chunks that wait behind another of their strand
	// while the merge looks for a call that may have been lost.
	maxWaiting = 16
)

// merge holds the strands that have records loaded and not yet delivered.
//
// A record's place in the order of the process is the pair (call, after): a
// call n stands at (n, 0), what follows it in any strand at (n, 1). A chunk
// that is not loaded was begun after its Seq calls had begun, and so holds
// nothing from before (Seq, 1) but call Seq itself, for which it may have been
// begun.
type merge struct {
	strands []*strand // each with a record at its head; few
	run     *strand   // the strand of the last event, not yet advanced
	seq     uint64    // the last call delivered
	waiting int       // chunks in queues
	spare   []*strand // for reuse
}

// strand is one thread's part in the merge: its accesses that have chunks of
// their own, or all else.
type strand struct {
	id       uint32
	accesses bool
	chunk    Chunk
	reading           // the chunk's
	skipped  *Index   // instead of records; pos is the next of its groups
	group    uint64   // the call of the last group
	coming   *Index   // of the chunk, when nothing was given of it yet
	counted  bool     // the elements of the chunk are told as a whole
	queue    []loaded // the strand's next chunks
	seq      uint64   // the last call or mark passed
	call     uint64   // the strand's own last call
	row      int      // accesses of the grid at pos that were given
	at       uint64   // place of the record at pos: the call …
	after    bool     // … or what follows it
	ending   bool     // it is the end record, which comes last
	growing           // where the chunk is read while it is written
}

// loaded is a chunk that waits for its strand to come to it.
type loaded struct {
	chunk   Chunk
	buf     []byte
	skipped *Index // instead of records
	coming  *Index // of the records, where it is to be told
	growing
}

func (s *strand) position() int64 {
	return s.chunk.Offset + chunkHeaderSize + int64(s.offset())
}

func (s *strand) called(seq uint64) {
	s.call = seq
	s.seq = max(s.seq, seq)
}

func (s *strand) begins(l loaded) {
	s.growing = l.growing
	s.chunk, s.skipped, s.coming, s.counted = l.chunk, l.skipped, l.coming, l.coming != nil
	s.begin(l.buf, l.chunk.Seq)
	s.seq, s.group = max(s.seq, l.chunk.Seq), l.chunk.Seq
}

func (m *merge) called(seq uint64) { m.seq = max(m.seq, seq) }

// least returns the strand whose record comes next among those loaded, where the order
// is open the one that stands first in the file, so that it does not matter which chunks
// are loaded by now; nil when none is loaded.
func (m *merge) least() *strand {
	var best *strand
	for _, s := range m.strands {
		if s.dry {
			continue
		}
		if best == nil || s.before(best) {
			best = s
		}
	}
	return best
}

func (s *strand) before(t *strand) bool {
	if s.ending != t.ending {
		return t.ending
	}
	if s.at != t.at {
		return s.at < t.at
	}
	if s.after != t.after {
		return t.after
	}
	return s.chunk.Offset < t.chunk.Offset
}

// find returns the strand that a chunk belongs to.
func (m *merge) find(c *Chunk) *strand {
	for _, s := range m.strands {
		if s.id == c.Strand && s.accesses == c.Accesses {
			return s
		}
	}
	return nil
}

// drop forgets a strand that has no more records.
func (m *merge) drop(s *strand, c *chunkReader) {
	c.follow.finished(&s.chunk)
	c.release(s.storage())
	for _, l := range s.queue {
		c.release(l.buf)
	}
	m.waiting -= len(s.queue)
	for i := range m.strands {
		if m.strands[i] == s {
			last := len(m.strands) - 1
			m.strands[i] = m.strands[last]
			m.strands = m.strands[:last]
			break
		}
	}
	*s = strand{queue: s.queue[:0], reading: s.empty()}
	m.spare = append(m.spare, s)
}

// mustLoad reports whether a chunk not yet loaded may hold a record that comes
// before the head of s, which is nil when nothing is loaded.
func (r *Reader) mustLoad(s *strand) bool {
	if s == nil {
		return true
	}
	if r.merge.waiting >= maxWaiting {
		return false
	}
	if !s.ending && s.after && s.at <= r.merge.seq {
		return false // the call was delivered: everything that follows it may come
	}
	next := r.chunks.peek()
	switch {
	case next == nil:
		return false
	case s.ending:
		return true
	case s.after:
		return next.Seq <= s.at
	}
	return next.Seq < s.at
}

// load reads the next chunk of the file. It reports false when there is none.
func (r *Reader) load() bool {
	head := r.chunks.peek()
	if head == nil {
		return false
	}
	l := loaded{chunk: *head}
	if r.chunks.follow.following() {
		if !r.loadFollowed(&l) {
			return false
		}
	} else if l.skipped = r.pass(head); l.skipped == nil {
		buf, ok := r.chunks.read()
		if !ok {
			return true // nothing came of it; peek will say that nothing follows
		}
		l.buf = trimTorn(buf, &l.chunk)
		l.coming = r.comingIndex(&l)
	}
	m := &r.merge
	if s := m.find(&l.chunk); s != nil {
		s.queue = append(s.queue, l)
		m.waiting++
		return true
	}
	if len(m.strands) >= maxStrands {
		r.chunks.stop(l.chunk.Offset, fmt.Sprintf("more than %d strands at once", maxStrands))
		return true
	}
	s := m.spareStrand()
	s.id, s.accesses = l.chunk.Strand, l.chunk.Accesses
	s.begins(l)
	m.strands = append(m.strands, s)
	r.advance(s)
	return true
}

func (m *merge) spareStrand() *strand {
	if n := len(m.spare); n > 0 {
		s := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return s
	}
	return &strand{}
}

// advance applies the definitions and marks at the head of s until an event
// stands there, and drops s when there is none.
func (r *Reader) advance(s *strand) {
	for {
		if s.nextGroup() {
			return
		}
		for s.leave() {
			event, err := r.absorb(s)
			if err != nil {
				r.damage(s, err)
				return
			}
			if event {
				return
			}
		}
		if s.open {
			s.dry = true
			return
		}
		if len(s.queue) == 0 {
			r.merge.drop(s, r.chunks)
			return
		}
		r.chunks.release(s.storage())
		r.chunks.follow.finished(&s.chunk)
		l := s.queue[0]
		s.queue = append(s.queue[:0], s.queue[1:]...)
		r.merge.waiting--
		s.begins(l)
	}
}

// nextGroup goes to the next accesses of a chunk that is passed over, and reports
// whether there are some.
func (s *strand) nextGroup() bool {
	if s.skipped == nil {
		return false
	}
	groups := s.skipped.Groups
	// The numbers are from the group before, or from the header of the chunk.
	for s.pos < len(groups) {
		s.group += uint64(groups[s.pos].Later)
		s.seq = max(s.seq, s.group)
		s.at, s.after = s.seq, true
		s.pos++
		if groups[s.pos-1].Accesses > 0 {
			return true
		}
	}
	s.skipped, s.pos = nil, 0
	return false
}

// absorb looks at the record at the head of s. It reports true for an event,
// which stays there with its place noted, and passes all others.
func (r *Reader) absorb(s *strand) (event bool, err error) {
	n, err := recordLength(s.buf[s.pos:])
	if err != nil {
		return false, err
	}
	b := s.buf[s.pos : s.pos+n]
	s.ending = false
	kind := RecordKind(b[0])
	if s.accesses && !kind.amongAccesses() {
		return false, fmt.Errorf("a record of type %d in a chunk of accesses", kind)
	}
	switch kind {
	case RecordCompactCalls, RecordCompactAccesses:
		return false, s.enter(b)
	case RecordAccess, RecordGrid:
		if saysNothing(b) {
			break
		}
		s.at, s.after = s.seq, true
		return true, nil
	case RecordLost:
		s.at, s.after = s.seq, true
		return true, nil
	case RecordCall:
		if n < callSize {
			return false, errShort
		}
		seq := u64(b, 8)
		if seq <= s.call {
			return false, fmt.Errorf("call %d after call %d", seq, s.call)
		}
		s.at, s.after = seq, false
		return true, nil
	case RecordEnd:
		end, err := decodeEnd(b)
		if err != nil {
			return false, err
		}
		if r.defs.end != nil {
			return false, errors.New("a second end record")
		}
		r.defs.end = &end
		s.at, s.after, s.ending = math.MaxUint64, true, true
		return true, nil
	case RecordMark:
		seq, err := decodeMark(b)
		if err != nil {
			return false, err
		}
		s.seq = max(s.seq, seq)
	default:
		if err := r.defs.apply(kind, b); err != nil {
			return false, err
		}
	}
	s.pos += n
	return false, nil
}
