package shmem

import (
	"fmt"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Identifiers of contexts and teams in traces.
const (
	defaultContext = 0
	invalidContext = -1
	invalidTeam    = 0
	worldTeam      = 1
	sharedTeam     = 2
)

// Atomicity domains (OpenSHMEM 1.5, 3.1).
const (
	worldDomain  = 1
	sharedDomain = 2
)

// team is a team as its members know it.
type team struct {
	members []int32 // world ranks, by the PE's number in the team
	domain  int64
	splits  map[int32]uint64 // by rank: how often it was split
}

type teamKey struct {
	parent *team
	n      uint64
	which  int // 0: the team; of a split into two dimensions 2·y and 2·x + 1
}

// member returns the world rank of a PE's number; -1: there is none.
func (t *team) member(pe int64) int32 {
	if pe < 0 || pe >= int64(len(t.members)) {
		return -1
	}
	return t.members[pe]
}

// number returns the number of a PE in the team, or -1.
func (t *team) number(rank int32) int {
	for i, r := range t.members {
		if r == rank {
			return i
		}
	}
	return -1
}

// context is a communication context of a PE.
type context struct {
	team    *team
	mode    regions.Mode // of its operations, by which fences chain them; "": the default context
	pending issued
	open    issued // of pending, those that no fence has met yet
	left    int    // of these, and of chains, when it was last looked for what may be forgotten
	// recent are the last of open to each PE that may take others: see merge.
	recent map[int32][]*operation
	// Of a PE with threads, in this region: what was completed, and what fences have put before
	// what comes.
	completed, fenced dealt
	ordered           int                // how often a call has put what was issued before what comes
	chains            map[int32][]*chain // by target
	ended             *regions.CallInfo  // that destroyed it; nil: none did
}

func ctxOf(c *core.Call) int64 {
	if !c.Has(argCtx) {
		return defaultContext
	}
	return c.Int(argCtx)
}

// context returns the context that a call names; nil: it has none, which is reported.
func (p *pe) context(c *call) *context {
	id := ctxOf(c.Call)
	x := p.contexts[id]
	switch {
	case id == invalidContext:
		return nil
	case x == nil:
		p.NotUnderstood(c.Call, "the creation of its context was not understood")
		return nil
	case x.ended != nil:
		p.afterEnd(c, x.ended)
		return nil
	}
	return x
}

// nextMode returns the mode of operations of the next context that the PE makes.
func (p *pe) nextMode() regions.Mode {
	p.modes++
	return regions.Mode(fmt.Sprintf("context %d", p.modes))
}

// IsOther reports whether operations of a mode are of a context that the program made.
func IsOther(m regions.Mode) bool { return m != "" }

func createContext(p *pe, c *call) {
	t := p.m.world
	if c.Has(argTeam) {
		if t = p.team(c, argTeam); t == nil {
			return
		}
	}
	if id := c.Int(argCtx); id != invalidContext {
		p.contexts[id] = &context{team: t, mode: p.nextMode()}
	}
}

func destroyContext(p *pe, c *call) {
	x := p.context(c)
	if x == nil {
		return
	}
	p.quiet(c, x)
	if ctxOf(c.Call) != defaultContext {
		x.ended = p.Info(c.Call)
	}
}

// team returns the team that an argument names; nil: none, which is reported.
func (p *pe) team(c *call, arg core.ArgName) *team {
	id := c.Int(arg)
	t := p.teams[id]
	switch {
	case id == invalidTeam, t != nil:
	case id == sharedTeam:
		p.NotUnderstood(c.Call, "which PEs SHMEM_TEAM_SHARED has is not recorded")
	default:
		p.NotUnderstood(c.Call, "the creation of its team was not understood")
	}
	return t
}

// newTeam returns a team that the n-th split of a team made, the same to all members.
func (m *Model) newTeam(k teamKey, members []int32) *team {
	t := m.teams[k]
	if t == nil {
		t = &team{members: members, domain: k.parent.domain}
		m.teams[k] = t
	}
	return t
}

// split counts a split of a team by a PE.
func (t *team) split(rank int32) uint64 {
	if t.splits == nil {
		t.splits = map[int32]uint64{}
	}
	t.splits[rank]++
	return t.splits[rank]
}

func splitStrided(p *pe, c *call) {
	parent := p.team(c, argParent)
	if parent == nil {
		return
	}
	start, stride, size := c.Int(argStart), c.Int(argStride), c.Int(argSize)
	var members []int32
	for i := range size {
		r := parent.member(start + i*stride)
		if r < 0 {
			p.NotUnderstood(c.Call, fmt.Sprintf("PE %d is not in the team that is split", start+i*stride))
			return
		}
		members = append(members, r)
	}
	made := p.m.newTeam(teamKey{parent, parent.split(p.Rank), 0}, members)
	if id := c.Int(argTeam); id != invalidTeam {
		p.teams[id] = made
	}
	p.meet(c, parent.members, core.AllToAll, core.NoRoot, nil)
}

func split2D(p *pe, c *call) {
	parent := p.team(c, argParent)
	if parent == nil {
		return
	}
	n, me := len(parent.members), parent.number(p.Rank)
	width := min(int(c.Int(argXrange)), n)
	if width <= 0 || me < 0 {
		c.SetBad()
		return
	}
	times, x, y := parent.split(p.Rank), me%width, me/width
	var row, column []int32
	for i, r := range parent.members {
		if i/width == y {
			row = append(row, r)
		}
		if i%width == x {
			column = append(column, r)
		}
	}
	p.teams[c.Int(argXteam)] = p.m.newTeam(teamKey{parent, times, 2 * (y + 1)}, row)
	p.teams[c.Int(argYteam)] = p.m.newTeam(teamKey{parent, times, 2*x + 1}, column)
	p.meet(c, parent.members, core.AllToAll, core.NoRoot, nil)
}

func destroyTeam(p *pe, c *call) { delete(p.teams, c.Int(argTeam)) }
