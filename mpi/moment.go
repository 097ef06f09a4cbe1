package mpi

import "github.com/mcchk/mcchk/regions"

// moment is a moment of a process, in whichever concurrent region.
type moment struct {
	at     regions.Point
	region int
}

// now is the present moment of a process.
func (m *Model) now(p *process) moment { return moment{p.Now(), m.Index()} }

// isPast reports whether a moment comes before the present one of a process.
func (m *Model) isPast(x moment, p *process) bool { return x.region != m.Index() || p.Knows(x.at) }
