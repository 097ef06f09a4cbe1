package core

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// Pending is an access that is not yet complete, or several that the same completes
// (Take). In each region that it spans it is another regions.Access. Where no byte of
// it lies in the part of memory that the replay is for, it is only counted: what is
// counted is the same in all parts, since it decides on the phases.
type Pending struct {
	// Of is the operation of its model that the access is part of, by which the
	// model knows what completes it: see Model.HeldUntil. nil: nothing will.
	Of any

	access *regions.Access // the first of those that are not left out; nil: there is none
	strand *Strand         // that makes it
	others
	bufferBytes
	done         bool
	carried      *regions.Carried // in the storage, from the region after the one it began in
	away         bool             // it is not among the open ones any more
	listed       bool             // the storage has it: Complete must not add it
	guarded      bool             // waits for a Guard that is not passed yet
	locksDecided bool             // which locks protect it until it is complete is decided
	locked       bool             // it was among those of its strand that locks protect
	kept         bool             // its model may refer to it when it is complete
	seen         bool             // it is left out, and among those of pendingAccesses.seen
	completion   regions.Completion
	first        *Pending // the part of it before the last Part; nil where there is none
	region       int      // in which it was completed

	before, after *Pending // of those that are open
}

// bufferBytes is where an access to a buffer of the strand's own process lies.
type bufferBytes struct {
	buffer  bool // it is one
	lo, hi  uint64
	indexed *intervals.Entry[*Pending] // in memory.buffers; nil as long as nobody asked
}

// pendingAccesses are those that are open, in the order in which they began, but
// for those that were put away.
type pendingAccesses struct {
	machine     *Machine
	first, last *Pending
	spare       []*Pending
	kept        []*Pending // those that may be seen to be complete after they are (Keep)

	// indexed is the last of those that were looked at for memory.buffers: all
	// before it were; nil: none of the open ones was.
	indexed *Pending

	leftOut    int // open accesses that are left out
	leftOutNew int // since the phase, or with the concurrent region, began

	// seen are those left out, or carried into this region, that are not carried any
	// further, since somebody has Seen that they are complete.
	seen []*Pending
}

func (l *pendingAccesses) add(p *Pending) {
	p.before = l.last
	if l.last == nil {
		l.first = p
	} else {
		l.last.after = p
	}
	l.last = p
}

func (l *pendingAccesses) remove(p *Pending) {
	if p == l.indexed {
		l.indexed = p.before
	}
	if p.before == nil {
		l.first = p.after
	} else {
		p.before.after = p.after
	}
	if p.after == nil {
		l.last = p.before
	} else {
		p.after.before = p.before
	}
	p.before, p.after = nil, nil
}

// index adds the accesses to buffers that are not yet in memory.buffers of their
// strands. Most are complete before anybody asks for them.
func (l *pendingAccesses) index() {
	p := l.first
	if l.indexed != nil {
		p = l.indexed.after
	}
	for ; p != nil; p = p.after {
		p.index()
	}
	l.indexed = l.last
}

// index adds an access to memory.buffers, where it is to a buffer.
func (p *Pending) index() {
	if p.buffer && p.indexed == nil {
		p.indexed = &intervals.Entry[*Pending]{Lo: p.lo, Hi: p.hi, Value: p}
		p.strand.memory.buffers.Add(p.indexed)
	}
}

// all visits those that are open. That which is visited may be completed.
func (l *pendingAccesses) all(visit func(*Pending) bool) {
	for p := l.first; p != nil; {
		next := p.after
		if !visit(p) {
			return
		}
		p = next
	}
}

func (l *pendingAccesses) take() *Pending {
	if n := len(l.spare); n > 0 {
		p := l.spare[n-1]
		l.spare = l.spare[:n-1]
		*p = Pending{}
		return p
	}
	return &Pending{}
}

// NewAccess returns room for an access, with whatever was there before. It is for
// Open or Unused.
func (m *Machine) NewAccess() *regions.Access { return m.store.NewAccess() }

// Unused takes back room for an access that is not needed.
func (m *Machine) Unused(a *regions.Access) { m.store.GiveBack(a) }

// Open begins an access of the strand that spans from now until it is completed.
// The access, of which all but the times is given, is the Machine's from now on.
func (s *Strand) Open(a *regions.Access) *Pending { return s.openIf(a, false) }

