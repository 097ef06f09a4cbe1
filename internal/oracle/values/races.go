package values

import (
	"fmt"
	"slices"
)

// Races is what a program has.
type Races struct {
	Certain  []string // whatever the values mean
	Possible []string // for some meaning of the values
	Decided  bool     // the values decide what each read comes after
	Untold   []string // functions of which the trace does not tell what they found, sorted
}

// Races returns the pairs of places that race; nil where there are too many ways in
// which its words can have got their values.
func (p *Program) Races() *Races {
	var more [][2]int
	var done map[*access][]int
	defer func(edges [][2]int) { p.edges = edges }(p.edges)
	for {
		o := p.close(more)
		for _, w := range p.words {
			if !w.explain(o) {
				return nil
			}
		}
		sure, seen := p.learnedForCertain()
		again := len(sure) != len(more)
		more, done = sure, seen
		for _, w := range p.words { // what is seen has taken effect
			for i, x := range w.ops {
				for _, y := range w.ops {
					if y.reads() && y.certain>>i&1 != 0 && !slices.Contains(x.done, y.by.leave()) {
						x.done = append(x.done, y.by.leave())
						again = true
					}
				}
			}
		}
		if !again {
			break
		}
	}
	decided := true
	for _, w := range p.words {
		for _, x := range w.ops {
			decided = decided && (!x.reads() || x.certain == x.possible) && !w.endedByStore(x)
		}
	}
	sure := p.close(more)
	if slices.ContainsFunc(p.accesses, func(a *access) bool { return a.fencedBeside(sure) }) {
		decided = false
	}
	edges, _ := p.learnedPerhaps(sure)
	perhaps := p.close(edges)
	_, doneThen := p.learnedPerhaps(perhaps)
	if p.dropNotTold(sure) {
		decided = false
		more, _ = p.learnedForCertain()
		sure = p.close(more)
		_, done = p.learnedForCertain()
	}
	return &Races{
		Decided:  decided,
		Untold:   slices.Compact(slices.Sorted(slices.Values(p.untold))),
		Possible: p.racing(sure, done, true),
		Certain:  p.racing(perhaps, doneThen, false),
	}
}

// dropNotTold leaves out what need not be told apart: which of several notifications of one
// identifier a call saw, which of several messages is whose, and what is found in a word
// whose owner stores to it beside that. It reports whether there is any.
func (p *Program) dropNotTold(o order) bool {
	any := false
	for _, w := range p.words {
		if w.crossed(o) || w.storedBeside(o) {
			any = true
			for _, x := range w.ops {
				x.certain, x.issued, x.shown = 0, 0, nil
			}
		}
	}
	for _, pair := range p.passiveBeside(o) {
		any = true
		p.edges = slices.DeleteFunc(slices.Clone(p.edges), func(e [2]int) bool {
			a, b := pair[0], pair[1]
			return e == [2]int{a.enter(), b.leave()} || e == [2]int{b.enter(), a.leave()}
		})
	}
	return any
}

// endedByStore reports whether a store by another strand of the process may have ended a
// wait: what it left is not known.
func (w *word) endedByStore(x *op) bool {
	if x.meets == nil {
		return false
	}
	for i, y := range w.ops {
		if x.possible>>i&1 != 0 && y.by.fn == "" && y.by.strand != x.by.strand {
			return true
		}
	}
	return false
}

// storedBeside reports whether a store of the owner and an operation of another strand are
// not ordered.
func (w *word) storedBeside(o order) bool {
	before := func(x, y *op) bool {
		return slices.ContainsFunc(x.done, func(d int) bool { return o.before(x.by.enter(), d) && o.before(d, y.by.enter()) })
	}
	return slices.ContainsFunc(w.ops, func(x *op) bool {
		return x.by.fn == "" && slices.ContainsFunc(w.ops, func(y *op) bool {
			return (x.by.pe != y.by.pe || x.by.strand != y.by.strand) && !before(x, y) && !before(y, x)
		})
	})
}

