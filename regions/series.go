package regions

import (
	"slices"
	"sort"

	"github.com/mcchk/mcchk/intervals"
)

// A program makes the same call at the same place again and again. Accesses of
// calls that differ only in time have a shape in common, and once one of them is
// complete, only its moment is kept. Moments at equal distances in the same
// separate regions are one, so that operations that cannot be told apart take no
// memory, however many they are.

// shape is what accesses of calls have in common.
type shape struct {
	local  *CallInfo // what its call's Local was when the first was complete; it may have become known since
	next   *shape    // another one with the same shapeKey; or nil
	other  *shape    // the same, for accesses that are not in program order with those of this one; or nil
	last   *moment   // of the phase
	phase  int       // of last
	index  uint32    // among the shapes of the builder
	stored bool      // last is in a file: it is a copy
	access Access    // one of them, whose times mean nothing
}

// shapeKey is what tells most shapes apart, and is looked up fast.
type shapeKey struct {
	base        uint64
	layout      *intervals.Layout
	locks       *LockSet
	owner, rank int32
	stack       uint32
	role        *Role
}

func (a *Access) shapeKey() shapeKey {
	return shapeKey{base: a.Base, layout: a.Layout, locks: a.Locks, owner: a.Owner, rank: a.Rank, stack: a.Call.Stack, role: a.Role}
}

// recentShapes is the shapes of some of the last accesses of a process that
// were complete.
type recentShapes [16]*shape

func (r *recentShapes) of(a *Access) **shape {
	h := (a.Base ^ uint64(a.Owner)<<40 ^ uint64(a.Call.Stack)<<8 ^ uint64(a.Role.Order)) * 0x9e3779b97f4a7c15
	return &r[h>>60]
}

// moment is the time of count accesses of a shape.
type moment struct {
	shape            uint32
	by               uint32 // of Region.enders: what completed it
	startSeg, endSeg int32
	endRank          int32
	count            uint32
	step             uint64 // between two of them, of start and of end
	start, end       uint64 // of the first
}

// lastStart and lastEnd are those of the last access.
func (m *moment) lastStart() uint64 { return m.start + m.step*uint64(m.count-1) }
func (m *moment) lastEnd() uint64   { return m.end + m.step*uint64(m.count-1) }

// moments are those of accesses to the memory of one process, in the order in
// which the accesses were completed.
type moments struct{ chunks []momentChunk }

// momentChunk is some moments, in memory or in the file of the phase.
type momentChunk struct {
	moments []moment
	at      int64 // in the file, bytes
	stored  int   // moments in the file
}

const (
	firstChunk = 4 // moments
	mostChunk  = 1 << 10
	mostOthers = 8       // shapes that are the same
	mostShapes = 1 << 12 // that are known beyond the end of a phase
	fewShapes  = 1 << 10 // that may be made though hardly any has a second access
)

// seriesBuilder makes series of the accesses of a phase.
type seriesBuilder struct {
	pool       *pool
	moments    []moments // of accesses that are complete, by the owner of the memory
	settled    int       // accesses in them
	met        []*shape  // that have some
	phases     int       // so far
	shapes     []*shape
	shapeOfKey map[shapeKey]*shape
	recent     []recentShapes // by rank
	enders     []*CallSite    // of calls that completed accesses; two that are none first
	enderOf    map[CallSite]uint32
	lastEnders [16]uint32 // some of the last enders
	lastBy     *CallInfo  // the last of them, which has number lastEnder
	lastEnder  uint32
}

// addMoment adds a moment of accesses to the memory of a process. Where more is
// held than may be, a full chunk is written to a file, and its storage used again.
func (b *seriesBuilder) addMoment(owner int32, t moment) *moment {
	l := &b.moments[owner]
	n := len(l.chunks)
	if n == 0 || len(l.chunks[n-1].moments) == cap(l.chunks[n-1].moments) {
		have := 0
		if n > 0 {
			have = cap(l.chunks[n-1].moments)
		}
		room := b.pool.takeMoments(have)
		if room == nil {
			last := &l.chunks[n-1]
			b.forgetLast(last.moments)
			room = last.moments[:0]
			*last = b.pool.writeMoments(last.moments)
		}
		l.chunks = append(l.chunks, momentChunk{moments: room})
		n++
	}
	c := append(l.chunks[n-1].moments, t)
	l.chunks[n-1].moments = c
	return &c[len(c)-1]
}

// forgetLast lets go of moments that are to be written to a file.
func (b *seriesBuilder) forgetLast(c []moment) {
	for i := range c {
		if s := b.shapes[c[i].shape]; s.last == &c[i] {
			last := c[i]
			s.last, s.stored = &last, true
		}
	}
}

