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
	Void      bool    // it excludes nobody, whatever it looks like
	Of        *Object // the object, for its name; nil: not known
}

// AnyTarget is the target of a lock of the memory of all processes.
const AnyTarget int32 = -1

// Covers reports whether the lock protects memory of a process.
func (l *Lock) Covers(rank int32) bool { return l.Target == rank || l.Target == AnyTarget }

// LockSet is the set of locks that protect an access: for a one-sided
// operation the lock that it was issued under (its buffers only if that covers
// its own process), for what else a process accesses the locks that it holds on
// itself. Locks exclude only at the object and target that they name; what else
// locking orders, the order of locks tells. A LockSet is
// immutable; nil is the empty set.
type LockSet struct {
	locks []Lock
	key   string
	sets  *LockSets
}

// LockSets makes the lock sets of a run: equal ones are one. The zero value has
// none yet.
type LockSets struct{ byKey map[string]*LockSet }

// of returns the set of some locks, which it may keep.
func (x *LockSets) of(locks []Lock) *LockSet {
	if len(locks) == 0 {
		return nil
	}
	var room [64]byte // of most sets
	key := room[:0]
	for _, l := range locks {
		key = binary.AppendVarint(key, l.Object)
		key = binary.AppendVarint(key, int64(l.Target))
		key = strconv.AppendBool(key, l.Exclusive)
		key = strconv.AppendBool(key, l.Void)
	}
	s := x.byKey[string(key)]
	if s == nil {
		s = &LockSet{locks: slices.Clone(locks), key: string(key), sets: x}
		if x.byKey == nil {
			x.byKey = map[string]*LockSet{}
		}
		x.byKey[s.key] = s
	}
	return s
}

// Only returns the set of one lock.
func (x *LockSets) Only(l Lock) *LockSet {
	one := [1]Lock{l}
	return x.of(one[:])
}

// Key is equal for equal sets.
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

// With returns the set with the locks of another one.
func (s *LockSet) With(t *LockSet) *LockSet {
	switch {
	case s == nil:
		return t
	case t == nil:
		return s
	}
	return s.sets.of(append(slices.Clip(s.locks), t.locks...))
}

// Without returns the set without a lock.
func (s *LockSet) Without(l Lock) *LockSet {
	if s == nil {
		return nil
	}
	i := slices.Index(s.locks, l)
	if i < 0 {
		return s
	}
	return s.sets.of(slices.Delete(slices.Clone(s.locks), i, i+1))
}

// At returns the set if a lock in it covers the memory of a process; otherwise
// the empty set.
func (s *LockSet) At(rank int32) *LockSet {
	if s != nil && slices.ContainsFunc(s.locks, func(l Lock) bool { return l.Covers(rank) }) {
		return s
	}
	return nil
}

// Excludes reports whether two processes cannot hold two locks at once.
func Excludes(a, b Lock) bool {
	return a.Object == b.Object && (a.Exclusive || b.Exclusive) && !a.Void && !b.Void &&
		(a.Target == b.Target || a.Target == AnyTarget || b.Target == AnyTarget)
}

// Exclude reports whether two accesses of different processes, made under
// these locks, cannot happen at once: both sets hold a lock of the same object
// and target, and at least one of the two is exclusive.
func Exclude(s, t *LockSet) bool {
	if s == nil || t == nil {
		return false
	}
	for _, a := range s.locks {
		for _, b := range t.locks {
			if Excludes(a, b) {
				return true
			}
		}
	}
	return false
}
