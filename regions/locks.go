package regions

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// heldLock is one lock that a process holds.
type heldLock struct {
	win       int64
	target    int32 // world rank; anyTarget for lock_all
	exclusive bool
	epoch     uint64 // tells the lock epochs of one process apart
}

const anyTarget int32 = -1

// LockSet is the set of locks that protect an access: for a one-sided
// operation the lock of its epoch (its buffers only if that covers its own
// process), for what else a process accesses the locks that it holds on itself. Locks exclude
// only at the window and target that they name (MPI 4.1, 12.5.3); what else
// lock epochs order, the order of their locks tells. A LockSet is immutable;
// nil is the empty set.
type LockSet struct {
	locks []heldLock
	key   string // the locks without their epochs
}

func newLockSet(locks []heldLock) *LockSet {
	var room [64]byte // of most sets
	key := room[:0]
	for _, l := range locks {
		key = binary.AppendVarint(key, l.win)
		key = binary.AppendVarint(key, int64(l.target))
		key = strconv.AppendBool(key, l.exclusive)
	}
	return &LockSet{locks: locks, key: string(key)}
}

// Key is equal for sets of the same locks, whatever their epochs.
func (s *LockSet) Key() string {
	if s == nil {
		return ""
	}
	return s.key
}

func (s *LockSet) with(l heldLock) *LockSet {
	if s == nil {
		return newLockSet([]heldLock{l})
	}
	return newLockSet(append(slices.Clip(s.locks), l))
}

// at returns the set if a lock in it covers the memory of a process.
func (s *LockSet) at(rank int32) *LockSet {
	if s != nil && slices.ContainsFunc(s.locks, func(l heldLock) bool { return l.target == rank || l.target == anyTarget }) {
		return s
	}
	return nil
}

func (s *LockSet) without(epoch uint64) *LockSet {
	if s == nil {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(s.locks), func(l heldLock) bool { return l.epoch == epoch })
	if len(kept) == 0 {
		return nil
	}
	return newLockSet(kept)
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
