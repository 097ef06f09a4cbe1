package clocks

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/core"
)

// departure is when something left a process: corrected, and not. It is what a signal
// carries, and known once Forward has come to it.
type departure struct {
	rank      int32
	known     atomic.Bool // at is
	at, shown int64
}

// meeting is a meeting of processes.
type meeting struct {
	come []*departure

	in     int64        // the slab in which somebody waited last
	number int          // there
	left   atomic.Int64 // so many have come for sure, by what is known of them

	mu     sync.Mutex
	known  int // of those that have come: they are in last
	last   gathering
	prefix []gathering // of the first, of the first two, and so on; made when somebody waits for a part
}

// attendance is a meeting up to some process: what that carries.
type attendance struct {
	*meeting
	come []*departure
}

// sure returns of how many that have come it is known when.
func (m *meeting) sure() int64 { return m.left.Load() }

// more: it is known of one more than so many.
func (m *meeting) more(than int64) { m.left.CompareAndSwap(than, than+1) }

// gathering is what has come to a meeting, as far as it may be what somebody waits for
// longest: the last departure, the one before it from the same host, and the last from
// any other host.
type gathering struct {
	last, second, other *departure
}

// gather adds a departure to what has come to a meeting.
func (s *Source) gather(g gathering, d *departure) gathering {
	if g.last == nil {
		return gathering{last: d}
	}
	later, same := d.at > g.last.at, s.host(d) == s.host(g.last)
	switch {
	case later && same:
		g.last, g.second = d, g.last
	case later:
		before := g
		g = gathering{last: d, other: before.last}
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

func (s *Source) host(d *departure) int {
	if d == nil {
		return -1
	}
	return s.Hosts[d.rank]
}

func latest(a, b *departure) *departure {
	if a == nil || b.at > a.at {
		return b
	}
	return a
}

// gathered returns what has come to a meeting up to some process, all of which is known.
func (s *Source) gathered(a attendance) gathering {
	m := a.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(a.come) < m.known {
		for n := len(m.prefix); n < len(a.come); n++ {
			var g gathering
			if n > 0 {
				g = m.prefix[n-1]
			}
			m.prefix = append(m.prefix, s.gather(g, a.come[n]))
		}
		return m.prefix[len(a.come)-1]
	}
	for ; m.known < len(a.come); m.known++ {
		m.last = s.gather(m.last, a.come[m.known])
	}
	return m.last
}

// arrival returns when a process has all that a call waited for, at the earliest, and
// so much later: by corrected times, and by those shown.
func (s *Source) arrival(rank int, waits []core.Mark, later int64) (at, shown int64) {
	at, shown = math.MinInt64, math.MinInt64
	from := func(d *departure) {
		if d != nil && int(d.rank) != rank && d.known.Load() {
			least := s.least(int(d.rank), rank) + later
			at, shown = max(at, d.at+least), max(shown, d.shown+least)
		}
	}
	for _, on := range waits {
		switch m := on.(type) {
		case *departure:
			from(m)
		case attendance:
			g := s.gathered(m)
			from(g.last)
			from(g.second)
			from(g.other)
		}
	}
	return at, shown
}
