//go:build !quick

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// traced runs a built program with tracing, and returns the trace directory.
func (b *bench) traced(ranks int, program string, args ...string) string {
	b.t.Helper()
	dir := b.path("traces")
	var out bytes.Buffer
	command := slices.Concat(b.launcher(), []string{"-n", fmt.Sprint(ranks), b.path(program)}, args)
	b.launch(func() {
		exit, err := Run(b.context(), RunOptions{Dir: dir, Command: command, WorkDir: b.dir, Stdout: &out, Stderr: &out, Timeout: testTimeout})
		require.NoError(b.t, err, out.String())
		require.Zero(b.t, exit, out.String())
	})
	return dir
}

// recorded is what a trace file holds, as far as these tests ask.
type recorded struct {
	header trace.Header
	info   map[string][]string
	end    *trace.End
	calls  []string
	// phases are the accesses between consecutive calls of MPI_Win_fence.
	phases [][]trace.Access
	base   uint64 // of the window made by MPI_Win_create
	// below is how far the buffer of the last MPI_Put lies below the frame pointer of the
	// function that calls it.
	below int64
}

func readTrace(t *testing.T, path string) *recorded {
	t.Helper()
	r, err := trace.Open(path)
	require.NoError(t, err)
	defer r.Close()
	rec := &recorded{header: r.Header(), info: map[string][]string{}}
	var ev trace.Event
	for {
		err := r.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch ev.Kind {
		case trace.KindCall:
			rec.calls = append(rec.calls, ev.Call.Fn.Name)
			switch ev.Call.Fn.Name {
			case "MPI_Win_create":
				rec.base = uint64(ev.Call.Args[ev.Call.Fn.Arg("base")].Int)
			case "MPI_Put":
				pointers := r.FramePointers(ev.Call.Stack)
				require.NotEmpty(t, pointers)
				require.True(t, slices.IsSorted(pointers), "callers lie above")
				rec.below = int64(pointers[0]) - ev.Call.Args[ev.Call.Fn.Arg("origin_addr")].Int
			case "MPI_Win_fence":
				rec.phases = append(rec.phases, nil)
			}
		case trace.KindAccess:
			if n := len(rec.phases); n > 0 {
				rec.phases[n-1] = append(rec.phases[n-1], ev.Access)
			}
		}
	}
	require.Nil(t, r.Cut())
	rec.end = r.End()
	for _, key := range []string{"build", "tracer.mode", "mpi.library"} {
		rec.info[key] = r.Info(key)
	}
	return rec
}

// bytesOf returns the sorted offsets in the window of the bytes that accesses
// of a kind touch, as a list of half-open ranges in text.
func (r *recorded) bytesOf(phase int, store bool) string {
	touched := map[uint64]bool{}
	for _, a := range r.phases[phase] {
		if a.Store != store {
			continue
		}
		for k := range a.Count {
			for i := range uint64(a.Size) {
				touched[a.Addr+k*uint64(a.Stride)+i-r.base] = true
			}
		}
	}
	var offsets []uint64
	for o := range touched {
		offsets = append(offsets, o)
	}
	slices.Sort(offsets)
	var text []string
	for i := 0; i < len(offsets); {
		j := i + 1
		for j < len(offsets) && offsets[j] == offsets[j-1]+1 {
			j++
		}
		text = append(text, fmt.Sprintf("%d-%d", offsets[i], offsets[j-1]+1))
		i = j
	}
	return strings.Join(text, " ")
}

