package core

import "github.com/mcchk/mcchk/regions"

// Guard is a moment of a strand before which accesses that wait for it do not
// start, though their calls come earlier. The zero Guard was not passed yet.
type Guard struct {
	passed  bool // in that region, at that moment
	region  int
	at      regions.Point
	pending []*Pending
}

// Passed reports whether the guard was passed.
func (g *Guard) Passed() bool { return g.passed }

// delay makes an access start after the guard, which its owner passes.
func (g *Guard) delay(m *Machine, p *Pending) {
	a := p.access
	switch {
	case !g.passed:
		g.pending = append(g.pending, p)
		p.guarded = true
		a.Gated, a.Gate = true, regions.Point{Line: a.Owner, Seg: regions.Later}
		p.list()
	case g.region == m.index:
		a.Gated, a.Gate = true, g.at
	}
}

// Pass lets in what waits for the guard: the strand is past it now.
func (s *Strand) Pass(g *Guard) {
	g.passed, g.region, g.at = true, s.m.index, s.Now()
	for _, p := range g.pending {
		if p.guarded = false; p.access == nil { // whoever comes has seen that it is complete
			continue
		}
		p.access.Gated, p.access.Gate = true, g.at
	}
	g.pending = nil
}
