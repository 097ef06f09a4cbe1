package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// plot queues something that several processes do together.
func (g *generator) plot() {
	if g.with(Outlasting) && g.chance(0.25) {
		g.outlast()
		return
	}
	switch x := g.Float64(); {
	case x < 0.24:
		g.collective()
	case x < 0.55:
		if g.with(Messages) {
			g.communicate()
		}
	case x < 0.58 && len(g.p.Wins) < 3:
		g.newWindow(g.someWindow(), g.someMode())
	case x < 0.60:
		if w := g.IntN(len(g.p.Wins)); g.plan[w] != dead && g.plan[w] != fenced && !g.exposedNow(w) && !(g.p.Wins[w].allocates() && g.keepsMemory()) {
			g.freeWindow(w)
		}
	case x < 0.63:
		if g.with(SubComms) && len(g.p.Comms) < 6 {
			g.newComm()
		}
	default:
		g.epochs(g.IntN(len(g.p.Wins)))
	}
}

// keepsMemory reports whether requests or epochs that do not end before long may
// use the memory of a window.
func (g *generator) keepsMemory() bool {
	return len(g.groups)+len(g.once) > 0 || len(g.closing) > 0 || slices.Contains(g.plan, fenced)
}

func (g *generator) exposedNow(w int) bool {
	return slices.ContainsFunc(g.closing, func(c closing) bool { return c.win == w })
}

// epochs takes a window on: to the end of its exposure, to the next exposure,
// or to a fence.
func (g *generator) epochs(w int) {
	if g.plan[w] == dead {
		return
	}
	for i, c := range g.closing {
		if c.win == w {
			g.close(i)
			return
		}
	}
	if g.plan[w] == exposed && g.chance(0.8) {
		g.expose(w)
		return
	}
	g.fence(w, g.someMode())
}

func (g *generator) someMode() mode {
	modes := []mode{fenced, fenced, fenced}
	if g.chance(0.2) {
		modes = []mode{idle}
	}
	if g.with(Locks) {
		modes = append(modes, locked, locked, locked)
	}
	if g.with(Exposure) {
		modes = append(modes, exposed, exposed)
	}
	return modes[g.IntN(len(modes))]
}

// newWindow queues the creation of a window that has epochs of some mode first.
func (g *generator) newWindow(fn string, first mode) {
	win := Window{Comm: g.intracomm(), Make: fn}
	if g.with(WindowInfo) {
		win.SameOp = g.chance(0.5)
		if g.chance(0.5) {
			win.Unorder = trace.OrderAll
		}
	}
	twin := -1 // a window whose memory this one shares
	if len(g.p.Wins) > 0 && g.with(Overlapping) && g.chance(0.15) {
		if t := g.IntN(len(g.p.Wins)); g.p.Wins[t].Make == "MPI_Win_create" {
			twin, win.Make = t, "MPI_Win_create"
		}
	}
	units := []int{1, 1, 2, 4, 8}
	unit := units[g.IntN(len(units))]
	for r := range g.p.Ranks {
		size := 16 * (1 + g.IntN(3))
		if g.with(EmptyOps) && g.chance(0.05) {
			size = 0
		}
		off := g.p.Size[r]
		if twin >= 0 && g.p.Wins[twin].Size[r] > 0 {
			off, size = g.p.Wins[twin].Off[r]+4*g.IntN(2), g.p.Wins[twin].Size[r]-4
		} else if slices.Contains(g.p.Comms[win.Comm].Ranks, r) {
			g.p.Size[r] += size
		} else {
			size = 0
		}
		win.Off, win.Size = append(win.Off, off), append(win.Size, size)
		if g.chance(0.2) {
			unit = units[g.IntN(len(units))]
		}
		win.Unit = append(win.Unit, unit)
	}
	w := len(g.p.Wins)
	g.memory = append(g.memory, Window{Off: win.Off, Size: win.Size})
	g.layOut(&win, w)
	g.p.Wins = append(g.p.Wins, win)
	g.plan = append(g.plan, first)
	g.seen = append(g.seen, make([]mode, g.p.Ranks))
	u := g.unit()
	if first == fenced {
		g.plan[w] = idle // until its first fence
	}
	for _, r := range g.p.Comms[win.Comm].Ranks {
		g.push(r, Call{Fn: win.Make, Unit: u, Win: w}, g.plan[w])
	}
	if win.Make == "MPI_Win_create_dynamic" {
		g.attach(w, u)
	}
	if first == fenced {
		g.fence(w, fenced)
	}
}

func (g *generator) freeWindow(w int) {
	g.plan[w] = dead
	u := 0
	for i := range g.p.Calls {
		if c := &g.p.Calls[i]; c.Win == w && c.makesWindow() {
			u = c.Unit
		}
	}
	for _, q := range g.queue {
		for i := range q {
			if c := &q[i]; c.Win == w && c.makesWindow() {
				u = c.Unit
			}
		}
	}
	if g.p.Wins[w].Make == "MPI_Win_create_dynamic" && g.chance(0.6) {
		g.detach(w, u)
	}
	for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		g.push(r, Call{Fn: "MPI_Win_free", Unit: u, Win: w}, dead)
	}
}

// fence queues a fence after which the window is in another mode.
func (g *generator) fence(w int, next mode) {
	c := Call{Fn: "MPI_Win_fence", Unit: g.unit(), Win: w}
	if g.plan[w] == idle && next == fenced && g.with(NoPrecede) && g.p.Wins[w].Make != "MPI_Win_create_dynamic" && g.chance(0.5) {
		c.Assert |= trace.AssertNoPrecede
	}
	if next != fenced && g.chance(0.5) {
		c.Assert |= trace.AssertNoSucceed
	}
	g.plan[w] = next
	for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		g.push(r, c, next)
	}
}

// expose queues the posts and starts of an exposure.
func (g *generator) expose(w int) {
	members := slices.Clone(g.p.Comms[g.p.Wins[w].Comm].Ranks)
	some := func() []int {
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return slices.Clone(members[:1+g.IntN(len(members))])
	}
	c := closing{win: w, unit: g.unit(), origins: some(), targets: some()}
	if len(c.origins) > 1 && len(c.targets) > 1 && g.chance(0.5) {
		c.origins = c.origins[:1]
	}
	assert := int64(0)
	if g.with(NoCheck) && g.chance(0.3) {
		assert = trace.AssertNoCheck // the posts must come before the starts
	}
	for _, t := range c.targets {
		g.push(t, Call{Fn: "MPI_Win_post", Unit: c.unit, Win: w, Group: c.origins, Assert: assert}, 0)
	}
	if assert != 0 {
		for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
			g.push(r, Call{Fn: "MPI_Barrier", Unit: c.unit, Comm: g.p.Wins[w].Comm}, 0)
		}
	}
	for _, o := range c.origins {
		g.push(o, Call{Fn: "MPI_Win_start", Unit: c.unit, Win: w, Group: c.targets, Assert: assert}, 0)
	}
	g.closing = append(g.closing, c)
}

// close queues the end of an exposure.
func (g *generator) close(i int) {
	c := g.closing[i]
	g.closing = slices.Delete(g.closing, i, i+1)
	for _, o := range c.origins {
		g.push(o, Call{Fn: "MPI_Win_complete", Unit: c.unit, Win: c.win}, 0)
	}
	for _, t := range c.targets {
		g.push(t, Call{Fn: "MPI_Win_wait", Unit: c.unit, Win: c.win}, 0)
	}
}
