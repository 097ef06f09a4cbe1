package regions

import (
	"math"
	"slices"

	"github.com/mcchk/mcchk/evc"
)

// A concurrent region may be as long as the run: a program whose processes only
// exchange messages has one. So it is cut into phases. Where every process that
// may still make accesses in the region knows of a separate region, that is,
// knows a synchronization event behind it, what was completed in it is *past*:
// ordered before all that is to come. A phase ends when enough has become past;
// the next goes on with the rest. The accesses that two phases have in common
// are marked as old in the second, so that no pair is looked at twice.

// endPhase ends the phase when half of it is past, and returns it. Otherwise it
// returns nil, and tries again when the phase has grown to twice its size.
func (m *Machine) endPhase() *Region {
	if len(m.copies) > 0 {
		m.limit = math.MaxInt // the separate memory model is checked in whole regions
		return nil
	}
	var active []int
	for _, p := range m.procs {
		if p.state == running || p.state == waiting {
			active = append(active, int(p.rank))
		}
	}
	if len(active) == 0 {
		return nil
	}
	m.listOpen()
	floor := m.clock.Floor(active)
	for i, p := range m.procs {
		floor[i] = min(floor[i], uint32(len(p.segs)-1))
	}
	kept := m.kept(floor)
	if 2*kept > m.grown {
		m.limit = 2 * m.grown
		return nil
	}
	if m.store.err != nil {
		return nil
	}
	m.settleLocks()
	out := m.region()
	if n := len(m.calls); n > 0 && m.waitsForGate() {
		out.Calls = slices.DeleteFunc(slices.Clone(m.calls), (*Access).gateOpen)
	}
	before := m.clock
	m.clock = before.Next(floor)
	m.keepCalls(out, floor)
	m.beginMoments()
	m.keepSegments(out, before, floor)
	m.forgetLocks()
	m.grown, m.limit = kept, max(m.phase, 4*kept)
	return out
}

// past reports whether an access is over in a separate region that all active
// processes know of.
func (m *Machine) past(a *Access, floor []uint32) bool {
	return a.End.Seg >= 0 && m.below(a.End.Rank, a.End.Seg, floor)
}

// below reports whether a separate region lies below the floor.
func (m *Machine) below(rank, seg int32, floor []uint32) bool {
	return seg < m.procs[rank].first+int32(floor[rank])
}

// gateOpen reports whether the access waits for its target's fence: when it
// starts is not known yet.
func (a *Access) gateOpen() bool { return a.Gated && a.Gate.Seg == later }

func (m *Machine) waitsForGate() bool { return slices.ContainsFunc(m.calls, (*Access).gateOpen) }

// localBits is the size of a load or store in the memory of a phase, bits.
const localBits = 8 * 64

// weight is what a separate region takes, in loads and stores that take as much:
// the timestamp can be far larger than the rest.
func (m *Machine) weight(s evc.Stamp) int { return 1 + m.clock.Bits(s)/localBits }

// kept counts what is not past.
func (m *Machine) kept(floor []uint32) int {
	n := m.leftOut.open
	for i, p := range m.procs {
		for _, s := range p.segs[floor[i]:] {
			n += m.weight(s.Stamp) + s.loads + s.ended
		}
	}
	for _, a := range m.calls {
		if !m.past(a, floor) {
			n++
		}
	}
	m.keptMoments(floor, m.moments, m.store.spill, func(t *moment) { n += int(t.count) })
	return n
}

// keptLocals visits the loads and stores of a process that are not past, those
// in the file of the phase included.
func (m *Machine) keptLocals(p *proc, floor []uint32, f *spillFile, visit func(*Stretch)) {
	for r := p.locals.first; r != nil; r = r.next {
		stretches := r.stretches
		if w := r.stored; w != nil && m.store.err == nil {
			if m.below(p.rank, w.to, floor) {
				continue
			}
			if m.store.err = f.read(w, &m.store.scratch); m.store.err != nil {
				return
			}
			stretches = m.store.scratch.room.stretches
		}
		for k := range stretches {
			if s := &stretches[k]; !m.below(p.rank, s.Seg, floor) {
				visit(s)
			}
		}
	}
}

// keptMoments visits those of accesses that are not past.
func (m *Machine) keptMoments(floor []uint32, all []moments, f *spillFile, visit func(*moment)) {
	for i := range all {
		err := all[i].each(f, &m.store.scratch, func(t *moment) {
			if !m.below(t.endRank, t.endSeg, floor) {
				visit(t)
			}
		})
		if m.store.err == nil {
			m.store.err = err
		}
	}
}

// keepCalls takes the accesses of calls that are not past into the next phase.
// The replay goes on with copies of those that are not complete: the phase that
// ended keeps its own.
func (m *Machine) keepCalls(out *Region, floor []uint32) {
	calls := make([]*Access, 0, 64)
	again := func(a *Access) *Access {
		b := m.newAccess(*a)
		b.Old = true
		calls = append(calls, b)
		return b
	}
	for s := range m.spans.all {
		if !s.access.gateOpen() {
			s.access, s.listed = again(s.access), true
		}
	}
	for _, a := range m.calls {
		if a.End.Seg != never && !a.gateOpen() && !m.past(a, floor) {
			again(a)
		}
	}
	m.keptMoments(floor, out.moments, out.spill, func(t *moment) {
		for i := range uint64(t.count) {
			a := m.accessRoom()
			out.fullAccess(t, i, a)
			a.Old = true
			calls = append(calls, a)
		}
	})
	m.old = len(calls)
	for _, a := range m.calls {
		if a.gateOpen() {
			calls = append(calls, a)
		}
	}
	m.calls = calls
}

// keepSegments takes the separate regions above the floor, and the loads and
// stores in them, into the next phase.
func (m *Machine) keepSegments(out *Region, before evc.Clock, floor []uint32) {
	sets := []*LockSet{nil}
	moved := map[uint32]uint32{0: 0}
	move := func(i uint32) uint32 {
		j, ok := moved[i]
		if !ok {
			j = uint32(len(sets))
			sets = append(sets, m.lockSets[i])
			moved[i] = j
		}
		return j
	}
	for i, p := range m.procs {
		var kept locals
		m.keptLocals(p, floor, out.spill, func(s *Stretch) {
			t := *s
			t.locks = move(s.locks)
			kept.add(m.store, t)
		})
		kept.markOld()
		p.locals = kept
		p.ownIndex = move(p.ownIndex)

		segs := make([]Segment, 0, 2*(len(p.segs)-int(floor[i])))
		for _, s := range p.segs[floor[i]:] {
			s.Stamp = m.clock.Enter(before.Time(s.Stamp))
			segs = append(segs, s)
		}
		p.segs, p.first = segs, p.first+int32(floor[i])
	}
	m.lockSets = sets
}

// forgetLocks forgets the locks whose release is past, and declared signals: to
// wait for it orders nothing that is not ordered already.
func (m *Machine) forgetLocks() {
	for _, w := range m.windows.live {
		for _, o := range w.resources {
			o.forget(m)
		}
		for _, o := range w.lockers {
			o.order = slices.DeleteFunc(o.order, func(n int64) bool {
				s := &o.tickets[n].released
				if !s.given || s.region == m.index && !m.clock.Past(s.time) {
					return false
				}
				o.pastShared = o.pastShared || !o.tickets[n].exclusive
				o.pastExclusive = o.pastExclusive || o.tickets[n].exclusive
				delete(o.tickets, n)
				return true
			})
		}
	}
}
