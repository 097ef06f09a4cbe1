package conflicts

import (
	"sort"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// laneKey is what accesses of calls have in common that differ only in time:
// the same process, source place and role, the same bytes, the same locks.
type laneKey struct {
	site   Site
	kind   regions.Kind
	base   uint64
	layout *intervals.Layout
	win    int64
	elem   regions.Element
	locks  string
	old    bool
	part   int32 // further lanes where the accesses are not completed in order
}

// lane is accesses that cannot be told apart but for their time, in program
// order of their start and of their completion. Whether one of them is
// ordered before or after some other access changes only once along the lane,
// so that those concurrent with it are found by binary search, and need not be
// enumerated.
type lane struct {
	accesses []*regions.Access
	class    class
	lo, hi   uint64 // bounding box
	old      bool   // they were in the phase before as well
}

func (l *lane) first() *regions.Access { return l.accesses[0] }

// class groups accesses by what they are compatible with.
type class struct {
	kind  regions.Kind
	win   int64
	elem  string // basic type of atomic accesses
	op    string
	same  bool  // not even MPI_NO_OP may meet another operation
	phase int64 // of the elements' addresses modulo their size; -1: not all the same
}

// classOf returns the class of an access. Two atomic accesses whose classes
// agree are compatible whatever bytes they share.
func classOf(a *regions.Access) class {
	if a.Elem == nil {
		return class{kind: a.Kind}
	}
	c := class{kind: a.Kind, win: a.Call.Win, elem: a.Elem.Type, op: a.Elem.Op, same: a.Elem.SameOp, phase: -1}
	if size := a.Elem.Size; size > 0 {
		c.phase = int64(a.Base % size)
		for _, r := range a.Layout.Runs() {
			if r.Lo%size != 0 || r.Stride%size != 0 {
				c.phase = -1
			}
		}
	}
	return c
}

// compatible reports whether no two accesses of the classes can conflict.
func (c class) compatible(d class) bool {
	if !mayConflict(c.kind, d.kind) {
		return true
	}
	return c.elem != "" && c.elem == d.elem && c.win == d.win && c.phase >= 0 && c.phase == d.phase &&
		(c.op == d.op || !c.same && (c.kind == regions.AtomicRead || d.kind == regions.AtomicRead))
}

// sortLanes sorts the accesses that calls make in the memory of one process.
func (s *searcher) sortLanes(calls []*regions.Access) {
	clear(s.byKey)
	clear(s.lanes)
	s.lanes = s.lanes[:0]
	for _, a := range calls {
		k := laneKey{site: siteOf(a), kind: a.Kind, base: a.Base, layout: a.Layout, win: a.Call.Win, locks: a.Locks.Key(), old: a.Old}
		if a.Elem != nil {
			k.elem = *a.Elem
		}
		for {
			l := s.byKey[k]
			if l == nil {
				l = &lane{class: classOf(a), old: a.Old}
				l.lo, l.hi = a.Layout.Bounds(a.Base)
				s.byKey[k] = l
				s.lanes = append(s.lanes, l)
			} else if last := l.accesses[len(l.accesses)-1]; a.Gated || last.Gated || !last.End.NotAfter(a.End) {
				k.part++
				continue
			}
			l.accesses = append(l.accesses, a)
			break
		}
	}
}

// concurrent returns the accesses of the lane from index from on that nothing
// orders with a, as a range of indices; it is empty when both are equal.
func (l *lane) concurrent(r *regions.Region, a *regions.Access, from int) (lo, hi int) {
	rest := l.accesses[from:]
	i := sort.Search(len(rest), func(j int) bool { return !r.Precedes(rest[j], a) })
	rest = rest[i:]
	n := sort.Search(len(rest), func(j int) bool { return r.Precedes(a, rest[j]) })
	return from + i, from + i + n
}
