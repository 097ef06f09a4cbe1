package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/intervals"
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
	sameOp  bool                         // accumulate_ops is same_op
	order   int64                        // accumulate_ordering
	dynamic []attachments                // by member; nil unless the window is dynamic
	gone    []intervals.Set[*goneMemory] // by member; nil as long as no memory is gone
	freed   int                          // members that have freed it
	shared  bool                         // made by MPI_Win_allocate_shared
	fences  map[fenceKey]*fenceCall      // that do not synchronise, or assert MPI_MODE_NOPUT
	lockers lockers
	fetched map[fetchedPiece]bool // which words may be fetched of, where that is not the whole window; nil: not asked yet
	namedBy int32                 // who gave Name
}

// attachments are the memory that a member has attached to a dynamic window.
type attachments struct {
	ever     []*piece // at any moment of the region, in the order of attachment; snapshots share the array
	detached []*piece // of it, detached again
}

// piece is memory of a process that a window exposes: its part of the window, or
// memory that it attached. It is among the exposed memory of the process: until
// the process has freed the window, or what was detached until the region ends.
type piece struct {
	intervals.Entry[*piece]
	window   *window
	by       *regions.CallInfo // the call that attached it; nil of other windows
	copy     *CopyMemory       // of attached memory in the separate memory model; otherwise nil
	detached *goneMemory       // nil while it is attached
	layout   *intervals.Layout // of its bytes from its first on, once asked for
}

// all returns the layout of the piece's bytes, from its first on.
func (x *piece) all() *intervals.Layout {
	if x.layout == nil {
		x.layout = intervals.NewLayout([]intervals.Run{intervals.Solid(0, x.Hi-x.Lo)})
	}
	return x.layout
}

// expose adds a piece of memory to what the process exposes.
func (p *process) expose(x *piece, lo, size uint64) {
	x.Lo, x.Hi, x.Value = lo, lo+size, x
	p.exposed.Add(&x.Entry)
}

// attach adds memory of a process to a dynamic window.
func (m *Model) attach(p *process, c *core.Call, e *epochs) {
	lo, size := c.Addr(argBase), c.Addr(argSize)
	x := &piece{window: e.win, by: p.Info(c), copy: e.copies.attach(p, lo, size)}
	p.expose(x, lo, size)
	all := &e.win.dynamic[e.rank]
	all.ever = append(all.ever, x)
	e.win.isBack(e.rank, x)
}

// detach takes the memory that begins at an address out of a dynamic window.
func (m *Model) detach(p *process, c *core.Call, e *epochs) {
	all := &e.win.dynamic[e.rank]
	for _, s := range p.exposed.Starting(c.Addr(argBase)) {
		if x := s.Value; x.window == e.win && x.detached == nil {
			x.copy.end(p)
			m.detached(p, c, e, x)
			all.detached = append(all.detached, x)
		}
	}
}

// forgetDetached begins a region: only what is attached now counts as attached in it.
func (m *Model) forgetDetached(w *window) {
	for i := range w.dynamic {
		all := &w.dynamic[i]
		if len(all.detached) == 0 {
			continue
		}
		for _, x := range all.detached {
			m.procs[w.members[i]].exposed.Remove(&x.Entry)
			w.gone[i].Remove(&x.detached.Entry)
		}
		ever := make([]*piece, 0, len(all.ever)-len(all.detached))
		for _, x := range all.ever {
			if x.detached == nil {
				ever = append(ever, x)
			}
		}
		*all = attachments{ever: ever}
	}
}

// withdraw takes a dynamic window that all members have freed out of what they
// expose.
func (m *Model) withdraw(w *window) {
	for i := range w.dynamic {
		for _, x := range w.dynamic[i].ever {
			m.procs[w.members[i]].exposed.Remove(&x.Entry)
		}
	}
}

// holds reports whether the part of a window that a member has holds addr.
func (w *window) holds(member int, addr uint64) bool {
	if !w.known[member] {
		return false
	}
	if w.dynamic != nil {
		return slices.ContainsFunc(w.dynamic[member].ever, func(x *piece) bool { return addr >= x.Lo && addr < x.Hi })
	}
	return addr-w.base[member] < w.size[member]
}

// fenceKey names the n-th fence of a member of a window.
type fenceKey struct {
	target int32
	n      uint64
}

// fenceCall is a fence of a member.
type fenceCall struct {
	// Guard is what operations wait for where the fence does not synchronise: none of
	// the epoch that it opens accesses the member's memory before.
	core.Guard
	noPut *voucher // it asserts MPI_MODE_NOPUT; otherwise nil
	// early are operations of the epoch that update the member's memory, and were
	// issued before the fence was replayed.
	early []*regions.CallInfo
}

// fence returns a fence of a member, which may be to come.
func (w *window) fence(target int32, n uint64) *fenceCall {
	key := fenceKey{target, n}
	f := w.fences[key]
	if f == nil {
		f = &fenceCall{}
		w.fences[key] = f
	}
	return f
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
		fences: map[fenceKey]*fenceCall{},
	}
	ws.byID[id] = w
	ws.live = append(ws.live, w)
	ws.seen = nil
	return w
}

