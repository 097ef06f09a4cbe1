package gaspi

import (
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

// begun is a collective call that has timed out, and goes on with the next. The process
// did something else in between, so that it has come to the meeting before that.
type begun struct {
	end   func(*core.Strand, *core.Call, func()) // waits for the others
	spans []*core.Pending                        // its buffers, which it may access meanwhile
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

// gatheringCall names the collective calls of a process of which one goes on with the one
// before, where that has timed out.
type gatheringCall struct {
	fn    string
	group int64
}

func gathers(c *core.Call) gatheringCall { return gatheringCall{c.Fn.Name, c.Int(argGroup)} }

// collective lets the process come to a collective call, which is over when it has
// succeeded. Where it has timed out, and the process does not go on with it at once, it
// has come to it all the same: others may be past it before it asks again. The call uses
// its buffers until then.
func (p *process) collective(c *core.Call, buffers ...regions.Access) {
	g := p.group(c)
	if g == nil {
		return
	}
	key, result := gathers(c), c.Int(argResult)
	b := p.begun[key]
	switch {
	case c.Returned && result == timedOut:
		if b == nil && !p.GoesOn(key) {
			p.beginMeeting(c, key, g, buffers)
		}
	case b != nil:
		delete(p.begun, key)
		info := p.Info(c)
		over := func() {
			for _, x := range b.spans {
				x.Complete(p.Now(), info)
				x.Drop()
			}
		}
		if c.Returned && result != succeeded {
			over()
			return
		}
		b.end(p.Strand, c, over)
	case c.Returned && result != succeeded:
	default:
		p.all(buffers, regions.Read)
		p.Meet(c, p.meeting(c, g), func() { p.all(buffers, regions.Write) })
	}
}

// all accesses those of some buffers that are accessed in one way.
func (p *process) all(buffers []regions.Access, kind regions.Kind) {
	for _, a := range buffers {
		if a.Kind == kind {
			p.Instant(a)
		}
	}
}

// meeting returns the next meeting of a group by a collective call.
func (p *process) meeting(c *core.Call, g *group) core.Meeting {
	return core.Meeting{
		Key: p.calls.Next(firstObject, c.Fn.Name, g.members), Group: &core.Group{Local: g.members}, Dir: core.AllToAll, Root: core.NoRoot,
	}
}

// beginMeeting lets the process come to a meeting that it goes on beside.
func (p *process) beginMeeting(c *core.Call, key gatheringCall, g *group, buffers []regions.Access) {
	b := &begun{}
	for _, buffer := range buffers {
		a := p.m.NewAccess()
		*a = buffer
		b.spans = append(b.spans, p.OpenBuffer(a))
	}
	b.end = p.Begin(c, p.meeting(c, g))
	p.begun[key] = b
}

func meet(p *process, c *core.Call) { p.collective(c) }

// allreduce replays both reductions.
func allreduce(p *process, c *core.Call) {
	var buffers []regions.Access
	buffer := func(arg core.ArgName, kind regions.Kind, role *regions.Role) {
		if n := uint64(c.Int(argNum)) * uint64(c.Int(argSize)); n > 0 {
			buffers = append(buffers, regions.Access{
				Rank: p.Rank, Owner: p.Rank, Kind: kind, Role: role, Base: c.Addr(arg),
				Layout: p.m.alike.Strided(1, n, n), Call: p.Info(c),
			})
		}
	}
	buffer(argBufferSend, regions.Read, SendBuffer)
	buffer(argBufferReceive, regions.Write, Received)
	p.collective(c, buffers...)
}
