package regions

import (
	"math"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/intervals"
)

// A program makes the same call at the same place again and again. Accesses of
// calls that differ only in time and address have a shape in common, and once one of
// them is complete, only its moment is kept. Moments at equal distances in the same
// separate regions, of accesses to the same address, are one, so that operations
// that cannot be told apart take no memory, however many they are.

// shape is what accesses of calls have in common.
type shape struct {
	local  *CallInfo // what its call's Local was when the first was complete; it may have become known since
	next   *shape    // another one with the same shapeKey; or nil
	index  uint32    // among the shapes of the builder
	access Access    // one of them, whose times and address mean nothing
}

// shapeKey is what tells most shapes apart, and is looked up fast.
type shapeKey struct {
	layout      *intervals.Layout
	locks       *LockSet
	owner, rank int32
	stack       uint32
	role        *Role
}

func (a *Access) shapeKey() shapeKey {
	return shapeKey{layout: a.Layout, locks: a.Locks, owner: a.Owner, rank: a.Rank, stack: a.Call.Stack, role: a.Role}
}

// recentShapes is the shapes of some of the last accesses of a process that
// were complete.
type recentShapes [16]*shape

func (r *recentShapes) of(a *Access) **shape {
	return &r[hash(uint64(a.Owner)<<40^uint64(a.Call.Stack)<<8^uint64(a.Role.Order))>>60]
}

// hash spreads a number: its upper bits are as good as random.
func hash(x uint64) uint64 { return x * 0x9e3779b97f4a7c15 }

// moment is the time of count accesses of a shape to one address.
type moment struct {
	base             uint64
	shape            uint32
	by               uint32 // of Region.enders: what completed it
	startSeg, endSeg int32
	endRank          int32
	count            uint32
	start, end       uint64 // of the first
	step, endStep    uint64 // between two of them
}

// lastStart and lastEnd are those of the last access.
func (m *moment) lastStart() uint64 { return m.start + m.step*uint64(m.count-1) }
func (m *moment) lastEnd() uint64   { return m.end + m.endStep*uint64(m.count-1) }

// moments are those of accesses to the memory of one process, in the order in
// which the accesses were completed.
type moments struct{ chunks []momentChunk }

// momentChunk is some moments, in memory or in the file of the phase.
type momentChunk struct {
	moments []moment
	old     bool // they were in the phase before as well
	stored  *storedMoments
}

// storedMoments is what is known of moments that lie in a file: those of one slice
// behind those of the other.
type storedMoments struct {
	at     int64 // in the file, bytes
	lo, hi uint64
	ends   [sliceCount + 1]uint16 // of each slice; the last is of those that lie in several
}

func (w *storedMoments) len() int { return int(w.ends[sliceCount]) }

const (
	firstChunk = 4 // moments
	mostChunk  = 1 << 12
	mostShapes = 1 << 12 // that are known beyond the end of a phase
	fewShapes  = 1 << 10 // that may be made though hardly any has a second access
	lastBits   = 13      // of the number of places whose last moment is known
)

// seriesBuilder makes series of the accesses of a phase.
type seriesBuilder struct {
	pool       *pool
	moments    []moments // of accesses that are complete, by the owner of the memory
	settled    int       // accesses in them, but for those of the phase before
	kept       int       // those of the phase before
	phases     int       // so far
	shapes     []*shape
	shapeOfKey map[shapeKey]*shape
	recent     []recentShapes // by rank
	last       []lastMoment   // of some shapes and addresses
	enders     []*CallSite    // of calls that completed accesses; two that are none first
	enderOf    map[CallSite]uint32
	lastEnders [16]uint32 // some of the last enders
	lastBy     *CallInfo  // the last of them, which has number lastEnder
	lastEnder  uint32
}

// lastMoment is the last moment of a shape and address, in memory.
type lastMoment struct {
	moment *moment
	phase  int
}

// lastOf returns where the last moment of a shape and address is, if it is known: it
// may be that of others.
func (b *seriesBuilder) lastOf(shape uint32, base uint64) *lastMoment {
	return &b.last[hash(base^uint64(shape)<<44)>>(64-lastBits)]
}

