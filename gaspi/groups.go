package gaspi

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// groupAll is the group of all processes in traces.
const groupAll = 0

// Results of collective calls in traces.
const (
	succeeded = 0
	timedOut  = 1
)

// group is a group of processes: world ranks.
type group struct{ members []int32 }

// begun is a collective call that has timed out, and goes on with the next.
type begun struct {
	last   uint64 // the number of its last event
	worked bool   // the process did something else in between
}

func groupCreate(p *process, c *core.Call) { p.groups[c.Int(argGroup)] = &group{} }

func groupAdd(p *process, c *core.Call) {
	rank := c.Int(argRank)
	if rank < 0 || rank >= int64(len(p.m.processes)) {
		c.SetBad()
		return
	}
	if g := p.group(c); g != nil {
		g.members = append(slices.Clip(g.members), int32(rank))
		slices.Sort(g.members)
		g.members = slices.Compact(g.members)
	}
}

func groupDelete(p *process, c *core.Call) { delete(p.groups, c.Int(argGroup)) }

// group returns the group that a call names; nil: none is known, which is reported.
func (p *process) group(c *core.Call) *group {
	g := p.groups[c.Int(argGroup)]
	if g == nil {
		p.NotUnderstood(c, "the creation of its group was not understood")
	}
	return g
}

// collective lets the process come to a collective call, which counts when it has
// succeeded.
func (p *process) collective(c *core.Call, after func()) {
	g := p.group(c)
	if g == nil {
		return
	}
	key := fmt.Sprintf("%s %d", c.Fn.Name, c.Int(argGroup))
	b := p.begun[key]
	if b != nil && p.Previous() != b.last {
		b.worked = true
	}
	if c.Returned && c.Int(argResult) == timedOut {
		if b == nil {
			b = &begun{}
			p.begun[key] = b
		}
		b.last = p.Pos()
		return
	}
	delete(p.begun, key)
	if c.Returned && c.Int(argResult) != succeeded {
		return
	}
	if b != nil && b.worked {
		p.m.Report(core.Problem{
			Kind: core.NotUnderstood, Rank: p.Rank, Fn: c.Fn.Name, Call: p.Info(c),
			Text: "it was begun by a call that returned GASPI_TIMEOUT, and what the process did since then counts as before it",
		})
	}
	p.Meet(c, core.Meeting{
		Key: p.calls.Next(firstObject, c.Fn.Name, g.members), Group: &core.Group{Local: g.members}, Dir: core.AllToAll, Root: core.NoRoot,
	}, after)
}

func meet(p *process, c *core.Call) { p.collective(c, nil) }

// allreduce replays both reductions.
func allreduce(p *process, c *core.Call) {
	info := p.Info(c)
	touch := func(arg core.ArgName, kind regions.Kind, role *regions.Role, base, n, size uint64) {
		if n > 0 && size > 0 {
			p.Instant(regions.Access{
				Rank: p.Rank, Owner: p.Rank, Kind: kind, Role: role, Base: base,
				Layout: p.m.alike.Strided(1, n*size, n*size), Call: info,
			})
		}
	}
	n, size, to := uint64(c.Int(argNum)), uint64(c.Int(argSize)), c.Addr(argBufferReceive)
	done := c.Returned && c.Int(argResult) == succeeded
	if done || !c.Returned {
		touch(argBufferSend, regions.Read, SendBuffer, c.Addr(argBufferSend), n, size)
	}
	p.collective(c, func() {
		if done {
			touch(argBufferReceive, regions.Write, Received, to, n, size)
		}
	})
}
