package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// variableKey is an address of a process, and the stacks in whose frames it may lie.
type variableKey struct {
	Rank    int32
	Address uint64
	Stacks  [3]uint32 // 0: none
}

// variableAt is the variable of a key as it is stored.
type variableAt struct {
	Key      variableKey
	Variable symbols.Variable
}

// variable returns the variable that the bytes of a group lie in, as far as it can be
// told: a global one, or one in the frame of a function on the stack of an access or of
// the call that made the window. The zero Variable: none.
func (n *namer) variable(g *conflicts.Group) symbols.Variable {
	s := &g.Sample
	key := variableKey{Rank: s.Owner, Address: s.Lo}
	for i, c := range []struct {
		rank  int32
		stack uint32
	}{{g.First.Rank, g.First.Stack}, {g.Second.Rank, g.Second.Stack}, madeBy(s)} {
		if c.rank == s.Owner {
			key.Stacks[i] = c.stack
		}
	}
	v, known := n.variables[key]
	if !known && n.readers != nil && n.readers[s.Owner] != nil {
		v = n.findVariable(n.readers[s.Owner], &key)
		n.variables[key] = v
	}
	return v
}

// madeBy is the call of the memory's owner that made the window.
func madeBy(s *conflicts.Sample) (of struct {
	rank  int32
	stack uint32
}) {
	of.rank = -1
	for _, made := range []*regions.CallInfo{s.First.Made, s.Second.Made} {
		if made != nil && made.Rank == s.Owner {
			of.rank, of.stack = made.Rank, made.Stack
		}
	}
	return of
}

func (n *namer) findVariable(r *trace.Reader, key *variableKey) symbols.Variable {
	for _, stack := range key.Stacks {
		pcs := r.Stack(stack)
		for i, pointer := range r.FramePointers(stack) {
			at := pcs[i] - 1
			m, bias, ok := moduleOf(r, at)
			if !ok {
				continue
			}
			if v, ok := symbols.Find(n.resolver.Locals(m, at-bias), int64(key.Address-pointer)); ok {
				return v
			}
		}
	}
	// The data of a module lies behind its beginning, before the next one.
	var below *trace.Module
	for i, m := range r.Modules() {
		if m.Bias <= key.Address && (below == nil || m.Bias > below.Bias) {
			below = &r.Modules()[i]
		}
	}
	if below == nil {
		return symbols.Variable{}
	}
	m := symbols.Module{Path: below.Path, BuildID: below.BuildID}
	v, _ := symbols.Find(n.resolver.Globals(m), int64(key.Address-below.Bias))
	return v
}

// moduleOf returns the module that holds the code at an address, and what its addresses
// are higher by than those of its file.
func moduleOf(r *trace.Reader, at uint64) (m symbols.Module, bias uint64, ok bool) {
	for _, m := range r.Modules() {
		if at >= m.Start && at < m.End {
			return symbols.Module{Path: m.Path, BuildID: m.BuildID}, m.Bias, true
		}
	}
	return symbols.Module{}, 0, false
}

// variablesKnown lists the variables that were found, and where there was none.
func variablesKnown(n *namer) []variableAt {
	var out []variableAt
	for _, key := range slices.SortedFunc(maps.Keys(n.variables), func(a, b variableKey) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Address, b.Address), slices.Compare(a.Stacks[:], b.Stacks[:]))
	}) {
		if v := n.variables[key]; v.Name != "" {
			out = append(out, variableAt{key, v})
		}
	}
	return out
}
