package regions

import (
	"fmt"
	"iter"
	"sync"

	"github.com/mcchk/mcchk/trace"
)

// Loads and stores are most of a large trace. Those of a line in a phase lie
// in rooms, in program order, of which all but the last are full. Rooms of
// regions that have been searched serve the regions to come. Where rooms take
// more than may be held (NewStorage), full ones are written to a file, and
// what is kept of them is only their bounds.

// room is some of the loads and stores of one line in a phase.
type room struct {
	stretches []Stretch
	rows      []trace.Rows // what the stretches' own rows are parts of
	next      *room
	old       bool // they were in the phase before as well
	stored    *storedRoom
	counted   int64 // bytes that pool.held has of it
}

// storedRoom is what is known of a room that lies in a file.
type storedRoom struct {
	at       int64 // in the file, bytes
	size     int   // bytes
	rows     int
	accesses int
	lo, hi   uint64 // a range of addresses that holds all of them, half-open
	from, to int32  // separate regions of the first and of the last
}

// len returns the number of accesses.
func (r *room) len() int {
	if r.stored != nil {
		return r.stored.accesses
	}
	n := 0
	for i := range r.rows {
		n += int(r.rows[i].N)
	}
	return n
}

// locals holds the loads and stores of a line in a phase.
type locals struct {
	first, last *room
}

// newRoom begins a room for at least n rows. Where that were more than may
// be held, the last room is written to a file, and its storage used again.
func (l *locals) newRoom(st *pool, n int) {
	wanted := 0
	if l.last != nil {
		wanted = max(2*cap(l.last.rows), firstFull)
	}
	next := st.room(n, wanted, l.last)
	if next == nil {
		stored := st.write(l.last)
		next = &room{stretches: l.last.stretches[:0], rows: l.last.rows[:0], counted: l.last.counted}
		*l.last = room{old: l.last.old, stored: stored}
	}
	if l.last == nil {
		l.first = next
	} else {
		l.last.next = next
	}
	l.last = next
}

// add adds a copy of a stretch.
func (l *locals) add(st *pool, s Stretch) {
	n := len(s.Rows)
	if l.last == nil || l.last.old || cap(l.last.rows)-len(l.last.rows) < n {
		l.newRoom(st, n)
	} else if l.last.extend(&s) {
		return
	}
	r := l.last
	at := len(r.rows)
	r.rows = append(r.rows, s.Rows...)
	s.Rows = r.rows[at:len(r.rows):len(r.rows)]
	r.stretches = append(r.stretches, s)
}

// extend adds the rows of a stretch to the last one, when it goes on where
// that ends and both together are no longer than one may be. There must be room.
func (r *room) extend(s *Stretch) bool {
	k := len(r.stretches) - 1
	if k < 0 {
		return false
	}
	last, n := &r.stretches[k], len(s.Rows)
	if m := len(last.Rows); m+n > trace.MaxStretch || last.Len+s.Len > trace.MaxLen || last.Pos+uint64(last.Len) != s.Pos ||
		last.Seg != s.Seg || last.Thread != s.Thread || last.locks != s.locks {
		return false
	}
	from := len(r.rows) - len(last.Rows)
	for i := range s.Rows {
		r.rows = append(r.rows, s.Rows[i])
		r.rows[len(r.rows)-1].At += uint16(last.Len)
	}
	last.Rows = r.rows[from:len(r.rows):len(r.rows)]
	last.Len += s.Len
	last.Lo, last.Hi = min(last.Lo, s.Lo), max(last.Hi, s.Hi)
	last.Loads, last.Stores = last.Loads || s.Loads, last.Stores || s.Stores
	return true
}

// markOld marks what was added as in the phase before as well. What is added
// later has rooms of its own.
func (l *locals) markOld() {
	for r := l.first; r != nil; r = r.next {
		r.old = true
	}
}

// bounds visits ranges of addresses that hold all that was added in the phase, some
// of what was there before included.
func (l *locals) bounds(visit func(lo, hi uint64)) {
	for r := l.first; r != nil; r = r.next {
		switch {
		case r.old:
		case r.stored != nil:
			visit(r.stored.lo, r.stored.hi)
		default:
			for i := range r.stretches {
				visit(r.stretches[i].Lo, r.stretches[i].Hi)
			}
		}
	}
}

