package gaspi

import "github.com/mcchk/mcchk/regions"

// Roles of accesses that calls of GASPI make.
var (
	WriteTarget  = &regions.Role{Name: "write", Class: regions.Target, Order: 122}
	ReadTarget   = &regions.Role{Name: "read", Class: regions.Target, Order: 123}
	AtomicTarget = &regions.Role{Name: "atomic operation", Class: regions.Target, Order: 124}
	Source       = &regions.Role{Name: "local segment", Class: regions.OwnBuffer, Order: 125} // of a write
	Dest         = &regions.Role{Name: "local segment", Class: regions.OwnBuffer, Order: 126} // of a read
	SendBuffer   = &regions.Role{Name: "send buffer", Class: regions.CallBuffer, Order: 127}
	Received     = &regions.Role{Name: "receive buffer", Class: regions.CallBuffer, Order: 128}
	OldValue     = &regions.Role{Name: "old value", Class: regions.CallBuffer, Order: 129}
	Deleted      = &regions.Role{Name: "deletion", Class: regions.GivenUp, Order: 130}
)

// IsRole reports whether an access of that role, as findings name it, is one of
// GASPI's.
func IsRole(r *regions.Role) bool { return r.Order >= WriteTarget.Order && r.Order <= Deleted.Order }
