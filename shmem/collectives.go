package shmem

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// key names the meeting that the call is.
func (p *pe) key(c *call, members []int32) core.MeetKey {
	return p.calls.Next(symmetricMemory, c.family, members)
}

// meet lets the PE come to a collective call.
func (p *pe) meet(c *call, members []int32, dir core.Direction, root int32, after func()) {
	p.Meet(c.Call, core.Meeting{Key: p.key(c, members), Group: &core.Group{Local: members}, Dir: dir, Root: root}, after)
}

// barrier is shmem_barrier_all, also where it is part of another call.
func (p *pe) barrier(c *call, after func()) {
	p.quiet(c, p.contexts[defaultContext])
	p.meet(c, p.m.world.members, core.AllToAll, core.NoRoot, after)
}

func barrierAll(p *pe, c *call) { p.barrier(c, nil) }

func start(p *pe, c *call) { p.meet(c, p.m.world.members, core.AllToAll, core.NoRoot, nil) }

// finalize completes all contexts.
func finalize(p *pe, c *call) {
	for _, x := range p.contexts {
		p.quiet(c, x)
	}
	p.barrier(c, nil)
}

func syncAll(p *pe, c *call) { p.meet(c, p.m.world.members, core.AllToAll, core.NoRoot, nil) }

// members returns the PEs of a collective call: a team, or an active set; nil: it does
// nothing, or they are not known, which is reported.
func (p *pe) members(c *call) []int32 {
	if c.Has(argTeam) {
		if t := p.team(c, argTeam); t != nil {
			return t.members
		}
		return nil
	}
	first, shift, size := c.Int(argPEStart), c.Int(argLogStr), c.Int(argPESize)
	if shift < 0 || shift > 30 || size <= 0 {
		c.SetBad()
		return nil
	}
	var list []int32
	for i := range size {
		r := p.m.world.member(first + i<<shift)
		if r < 0 {
			c.SetBad()
			return nil
		}
		list = append(list, r)
	}
	return list
}

func barrierSet(p *pe, c *call) {
	if list := p.members(c); list != nil {
		p.quiet(c, p.contexts[defaultContext])
		p.syncOf(c, list)
	}
}

func syncSet(p *pe, c *call) {
	if list := p.members(c); list != nil {
		p.syncOf(c, list)
	}
}

// syncOf is shmem_sync: calls by one active set may follow one another with one pSync
// (OpenSHMEM 1.5, 9.9).
func (p *pe) syncOf(c *call, list []int32) {
	u := p.comes(c, list)
	u.elem = p.m.alike.Element(regions.Element{Type: collectiveType, Size: 1, Op: collectiveType, Promises: int64(u.key.Of | 1<<63)})
	u.work(argPSync, 1, syncSize, SyncOfAll)
	u.meet(core.AllToAll, core.NoRoot, nil)
}

// gather replays collective calls in which all get something of all: each is given
// how many elements it writes for each of its own.
func gather(times func(members int) int) func(*pe, *call) {
	return func(p *pe, c *call) {
		list := p.members(c)
		if list == nil {
			return
		}
		n, from, to := uint64(c.Int(argNelems)), uint64(1), uint64(1)
		if c.Has(argDst) {
			to, from = uint64(c.Int(argDst)), uint64(c.Int(argSst))
		}
		reads := n
		if c.Has(argDst) || c.family == "shmem_TYPE_alltoall" || c.family == "shmem_alltoallmem" || c.family == "shmem_alltoallSIZE" {
			reads = n * uint64(len(list))
		}
		u := p.comes(c, list)
		u.reads(reads, from)
		u.work(argPWrk, n/2+1, u.size, WorkOfAll)
		u.work(argPSync, 1, syncSize, SyncOfAll)
		u.mayWrite(n*uint64(times(len(list))), to)
		u.meet(core.AllToAll, core.NoRoot, func() { u.writes(n*uint64(times(len(list))), to) })
	}
}

func once(int) int         { return 1 }
func each(members int) int { return members }

// scan: each gets something of those before it.
func scan(p *pe, c *call) {
	list := p.members(c)
	if list == nil {
		return
	}
	u, n := p.comes(c, list), uint64(c.Int(argNelems))
	u.reads(n, 1)
	u.meet(core.Prefix, core.NoRoot, func() { u.writes(n, 1) })
}

// collect: each brings as many elements as it likes. How many there will be in dest is not
// known before all have come, but no fewer than it brings itself.
func collect(p *pe, c *call) {
	list := p.members(c)
	if list == nil {
		return
	}
	u, n := p.comes(c, list), uint64(c.Int(argNelems))
	u.all.elements += n
	u.reads(n, 1)
	u.work(argPSync, 1, syncSize, SyncOfAll)
	u.mayWrite(n, 1)
	u.meet(core.AllToAll, core.NoRoot, func() { u.writes(u.all.elements, 1) })
}

// broadcast: those of an active set do not write the root's dest; those of a team do.
func broadcast(p *pe, c *call) {
	list := p.members(c)
	if list == nil {
		return
	}
	n, root := uint64(c.Int(argNelems)), c.Int(argPERoot)
	if root < 0 || root >= int64(len(list)) {
		c.SetBad()
		return
	}
	u, from := p.comes(c, list), list[root]
	u.work(argPSync, 1, syncSize, SyncOfAll)
	if from == p.Rank {
		u.reads(n, 1)
		u.sends(n)
	}
	u.meet(core.OneToAll, from, func() {
		u.received()
		if from != p.Rank || c.Has(argTeam) {
			u.writes(n, 1)
		}
	})
}
