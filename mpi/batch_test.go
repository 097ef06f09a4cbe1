package mpi_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/mpi/judge"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// TestBatchesOverRegions: operations that are held together find what they find when they
// are held one by one, also where they stay pending over the ends of regions and phases.
func TestBatchesOverRegions(t *testing.T) {
	programs, found, old := 300, 0, 0
	for seed := range programs {
		random := rand.New(rand.NewPCG(uint64(seed), 7))
		lists := pendingPrograms(random)
		opts := core.Options{Clock: "vector", Batch: 1, Turn: 1 + random.IntN(30)}
		if random.IntN(2) == 0 {
			opts.Phase = 1 + random.IntN(50)
		}
		if random.IntN(2) == 0 {
			opts.Memory = 1 << 10
		}
		memory := []mpi.MemoryModel{mpi.MemoryAuto, mpi.MemorySeparate}[random.IntN(2)]
		want, _, wantStats := groupsOf(t, lists, opts, memory, true)
		got, given, gotStats := groupsOf(t, lists, opts, memory, false)
		require.Equal(t, wantStats, gotStats, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		found += len(got)
		old += given
	}
	require.Greater(t, found, programs)
	require.Greater(t, old, programs, "accesses of batches that are carried")
}

// pendingPrograms returns the calls of three processes that leave operations of few call
// sites pending.
func pendingPrograms(random *rand.Rand) [][]*trace.Call {
	const elements = 64
	steps := make([]int, 2+random.IntN(4)) // of each region
	for i := range steps {
		steps[i] = random.IntN(6)
		if random.IntN(4) == 0 {
			steps[i] = 30
		}
	}
	exchanges := random.IntN(2) == 0 // between steps: then phases may end
	call := calls.Maker{}.Call
	lists := make([][]*trace.Call, 3)
	for rank := range lists {
		l := []*trace.Call{
			call(1, "MPI_Win_create", "comm", int(trace.CommWorld), "base", 1000, "size", 4*elements, "disp_unit", 4, "model", 1, "win", 1),
			call(2, "MPI_Win_lock_all", "assert", 0, "win", 1),
		}
		for _, n := range steps {
			for range n {
				for i := range 2 {
					if exchanges {
						l = append(l,
							call(9, "MPI_Send", "dest", (rank+1)%3, "tag", i, "comm", int(trace.CommWorld), "buf", 90000, "count", 0, "datatype", 1),
							call(13, "MPI_Recv", "source", (rank+2)%3, "tag", i, "comm", int(trace.CommWorld), "buf", 91000, "count", 0, "datatype", 1, "status", []int64{int64(rank+2) % 3, int64(i), 0, 0}))
					}
				}
				name := []string{"MPI_Put", "MPI_Get", "MPI_Accumulate"}[random.IntN(3)]
				stack, target := uint32(3+random.IntN(2)), random.IntN(3)
				from, step, buffer := random.IntN(elements), random.IntN(3), 50000+400*random.IntN(4)
				for i := range 1 + random.IntN(12) {
					values := []any{
						"origin_addr", buffer + 4*(i%3), "origin_count", 1, "origin_datatype", 1, "target_rank", target,
						"target_disp", (from + i*step) % elements, "target_count", 1, "target_datatype", 1,
					}
					if name == "MPI_Accumulate" {
						values = append(values, "op", 1)
					}
					l = append(l, call(stack, name, append(values, "win", 1)...))
				}
				if n == 30 && random.IntN(30) > 0 {
					l = append(l, call(14, "MPI_Win_flush", "rank", target, "win", 1))
				}
				switch random.IntN(8) {
				case 0:
					l = append(l, call(6, "MPI_Win_flush_local", "rank", target, "win", 1))
				case 1:
					l = append(l, call(7, "MPI_Win_flush", "rank", target, "win", 1))
				case 2:
					l = append(l, call(8, "MPI_Win_flush_local_all", "win", 1))
				case 4: // memory of some of the buffers is given up
					l = append(l, call(0, "mcchk_Memory_gone", "base", buffer+4*random.IntN(2), "size", 4+400*random.IntN(2), "why", 1))
				}
			}
			l = append(l, call(10, "MPI_Barrier", "comm", int(trace.CommWorld)))
		}
		lists[rank] = append(l, call(11, "MPI_Win_unlock_all", "win", 1), call(12, "MPI_Barrier", "comm", int(trace.CommWorld)))
	}
	return lists
}

// groupsOf returns how many pairs of each rule and two call sites are found, how many accesses
// of batches regions had that were in an earlier one as well, and what was counted.
func groupsOf(t *testing.T, lists [][]*trace.Call, opts core.Options, memory mpi.MemoryModel, apart bool) (map[string]uint64, int, core.Stats) {
	var streams []core.Stream
	for _, l := range lists {
		streams = append(streams, mpi.StreamOf(l))
	}
	model := mpi.New(memory, nil)
	if apart {
		model.HoldApart()
	}
	old := 0
	pairs, stats, err := calls.Search(streams, opts, model, judge.Judge{}, func(r *regions.Region) {
		in := map[*regions.Access]bool{}
		for _, a := range r.Calls {
			in[a] = true
		}
		require.NoError(t, r.EachCall(&regions.Scratch{}, func(a *regions.Access) {
			if a.Old && !in[a] {
				old++
				require.NotNil(t, a.Bounds)
			}
		}))
	})
	require.NoError(t, err)
	return pairs, old, stats
}
