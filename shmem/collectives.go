package shmem

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// collected is what PEs bring to a collect.
type collected struct{ bytes uint64 }

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
		p.meet(c, list, core.AllToAll, core.NoRoot, nil)
	}
}

func syncSet(p *pe, c *call) {
	if list := p.members(c); list != nil {
		p.meet(c, list, core.AllToAll, core.NoRoot, nil)
	}
}

// touch accesses a buffer of a collective call.
func (p *pe) touch(c *call, arg core.ArgName, n, stride uint64, kind regions.Kind, role *regions.Role) {
	size := uint64(c.Int(argSize))
	if n == 0 || size == 0 || !c.Has(arg) {
		return
	}
	p.Instant(regions.Access{
		Rank: p.Rank, Owner: p.Rank, Kind: kind, Role: role, Base: c.Addr(arg),
		Layout: p.m.alike.Strided(n, size, stride*size), Call: p.Info(c.Call),
	})
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
		p.touch(c, argSource, reads, from, regions.Read, SourceOfAll)
		p.touch(c, argPWrk, n/2+1, 1, regions.Write, WorkOfAll)
		p.meet(c, list, core.AllToAll, core.NoRoot, func() {
			p.touch(c, argDest, n*uint64(times(len(list))), to, regions.Write, DestOfAll)
		})
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
	n := uint64(c.Int(argNelems))
	p.touch(c, argSource, n, 1, regions.Read, SourceOfAll)
	p.meet(c, list, core.Prefix, core.NoRoot, func() {
		p.touch(c, argDest, n, 1, regions.Write, DestOfAll)
	})
}

// collect: each brings as many elements as it likes.
func collect(p *pe, c *call) {
	list := p.members(c)
	if list == nil {
		return
	}
	n := uint64(c.Int(argNelems))
	key := p.key(c, list)
	all := p.m.collected[key]
	if all == nil {
		all = &collected{}
		p.m.collected[key] = all
	}
	all.bytes += n
	p.touch(c, argSource, n, 1, regions.Read, SourceOfAll)
	p.Meet(c.Call, core.Meeting{Key: key, Group: &core.Group{Local: list}, Dir: core.AllToAll, Root: core.NoRoot}, func() {
		p.touch(c, argDest, all.bytes, 1, regions.Write, DestOfAll)
		delete(p.m.collected, key)
	})
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
	from := list[root]
	if from == p.Rank {
		p.touch(c, argSource, n, 1, regions.Read, SourceOfAll)
	}
	p.meet(c, list, core.OneToAll, from, func() {
		if from != p.Rank || c.Has(argTeam) {
			p.touch(c, argDest, n, 1, regions.Write, DestOfAll)
		}
	})
}
