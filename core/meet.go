package core

import (
	"fmt"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
)

// Group is who takes part in a meeting, as one of them sees it: world ranks.
type Group struct {
	Local []int32
	// Remote is the other group of a meeting of two, in which directions go from
	// the one to the other; otherwise nil.
	Remote []int32
	Side   uint8 // which of the two groups is Local: 0 or 1
}

// Two reports whether the meeting is one of two groups.
func (g *Group) Two() bool { return g.Remote != nil }

// Size is the number of strands in both groups.
func (g *Group) Size() int { return len(g.Local) + len(g.Remote) }

// Direction is how a meeting orders those who take part (detection model,
// section 3).
type Direction uint8

// Directions.
const (
	NoOrder    Direction = iota
	AllToAll             // of two groups: all to all of the other
	OneToAll             // from the root
	AllToOne             // to the root
	Prefix               // each after those before it in the group
	Neighbours           // each after its sources
	Everybody            // AllToAll, and of two groups with the own group as well
)

// meets reports whether anybody waits for all of a group.
func (d Direction) meets() bool { return d == AllToAll || d == Everybody || d == AllToOne }

// MeetKey names one meeting, in the terms of its model.
type MeetKey struct {
	On    int64
	Of    uint64
	N     uint64
	Round uint64
}

// Meeting is one meeting as a strand comes to it.
type Meeting struct {
	Key   MeetKey
	Group *Group
	Dir   Direction
	Root  int32 // world rank, for the directions that have one; NoRoot: it takes no part
	// Sources are the world ranks that the strand is ordered after, with
	// Neighbours.
	Sources []int32
}

// NoRoot stands for the root of a meeting that a strand takes no part in.
const NoRoot int32 = -1

// gathering is a meeting: what those who came have deposited.
type gathering struct {
	fn    string
	begun bool // somebody has come to it who goes on beside it (Begin)
	left  int
	sides [2]side // of the groups; the first where there is one
	each  map[int32]*Signal
}

// side is the arrival of one group at a meeting.
type side struct {
	arrived int
	region  int
	joined  evc.Time // of those that arrived in this region
	met     Mark     // of all that arrived
	full    Signal   // given when all have arrived
}

func (g *gathering) from(m *Machine, rank int32) *Signal {
	s := g.each[rank]
	if s == nil {
		s = &Signal{}
		g.each[rank] = s
		if m.Absent(rank) {
			m.Announce(s)
		}
	}
	return s
}

// Join lets the strand take part in a meeting, and returns what it gives and
// waits for, and what is to be done when it has waited.
func (s *Strand) Join(c *Call, at Meeting) (signals []*Signal, waits []Wait, done func()) {
	return s.join(c.Fn.Name, at)
}

func (s *Strand) join(fn string, at Meeting) (signals []*Signal, waits []Wait, done func()) {
	m, g := s.m, at.Group
	coll := m.registry.meetings[at.Key]
	if coll == nil {
		coll = &gathering{fn: fn, each: map[int32]*Signal{}}
		m.registry.meetings[at.Key] = coll
	}
	own := &coll.sides[g.Side]
	if own.region != m.index {
		own.region, own.joined = m.index, evc.Time{}
	}
	own.joined = m.clock.Join(own.joined, m.clock.Time(m.clock.Now(int(s.line))))
	if at.Dir.meets() {
		own.met = m.watch.meet(own.met, s)
	}
	if own.arrived++; own.arrived == m.Present(g.Local) {
		own.full.mark = own.met
		m.give(&own.full, own.joined)
	}
	if g.Two() && m.Present(g.Remote) == 0 {
		m.Announce(&coll.sides[1-g.Side].full)
	}
	signals, waits = coll.ordering(m, s.Rank, &at)
	return signals, waits, func() {
		if coll.left++; coll.left == m.Present(g.Local)+m.Present(g.Remote) {
			delete(m.registry.meetings, at.Key)
		}
	}
}

// ordering returns what a member gives and waits for.
func (g *gathering) ordering(m *Machine, rank int32, at *Meeting) (signals []*Signal, waits []Wait) {
	what := func() string { return fmt.Sprintf("for the other processes to call %s", g.fn) }
	await := func(s *Signal) { waits = append(waits, Wait{On: s, Coming: true, What: what}) }
	own, other := &g.sides[at.Group.Side], &g.sides[at.Group.Side]
	if at.Group.Two() {
		other = &g.sides[1-at.Group.Side]
	}
	switch at.Dir {
	case AllToAll:
		await(&other.full)
	case Everybody:
		await(&other.full)
		if at.Group.Two() {
			await(&own.full)
		}
	case OneToAll:
		switch at.Root {
		case rank:
			signals = []*Signal{g.from(m, rank)}
		case NoRoot:
		default:
			await(g.from(m, at.Root))
		}
	case AllToOne:
		if at.Root == rank {
			await(&other.full)
		}
	case Prefix:
		signals = []*Signal{g.from(m, rank)}
		for _, r := range at.Group.Local {
			if r == rank {
				break
			}
			await(g.from(m, r))
		}
	case Neighbours:
		signals = []*Signal{g.from(m, rank)}
		for _, r := range at.Sources {
			await(g.from(m, r))
		}
	}
	return signals, waits
}

