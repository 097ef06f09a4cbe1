package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// polls is core.Meaning.Polls: operations that fetch a word each and change nothing, calls that
// complete them, and the tracer's note of what they fetched.
func (m *Model) polls(p *process, round []*trace.Call) (operations uint64) {
	for i, c := range round {
		r := table[c.Fn.Name]
		switch {
		case r == nil || c.Failed || !c.Returned:
			return 0
		case r.op != (operationRole{}):
			if found, told := fetchedIn(round[i:], c); !told || !m.leavesAll(p, core.NewCall(c), r, found) {
				return 0
			}
			operations++
		case !betweenPolls[c.Fn.Name] && !keepsNobodyAway(c):
			return 0
		}
	}
	return operations
}

// keepsNobodyAway reports whether a call begins or ends a lock epoch within which others may lock, too. In
// which order they do is of no account for a round: its first and its last are replayed. Of an exclusive
// lock, each excludes others.
func keepsNobodyAway(c *trace.Call) bool {
	if c.Fn.Name == "MPI_Win_unlock" {
		return true // that of a lock in the round
	}
	kind, ok := c.Arg("lock_type")
	return ok && kind.Int != trace.LockExclusive
}

// passed is core.Meaning.Passed of MPI_Win_lock: its ticket is taken, and given back at once.
func (m *Model) passed(p *process, call *trace.Call) {
	c := core.NewCall(call)
	e := p.window(c.Int(argWin))
	if e == nil {
		return
	}
	if target, n := e.win.target(c.Int(argRank)), c.Int(argTicket); target >= 0 && n >= 0 {
		m.Skip(m.lockOrder(e, target), n)
	}
}

// betweenPolls are the functions that a round of polls may call beside.
var betweenPolls = set("mcchk_Fetched MPI_Win_flush MPI_Win_flush_all MPI_Win_flush_local MPI_Win_flush_local_all MPI_Win_sync")

// fetchedIn returns what an operation has fetched of its first word, by what notes tell behind it.
func fetchedIn(behind []*trace.Call, op *trace.Call) (found int64, told bool) {
	number, _ := op.Arg("number")
	for _, c := range behind {
		if c.Fn.Name != "mcchk_Fetched" || number.Int == 0 {
			continue
		}
		numbers, _ := c.Arg("numbers")
		values, _ := c.Arg("values")
		if i := slices.Index(numbers.List, number.Int); i >= 0 && i < len(values.List) {
			return values.List[i], true
		}
	}
	return 0, false
}

// leavesAll reports whether an operation changes nothing, which found this in the first of its words.
func (m *Model) leavesAll(p *process, c *core.Call, r *entry, found int64) bool {
	b, ok := p.onTarget(m, c, r)
	if !ok {
		return false
	}
	a, _, err := b.access(r.op)
	if err != nil {
		return false
	}
	if update := b.update(&a, 0); update != nil && b.values() > 1 {
		return false
	} else if update != nil {
		_, writes := update(core.Value{Bits: found, Known: true})
		return !writes
	}
	return true
}
