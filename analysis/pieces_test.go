package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestManyPieces: where a process has attached hundreds of pieces of memory, and
// hundreds of buffers are pending, each counts for itself: what is detached or
// freed of them is found, and nothing else, in the region and in the next.
func TestManyPieces(t *testing.T) {
	t.Parallel()
	const (
		pieces             = 300
		detached, released = 17, 203 // pieces that rank 1 gives up
		buffer             = 111     // that rank 0 frees too early
		puts, again        = 1000, 2000
	)
	piece := func(k int) int { return 0x100000 + k*0x100 }
	origin := func(k int) int { return 0x900000 + k*0x100 }
	run := scenario.NewTrace(2)
	every, first, second := run.Every(), run.Rank(0), run.Rank(1)
	every.Call(1, "MPI_Win_create_dynamic", scenario.Args{"win": 7})
	for k := range pieces {
		second.Call(20, "MPI_Win_attach", scenario.Args{"base": piece(k), "size": 0x100, "win": 7})
	}
	every.Call(2, "MPI_Barrier", nil)
	second.Call(21, "MPI_Win_detach", scenario.Args{"base": piece(detached), "win": 7})
	second.Call(22, "mcchk_Memory_gone", scenario.Args{"base": piece(released), "size": 8})
	second.Call(23, "MPI_Send", scenario.Args{"dest": 0})
	first.Call(23, "MPI_Recv", scenario.Args{"source": 1})
	for round, line := range []int{puts, again} {
		first.Call(30, "MPI_Win_lock", scenario.Args{"rank": 1, "win": 7})
		for k := range pieces {
			first.Call(line+k, "MPI_Put", scenario.Args{
				"target_rank": 1, "target_disp": piece(k), "origin_addr": origin(k), "win": 7})
		}
		if round == 0 {
			first.Call(31, "mcchk_Memory_gone", scenario.Args{"base": origin(buffer), "size": 0x80})
		}
		first.Call(32, "MPI_Win_unlock", scenario.Args{"rank": 1, "win": 7})
		every.Call(33, "MPI_Barrier", nil)
	}
	for jobs, clock := range []string{evc.Encoded, evc.Vector} {
		res := inMemoryWith(t, traceFiles(t, run), Options{Clock: clock, Jobs: 1 + jobs})
		var got []string
		for _, f := range outcome(res).Findings {
			got = append(got, f.Text)
		}
		require.Equal(t, []string{"MC302 1017 21", "MC307 1111 31", "MC307 1203 22", "MC302 2017", "MC307 2203 22"}, got)
	}
}
