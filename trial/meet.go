package trial

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/trace"
)

// meet puts collective calls between two statements: in each concurrent region in which
// some process comes by the one and some process by the other, at matching places of all
// processes; StepMeetEach: in each in which some process comes by the other. Where the one is
// an operation that is still pending when its region ends, there may be none with both, or the
// other comes first in each, as in the next iteration of a loop: then the calls come behind it.
func (p *planner) meet(step *conflicts.Step) error {
	each := step.Do == conflicts.StepMeetEach
	if step.Do != conflicts.StepMeet && !each {
		return nil
	}
	from, to, err := p.sites(step)
	if err != nil {
		return err
	}
	calls, err := p.collective(step, from, to)
	if err != nil {
		return err
	}
	meetings := p.meetings(calls, step.Window, p.named(from, to))
	if len(meetings) == 0 {
		return fmt.Errorf("%w: no process is known to make %s", ErrUnknown, calls[0].Fn.Name)
	}
	inOneLoop := !each && p.inOneLoop(from, to)
	if inOneLoop && !step.Completes {
		return fmt.Errorf("%s and %s have collective calls between them in each iteration", step.At.Call, step.To.Call)
	}
	if p.folded(from, to) {
		return fmt.Errorf("%w: what repeats between two calls is recorded once", ErrUnknown)
	}
	passes := p.passes(from, to, each)
	if inOneLoop || !each && !slices.ContainsFunc(passes, func(x pass) bool { return !x.reversed() }) {
		passes = p.passesBefore(from, to)
	}
	if len(passes) == 0 {
		return fmt.Errorf("%s and %s are in no concurrent region together", step.At.Call, step.To.Call)
	}
	made := make([]series, len(meetings))
	for _, pass := range passes {
		for k, m := range meetings {
			if made[k] == nil {
				made[k] = series{}
			}
			part := pass.of(m)
			if len(meetings) > 1 && !part.comesBy(each || pass.whole) {
				continue
			}
			if err := p.meetIn(part, m, step, made[k]); err != nil {
				return err
			}
		}
	}
	p.series = append(p.series, made...)
	return nil
}

// meeting is calls that some processes make together.
type meeting struct {
	ranks []int
	calls []*trace.Call
	of    madeWindow     // which they are on, or on whose communicator; zero: neither
	whose map[int64]bool // windows whose statements they come between; nil: any
}

// callsAt returns the calls that a process makes at a slot: on the window that it had there in
// place of the meeting's, where programs make one after the other.
func (m *meeting) callsAt(p *process, at uint64) []*trace.Call {
	if m.of == (madeWindow{}) {
		return m.calls
	}
	w, ok := p.inPlace(m.of, at/slotsOfEvent)
	if !ok || w.id == m.of.id {
		return m.calls
	}
	return callsOn(m.calls, w)
}

// meetings returns who makes the calls together, on a window (0: that of the calls, if any): all
// processes, or those of the communicator that it was made on. The others do so on the window that
// they made in its place, where processes have several between them; and where the statements
// name other windows, too, so do their processes on these, or on their communicators.
func (p *planner) meetings(calls []*trace.Call, window int64, named []int64) (out []meeting) {
	v, on := calls[0].Arg("win")
	if on {
		window = v.Int
	}
	if window == 0 { // of all processes, whatever the statements name
		return p.meetingsOn(calls, window, on)
	}
	for _, window := range append([]int64{window}, named...) {
		for _, m := range p.meetingsOn(calls, window, on) {
			i := slices.IndexFunc(out, func(o meeting) bool { return o.of.id == m.of.id || !on && o.of.comm == m.of.comm })
			if i < 0 {
				i = len(out)
				out = append(out, m)
			}
			if out[i].whose == nil {
				out[i].whose = map[int64]bool{}
			}
			out[i].whose[window], out[i].whose[m.of.id] = true, true
		}
	}
	return out
}

