package words

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/symbols"
)

// TestOrdersPartly: which collective calls order only some of their processes.
func TestOrdersPartly(t *testing.T) {
	for call, want := range map[string]string{
		"MPI_Reduce": "root wait", "MPI_Gatherv": "root wait", "MPI_Igather": "root wait", "MPI_Bcast": "for its root", "MPI_Iscatterv": "for its root",
		"MPI_Neighbor_alltoallw": "neighbours", "MPI_Ineighbor_allgather": "neighbours", "MPI_Exscan": "lower rank", "MPI_Scan": "lower rank",
		"MPI_Barrier": "", "MPI_Allreduce": "", "MPI_Ireduce_scatter": "", "MPI_Ibarrier": "", "MPI_Win_fence": "",
	} {
		got := vocabulary{}.Call(call).Partly
		require.Contains(t, got, want, call)
		require.Equal(t, want == "", got == "", call)
	}
}

// TestIdleOfThreads: what another thread completes may lie beside the operation.
func TestIdleOfThreads(t *testing.T) {
	put := &conflicts.Side{Call: "MPI_Put", Class: regions.Target, Thread: 3}
	require.Equal(t, "does not complete it: it is for another window, target or kind of epoch",
		vocabulary{}.Idle("MPI_Win_flush", put, &conflicts.Side{Thread: 3}))
	require.Equal(t, "does not complete the operation: nothing orders it after that, or it is for another window, target or kind of epoch",
		vocabulary{}.Idle("MPI_Win_flush", put, &conflicts.Side{Thread: 1}))
	require.Equal(t, "completes operations at their origin only", vocabulary{}.Idle("MPI_Win_flush_local", put, &conflicts.Side{Thread: 1}))
}

// TestFixesOfShared: a fence is proposed where fences are what there is; within a lock it is an
// error.
func TestFixesOfShared(t *testing.T) {
	with := func(call string) int {
		f := &conflicts.Finding{Rule: conflicts.RuleShared}
		f.First.Started.Call, f.Second.Next.Call = "MPI_Barrier", call
		n := 0
		for _, fix := range Explain(f).Fixes {
			if strings.Contains(fix.Text, "MPI_Win_fence") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, with("MPI_Win_fence"))
	require.Zero(t, with("MPI_Win_unlock_all"))
}

// TestLoopThatWaits: where a loop may wait for a value by loads, fetching it is proposed first, and leaving it
// with an accumulate operation where it is put.
func TestLoopThatWaits(t *testing.T) {
	at := func(line int) []symbols.Frame { return []symbols.Frame{{Func: "main", File: "a.c", Line: line}} }
	f := &conflicts.Finding{
		Rule: "MC102", Class: conflicts.AcrossProcesses,
		First:  conflicts.Side{Call: "MPI_Put", Role: "put", Class: regions.Target, Write: true, Stack: at(10)},
		Second: conflicts.Side{Rank: 1, Role: "load", Class: regions.Local, Stack: at(20)},
	}
	require.NotContains(t, Explain(f).Fixes[0].Text, "MPI_Fetch_and_op")
	f.Second.Polls = true
	first := Explain(f).Fixes[0]
	require.True(t, first.Leads)
	require.Equal(t, "if the loop waits for what MPI_Put (line 10) leaves, fetch that there with MPI_Fetch_and_op and MPI_NO_OP, and an MPI_Win_flush behind it, "+
		"in place of the load (line 20), and leave it with MPI_Accumulate and MPI_REPLACE in place of MPI_Put (line 10): what follows the loop comes after it then", first.Text)
	f.First.Call, f.First.Atomic = "MPI_Accumulate", true
	require.NotContains(t, Explain(f).Fixes[0].Text, "MPI_REPLACE")
}

// TestTogetherWithVoidLocks: one update of two operations under locks with MPI_MODE_NOCHECK takes locks without it.
func TestTogetherWithVoidLocks(t *testing.T) {
	f := &conflicts.Finding{Rule: "MC101", Class: conflicts.AcrossProcesses, Window: 1}
	f.First.Locks = []conflicts.Lock{{Exclusive: true, Window: 1, Void: true}}
	f.Second.Locks = f.First.Locks
	require.Contains(t, Together(f, &f.First, &f.Second), "with MPI_LOCK_EXCLUSIVE and without MPI_MODE_NOCHECK, or")
	f.First.Locks = []conflicts.Lock{{Window: 1}}
	f.Second.Locks = f.First.Locks
	require.Contains(t, Together(f, &f.First, &f.Second), "with MPI_LOCK_EXCLUSIVE, or")
}
