// Package judge says which accesses MPI lets meet, and what else its memory
// models forbid: the rules for conflicts, with their texts, and the extra checks
// of the separate memory model.
package judge

import (
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Judge is the conflicts.Judge of MPI.
type Judge struct{}

// Compatible: accumulates of the same operation may meet, and an accumulate and
// MPI_NO_OP, unless the window promises that there is one operation only (MPI
// 4.1, 12.7.1).
func (Judge) Compatible(x, y conflicts.Atomics) bool {
	return x.Op == y.Op || (x.Kind == regions.AtomicRead || y.Kind == regions.AtomicRead) && !sameOp(x) || anyOp(x) && anyOp(y)
}

func sameOp(x conflicts.Atomics) bool {
	return mpi.OneOp(&regions.Element{Promises: x.Promises})
}

func anyOp(x conflicts.Atomics) bool {
	return mpi.AnyOp(&regions.Element{Promises: x.Promises})
}

// Atomic: besides, those of one origin take effect in order, as far as the window
// promises it.
func (j Judge) Atomic(a, b *regions.Access) conflicts.Verdict {
	switch {
	case j.Compatible(atomics(a), atomics(b)):
		return conflicts.Compatible
	case a.Rank != b.Rank || !inOrder(a, b):
		return conflicts.OtherOp
	case a.Start.Line != b.Start.Line:
		return conflicts.Beside // two strands have a program order each
	}
	return conflicts.Compatible
}

func atomics(a *regions.Access) conflicts.Atomics {
	return conflicts.Atomics{Kind: a.Kind, Op: a.Elem.Op, Promises: a.Elem.Promises}
}

// inOrder reports whether the window's accumulate_ordering, by default all of
// it, orders two accumulates from one origin (MPI 4.1, 12.7.2).
func inOrder(a, b *regions.Access) bool {
	if mpi.Ordering(a.Elem) == trace.OrderAll {
		return true
	}
	if b.Start.NotAfter(a.Start) || a.Start.Within() && b.Start.Within() && b.Start.Pos < a.Start.Pos {
		a, b = b, a
	}
	var need int64
	for _, x := range []struct {
		bit           int64
		first, second bool
	}{
		{trace.OrderRAR, reads(a), reads(b)},
		{trace.OrderRAW, changes(a), reads(b)},
		{trace.OrderWAR, reads(a), changes(b)},
		{trace.OrderWAW, changes(a), changes(b)},
	} {
		if x.first && x.second {
			need |= x.bit
		}
	}
	return need&^mpi.Ordering(a.Elem) == 0
}

// reads and changes say what an accumulate does that ordering speaks of.
func reads(a *regions.Access) bool   { return a.Role != mpi.AccumulateTarget }
func changes(a *regions.Access) bool { return a.Kind == regions.AtomicWrite }

// Rule names the rule that a conflicting pair breaks.
func (Judge) Rule(a, b *regions.Access, v conflicts.Verdict) string {
	x, y := a.Role.Class, b.Role.Class
	switch {
	case x == regions.Vouched || y == regions.Vouched:
		return conflicts.RuleAssertion
	case x.Gone() || y.Gone():
		return conflicts.RuleMemoryGone
	case v == conflicts.OtherType:
		return conflicts.RuleAtomicType
	case v == conflicts.OtherOp:
		return conflicts.RuleAtomicOp
	case !x.OneSided() && !y.OneSided() && a.Rank != b.Rank:
		return conflicts.RuleShared
	case !x.OneSided() && !y.OneSided():
		return conflicts.RuleRequest
	case x == regions.CallBuffer || y == regions.CallBuffer:
		return conflicts.RuleCallBuffer
	case x == regions.Local || y == regions.Local:
		if a.Rank == b.Rank {
			return conflicts.RuleBuffer
		}
		return conflicts.RuleLocalRemote
	case a.Rank == b.Rank:
		return conflicts.RuleSameOrigin
	}
	return conflicts.RuleRemoteRemote
}

// Check follows the copies of windows of the separate memory model.
func (Judge) Check(part regions.Part, out *conflicts.Collector) conflicts.RegionCheck {
	return newCopiesChecker(part, out).check
}
