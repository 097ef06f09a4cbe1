// Package words says what OpenSHMEM calls things in explanations, and which fixes
// only OpenSHMEM has.
package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/shmem"
)

// vocabulary is the explain.Model of OpenSHMEM.
type vocabulary struct {
	others Completing
}

// Completing says what completes an operation of another model, which a finding has beside
// one of OpenSHMEM.
type Completing func(*explain.Wording, *conflicts.Side) explain.Completing

// rules are those that OpenSHMEM has the texts of.
var rules = []string{
	conflicts.RuleShmemRemote, conflicts.RuleShmemLocal, conflicts.RuleShmemBuffer, conflicts.RuleShmemOrder,
	conflicts.RuleShmemAtomic, conflicts.RuleShmemCall, conflicts.RuleNotSymmetric, conflicts.RuleContextGone,
}

// Has reports whether a finding is of OpenSHMEM: of one of its rules, or of its calls.
func Has(f *conflicts.Finding) bool {
	return slices.Contains(rules, f.Rule) || HasSide(&f.First) || HasSide(&f.Second)
}

// HasSide reports whether an access is one of a call of OpenSHMEM.
func HasSide(s *conflicts.Side) bool { return shmem.FactsOf(s.Call).Known }

// Explain says why nothing orders the accesses of a finding, what was looked for,
// and what would fix it.
func Explain(f *conflicts.Finding, others Completing) conflicts.Explanation {
	e := explain.New(vocabulary{others}, f).Explain()
	a, b := &f.First, &f.Second
	if f.Rule != conflicts.RuleShmemAtomic || a.Type == b.Type || a.Type == "" || b.Type == "" || !hasOwnType(a) || !hasOwnType(b) {
		return e
	}
	e.Why = fmt.Sprintf("only atomic operations of one type are atomic to each other, and these use %s and %s; %s", a.Type, b.Type, e.Why)
	return explain.First(e, explain.Propose(conflicts.FixOperation, "use one type for all atomic operations on these bytes"))
}

// hasOwnType reports whether the program has chosen the type of an atomic operation.
func hasOwnType(s *conflicts.Side) bool { return s.Role == shmem.AtomicTarget.Name }

// Message says in one line what a finding is, without places.
func Message(f *conflicts.Finding) string { return explain.New(vocabulary{}, f).Message() }

// Together lets each PE do two operations of a finding as one update.
func Together(f *conflicts.Finding, read, write *conflicts.Side) string {
	return explain.New(vocabulary{}, f).Together(read, write, Terms().Update)
}

// What names an access: "shmem_int_put", "the source of shmem_int_put_nbi".
func What(s *conflicts.Side) string { return explain.What(vocabulary{}, s) }

// Terms are the words of the model.
func Terms() explain.Terms { return vocabulary{}.Terms() }

func (vocabulary) Terms() explain.Terms {
	return explain.Terms{
		Rank:      "PE",
		Process:   "PE",
		Processes: "PEs",
		Object:    "symmetric memory",
		Counted:   "symmetric allocation",
		Wait:      "a barrier that both call, or a wait for a value that the other PE sends after a quiet or a fence",
		Between:   "a barrier that both call, or a value that one sends and the other waits for",
		Order:     "barrier, value that is waited for, or lock",
		Complete:  "call shmem_quiet or a barrier",
		Meet:      barrier,
		OwnAtomic: "an atomic operation of the PE on itself (atomic_fetch, atomic_set, atomic_add)",
		GivesUp:   "shmem_free begins with a barrier of all PEs, which completes what is pending on the default context, and on no other",
		OwnLocks:  true,
		Update:    "between shmem_set_lock and shmem_clear_lock of one lock, or with one atomic operation such as shmem_atomic_fetch_add",
	}
}

func (vocabulary) Call(fn string) explain.Call {
	facts := shmem.FactsOf(fn)
	return explain.Call{Waits: facts.Waits, Fence: facts.Fence, Only: facts.Only, Tells: facts.Operation, Takes: strings.Contains(fn, "fetch_") || strings.Contains(fn, "swap")}
}

// Completing: a quiet of its context completes everything.
func (v vocabulary) Completing(w *explain.Wording, s *conflicts.Side) explain.Completing {
	switch {
	case !s.Pending:
		return explain.Completing{}
	case !HasSide(s):
		return v.others(w, s)
	case shmem.IsOther(s.Epoch):
		return explain.Completing{How: "call shmem_ctx_quiet for its context", Call: "shmem_ctx_quiet"}
	}
	return explain.Completing{How: "call shmem_quiet", Call: "shmem_quiet"}
}

// barrier is the call with which all PEs wait for each other.
const barrier = "shmem_barrier_all"

