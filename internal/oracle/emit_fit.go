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
	{"openmpi", "osc/rdma of 4.1 crashes in MPI_Compare_and_swap of 8 bytes to oneself", func(p *Program, c *Call) bool {
		return c.Fn == "MPI_Compare_and_swap" && c.Peer == c.Rank && p.Types[c.TType].Bytes == 8
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
			return p, nil
		}
		q, err := p.drop(p.Calls[i].Unit)
		if err != nil {
			return nil, err
		}
		p = q
	}
}

// overlapsItself reports whether buffers of the call, or its buffers and its
// target, share memory.
func overlapsItself(p *Program, c *Call) bool {
	if c.isLocal() {
		return false
	}
	spans := p.spans(c)
	if c.isOperation() && c.Peer == c.Rank && c.TCount > 0 {
		win := &p.Wins[c.Win]
		at := win.Off[c.Peer] + c.Disp*win.Unit[c.Peer]
		l := p.elements(c.TType, c.TCount)
		spans = append(spans, [2]int{at + l.lb, at + l.ub})
	}
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if a[0] < b[1] && b[0] < a[1] {
				return true
			}
		}
	}
	return false
}

// crossesAllocated reports whether a buffer, load or store lies partly in
// memory that MPI gives a window.
func crossesAllocated(p *Program, c *Call) bool {
	for _, b := range p.spans(c) {
		for w := range p.Wins {
			win := &p.Wins[w]
			lo, hi := win.Off[c.Rank], win.Off[c.Rank]+win.Size[c.Rank]
			if win.allocates() && lo < hi && b[0] < hi && lo < b[1] && (b[0] < lo || b[1] > hi) {
				return true
			}
		}
	}
	return false
}