// meetingsOn is meetings for a single window; on: the calls name it.
func (p *planner) meetingsOn(calls []*trace.Call, window int64, on bool) (out []meeting) {
	numbers := make([]int, len(p.scan.ranks)) // of the window among those of each process; -1: it is none
	nth := -1                                 // that of the first process which has it
	for rank := range numbers {
		numbers[rank] = slices.IndexFunc(p.scan.ranks[rank].made, func(w madeWindow) bool { return w.id == window })
		if nth < 0 {
			nth = numbers[rank]
		}
	}
	at := map[int64]int{} // in out
	for rank, own := range numbers {
		q := &p.scan.ranks[rank]
		if own < 0 {
			own = nth
		}
		var its madeWindow
		switch {
		case q.pos == 0, own >= len(q.made):
			continue
		case own >= 0:
			its = q.made[own]
		case on && q.windows[window] == 0:
			continue
		}
		i, there := at[its.id]
		if !there {
			i = len(out)
			at[its.id] = i
			out = append(out, meeting{calls: callsOn(calls, its), of: its})
		}
		out[i].ranks = append(out[i].ranks, rank)
	}
	return out
}

// named returns the windows that calls of two statements name, in order.
func (p *planner) named(sites ...int) []int64 {
	in := map[int64]bool{}
	for rank := range p.runs {
		for _, site := range sites {
			for i := range p.runs[rank][site] {
				in[p.runs[rank][site][i].window()] = true
			}
		}
	}
	delete(in, 0)
	return slices.Sorted(maps.Keys(in))
}

// callsOn returns the calls as those on another window, and on its communicator, that make them;
// the same where it is none.
func callsOn(calls []*trace.Call, w madeWindow) (out []*trace.Call) {
	if w == (madeWindow{}) {
		return calls
	}
	for _, c := range calls {
		on := *c
		on.Args = slices.Clone(c.Args)
		for name, id := range map[string]int64{"win": w.id, "comm": w.comm} {
			if i := c.Fn.Arg(name); i >= 0 {
				on.Args[i].Int = id
			}
		}
		out = append(out, &on)
	}
	return out
}

