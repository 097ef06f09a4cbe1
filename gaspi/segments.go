package gaspi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// firstObject is the identifier before that of the first segment, out of the way of
// other models' identifiers.
const firstObject = 1 << 60

// segment is what processes make under one identifier, each for the n-th time.
type segment struct {
	regions.Object
	id int64 // the program's
}

type segmentKey struct {
	id int64
	n  int
}

// part is a segment in the memory of a process.
type part struct {
	*segment
	lo, hi uint64
}

// segments is those of all processes.
type segments struct {
	all map[segmentKey]*segment
	now *exposure // nil: something has changed since
}

// makeSegment notes that the process has made a segment. Those that wait to use it
// may go on.
func (p *process) makeSegment(c *core.Call) {
	id, base, size := c.Int(argSegment), c.Addr(argBase), uint64(c.Int(argSize))
	if base == 0 || size == 0 {
		p.NotUnderstood(c, "where the segment lies is not known")
		return
	}
	y, key := &p.m.segments, segmentKey{id, p.made[id]}
	p.made[id]++
	s := y.all[key]
	if s == nil {
		n := len(y.all) + 1
		s = &segment{id: id, Object: regions.Object{
			ID: firstObject + int64(n), Number: n, Kind: "segment", Called: fmt.Sprintf("segment id %d", id), Created: p.Info(c),
		}}
		y.all[key] = s
	}
	p.segments[id] = &part{segment: s, lo: base, hi: base + size}
	y.now = nil
	if waited := p.making[id]; waited != nil {
		delete(p.making, id)
		p.m.Announce(waited)
	}
}

func segmentAlloc(p *process, c *core.Call) { p.makeSegment(c) }

// segmentCreate replays the calls with which a group makes a segment.
func segmentCreate(p *process, c *core.Call) {
	if c.Int(argResult) == succeeded {
		p.makeSegment(c)
	}
	p.collective(c)
}

// segmentDelete: nothing may be pending on the segment, or come to it later.
func segmentDelete(p *process, c *core.Call) {
	x := p.segments[c.Int(argSegment)]
	if x == nil {
		p.NotUnderstood(c, "the creation of its segment was not understood")
		return
	}
	p.InstantAt(regions.Access{
		Rank: p.Rank, Owner: p.Rank, Kind: regions.Write, Role: Deleted, Base: x.lo,
		Layout: p.m.alike.Strided(1, x.hi-x.lo, x.hi-x.lo), Call: p.InfoOn(c, core.Exposer{Object: x.ID}, ""),
	}, p.Rank, x.ID)
}

// use lets a call go on once the process that it goes to has made the segments that it
// names. The order is that of their registration, which the success of the call shows;
// it orders nothing else.
func (p *process) use(c *core.Call, owner *process, ids []int64, then func(*core.Call)) {
	var waits []core.Wait
	for _, id := range ids {
		if owner.segments[id] != nil {
			continue
		}
		if owner.making[id] == nil {
			owner.making[id] = &core.Signal{}
		}
		waits = append(waits, core.Wait{On: owner.making[id], Soft: true, What: func() string {
			return fmt.Sprintf("for rank %d to make segment %d", owner.Rank, id)
		}})
	}
	if waits == nil {
		then(c)
		return
	}
	kept := *c
	kept.Call = c.Copy()
	p.Synchronize(c, nil, waits, func() { then(&kept) })
}

// within returns the address of bytes of a process's segment; false: they are not all
// there, which is reported.
func (p *process) within(c *core.Call, owner *process, id int64, offset, size uint64) (*part, uint64, bool) {
	x := owner.segments[id]
	if x == nil {
		p.NotUnderstood(c, "the creation of a segment that it accesses was not understood")
		return nil, 0, false
	}
	if offset > x.hi-x.lo || size > x.hi-x.lo-offset {
		p.m.Misuse(core.Usage{
			Rule: conflicts.RuleGaspiOutside, Call: p.Info(c),
			Concerned: core.Concerned{Owner: owner.Rank, Object: &x.Object, Lo: x.lo + offset, Hi: x.lo + offset + size, Base: x.lo},
			Why:       fmt.Sprintf("the %d bytes at offset %d end outside segment %d of rank %d, which has %d bytes", size, offset, id, owner.Rank, x.hi-x.lo),
			Fix:       "keep the offset and the size within the segment, or make it larger",
		})
		return nil, 0, false
	}
	return x, x.lo + offset, true
}

// exposure is the segments of all processes in a region.
type exposure struct{ parts [][]*part }

// exposed returns what is exposed now; nil: nothing.
func (m *Model) exposed() regions.Exposure {
	if len(m.segments.all) == 0 {
		return nil
	}
	if m.segments.now == nil {
		x := &exposure{}
		for _, p := range m.processes {
			var own []*part
			for _, id := range slices.Sorted(maps.Keys(p.segments)) {
				own = append(own, p.segments[id])
			}
			x.parts = append(x.parts, own)
		}
		m.segments.now = x
	}
	return m.segments.now
}

func (x *part) exposed() regions.Exposed {
	return regions.Exposed{Object: &x.Object, Base: x.lo, Lo: x.lo, Hi: x.hi}
}

// At is that of regions.Exposure.
func (x *exposure) At(owner int32, addr uint64, prefer int64) (found regions.Exposed, ok bool) {
	for _, y := range x.parts[owner] {
		if addr >= y.lo && addr < y.hi && (!ok || y.ID == prefer) {
			found, ok = y.exposed(), true
		}
	}
	return found, ok
}

// Made is that of regions.Exposure.
func (x *exposure) Made(id int64) *regions.CallInfo {
	for _, own := range x.parts {
		for _, y := range own {
			if y.ID == id {
				return y.Created
			}
		}
	}
	return nil
}

// Parts is that of regions.Exposure.
func (x *exposure) Parts(owner int32) []regions.Exposed {
	var all []regions.Exposed
	for _, y := range x.parts[owner] {
		all = append(all, y.exposed())
	}
	return all
}
