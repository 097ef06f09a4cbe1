package problems

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
)

// Which finding of a problem stands in front, and which of its fixes.

// lead puts the first of the gravest findings in front that has a fix which removes them all, or one of the
// same operation that meets it sooner; where none has, the first that says that a call was used wrongly, or
// else that a loop may wait for a value, since the others follow from that; and else of an operation's two
// ends the target, which what completes it there leaves as little as the origin.
func (p *Problem) lead(findings []conflicts.Finding) {
	gravest := slices.IndexFunc(p.Findings, func(k int) bool { return findings[k].Severity != findings[p.Lead()].Severity })
	if gravest < 0 {
		gravest = len(p.Findings)
	}
	for _, leads := range []func(*conflicts.Finding) bool{
		func(f *conflicts.Finding) bool {
			return slices.ContainsFunc(f.Fixes, func(fix conflicts.Fix) bool { return !fix.Chance && includes(fix.Trial.Removes, p.Findings) })
		},
		func(f *conflicts.Finding) bool { return f.Class == conflicts.Usage },
		func(f *conflicts.Finding) bool { load, _ := looping(f); return load != nil },
	} {
		i := slices.IndexFunc(p.Findings[:gravest], func(k int) bool { return leads(&findings[k]) })
		for n := i + 1; i >= 0 && n < gravest; n++ {
			if k := p.Findings[n]; leads(&findings[k]) && sooner(&findings[k], &findings[p.Findings[i]]) {
				i = n
			}
		}
		if i >= 0 {
			p.toFront(i)
			return
		}
	}
	op := operation(&findings[p.Lead()])
	if op == nil || !op.Class.Buffer() {
		return
	}
	if i := slices.IndexFunc(p.Findings[:gravest], func(k int) bool { // what completes it there completes it here
		of := operation(&findings[k])
		return of != nil && of.Pending && !of.Class.Buffer() && path(callOf(of)) == path(callOf(op))
	}); i >= 0 {
		p.toFront(i)
	}
}

// toFront puts the i-th finding in front.
func (p *Problem) toFront(i int) {
	k := p.Findings[i]
	copy(p.Findings[1:i+1], p.Findings[:i])
	p.Findings[0] = k
}

// sooner reports whether a finding is about the same pending operation as another, and its process makes
// the other access sooner behind it.
func sooner(f, than *conflicts.Finding) bool {
	op, of := operation(f), operation(than)
	if op == nil || of == nil || path(callOf(op)) != path(callOf(of)) {
		return false
	}
	own, ok := gap(f)
	others, known := gap(than)
	return ok && known && own < others
}

// gap counts the events of a process between two accesses of its own; false: they are of two.
func gap(f *conflicts.Finding) (uint64, bool) {
	a, b := f.First.Event, f.Second.Event
	return max(a, b) - min(a, b), f.First.Rank == f.Second.Rank && a != 0 && b != 0
}

// SortFixes puts of the fixes of each finding that were tried those first that remove more of
// its problem. Others keep their places, and equals their order.
func SortFixes(findings []conflicts.Finding) {
	for _, p := range Of(findings) {
		for _, i := range p.Findings {
			var at []int
			var tried []conflicts.Fix
			for k, fix := range findings[i].Fixes {
				if fix.Trial.Tried && !fix.Chance {
					at, tried = append(at, k), append(tried, fix)
				}
			}
			slices.SortStableFunc(tried, func(a, b conflicts.Fix) int {
				return cmp.Compare(p.removedBy(&b), p.removedBy(&a))
			})
			for n, k := range at {
				findings[i].Fixes[k] = tried[n]
			}
		}
	}
}

// removedBy counts the findings of the problem that a fix removes.
func (p *Problem) removedBy(fix *conflicts.Fix) (n int) {
	for _, k := range fix.Trial.Removes {
		if slices.Contains(p.Findings, k) {
			n++
		}
	}
	return n
}
