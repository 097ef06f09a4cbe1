package conflicts

import "strings"

// Explanation says why nothing orders the two accesses of a finding, or why a
// call is wrong, and what would mend it. All formats of a report render it; none
// adds to it.
type Explanation struct {
	Why    string   // one sentence
	Sought []Sought // what would have ordered the accesses, and what there was; none for a usage error
	Mends  []Mend   // each on its own would do; what the program seems to mean comes first
}

// SoughtKind is a kind of order between two accesses.
type SoughtKind string

// Kinds of order (detection model, section 3).
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
	// process that the other had heard of by its access. Call "" if nothing.
	Found SyncPoint
}

// MendKind is a kind of change to a program.
type MendKind string

// Kinds of changes.
const (
	MendComplete    MendKind = "complete"    // complete an operation earlier
	MendMove        MendKind = "move"        // move an access behind a call that is there
	MendSynchronize MendKind = "synchronize" // make processes wait for each other
	MendLock        MendKind = "lock"        // take locks that exclude
	MendSeparate    MendKind = "separate"    // use other memory
	MendOperation   MendKind = "operation"   // use other operations or types
	MendOther       MendKind = "other"
)

// Mend is a change after which the finding is gone.
type Mend struct {
	Kind MendKind
	Text string    // what to do, an imperative with the places
	At   SyncPoint // the place of the program that the change is at or before; Call "" if several
}

// Lock is a lock that protects an access.
type Lock struct {
	Exclusive bool
	Target    int   // world rank of the process whose memory is locked; -1: of all (MPI_Win_lock_all)
	Window    int64 // identifier of the window
}

// Mend returns all that would mend the finding in one sentence.
func (e *Explanation) Mend() string {
	texts := make([]string, len(e.Mends))
	for i, m := range e.Mends {
		texts[i] = m.Text
	}
	return strings.Join(texts, "; or ")
}
