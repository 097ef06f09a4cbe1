package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
)

// TestMixedModels: where operations of two models conflict, each is completed by a call of its
// own model.
func TestMixedModels(t *testing.T) {
	put := func(call string, epoch regions.Mode) conflicts.Side {
		return conflicts.Side{Call: call, Rank: 1, Class: regions.Target, Write: true, Pending: true, Epoch: epoch}
	}
	for _, x := range []struct{ rule, other, message string }{
		{conflicts.RuleShmemOrder, "shmem_long_put_nbi", "; the second may overtake the first"},
		{conflicts.RuleGaspiOrder, "gaspi_write", "; the second may overtake the first"},
	} {
		f := conflicts.Finding{Rule: x.rule, First: put("MPI_Put", mpi.FenceEpoch), Second: put(x.other, "")}
		fixes := ""
		for _, fix := range Explain(&f).Fixes {
			fixes += fix.Text + "\n"
		}
		require.Contains(t, fixes, "call MPI_Win_fence in all processes of the window between MPI_Put")
		for _, foreign := range []string{"quiet", "shmem_fence", "shmem_ctx", "gaspi_wait", "gaspi_notify"} {
			require.NotContains(t, fixes, foreign)
		}
		require.Contains(t, Message(&f), x.message)
	}
}
