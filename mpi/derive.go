package mpi

import (
	"math"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Operations of derived calls: identifiers that no trace has.
const (
	derivedReplace int64 = math.MinInt64 + iota
	derivedNoOp
)

// Tries reports whether a call may return without having completed anything, and whether this one
// did so.
func Tries(c *trace.Call) (tries, inVain bool) {
	if !FactsOf(c.Fn.Name).Tries {
		return false, false
	}
	if list, ok := c.Arg("indices"); ok {
		return true, len(list.List) == 0
	}
	flag, _ := c.Arg("flag")
	return true, flag.Int == 0
}

// DerivedOp returns the name of an operation of derived calls; "" of others.
func DerivedOp(id int64) string {
	switch id {
	case derivedReplace:
		return "MPI_REPLACE"
	case derivedNoOp:
		return "MPI_NO_OP"
	}
	return ""
}

// DerivedArg is an argument of a call of a function, with those of a recorded call as far as
// both have them, on a window (0: that of the call). from may be nil where nothing is to be
// taken from it. It is false where the argument is not known.
func DerivedArg(fn, arg string, from *trace.Call, win int64) (trace.Value, bool) {
	switch {
	case arg == "win" && win != 0:
		return trace.Value{Int: win}, true
	case arg == "comm":
		return trace.Value{Int: trace.CommWorld}, true
	case arg == "assert", arg == "number", arg == "operand", arg == "operands": // what it would write is not known
		return trace.Value{}, true
	case fn == "MPI_Wait" && arg != "request":
		return trace.Value{}, true
	case fn == "MPI_Win_lock" && arg == "lock_type": // what is put in place of a shared lock
		return trace.Value{Int: trace.LockExclusive}, true
	case fn == "MPI_Accumulate" && arg == "op":
		return trace.Value{Int: derivedReplace}, true
	case fn == "MPI_Get_accumulate":
		return readsAtomically(arg, from)
	case arg == "rank":
		if v, ok := from.Arg("target_rank"); ok {
			return v, true
		}
	}
	return from.Arg(arg)
}

// Plain returns a call without what it asserts; nil where it asserts nothing.
func Plain(c *trace.Call) *trace.Call {
	if v, known := c.Arg("assert"); !known || v.Int == 0 {
		return nil
	}
	made := *c
	made.Args = slices.Clone(c.Args)
	made.Args[c.Fn.Arg("assert")] = trace.Value{}
	return &made
}

// Lacks says what memory order an atomic operation of the language does not have that it could:
// a load can acquire, a store release, and others both. It is nothing of other calls.
func Lacks(c *trace.Call) (acquire, release bool) {
	how, known := c.Arg("how")
	if c.Fn.Name != trace.AtomicNote || !known {
		return false, false
	}
	order, _ := c.Arg("order")
	return how.Int != languageStore && !acquires(order.Int), how.Int != languageLoad && !releases(order.Int)
}

// Ordered returns an atomic operation of the language which acquires or releases besides what it
// did; nil where it cannot, or does already.
func Ordered(c *trace.Call, acquire, release bool) *trace.Call {
	noAcquire, noRelease := Lacks(c)
	if acquire, release = acquire && noAcquire, release && noRelease; !acquire && !release {
		return nil
	}
	old, _ := c.Arg("order")
	order := int64(orderAcquire)
	switch acquire = acquire || acquires(old.Int); {
	case acquire && (release || releases(old.Int)):
		order = orderBoth
	case !acquire:
		order = orderRelease
	}
	made := *c
	made.Args = slices.Clone(c.Args)
	made.Args[c.Fn.Arg("order")] = trace.Value{Int: order}
	return &made
}

// Flushes reports whether calls of a function complete the buffers of operations.
func Flushes(fn string) bool {
	r := table[fn]
	return r != nil && r.part&buffers != 0
}

// readsAtomically is an argument of MPI_Get_accumulate that does what an MPI_Get does.
func readsAtomically(arg string, get *trace.Call) (trace.Value, bool) {
	switch arg {
	case "op":
		return trace.Value{Int: derivedNoOp}, true
	case "origin_addr", "origin_count":
		return trace.Value{}, true
	case "result_addr":
		return get.Arg("origin_addr")
	case "result_count":
		return get.Arg("origin_count")
	case "result_datatype":
		return get.Arg("origin_datatype")
	}
	return get.Arg(arg)
}

// Location is where a one-sided operation accesses its target.
type Location struct{ Window, Target, Disp int64 }

// Polled is what an operation does where a process may wait for a value.
type Polled struct {
	Location
	Fetches, Changes bool
	Valued           bool // the trace has its value, which shows whom it comes after
}

// Polls says of a one-sided operation what it does to a value that processes may wait
// for. It is false of other calls.
func Polls(c *trace.Call) (Polled, bool) {
	r := table[c.Fn.Name]
	if r == nil || r.op == (operationRole{}) {
		return Polled{}, false
	}
	var at Polled
	for name, to := range map[string]*int64{"win": &at.Window, "target_rank": &at.Target, "target_disp": &at.Disp} {
		v, known := c.Arg(name)
		if !known {
			return Polled{}, false
		}
		*to = v.Int
	}
	number, _ := c.Arg("number")
	at.Valued = number.Int != 0
	at.Fetches = r.op.role != PutTarget && r.op.role != AccumulateTarget
	at.Changes = r.op.role != GetTarget
	return at, true
}

// Allocates reports whether a function makes a window with memory of its own.
func Allocates(fn string) bool {
	switch fn {
	case "MPI_Win_allocate", "MPI_Win_allocate_c", "MPI_Win_allocate_shared", "MPI_Win_allocate_shared_c":
		return true
	}
	return false
}
