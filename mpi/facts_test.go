package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFacts(t *testing.T) {
	for fn := range stated {
		require.Contains(t, table, fn)
	}
	require.Zero(t, FactsOf("MPI_Unheard_of"))
	require.Equal(t, Facts{OneSided: true, Request: true}, FactsOf("MPI_Rput"))
	require.Equal(t, Facts{OneSided: true}, FactsOf("MPI_Compare_and_swap"))
	require.Equal(t, Facts{Window: true, Completes: CompletesAtOrigin, Only: true}, FactsOf("MPI_Win_flush_local_all"))
	require.Equal(t, Facts{Window: true, Completes: CompletesAll, Orders: OrdersAll, Waits: true}, FactsOf("MPI_Win_fence"))
	for fn, want := range map[string]Orders{
		"MPI_Igather": OrdersRootLast, "MPI_Iscatterv": OrdersRootFirst, "MPI_Exscan": OrdersByRank,
		"MPI_Ineighbor_alltoallw": OrdersNeighbours, "MPI_Comm_dup": OrdersAll, "MPI_Bcast_init": OrdersNobody,
	} {
		require.Equal(t, want, FactsOf(fn).Orders, fn)
	}
}
