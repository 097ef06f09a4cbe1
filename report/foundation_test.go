package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
)

// What a process touched last may be in no trace when it is killed.
func TestTracesThatEndEarlyMayLackSomething(t *testing.T) {
	t.Parallel()
	res := &analysis.Result{Basis: goodBasis}
	require.Contains(t, foundation(res), ", nothing lost")
	require.NotContains(t, foundation(res), "may be")
	res.Basis.Ended--
	require.Contains(t, foundation(res), ", nothing lost before the traces of 1 rank end, what they did last may be")
	res.Interrupted = true
	require.Contains(t, foundation(res), ", nothing lost of what was analysed")
	require.NotContains(t, foundation(res), "may be")
}

func TestFoundationInTheWordsOfItsModel(t *testing.T) {
	basis := analysis.Basis{Ranks: 2, RanksInRun: 3, Ended: 2, Windows: 2}
	for model, want := range map[string]string{
		"MPI":           "2 of 3 ranks, 2 windows, ",
		"OpenSHMEM":     "2 of 3 PEs, 2 symmetric allocations, ",
		"GASPI":         "2 of 3 ranks, 2 segments, ",
		"MPI and GASPI": "2 of 3 ranks, 2 objects, ",
	} {
		basis.Model = model
		require.Contains(t, foundation(&analysis.Result{Basis: basis}), want)
	}
}

// That none is left of the loads and stores that were lost says nothing of the program.
func TestSilence(t *testing.T) {
	res := &analysis.Result{Basis: analysis.Basis{Ranks: 2, RanksInRun: 2, Ended: 2, Instruments: 3}}
	_, text := silence(res)
	require.Contains(t, text, "touched neither window memory")
	res.Basis.LostAccess = 1
	_, text = silence(res)
	require.Empty(t, text)
}
