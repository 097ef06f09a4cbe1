package core

import (
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Accesses that go on as something else from some moment on, for whoever comes after that.

// Part ends a first part of the access at the present moment of a strand, and goes on
// with it as another part that has another role, until that is completed. To findings
// both have the same completion. What comes between the parts for whom is for
// regions.Role to say (Chained). An access that another strand has completed beside that,
// and that its model keeps (Keep), is divided all the same.
func (p *Pending) Part(s *Strand, role *regions.Role) *Pending {
	switch {
	case p.done:
		return p.partOfDone(s, role)
	case p.access == nil && p.leftOut == 0:
		return p
	}
	p.spread()
	p.spreadCarried()
	again := p.reopen(s, role)
	again.first = p
	for _, q := range p.apart {
		again.apart = append(again.apart, q.Part(s, role))
	}
	again.leaveOutMore(p.leftOut - again.leftOut)
	p.end(s.Now())
	return again
}

// PartAlso says that for what comes after the present moment of a strand the part has begun by
// then, as for what comes after the Part that began it, beside which this moment is.
func (p *Pending) PartAlso(s *Strand) {
	if p.first != nil {
		p.first.Seen(s.Now())
	}
	for _, q := range p.apart {
		q.PartAlso(s)
	}
	if p.access != nil && p.access.Start.Within() && !(p.done && p.region != p.strand.m.index) {
		p.access.Also = append(slices.Clip(p.access.Also), s.Now())
	}
}

// partOfDone is Part for an access that is complete: it goes on up to its completion.
func (p *Pending) partOfDone(s *Strand, role *regions.Role) *Pending {
	m := s.m
	if p.region != m.index || p.access == nil && p.leftOut == 0 {
		return p
	}
	m.phase.grown++
	again := m.pending.take()
	again.strand, again.done, again.region, again.completion, again.first = s, true, m.index, p.completion, p
	if p.access == nil {
		again.leftOut = p.leftOut
		m.pending.leftOutNew += p.leftOut
		s.path.last().Ended += p.leftOut
		return again
	}
	a := m.store.NewAccess()
	*a = *p.access
	a.Old, a.Role, a.Start, a.Bounds, a.Span = false, role, s.Now(), s.within(), &again.completion
	again.access = a
	again.Keep()
	p.Seen(s.Now())
	return again
}

// end ends an access of which the completion is not known yet.
func (p *Pending) end(at regions.Point) {
	m := p.strand.m
	p.done, p.region = true, m.index
	if !p.away {
		m.pending.remove(p)
	}
	if p.leaveOutNoMore(at); p.access == nil {
		return
	}
	if p.carried != nil {
		p.access, p.carried = m.store.Finish(p.carried), nil
	}
	p.access.End = at
	if p.list(); p.kept {
		m.pending.keep(p)
	}
}
