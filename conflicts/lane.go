package conflicts

import (
	"slices"
	"sort"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// laneKey is what accesses of calls have in common that differ only in time,
// as far as it is cheap to compare: the same line, source place and role,
// and the same bytes. lane.holds compares the rest.
type laneKey struct {
	base   uint64
	layout *intervals.Layout
	object int64
	line   int32
	stack  uint32
	atomic uint32
	role   *regions.Role
	kind   regions.Kind
	old    bool
}

func keyOf(a *regions.Access) laneKey {
	return laneKey{
		base: a.Base, layout: a.Layout, object: a.Call.Object, line: a.Start.Line, stack: a.Call.Stack,
		atomic: a.Atomic, role: a.Role, kind: a.Kind, old: a.Old,
	}
}

// Lane is accesses of calls that cannot be told apart but for their time, in program
// order of their start and of their completion. Whether one of them is
// ordered before or after some other access changes only once along the lane,
// so that those concurrent with it are found by binary search, and need not be
// enumerated.
type Lane struct {
	accesses []*regions.Access // of a lane that is no series
	lent     bool              // they are the region's
	series   *regions.Series   // or nil
	class    class
	lo, hi   uint64 // bounding box
	old      bool   // they were in the phase before as well
	own      bool   // they are instantaneous, and the owner's
	// The bytes are blocks at equal distances; step is 0 when they are not.
	step, block uint64
	next        *Lane  // with the same key
	spread      spread // how its bytes lie, in an index
	blocks      int    // of them, unless they are dense
	asked       uint64 // the last question that a laneIndex gave it as an answer to
	paired      uint64 // the last lane that it was compared with, as counted by searcher.paired, …
	pair        int    // … and which of searcher.pairs they are; or noPair

	// away: no moment of its accesses is one of the owner. Then all loads and
	// stores of a separate region of the owner are concurrent with the same
	// of them; those of the last one asked about are kept.
	away      bool
	line, seg int32
	from, to  int
}

// First returns an access that differs from the others in time only.
func (l *Lane) First() *regions.Access {
	if l.series != nil {
		return l.series.Like()
	}
	return l.accesses[0]
}

// Accesses returns the accesses of a lane that Lanes.Sort made.
func (l *Lane) Accesses() []*regions.Access { return l.accesses }

// Bounds returns the lowest address of the bytes accessed, and one beyond the
// highest.
func (l *Lane) Bounds() (lo, hi uint64) { return l.lo, l.hi }

func (l *Lane) len() int {
	if l.series != nil {
		return l.series.Len()
	}
	return len(l.accesses)
}

// access returns access i.
func (l *Lane) access(i int) *regions.Access {
	if l.series != nil {
		return l.series.Access(i)
	}
	return l.accesses[i]
}

// times returns access i, of which only the times need to be right. It is valid
// until the next use of room.
func (l *Lane) times(i int, room *regions.Access) *regions.Access {
	if l.series == nil {
		return l.accesses[i]
	}
	l.series.Times(i, room)
	return room
}

// each visits when accesses of the lane start and end, or the first and the last of many.
func (l *Lane) each(visit func(start, end regions.Point, many bool)) {
	if l.series != nil {
		l.series.Each(visit)
		return
	}
	for _, a := range l.accesses {
		visit(a.Start, a.End, false)
	}
}

// holds reports whether an access with the lane's key belongs to it.
func (l *Lane) holds(a *regions.Access) bool {
	first := l.First()
	if a.Call.Fn != first.Call.Fn || a.Call.Mode != first.Call.Mode || a.Locks != first.Locks && a.Locks.Key() != first.Locks.Key() {
		return false
	}
	if a.Elem != first.Elem && (a.Elem == nil || first.Elem == nil || *a.Elem != *first.Elem) {
		return false
	}
	last := l.accesses[len(l.accesses)-1]
	return !a.Gated && !last.Gated && a.Also == nil && last.Also == nil && last.End.NotAfter(a.End) && seenBefore(last, a)
}

// seenBefore reports whether everybody who has seen that an access is complete had seen
// that of another one by then.
func seenBefore(a, b *regions.Access) bool {
	for _, p := range b.Seen {
		if !slices.ContainsFunc(a.Seen, func(q regions.Point) bool { return q.Line == p.Line && q.NotAfter(p) }) {
			return false
		}
	}
	return true
}

// class groups accesses by what they are compatible with.
type class struct {
	kind     regions.Kind
	object   int64
	elem     string // basic type of atomic accesses
	op       string
	promises int64
	offset   int64 // of the elements' addresses modulo their size; -1: not all the same
	words    bool  // what is known of each element's word counts
}

// classOf returns the class of an access. Two atomic accesses whose classes
// agree are compatible whatever bytes they share.
func classOf(a *regions.Access) class {
	if a.Elem == nil {
		return class{kind: a.Kind}
	}
	c := class{kind: a.Kind, object: a.Call.Object, elem: a.Elem.Type, op: a.Elem.Op, promises: a.Elem.Promises, offset: -1, words: a.Words}
	if size := a.Elem.Size; size > 0 {
		c.offset = int64(a.Base % size)
		for _, r := range a.Layout.Runs() {
			if r.Lo%size != 0 || r.Stride%size != 0 {
				c.offset = -1
			}
		}
	}
	return c
}

// compatible reports whether no two accesses of the classes can conflict.
func (c class) compatible(j Judge, d class) bool {
	if !mayConflict(c.kind, d.kind) {
		return true
	}
	return c.elem != "" && c.elem == d.elem && c.object == d.object && c.offset >= 0 && c.offset == d.offset &&
		j.Compatible(c.atomics(), d.atomics())
}

func (c class) atomics() Atomics { return Atomics{Kind: c.kind, Op: c.op, Promises: c.promises} }

// Lanes sorts accesses into lanes. Its storage serves one sort after the other.
type Lanes struct {
	lanes []*Lane
	spare []*Lane // for reuse
	byKey map[laneKey]*Lane
}

// NewLanes returns a Lanes for any number of sorts.
func NewLanes() *Lanes { return &Lanes{byKey: map[laneKey]*Lane{}} }

// Sort sorts accesses that calls make in the memory of one process. The lanes are
// valid until the next sort.
func (s *Lanes) Sort(calls []*regions.Access) []*Lane {
	s.begin()
	for _, a := range calls {
		s.sort(a)
	}
	return s.lanes
}

func (s *Lanes) begin() {
	clear(s.byKey)
	s.spare = append(s.spare, s.lanes...)
	s.lanes = s.lanes[:0]
}

// sort adds an access to its lane.
func (s *Lanes) sort(a *regions.Access) *Lane {
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
	}
	l.accesses = append(l.accesses, a)
	return l
}

