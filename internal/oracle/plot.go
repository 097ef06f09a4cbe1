package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// plot queues something that several processes do together.
func (g *generator) plot() {
	switch x := g.Float64(); {
	case x < 0.12:
		g.collective("MPI_Barrier")
	case x < 0.27:
		g.collective([]string{"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce"}[g.IntN(3)])
	case x < 0.5:
		if g.with(Messages) {
			g.message()
		}
	case x < 0.53 && len(g.p.Wins) < 3:
		g.newWindow()
	case x < 0.55:
		if w := g.IntN(len(g.p.Wins)); !g.p.Wins[w].allocates() && g.plan[w] != dead && g.plan[w] != fenced && !g.exposedNow(w) {
			g.freeWindow(w)
		}
	default:
		g.epochs(g.IntN(len(g.p.Wins)))
	}
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

// newWindow queues the creation of a window.
func (g *generator) newWindow() {
	win := Window{Comm: g.IntN(len(g.p.Comms)), Make: "MPI_Win_create"}
	if g.chance(0.4) {
		win.Make = "MPI_Win_allocate"
	}
	twin := -1 // a window whose memory this one shares
	if len(g.p.Wins) > 0 && g.with(Overlapping) && g.chance(0.15) {
		if t := g.IntN(len(g.p.Wins)); !g.p.Wins[t].allocates() {
			twin, win.Make = t, "MPI_Win_create"
		}
	}
	units := []int{1, 1, 2, 4, 8}
	unit := units[g.IntN(len(units))]
	for r := range g.p.Ranks {
		size := 16 * (1 + g.IntN(3))
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
	g.p.Wins = append(g.p.Wins, win)
	g.plan = append(g.plan, g.someMode())
	g.seen = append(g.seen, make([]mode, g.p.Ranks))
	u := g.unit()
	first := g.plan[w]
	if first == fenced {
		g.plan[w] = idle // until its first fence
	}
	for _, r := range g.p.Comms[win.Comm].Ranks {
		g.push(r, Call{Fn: win.Make, Unit: u, Win: w}, g.plan[w])
	}
	if first == fenced {
		g.fence(w, fenced)
	}
}

func (g *generator) freeWindow(w int) {
	g.plan[w] = dead
	u := 0
	for i := range g.p.Calls {
		if c := &g.p.Calls[i]; c.Win == w && (c.Fn == "MPI_Win_create" || c.Fn == "MPI_Win_allocate") {
			u = c.Unit
		}
	}
	for _, q := range g.queue {
		for i := range q {
			if c := &q[i]; c.Win == w && (c.Fn == "MPI_Win_create" || c.Fn == "MPI_Win_allocate") {
				u = c.Unit
			}
		}
	}
	for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		g.push(r, Call{Fn: "MPI_Win_free", Unit: u, Win: w}, dead)
	}
}

// fence queues a fence after which the window is in another mode.
func (g *generator) fence(w int, next mode) {
	c := Call{Fn: "MPI_Win_fence", Unit: g.unit(), Win: w}
	if g.plan[w] == idle && next == fenced && g.with(NoPrecede) && g.chance(0.5) {
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
	for _, t := range c.targets {
		g.push(t, Call{Fn: "MPI_Win_post", Unit: c.unit, Win: w, Group: c.origins}, 0)
	}
	for _, o := range c.origins {
		g.push(o, Call{Fn: "MPI_Win_start", Unit: c.unit, Win: w, Group: c.targets}, 0)
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

// collective queues a collective call of a communicator.
func (g *generator) collective(fn string) {
	comm := g.IntN(len(g.p.Comms))
	members := g.p.Comms[comm].Ranks
	c := Call{Fn: fn, Unit: g.unit(), Comm: comm}
	if fn == "MPI_Bcast" || fn == "MPI_Reduce" {
		c.Peer = pick(g.Rand, members)
	}
	basic, n := g.IntN(Byte), 1+g.IntN(2)
	reduces := fn == "MPI_Reduce" || fn == "MPI_Allreduce"
	if reduces {
		c.Op = "MPI_SUM"
	}
	inPlace := reduces && g.with(InPlace) && g.chance(0.2)
	for _, r := range members {
		d := c
		switch {
		case reduces:
			d.Origin = g.place(r, Buf{Type: basic, Count: n})
			d.Result = g.place(r, Buf{Type: basic, Count: n})
			d.InPlace = inPlace && (fn == "MPI_Allreduce" || r == c.Peer)
		case fn == "MPI_Bcast":
			d.Origin = g.buffer(r, basic, n)
		}
		g.push(r, d, 0)
	}
}

// message queues a message, or two that cross, with their receives.
func (g *generator) message() {
	comm := g.IntN(len(g.p.Comms))
	members := g.p.Comms[comm].Ranks
	a, b := pick(g.Rand, members), pick(g.Rand, members)
	if a == b {
		return
	}
	u := g.unit()
	if g.chance(0.15) {
		x := g.sendSide("MPI_Sendrecv", u, comm, a, b)
		y := g.sendSide("MPI_Sendrecv", u, comm, b, a)
		x.Result, y.Result = g.receiveBuffer(a, y), g.receiveBuffer(b, x)
		x.Source, x.RTag, y.Source, y.RTag = b, y.Tag, a, x.Tag
		g.push(a, x, 0)
		g.push(b, y, 0)
		return
	}
	send := g.sendSide(pick(g.Rand, []string{"MPI_Send", "MPI_Ssend", "MPI_Isend"}), u, comm, a, b)
	recv := Call{Fn: pick(g.Rand, []string{"MPI_Recv", "MPI_Irecv"}), Unit: u, Comm: comm, Source: a, Tag: send.Tag}
	recv.Result = g.receiveBuffer(b, send)
	if g.with(Wildcards) {
		recv.Any, recv.AnyTag = g.chance(0.2), g.chance(0.2)
	}
	if send.Fn == "MPI_Isend" {
		send.Reqs = []int{g.reqs}
		g.reqs++
	}
	if recv.Fn == "MPI_Irecv" {
		recv.Reqs = []int{g.reqs}
		g.reqs++
	}
	g.push(a, send, 0)
	g.push(b, recv, 0)
}

func (g *generator) sendSide(fn string, unit, comm, from, to int) Call {
	c := Call{Fn: fn, Unit: unit, Comm: comm, Peer: to, Tag: g.IntN(3)}
	c.Origin = g.buffer(from, g.IntN(Byte), 1+g.IntN(2))
	return c
}

// receiveBuffer picks a buffer for a message.
func (g *generator) receiveBuffer(r int, send Call) Buf {
	n := g.p.elements(send.Origin.Type, send.Origin.Count).count
	if g.with(ShortMessages) && g.chance(0.1) {
		n++
	}
	return g.buffer(r, g.p.basic(send.Origin.Type), n)
}