// fenced puts a fence behind an operation.
func fenced(s *conflicts.Side, format string, args ...any) conflicts.Fix {
	fence := "shmem_fence"
	if shmem.IsOther(s.Epoch) {
		fence = "shmem_ctx_fence"
	}
	return explain.Doing(explain.Propose(conflicts.FixComplete, "call "+fence+" "+format, args...), explain.Insert(s, fence))
}

// met puts a barrier behind x and before y. It completes what is on the default context, and
// on no other.
func met(w *explain.Wording, x, y *conflicts.Side) conflicts.Fix {
	first, after := "", "after "+w.Deed(x)
	var steps []conflicts.Step
	if x.Pending && HasSide(x) && shmem.IsOther(x.Epoch) {
		first, after = fmt.Sprintf("call shmem_ctx_quiet for its context %s, and ", after), "after that"
		steps = append(steps, explain.Insert(x, "shmem_ctx_quiet"))
	}
	steps = append(steps, explain.Meet(w, explain.Place(x), explain.Place(y), barrier))
	name := w.Following(explain.Place(x), y, w.Deed(y))
	m := explain.Propose(conflicts.FixSynchronize, "%scall %s in all PEs %s and before %s%s", first, barrier, after, name, w.Outcome(x, y))
	return explain.Between(explain.Doing(m, steps...), after, "before "+name)
}

func (vocabulary) Idle(fn string, s, _ *conflicts.Side) string {
	switch facts := shmem.FactsOf(fn); {
	case fn == "shmem_fence" || fn == "shmem_ctx_fence":
		return "orders operations, and completes none"
	case facts.Completes && shmem.IsOther(s.Epoch):
		return "does not complete operations of its context"
	case facts.Completes:
		return "does not complete it"
	}
	return "completes no operation"
}

func (vocabulary) Copy(*conflicts.Side) bool { return false }

func (vocabulary) OutOfScope(s *conflicts.Side) bool {
	return s.Class == regions.GivenUp && s.Role == "return"
}

// Instead: no call of OpenSHMEM completes at the origin only.
func (vocabulary) Instead(string) string { return "" }

// Message says what a finding of a rule is that only OpenSHMEM has.
func (vocabulary) Message(w *explain.Wording) string {
	f := w.Finding
	switch f.Rule {
	case conflicts.RuleNotSymmetric:
		return w.By(&f.First) + " names an address that is not symmetric"
	case conflicts.RuleContextGone:
		return w.By(&f.First) + " uses a context that has been destroyed"
	case conflicts.RuleShmemOrder:
		if !HasSide(&f.First) || !HasSide(&f.Second) { // which no fence would
			return w.Conflict("; the second may overtake the first")
		}
		return w.Conflict(", and no fence orders them")
	case conflicts.RuleShmemAtomic:
		return w.Conflict(" with different types or atomicity domains")
	}
	return ""
}

// Late: what is sent after a fence, and waited for, shows that what was sent before
// has arrived.
func (vocabulary) Late(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	if a.Class != regions.Target || !a.Write {
		return nil
	}
	var out []conflicts.Fix
	if !shmem.FactsOf(b.Heard.Call).Waits && !w.ByChance(b) { // but for a barrier, it is what the other PE waits for
		out = append(out, fenced(a, "after %s, before the update that the other PE waits for", w.Access(a)))
	}
	return append(out, met(w, a, b))
}

func (vocabulary) Order(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	switch {
	case a.Rank == b.Rank:
		return nil
	case explain.SamePlace(a.Stack, b.Stack) && w.Finding.Rule == conflicts.RuleShmemCall && a.Call == b.Call:
		return []conflicts.Fix{explain.ProposeAt(conflicts.FixSynchronize, explain.Place(a),
			"call %s in all PEs each time before %s, behind what uses what the one before left; or let it use two places in turns", barrier, w.Call(explain.Place(a)))}
	case explain.SamePlace(a.Stack, b.Stack):
		return []conflicts.Fix{explain.Propose(conflicts.FixSynchronize, "let the two PEs take turns, with %s, called by all PEs, between them", barrier)}
	}
	x, y, lines := explain.Meant(a, b)
	all, there, back := append(signalled(w, a, b), polled(w, a, b)...), met(w, x, y), met(w, y, x)
	if lines {
		explain.OrElse(&there, back)
		if other := func(s *conflicts.Side) bool { return HasSide(s) && shmem.IsOther(s.Epoch) }; w.Finding.Again && !other(x) && !other(y) {
			explain.OrElse(&there, w.InTurns(x, y, "call "+barrier+" in all PEs", barrier))
		}
		return append(all, there)
	}
	return append(all, there, back)
}

