package regions

import (
	"fmt"
	"math"

	"github.com/mcchk/mcchk/trace"
)

// function is a function of one trace, as the table and its calls need it.
type function struct {
	fn   *trace.Fn
	rule *rule // nil when the table does not have it
	// at is where the arguments are, by slot of their names.
	at [argSlots]int8
	op operationArgs // of a one-sided operation
}

const (
	argSlots  = 32
	noArg     = -1
	severalIn = -2 // arguments whose names have that slot in common
)

// argSlot deals out the names of arguments to slots, so that most of those of
// one function have their own.
func argSlot(name string) int {
	if name == "" {
		return 0
	}
	return int(uint(5*len(name)+11*int(name[0])+7*int(name[len(name)-1])) % argSlots)
}

func newFunction(fn *trace.Fn) *function {
	f := &function{fn: fn, rule: table[fn.Name]}
	for i := range f.at {
		f.at[i] = noArg
	}
	for i := range fn.Args {
		if at := &f.at[argSlot(fn.Args[i].Name)]; *at == noArg && i <= math.MaxInt8 {
			*at = int8(i)
		} else {
			*at = severalIn
		}
	}
	if f.rule != nil && f.rule.op != (operationRole{}) {
		f.op = newOperationArgs(fn, f.rule.op.role)
	}
	return f
}

// function returns what is known of a function of the process's trace.
func (p *proc) function(fn *trace.Fn) *function {
	recent := &p.recentFunctions[fn.ID%uint16(len(p.recentFunctions))]
	if f := *recent; f != nil && f.fn == fn {
		return f
	}
	f := p.functions[fn]
	if f == nil {
		f = newFunction(fn)
		p.functions[fn] = f
	}
	*recent = f
	return f
}

// call is a recorded call with its arguments by name.
type call struct {
	*trace.Call
	function *function // its Fn, where that is one of the trace; otherwise nil
	info     *CallInfo // what findings tell of it, once asked for
	bad      bool      // an argument that the table needs is not in the trace
	members  *[]int32  // of a collective call that not all processes make
}

// find returns the index of the argument of that name, or -1.
func (c *call) find(name string) int {
	if c.function != nil {
		switch i := c.function.at[argSlot(name)]; {
		case i == noArg:
			return -1
		case i >= 0 && c.Fn.Args[i].Name == name:
			return int(i)
		case i >= 0:
			return -1
		}
	}
	return c.Fn.Arg(name)
}

func (c *call) arg(name string) *trace.Value { return c.argAt(c.find(name)) }

// argAt returns the argument with that index; -1: it has none.
func (c *call) argAt(i int) *trace.Value {
	if i < 0 || i >= len(c.Args) {
		c.bad = true
		return &trace.Value{}
	}
	return &c.Args[i]
}

func (c *call) num(name string) int64    { return c.arg(name).Int }
func (c *call) addr(name string) uint64  { return uint64(c.arg(name).Int) }
func (c *call) list(name string) []int64 { return c.arg(name).List }
func (c *call) has(name string) bool     { return c.find(name) >= 0 }

// call replays one call by its rule.
func (m *Machine) call(p *proc) {
	c := &p.current
	*c = call{Call: p.event.Call, function: p.function(p.event.Call.Fn)}
	r := c.function.rule
	if m.observer != nil {
		m.observe(p, c, r)
	}
	switch {
	case r == nil:
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "")
	case c.Failed:
		m.failed(p, c, r)
		m.problems.add(Problem{Kind: Failed, Rank: p.rank, Fn: c.Fn.Name, Call: p.info(c),
			Text: fmt.Sprintf("%s returned an error on rank %d", c.Fn.Name, p.rank)})
	default:
		if r.mayOrder {
			m.mayOrder[c.Fn.Name] = true
		}
		if r.check != nil {
			r.check(m, p, c)
		}
		if r.marked {
			p.mark(c, false)
		}
		if r.do != nil {
			r.do(m, p, c, r)
		}
	}
	if c.bad {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "an argument that its meaning depends on is not in the trace")
	}
	if !c.Returned {
		// Nothing follows a call that never returned.
		m.problems.unreturned(p, c)
		if p.state != arrived {
			p.state = ended
		}
	}
}
