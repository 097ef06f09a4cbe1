package regions

import (
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// window is an MPI window: the memory that each member exposes.
type window struct {
	Object
	group     *group
	members   []int32 // world ranks, by rank in the window's communicator
	base      []uint64
	size      []uint64
	unit      []uint64 // displacement unit
	known     []bool
	unified   bool
	sameOp    bool       // accumulate_ops is same_op
	order     int64      // accumulate_ordering
	dynamic   [][]span64 // attached memory by member; nil unless the window is dynamic
	ever      [][]span64 // what of it was attached at any moment of the region
	changed   bool       // ever is more than dynamic
	gone      []goneMemory
	freed     int  // members that have freed it
	shared    bool // made by MPI_Win_allocate_shared
	lockers   map[int32]*lockOrder
	resources map[resourceKey]*resource
	gates     map[fenceKey]*gate
}

// span64 is memory [lo, hi) attached to a dynamic window.
type span64 struct {
	lo, hi uint64
	by     *CallInfo // the call that attached it; nil of other windows
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

// gate is a call of a fence that does not synchronise, before which no
// operation of the epoch that it opens accesses the caller's memory.
type gate struct {
	passed bool // it was called: in that region, at that moment
	region int
	at     Point
	spans  []*span // the target accesses that it lets in
}

func (w *window) gate(target int32, fence uint64) *gate {
	key := fenceKey{target, fence}
	g := w.gates[key]
	if g == nil {
		g = &gate{}
		w.gates[key] = g
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
}

func (ws *windows) add(id int64, g *group) *window {
	ws.created++
	n := len(g.local)
	w := &window{
		Object: Object{ID: id, Number: ws.created, Kind: "window"}, group: g, members: g.local, order: trace.OrderAll,
		base: make([]uint64, n), size: make([]uint64, n), unit: make([]uint64, n), known: make([]bool, n),
		lockers: map[int32]*lockOrder{}, resources: map[resourceKey]*resource{}, gates: map[fenceKey]*gate{},
	}
	ws.byID[id] = w
	ws.live = append(ws.live, w)
	return w
}

func (ws *windows) free(w *window) {
	if w.freed++; w.freed == len(w.members) {
		delete(ws.byID, w.ID)
		ws.gone = append(ws.gone, w)
	}
}

// purge drops the windows freed in the region that has ended.
func (ws *windows) purge() {
	if len(ws.gone) > 0 {
		ws.live = slices.DeleteFunc(slices.Clone(ws.live), func(w *window) bool { return slices.Contains(ws.gone, w) })
		ws.gone = nil
	}
}

// snapshot returns the windows that a region saw; later changes do not touch it.
func (ws *windows) snapshot() *windows {
	live := ws.live
	for i, w := range live {
		if w.dynamic == nil {
			continue
		}
		if &live[0] == &ws.live[0] {
			live = slices.Clone(live)
		}
		now := *w
		now.dynamic = make([][]span64, len(w.ever)) // detached memory keeps its name until the region ends
		for member, spans := range w.ever {
			now.dynamic[member] = slices.Clone(spans)
		}
		live[i] = &now
	}
	return &windows{live: live}
}

// At is that of Exposure.
func (ws *windows) At(owner int32, addr uint64, prefer int64) (Exposed, bool) {
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
		return Exposed{}, false
	}
	return found.exposed(member, addr), true
}

// exposed returns the memory of a member that holds addr.
func (w *window) exposed(member int, addr uint64) Exposed {
	if w.dynamic == nil {
		lo := w.base[member]
		return Exposed{Object: &w.Object, Base: lo, Lo: lo, Hi: lo + w.size[member], Unit: w.unit[member]}
	}
	e := Exposed{Object: &w.Object}
	for _, s := range slices.Backward(w.dynamic[member]) {
		if addr >= s.lo && addr < s.hi {
			e.Lo, e.Hi, e.Unit, e.Attached = s.lo, s.hi, w.unit[member], s.by
			break
		}
	}
	return e
}

// lockOrder orders the lock epochs of one target of a window by the tickets
// that the tracer drew when the locks were granted.
type lockOrder struct {
	next    int64 // the lowest ticket not yet seen
	tickets map[int64]*lockTicket
	order   []int64 // tickets in tickets below next, ascending
	// Whether a shared, and an exclusive lock were forgotten, because their
	// releases are ordered before whatever is to come.
	pastShared, pastExclusive bool
}

func (w *window) locker(target int32) *lockOrder {
	o := w.lockers[target]
	if o == nil {
		o = &lockOrder{tickets: map[int64]*lockTicket{}}
		w.lockers[target] = o
	}
	return o
}

// lockTicket is one granted lock.
type lockTicket struct {
	exclusive bool
	seen      signal // its lock call was replayed
	released  signal // its unlock was
}

func (o *lockOrder) ticket(n int64) *lockTicket {
	t := o.tickets[n]
	if t == nil {
		t = &lockTicket{}
		o.tickets[n] = t
	}
	return t
}

// seen notes that the lock with ticket n was replayed.
func (m *Machine) seen(o *lockOrder, n int64, exclusive bool) *lockTicket {
	t := o.ticket(n)
	t.exclusive = exclusive
	m.give(&t.seen, evc.Time{})
	for o.tickets[o.next] != nil && o.tickets[o.next].seen.given {
		o.order = append(o.order, o.next)
		o.next++
	}
	o.prune()
	return t
}

// prune forgets the locks before the last exclusive one that was released:
// what comes later waits for that one, which had waited for them.
func (o *lockOrder) prune() {
	for i := len(o.order) - 1; i > 0; i-- {
		t := o.tickets[o.order[i]]
		if t.exclusive && t.released.given {
			for _, n := range o.order[:i] {
				delete(o.tickets, n)
			}
			o.order = slices.Delete(o.order, 0, i)
			return
		}
	}
}

// Parts is that of Exposure.
func (ws *windows) Parts(owner int32) []Exposed {
	var out []Exposed
	for _, w := range ws.live {
		i := slices.Index(w.members, owner)
		switch {
		case i < 0 || !w.known[i]:
		case w.dynamic != nil:
			for _, s := range w.dynamic[i] {
				out = append(out, Exposed{Object: &w.Object, Lo: s.lo, Hi: s.hi})
			}
		case w.size[i] > 0:
			out = append(out, Exposed{Object: &w.Object, Base: w.base[i], Lo: w.base[i], Hi: w.base[i] + w.size[i]})
		}
	}
	return out
}
