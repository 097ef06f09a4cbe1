// Package explain words why nothing orders the accesses of a finding, what was
// looked for, and what would fix it, as far as that is the same in all programming
// models. What a model calls things, and what it alone proposes, it says itself
// (Model).
package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// Explain explains a finding whose rule means the same in all models.
func (w *Wording) Explain() conflicts.Explanation {
	switch w.Finding.Rule {
	case conflicts.RuleMemoryGone:
		return w.gone()
	case conflicts.RuleLockOrder:
		return w.lockOrder()
	case conflicts.RuleAtomicType:
		return w.otherType()
	}
	return w.unordered()
}

// otherType explains atomic operations whose elements do not fit.
func (w *Wording) otherType() conflicts.Explanation {
	f := w.Finding
	e := w.unordered()
	if f.First.Type != "" && f.First.Type == f.Second.Type {
		e.Why = "atomic operations are only defined for elements at the same address, and the elements of these overlap only in part; " + e.Why
		return First(e, Propose(conflicts.FixSeparate, "make the elements coincide, or not overlap at all%s", w.Places()))
	}
	e.Why = fmt.Sprintf("atomic operations on shared bytes are only defined for the same basic type at the same address, and these use %s and %s; %s",
		elements(&f.First), elements(&f.Second), e.Why)
	return First(e, Propose(conflicts.FixOperation, "use one datatype for all atomic operations on these bytes"))
}

// First puts a fix before the others.
func First(e conflicts.Explanation, m conflicts.Fix) conflicts.Explanation {
	e.Fixes = append([]conflicts.Fix{m}, e.Fixes...)
	return e
}

