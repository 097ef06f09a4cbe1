package core

import (
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Model is a programming model: it says what recorded calls mean, in terms of
// the primitives that Strand and Machine offer. Its methods are called from the
// goroutine of Machine.Next.
type Model interface {
	// Attach tells the model the Machine that it is to work for, once, before
	// anything is replayed.
	Attach(m *Machine)
	// Bind returns what calls of a function of the traces mean; nil when the
	// function is none of the model's. It is asked once for each function.
	Bind(fn *trace.Fn) *Meaning
	// Describe says more of a call to an Observer. Calls of functions that no
	// model knows are described by all.
	Describe(s *Strand, c *Call, o *ObservedCall)
	// Turn says that another strand of a process goes on: what the model is told of
	// that process, until the next Turn, is done by that strand.
	Turn(s *Strand)
	// Lost says that calls of a strand were not recorded.
	Lost(s *Strand)
	// HeldUntil reports whether a strand will hold a lock until what completes
	// the pending accesses of an operation (Pending.Of) is called. It is asked of
	// operations of any model.
	HeldUntil(s *Strand, of any, l regions.Lock) bool

	// BeginRegion: a concurrent region begins.
	BeginRegion()
	// EndPhase: a region, or a phase of one, was replayed. The model adds what
	// exposed memory in it, and what it keeps for checks of its own.
	EndPhase(r *regions.Region)
	// EndRegion: the concurrent region was replayed; last: and so was the run.
	EndRegion(last bool)
	// WholeRegions reports whether regions must not be cut into phases now.
	WholeRegions() bool
	// Counts returns what the model has counted so far.
	Counts() Counts
}

// Counts is what models count.
type Counts struct {
	Model      string // its name; of all, those of which calls were met, by " and "
	Operations uint64 // one-sided operations
	Objects    int    // objects that exposed memory
}

// Meaning is what calls of one function mean.
type Meaning struct {
	Kind CallKind
	// Replay replays a call; nil: it orders, completes and touches nothing.
	Replay func(*Strand, *Call)
	// Failed takes a call that returned an error; nil: it counts as not made.
	Failed func(*Strand, *Call)
	// Foresee says what a call that is still to come will do to words, of which
	// nothing changes; nil: nothing.
	Foresee func(*Strand, *Call, *Foresight)
	// Polls returns how many operations there are in a round of calls, of which the first is one of
	// this function, if they leave nothing behind but what they have fetched: the round completes
	// them, and they update nothing; 0 where that is not so. nil: it never is.
	Polls func(*Strand, []*trace.Call) uint64
	// Passed takes note of a call of the function in a round that is passed over; nil: there is nothing to.
	Passed func(*Strand, *trace.Call)
	// Sequence names the sequence that a call belongs to: a process makes its calls one after
	// another, whichever of its threads does. Nothing but its arguments is known. nil: each
	// of none.
	Sequence func(*Call) any
	// Landmark: explanations name the call, though it may begin no separate
	// region.
	Landmark bool
	// Completes: it completes operations, or is taken for a call that does, and begins no
	// separate region by itself: explanations name the last one behind an operation that it
	// does not complete.
	Completes bool
	MayOrder  bool // it may order processes, but need not
	CanOrder  bool // with Options.FullOrder it does
	Aborts    bool // it ends the run: that it never returns is no mistake
	// Known is what users know the call as, where that is not its name: the
	// tracer's own notes are made within a call of the program, whose place they
	// have.
	Known string
}
