// Package regions turns the event streams of the processes of a run into
// concurrent regions, one at a time.
//
// A Machine replays the streams side by side. Each call is looked up in one
// table (table.go), which says what it signals, waits for, completes and
// touches; a process that waits for a signal that was not given yet stands
// still until it is. When all processes stand at the same synchronization over
// all of them, the concurrent region is complete: a Region holds the accesses
// of that stretch, each with its start and its completion, and the timestamps
// of the separate regions these lie in. Operations that are still pending are
// carried into the next region.
//
// The package knows what calls mean (detection model, sections 2 and 3), and
// nothing of which accesses conflict. It holds one region, never a whole trace.
package regions

import (
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/intervals"
)

// Kind tells how an access touches memory (detection model, section 4).
type Kind uint8

// Kinds of accesses: the rows of the compatibility table.
const (
	Read Kind = iota
	Write
	AtomicRead
	AtomicWrite
)

// Role tells what an access is within the call or instruction that makes it.
type Role uint8

// Roles of accesses.
const (
	Load Role = iota
	Store
	PutTarget
	GetTarget
	AccumulateTarget
	FetchTarget // Get_accumulate, Fetch_and_op
	SwapTarget  // Compare_and_swap
	OriginBuffer
	ResultBuffer
	CompareBuffer
	SendBuffer
	ReceiveBuffer
	Freed      // memory that is freed
	OutOfScope // a local variable of a function that returns
	Detached   // memory that is taken out of a dynamic window
)

var roleNames = [...]string{
	"load", "store", "put", "get", "accumulate", "fetch", "compare-and-swap",
	"origin buffer", "result buffer", "compare buffer", "send buffer", "receive buffer", "free", "return", "detach",
}

func (r Role) String() string { return roleNames[r] }

// OneSided reports whether the access belongs to a one-sided operation.
func (r Role) OneSided() bool { return r >= PutTarget && r <= CompareBuffer }

// Gone reports whether the access stands for memory that its process gives up.
func (r Role) Gone() bool { return r >= Freed }

// Local reports whether the access is a load or store of the program.
func (r Role) Local() bool { return r <= Store }

// Epoch is the kind of access epoch that a one-sided operation was issued in.
type Epoch uint8

// Kinds of epochs.
const (
	NoEpoch Epoch = iota
	FenceEpoch
	StartEpoch
	SharedLockEpoch
	ExclusiveLockEpoch
	LockAllEpoch
)

var epochNames = [...]string{"", "fence", "start–complete", "lock (shared)", "lock (exclusive)", "lock_all"}

func (e Epoch) String() string { return epochNames[e] }

// CallInfo is what findings tell of a call.
type CallInfo struct {
	Fn     string
	Rank   int32 // world rank of the caller
	Strand uint32
	Stack  uint32 // stack identifier in the caller's trace
	Pos    uint64 // number of the event in the caller's trace, from 1
	Win    int64  // window of a one-sided call; otherwise 0
	Epoch  Epoch
	// Loose: a fence with MPI_MODE_NOPRECEDE, which makes no process wait.
	Loose bool
	// Members are the world ranks that a collective call has, where they are
	// not all processes of the run; otherwise nil.
	Members *[]int32
	// Local is what completed a one-sided operation at its origin, where that
	// did not complete it at the target too; otherwise nil. It is known once
	// the replay is over, and its Pos may be that of a later such call.
	Local *CallInfo
}

// Point is a moment of a concurrent region: the event with number Pos of the
// process, within its separate region Seg.
type Point struct {
	Rank int32
	Seg  int32 // the number of its separate region in the concurrent region, from 0; before, never or later
	Pos  uint64
}

const (
	before int32 = -1 // the access started in an earlier concurrent region
	never  int32 = -2 // the access does not complete in this region
	later  int32 = -3 // the access does not start in this region
)

// region is the number of a moment's separate region as clocks count them.
func (p Point) region() uint32 { return uint32(p.Seg) + 1 }

// NotAfter reports whether p is q or, on the same process, comes before it;
// the moments before and after the region included.
func (p Point) NotAfter(q Point) bool {
	switch {
	case p.Seg == before || q.Seg == never:
		return true
	case p.Seg == never || q.Seg == before:
		return false
	}
	return p.Rank == q.Rank && p.Pos <= q.Pos
}

// Element describes the elements of an atomic access.
type Element struct {
	Type string            // basic type, such as "MPI_INT"
	Size uint64            // bytes, from the first to the last
	Grid *intervals.Layout // the elements as blocks, where they have holes within; otherwise nil
	Op   string            // "MPI_SUM"; "MPI_NO_OP"; "compare-and-swap"

	// What the window promises (MPI 4.1, 12.2.1).
	Ordering int64 // bits of trace.OrderRAR and so on: accumulate_ordering
	SameOp   bool  // accumulate_ops is same_op: not even MPI_NO_OP may meet another operation
}

