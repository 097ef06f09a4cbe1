package core

import (
	"math"
	"slices"
)

// schedule is what is left of the order that a planner has found for operations on a word,
// behind those that were decided by it: most of them were foreseen only, which comes to pass
// while others are decided. As long as it does, the next decisions follow the order, and
// another one is looked for once half of it is over, so that what is to come counts for
// each decision. So a word on which many operations wait for each other, such as a lock
// whose waiters exchange its value, costs one search for many decisions.
type schedule struct {
	steps []planned
	place map[moment]int // of steps
	next  int            // those before are decided
	until int64          // what begins before is in it, ns
}

// planned is an operation in its place.
type planned struct {
	op   *WordOp // nil: it is still to come
	open bool    // another one could have been in its place
}

func (x *planned) decided() bool { return x.op != nil && (x.op.made != nil || x.op.saw != nil) }

// moment tells operations on a word apart that are foreseen, and made later.
type moment struct {
	strand *Strand
	began  int64
}

func (op *WordOp) moment() moment { return moment{op.strand, op.began} }

// leastScheduled is how many operations a schedule has at least.
const leastScheduled = 32

// newSchedule returns the schedule of some steps; nil: it is not worth it, or does not tell
// operations apart.
func newSchedule(steps []*WordOp, open []bool) *schedule {
	if len(steps) < leastScheduled {
		return nil
	}
	s := &schedule{steps: make([]planned, len(steps)), place: make(map[moment]int, len(steps)), until: math.MinInt64}
	for i, op := range steps {
		s.steps[i].open = open[i]
		if !op.foreseen() {
			s.steps[i].op = op
		}
		if end := op.end(); end < math.MaxInt64 {
			s.until = max(s.until, end)
		}
		s.place[op.moment()] = i
	}
	if len(s.place) < len(steps) {
		return nil
	}
	return s
}

// issued notes that an operation was issued. It reports whether it agrees with the schedule.
func (s *schedule) issued(op *WordOp) bool {
	if i, ok := s.place[op.moment()]; ok {
		s.steps[i].op = op
		return true
	}
	return op.update == nil || op.began >= s.until
}

// decided notes that an operation is decided. It reports whether the schedule still holds:
// updates take effect in its order.
func (s *schedule) decided(op *WordOp) bool {
	i, ok := s.place[op.moment()]
	if !ok {
		return op.update == nil
	}
	for s.next < len(s.steps) && s.steps[s.next].decided() {
		s.next++
	}
	if op.update != nil {
		for _, x := range s.steps[min(s.next, i):i] {
			if !x.decided() && (x.op == nil || x.op.update != nil) {
				return false
			}
		}
	}
	return s.next <= len(s.steps)/2
}

// follow notes an operation that was issued or decided, by what holds then for the schedule.
func (w *word) follow(op *WordOp, holds func(*schedule, *WordOp) bool) {
	if w.schedule != nil && !holds(w.schedule, op) {
		w.schedule = nil
	}
}

// scheduled returns how operations up to one are decided by the schedule of the word; nil: it
// says nothing of that, or, later, that what is still to be issued comes before.
func (w *word) scheduled(op *WordOp) (c *choice, later bool) {
	s := w.schedule
	if s == nil {
		return nil, false
	}
	end, ok := s.place[op.moment()]
	if !ok {
		return nil, false
	}
	p := w.planner(manner{timely: true, foresees: true})
	var steps []planned
	for _, x := range s.steps[min(s.next, end) : end+1] {
		if x.decided() {
			continue
		}
		if x.op == nil || x.op.update == nil && !x.op.blocked {
			break
		}
		steps = append(steps, x)
		if x.op.update == nil {
			p.reads = append(p.reads, x.op)
		}
	}
	slices.SortFunc(p.reads, (*WordOp).before)
	p.seen = make([]bool, len(p.reads))
	n := 0 // up to the last of the operations that are decided so
	for i, x := range steps {
		if !p.possible(x.op) {
			w.schedule = nil
			return nil, false
		}
		p.step(x.op)
		p.open = append(p.open, x.open)
		if x.op.blocked {
			n = i + 1
		}
	}
	if n == 0 {
		return nil, true
	}
	c = &choice{steps: p.steps[:n], open: slices.Contains(p.open[:n], true)}
	if c.open && slices.ContainsFunc(c.steps, c.mayBeLater) {
		w.schedule = nil
		return nil, false
	}
	return c, false
}

// possible reports whether an operation that was issued may take effect next.
func (p *planner) possible(x *WordOp) bool {
	if x.update != nil {
		l := &p.lanes[p.word.index(x.strand)]
		if l.taken == len(l.ops) || l.ops[l.taken] != x {
			return false
		}
	}
	return x.fits(p.value, p.manner) && x.began <= p.due() && p.follows(x)
}
