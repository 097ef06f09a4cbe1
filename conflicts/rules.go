package conflicts

import "strings"

// Severity of a finding.
type Severity string

// Severities, from the gravest.
const (
	Error   Severity = "error"   // definite
	Warning Severity = "warning" // depends on the lock order, the memory model or the MPI library
	Note    Severity = "note"
)

// Rule is one kind of finding. It is the single source of what explain, the
// reports and docs/rules.md say of it. The programming models have the texts.
type Rule struct {
	ID       string
	Title    string
	Severity Severity
	Text     string // what it means and why it is wrong, with the standard's section
	Wrong    string // a short program fragment
	Right    string // the same, fixed
	Fix      string // how to fix it, in words
	// Yields: findings of the rule are left out where the same two places are in
	// an error of a rule that yields less. 0: they never are.
	Yields int
}

// Identifiers of the rules. They are stable: never reused, never renamed. Those of
// conflicts that are warnings begin with MC2, and those of usage errors with MC3
// (Rule.Usage).
const (
	RuleRemoteRemote = "MC101" // one-sided operations of two processes conflict at a target
	RuleLocalRemote  = "MC102" // a process's own access conflicts with another's one-sided operation
	RuleBuffer       = "MC103" // a buffer of a pending one-sided operation is used before it completes
	RuleSameOrigin   = "MC104" // one-sided operations of one process conflict before the first completes
	RuleAtomicType   = "MC105" // concurrent accumulates with different basic types or a misaligned overlap
	RuleCallBuffer   = "MC106" // a buffer of a send, receive or collective call conflicts with a one-sided operation
	RuleRequest      = "MC107" // a buffer of a pending send or receive is used before it completes
	RuleShared       = "MC108" // data race between two processes in a shared window
	RuleCopies       = "MC109" // separate memory model: no call makes an update visible in the other copy of the window
	RuleCopyUpdates  = "MC110" // separate memory model: a store and an update by an operation of one window at once
	RuleShmemRemote  = "MC121" // OpenSHMEM: operations of two PEs conflict at a target
	RuleShmemLocal   = "MC122" // OpenSHMEM: a PE's own access conflicts with another's operation
	RuleShmemBuffer  = "MC123" // OpenSHMEM: a buffer of a pending operation is used
	RuleShmemOrder   = "MC124" // OpenSHMEM: operations of one PE conflict, and no fence or quiet is between them
	RuleShmemAtomic  = "MC125" // OpenSHMEM: atomic operations of different types or domains
	RuleShmemCall    = "MC126" // OpenSHMEM: a buffer of a collective call conflicts with an operation
	RuleGaspiRemote  = "MC131" // GASPI: operations of two ranks conflict in a segment
	RuleGaspiLocal   = "MC132" // GASPI: a rank's own access conflicts with another's operation
	RuleGaspiBuffer  = "MC133" // GASPI: the local segment of a pending operation is used
	RuleGaspiOrder   = "MC134" // GASPI: operations of one rank conflict before the first is complete
	RuleGaspiAtomic  = "MC135" // GASPI: global atomics that overlap in part
	RuleGaspiCall    = "MC136" // GASPI: a buffer of another call conflicts with an operation
	RuleGaspiDeleted = "MC137" // GASPI: a segment is deleted while an operation on it is pending
	RuleAtomicOp     = "MC201" // concurrent accumulates with different operations (warning)
	RuleLockOrder    = "MC202" // accesses ordered only by the order in which this run granted locks (warning)

	RuleOutsideEpoch  = "MC301" // a one-sided call outside any epoch
	RuleOutsideWindow = "MC302" // a target range outside the window
	RuleNotOpened     = "MC303" // a synchronization call without the one that opens its epoch
	RuleMixedEpochs   = "MC304" // epochs that overlap and must not
	RuleNeverClosed   = "MC305" // an epoch that is never closed
	RuleFreedPending  = "MC306" // a window freed with operations pending
	RuleMemoryGone    = "MC307" // memory of a pending operation freed, or out of scope
	RuleCallOrder     = "MC308" // collective calls in different order
	RuleData          = "MC309" // data of an operation that are not described as they have to be
	RuleAssertion     = "MC310" // an assertion that does not hold (warning)
	RuleGivenUp       = "MC311" // the request of a one-sided operation freed or cancelled
	RuleThreads       = "MC312" // calls of two threads at the same time that may not be
	RuleNotSymmetric  = "MC320" // OpenSHMEM: an address that is not symmetric
	RuleContextGone   = "MC321" // OpenSHMEM: a context that is used after its end
	RuleGaspiOutside  = "MC330" // GASPI: an operation outside a segment
)

// Usage reports whether findings of the rule are of the class Usage.
func (r Rule) Usage() bool { return strings.HasPrefix(r.ID, "MC3") }
