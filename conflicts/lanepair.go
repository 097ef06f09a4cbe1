package conflicts

import (
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// compareLane compares each access of lane i with those of later lanes, and with the later ones of
// the lane itself.
func (s *searcher) compareLane(i int32) {
	l := s.lanes[i]
	if !s.findMet(i, fewLanes) {
		if s.inTime.worth(s.lanes) {
			s.compareInTime(i)
			return
		}
		s.findMet(i, len(s.lanes))
	}
	var room regions.Access
	for _, j := range s.met {
		if p, ok := s.pair(l, s.lanes[j]); ok {
			for k := range l.len() {
				s.compareOne(l, k, l.times(k, &room), &p)
			}
		}
	}
}

// findMet finds the later lanes, in s.met, that may share bytes with lane i, or it. It reports
// false where that means to look at more than most.
func (s *searcher) findMet(i int32, most int) bool {
	s.met = s.met[:0]
	return s.index.meeting(s.lanes[i], func(j int32) bool {
		if i <= j {
			s.met = append(s.met, j)
		}
		most--
		return most >= 0
	})
}

// lanePair is a lane that accesses of another one, or earlier ones of it, conflict with if
// nothing orders them.
type lanePair struct {
	*Lane
	meeting
	self     bool // it is the other one
	recycle  bool // variables come and go where they meet
	compared int  // the last access of the other one that was compared with it, from 1; 0: none
}

// pair says whether accesses of two lanes conflict if nothing orders them.
func (s *searcher) pair(a, b *Lane) (p lanePair, ok bool) {
	if a.old && b.old || a.First().Span == nil && b.First().Span == nil && a.First().Start.Line == b.First().Start.Line {
		return p, false // compared before; or one after the other
	}
	p = lanePair{Lane: b, self: a == b}
	if p.meeting, ok = s.meet(a.First(), b.First()); ok {
		p.recycle = s.region.Recycles(a.First(), b.First(), p.meeting.lo, p.meeting.hi)
	}
	return p, ok
}

// compareOne compares access i of a lane with those of another. at has its times.
func (s *searcher) compareOne(l *Lane, i int, at *regions.Access, p *lanePair) {
	from, b, m := 0, p.Lane, &p.meeting
	if p.self {
		from = i + 1
	}
	lo, hi := b.Concurrent(s.region, at, from)
	if m.beside {
		lo, hi = b.issuedBeside(s.region, at, lo, hi)
		lo, hi = b.notChained(s.region, at, lo, hi)
	}
	if lo < hi && p.recycle {
		lo, hi = b.whileThere(s.region.Lifetime(l.First().Owner, at.Start, at.End, m.lo, m.hi), lo, hi)
	}
	if lo < hi && m.seen {
		lo = b.notSeen(s.region, l.First(), at.Start, lo, hi)
		hi = b.whichSaw(s.region, l, i, lo, hi)
	}
	if lo < hi {
		s.out.Add(NewPair(s.region, l.access(i), b.access(lo), m.lo, m.hi, m.rule), uint64(hi-lo))
	}
}

// meeting is what holds for all pairs of a pair of lanes.
type meeting struct {
	lo, hi uint64
	rule   string
	beside bool // where neither was issued after the other
	seen   bool // but where who makes the one has seen that the other took effect
}

// meet says whether accesses conflict if nothing orders them.
func (s *searcher) meet(a, b *regions.Access) (m meeting, ok bool) {
	if a.Rank != b.Rank && regions.Exclude(a.Locks, b.Locks) {
		return m, false
	}
	if m.lo, m.hi, ok = intervals.MeetLayouts(a.Base, a.Layout, b.Base, b.Layout); !ok || !s.part.Has(a.Owner, m.lo) || !s.slice.Has(m.lo) {
		return m, false
	}
	v := Compare(s.judge, a, b)
	if v == Compatible || v == OtherOp && s.region.InTurn(a, b) {
		return m, false
	}
	if v == Beside {
		m.beside, v = true, OtherOp
	}
	m.seen = v != OtherOp // of those, Region.InTurn knows
	m.beside = m.beside || chained(a, b) || chained(b, a)
	m.rule = s.judge.Rule(a, b, v)
	return m, true
}