// nobody is the ender of accesses that end without a call, and instantaneous the
// one of those that do not span.
const (
	instantaneous uint32 = iota
	nobody
)

// settle takes an access that is complete, and was made in this phase, as a
// moment. It reports whether it did: then the access may be used again.
func (b *seriesBuilder) settle(a *Access, by *CallInfo) bool {
	if a.Gated || a.Old || a.Start.Seg < 0 || a.End.Seg < 0 || a.Call.Pos != a.Start.Pos || by != nil && by.Pos != a.End.Pos {
		return false
	}
	t := moment{
		by: b.ender(a, by), startSeg: a.Start.Seg, endSeg: a.End.Seg, endRank: a.End.Rank,
		count: 1, start: a.Start.Pos, end: a.End.Pos,
	}
	s := b.shapeOf(a)
	for n := 1; s != nil && !s.continues(b.phases, &t); s, n = s.other, n+1 {
		if s.other == nil && n < mostOthers {
			s.other = b.newShape(a)
		}
	}
	if s == nil {
		return false
	}
	b.settled++
	if s.phase != b.phases || s.stored || !s.last.extend(&t) {
		t.shape = s.index
		if s.phase != b.phases {
			b.met = append(b.met, s)
		}
		s.last = b.addMoment(a.Owner, t)
		s.phase, s.stored = b.phases, false
	}
	return true
}

// continues reports whether the accesses of the shape in a phase and a moment
// after them are in program order of both start and end.
func (s *shape) continues(phase int, t *moment) bool {
	last := s.last
	return s.phase != phase || t.endRank == last.endRank && t.start >= last.lastStart() && t.end >= last.lastEnd()
}

// extend adds the access of another moment, when it is like those of this one.
func (m *moment) extend(t *moment) bool {
	step := t.start - m.lastStart()
	if t.startSeg != m.startSeg || t.endSeg != m.endSeg || t.by != m.by || step != t.end-m.lastEnd() ||
		m.count > 1 && step != m.step || m.count == 1<<32-1 {
		return false
	}
	m.step = step
	m.count++
	return true
}

// shapeOf returns the shape of an access; nil where shapes would take more than
// they save.
func (b *seriesBuilder) shapeOf(a *Access) *shape {
	recent := b.recent[a.Rank].of(a)
	if s := *recent; s != nil && s.fits(a) {
		return s
	}
	key := a.shapeKey()
	first := b.shapeOfKey[key]
	s := first
	for s != nil && !s.fits(a) {
		s = s.next
	}
	if s == nil {
		if n := len(b.shapes); n >= fewShapes && n >= b.settled/4 {
			return nil
		}
		s = b.newShape(a)
		s.next = first
		b.shapeOfKey[key] = s
	}
	*recent = s
	return s
}

func (b *seriesBuilder) newShape(a *Access) *shape {
	s := &shape{local: a.Call.Local, access: *a, index: uint32(len(b.shapes))}
	if a.Span != nil {
		s.access.Span = &Completion{} // that of the access is used again
	}
	b.shapes = append(b.shapes, s)
	return s
}

// fits reports whether an access has the shape.
func (s *shape) fits(a *Access) bool {
	b := &s.access
	return a.Base == b.Base && a.Layout == b.Layout && a.Owner == b.Owner && a.Rank == b.Rank && a.Role == b.Role && a.Locks == b.Locks &&
		a.Atomic == b.Atomic && a.Kind == b.Kind && (a.Span != nil) == (b.Span != nil) &&
		a.Call.CallSite.same(b.Call.CallSite) && a.Call.Local.alike(s.local) &&
		(a.Elem == b.Elem || a.Elem != nil && b.Elem != nil && *a.Elem == *b.Elem)
}

// alike reports whether two calls, either of which may be none, differ in time
// only.
func (c *CallInfo) alike(d *CallInfo) bool {
	return c == d || c != nil && d != nil && c.Fn == d.Fn && c.Stack == d.Stack && c.Thread == d.Thread
}

// ender returns the index of what completed an access.
func (b *seriesBuilder) ender(a *Access, by *CallInfo) uint32 {
	switch {
	case a.Span == nil:
		return instantaneous
	case by == nil:
		return nobody
	}
	if by == b.lastBy {
		return b.lastEnder
	}
	recent := &b.lastEnders[(uint32(by.Rank)^by.Stack)%uint32(len(b.lastEnders))]
	if !by.CallSite.same(b.enders[*recent]) {
		*recent = b.newEnder(by.CallSite)
	}
	b.lastBy, b.lastEnder = by, *recent
	return *recent
}

// newEnder returns the index of a call that is not among the last enders.
func (b *seriesBuilder) newEnder(site *CallSite) uint32 {
	n, ok := b.enderOf[*site]
	if !ok {
		n = uint32(len(b.enders))
		b.enders = append(b.enders, site)
		b.enderOf[*site] = n
	}
	return n
}

