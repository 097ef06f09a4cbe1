package analysis

import (
	"time"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Verdict is what an analysis concludes.
type Verdict string

// Verdicts. Undecided: no error found, but something was lost, cut, not
// instrumented or not understood, so that "no race" cannot be said.
const (
	Race      Verdict = "race"
	Misuse    Verdict = "usage error" // errors, and none of them a race
	NoRace    Verdict = "no race found"
	Undecided Verdict = "undecided"
	// NothingNew: all errors found are Accepted ones, and nothing else stands
	// in the way of "no race". Run never says so; package gate does.
	NothingNew Verdict = "nothing new found"
)

// CaveatKind names a reason why a result does not rest on the whole run.
type CaveatKind string

// Kinds of caveats.
const (
	NotUnderstood   CaveatKind = "not-understood"   // calls without a meaning in the model yet
	MissingRank     CaveatKind = "missing-rank"     // no trace file of a process
	CutTrace        CaveatKind = "cut-trace"        // a file ends before its process did, or is damaged
	LostEvents      CaveatKind = "lost-events"      // the tracer could not record everything
	NotInstrumented CaveatKind = "not-instrumented" // code without load/store instrumentation
	Unmatched       CaveatKind = "unmatched"        // a call that waits for one that never came, …
	Interrupted     CaveatKind = "interrupted"      // the analysis was ended before it was through
	TooLarge        CaveatKind = "too-large"        // the analysis needs more memory than it may take
	Threads         CaveatKind = "threads"          // several threads, whose order among each other is not known
)

// Caveat is one such reason. The same wherever it is printed.
type Caveat struct {
	Kind  CaveatKind
	Ranks []int  // world ranks concerned, ascending
	Count uint64 // calls, events or bytes, as the kind has it; 0 when not countable
	Text  string // one sentence: what, where, and what to do
}

// Unseen allows that loads and stores of some parts of a program are not seen.
type Unseen struct {
	Part   string // pattern of the names that caveats give, in which * stands for any characters
	Reason string
}

// Basis says what a verdict rests on.
type Basis struct {
	Ranks       int    // processes with a trace
	RanksInRun  int    // processes that the run had
	Ended       int    // processes that the analysis followed to their end: they passed MPI_Finalize
	Model       string // whose calls were met: "MPI", "OpenSHMEM", "MPI and GASPI"
	Windows     int    // windows created; of OpenSHMEM, blocks of symmetric memory allocated; of GASPI, segments
	Regions     int    // concurrent regions analysed
	Calls       uint64 // recorded calls
	Operations  uint64 // one-sided operations among them
	Loads       uint64 // recorded load elements of the program
	Stores      uint64
	Accesses    uint64 // all accesses compared: load/store runs and those that calls make
	LostCalls   uint64
	LostAccess  uint64
	Instruments uint64 // instrumented translation units, the sum over processes
	Preloaded   bool   // the run-time was loaded into a program that was not compiled with mcchk
}

// Accepted is a finding that does not count, because somebody said so.
type Accepted struct {
	conflicts.Finding
	By     AcceptedBy
	Reason string // why, as far as that was said
}

// AcceptedBy says where it was said that a finding does not count.
type AcceptedBy string

// What accepts findings.
const (
	Baseline    AcceptedBy = "baseline"    // it was known when the baseline was written
	Suppression AcceptedBy = "suppression" // an entry in the suppressions file, with a reason
)

// Result is the outcome of an analysis.
type Result struct {
	// Interrupted: the context ended the analysis, or it needed more memory than it
	// may take, and this is what it had found by then. There is a caveat that says so.
	Interrupted bool
	// GivenBack: the traces cannot be read again, since what was analysed was given back.
	GivenBack bool

	Verdict   Verdict
	Findings  []conflicts.Finding // errors first, sorted by place, rule
	Accepted  []Accepted          // found, but taken out of Findings by package gate; the same order
	Caveats   []Caveat
	Allowed   []Caveat // that Options.Unseen allows: the verdict does not depend on them
	Warnings  []string // what went wrong, and took nothing from the findings but perhaps their places
	Basis     Basis
	Directory string    // the traces analysed
	Program   string    // as recorded, "" when unknown
	Began     time.Time // when the run did; zero where that was not recorded
	Library   string    // MPI library as recorded
	Launch    Launch
	Run       string // run identifier, hexadecimal
	Clock     string // the one asked for: a name of package evc
	Model     MemoryModel
	Layers    symbols.Layers
	Stats     Stats // where Options.Stats asked for it
	// Runs are the results that Join made this one of; nil: it is of one run.
	Runs []*Result
	// Sources has the lines of source files: those kept with the run, and where
	// none were, those on this machine; nil: none are at hand.
	Sources *sources.Reader
	// Pictures is for the report that draws; nil unless somebody asked Draw.
	Pictures *Pictures
}