// sortSlice is Sort for those of the accesses that touch the slice.
func (s *searcher) sortSlice(calls []*regions.Access) {
	s.begin()
	for _, a := range calls {
		if s.wants(a) {
			l := s.sort(a)
			l.away = l.away && a.Rank != a.Owner && s.region.Process(a.End.Line) != a.Owner && !a.Gated && a.Seen == nil
		}
	}
}

// wants reports whether an access touches the part of memory and the slice that are
// searched.
func (s *searcher) wants(a *regions.Access) bool {
	lo, hi := a.Layout.Bounds(a.Base)
	return s.part.Touches(a.Owner, lo, hi) && s.slice.Touches(lo, hi)
}

// newLane adds an empty lane for accesses like one.
func (s *Lanes) newLane(a *regions.Access, old bool) *Lane {
	var l *Lane
	if n := len(s.spare); n > 0 {
		l, s.spare = s.spare[n-1], s.spare[:n-1]
		if l.lent {
			l.accesses = nil
		}
		clear(l.accesses)
	} else {
		l = &Lane{}
	}
	*l = Lane{accesses: l.accesses[:0], class: classOf(a), old: old, away: true, seg: noSegment}
	l.lo, l.hi = a.Layout.Bounds(a.Base)
	if runs := a.Layout.Runs(); len(runs) == 1 {
		l.block, l.step = runs[0].Size, max(runs[0].Stride, runs[0].Size)
	}
	s.lanes = append(s.lanes, l)
	return l
}

// addSeries adds the lanes of what calls access in the memory of one process that
// is kept as series.
func (s *searcher) addSeries(owner int32) {
	all, err := s.region.Series(owner, s.slice, &s.scratch)
	if err != nil {
		s.err = err
		return
	}
	for i := range all {
		a := all[i].Like()
		if !s.wants(a) {
			continue
		}
		l := s.newLane(a, a.Old)
		l.series = &all[i]
		l.away = a.Rank != owner && s.region.Process(all[i].EndLine()) != owner
	}
}

