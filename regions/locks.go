package regions

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Lock is a lock that protects accesses: of the memory that an object exposes at
// one process, or at all.
type Lock struct {
	Object    int64
	Target    int32 // world rank of the process whose memory is locked; AnyTarget: of all
	Exclusive bool
	// Hold tells the times apart that one process held a lock.
	Hold uint64 `json:"-"`
}

// AnyTarget is the target of a lock of the memory of all processes.
const AnyTarget int32 = -1

// Covers reports whether the lock protects memory of a process.
func (l *Lock) Covers(rank int32) bool { return l.Target == rank || l.Target == AnyTarget }

// LockSet is the set of locks that protect an access: for a one-sided
// operation the lock that it was issued under (its buffers only if that covers
// its own process), for what else a process accesses the locks that it holds on
// itself. Locks exclude only at the object and target that they name (MPI 4.1,
// 12.5.3); what else locking orders, the order of locks tells. A LockSet is
// immutable; nil is the empty set.
type LockSet struct {
	locks []Lock
	key   string // the locks without their holds
}

func newLockSet(locks []Lock) *LockSet {
	var room [64]byte // of most sets
	key := room[:0]
	for _, l := range locks {
		key = binary.AppendVarint(key, l.Object)
		key = binary.AppendVarint(key, int64(l.Target))
		key = strconv.AppendBool(key, l.Exclusive)
	}
	return &LockSet{locks: locks, key: string(key)}
}

// Key is equal for sets of the same locks, whatever their holds.
func (s *LockSet) Key() string {
	if s == nil {
		return ""
	}
	return s.key
}

// Held returns the locks of the set, which are not to be changed.
func (s *LockSet) Held() []Lock {
	if s == nil {
		return nil
	}
	return s.locks
}

// With returns the set with a lock.
func (s *LockSet) With(l Lock) *LockSet {
	if s == nil {
		return newLockSet([]Lock{l})
	}
	return newLockSet(append(slices.Clip(s.locks), l))
}

// At returns the set if a lock in it covers the memory of a process; otherwise
// the empty set.
func (s *LockSet) At(rank int32) *LockSet {
	if s != nil && slices.ContainsFunc(s.locks, func(l Lock) bool { return l.Covers(rank) }) {
		return s
	}
	return nil
}

// Without returns the set without the lock of one hold.
func (s *LockSet) Without(hold uint64) *LockSet {
	if s == nil {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(s.locks), func(l Lock) bool { return l.Hold == hold })
	if len(kept) == 0 {
		return nil
	}
	return newLockSet(kept)
}

// Exclude reports whether two accesses of different processes, made under
// these locks, cannot happen at once: both sets hold a lock of the same object
// and target, and at least one of the two is exclusive (MPI 4.1, 12.5.3).
func Exclude(s, t *LockSet) bool {
	if s == nil || t == nil {
		return false
	}
	for _, a := range s.locks {
		for _, b := range t.locks {
			if a.Object == b.Object && (a.Exclusive || b.Exclusive) &&
				(a.Target == b.Target || a.Target == AnyTarget || b.Target == AnyTarget) {
				return true
			}
		}
	}
	return false
}
