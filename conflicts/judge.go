package conflicts

import "github.com/mcchk/mcchk/regions"

// Judge is what a programming model, or several together, say of conflicts.
// Several goroutines may ask it at once.
type Judge interface {
	// Atomic judges two atomic accesses that nothing orders, through one object,
	// to elements of one basic type that lie at the same places: Compatible,
	// OtherOp or Beside. It is asked for pairs of lanes that Compatible left over.
	Atomic(a, b *regions.Access) Verdict
	// Compatible reports whether no two such accesses of these two groups can
	// conflict. It is asked for each pair of lanes of atomic accesses to elements
	// of one basic type.
	Compatible(x, y Atomics) bool
	// Rule names the rule that a conflicting pair breaks.
	Rule(a, b *regions.Access, v Verdict) string
	// Check begins what is to be checked beyond concurrent pairs, for conflicts in
	// one part of memory, which it adds to out; nil when there is nothing.
	Check(part regions.Part, out *Collector) RegionCheck
}

// RegionCheck checks a region, which it must not keep. Regions come in their
// order. The error is that of reading what did not fit into memory.
type RegionCheck func(r *regions.Region) error

// Verdict on a pair of concurrent accesses that share bytes.
type Verdict uint8

// Verdicts.
const (
	Compatible Verdict = iota
	Race               // an error
	OtherType          // atomic, and an error: basic types or alignment differ
	OtherOp            // atomic, and a warning: operations differ
	Beside             // OtherOp, unless one was issued after the other, by whichever strand
)

// Atomics is a group of atomic accesses, as far as their compatibility with
// others of the same object and elements may depend on it.
type Atomics struct {
	Kind     regions.Kind
	Op       string // of regions.Element
	Promises int64  // of regions.Element
}
