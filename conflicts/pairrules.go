package conflicts

import "github.com/mcchk/mcchk/regions"

// PairRules are the rules that conflicting pairs break in a model in which all exposed
// memory is open to everybody at all times.
type PairRules struct {
	Gone   string // memory that is gone
	Atomic string // two atomic operations that may not meet
	Call   string // a buffer of a communication call
	Order  string // two operations of one process at one target
	Buffer string // a buffer of a process's own operation
	Local  string // a process's own access to its exposed memory
	Remote string // any other
}

// Of names the rule that a pair breaks.
func (r *PairRules) Of(a, b *regions.Access, v Verdict) string {
	x, y := a.Role.Class, b.Role.Class
	switch {
	case x.Gone() || y.Gone():
		return r.Gone
	case x == regions.CallBuffer || y == regions.CallBuffer:
		return r.Call
	case v == OtherType:
		return r.Atomic
	case a.Rank == b.Rank && x == regions.Target && y == regions.Target:
		return r.Order
	case a.Rank == b.Rank:
		return r.Buffer
	case x == regions.Local || y == regions.Local || x == regions.OwnBuffer || y == regions.OwnBuffer:
		return r.Local
	}
	return r.Remote
}
