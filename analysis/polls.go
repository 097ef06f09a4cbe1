package analysis

import (
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trial"
)

// seePolls marks a load in the condition of a loop that meets what another process leaves there, of the
// same few bytes: the loop may wait for that.
func (n *namer) seePolls(f *conflicts.Finding) {
	for _, x := range [][2]*conflicts.Side{{&f.First, &f.Second}, {&f.Second, &f.First}} {
		s, of := x[0], x[1]
		if s.Class != regions.Local || s.Write || of.Class != regions.Target || !of.Write || s.Rank == of.Rank || f.Began != 0 ||
			s.Lo != of.Lo || s.Hi != of.Hi || s.Hi-s.Lo > mostPolled {
			continue
		}
		frames := symbols.Path(s.Stack)
		here := symbols.HereAt(frames)
		if here < 0 {
			continue
		}
		for _, at := range frames[here:min(here+2, len(frames))] { // in it, or in a function that it calls
			s.Polls = s.Polls || sources.InLoopCondition(at.File, n.sources.Line(at.File, at.Line), at.Column)
		}
	}
}

// mostPolled is the size of what a loop waits for, bytes, at most.
const mostPolled = 8

// waits lists what loops that poll by loads need.
func waits(findings []conflicts.Finding) (out []trial.Need) {
	for i := range findings {
		for _, x := range [][2]*conflicts.Side{{&findings[i].First, &findings[i].Second}, {&findings[i].Second, &findings[i].First}} {
			if s, of := x[0], x[1]; s.Polls {
				out = append(out, trial.Need{Rank: s.Rank, Pos: s.Event, Of: of.Rank, At: of.Event})
			}
		}
	}
	return out
}

// between returns an operation of the process of x, behind x, and one of the process of y,
// before y, of which the second may have fetched what the first left there; nil where their
// values tell whether it has, so that nothing is left to be declared.
func (n *clues) between(x, y *conflicts.Side) (leaves, fetches *polled) {
	if x.Event == 0 || y.Event == 0 {
		return nil, nil
	}
	for i := range slices.Backward(n.ops[y.Rank]) {
		f := &n.ops[y.Rank][i]
		if f.call.Event >= y.Event || !f.Fetches {
			continue
		}
		for k := range n.ops[x.Rank] {
			if l := &n.ops[x.Rank][k]; l.call.Event > x.Event && l.Changes && l.Location == f.Location && l.region == f.region {
				if l.Valued && f.Valued {
					return nil, nil
				}
				return l, f
			}
		}
		return nil, nil
	}
	return nil, nil
}

// declare proposes to declare the order of two accesses, where a process may have waited
// for a value.
func (t *trials) declare(f *conflicts.Finding) (conflicts.Fix, bool) {
	if f.Class != conflicts.AcrossProcesses || f.First.Atomic && f.Second.Atomic { // as operations that poll are meant to meet
		return conflicts.Fix{}, false
	}
	for _, s := range [][2]*conflicts.Side{{&f.First, &f.Second}, {&f.Second, &f.First}} {
		leaves, fetches := t.clues.between(s[0], s[1])
		if leaves == nil || removed(f) && !t.clues.repeated(fetches) {
			continue
		}
		for _, x := range []*polled{leaves, fetches} {
			x.call.Stack = t.namer.stack(int32(x.call.Rank), x.stack)
		}
		if inFortran(leaves.call.Stack) || inFortran(fetches.call.Stack) {
			continue
		}
		fix := models.Declare(f, fetches.Location, leaves.call, fetches.call)
		fix.Trial.Untried = "only who wrote the program knows"
		return fix, true
	}
	return conflicts.Fix{}, false
}

// inFortran reports whether a call is made by a statement of Fortran, which has no such declarations.
func inFortran(stack []symbols.Frame) bool {
	here, ok := symbols.Here(stack)
	return ok && sources.FormOf(here.File) != sources.NotFortran
}

// removed reports whether there is a fix that was tried.
func removed(f *conflicts.Finding) bool {
	return slices.ContainsFunc(f.Fixes, func(x conflicts.Fix) bool { return x.Trial.Tried && x.Kind != conflicts.FixOther })
}

// repeated reports whether the process of an operation has fetched what was there before, with
// nothing between the two that all processes wait for.
func (n *clues) repeated(f *polled) bool {
	for i := range n.ops[f.call.Rank] {
		x := &n.ops[f.call.Rank][i]
		if x.call.Event < f.call.Event && x.Fetches && x.Location == f.Location && x.region == f.region {
			return true
		}
	}
	return false
}
