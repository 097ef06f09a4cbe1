package shmem_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/internal/calls"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/shmem"
	"github.com/mcchk/mcchk/shmem/judge"
	"github.com/mcchk/mcchk/trace"
)

// TestOperationsHeldTogether: operations that are held together find what they find when they
// are held one by one, and count as much, also in parts of memory, where fences come between
// them, and where they stay pending over the ends of regions and phases.
func TestOperationsHeldTogether(t *testing.T) {
	const programs = 300
	found := 0
	for seed := range programs {
		random := rand.New(rand.NewPCG(uint64(seed), 8))
		lists := pendingPrograms(random)
		opts := core.Options{Clock: "vector", Batch: 1, Turn: 1 + random.IntN(30)}
		if random.IntN(2) == 0 {
			opts.Phase = 1 + random.IntN(50)
		}
		if random.IntN(2) == 0 {
			opts.Part = regions.Part{Index: random.IntN(3), Of: 3}
		}
		want, wantStats := groupsOf(t, lists, opts, true)
		got, gotStats := groupsOf(t, lists, opts, false)
		require.Equal(t, wantStats, gotStats, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		found += len(got)
	}
	require.Greater(t, found, programs)
}

// pendingPrograms returns the calls of three PEs that leave operations of few call sites
// pending, which nobody sees.
func pendingPrograms(random *rand.Rand) [][]*trace.Call {
	const elements = 64
	const pes, heap, own = 3, 1000, 50000
	steps := make([]int, 2+random.IntN(4)) // of each region
	for i := range steps {
		steps[i] = random.IntN(8)
	}
	call := calls.Maker{}.Call
	lists := make([][]*trace.Call, pes)
	for rank := range lists {
		l := []*trace.Call{call(1, "shmem_init"), call(2, "shmem_malloc", "size", 8*elements, "result", heap)}
		for _, n := range steps {
			for range n {
				stack, target := uint32(10+random.IntN(2)), random.IntN(pes)
				from, step, buffer := random.IntN(elements), random.IntN(3), own+400*random.IntN(4)
				kind := random.IntN(4)
				for i := range 1 + random.IntN(12) {
					there, here := heap+8*((from+i*step)%elements), buffer+8*(i%3)
					switch kind {
					case 0:
						l = append(l, call(stack, "shmem_putmem", "dest", there, "source", here, "nelems", 8, "pe", target, "size", 1))
					case 1:
						l = append(l, call(stack, "shmem_putmem_nbi", "dest", there, "source", here, "nelems", 8, "pe", target, "size", 1))
					case 2:
						l = append(l, call(stack, "shmem_getmem_nbi", "dest", here, "source", there, "nelems", 8, "pe", target, "size", 1))
					case 3:
						l = append(l, call(stack, "shmem_long_atomic_add", "dest", there, "value", 1, "pe", target, "size", 8))
					}
				}
				switch random.IntN(8) {
				case 0:
					l = append(l, call(20, "shmem_quiet"))
				case 1, 2:
					l = append(l, call(21, "shmem_fence"))
				}
			}
			name := []string{"shmem_barrier_all", "shmem_sync_all"}[steps[0]%2]
			l = append(l, call(22, name))
		}
		lists[rank] = append(l, call(23, "shmem_finalize"))
	}
	return lists
}

// groupsOf returns how many pairs of each rule and two call sites are found, and what was
// counted.
func groupsOf(t *testing.T, lists [][]*trace.Call, opts core.Options, apart bool) (map[string]uint64, core.Stats) {
	var streams []core.Stream
	for _, l := range lists {
		streams = append(streams, &calls.Stream{List: l})
	}
	model := shmem.New(func() *shmem.Fetched { return shmem.FetchedBy(nil) })
	if apart {
		model.HoldApart()
	}
	pairs, stats, err := calls.Search(streams, opts, model, judge.Judge{}, nil)
	require.NoError(t, err)
	return pairs, stats
}
