package regions

import "math"

// Open is accesses that are not complete, that the same will complete, and that
// differ in time and address only. Each is kept by its address and the moment at which
// it began; those at equal distances within the same separate region, to the same
// address, are one.
type Open struct {
	like   *Access // the first of them
	n      int
	chunks [][]openMoment
	recent [8]*openMoment // some of the last, by address
	bounds map[int32]*Bounds
}

// openMoment is when count accesses to one address began.
type openMoment struct {
	base        uint64
	start, step uint64
	seg         int32
	count       uint32
}

// OpenBytes is what a moment of an Open takes.
const OpenBytes = 32

const (
	firstOpen = 4 // moments
	mostOpen  = 1 << 12
)

// NewOpen returns an Open of one access, which is to stay as it is, but for its
// call's Local.
func NewOpen(a *Access) *Open {
	o := &Open{like: a}
	o.Add(a)
	return o
}

// MayJoin reports whether two accesses that are not complete may be of one Open.
func (a *Access) MayJoin(b *Access) bool {
	return a.mayOpen() && b.mayOpen() && a.alike(b, b.Call.Local)
}

func (a *Access) mayOpen() bool {
	return !a.Gated && !a.Old && len(a.Seen) == 0 && len(a.Also) == 0 && a.Start.Seg >= 0 && a.Call.Pos == a.Start.Pos && a.Call.Members == nil
}

// Len returns the number of accesses.
func (o *Open) Len() int { return o.n }

// Moments returns how many moments are kept for them.
func (o *Open) Moments() int {
	n := 0
	for _, c := range o.chunks {
		n += len(c)
	}
	return n
}

// Add adds an access, of which nothing refers to the Open: it may be used again.
func (o *Open) Add(a *Access) {
	o.add(openMoment{base: a.Base, start: a.Start.Pos, seg: a.Start.Seg, count: 1})
}

// AddAll adds the accesses of another one.
func (o *Open) AddAll(from *Open) {
	for _, c := range from.chunks {
		for _, m := range c {
			o.add(m)
		}
	}
}

func (o *Open) add(t openMoment) {
	o.n += int(t.count)
	recent := &o.recent[hash(t.base)>>61]
	if m := *recent; m != nil && m.extend(&t) {
		return
	}
	k := len(o.chunks) - 1
	if k < 0 || len(o.chunks[k]) == cap(o.chunks[k]) {
		size := firstOpen
		if k >= 0 {
			size = min(2*cap(o.chunks[k]), mostOpen)
		}
		o.chunks = append(o.chunks, make([]openMoment, 0, size))
		k++
	}
	o.chunks[k] = append(o.chunks[k], t)
	*recent = &o.chunks[k][len(o.chunks[k])-1]
}

// extend adds an access that began after those of the moment, when it is like them.
func (m *openMoment) extend(t *openMoment) bool {
	last := m.start + m.step*uint64(m.count-1)
	if t.count != 1 || t.base != m.base || t.seg != m.seg || t.start < last || m.count == 1<<32-1 ||
		m.count > 1 && t.start-last != m.step {
		return false
	}
	m.step = t.start - last
	m.count++
	return true
}

// Each visits the accesses, the first of all first; each with a call of its own, and
// without its Bounds. An access is valid until the next one is visited.
func (o *Open) Each(visit func(*Access)) {
	room := *o.like
	for _, c := range o.chunks {
		for i := range c {
			m := &c[i]
			for k := range uint64(m.count) {
				room.Base = m.base
				room.Start.Seg, room.Start.Pos = m.seg, m.start+k*m.step
				call := *o.like.Call
				call.Pos = room.Start.Pos
				room.Call = &call
				visit(&room)
			}
		}
	}
}

// SettleAll is Settle for all accesses of an Open, which complete at one moment. Where
// it reports true, the Open is not to be used any more.
func (s *Storage) SettleAll(o *Open, end Point, by *CallInfo) bool {
	return s.series.settleAll(o, end, by)
}

// ListAll adds all accesses of an Open, which are not complete, as moments; what will
// complete them is span. The Open stays as it is.
func (s *Storage) ListAll(o *Open, line int32, span *Completion) {
	b := &s.series
	b.spans = append(b.spans, span)
	b.addAll(o, Point{Line: line, Seg: Never, Pos: math.MaxUint64}, spanned|uint32(len(b.spans)-1))
}

func (b *seriesBuilder) settleAll(o *Open, end Point, by *CallInfo) bool {
	if end.Seg < 0 || by != nil && by.Pos != end.Pos {
		return false
	}
	b.addAll(o, end, b.ender(o.like, by))
	clear(o.chunks)
	return true
}

func (b *seriesBuilder) addAll(o *Open, end Point, ender uint32) {
	b.settled += o.n
	s := b.findShape(o.like)
	if s == nil {
		like, call := *o.like, *o.like.Call // which may become complete at its origin meanwhile
		like.Call = &call
		s = b.addShape(shapeLike(&like))
	}
	for _, c := range o.chunks {
		for k := range c {
			m := &c[k]
			b.place(o.like.Owner, moment{
				base: m.base, shape: s.index, by: ender, startSeg: m.seg, endSeg: end.Seg, endLine: end.Line,
				count: m.count, start: m.start, step: m.step, end: end.Pos,
			})
		}
	}
}
