package analysis

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trial"
)

// What of the fixes that were tried is left, and what they then say.

// works reports whether a change removes a finding, and brings nothing new.
func (t *trials) works(after *verdictOf, key findingKey) bool {
	return after.findings != nil && !after.findings[key] && t.clean(after)
}

// removesSome reports whether a change leaves a part of a finding, where operations fetched
// what nobody is known to have left: so it may be that the rest is in order.
func (t *trials) removesSome(o *attempt, key findingKey) bool {
	return t.before.strange && o.after.findings[key] && o.after.pairs[key] < t.before.pairs[key] && t.clean(&o.after)
}

// clean reports whether a change brings nothing new.
func (t *trials) clean(after *verdictOf) bool {
	if after.ended < t.before.ended || after.strange && !t.before.strange {
		return false
	}
	for k := range after.findings {
		if !t.before.findings[k] {
			return false
		}
	}
	for p := range after.problems {
		if !t.before.problems[p] {
			return false
		}
	}
	return true
}

// noFix is what is said where no fix is left.
var noFix = conflicts.Fix{Kind: conflicts.FixOther, Trial: conflicts.Trial{Tried: true},
	Text: "none of the usual changes will do: tried on this run, each had no place in it, left the finding, brought a new one, or changed what is computed"}

// conclude leaves what works of the fixes of all findings, and what was not tried.
func (t *trials) conclude(res *Result) {
	keys := make([]findingKey, len(res.Findings))
	for i := range res.Findings {
		keys[i] = t.namer.keyOfFinding(&res.Findings[i])
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if f.Fixes = t.left(f, i, keys); len(f.Fixes) == 0 {
			f.Fixes = []conflicts.Fix{noFix}
		}
		if t.clues == nil {
			continue
		}
		if fix, ok := t.declare(f); ok {
			f.Fixes = append(f.Fixes, fix)
		}
	}
	problems.SortFixes(res.Findings)
}

// left returns what is left of the fixes of a finding, number i. What was not tried comes last, but
// for other memory, which stays before what was proposed after it; of locks, and moves that cannot be
// tried, nothing is said where there is something better. One update in place of two operations comes
// first, unless a call that completes one of them is what was forgotten.
func (t *trials) left(f *conflicts.Finding, i int, keys []findingKey) []conflicts.Fix {
	var leads, first, last, none, chance []conflicts.Fix
	for _, proposed := range f.Fixes {
		if proposed.Fallback {
			proposed.Trial.Untried = conflicts.NotLines
			none = append(none, proposed)
			continue
		}
		if proposed.Leads {
			proposed.Trial.Untried = conflicts.NotLines
			leads = append(leads, proposed)
			continue
		}
		var fix conflicts.Fix
		ok, edited := false, false // edited: one call, where the statement stays as it is
		if less := proposed.Less; less != nil {
			fix, ok = t.most(*less, f, i, keys)
			ok = ok && fix.Trial.Tried
			if ok && fix.Text == less.Text && t.mayRepeat(f) {
				fix.Text = proposed.Text
			}
			edited = ok && fix.Kind == conflicts.FixLock
		}
		if !ok {
			fix, ok = t.most(proposed, f, i, keys)
		}
		switch {
		case !ok:
		case fix.Chance:
			chance = append(chance, fix)
		case edited:
			first = slices.Insert(first, 0, fix)
			leads = nil // the locks are there already
		case !fix.Trial.Tried && (fix.Kind != conflicts.FixSeparate || len(last) > 0):
			last = append(last, fix)
		case !slices.ContainsFunc(first, func(x conflicts.Fix) bool { return x.Trial.Tried && t.within(&x, &fix) }):
			first = append(first, fix)
		}
	}
	if slices.ContainsFunc(first, func(x conflicts.Fix) bool { return x.Trial.Tried }) {
		last = slices.DeleteFunc(last, func(x conflicts.Fix) bool { return x.Kind == conflicts.FixLock || x.Kind == conflicts.FixMove })
	}
	if len(leads)+len(first) == 0 && !slices.ContainsFunc(last, func(x conflicts.Fix) bool { return x.Kind != conflicts.FixLock && x.Kind != conflicts.FixSeparate }) {
		return slices.Concat(none, last, chance)
	}
	if slices.ContainsFunc(first, func(x conflicts.Fix) bool { return x.Trial.Tried && x.Kind == conflicts.FixComplete }) {
		return slices.Concat(first, leads, last, chance) // something else than operations orders them
	}
	return slices.Concat(leads, first, last, chance)
}

// mayRepeat reports whether a finding is one of a loop, as far as the one access goes, and the other one
// is a load or store, which is recorded once however often it is repeated.
func (t *trials) mayRepeat(f *conflicts.Finding) bool {
	times := func(s *conflicts.Side) int {
		at := explain.Place(s)
		return t.scan.Times(s.Rank, t.statement(&at))
	}
	for _, x := range [][2]*conflicts.Side{{&f.First, &f.Second}, {&f.Second, &f.First}} {
		if x[0].Call == "" && times(x[0]) == 1 && times(x[1]) > 1 {
			return f.First.Rank != f.Second.Rank
		}
	}
	return false
}

