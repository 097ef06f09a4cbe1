package core

import (
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// A concurrent region may be as long as the run: a program whose processes only
// exchange messages has one. So it is cut into phases. Where every strand that
// may still make accesses in the region knows of a separate region, that is,
// knows a synchronization event behind it, what was completed in it is *past*:
// ordered before all that is to come. A phase ends when enough has become past;
// the next goes on with the rest. The accesses that two phases have in common
// are marked as old in the second, so that no pair is looked at twice.

// phase is how much the present phase holds.
type phase struct {
	grown int // loads, stores, accesses of calls, and separate regions by what their timestamps take
	limit int // of grown, at which the phase may end
	first int // of limits
}

func (p *phase) beginRegion() { p.grown, p.limit = 0, p.first }

func (p *phase) full() bool { return p.grown >= p.limit }

// eager reports whether a phase ends wherever something is past, however little: for tests.
func (p *phase) eager() bool { return p.first == 1 }

// worth reports whether the phase may end, where so much of it is not past.
func (p *phase) worth(kept int) bool { return 2*kept <= p.grown || p.eager() && kept < p.grown }

// goOn begins the next phase with what is not past.
func (p *phase) goOn(kept int) {
	p.grown, p.limit = kept, max(p.first, 2*kept)
	if p.eager() {
		p.limit = kept + 1
	}
}

// endPhase ends the phase when half of it is past and there is room for the rest, and
// returns it. Otherwise it returns nil, and tries again when the phase has grown by a
// quarter, or at once where no strand makes accesses any more.
func (m *Machine) endPhase() *regions.Region {
	if m.wholeRegions() { // that may be over later
		m.phase.limit = 2 * m.phase.grown
		return nil
	}
	for _, p := range m.processes {
		if p.team != nil {
			p.team.endRegions()
		}
	}
	floor := m.floor()
	if floor == nil {
		return nil
	}
	past := m.pastBelow(floor)
	kept := m.kept(floor, past)
	if !m.phase.worth(kept) || !m.hasRoom(false) {
		m.phase.limit = m.phase.grown + m.phase.grown/4
		return nil
	}
	if m.store.Err() != nil {
		return nil
	}
	m.decideLocks()
	out := m.region(false, false)
	before := m.clock
	m.clock = before.Next(floor)
	m.phases++
	m.store.GoOn(out, past, m.nextOf, m.pending.goOn)
	m.keepSegments(before, floor)
	m.forgetPast()
	m.phase.goOn(kept)
	return out
}

func (m *Machine) wholeRegions() bool {
	return slices.ContainsFunc(m.models, Model.WholeRegions)
}

// floor returns for each strand how many of its separate regions of the phase
// are past; nil where no strand makes accesses any more.
func (m *Machine) floor() []uint32 {
	var active []int
	var coming []evc.Time
	known := m.coming()
	for _, p := range m.processes {
		t, waits := known[p.first]
		switch {
		case p.team != nil:
			active, coming = p.team.active(known, active, coming)
		case waits:
			coming = append(coming, t)
		case p.first.active() && !p.first.follows():
			active = append(active, int(p.first.line))
		}
	}
	if len(active)+len(coming) == 0 {
		return nil
	}
	if m.forgets() {
		return m.behind()
	}
	floor := m.clock.Floor(active, coming...)
	for i := range floor {
		n := 0 // of a line that nobody has
		if i < len(m.paths) {
			n = len(m.paths[i].segs) - 1
		}
		floor[i] = min(floor[i], uint32(n))
	}
	return floor
}

// nextOf returns the position in the trace of a process before which nothing begins any more.
func (m *Machine) nextOf(rank int32) uint64 {
	p := m.processes[rank]
	if p.team == nil {
		return p.first.pos
	}
	next := p.team.read
	for s := range p.team.members {
		if s.state == waiting {
			next = min(next, s.pos)
		}
		if s.queue.len() > 0 {
			next = min(next, s.queue.at(0).pos)
		}
	}
	return next
}

// forgets reports whether what a strand knows of others tells nothing that anybody asks for: where there
// are words, it says which updates a value may come from.
func (m *Machine) forgets() bool { return m.opts.OrderOnly && len(m.words.all) == 0 && !m.threaded }

// behind returns for each strand how many separate regions of the phase it has behind it.
func (m *Machine) behind() []uint32 {
	floor := make([]uint32, m.clock.Strands())
	for i, p := range m.paths {
		floor[i] = uint32(len(p.segs) - 1)
	}
	return floor
}

func (m *Machine) pastBelow(floor []uint32) regions.Past {
	past := make(regions.Past, len(m.paths))
	for i, p := range m.paths {
		past[i] = p.first + int32(floor[i])
	}
	return past
}

// localSize is the size of a load or store in the memory of a phase, bytes.
const localSize = 64

// weight is what a separate region takes, in loads and stores that take as much:
// the timestamp can be far larger than the rest.
func (m *Machine) weight(s evc.Stamp) int { return 1 + m.clock.Size(s)/localSize }

// kept counts what is not past.
func (m *Machine) kept(floor []uint32, past regions.Past) int {
	n := m.pending.leftOut + m.pending.unlisted()
	for i, p := range m.paths {
		for k := range p.segs[floor[i]:] {
			seg := &p.segs[int(floor[i])+k]
			n += m.weight(seg.Stamp) + seg.Loads + seg.Ended
		}
	}
	return n + m.store.Remaining(past)
}

// keepSegments takes the separate regions above the floor into the next phase.
func (m *Machine) keepSegments(before evc.Clock, floor []uint32) {
	for i, p := range m.paths {
		segs := slices.Grow(m.store.Region().Segments[i], 2*(len(p.segs)-int(floor[i])))
		for _, seg := range p.segs[floor[i]:] {
			seg.Stamp = m.clock.Enter(before.Time(seg.Stamp))
			segs = append(segs, seg)
		}
		p.segs, p.first = segs, p.first+int32(floor[i])
	}
}
