package conflicts

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// inTime finds lanes by when their accesses are. Where many lanes share bytes, as of puts of
// any length into one buffer, most are past or yet to come for each access: then it is not
// worth while to ask them all.
type inTime struct {
	sequences regions.Sequences
	groups    []int32 // of each lane: those of a group share bytes with no other's
	order     []int32 // room for group
	always    []int32 // lanes with accesses whose times say nothing
	built     bool    // for the lanes of the slice, which is not before it is of use
	crowded   bool    // the last stretch of loads and stores had many lanes near, and few at its time
}

// fewerBy is how many times as many lanes as sequences there are where it is worth while to ask
// these, and as lanes that are not looked at one by one.
const fewerBy = 4

// begin begins with another slice.
func (x *inTime) begin() { x.built, x.crowded = false, false }

// worth reports whether some lanes are better looked for by time.
func (x *inTime) worth(all []*Lane) bool {
	if !x.built {
		x.build(all)
	}
	return len(all) > fewerBy*(x.sequences.Len()+len(x.always))
}

func (x *inTime) build(all []*Lane) {
	x.built, x.always = true, x.always[:0]
	x.sequences.Begin()
	x.group(all)
	for j, l := range all {
		told := true
		l.each(func(start, end regions.Point, many bool) {
			told = x.sequences.Add(int32(j), x.groups[j], many, l.lo, l.hi, start, end) && told
		})
		if !told {
			x.always = append(x.always, int32(j))
		}
	}
	x.sequences.Sort()
}

// mostGroups is how many groups of lanes are told apart beside those that few lanes are of.
const mostGroups = 8

// group finds lanes that share no bytes with others, many together, as those of a buffer and those of a window.
func (x *inTime) group(all []*Lane) {
	x.groups = slices.Grow(x.groups[:0], len(all))[:len(all)]
	clear(x.groups)
	x.order = slices.Grow(x.order[:0], len(all))[:len(all)]
	order := x.order
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortFunc(order, func(i, j int32) int { return cmp.Compare(all[i].lo, all[j].lo) })
	var groups [][]int32
	for len(order) > 0 {
		n, hi := 1, all[order[0]].hi
		for n < len(order) && all[order[n]].lo < hi {
			hi = max(hi, all[order[n]].hi)
			n++
		}
		if n > fewLanes {
			groups = append(groups, order[:n])
		}
		order = order[n:]
	}
	slices.SortFunc(groups, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	for k, group := range groups[:min(len(groups), mostGroups)] {
		for _, j := range group {
			x.groups[j] = int32(k + 1)
		}
	}
}

// near visits lanes of which some access may be concurrent with one to bytes [lo, hi), not each once. Where these
// are more than most, it reports false and visits none.
func (x *inTime) near(r *regions.Region, a *regions.Access, lo, hi uint64, most int, visit func(lane int32)) bool {
	if !x.sequences.Near(r, a, lo, hi, most, visit) {
		return false
	}
	for _, j := range x.always {
		visit(j)
	}
	return true
}

// noPair is the number of no pair: the lanes have nothing in common.
const noPair = -1

// pairOf returns the number of the pair that lane i is with a later one, or with itself, or noPair.
func (s *searcher) pairOf(i, j int32) int {
	a, b := s.lanes[i], s.lanes[j]
	if b.paired != s.paired {
		b.paired, b.pair = s.paired, noPair
		if i > j || a.lo >= b.hi || b.lo >= a.hi || a.class.compatible(s.judge, b.class) {
			return noPair
		}
		if p, ok := s.pair(a, b); ok {
			b.pair = len(s.pairs)
			s.pairs = append(s.pairs, p)
		}
	}
	return b.pair
}

// compareInTime is compareLane where the lane may share bytes with many.
func (s *searcher) compareInTime(i int32) {
	l, all := s.lanes[i], false
	s.paired++
	s.pairs = s.pairs[:0]
	most := max(fewerBy*fewLanes, len(s.lanes)/fewerBy)
	var room regions.Access
	for k := range l.len() {
		at := l.times(k, &room)
		if s.inTime.near(s.region, at, l.lo, l.hi, most, func(j int32) {
			n := s.pairOf(i, j)
			if n == noPair || s.pairs[n].compared == k+1 {
				return
			}
			s.pairs[n].compared = k + 1
			s.compareOne(l, k, at, &s.pairs[n])
		}) {
			continue
		}
		if !all {
			all = true
			s.findMet(i, len(s.lanes))
			for _, j := range s.met {
				s.pairOf(i, j)
			}
		}
		for n := range s.pairs {
			s.compareOne(l, k, at, &s.pairs[n])
		}
	}
}

// nearInTime finds the lanes, in s.nearby, that the loads and stores of a stretch at a moment may
// conflict with, by their time. It reports false where these may be many.
func (s *searcher) nearInTime(st *regions.Stretch, of class, at regions.Point) bool {
	s.nearby = s.nearby[:0]
	if !s.inTime.worth(s.lanes) {
		return false
	}
	s.index.asked++
	return s.inTime.near(s.region, &regions.Access{Start: at, End: at}, st.Lo, st.Hi, fewLanes, func(j int32) {
		l := s.lanes[j]
		if l.asked == s.index.asked || l.lo >= st.Hi || st.Lo >= l.hi || of.compatible(s.judge, l.class) {
			return
		}
		l.asked = s.index.asked
		s.addNearby(j, at)
	}) && len(s.nearby) <= fewLanes
}
