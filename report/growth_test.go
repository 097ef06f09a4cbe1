package report

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/problems"
)

// TestGrowth: each format takes about as much for each of many findings of one problem as
// for each of a few.
func TestGrowth(t *testing.T) {
	const few, often = 250, 8
	sample := func(n int) *analysis.Result {
		res := &analysis.Result{Verdict: analysis.Race}
		for range n {
			f := usageFindings()[0]
			f.First.Started = sync("MPI_Barrier", 1, 3)
			res.Findings = append(res.Findings, f)
		}
		return with(res, source)
	}
	for _, format := range formats() {
		cost := func(n int) uint64 {
			res := sample(n)
			require.Equal(t, 1, len(problems.Of(res.Findings)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, format.render(io.Discard, res, Options{}))
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		short, long := cost(few), cost(often*few)
		require.Less(t, long, short*often*3/2, "%s: %d bytes, and %d", format.name, short, long)
	}
}
