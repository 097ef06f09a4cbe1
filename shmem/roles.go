package shmem

import "github.com/mcchk/mcchk/regions"

// Roles of accesses that calls of OpenSHMEM make.
var (
	PutTarget    = &regions.Role{Name: "put", Class: regions.Target, Order: 102}
	GetTarget    = &regions.Role{Name: "get", Class: regions.Target, Order: 103}
	GetLater     = &regions.Role{Name: "get", Class: regions.Target, Order: 103, Unchained: true} // non-blocking
	AtomicTarget = &regions.Role{Name: "atomic operation", Class: regions.Target, Order: 104}
	FetchLater   = &regions.Role{Name: "atomic operation", Class: regions.Target, Order: 104, Unchained: true}
	SignalTarget = &regions.Role{Name: "signal", Class: regions.Target, Order: 105}
	LockTarget   = &regions.Role{Name: "lock", Class: regions.Target, Order: 111}
	Source       = &regions.Role{Name: "source", Class: regions.OwnBuffer, Order: 106}
	Dest         = &regions.Role{Name: "dest", Class: regions.OwnBuffer, Order: 107}
	SourceOfAll  = &regions.Role{Name: "source", Class: regions.CallBuffer, Order: 108} // of a collective call
	DestOfAll    = &regions.Role{Name: "dest", Class: regions.CallBuffer, Order: 109}
	WorkOfAll    = &regions.Role{Name: "pWrk", Class: regions.CallBuffer, Order: 110}
	SyncOfAll    = &regions.Role{Name: "pSync", Class: regions.CallBuffer, Order: 112}
	Freed        = &regions.Role{Name: "free", Class: regions.GivenUp, Order: 113} // of a block
)

// fenced are the roles of accesses that a fence has put before what their process
// issues later.
var fenced = map[*regions.Role]*regions.Role{}

func init() {
	for _, r := range []*regions.Role{PutTarget, AtomicTarget, SignalTarget} {
		chained := *r
		chained.Chained = true
		fenced[r] = &chained
	}
}

// Is reports whether an access is one of OpenSHMEM's: of a call, or a load or store in the
// memory of another PE.
func Is(a *regions.Access) bool {
	return a.Role.Order >= PutTarget.Order && a.Role.Order <= Freed.Order || a.Call != nil && a.Call.CallSite != nil && a.Call.Mode == ThroughPointer
}
