package words

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
)

// Message says what a finding of a rule is that only MPI has.
func (vocabulary) Message(w *explain.Wording) string {
	f := w.Finding
	if f.Class == conflicts.Usage {
		return misuse(w)
	}
	switch f.Rule {
	case conflicts.RuleCopies:
		return w.Conflict(" without a call that makes one visible to the other")
	case conflicts.RuleCopyUpdates:
		lead, other := explain.Sides(f)
		return fmt.Sprintf("%s and %s update different places of %s, and no call between them synchronizes its copies", w.By(lead), w.By(other), w.Where())
	}
	return ""
}

// misuse says which call is wrong where it stands.
func misuse(w *explain.Wording) string {
	f := w.Finding
	call, other := w.By(&f.First), &f.Second
	switch f.Rule {
	case conflicts.RuleOutsideEpoch:
		return call + " is called outside any epoch that allows it"
	case conflicts.RuleOutsideWindow:
		return fmt.Sprintf("%s accesses memory outside the window of rank %d", call, f.Owner)
	case conflicts.RuleNotOpened:
		return call + " has no matching call that opens its epoch"
	case conflicts.RuleMixedEpochs:
		return call + " overlaps an epoch that is open on the window"
	case conflicts.RuleNeverClosed:
		return "the epoch that " + call + " opens is never closed"
	case conflicts.RuleFreedPending:
		return fmt.Sprintf("%s frees the window while %s is pending", call, other.Call)
	case conflicts.RuleGivenUp:
		return fmt.Sprintf("%s gives up the request of %s", call, other.Call)
	case conflicts.RuleThreads:
		return fmt.Sprintf("%s and %s of another thread may be called at the same time", call, other.Call)
	case conflicts.RuleData:
		return call + " does not describe its data as it has to"
	case conflicts.RuleAssertion:
		return call + " asserts what does not hold"
	case conflicts.RuleCallOrder:
		return fmt.Sprintf("%s and %s by %s do not match as collective calls", call, other.Call, Terms().Who(other))
	}
	return ""
}
