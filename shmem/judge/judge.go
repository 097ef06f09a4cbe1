// Package judge says which accesses OpenSHMEM lets meet: the rules for conflicts,
// with their texts.
package judge

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
)

// Judge is the conflicts.Judge of OpenSHMEM.
type Judge struct{}

// Compatible: atomic operations of one type may meet within an atomicity domain
// (OpenSHMEM 1.5, 3.1 and 9.7).
func (Judge) Compatible(x, y conflicts.Atomics) bool { return x.Promises == y.Promises }

// Atomic judges two atomic accesses to the same elements. Those of one collective call
// may meet, and no others.
func (Judge) Atomic(a, b *regions.Access) conflicts.Verdict {
	switch {
	case a.Elem.Promises == b.Elem.Promises:
		return conflicts.Compatible
	case a.Role.Class == regions.CallBuffer:
		return conflicts.Race
	}
	return conflicts.OtherType
}

var pairs = conflicts.PairRules{
	Gone: conflicts.RuleMemoryGone, Atomic: conflicts.RuleShmemAtomic, Call: conflicts.RuleShmemCall, Order: conflicts.RuleShmemOrder,
	Buffer: conflicts.RuleShmemBuffer, Local: conflicts.RuleShmemLocal, Remote: conflicts.RuleShmemRemote,
}

// Rule names the rule that a conflicting pair breaks.
func (Judge) Rule(a, b *regions.Access, v conflicts.Verdict) string { return pairs.Of(a, b, v) }

// Check: nothing is to be checked beyond concurrent pairs.
func (Judge) Check(regions.Part, *conflicts.Collector) conflicts.RegionCheck { return nil }
