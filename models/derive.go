package models

import (
	"math"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Derived makes calls that a changed program would make: next to a recorded call, or in
// its place. The zero value is useful.
type Derived struct{ functions map[string]*trace.Fn }

// DerivedOp names an operation of such calls; "" of others.
func DerivedOp(id int64) string { return mpi.DerivedOp(id) }

// Abandons reports whether a call ends what operations are made through, without completing those that are
// pending (MPI 4.1, 12.2.5).
func Abandons(fn string) bool { return fn == "MPI_Win_free" }

// OwnsMemory reports whether the memory of an object goes with it, by the call that made it.
func OwnsMemory(created *regions.CallInfo) bool { return mpi.Allocates(created.Fn) }

// others are the functions of other models than MPI that are called by changed programs.
// GASPI's group 0 is that of all ranks, and its result 0 that of success.
var others = map[string][]trace.Arg{
	"shmem_barrier_all": nil,
	"shmem_fence":       nil,
	"shmem_quiet":       nil,
	"shmem_ctx_fence":   {{Name: "ctx", Kind: trace.ArgNumber}},
	"shmem_ctx_quiet":   {{Name: "ctx", Kind: trace.ArgNumber}},
	"gaspi_barrier":     {{Name: "group", Kind: trace.ArgNumber}, {Name: "result", Kind: trace.ArgNumber}},
	"gaspi_wait":        {{Name: "queue", Kind: trace.ArgNumber}},
}

// Lacks reports whether an atomic operation of the language could have a memory order of a
// conflicts.StepOrder and does not. It is false of other calls.
func Lacks(c *trace.Call, order string) bool {
	acquire, release := mpi.Lacks(c)
	return order == conflicts.Acquire && acquire || order == conflicts.Release && release
}

// Tries reports whether a call may return without having completed anything, to be called again,
// and whether this one did so.
func (d *Derived) Tries(c *trace.Call) (tries, inVain bool) { return mpi.Tries(c) }

// Plain returns a call without what it asserts; nil where it asserts nothing.
func (d *Derived) Plain(c *trace.Call) *trace.Call { return mpi.Plain(c) }

// Order returns an atomic operation of the language with a memory order besides its own; nil where
// it cannot have it, or has it.
func (d *Derived) Order(c *trace.Call, order string) *trace.Call {
	return mpi.Ordered(c, order == conflicts.Acquire, order == conflicts.Release)
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
	_, other := others[name]
	for i, arg := range fn.Args {
		known := true
		switch {
		case !other:
			c.Args[i], known = mpi.DerivedArg(name, arg.Name, from, win)
		case arg.Name != "group" && arg.Name != "result":
			c.Args[i], known = from.Arg(arg.Name)
		}
		if !known {
			return nil
		}
	}
	return c
}

// Note returns the tracer's note, behind a call of a function that was put in, of what a
// recorded call fetched; nil where that does not complete it.
func (d *Derived) Note(name string, from *trace.Call, number, value int64) *trace.Call {
	if !mpi.Flushes(name) {
		return nil
	}
	fn := d.function("mcchk_Fetched")
	return &trace.Call{Fn: fn, Stack: from.Stack, Returned: true, Args: []trace.Value{{List: []int64{number}}, {List: []int64{value}}}}
}

func (d *Derived) function(name string) *trace.Fn {
	if fn := d.functions[name]; fn != nil {
		return fn
	}
	args, ok := others[name]
	if !ok {
		if args, ok = trace.Function(name); !ok {
			return nil
		}
	}
	if d.functions == nil {
		d.functions = map[string]*trace.Fn{}
	}
	fn := &trace.Fn{ID: math.MaxUint16, Name: name, Args: args}
	d.functions[name] = fn
	return fn
}