// Access is one access of the detection model: who, how, which bytes, from
// when until when. The bytes are Layout at Base in the memory of Owner.
type Access struct {
	Owner  int32 // world rank whose memory it is
	Rank   int32 // world rank of the process that makes the access
	Kind   Kind
	Role   Role
	Base   uint64
	Layout *intervals.Layout
	Start  Point
	End    Point // on Rank, or on the target for what its MPI_Win_wait completes
	// Gate, when Gated, is a second moment that the access starts after: the
	// target's own call of a fence that did not synchronise (MPI 4.1, 12.5.1).
	Gate  Point
	Gated bool
	Locks *LockSet
	Elem  *Element // of atomic accesses; otherwise nil
	Call  *CallInfo
	Span  *Completion // of an access that spans from a call until another; nil: instantaneous
	// Within are the bounds of the separate region that it starts in.
	Within *Bounds
	// Old: the access was in the phase before as well.
	Old bool
	// Atomic is the size of each element, bytes, of a load or store by C11 or
	// C++11 atomics; otherwise 0.
	Atomic uint32
	// Unit is the size of the basic datatype that a one-sided operation
	// accesses its target with, bytes; 0 elsewhere, and where it has several.
	Unit uint32
}

// Segment is one separate region: the events of one process from a
// synchronization event to the next.
type Segment struct {
	Stamp evc.Stamp
	Calls *Bounds
	loads int    // loads and stores in it, those of other parts included
	ended int    // accesses of calls that end in it and are left out
	marks []mark // calls in it that lock or complete
}

// Bounds are the synchronization calls that a separate region lies between. As
// long as the replay goes on, End belongs to it.
type Bounds struct {
	Begin *CallInfo // nil at the start of the run
	End   *CallInfo // nil when the trace ended
}

// Completion is the end of an access that spans, to be read when the replay is
// over.
type Completion struct {
	By *CallInfo // nil when no call completed it
}

// Region is one phase of a concurrent region: all of it, unless it is so long
// that it comes in several (see Machine.Next).
type Region struct {
	Index     int // of the concurrent region
	Weight    int // what it takes in memory, in loads or stores that take as much
	Clock     evc.Clock
	Segments  [][]Segment // by world rank; those before the first are past
	first     []int32     // by world rank: the number of the first of Segments
	locals    []*room     // by world rank, in program order
	Calls     []*Access   // what calls access, but for those of Series
	moments   []moments   // of what calls access, by world rank of the owner
	settled   int         // accesses in moments
	shapes    []*shape    // that moments are of
	enders    []CallInfo  // that moments end with
	Copies    []Copies    // windows of the separate memory model, a part for each process
	windows   *windows
	lockSets  []*LockSet // of loads and stores; the first is the empty set
	lockSpans []lockSpan // the lock epochs in it, where their order was left out
	store     *store     // that locals belong to
	spill     *spillFile // where those lie that do not fit into memory
}

// Release gives the memory of the region's accesses back to the Machine. The
// region and its accesses must not be used afterwards.
func (r *Region) Release() {
	if len(r.Copies) == 0 { // otherwise some are kept for the regions to come
		r.store.putCalls(r.Calls)
	}
	r.store.put(r.locals)
	r.store.putMoments(r.moments)
	r.moments = nil
	r.locals = nil
	r.spill.close()
}

// Before reports whether a moment a, at which an access completes, is or
// happens before a moment b, at which another starts.
func (r *Region) Before(a, b Point) bool {
	if a.Seg < 0 || b.Seg < 0 {
		return a.Seg >= 0 && b.Seg == later
	}
	if a.Rank == b.Rank {
		return a.Pos <= b.Pos
	}
	s := r.Segment(b)
	return s != nil && r.Clock.Knows(s.Stamp, int(a.Rank), a.region())
}

// Segment returns the separate region of a moment; nil when it lies in an
// earlier phase or region, or in none.
func (r *Region) Segment(p Point) *Segment {
	if i := p.Seg - r.first[p.Rank]; p.Seg >= 0 && i >= 0 {
		return &r.Segments[p.Rank][i]
	}
	return nil
}

// Precedes reports whether access a is ordered before access b.
func (r *Region) Precedes(a, b *Access) bool {
	return r.Before(a.End, b.Start) || b.Gated && r.Before(a.End, b.Gate)
}

// Window is what reports tell of a window.
type Window struct {
	ID      int64
	Number  int       // 1 for the first window created in the run
	Created *CallInfo // by the lowest rank
	Unified bool
	SameOp  bool // accumulate_ops is same_op: not even MPI_NO_OP may meet another operation
}

// WindowAt returns the window that holds address addr of a process, and the
// address of the window's first byte there; or nil. A window named by prefer
// comes first where windows overlap.
func (r *Region) WindowAt(owner int32, addr uint64, prefer int64) (*Window, uint64) {
	return r.windows.at(owner, addr, prefer)
}