// begin begins with a phase that has no moments: room for those of each process.
func (b *seriesBuilder) begin(room []moments) {
	b.phases++
	b.settled = 0
	clear(b.met)
	b.met = b.met[:0]
	b.moments = room
	if len(b.shapes) > mostShapes || b.shapeOfKey == nil {
		b.shapes, b.shapeOfKey = nil, map[shapeKey]*shape{}
		clear(b.recent)
	}
	if b.enderOf == nil {
		b.enders, b.enderOf = make([]*CallSite, nobody+1), map[CallSite]uint32{}
	}
}

// access fills in access i of a moment, but for the calls that made and
// completed it.
func (r *Region) access(m *moment, i uint64, a *Access) {
	*a = r.shapes[m.shape].access
	a.Start = Point{Rank: a.Rank, Seg: m.startSeg, Pos: m.start + i*m.step}
	a.End = Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + i*m.step}
	a.Bounds = r.Segment(a.Start).Bounds
}

// accessWithCalls returns access i of a moment.
func (r *Region) accessWithCalls(m *moment, i uint64) *Access {
	a := &Access{}
	r.fullAccess(m, i, a)
	return a
}

// fullAccess fills in access i of a moment, with its calls.
func (r *Region) fullAccess(m *moment, i uint64, a *Access) {
	r.access(m, i, a)
	call := *a.Call
	call.Pos = a.Start.Pos
	a.Call = &call
	if m.by == instantaneous {
		return
	}
	a.Span = &Completion{}
	if m.by != nobody {
		a.Span.By = &CallInfo{CallSite: r.enders[m.by], Pos: a.End.Pos}
	}
}

// Series is accesses of calls to the memory of one process that differ only in
// time, in program order of their start and of their completion.
type Series struct {
	region  *Region
	moments []moment
	before  []int // accesses of the moments before each
	n       int
	near    [2]int // moments where Concurrent looked last: the next time it looks there first
}

// Len returns the number of accesses.
func (s *Series) Len() int { return s.n }

// Like returns an access that differs from those of the series in time only.
func (s *Series) Like() *Access { return &s.region.shapes[s.moments[0].shape].access }

// EndRank returns the process at whose moments the accesses end.
func (s *Series) EndRank() int32 { return s.moments[0].endRank }

func (s *Series) at(i int) (*moment, uint64) {
	k, ok := slices.BinarySearch(s.before, i)
	if !ok {
		k--
	}
	return &s.moments[k], uint64(i - s.before[k])
}

// Access returns access i.
func (s *Series) Access(i int) *Access {
	m, k := s.at(i)
	return s.region.accessWithCalls(m, k)
}

// Concurrent returns the accesses from index from on that nothing orders with a,
// as a range of indices; it is empty when both are equal.
func (s *Series) Concurrent(a *Access, from int) (lo, hi int) {
	r, rank := s.region, s.Like().Rank
	lo = s.first(&s.near[0], from, func(m *moment, i uint64) bool {
		end := Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + i*m.step}
		return !r.Before(end, a.Start) && !(a.Gated && r.Before(end, a.Gate))
	})
	hi = s.first(&s.near[1], lo, func(m *moment, i uint64) bool {
		return r.Before(a.End, Point{Rank: rank, Seg: m.startSeg, Pos: m.start + i*m.step})
	})
	return lo, hi
}

// first returns the first access from index from on that is behind, which all
// after it are then too. near is a moment to look at first, and becomes the one
// that was found.
func (s *Series) first(near *int, from int, behind func(m *moment, i uint64) bool) int {
	k := searchFrom(*near, len(s.moments), func(k int) bool { return behind(&s.moments[k], uint64(s.moments[k].count)-1) })
	*near = k
	if k == len(s.moments) {
		return s.n
	}
	m := &s.moments[k]
	if m.count == 1 {
		return max(from, s.before[k])
	}
	return max(from, s.before[k]+sort.Search(int(m.count)-1, func(i int) bool { return behind(m, uint64(i)) }))
}

// searchFrom is sort.Search, and takes a time that grows with the logarithm of the
// distance between what it finds and near.
func searchFrom(near, n int, is func(int) bool) int {
	lo, hi := near, near // it is of all from hi on, and of none below lo
	if near < n && !is(near) {
		lo, hi = near+1, near+1
		for step := 1; hi < n && !is(hi); step *= 2 {
			lo, hi = hi+1, min(n, hi+step)
		}
	} else {
		for step := 1; lo > 0 && is(lo-1); step *= 2 {
			hi, lo = lo-1, max(0, lo-1-step)
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return is(lo + i) })
}

