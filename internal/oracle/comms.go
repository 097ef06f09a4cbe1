package oracle

import "slices"

// newComm queues the making of a communicator of some kind from a usable one.
func (g *generator) newComm() {
	kinds := []func(parent int){g.dup, g.split, g.create, g.split, g.create}
	if g.with(Neighbours) {
		kinds = append(kinds, g.cart, g.graph, g.cart, g.graph)
	}
	parent := g.intracomm()
	if g.with(Intercomms) && g.chance(0.6) {
		if inter := g.ofKind(func(c *Comm) bool { return c.Remote != nil }); len(inter) > 0 && g.chance(0.3) {
			g.merge(pick(g.Rand, inter))
		} else {
			g.intercomm()
		}
		return
	}
	pick(g.Rand, kinds)(parent)
}

// ofKind lists the usable communicators of a kind.
func (g *generator) ofKind(want func(*Comm) bool) []int {
	return slices.DeleteFunc(slices.Clone(g.usable), func(i int) bool { return !want(&g.p.Comms[i]) })
}

// intracomm picks a usable intracommunicator, most often not the first.
func (g *generator) intracomm() int {
	if g.chance(0.3) {
		return 0
	}
	return pick(g.Rand, g.ofKind(func(c *Comm) bool { return c.Remote == nil }))
}

// addComm enters a communicator that its members will have.
func (g *generator) addComm(c Comm) int {
	g.p.Comms = append(g.p.Comms, c)
	n := len(g.p.Comms) - 1
	g.s.made[n] = true
	return n
}

