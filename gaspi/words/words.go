// Package words says what GASPI calls things in explanations, and which fixes only
// GASPI has.
package words

import (
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/gaspi"
	"github.com/mcchk/mcchk/regions"
)

// vocabulary is the explain.Model of GASPI.
type vocabulary struct {
	others Completing
}

// Completing says what completes an operation of another model, which a finding has beside
// one of GASPI.
type Completing func(*explain.Wording, *conflicts.Side) explain.Completing

// rules are those that GASPI has the texts of.
var rules = []string{
	conflicts.RuleGaspiRemote, conflicts.RuleGaspiLocal, conflicts.RuleGaspiBuffer, conflicts.RuleGaspiOrder,
	conflicts.RuleGaspiAtomic, conflicts.RuleGaspiCall, conflicts.RuleGaspiDeleted, conflicts.RuleGaspiOutside,
}

// Has reports whether a finding is of GASPI: of one of its rules, or of its calls.
func Has(f *conflicts.Finding) bool {
	return slices.Contains(rules, f.Rule) || HasSide(&f.First) || HasSide(&f.Second)
}

// HasSide reports whether an access is one of a call of GASPI.
func HasSide(s *conflicts.Side) bool { return gaspi.FactsOf(s.Call).Known }

// Explain says why nothing orders the accesses of a finding, what was looked for,
// and what would fix it.
func Explain(f *conflicts.Finding, others Completing) conflicts.Explanation {
	return explain.New(vocabulary{others}, f).Explain()
}

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string { return explain.New(vocabulary{}, f).Message() }

// Together lets each rank do two operations of a finding as one update.
func Together(f *conflicts.Finding, read, write *conflicts.Side) string {
	return explain.New(vocabulary{}, f).Together(read, write, Terms().Update)
}

// What names an access: "gaspi_write", "the local segment of gaspi_read".
func What(s *conflicts.Side) string { return explain.What(vocabulary{}, s) }

// Terms are the words of the model.
func Terms() explain.Terms { return vocabulary{}.Terms() }

func (vocabulary) Terms() explain.Terms {
	return explain.Terms{
		Rank:      "rank",
		Process:   "rank",
		Processes: "ranks",
		Object:    "segment",
		Counted:   "segment",
		Wait:      "a notification that is posted behind the operation and waited for",
		Between:   "a notification, passive communication or a barrier that both take part in",
		Order:     "notification, barrier or reduction",
		Complete:  "call gaspi_wait for its queue",
		Meet:      "gaspi_barrier",
		OwnAtomic: "a global atomic of the rank on its own part (gaspi_atomic_fetch_add, gaspi_atomic_compare_swap)",
		GivesUp:   "gaspi_wait completes at the caller only; other ranks have to complete their operations, and say so",
		LockOfAll: "all ranks",
		Update:    "with gaspi_atomic_fetch_add or gaspi_atomic_compare_swap",
	}
}

func (vocabulary) Call(fn string) explain.Call {
	facts := gaspi.FactsOf(fn)
	return explain.Call{Waits: facts.Waits, Only: facts.Only, Tells: facts.Operation || facts.Notifies, Takes: fn == "gaspi_atomic_fetch_add" || fn == "gaspi_atomic_compare_swap"}
}

// writes reports whether an access is that of a write to its target, which no call of
// its own rank completes.
func writes(s *conflicts.Side) bool {
	return s.Class == regions.Target && s.Write && !s.Atomic && HasSide(s)
}

// Completing: gaspi_wait completes what is the caller's, and success a reduction.
func (v vocabulary) Completing(w *explain.Wording, s *conflicts.Side) explain.Completing {
	switch {
	case !s.Pending || writes(s):
		return explain.Completing{}
	case !HasSide(s):
		return v.others(w, s)
	case s.Class == regions.CallBuffer: // of a call that has timed out
		return explain.Completing{How: "call " + s.Call + " until it returns GASPI_SUCCESS"}
	}
	return explain.Completing{How: "call gaspi_wait for its queue", Call: "gaspi_wait"}
}

