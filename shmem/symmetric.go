package shmem

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// symmetricMemory is the object that stands for all symmetric memory, which is
// exposed at all times, in the calls that access it. It and the blocks, which are
// counted from it, are out of the way of other models' identifiers.
const symmetricMemory = 1 << 61

// block is a block of the symmetric heap, or the writable data of a module.
type block struct {
	regions.Object
	key   blockKey
	bases map[int32]uint64 // by rank, where it is known
	size  uint64
	locks map[uint64]*regions.Object // in it, by offset
}

// part is where a block lies in the memory of a PE.
type part struct {
	lo, hi uint64
	*block
}

// place is a byte of symmetric memory.
type place struct {
	block  *block
	offset uint64
	owner  int32
}

// word names the element of so many bytes that begins at the place.
func (at place) word(bytes uint64) core.WordKey {
	return core.WordKey{Owner: at.owner, Addr: at.block.bases[at.owner] + at.offset, Bytes: bytes}
}

// symmetric is all blocks.
type symmetric struct {
	heap    []*block // in the order in which all PEs made them
	data    map[dataKey]*block
	numbers int
	now     *exposure // nil: something has changed since
	gone    *exposure // blocks that were given up in the region; never changed in place; nil: none
}

type dataKey struct{ module, offset int64 }

// blockKey is which block one is, the same to all PEs: a block of the heap by its number,
// from 1, or else static data.
type blockKey struct {
	heap int
	data dataKey
}

func newSymmetric() symmetric { return symmetric{data: map[dataKey]*block{}} }

func (y *symmetric) newBlock(key blockKey, kind string, size uint64, made *regions.CallInfo) *block {
	y.numbers++
	return &block{
		Object: regions.Object{ID: symmetricMemory + int64(y.numbers), Number: y.numbers, Kind: kind, Created: made},
		key:    key, bases: map[int32]uint64{}, size: size,
	}
}

// add adds a part of a block to the PE's symmetric memory.
func (p *pe) add(b *block, base, size uint64) {
	b.bases[p.Rank] = base
	p.parts = append(slices.Clone(p.parts), part{base, base + size, b})
	slices.SortFunc(p.parts, func(a, b part) int { return cmp.Compare(a.lo, b.lo) })
	p.m.symmetric.now = nil
}

// remove takes a block out of the PE's symmetric memory.
func (p *pe) remove(b *block) {
	p.parts = slices.DeleteFunc(slices.Clone(p.parts), func(x part) bool { return x.block == b })
	p.DropAliases(b.ID)
	p.m.symmetric.now = nil
}

// find returns the part of the PE's symmetric memory that has an address.
func (p *pe) find(addr uint64) *part {
	i, found := slices.BinarySearchFunc(p.parts, addr, func(x part, at uint64) int { return cmp.Compare(x.lo, at) })
	if !found {
		i--
	}
	if i < 0 || addr >= p.parts[i].hi {
		return nil
	}
	return &p.parts[i]
}

// at returns the place of an address of the PE in the memory of another, and its
// address there.
func (p *pe) at(addr uint64, owner int32) (at place, base uint64, ok bool) {
	x := p.find(addr)
	if x == nil {
		return place{}, 0, false
	}
	there, known := x.bases[owner]
	if !known {
		return place{}, 0, false
	}
	return place{x.block, addr - x.lo, owner}, there + (addr - x.lo), true
}

// data replays the note of a module's data.
func data(p *pe, c *call) {
	y, key := &p.m.symmetric, dataKey{c.Int(argModule), c.Int(argOffset)}
	size := uint64(c.Int(argSize))
	b := y.data[key]
	if b == nil {
		b = y.newBlock(blockKey{data: key}, "static data", size, nil)
		y.data[key] = b
	}
	if size > 0 {
		p.add(b, c.Addr(argBase), size)
	}
}

// allocate replays a call that makes a block: a barrier of all PEs at its end.
func allocate(p *pe, c *call) {
	size := uint64(c.Int(argSize))
	if c.Has(argCount) {
		size *= uint64(c.Int(argCount))
	}
	if size == 0 {
		return
	}
	p.makeBlock(c, size)
	p.barrier(c, nil)
}

// makeBlock adds the block that the call returned. Others know of it when they
// have met.
func (p *pe) makeBlock(c *call, size uint64) {
	y := &p.m.symmetric
	n := p.made
	p.made++
	for len(y.heap) <= n {
		y.heap = append(y.heap, y.newBlock(blockKey{heap: len(y.heap) + 1}, "symmetric block", size, p.Info(c.Call)))
	}
	if base := c.Addr(argResult); base != 0 {
		p.add(y.heap[n], base, size)
	}
}

