package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// fixAcross lists what would order accesses of two processes. Each must fix the
// finding when it is carried out to the letter, be allowed by the model, and say
// which value remains where that is its choice.
func (w *Wording) fixAcross(a, b *conflicts.Side) []conflicts.Fix {
	var out []conflicts.Fix
	for _, pair := range [][2]*conflicts.Side{{a, b}, {b, a}} {
		if s, heard := pair[0], pair[1].Heard; follows(heard, s.Beside) {
			out = append(out, w.waitForCompleting(s))
		}
	}
	if w.Finding.Began != 0 && a.Pending {
		if m, ok := w.instead(a); ok {
			out = append(out, m)
		}
		out = append(out, w.fixLate(a, b)...)
	} else {
		out = append(out, w.fixUnordered(a, b)...)
	}
	if m, ok := w.model.Lock(w, a, b); ok {
		out = append(out, m)
	}
	return append(out, w.Answers(a, b)...)
}

// Answers lets either of two processes wait for the other before it uses a place again.
func (w *Wording) Answers(a, b *conflicts.Side) (out []conflicts.Fix) {
	for _, pair := range [][2]*conflicts.Side{{a, b}, {b, a}} {
		if m, ok := w.answer(pair[0], pair[1]); ok {
			out = append(out, m)
		}
	}
	return out
}

// answer lets what a process does again wait for another one that comes after what it did the last time,
// as it has been told: a place is used again that may still be read.
func (w *Wording) answer(again, s *conflicts.Side) (conflicts.Fix, bool) {
	told := s.Heard
	call := w.model.Call(told.Call)
	if !w.Finding.Again || w.Finding.Began != 0 || !again.Write || told.Rank != again.Rank || !call.Tells && !call.Sends && told.Language() == "" || w.ByChance(s) {
		return conflicts.Fix{}, false
	}
	return w.Answer(again, s), true
}

// Answer proposes that a process is told that it may use a place again.
func (w *Wording) Answer(again, s *conflicts.Side) conflicts.Fix {
	m := ProposeAt(conflicts.FixSynchronize, Place(again), "let %s tell %s behind %s that it may go on, and let %s wait for that before %s uses the same bytes again",
		w.rank(s.Rank), w.rank(again.Rank), w.Access(s), w.rank(again.Rank), w.Access(again))
	m.Fallback = true
	return m
}

// instead puts a call that completes an operation in place of one that does so at its
// origin only.
func (w *Wording) instead(s *conflicts.Side) (conflicts.Fix, bool) {
	call := w.model.Instead(s.Local.Call)
	if call == "" || s.Class.Buffer() {
		return conflicts.Fix{}, false
	}
	return Doing(ProposeAt(conflicts.FixComplete, s.Local, "call %s instead of %s", call, w.Call(s.Local)), Replace(s.Local, call)), true
}

// inTime completes a before its process calls what happens before b.
func (w *Wording) inTime(a, b *conflicts.Side) (conflicts.Fix, bool) {
	how := w.model.Completing(w, a)
	if how.How == "" || b.Heard.Call == "" || how.All {
		return conflicts.Fix{}, false
	}
	atOnce := samePoint(b.Heard, Place(a)) // what is waited for follows it at once
	where := fmt.Sprintf("after %s and before %s of %s, which happens before %s%s", w.Access(a), w.Call(b.Heard), w.rank(a.Rank), w.Access(b), w.chance(b))
	if atOnce {
		where = fmt.Sprintf("right after %s, before %s lets %s know of it", w.Access(a), w.rank(a.Rank), w.rank(b.Rank))
	}
	m := Doing(ProposeAt(conflicts.FixComplete, b.Heard, "%s%s %s", how.How, how.Or, where), w.complete(how, a, b.Heard)...)
	m.Chance = w.ByChance(b)
	if !atOnce {
		m = Until(m, b.Heard, fmt.Sprintf("%s directly after %s", cmp.Or(how.Each, how.How), w.Access(a)))
	}
	return m, true
}

