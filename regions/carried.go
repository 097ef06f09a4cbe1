package regions

import (
	"cmp"
	"slices"
)

// An access that is not complete when its concurrent region ends is *carried*: it
// is an access of each region that follows, up to the one in which it is complete.
// There it starts before the region and completes after it, so that nothing in the
// region is ordered with it; and pairs of carried accesses were compared where the
// second of them began. So a region is given only the carried accesses that share
// bytes with something new in it: what they cost does not depend on how many
// regions they span.

// Carried is a carried access.
type Carried struct {
	access *Access
	group  *carriedGroup
	place  int // among the members of the group, those that were taken from its front included
}

// carriedKey is what carried accesses have in common that only the time of their
// call tells apart.
type carriedKey struct {
	shapeKey
	base   uint64
	site   CallSite
	elem   Element // zero: of none
	atomic uint32
	kind   Kind
}

func (a *Access) carriedKey() carriedKey {
	k := carriedKey{shapeKey: a.shapeKey(), base: a.Base, site: *a.Call.CallSite, atomic: a.Atomic, kind: a.Kind}
	if a.Elem != nil {
		k.elem = *a.Elem
	}
	return k
}

// carriedGroup is the carried accesses of one key, in the order of their calls.
type carriedGroup struct {
	key     carriedKey
	entries []gridEntry // of its pieces
	number  uint64      // in the order in which groups were made
	members []*Carried  // nil: it is complete
	// accesses are those of the members. Regions refer to parts of it, of which
	// nothing is changed.
	accesses []*Access
	first    int    // place of members[0]
	gone     int    // members that are nil
	wanted   uint64 // by the phase with that number
}

// carriedAccesses are those of a replay.
type carriedAccesses struct {
	n      int                               // accesses
	open   struct{ n, moments, batches int } // of CarriedOpens
	groups map[carriedKey]*carriedGroup
	grids  []grid // by owner
	made   uint64 // groups so far
	phase  uint64
	chosen []*carriedGroup // room
	chunks []*carriedChunk // room
}

// Carry takes an access that is not complete and starts before the region, which
// has begun just now. It stays as it is until it is given to Finish.
func (s *Storage) Carry(a *Access) *Carried {
	x := &s.carried
	x.begin(s.processes)
	key := a.carriedKey()
	g := x.groups[key]
	if g == nil {
		x.made++
		g = &carriedGroup{key: key, number: x.made}
		pieces(a, func(lo, hi uint64) {
			g.entries = append(g.entries, gridEntry{lo: lo, hi: hi, group: g})
		})
		x.groups[key] = g
		for i := range g.entries {
			x.grids[a.Owner].add(&g.entries[i])
		}
	}
	c := &Carried{access: a, group: g, place: g.first + len(g.members)}
	g.members, g.accesses = append(g.members, c), append(g.accesses, a)
	x.n++
	s.carriedNew++
	return c
}

func (x *carriedAccesses) begin(processes int) {
	if x.groups == nil {
		x.groups = map[carriedKey]*carriedGroup{}
		x.grids = make([]grid, processes)
	}
}

// Finish returns what a carried access is in the phase in which it completes, of
// which the end is to be filled in, and carries it no longer.
func (s *Storage) Finish(c *Carried) *Access {
	x, g := &s.carried, c.group
	g.members[c.place-g.first] = nil
	g.gone++
	for len(g.members) > 0 && g.members[0] == nil {
		g.members, g.accesses = g.members[1:], g.accesses[1:]
		g.first++
		g.gone--
	}
	if len(g.members) == 0 {
		delete(x.groups, g.key)
		for i := range g.entries {
			x.grids[c.access.Owner].remove(&g.entries[i])
		}
	}
	x.n--
	if s.carriedNew > 0 {
		s.carriedNew--
	} else {
		s.old++
	}
	return s.carry(c.access)
}

// close closes the gaps that members have left.
func (g *carriedGroup) close() {
	if g.gone == 0 {
		return
	}
	n := len(g.members) - g.gone
	members, accesses := make([]*Carried, 0, n), make([]*Access, 0, n)
	for i, c := range g.members {
		if c != nil {
			c.place = g.first + len(members)
			members, accesses = append(members, c), append(accesses, g.accesses[i])
		}
	}
	g.members, g.accesses, g.gone = members, accesses, 0
}

// giveCarried gives the region the carried accesses that may share bytes with what
// is new in it, or all.
func (s *Storage) giveCarried(r *Region, all bool) {
	x := &s.carried
	r.carried = x.n
	if x.n == 0 {
		return
	}
	x.phase++
	x.chosen, x.chunks = x.chosen[:0], x.chunks[:0]
	if all {
		for _, g := range x.groups {
			x.chosen = append(x.chosen, g)
		}
		for owner := range x.grids {
			x.grids[owner].all(x.take)
		}
	} else {
		s.chooseCarried()
	}
	slices.SortFunc(x.chosen, func(a, b *carriedGroup) int {
		return cmp.Or(cmp.Compare(a.key.owner, b.key.owner), cmp.Compare(a.number, b.number))
	})
	for _, g := range x.chosen {
		g.close()
		r.Carried = append(r.Carried, slices.Clip(g.accesses))
	}
	clear(x.chosen)
	r.given = s.giveChunks(x.chunks)
}

// chooseCarried looks for groups that may share bytes with what is new in the
// phase.
func (s *Storage) chooseCarried() {
	x := &s.carried
	for _, a := range s.calls {
		if !a.Old {
			pieces(a, func(lo, hi uint64) { x.choose(a.Owner, lo, hi) })
		}
	}
	for owner := range s.processes {
		if x.grids[owner].n > 0 {
			choose := func(lo, hi uint64) { x.choose(int32(owner), lo, hi) }
			for line := range s.region.Lines(int32(owner)) {
				s.locals[line].bounds(choose)
			}
			s.series.bounds(int32(owner), choose)
		}
	}
}

func (x *carriedAccesses) choose(owner int32, lo, hi uint64) {
	x.grids[owner].overlapping(lo, hi, func(e *gridEntry) {
		if g := e.group; g == nil {
			x.take(e)
		} else if g.wanted != x.phase {
			g.wanted = x.phase
			x.chosen = append(x.chosen, g)
		}
	})
}

// take chooses a chunk.
func (x *carriedAccesses) take(e *gridEntry) {
	if c := e.chunk; c != nil && c.wanted != x.phase {
		c.wanted = x.phase
		x.chunks = append(x.chunks, c)
	}
}

// mostPieces is how many ranges a scattered access is known by.
const mostPieces = 32

// pieces calls yield with ranges that hold all bytes of an access: its bounding box, or
// more where these are much less than that.
func pieces(a *Access, yield func(lo, hi uint64)) {
	lo, hi := a.Layout.Bounds(a.Base)
	if hi-lo < 4*a.Layout.Bytes() {
		yield(lo, hi)
		return
	}
	a.Layout.Pieces(a.Base, mostPieces, func(lo, hi uint64) bool {
		yield(lo, hi)
		return true
	})
}

// CarriedOf returns the carried accesses to the memory of a process, those that
// differ in the time of their call only together.
func (r *Region) CarriedOf(owner int32) [][]*Access {
	compare := func(all []*Access, owner int32) int { return cmp.Compare(all[0].Owner, owner) }
	from, _ := slices.BinarySearchFunc(r.Carried, owner, compare)
	to, _ := slices.BinarySearchFunc(r.Carried, owner+1, compare)
	return r.Carried[from:to]
}
