package regions

import (
	"cmp"
	"math"
	"slices"
)

// Accesses of an Open that are carried stay moments. They lie in chunks, sorted by
// address; a region is given the chunks that may share bytes with something new in it,
// as moments that are old.

// mostCarriedChunk is how many moments of an Open are given to a region at once.
const mostCarriedChunk = 256

// CarriedOpen is an Open that is carried.
type CarriedOpen struct {
	like    Access
	n       int // accesses
	moments int
	number  uint64
	chunks  []*carriedChunk
	bounds  []*Bounds // of the separate regions that they start in
	span    *Completion
	// at is where bounds and span are in the builder, of the region of that number.
	at struct {
		region       int
		bounds, span int
	}
}

// carriedChunk is some of the moments; in place of a separate region they have the number
// of its bounds.
type carriedChunk struct {
	of      *CarriedOpen
	moments []openMoment
	entry   gridEntry
	wanted  uint64 // by the phase with that number
}

// Bound notes the bounds of the separate regions that the accesses start in.
func (o *Open) Bound(of func(seg int32) *Bounds) {
	o.bounds = map[int32]*Bounds{}
	for _, c := range o.chunks {
		for i := range c {
			if seg := c[i].seg; o.bounds[seg] == nil {
				o.bounds[seg] = of(seg)
			}
		}
	}
}

// CarryAll is Carry for all accesses of an Open whose Bounds are noted. What completes
// them, and was to, is span. The Open is not to be used any more.
func (s *Storage) CarryAll(o *Open, span *Completion) *CarriedOpen {
	x := &s.carried
	x.begin(s.processes)
	x.made++
	c := &CarriedOpen{like: *o.like, n: o.n, number: x.made, span: span}
	call := *o.like.Call
	c.like.Call, c.like.Span = &call, span
	c.like.Start, c.like.End = BeforeRegion(c.like.Rank), AfterRegion(c.like.Rank)
	c.like.Bounds = nil
	all := make([]openMoment, 0, o.Moments())
	for _, chunk := range o.chunks {
		all = append(all, chunk...)
	}
	o.chunks = nil
	slices.SortFunc(all, func(a, b openMoment) int {
		return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.seg, b.seg), cmp.Compare(a.start, b.start))
	})
	number := map[int32]int32{}
	for i := range all {
		seg := all[i].seg
		k, ok := number[seg]
		if !ok {
			k = int32(len(c.bounds))
			number[seg] = k
			c.bounds = append(c.bounds, o.bounds[seg])
		}
		all[i].seg = k
	}
	for some := range slices.Chunk(all, mostCarriedChunk) {
		chunk := &carriedChunk{of: c, moments: some}
		lo, _ := c.like.Layout.Bounds(some[0].base)
		_, hi := c.like.Layout.Bounds(some[len(some)-1].base)
		chunk.entry = gridEntry{lo: lo, hi: hi, chunk: chunk}
		x.grids[c.like.Owner].add(&chunk.entry)
		c.chunks = append(c.chunks, chunk)
	}
	c.moments = len(all)
	x.n += c.n
	x.open.n, x.open.moments, x.open.batches = x.open.n+c.n, x.open.moments+c.moments, x.open.batches+1
	s.carriedNew += c.n
	return c
}

// FinishAll is Finish for all accesses of an Open, which complete at one moment.
func (s *Storage) FinishAll(c *CarriedOpen, end Point) {
	if s.drop(c) {
		s.series.settled += c.n
	} else {
		s.series.kept += c.n
	}
	for _, chunk := range c.chunks {
		s.series.addCarried(chunk, end)
	}
}

// drop carries accesses no longer. It reports whether they were carried since before the
// first phase of the region, and that is under way.
func (s *Storage) drop(c *CarriedOpen) bool {
	x := &s.carried
	for _, chunk := range c.chunks {
		x.grids[c.like.Owner].remove(&chunk.entry)
	}
	x.n -= c.n
	x.open.n, x.open.moments, x.open.batches = x.open.n-c.n, x.open.moments-c.moments, x.open.batches-1
	if s.carriedNew == 0 {
		return false
	}
	s.carriedNew -= c.n
	return true
}

// Spread makes accesses of an Open ones that are held one by one: carry takes each, with a
// call of its own.
func (s *Storage) Spread(c *CarriedOpen, carry func(*Access)) {
	first := s.drop(c)
	for _, chunk := range c.chunks {
		for i := range chunk.moments {
			m := &chunk.moments[i]
			for k := range uint64(m.count) {
				a, call := c.like, *c.like.Call
				call.Pos = m.start + k*m.step
				a.Base, a.Call, a.Bounds, a.Old = m.base, &call, c.bounds[m.seg], true
				carry(&a)
			}
		}
	}
	if !first {
		s.carriedNew -= c.n
	}
}

// giveChunks gives chunks of carried accesses to the phase, and returns how many accesses
// these are.
func (s *Storage) giveChunks(chunks []*carriedChunk) int {
	slices.SortFunc(chunks, func(a, b *carriedChunk) int {
		return cmp.Or(cmp.Compare(a.of.number, b.of.number), cmp.Compare(a.entry.lo, b.entry.lo), cmp.Compare(a.moments[0].start, b.moments[0].start))
	})
	n := 0
	for _, c := range chunks {
		s.series.addCarried(c, c.of.like.End)
		for i := range c.moments {
			n += int(c.moments[i].count)
		}
	}
	clear(chunks)
	return n
}

// spanned marks numbers of Region.spans among those of Region.enders.
const spanned = 1 << 31

// addCarried adds carried accesses, which end at a moment or Never.
func (b *seriesBuilder) addCarried(chunk *carriedChunk, end Point) {
	c := chunk.of
	if c.at.region != b.regions {
		c.at.region, c.at.bounds, c.at.span = b.regions, len(b.began), len(b.spans)
		b.began, b.spans = append(b.began, c.bounds...), append(b.spans, c.span)
	}
	shape := b.findShape(&c.like)
	if shape == nil {
		shape = b.addShape(shapeLike(&c.like))
	}
	if end.Seg == Never {
		end.Pos = math.MaxUint64
	}
	for i := range chunk.moments {
		m := &chunk.moments[i]
		b.addOld(c.like.Owner, moment{
			base: m.base, shape: shape.index, by: spanned | uint32(c.at.span), startSeg: earlierSeg(c.at.bounds + int(m.seg)),
			endSeg: end.Seg, endLine: end.Line, count: m.count, start: m.start, step: m.step, end: end.Pos,
		})
	}
}

// firstEarlier is what moments have in place of a separate region that lay in an earlier
// concurrent region, and of which Region.began has the first bounds; those of others are
// lower.
const firstEarlier int32 = -16

func earlierSeg(i int) int32 { return firstEarlier - int32(i) }

// startOf returns when access i of a moment starts.
func (m *moment) startOf(i uint64, line int32) Point {
	if m.startSeg <= firstEarlier {
		return Point{Line: line, Seg: Earlier}
	}
	return Point{Line: line, Seg: m.startSeg, Pos: m.start + i*m.step}
}

// endOf returns when it ends.
func (m *moment) endOf(i uint64) Point {
	if m.endSeg < 0 {
		return Point{Line: m.endLine, Seg: m.endSeg}
	}
	return Point{Line: m.endLine, Seg: m.endSeg, Pos: m.end + i*m.endStep}
}