// fixLate: a starts before b in any case, but is complete too late.
func (w *Wording) fixLate(a, b *conflicts.Side) []conflicts.Fix {
	var out []conflicts.Fix
	how := w.model.Completing(w, a)
	if m, ok := w.inTime(a, b); ok {
		out = append(out, m)
	}
	own := w.model.Late(w, a, b)
	out = append(out, own...)
	switch {
	case w.model.Call(a.Done.Call).Fence:
		if how.All { // it completes the operation and orders in one
			out = append(out, Doing(ProposeAt(conflicts.FixComplete, Place(b), "%s after %s and before %s%s", how.How, w.Access(a), w.Access(b), w.Outcome(a, b)),
				w.complete(how, a, Place(b))...))
		}
		return append(out, w.MoveAfter(b, a.Done, ""))
	case own != nil:
		return out
	}
	wait, meet := w.model.Terms().Wait, Meet(w, a.Done, Place(b), w.model.Terms().Meet)
	switch {
	case a.Done.Call != "" && earlier(Place(b), a.Done):
		move := w.MoveAfter(b, a.Done, fmt.Sprintf(", with %s waiting for %s in between (%s)", w.rank(b.Rank), w.rank(ender(a, b)), wait))
		if len(move.Steps) > 0 {
			move.Steps = append(move.Steps, Meet(w, move.Steps[0].To, move.Steps[0].At, w.model.Terms().Meet))
		}
		return append(out, move)
	case a.Done.Call != "":
		m := Doing(ProposeAt(conflicts.FixSynchronize, a.Done, "let %s wait for %s (%s) after %s and before %s",
			w.rank(b.Rank), w.rank(ender(a, b)), wait, w.Call(a.Done), w.Access(b)), meet)
		return append(out, Between(m, "after "+w.Call(a.Done), "before "+w.Access(b)))
	}
	return append(out, Propose(conflicts.FixSynchronize, "complete %s, then synchronize the two %s", w.Access(a), w.model.Terms().Processes))
}

// earlier reports whether a statement stands before another one in one function: processes come by
// them in that order, but for loops.
func earlier(p, q conflicts.SyncPoint) bool {
	x, _ := symbols.Here(p.Stack)
	y, _ := symbols.Here(q.Stack)
	return x.File != "" && x.File == y.File && x.Func == y.Func && x.Line > 0 && x.Line < y.Line
}

// ClosedBy reports whether an operation is complete only with a call of the
// other access's process.
func ClosedBy(op, own *conflicts.Side) bool {
	return op.Pending && !own.Pending && op.Done.Call != "" && op.Done.Rank == own.Rank && op.Rank != own.Rank
}

// Outcome says what is in memory, or read, when one access comes before another.
func (w *Wording) Outcome(first, second *conflicts.Side) string {
	x, y := w.Deed(first), w.Deed(second)
	if p, q := bare(first), bare(second); p != q {
		x, y = p, q
	}
	switch {
	case second.Class.Gone():
		return ""
	case !second.Write:
		return fmt.Sprintf(", so that %s reads what %s wrote", y, x)
	case !first.Write:
		return fmt.Sprintf(", so that %s reads the value from before %s", x, y)
	case second.Atomic:
		return fmt.Sprintf(", so that %s works on the value of %s", y, x)
	}
	return fmt.Sprintf(", so that the value of %s remains", y)
}

// bare names an access without its place.
func bare(s *conflicts.Side) string {
	if s.Call == "" {
		return "the " + s.Role
	}
	return s.Call
}

// Deed names what makes an access, which is what can be moved: of a call's
// buffer the call.
func (w *Wording) Deed(s *conflicts.Side) string { return bare(s) + w.At(s.Stack) }

