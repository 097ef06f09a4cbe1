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

// spanByte is a byte that is loaded or stored in a span.
type spanByte struct {
	span, store int
	at          int64
}

// Places that go from one address to any other are recorded exactly, each of their
// elements in its span, and where they are close together in few records.
func TestIrregularAccessesAreRecordedExactly(t *testing.T) {
	t.Parallel()
	const end = 8<<20 - 100 // of the window; beside it what is recorded says nothing wrong
	source, err := os.ReadFile(filepath.Join("testdata", "touches", "app.c"))
	require.NoError(t, err)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": string(source)})
			b.cc("-O2", "-g", "-w", "-pthread", "app.c", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)
			got, records := map[spanByte]bool{}, map[int]int{}
			var base int64
			span := 0
			for _, e := range rec.events {
				if e.access == nil {
					switch e.Fn.Name {
					case "MPI_Win_create":
						base = e.arg["base"].Int
					case "MPI_Win_fence":
						span++
					}
					continue
				}
				records[span]++
				store := 0
				if e.access.Store {
					store = 1
				}
				for k := range e.access.Count {
					at := int64(e.access.Addr+k*uint64(e.access.Stride)) - base
					for i := range int64(e.access.Size) {
						if 0 <= at+i && at+i < end {
							got[spanByte{span, store, at + i}] = true
						}
					}
				}
			}
			f, err := os.Open(b.path("touched"))
			require.NoError(t, err)
			defer f.Close()
			want := map[spanByte]bool{}
			for s := bufio.NewScanner(f); s.Scan(); {
				var x spanByte
				var size int64
				_, err := fmt.Sscan(s.Text(), &x.span, &x.store, &x.at, &size)
				require.NoError(t, err)
				for i := range size {
					if x.at+i < end {
						want[spanByte{x.span, x.store, x.at + i}] = true
					}
				}
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
			require.Less(t, records[1], 150, "40,000 loads of 3,000 numbers side by side")
			require.Less(t, records[2], 150, "40,000 stores to every third of 6,000 numbers")
			file, err := os.Stat(rankFile(b.path("traces"), 0))
			require.NoError(t, err)
			require.Less(t, file.Size(), int64(2_500_000), "of places that touch many elements at random, bits")
		})
	}
}

// The elements that a function touches are recorded with the path by which it was called, also
// where other calls of it had their frames at the same address, and returned to the same one.
func TestIrregularAccessesHaveTheirCallers(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("testdata", "callers", "app.c"))
	require.NoError(t, err)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": string(source)})
			b.cc("-O2", "-g", "app.c", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)
			way := map[int64]int{} // of each offset
			f, err := os.Open(b.path("touched"))
			require.NoError(t, err)
			defer f.Close()
			for s := bufio.NewScanner(f); s.Scan(); {
				var at int64
				var w int
				_, err := fmt.Sscan(s.Text(), &w, &at)
				require.NoError(t, err)
				way[at] = w
			}
			base := rec.all("MPI_Win_create")[0].arg["base"].Int
			ways := map[string]map[int]int{} // by callers: how many elements of which
			found, fences := map[int64]bool{}, 0
			for _, e := range rec.events {
				if e.access == nil {
					if e.Fn.Name == "MPI_Win_fence" {
						fences++
					}
					continue
				}
				if fences != 1 {
					continue
				}
				callers := fmt.Sprint(rec.Stack(e.access.Stack)[1:])
				for k := range e.access.Count {
					at := int64(e.access.Addr+k*uint64(e.access.Stride)) - base
					if w, ok := way[at]; ok {
						if ways[callers] == nil {
							ways[callers] = map[int]int{}
						}
						ways[callers][w]++
						found[at] = true
					}
				}
			}
			require.Len(t, found, len(way))
			for callers, w := range ways {
				require.Len(t, w, 1, "one path, %s", callers)
			}
			require.GreaterOrEqual(t, len(ways), 24)
		})
	}
}

