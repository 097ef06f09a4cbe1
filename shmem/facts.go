package shmem

import "github.com/mcchk/mcchk/core"

// Facts is what explanations have to know of a call by its name. The zero value is
// that of a call that is none of OpenSHMEM's.
type Facts struct {
	Known     bool
	Operation bool // a one-sided operation
	Completes bool // it completes operations
	Only      bool // and is called for nothing else
	Waits     bool // programs order PEs with it
	Fence     bool // it completes operations of all, who all make the call
	Context   bool // it has a context of its own
	Late      bool // no fence puts it after what came before, nor before what comes
}

// FactsOf returns the facts of a call, as the table says them.
func FactsOf(fn string) Facts {
	e, f := lookup(fn)
	if e == nil {
		return Facts{}
	}
	return Facts{
		Known: true, Operation: e.kind == core.OperationCall, Completes: e.completes != "", Only: completesOnly(f),
		Waits: e.kind == core.SynchronizingCall && e.orders != "", Fence: f.family == "shmem_barrier_all",
		Context: f.family != fn, Late: e.late,
	}
}

// completesOnly reports whether a function completes operations, and does nothing else.
func completesOnly(f function) bool { return f.family == "shmem_quiet" }

// IsOp reports whether an operation of an atomic access is one of OpenSHMEM's, or what
// its collective calls and locks have for one.
func IsOp(op string) bool {
	switch op {
	case "fetch", "compare_swap", "swap", "set", "add", "and", "or", "xor", lockType, collectiveType:
		return true
	}
	return false
}