// most returns a fix of finding i with what came of trying it, or the first of the others that it
// has (Fix.More) which removes most. It is false where none is a fix.
func (t *trials) most(fix conflicts.Fix, f *conflicts.Finding, i int, keys []findingKey) (conflicts.Fix, bool) {
	ok := t.judge(&fix, f, i, keys)
	for more := fix.More; more != nil; more = more.More {
		if t.judge(more, f, i, keys) && more.Trial.Tried && len(more.Trial.Removes) > len(fix.Trial.Removes) {
			fix, ok = *more, true
		}
	}
	return fix, ok
}

// judge says of a fix of finding i what came of trying it. It is false where that is no
// fix.
func (t *trials) judge(fix *conflicts.Fix, f *conflicts.Finding, i int, keys []findingKey) bool {
	o := t.results[t.key(fix.Steps)]
	fix.Trial = conflicts.Trial{}
	switch {
	case o == nil:
		fix.Trial.Untried = conflicts.NotLines
	case errors.Is(o.why, trial.ErrUnknown):
		fix.Trial.Untried = o.why.Error()
	case o.untried != "":
		fix.Trial.Untried = o.untried
	case t.removesSome(o, keys[i]):
		fix.Trial.Untried = unsettled
	case setsFirst(f, fix) && t.onlyValues(&o.after):
		fix.Trial.Untried = otherValues
	case !t.works(&o.after, keys[i]):
		return false
	default:
		fix.Trial = conflicts.Trial{Tried: true, Removes: t.removed(&o.after, keys)}
		switch {
		case o.following && fix.Following != "":
			fix.Text = fix.Following
		case !o.following && fix.Finally != "":
			t.narrow(fix, o, keys[i], keys)
		}
		if fix.Latest != nil && !t.asGood(fix, keys) {
			fix.Text, fix.At, fix.Latest = fix.Directly, fix.Steps[0].At, nil
		}
	}
	return true
}

// setsFirst reports whether a change puts a store of the owner before an atomic operation on what it has
// set, as a counter: what that fetches is another value then.
func setsFirst(f *conflicts.Finding, fix *conflicts.Fix) bool {
	set, op := &f.First, &f.Second
	if set.Class != regions.Local {
		set, op = op, set
	}
	return len(fix.Steps) == 1 && fix.Steps[0].Do == conflicts.StepMeet && explain.SamePlace(fix.Steps[0].At.Stack, set.Stack) &&
		set.Class == regions.Local && set.Write && !set.Atomic && op.Class == regions.Target && op.Atomic
}

// onlyValues reports whether all that does not go well after a change, and did before, is that values are
// not what they would be.
func (t *trials) onlyValues(after *verdictOf) bool {
	some := false
	for p := range after.problems {
		if !t.before.problems[p] {
			if !strings.HasPrefix(p, string(core.Values)) {
				return false
			}
			some = true
		}
	}
	return some
}

// removed lists the findings that are gone.
func (t *trials) removed(after *verdictOf, keys []findingKey) (out []int) {
	for k := range keys {
		if t.before.findings[keys[k]] && !after.findings[keys[k]] {
			out = append(out, k)
		}
	}
	return out
}

// narrow says of a fix that lets processes call something between two statements at which end
// of that place they have to, where only one of them will do, or removes more.
func (t *trials) narrow(fix *conflicts.Fix, o *attempt, key findingKey, keys []findingKey) {
	near, removes := conflicts.NearTo, fix.Trial.Removes
	switch {
	case o.ending:
	case o.blocks:
		near = conflicts.NearAt
	case o.end.findings == nil:
		return
	default:
		end := t.removed(&o.end, keys)
		switch {
		case !t.works(&o.end, key):
			near = conflicts.NearAt
		case slices.Equal(end, removes):
			return
		case len(end) > len(removes):
			removes = end
		default:
			near = conflicts.NearAt
		}
	}
	fix.Trial.Removes, fix.Steps = removes, slices.Clone(fix.Steps)
	for k := range fix.Steps {
		if fix.Steps[k].Do == conflicts.StepMeet {
			fix.Steps[k].Near = near
		}
	}
	if fix.Text = fix.Finally; near == conflicts.NearAt {
		fix.Text = fix.Directly
	}
}

// asGood reports whether a fix that was tried removes the same findings at the latest place
// that its text allows.
func (t *trials) asGood(fix *conflicts.Fix, keys []findingKey) bool {
	late := t.results[t.key(fix.Latest)]
	return late != nil && !slices.ContainsFunc(fix.Trial.Removes, func(k int) bool { return !t.works(&late.after, keys[k]) })
}

// within reports whether one fix is a part of another.
func (t *trials) within(less, more *conflicts.Fix) bool {
	for i := range less.Steps {
		key := t.key(less.Steps[i : i+1])
		if !slices.ContainsFunc(more.Steps, func(s conflicts.Step) bool { return t.key([]conflicts.Step{s}) == key }) {
			return false
		}
	}
	return true
}
