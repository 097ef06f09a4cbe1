// Package regions is what a concurrent region is, and the storage of its
// accesses, in memory and on disk.
//
// Storage takes the accesses of the region under way one by one, and hands them
// over as a Region: all of the concurrent region, or a phase of a long one. A
// Region says of two moments whether the one happens before the other, and
// gives the accesses: loads and stores as stretches (locals.go), what calls
// access one by one, or as series of those that differ only in time (series.go).
// A region that is released gives its memory back to the Storage.
//
// The package knows nothing of who made the accesses: models define what roles,
// modes and objects there are. It holds one region, never a whole trace.
package regions

import (
	"slices"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/intervals"
)

// Kind tells how an access touches memory (detection model, "Conflicts").
type Kind uint8

// Kinds of accesses: the rows of the compatibility table.
const (
	Read Kind = iota
	Write
	AtomicRead
	AtomicWrite
)

// Role says what an access is within the call or instruction that makes it.
// Each model has its own, one value each: roles are told apart by identity.
type Role struct {
	Name  string // as reports have it: "put"
	Class Class
	// Order tells which comes first of several accesses that one call makes.
	Order int
	// Chained: the access takes effect before whatever its process issues later in
	// the same mode, but for what is Unchained.
	Chained, Unchained bool
}

// Class groups roles by what they mean to any model.
type Class string

// Classes of roles.
const (
	Local      Class = "local"       // a load or store of the program
	Target     Class = "target"      // of a one-sided operation, in the memory that it names
	OwnBuffer  Class = "own buffer"  // of a one-sided operation, in a buffer of the process that makes it
	CallBuffer Class = "call buffer" // of any other call
	GivenUp    Class = "given up"    // stands for memory that its process frees, or leaves
	Withdrawn  Class = "withdrawn"   // stands for memory that its process exposes no longer
	Vouched    Class = "vouched"     // stands for memory that its process says it did not change
)

// Roles of loads and stores.
var (
	Load  = &Role{Name: "load", Class: Local, Order: 0}
	Store = &Role{Name: "store", Class: Local, Order: 1}
)

// OneSided reports whether accesses of the class belong to a one-sided operation.
func (c Class) OneSided() bool { return c == Target || c == OwnBuffer }

// Buffer reports whether they are to a buffer that a call was given.
func (c Class) Buffer() bool { return c == OwnBuffer || c == CallBuffer }

// Gone reports whether they stand for memory that its process gives up.
func (c Class) Gone() bool { return c == GivenUp || c == Withdrawn }

// Changes reports whether an access of the class may break what its own process said
// of memory by Vouched.
func (c Class) Changes() bool { return c == Local || c.Buffer() }

// Mode says how a call was made, in the terms of its model: for a one-sided
// operation of MPI the kind of access epoch that it was issued in. Models
// define what there is; "" is nothing in particular.
type Mode string

// CallSite is what calls have in common that one place in a program makes again
// and again.
type CallSite struct {
	Fn     string
	Rank   int32 // world rank of the caller
	Thread uint32
	Stack  uint32 // stack identifier in the caller's trace
	Made   uint32 // that of the caller's call that made Object; 0: not known
	// Loose: by what it asserts, it makes no process wait, as others like it do.
	Loose  bool
	Object int64 // what exposes the memory that the calls access (Object.ID); otherwise 0
	Mode   Mode
}

// same reports whether two call sites, either of which may be nil, are equal.
func (s *CallSite) same(t *CallSite) bool { return s == t || s != nil && t != nil && *s == *t }

// CallInfo is what findings tell of a call.
type CallInfo struct {
	*CallSite
	Pos uint64 // number of the event in the caller's trace, from 1
	// Members are the world ranks that a collective call has, where they are
	// not all processes of the run; otherwise nil.
	Members *[]int32
	// Local is what completed a one-sided operation at its origin, where that
	// did not complete it at the target too; otherwise nil. It is known once
	// the replay is over, and its Pos may be that of a later such call.
	Local *CallInfo
}

// NewCallInfo returns what findings tell of a call that has a site of its own.
func NewCallInfo(site CallSite, pos uint64) *CallInfo {
	both := struct {
		CallInfo
		site CallSite
	}{site: site}
	both.CallInfo = CallInfo{CallSite: &both.site, Pos: pos}
	return &both.CallInfo
}