// Meet lets the strand come to a meeting and wait there for those whom it is
// ordered after; then it goes on with after, which may be nil. A meeting of all
// strands, all to all, ends the concurrent region, unless somebody goes on beside it
// (Begin); Meet reports whether it may.
func (s *Strand) Meet(c *Call, at Meeting, after func()) (all bool) {
	if s.m.ofAll(&at) && !s.m.begun(at.Key) {
		s.arrive(c, at.Key, after)
		return true
	}
	signals, waits, done := s.Join(c, at)
	c.only(&at, s.m)
	s.Synchronize(c, signals, waits, then(done, after))
	return false
}

// ofAll reports whether a meeting is one of all processes, all to all.
func (m *Machine) ofAll(at *Meeting) bool {
	return (at.Dir == AllToAll || at.Dir == Everybody) && len(at.Group.Local) == len(m.processes)
}

// begun reports whether somebody has come to a meeting who goes on beside it.
func (m *Machine) begun(key MeetKey) bool {
	g := m.registry.meetings[key]
	return g != nil && g.begun
}

// then does the one and the other, which may be nil.
func then(done, after func()) func() {
	return func() {
		done()
		if after != nil {
			after()
		}
	}
}

// only notes who meets, where that is not all processes.
func (c *Call) only(at *Meeting, m *Machine) {
	if len(at.Group.Local) < len(m.processes) && !at.Group.Two() {
		c.members = &at.Group.Local
	}
}

// Begin lets the strand come to a meeting that it waits for later, or another strand of its
// process does, in the call that is given to end: what it does in between is beside the
// meeting. One of all processes does not end the concurrent region then: those who stand at
// it wait for the others there.
func (s *Strand) Begin(c *Call, at Meeting) (end func(by *Strand, c *Call, after func())) {
	m := s.m
	if m.ofAll(&at) && !m.begun(at.Key) {
		m.standAside(at)
	}
	signals, waits, done := s.Join(c, at)
	m.registry.meetings[at.Key].begun = true
	c.only(&at, m)
	s.Synchronize(c, signals, nil, nil)
	return func(by *Strand, c *Call, after func()) {
		c.only(&at, m)
		by.Synchronize(c, nil, waits, then(done, after))
	}
}

// standAside lets those who stand at a meeting of all processes take part in it beside
// others who go on.
func (m *Machine) standAside(at Meeting) {
	e := &m.ending
	e.met = nil
	for s := range m.all {
		switch {
		case s.state != arrived:
		case s.meeting.call == nil || s.meeting.key != at.Key:
			e.met = m.watch.meet(e.met, s)
		default:
			e.arrived--
			call, returned := s.meeting.call, !s.meeting.left
			s.meeting, s.state = meetingOfAll{}, running
			signals, waits, done := s.join(call.Fn, at)
			s.synchronize(call, returned, signals, waits, then(done, s.sync.after))
		}
	}
}

// globalMeeting is the meeting of all processes.
type globalMeeting struct {
	arrived int  // strands that stand there
	met     Mark // of these

	inVain, passOver int // meetings at which nothing is read on, since it was in vain; and how many are left
}

// meetingOfAll is a meeting of all processes as a strand stands at it.
type meetingOfAll struct {
	key  MeetKey           // zero where there is one only
	call *regions.CallInfo // nil: it stands at none
	left bool              // it never returned from there
}

// Arrive stops the strand at a meeting of all processes, which ends the concurrent
// region unless other strands of them go on beside it; then it goes on with after,
// which may be nil.
func (s *Strand) Arrive(c *Call, after func()) { s.arrive(c, MeetKey{}, after) }

func (s *Strand) arrive(c *Call, key MeetKey, after func()) {
	m := s.m
	s.meeting = meetingOfAll{key: key, call: s.Info(c), left: !c.Returned}
	s.state, s.sync.after = arrived, after
	m.ending.met = m.watch.meet(m.ending.met, s)
	if !c.Returned {
		// It reached the call, so that the others may have passed it; but
		// nothing of what it did after that was recorded.
		s.sync.after = nil
	}
	m.ending.arrived++
}
