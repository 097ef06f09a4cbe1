// Package models has what the programming models that mcchk knows say of
// conflicts: who compares, explains and reports asks here, and knows none of them.
// There are MPI, OpenSHMEM and GASPI.
package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/gaspi"
	gaspijudge "github.com/mcchk/mcchk/gaspi/judge"
	gaspiwords "github.com/mcchk/mcchk/gaspi/words"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/mpi/judge"
	"github.com/mcchk/mcchk/mpi/words"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/shmem"
	shmemjudge "github.com/mcchk/mcchk/shmem/judge"
	shmemwords "github.com/mcchk/mcchk/shmem/words"
	"github.com/mcchk/mcchk/trace"
)

// New returns the models for one replay. memory is by which memory model the
// windows of MPI are judged: "auto", "unified" or "separate". fetched tells where
// operations fetch, if that is known (FetchScan); it may be nil.
func New(memory string, fetched func() *Fetched) []core.Model {
	if fetched == nil {
		fetched = func() *Fetched { return nil }
	}
	return []core.Model{mpi.New(mpi.MemoryModel(memory), func() *mpi.Fetched { return fetched().ofMPI() }), shmem.New(func() *shmem.Fetched { return fetched().ofOpenSHMEM() }), gaspi.New()}
}

// Judge returns the judge of what conflicts, over all models.
func Judge() conflicts.Judge { return judges{} }

// judges asks the judge of the model that accesses are of. Where they are of two
// models, that is OpenSHMEM's, whose memory it is.
type judges struct {
	mpi   judge.Judge
	shmem shmemjudge.Judge
	gaspi gaspijudge.Judge
}

func (j judges) Atomic(a, b *regions.Access) conflicts.Verdict {
	switch {
	case shmem.Is(a) || shmem.Is(b):
		return j.shmem.Atomic(a, b)
	case gaspi.IsRole(a.Role) || gaspi.IsRole(b.Role):
		return j.gaspi.Atomic(a, b)
	}
	return j.mpi.Atomic(a, b)
}

func (j judges) Compatible(x, y conflicts.Atomics) bool {
	switch {
	case shmem.IsOp(x.Op) || shmem.IsOp(y.Op):
		return j.shmem.Compatible(x, y)
	case gaspi.IsOp(x.Op) || gaspi.IsOp(y.Op):
		return j.gaspi.Compatible(x, y)
	}
	return j.mpi.Compatible(x, y)
}

func (j judges) Rule(a, b *regions.Access, v conflicts.Verdict) string {
	switch {
	case shmem.Is(a) || shmem.Is(b):
		return j.shmem.Rule(a, b, v)
	case gaspi.IsRole(a.Role) || gaspi.IsRole(b.Role):
		return j.gaspi.Rule(a, b, v)
	}
	return j.mpi.Rule(a, b, v)
}

func (j judges) Check(part regions.Part, out *conflicts.Collector) conflicts.RegionCheck {
	return j.mpi.Check(part, out)
}

