package core

import (
	"cmp"

	"github.com/mcchk/mcchk/regions"
)

// A program may leave any number of operations pending. What differs in time and
// address only, and is completed by the same, is one Pending, which keeps of each
// access its moment only. Where a phase or region ends, or a buffer is given up, they
// are held one by one.

// others are the accesses that a Pending stands for beside its first.
type others struct {
	leftOut int           // accesses that are left out; of one that has no other, 1
	open    *regions.Open // those that are not, the first included; nil: there is only the first
	apart   []*Pending    // those that are held one by one
	// carriedAll is in place of open and apart, from the region after the one they began in.
	carriedAll *regions.CarriedOpen
}

// MayTake reports whether Take may be called.
func (p *Pending) MayTake(q *Pending) bool {
	switch {
	case !p.plain() || !q.plain() || p.strand != q.strand || p.buffer != q.buffer:
		return false
	case p.access != nil && q.access != nil:
		return p.access.MayJoin(q.access)
	case p.buffer: // what is given up must be counted where it is left out
		return p.access == q.access && p.lo == q.lo && p.hi == q.hi
	}
	return true
}

// plain reports whether nothing is known of the accesses but when they began.
func (p *Pending) plain() bool {
	return !p.done && !p.away && !p.listed && !p.guarded && !p.locked && p.first == nil && len(p.apart) == 0
}

// Take makes p stand for the accesses of q as well, of which nothing is left: what
// completes p completes them.
func (p *Pending) Take(q *Pending) {
	m := p.strand.m
	l := &m.pending
	l.remove(q)
	p.leftOut += q.leftOut
	switch {
	case q.access == nil:
	case p.access == nil:
		p.access, p.open = q.access, q.open
		p.access.Span = &p.completion
	default:
		if p.open == nil {
			p.open = regions.NewOpen(p.access)
		}
		if q.open != nil {
			p.open.AddAll(q.open)
		} else {
			p.open.Add(q.access)
		}
		m.store.GiveBack(q.access)
	}
	if q.indexed != nil {
		q.strand.memory.buffers.Remove(q.indexed)
	}
	if p.buffer && (q.lo < p.lo || q.hi > p.hi) {
		p.lieIn(min(p.lo, q.lo), max(p.hi, q.hi))
	}
	l.spare = append(l.spare, q)
}

// lieIn says that the buffers lie in [lo, hi).
func (p *Pending) lieIn(lo, hi uint64) {
	p.lo, p.hi = lo, hi
	if p.indexed != nil {
		p.strand.memory.buffers.Remove(p.indexed)
		p.indexed = nil
		p.index()
	}
}

// FreedBy says which call completed the operation at its origin only.
func (p *Pending) FreedBy(by *regions.CallInfo) {
	if p.access != nil && p.access.Call.Local == nil {
		p.access.Call.Local = by
	}
	if p.completion.Freed == nil {
		p.completion.Freed = by
	}
	for _, q := range p.apart {
		q.FreedBy(by)
	}
}

// NotBy says which call of another strand does not complete it, for nothing puts it before that.
func (p *Pending) NotBy(call *regions.CallInfo) {
	if p.completion.Beside == nil {
		p.completion.Beside = call
	}
	for _, q := range p.apart {
		q.NotBy(call)
	}
}

// completeOthers completes what a Pending stands for beside its first access. It
// reports whether the first is among them.
func (p *Pending) completeOthers(at regions.Point, by *regions.CallInfo) bool {
	store := p.strand.m.store
	if p.carriedAll != nil {
		p.completion.By = by
		store.FinishAll(p.carriedAll, at)
		p.carriedAll, p.access = nil, nil
		return true
	}
	if p.open != nil && store.SettleAll(p.open, at, by) {
		store.GiveBack(p.access)
		p.open, p.access = nil, nil
		return true
	}
	p.spread()
	for _, q := range p.apart {
		q.Complete(at, by)
	}
	return false
}

// spread makes the accesses that are kept by their moments pending ones, which are held
// one by one.
func (p *Pending) spread() {
	if p.open == nil {
		return
	}
	s, l := p.strand, &p.strand.m.pending
	first := true
	p.open.Each(func(a *regions.Access) {
		if first {
			first = false
			return
		}
		q := l.take()
		q.Of, q.strand, q.access, q.buffer = p.Of, s, s.m.store.Copy(a), p.buffer
		q.access.Span, q.access.Bounds = &q.completion, s.m.paths[a.Start.Line].at(a.Start.Seg).Bounds
		q.lo, q.hi = a.Layout.Bounds(a.Base)
		l.add(q)
		p.apart = append(p.apart, q)
	})
	p.open = nil
	if lo, hi := p.access.Layout.Bounds(p.access.Base); p.buffer && !p.done {
		p.lieIn(lo, hi)
	}
}

// spreadCarried is spread for accesses that are carried.
func (p *Pending) spreadCarried() {
	if p.carriedAll == nil {
		return
	}
	s, store := p.strand, p.strand.m.store
	all := p.carriedAll
	p.carriedAll = nil
	q := p
	store.Spread(all, func(a *regions.Access) {
		if q == nil {
			q = &Pending{Of: p.Of, strand: s, listed: true, away: true}
			p.apart = append(p.apart, q)
		}
		a.Span = &q.completion
		q.access, q.carried = a, store.Carry(a)
		if p.buffer {
			q.buffer = true
			q.lieIn(a.Layout.Bounds(a.Base))
			q.index()
		}
		q = nil
	})
}

// spreadBuffers spreads the accesses to buffers of which some may lie in [lo, hi).
func (s *Strand) spreadBuffers(lo, hi uint64) {
	var some []*Pending
	for _, b := range s.memory.buffers.Overlapping(lo, hi) {
		if b.Value.open != nil || b.Value.carriedAll != nil {
			some = append(some, b.Value)
		}
	}
	for _, p := range some {
		p.spread()
		p.spreadCarried()
	}
	if len(some) > 0 {
		s.m.pending.index()
	}
}

// So many accesses that are pending together are carried as a batch, unless Options say
// otherwise, and so many batches at most: a region looks at all moments of a batch, and
// at those once that are held one by one and alike.
const fewCarried, mostBatches = 1 << 8, 1 << 6

// carriesAll reports whether accesses stay a batch in the next region.
func (p *Pending) carriesAll() bool {
	m := p.strand.m
	return p.open != nil && p.open.Len() >= cmp.Or(m.opts.Batch, fewCarried) && m.store.CarriedBatches() < mostBatches
}

// toSpread is about how many bytes are taken at once where the phase ends, which is the
// last of the region or is not.
func (l *pendingAccesses) toSpread(regionEnds bool) int64 {
	n := int64(0)
	for p := range l.all {
		switch {
		case p.open == nil:
		case regionEnds && p.carriesAll():
			n += int64(p.open.Moments()) * regions.OpenBytes
		default:
			n += int64(p.open.Len()) * apartBytes
		}
	}
	return n
}

// unlisted counts the accesses that the phase does not have yet.
func (l *pendingAccesses) unlisted() int {
	n := 0
	for p := range l.all {
		switch {
		case p.listed || p.access == nil:
		case p.open != nil:
			n += p.open.Len()
		default:
			n++
		}
	}
	return n
}
