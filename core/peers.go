package core

import (
	"math"
	"slices"
	"sort"
)

// peers are updates of a word that a strand has issued one after the other, which do the same
// and may take effect in any order. They are placed in the order of issue: whichever took
// effect first, the values are the same, and so is what their strand had done before the
// first of so many. But what an update shows by itself, such as that the data which came with
// it is there, another one in its place does not.
type peers struct {
	key any
	ops []*WordOp // in the order of issue, from the first that may still be replaced
}

// openVersions are what a strand has seen of updates that others of theirs may have been in
// place of, in order.
type openVersions struct {
	of   *peers
	list []*version
}

// Unordered says that nothing puts the update in order with those that the strand has issued
// for the word just before it with the same key, and that all of these do the same.
func (op *WordOp) Unordered(key any) {
	if op == nil {
		return
	}
	v := op.word.visitor(op.strand)
	g := v.peers
	if g == nil || g.key != key || g.ops[len(g.ops)-1].turn != op.turn-1 {
		g = &peers{key: key}
		v.peers = g
	}
	oldest, n := op.word.versions[0].number, 0
	for n < len(g.ops) && g.ops[n].made != nil && g.ops[n].made.number < oldest {
		n++
	}
	g.ops = append(slices.Delete(g.ops, 0, n), op)
	op.peers = g
}

// mayReplace reports whether another of the updates, of which it is not certain that it took
// effect after a version, may have been in place of one that made a version up to that.
func (g *peers) mayReplace(x *version, upTo int) bool { return g != nil && g.bound(upTo) < x.number }

// bound returns up to which version none can be replaced by an update that was placed behind
// another version, or is not placed.
func (g *peers) bound(upTo int) int {
	i := sort.Search(len(g.ops), func(i int) bool { m := g.ops[i].made; return m == nil || m.number > upTo })
	if i == len(g.ops) {
		return math.MaxInt
	}
	return g.ops[i].lowerBound()
}

// lowerBound returns the number of the last version that the update comes after for certain, but
// for those of its own strand.
func (op *WordOp) lowerBound() int {
	if op.made != nil {
		return op.bound
	}
	if op.floor == nil { // nobody will know of it
		return math.MaxInt
	}
	n := op.floor.number
	for _, x := range op.after {
		switch {
		case x.strand == op.strand || x.update == nil:
		case x.made == nil:
			return math.MaxInt
		default:
			n = max(n, x.made.number)
		}
	}
	return n
}

// leaveOpen notes that another update may have been in place of that which made a version.
func (v *visitor) leaveOpen(x *version) {
	i := slices.IndexFunc(v.open, func(o openVersions) bool { return o.of == x.by.peers })
	if i < 0 {
		i = len(v.open)
		v.open = append(v.open, openVersions{of: x.by.peers})
	}
	v.open[i].list = append(v.open[i].list, x)
}

// close says which of the updates that were open a strand has seen for certain, which comes
// after a version now.
func (v *visitor) close(s *Strand, upTo int) {
	for i := range v.open {
		o := &v.open[i]
		bound, n := o.of.bound(upTo), 0
		for n < len(o.list) && o.list[n].number <= bound {
			o.list[n].by.seen(s, true)
			n++
		}
		o.list = slices.Delete(o.list, 0, n)
	}
	v.open = slices.DeleteFunc(v.open, func(o openVersions) bool { return len(o.list) == 0 })
}
