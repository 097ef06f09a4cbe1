package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

func TestSameCall(t *testing.T) {
	for _, fn := range []string{"MPI_Bcast", "MPI_Bcast_c"} {
		require.Equal(t, "MPI_Bcast", sameCall(fn))
	}
	require.Equal(t, sameCall("MPI_Comm_dup"), sameCall("MPI_Comm_dup_with_info"))
	require.NotEqual(t, sameCall("MPI_Barrier"), sameCall("MPI_Ibarrier"))
}

func TestAssertion(t *testing.T) {
	require.Equal(t, "MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED", assertion(trace.AssertNoPrecede|trace.AssertNoSucceed))
	require.Equal(t, "MPI_MODE_NOSUCCEED", assertion(trace.AssertNoSucceed))
	require.Contains(t, assertion(0), "neither")
}

// Every call that says something of epochs is in the table of calls.
func TestUsageChecksAreInTheTable(t *testing.T) {
	for name := range usageChecks {
		require.NotNil(t, table[name], name)
		require.NotNil(t, table[name].check, name)
	}
}
