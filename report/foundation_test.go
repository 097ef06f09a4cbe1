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
}