// signalled proposes to wait for the signal of a put before the PE uses what has been put there.
func signalled(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	if b.Class == regions.Target {
		a, b = b, a
	}
	if a.Class != regions.Target || !a.Write || !strings.Contains(a.Call, "put_signal") || b.Rank != w.Finding.Owner {
		return nil
	}
	if b.Heard.Call == a.Call && explain.SamePlace(b.Heard.Stack, a.Stack) { // it has waited, and the put is the next one
		if w.Finding.Again { // which is proposed anyway
			return nil
		}
		return []conflicts.Fix{w.Answer(a, b)}
	}
	return []conflicts.Fix{explain.ProposeAt(conflicts.FixSynchronize, explain.Place(b), "let %s wait for the signal of %s before %s (shmem_signal_wait_until)%s",
		Terms().Number(b.Rank), w.Access(a), w.Access(b), w.Outcome(a, b))}
}

// polled proposes to wait for the value of one element that another PE writes where a load does, which
// says nothing of what has arrived.
func polled(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	if b.Class == regions.Target {
		a, b = b, a
	}
	element := a.Class == regions.Target && a.Write && HasSide(a) && !strings.Contains(a.Call, "put_signal") && a.Hi-a.Lo == uint64(a.Unit) && a.Unit >= 2 && a.Unit <= 8
	told := shmem.FactsOf(b.Heard.Call).Operation // it has waited for another value
	if !element || told || b.Class != regions.Local || b.Write || b.Rank != w.Finding.Owner || b.Lo != a.Lo || b.Hi != a.Hi {
		return nil
	}
	m := explain.ProposeAt(conflicts.FixOperation, explain.Place(b),
		"if %s waits for the value of %s, let shmem_wait_until (or shmem_test) do so, which comes after the update that it has seen", w.Access(b), w.Access(a))
	m.Leads = b.Polls
	return []conflicts.Fix{m}
}

// Atomic says with which atomic operations two operations may meet, and what orders
// those of one PE.
func (vocabulary) Atomic(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	switch {
	case isLock(a) || isLock(b):
		return explain.Propose(conflicts.FixOperation, "leave the lock to shmem_set_lock, shmem_test_lock and shmem_clear_lock"), true
	case a.Rank == b.Rank && (!HasSide(a) || !HasSide(b) || a.Epoch != b.Epoch || late(a) || late(b)):
		return conflicts.Fix{}, false
	case a.Rank == b.Rank:
		const orders = ", which orders what one context sends to one PE"
		m := fenced(a, "between %s and %s"+orders, w.Access(a), w.Access(b))
		return explain.Until(m, explain.Place(b), fenced(a, "directly after %s"+orders, w.Access(a)).Text), true
	case a.Atomic && b.Atomic:
		return conflicts.Fix{}, false
	}
	return explain.Propose(conflicts.FixOperation, "use atomic operations of one type for both, if any order will do"), true
}

// late reports whether no fence puts an operation before or after others.
func late(s *conflicts.Side) bool { return shmem.FactsOf(s.Call).Late }

// isLock reports whether an access is that of a call to the lock that it takes.
func isLock(s *conflicts.Side) bool { return s.Role == shmem.LockTarget.Name }

// Lock: a lock on PE 0's copy excludes all who take it. That is proposed where one of the two
// holds a lock already, and where PEs update memory of another without any order: no call of
// OpenSHMEM makes these wait for each other unless all PEs come by it.
func (vocabulary) Lock(w *explain.Wording, a, b *conflicts.Side) (conflicts.Fix, bool) {
	held := len(a.Locks)+len(b.Locks) > 0
	meet := w.Finding.Began == 0 && a.Rank != b.Rank && a.Class == regions.Target && b.Class == regions.Target
	if !held && !meet || isLock(a) || isLock(b) {
		return conflicts.Fix{}, false
	}
	quiet := ""
	switch own := func(s *conflicts.Side) bool { return HasSide(s) && shmem.IsOther(s.Epoch) }; {
	case a.Call != "" && !HasSide(a) || b.Call != "" && !HasSide(b):
		quiet = ", after what completes the operation that is not one of OpenSHMEM, which shmem_clear_lock does not"
	case own(a) || own(b):
		quiet = ", after a shmem_ctx_quiet of its context, which shmem_clear_lock is not"
	}
	m := explain.Propose(conflicts.FixLock, "do each of the two, with what belongs to it, between shmem_set_lock and shmem_clear_lock of one lock%s, if either order will do", quiet)
	m.Leads = (len(a.Locks) > 0) != (len(b.Locks) > 0) // who takes a lock wants to keep others away
	return m, true
}
