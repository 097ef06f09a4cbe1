package regions

import (
	"math"
	"slices"
)

const (
	firstChunk  = 4 // moments
	mostChunk   = 1 << 12
	momentBytes = 64
	mostMoments = 1 << 15 // that there may be room for that is not in use, where there are few processes
)

// moment is the time of count accesses of a shape to one address.
type moment struct {
	base             uint64
	shape            uint32
	by               uint32 // of Region.enders: what completed it
	startSeg, endSeg int32
	endLine          int32
	count            uint32
	start, end       uint64 // of the first
	step, endStep    uint64 // between two of them
}

// lastStart and lastEnd are those of the last access.
func (m *moment) lastStart() uint64 { return m.start + m.step*uint64(m.count-1) }

func (m *moment) lastEnd() uint64 { return m.end + m.endStep*uint64(m.count-1) }

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

// extend adds the access of another moment, of one only, when it is like those of
// this one.
func (m *moment) extend(t *moment) bool {
	if t.count != 1 || t.base != m.base || t.shape != m.shape || t.startSeg != m.startSeg || t.endSeg != m.endSeg || t.by != m.by || t.endLine != m.endLine ||
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
	return t.endLine == m.endLine && t.start >= m.lastStart() && t.end >= m.lastEnd()
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

// putMoments takes the moments of a region back. The pool must be locked.
func (s *pool) putMoments(all []moments) {
	for i := range all {
		chunks := all[i].chunks
		for k := range chunks {
			c := chunks[k].moments
			s.held -= int64(cap(c)) * momentBytes
			if cap(c) > 0 && s.spareMoments+cap(c) <= s.scale*mostMoments {
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
