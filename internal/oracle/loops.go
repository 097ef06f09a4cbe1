package oracle

import "math/rand/v2"

// Repeated returns the program with some of its one-sided operations made again, one to
// three times behind themselves, as a loop makes them: mostly with other elements and
// buffers each time.
func (p *Program) Repeated(r *rand.Rand) *Program {
	q := p.clone()
	unit := 0
	for i := range p.Calls {
		unit = max(unit, p.Calls[i].Unit)
	}
	q.Calls = nil
	for _, c := range p.Calls {
		q.Calls = append(q.Calls, c)
		if !c.again(p) || r.IntN(3) > 0 {
			continue
		}
		for n := 1 + r.IntN(3); n > 0; n-- {
			unit++
			c.Unit = unit
			if r.IntN(8) > 0 && !c.shift(p) {
				break
			}
			q.Calls = append(q.Calls, c)
		}
	}
	if q.Normalize() != nil { // a buffer lies in memory that is not there yet, or not any more
		return p.clone()
	}
	return q
}

// again reports whether a call is one that Repeated makes again.
func (c *Call) again(p *Program) bool {
	switch c.Fn {
	case "MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap":
		return c.Peer != ProcNull && p.Wins[c.Win].Make != "MPI_Win_create_dynamic"
	}
	return false
}

// shift moves the elements and buffers of an operation behind themselves. It reports
// whether there is room.
func (c *Call) shift(p *Program) bool {
	win := &p.Wins[c.Win]
	unit := win.Unit[c.Peer]
	lo, hi := p.reach(c.TType, c.TCount)
	step := (hi - lo + unit - 1) / unit
	if (c.Disp+step)*unit+hi > win.Size[c.Peer] {
		return false
	}
	c.Disp += step
	for _, b := range []*Buf{&c.Origin, &c.Result, &c.Compare} {
		from, to := p.reach(b.Type, b.Count)
		if d := to - from; b.Of == 0 && b.Off+d+to <= p.Size[c.Rank] {
			b.Off += d
		}
	}
	return true
}

// InLoops returns the program with one line for all calls of a process that are of one
// function on one window: as if they stood in a loop. Its races are those of p between
// other places.
func (p *Program) InLoops() *Program {
	type place struct {
		rank, win int
		fn        string
	}
	q := p.clone()
	lines := map[place]int{}
	for i := range q.Calls {
		c := &q.Calls[i]
		at := place{c.Rank, c.Win, c.Fn}
		if lines[at] == 0 {
			lines[at] = c.Line
		}
		c.Line = lines[at]
	}
	return q
}
