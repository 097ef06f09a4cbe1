package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trace"
	"github.com/mcchk/mcchk/trial"
)

// mostLacking is how many memory orders a search tries, at most.
const mostLacking = 64

// strengthen looks for the memory orders that atomic operations of the language need for the
// accesses of findings to be ordered, where all that they lack would do: as few as possible,
// whichever processes the order goes by.
func (t *trials) strengthen(res *Result) error {
	if t.room == 0 {
		return nil
	}
	all := t.lacking()
	if len(all) == 0 || len(all) > mostLacking {
		return nil
	}
	var keys []findingKey // of findings that all remove
	var at []int
	for i := range res.Findings {
		f := &res.Findings[i]
		if f.Class != conflicts.AcrossProcesses || f.OneOrder || f.Rule == conflicts.RuleLockOrder {
			continue
		}
		key := t.namer.keyOfFinding(f)
		if ok, err := t.remove(all, key); err != nil {
			return err
		} else if ok {
			keys, at = append(keys, key), append(at, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	left := t.work / 2 // for other fixes
	few, err := t.fewest(all, left, keys...)
	for k, i := range at {
		if err != nil {
			break
		}
		steps := few
		if len(few) > 1 {
			steps, err = t.fewest(few, left, keys[k])
		}
		if f := &res.Findings[i]; err == nil { // what is moved out of a critical section may do, too, but is not meant
			f.Fixes = slices.DeleteFunc(f.Fixes, func(x conflicts.Fix) bool {
				return x.Kind == conflicts.FixMove || len(x.Steps) > 0 && x.Steps[0].Do == conflicts.StepOrder
			})
			f.Fixes = slices.Insert(f.Fixes, 0, models.Strengthen(f, steps))
		}
	}
	return err
}

// lacking lists the memory orders that atomic operations lack, by where they are.
func (t *trials) lacking() []conflicts.Step {
	var out []conflicts.Step
	known := map[string]bool{}
	for _, x := range slices.SortedFunc(maps.Keys(t.clues.weak), func(a, b lacking) int {
		return cmp.Or(cmp.Compare(a.at.rank, b.at.rank), cmp.Compare(a.at.stack, b.at.stack), cmp.Compare(a.order, b.order))
	}) {
		s := explain.Order(conflicts.SyncPoint{Call: trace.AtomicNote, Rank: int(x.at.rank), Stack: t.namer.stack(x.at.rank, x.at.stack)}, x.order)
		if key := t.key([]conflicts.Step{s}); t.statement(&s.At) >= 0 && !known[key] {
			known[key] = true
			out = append(out, s)
		}
	}
	clear(t.at) // there are more statements
	return out
}

// fewest leaves out of steps which remove findings what is not needed for that, ever smaller parts
// at a time, as long as there is more work left than that.
func (t *trials) fewest(steps []conflicts.Step, left int, keys ...findingKey) ([]conflicts.Step, error) {
	for part := (len(steps) + 1) / 2; part > 0; part /= 2 {
		for from := 0; from < len(steps) && len(steps) > 1 && t.work > left; {
			less := slices.Delete(slices.Clone(steps), from, min(from+part, len(steps)))
			ok, err := false, error(nil)
			if len(less) > 0 {
				ok, err = t.remove(less, keys...)
			}
			switch {
			case err != nil:
				return nil, err
			case ok:
				steps = less
			default:
				from += part
			}
		}
	}
	return steps, nil
}

// remove reports whether steps remove findings, and bring nothing new.
func (t *trials) remove(steps []conflicts.Step, keys ...findingKey) (bool, error) {
	name := t.key(steps)
	o := t.results[name]
	if o == nil {
		o = &attempt{steps: steps}
		o.plan, o.why = t.scan.Plan(steps, t.statement, &t.maker, trial.Early)
		t.results[name] = o
	}
	if o.after.findings == nil && o.untried == "" {
		if err := t.replayAll([]*attempt{o}); err != nil {
			return false, err
		}
	}
	return !slices.ContainsFunc(keys, func(key findingKey) bool { return !t.works(&o.after, key) }), nil
}
