package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/trace"
)

// Maker makes the calls that a changed program would make.
type Maker interface {
	// Call returns a call of a function with the arguments of a recorded call, as far as
	// both have them, on a window (0: that of the call); nil where it cannot be made.
	Call(fn string, from *trace.Call, window int64) *trace.Call
	// Note returns the tracer's note, behind a call of a function that was put in, of what a
	// recorded call fetched; nil where that does not complete it.
	Note(fn string, from *trace.Call, number, value int64) *trace.Call
	// Tries reports whether a call may return without having completed anything, to be called
	// again, and whether this one did so.
	Tries(c *trace.Call) (tries, inVain bool)
	// Plain returns a recorded call without what it asserts; nil where it asserts nothing.
	Plain(c *trace.Call) *trace.Call
	// Order returns a recorded call with a memory order; nil where it is no atomic operation of the
	// language that can have it, or has it already.
	Order(c *trace.Call, order string) *trace.Call
}

// Plan is a change of the streams of a run.
type Plan struct {
	ranks  []edits
	moved  []Moved
	orders orders
}

// orders are memory orders that atomic operations of the language get.
type orders struct {
	of      map[int][]string // by site
	sitesOf func(rank int, stack uint32) []At
	maker   Maker
}

// in returns a call of a process with the order that it gets.
func (o *orders) in(rank int, c *trace.Call) *trace.Call {
	if len(o.of) == 0 {
		return c
	}
	for _, at := range o.sitesOf(rank, c.Stack) {
		for _, order := range o.of[at.Site] {
			if made := o.maker.Order(c, order); made != nil {
				c = made
			}
		}
		if o.of[at.Site] != nil { // the innermost of them
			break
		}
	}
	return c
}

// Same reports whether two plans of the same steps put calls at the same places.
func (p *Plan) Same(q *Plan) bool {
	for rank := range p.ranks {
		if !slices.EqualFunc(p.ranks[rank].puts, q.ranks[rank].puts, func(x, y put) bool { return x.slot == y.slot }) {
			return false
		}
	}
	return true
}

// Moved is an execution of a statement that is moved over the events from From to To
// of its process.
type Moved struct {
	Rank     int
	Events   []uint64 // its own
	From, To uint64
	Regions  [2]int // those of From and To
	Forward  bool
	last     map[int64]uint64 // its process's last call on each window
}

// Moved lists what the plan moves.
func (p *Plan) Moved() []Moved { return p.moved }

// edits is what changes in the stream of a process.
type edits struct {
	puts    []put // by slot
	gone    map[uint64]bool
	instead map[uint64]*trace.Call
	basic   basic
}

// put is events that come at a slot.
type put struct {
	slot   uint64
	events []trace.Event
}

// Slots are places in a stream: each event has some before and some behind it.
const (
	slotsOfEvent = 16
	advanced     = 3 // what is moved before it
	meetBefore   = 4
	itself       = 8
	inserted     = 9
	meetBehind   = 10
	movedBehind  = 11
)

func slot(pos, at uint64) uint64 { return pos*slotsOfEvent + at }

// begin and end are the slots of an execution.
func (e *execution) begin() uint64 { return cmp.Or(e.moved, slot(e.first, itself)) }
func (e *execution) end() uint64   { return cmp.Or(e.moved, slot(e.last, itself)) }

// before and behind are the slots for collective calls around it.
func (e *execution) before() uint64 {
	if e.moved != 0 {
		return e.moved - 1
	}
	return slot(e.first, meetBefore)
}

func (e *execution) behind() uint64 {
	if e.moved != 0 {
		return e.moved + 1
	}
	return slot(e.last, meetBehind)
}

// planner makes a Plan.
type planner struct {
	scan    *Scan
	siteAt  func(*conflicts.SyncPoint) int
	maker   Maker
	plan    *Plan
	runs    []map[int][]execution // by rank and site, as moved
	when    When
	threads []uint32 // by rank, that make the changes
	series  []series // the collective calls that were put in
}

// When says when collective calls come that stand between two statements.
type When uint8

// When collective calls come.
const (
	Early When = iota // as early as they can
	Late              // as late as they can
	Next              // early, and before the second statement of the next iteration of a loop
)

// ErrUnknown: whether the steps can be carried out cannot be said. Other errors say that
// they cannot; ErrBlocked, that they must not.
var ErrUnknown = errors.New("it cannot be tried")

