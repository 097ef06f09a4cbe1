package analysis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

const headerSize = 128 // of a trace, bytes

// TestCutAnywhere: a trace that ends early, wherever that is, is analysed up to there,
// and nothing is said to be free of races.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	whole := scenarioFiles(t, "proposals.txtar", "a load between post and wait")
	for rank := range whole {
		for length := headerSize; length < len(whole[rank]); length += 8 {
			files := append([][]byte(nil), whole...)
			files[rank] = whole[rank][:length]
			t.Run(fmt.Sprint(rank, " ", length), func(t *testing.T) {
				res := inMemoryWith(t, files, Options{Clock: evc.Auto, Jobs: 1})
				require.NotEmpty(t, res.Caveats)
				require.NotEqual(t, NoRace, res.Verdict)
			})
		}
	}
}
