//go:build !quick

package tracer

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// besideByte is a byte that a thread loads or stores between two calls of its own.
type besideByte struct {
	thread, span, store int
	at                  int64
}

// TestIrregularAccessesBesideOthers: what threads touch at random is recorded to the byte, each
// between the calls of its own thread, whatever calls others make meanwhile; and each element
// once.
func TestIrregularAccessesBesideOthers(t *testing.T) {
	t.Parallel()
	const threads, part = 3, 8 << 13
	source, err := os.ReadFile(filepath.Join("testdata", "beside", "app.c"))
	require.NoError(t, err)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": string(source)})
			b.cc("-O2", "-g", "-w", "-pthread", "app.c", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)

			f, err := os.Open(b.path("touched"))
			require.NoError(t, err)
			defer f.Close()
			want := map[besideByte]bool{}
			for s := bufio.NewScanner(f); s.Scan(); {
				var x besideByte
				var size int64
				_, err := fmt.Sscan(s.Text(), &x.thread, &x.span, &x.store, &x.at, &size)
				require.NoError(t, err)
				for range size {
					want[x] = true
					x.at++
				}
			}

			var base int64
			span := map[uint32]int{} // of each thread that records
			got, records := map[besideByte]bool{}, 0
			for _, e := range rec.events {
				if e.access == nil {
					switch e.Fn.Name {
					case "MPI_Win_create":
						base = e.arg["base"].Int
					case "MPI_Win_flush_local":
						span[e.strand]++
					}
					continue
				}
				x := besideByte{span: span[e.strand]}
				if e.access.Store {
					x.store = 1
				}
				for k := range e.access.Count {
					at := int64(e.access.Addr+k*uint64(e.access.Stride)) - base
					for i := range int64(e.access.Size) {
						if x.at = at + i; 0 <= x.at && x.at < threads*part {
							x.thread = int(x.at / part)
							got[x] = true
						}
					}
				}
				records++
			}

			var wrong []string
			for x := range want {
				if !got[x] {
					wrong = append(wrong, fmt.Sprintf("not recorded: %+v", x))
				}
			}
			for x := range got {
				if !want[x] {
					wrong = append(wrong, fmt.Sprintf("recorded, but not done: %+v", x))
				}
			}
			slices.Sort(wrong)
			require.Empty(t, wrong[:min(len(wrong), 20)])
			file, err := os.Stat(rankFile(b.path("traces"), 0))
			require.NoError(t, err)
			require.Less(t, file.Size(), int64(800_000), "in %d records", records)
		})
	}
}
