package words

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/gaspi"
	"github.com/mcchk/mcchk/symbols"
)

// before says how to bring one access before another, where one of them is a write: no
// call of its own rank completes that at its target, but a notification that is seen there.
func before(w *explain.Wording, kind conflicts.FixKind, x, y *conflicts.Side) conflicts.Fix {
	if writes(x) {
		return explain.Propose(kind, "%s", arrived(w, x, y))
	}
	wait := ""
	if x.Pending {
		wait = "call gaspi_wait for its queue and then "
	}
	t := Terms()
	return explain.Propose(kind, "let %s %spost gaspi_notify to %s after %s, and let %s call gaspi_notify_waitsome for it before %s%s",
		t.Number(x.Rank), wait, t.Number(y.Rank), w.Access(x), t.Number(y.Rank), w.Access(y), w.Outcome(x, y))
}

// arrived says what shows that a write has arrived before another access.
func arrived(w *explain.Wording, x, y *conflicts.Side) string {
	t, post, it := Terms(), "", "the notification of "+w.Access(x)
	if !gaspi.FactsOf(x.Call).Notifies {
		post = fmt.Sprintf("post gaspi_notify to the queue of %s behind it (or use %s_notify), and ", w.Access(x), x.Call)
		it = "it"
	}
	hear := "call gaspi_notify_waitsome for " + it
	owner := w.Finding.Owner
	if y.Rank == owner {
		return fmt.Sprintf("%s%s before %s", post, hear, w.Access(y))
	}
	tell := "tell " + t.Number(y.Rank)
	if x.Rank == y.Rank {
		tell = "answer"
	}
	return fmt.Sprintf("%slet %s %s and %s with a notification, which %s waits for before %s", post, t.Number(owner), hear, tell, t.Number(y.Rank), w.Access(y))
}

// inTurn proposes either order of two accesses, one of which is a write, that of the
// program first.
func inTurn(w *explain.Wording, a, b *conflicts.Side) []conflicts.Fix {
	x, y, _ := explain.Meant(a, b)
	switch {
	case explain.SamePlace(a.Stack, b.Stack):
		return []conflicts.Fix{before(w, conflicts.FixSynchronize, x, y)}
	case nextPass(x, y): // or it is for the write of another place that it has waited
		meant := before(w, conflicts.FixSynchronize, x, y)
		meant.Text = fmt.Sprintf("if %s is meant to come after this %s, %s", w.Access(y), w.Access(x), meant.Text)
		return []conflicts.Fix{before(w, conflicts.FixSynchronize, y, x), meant}
	case nextPass(y, x):
		return []conflicts.Fix{before(w, conflicts.FixSynchronize, x, y)}
	}
	return []conflicts.Fix{before(w, conflicts.FixSynchronize, x, y), before(w, conflicts.FixSynchronize, y, x)}
}

// nextPass reports whether the other access has waited for a write of the same statement
// before: in a loop, whose next pass writes again.
func nextPass(x, y *conflicts.Side) bool {
	posts := func(call string, stack []symbols.Frame) bool {
		return y.Heard.Call == call && explain.SamePlace(y.Heard.Stack, stack)
	}
	return writes(x) && !writes(y) && y.Heard.Call != "" && (posts(x.Call, x.Stack) || posts(x.Next.Call, x.Next.Stack))
}
