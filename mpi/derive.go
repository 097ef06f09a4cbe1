package mpi

import (
	"math"

	"github.com/mcchk/mcchk/trace"
)

// Derived makes calls that a changed program would make: next to a recorded call, or in
// its place. The zero value is useful.
type Derived struct{ functions map[string]*trace.Fn }

// Operations of derived calls: identifiers that no trace has.
const (
	derivedReplace int64 = math.MinInt64 + iota
	derivedNoOp
)

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

// Call returns a call of a function with the arguments of a recorded call, as far as
// both have them, on a window (0: that of the call). from may be nil where nothing is
// to be taken from it. It returns nil where an argument is not known.
func (d *Derived) Call(name string, from *trace.Call, win int64) *trace.Call {
	fn := d.function(name)
	if fn == nil {
		return nil
	}
	c := &trace.Call{Fn: fn, Returned: true, Args: make([]trace.Value, len(fn.Args))}
	if from != nil {
		c.Stack = from.Stack
	}
	for i, arg := range fn.Args {
		v, ok := derivedArg(name, arg.Name, from, win)
		if !ok {
			return nil
		}
		c.Args[i] = v
	}
	return c
}

func (d *Derived) function(name string) *trace.Fn {
	if fn := d.functions[name]; fn != nil {
		return fn
	}
	args, ok := trace.Function(name)
	if !ok {
		return nil
	}
	if d.functions == nil {
		d.functions = map[string]*trace.Fn{}
	}
	fn := &trace.Fn{ID: math.MaxUint16, Name: name, Args: args}
	d.functions[name] = fn
	return fn
}

// derivedArg is an argument of a derived call.
func derivedArg(fn, arg string, from *trace.Call, win int64) (trace.Value, bool) {
	switch {
	case arg == "win" && win != 0:
		return trace.Value{Int: win}, true
	case arg == "comm":
		return trace.Value{Int: trace.CommWorld}, true
	case arg == "assert", arg == "number", arg == "operand": // what it would write is not known
		return trace.Value{}, true
	case fn == "MPI_Win_lock" && arg == "lock_type": // what is put in place of a shared lock
		return trace.Value{Int: trace.LockExclusive}, true
	case fn == "MPI_Accumulate" && arg == "op":
		return trace.Value{Int: derivedReplace}, true
	case fn == "MPI_Get_accumulate":
		return readsAtomically(arg, from)
	case arg == "rank":
		if v, ok := argOf(from, "target_rank"); ok {
			return v, true
		}
	}
	return argOf(from, arg)
}

// readsAtomically is an argument of MPI_Get_accumulate that does what an MPI_Get does.
func readsAtomically(arg string, get *trace.Call) (trace.Value, bool) {
	switch arg {
	case "op":
		return trace.Value{Int: derivedNoOp}, true
	case "origin_addr", "origin_count":
		return trace.Value{}, true
	case "result_addr":
		return argOf(get, "origin_addr")
	case "result_count":
		return argOf(get, "origin_count")
	case "result_datatype":
		return argOf(get, "origin_datatype")
	}
	return argOf(get, arg)
}

func argOf(c *trace.Call, name string) (trace.Value, bool) {
	if c == nil {
		return trace.Value{}, false
	}
	i := c.Fn.Arg(name)
	if i < 0 || i >= len(c.Args) {
		return trace.Value{}, false
	}
	return c.Args[i], true
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
		v, known := argOf(c, name)
		if !known {
			return Polled{}, false
		}
		*to = v.Int
	}
	number, _ := argOf(c, "number")
	at.Valued = number.Int != 0
	at.Fetches = r.op.role != PutTarget && r.op.role != AccumulateTarget
	at.Changes = r.op.role != GetTarget
	return at, true
}
