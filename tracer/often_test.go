//go:build !quick

package tracer

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions that are called very often, each time for a few elements, come to set maps by
// themselves: in each call of one that calls itself, also where others are left by longjmp, and
// with loops that go round a few times, or from one element to any other in calls from three places in turns. Sets are
// seldom asked then, not for each access; and what is recorded is what was done, with the path of those who called.
func TestCallsOfOneContextShareMaps(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("testdata", "often", "app.c"))
	require.NoError(t, err)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": string(source)})
			b.cc("-O2", "-g", "app.c", "-Wl,--wrap=mcchk_find_block", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)
			f, err := os.Open(b.path("touched"))
			require.NoError(t, err)
			defer f.Close()
			way := map[int64]int{} // of each element that was touched
			lines := bufio.NewScanner(f)
			for _, of := range []string{"recursion", "loops", "any"} {
				require.True(t, lines.Scan())
				var asked, done int
				_, err := fmt.Sscan(lines.Text(), &asked, &done)
				require.NoError(t, err)
				require.Positive(t, asked)
				require.Less(t, asked, done/4, of)
			}
			for lines.Scan() {
				var at int64
				var w int
				_, err := fmt.Sscan(lines.Text(), &w, &at)
				require.NoError(t, err)
				way[at] = w
			}
			base := rec.all("MPI_Win_create")[0].arg["base"].Int
			found, ways := map[int64]bool{}, map[string]map[int]bool{}
			for _, e := range rec.events {
				if e.access == nil {
					continue
				}
				callers := fmt.Sprint(rec.Stack(e.access.Stack)[1:])
				for k := range e.access.Count {
					at := (int64(e.access.Addr+k*uint64(e.access.Stride)) - base) / 8
					w, ok := way[at]
					require.True(t, ok, "recorded, but not done: %d", at)
					found[at] = true
					if ways[callers] == nil {
						ways[callers] = map[int]bool{}
					}
					ways[callers][w] = true
				}
			}
			require.Len(t, found, len(way), "all that was done is recorded")
			for callers, w := range ways {
				require.Len(t, w, 1, "one path, %s", callers)
			}
		})
	}
}