// shuffled returns members in another order.
func (g *generator) shuffled(of []int) []int {
	out := slices.Clone(of)
	g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (g *generator) some(of []int) []int { return g.shuffled(of)[:1+g.IntN(len(of))] }

// make queues a constructor at all members of its parent.
func (g *generator) make(c Call, members []int, change func(rank int, c *Call)) {
	c.Unit = g.unit()
	for _, r := range members {
		d := c
		if change != nil {
			change(r, &d)
		}
		g.push(r, d, 0)
	}
}

func (g *generator) dup(parent int) {
	p := g.p.Comms[parent]
	n := g.addComm(Comm{Ranks: slices.Clone(p.Ranks), Dims: p.Dims, Periods: p.Periods, Sources: p.Sources, Dests: p.Dests})
	if g.chance(0.5) {
		g.make(Call{Fn: "MPI_Comm_dup", Comm: parent, New: n}, p.Ranks, nil)
		g.usable = append(g.usable, n)
		return
	}
	u := g.unit()
	reqs := make([][]int, g.p.Ranks)
	for _, r := range p.Ranks {
		reqs[r] = g.newRequest()
		g.push(r, Call{Fn: "MPI_Comm_idup", Unit: u, Comm: parent, New: n, Reqs: reqs[r]}, 0)
	}
	if g.with(Messages) && g.chance(0.5) {
		g.communicate()
	}
	for _, r := range p.Ranks {
		g.push(r, Call{Fn: "MPI_Wait", Unit: u, Reqs: reqs[r]}, 0)
	}
	g.usable = append(g.usable, n)
}

// split has the members of the parent take one of two colours, or none.
func (g *generator) split(parent int) {
	members := g.p.Comms[parent].Ranks
	var sides [2][]int
	colour := map[int]int{}
	key := map[int]int{}
	for i, r := range g.shuffled(members) {
		colour[r], key[r] = g.IntN(2), i
		if g.chance(0.1) && i > 0 {
			colour[r] = Undefined
			continue
		}
		sides[colour[r]] = append(sides[colour[r]], r)
	}
	var made [2]int
	for k, side := range sides {
		if len(side) > 0 {
			made[k] = g.addComm(Comm{Ranks: side})
			g.usable = append(g.usable, made[k])
		}
	}
	g.make(Call{Fn: "MPI_Comm_split", Comm: parent, New: -1}, members, func(r int, c *Call) {
		c.Color, c.Key = colour[r], key[r]
		if colour[r] != Undefined {
			c.New = made[colour[r]]
		}
	})
}

func (g *generator) create(parent int) {
	members := g.p.Comms[parent].Ranks
	group := g.some(members)
	c := Call{Fn: "MPI_Comm_create", Comm: parent, Group: group, New: g.addComm(Comm{Ranks: group})}
	if g.chance(0.5) {
		c.Fn, c.Tag, members = "MPI_Comm_create_group", g.IntN(3), group
	}
	g.make(c, members, nil)
	g.usable = append(g.usable, c.New)
}

// cart makes a grid of one or two dimensions of as many members as it takes.
func (g *generator) cart(parent int) {
	members := g.p.Comms[parent].Ranks
	dims := []int{1 + g.IntN(len(members))}
	if g.chance(0.5) {
		dims = append(dims, 1+g.IntN(len(members)/dims[0]))
	}
	size := 1
	periods := make([]int, len(dims))
	for i, d := range dims {
		size *= d
		periods[i] = g.IntN(2)
	}
	n := g.addComm(Comm{Ranks: slices.Clone(members[:size]), Dims: dims, Periods: periods})
	g.make(Call{Fn: "MPI_Cart_create", Comm: parent, New: n}, members, nil)
	g.usable = append(g.usable, n)
}

// graph makes a communicator with random edges.
func (g *generator) graph(parent int) {
	members := g.p.Comms[parent].Ranks
	c := Comm{Ranks: slices.Clone(members), Sources: make([][]int, len(members)), Dests: make([][]int, len(members))}
	for i, a := range members {
		for j, b := range members {
			if g.chance(0.5) {
				c.Dests[i] = append(c.Dests[i], b)
				c.Sources[j] = append(c.Sources[j], a)
			}
		}
	}
	for i := range members {
		c.Dests[i], c.Sources[i] = g.shuffled(c.Dests[i]), g.shuffled(c.Sources[i])
	}
	n := g.addComm(c)
	g.make(Call{Fn: "MPI_Dist_graph_create_adjacent", Comm: parent, New: n}, members, nil)
	g.usable = append(g.usable, n)
}

// intercomm splits MPI_COMM_WORLD in two, and makes an intercommunicator of the
// halves.
func (g *generator) intercomm() {
	all := g.shuffled(g.p.Comms[0].Ranks)
	cut := 1 + g.IntN(len(all)-1)
	a, b := all[:cut], all[cut:]
	na, nb := g.addComm(Comm{Ranks: a}), g.addComm(Comm{Ranks: b})
	g.make(Call{Fn: "MPI_Comm_split"}, g.p.Comms[0].Ranks, func(r int, c *Call) {
		c.New, c.Key = na, slices.Index(a, r)
		if slices.Contains(b, r) {
			c.New, c.Key, c.Color = nb, slices.Index(b, r), 1
		}
	})
	n := g.addComm(Comm{Ranks: a, Remote: b})
	c := Call{Fn: "MPI_Intercomm_create", New: n, Tag: g.IntN(3)}
	la, lb := pick(g.Rand, a), pick(g.Rand, b)
	g.make(c, all, func(r int, c *Call) {
		if c.Comm, c.Peer, c.Source = na, la, lb; slices.Contains(b, r) {
			c.Comm, c.Peer, c.Source = nb, lb, la
		}
	})
	g.usable = append(g.usable, na, nb, n)
}

// merge makes one communicator of the groups of an intercommunicator.
func (g *generator) merge(inter int) {
	p := g.p.Comms[inter]
	first, second := p.Ranks, p.Remote
	if g.chance(0.5) {
		first, second = second, first
	}
	n := g.addComm(Comm{Ranks: slices.Concat(first, second)})
	g.make(Call{Fn: "MPI_Intercomm_merge", Comm: inter, New: n}, p.all(), func(r int, c *Call) {
		c.Flag = slices.Contains(second, r)
	})
	g.usable = append(g.usable, n)
}
