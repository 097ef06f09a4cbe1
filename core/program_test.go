package core_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// program is a random program, and what has to come of it, which its generator
// worked out without the Machine: a graph of what happens before what, and the
// accesses.
//
// Each event has two nodes: what it does before it signals, and what it does after
// it has waited.
type program struct {
	traces   []events
	before   [][]int // by node: those right before it
	locks    []edge  // drawn by locks alone
	accesses []access
	regions  int    // concurrent regions
	cut      bool   // a strand never returned from its last call
	aliased  []bool // by rank: some memory of others lies in the strand's
	calls    uint64
	loads    uint64 // elements
	stores   uint64

	at    map[place]int // accesses
	reach []nodeSet     // by node: those that it comes after, itself included
}

type edge struct{ from, to int }

// never is the node of what does not happen.
const never = -1

// access is one access as it has to come out.
type access struct {
	place
	start, end int      // nodes; an end of never: it is not complete
	gate       *int     // a node that it also starts after; nil: none
	runs       []span   // the owner's bytes
	locks      []string // that protect it; as lockName has them
	either     bool     // whether they do depends on how far ahead the model sees
}

// place is what tells accesses apart.
type place struct {
	rank  int32
	pos   uint64
	role  *regions.Role
	owner int32
	base  uint64
}

type span struct{ lo, hi uint64 } // half-open

func lockName(target int32, exclusive, void bool) string {
	return fmt.Sprintf("%d %t %t", target, exclusive, void)
}

// nodeSet is a set of nodes.
type nodeSet []uint64

func (s nodeSet) has(n int) bool { return s[n/64]>>(n%64)&1 == 1 }

func (s nodeSet) addAll(t nodeSet) {
	for i, w := range t {
		s[i] |= w
	}
}

// node adds a node behind others.
func (p *program) node(before ...int) int {
	p.before = append(p.before, before)
	return len(p.before) - 1
}

func (p *program) edge(from, to int) { p.before[to] = append(p.before[to], from) }

// close takes the transitive closure, with the order of locks or without.
func (p *program) close(lockOrder bool) {
	before := make([][]int, len(p.before))
	for n, b := range p.before {
		before[n] = append(before[n], b...)
	}
	if lockOrder {
		for _, e := range p.locks {
			before[e.to] = append(before[e.to], e.from)
		}
	}
	p.reach = make([]nodeSet, len(before))
	for n := range before {
		p.closeNode(n, before)
	}
}

func (p *program) closeNode(n int, before [][]int) nodeSet {
	if p.reach[n] != nil {
		return p.reach[n]
	}
	set := make(nodeSet, (len(before)+63)/64)
	set[n/64] |= 1 << (n % 64)
	p.reach[n] = set // a cycle would show as a Machine that stands still
	for _, b := range before[n] {
		set.addAll(p.closeNode(b, before))
	}
	return set
}

// ordered reports whether a node comes before another or is it.
func (p *program) ordered(a, b int) bool { return p.reach[b].has(a) }

// precedes reports whether access a is over before access b starts.
func (p *program) precedes(a, b *access) bool {
	switch {
	case a.end == never:
		return false
	case b.gate != nil && *b.gate == never:
		return true // it does not start in this run
	}
	return p.ordered(a.end, b.start) || b.gate != nil && p.ordered(a.end, *b.gate)
}

// in reports whether a part of memory has any byte of the access.
func (a *access) in(part regions.Part) bool {
	for _, r := range a.runs {
		for b := r.lo; b < r.hi; b++ {
			if part.Has(a.owner, b) {
				return true
			}
		}
	}
	return false
}

// bounds returns a range that holds all bytes, half-open, and their number.
func (a *access) bounds() (lo, hi, n uint64) {
	lo, hi = a.runs[0].lo, a.runs[0].hi
	for _, r := range a.runs {
		lo, hi, n = min(lo, r.lo), max(hi, r.hi), n+r.hi-r.lo
	}
	return lo, hi, n
}

// near reports whether two accesses may share bytes.
func (a *access) near(b *access) bool {
	alo, ahi, _ := a.bounds()
	blo, bhi, _ := b.bounds()
	return a.owner == b.owner && alo < bhi && blo < ahi
}

// repeats reports whether a load or store says the same as one before it with no call in between.
func (a *access) repeats(b access, traces []events) bool {
	return (a.role == regions.Load || a.role == regions.Store) && a.role == b.role && a.rank == b.rank && a.owner == b.owner && a.base == b.base &&
		slices.Equal(a.runs, b.runs) && slices.Equal(a.locks, b.locks) &&
		b.pos < a.pos && !slices.ContainsFunc(traces[a.rank][b.pos:a.pos], func(e trace.Event) bool { return e.Kind == trace.KindCall })
}

func (a *access) String() string {
	return fmt.Sprintf("%s of rank %d, event %d, at %#x of rank %d", a.role.Name, a.rank, a.pos, a.base, a.owner)
}

// String lists the events of a program.
func (p *program) String() string {
	var b strings.Builder
	for rank, trace := range p.traces {
		for i := range trace {
			fmt.Fprintf(&b, "%d.%d %s\n", rank, i+1, describe(&trace[i]))
		}
	}
	return b.String()
}

func describe(ev *trace.Event) string {
	if ev.Kind == trace.KindAccess {
		a := &ev.Access
		return fmt.Sprintf("%#x +%d*%d size %d store %t", a.Addr, a.Stride, a.Count, a.Size, a.Store)
	}
	c := ev.Call
	s := c.Fn.Name
	for i, arg := range c.Fn.Args {
		if arg.Kind.IsList() {
			s += fmt.Sprintf(" %s=%v", arg.Name, c.Args[i].List)
		} else {
			s += fmt.Sprintf(" %s=%d", arg.Name, c.Args[i].Int)
		}
	}
	if !c.Returned {
		s += " and never returned"
	}
	return s
}