// sorted holds the rules of all models in the order of their identifiers: a result
// with many findings looks up many.
var sorted = sync.OnceValue(func() []conflicts.Rule {
	all := slices.Concat(judge.Rules(), shmemjudge.Rules(), gaspijudge.Rules())
	slices.SortFunc(all, func(a, b conflicts.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
})

// Rules returns the rules of all models in the order of their identifiers.
func Rules() []conflicts.Rule { return slices.Clone(sorted()) }

// Lookup returns the rule with that identifier. Case does not matter.
func Lookup(id string) (conflicts.Rule, bool) {
	for _, r := range sorted() {
		if strings.EqualFold(r.ID, id) {
			return r, true
		}
	}
	return conflicts.Rule{}, false
}

// Explain says why nothing orders the accesses of a finding, what was looked for,
// and what would fix it.
func Explain(f *conflicts.Finding) conflicts.Explanation {
	switch {
	case shmemwords.Has(f):
		return shmemwords.Explain(f, words.Completing)
	case gaspiwords.Has(f):
		return gaspiwords.Explain(f, words.Completing)
	}
	return words.Explain(f)
}

// Location is where a one-sided operation accesses its target.
type Location = mpi.Location

// Polled is what an operation does where a process may wait for a value.
type Polled = mpi.Polled

// Polls says of a one-sided operation what it does to a value that processes may wait
// for. It is false of other calls.
func Polls(c *trace.Call) (Polled, bool) { return mpi.Polls(c) }

// Blocks says of a call by its name whether it may not return before its message is received, and
// whether it does not before it has received one.
func Blocks(fn string) (sends, receives bool) { return mpi.Blocks(fn) }

// Declare says how to declare that a process which fetches a value waits for the one that
// leaves it there.
func Declare(f *conflicts.Finding, at Location, leaves, fetches conflicts.SyncPoint) conflicts.Fix {
	return words.Declare(f, at.Target, leaves, fetches)
}

// Strengthen proposes memory orders of atomic operations of the language that order the accesses
// of a finding, by steps that give them.
func Strengthen(f *conflicts.Finding, steps []conflicts.Step) conflicts.Fix {
	return words.Strengthen(f, steps)
}

// Together lets each process do two operations of a finding as one update.
func Together(f *conflicts.Finding, read, write *conflicts.Side) string {
	switch {
	case shmemwords.Has(f):
		return shmemwords.Together(f, read, write)
	case gaspiwords.Has(f):
		return gaspiwords.Together(f, read, write)
	}
	return words.Together(f, read, write)
}

// Issued names an operation that makes a usage error of another call.
func Issued(f *conflicts.Finding, call conflicts.SyncPoint) string { return words.Issued(f, call) }

// Terms are the words of the model that a finding is of.
func Terms(f *conflicts.Finding) explain.Terms {
	switch {
	case shmemwords.Has(f):
		return shmemwords.Terms()
	case gaspiwords.Has(f):
		return gaspiwords.Terms()
	}
	return words.Terms()
}

// TermsOf are the words for a run as a whole, by the names of the models whose calls it made
// (core.Counts): where these are several, those of MPI, and what exposes memory is an object.
func TermsOf(names string) explain.Terms {
	switch names {
	case "OpenSHMEM":
		return shmemwords.Terms()
	case "GASPI":
		return gaspiwords.Terms()
	}
	t := words.Terms()
	if strings.Contains(names, " and ") {
		t.Counted = "object"
	}
	return t
}

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string {
	switch {
	case shmemwords.Has(f):
		return shmemwords.Message(f)
	case gaspiwords.Has(f):
		return gaspiwords.Message(f)
	}
	return words.Message(f)
}

// What names an access: "load", "MPI_Put", "the send buffer of MPI_Send".
func What(s *conflicts.Side) string {
	switch {
	case shmemwords.HasSide(s):
		return shmemwords.What(s)
	case gaspiwords.HasSide(s):
		return gaspiwords.What(s)
	}
	return words.What(s)
}

// Mode says how an access was made, where it matters: "fence epoch"; otherwise "".
func Mode(f *conflicts.Finding, s *conflicts.Side) string {
	if shmemwords.Has(f) || gaspiwords.Has(f) {
		return string(s.Epoch)
	}
	return words.Epoch(f, s)
}

// Loose is what a call asserts that therefore makes no process wait.
func Loose(*regions.CallInfo) string { return words.Loose }

// Bypassed says of functions that a program calls in a way that is not recorded what is to be
// done: a text for each thing, with how many functions it is about.
func Bypassed(functions []string) map[string]int {
	to := map[string][]string{}
	for _, name := range functions {
		do := "call the functions as MPI_…"
		switch base, rest, _ := strings.Cut(name, "_"); {
		case base == "pshmem":
			do = "call the functions as shmem_…"
		case base == "pgaspi":
			do = "call the functions as gaspi_…"
		case base == "shmem" && strings.HasSuffix(rest, "_"):
			do = "OpenSHMEM's interface for Fortran is not supported"
		case base == "shmem":
			do = "compile and link with mcchk oshcc or mcchk oshcxx"
		case base == "shmemx" || base == "pshmemx" || base == "MPIX" || base == "PMPIX" || base == "gaspi" && !gaspi.FactsOf(name).Known:
			do = "what functions outside the standard do is not known"
		case base == "gaspi":
			do = "compile and link with mcchk cc --gaspi or mcchk cxx --gaspi"
		}
		to[do] = append(to[do], name)
	}
	texts := map[string]int{}
	for do, names := range to {
		texts[fmt.Sprintf("calls of %s are not recorded: %s", someOf(names), do)] = len(names)
	}
	return texts
}

// someOf lists names, the first ones of many.
func someOf(names []string) string {
	const most = 6
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d other functions", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