func (vocabulary) Idle(fn string, s, _ *conflicts.Side) string {
	switch facts := gaspi.FactsOf(fn); {
	case fn == "gaspi_wait" && writes(s):
		return "completes writes at their source only"
	case fn == "gaspi_wait":
		return "is for another queue"
	case facts.Completes:
		return "is for another notification"
	}
	return "completes no operation"
}

func (vocabulary) Copy(*conflicts.Side) bool { return false }

func (vocabulary) OutOfScope(*conflicts.Side) bool { return false }

// Instead: no call of a write's own rank completes it at its target.
func (vocabulary) Instead(string) string { return "" }

// Message says what a finding of a rule is that only GASPI has.
func (vocabulary) Message(w *explain.Wording) string {
	f := w.Finding
	switch f.Rule {
	case conflicts.RuleGaspiOutside:
		return w.By(&f.First) + " names bytes outside the segment"
	case conflicts.RuleGaspiOrder:
		return w.Conflict("; the second may overtake the first")
	case conflicts.RuleGaspiAtomic:
		return w.Conflict(", with which its value overlaps in part")
	}
	return ""
}

// Late: a write is complete at its target when a notification behind it has been seen.
func (vocabulary) Late(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	if !writes(a) {
		return nil
	}
	return []conflicts.Fix{before(w, conflicts.FixComplete, a, b)}
}

// met completes x where that is needed, and puts a barrier behind it and before y.
func (v vocabulary) met(w *explain.Wording, x, y *conflicts.Side) conflicts.Fix {
	first, then := "", "after "+w.Access(x)
	var steps []conflicts.Step
	if how := v.Completing(w, x); how.How != "" {
		first, then = how.How+" after "+w.Access(x)+", then ", "after that"
		steps = append(steps, explain.Insert(x, how.Call))
	}
	m := explain.Doing(explain.Propose(conflicts.FixSynchronize, "%scall gaspi_barrier in all ranks of a group %s and before %s%s", first, then, w.Access(y), w.Outcome(x, y)),
		append(steps, explain.Meet(w, explain.Place(x), explain.Place(y), "gaspi_barrier"))...)
	return explain.Between(m, then, "before "+w.Access(y))
}

func (v vocabulary) Order(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	switch {
	case a.Rank == b.Rank:
		return nil
	case writes(a) || writes(b):
		return inTurn(w, a, b)
	}
	if explain.SamePlace(a.Stack, b.Stack) {
		return []conflicts.Fix{explain.Propose(conflicts.FixSynchronize, "let the two ranks take turns, with gaspi_barrier, called by all ranks of a group, between them")}
	}
	x, y, lines := explain.Meant(a, b)
	there, back := v.met(w, x, y), v.met(w, y, x)
	if lines {
		explain.OrElse(&there, back)
		return []conflicts.Fix{there}
	}
	return []conflicts.Fix{there, back}
}

// Atomic says which operations may meet, and what orders those of one rank.
func (vocabulary) Atomic(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	switch {
	case a.Rank == b.Rank && writes(a):
		return before(w, conflicts.FixComplete, a, b), true
	case a.Rank == b.Rank && !HasSide(a):
		return conflicts.Fix{}, false
	case a.Rank == b.Rank:
		return explain.Propose(conflicts.FixComplete, "call gaspi_wait for the queue of the first before the second"), true
	case a.Atomic && b.Atomic:
		return conflicts.Fix{}, false
	}
	return explain.Propose(conflicts.FixOperation, "use global atomics for both, if any order will do"), true
}

// Lock: there are none.
func (vocabulary) Lock(*explain.Wording, *conflicts.Side, *conflicts.Side) (conflicts.Fix, bool) {
	return conflicts.Fix{}, false
}
