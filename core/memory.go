package core

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// memory is what is known of the memory that a process sees, and of the locks
// that protect what it does there.
type memory struct {
	aliases intervals.Set[Alias]
	buffers intervals.Set[*Pending] // accesses of the strand to buffers of its process that are open and were asked for
	holds   []*Hold                 // locks held, in the order in which they were taken
	own     *regions.LockSet        // those that cover the process's own memory
	locked  []*Pending              // accesses to buffers that locks of the strand protect
	whole   bool                    // all that is done in the process's memory matters to the part that has the process
	rows    []trace.Rows            // room for those of one part
	aliasLayouts
	recentHolds [4]recentHold
}

// recentHold is a lock that the process took, so that to take it again needs to look at
// nothing that is common to all processes.
type recentHold struct {
	lock   regions.Lock
	set    *regions.LockSet // of it alone; nil: there is none
	region int              // the last in which it was taken
}

// recentHold returns what is known of a lock that the strand takes.
func (s *Strand) recentHold(l regions.Lock) *recentHold {
	slot := uint32(l.Target) << 1
	if l.Exclusive {
		slot |= 1
	}
	r := &s.memory.recentHolds[slot%uint32(len(s.memory.recentHolds))]
	if r.set == nil || r.lock != l {
		*r = recentHold{lock: l, set: s.m.registry.lockSets.Only(l), region: -1}
	}
	return r
}

// KeepAll says that all that is done in the memory of the strand's process from
// now on matters to that part of memory that has the process.
func (s *Strand) KeepAll() { s.memory.whole = true }

// wants reports whether what is done in [lo, hi) of a process's memory matters to
// the part of memory that the replay is for.
func (m *Machine) wants(owner int32, lo, hi uint64) bool {
	part := m.opts.Part
	return part.Whole() || m.processes[owner].memory.whole && part.HasProcess(owner) || part.Touches(owner, lo, hi)
}

// Alias is memory of another process as it lies in the address space of this
// one. What is accessed there is the owner's memory (detection model, "Accesses").
type Alias struct {
	Lo, Hi  uint64 // addresses of this process, half-open
	Shift   uint64 // added to them: addresses of the owner
	Owner   int32
	Exposer // by which it is shared
}

// AddAlias notes that memory of another process lies in this one's, where that is not known.
func (s *Strand) AddAlias(a Alias) {
	for _, e := range s.memory.aliases.Overlapping(a.Lo, a.Lo+1) {
		if e.Value == a {
			return
		}
	}
	s.memory.aliases.Add(&intervals.Entry[Alias]{Lo: a.Lo, Hi: a.Hi, Value: a})
}

// DropAliases forgets the memory that an object shared.
func (s *Strand) DropAliases(object int64) {
	s.memory.aliases.RemoveFunc(func(a Alias) bool { return a.Object == object })
}

// locate gives an access to a buffer of this process its owner: another process
// when the buffer lies in an alias. A buffer that lies in several counts to that
// of its first byte. It returns the object that shares the memory, or 0.
func (s *Strand) locate(a *regions.Access) (object int64) {
	a.Owner = s.Rank
	if s.memory.aliases.Len() == 0 {
		return 0
	}
	lo, _ := a.Layout.Bounds(a.Base)
	first := s.memory.aliases.Overlapping(lo, lo+1)
	if len(first) == 0 {
		return 0
	}
	x := &first[0].Value
	a.Owner = x.Owner
	a.Base += x.Shift
	return x.Object
}

// Place gives an access to the memory of a process, at addresses of that process, its owner:
// another process where it lies in an alias. Of one that lies in several it takes the first part,
// and returns the others.
func (m *Machine) Place(a *regions.Access) (others []regions.Access) {
	s := m.processes[a.Owner].first
	if s == nil || s.memory.aliases.Len() == 0 {
		return nil
	}
	rest, all := a.Layout, *a
	var parts []regions.Access
	lo, hi := a.Layout.Bounds(a.Base)
	for _, e := range s.memory.aliases.Overlapping(lo, hi) {
		x, part := &e.Value, all
		part.Owner, part.Base = x.Owner, all.Base+x.Shift
		if lo >= x.Lo && hi <= x.Hi {
			*a = part
			return nil
		}
		if part.Layout = rest.Within(all.Base, x.Lo, x.Hi); !part.Layout.IsEmpty() {
			parts = append(parts, part)
			rest = rest.Without(all.Base, x.Lo, x.Hi)
		}
	}
	if !rest.IsEmpty() {
		a.Layout = rest
		return parts
	}
	*a = parts[0]
	return parts[1:]
}

