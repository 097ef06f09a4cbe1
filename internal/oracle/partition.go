package oracle

import (
	"errors"
	"slices"
)

// Partitioned communication (MPI standard, chapter 4). The n-th MPI_Psend_init
// of a channel matches the n-th MPI_Precv_init, and their k-th starts belong
// together.

func (c *Call) partitionedSend() bool { return c.does() == "MPI_Psend" }

// partitionChannel is what a partitioned operation matches by.
func (c *Call) partitionChannel() channel {
	if c.partitionedSend() {
		return c.sendChannel()
	}
	return channel{c.Comm, c.Source, c.Rank, c.Tag}
}

// preadied lists the partitions that a Pready call marks.
func (c *Call) preadied() []int {
	if c.Fn != "MPI_Pready_range" {
		return c.Ready
	}
	var out []int
	for i := c.Ready[0]; i <= c.Ready[1]; i++ {
		out = append(out, i)
	}
	return out
}

// covers reports whether partition i of the send holds data of partition j of
// the receive.
func (p *Program) covers(send *Call, i int, recv *Call, j int) bool {
	s, r := p.bytes(send.Origin.Type, send.Origin.Count), p.bytes(recv.Result.Type, recv.Result.Count)
	return i*s < (j+1)*r && j*r < (i+1)*s
}

// partners pairs the activations of partitioned sends and receives up.
func (m *matching) partners() map[int]int {
	inits := map[bool]map[channel][]int{true: {}, false: {}}
	for i := range m.p.Calls {
		if c := &m.p.Calls[i]; c.Partitions > 0 {
			side := inits[c.partitionedSend()]
			side[c.partitionChannel()] = append(side[c.partitionChannel()], i)
		}
	}
	type run struct{ call, run int }
	acts := map[run]int{}
	for a := range m.acts {
		acts[run{m.acts[a].call, m.acts[a].run}] = a
	}
	out := map[int]int{}
	for ch, sends := range inits[true] {
		for k, s := range sends {
			if k >= len(inits[false][ch]) {
				continue
			}
			r := inits[false][ch][k]
			for n := 0; ; n++ {
				a, ok := acts[run{s, n}]
				b, too := acts[run{r, n}]
				if !ok || !too {
					break
				}
				out[a], out[b] = b, a
			}
		}
	}
	return out
}

// partitions: marking a partition ready comes before the end of the receive,
// and before an MPI_Parrived that finds data of that partition arrived.
func (o *order) partitions() {
	partner := o.m.partners()
	for i, a := range o.m.named {
		c := &o.p.Calls[i]
		b, ok := partner[a]
		if c.Fn == "MPI_Parrived" || !ok {
			continue
		}
		x, y := &o.m.acts[a], &o.m.acts[b]
		if y.done >= 0 {
			o.orders(i, y.done)
		}
		for j, other := range o.m.named {
			d := &o.p.Calls[j]
			if other != b || d.Fn != "MPI_Parrived" || !d.Flag {
				continue
			}
			if slices.ContainsFunc(c.preadied(), func(k int) bool {
				return o.p.covers(&o.p.Calls[x.call], k, &o.p.Calls[y.call], d.Ready[0])
			}) {
				o.orders(i, j)
			}
		}
	}
}

// partitionAccesses are those of a partitioned send, which reads a partition
// from the call that marks it ready on, or of a receive, which writes one until
// it is seen to have arrived.
func (o *order) partitionAccesses(x *activation) []access {
	c := &o.p.Calls[x.call]
	done := never
	if x.done >= 0 {
		done = at(x.done, leave)
	}
	var out []access
	add := func(call, k int, kind accessKind, role string, b Buf, done point) {
		b.Off += k * b.Count * o.p.extent(b.Type)
		a := o.access(call, c.owner(b.Of), kind, role)
		a.dones = done.list()
		o.addBytes(&a, b.Off, b.Type, b.Count, -1)
		out = append(out, a)
	}
	self := slices.IndexFunc(o.m.acts, func(y activation) bool { return y.start == x.start && y.req == x.req })
	if c.partitionedSend() {
		for _, i := range o.of[c.Rank] {
			if a, ok := o.m.named[i]; ok && a == self {
				for _, k := range o.p.Calls[i].preadied() {
					add(i, k, read, "partition", c.Origin, done)
				}
			}
		}
		return out
	}
	for k := range c.Partitions {
		end := done
		for _, i := range o.of[c.Rank] {
			if d := &o.p.Calls[i]; d.Fn == "MPI_Parrived" && d.Flag && d.Ready[0] == k && o.m.named[i] == self {
				end = at(i, leave)
				break
			}
		}
		add(x.start, k, write, "partition", c.Result, end)
	}
	return out
}

