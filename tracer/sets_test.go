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

// Places in functions that are called very often, each time for a few elements, are recorded
// exactly, with the paths by which they were called, and in few records.
func TestScatteredAccessesAreSets(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("testdata", "scattered", "app.c"))
	require.NoError(t, err)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": string(source)})
			b.cc("-O2", "-g", "app.c", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)
			f, err := os.Open(b.path("touched"))
			require.NoError(t, err)
			defer f.Close()
			way := map[spanByte]int{} // of all that was touched
			for s := bufio.NewScanner(f); s.Scan(); {
				var x spanByte
				var by int
				var size int64
				_, err := fmt.Sscan(s.Text(), &x.span, &by, &x.store, &x.at, &size)
				require.NoError(t, err)
				for range size {
					way[x] = by
					x.at++
				}
			}
			base := rec.all("MPI_Win_create")[0].arg["base"].Int
			found, ways, records := map[spanByte]bool{}, map[string]map[int]bool{}, map[int]int{}
			span := 0
			for _, e := range rec.events {
				if e.access == nil {
					if e.Fn.Name == "MPI_Win_fence" {
						span++
					}
					continue
				}
				records[span]++
				callers := fmt.Sprint(rec.Stack(e.access.Stack)[1:])
				if span == 4 { // two functions, called at one place
					callers = fmt.Sprint(rec.Stack(e.access.Stack))
				}
				if (span == 2 || span == 4) && ways[callers] == nil { // rows of loops may be in a grid of others that are alike
					ways[callers] = map[int]bool{}
				}
				x := spanByte{span: span}
				if e.access.Store {
					x.store = 1
				}
				for k := range e.access.Count {
					for i := range int64(e.access.Size) {
						x.at = int64(e.access.Addr+k*uint64(e.access.Stride)) - base + i
						by, ok := way[x]
						if !ok {
							t.Fatalf("recorded, but not done: %+v", x)
						}
						found[x] = true
						if span == 2 || span == 4 {
							ways[callers][by] = true
						}
					}
				}
			}
			require.Len(t, found, len(way), "all that was done is recorded")
			for callers, w := range ways {
				require.Len(t, w, 1, "one path, %s", callers)
			}
			require.GreaterOrEqual(t, len(ways), 10, "insert, called by others and by itself, by two ways; leaf, by two; copies of two kinds, each by two")
			require.Less(t, records[4], 4000, "20,000 copies of 24 and 16 bytes to four parts: half of the places where one may begin")
			require.Less(t, records[2], 17000, "nodes of two trees, 200,000 loads and stores: a record for each node and place would be 24,000")
		})
	}
}