// Plan carries out the steps of a fix. siteAt says which of the sites of the Scan a call
// or access is at, -1: none. The error says why the steps cannot be carried out.
func (s *Scan) Plan(steps []conflicts.Step, siteAt func(*conflicts.SyncPoint) int, maker Maker, when When) (*Plan, error) {
	p := &planner{scan: s, siteAt: siteAt, maker: maker, when: when, plan: &Plan{ranks: make([]edits, len(s.ranks)), orders: orders{map[int][]string{}, s.sitesOf, maker}}}
	for i := range s.ranks {
		runs := map[int][]execution{}
		for site, all := range s.ranks[i].executions {
			runs[site] = slices.Clone(all)
		}
		p.runs = append(p.runs, runs)
		p.plan.ranks[i] = edits{gone: map[uint64]bool{}, instead: map[uint64]*trace.Call{}, basic: s.ranks[i].basic}
	}
	if err := p.assign(steps); err != nil {
		return nil, err
	}
	for _, do := range []func(*conflicts.Step) error{p.move, p.insert, p.delay, p.meet, p.order} {
		for i := range steps {
			if err := do(&steps[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := p.blocked(); err != nil {
		return nil, err
	}
	for i := range p.plan.ranks {
		slices.SortStableFunc(p.plan.ranks[i].puts, func(a, b put) int { return cmp.Compare(a.slot, b.slot) })
	}
	return p.plan, nil
}

// assign says which thread of each process makes the changes: the one that comes by the statements,
// and where processes meet, makes their collective calls. The error: there are several.
func (p *planner) assign(steps []conflicts.Step) error {
	p.threads = make([]uint32, len(p.scan.ranks))
	if !slices.ContainsFunc(steps, func(s conflicts.Step) bool { return s.Do != conflicts.StepOrder }) {
		return nil
	}
	for rank := range p.scan.ranks {
		q := &p.scan.ranks[rank]
		if len(q.threads) < 2 {
			continue
		}
		by := map[uint32]bool{}
		for i := range steps {
			for _, at := range []*conflicts.SyncPoint{&steps[i].At, &steps[i].To} {
				if site := p.siteAt(at); site >= 0 {
					for k := range p.runs[rank][site] {
						by[p.runs[rank][site][k].thread] = true
					}
				}
			}
			if steps[i].Do == conflicts.StepMeet || steps[i].Do == conflicts.StepMeetEach {
				for _, m := range q.meets {
					by[m.thread] = true
				}
			}
		}
		if len(by) > 1 {
			return fmt.Errorf("%w: several threads of a process come by, or make collective calls", ErrUnknown)
		}
		for thread := range by {
			p.threads[rank] = thread
		}
	}
	return nil
}

// site returns the site of a statement. The error: it has no source line.
func (p *planner) site(at *conflicts.SyncPoint) (int, error) {
	if site := p.siteAt(at); site >= 0 {
		return site, nil
	}
	return 0, fmt.Errorf("%w: the source line of %s is not known", ErrUnknown, at.Call)
}

// sites returns the sites of the two statements of a step. The error: one of them has no
// source line, or they have one in common.
func (p *planner) sites(step *conflicts.Step) (at, to int, err error) {
	if at, err = p.site(&step.At); err != nil {
		return 0, 0, err
	}
	if to, err = p.site(&step.To); err != nil {
		return 0, 0, err
	}
	switch {
	case at != to:
	case step.At.Call != step.To.Call:
		return 0, 0, fmt.Errorf("%w: %s and %s stand on one source line", ErrUnknown, step.At.Call, step.To.Call)
	default:
		return 0, 0, errors.New("both are one statement")
	}
	return at, to, nil
}

// put puts events into a stream, of the thread that makes the changes.
func (p *planner) put(rank int, at uint64, events ...trace.Event) {
	e := &p.plan.ranks[rank]
	for i := range events {
		events[i].Strand = p.threads[rank]
	}
	e.puts = append(e.puts, put{at, events})
}

func callEvent(c *trace.Call) trace.Event { return trace.Event{Kind: trace.KindCall, Call: c} }

// order gives atomic operations a memory order.
func (p *planner) order(step *conflicts.Step) error {
	if step.Do != conflicts.StepOrder {
		return nil
	}
	at, err := p.site(&step.At)
	if err == nil {
		p.plan.orders.of[at] = append(p.plan.orders.of[at], step.Calls...)
	}
	return err
}

// insert puts calls behind a statement, or in place of one, or makes it another way.
func (p *planner) insert(step *conflicts.Step) error {
	switch step.Do {
	case conflicts.StepInsert, conflicts.StepReplace, conflicts.StepPlain:
	default:
		return nil
	}
	at, err := p.site(&step.At)
	if err != nil {
		return err
	}
	any := false
	for rank := range p.runs {
		all := p.runs[rank][at]
		for i := range all {
			for _, from := range all[i].callsOf(step.At.Call) {
				any = true
				if err := p.insertAt(rank, &all[i], from, step); err != nil {
					return err
				}
			}
		}
	}
	if !any {
		return fmt.Errorf("no process comes by %s", step.At.Call)
	}
	return nil
}

// insertAt puts calls behind a call that an execution makes, or in its place: right behind
// it, since the statement may go on, as one that calls a wrapper does.
func (p *planner) insertAt(rank int, e *execution, from *event, step *conflicts.Step) error {
	if step.Do == conflicts.StepPlain {
		if c := p.maker.Plain(from.Call); c != nil {
			p.plan.ranks[rank].instead[from.pos] = c
		}
		return nil
	}
	for _, fn := range step.Calls {
		c := p.maker.Call(fn, from.Call, step.Window)
		switch {
		case c == nil:
			return fmt.Errorf("%w: the arguments of %s are not known", ErrUnknown, fn)
		case step.Do == conflicts.StepReplace:
			p.plan.ranks[rank].instead[from.pos] = c
		case e.moved != 0:
			p.put(rank, e.moved, callEvent(c))
		default:
			p.complete(rank, slot(from.pos, inserted), c, from.Call)
		}
	}
	return nil
}

// complete puts a call that may complete a recorded one, and the note of what that fetched.
func (p *planner) complete(rank int, at uint64, c, recorded *trace.Call) {
	p.put(rank, at, callEvent(c))
	if note := p.note(rank, c.Fn.Name, recorded); note != nil {
		p.put(rank, at, callEvent(note))
	}
}

// note returns the note of what a call has fetched, as far as that is known, behind a call of a
// function that completes it; nil: there is none.
func (p *planner) note(rank int, fn string, from *trace.Call) *trace.Call {
	number, _ := from.Arg("number")
	value, ok := p.scan.ranks[rank].results.told[number.Int]
	if !ok {
		return nil
	}
	return p.maker.Note(fn, from, number.Int, value)
}

// delay puts calls that belong behind a statement before another one that follows.
func (p *planner) delay(step *conflicts.Step) error {
	if step.Do != conflicts.StepDelay {
		return nil
	}
	at, err := p.site(&step.At)
	if err != nil {
		return err
	}
	to, err := p.site(&step.To)
	if err != nil {
		return err
	}
	any := false
	for rank := range p.runs {
		ends := endsOf(p.runs[rank][to], step.To.Call)
		for i := range p.runs[rank][at] {
			for _, from := range p.runs[rank][at][i].callsOf(step.At.Call) {
				for len(ends) > 0 && ends[0] <= from.pos {
					ends = ends[1:]
				}
				if len(ends) == 0 {
					break
				}
				any = true
				for _, fn := range step.Calls {
					c := p.maker.Call(fn, from.Call, step.Window)
					if c == nil {
						return fmt.Errorf("%w: the arguments of %s are not known", ErrUnknown, fn)
					}
					p.complete(rank, slot(ends[0], meetBefore), c, from.Call)
				}
			}
		}
	}
	if !any {
		return fmt.Errorf("no process comes by %s after %s", step.To.Call, step.At.Call)
	}
	return nil
}

// endsOf lists the calls of a function that executions of a statement make; of those that
// make none, their accesses, or where they begin.
func endsOf(all []execution, fn string) []uint64 {
	var out []uint64
	for i := range all {
		e := &all[i]
		found := e.callsOf(fn)
		if len(found) == 0 {
			found = e.accesses()
		}
		for _, ev := range found {
			out = append(out, ev.pos)
		}
		if len(found) == 0 {
			out = append(out, e.first)
		}
	}
	return out
}

// Stream returns the stream of a process in the changed program.
func (p *Plan) Stream(rank int, of Stream) Stream {
	return &edited{Stream: of, edits: p.ranks[rank], rank: rank, orders: &p.orders}
}

// edited is a stream with its edits.
type edited struct {
	Stream
	edits
	rank   int
	orders *orders
	ready  []trace.Event
	pos    uint64
	now    int64 // when the last recorded call ended
}

// timed returns a call that the changed program makes, with its times.
func timed(c *trace.Call, begin, end int64) *trace.Call {
	made := *c
	made.Begin, made.End = begin, end
	return &made
}

// Type and Op know predefined ones wherever they are used.
func (s *edited) Type(id int64) *trace.Type {
	if t := s.Stream.Type(id); t != nil {
		return t
	}
	return s.basic.types[id]
}

func (s *edited) Op(id int64) string { return cmp.Or(s.Stream.Op(id), s.basic.ops[id]) }

func (s *edited) ReadEvent(ev *trace.Event) error {
	for {
		for len(s.ready) == 0 && len(s.puts) > 0 && s.puts[0].slot < slot(s.pos+1, itself) {
			s.ready, s.puts = s.puts[0].events, s.puts[1:]
		}
		if len(s.ready) > 0 {
			*ev, s.ready = s.ready[0], s.ready[1:]
			if c := ev.Call; ev.Kind == trace.KindCall && c.End == 0 && c.Returned { // a moved one has its own
				ev.Call = timed(c, s.now, s.now)
			}
			return nil
		}
		if err := s.Stream.ReadEvent(ev); err != nil {
			return err
		}
		if ev.Kind == trace.KindSkipped {
			s.pos += ev.Skipped.Accesses
			return nil
		}
		if ev.Kind == trace.KindCall {
			s.now = ev.Call.End
		}
		if s.pos++; s.gone[s.pos] {
			continue
		}
		if c := s.instead[s.pos]; c != nil {
			ev.Call = timed(c, ev.Call.Begin, ev.Call.End)
		}
		if ev.Kind == trace.KindCall {
			ev.Call = s.orders.in(s.rank, ev.Call)
		}
		return nil
	}
}
