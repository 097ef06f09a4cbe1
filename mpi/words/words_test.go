package words

import (
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
