package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// window is an MPI window: the memory that each member exposes.
type window struct {
	regions.Object
	group   *core.Group
	members []int32 // world ranks, by rank in the window's communicator
	base    []uint64
	size    []uint64
	unit    []uint64 // displacement unit
	known   []bool
	unified bool
	sameOp  bool       // accumulate_ops is same_op
	order   int64      // accumulate_ordering
	dynamic [][]span64 // attached memory by member; nil unless the window is dynamic
	ever    [][]span64 // what of it was attached at any moment of the region
	changed bool       // ever is more than dynamic
	gone    []goneMemory
	freed   int  // members that have freed it
	shared  bool // made by MPI_Win_allocate_shared
	guards  map[fenceKey]*core.Guard
}

// span64 is memory [lo, hi) attached to a dynamic window.
type span64 struct {
	lo, hi uint64
	by     *regions.CallInfo // the call that attached it; nil of other windows
}

// attach adds memory to a dynamic window.
func (w *window) attach(member int32, s span64) {
	w.dynamic[member] = append(slices.Clip(w.dynamic[member]), s)
	w.ever[member] = append(w.ever[member], s)
	w.gone = slices.DeleteFunc(w.gone, func(g goneMemory) bool { return g.member == member && g.lo < s.hi && s.lo < g.hi })
	w.changed = true
}

// detach takes the memory that begins at base from a dynamic window.
func (w *window) detach(member int32, base uint64) {
	w.dynamic[member] = slices.DeleteFunc(slices.Clone(w.dynamic[member]), func(s span64) bool { return s.lo == base })
	w.changed = true
}

// holds reports whether the part of a window that a member has holds addr.
func (w *window) holds(member int, addr uint64) bool {
	if !w.known[member] {
		return false
	}
	if w.dynamic != nil {
		return slices.ContainsFunc(w.dynamic[member], func(s span64) bool { return addr >= s.lo && addr < s.hi })
	}
	return addr-w.base[member] < w.size[member]
}

// fenceKey names the n-th fence of a member of a window.
type fenceKey struct {
	target int32
	n      uint64
}

// guard returns what a fence of a member that does not synchronise is passed by:
// no operation of the epoch that it opens accesses the member's memory before.
func (w *window) guard(target int32, fence uint64) *core.Guard {
	key := fenceKey{target, fence}
	g := w.guards[key]
	if g == nil {
		g = &core.Guard{}
		w.guards[key] = g
	}
	return g
}

// target returns the member with that rank, or -1.
func (w *window) target(rank int64) int32 {
	if rank < 0 || rank >= int64(len(w.members)) {
		return -1
	}
	return int32(rank)
}

// windows are those of the run. Windows that all members have freed keep
// their names, and no memory.
type windows struct {
	byID    map[int64]*window
	live    []*window // in the order of creation
	gone    []*window // freed in this region
	created int
	seen    *windows // the last snapshot; nil where the next may be another
}

func (ws *windows) add(id int64, g *core.Group) *window {
	ws.created++
	n := len(g.Local)
	w := &window{
		Object: regions.Object{ID: id, Number: ws.created, Kind: "window"}, group: g, members: g.Local, order: trace.OrderAll,
		base: make([]uint64, n), size: make([]uint64, n), unit: make([]uint64, n), known: make([]bool, n),
		guards: map[fenceKey]*core.Guard{},
	}
	ws.byID[id] = w
	ws.live = append(ws.live, w)
	ws.seen = nil
	return w
}

func (ws *windows) free(w *window) {
	if w.freed++; w.freed == len(w.members) {
		delete(ws.byID, w.ID)
		ws.gone = append(ws.gone, w)
	}
}

// purge drops the windows freed in the region that has ended, and returns them.
func (ws *windows) purge() []*window {
	gone := ws.gone
	if len(gone) > 0 {
		ws.live = slices.DeleteFunc(slices.Clone(ws.live), func(w *window) bool { return slices.Contains(gone, w) })
		ws.gone, ws.seen = nil, nil
	}
	return gone
}

// snapshot returns the windows that a region saw; later changes do not touch it.
func (ws *windows) snapshot() *windows {
	if ws.seen != nil {
		return ws.seen
	}
	now, changing := &windows{live: slices.Clone(ws.live)}, false
	for i, w := range now.live {
		if w.dynamic != nil { // others change only while they are being created
			now.live[i], changing = w.snapshot(), true
		}
	}
	if !changing {
		ws.seen = now
	}
	return now
}

// snapshot returns a copy of a window that may change still.
func (w *window) snapshot() *window {
	now := *w
	now.base, now.size, now.unit = slices.Clone(w.base), slices.Clone(w.size), slices.Clone(w.unit)
	now.known = slices.Clone(w.known)
	if w.dynamic != nil {
		now.dynamic = make([][]span64, len(w.ever)) // detached memory keeps its name until the region ends
		for member, spans := range w.ever {
			now.dynamic[member] = slices.Clone(spans)
		}
	}
	return &now
}

// At is that of Exposure.
func (ws *windows) At(owner int32, addr uint64, prefer int64) (regions.Exposed, bool) {
	var found *window
	var member int
	for _, w := range ws.live {
		i := slices.Index(w.members, owner)
		if i < 0 {
			continue
		}
		if w.holds(i, addr) && (found == nil || w.ID == prefer) {
			found, member = w, i
		}
	}
	if found == nil {
		return regions.Exposed{}, false
	}
	return found.exposed(member, addr), true
}

// exposed returns the memory of a member that holds addr.
func (w *window) exposed(member int, addr uint64) regions.Exposed {
	if w.dynamic == nil {
		lo := w.base[member]
		return regions.Exposed{Object: &w.Object, Base: lo, Lo: lo, Hi: lo + w.size[member], Unit: w.unit[member]}
	}
	e := regions.Exposed{Object: &w.Object}
	for _, s := range slices.Backward(w.dynamic[member]) {
		if addr >= s.lo && addr < s.hi {
			e.Lo, e.Hi, e.Unit, e.Attached = s.lo, s.hi, w.unit[member], s.by
			break
		}
	}
	return e
}

// Parts is that of Exposure.
func (ws *windows) Parts(owner int32) []regions.Exposed {
	var out []regions.Exposed
	for _, w := range ws.live {
		i := slices.Index(w.members, owner)
		switch {
		case i < 0 || !w.known[i]:
		case w.dynamic != nil:
			for _, s := range w.dynamic[i] {
				out = append(out, regions.Exposed{Object: &w.Object, Lo: s.lo, Hi: s.hi})
			}
		case w.size[i] > 0:
			out = append(out, regions.Exposed{Object: &w.Object, Base: w.base[i], Lo: w.base[i], Hi: w.base[i] + w.size[i]})
		}
	}
	return out
}
