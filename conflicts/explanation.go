package conflicts

import "strings"

// Explanation says why nothing orders the two accesses of a finding, or why a
// call is wrong, and what would fix it. All formats of a report render it; none
// adds to it.
type Explanation struct {
	Why    string   // one sentence
	Sought []Sought // what would have ordered the accesses, and what there was; none for a usage error
	Fixes  []Fix    // each on its own would do; what the program seems to mean comes first
}

// SoughtKind is a kind of order between two accesses.
type SoughtKind string

// Kinds of order (detection model, "Order").
const (
	SoughtCompletion SoughtKind = "completion" // a call that completes one access before the other
	SoughtPath       SoughtKind = "path"       // messages, barriers, fences and the like from one process to the other
	SoughtLock       SoughtKind = "lock"       // locks that exclude each other
	SoughtVisibility SoughtKind = "visibility" // a call that brings the copies of a window together
)

// Sought is something that was looked for because it would have ordered the
// accesses, and what was found in its place.
type Sought struct {
	Kind SoughtKind
	Text string // one sentence
	// From is what had to come first: of a completion and of a path the call
	// that completes the one access, or the synchronization after it. Call "" if
	// there is none.
	From SyncPoint
	// Found is what there was: of a completion the synchronization between the
	// accesses that completes neither; of a path the last call of the one
	// process that happens before the access of the other. Call "" if nothing.
	Found SyncPoint
}

// FixKind is a kind of change to a program.
type FixKind string

// Kinds of changes.
const (
	FixComplete    FixKind = "complete"    // complete an operation earlier
	FixMove        FixKind = "move"        // move an access after an existing call, or before it
	FixSynchronize FixKind = "synchronize" // make processes wait for each other
	FixLock        FixKind = "lock"        // take locks that exclude
	FixSeparate    FixKind = "separate"    // use other memory
	FixOperation   FixKind = "operation"   // use other operations or types
	FixOther       FixKind = "other"
)

// Fix is a change after which the finding is gone.
type Fix struct {
	Kind  FixKind
	Text  string    // what to do, an imperative with the places
	At    SyncPoint // the place of the program that the change is at or before; Call "" if several
	Steps []Step    // the change, so that it can be carried out; none where it needs to be thought out
	// Chance: it relies on an order that another run may not have, and comes behind all others.
	Chance bool
	// Fallback: it is said only where trials leave nothing else.
	Fallback bool
	// Leads: it stands before others, whatever comes of trying these.
	Leads bool
	// Less is a smaller change, which is enough if a trial says so; nil: there is none.
	Less *Fix
	// More is another change, such as one at more places, which is better if a trial says that it
	// removes more; nil: there is none.
	More *Fix
	// Latest are the steps carried out at the end of the places that Text allows, as Steps are
	// at their beginning; nil: Text allows one place, or Steps have a StepMeet, which trials try at
	// both ends. Directly is Text for the beginning alone, and Finally for the end.
	Latest   []Step
	Directly string
	Finally  string
	// Following is Text where the second statement is that of the next iteration; "": Text says so.
	Following string
	Trial     Trial
}

// StepKind is what a Step does.
type StepKind string

// Kinds of steps.
const (
	StepInsert StepKind = "insert" // call Calls behind the statement At, each time that it is executed
	StepMeet   StepKind = "meet"   // let all processes call Calls behind the statement At and before the statement To
	// StepMeetEach is StepMeet wherever To is executed, though At may not come before it.
	StepMeetEach StepKind = "meet-each"
	StepMove     StepKind = "move"    // move the statement At behind the statement To
	StepAdvance  StepKind = "advance" // move the statement At before the statement To
	StepReplace  StepKind = "replace" // call Calls in place of the call At
	StepOrder    StepKind = "order"   // give the atomic operation of the language At the memory order that Calls names
	StepPlain    StepKind = "plain"   // make the call At without what it asserts
	StepDelay    StepKind = "delay"   // call Calls before the statement To, once for each call At since that was executed last
)

// Memory orders of a StepOrder, as C and C++ name them.
const (
	Acquire = "memory_order_acquire"
	Release = "memory_order_release"
)

// Step is one of the changes to the source text that make a Fix. A statement is a
// source line, whoever executes it.
type Step struct {
	Do     StepKind
	Calls  []string // functions, in their order; of a StepOrder Acquire or Release
	At, To SyncPoint
	Window int64 // identifier of the window that Calls are for; 0: the one of the call At
	// Private: what At accesses lies in no window, so it is recorded only where a call
	// uses those bytes.
	Private bool
	// Completes: the calls of a StepMeet complete the operation At, which goes on until they come.
	Completes bool
	// Near is where of a StepMeet not every place between At and To is as good.
	Near StepEnd
}

// StepEnd is an end of the place between two statements.
type StepEnd string

// Ends of a place.
const (
	NearAt StepEnd = "at" // directly behind the statement At
	NearTo StepEnd = "to" // directly before the statement To
)

// NotLines is why a fix of a kind that no replay can carry out is not tried.
const NotLines = "it is not a change of single lines"

// Trial is what came of trying a fix on the recorded run: the replay was repeated
// with its steps carried out. A fix after which the finding was still there, or a new
// one, or after which something that is sent or read would have been another value
// without the text saying so, is none: it is not in the list.
type Trial struct {
	Tried   bool
	Removes []int  // of a fix that was tried: the findings that it removes, this one included, by their index in the result
	Untried string // why it was not tried, such as NotLines; "" where nobody has asked for it
}

// Lock is a lock that protects an access.
type Lock struct {
	Exclusive bool
	Void      bool   // it excludes nobody (MPI_MODE_NOCHECK)
	Target    int    // world rank of the process whose memory is locked; -1: of all (MPI_Win_lock_all)
	Window    int64  // identifier of the window
	WinName   string // as Finding.WinName; "" where that is not known
}

// Fix returns all that would fix the finding in one sentence.
func (e *Explanation) Fix() string {
	texts := make([]string, len(e.Fixes))
	for i, m := range e.Fixes {
		texts[i] = m.Text
	}
	return strings.Join(texts, "; or ")
}
