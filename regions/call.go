package regions

import (
	"fmt"

	"github.com/mcchk/mcchk/trace"
)

// call is a recorded call with its arguments by name.
type call struct {
	*trace.Call
	bad     bool     // an argument that the table needs is not in the trace
	members *[]int32 // of a collective call that not all processes make
}

func (c *call) arg(name string) *trace.Value {
	i := c.Fn.Arg(name)
	if i < 0 || i >= len(c.Args) {
		c.bad = true
		return &trace.Value{}
	}
	return &c.Args[i]
}

func (c *call) num(name string) int64    { return c.arg(name).Int }
func (c *call) addr(name string) uint64  { return uint64(c.arg(name).Int) }
func (c *call) list(name string) []int64 { return c.arg(name).List }
func (c *call) has(name string) bool     { return c.Fn.Arg(name) >= 0 }

// call replays one call by its rule.
func (m *Machine) call(p *proc) {
	c := &p.current
	*c = call{Call: p.event.Call}
	r, ok := p.rules[c.Fn]
	if !ok {
		r = table[c.Fn.Name]
		p.rules[c.Fn] = r
	}
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
			p.mark(c)
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
