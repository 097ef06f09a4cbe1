package words

import (
	"testing"

	"github.com/stretchr/testify/require"
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