// openIf is Open, and leaves nothing out that is wanted in any case.
func (s *Strand) openIf(a *regions.Access, wanted bool) *Pending {
	s.writes(a, a.Owner)
	if lo, hi := a.Layout.Bounds(a.Base); wanted || s.m.wants(a.Owner, lo, hi) {
		return s.open(a)
	}
	s.m.store.GiveBack(a)
	return s.leaveOut()
}

// OpenBehind begins an access that starts no earlier than a guard is passed. It is
// never left out: whether it matters to a part of memory is asked when it starts.
func (s *Strand) OpenBehind(a *regions.Access, g *Guard) *Pending {
	s.writes(a, a.Owner)
	p := s.open(a)
	g.delay(s.m, p)
	return p
}

func (s *Strand) open(a *regions.Access) *Pending {
	p := s.m.pending.take()
	p.access, p.strand = a, s
	a.Start, a.End, a.Span = s.Now(), regions.Point{Line: s.line, Seg: regions.Never}, &p.completion
	a.Bounds = s.within()
	s.m.phase.grown++
	s.m.pending.add(p)
	return p
}

// OpenSince begins an access to memory of the strand's own process that spans from an
// earlier moment of the strand, in this concurrent region or before it; by is the
// call that findings name as the last synchronization before.
func (s *Strand) OpenSince(a *regions.Access, at regions.Point, by *regions.CallInfo) *Pending {
	p := s.Open(a)
	if p.access != nil {
		p.access.Start, p.access.Bounds = at, &regions.Bounds{Begin: by}
	}
	return p
}

// leaveOut begins an access that is only counted.
func (s *Strand) leaveOut() *Pending {
	p := s.m.pending.take()
	p.strand = s
	p.leaveOutMore(1)
	s.m.pending.add(p)
	return p
}

// leaveOutMore makes it stand for more accesses that are only counted.
func (p *Pending) leaveOutMore(n int) {
	l := &p.strand.m.pending
	p.leftOut += n
	p.strand.m.phase.grown += n
	l.leftOut += n
	l.leftOutNew += n
}

// Complete ends the access at a moment, unless it is complete; by is the call
// that does, or nil.
func (p *Pending) Complete(at regions.Point, by *regions.CallInfo) {
	if p.done { // that may be so by itself (GiveUp)
		for _, q := range p.apart {
			q.Complete(at, by)
		}
		return
	}
	m := p.strand.m
	p.strand.ended++
	p.done, p.region = true, m.index
	if !p.away {
		m.pending.remove(p)
	}
	if p.indexed != nil {
		p.strand.memory.buffers.Remove(p.indexed)
	}
	if p.locked && p.strand.team != nil && m.store.Region().Process(at.Line) == p.strand.Rank {
		for _, h := range p.strand.memory.holds {
			h.until(at, m.index)
		}
	}
	if p.leaveOutNoMore(at); p.access == nil || p.completeOthers(at, by) {
		return
	}
	if p.carried != nil {
		p.access, p.carried = m.store.Finish(p.carried), nil
	}
	p.access.End = at
	for q := p; q != nil; q = q.first {
		q.completion.By = by
	}
	switch {
	case p.listed:
	case m.store.Settle(p.access, by):
		m.store.GiveBack(p.access)
		p.access = nil // it may be another one from now on
	default:
		p.list()
	}
	if p.kept {
		m.pending.keep(p)
	}
}

// Renew completes the access at the present moment of its strand and begins it once
// more there, for something else to complete; by is the call that does.
func (p *Pending) Renew(by *regions.CallInfo) *Pending {
	s := p.strand
	p.spreadCarried()
	again := p.reopen(s, nil)
	if again.locked = p.locked && p.access.Locks != nil; again.locked {
		s.memory.locked = append(s.memory.locked, again)
	}
	p.Complete(s.Now(), by)
	return again
}

// reopen begins the access once more at the present moment of a strand, in a role; nil: in that
// which it has.
func (p *Pending) reopen(s *Strand, role *regions.Role) *Pending {
	var again *Pending
	if p.access == nil {
		again = p.leaveOutAgain(s)
	} else {
		a := s.m.store.NewAccess()
		*a = *p.access
		a.Old, a.Role = false, cmp.Or(role, a.Role)
		again = s.open(a)
	}
	again.buffer, again.lo, again.hi = p.buffer, p.lo, p.hi
	return again
}