// fixUnordered: either of the two may come first.
func (w *Wording) fixUnordered(a, b *conflicts.Side) []conflicts.Fix {
	order := w.fixOrder(a, b)
	separate := Propose(conflicts.FixSeparate, "let the two %s use different places of the %s%s", w.model.Terms().Processes, w.model.Terms().Object, w.Places())
	switch {
	case a.Class == regions.Target && b.Class == regions.Target:
	case a.Class == regions.Target && b.Class.Buffer(), a.Class.Buffer() && b.Class == regions.Target:
		return append(order, separate)
	default:
		return append(w.atomicToo(a, b), order...)
	}
	atomic, can := w.model.Atomic(w, a, b)
	var out []conflicts.Fix
	if SamePlace(a.Stack, b.Stack) { // there is no room between a line and itself
		out = append(out, separate)
	}
	if can && a.Atomic != b.Atomic { // the one is atomic already
		out, can = append(out, atomic), false
	}
	out = append(out, order...)
	if can {
		out = append(out, atomic)
	}
	if !SamePlace(a.Stack, b.Stack) {
		out = append(out, separate)
	}
	return out
}

// atomicToo proposes an atomic operation in place of a load or store of the process in whose memory
// another one makes an atomic operation: of one element, as those are.
func (w *Wording) atomicToo(a, b *conflicts.Side) []conflicts.Fix {
	if a.Class == regions.Local {
		a, b = b, a
	}
	if a.Class != regions.Target || !a.Atomic || b.Class != regions.Local || b.Rank != w.Finding.Owner || b.Lo != a.Lo || b.Hi != a.Hi {
		return nil
	}
	return []conflicts.Fix{ProposeAt(conflicts.FixOperation, Place(b), "use %s in place of %s, if any order will do", w.model.Terms().OwnAtomic, w.Access(b))}
}

// fixOrder says which synchronization would order two accesses of which either
// may come first.
func (w *Wording) fixOrder(a, b *conflicts.Side) []conflicts.Fix {
	return append(w.Told(a, b), w.synchronized(a, b)...)
}

// Told moves one of two accesses of which either may come first before an operation that lets
// the other's process come after it.
func (w *Wording) Told(a, b *conflicts.Side) (out []conflicts.Fix) {
	for _, x := range [][2]*conflicts.Side{{a, b}, {b, a}} {
		if m, ok := w.beforeTold(x[0], x[1]); ok {
			out = append(out, m)
		}
	}
	return out
}

// ByChance reports whether the process of an access comes after what it has heard of because it was the
// later one to do the same, as the next one that takes a number: it has waited for nobody, since it goes on
// with the access at once. Who polls behind that, as in a barrier by a counter, has waited.
func (w *Wording) ByChance(s *conflicts.Side) bool {
	if !w.model.Call(s.Heard.Call).Takes || !samePoint(s.Heard, s.Left) || s.Event <= s.Left.Event {
		return false
	}
	between := uint64(1)
	if s.Started.Event > s.Left.Event { // it completes the operation, and notes say what that has fetched, and whose lock comes next
		between = 4
	}
	return s.Event-s.Left.Event <= between
}

// chance says so behind what the process has heard of.
func (w *Wording) chance(s *conflicts.Side) string {
	if w.ByChance(s) {
		return " in this run, by the order in which the two took their values"
	}
	return ""
}

// beforeTold moves a before the operation of its process that b comes after because of what that
// has left, as a flag that is given too early.
func (w *Wording) beforeTold(a, b *conflicts.Side) (conflicts.Fix, bool) {
	told := b.Heard
	if !w.model.Call(told.Call).Tells && told.Language() == "" || told.Rank != a.Rank {
		return conflicts.Fix{}, false
	}
	from, target, what, before := w.statements(a, told)
	x, _ := symbols.Here(target.Stack)
	y, _ := symbols.Here(from.Stack)
	if x.Func == "" || x.Func != y.Func || x.File != y.File || x.Line >= y.Line {
		return conflicts.Fix{}, false
	}
	how, too := w.model.Completing(w, a), ""
	steps := []conflicts.Step{Advance(from, target)}
	switch {
	case !a.Pending:
	case how.Call == "" || how.All:
		return conflicts.Fix{}, false
	default:
		too = fmt.Sprintf(" and %s behind it, both", how.How)
		steps = append(steps, Insert(a, how.Call))
	}
	text := fmt.Sprintf("move %s%s before %s, which happens before %s%s%s", what, too, before, w.Access(b), w.chance(b), w.Outcome(a, b))
	m := Doing(ProposeAt(conflicts.FixMove, told, "%s", text), steps...)
	m.Chance = w.ByChance(b)
	return m, true
}

