package conflicts

import (
	"sort"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
)

// laneKey is what accesses of calls have in common that differ only in time,
// as far as it is cheap to compare: the same process, source place and role,
// and the same bytes. lane.holds compares the rest.
type laneKey struct {
	base   uint64
	layout *intervals.Layout
	object int64
	rank   int32
	stack  uint32
	atomic uint32
	role   *regions.Role
	kind   regions.Kind
	old    bool
}

func keyOf(a *regions.Access) laneKey {
	return laneKey{
		base: a.Base, layout: a.Layout, object: a.Call.Object, rank: a.Rank, stack: a.Call.Stack,
		atomic: a.Atomic, role: a.Role, kind: a.Kind, old: a.Old,
	}
}

// lane is accesses that cannot be told apart but for their time, in program
// order of their start and of their completion. Whether one of them is
// ordered before or after some other access changes only once along the lane,
// so that those concurrent with it are found by binary search, and need not be
// enumerated.
type lane struct {
	accesses []*regions.Access // of a lane that is no series
	series   *regions.Series   // or nil
	class    class
	lo, hi   uint64 // bounding box
	old      bool   // they were in the phase before as well
	own      bool   // they are instantaneous, and the owner's
	// The bytes are blocks at equal distances; step is 0 when they are not.
	step, block uint64
	next        *lane // with the same key

	// away: no moment of its accesses is one of the owner. Then all loads and
	// stores of a separate region of the owner are concurrent with the same
	// of them; those of the last one asked about are kept.
	away     bool
	seg      int32
	from, to int
}

// first returns an access that differs from the others in time only.
func (l *lane) first() *regions.Access {
	if l.series != nil {
		return l.series.Like()
	}
	return l.accesses[0]
}

func (l *lane) len() int {
	if l.series != nil {
		return l.series.Len()
	}
	return len(l.accesses)
}

// access returns access i.
func (l *lane) access(i int) *regions.Access {
	if l.series != nil {
		return l.series.Access(i)
	}
	return l.accesses[i]
}

// times returns access i, of which only the times need to be right. It is valid
// until the next use of room.
func (l *lane) times(i int, room *regions.Access) *regions.Access {
	if l.series == nil {
		return l.accesses[i]
	}
	l.series.Times(i, room)
	return room
}

// holds reports whether an access with the lane's key belongs to it.
func (l *lane) holds(a *regions.Access) bool {
	first := l.first()
	if a.Call.Fn != first.Call.Fn || a.Locks != first.Locks && a.Locks.Key() != first.Locks.Key() {
		return false
	}
	if a.Elem != first.Elem && (a.Elem == nil || first.Elem == nil || *a.Elem != *first.Elem) {
		return false
	}
	last := l.accesses[len(l.accesses)-1]
	return !a.Gated && !last.Gated && last.End.NotAfter(a.End)
}

func (l *lane) add(a *regions.Access) {
	l.accesses = append(l.accesses, a)
	l.away = l.away && a.Start.Rank != a.Owner && a.End.Rank != a.Owner && !a.Gated
}

// class groups accesses by what they are compatible with.
type class struct {
	kind   regions.Kind
	object int64
	elem   string // basic type of atomic accesses
	op     string
	same   bool  // not even MPI_NO_OP may meet another operation
	phase  int64 // of the elements' addresses modulo their size; -1: not all the same
}

// classOf returns the class of an access. Two atomic accesses whose classes
// agree are compatible whatever bytes they share.
func classOf(a *regions.Access) class {
	if a.Elem == nil {
		return class{kind: a.Kind}
	}
	c := class{kind: a.Kind, object: a.Call.Object, elem: a.Elem.Type, op: a.Elem.Op, same: mpi.OneOp(a.Elem), phase: -1}
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
	return c.elem != "" && c.elem == d.elem && c.object == d.object && c.phase >= 0 && c.phase == d.phase &&
		(c.op == d.op || !c.same && (c.kind == regions.AtomicRead || d.kind == regions.AtomicRead))
}

// sortLanes sorts the accesses that calls make in the memory of one process.
func (s *searcher) sortLanes(calls []*regions.Access) {
	clear(s.byKey)
	s.spare = append(s.spare, s.lanes...)
	s.lanes = s.lanes[:0]
	for _, a := range calls {
		k := keyOf(a)
		head := s.byKey[k]
		l := head
		for l != nil && !l.holds(a) {
			l = l.next
		}
		if l == nil {
			l = s.newLane(a, a.Old)
			if l.next = head; head != nil {
				l.next, head.next = head.next, l
			} else {
				s.byKey[k] = l
			}
			s.lanes = append(s.lanes, l)
		}
		l.add(a)
	}
}

// addSeries adds the lanes of what calls access in the memory of one process that
// is kept as series.
func (s *searcher) addSeries(owner int32) {
	all, err := s.region.Series(owner, &s.scratch)
	if err != nil {
		s.err = err
		return
	}
	for i := range all {
		a := all[i].Like()
		if !s.part.Whole() {
			if lo, hi := a.Layout.Bounds(a.Base); !s.part.Touches(owner, lo, hi) {
				continue
			}
		}
		l := s.newLane(a, false)
		l.series = &all[i]
		l.away = a.Rank != owner && all[i].EndRank() != owner
		s.lanes = append(s.lanes, l)
	}
}

func (s *searcher) newLane(a *regions.Access, old bool) *lane {
	var l *lane
	if n := len(s.spare); n > 0 {
		l, s.spare = s.spare[n-1], s.spare[:n-1]
		clear(l.accesses)
	} else {
		l = &lane{}
	}
	*l = lane{accesses: l.accesses[:0], class: classOf(a), old: old, away: true, seg: noSegment}
	l.lo, l.hi = a.Layout.Bounds(a.Base)
	if runs := a.Layout.Runs(); len(runs) == 1 {
		l.block, l.step = runs[0].Size, max(runs[0].Stride, runs[0].Size)
	}
	return l
}

// noSegment is the number of no separate region.
const noSegment int32 = -1

// concurrent returns the accesses of the lane from index from on that nothing
// orders with a, as a range of indices; it is empty when both are equal.
func (l *lane) concurrent(r *regions.Region, a *regions.Access, from int) (lo, hi int) {
	if l.series != nil {
		return l.series.Concurrent(a, from)
	}
	rest := l.accesses[from:]
	i := sort.Search(len(rest), func(j int) bool { return !r.Precedes(rest[j], a) })
	rest = rest[i:]
	n := sort.Search(len(rest), func(j int) bool { return r.Precedes(a, rest[j]) })
	return from + i, from + i + n
}

// concurrentWith returns the accesses of the lane that nothing orders with one
// that starts and completes at a moment of the owner.
func (l *lane) concurrentWith(r *regions.Region, at regions.Point) (lo, hi int) {
	if l.away && l.seg == at.Seg {
		return l.from, l.to
	}
	a := regions.Access{Start: at, End: at}
	l.from, l.to = l.concurrent(r, &a, 0)
	l.seg = at.Seg
	return l.from, l.to
}