// Keep says that the access may be Seen after it is complete: it must not be dropped,
// and is held one by one.
func (p *Pending) Keep() {
	p.spread()
	p.spreadCarried()
	for _, q := range p.apart {
		q.Keep()
	}
	if p.kept {
		return
	}
	p.kept = true
	if p.list(); p.done {
		p.strand.m.pending.keep(p)
	}
}

// keep notes an access that is complete and may still be Seen.
func (l *pendingAccesses) keep(p *Pending) {
	if p.access != nil {
		l.kept = append(l.kept, p)
	}
}

// Seen says that the access is complete for whatever comes after a moment, where
// somebody has seen what takes effect after it, though the call that completes it may
// come later, or be unordered with that.
func (p *Pending) Seen(at regions.Point) {
	m := p.strand.m
	p.spreadCarried()
	for _, q := range p.apart {
		q.Seen(at)
	}
	p.seenLeftOut()
	switch {
	case p.access == nil, p.done && p.region != m.index:
		return
	case p.carried != nil:
		p.access, p.carried = m.store.Finish(p.carried), nil
		m.pending.seen = append(m.pending.seen, p)
	}
	p.access.Seen = append(slices.Clip(p.access.Seen), at)
}

// over reports whether nothing more is to be said of a single access: it is complete, or
// seen to be for all that is to come.
func (p *Pending) over() bool { return p.done || p.access == nil }

// Past reports whether the access is complete, or seen to be, for all that is to come: also one that
// is left out, so that what is known of words is the same for all parts of memory.
func (p *Pending) Past() bool {
	return p.access == nil && p.leftOut == 0 || p.done && p.region != p.strand.m.index
}

// Gone reports whether nothing of the access is held any more: it is complete, or seen to be for
// all that is to come.
func (p *Pending) Gone() bool { return p.access == nil && p.leftOut == 0 && len(p.apart) == 0 }

// seenLeftOut is Seen for accesses that are left out.
func (p *Pending) seenLeftOut() {
	if p.leftOut > 0 && !p.done && !p.seen {
		p.seen = true
		l := &p.strand.m.pending
		l.seen = append(l.seen, p)
	}
}

// leaveOutAgain begins an access that is only counted, and goes on with one that is.
func (p *Pending) leaveOutAgain(s *Strand) *Pending {
	again := s.leaveOut()
	if p.seen {
		again.seenLeftOut()
	}
	return again
}

// leaveOutNoMore notes that accesses that are left out end.
func (p *Pending) leaveOutNoMore(at regions.Point) {
	if m := p.strand.m; p.leftOut > 0 {
		m.pending.leftOut -= p.leftOut
		m.paths[at.Line].last().Ended += p.leftOut
	}
}

// Drop takes back an access that is complete, and that nothing refers to but
// its model's operation.
func (p *Pending) Drop() {
	for _, q := range p.apart {
		q.Drop()
	}
	if !p.listed && !p.locked && !p.kept { // accesses of the phase refer to it
		l := &p.strand.m.pending
		l.spare = append(l.spare, p)
	}
}

// list adds the access to those of the phase.
func (p *Pending) list() {
	if !p.listed && p.access != nil {
		p.listed = true
		p.strand.m.store.Add(p.access)
	}
}

// list adds the accesses that are not complete to those of the phase, which is the
// last of the region or is not; last: nothing follows it.
func (l *pendingAccesses) list(regionEnds, last bool) {
	for p := range l.all {
		if whole := regionEnds && p.open != nil && (last || p.carriesAll()); !whole {
			p.spread()
			continue
		}
		l.machine.store.ListAll(p.open, p.strand.line, &p.completion)
		p.listed = true
		path := l.machine.paths[p.access.Start.Line]
		p.open.Bound(func(seg int32) *regions.Bounds { return path.at(seg).Bounds })
	}
	for p := range l.all {
		p.list()
	}
}

