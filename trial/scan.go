// Package trial carries fixes out on a recorded run, as if the program had been
// changed: it edits the streams of events that a replay reads.
//
// A Scan watches one replay and notes each execution of the statements that fixes
// name. Plan says, of the steps of a fix, which calls come, go or move where in the
// stream of each process, or why that cannot be said; Plan.Stream is the stream of
// the changed program. A statement is a source line. Collective calls are put in at
// places that match on all processes of a concurrent region, and moved statements take
// along all that is recorded of them; Moved tells which values would be others then.
//
// The package knows nothing of what calls mean: what is put in comes from a Maker.
package trial

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// Site is a statement of the program: a source line of a function.
type Site struct {
	File string
	Line int
	Func string
}

// At is a site that a recorded stack is at.
type At struct {
	Site  int  // from 0
	Inner bool // it is the innermost frame of the stack, and no call of a function of the program
}

// Stream is the trace of one process, with what it defines.
type Stream interface {
	core.Stream
	Type(id int64) *trace.Type
	Comm(id int64) *trace.Comm
	Op(id int64) string
}

// Scan notes where in a run statements are executed. It is the core.Observer of the
// replay, and reads along with it.
type Scan struct {
	sitesOf func(rank int, stack uint32) []At
	ranks   []process
	all     int // executions and calls noted
	full    bool
	needs   []Need
}

// MostNoted is how many executions and collective calls a Scan notes.
const MostNoted = 1 << 18

// process is what is noted of one process.
type process struct {
	executions map[int][]execution // by site, in program order
	threads    map[uint32]*thread
	pos        uint64           // events so far
	regions    []uint64         // the last event of each concurrent region, from the first on
	meets      []met            // collective calls
	at         met              // the last call that was replayed
	windows    map[int64]uint64 // the last call on each
	made       []madeWindow     // in program order
	buffers    []uint64         // calls that have a buffer
	results    results
	basic      basic
}

// basic is what predefined datatypes and operations of a process stand for, which a trace says before
// their first use: in a changed program that may be another one.
type basic struct {
	types map[int64]*trace.Type
	ops   map[int64]string
}

// note takes the arguments of a call.
func (b *basic) note(c *trace.Call, of Stream) {
	for i, arg := range c.Fn.Args[:min(len(c.Fn.Args), len(c.Args))] {
		id := c.Args[i].Int
		switch arg.Kind {
		case trace.ArgType:
			if _, ok := b.types[id]; !ok {
				if t := of.Type(id); t != nil && t.Combiner == trace.Named {
					b.types[id] = t
				}
			}
		case trace.ArgOp:
			if _, ok := b.ops[id]; !ok {
				if name := of.Op(id); strings.HasPrefix(name, predefined) {
					b.ops[id] = name
				}
			}
		}
	}
}

// predefined is what names of operations that a program did not make itself begin with.
const predefined = "MPI_"

// thread is what is noted of one of its threads.
type thread struct {
	before []At   // the sites of the event before
	last   uint64 // that; 0: what comes goes on with none
	span   int    // calls so far
}

// of returns what is noted of a thread.
func (p *process) of(number uint32) *thread {
	t := p.threads[number]
	if t == nil {
		t = &thread{}
		p.threads[number] = t
	}
	return t
}

// madeWindow is a window that a process took part in making.
type madeWindow struct {
	id, comm int64
	at       uint64 // the call that made it
	stack    uint32 // of that
}

// mostBetween bounds the windows that a process makes between one that takes the place of another
// and its use.
const mostBetween = 64

// inPlace returns the window that a process had at an event in place of one: that, or if that was
// not there then, one that the same statement made, among the last that were made. It is false where
// there is none, or several.
func (p *process) inPlace(w madeWindow, pos uint64) (found madeWindow, ok bool) {
	own := slices.IndexFunc(p.made, func(o madeWindow) bool { return o.id == w.id })
	if own < 0 || p.has(p.made[own], pos) {
		return w, true
	}
	n := sort.Search(len(p.made), func(i int) bool { return p.made[i].at >= pos })
	for _, o := range p.made[max(0, n-mostBetween):n] {
		if o.stack == p.made[own].stack && p.has(o, pos) {
			if ok {
				return w, false
			}
			found, ok = o, true
		}
	}
	return found, ok
}

// has reports whether a window was there at an event: it is after the last call on it, which
// frees it or is the last that is known.
func (p *process) has(w madeWindow, pos uint64) bool { return w.at < pos && pos <= p.windows[w.id] }

// met is a call that may be a collective one.
type met struct {
	pos    uint64
	thread uint32
	on     string // which sequence of collective calls it is one of
}

