// Package judge says which accesses GASPI lets meet: the rules for conflicts, with
// their texts.
package judge

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
)

// Judge is the conflicts.Judge of GASPI.
type Judge struct{}

// Compatible: global atomics may meet (GASPI 17.1, section 10).
func (Judge) Compatible(x, y conflicts.Atomics) bool { return x.Op == y.Op }

// Atomic judges two atomic accesses to the same elements.
func (Judge) Atomic(a, b *regions.Access) conflicts.Verdict {
	if a.Elem.Op == b.Elem.Op {
		return conflicts.Compatible
	}
	return conflicts.OtherType
}

var pairs = conflicts.PairRules{
	Gone: conflicts.RuleGaspiDeleted, Atomic: conflicts.RuleGaspiAtomic, Call: conflicts.RuleGaspiCall, Order: conflicts.RuleGaspiOrder,
	Buffer: conflicts.RuleGaspiBuffer, Local: conflicts.RuleGaspiLocal, Remote: conflicts.RuleGaspiRemote,
}

// Rule names the rule that a conflicting pair breaks.
func (Judge) Rule(a, b *regions.Access, v conflicts.Verdict) string { return pairs.Of(a, b, v) }