// Propose makes a fix of which the places are several.
func Propose(kind conflicts.FixKind, format string, args ...any) conflicts.Fix {
	return conflicts.Fix{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// ProposeAt makes a fix at or before a place.
func ProposeAt(kind conflicts.FixKind, at conflicts.SyncPoint, format string, args ...any) conflicts.Fix {
	return conflicts.Fix{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)}
}

// Plain is the step that makes a call without what it asserts, where it is named.
func Plain(at conflicts.SyncPoint) conflicts.Step {
	at.Stack = symbols.Outward(at.Stack)
	return conflicts.Step{Do: conflicts.StepPlain, At: at}
}

// Doing returns a fix that these steps carry out.
func Doing(m conflicts.Fix, steps ...conflicts.Step) conflicts.Fix {
	m.Steps = steps
	return m
}

// Insert is the step that calls functions behind an access.
func Insert(s *conflicts.Side, calls ...string) conflicts.Step {
	return conflicts.Step{Do: conflicts.StepInsert, Calls: calls, At: Place(s)}
}

// Until adds to a fix that calls something behind an access that any place before another
// statement will do. directly is its text where it has to be called at once.
func Until(m conflicts.Fix, to conflicts.SyncPoint, directly string) conflicts.Fix {
	m.Directly = directly
	if len(m.Steps) != 1 || m.Steps[0].Do != conflicts.StepInsert {
		return m
	}
	late := m.Steps[0]
	late.Do, late.To = conflicts.StepDelay, to
	m.Latest = []conflicts.Step{late}
	return m
}

// Between adds to a fix that lets all processes call something between two statements its
// texts for either end of that place alone. Its text has "<after> and <before>".
func Between(m conflicts.Fix, after, before string) conflicts.Fix {
	place := after + " and " + before
	m.Directly = strings.Replace(m.Text, place, "directly "+place, 1)
	m.Finally = strings.Replace(m.Text, place, after+" and what follows it, "+before, 1)
	if name, ok := strings.CutPrefix(before, "before "); ok && !strings.HasPrefix(name, "the next ") {
		m.Following = strings.Replace(m.Text, place, after+" and before the next "+strings.TrimPrefix(name, "the "), 1)
	}
	return m
}

// Meet is the step that lets all processes call functions between two statements.
func Meet(w *Wording, from, to conflicts.SyncPoint, calls ...string) conflicts.Step {
	return conflicts.Step{Do: conflicts.StepMeet, Calls: calls, At: from, To: to, Window: w.Finding.Window}
}

// MeetEach is Meet wherever the second statement is executed.
func MeetEach(w *Wording, from, to conflicts.SyncPoint, calls ...string) conflicts.Step {
	step := Meet(w, from, to, calls...)
	step.Do = conflicts.StepMeetEach
	return step
}

// Move is the step that moves one statement behind another.
func Move(at, behind conflicts.SyncPoint) conflicts.Step {
	return conflicts.Step{Do: conflicts.StepMove, At: at, To: behind}
}

// Advance is the step that moves one statement before another.
func Advance(at, before conflicts.SyncPoint) conflicts.Step {
	return conflicts.Step{Do: conflicts.StepAdvance, At: at, To: before}
}

// Replace is the step that calls another function in place of one, where that is named: what it
// calls may be called from elsewhere too.
func Replace(at conflicts.SyncPoint, call string) conflicts.Step {
	at.Stack = symbols.Outward(at.Stack)
	return conflicts.Step{Do: conflicts.StepReplace, Calls: []string{call}, At: at}
}

func elements(s *conflicts.Side) string {
	if s.Type == "" {
		return "a datatype of several basic types"
	}
	return s.Type
}

// unordered explains two accesses that nothing orders.
func (w *Wording) unordered() conflicts.Explanation {
	switch {
	case w.Finding.First.Rank != w.Finding.Second.Rank:
		return w.across()
	case w.unorderedStrands():
		return w.strands()
	}
	return w.within()
}

// within explains accesses by one process, of which the one spans the other.
func (w *Wording) within() conflicts.Explanation {
	span, other := w.InOrder()
	if !span.Pending {
		span, other = other, span
	}
	if oneCall(span, other) {
		return w.once(span, other)
	}
	e := conflicts.Explanation{Why: w.open(span, other)}
	if !crossed(span, other) || !samePoint(other.Started, span.Local) { // of which it says the same
		e.Why += w.local(span)
	}
	sought := conflicts.Sought{
		Kind: conflicts.SoughtCompletion, From: span.Done,
		Text: fmt.Sprintf("a call that completes %s before %s: there is none", w.Access(span), w.next(span, other)),
	}
	if crossed(span, other) {
		sought.Found = other.Started
		sought.Text = fmt.Sprintf("a call that completes %s before %s: there is only %s", w.Access(span), w.next(span, other), w.Call(other.Started))
	}
	e.Sought = append(e.Sought, sought)
	e.Fixes = w.fixWithin(span, other)
	return e
}

// oneCall reports whether two accesses of a process are of one call.
func oneCall(a, b *conflicts.Side) bool {
	return a.Call != "" && a.Call == b.Call && a.Event == b.Event && SamePlace(a.Stack, b.Stack)
}

// once explains accesses of one call, to the same bytes.
func (w *Wording) once(a, b *conflicts.Side) conflicts.Explanation {
	parts := fmt.Sprintf("its %s and by its %s", part(a), part(b))
	if part(a) == part(b) {
		parts = fmt.Sprintf("two parts of its %s", part(a))
	}
	return conflicts.Explanation{
		Why:   fmt.Sprintf("one call of %s accesses the same bytes by %s, in no order", w.Access(a), parts),
		Fixes: []conflicts.Fix{Propose(conflicts.FixSeparate, "use places that do not overlap")},
	}
}

// part names what of its call an access is.
func part(s *conflicts.Side) string {
	if s.Class == regions.Target {
		return "target"
	}
	return s.Role
}

// open says until when an operation is pending.
func (w *Wording) open(span, other *conflicts.Side) string {
	if span.Done.Call == "" {
		return fmt.Sprintf("no call completes %s %s, so %s may touch the bytes at the same time", w.Access(span), whileThere(span), w.next(span, other))
	}
	why := fmt.Sprintf("%s is not complete until %s", w.Access(span), w.Call(span.Done))
	if closedBeside(span, other) {
		why += fmt.Sprintf(" of %s, and nothing makes %s wait for that before %s", threadName(span.Done.Thread), threadName(other.Thread), w.next(span, other))
	} else {
		why += fmt.Sprintf(", and %s comes before that", w.next(span, other))
		if span.Thread == other.Thread && earlierLine(other, span) {
			why += ", in the next iteration"
		}
	}
	switch {
	case span.Beside.Call != "":
		why += "; " + w.beside(span)
	case crossed(span, other):
		why += "; " + w.between(span, other)
	}
	return why
}

// earlierLine reports whether an access that was made later stands earlier in the
// same function: the program comes by in a loop.
func earlierLine(later, sooner *conflicts.Side) bool {
	x, _ := symbols.Here(later.Stack)
	y, _ := symbols.Here(sooner.Stack)
	return x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && x.Line < y.Line
}

// between says what stands between two accesses of one process.
func (w *Wording) between(span, other *conflicts.Side) string {
	if !crossed(span, other) {
		return "there is no synchronization between them"
	}
	when := "is called between them"
	if span.Thread != other.Thread {
		when = "is called by " + threadName(other.Started.Thread) + " before " + w.next(span, other)
	}
	return w.Call(other.Started) + " " + when + ", but " + w.model.Idle(other.Started.Call, span, other)
}

// crossed reports whether a synchronization is known to stand between the
// accesses.
func crossed(span, other *conflicts.Side) bool {
	return other.Started.Call != "" && !samePoint(span.Started, other.Started) &&
		!(other.Started.Call == span.Call && SamePlace(other.Started.Stack, span.Stack))
}

// complete returns the steps that complete an access before a statement.
func (w *Wording) complete(how Completing, s *conflicts.Side, before conflicts.SyncPoint) []conflicts.Step {
	switch {
	case how.Call == "":
		return nil
	case how.All:
		meet := Meet(w, Place(s), before, how.Call)
		meet.Completes = true
		return []conflicts.Step{meet}
	case how.Once && how.Call == s.Done.Call:
		return []conflicts.Step{Advance(s.Done, before)}
	}
	return []conflicts.Step{Insert(s, how.Call)}
}

// fixWithin lists what would order an operation and what the same process does
// before it is complete.
func (w *Wording) fixWithin(span, other *conflicts.Side) []conflicts.Fix {
	var out []conflicts.Fix
	if follows(conflicts.SyncPoint{Call: part(other), Rank: other.Rank, Thread: other.Thread, Event: other.Event}, span.Beside) {
		out = append(out, w.waitForCompleting(span))
	}
	if m, ok := w.instead(span); ok {
		out = append(out, m)
	}
	remains := ""
	if span.Write && other.Write {
		remains = w.Outcome(span, other)
	}
	how := w.model.Completing(w, span)
	if how.How != "" {
		m := Doing(
			ProposeAt(conflicts.FixComplete, Place(other), "%s between %s and %s%s", how.How, w.Access(span), w.next(span, other), remains),
			w.complete(how, span, Place(other))...)
		m.Finally = fmt.Sprintf("%s after %s and what follows it, before %s%s", how.How, w.Access(span), w.next(span, other), remains)
		out = append(out, Until(m, Place(other), fmt.Sprintf("%s directly after %s%s", cmp.Or(how.Each, how.How), w.Access(span), remains)))
	}
	fence := w.model.Call(span.Done.Call).Fence
	switch {
	case span.Done.Call == "" || other.Class.OneSided() && !fence:
	case closedBeside(span, other):
		out = append(out, w.waitIn(other, threadName(span.Done.Thread), threadName(other.Thread), span.Done, remains))
	default:
		move := w.MoveAfter(other, span.Done, remains)
		from, target, _, _ := w.statements(other, span.Done)
		if fence && how.All && !earlier(target, from) { // which all processes call: one more is the greater change
			out = append([]conflicts.Fix{move}, out...)
		} else {
			out = append(out, move)
		}
	}
	switch {
	case other.Class.Gone(): // what is given up is given up where it is
	case span.Class.Buffer() && (other.Write || !span.Write):
		if !span.Write { // what is sent stays as it is, and waits for nobody
			return First(conflicts.Explanation{Fixes: out}, w.otherBuffer(span, other)).Fixes
		}
		out = append(out, w.otherBuffer(span, other))
	case !span.Class.Buffer() && !other.Class.Buffer() && other.Class.OneSided():
		if atomic, ok := w.model.Atomic(w, span, other); ok {
			out = append(out, atomic)
		}
		out = append(out, Propose(conflicts.FixSeparate, "use different places of the %s", w.model.Terms().Object))
	}
	if out == nil {
		return w.model.Late(w, span, other)
	}
	return out
}

// otherBuffer proposes to use other memory than an operation does that may be pending: how
// many buffers that takes depends on how many are.
func (w *Wording) otherBuffer(span, other *conflicts.Side) conflicts.Fix {
	uses := "reads"
	if span.Write {
		uses = "writes to"
	}
	return ProposeAt(conflicts.FixSeparate, Place(other), "use another buffer in %s, one that no %s still %s", w.Deed(other), span.Call, uses)
}