// A recursive function has few stacks, however many ways go down: its innermost frame only, as in
// the call path. What lies on the thread's own stack is accessed with all of them,
// for in one of the frames it lies.
func TestRecursionIsNotInStacks(t *testing.T) {
	t.Parallel()
	const elements = 1 << 11
	source := fmt.Sprintf(head+`
enum { N = %d };
static unsigned seed = 1;
static __attribute__((noinline)) int number(int below)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 8) %% (unsigned)below);
}
static __attribute__((noinline)) void down(int *p, int n)
{
	if (n == 1) {
		*p += 1;
		return;
	}
	if (number(2)) {
		down(p, n / 2);
		down(p + n / 2, n / 2);
	} else {
		down(p + n / 2, n / 2);
		down(p, n / 2);
	}
	for (int i = 0; i < 4; i++)
		p[number(n)] ^= number(n);
}
int main(int argc, char **argv)
{
	int own[N] = {0}, *memory = calloc(N, sizeof *memory);
	MPI_Win win, of_own;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, N * sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &of_own);
	MPI_Win_fence(0, win);
	down(memory, N);
	MPI_Win_fence(0, win);
	down(own, N);
	MPI_Win_fence(0, win);
	MPI_Win_free(&of_own);
	MPI_Win_free(&win);
	free(memory);
	MPI_Finalize();
}
`, elements)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": source})
			b.cc("-O2", "-fno-inline", "-g", "app.c", "-o", "app")
			rec := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, rec.lost)
			var base [3]int64
			for i, w := range rec.all("MPI_Win_create") {
				base[i+1] = w.arg["base"].Int
			}
			stored, stacks, longest, fences := map[int64]bool{}, map[uint32]bool{}, 0, 0
			for _, e := range rec.events {
				if e.access == nil {
					if e.Fn.Name == "MPI_Win_fence" {
						fences++
					}
					continue
				}
				if fences != 1 && fences != 2 {
					continue
				}
				for k := range e.access.Count {
					at := int64(e.access.Addr+k*uint64(e.access.Stride)) - base[fences]
					if 0 <= at && at < 4*elements && e.access.Store {
						stored[at+int64(fences-1)*4*elements] = true
					}
				}
				pcs := slices.Clone(rec.Stack(e.access.Stack))
				if fences == 2 {
					longest = max(longest, len(pcs))
					continue
				}
				stacks[e.access.Stack] = true
				slices.Sort(pcs)
				require.LessOrEqual(t, len(pcs), 5, "each function once: down, main, and what calls that")
			}
			require.Len(t, stored, 2*elements)
			require.LessOrEqual(t, len(stacks), 4, "one for each access")
			require.Greater(t, longest, 11, "frames")
		})
	}
}

// A process that ends itself in a way that runs no destructors leaves what it touched
// irregularly.
func TestExitsLeaveIrregularAccesses(t *testing.T) {
	t.Parallel()
	const elements = 6000
	source := fmt.Sprintf(`#include <assert.h>
`+head+`
enum { N = %d };
static double memory[N] __attribute__((aligned(4096)));
static int list[N];
__attribute__((noinline)) static void scatter(double *p, const int *at)
{
	for (int i = 0; i < N; i++)
		p[at[i]] = i;
}
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	for (int i = 0; i < N; i++)
		list[i] = (int)(i * 3571L %% N); /* each once */
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	scatter(memory, list);
	switch (atoi(getenv("WAY"))) {
	case 0: _exit(1);
	case 1: _Exit(1);
	case 2: quick_exit(1);
	case 3: abort();
	case 4: assert(argc < 0);
	}
}
`, elements)
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, platform{"mpich", compiler}, map[string]string{"app.c": source})
			b.cc("-O2", "app.c", "-o", "app")
			for way := range 5 {
				program := fmt.Sprint("app", way)
				require.NoError(t, os.Link(b.path("app"), b.path(program)))
				dir, out, exit := b.attempt(1, fmt.Sprintf("export WAY=%d;", way), program)
				require.NotZero(t, exit, out)
				f := readFile(t, rankFile(dir, 0))
				require.Nil(t, f.End())
				var stored uint64
				for _, e := range f.events {
					if e.access != nil && e.access.Store {
						stored += e.access.Count
					}
				}
				require.GreaterOrEqual(t, stored, uint64(elements), "way %d", way)
			}
		})
	}
}
