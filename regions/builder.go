package regions

import (
	"math/bits"

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
	access Access    // one of them, of whose times and address only the line of Start means something
}

// shapeKey is what tells most shapes apart, and is looked up fast.
type shapeKey struct {
	layout      *intervals.Layout
	locks       *LockSet
	owner, line int32
	stack       uint32
	role        *Role
}

func (a *Access) shapeKey() shapeKey {
	return shapeKey{layout: a.Layout, locks: a.Locks, owner: a.Owner, line: a.Start.Line, stack: a.Call.Stack, role: a.Role}
}

// recentShapes is the shapes of some of the last accesses of a process that
// were complete.
type recentShapes [16]*shape

func (r *recentShapes) of(a *Access) **shape {
	return &r[hash(uint64(a.Owner)<<40^uint64(a.Call.Stack)<<8^uint64(a.Role.Order))>>60]
}

// hash spreads a number: its upper bits are as good as random.
func hash(x uint64) uint64 { return x * 0x9e3779b97f4a7c15 }

const (
	// Where there are few processes (pool.scale), mostShapes are known beyond the end of a
	// phase, and fewShapes may be made though hardly any has a second access.
	mostShapes, fewShapes = 1 << 12, 1 << 10
	// fewLast and mostLast are for how many places the last moment is known: at first, and
	// once there are many accesses. Powers of two.
	fewLast, mostLast = 1 << 6, 1 << 13
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
	lastBits   int            // of its length
	regions    int            // concurrent ones, so far
	spans      []*Completion  // of accesses that are not complete, or were not where the region began
	began      []*Bounds      // of separate regions before the region
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
	return &b.last[hash(base^uint64(shape)<<44)>>(64-b.lastBits)]
}

// growLast makes room for twice as many places.
func (b *seriesBuilder) growLast() {
	old := b.last
	b.last = make([]lastMoment, 2*len(old))
	b.lastBits++
	for _, x := range old {
		if x.moment != nil && x.phase == b.phases {
			*b.lastOf(x.moment.shape, x.moment.base) = x
		}
	}
}

// addMoment adds a moment of accesses to the memory of a process. Where more is
// held than may be, a full chunk is written to a file, and its storage used again.
func (b *seriesBuilder) addMoment(owner int32, t moment) *moment { return b.addTo(owner, t, false) }

// addOld adds one of accesses that were in an earlier region as well.
func (b *seriesBuilder) addOld(owner int32, t moment) { b.addTo(owner, t, true) }

func (b *seriesBuilder) addTo(owner int32, t moment, old bool) *moment {
	l := &b.moments[owner]
	n := len(l.chunks)
	if n == 0 || l.chunks[n-1].old != old || len(l.chunks[n-1].moments) == cap(l.chunks[n-1].moments) {
		have := 0
		if n > 0 && l.chunks[n-1].old == old {
			have = cap(l.chunks[n-1].moments)
		}
		room := b.pool.takeMoments(have)
		if room == nil {
			last := &l.chunks[n-1]
			b.forgetLast(last.moments)
			room = last.moments[:0]
			*last = momentChunk{old: old, stored: b.pool.writeMoments(last.moments, b.shapes)}
		}
		l.chunks = append(l.chunks, momentChunk{moments: room, old: old})
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
	b.place(a.Owner, moment{
		base: a.Base, shape: s.index, by: b.ender(a, by), startSeg: a.Start.Seg, endSeg: a.End.Seg, endLine: a.End.Line,
		count: 1, start: a.Start.Pos, end: a.End.Pos,
	})
	return true
}

// place adds a moment, or its access to the last moment of the shape and address.
func (b *seriesBuilder) place(owner int32, t moment) {
	if b.settled > len(b.last) && len(b.last) < mostLast {
		b.growLast()
	}
	x := b.lastOf(t.shape, t.base)
	if x.moment == nil || x.phase != b.phases || !x.moment.extend(&t) {
		*x = lastMoment{b.addMoment(owner, t), b.phases}
	}
}

// shapeOf returns the shape of an access; nil where shapes would take more than
// they save.
func (b *seriesBuilder) shapeOf(a *Access) *shape {
	s := b.findShape(a)
	if s == nil {
		if n := len(b.shapes); n >= b.pool.scale*fewShapes && n >= b.settled/4 {
			return nil
		}
		s = b.addShape(shapeLike(a))
		*b.recent[a.Rank].of(a) = s
	}
	return s
}

// findShape returns the shape of an access, if there is one.
func (b *seriesBuilder) findShape(a *Access) *shape {
	recent := b.recent[a.Rank].of(a)
	if s := *recent; s != nil && s.fits(a) {
		return s
	}
	for s := b.shapeOfKey[a.shapeKey()]; s != nil; s = s.next {
		if s.fits(a) {
			*recent = s
			return s
		}
	}
	return nil
}

// shapeLike returns the shape of an access.
func shapeLike(a *Access) shape {
	s := shape{local: a.Call.Local, access: *a}
	if a.Span != nil {
		s.access.Span = &Completion{Beside: a.Span.Beside} // that of the access is used again
	}
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
	return a.alike(&s.access, s.local) && (a.Span == nil || a.Span.Beside.alike(s.access.Span.Beside))
}

// alike reports whether two accesses differ in time and address only; local is the
// Local of the call of the second.
func (a *Access) alike(b *Access, local *CallInfo) bool {
	return a.Layout == b.Layout && a.Owner == b.Owner && a.Start.Line == b.Start.Line && a.Role == b.Role && a.Locks == b.Locks &&
		a.Atomic == b.Atomic && a.Unit == b.Unit && a.Words == b.Words && a.Kind == b.Kind && (a.Span != nil) == (b.Span != nil) &&
		a.Call.CallSite.same(b.Call.CallSite) && a.Call.Local.alike(local) &&
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

// beginRegion lets go of what is of a concurrent region.
func (b *seriesBuilder) beginRegion() {
	b.regions++
	b.spans, b.began = nil, nil
}

// begin begins with a phase that has no moments: room for those of each process.
func (b *seriesBuilder) begin(room []moments) {
	b.phases++
	b.settled, b.kept = 0, 0
	b.moments = room
	if len(b.shapes) > b.pool.scale*mostShapes || b.shapeOfKey == nil {
		b.shapes, b.shapeOfKey = nil, map[shapeKey]*shape{}
		clear(b.recent)
	}
	if b.enderOf == nil {
		b.enders, b.enderOf = make([]*CallSite, nobody+1), map[CallSite]uint32{}
		b.last, b.lastBits = make([]lastMoment, fewLast), bits.TrailingZeros(fewLast)
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