// Point is a moment of a concurrent region: the event with number Pos of a
// process, within the separate region Seg of a line.
//
// Lines are what clocks count: the strands of processes, of which those that come
// one after the other may share one. The first strand of a process has the line
// with the number of its world rank; see Region.Process.
type Point struct {
	Line int32
	Seg  int32 // the number of its separate region in the concurrent region, from 0; or Earlier, Never, Later
	Pos  uint64
}

// Separate regions of moments that lie in none of the region.
const (
	Earlier int32 = -1 // the access started in an earlier concurrent region
	Never   int32 = -2 // the access does not complete in this region
	Later   int32 = -3 // the access does not start in this region
)

// Number is the number of a moment's separate region as clocks count them.
func (p Point) Number() uint32 { return uint32(p.Seg) + 1 }

// NotAfter reports whether p is q or, on the same line, comes before it;
// the moments before and after the region included.
func (p Point) NotAfter(q Point) bool {
	switch {
	case p.Seg == Earlier || q.Seg == Never:
		return true
	case p.Seg == Never || q.Seg == Earlier:
		return false
	}
	return p.Line == q.Line && p.Pos <= q.Pos
}

// Element describes the elements of an atomic access.
type Element struct {
	Type string            // basic type, by the name that its model has for it
	Size uint64            // bytes, from the first to the last
	Grid *intervals.Layout // the elements as blocks, where they have holes within; otherwise nil
	Op   string            // operation, by the name that its model has for it

	// Promises is what the exposing object promises of atomic accesses that
	// meet, as its model reads it.
	Promises int64
}

// Access is one access of the detection model: who, how, which bytes, from
// when until when. The bytes are Layout at Base in the memory of Owner.
type Access struct {
	Owner  int32 // world rank whose memory it is
	Rank   int32 // world rank of the process that makes the access
	Kind   Kind
	Role   *Role
	Base   uint64
	Layout *intervals.Layout
	Start  Point
	End    Point // of any strand of Rank, or of Owner where a call of the owner completes it
	// Gate, when Gated, is a second moment that the access starts after: one
	// of the owner of the memory (core.Guard).
	Gate  Point
	Gated bool
	// Seen are further moments, any of which the access is complete before.
	Seen []Point
	// Also are further moments of which what comes after one was issued after the access began,
	// for what an access that is Chained takes effect before.
	Also  []Point
	Locks *LockSet
	Elem  *Element // of atomic accesses; otherwise nil
	Call  *CallInfo
	Span  *Completion // of an access that spans from a call until another; nil: instantaneous
	// Bounds are the bounds of the separate region that it starts in.
	Bounds *Bounds
	// Old: the access was in the phase before as well.
	Old bool
	// Atomic is the size of each element, bytes, of a load or store by C11 or
	// C++11 atomics; otherwise 0.
	Atomic uint32
	// Unit is the size of the basic datatype that a one-sided operation
	// accesses its target with, bytes; 0 elsewhere, and where it has several.
	Unit uint32
	// Words: each element is a word of which Serial and Effects of the Region may tell.
	Words bool
}

// Segment is one separate region: the events of one strand from a
// synchronization event to the next.
type Segment struct {
	Stamp     evc.Stamp
	Bounds    *Bounds
	Landmarks []Landmark // in it, in program order
	Loads     int        // loads and stores in it, those of other parts of memory included
	Ended     int        // accesses of calls that end in it and are left out
}

// Bounds are the synchronization calls that a separate region lies between. As
// long as the replay goes on, End belongs to it.
type Bounds struct {
	Begin *CallInfo // nil at the start of the run
	End   *CallInfo // nil when the trace ended
	Last  *CallInfo // the last Landmark between them that explanations name; nil: there is none, or End is not known
}

// Completion is the end of an access that spans, to be read when the replay is
// over.
type Completion struct {
	By *CallInfo // nil when no call completed it
	// Freed completed its operation at the origin only, where the access's call does not
	// say so.
	Freed *CallInfo
	// Beside is a call of another strand of its process that would have completed it, had
	// anything put it before that; nil: there is none.
	Beside *CallInfo
}

// Word is bytes that atomic operations update as a whole.
type Word struct {
	Owner int32  // world rank of the process whose memory it is in
	Addr  uint64 // of the first byte
	Bytes uint64
}

