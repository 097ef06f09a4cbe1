package oracle

import "slices"

// use is what a call does with one of its buffers.
type use struct {
	kind  accessKind
	role  string
	parts []Buf
}

// uses lists what a call does with its buffers, from its start to its end.
func (p *Program) uses(c *Call) []use {
	switch c.family() {
	case operationCall:
		return p.operationUses(c)
	case messageCall:
		return p.messageUses(c)
	case collectiveCall:
		return p.collectiveUses(c)
	}
	return nil
}

func reads(role string, parts ...Buf) use  { return use{read, role, parts} }
func writes(role string, parts ...Buf) use { return use{write, role, parts} }

func (p *Program) operationUses(c *Call) []use {
	if c.Peer == ProcNull {
		return nil
	}
	origin, result := reads("origin buffer", c.Origin), writes("result buffer", c.Result)
	switch c.does() {
	case "MPI_Put", "MPI_Accumulate":
		return []use{origin}
	case "MPI_Get":
		return []use{writes("origin buffer", c.Result)}
	case "MPI_Compare_and_swap":
		return []use{origin, result, reads("compare buffer", c.Compare)}
	}
	if c.Op == "MPI_NO_OP" {
		return []use{result}
	}
	return []use{origin, result}
}

func (p *Program) messageUses(c *Call) []use {
	var out []use
	if c.does() == "MPI_Sendrecv_replace" {
		// A non-blocking one writes its buffer all the time that it is pending;
		// a blocking one reads it first.
		if c.Peer != ProcNull && (c.form() == blocking || c.Source == ProcNull) {
			out = append(out, reads("buffer", c.Origin))
		}
		if c.Source != ProcNull {
			out = append(out, writes("buffer", c.Origin))
		}
		return out
	}
	if c.Partitions > 0 {
		all := c.Origin
		if c.does() == "MPI_Precv" {
			all = c.Result
		}
		all.Count *= c.Partitions
		return []use{{write, "buffer", []Buf{all}}}
	}
	if c.sends() && c.Peer != ProcNull {
		out = append(out, reads("send buffer", c.Origin))
	}
	if c.receives() && c.Source != ProcNull || c.does() == "MPI_Mrecv" {
		out = append(out, writes("receive buffer", c.Result))
	}
	return out
}

// parts lists the pieces of a buffer for each of n processes.
func (p *Program) parts(b Buf, v Parts, n int) []Buf {
	out := make([]Buf, n)
	for k := range out {
		q := b
		switch {
		case v.Types != nil:
			q.Type, q.Count = v.Types[k], v.Counts[k]
			q.Off += v.Displs[k]
		case v.Counts != nil:
			q.Count = v.Counts[k]
			q.Off += v.Displs[k] * p.extent(b.Type)
		default:
			q.Off += k * b.Count * p.extent(b.Type)
		}
		out[k] = q
	}
	return out
}

func (p *Program) collectiveUses(c *Call) []use {
	if c.makesComm() || c.onWindow() || c.Fn == "MPI_Comm_free" {
		return nil
	}
	if c.isNeighbour() {
		return p.neighbourUses(c)
	}
	comm := &p.Comms[c.Comm]
	own, peers := comm.group(c.Rank)
	me := slices.Index(own, c.Rank)
	root := c.rooted() && c.Rank == c.Peer
	if comm.Remote != nil && c.rooted() && !root && slices.Contains(own, c.Peer) {
		return nil // a process of the root's group other than the root
	}
	inter := comm.Remote != nil
	var in, out []Buf
	switch c.does() {
	case "MPI_Bcast":
		if root {
			in = []Buf{c.Origin}
		} else {
			out = []Buf{c.Origin}
		}
	case "MPI_Reduce":
		if !root || !inter {
			in = []Buf{c.Origin}
		}
		if root {
			out = []Buf{c.Result}
		}
	case "MPI_Allreduce", "MPI_Scan", "MPI_Exscan":
		in, out = []Buf{c.Origin}, []Buf{c.Result}
		if c.does() == "MPI_Exscan" && me == 0 {
			out = nil
		}
	case "MPI_Reduce_scatter_block":
		all := c.Origin
		all.Count, all.Type = c.Result.Count*len(own), c.Result.Type
		in, out = []Buf{all}, []Buf{c.Result}
		if c.InPlace {
			all.Off, all.Of = c.Result.Off, c.Result.Of
			return inPlace(c, []Buf{all}, out)
		}
	case "MPI_Reduce_scatter":
		all, mine := c.Origin, c.Result
		all.Count, all.Type = 0, c.Result.Type
		for _, n := range c.Recv.Counts {
			all.Count += n
		}
		mine.Count = c.Recv.Counts[me]
		in, out = []Buf{all}, []Buf{mine}
		if c.InPlace {
			all.Off, all.Of = c.Result.Off, c.Result.Of
			return inPlace(c, []Buf{all}, out)
		}
	case "MPI_Gather", "MPI_Gatherv":
		if !root || !inter {
			in = []Buf{c.Origin}
		}
		if root {
			out = p.parts(c.Result, c.Recv, len(peers))
			if c.InPlace {
				return inPlace(c, nil, without(c, out, me))
			}
		}
	case "MPI_Scatter", "MPI_Scatterv":
		if root {
			in = p.parts(c.Origin, c.Send, len(peers))
			if c.InPlace {
				in = without(c, in, me)
			}
		}
		if (!root || !inter) && !c.InPlace {
			out = []Buf{c.Result}
		}
		return inOut(in, out)
	case "MPI_Allgather", "MPI_Allgatherv":
		in, out = []Buf{c.Origin}, p.parts(c.Result, c.Recv, len(peers))
		if c.InPlace {
			return inPlace(c, out[me:me+1], without(c, out, me))
		}
	case "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw":
		in, out = p.parts(c.Origin, c.Send, len(peers)), p.parts(c.Result, c.Recv, len(peers))
		if c.InPlace {
			return inPlace(c, out, out)
		}
	}
	if c.InPlace && len(out) > 0 || c.InPlace && c.does() == "MPI_Exscan" {
		return inPlace(c, []Buf{c.Result}, out)
	}
	return inOut(in, out)
}

