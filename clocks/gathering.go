package clocks

import (
	"math"

	"github.com/mcchk/mcchk/core"
)

// departure is when something left a process: corrected, and not.
type departure struct {
	rank      int
	at, shown int64
}

// gathering is what has come to a meeting, as far as it may be what somebody waits for
// longest: the last departure, the one before it from the same host, and the last from
// any other host.
type gathering struct {
	last, second, other departure
}

// nobody is where there is no departure.
var nobody = departure{rank: -1}

// gather adds a departure to what has come to a meeting, which may be nil.
func (s *Source) gather(met core.Mark, d departure) gathering {
	g, ok := met.(gathering)
	if !ok {
		return gathering{d, nobody, nobody}
	}
	later, same := d.at > g.last.at, s.host(d) == s.host(g.last)
	switch {
	case later && same:
		g.last, g.second = d, g.last
	case later:
		before := g
		g = gathering{d, nobody, before.last}
		if s.host(before.other) == s.host(d) {
			g.second = before.other
		}
	case same:
		g.second = latest(g.second, d)
	default:
		g.other = latest(g.other, d)
	}
	return g
}

func (s *Source) host(d departure) int {
	if d == nobody {
		return -1
	}
	return s.Hosts[d.rank]
}

func latest(a, b departure) departure {
	if a == nobody || b.at > a.at {
		return b
	}
	return a
}

// arrival returns when a process has all that a call waited for, at the earliest, and
// so much later: by corrected times, and by those shown.
func (s *Source) arrival(rank int, waits []core.Mark, later int64) (at, shown int64) {
	at, shown = math.MinInt64, math.MinInt64
	from := func(d departure) {
		if d != nobody && d.rank != rank {
			least := s.least(d.rank, rank) + later
			at, shown = max(at, d.at+least), max(shown, d.shown+least)
		}
	}
	for _, on := range waits {
		switch m := on.(type) {
		case departure:
			from(m)
		case gathering:
			from(m.last)
			from(m.second)
			from(m.other)
		}
	}
	return at, shown
}