func TestTraceOfTwoRanks(t *testing.T) {
	t.Parallel()
	const text = `#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, *memory, value;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(1024, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	MPI_Win_fence(0, win);
	value = rank;
	MPI_Put(&value, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	int wrong = memory[3] != 1 - rank;
	MPI_Win_free(&win);
	MPI_Finalize();
	return wrong;
}
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": text})
			b.cc("-O1", "-g", "app.c", "-o", "app")
			dir := b.traced(2, "app")
			run, err := ReadRunRecord(dir)
			require.NoError(t, err)
			for rank := range 2 {
				r := readTrace(t, filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank)))
				require.Equal(t, rank, r.header.Rank)
				require.Equal(t, 2, r.header.Ranks)
				require.Equal(t, run.Run, fmt.Sprintf("%x", r.header.Run))
				require.Contains(t, r.calls, "MPI_Put")
				require.Greater(t, r.below, int64(0), "value is local to main")
				require.Less(t, r.below, int64(512))
				require.NotNil(t, r.end)
				require.NotZero(t, r.end.Units)
				require.Equal(t, []string{ModeInline}, r.info["tracer.mode"])
				require.Len(t, r.info["build"], 1)
				require.Contains(t, r.info["build"][0], `"objects":["app.o"]`)
				require.Len(t, r.phases, 2)
				loads := 0
				for _, a := range r.phases[1] {
					if !a.Store && a.Size == 4 && a.Count == 1 {
						loads++
					}
				}
				require.Equal(t, 1, loads, "the load of memory[3]")
			}
		})
	}
}

// holesSource touches a window in the ways that instrumentation is known to
// miss, each between two fences.
const holesSource = `#include <mpi.h>
#include <string.h>
struct block { char bytes[96]; };
struct small { short a, b, c; };
typedef int vec __attribute__((vector_size(64)));
static char memory[4096] __attribute__((aligned(64)));
static char other[4096] __attribute__((aligned(64)));
int main(int argc, char **argv)
{
	MPI_Win win;
	volatile int zero = 0;
	int n = 512 + zero;
	double sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
	double *d = (double *)memory;
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++) d[i] = i;
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++) sum += d[i];
	MPI_Win_fence(0, win);
	memcpy(memory + 64, other, 64);
	MPI_Win_fence(0, win);
	memcpy(other, memory + 8, 8);
	MPI_Win_fence(0, win);
	memset(memory + 128, 0, 40);
	MPI_Win_fence(0, win);
	memmove(memory + 256, other + 1, n);
	MPI_Win_fence(0, win);
	*(struct block *)(memory + 512) = *(struct block *)other;
	MPI_Win_fence(0, win);
	*(struct small *)(memory + 704) = *(struct small *)(memory + 640);
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++) memory[1024 + i] = 0;
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++) memory[2048 + i] = other[i];
	MPI_Win_fence(0, win);
	int *m = (int *)memory, total = 0;
	for (int i = 256; i < 272; i++) total += m[i];
	MPI_Win_fence(0, win);
	float *f = (float *)(memory + 2048), *g = (float *)other;
	for (int i = 0; i < n / 4; i++) {
		f[2 * i] = g[3 * i];
		f[2 * i + 1] = g[3 * i + 1];
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < n; i++) m[i] = other[i];
	MPI_Win_fence(0, win);
	((long double *)memory)[2] = sum;
	MPI_Win_fence(0, win);
	vec v = *(vec *)(other + 64 * zero);
	*(vec *)(memory + 128) = v + v;
	MPI_Win_fence(0, win);
	sum += total;
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum < 0 || other[1] > 1;
}
`

func TestNoHolesInInstrumentation(t *testing.T) {
	t.Parallel()
	phases := []struct{ name, stores, loads string }{
		{"vectorized stores", "0-4096", ""},
		{"vectorized loads", "", "0-4096"},
		{"memcpy of constant size", "64-128", ""},
		{"memcpy of a word", "", "8-16"},
		{"memset of constant size", "128-168", ""},
		{"memmove", "256-768", ""},
		{"copy of a structure", "512-608", ""},
		{"copy of a small structure", "704-710", "640-646"},
		{"loop like memset", "1024-1536", ""},
		{"loop like memcpy", "2048-2560", ""},
		{"sum of a small array", "", "1024-1088"},
		{"interleaved stores", "2048-3072", ""},
		{"conversion", "0-2048", ""},
		{"long double", "32-42", ""},
		{"a vector of 64 bytes", "128-192", ""},
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, options := range []string{"-O0", "-O1", "-O2", "-O3 -march=native", "-Os", "-O2 -D_FORTIFY_SOURCE=2", "-O2 -flto", "-O3 -march=native -ffast-math -mprefer-vector-width=512"} {
			t.Run(compiler+" "+options, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, platform{"mpich", compiler}, map[string]string{"holes.c": holesSource})
				b.cc(append(strings.Fields(options), "-g", "holes.c", "-o", "holes")...)
				r := readTrace(t, filepath.Join(b.traced(1, "holes"), "rank-0.mcct"))
				require.Len(t, r.phases, len(phases)+1)
				for i, want := range phases {
					if want.name == "long double" && compiler == "gcc" {
						want.stores = "32-48" // with its padding
					}
					require.Equal(t, want.stores, r.bytesOf(i, true), "stores of %s", want.name)
					require.Equal(t, want.loads, r.bytesOf(i, false), "loads of %s", want.name)
				}
			})
		}
	}
}

func TestTraceThroughLibraries(t *testing.T) {
	t.Parallel()
	const text = `#include <mpi.h>
