package regions

import "slices"

// heldLock is one lock that a process holds.
type heldLock struct {
	win       int64
	target    int32 // world rank; anyTarget for lock_all
	exclusive bool
	epoch     uint64 // tells the lock epochs of one process apart
}

const anyTarget int32 = -1

// LockSet is the set of locks under which an access is made. It is immutable;
// nil is the empty set.
type LockSet struct{ locks []heldLock }

func (s *LockSet) with(l heldLock) *LockSet {
	if s == nil {
		return &LockSet{locks: []heldLock{l}}
	}
	return &LockSet{locks: append(slices.Clip(s.locks), l)}
}

func (s *LockSet) without(epoch uint64) *LockSet {
	return s.filter(func(l heldLock) bool { return l.epoch != epoch })
}

// and returns the locks that are in both sets: held without interruption.
func (s *LockSet) and(t *LockSet) *LockSet {
	if s == nil || t == nil || s == t {
		if s == t {
			return s
		}
		return nil
	}
	return s.filter(func(l heldLock) bool { return slices.Contains(t.locks, l) })
}

func (s *LockSet) filter(keep func(heldLock) bool) *LockSet {
	if s == nil {
		return nil
	}
	var kept []heldLock
	for _, l := range s.locks {
		if keep(l) {
			kept = append(kept, l)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return &LockSet{locks: kept}
}

// Exclude reports whether two accesses of different processes, made under
// these locks, cannot happen at once: both sets hold a lock of the same window
// and target, and at least one of the two is exclusive (MPI 4.1, 12.5.3).
func Exclude(s, t *LockSet) bool {
	if s == nil || t == nil {
		return false
	}
	for _, a := range s.locks {
		for _, b := range t.locks {
			if a.win == b.win && (a.exclusive || b.exclusive) &&
				(a.target == b.target || a.target == anyTarget || b.target == anyTarget) {
				return true
			}
		}
	}
	return false
}
