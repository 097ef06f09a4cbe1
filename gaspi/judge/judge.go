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

// Rule names the rule that a conflicting pair breaks.
func (Judge) Rule(a, b *regions.Access, v conflicts.Verdict) string {
	x, y := a.Role.Class, b.Role.Class
	switch {
	case x.Gone() || y.Gone():
		return conflicts.RuleGaspiDeleted
	case v == conflicts.OtherType:
		return conflicts.RuleGaspiAtomic
	case x == regions.CallBuffer || y == regions.CallBuffer:
		return conflicts.RuleGaspiCall
	case a.Rank == b.Rank && x == regions.Target && y == regions.Target:
		return conflicts.RuleGaspiOrder
	case a.Rank == b.Rank:
		return conflicts.RuleGaspiBuffer
	case x == regions.Local || y == regions.Local || x == regions.OwnBuffer || y == regions.OwnBuffer:
		return conflicts.RuleGaspiLocal
	}
	return conflicts.RuleGaspiRemote
}