// collective returns the calls that a meeting makes.
func (p *planner) collective(step *conflicts.Step, from, to int) ([]*trace.Call, error) {
	var like *trace.Call
	for rank := range p.runs {
		for _, at := range []struct {
			site int
			call string
		}{{from, step.At.Call}, {to, step.To.Call}} {
			for i := range p.runs[rank][at.site] {
				if all := p.runs[rank][at.site][i].callsOf(at.call); len(all) > 0 && like == nil && all[0].Call.Fn.Arg("win") >= 0 {
					like = all[0].Call
				}
			}
		}
	}
	var calls []*trace.Call
	for _, fn := range step.Calls {
		c := p.maker.Call(fn, like, step.Window)
		if c == nil {
			return nil, fmt.Errorf("%w: the arguments of %s are not known", ErrUnknown, fn)
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// pass is how processes come by two statements in a concurrent region.
type pass struct {
	region int
	ranks  [][]passage // in program order
	whole  bool        // only the first one is there: however often, it is one round
}

// of returns how the processes of a meeting come by, as far as that concerns its windows.
func (x pass) of(m meeting) pass {
	part := pass{region: x.region, whole: x.whole, ranks: make([][]passage, len(x.ranks))}
	for _, rank := range m.ranks {
		for _, e := range x.ranks[rank] {
			if w := e.window(); w == 0 || m.whose == nil || m.whose[w] {
				part.ranks[rank] = append(part.ranks[rank], e)
			}
		}
	}
	return part
}

// comesBy reports whether processes come by both statements; one: by either.
func (x pass) comesBy(one bool) bool {
	var by [2]bool
	for _, all := range x.ranks {
		for _, e := range all {
			by[0], by[1] = by[0] || !e.second, by[1] || e.second
		}
	}
	return by[0] && by[1] || one && (by[0] || by[1])
}

// passage is an execution of one of the two.
type passage struct {
	*execution
	second bool
}

// passes lists the concurrent regions in which both statements are executed; each: in which
// the second one is.
func (p *planner) passes(from, to int, each bool) []pass {
	first, second := p.regionsOf(from, true), p.regionsOf(to, false)
	return p.passesIn(func(region int) bool { return (each || first[region]) && second[region] }, to, from, to)
}

// passesBefore lists the concurrent regions in which the first statement is executed, and that
// come before one in which the second is.
func (p *planner) passesBefore(from, to int) []pass {
	last := slices.Max(append(slices.Collect(maps.Keys(p.regionsOf(to, false))), -1))
	out := p.passesIn(func(region int) bool { return region < last }, to, from)
	for i := range out {
		out[i].whole = true
	}
	return out
}

// regionsOf returns the concurrent regions in which a statement is executed; behind: in which
// something comes behind it.
func (p *planner) regionsOf(site int, behind bool) map[int]bool {
	in := map[int]bool{}
	for rank := range p.runs {
		for i := range p.runs[rank][site] {
			in[p.regionOf(rank, &p.runs[rank][site][i], behind)] = true
		}
	}
	return in
}

// regionOf returns the concurrent region that an execution is over in; behind: in which something
// comes behind it, which is the next one where it ends one itself.
func (p *planner) regionOf(rank int, e *execution, behind bool) int {
	n, ends := p.scan.ranks[rank].region(e.end() / slotsOfEvent)
	if behind && ends {
		n++
	}
	return n
}

// passesIn lists what processes execute of statements in some concurrent regions.
func (p *planner) passesIn(some func(region int) bool, second int, sites ...int) (out []pass) {
	at := map[int]*pass{}
	for rank := range p.runs {
		for _, site := range sites {
			for i := range p.runs[rank][site] {
				e := &p.runs[rank][site][i]
				region := p.regionOf(rank, e, site != second)
				if !some(region) {
					continue
				}
				if at[region] == nil {
					at[region] = &pass{region: region, ranks: make([][]passage, len(p.runs))}
				}
				at[region].ranks[rank] = append(at[region].ranks[rank], passage{e, site == second})
			}
		}
	}
	for _, x := range at {
		for _, all := range x.ranks {
			slices.SortFunc(all, func(a, b passage) int { return cmp.Compare(a.begin(), b.begin()) })
		}
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b pass) int { return cmp.Compare(a.region, b.region) })
	return out
}

// round is where a process comes by both statements once: a collective call comes behind
// the one and before the other. Slots are 0 and noSlot where it does not come by.
type round struct{ low, high uint64 }

const noSlot = math.MaxUint64

// rounds divides the executions of a process into n rounds, of which those that come by
// both statements say how many there are; 0: these say. It is false where they do not fit.
func rounds(all []passage, n int) ([]round, bool) {
	var out []round
	mixed := slices.ContainsFunc(all, func(x passage) bool { return x.second != all[0].second })
	switch {
	case mixed:
		for i := 1; i < len(all); i++ {
			if all[i].second && !all[i-1].second {
				out = append(out, round{all[i-1].behind(), all[i].before()})
			}
		}
		return out, len(out) > 0 && (n == 0 || len(out) == n)
	case n == 0:
		return nil, true
	case len(all) == 0:
		return slices.Repeat([]round{{0, noSlot}}, n), true
	case n > 1 && len(all) == n+1 && all[0].second: // the first one comes before those of the others
		all = all[1:]
	case n > 1 && len(all) == n+1: // after the last one, no process comes by the second statement
		all = all[:n]
	case n > 1 && len(all)%n != 0:
		return nil, false
	}
	each := len(all) / n
	for k := range n {
		if all[0].second {
			out = append(out, round{0, all[k*each].before()})
		} else {
			high := uint64(noSlot)
			if k+1 < n { // what comes next belongs to the next round
				high = all[(k+1)*each].before()
			}
			out = append(out, round{all[(k+1)*each-1].behind(), high})
		}
	}
	return out, true
}

// reversed reports whether who comes by the one statement comes by the other before, so that there
// is nothing between them.
func (x *pass) reversed() bool {
	return !slices.ContainsFunc(x.ranks, func(all []passage) bool {
		_, fits := rounds(all, 0)
		return len(all) > 0 && fits
	})
}

// counts lists how many rounds a concurrent region may have, the likeliest first; next: one less
// than processes come by.
func (x *pass) counts(next bool) []int {
	if x.whole {
		return []int{1}
	}
	n, same := 0, 0
	for _, all := range x.ranks {
		own, ok := rounds(all, 0)
		if !ok {
			return nil
		}
		n = max(n, len(own))
		switch {
		case len(all) == 0:
		case same == 0:
			same = len(all)
		case same != len(all):
			same = 1
		}
	}
	switch {
	case n > 0:
		return []int{n}
	case same > 1 && next:
		return []int{same - 1}
	case same > 1:
		return []int{same, 1}
	}
	return []int{1}
}

// meetIn puts the calls of one concurrent region, and adds where they are made.
func (p *planner) meetIn(x pass, m meeting, step *conflicts.Step, made series) error {
	for _, n := range x.counts(p.when == Next) {
		if n == 1 && !x.whole && x.inOneLoop(p, m.ranks) {
			continue
		}
		slots, ok := p.slots(x, m.ranks, n)
		if !ok {
			continue
		}
		for i, rank := range m.ranks {
			for _, at := range slots[i] {
				for _, c := range m.callsAt(&p.scan.ranks[rank], at) {
					p.put(rank, at, callEvent(c))
				}
			}
		}
		made.add(m.ranks, slots)
		return nil
	}
	return fmt.Errorf("there is no place between %s and %s at which all processes come together", step.At.Call, step.To.Call)
}

// slots returns where processes make collective calls in n rounds of a concurrent region.
func (p *planner) slots(x pass, members []int, n int) ([][]uint64, bool) {
	all := make([][]round, len(members))
	for i, rank := range members {
		var ok bool
		if all[i], ok = rounds(x.ranks[rank], n); !ok {
			return nil, false
		}
	}
	common := p.common(members, x.region)
	out := make([][]uint64, len(members))
	for k := range n {
		// The calls come between the same two collective calls of all.
		least, most := 0, len(common[0])-1
		for i := range members {
			least = max(least, ahead(common[i], all[i][k].low))
			if high := all[i][k].high; high != noSlot {
				most = min(most, ahead(common[i], high))
			}
		}
		if least > most {
			return nil, false
		}
		at := least
		if p.when == Late {
			at = most
		}
		for i := range members {
			low, high := all[i][k].low, min(all[i][k].high, slot(common[i][at], meetBefore))
			if at > 0 {
				low = max(low, slot(common[i][at-1], meetBehind))
			}
			switch {
			case low > high:
				return nil, false
			case p.when == Late || low == 0:
				low = high
			}
			out[i] = append(out[i], low)
		}
	}
	return out, true
}

// ahead counts the collective calls that come before a slot.
func ahead(meets []uint64, at uint64) int {
	n := 0
	for n < len(meets) && slot(meets[n], itself) < at {
		n++
	}
	return n
}

// common lists the collective calls that all of some processes make in a concurrent
// region, for each; the last is the one that ends it, or the end of the trace.
func (p *planner) common(members []int, region int) [][]uint64 {
	counts := make([]map[string]int, len(members))
	for i, rank := range members {
		counts[i] = map[string]int{}
		for _, m := range p.scan.ranks[rank].meetsIn(region) {
			counts[i][m.on]++
		}
	}
	out := make([][]uint64, len(members))
	for i, rank := range members {
		q := &p.scan.ranks[rank]
		for _, m := range q.meetsIn(region) {
			if !slices.ContainsFunc(counts, func(c map[string]int) bool { return c[m.on] != counts[0][m.on] }) {
				out[i] = append(out[i], m.pos)
			}
		}
		if region >= len(q.regions) {
			out[i] = append(out[i], q.pos)
		}
	}
	return out
}

// meetsIn lists the collective calls of a process in a concurrent region, with the one
// that ends it.
func (p *process) meetsIn(region int) []met {
	var out []met
	for _, m := range p.meets {
		if in, _ := p.region(m.pos); in == region {
			out = append(out, m)
		}
	}
	return out
}
