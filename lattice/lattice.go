// Package lattice is the event lattice of a stretch of a run: lines of
// processes, the events on them, and what orders events of different lines.
// Only direct dependences are kept: none that others imply ("Consistent Global
// Views", sections 2.3 and 3.3).
//
// A Region and Neighbourhoods watch a replay (core.Observer) and keep the
// events that are wanted: those of one concurrent region, or those around the
// accesses of findings. Two kept events are ordered in the lattice if and only if they are
// ordered in the run, whatever was left out between them. The events come in an
// order in which every prefix is a consistent cut.
//
// The package knows nothing of formats of reports; DOT, SVG and text are
// renderings of the one value. Package analysis replays traces for it
// (analysis.Neighbourhoods, analysis.RegionLattice).
package lattice

import "fmt"

// Lattice is a part of a run. It marshals to JSON as it is.
//
// The events of one line happen one after another; that order has no edges.
// Every other direct dependence is an Edge. Both go from lower to higher
// indices of Events, so that Events[:n] is a consistent cut for every n: what
// any of it depends on is in it.
type Lattice struct {
	// Heading says what the finding is that the lattice is drawn for; "" of a region.
	Heading  string   `json:"heading,omitempty"`
	Lines    []Line   `json:"lines"`    // by rank, then strand
	Events   []Event  `json:"events"`   // causes before effects
	Edges    []Edge   `json:"edges"`    // between lines and joins; by To, then From
	Accesses []Access `json:"accesses"` // those of the findings asked for, by finding and side
	// Truncated: the region has more events than were asked for. Those that are
	// there are a consistent cut.
	Truncated bool `json:"truncated,omitempty"`
}

// Line is a process, or one of its threads.
type Line struct {
	Rank   int    `json:"rank"`             // world rank
	Strand uint32 `json:"strand,omitempty"` // its thread, 0 for the main one
	// Events of the process in the regions looked at that are left out before
	// the first shown and after the last.
	Before bool `json:"before,omitempty"`
	After  bool `json:"after,omitempty"`
}

// NoLine is the line of a join, which belongs to no single process.
const NoLine = -1

// Kind says what an event is.
type Kind string

// Kinds of events.
const (
	Operation       Kind = "operation"       // a one-sided operation is issued
	Synchronization Kind = "synchronization" // a call that orders processes, or opens, closes or completes
	Local           Kind = "call"            // any other call
	Memory          Kind = "access"          // a load or store of a finding, or a run of such
	Read            Kind = "found"           // what an operation has found is known, and was left by others
	// Join is where all members of a collective call have arrived: they lead to
	// it, and from it to those that wait for them.
	Join Kind = "join"
)

// Part says which half of a call an event is.
type Part string

// Parts of calls. A call that orders others after itself, and is itself ordered
// after others, has two events: what it signals happens before what it waits
// for.
const (
	Whole  Part = ""
	Begin  Part = "begin"
	Return Part = "return"
)

// Event is one event.
type Event struct {
	Line int    `json:"line"` // index in Lines; NoLine for a join
	Kind Kind   `json:"kind"`
	Part Part   `json:"part,omitempty"`
	Name string `json:"name"` // "MPI_Put"; "load", "store"; of a join the call that it joins
	// Position is the number of the event in the trace of its process, from 1,
	// loads and stores counted; 0 for a join. The two parts of a call have the same.
	Position uint64 `json:"position,omitempty"`
	Region   int    `json:"region"`          // concurrent region, from 0
	Place    Place  `json:"place"`           // where in the program; zero when unknown
	Epoch    string `json:"epoch,omitempty"` // of an operation: the kind of its epoch, as in findings
	Window   int64  `json:"window,omitempty"`
	// Target is the world rank that an operation, or a call that locks, unlocks
	// or flushes one process, is about; -1: none.
	Target int `json:"target"`
	// Gap: events of its line are left out before it, behind the one shown before.
	Gap bool `json:"gap,omitempty"`
	// Layer is the length of the longest path to the event, lines included: where
	// a drawing puts it.
	Layer int `json:"layer"`
}

// Place is a place in the source.
type Place struct {
	Func string `json:"function,omitempty"`
	File string `json:"file,omitempty"` // full path
	Line int    `json:"line,omitempty"`
}

// EdgeKind says what orders two events.
type EdgeKind string

// Kinds of edges.
const (
	Message    EdgeKind = "message"    // a send and its receive, a synchronous send and its receiver
	Collective EdgeKind = "collective" // a collective call, windows' and fences included
	Exposure   EdgeKind = "exposure"   // post and start, complete and wait
	LockOrder  EdgeKind = "lock"       // an unlock and the next lock that it excluded
	Declared   EdgeKind = "declared"   // mcchk_signal and mcchk_wait, and those of processes
	Value      EdgeKind = "value"      // an update, and who has found what it left: a read mapping, behind the order of writes
	Thread     EdgeKind = "thread"     // events of two threads of one process
	Path       EdgeKind = "path"       // through events or processes that are not shown
)

// Edge is a direct dependence.
type Edge struct {
	From int      `json:"from"` // index in Events; less than To
	To   int      `json:"to"`
	Kind EdgeKind `json:"kind"`
	// Found is the value of an edge of kind Value; nil of others.
	Found *Found `json:"found,omitempty"`
}

// Found is a value that a process has found in memory, and where.
type Found struct {
	Value  int64  `json:"value"`            // with the sign of so many bytes
	Rank   int    `json:"rank"`             // world rank of the process in whose memory
	Object string `json:"object,omitempty"` // that the memory lies in: "window 1"; "" where that is not known
	Offset uint64 `json:"offset"`           // of the first byte in the object's memory of that process; an address without an object
	Bytes  uint64 `json:"bytes"`
}

// String says the value and where it was.
func (f *Found) String() string {
	where := fmt.Sprintf("address %#x of rank %d", f.Offset, f.Rank)
	if f.Object != "" {
		where = fmt.Sprintf("offset %d of rank %d's part of %s", f.Offset, f.Rank, f.Object)
	}
	return fmt.Sprintf("%d in %s at %s", f.Value, count(int(f.Bytes), "byte"), where)
}

// Access is one access of a finding.
type Access struct {
	Finding int `json:"finding"` // index in the list of findings that was given
	Side    int `json:"side"`    // 1 or 2
	// Letter is what all drawings call it: "A" is the access that a report speaks of
	// first, "B" the other.
	Letter string `json:"letter"`
	Event  int    `json:"event"` // where it begins: index in Events
	// Done is the event that completes it, from Event on pending until then; -1:
	// it is instantaneous, or completed by nothing that is shown.
	Done int `json:"done"`
	// Name is what the access is: "MPI_Put", "load".
	Name string `json:"name"`
}