// synchronized says which synchronization would order two accesses of which either may come first.
func (w *Wording) synchronized(a, b *conflicts.Side) []conflicts.Fix {
	if own := w.model.Order(w, a, b); own != nil {
		return own
	}
	if SamePlace(a.Stack, b.Stack) {
		again := ""
		if w.Finding.Again {
			again = "; in a loop, do so in each iteration, and let the first wait for the second before the next one"
		}
		return []conflicts.Fix{Propose(conflicts.FixSynchronize, "let one %s wait for the other: %s%s, then the other access%s",
			w.model.Terms().Process, w.ending(a), w.model.Terms().Between, again)}
	}
	x, y, lines := Meant(a, b)
	if !lines {
		return []conflicts.Fix{w.inTurn(x, y), w.inTurn(y, x), w.turned(x, y)}
	}
	m, back := w.inTurn(x, y), w.inTurn(y, x) // the one line may come after the other in the next call
	if back.Less != nil {
		back = *back.Less
	}
	OrElse(cmp.Or(m.Less, &m), back)
	return []conflicts.Fix{m, w.turned(x, y)}
}

// OrElse adds a change that is better than a fix, and those that it has already, if a trial
// says that it removes more.
func OrElse(m *conflicts.Fix, other conflicts.Fix) {
	for m.More != nil {
		m = m.More
	}
	m.More = &other
}

// Together lets each process do two operations as one update, in the way of the model.
func (w *Wording) Together(read, write *conflicts.Side, how string) string {
	return fmt.Sprintf("if they are one update, let each %s do both, %s and %s, %s: what another one writes in between is lost else",
		w.model.Terms().Process, w.Access(read), w.Access(write), how)
}

// ending says what completes an access, as the first of several steps.
func (w *Wording) ending(s *conflicts.Side) string {
	if !s.Pending {
		return ""
	}
	if how := w.model.Completing(w, s).How; how != "" {
		return how + ", then "
	}
	return "complete the operation, then "
}

// BehindCompletion orders two accesses by calls behind what completes the first at once, and before the
// second, which is called that.
func (w *Wording) BehindCompletion(x, y *conflicts.Side, what, name string, calls ...string) conflicts.Fix {
	e := w.completed(x)
	m := Propose(conflicts.FixSynchronize, "%s%s %s and before %s%s", e.first, what, e.after, name, w.Outcome(x, y))
	if !e.known {
		return m
	}
	return Doing(m, append(e.steps, Meet(w, e.at, Place(y), calls...))...)
}

// InTurns lets all processes call something behind x and before y, and behind y and before the next x.
func (w *Wording) InTurns(x, y *conflicts.Side, what string, calls ...string) conflicts.Fix {
	return Doing(Propose(conflicts.FixSynchronize, "%s after %s and before %s, and again after that and before the next %s, so that each comes in its turn",
		what, w.Access(x), w.Access(y), w.Named(x)), Meet(w, Place(x), Place(y), calls...), Meet(w, Place(y), Place(x), calls...))
}

// ender is the process whose call completes an access, for which that of another one has to wait.
func ender(s, other *conflicts.Side) int {
	if s.Pending && s.Done.Call != "" && s.Done.Rank != other.Rank {
		return s.Done.Rank
	}
	return s.Rank
}

// ended is what an access is over with.
type ended struct {
	first string              // what to do for that, as the first of several steps: "call MPI_Win_flush for rank 1 after MPI_Put (line 9), and "; otherwise ""
	after string              // "after MPI_Win_flush (line 12)"
	at    conflicts.SyncPoint // the statement
	steps []conflicts.Step    // that first says
	known bool                // steps are all
}