// pair notes an initialized partitioned request at its place in its channel.
func (s *simulation) pair(r *request) {
	side := s.sides[r.call.partitionedSend()]
	ch := r.call.partitionChannel()
	side[ch] = append(side[ch], r)
	r.instance = len(side[ch]) - 1
}

// startPartitions starts a partitioned operation, and returns whether it can
// end: when all partitions of the send are ready.
func (s *simulation) startPartitions(x *request) func() bool {
	run := x.runs
	if x.call.partitionedSend() {
		x.ready = append(x.ready, make([]bool, x.call.Partitions))
		return func() bool { return !slices.Contains(x.ready[run], false) }
	}
	return func() bool {
		y := s.partner(x)
		return y != nil && run < len(y.ready) && !slices.Contains(y.ready[run], false)
	}
}

// partner is the send of a partitioned receive.
func (s *simulation) partner(x *request) *request {
	if sends := s.sides[true][x.call.partitionChannel()]; x.instance < len(sends) {
		return sends[x.instance]
	}
	return nil
}

// partition makes an MPI_Pready or MPI_Parrived call.
func (s *simulation) partition(c *Call) error {
	x := s.ranks[c.Rank].reqs[c.Reqs[0]]
	if x.call.Partitions == 0 || !x.active || x.call.partitionedSend() == (c.Fn == "MPI_Parrived") {
		return errors.New("no such partitioned request is active")
	}
	for _, k := range c.preadied() {
		if k < 0 || k >= x.call.Partitions {
			return errors.New("no such partition")
		}
	}
	if c.Fn == "MPI_Parrived" {
		y := s.partner(x)
		run := x.runs - 1
		arrived := y != nil && run < len(y.ready)
		for i := 0; arrived && i < y.call.Partitions; i++ {
			arrived = y.ready[run][i] || !s.p.covers(&y.call, i, &x.call, c.Ready[0])
		}
		if c.Flag && !arrived {
			return errors.New("the partition has not arrived")
		}
		return nil
	}
	ready := x.ready[x.runs-1]
	for _, k := range c.preadied() {
		if ready[k] {
			return errors.New("the partition is ready already")
		}
	}
	for _, k := range c.preadied() {
		ready[k] = true
	}
	return nil
}

// partitioned queues the two sides of a partitioned message.
func (g *generator) partitioned(comm, a, b int) {
	if a == b {
		return
	}
	u := g.unit()
	const elements = 4
	parts := []int{1, 2, 4}
	basic := pick(g.Rand, []int{Int, Int, Short, Float})
	side := func(fn string, r int) Call {
		c := Call{Fn: fn, Unit: u, Comm: comm, Peer: b, Source: a, Tag: g.IntN(2), Partitions: pick(g.Rand, parts)}
		all := g.place(r, Buf{Type: basic, Count: elements})
		all.Count /= c.Partitions
		c.Origin, c.Result = all, all
		return c
	}
	send, recv := side("MPI_Psend_init", a), side("MPI_Precv_init", b)
	recv.Tag = send.Tag
	send, recv = g.talk(a, send), g.talk(b, recv)
	s := started{unit: u, ranks: []int{a, b}, reqs: []int{send.Reqs[0], recv.Reqs[0]}}
	s.calls = func(r, req, unit int) {
		if r == a {
			g.preadies(a, req, unit, send.Partitions)
		} else if g.with(TestForms) && g.chance(0.6) {
			g.push(b, Call{Fn: "MPI_Parrived", Unit: unit, Reqs: []int{req}, Ready: []int{g.IntN(recv.Partitions)}, Flag: true}, 0)
		}
		g.push(r, Call{Fn: "MPI_Wait", Unit: unit, Reqs: []int{req}}, 0)
	}
	g.groups = append(g.groups, s)
	g.restart(s)
}

// preadies queues the calls that mark all partitions of a send ready.
func (g *generator) preadies(r, req, unit, n int) {
	c := Call{Unit: unit, Reqs: []int{req}}
	order := g.Perm(n)
	switch {
	case g.chance(0.2):
		c.Fn, c.Ready = "MPI_Pready_range", []int{0, n - 1}
		g.push(r, c, 0)
	case g.chance(0.3):
		c.Fn, c.Ready = "MPI_Pready_list", order
		g.push(r, c, 0)
	default:
		for _, k := range order {
			c.Fn, c.Ready = "MPI_Pready", []int{k}
			g.push(r, c, 0)
		}
	}
}