// addCarried adds the lanes of what is carried in the memory of one process.
func (s *searcher) addCarried(owner int32) {
	for _, all := range s.region.CarriedOf(owner) {
		a := all[0]
		if !s.wants(a) {
			continue
		}
		l := s.newLane(a, true)
		l.accesses, l.lent = all, true
		l.away = a.Rank != owner
	}
}

// noSegment is the number of no separate region.
const noSegment int32 = -1

// Concurrent returns the accesses of the lane from index from on that nothing
// orders with a, as a range of indices; it is empty when both are equal.
func (l *Lane) Concurrent(r *regions.Region, a *regions.Access, from int) (lo, hi int) {
	if l.series != nil {
		return l.series.Concurrent(a, from)
	}
	rest := l.accesses[from:]
	i := sort.Search(len(rest), func(j int) bool { return !r.Precedes(rest[j], a) })
	rest = rest[i:]
	n := sort.Search(len(rest), func(j int) bool { return r.Precedes(a, rest[j]) })
	return from + i, from + i + n
}

// issuedBeside returns those of the accesses from index lo to hi that were issued neither
// before nor after a, which is one of another line, as a range of indices.
func (l *Lane) issuedBeside(r *regions.Region, a *regions.Access, lo, hi int) (from, to int) {
	if a.Start.Seg < 0 {
		return hi, hi // all were issued after it
	}
	var room regions.Access
	from = lo + sort.Search(hi-lo, func(k int) bool {
		start := l.times(lo+k, &room).Start
		return start.Seg >= 0 && !r.Before(start, a.Start)
	})
	to = from + sort.Search(hi-from, func(k int) bool { return r.Before(a.Start, l.times(from+k, &room).Start) })
	return from, to
}

// notChained returns those of the accesses from index lo to hi that were issued before all of the
// further moments since when a takes effect before what is issued, and that do not themselves do so
// since before a, as a range of indices.
func (l *Lane) notChained(r *regions.Region, a *regions.Access, lo, hi int) (from, to int) {
	var room regions.Access
	for _, p := range a.Also {
		hi = lo + sort.Search(hi-lo, func(k int) bool { return r.Before(p, l.times(lo+k, &room).Start) })
	}
	if lo < hi && alsoChained(r, l.First(), a) { // which is alone
		return hi, hi
	}
	return lo, hi
}

// alsoChained reports whether an access takes effect before another since one of its further moments.
func alsoChained(r *regions.Region, a, b *regions.Access) bool {
	return slices.ContainsFunc(a.Also, func(p regions.Point) bool { return r.Before(p, b.Start) })
}

// whileThere returns those of the accesses from index lo to hi that are to a variable of that
// lifetime, as a range of indices.
func (l *Lane) whileThere(t regions.Lifetime, lo, hi int) (from, to int) {
	var room regions.Access
	from = lo + sort.Search(hi-lo, func(k int) bool { return !t.Before(l.times(lo+k, &room).End) })
	return from, from + sort.Search(hi-from, func(k int) bool { return t.After(l.times(from+k, &room).Start) })
}

// notSeen returns the first of the accesses from index lo to hi that is not an update which whoever
// starts at a moment, where a accesses memory, has seen there, as far as that is known.
func (l *Lane) notSeen(r *regions.Region, a *regions.Access, at regions.Point, lo, hi int) int {
	last := r.LastSeen(l.First(), a, at)
	if last == 0 {
		return lo
	}
	return lo + sort.Search(hi-lo, func(k int) bool { return l.access(lo+k).Event() > last })
}

// whichSaw returns the first of the accesses from index lo to hi before which access i of a lane was seen, if
// that is an update.
func (l *Lane) whichSaw(r *regions.Region, of *Lane, i, lo, hi int) int {
	if len(r.Effects) == 0 || of.First().Kind != regions.AtomicWrite {
		return hi
	}
	a := of.access(i)
	return lo + sort.Search(hi-lo, func(k int) bool { return r.SeenBefore(a, l.access(lo+k)) })
}

// concurrentWith returns the accesses of the lane that nothing orders with one
// that starts and completes at a moment of the owner.
func (l *Lane) concurrentWith(r *regions.Region, at regions.Point) (lo, hi int) {
	if l.away && l.line == at.Line && l.seg == at.Seg {
		return l.from, l.to
	}
	a := regions.Access{Start: at, End: at}
	l.from, l.to = l.Concurrent(r, &a, 0)
	l.line, l.seg = at.Line, at.Seg
	return l.from, l.to
}