// free replays a call that gives up a block: a barrier of all PEs at its beginning.
func free(p *pe, c *call) {
	ptr := c.Addr(argPtr)
	if ptr == 0 {
		return
	}
	x := p.find(ptr)
	if x == nil {
		p.notSymmetric(c, argPtr, ptr)
		return
	}
	b := x.block
	p.barrier(c, func() { p.giveUp(c, b) })
}

// giveUp gives up the PE's copy of a block behind the barrier, which completes what is
// pending on the default context: that of other contexts may still access it.
func (p *pe) giveUp(c *call, b *block) {
	i := slices.IndexFunc(p.parts, func(x part) bool { return x.block == b })
	if i < 0 {
		return
	}
	x := p.parts[i]
	p.InstantAt(regions.Access{
		Rank: p.Rank, Owner: p.Rank, Kind: regions.Write, Role: Freed, Base: x.lo,
		Layout: p.m.alike.Strided(1, x.hi-x.lo, x.hi-x.lo), Call: p.InfoOn(c.Call, core.Exposer{Object: symmetricMemory}, ""),
	}, p.Rank, symmetricMemory)
	p.GiveUp(x.lo, x.hi)
	gone := &exposure{parts: make([][]part, len(p.m.pes))}
	if p.m.symmetric.gone != nil {
		copy(gone.parts, p.m.symmetric.gone.parts)
	}
	gone.parts[p.Rank] = append(slices.Clip(gone.parts[p.Rank]), x)
	p.m.symmetric.gone = gone
	p.remove(b)
}

// reallocate replays shmem_realloc. Barriers are certain where a block is made or
// given up.
func reallocate(p *pe, c *call) {
	ptr, size := c.Addr(argPtr), uint64(c.Int(argSize))
	switch {
	case ptr == 0 && size == 0, ptr != 0 && size != 0 && c.Addr(argResult) == 0:
		return
	case size == 0:
		free(p, c)
	case ptr == 0:
		p.makeBlock(c, size)
		p.barrier(c, nil)
	default:
		x := p.find(ptr)
		if x == nil {
			p.notSymmetric(c, argPtr, ptr)
			return
		}
		old := x.block
		p.barrier(c, func() {
			p.giveUp(c, old)
			p.makeBlock(c, size)
		})
	}
}

// ThroughPointer is the mode of loads and stores through what shmem_ptr returned.
const ThroughPointer regions.Mode = "shmem_ptr"

// pointer replays shmem_ptr: what it returns is the memory of another PE.
func pointer(p *pe, c *call) {
	of := p.m.world
	if c.Has(argTeam) {
		if of = p.team(c, argTeam); of == nil {
			return
		}
	}
	shown, addr, owner := c.Addr(argResult), c.Addr(argDest), of.member(c.Int(argPE))
	if shown == 0 || owner < 0 || owner == p.Rank {
		return
	}
	x := p.find(addr)
	if x == nil || x.bases[owner] == 0 {
		p.notSymmetric(c, argDest, addr)
		return
	}
	lo := shown - (addr - x.lo)
	p.AddAlias(core.Alias{
		Lo: lo, Hi: lo + x.size, Shift: x.bases[owner] - lo, Owner: owner,
		Exposer: core.Exposer{Object: x.ID, Mode: ThroughPointer},
	})
}

// exposure is the symmetric memory of all PEs in a region.
type exposure struct{ parts [][]part }

// exposed returns what is exposed now; nil: nothing.
func (m *Model) exposed() regions.Exposure {
	if m.symmetric.numbers == 0 {
		return nil
	}
	if m.symmetric.now == nil {
		x := &exposure{}
		for _, p := range m.pes {
			x.parts = append(x.parts, p.parts)
		}
		m.symmetric.now = x
	}
	return m.symmetric.now
}

func (x part) exposed() regions.Exposed {
	return regions.Exposed{Object: &x.Object, Base: x.lo, Lo: x.lo, Hi: x.hi}
}

// At is that of regions.Exposure.
func (x *exposure) At(owner int32, addr uint64, _ int64) (regions.Exposed, bool) {
	for _, y := range x.parts[owner] {
		if addr >= y.lo && addr < y.hi {
			return y.exposed(), true
		}
	}
	return regions.Exposed{}, false
}

// Made is that of regions.Exposure.
func (x *exposure) Made(int64) *regions.CallInfo { return nil }

// Parts is that of regions.Exposure.
func (x *exposure) Parts(owner int32) []regions.Exposed {
	var all []regions.Exposed
	for _, y := range x.parts[owner] {
		all = append(all, y.exposed())
	}
	return all
}