// addMoment adds a moment of accesses to the memory of a process. Where more is
// held than may be, a full chunk is written to a file, and its storage used again.
func (b *seriesBuilder) addMoment(owner int32, t moment) *moment {
	l := &b.moments[owner]
	n := len(l.chunks)
	if n == 0 || l.chunks[n-1].old || len(l.chunks[n-1].moments) == cap(l.chunks[n-1].moments) {
		have := 0
		if n > 0 && !l.chunks[n-1].old {
			have = cap(l.chunks[n-1].moments)
		}
		room := b.pool.takeMoments(have)
		if room == nil {
			last := &l.chunks[n-1]
			b.forgetLast(last.moments)
			room = last.moments[:0]
			*last = momentChunk{stored: b.pool.writeMoments(last.moments, b.shapes)}
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
		if x := b.lastOf(c[i].shape, c[i].base); x.moment == &c[i] {
			x.moment = nil
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
	s := b.shapeOf(a)
	if s == nil {
		return false
	}
	b.settled++
	t := moment{
		base: a.Base, shape: s.index, by: b.ender(a, by), startSeg: a.Start.Seg, endSeg: a.End.Seg, endRank: a.End.Rank,
		count: 1, start: a.Start.Pos, end: a.End.Pos,
	}
	x := b.lastOf(s.index, a.Base)
	if x.moment == nil || x.phase != b.phases || !x.moment.extend(&t) {
		*x = lastMoment{b.addMoment(a.Owner, t), b.phases}
	}
	return true
}

// extend adds the access of another moment, when it is like those of this one.
func (m *moment) extend(t *moment) bool {
	if t.base != m.base || t.shape != m.shape || t.startSeg != m.startSeg || t.endSeg != m.endSeg || t.by != m.by || t.endRank != m.endRank ||
		!m.precedes(t) || m.count == 1<<32-1 {
		return false
	}
	step, endStep := t.start-m.lastStart(), t.end-m.lastEnd()
	if m.count > 1 && (step != m.step || endStep != m.endStep) {
		return false
	}
	m.step, m.endStep = step, endStep
	m.count++
	return true
}

// precedes reports whether another moment of the shape comes behind this one in the
// order of start and in that of end.
func (m *moment) precedes(t *moment) bool {
	return t.endRank == m.endRank && t.start >= m.lastStart() && t.end >= m.lastEnd()
}

// shapeOf returns the shape of an access; nil where shapes would take more than
// they save.
func (b *seriesBuilder) shapeOf(a *Access) *shape {
	recent := b.recent[a.Rank].of(a)
	if s := *recent; s != nil && s.fits(a) {
		return s
	}
	key := a.shapeKey()
	s := b.shapeOfKey[key]
	for s != nil && !s.fits(a) {
		s = s.next
	}
	if s == nil {
		if n := len(b.shapes); n >= fewShapes && n >= b.settled/4 {
			return nil
		}
		s = b.addShape(shape{local: a.Call.Local, access: *a})
		if a.Span != nil {
			s.access.Span = &Completion{} // that of the access is used again
		}
	}
	*recent = s
	return s
}

// addShape adds a shape.
func (b *seriesBuilder) addShape(s shape) *shape {
	key := s.access.shapeKey()
	s.next, s.index = b.shapeOfKey[key], uint32(len(b.shapes))
	b.shapes = append(b.shapes, &s)
	b.shapeOfKey[key] = &s
	return &s
}

// fits reports whether an access has the shape.
func (s *shape) fits(a *Access) bool {
	b := &s.access
	return a.Layout == b.Layout && a.Owner == b.Owner && a.Rank == b.Rank && a.Role == b.Role && a.Locks == b.Locks &&
		a.Atomic == b.Atomic && a.Unit == b.Unit && a.Kind == b.Kind && (a.Span != nil) == (b.Span != nil) &&
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
	b.settled, b.kept = 0, 0
	b.moments = room
	if len(b.shapes) > mostShapes || b.shapeOfKey == nil {
		b.shapes, b.shapeOfKey = nil, map[shapeKey]*shape{}
		clear(b.recent)
	}
	if b.enderOf == nil {
		b.enders, b.enderOf = make([]*CallSite, nobody+1), map[CallSite]uint32{}
		b.last = make([]lastMoment, 1<<lastBits)
	}
}

// keep takes a moment of the phase before, of which the shapes are given, into the
// one that begins. moved says which shapes it has already, where it has others.
func (b *seriesBuilder) keep(owner int32, t moment, shapes []*shape, moved map[uint32]uint32) {
	if moved != nil {
		index, ok := moved[t.shape]
		if !ok {
			s := shapes[t.shape]
			index = b.addShape(shape{local: s.local, access: s.access}).index
			moved[t.shape] = index
		}
		t.shape = index
	}
	b.kept += int(t.count)
	b.addMoment(owner, t)
}

// markOld marks what was added as in the phase before as well.
func (b *seriesBuilder) markOld() {
	for i := range b.moments {
		for k := range b.moments[i].chunks {
			b.moments[i].chunks[k].old = true
		}
	}
}

// bounds visits ranges of addresses that hold all that was added in the phase to the
// memory of a process.
func (b *seriesBuilder) bounds(owner int32, visit func(lo, hi uint64)) {
	for i := range b.moments[owner].chunks {
		switch c := &b.moments[owner].chunks[i]; {
		case c.old:
		case c.stored != nil:
			visit(c.stored.lo, c.stored.hi)
		default:
			for k := range c.moments {
				m := &c.moments[k]
				visit(b.shapes[m.shape].access.Layout.Bounds(m.base))
			}
		}
	}
}

// access fills in access i of a moment, but for the calls that made and
// completed it.
func (r *Region) access(m *moment, i uint64, a *Access) {
	*a = r.shapes[m.shape].access
	a.Base = m.base
	a.Start = Point{Rank: a.Rank, Seg: m.startSeg, Pos: m.start + i*m.step}
	a.End = Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + i*m.endStep}
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
	like    Access
	moments []moment
	before  []int // accesses of the moments before each
	n       int
	near    [2]int // moments where Concurrent looked last: the next time it looks there first
}

// Len returns the number of accesses.
func (s *Series) Len() int { return s.n }

// Like returns an access that differs from those of the series in time only.
func (s *Series) Like() *Access { return &s.like }

// Old reports whether the accesses were in the phase before as well.
func (s *Series) Old() bool { return s.like.Old }

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
	a := s.region.accessWithCalls(m, k)
	a.Old = s.like.Old
	return a
}

// Concurrent returns the accesses from index from on that nothing orders with a,
// as a range of indices; it is empty when both are equal.
func (s *Series) Concurrent(a *Access, from int) (lo, hi int) {
	r, rank := s.region, s.Like().Rank
	lo = s.first(&s.near[0], from, func(m *moment, i uint64) bool {
		end := Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + i*m.endStep}
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
	a.End = Point{Rank: m.endRank, Seg: m.endSeg, Pos: m.end + k*m.endStep}
}

// Series returns the accesses of calls to the memory of a process that are not
// among Calls and touch the slice. They stay valid until the next use of s. The error
// is that of reading what did not fit into memory.
func (r *Region) Series(owner int32, slice Slice, s *Scratch) ([]Series, error) {
	s.series = s.series[:0]
	if len(r.moments[owner].chunks) == 0 {
		return nil, nil
	}
	s.sorter.begin()
	s.seriesOf = s.seriesOf[:0]
	err := r.each(owner, slice, s, func(m *moment, old bool) { // find the series of each, and count
		s.seriesOf = append(s.seriesOf, s.sorter.sort(m, old))
	})
	if err != nil {
		return nil, err
	}
	n := len(s.seriesOf)
	s.moments, s.before = slices.Grow(s.moments[:0], n)[:n], slices.Grow(s.before[:0], n)[:n]
	at := 0
	for i := range s.sorter.lines {
		l := &s.sorter.lines[i]
		s.series = append(s.series, Series{
			region: r, like: r.shapes[l.last.shape].access,
			moments: s.moments[at : at : at+l.moments], before: s.before[at : at : at+l.moments],
		})
		like := &s.series[i].like
		like.Base, like.Old = l.last.base, l.old
		at += l.moments
	}
	next := 0
	err = r.each(owner, slice, s, func(m *moment, _ bool) {
		t := &s.series[s.seriesOf[next]]
		t.moments, t.before = append(t.moments, *m), append(t.before, t.n)
		t.n += int(m.count)
		next++
	})
	return s.series, err
}

// seriesSorter finds out which moments belong to one series: those of one shape and
// address, as long as they are in order.
type seriesSorter struct {
	lines []seriesLine
	table []int32 // of lines by shape and address, from 1; 0: none. Its length is a power of two
	bits  int     // of its length
}

// seriesLine is a series as far as it was read.
type seriesLine struct {
	last    moment
	old     bool
	moments int
	next    int32 // another one with the same place in the table, from 1; or 0
}

func (x *seriesSorter) begin() {
	if x.bits == 0 || x.bits > 8 {
		x.bits = 4
		x.table = make([]int32, 1<<x.bits)
	} else {
		clear(x.table)
	}
	x.lines = x.lines[:0]
}

func (x *seriesSorter) place(shape uint32, base uint64) *int32 {
	return &x.table[hash(base^uint64(shape)<<44)>>(64-x.bits)]
}

// sort adds a moment to a series, and returns its number.
func (x *seriesSorter) sort(m *moment, old bool) int32 {
	at := x.place(m.shape, m.base)
	for i := *at; i > 0; i = x.lines[i-1].next {
		if l := &x.lines[i-1]; l.last.base == m.base && l.last.shape == m.shape && l.old == old && l.last.precedes(m) {
			l.last = *m
			l.moments++
			return i - 1
		}
	}
	if len(x.lines) == len(x.table) {
		x.grow()
		at = x.place(m.shape, m.base)
	}
	x.lines = append(x.lines, seriesLine{last: *m, old: old, moments: 1, next: *at})
	*at = int32(len(x.lines))
	return *at - 1
}

func (x *seriesSorter) grow() {
	x.bits++
	x.table = make([]int32, 1<<x.bits)
	for i := range x.lines {
		l := &x.lines[i]
		at := x.place(l.last.shape, l.last.base)
		l.next, *at = *at, int32(i+1)
	}
}

func (l *moments) len() int {
	n := 0
	for i := range l.chunks {
		if w := l.chunks[i].stored; w != nil {
			n += w.len()
		}
		n += len(l.chunks[i].moments)
	}
	return n
}

// each visits the moments of accesses to the memory of a process that touch a slice,
// those in a file included, with whether they were in the phase before as well.
func (r *Region) each(owner int32, slice Slice, s *Scratch, visit func(m *moment, old bool)) error {
	all := &r.moments[owner]
	for i := range all.chunks {
		c := &all.chunks[i]
		list := c.moments
		if c.stored != nil {
			if err := r.spill.readMoments(c.stored, slice, s); err != nil {
				return err
			}
			list = s.chunk
		}
		for k := range list {
			m := &list[k]
			if slice.Whole() || slice.Touches(r.shapes[m.shape].access.Layout.Bounds(m.base)) {
				visit(m, c.old)
			}
		}
	}
	return nil
}

// EachCall visits what calls access, one by one: Calls, and those of all series, but
// for what is carried. An access of a series is valid until the next one is visited.
// The error is that of reading what did not fit into memory.
func (r *Region) EachCall(s *Scratch, visit func(*Access)) error {
	for _, a := range r.Calls {
		visit(a)
	}
	var room Access
	for owner := range r.moments {
		err := r.each(int32(owner), Slice{}, s, func(m *moment, old bool) {
			for i := range uint64(m.count) {
				r.fullAccess(m, i, &room)
				room.Old = old
				visit(&room)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AllCalls returns what EachCall visits.
func (r *Region) AllCalls(s *Scratch) ([]*Access, error) {
	if r.settled == 0 {
		return r.Calls, nil
	}
	all := make([]*Access, 0, len(r.Calls)+r.settled)
	err := r.EachCall(s, func(a *Access) {
		if len(all) >= len(r.Calls) {
			b := *a
			a = &b
		}
		all = append(all, a)
	})
	return all, err
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
	momentBytes = 64
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
func (s *pool) writeMoments(c []moment, shapes []*shape) *storedMoments {
	w := &storedMoments{lo: math.MaxUint64}
	var count [sliceCount + 1]uint16
	bounds := func(m *moment) (lo, hi uint64) { return shapes[m.shape].access.Layout.Bounds(m.base) }
	n := uint64(0)
	for i := range c {
		lo, hi := bounds(&c[i])
		w.lo, w.hi = min(w.lo, lo), max(w.hi, hi)
		count[sliceOf(lo, hi)]++
		n += uint64(c[i].count)
	}
	end := uint16(0)
	for i := range count {
		end += count[i]
		w.ends[i] = end
		count[i] = end - count[i] // where the next one of the slice goes
	}
	s.order = slices.Grow(s.order[:0], len(c))[:len(c)]
	for i := range c {
		k := &count[sliceOf(bounds(&c[i]))]
		s.order[*k] = uint16(i)
		*k++
	}
	w.at = s.save(func(b []byte) []byte {
		for _, i := range s.order {
			b = appendMoment(b, &c[i])
		}
		return b
	})
	s.spilled.Accesses += n
	return w
}
