package core

import (
	"fmt"
	"math"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// function is a function of the traces, as its calls need it.
type function struct {
	fn      *trace.Fn
	model   Model    // nil when no model knows it
	meaning *Meaning // nil then
	note    *note    // nil unless it is one on strands
	at      []int8   // where its arguments are, by ArgName
}

const noArg = -1

// ArgName is the name of an argument, by which calls find theirs without looking
// at the text. 0 is the name of none.
type ArgName uint8

// argNames are the texts of all names, and argNameOf the names of those that are one.
var (
	argNames  = []string{""}
	argNameOf = map[string]ArgName{}
)

// NewArgName returns the ArgName of a text. It is for the variables of packages:
// names have to be known before anything is replayed.
func NewArgName(text string) ArgName {
	if name, ok := argNameOf[text]; ok {
		return name
	}
	n := len(argNames)
	if n > math.MaxUint8 {
		panic("more names of arguments than an ArgName can tell apart")
	}
	argNames = append(argNames, text)
	argNameOf[text] = ArgName(n)
	return ArgName(n)
}

// String returns the text.
func (a ArgName) String() string { return argNames[a] }

// argAt returns where a function has the argument of that name; noArg: nowhere.
func argAt(fn *trace.Fn, name string) int {
	if at := fn.Arg(name); name != "" && at <= math.MaxInt8 {
		return at
	}
	return noArg
}

func newFunction(fn *trace.Fn) *function {
	f := &function{fn: fn, note: notes[fn.Name], at: make([]int8, len(argNames))}
	for i := range f.at {
		f.at[i] = noArg
	}
	for i := range fn.Args {
		if name, ok := argNameOf[fn.Args[i].Name]; ok && i <= math.MaxInt8 {
			f.at[name] = int8(i)
		}
	}
	return f
}

// functions are those that were called. Traces of one run have most in common, and so
// few for all processes together (trace.Dir).
type functions struct {
	recent [256]*function // some of the last called
	all    map[*trace.Fn]*function
}

// calls are what is told of the calls of a process.
type calls struct {
	infos []regions.CallInfo // room for the next
	made  int                // of them at once, the last time
	// sites are where calls are made, and recentSites some of the last.
	sites       map[regions.CallSite]*regions.CallSite
	recentSites [16]*regions.CallSite
}

// function returns what is known of a function of a trace.
func (m *Machine) function(fn *trace.Fn) *function {
	recent := &m.functions.recent[fn.ID%uint16(len(m.functions.recent))]
	if f := *recent; f != nil && f.fn == fn {
		return f
	}
	f := m.functions.all[fn]
	if f == nil {
		f = newFunction(fn)
		for _, model := range m.models {
			if f.note != nil {
				break
			}
			if f.meaning = model.Bind(fn); f.meaning != nil {
				f.model = model
				break
			}
		}
		m.functions.all[fn] = f
	}
	*recent = f
	return f
}

// Call is a recorded call with its arguments by name. It is valid until the
// strand's next event.
type Call struct {
	*trace.Call
	function *function         // its Fn, where that is one of the trace; otherwise nil
	info     *regions.CallInfo // what findings tell of it, once asked for
	members  *[]int32          // of a meeting that not all strands come to
	bad      bool              // an argument that its meaning depends on is not in the trace
	kept     bool              // it stays as it is when events are read ahead
}

// NewCall returns a call that the trace does not have as such.
func NewCall(c *trace.Call) *Call { return &Call{Call: c} }

// find returns the index of the argument of that name, or noArg.
func (c *Call) find(name ArgName) int {
	if c.function != nil {
		return int(c.function.at[name])
	}
	return argAt(c.Fn, argNames[name])
}

// Has reports whether the call has an argument of that name.
func (c *Call) Has(name ArgName) bool { return c.find(name) >= 0 }

// arg returns an argument; one that is not there makes the call Bad.
func (c *Call) arg(name ArgName) *trace.Value {
	if i := c.find(name); i >= 0 && i < len(c.Args) {
		return &c.Args[i]
	}
	c.bad = true
	return &trace.Value{}
}

// Int, Addr and List return an argument as a number, an address and a list; one
// that is not there makes the call Bad.
func (c *Call) Int(name ArgName) int64    { return c.arg(name).Int }
func (c *Call) Addr(name ArgName) uint64  { return uint64(c.arg(name).Int) }
func (c *Call) List(name ArgName) []int64 { return c.arg(name).List }

// IsList reports whether an argument is a list.
func (c *Call) IsList(name ArgName) bool {
	i := c.find(name)
	return i >= 0 && c.Fn.Args[i].Kind.IsList()
}

// Bad reports whether an argument was asked for that is not in the trace, or
// SetBad was called. A bad call is reported as not understood.
func (c *Call) Bad() bool { return c.bad }

// SetBad makes the call bad: an argument has a value that it cannot have.
func (c *Call) SetBad() { c.bad = true }

// Copy returns a copy of the recorded call that stays as it is.
func (c *Call) Copy() *trace.Call { return keep(c.Call) }

// Info returns what findings tell of a call of the strand. It is the call's, and
// stays as it is.
func (s *Strand) Info(c *Call) *regions.CallInfo {
	if c.info == nil {
		c.info = s.InfoOn(c, Exposer{}, "")
	}
	return c.info
}

// Exposer is an object that exposes memory, as a strand knows it. The zero value
// is none.
type Exposer struct {
	Object int64        // Object.ID
	Made   uint32       // stack identifier of the strand's call that made it
	Mode   regions.Mode // of loads and stores through it (Alias)
}

// InfoOn returns what findings tell of a call that accesses what an object
// exposes. It is one of its own, to add to.
func (s *Strand) InfoOn(c *Call, on Exposer, mode regions.Mode) *regions.CallInfo {
	return s.calls.info(&regions.CallSite{
		Fn: c.Fn.Name, Rank: s.Rank, Thread: s.thread, Stack: c.Stack, Object: on.Object, Made: on.Made, Mode: mode,
	}, s.pos)
}

// Unnamed returns what findings tell of a call that the tracer records where the
// program makes none.
func (s *Strand) Unnamed(c *Call) *regions.CallInfo {
	return s.calls.info(&regions.CallSite{Rank: s.Rank, Thread: s.thread, Stack: c.Stack}, s.pos)
}

// info returns a CallInfo of its own.
func (f *calls) info(site *regions.CallSite, pos uint64) *regions.CallInfo {
	if len(f.infos) == 0 {
		f.made = min(max(8, 2*f.made), 128) // few where there are many strands, of which each does little
		f.infos = make([]regions.CallInfo, f.made)
	}
	i := &f.infos[0]
	f.infos = f.infos[1:]
	i.CallSite, i.Pos = f.site(site), pos
	return i
}

// mostSites is how many call sites of a strand are remembered.
const mostSites = 1 << 14

// site returns the same pointer for equal sites, most of the time.
func (f *calls) site(site *regions.CallSite) *regions.CallSite {
	h := (uint64(site.Stack)<<32 ^ uint64(site.Object) ^ uint64(len(site.Fn))<<8 ^ uint64(len(site.Mode))<<16) * 0x9e3779b97f4a7c15
	recent := &f.recentSites[h>>60]
	if *recent != nil && **recent == *site {
		return *recent
	}
	known := f.sites[*site]
	if known == nil {
		if len(f.sites) >= mostSites || f.sites == nil {
			f.sites = map[regions.CallSite]*regions.CallSite{}
		}
		own := *site
		known = &own
		f.sites[own] = known
	}
	*recent = known
	return known
}

// LastCall returns the last call of the strand that was replayed; where that is one
// that the tracer records for itself, the last that synchronized. nil: there is none.
func (s *Strand) LastCall() *regions.CallInfo {
	c := &s.call
	switch b := s.within(); {
	case c.Call != nil && !trace.IsNote(c.Fn.Name):
	case b == nil: // nothing was replayed
		return nil
	default:
		return b.Begin
	}
	return s.calls.info(&regions.CallSite{Fn: c.Fn.Name, Rank: s.Rank, Stack: c.Stack}, 0)
}

// replayCall replays the call that was read, as its model says.
func (s *Strand) replayCall() {
	s.m.wrote()
	if s.team == nil && s.event.Call.Fn.Name != trace.AtomicNote {
		s.callsBefore++
	}
	c := &s.call
	*c = Call{Call: s.event.Call, function: s.m.function(s.event.Call.Fn)}
	s.callEnded = c.End
	if c.function.note != nil {
		s.note(c)
		return
	}
	s.turn()
	w := c.function.meaning
	if s.m.watch.observer != nil {
		s.m.watch.call(s, c)
	}
	switch {
	case w == nil:
		s.NotUnderstood(c, "")
	case c.Failed:
		if w.Failed != nil {
			w.Failed(s, c)
		}
		s.m.Report(Problem{Kind: Failed, Rank: s.Rank, Fn: c.Fn.Name, Call: s.Info(c),
			Text: fmt.Sprintf("%s returned an error on rank %d", c.Fn.Name, s.Rank)})
	default:
		if w.MayOrder && !(w.CanOrder && s.m.opts.FullOrder) {
			s.m.problems.mayOrder.add(c.Fn.Name, s.Rank)
			s.m.problems.mayOrder.unknown = s.m.problems.mayOrder.unknown || !w.CanOrder
		}
		if w.Landmark {
			s.Landmark(c, false)
		}
		if w.Completes {
			s.noteNamed(regions.Landmark{Pos: s.pos, Fn: c.Fn, Stack: c.Stack, Thread: s.thread})
		}
		if w.Replay != nil {
			w.Replay(s, c)
		}
	}
	if c.bad {
		s.NotUnderstood(c, "an argument that its meaning depends on is not in the trace, or has a value that it cannot have")
	}
	if !c.Returned {
		// Nothing follows a call that never returned.
		s.m.problems.unreturned(s, c)
		if s.state != arrived {
			s.state = ended
		}
	}
}
