package trial

import (
	"slices"
)

// What executions tell of the loops that two statements are in.

// spans says how many collective calls of all come before the executions of two statements: the
// least and the most; and whether a process comes by the first and then by the second with none
// between.
type spans struct {
	of [2]struct {
		some        bool
		least, most int
	}
	inTurn bool
	first  map[[2]int]uint64 // by process and number: where an execution of the first begins
}

// add adds an execution by a process that begins at a slot: those of the first statement first.
func (x *spans) add(second bool, rank, n int, at uint64) {
	y, key := &x.of[0], [2]int{rank, n}
	if second {
		y = &x.of[1]
		before, ok := x.first[key]
		x.inTurn = x.inTurn || ok && before < at
	} else if before, ok := x.first[key]; !ok || at < before {
		if x.first == nil {
			x.first = map[[2]int]uint64{}
		}
		x.first[key] = at
	}
	if !y.some {
		y.some, y.least, y.most = true, n, n
	}
	y.least, y.most = min(y.least, n), max(y.most, n)
}

// inOneLoop reports whether the first statement is one before the second in each iteration of a
// loop that has a collective call between the two: where they meet, the second is that of the
// iteration before, and what is called behind the one and before the other comes too late for
// it. Where they are in loops of their own, at most the end of one and the beginning of the other
// meet.
func (x *spans) inOneLoop() bool {
	a, b := x.of[0], x.of[1]
	return !x.inTurn && a.least < b.least && b.least < a.most && a.most < b.most
}

// inOneLoop says that of two statements of which executions are in the same concurrent regions.
func (p *planner) inOneLoop(from, to int) bool {
	var x spans
	for _, site := range []int{from, to} {
		for rank := range p.runs {
			for i := range p.runs[rank][site] {
				e := &p.runs[rank][site][i]
				x.add(site == to, rank, p.regionOf(rank, e, false), e.begin())
			}
		}
	}
	return x.inOneLoop()
}

// inOneLoop says that of the executions in one region.
func (x pass) inOneLoop(p *planner, members []int) bool {
	var y spans
	common := p.common(members, x.region)
	for _, second := range []bool{false, true} {
		for i, rank := range members {
			for _, e := range x.ranks[rank] {
				if e.second == second {
					y.add(second, rank, ahead(common[i], e.begin()), e.begin())
				}
			}
		}
	}
	return y.inOneLoop()
}

// folded reports whether some process comes by two loads or stores in turns, with no call between
// them: how often, and where each time, is not known, since only what is new is recorded.
func (p *planner) folded(from, to int) bool {
	for rank := range p.runs {
		for i := range p.runs[rank][from] {
			e := &p.runs[rank][from][i]
			if !e.calls && slices.ContainsFunc(p.runs[rank][to], func(o execution) bool {
				return !o.calls && o.span == e.span && o.first < e.last && e.first < o.last
			}) {
				return true
			}
		}
	}
	return false
}