// execution is one execution of a statement: events that follow one another, as far
// as the statement makes them.
type execution struct {
	thread      uint32 // of the process, that makes it
	first, last uint64 // events
	span        int    // calls of the thread before it
	events      []event
	calls       bool   // one of them is a call
	moved       uint64 // the slot that a Plan moves it to; 0: none
}

// event is an event with its number.
type event struct {
	trace.Event
	pos uint64
}

// callsOf returns the calls of a function that an execution makes.
func (e *execution) callsOf(fn string) []*event {
	var out []*event
	for i := range e.events {
		if ev := &e.events[i]; ev.Kind == trace.KindCall && ev.Call.Fn.Name == fn {
			out = append(out, ev)
		}
	}
	return out
}

// window returns the window that the first of its calls names which names one; 0: none does.
func (e *execution) window() int64 {
	for i := range e.events {
		if ev := &e.events[i]; ev.Kind == trace.KindCall {
			if v, ok := ev.Call.Arg("win"); ok {
				return v.Int
			}
		}
	}
	return 0
}

// accesses returns the accesses that an execution makes without a call.
func (e *execution) accesses() []*event {
	var out []*event
	for i := range e.events {
		if ev := &e.events[i]; ev.Kind == trace.KindAccess {
			out = append(out, ev)
		}
	}
	return out
}

// NewScan returns a Scan of a run. sitesOf says which sites a recorded stack is at.
func NewScan(ranks int, sitesOf func(rank int, stack uint32) []At) *Scan {
	s := &Scan{sitesOf: sitesOf, ranks: make([]process, ranks)}
	for i := range s.ranks {
		s.ranks[i].executions, s.ranks[i].threads, s.ranks[i].windows = map[int][]execution{}, map[uint32]*thread{}, map[int64]uint64{}
		s.ranks[i].basic = basic{map[int64]*trace.Type{}, map[int64]string{}}
		s.ranks[i].results = results{map[uint64]int64{}, map[int64]uint64{}, map[int64]int64{}}
	}
	return s
}

// Times returns how often a process comes by a statement, of which a row of loads or stores is one
// time.
func (s *Scan) Times(rank, site int) int { return len(s.ranks[rank].executions[site]) }

// Full reports whether there was more than a Scan notes.
func (s *Scan) Full() bool { return s.full }

// Stream returns the stream of a process that the Scan reads along with.
func (s *Scan) Stream(rank int, of Stream) Stream { return &scanned{of, s, rank} }

type scanned struct {
	Stream
	scan *Scan
	rank int
}

func (s *scanned) ReadEvent(ev *trace.Event) error {
	err := s.Stream.ReadEvent(ev)
	if err == nil {
		s.scan.note(s.rank, ev)
		if ev.Kind == trace.KindCall {
			s.scan.ranks[s.rank].basic.note(ev.Call, s.Stream)
		}
	}
	return err
}

// note takes an event.
func (s *Scan) note(rank int, ev *trace.Event) {
	p := &s.ranks[rank]
	if ev.Kind == trace.KindSkipped {
		p.pos += ev.Skipped.Accesses
		for _, t := range p.threads {
			t.last = 0
		}
		return
	}
	p.pos++
	t := p.of(ev.Strand)
	stack, isCall := ev.Access.Stack, ev.Kind == trace.KindCall
	switch {
	case isCall:
		t.span++
		stack = ev.Call.Stack
		if i := ev.Call.Fn.Arg("win"); i >= 0 && i < len(ev.Call.Args) {
			p.windows[ev.Call.Args[i].Int] = p.pos
			if comm, ok := ev.Call.Arg("comm"); ok {
				p.made = append(p.made, madeWindow{ev.Call.Args[i].Int, comm.Int, p.pos, stack})
			}
		}
		if !s.full && hasBuffer(ev.Call.Fn) {
			p.buffers = append(p.buffers, p.pos)
			s.count()
		}
		if !s.full {
			for range p.results.note(ev.Call) {
				s.count()
			}
		}
	case ev.Kind != trace.KindAccess:
		t.last = 0
		return
	}
	sites := s.sitesOf(rank, stack)
	for _, at := range sites {
		if !s.full {
			s.execute(p, t, at, ev)
		}
	}
	t.before, t.last = sites, p.pos
}

// hasBuffer reports whether calls of a function have a buffer of some datatype.
func hasBuffer(fn *trace.Fn) bool {
	has := func(kind trace.ArgKind) bool {
		return slices.ContainsFunc(fn.Args, func(a trace.Arg) bool { return a.Kind == kind })
	}
	return has(trace.ArgAddress) && has(trace.ArgType)
}

