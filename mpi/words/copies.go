package words

import (
	"fmt"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/regions"
)

// copies says which call is missing under the separate memory model.
func copies(w *explain.Wording) conflicts.Explanation {
	f := w.Finding
	local, op := &f.First, &f.Second
	if local.Class == regions.Target {
		local, op = op, local
	}
	owner := fmt.Sprintf("rank %d", f.Owner)
	sought := conflicts.Sought{
		Kind: conflicts.SoughtVisibility,
		Text: fmt.Sprintf("a call of %s that synchronizes the copies of its window, between %s and %s: there is none", owner, w.Access(local), w.Access(op)),
	}
	e := conflicts.Explanation{Sought: []conflicts.Sought{sought}}
	if f.Rule == conflicts.RuleCopyUpdates {
		e.Why = fmt.Sprintf("%s of %s changes the private copy of its window, and %s of rank %d the public one, with no call of %s between the two that synchronizes the copies; MPI forbids that under the separate memory model even at different places",
			w.Access(local), owner, w.Access(op), op.Rank, owner)
		e.Fixes = []conflicts.Fix{
			explain.Propose(conflicts.FixSynchronize, "let %s synchronize the window between the two (fence, or complete the operation, synchronize the processes and call MPI_Win_sync)", owner),
			explain.Propose(conflicts.FixSeparate, "use two windows"),
		}
		return e
	}
	e.Why = fmt.Sprintf("under the separate memory model %s of %s uses the private copy of its window, and %s of rank %d the public one; %s makes no call between the two that synchronizes the copies",
		w.Access(local), owner, w.Access(op), op.Rank, owner)
	call := "MPI_Win_sync on this window between the two, once the first is complete"
	switch {
	case !local.Write:
		call = fmt.Sprintf("MPI_Win_sync (or wait, fence, lock) on this window after %s is complete and before %s", w.Access(op), w.Access(local))
	case !op.Write:
		call = fmt.Sprintf("MPI_Win_sync (or post, fence, unlock) on this window after %s and before %s", w.Access(local), w.Access(op))
	}
	e.Fixes = []conflicts.Fix{explain.Propose(conflicts.FixSynchronize, "let %s call %s", owner, call)}
	return e
}
