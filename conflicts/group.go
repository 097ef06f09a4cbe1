package conflicts

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Site is where an access comes from, in the terms of its process's trace: its
// rank and stack, where it made the object that the access is made through, and
// what it is.
type Site struct {
	Rank  int32
	Stack uint32
	Made  uint32 // regions.CallSite.Made
	Role  string // regions.Role.Name
	Fn    string // of the call; "" for loads and stores
}

// Group is all pairs of one rule between the same two sites. The pair shown is
// the first in the order of regions, owners and time. Files hold groups as they
// are.
type Group struct {
	Rule          string
	First, Second Site
	Sample        Sample
	Count         uint64
	Owners        []int32 // world ranks whose memory the pairs met in, ascending
}

// Sample is what a finding tells of a pair.
type Sample struct {
	Region        int
	Owner         int32
	Lo, Hi        uint64 // addresses of Owner, half-open
	First, Second Touch
	Exposed       *regions.Exposed // the memory that the bytes lie in; nil when in none that is exposed
	// Locks are two calls that took locks which exclude each other, in the order
	// of the run: nothing else orders the accesses. nil unless the order of
	// locks was left out.
	Locks [2]*regions.CallInfo
	// FirstBegan says that the first access starts before the second, and
	// SecondBegan the reverse, whatever the timing; at most one of them holds.
	FirstBegan, SecondBegan bool
}

// Touch is one access of a sample.
type Touch struct {
	Class         regions.Class // of its role
	Write, Atomic bool
	Type, Op      string // of an atomic access's elements
	Call          *regions.CallInfo
	Pos           uint64            // of the event at which it starts, in its process's trace
	Spans         bool              // it is not instantaneous
	Started       *regions.CallInfo // last synchronization before it, calls that only lock or complete included; nil at the start of the run
	Next          *regions.CallInfo // first synchronization after it started; nil when there is none
	Done          *regions.CallInfo // what completes it; of an instantaneous access Next
	Left          *regions.CallInfo // last call of its process before it that left a value which others may see; nil: none near it
	Heard         *regions.CallInfo // last call of the other access's process that its process had heard of when it was made; nil when of none
	Passed        *regions.CallInfo // call of another strand of its process before it, behind which the other access is complete; nil when of none
	Missed        *regions.CallInfo // last call behind it, before one that orders processes, that does not complete it though it may complete others; nil: none
	Beside        *regions.CallInfo // call of another strand of its process that would have completed it, had anything put it before that; nil: none
	Weak          *regions.Weak     // atomic operations of the language by which it would come after the other access, were they not relaxed; nil: there are none
	// Before and After are Started and Next of the calls that order processes.
	Before, After *regions.CallInfo
	Held          []regions.Lock    // that protect it
	Made          *regions.CallInfo // that made the object it is made through (regions.Object.Created); nil of others
	// Lo and Hi bound the bytes accessed, as addresses of the owner, half-open;
	// Holes: there are others between. Unit is that of the Access.
	Lo, Hi uint64
	Holes  bool
	Unit   uint32
}

// EarlierThan reports whether a sample comes before another in an order that does
// not depend on how pairs are found.
func (s *Sample) EarlierThan(t *Sample) bool {
	return cmp.Or(
		cmp.Compare(s.Region, t.Region), cmp.Compare(s.Owner, t.Owner),
		cmp.Compare(s.First.Pos, t.First.Pos), cmp.Compare(s.Second.Pos, t.Second.Pos),
		cmp.Compare(s.Lo, t.Lo),
	) < 0
}

func (s Site) compare(t Site) int {
	return cmp.Or(cmp.Compare(s.Rank, t.Rank), cmp.Compare(s.Stack, t.Stack), cmp.Compare(s.Made, t.Made), cmp.Compare(s.Role, t.Role), cmp.Compare(s.Fn, t.Fn))
}

type groupKey struct {
	rule          string
	first, second Site
}

// Join returns the groups of several searches, for different parts of memory or
// different regions, as one list in a stable order: as one search would have
// found them.
func Join(lists ...[]Group) []Group {
	byKey := map[groupKey]*Group{}
	for _, list := range lists {
		for _, g := range list {
			key := groupKey{g.Rule, g.First, g.Second}
			old := byKey[key]
			if old == nil {
				byKey[key] = &g
				continue
			}
			old.Count += g.Count
			old.Owners = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Owners, g.Owners))))
			if g.Sample.EarlierThan(&old.Sample) {
				old.Sample = g.Sample
			}
		}
	}
	out := make([]Group, 0, len(byKey))
	for g := range maps.Values(byKey) {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), a.First.compare(b.First), a.Second.compare(b.Second))
	})
	return out
}