// Times fills in when access i starts and ends.
func (s *Series) Times(i int, a *Access) {
	m, k := s.at(i)
	a.Start = Point{Rank: s.Like().Rank, Seg: m.startSeg, Pos: m.start + k*m.step}
	a.End = Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + k*m.step}
}

// Series returns the accesses of calls to the memory of a process that are not
// among Calls. They stay valid until the next use of s. The error is that of
// reading what did not fit into memory.
func (r *Region) Series(owner int32, s *Scratch) ([]Series, error) {
	n := r.moments[owner].len()
	s.series = s.series[:0]
	if n == 0 {
		return nil, nil
	}
	s.moments, s.before = slices.Grow(s.moments[:0], n)[:n], slices.Grow(s.before[:0], n)[:n]
	s.number = slices.Grow(s.number[:0], len(r.shapes))[:len(r.shapes)]
	clear(s.number)
	s.ends = s.ends[:0]
	err := r.moments[owner].each(r.spill, s, func(m *moment) { // number the shapes, and count
		k := &s.number[m.shape]
		if *k == 0 {
			s.ends = append(s.ends, 0)
			*k = int32(len(s.ends))
		}
		s.ends[*k-1]++
	})
	if err != nil {
		return nil, err
	}
	at := 0
	for k, count := range s.ends {
		s.series = append(s.series, Series{region: r, moments: s.moments[at : at : at+count], before: s.before[at : at : at+count]})
		at += count
		s.ends[k] = at
	}
	err = r.moments[owner].each(r.spill, s, func(m *moment) {
		t := &s.series[s.number[m.shape]-1]
		t.moments, t.before = append(t.moments, *m), append(t.before, t.n)
		t.n += int(m.count)
	})
	return s.series, err
}

func (l *moments) len() int {
	n := 0
	for i := range l.chunks {
		n += len(l.chunks[i].moments) + l.chunks[i].stored
	}
	return n
}

// each visits the moments, those in a file included.
func (l *moments) each(f *spillFile, s *Scratch, visit func(*moment)) error {
	for i := range l.chunks {
		c := l.chunks[i].moments
		if l.chunks[i].stored > 0 {
			if err := f.readMoments(&l.chunks[i], s); err != nil {
				return err
			}
			c = s.chunk
		}
		for k := range c {
			visit(&c[k])
		}
	}
	return nil
}

// AllCalls returns what calls access, one by one: Calls, and those of all series,
// but for what is carried.
func (r *Region) AllCalls(s *Scratch) ([]*Access, error) {
	if r.settled == 0 {
		return r.Calls, nil
	}
	all := slices.Clone(r.Calls)
	for owner := range r.moments {
		err := r.moments[owner].each(r.spill, s, func(m *moment) {
			for i := range uint64(m.count) {
				all = append(all, r.accessWithCalls(m, i))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// CallCount returns the number of accesses of calls, all that are carried included.
func (r *Region) CallCount() int { return len(r.Calls) + r.settled + r.carried }

// takeMoments returns room for moments, for about twice as many as there were in
// the chunk before. Where there is no room left to hold, it is nil.
func (s *pool) takeMoments(have int) []moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := min(max(firstChunk, 2*have), mostChunk)
	if s.limit > 0 && s.err == nil && s.held+int64(size)*momentBytes > s.limit {
		each := min(max(s.each/2, 1), mostChunk)
		if have >= each {
			return nil
		}
		size = min(size, each)
	}
	var c []moment
	if k := len(s.moments); k > 0 {
		c = s.moments[k-1][:0]
		s.moments = s.moments[:k-1]
		s.spareMoments -= cap(c)
	} else {
		c = make([]moment, 0, size)
	}
	s.held += int64(cap(c)) * momentBytes
	return c
}

const (
	momentBytes = 48
	mostMoments = 1 << 15 // that there may be room for that is not in use
)

// putMoments takes the moments of a region back. The pool must be locked.
func (s *pool) putMoments(all []moments) {
	for i := range all {
		chunks := all[i].chunks
		for k := range chunks {
			c := chunks[k].moments
			s.held -= int64(cap(c)) * momentBytes
			if cap(c) > 0 && s.spareMoments+cap(c) <= mostMoments {
				s.moments = append(s.moments, c)
				s.spareMoments += cap(c)
			}
		}
		clear(chunks)
		all[i].chunks = chunks[:0]
	}
}

// writeMoments writes moments to the file of the phase.
func (s *pool) writeMoments(c []moment) momentChunk {
	n := uint64(0)
	at := s.save(func(b []byte) []byte {
		for i := range c {
			b = appendMoment(b, &c[i])
			n += uint64(c[i].count)
		}
		return b
	})
	s.spilled.Accesses += n
	return momentChunk{at: at, stored: len(c)}
}