// without leaves out a process's own part, which MPI_IN_PLACE leaves where it
// is. A non-blocking call has all of its buffers until it is complete.
func without(c *Call, parts []Buf, me int) []Buf {
	if c.form() != blocking {
		return parts
	}
	return slices.Delete(slices.Clone(parts), me, me+1)
}

func inOut(in, out []Buf) []use {
	var uses []use
	if len(in) > 0 {
		uses = append(uses, reads("send buffer", in...))
	}
	if len(out) > 0 {
		uses = append(uses, writes("receive buffer", out...))
	}
	return uses
}

// inPlace is what a call with MPI_IN_PLACE does: it reads some of its one
// buffer and then writes some. While a non-blocking one is pending, what it will
// write may not be touched, and the rest not be written.
func inPlace(c *Call, in, out []Buf) []use {
	if c.form() != blocking {
		return []use{writes("buffer", slices.Concat(in, out)...)}
	}
	return inOut(in, out)
}

func (p *Program) neighbourUses(c *Call) []use {
	sources, dests := p.Comms[c.Comm].neighbours(c.Rank)
	real := func(parts []Buf, of []int) []Buf {
		var out []Buf
		for k, b := range parts {
			if of[k] != ProcNull {
				out = append(out, b)
			}
		}
		return out
	}
	in := []Buf{c.Origin}
	if c.does() != "MPI_Neighbor_allgather" && c.does() != "MPI_Neighbor_allgatherv" {
		in = real(p.parts(c.Origin, c.Send, len(dests)), dests)
	} else if !slices.ContainsFunc(dests, func(d int) bool { return d != ProcNull }) {
		in = nil
	}
	return inOut(in, real(p.parts(c.Result, c.Recv, len(sources)), sources))
}

// spans returns the bounds of the call's buffers, each in the memory of the
// process that its Of names.
func (p *Program) spans(c *Call) []span {
	var out []span
	if c.isLocal() {
		last := c.Off + (c.Count-1)*c.Stride
		return []span{{c.owner(c.Of), min(c.Off, last), max(c.Off, last) + c.Elem}}
	}
	for _, u := range p.uses(c) {
		for _, b := range u.parts {
			if b.Count == 0 {
				continue
			}
			if lo, hi := p.reach(b.Type, b.Count); lo < hi {
				out = append(out, span{c.owner(b.Of), b.Off + lo, b.Off + hi})
			}
		}
	}
	return out
}

// span is a range of a process's memory, half-open.
type span struct{ rank, lo, hi int }

func (s span) within(t span) bool { return s.rank == t.rank && s.lo >= t.lo && s.hi <= t.hi }
func (s span) meets(t span) bool  { return s.rank == t.rank && s.lo < t.hi && t.lo < s.hi }

// owner is the process whose memory something lies in.
func (c *Call) owner(of int) int {
	if of > 0 {
		return of - 1
	}
	return c.Rank
}
