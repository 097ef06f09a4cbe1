package oracle

import "slices"

// unfit is a kind of calls that MPI libraries cannot be made to execute, though
// the oracle says something of them.
type unfit struct {
	library string // "" all
	why     string
	is      func(p *Program, c *Call) bool
}

// unfits are the calls that programs run for real leave out.
var unfits = []unfit{
	{"", "the buffers of one call overlap: an error in itself, on which libraries abort", overlapsItself},
	{"", "it reaches over the edge of memory that the library allocates elsewhere", crossesAllocated},
	{"", "a target displacement is not negative (MPI standard, 12.3.1)", func(_ *Program, c *Call) bool {
		return c.isOperation() && c.Disp < 0
	}},
	{"mpich", "4.0 wants a send buffer of the root as well", func(p *Program, c *Call) bool {
		return c.does() == "MPI_Reduce" && p.Comms[c.Comm].Remote != nil
	}},
	{"mpich", "4.0 takes the request of a one-sided operation for invalid in MPI_Request_free", func(p *Program, c *Call) bool {
		return c.Fn == "MPI_Request_free" && slices.ContainsFunc(p.Calls, func(d Call) bool {
			return d.isOperation() && d.form() == nonblocking && d.Reqs[0] == c.Reqs[0]
		})
	}},
	{"openmpi", "not in MPI 3.1", func(_ *Program, c *Call) bool {
		switch c.Fn {
		case "MPI_Isendrecv", "MPI_Isendrecv_replace", "MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived":
			return true
		}
		return c.Partitions > 0 || c.isCollective() && c.form() == persistent
	}},
	{"openmpi", "4.1 makes no windows of one process", func(p *Program, c *Call) bool {
		return c.makesWindow() && len(p.members(c)) == 1
	}},
	{"openmpi", "osc/rdma of 4.1 crashes in MPI_Compare_and_swap of 8 bytes, to oneself and in allocated windows", func(p *Program, c *Call) bool {
		return c.Fn == "MPI_Compare_and_swap" && p.Types[c.TType].Bytes == 8
	}},
}

// fit returns the program without the calls that do not fit a library.
func (p *Program) fit(library string) (*Program, error) {
	for {
		i := slices.IndexFunc(p.Calls, func(c Call) bool {
			return slices.ContainsFunc(unfits, func(u unfit) bool {
				return (u.library == "" || u.library == library) && u.is(p, &c)
			})
		})
		if i < 0 {
			i = p.overlappingMessage()
		}
		if i < 0 && library == "mpich" {
			i = p.idleWait()
		}
		if i < 0 {
			return p, nil
		}
		q, err := p.drop(p.Calls[i].Unit)
		if err != nil {
			return nil, err
		}
		p = q
	}
}

// overlappingMessage returns the first receive of a message that the process
// sends to itself where the two buffers overlap; -1 when there is none. MPICH
// aborts there.
func (p *Program) overlappingMessage() int {
	acts := p.match().acts
	for _, a := range acts {
		if a.sent < 0 {
			continue
		}
		c, d := &p.Calls[a.call], &p.Calls[acts[a.sent].call]
		if c.Rank != d.Rank {
			continue
		}
		for _, s := range p.spans(c) {
			if slices.ContainsFunc(p.spans(d), s.meets) && c.does() != "MPI_Sendrecv_replace" {
				return a.call
			}
		}
	}
	return -1
}

// idleWait returns the first call that completes a persistent collective request
// which is not active: MPICH 4.0 never returns from it; -1 when there is none.
func (p *Program) idleWait() int {
	m := p.match()
	for i := range p.Calls {
		for _, r := range p.Calls[i].completed() {
			init, ok := m.inits[r]
			active := slices.ContainsFunc(m.dones[i], func(a int) bool { return m.acts[a].req == r })
			if ok && p.Calls[init].isCollective() && !active {
				return i
			}
		}
	}
	return -1
}

// overlapsItself reports whether buffers of the call that are written share
// memory with others of its buffers, or with its target.
func overlapsItself(p *Program, c *Call) bool {
	var reads, writes []span
	for _, u := range p.uses(c) {
		for _, b := range u.parts {
			s, ok := p.span(c, b)
			switch {
			case !ok:
			case u.kind == read:
				reads = append(reads, s)
			default:
				writes = append(writes, s)
			}
		}
	}
	if c.isOperation() && c.Peer != ProcNull {
		win := &p.Wins[c.Win]
		target := Buf{Off: win.Off[c.Peer] + c.Disp*win.Unit[c.Peer], Count: c.TCount, Type: c.TType, Of: c.Peer + 1}
		if s, ok := p.span(c, target); ok {
			writes = append(writes, s)
		}
	}
	for i, a := range writes {
		if slices.ContainsFunc(writes[i+1:], a.meets) {
			return true
		}
		if !c.InPlace && c.does() != "MPI_Sendrecv_replace" && slices.ContainsFunc(reads, a.meets) {
			return true
		}
	}
	return false
}

// span returns the bounds of a buffer; false when it holds no bytes.
func (p *Program) span(c *Call, b Buf) (span, bool) {
	lo, hi := p.reach(b.Type, b.Count)
	return span{c.owner(b.Of), b.Off + lo, b.Off + hi}, lo < hi
}

// hull returns the bounds of all parts of a buffer.
func (p *Program) hull(c *Call, u use) (hull span, ok bool) {
	for _, b := range u.parts {
		s, some := p.span(c, b)
		switch {
		case !some:
		case !ok:
			hull, ok = s, true
		default:
			hull.lo, hull.hi = min(hull.lo, s.lo), max(hull.hi, s.hi)
		}
	}
	return hull, ok
}

// crossesAllocated reports whether a buffer, load or store lies partly in
// memory that MPI gives a window.
func crossesAllocated(p *Program, c *Call) bool {
	spans := p.spans(c)
	for _, u := range p.uses(c) {
		if h, ok := p.hull(c, u); ok {
			spans = append(spans, h)
		}
	}
	for _, b := range spans {
		for w := range p.Wins {
			part := p.Wins[w].part(b.rank)
			if p.Wins[w].allocates() && b.meets(part) && (b.lo < part.lo || b.hi > part.hi) {
				return true
			}
		}
	}
	return false
}