// Scratch is room for what reading a region takes: rooms and moments that lie in a
// file, and series. It serves one goroutine.
type Scratch struct {
	room room
	buf  []byte

	series   []Series
	chunk    []moment // that was read
	moments  []moment // of series
	before   []int    // of series
	seriesOf []int32  // of each moment
	sorter   seriesSorter
}

// LetGo forgets the series of the region that was read, which keep all that it holds.
func (s *Scratch) LetGo() {
	clear(s.series[:cap(s.series)])
	s.series = s.series[:0]
}

// Stretches visits the loads and stores of a line, room by room, with whether
// they were in the phase before as well. Those of rooms that lie apart from the
// addresses [lo, hi) may be left out. What a room has stays valid until the next
// one is visited. An error, which ends the visit, is that of reading a file.
func (r *Region) Stretches(line int32, lo, hi uint64, s *Scratch, err *error) iter.Seq2[[]Stretch, bool] {
	return func(yield func([]Stretch, bool) bool) {
		for at := r.locals[line]; at != nil; at = at.next {
			stretches := at.stretches
			if w := at.stored; w != nil {
				if w.lo >= hi || lo >= w.hi {
					continue
				}
				if *err = r.spill.read(w, s); *err != nil {
					return
				}
				stretches = s.room.stretches
			}
			if len(stretches) > 0 && !yield(stretches, at.old) {
				return
			}
		}
	}
}

// LocalCount returns the number of loads and stores of a process.
func (r *Region) LocalCount(rank int32) int {
	n := 0
	for line := range r.Lines(rank) {
		for at := r.locals[line]; at != nil; at = at.next {
			n += at.len()
		}
	}
	return n
}

// pool is where rooms come from and go to.
type pool struct {
	mu    sync.Mutex
	spare []*room // not in use
	tiny  []*room // the same, those with fewer than firstFull rows
	extra int     // rows that both have room for
	most  int     // rows of the largest region so far
	held  int64   // bytes of all rooms that are in use
	limit int64   // of held and of spare rooms, bytes; 0: none
	each  int     // rows that a process may have room for in any case
	scale int     // how many times what is kept of few processes is kept

	calls []*Access // what calls accessed in regions that have been searched, for reuse

	moments      [][]moment // not in use
	spareMoments int        // that moments has room for

	regions      []*Region // that were released
	spareRegions int       // what they have room for

	spill   *spillFile // of the phase under way; nil: nothing was written
	spilled SpillStats
	scratch Scratch  // of the replay, to read to
	buf     []byte   // of the replay, to write from
	order   []uint16 // of moments that are written
	err     error    // of writing; from then on nothing is written
}

// SpillStats counts what did not fit into memory.
type SpillStats struct {
	Accesses uint64 // written to files; those that two phases share count in both
	Bytes    int64  // of the files, all together
}

// Elements of storage.
const (
	firstRoom = 4       // rows of the first of a line, when new: of a short task there is no other
	firstFull = 16      // rows of the next
	mostRoom  = 1 << 12 // rows, as long as no more are wanted at once
	smallRoom = 1 << 18 // rows for which spare rooms are kept in any case
)

// fewProcesses is how many processes share what mostSpare, mostMoments, mostCalls and
// mostShapes allow. Of more processes more is kept, as each has some of it in each region.
const fewProcesses = 512

// newPool returns a pool for that many processes.
func newPool(limit int64, processes int) *pool {
	s := &pool{limit: limit, scale: max(1, processes/fewProcesses)}
	if limit > 0 {
		s.scale = int(max(1, min(int64(s.scale), limit/(mostCalls*accessBytes))))
		each := limit / 4 / int64(max(processes, 1)) / (rowsBytes + stretchBytes)
		s.each = int(min(max(each, 1), mostRoom))
	}
	return s
}

const (
	rowsBytes    = 48
	stretchBytes = 72
	accessBytes  = 256 // about
)

