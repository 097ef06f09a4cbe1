package analysis

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
)

// copies says which call is missing under the separate memory model.
func (w *wording) copies() conflicts.Explanation {
	f := w.f
	local, op := &f.First, &f.Second
	if isTarget(local) {
		local, op = op, local
	}
	owner := fmt.Sprintf("rank %d", f.Owner)
	sought := conflicts.Sought{
		Kind: conflicts.SoughtVisibility,
		Text: fmt.Sprintf("a call of %s that brings the copies of its window together, between %s and %s: there is none", owner, w.access(local), w.access(op)),
	}
	e := conflicts.Explanation{Sought: []conflicts.Sought{sought}}
	if f.Rule == conflicts.RuleCopyUpdates {
		e.Why = fmt.Sprintf("%s of %s changes the private copy of its window, and %s of rank %d the public one, with no call of %s between the two that brings the copies together; MPI forbids that under the separate memory model even at different places",
			w.access(local), owner, w.access(op), op.Rank, owner)
		e.Mends = []conflicts.Mend{
			mend(conflicts.MendSynchronize, "let %s synchronize the window between the two (fence, or complete the operation, synchronize the processes and call MPI_Win_sync)", owner),
			mend(conflicts.MendSeparate, "use two windows"),
		}
		return e
	}
	e.Why = fmt.Sprintf("under the separate memory model %s of %s uses the private copy of its window, and %s of rank %d the public one; %s makes no call between the two that brings the copies together",
		w.access(local), owner, w.access(op), op.Rank, owner)
	call := "MPI_Win_sync on this window between the two, once the first is complete"
	switch {
	case !local.Write:
		call = fmt.Sprintf("MPI_Win_sync (or wait, fence, lock) on this window after %s is complete and before %s", w.access(op), w.access(local))
	case !op.Write:
		call = fmt.Sprintf("MPI_Win_sync (or post, fence, unlock) on this window after %s and before %s", w.access(local), w.access(op))
	}
	e.Mends = []conflicts.Mend{mend(conflicts.MendSynchronize, "let %s call %s", owner, call)}
	return e
}

// isTarget reports whether a side is the access of an operation to its target.
func isTarget(s *conflicts.Side) bool {
	switch s.Role {
	case "put", "get", "accumulate", "fetch", "compare-and-swap":
		return true
	}
	return false
}
