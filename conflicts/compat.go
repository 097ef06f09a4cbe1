// Package conflicts finds, in a concurrent region, the pairs of accesses that
// meet, that nothing orders, and that the compatibility table of the detection
// model (section 4) forbids.
//
// What calls access is indexed by the process whose memory it is. Loads and
// stores, by far the most, are then looked up in the index: two accesses of
// which neither spans cannot conflict within one process, so that they are
// never compared with each other.
package conflicts

import (
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// mayConflict reports whether the table forbids any pair of these kinds.
func mayConflict(a, b regions.Kind) bool {
	writes := func(k regions.Kind) bool { return k == regions.Write || k == regions.AtomicWrite }
	return writes(a) || writes(b)
}

// Compare applies the table to two accesses that share bytes. What it leaves to
// the judge is which atomic accesses of one object are atomic to each other.
func Compare(j Judge, a, b *regions.Access) Verdict {
	if !mayConflict(a.Kind, b.Kind) || withinProcess(a, b) {
		return Compatible
	}
	if a.Role.Class == regions.Withdrawn || b.Role.Class == regions.Withdrawn {
		// Only to operations on the object does it matter what it exposes.
		if a.Call.Object == b.Call.Object && (a.Role.Class == regions.Target || b.Role.Class == regions.Target) {
			return Race
		}
		return Compatible
	}
	if a.Role.Class == regions.Vouched || b.Role.Class == regions.Vouched {
		if a.Rank == b.Rank && (a.Role.Class.Changes() || b.Role.Class.Changes()) {
			return Race
		}
		return Compatible
	}
	if a.Atomic > 0 && sameObjects(a, b) {
		return Compatible // the language orders its atomics
	}
	if a.Elem == nil || b.Elem == nil || a.Call.Object != b.Call.Object {
		return Race // atomicity holds within one object
	}
	if a.Elem.Type != b.Elem.Type || a.Elem.Type == "" || misaligned(a, b) {
		return OtherType
	}
	return j.Atomic(a, b)
}

// withinProcess reports whether two accesses are the business of one process alone:
// its threads make them in its own memory, and neither belongs to communication.
func withinProcess(a, b *regions.Access) bool {
	plain := func(c regions.Class) bool { return c == regions.Local || c == regions.GivenUp }
	return a.Rank == b.Rank && plain(a.Role.Class) && plain(b.Role.Class)
}

// chained reports whether an access takes effect before another, where that was issued
// after it began, though it is pending.
func chained(a, b *regions.Access) bool {
	return a.Role.Chained && a.Rank == b.Rank && b.Role.Class == regions.Target && !b.Role.Unchained && a.Call.Mode == b.Call.Mode
}

// sameObjects reports whether loads and stores by the language's atomics are
// to the same objects, as far as they meet.
func sameObjects(a, b *regions.Access) bool {
	size := uint64(a.Atomic)
	phase := a.Base + a.Layout.Runs()[0].Lo
	for _, x := range []*regions.Access{a, b} {
		if x.Atomic != a.Atomic {
			return false
		}
		for _, r := range x.Layout.Runs() {
			if (x.Base+r.Lo-phase)%size != 0 || r.Size%size != 0 || r.Stride%size != 0 {
				return false
			}
		}
	}
	return true
}

// misaligned reports whether two elements of one size overlap without starting
// at the same byte.
func misaligned(a, b *regions.Access) bool {
	size := a.Elem.Size
	if size <= 1 {
		return false
	}
	for _, ra := range elements(a) {
		for _, rb := range elements(b) {
			if misalignedRuns(ra.Shift(a.Base), rb.Shift(b.Base), size) {
				return true
			}
		}
	}
	return false
}

// elements are the elements of an atomic access, those that lie one behind the
// other as one.
func elements(a *regions.Access) []intervals.Run {
	if a.Elem.Grid != nil {
		return a.Elem.Grid.Runs()
	}
	return a.Layout.Runs()
}

func misalignedRuns(a, b intervals.Run, size uint64) bool {
	if a.Lo >= b.Hi() || b.Lo >= a.Hi() {
		return false
	}
	if apart(a.Lo, b.Lo)%size == 0 && a.Stride%size == 0 && b.Stride%size == 0 {
		return false
	}
	if a.Count > b.Count {
		a, b = b, a
	}
	for i := range a.Count {
		if misalignedBlock(a.Lo+i*a.Stride, a.Size, b, size) {
			return true
		}
	}
	return false
}

// misalignedBlock holds the block [lo, lo+n) against each block of b that it
// meets. Within blocks elements lie one behind the other, so that two blocks
// that meet are aligned in all elements or in none.
func misalignedBlock(lo, n uint64, b intervals.Run, size uint64) bool {
	var j uint64
	if b.Count > 1 && lo >= b.Lo+b.Size {
		j = (lo-b.Lo-b.Size)/b.Stride + 1
	}
	for ; j < b.Count; j++ {
		at := b.Lo + j*b.Stride
		if at >= lo+n {
			return false
		}
		if at+b.Size > lo && apart(at, lo)%size != 0 {
			return true
		}
	}
	return false
}

// apart returns the distance of two addresses.
func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }
