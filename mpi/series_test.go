package mpi

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// calls is a stream of calls, in a trace with one datatype.
// ints is the stream of a process that makes these calls, in a trace with one datatype.
func ints(list []*trace.Call) core.Stream {
	return &calls.Stream{List: list, Datatype: &trace.Type{Combiner: trace.Named, Name: "MPI_INT", Size: 4, Extent: 4}}
}

// TestShapesOfFlushedLocally: operations in a loop have shapes in common, also
// where what completes their buffers is known only after these were complete.
func TestShapesOfFlushedLocally(t *testing.T) {
	const n = 100
	put := calls.Of("MPI_Put", "origin_addr", 5000, "origin_count", 1, "origin_datatype", 1, "target_rank", 0,
		"target_disp", 0, "target_count", 1, "target_datatype", 1, "win", 1)
	list := []*trace.Call{
		calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 64, "disp_unit", 1, "model", 1, "win", 1),
		calls.Of("MPI_Win_lock_all", "assert", 0, "win", 1),
	}
	for range n {
		list = append(list, put, calls.Of("MPI_Win_flush_local_all", "win", 1), calls.Of("MPI_Win_flush_all", "win", 1))
	}
	m, err := core.NewMachine([]core.Stream{ints(list)}, core.Options{Clock: "vector"}, New(MemoryAuto, nil))
	require.NoError(t, err)
	for {
		r, err := m.Next(context.Background())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Empty(t, r.Calls)
		var s regions.Scratch
		series, err := r.Series(0, regions.Slice{}, &s)
		require.NoError(t, err)
		require.LessOrEqual(t, len(series), 4)
	}
	require.Empty(t, m.Problems())
	require.EqualValues(t, n, m.Stats().Operations)
}

// TestPendingOperationsInALoop: operations that differ in time and address only take
// little as long as they are pending, whether or not their buffers are complete, and are
// complete when the others are.
func TestPendingOperationsInALoop(t *testing.T) {
	const n = 2000
	for name, each := range map[string][]*trace.Call{
		"never flushed":   nil,
		"flushed locally": {calls.Of("MPI_Win_flush_local", "rank", 0, "win", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			list := []*trace.Call{
				calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 4*n, "disp_unit", 4, "model", 1, "win", 1),
				calls.Of("MPI_Win_lock_all", "assert", 0, "win", 1),
			}
			for i := range n {
				list = append(list, calls.Of("MPI_Put", "origin_addr", 50000, "origin_count", 1, "origin_datatype", 1, "target_rank", 0,
					"target_disp", i, "target_count", 1, "target_datatype", 1, "win", 1))
				list[len(list)-1].Fn = list[2].Fn
				list = append(list, each...)
			}
			list = append(list, calls.Of("MPI_Win_unlock_all", "win", 1))
			var m *core.Machine
			most := core.Holdings{}
			opts := core.Options{Clock: "vector", Batch: 1, Tick: func() {
				if h := m.Holdings(); h.Pending > most.Pending {
					most = h
				}
			}}
			m, err := core.NewMachine([]core.Stream{ints(list)}, opts, New(MemoryAuto, nil))
			require.NoError(t, err)
			accesses := 0
			for {
				r, err := m.Next(context.Background())
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				require.NoError(t, r.EachCall(&regions.Scratch{}, func(a *regions.Access) {
					require.True(t, a.End.Within())
					accesses++
				}))
			}
			require.Equal(t, 2*n, accesses)
			require.Greater(t, most.Pending, int64(n/2))
			require.Less(t, most.OpenBytes, 64*most.Pending)
		})
	}
}

// TestNoRoomForPending: where there is no room for what is pending beyond the end of a
// region, that is the last one, has all of it, and takes little.
func TestNoRoomForPending(t *testing.T) {
	const n = 2000
	list := []*trace.Call{
		calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 4*n, "disp_unit", 4, "model", 1, "win", 1),
		calls.Of("MPI_Win_lock_all", "assert", 0, "win", 1),
	}
	for i := range n {
		list = append(list, calls.Of("MPI_Put", "origin_addr", 50000, "origin_count", 1, "origin_datatype", 1, "target_rank", 0,
			"target_disp", i, "target_count", 1, "target_datatype", 1, "win", 1))
		list[len(list)-1].Fn = list[2].Fn
	}
	list = append(list, calls.Of("MPI_Barrier", "comm", int(trace.CommWorld)), calls.Of("MPI_Win_unlock_all", "win", 1))
	asked := int64(0)
	opts := core.Options{Clock: "vector", Batch: 1, Room: func(bytes int64) bool {
		asked = bytes
		return false
	}}
	m, err := core.NewMachine([]core.Stream{ints(list)}, opts, New(MemoryAuto, nil))
	require.NoError(t, err)
	accesses, last := 0, -1
	for {
		r, err := m.Next(context.Background())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Empty(t, r.Calls)
		last = r.Index
		require.NoError(t, r.EachCall(&regions.Scratch{}, func(a *regions.Access) {
			require.Equal(t, regions.Never, a.End.Seg)
			accesses++
		}))
	}
	require.Equal(t, 2*n, accesses)
	require.Equal(t, 1, last, "the region between the creation of the window and the barrier")
	require.NotNil(t, m.Short())
	require.EqualValues(t, 2*n, m.Short().Pending)
	require.GreaterOrEqual(t, m.Short().OpenBytes, asked)
	require.GreaterOrEqual(t, asked, int64(n*regions.OpenBytes))
}

// TestPendingOverRegions: operations that differ in time and address only take little, too,
// where they stay pending over the ends of regions.
func TestPendingOverRegions(t *testing.T) {
	const n = 2000
	list := []*trace.Call{
		calls.Of("MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 4*n, "disp_unit", 4, "model", 1, "win", 1),
		calls.Of("MPI_Win_lock_all", "assert", 0, "win", 1),
	}
	for i := range 2 * n {
		list = append(list, calls.Of("MPI_Put", "origin_addr", 50000, "origin_count", 1, "origin_datatype", 1, "target_rank", 0,
			"target_disp", i%n, "target_count", 1, "target_datatype", 1, "win", 1))
		list[len(list)-1].Fn = list[2].Fn
		if i%n == n-1 {
			list = append(list, calls.Of("MPI_Barrier", "comm", int(trace.CommWorld)))
		}
	}
	list = append(list, calls.Of("MPI_Win_unlock_all", "win", 1))
	var m *core.Machine
	most := core.Holdings{}
	opts := core.Options{Clock: "vector", Batch: 1, Tick: func() {
		if h := m.Holdings(); h.Pending > most.Pending {
			most = h
		}
	}}
	m, err := core.NewMachine([]core.Stream{ints(list)}, opts, New(MemoryAuto, nil))
	require.NoError(t, err)
	fresh, old, ended := 0, 0, 0
	for {
		r, err := m.Next(context.Background())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Empty(t, r.Calls)
		require.Empty(t, r.Carried)
		require.NoError(t, r.EachCall(&regions.Scratch{}, func(a *regions.Access) {
			if !a.Old {
				fresh++
			} else if old++; a.End.Within() {
				ended++
			}
		}))
	}
	require.Equal(t, 4*n, fresh, "to the target and to the buffer")
	require.Equal(t, 4*n, ended)
	require.Equal(t, 2*n, old-ended, "those of the first region, in the second")
	require.EqualValues(t, 4*n, most.Pending)
	require.Less(t, most.OpenBytes, 64*most.Pending)
	require.Zero(t, most.Apart)
}