// carry takes the accesses that are not complete into the region that begins:
// there they start before it. It leaves to the storage all that nothing will change
// but its completion.
func (l *pendingAccesses) carry() {
	for _, p := range l.seen { // all come after whoever saw that it is complete
		if !p.done {
			l.leftOut, p.leftOut, p.access = l.leftOut-p.leftOut, 0, nil
		}
	}
	l.leftOutNew, l.kept, l.seen = l.leftOut, nil, nil
	store := l.machine.store
	for p := range l.all {
		if p.access != nil && len(p.access.Seen) > 0 {
			p.access = nil
		}
		if p.access == nil {
			l.putAway(p)
			continue
		}
		if p.open != nil {
			p.carriedAll, p.open = store.CarryAll(p.open, &p.completion), nil
			l.putAway(p)
			continue
		}
		a := *p.access
		// Of other strands of the process there are no lines yet.
		a.Start, a.End = regions.BeforeRegion(a.Rank), regions.AfterRegion(a.Rank)
		a.Gated = p.guarded
		a.Gate = regions.Point{Line: a.Owner, Seg: regions.Later}
		a.Old = !a.Gated
		if p.listed = true; a.Gated || p.locked {
			p.access = store.Copy(&a)
			store.Add(p.access)
			continue
		}
		p.access = &a
		p.carried = store.Carry(p.access)
		l.putAway(p)
	}
}

// putAway takes an access off those that are looked at where phases and regions
// end. It is still open.
func (l *pendingAccesses) putAway(p *Pending) {
	p.index()
	l.remove(p)
	p.away = true
}

// goOn takes them into the next phase, as other accesses, and those that are kept.
func (l *pendingAccesses) goOn(carry func(*regions.Access) *regions.Access) {
	for p := range l.all {
		if p.access != nil {
			if p.access, p.listed = carry(p.access), true; p.access == nil { // it was seen to be complete
				l.putAway(p)
			}
		}
	}
	for _, p := range l.seen {
		if p.away && !p.done && p.access != nil {
			p.access = carry(p.access)
		}
	}
	l.kept = slices.DeleteFunc(l.kept, func(p *Pending) bool {
		if p.done && p.access != nil && p.region == l.machine.index {
			p.access = carry(p.access)
		}
		return p.access == nil
	})
}

// GiveUp ends the accesses of pending operations to buffers that lay in memory
// [lo, hi) of the strand's process, just after this moment: what the program does
// there later is done to other variables.
func (s *Strand) GiveUp(lo, hi uint64) {
	after := s.Now()
	after.Pos++
	s.Recycle(lo, hi)
	s.NewMemory(lo, hi)
	s.m.pending.index()
	s.spreadBuffers(lo, hi)
	for _, b := range s.memory.buffers.Overlapping(lo, hi) {
		if b.Lo >= lo && b.Hi <= hi {
			p := b.Value
			apart := p.apart // which are complete if they are given up themselves
			p.apart = nil
			p.Complete(after, nil)
			p.apart = apart
		}
	}
}

// Recycle says that memory [lo, hi) of the process holds no variable of the program from
// now on: other strands may be given it for theirs, which nothing need order.
func (s *Strand) Recycle(lo, hi uint64) {
	if s.team != nil {
		s.m.store.Recycle(s.Rank, lo, hi, s.pos)
	}
}

// Instant adds an access of a call to its process's own memory that starts and
// completes now.
func (s *Strand) Instant(a regions.Access) {
	object := s.locate(&a)
	s.InstantAt(a, a.Owner, object)
}

// InstantAt adds an access of a call to the memory of owner that starts and
// completes now. Where that is another process, it is seen through an object
// (Alias).
func (s *Strand) InstantAt(a regions.Access, owner int32, object int64) {
	s.writes(&a, owner)
	s.instantAt(a, owner, object)
}

func (s *Strand) instantAt(a regions.Access, owner int32, object int64) {
	m := s.m
	a.Start = s.Now()
	a.End = a.Start
	s.ended++
	m.phase.grown++
	if lo, hi := a.Layout.Bounds(a.Base); !m.wants(owner, lo, hi) {
		m.pending.leftOutNew++
		s.path.last().Ended++
		return
	}
	a.Rank, a.Owner, a.Locks, a.Bounds = s.Rank, owner, s.locksOn(owner, object), s.within()
	if !m.store.Settle(&a, nil) {
		m.store.Add(m.store.Copy(&a))
	}
}