// after says after what an access is over, and what to call for that to be so
// where the program completes it too late.
func (w *Wording) after(s *conflicts.Side) ended {
	how := w.model.Completing(w, s)
	switch {
	case !s.Pending:
		return ended{after: "after " + w.Access(s), at: Place(s), known: true}
	case s.Done.Call != "" && (how.How == "" || w.model.Call(s.Done.Call).Only || w.model.Call(s.Done.Call).Ends):
		return ended{after: "after " + w.Call(s.Done), at: s.Done, known: true}
	}
	return w.completed(s)
}

// completed says after what an access is over where it is completed at once.
func (w *Wording) completed(s *conflicts.Side) ended {
	if how := w.model.Completing(w, s); how.How != "" {
		e := ended{first: fmt.Sprintf("%s after %s, and ", how.How, w.Access(s)), after: "after that", at: Place(s)}
		if e.known = how.Call != "" && !how.All && !(how.Once && how.Call == s.Done.Call); e.known {
			e.steps = []conflicts.Step{Insert(s, how.Call)}
		}
		return e
	}
	return ended{first: fmt.Sprintf("complete %s, and ", w.Access(s)), after: "after that", at: Place(s)}
}

// inTurn orders two accesses as the program names them: the second after what completes the
// first, or, where that may come too late for it, after another call that does.
func (w *Wording) inTurn(x, y *conflicts.Side) conflicts.Fix {
	e := w.after(x)
	m := w.waits(e, x, y)
	if early := w.completed(x); e.first == "" && early.known && x.Pending {
		more := w.waits(early, x, y)
		if m.Less != nil {
			OrElse(m.Less, *more.Less)
		}
		more.Less = nil
		OrElse(&m, more)
	}
	return m
}

// waits orders two accesses, the second after what the first is over with.
func (w *Wording) waits(e ended, x, y *conflicts.Side) conflicts.Fix {
	terms := w.model.Terms()
	name := w.Following(e.at, y, w.Access(y))
	m := ProposeAt(conflicts.FixSynchronize, Place(y), "%slet %s wait for %s (%s) %s and before %s%s",
		e.first, w.rank(y.Rank), w.rank(ender(x, y)), terms.Wait, e.after, name, w.Outcome(x, y))
	var steps []conflicts.Step
	if e.known {
		steps = append(e.steps, Meet(w, e.at, Place(y), terms.Meet))
	}
	return w.repeated(Between(m, e.after, "before "+name), x, y, steps)
}

// repeated adds to a fix what a loop needs besides, in which x comes before y: that y is
// over before the next x.
func (w *Wording) repeated(m conflicts.Fix, x, y *conflicts.Side, steps []conflicts.Step) conflicts.Fix {
	once := Doing(m, steps...)
	if !w.Finding.Again {
		return once
	}
	e := w.after(y)
	m.Text += fmt.Sprintf("; in a loop whose next iteration uses the same bytes, %slet %s wait for %s too %s", e.first, w.rank(x.Rank), w.rank(y.Rank), e.after)
	m.Directly, m.Finally, m.Following = "", "", "" // there are two places
	if len(steps) > 0 {
		m.Less = &once
		if e.known {
			m.Steps = slices.Concat(steps, e.steps, []conflicts.Step{Meet(w, e.at, Place(x), w.model.Terms().Meet)})
		}
	}
	return m
}

// turned orders two accesses against the order in which the program names them:
// so the one has to move.
func (w *Wording) turned(x, y *conflicts.Side) conflicts.Fix {
	e, terms := w.after(y), w.model.Terms()
	m := ProposeAt(conflicts.FixMove, Place(x), "the other way round: %smove %s %s, with %s waiting for %s in between (%s)%s",
		e.first, w.Deed(x), e.after, w.rank(x.Rank), w.rank(y.Rank), terms.Wait, w.Outcome(y, x))
	var steps []conflicts.Step
	if e.known {
		steps = append(e.steps, Move(Place(x), e.at), Meet(w, e.at, Place(x), terms.Meet))
	}
	return w.repeated(m, y, x, steps)
}
