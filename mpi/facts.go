package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// Facts is what explanations have to know of a call by its name. The zero value
// is that of a call that is not known.
type Facts struct {
	OneSided  bool // it is a one-sided operation
	Request   bool // of which a request tells when it is complete at its origin
	Window    bool // it is about one window, and no operation
	Copies    bool // it brings the copies of a window together, and does nothing else
	Completes Completes
	// Only: it is called for nothing else than to complete, and has done so when
	// it returns.
	Only          bool
	Tries         bool // it may return without having completed anything, and is called again then
	Orders        Orders
	Waits         bool         // programs order processes with it
	Unlocks       bool         // it gives up one lock, and completes what was done under it
	Opens, Closes regions.Mode // epochs that it opens or closes, where there is only one kind of them
	End           string       // of a split collective call: the one that ends it
}

// Completes says what a call completes, when it does.
type Completes uint8

// What calls complete.
const (
	CompletesNothing  Completes = iota
	CompletesRequests           // what they are of
	CompletesAtOrigin           // operations of the caller, but not at their target
	CompletesOwn                // operations of the caller
	CompletesAll                // those of all, who all make the call
	CompletesExposed            // operations of others on the caller's memory
)

// Orders says whom a call makes wait for whom, of those that make it together.
type Orders uint8

// Orders of calls.
const (
	OrdersNobody     Orders = iota
	OrdersAll               // each waits for all others
	OrdersRootLast          // the root waits for all others
	OrdersRootFirst         // all others wait for the root
	OrdersByRank            // each waits for those of lower rank
	OrdersNeighbours        // each waits for its neighbours
)

// Blocks says of a call by its name whether it may not return before its message is received, as
// a standard send need not be buffered (MPI 4.1, 3.4), and whether it does not before it has
// received one.
func Blocks(fn string) (sends, receives bool) {
	switch fn {
	case "MPI_Send", "MPI_Ssend":
		return true, false
	case "MPI_Recv":
		return false, true
	case "MPI_Sendrecv", "MPI_Sendrecv_replace":
		return true, true
	}
	return false, false
}

// FactsOf returns the facts of a call: those that the table says, and those that
// are stated here.
func FactsOf(fn string) Facts {
	f := stated[fn]
	r := table[fn]
	if r == nil {
		return f
	}
	f.OneSided, f.End = r.op != operationRole{}, r.end
	f.Window = windowCalls[fn] != nil || windowSync[fn] != nil
	if r.form != persisted {
		f.Orders = ordersOf(r.order)
	}
	switch r.part {
	case buffers:
		f.Completes, f.Only = CompletesAtOrigin, true
	case buffers | targets:
		f.Completes, f.Only = CompletesOwn, true
	}
	return f
}

func ordersOf(d core.Direction) Orders {
	switch d {
	case core.AllToAll, core.Everybody:
		return OrdersAll
	case core.AllToOne:
		return OrdersRootLast
	case core.OneToAll:
		return OrdersRootFirst
	case core.Prefix:
		return OrdersByRank
	case core.Neighbours:
		return OrdersNeighbours
	}
	return OrdersNobody
}

// stated is what the table cannot tell of calls.
var stated = map[string]Facts{
	"MPI_Rput":            {Request: true},
	"MPI_Rget":            {Request: true},
	"MPI_Raccumulate":     {Request: true},
	"MPI_Rget_accumulate": {Request: true},

	"MPI_Win_fence":      {Completes: CompletesAll, Waits: true},
	"MPI_Win_post":       {Opens: ExposureEpoch},
	"MPI_Win_start":      {Opens: StartEpoch},
	"MPI_Win_complete":   {Completes: CompletesAtOrigin, Closes: StartEpoch},
	"MPI_Win_wait":       {Completes: CompletesExposed, Waits: true, Closes: ExposureEpoch},
	"MPI_Win_test":       {Completes: CompletesExposed, Tries: true, Closes: ExposureEpoch},
	"MPI_Win_sync":       {Copies: true},
	"MPI_Win_unlock":     {Completes: CompletesOwn, Unlocks: true},
	"MPI_Win_lock_all":   {Opens: LockAllEpoch},
	"MPI_Win_unlock_all": {Completes: CompletesOwn, Closes: LockAllEpoch},

	"MPI_Wait":     {Completes: CompletesRequests, Only: true, Waits: true},
	"MPI_Waitall":  {Completes: CompletesRequests, Only: true, Waits: true},
	"MPI_Waitany":  {Completes: CompletesRequests, Only: true, Waits: true},
	"MPI_Waitsome": {Completes: CompletesRequests, Only: true, Waits: true},
	"MPI_Test":     {Completes: CompletesRequests, Tries: true},
	"MPI_Testall":  {Completes: CompletesRequests, Tries: true},
	"MPI_Testany":  {Completes: CompletesRequests, Tries: true},
	"MPI_Testsome": {Completes: CompletesRequests, Tries: true},

	"MPI_Recv":      {Waits: true},
	"MPI_Sendrecv":  {Waits: true},
	"MPI_Barrier":   {Waits: true},
	"MPI_Allreduce": {Waits: true},
	"MPI_Bcast":     {Waits: true},
}
