package conflicts

import (
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// Class tells between whom the accesses of a finding conflict.
type Class string

// Classes of findings (detection model, "Findings").
const (
	WithinEpoch     Class = "within-epoch"     // both by one process
	AcrossProcesses Class = "across-processes" // by two processes
	Usage           Class = "usage"            // no conflict, but a call that is wrong where it stands
)

// SyncPoint is a call that orders or completes, as an explanation names it.
type SyncPoint struct {
	Call string // "MPI_Win_fence"; "" where there is none
	// With is what the call asserts, where that changes whom it orders:
	// "MPI_MODE_NOPRECEDE", with which a fence makes no process wait.
	With   string
	Rank   int    // world rank of the process that called it
	Thread uint32 // its thread, 0 for the main one
	Event  uint64 // number of the call in the trace of that process, from 1; 0: unknown
	Stack  []symbols.Frame
}

// Language says what an operation of the language is called; "" of a call.
func (p *SyncPoint) Language() string { return trace.Language(p.Call) }

// Turn is a call with which processes wait for each other. Members are the world
// ranks that make it, where these are not all; nil otherwise.
type Turn struct {
	SyncPoint
	Members []int
}

// WeakOrder is an atomic operation of the language that wrote a value and one that read it, of which
// at least one is relaxed, so that they order nothing. Call "" of both: there are none.
type WeakOrder struct {
	Wrote, Read               SyncPoint
	RelaxedWrite, RelaxedRead bool
}

// Side is one of the two accesses of a finding.
type Side struct {
	Rank    int           // world rank of the process that made the access
	Thread  uint32        // its thread, 0 for the main one
	Event   uint64        // number of the event, call or run of loads or stores, in the trace of that process, from 1
	Call    string        // "MPI_Put"; "" for a load or store of the program
	Role    string        // "load", "store", "put", "get", "accumulate", "origin buffer", "result buffer", "compare buffer", "send buffer", "receive buffer", …
	Class   regions.Class // of Role; "" of a call that is no access
	Write   bool
	Atomic  bool            // an accumulate's or fetch's access to the target
	Op      string          // "MPI_SUM" of an atomic access; otherwise ""
	Type    string          // basic type of an atomic access, "MPI_INT"; otherwise ""
	Stack   []symbols.Frame // innermost first; empty when unknown
	Epoch   regions.Mode    // the kind of epoch it was made in: "fence", "lock (exclusive)", "lock_all", "start–complete", or "" when in none
	Locks   []Lock          // that protect it
	Started SyncPoint       // last synchronization of its process before it
	Next    SyncPoint       // first synchronization of its process after it
	Made    SyncPoint       // the call that made the window that it is made through; Call "" of others
	Done    SyncPoint       // the call that completes it, or of one that is not pending Next; Call "" when nothing did
	Left    SyncPoint       // last call of its process before it that left a value which others may see; Call "" if none is near it
	Heard   SyncPoint       // last call of the other access's process that happens before this access; Call "" if none, or both are one process
	Passed  SyncPoint       // call of another thread, or task, of its process that was made before it and happens after the other access is complete; Call "" if none
	Missed  SyncPoint       // last call behind it, before one that orders processes, that completes operations and not this one; Call "" if none
	Beside  SyncPoint       // call of another thread, or task, of its process that would have completed it, had anything put it before that; Call "" if none
	Weak    WeakOrder       // atomic operations of the language by which it would come after the other access, were they not relaxed
	Pending bool            // the access is not instantaneous: it spans from its call to Done
	Local   SyncPoint       // what completed a one-sided operation at its origin and not at its target, without its Event; Call "" if nothing
	Before  Turn            // last call before it that may make processes wait for each other
	After   Turn            // first such call after it started
	Polls   bool            // it is a load in the condition of a loop, as far as the source line tells, that waits for what the other access leaves
	// Lo and Hi bound the bytes accessed, as Lo and Hi of the Finding do;
	// Holes: with others between. Unit is the size of the basic datatype of a
	// one-sided operation, bytes; 0: it has several, or this is none.
	Lo, Hi uint64
	Holes  bool
	Unit   uint32
}

// Finding is a pair of accesses that conflict and that nothing orders; equal
// pairs are one finding with a count. One of the class Usage is a call that is
// wrong: First. Where a second call or access is involved, that is Second;
// otherwise Second is the zero Side. Lo and Hi are 0 where it is about no bytes.
type Finding struct {
	Rule     string // identifier in Rules, such as "MC101"
	Severity Severity
	Class    Class
	First    Side
	Second   Side
	Owner    int    // world rank whose memory it is
	Window   int64  // identifier of the window the bytes lie in; 0 when in none
	WinName  string // "window 1 (MPI_Win_create at a.c:12)"; "" when in none
	// WinNumber is the number in WinName: 1 for the first window of the run; 0 when in none.
	WinNumber int
	// Lo and Hi are the first conflicting byte range of the first pair,
	// half-open: offsets in the window's memory of Owner, or addresses of
	// Owner when Window is 0.
	Lo, Hi uint64
	// Variable is the variable that these bytes lie in; without a name where that is not known.
	Variable symbols.Variable
	// Block is the allocated memory that these bytes lie in; without a Stack where that is
	// not known.
	Block Block
	// DispUnit is the displacement unit that Owner gave, bytes; 0 in no window.
	// Of a dynamic window Attached is the call that attached the memory, and
	// Part the offset at which it begins.
	DispUnit uint64
	Attached SyncPoint
	Part     uint64
	Mode     regions.Mode // of the object that the bytes lie in
	Again    bool         // the same lines meet more than once between two processes: in a loop, say
	Region   int          // the concurrent region of the first pair, from 0
	Count    uint64       // pairs of accesses that are this finding (runs count once)
	Ranks    []int        // world ranks involved in any of the pairs, ascending
	// Began tells which access starts before the other whatever the timing: 1
	// the first, 2 the second, 0 neither.
	Began int
	// OneOrder: it is there in one only of the orders of updates that values leave open.
	OneOrder bool
	// Granted, of rule MC202, are the two calls that took locks which exclude each
	// other, in the order of the run; Call "" where these are not known.
	Granted [2]SyncPoint
	// Runs says in which of several runs there was what the finding is. Count and
	// Ranks are those of all of them then.
	Runs Runs
	Explanation
}

// Runs is a finding in several runs of a program that were judged together.
type Runs struct {
	Counts []uint64 // by run, as Finding.Count; 0 where there was none. nil: there is one run only
	Shown  int      // index of the run that the finding's accesses are those of
}

// Of is how many of the runs there was something in.
func (r *Runs) Of() int {
	n := 0
	for _, c := range r.Counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// Alone reports whether the finding has no second side.
func (f *Finding) Alone() bool { return f.Second.Role == "" }

// HasBytes reports whether the finding is about certain bytes: [Lo, Hi) of the
// memory of Owner.
func (f *Finding) HasBytes() bool { return f.Lo < f.Hi }

// LocksThatMatter are those of a side's locks that texts speak of: on the window of the
// finding, and of those on others all that may have been meant to keep processes away: none that
// excludes nobody, and not shared ones on all ranks, which programs hold for as long as a window
// lives.
func (f *Finding) LocksThatMatter(s *Side) []Lock {
	var out []Lock
	for _, l := range s.Locks {
		if l.Window == f.Window || !l.Void && (l.Exclusive || l.Target >= 0) {
			out = append(out, l)
		}
	}
	return out
}

// Block is memory that the program allocated at once.
type Block struct {
	Size  uint64 // bytes
	At    uint64 // where the bytes of the finding begin in it
	Name  string // of the variable or member that its address was assigned to; "" where the line does not tell
	Stack []symbols.Frame
}

// Short names a source file in the texts of the finding: in the same way in all of them,
// and apart from the other files that the finding is about.
func (f *Finding) Short(file string) string { return symbols.Short(file, f.files) }

// files yields the source files of the finding's stacks, some of them several times.
func (f *Finding) files(yield func(string) bool) {
	a, b := &f.First, &f.Second
	for _, stack := range [...][]symbols.Frame{
		a.Stack, b.Stack, f.Block.Stack, f.Attached.Stack, f.Granted[0].Stack, f.Granted[1].Stack,
		a.Started.Stack, a.Next.Stack, a.Done.Stack, a.Heard.Stack, a.Passed.Stack, a.Weak.Wrote.Stack, a.Weak.Read.Stack, a.Made.Stack, a.Local.Stack, a.Missed.Stack, a.Beside.Stack,
		b.Started.Stack, b.Next.Stack, b.Done.Stack, b.Heard.Stack, b.Passed.Stack, b.Weak.Wrote.Stack, b.Weak.Read.Stack, b.Made.Stack, b.Local.Stack, b.Missed.Stack, b.Beside.Stack,
	} {
		for i := range stack {
			if file := stack[i].File; file != "" && !yield(file) {
				return
			}
		}
	}
	if f.Variable.File != "" {
		yield(f.Variable.File)
	}
}