func (m *Model) freed(w *window) {
	ws := &m.windows
	if w.freed++; w.freed == m.Present(w.members) {
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
	now.dynamic = slices.Clone(w.dynamic) // detached memory keeps its name until the region ends
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

// exposer is the window as findings tell it apart from others of the process.
func (e *epochs) exposer() core.Exposer { return core.Exposer{Object: e.win.ID, Made: e.made} }

// exposed returns the memory of a member that holds addr.
func (w *window) exposed(member int, addr uint64) regions.Exposed {
	if w.dynamic == nil {
		lo := w.base[member]
		return regions.Exposed{Object: &w.Object, Base: lo, Lo: lo, Hi: lo + w.size[member], Unit: w.unit[member]}
	}
	e := regions.Exposed{Object: &w.Object}
	for _, x := range slices.Backward(w.dynamic[member].ever) {
		if addr >= x.Lo && addr < x.Hi {
			e.Lo, e.Hi, e.Unit, e.Attached = x.Lo, x.Hi, w.unit[member], x.by
			break
		}
	}
	return e
}

// Made is that of Exposure.
func (ws *windows) Made(id int64) *regions.CallInfo {
	for _, w := range ws.live {
		if w.ID == id {
			return w.Created
		}
	}
	return nil
}

// Parts is that of Exposure.
func (ws *windows) Parts(owner int32) []regions.Exposed {
	var out []regions.Exposed
	for _, w := range ws.live {
		i := slices.Index(w.members, owner)
		switch {
		case i < 0 || !w.known[i]:
		case w.dynamic != nil:
			for _, x := range w.dynamic[i].ever {
				out = append(out, regions.Exposed{Object: &w.Object, Lo: x.Lo, Hi: x.Hi})
			}
		case w.size[i] > 0:
			out = append(out, regions.Exposed{Object: &w.Object, Base: w.base[i], Lo: w.base[i], Hi: w.base[i] + w.size[i]})
		}
	}
	return out
}

func doWinCreate(m *Model, p *process, c *core.Call, _ *entry) {
	g := m.group(p, c, argComm)
	id := c.Int(argWin)
	switch {
	case g == nil:
		return
	case id == 0 && !c.Returned: // no window, but the process stands in the call
		m.collect(p, c, core.MeetKey{On: c.Int(argComm)}, g, core.AllToAll, core.NoRoot, nil)
		return
	case id == 0:
		return
	}
	w := m.windows.byID[id]
	if w == nil {
		w = m.windows.add(id, g)
	}
	i := rankIn(g, p.Rank)
	if i < 0 {
		p.NotUnderstood(c, "the caller is not in the communicator")
		return
	}
	switch w.known[i] = true; {
	case c.Has(argBase):
		w.base[i], w.size[i], w.unit[i] = c.Addr(argBase), c.Addr(argSize), c.Addr(argDispUnit)
	case c.Has(argBaseptr):
		w.base[i], w.size[i], w.unit[i] = c.Addr(argBaseptr), c.Addr(argSize), c.Addr(argDispUnit)
	default: // dynamic: displacements are addresses
		w.unit[i] = 1
		if w.dynamic == nil {
			w.dynamic = make([]attachments, len(g.Local))
		}
	}
	w.inform(c)
	if w.unified, w.shared = c.Int(argModel) != 0, c.Fn.Name == "MPI_Win_allocate_shared"; w.shared {
		p.TellsAtomics()
	}
	if w.Created == nil || p.Rank < w.Created.Rank {
		w.Created = p.Info(c)
	}
	if before := p.wins[id]; before != nil { // its call of MPI_Win_free was lost
		p.exposed.Remove(&before.part.Entry)
	}
	e := &epochs{win: w, rank: i, made: c.Stack, locks: lockEpochs{last: map[int32]*lockEpoch{}}, part: piece{window: w}}
	if w.dynamic == nil {
		p.expose(&e.part, w.base[i], w.size[i])
	}
	p.wins[id], p.epochsOn.last = e, e
	m.collect(p, c, core.MeetKey{On: c.Int(argComm)}, g, core.AllToAll, core.NoRoot, func() {
		e.since = m.now(p)
		m.expose(p, e)
	})
}

// inform takes what the tracer says of a window's info keys.
func (w *window) inform(c *core.Call) {
	if c.Has(argAccumulateOps) {
		w.sameOp, w.order, w.Mode = c.Int(argAccumulateOps) == 1, c.Int(argAccumulateOrdering), ""
		if w.sameOp {
			w.Mode = SameOp
		}
	}
}

func doWinInfo(m *Model, p *process, c *core.Call, _ *entry) {
	if e := m.epochsOf(p, c); e != nil {
		e.win.inform(c)
	}
}

// doWinName names a window as its lowest rank that does calls it.
func doWinName(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil || e.win.Name != "" && e.win.namedBy < p.Rank {
		return
	}
	var name []byte
	for _, character := range c.List(argWinName) {
		name = append(name, byte(character))
	}
	e.win.Name, e.win.namedBy = string(name), p.Rank
}

func doAttach(m *Model, p *process, c *core.Call, _ *entry) {
	if e := m.epochsOf(p, c); e != nil && e.win.dynamic != nil {
		m.attach(p, c, e)
	}
}

func doDetach(m *Model, p *process, c *core.Call, _ *entry) {
	if e := m.epochsOf(p, c); e != nil && e.win.dynamic != nil {
		m.detach(p, c, e)
	}
}

func doWinFree(m *Model, p *process, c *core.Call, _ *entry) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	m.finish(p, e, p.Info(c), buffers|targets, covered(c))
	e.copies.free(p)
	m.closeFence(p, e)
	w, id := e.win, e.win.ID
	m.collect(p, c, core.MeetKey{On: id, Of: onWindow}, w.group, core.AllToAll, core.NoRoot, func() {
		delete(p.wins, id)
		p.epochsOn.last = nil
		p.exposed.Remove(&e.part.Entry)
		p.DropAliases(id)
		if lo := w.base[e.rank]; w.dynamic == nil {
			p.NewMemory(lo, lo+w.size[e.rank]) // stores there need not be recorded any more
		}
		m.freed(w)
	})
}