// crossed reports whether two notifications of one identifier may cross each other: when
// either is posted nobody has seen the other, and they are not of one queue and in order.
func (w *word) crossed(o order) bool {
	seen := func(x, y *op) bool {
		return slices.ContainsFunc(x.done, func(d int) bool { return o.before(d, y.by.enter()) })
	}
	inOrder := func(x, y *op) bool { return o.before(x.by.leave(), y.by.enter()) }
	for i, x := range w.ops {
		for _, y := range w.ops[:i] {
			one := x.stream == y.stream && x.by.pe == y.by.pe && (inOrder(x, y) || inOrder(y, x))
			if x.stream != "" && y.stream != "" && !one && !seen(x, y) && !seen(y, x) {
				return true
			}
		}
	}
	return false
}

// passiveBeside returns the sends, and their receives, of which strands of one process make
// some beside each other so that either message may be the other's.
func (p *Program) passiveBeside(o order) (all [][2]*event) {
	for i, x := range p.passive {
		for _, y := range p.passive[:i] {
			if x[0].pe != y[0].pe || x[1].pe != y[1].pe {
				continue
			}
			for side := range x {
				if a, b := y[side], x[side]; a.strand != b.strand && !o.before(a.leave(), b.enter()) && !o.before(b.leave(), a.enter()) {
					all = append(all, x, y)
				}
			}
		}
	}
	return all
}

// learnedForCertain returns the edges that reads make on every way, and where they show that
// accesses are complete.
func (p *Program) learnedForCertain() (edges [][2]int, done map[*access][]int) {
	return p.learned(func(r *op) uint64 { return r.issued }, func(r *op) []*access { return r.shown })
}

// learnedPerhaps is that of any way.
func (p *Program) learnedPerhaps(o order) (edges [][2]int, done map[*access][]int) {
	return p.learned(func(r *op) uint64 { return r.possible }, func(r *op) (all []*access) {
		for _, w := range p.words {
			if !slices.Contains(w.ops, r) {
				continue
			}
			for i, x := range w.ops {
				if x == r && !r.returned() || x != r && r.possible>>i&1 == 0 || x.by.fn == "" {
					continue
				}
				for _, l := range x.links() {
					if l.holds(o, x, false) {
						all = append(all, l.access)
					}
				}
			}
		}
		return all
	})
}

func (p *Program) learned(after func(*op) uint64, shown func(*op) []*access) (edges [][2]int, done map[*access][]int) {
	done = map[*access][]int{}
	for _, w := range p.words {
		for _, r := range w.ops {
			if !r.reads() {
				continue
			}
			for i, x := range w.ops {
				if after(r)>>i&1 != 0 && x != r && x.by.fn != "" {
					edges = append(edges, [2]int{x.by.enter(), r.by.leave()})
				}
			}
			for _, a := range shown(r) {
				done[a] = append(done[a], r.by.leave())
			}
		}
	}
	return edges, done
}

func (p *Program) racing(o order, done map[*access][]int, first bool) []string {
	var out []string
	ordered := func(a, b *access) bool {
		for _, list := range [][]int{a.done, done[a]} {
			for _, d := range list {
				if o.before(a.start, d) && o.before(d, b.start) {
					return true
				}
			}
		}
		return a.lane != "" && a.lane == b.lane && a.by != b.by && !b.unchained && a.before(o, b.start, first)
	}
	for i, a := range p.accesses {
		for _, b := range p.accesses[:i] {
			if a.owner != b.owner || a.lo >= b.hi || b.lo >= a.hi || !conflict(a, b) || ordered(a, b) || ordered(b, a) {
				continue
			}
			x, y := place(a), place(b)
			out = append(out, fmt.Sprintf("%s and %s", min(x, y), max(x, y)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func place(a *access) string { return fmt.Sprintf("p%d.c:%d", a.by.pe, a.by.line) }

func conflict(a, b *access) bool {
	if a.by == b.by || a.by.fn == "" && b.by.fn == "" && a.by.pe == b.by.pe {
		return false
	}
	wrote := func(k kind) bool { return k == writes || k == atomicWrites }
	if !wrote(a.kind) && !wrote(b.kind) {
		return false
	}
	return a.typ == "" || b.typ == "" || a.typ != b.typ
}