// Hold is a lock that a process holds. Of several strands it protects those that know of
// it, as long as who gives it up knows what they do.
type Hold struct {
	lock regions.Lock
	set  *regions.LockSet // of it alone

	at     regions.Point   // where it was taken
	region int             // in that region
	of     map[int32]int32 // by line, the last separate region of the present region in which it protected; nil: there is one strand
	within int             // the region of these
}

// Locks returns the lock as a set, for what the strand does under it; the empty set of a
// lock of which the strand does not know.
func (h *Hold) Locks(s *Strand) *regions.LockSet {
	if !h.protects(s) {
		return nil
	}
	return h.set
}

// protects reports whether the lock protects what the strand does now.
func (h *Hold) protects(s *Strand) bool {
	if s.team == nil {
		return true
	}
	if h.region == s.m.index && !s.Knows(h.at) {
		return false
	}
	h.until(s.Now(), s.m.index)
	return true
}

// until notes that the lock protects something at a moment.
func (h *Hold) until(at regions.Point, region int) {
	if h.of == nil || h.within != region {
		h.of, h.within = map[int32]int32{}, region
	}
	h.of[at.Line] = max(h.of[at.Line], at.Seg)
}

// checkProtected: the strand gives the lock up. What others do under it has to come
// before that.
func (h *Hold) checkProtected(s *Strand) {
	if h.within != s.m.index {
		return
	}
	for line, seg := range h.of {
		if !s.Knows(regions.Point{Line: line, Seg: seg}) {
			if x := (heldLock{h.lock, s.Rank}); !slices.Contains(s.m.locks.beside, x) {
				s.m.locks.beside = append(s.m.locks.beside, x)
			}
			return
		}
	}
}

// heldLock is a lock that a process has held.
type heldLock struct {
	regions.Lock
	rank int32
}

// heldLocks are those that were held in the region under way, and of these the ones that
// were given up beside what another thread did under them.
type heldLocks struct {
	all    map[heldLock]bool
	beside []heldLock
}

func (x *heldLocks) add(h *Hold, rank int32) {
	if x.all == nil {
		x.all = map[heldLock]bool{}
	}
	x.all[heldLock{h.lock, rank}] = true
}

// checkLocks ends a region: a lock that protects less than it seems to matters where
// another process has held one that it excludes.
func (m *Machine) checkLocks() {
	for _, x := range m.locks.beside {
		for y := range m.locks.all {
			if x.rank != y.rank && regions.Excludes(x.Lock, y.Lock) {
				m.Report(Problem{Kind: Threads, Rank: x.rank, Fn: "lock",
					Text: fmt.Sprintf("rank %d gave up a lock of a window beside what another thread did under it", x.rank)})
				break
			}
		}
	}
	m.locks.beside = nil
	clear(m.locks.all)
	for _, p := range m.processes {
		for _, h := range p.memory.holds {
			m.locks.add(h, p.first.Rank)
		}
	}
}

// Hold notes that the strand holds a lock from now on.
func (s *Strand) Hold(l regions.Lock) *Hold {
	y := &s.memory
	r := s.recentHold(l)
	h := &Hold{lock: l, set: r.set, at: s.Now(), region: s.m.index}
	y.holds = append(y.holds, h)
	if r.region != s.m.index {
		r.region = s.m.index
		s.m.locks.add(h, s.Rank)
	}
	if l.Covers(s.Rank) {
		s.setOwn(y.own.With(h.set))
	}
	return h
}

