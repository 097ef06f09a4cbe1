package explain

import (
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// MoveAfter moves an access behind a call. Where they are made in different functions,
// what moves is the statement of the function that both have in common, from which the
// access is made.
func (w *Wording) MoveAfter(s *conflicts.Side, to conflicts.SyncPoint, how string) conflicts.Fix {
	from, target, at, behind := w.statements(s, to)
	move := Move(from, target)
	move.Private = w.Finding.Window == 0
	if target.Call == to.Call && w.model.Call(to.Call).Tries {
		how = ", once that has completed it" + how
	}
	if earlier(target, from) {
		behind += " of the next iteration"
	}
	return Doing(ProposeAt(conflicts.FixMove, to, "move %s after %s%s", at, behind, how), move)
}

// statements returns the statements of an access and of a call that can be put in order, and their
// names.
func (w *Wording) statements(s *conflicts.Side, to conflicts.SyncPoint) (from, target conflicts.SyncPoint, access, call string) {
	access, call = w.Deed(s), w.Call(to)
	from, target = w.common(s, to)
	if from.Call != Place(s).Call {
		access = "the call of " + from.Call + w.at(from.Stack)
	}
	switch {
	case target.Call != to.Call:
		call = "the call of " + target.Call + w.at(target.Stack)
	case from.Call != Place(s).Call: // in the same function, whoever calls it
		call = to.Call + w.at(to.Stack)
	}
	return from, target, access, call
}

// at names the place of a statement itself, and not that of a call through which the
// program comes to it.
func (w *Wording) at(stack []symbols.Frame) string {
	if here, ok := symbols.Here(stack); ok {
		here.Site = false
		return w.At([]symbols.Frame{here})
	}
	return ""
}

// common returns the statements of the innermost function that makes both an access and
// a call. One from which the other access is made, too, is none: the two would move together.
func (w *Wording) common(s *conflicts.Side, to conflicts.SyncPoint) (at, behind conflicts.SyncPoint) {
	other := w.Other(s)
	for i, f := range s.Stack {
		if i > symbols.HereAt(s.Stack) && within(other.Stack, s.Stack[i:]) || ofRegion(s.Stack, i) {
			break
		}
		for k, g := range to.Stack {
			if ofRegion(to.Stack, k) {
				break
			}
			if f.Func != "" && f.Func == g.Func && f.File == g.File && f.Line != g.Line && f.Layer == symbols.Application {
				return statement(Place(s), s.Stack, i), statement(to, to.Stack, k)
			}
		}
	}
	return Place(s), to
}

// ofRegion reports whether a frame calls an OpenMP region: a directive, of which the stacks of its
// tasks do not tell that they belong to it.
func ofRegion(stack []symbols.Frame, i int) bool {
	return i > 0 && symbols.IsOpenMPRegion(stack[i-1].Func)
}

// within reports whether a stack is one of what is called at another one's innermost place.
func within(stack, at []symbols.Frame) bool {
	outer := len(stack) - len(at)
	return outer > 0 && slices.EqualFunc(stack[outer:], at, func(f, g symbols.Frame) bool {
		return f.Func == g.Func && f.File == g.File && f.Line == g.Line
	})
}

// statement is a place in a caller of what is at the innermost one.
func statement(p conflicts.SyncPoint, stack []symbols.Frame, i int) conflicts.SyncPoint {
	if i > symbols.HereAt(stack) {
		p.Call, p.Stack = stack[i-1].Func, stack[i:]
	}
	return p
}
