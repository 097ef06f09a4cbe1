package words

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/regions"
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
