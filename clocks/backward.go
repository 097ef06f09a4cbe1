package clocks

import (
	"math"
	"slices"
)

// sweep goes through what a process did from its end to its beginning, slab by slab: a jump is
// spread over what comes before it, as far as nothing that left the process then passes what
// waited for it (section 3.2 of the paper; for collective calls 4.2). Nothing has to be
// known of other processes for it: what waited for a departure is kept with that.
type sweep struct {
	now     int64 // all from this moment on is corrected
	started bool
	slower  int64
	next    jump // the first of those that were seen: it tells the correction before it
	ramps   []ramp
	jumps   []jump  // that are to come, the last first
	sends   []sent  // that are to come, the last first
	points  []point // of the slab, the last first
}

// ramp is what is left of the stretch before a jump. It rises from a moment on by one part
// in `gentle`, up to a height: that of the jump, or what a departure leaves of it.
type ramp struct{ from, most int64 }

func (r ramp) at(t int64) int64 { return min(r.most, max(0, t-r.from)/gentle) }

// corner is the moment from which on it rises no more.
func (r ramp) corner() int64 { return r.from + r.most*gentle }

// newSweep begins behind all that a process did.
func newSweep(l *line) sweep {
	s := sweep{now: math.MaxInt64, slower: l.slower, next: jump{past: math.MinInt64}}
	if l.any {
		s.next.past = l.over()
	}
	return s
}

// base is the correction by forward amortization at a moment before the next jump.
func (s *sweep) base(t int64) int64 {
	if t >= s.next.past {
		return 0
	}
	return s.next.before + (s.next.past-t)/s.slower
}

// put notes the correction at the moment that is swept.
func (s *sweep) put() {
	p := point{s.now, s.base(s.now)}
	for _, r := range s.ramps {
		p.by += r.at(s.now)
	}
	n := len(s.points)
	switch {
	case n > 0 && s.points[n-1].at == p.at, n > 1 && s.points[n-1].by == p.by && s.points[n-2].by == p.by:
		s.points[n-1] = p
	default:
		s.points = append(s.points, p)
	}
}

// slab corrects what a process did in the slab before.
func (s *sweep) slab(p *page) {
	s.points = s.points[:0]
	if s.started {
		s.put() // where the slab behind it goes on
	}
	s.started = true
	slices.Reverse(p.jumps)
	s.jumps = append(s.jumps, p.jumps...)
	if s.sends = append(s.sends, p.sends...); len(s.sends) > len(p.sends) {
		slices.SortStableFunc(s.sends, lastFirst)
	}
	jumps, sends := s.jumps, s.sends
	for {
		t, turns := s.turn()
		if len(jumps) > 0 && jumps[0].at >= t {
			t, turns = jumps[0].at, true
		}
		if len(sends) > 0 && sends[0].at > t {
			t, turns = sends[0].at, false
		}
		if t == math.MinInt64 || t < p.floor {
			break
		}
		s.now = min(s.now, t)
		for ; len(sends) > 0 && sends[0].at >= t; sends = sends[1:] {
			turns = s.hold(sends[0].room) || turns
		}
		if turns {
			s.put()
		}
		for ; len(jumps) > 0 && jumps[0].at >= t; jumps = jumps[1:] {
			s.next = jumps[0]
			s.ramps = append(s.ramps, ramp{s.next.stretch(), s.next.height()})
		}
		s.ramps = slices.DeleteFunc(s.ramps, func(r ramp) bool { return r.from >= s.now || r.most <= 0 })
	}
	s.jumps, s.sends = append(s.jumps[:0], jumps...), append(s.sends[:0], sends...)
	if p.floor > math.MinInt64 {
		s.now = min(s.now, p.floor)
		s.put()
	}
}

// turn returns the next moment before now, at which the correction changes otherwise than
// before though nothing happens then.
func (s *sweep) turn() (t int64, any bool) {
	t = math.MinInt64
	add := func(at int64) {
		if at < s.now {
			t = max(t, at)
		}
	}
	add(s.next.past)
	for _, r := range s.ramps {
		add(r.corner())
		add(r.from)
	}
	return t, t != math.MinInt64
}

// hold keeps what leaves the process now from being moved farther than there is room. It
// reports whether that changes anything.
func (s *sweep) hold(room int64) bool {
	room = max(0, room-1) // which may have been rounded away
	sum := int64(0)
	for _, r := range s.ramps {
		sum += r.at(s.now)
	}
	if sum <= room {
		return false
	}
	for i := range s.ramps {
		r := &s.ramps[i]
		if here := r.at(s.now); here > room {
			r.most = room
			room = 0
		} else {
			room -= here
		}
	}
	return true
}

// time corrects a moment of the slab.
func (s *sweep) time(t int64) int64 {
	// The points descend.
	i, found := slices.BinarySearchFunc(s.points, t, func(p point, t int64) int {
		switch {
		case p.at > t:
			return -1
		case p.at < t:
			return 1
		}
		return 0
	})
	switch {
	case found:
		return t + s.points[i].by
	case i == 0 || i == len(s.points):
		return t
	}
	return t + between(s.points[i], s.points[i-1], t)
}
