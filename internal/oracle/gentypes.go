package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// derivedTypes adds a few datatypes to the program.
func (g *generator) derivedTypes() {
	for range 1 + g.IntN(4) {
		old := g.IntN(pairs)
		if g.chance(0.3) {
			old = g.IntN(len(g.p.Types))
		}
		t := g.derivedType(old)
		if g.with(Scattered) && g.chance(0.5) {
			t = g.scatteredType(old)
		}
		last := len(g.p.Types)
		g.p.Types = append(g.p.Types, t)
		if l := g.p.layout(last); g.p.bytes(last, 1) > 24 || l.count > 12 || l.ub-l.lb > 64 || l.ub <= l.lb || len(l.parts) == 0 {
			g.p.Types, g.p.layouts = g.p.Types[:last], g.p.layouts[:last]
		}
	}
}

// scatteredType makes a type of another whose data are not in the order of their
// addresses, most often: where several follow each other at the latest.
func (g *generator) scatteredType(old int) Type {
	if old >= pairs {
		old = Int
	}
	n, extent := 2+g.IntN(2), g.p.extent(old)
	t := Type{Olds: []int{old}}
	switch g.IntN(5) {
	case 0:
		t.Make, t.Ints = trace.IndexedBlock, append([]int{n, 1}, g.displacements(n, 1, 1)...)
	case 1:
		t.Make, t.Ints, t.Addrs = trace.Hindexed, append([]int{n}, slices.Repeat([]int{1}, n)...), g.displacements(n, 1, extent)
	case 2:
		t.Make, t.Ints = trace.Vector, []int{n, 1, -1 - g.IntN(3)}
	case 3:
		t.Make, t.Ints, t.Addrs = trace.Hvector, []int{n, 1}, []int{-extent * (1 + g.IntN(3))}
	default: // elements that follow each other are woven into one another
		g.p.Types = append(g.p.Types, Type{Make: trace.Vector, Ints: []int{2, 1, 4}, Olds: []int{old}})
		t.Make, t.Addrs, t.Olds = trace.Resized, []int{0, extent}, []int{len(g.p.Types) - 1}
	}
	return t
}

// longer picks a buffer, of which the place is to be drawn, for a message of n
// elements of a predefined type that fill a part of it, in a derived type.
func (g *generator) longer(basic, n int) (b Buf, ok bool) {
	for t := predefined; t < len(g.p.Types); t++ {
		k := g.p.layout(t).count
		if g.p.basic(t) != basic || k < 2 || g.chance(0.3) {
			continue
		}
		b = Buf{Type: t, Count: min((n+k)/k, 4)}
		if lo, hi := g.p.reach(t, b.Count); g.p.count(b) > n && hi-lo <= private {
			return b, true
		}
	}
	return b, false
}

// derivedType makes a type of another by one of the constructors.
func (g *generator) derivedType(old int) Type {
	t := Type{Make: trace.Contiguous, Ints: []int{1 + g.IntN(3)}, Olds: []int{old}}
	extent := g.p.extent(old)
	kind := g.IntN(11)
	if !g.with(AllTypes) {
		kind = g.IntN(2)
	}
	block := 1 + g.IntN(2)
	stride := block + g.IntN(3)
	if g.chance(0.1) {
		stride = -stride
	}
	n := t.Ints[0]
	switch kind {
	case 0:
		t.Make, t.Ints = trace.Vector, []int{n, block, stride}
	case 2:
		t.Make, t.Ints, t.Addrs = trace.Hvector, []int{n, block}, []int{stride * extent}
	case 3, 4:
		return g.indexed(t, n, extent)
	case 5:
		t.Make, t.Ints = trace.IndexedBlock, append([]int{n, block}, g.displacements(n, block, 1)...)
	case 6:
		t.Make, t.Ints, t.Addrs = trace.HindexedBlock, []int{n, block}, g.displacements(n, block, extent)
	case 7:
		return g.structure(old)
	case 8:
		return g.array(t)
	case 9:
		t.Make, t.Ints, t.Addrs = trace.Resized, nil, []int{0, extent + 4*g.IntN(3)}
	case 10:
		t.Make, t.Ints = trace.Dup, nil
	}
	return t
}

// displacements of n blocks that do not overlap, in some order.
func (g *generator) displacements(n, block, unit int) []int {
	out := make([]int, n)
	at := 0
	for _, k := range g.Perm(n) {
		at += g.IntN(2)
		out[k] = at * unit
		at += block
	}
	return out
}

func (g *generator) indexed(t Type, n, extent int) Type {
	lengths := make([]int, n)
	at, displs := 0, make([]int, n)
	for k := range lengths {
		at += g.IntN(2)
		lengths[k], displs[k] = g.IntN(3), at
		at += lengths[k]
	}
	t.Ints = append([]int{n}, lengths...)
	if t.Make = trace.Hindexed; g.chance(0.5) {
		t.Make, t.Ints = trace.Indexed, append(t.Ints, displs...)
		return t
	}
	for k := range displs {
		displs[k] *= extent
	}
	t.Addrs = displs
	return t
}

// structure makes a struct, most often of one type, so that it can be used like
// another.
func (g *generator) structure(old int) Type {
	t := Type{Make: trace.Struct, Ints: []int{2, 1, 1 + g.IntN(2)}, Olds: []int{old, old}}
	align := max(g.p.layout(old).align, 1)
	first := g.p.layout(old)
	t.Addrs = []int{0, (first.ub + align*g.IntN(3) + align - 1) / align * align}
	return t
}

// array makes a subarray or a darray of two dimensions.
func (g *generator) array(t Type) Type {
	sizes := []int{1 + g.IntN(3), 1 + g.IntN(3)}
	order := g.IntN(2)
	if g.chance(0.5) {
		sub := []int{1 + g.IntN(sizes[0]), 1 + g.IntN(sizes[1])}
		t.Make = trace.Subarray
		t.Ints = append([]int{2}, sizes...)
		t.Ints = append(t.Ints, sub...)
		t.Ints = append(t.Ints, g.IntN(sizes[0]-sub[0]+1), g.IntN(sizes[1]-sub[1]+1), order)
		return t
	}
	procs := []int{1 + g.IntN(2), 1}
	dist := []int{distributeBlock + g.IntN(2), g.IntN(3)}
	arg := []int{distributeDefault, distributeDefault}
	if dist[0] == distributeCyclic && g.chance(0.5) {
		arg[0] = 2
	}
	t.Make = trace.Darray
	t.Ints = []int{procs[0], g.IntN(procs[0]), 2}
	for _, v := range [][]int{sizes, dist, arg, procs} {
		t.Ints = append(t.Ints, v...)
	}
	t.Ints = append(t.Ints, order)
	return t
}
