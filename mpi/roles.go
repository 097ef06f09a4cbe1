package mpi

import (
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Roles of accesses that calls of MPI make.
var (
	PutTarget        = &regions.Role{Name: "put", Class: regions.Target, Order: 2}
	GetTarget        = &regions.Role{Name: "get", Class: regions.Target, Order: 3}
	AccumulateTarget = &regions.Role{Name: "accumulate", Class: regions.Target, Order: 4}
	FetchTarget      = &regions.Role{Name: "fetch", Class: regions.Target, Order: 5}            // Get_accumulate, Fetch_and_op
	SwapTarget       = &regions.Role{Name: "compare-and-swap", Class: regions.Target, Order: 6} // Compare_and_swap
	OriginBuffer     = &regions.Role{Name: "origin buffer", Class: regions.OwnBuffer, Order: 7}
	ResultBuffer     = &regions.Role{Name: "result buffer", Class: regions.OwnBuffer, Order: 8}
	CompareBuffer    = &regions.Role{Name: "compare buffer", Class: regions.OwnBuffer, Order: 9}
	SendBuffer       = &regions.Role{Name: "send buffer", Class: regions.CallBuffer, Order: 10}
	ReceiveBuffer    = &regions.Role{Name: "receive buffer", Class: regions.CallBuffer, Order: 11}
	Freed            = &regions.Role{Name: "free", Class: regions.GivenUp, Order: 12}           // memory that is freed
	OutOfScope       = &regions.Role{Name: "return", Class: regions.GivenUp, Order: 13}         // a local variable of a function that returns
	CopyFreed        = &regions.Role{Name: "free of a copy", Class: regions.GivenUp, Order: 16} // that the compiler passed to a call
	Detached         = &regions.Role{Name: "detach", Class: regions.Withdrawn, Order: 14}       // memory that is taken out of a dynamic window
	// Unchanged is a process's part of a window that a call asserts it has left
	// alone. In reports it is a call like others that are wrong.
	Unchanged = &regions.Role{Name: "call", Class: regions.Vouched, Order: 15}
)

// Kinds of access epochs that a one-sided operation is issued in (MPI 4.1, 12.5).
const (
	NoEpoch            regions.Mode = ""
	FenceEpoch         regions.Mode = "fence"
	StartEpoch         regions.Mode = "start–complete"
	SharedLockEpoch    regions.Mode = "lock (shared)"
	ExclusiveLockEpoch regions.Mode = "lock (exclusive)"
	LockAllEpoch       regions.Mode = "lock_all"
	TransferEpoch      regions.Mode = "coarray transfer" // a lock that a coarray library takes for a statement
	ExposureEpoch      regions.Mode = "exposure"
)

// SameOp is the mode of windows of which accumulate_ops is same_op: not even
// MPI_NO_OP may meet another operation (MPI 4.1, 12.2.1).
const SameOp regions.Mode = "same_op"

// Promises of a window to accumulate operations: the bits of trace.OrderRAR and
// so on, those of accumulate_ordering, and another for same_op; and what one operation promises (AnyOp).
const (
	promiseSameOp int64 = 1 << 32
	promiseAnyOp  int64 = 1 << 33
)

// Promises returns what a window promises to accumulate operations:
// accumulate_ordering, and whether accumulate_ops is same_op.
func Promises(ordering int64, sameOp bool) int64 {
	if sameOp {
		return ordering | promiseSameOp
	}
	return ordering
}

// Ordering returns the bits of accumulate_ordering that an atomic access is made
// under.
func Ordering(e *regions.Element) int64 { return e.Promises & trace.OrderAll }

// OneOp reports whether an atomic access is made under same_op.
func OneOp(e *regions.Element) bool { return e.Promises&promiseSameOp != 0 }

// AnyOp reports whether an atomic access may meet those of any other operation, as far as its origin
// knows: a coarray library's, whose language says nothing else of atomic subroutines.
func AnyOp(e *regions.Element) bool { return e.Promises&promiseAnyOp != 0 }