// Release notes that a lock is given up. Pending buffers that it protected
// outlast it.
func (s *Strand) Release(h *Hold) {
	y := &s.memory
	y.holds = slices.DeleteFunc(y.holds, func(x *Hold) bool { return x == h })
	h.checkProtected(s)
	s.setOwn(y.own.Without(h.lock))
	open := y.locked[:0]
	for _, p := range y.locked {
		if p.over() {
			continue
		}
		if p.access.Locks = p.access.Locks.Without(h.lock); p.access.Locks != nil {
			open = append(open, p)
		}
	}
	clear(y.locked[len(open):])
	y.locked = open
}

// setOwn changes the locks that cover the process's own memory.
func (s *Strand) setOwn(set *regions.LockSet) {
	if set != s.memory.own {
		s.memory.own = set
		s.m.store.SetLocks(s.Rank, set)
	}
}

// ownLocks returns the locks that cover what the strand itself does in the memory of its
// process.
func (s *Strand) ownLocks() *regions.LockSet {
	y := &s.memory
	if s.team == nil || y.own == nil {
		return y.own
	}
	var set *regions.LockSet
	for _, h := range y.holds {
		if h.lock.Covers(s.Rank) && h.protects(s) {
			set = set.With(h.set)
		}
	}
	return set
}

// locksOn returns the locks that cover what the strand itself accesses in the
// memory of owner: its own memory, or an alias, where only locks of the object that
// shares it count.
func (s *Strand) locksOn(owner int32, object int64) *regions.LockSet {
	if owner == s.Rank {
		return s.ownLocks()
	}
	var all *Hold
	for _, h := range slices.Backward(s.memory.holds) {
		switch {
		case h.lock.Object != object || !h.protects(s):
		case h.lock.Target == owner:
			return h.set
		case h.lock.Target == regions.AnyTarget && all == nil:
			all = h
		}
	}
	if all == nil {
		return nil
	}
	return all.set
}

// OpenBuffer begins an access to a buffer of the process. The locks that the
// strand holds there protect it as long as it holds them.
func (s *Strand) OpenBuffer(a *regions.Access) *Pending {
	object := s.locate(a)
	a.Locks = s.locksOn(a.Owner, object)
	return s.openBuffer(a, a.Locks != nil)
}

// OpenUnder begins an access to a buffer of the process by an operation that is
// issued under locks, which protect it where they cover the process's own memory.
func (s *Strand) OpenUnder(a *regions.Access, locks *regions.LockSet) *Pending {
	object := s.locate(a)
	if object == 0 {
		a.Locks = locks.At(a.Owner)
		return s.openBuffer(a, false)
	}
	a.Locks = s.locksOn(a.Owner, object)
	return s.openBuffer(a, a.Locks != nil)
}

func (s *Strand) openBuffer(a *regions.Access, locked bool) *Pending {
	own := a.Owner == s.Rank
	lo, hi := a.Layout.Bounds(a.Base)
	p := s.openIf(a, s.m.opts.Part.HasProcess(a.Owner))
	p.buffer, p.lo, p.hi = own, lo, hi
	if locked && p.access != nil {
		p.locked = true
		s.memory.locked = append(s.memory.locked, p)
	}
	return p
}

// decideLocks decides, where a phase or a region ends, which of the locks that
// protect pending buffers will still be held when these complete. The others do
// not protect them: a lock excludes only what lies between lock and unlock.
func (m *Machine) decideLocks() {
	for _, p := range m.processes {
		s, y := p.first, &p.memory
		for _, p := range y.locked {
			if p.over() || p.locksDecided {
				continue
			}
			p.locksDecided = true
			for _, l := range p.access.Locks.Held() {
				if !m.heldUntil(s, p.Of, l) {
					p.access.Locks = p.access.Locks.Without(l)
				}
			}
		}
		y.locked = slices.DeleteFunc(y.locked, func(p *Pending) bool { return p.over() || p.access.Locks == nil })
	}
}

func (m *Machine) heldUntil(s *Strand, of any, l regions.Lock) bool {
	for _, model := range m.models {
		if model.HeldUntil(s, of, l) {
			return true
		}
	}
	return false
}
