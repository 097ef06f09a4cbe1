package values

// order is a relation of points: what happens before what, or is it.
type order [][]uint64

func (o order) before(a, b int) bool { return a == b || o[a][b/64]>>(b%64)&1 != 0 }

// close returns the closure of program order, the program's edges, and more.
func (p *Program) close(more [][2]int) order {
	n := 2 * len(p.events)
	o := make(order, n)
	for i := range o {
		o[i] = make([]uint64, (n+63)/64)
	}
	add := func(a, b int) { o[a][b/64] |= 1 << (b % 64) }
	last := map[[2]int]*event{}
	for _, e := range p.events {
		add(e.enter(), e.leave())
		if x := last[[2]int{e.pe, e.strand}]; x != nil {
			add(x.leave(), e.enter())
		}
		last[[2]int{e.pe, e.strand}] = e
	}
	for _, list := range [][][2]int{p.edges, more} {
		for _, x := range list {
			add(x[0], x[1])
		}
	}
	for k := range n {
		for i := range n {
			if o[i][k/64]>>(k%64)&1 != 0 {
				for w := range o[i] {
					o[i][w] |= o[k][w]
				}
			}
		}
	}
	return o
}
