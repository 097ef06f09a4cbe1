package models

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
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

// calls is the trace of a process.
type calls []*trace.Fn

func (l *calls) ReadEvent(e *trace.Event) error {
	if len(*l) == 0 {
		return io.EOF
	}
	*e = trace.Event{Kind: trace.KindCall, Call: &trace.Call{Fn: (*l)[0], Returned: true, Args: make([]trace.Value, len((*l)[0].Args))}}
	*l = (*l)[1:]
	return nil
}

// TestModelsOfRun: a run is one of the models whose functions it calls; what the run-time notes
// for all is none.
func TestModelsOfRun(t *testing.T) {
	of := func(names ...string) string {
		var list calls
		for i, name := range names {
			list = append(list, &trace.Fn{ID: uint16(i + 1), Name: name})
		}
		m, err := core.NewMachine([]core.Stream{&list}, core.Options{Clock: evc.Auto}, New("auto", nil)...)
		require.NoError(t, err)
		for err == nil {
			_, err = m.Next(t.Context())
		}
		require.ErrorIs(t, err, io.EOF)
		return m.Stats().Model
	}
	require.Equal(t, "OpenSHMEM", of("shmem_init", "mcchk_Memory_gone", "shmem_barrier_all"))
	require.Equal(t, "MPI and OpenSHMEM", of("shmem_init", "MPI_Init", "shmem_barrier_all"))
}
