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

// Atomic judges two atomic accesses to the same elements.
func (Judge) Atomic(a, b *regions.Access) conflicts.Verdict {
	if a.Elem.Promises == b.Elem.Promises {
		return conflicts.Compatible
	}
	return conflicts.OtherType
}

// Rule names the rule that a conflicting pair breaks.
func (Judge) Rule(a, b *regions.Access, v conflicts.Verdict) string {
	x, y := a.Role.Class, b.Role.Class
	switch {
	case x.Gone() || y.Gone():
		return conflicts.RuleMemoryGone
	case v == conflicts.OtherType:
		return conflicts.RuleShmemAtomic
	case x == regions.CallBuffer || y == regions.CallBuffer:
		return conflicts.RuleShmemCall
	case a.Rank == b.Rank && (x == regions.Target && y == regions.Target):
		return conflicts.RuleShmemOrder
	case a.Rank == b.Rank:
		return conflicts.RuleShmemBuffer
	case x == regions.Local || y == regions.Local || x == regions.OwnBuffer || y == regions.OwnBuffer:
		return conflicts.RuleShmemLocal
	}
	return conflicts.RuleShmemRemote
}

// Check: nothing is to be checked beyond concurrent pairs.
func (Judge) Check(regions.Part, *conflicts.Collector) conflicts.RegionCheck { return nil }