void fill(char *to, int n);
void copy(char *to, const char *from, unsigned long n);
static char memory[4096] __attribute__((aligned(64)));
static char other[4096];
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	fill(memory, 100);
	MPI_Win_fence(0, win);
	copy(memory + 200, other, 56);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	files := map[string]string{
		"app.c":  text,
		"fill.c": "void fill(char *to, int n) { for (int i = 0; i < n; i++) to[i] = i; }\n",
		"copy.c": "#include <string.h>\nvoid copy(char *to, const char *from, unsigned long n) { memcpy(to, from, n); }\n",
	}
	for _, p := range platforms {
		for name, build := range map[string]func(b *bench){
			"shared": func(b *bench) {
				b.cc("-O2", "-g", "-fPIC", "-shared", "fill.c", "copy.c", "-o", "libparts.so")
				b.cc("-O2", "-g", "app.c", "./libparts.so", "-o", "app")
			},
			"static": func(b *bench) {
				b.cc("-O2", "-g", "-c", "fill.c", "copy.c")
				b.command(nil, "ar", "rcs", "libparts.a", "fill.o", "copy.o")
				b.cc("-O2", "-g", "app.c", "-L.", "-lparts", "-o", "app")
			},
		} {
			t.Run(p.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, p, files)
				build(b)
				r := readTrace(t, filepath.Join(b.traced(2, "app"), "rank-0.mcct"))
				require.Equal(t, "0-100", r.bytesOf(0, true))
				require.Equal(t, "200-256", r.bytesOf(1, true))
			})
		}
	}
}

// A compiler may hold an element of a local array for private though the
// array's address has gone to MPI.
func TestStackBuffersAreSeen(t *testing.T) {
	t.Parallel()
	const text = `#include <mpi.h>
static double memory[8] __attribute__((aligned(64)));
int main(int argc, char **argv)
{
	MPI_Win win;
	double local[8] = {0};
	struct { int a, b; } pair = {1, 2};
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(local, 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, win);
	local[3] = 1;
	MPI_Put(&pair, 1, MPI_2INT, 0, 32, 1, MPI_2INT, win);
	pair.b = argc;
	MPI_Win_fence(0, win);
	argc += pair.b + (int)local[3];
	MPI_Win_free(&win);
	MPI_Finalize();
	return argc < 0;
}
`
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
			t.Run(compiler+" "+level, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, platform{"mpich", compiler}, map[string]string{"stack.c": text})
				b.cc(level, "-g", "stack.c", "-o", "stack")
				r, err := trace.Open(filepath.Join(b.traced(1, "stack"), "rank-0.mcct"))
				require.NoError(t, err)
				defer r.Close()
				var event trace.Event
				var want []uint64 // addresses of which a store must follow
				for r.ReadEvent(&event) == nil {
					switch {
					case event.Kind == trace.KindAccess && event.Access.Store:
						want = slices.DeleteFunc(want, func(addr uint64) bool { return addr == event.Access.Addr })
					case event.Kind == trace.KindCall && event.Call.Fn.Name == "MPI_Put":
						require.Empty(t, want)
						offset := uint64(24)
						if event.Call.Args[event.Call.Fn.Arg("target_disp")].Int == 32 {
							offset = 4
						}
						want = append(want, uint64(event.Call.Args[0].Int)+offset)
					}
				}
				require.Empty(t, want, "stores that were not recorded")
			})
		}
	}
}
