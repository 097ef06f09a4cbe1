package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Usage is a usage error: a call that its model forbids where it stands, so that
// what comes of it is not defined. Equal ones, from the same source places, are
// one with a count.
type Usage struct {
	Rule    string            // its identifier
	Call    *regions.CallInfo // the call that is wrong
	Other   *regions.CallInfo // the second call that is involved; nil where there is none
	Via     *regions.CallInfo // an operation that makes it an error; nil where none does
	Last    *regions.CallInfo // the caller's last synchronization of the object before; nil where there was none
	As      string            // the role of the access that Call makes, where it is a one-sided operation; otherwise ""
	Writes  bool              // that access writes
	OtherAs *regions.Role     // what access Other is; nil: it is none
	Either  bool              // Call and Other are equally wrong: which comes first says nothing
	Concerned
	Why    string // what is wrong, one sentence without a full stop
	Fix    string // what would be right
	Region int    // the concurrent region of the first
	Count  uint64
	order  int
}

// Concerned is the memory, or the object, that a usage error is about.
type Concerned struct {
	Owner  int32           // world rank whose memory or object it is
	Object *regions.Object // nil where it is about none
	Lo, Hi uint64          // bytes, addresses of Owner; half-open. Both 0 where it is about none
	Base   uint64          // address of the object's first byte at Owner
}

// usages gathers usage errors.
type usages struct {
	byKey map[usageKey]*Usage
}

// usageKey is the places of a usage error, in the terms of the traces.
type usageKey struct {
	rule       string
	rank       int32
	fn         string
	stack      uint32
	otherRank  int32
	otherFn    string
	otherStack uint32
	madeBy     int32 // who made the object, and where
	made       uint32
}

// Misuse reports a usage error.
func (m *Machine) Misuse(u Usage) {
	key := usageKey{rule: u.Rule, rank: u.Call.Rank, fn: u.Call.Fn, stack: u.Call.Stack}
	if u.Other != nil {
		key.otherRank, key.otherFn, key.otherStack = u.Other.Rank, u.Other.Fn, u.Other.Stack
	}
	if u.Object != nil && u.Object.Created != nil {
		key.madeBy, key.made = u.Object.Created.Rank, u.Object.Created.Stack
	}
	if old := m.usages.byKey[key]; old != nil {
		old.Count++
		return
	}
	if m.usages.byKey == nil {
		m.usages.byKey = map[usageKey]*Usage{}
	}
	u.Count, u.Region, u.order = 1, m.index, len(m.usages.byKey)
	m.usages.byKey[key] = &u
}

// UsageCount returns how many usage errors were met so far, equal ones counted once.
func (m *Machine) UsageCount() int { return len(m.usages.byKey) }

// Usages returns the usage errors met so far, in the order of the replay.
func (m *Machine) Usages() []Usage {
	var out []Usage
	for _, u := range slices.SortedFunc(maps.Values(m.usages.byKey), func(a, b *Usage) int { return cmp.Compare(a.order, b.order) }) {
		out = append(out, *u)
	}
	return out
}