// Region is one phase of a concurrent region: all of it, unless it is so long
// that it comes in several. Where it is made, storage of a region that was
// released may serve it.
type Region struct {
	Index    int // of the concurrent region
	Weight   int // what it takes in memory, in loads or stores that take as much
	Clock    evc.Clock
	Segments [][]Segment // by line; those before the first are past
	First    []int32     // by line: the number of the first of Segments
	Calls    []*Access   // what calls access, but for those of Series and Carried
	// Carried are accesses of calls that started before the concurrent region and
	// are not complete when it ends, those of one element alike but for the time of
	// their calls. They are in the order of their owners.
	Carried [][]*Access
	// Exposures say what exposed memory in the region, for each model.
	Exposures []Exposure
	// ForChecks is what models keep of the region for checks of their own. Where
	// there is any, accesses of calls stay valid when the region is released.
	ForChecks []any
	LockSpans []LockSpan // the locks held in it, where their order was left out
	// Serial are words that processes update by different operations; true: whoever issued
	// the later of two of them knew that the earlier one had taken effect.
	Serial map[Word]bool
	// Effects says of words which updates strands have seen, whatever completes these.
	Effects map[Word]*Effects
	Weak    []*Weak // what order relaxed operations have not made, of the first of them
	contents
}

// Release gives the memory of the region, its accesses and its timestamps back to
// the Storage. None of them must be used afterwards.
func (r *Region) Release() {
	r.spill.close()
	r.pool.release(r)
}

// Before reports whether a moment a, at which an access completes, is or
// happens before a moment b, at which another starts.
func (r *Region) Before(a, b Point) bool {
	if a.Seg < 0 || b.Seg < 0 {
		return a.Seg >= 0 && b.Seg == Later
	}
	if a.Line == b.Line {
		return a.Pos <= b.Pos
	}
	s := r.Segment(b)
	return s != nil && r.Clock.Knows(s.Stamp, int(a.Line), a.Number())
}

// Segment returns the separate region of a moment; nil when it lies in an
// earlier phase or region, or in none.
func (r *Region) Segment(p Point) *Segment {
	if i := p.Seg - r.First[p.Line]; p.Seg >= 0 && i >= 0 {
		return &r.Segments[p.Line][i]
	}
	return nil
}

// Precedes reports whether access a is ordered before access b. Of two that are
// Old it need not know: the phase before did.
func (r *Region) Precedes(a, b *Access) bool {
	return r.over(a, b.Start) || b.Gated && r.Before(a.End, b.Gate)
}

// over reports whether an access is complete when another starts: it was completed, or
// somebody has seen that it is.
func (r *Region) over(a *Access, start Point) bool {
	return r.Before(a.End, start) || slices.ContainsFunc(a.Seen, func(p Point) bool { return r.Before(p, start) })
}

// InTurn reports whether of two accesses, which update words by different operations, in each word that
// they share the one had taken effect when the other was issued.
func (r *Region) InTurn(a, b *Access) bool {
	if a.Kind != AtomicWrite || b.Kind != AtomicWrite || a.Rank == b.Rank {
		return false
	}
	if !a.Start.Within() || !b.Start.Within() {
		return false
	}
	x, n := a.words()
	y, k := b.words()
	if n == 0 || k == 0 || x.Bytes != y.Bytes || (x.Addr-y.Addr)%x.Bytes != 0 {
		return false
	}
	w := Word{x.Owner, max(x.Addr, y.Addr), x.Bytes}
	for end := min(x.Addr+n*x.Bytes, y.Addr+k*y.Bytes); w.Addr < end; w.Addr += w.Bytes {
		if !r.Serial[w] {
			return false
		}
	}
	return true
}

// words returns the first of the words that an access may be an update of, and how many they are: one
// behind the other where it says of each what it does to it, else all of its bytes; 0: they have holes.
func (a *Access) words() (first Word, n uint64) {
	lo, hi := a.Layout.Bounds(a.Base)
	switch all := hi - lo; {
	case all == 0 || all != a.Layout.Bytes():
		return first, 0
	case a.Words:
		return Word{a.Owner, lo, uint64(a.Unit)}, all / uint64(a.Unit)
	default:
		return Word{a.Owner, lo, all}, 1
	}
}

// BeforeRegion is a moment of a process before the region.
func BeforeRegion(rank int32) Point { return Point{Line: rank, Seg: Earlier} }

// AfterRegion is a moment of a process after the region.
func AfterRegion(rank int32) Point { return Point{Line: rank, Seg: Never} }

// Within reports whether a moment lies in the region.
func (p Point) Within() bool { return p.Seg >= 0 }
