package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/trace"
)

// Those who walk over nodes that have a flag each, and load what is in them again and again, take
// memory once: the flags tell nothing new. But once more behind a call, which the loads may meet.
func TestNodesThatAreReadAgain(t *testing.T) {
	const nodes, flag, get = 50, 0x1000, 0x9000
	var stats [2]Stats
	for i, walks := range []int{20, 160} {
		run := scenario.NewTrace(2)
		every, first := run.Every(), run.Rank(0)
		every.Call(1, "MPI_Win_create", scenario.Args{"base": flag, "size": 0x1000, "win": 5})
		every.Call(2, "MPI_Win_lock_all", scenario.Args{"win": 5})
		for walk := range walks {
			if walk == walks/2 {
				first.Call(20, "MPI_Get", scenario.Args{"target_rank": 1, "target_disp": 0x800, "origin_addr": get, "win": 5})
			}
			for k := range nodes {
				first.Call(10, "mcchk_Atomic", scenario.Args{"addr": flag + 16*k, "size": 4, "how": 0, "order": 5, "found": 7})
				first.Access(11, trace.Access{Addr: uint64(get + 8*k), Size: 4, Count: 1})
			}
		}
		first.Call(21, "MPI_Win_flush", scenario.Args{"rank": 1, "win": 5})
		every.Call(3, "MPI_Win_unlock_all", scenario.Args{"win": 5})
		every.Call(4, "MPI_Win_free", scenario.Args{"win": 5})

		res := inMemoryWith(t, traceFiles(t, run), Options{Clock: evc.Auto, Jobs: 1, Stats: true})
		var got []string
		for _, f := range outcome(res).Findings {
			got = append(got, f.Text)
		}
		require.Equal(t, []string{"MC103 20 11"}, got)
		require.Equal(t, uint64(nodes*walks), res.Basis.Loads)
		stats[i] = res.Stats
	}
	require.Equal(t, stats[0].Accesses, stats[1].Accesses)
	require.Equal(t, stats[0].Separate, stats[1].Separate)
}
