package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestUpdatesNobodyFetches: updates of words from which nothing is fetched in the whole run
// order nobody, so they begin no separate regions: those of a window that has only such ones, or
// away from where it is fetched from at some time.
func TestUpdatesNobodyFetches(t *testing.T) {
	const n = 200
	added := func(fetch string, disp int) uint64 {
		run := scenario.NewTrace(2)
		every := run.Every()
		every.Call(1, "win_create", scenario.Args{"size": 0x1000})
		every.Call(2, "win_create", scenario.Args{"win": 6, "base": 0x2000})
		every.Call(3, "lock_all", nil)
		every.Call(4, "lock_all", scenario.Args{"win": 6})
		for i := range n {
			every.Call(5, "accumulate", scenario.Args{"to": 0, "disp": 4 * (i % 8), "number": 1 + i, "operand": 1})
			every.Call(6, "flush_local", scenario.Args{"rank": 0})
		}
		if fetch != "" {
			run.Rank(1).Call(7, "fetch_and_op", scenario.Args{"to": 0, "disp": disp, "number": n + 1, "operand": 1, "win": fetch})
		}
		every.Call(8, "unlock_all", scenario.Args{"win": 6})
		every.Call(9, "unlock_all", nil)
		res := inMemoryWith(t, traceFiles(t, run), Options{Clock: evc.Auto, Stats: true})
		require.Equal(t, NoRace, res.Verdict)
		return res.Stats.Timestamps
	}
	require.Less(t, added("", 0), uint64(n/4))
	require.Less(t, added("6", 0), uint64(n/4))
	require.Less(t, added("5", 512), uint64(n/4))
	require.Greater(t, added("5", 0), uint64(n))
}
