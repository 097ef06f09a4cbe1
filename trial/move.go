package trial

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/trace"
)

// Statements that are moved behind others, or before them.

// move moves statements.
func (p *planner) move(step *conflicts.Step) error {
	forward := step.Do == conflicts.StepMove
	if !forward && step.Do != conflicts.StepAdvance {
		return nil
	}
	at, to, err := p.sites(step)
	if err != nil {
		return err
	}
	any := false
	for rank := range p.runs {
		all, others := p.fruitful(p.runs[rank][at]), p.fruitful(p.runs[rank][to])
		if step.Private && p.unseen(rank, at, others) {
			return fmt.Errorf("%w: rank %d may come by %s without its being recorded", ErrUnknown, rank, step.At.Call)
		}
		for i := range all {
			e := all[i]
			other := next(others, e, forward)
			if other == nil {
				if forward {
					return fmt.Errorf("rank %d does not come by %s after %s", rank, step.To.Call, step.At.Call)
				}
				continue // it stays where it is
			}
			if !forward && i > 0 && all[i-1].first > other.last {
				continue // what it would be moved before belongs to the one before it
			}
			if !forward && repeated(others, all, i) {
				return fmt.Errorf("%s is in a loop in which %s is not", step.To.Call, step.At.Call)
			}
			any = true
			p.carry(rank, e, other, forward)
		}
	}
	if !any {
		return fmt.Errorf("no process comes by %s and %s", step.At.Call, step.To.Call)
	}
	return nil
}

// fruitful returns the executions of a statement, but of calls that are repeated until something is
// complete those only that completed it: of several at once, the last.
func (p *planner) fruitful(all []execution) []*execution {
	var out []*execution
	goesOn := false // with what the last of them tries
	for i := range all {
		e := &all[i]
		tries, inVain := false, false
		for k := range e.events {
			if ev := &e.events[k]; ev.Kind == trace.KindCall {
				t, vain := p.maker.Tries(ev.Call)
				tries, inVain = tries || t, inVain || vain
			}
		}
		goesOn = goesOn && tries && e.first == all[i-1].last+1
		switch {
		case inVain:
			goesOn = goesOn && len(out) > 0
		case goesOn:
			out[len(out)-1] = e
		default:
			out = append(out, e)
			goesOn = tries
		}
	}
	return out
}

// repeated reports whether a process comes by another statement several times before execution i
// of one, and behind the execution before that: what is moved before it is in its loop then, and
// executed as often.
func repeated(others, all []*execution, i int) bool {
	after := uint64(0)
	if i > 0 {
		after = all[i-1].last
	}
	n := sort.Search(len(others), func(k int) bool { return others[k].last >= all[i].first }) // that come before it
	return n > 1 && others[n-2].first > after
}

// unseen reports whether a process may execute a statement whose accesses lie in no window
// without that being recorded. So it may where it comes by
// the other statement, and before that calls something with a buffer, but not by the
// statement.
func (p *planner) unseen(rank, at int, others []*execution) bool {
	if p.makesCalls(at) {
		return false
	}
	from := uint64(0)
	for i := range others {
		to := others[i].first
		buffers, own := p.scan.ranks[rank].buffers, p.runs[rank][at]
		b, _ := slices.BinarySearch(buffers, from)
		e, _ := slices.BinarySearchFunc(own, from, func(e execution, pos uint64) int { return cmp.Compare(e.first, pos) })
		if b < len(buffers) && buffers[b] < to && (e == len(own) || own[e].first > to) {
			return true
		}
		from = others[i].last
	}
	return false
}

// makesCalls reports whether a statement makes calls, which are recorded always.
func (p *planner) makesCalls(site int) bool {
	for _, of := range p.runs {
		if slices.ContainsFunc(of[site], func(e execution) bool { return e.calls }) {
			return true
		}
	}
	return false
}

// next returns the execution of another statement that follows one, or comes before.
func next(others []*execution, e *execution, forward bool) *execution {
	if forward {
		if i := sort.Search(len(others), func(i int) bool { return others[i].first > e.last }); i < len(others) {
			return others[i]
		}
	} else if i := sort.Search(len(others), func(i int) bool { return others[i].last >= e.first }); i > 0 {
		return others[i-1]
	}
	return nil
}

// carry moves an execution to another.
func (p *planner) carry(rank int, e, other *execution, forward bool) {
	m := Moved{Rank: rank, From: e.first, To: other.last, Forward: forward}
	e.moved = slot(other.last, movedBehind)
	if !forward {
		m.From, m.To = other.first, e.first
		e.moved = slot(other.first, advanced)
	}
	var events []trace.Event
	for _, ev := range e.events {
		p.plan.ranks[rank].gone[ev.pos] = true
		m.Events = append(m.Events, ev.pos)
		events = append(events, ev.Event)
	}
	q := &p.scan.ranks[rank]
	from, _ := q.region(m.From)
	to, _ := q.region(m.To)
	m.last, m.Regions = q.windows, [2]int{from, to}
	p.put(rank, e.moved, events...)
	p.plan.moved = append(p.plan.moved, m)
}
