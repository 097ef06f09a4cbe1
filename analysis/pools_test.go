package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// Where a fetch waits for what others do, much is read of a program that works in parallel between
// fences: the strands that are to come stand at the work that they will be given, and take no part of
// a clock for that, nor time in each concurrent region.
func TestPoolsReadAhead(t *testing.T) {
	var stats [2]Stats
	for i, steps := range []int{40, 320} {
		var text strings.Builder
		text.WriteString("every rank\n  op 2: MPI_NO_OP\n  1: win_create win=5\n  1: win_create win=6 base=0x9000\n  2: fence\n")
		for step := range steps {
			if step%10 == 9 {
				for rank := range 2 {
					fmt.Fprintf(&text, "rank %d\n  5: lock rank=0 win=6 lock_type=1\n  6: fetch_and_op to=0 disp=0 operand=1 number=%d win=6\n  7: unlock rank=0 win=6\n", rank, step)
					fmt.Fprintf(&text, "    fetched numbers=[%d] values=[%d]\n", step, 2*(step/10)+rank)
				}
			}
			strand, object := 1+step, 10*(1+step)
			fmt.Fprintf(&text, `every rank
  fork object=%[2]d
  thread 1
    strand strand=%[1]d
    acquire object=%[2]d
    20: store 0x5000
    release object=%[3]d
    strand_end strand=%[1]d
  thread 0
  acquire object=%[3]d
  object_end object=%[2]d
  object_end object=%[3]d
  30: fence
`, strand, object, object+1)
		}
		s, err := scenario.Parse("pools", text.String())
		require.NoError(t, err)
		res := inMemoryWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto, Jobs: 1, Stats: true})
		require.Empty(t, res.Findings)
		require.Equal(t, NoRace, res.Verdict, "%v", res.Caveats)
		stats[i] = res.Stats
	}
	require.Equal(t, stats[0].Strands, stats[1].Strands)
	require.Equal(t, stats[0].Separate, stats[1].Separate)
}
