package mpi

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/trace"
)

// TestLockEpochsServeAgain: of the epochs that begin at one source place one is kept, whatever
// the kind of lock: each new one looks at those that are.
func TestLockEpochsServeAgain(t *testing.T) {
	for _, kind := range []int64{trace.LockShared, trace.LockExclusive, trace.LockTransfer} {
		call := calls.Maker{}.Call
		list := []*trace.Call{
			call(1, "MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 64, "disp_unit", 1, "model", 1, "win", 1),
		}
		for i := range 50 {
			list = append(list,
				call(2, "MPI_Win_lock", "lock_type", int(kind), "rank", 0, "assert", 0, "win", 1, "ticket", i),
				call(3, "MPI_Win_unlock", "rank", 0, "win", 1))
		}
		model := New(MemoryAuto, nil)
		m, err := core.NewMachine([]core.Stream{ints(list)}, core.Options{Clock: "vector"}, model)
		require.NoError(t, err)
		for err == nil {
			_, err = m.Next(t.Context())
		}
		require.ErrorIs(t, err, io.EOF)
		require.Empty(t, m.Problems())
		n := 0
		for l := model.procs[0].window(1).locks.last[0]; l != nil; l = l.older {
			n++
		}
		require.Equal(t, 1, n, "lock type %d", kind)
	}
}