// room returns room for at least n rows, and when it is new for about as
// many as are wanted. Where there is no room left to hold, it is nil: then the
// last room of the process is to be used again.
func (s *pool) room(n, wanted int, last *room) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil {
		s.count(last)
	}
	from := &s.spare
	if last == nil && n <= firstRoom && len(s.tiny) > 0 {
		from = &s.tiny
	}
	if k := len(*from); k > 0 {
		r := (*from)[k-1]
		*from = (*from)[:k-1]
		s.extra -= cap(r.rows)
		if cap(r.rows) >= n {
			s.count(r)
			return r
		}
	}
	size := max(n, firstRoom, min(wanted, mostRoom))
	r := &room{}
	if s.limit > 0 && s.err == nil && s.held+int64(size)*rowsBytes > s.limit {
		if last != nil && cap(last.rows) >= max(s.each, n) {
			return nil
		}
		size = max(n, min(size, s.each))
	}
	r.rows = make([]trace.Rows, 0, size)
	s.count(r)
	return r
}

// count brings what is held up to date with a room in use.
func (s *pool) count(r *room) {
	n := int64(cap(r.rows))*rowsBytes + int64(cap(r.stretches))*stretchBytes
	s.held += n - r.counted
	r.counted = n
}

// put takes the rooms of a region back. The pool must be locked.
func (s *pool) put(all []*room) {
	size := 0
	for _, first := range all {
		for r := first; r != nil; r = r.next {
			size += cap(r.rows)
		}
	}
	s.most = max(s.most, size)
	for _, first := range all {
		for r := first; r != nil; {
			next, n := r.next, s.extra+cap(r.rows)
			s.held -= r.counted
			if r.stored == nil && n <= max(smallRoom, 2*s.most) &&
				(s.limit == 0 || s.held+int64(n)*(rowsBytes+stretchBytes) <= s.limit) {
				*r = room{stretches: r.stretches[:0], rows: r.rows[:0]}
				s.extra = n
				if cap(r.rows) < firstFull {
					s.tiny = append(s.tiny, r)
				} else {
					s.spare = append(s.spare, r)
				}
			}
			r = next
		}
	}
	clear(all)
}

// write writes a full room to the file of the phase.
func (s *pool) write(r *room) *storedRoom {
	w := &storedRoom{
		rows: len(r.rows), accesses: r.len(), lo: r.stretches[0].Lo, hi: r.stretches[0].Hi,
		from: r.stretches[0].Seg, to: r.stretches[len(r.stretches)-1].Seg,
	}
	w.at = s.save(func(b []byte) []byte {
		for i := range r.stretches {
			st := &r.stretches[i]
			w.lo, w.hi = min(w.lo, st.Lo), max(w.hi, st.Hi)
			b = appendStretch(b, st)
		}
		w.size = len(b)
		return b
	})
	s.spilled.Accesses += uint64(w.accesses)
	return w
}

// save writes what fill appends to the file of the phase, and returns where that
// lies.
func (s *pool) save(fill func([]byte) []byte) (at int64) {
	s.buf = fill(s.buf[:0])
	if s.spill == nil {
		s.spill, s.err = newSpillFile()
	}
	if s.err == nil {
		at, s.err = s.spill.write(s.buf)
	}
	if s.err != nil {
		s.err = fmt.Errorf("accesses that do not fit into memory: %w", s.err)
	}
	s.spilled.Bytes += int64(len(s.buf))
	return at
}

// mostCalls is how many accesses of calls are kept for reuse, where there are few processes.
const mostCalls = 1 << 15

// putCalls takes the accesses of calls of a region back. The pool must be locked.
func (s *pool) putCalls(calls []*Access) {
	for _, a := range calls {
		if len(s.calls) >= s.scale*mostCalls {
			return
		}
		if !a.Gated { // the replay may still be about to say when it starts
			*a = Access{}
			s.calls = append(s.calls, a)
		}
	}
}

// takeCalls returns what can be used again, in place of a list that is empty.
func (s *pool) takeCalls(empty []*Access) []*Access {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = empty[:0]
	return calls
}
