package regions

import "github.com/mcchk/mcchk/trace"

// Roles of accesses that calls of MPI make.
var (
	PutTarget        = &Role{Name: "put", Class: Target, Order: 2}
	GetTarget        = &Role{Name: "get", Class: Target, Order: 3}
	AccumulateTarget = &Role{Name: "accumulate", Class: Target, Order: 4}
	FetchTarget      = &Role{Name: "fetch", Class: Target, Order: 5}            // Get_accumulate, Fetch_and_op
	SwapTarget       = &Role{Name: "compare-and-swap", Class: Target, Order: 6} // Compare_and_swap
	OriginBuffer     = &Role{Name: "origin buffer", Class: OwnBuffer, Order: 7}
	ResultBuffer     = &Role{Name: "result buffer", Class: OwnBuffer, Order: 8}
	CompareBuffer    = &Role{Name: "compare buffer", Class: OwnBuffer, Order: 9}
	SendBuffer       = &Role{Name: "send buffer", Class: CallBuffer, Order: 10}
	ReceiveBuffer    = &Role{Name: "receive buffer", Class: CallBuffer, Order: 11}
	Freed            = &Role{Name: "free", Class: GivenUp, Order: 12}     // memory that is freed
	OutOfScope       = &Role{Name: "return", Class: GivenUp, Order: 13}   // a local variable of a function that returns
	Detached         = &Role{Name: "detach", Class: Withdrawn, Order: 14} // memory that is taken out of a dynamic window
)

// Kinds of access epochs that a one-sided operation is issued in (MPI 4.1, 12.5).
const (
	NoEpoch            Mode = ""
	FenceEpoch         Mode = "fence"
	StartEpoch         Mode = "start–complete"
	SharedLockEpoch    Mode = "lock (shared)"
	ExclusiveLockEpoch Mode = "lock (exclusive)"
	LockAllEpoch       Mode = "lock_all"
	ExposureEpoch      Mode = "exposure"
)

// SameOp is the mode of windows of which accumulate_ops is same_op: not even
// MPI_NO_OP may meet another operation (MPI 4.1, 12.2.1).
const SameOp Mode = "same_op"

// Promises of a window to accumulate operations: the bits of trace.OrderRAR and
// so on, those of accumulate_ordering, and another for same_op.
const promiseSameOp int64 = 1 << 32

// Promises returns what a window promises to accumulate operations:
// accumulate_ordering, and whether accumulate_ops is same_op.
func Promises(ordering int64, sameOp bool) int64 {
	if sameOp {
		return ordering | promiseSameOp
	}
	return ordering
}

// Ordering returns the bits of accumulate_ordering.
func (e *Element) Ordering() int64 { return e.Promises & trace.OrderAll }

// SameOp reports whether accumulate_ops is same_op.
func (e *Element) SameOp() bool { return e.Promises&promiseSameOp != 0 }
