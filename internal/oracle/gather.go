package oracle

import (
	"slices"
	"strings"
)

// collective queues a collective call of a communicator.
func (g *generator) collective() {
	comm := pick(g.Rand, g.usable)
	c := &g.p.Comms[comm]
	fns := []string{"MPI_Barrier", "MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce"}
	if g.with(Collectives) && g.chance(0.7) {
		fns = append(fns[1:], "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgather", "MPI_Allgatherv",
			"MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw")
		if c.Remote == nil {
			fns = append(fns, "MPI_Scan", "MPI_Exscan", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block")
		}
	}
	if (c.Dims != nil || c.Sources != nil) && g.chance(0.8) {
		fns = []string{"MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw"}
	}
	fn := pick(g.Rand, fns)
	switch {
	case g.again():
	case g.with(NonblockingCollectives) && g.chance(0.4):
		g.collectiveCalls(comm, fn, "MPI_I"+strings.ToLower(fn[4:]))
	case g.with(PersistentCollectives) && g.chance(0.4):
		g.collectiveCalls(comm, fn, fn+"_init")
	default:
		g.collectiveCalls(comm, fn, fn)
	}
}

// collectiveCalls queues one collective call at all members.
func (g *generator) collectiveCalls(comm int, does, fn string) {
	members := g.p.Comms[comm].all()
	c := Call{Fn: fn, Unit: g.unit(), Comm: comm}
	if c.rooted() {
		c.Peer = pick(g.Rand, members)
	}
	basic, n := pick(g.Rand, []int{Int, Int, Int, Short, Float, Long, Double}), 1+g.IntN(2)
	if len(members) > 3 && n*g.p.Types[basic].Bytes > 8 {
		n = 1
	}
	x := exchange{generator: g, comm: &g.p.Comms[comm], basic: basic, n: n}
	x.counts()
	if g.p.Comms[comm].Remote == nil && !c.isNeighbour() && does != "MPI_Barrier" && does != "MPI_Bcast" {
		x.inPlace = g.with(InPlace) && g.chance(0.2)
	}
	s := started{unit: c.Unit}
	for _, r := range members {
		d := x.call(c, r)
		if d.form() != blocking {
			d.Reqs = g.newRequest()
			s.ranks, s.reqs = append(s.ranks, r), append(s.reqs, d.Reqs[0])
		}
		g.push(r, d, 0)
	}
	if c.form() == persistent {
		g.groups = append(g.groups, s)
		g.restart(s)
	}
}

// exchange works out the arguments of a collective call.
type exchange struct {
	*generator
	comm     *Comm
	basic, n int
	inPlace  bool
	amount   map[[2]int]int // elements from one process to another, of calls with counts
}

// counts draws how much goes from whom to whom. It is the same both ways, as
// MPI_IN_PLACE asks for.
func (x *exchange) counts() {
	x.amount = map[[2]int]int{}
	all := x.comm.all()
	for i, a := range all {
		for _, b := range all[i:] {
			v := x.IntN(x.n + 1)
			if x.chance(0.6) {
				v = x.n
			}
			x.amount[[2]int{a, b}], x.amount[[2]int{b, a}] = v, v
		}
	}
}

// call is the part of one process.
func (x *exchange) call(c Call, r int) Call {
	c.Rank = r
	own, peers := x.comm.group(r)
	root := c.rooted() && r == c.Peer
	c.InPlace = x.inPlace && (!c.rooted() || root)
	single := func() Buf { return x.buffer(r, x.basic, x.n) }
	plain := func() Buf { return x.place(r, Buf{Type: x.basic, Count: x.n}) }
	switch c.does() {
	case "MPI_Barrier":
	case "MPI_Bcast":
		c.Origin = single()
	case "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan":
		c.Op = "MPI_SUM"
		c.Origin, c.Result = plain(), plain()
	case "MPI_Reduce_scatter_block":
		c.Op = "MPI_SUM"
		c.Origin = x.place(r, Buf{Type: x.basic, Count: x.n * len(own)})
		c.Result = x.place(r, Buf{Type: x.basic, Count: x.n * len(own)}) // in place it holds all
		c.Result.Count = x.n
	case "MPI_Reduce_scatter":
		c.Op = "MPI_SUM"
		all := 0
		for _, q := range own {
			v := x.amount[[2]int{q, q}]
			all += v
			c.Recv.Counts = append(c.Recv.Counts, v)
		}
		c.Origin = x.place(r, Buf{Type: x.basic, Count: all})
		c.Result = x.place(r, Buf{Type: x.basic, Count: all})
	case "MPI_Gather", "MPI_Scatter":
		if c.Origin, c.Result = single(), x.many(r, len(peers)); c.does() == "MPI_Scatter" {
			c.Origin, c.Result = x.many(r, len(peers)), single()
		}
	case "MPI_Gatherv":
		c.Origin = x.buffer(r, x.basic, x.amount[[2]int{r, c.Peer}])
		c.Result, c.Recv = x.vector(r, x.from(peers, c.Peer), false)
	case "MPI_Scatterv":
		c.Origin, c.Send = x.vector(r, x.from(peers, c.Peer), false)
		c.Result = x.buffer(r, x.basic, x.amount[[2]int{c.Peer, r}])
	case "MPI_Allgather":
		c.Origin, c.Result = single(), x.many(r, len(peers))
	case "MPI_Allgatherv":
		own := func(q int) int { return x.amount[[2]int{q, q}] }
		c.Origin = x.buffer(r, x.basic, own(r))
		amounts := make([]int, len(peers))
		for k, q := range peers {
			amounts[k] = own(q)
		}
		c.Result, c.Recv = x.vector(r, amounts, false)
	case "MPI_Alltoall":
		c.Origin, c.Result = x.many(r, len(peers)), x.many(r, len(peers))
	case "MPI_Alltoallv", "MPI_Alltoallw":
		w := c.does() == "MPI_Alltoallw"
		c.Origin, c.Send = x.vector(r, x.from(peers, r), w)
		c.Result, c.Recv = x.vector(r, x.from(peers, r), w)
	default:
		x.neighbour(&c, single)
	}
	if c.does() == "MPI_Reduce" && !root || c.does() == "MPI_Gather" && !root || c.does() == "MPI_Gatherv" && !root {
		c.Result, c.Recv = Buf{}, Parts{}
	}
	if (c.does() == "MPI_Scatter" || c.does() == "MPI_Scatterv") && !root {
		c.Origin, c.Send = Buf{}, Parts{}
	}
	return c
}

func (x *exchange) neighbour(c *Call, single func() Buf) {
	sources, dests := x.comm.neighbours(c.Rank)
	w := c.does() == "MPI_Neighbor_alltoallw"
	switch c.does() {
	case "MPI_Neighbor_allgather":
		c.Origin, c.Result = single(), x.many(c.Rank, len(sources))
	case "MPI_Neighbor_allgatherv":
		c.Origin = x.buffer(c.Rank, x.basic, x.amount[[2]int{c.Rank, c.Rank}])
		amounts := make([]int, len(sources))
		for k, q := range sources {
			amounts[k] = x.amount[[2]int{q, q}]
		}
		c.Result, c.Recv = x.vector(c.Rank, amounts, false)
	case "MPI_Neighbor_alltoall":
		c.Origin, c.Result = x.many(c.Rank, len(dests)), x.many(c.Rank, len(sources))
	default:
		c.Origin, c.Send = x.vector(c.Rank, x.from(dests, c.Rank), w)
		c.Result, c.Recv = x.vector(c.Rank, x.from(sources, c.Rank), w)
	}
}

// from lists how much goes between a process and others.
func (x *exchange) from(others []int, r int) []int {
	out := make([]int, len(others))
	for k, q := range others {
		out[k] = x.amount[[2]int{q, r}]
	}
	return out
}

// many is a buffer of a part for each of k processes.
func (x *exchange) many(r, k int) Buf {
	b := Buf{Type: x.basic, Count: x.n * k}
	if k > 0 {
		b = x.place(r, b)
	}
	b.Count = x.n
	return b
}

// vector is a buffer of parts of these sizes, with gaps here and there, in some
// order.
func (x *exchange) vector(r int, amounts []int, types bool) (Buf, Parts) {
	v := Parts{Counts: slices.Clone(amounts), Displs: make([]int, len(amounts))}
	at := 0
	order := make([]int, len(amounts))
	for k := range order {
		order[k] = k
	}
	for _, k := range x.shuffled(order) {
		if x.chance(0.2) && at < 8 {
			at++
		}
		v.Displs[k] = at
		at += amounts[k]
	}
	b := x.place(r, Buf{Type: x.basic, Count: at})
	b.Count = 0
	if types {
		v.Types = make([]int, len(amounts))
		for k := range v.Types {
			v.Types[k] = x.basic
			v.Displs[k] *= x.p.extent(x.basic)
		}
	}
	return b, v
}