// execute notes an event of a statement: that goes on, or is executed anew.
func (s *Scan) execute(p *process, t *thread, at At, ev *trace.Event) {
	kept := event{keep(ev), p.pos}
	calls := ev.Kind == trace.KindCall && (!trace.IsNote(ev.Call.Fn.Name) || trace.Language(ev.Call.Fn.Name) != "")
	all := p.executions[at.Site]
	if n := len(all); n > 0 && all[n-1].thread == ev.Strand {
		e := &all[n-1]
		switch {
		case ev.Kind == trace.KindAccess && e.span == t.span, // of a loop, say
			ev.Kind == trace.KindAccess && e.calls && slices.Contains(t.before, at) && e.span+1 == t.span,
			ev.Kind == trace.KindCall && e.last == t.last && !(at.Inner && e.calls && calls && !e.goesOn(ev.Call)): // with what the tracer notes of it
			e.last = p.pos
			e.events, e.calls = append(e.events, kept), e.calls || calls
			s.count()
			return
		}
	}
	span := t.span
	if ev.Kind == trace.KindCall {
		span--
	}
	p.executions[at.Site] = append(all, execution{thread: ev.Strand, first: p.pos, last: p.pos, span: span, events: []event{kept}, calls: calls})
	s.count()
}

// goesOn reports whether a call is a further one that a library makes for a statement, as for a transfer
// between coarrays: from the same place in the program, and of another function.
func (e *execution) goesOn(c *trace.Call) bool {
	return !slices.ContainsFunc(e.events, func(ev event) bool {
		return ev.Kind == trace.KindCall && (ev.Call.Stack != c.Stack || ev.Call.Fn == c.Fn)
	})
}

func (s *Scan) count() {
	if s.all++; s.all > MostNoted {
		s.full = true
	}
}

// keep returns an event that stays as it is.
func keep(ev *trace.Event) trace.Event {
	kept := *ev
	if ev.Kind == trace.KindCall {
		kept.Call = keepCall(ev.Call)
	}
	return kept
}

func keepCall(c *trace.Call) *trace.Call {
	kept := *c
	kept.Args = slices.Clone(c.Args)
	for i := range kept.Args {
		kept.Args[i].List = slices.Clone(kept.Args[i].List)
	}
	return &kept
}

// Call is that of core.Observer.
func (s *Scan) Call(c *core.ObservedCall) {
	s.ranks[c.Rank].at = met{pos: c.Pos, thread: c.Thread, on: meetsOn(c.Call)}
}

// meetsOn names who take part in a collective call: by its communicator or window, or by its team, group
// or active set.
func meetsOn(c *trace.Call) (on string) {
	for i, arg := range c.Fn.Args[:min(len(c.Fn.Args), len(c.Args))] {
		switch {
		case arg.Kind == trace.ArgComm, arg.Kind == trace.ArgWin:
			return fmt.Sprint(string(arg.Kind), c.Args[i].Int)
		case arg.Name == "team", arg.Name == "group", arg.Name == "PE_start", arg.Name == "logPE_stride", arg.Name == "PE_size":
			on += fmt.Sprint(arg.Name, c.Args[i].Int, " ")
		}
	}
	return on
}

// Meet is that of core.Observer.
func (s *Scan) Meet(_ core.Mark, rank int32) core.Mark {
	p := &s.ranks[rank]
	if n := len(p.meets); !s.full && (n == 0 || p.meets[n-1].pos != p.at.pos) {
		p.meets = append(p.meets, p.at)
		s.count()
	}
	return nil
}

// Region is that of core.Observer: all processes stand at the call that ends the
// region before.
func (s *Scan) Region(index int) {
	if index == 0 || s.full {
		return
	}
	for i := range s.ranks {
		s.ranks[i].regions = append(s.ranks[i].regions, s.ranks[i].at.pos)
		s.count()
	}
}

// Signal, Wait, Over and Interval are those of core.Observer.
func (s *Scan) Signal(int32) core.Mark          { return nil }
func (s *Scan) Wait(int32, core.Mark)           {}
func (s *Scan) Over(int32)                      {}
func (s *Scan) Interval(*core.ObservedInterval) {}

// Regions returns how many concurrent regions are over.
func (s *Scan) Regions() int {
	if len(s.ranks) == 0 {
		return 0
	}
	return len(s.ranks[0].regions)
}

// region returns in which concurrent region an event of a process lies, and whether it ends that.
func (p *process) region(pos uint64) (region int, ends bool) {
	return slices.BinarySearch(p.regions, pos)
}
