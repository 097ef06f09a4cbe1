package explain

import (
	"strconv"

	"github.com/mcchk/mcchk/conflicts"
)

// Model is what a programming model says in explanations: its words, and what it
// proposes.
type Model interface {
	Vocabulary
	Proposals
}

// Vocabulary is how a model names things, and what it knows of its calls.
type Vocabulary interface {
	Terms() Terms
	// Call says what is to be known of a call.
	Call(fn string) Call
	// Completing says how to complete an access earlier than it is.
	Completing(w *Wording, s *conflicts.Side) Completing
	// Idle says why a call that follows an access s, and that the process of another made
	// before that one, does not complete s: "completes no operation".
	Idle(fn string, s, other *conflicts.Side) string
	// Copy reports whether a side of class GivenUp is a copy of an argument, which the
	// compiler made for a call.
	Copy(s *conflicts.Side) bool
	// OutOfScope reports whether a side of class GivenUp is a variable of a function
	// that returned, rather than memory that was freed.
	OutOfScope(s *conflicts.Side) bool
	// Message says in one line what a finding is, of a rule that only the model
	// has; "" of others.
	Message(w *Wording) string
}

// Terms are the words of a model for what others have too.
type Terms struct {
	Rank      string // what a process is called with its number: "rank"
	Process   string // and without: "process"
	Processes string // of several: "processes"
	Object    string // what exposes memory: "window"
	Counted   string // the same, where several are counted: "window"
	Wait      string // how one process waits for another: "a barrier that both call, or a message"
	Between   string // the same, as what stands between two accesses: "a barrier that both call or a message"
	Order     string // what orders processes: "message, barrier or fence"
	Complete  string // how operations are completed: "close the epoch, flush it, or wait for the request"
	Meet      string // the call with which all processes wait for each other: "MPI_Barrier"
	GivesUp   string // which call is right before exposed memory is given up: "MPI_Win_free does both for window memory"
	OwnAtomic string // which operation is to memory of its own what loads and stores are not: "an atomic operation on itself (toy_atomic)"
	LockOfAll string // what a lock of all processes is of: "all ranks (MPI_Win_lock_all)"
	VoidLock  string // how a lock is taken that excludes nobody: "with MPI_MODE_NOCHECK"; "": all exclude
	Update    string // how what is read and then written becomes one update: "with gaspi_atomic_fetch_add"
	OwnLocks  bool   // locks are not of memory, but objects by themselves
}

// Number names a process by its number: "rank 1".
func (t Terms) Number(rank int) string { return t.Rank + " " + strconv.Itoa(rank) }

// Call is what explanations need to know of a call.
type Call struct {
	Waits  bool   // programs order processes with it
	Fence  bool   // it completes operations, and makes all processes that have some wait for each other
	Only   bool   // it is called for nothing else than to complete, and has done so
	Ends   bool   // it ends what its operations were made for, and they are few: there is no need to complete them earlier
	Seems  bool   // it completes nothing, and is taken for a call that does
	Known  bool   // it completes operations at their origin only, and what it leaves is said anyway
	Tries  bool   // it may return without having completed anything, and is called again then
	Tells  bool   // it is an operation: who finds what that has left may come after it
	Sends  bool   // it sends a message
	Takes  bool   // it is an operation that fetches what it changes
	Partly string // whom it makes wait, where that is not all for all: "only its root wait"; otherwise ""
}

// Completing is how an access can be completed earlier than it is.
type Completing struct {
	How  string // "call MPI_Win_flush for rank 1"; "": the model has no call for that
	Each string // How wherever the operation is made, "call MPI_Win_flush for its target"; "": the same
	Or   string // what else would do, at the end of the epoch: " (or MPI_Win_unlock)"; otherwise ""
	All  bool   // all processes have to make the call
	// Call is the function to call behind the access. "": which one it is depends on the
	// program.
	Call string
	// Once: Call ends what it completes (a request, an epoch), so where the program makes
	// it later, that call has to come earlier.
	Once bool
}

// Proposals are fixes that only one model has. They come in addition to those of
// all models, or in their place.
type Proposals interface {
	// Late says what to do with b, which comes before a is complete though after
	// its start; nil: what one does in all models.
	Late(w *Wording, a, b *conflicts.Side) []conflicts.Fix
	// Order says how to order two accesses of two processes of which either may
	// come first; nil: as in all models.
	Order(w *Wording, a, b *conflicts.Side) []conflicts.Fix
	// Atomic says with which atomic operations two one-sided operations may meet.
	Atomic(w *Wording, a, b *conflicts.Side) (conflicts.Fix, bool)
	// Lock says which locks would keep accesses of two processes apart.
	Lock(w *Wording, a, b *conflicts.Side) (conflicts.Fix, bool)
	// Instead returns the call that would have completed an access at both ends where
	// the program completes it at its origin only (Side.Local); "": there is none.
	Instead(local string) string
}
