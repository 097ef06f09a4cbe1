package clocks

import (
	"math"

	"github.com/mcchk/mcchk/core"
)

// Forward watches the first replay: where a call ended before what it waited for
// had arrived, the clock of its process is put forward (section 3.1 of the paper; for
// collective calls 4.1).
type Forward struct {
	follower
	src   Source
	lines []line
}

var _ core.Observer = (*Forward)(nil)

// NewForward returns a Forward for a run.
func NewForward(src Source) *Forward {
	f := &Forward{src: src, lines: make([]line, len(src.Hosts))}
	f.follower = newFollower(len(src.Hosts), f.ended)
	return f
}

// departure is when something left a process, corrected.
type departure struct {
	rank int
	at   int64
}

// gathering is what has come to a meeting, as far as it may be what somebody waits for
// longest: the last departure, the one before it from the same host, and the last from
// any other host.
type gathering struct {
	last, second, other departure
}

// nobody is where there is no departure.
var nobody = departure{rank: -1}

// Call is that of core.Observer.
func (f *Forward) Call(o *core.ObservedCall) { f.next(&f.src, o) }

// Signal is that of core.Observer.
func (f *Forward) Signal(rank int32) core.Mark { return f.departure(rank) }

func (f *Forward) departure(rank int32) departure {
	t := f.calls[rank].begin
	return departure{int(rank), t + f.lines[rank].at(t)}
}

// Meet is that of core.Observer.
func (f *Forward) Meet(met core.Mark, rank int32) core.Mark {
	d := f.departure(rank)
	g, ok := met.(gathering)
	if !ok {
		return gathering{d, nobody, nobody}
	}
	later, same := d.at > g.last.at, f.host(d) == f.host(g.last)
	switch {
	case later && same:
		g.last, g.second = d, g.last
	case later:
		g.last, g.second, g.other = d, nobody, g.last
		if other := met.(gathering).other; f.host(other) == f.host(d) {
			g.second = other
		}
	case same:
		g.second = latest(g.second, d)
	default:
		g.other = latest(g.other, d)
	}
	return g
}

func (f *Forward) host(d departure) int {
	if d == nobody {
		return -1
	}
	return f.src.Hosts[d.rank]
}

func latest(a, b departure) departure {
	if a == nobody || b.at > a.at {
		return b
	}
	return a
}

func (f *Forward) ended(rank int, c *call) {
	if !c.returned {
		return
	}
	arrival := int64(math.MinInt64)
	from := func(d departure) {
		if d != nobody && d.rank != rank {
			arrival = max(arrival, d.at+f.src.least(d.rank, rank)+slack)
		}
	}
	for _, on := range c.waits {
		switch m := on.(type) {
		case departure:
			from(m)
		case gathering:
			from(m.last)
			from(m.second)
			from(m.other)
		}
	}
	f.lines[rank].advance(c.end, arrival)
}

// Close ends the pass, when the replay is over, and says how many clocks were
// put forward how often.
func (f *Forward) Close() (jumps int) {
	f.close()
	for i := range f.lines {
		jumps += len(f.lines[i].jumps)
	}
	return jumps
}
