//go:build !quick

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// record is a call with its arguments by name, or an access.
type record struct {
	trace.Call
	arg    map[string]trace.Value
	access *trace.Access
	strand uint32
}

// file is a trace file read whole.
type file struct {
	*trace.Reader
	events []record
	lost   []trace.Lost
}

func readFile(t *testing.T, path string) *file {
	t.Helper()
	r, err := trace.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	f := &file{Reader: r}
	var ev trace.Event
	for {
		err := r.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			return f
		}
		require.NoError(t, err)
		switch ev.Kind {
		case trace.KindCall:
			c := record{Call: *ev.Call, arg: map[string]trace.Value{}, strand: ev.Strand}
			for i, a := range ev.Call.Fn.Args {
				v := ev.Call.Args[i]
				v.List = append([]int64(nil), v.List...)
				c.arg[a.Name] = v
			}
			f.events = append(f.events, c)
		case trace.KindAccess:
			a := ev.Access
			f.events = append(f.events, record{access: &a, strand: ev.Strand})
		case trace.KindLost:
			f.lost = append(f.lost, ev.Lost)
		}
	}
}

// all returns the calls of a function.
func (f *file) all(name string) []record {
	var list []record
	for _, e := range f.events {
		if e.access == nil && e.Fn.Name == name {
			list = append(list, e)
		}
	}
	return list
}

// phases returns the accesses that follow each MPI_Win_fence, in text with
// addresses as offsets from the window made first.
func (f *file) phases() []string {
	var list []string
	base := int64(0)
	for _, e := range f.events {
		switch {
		case e.access == nil && e.Fn.Name == "MPI_Win_create" && base == 0:
			base = e.arg["base"].Int
		case e.access == nil && e.Fn.Name == "MPI_Win_fence":
			list = append(list, "")
		case e.access != nil && len(list) > 0:
			a := e.access
			kind := "load"
			if a.Store {
				kind = "store"
			}
			if a.Atomic {
				kind = "atomic " + kind
			}
			if a.Library {
				kind = "library " + kind
			}
			text := fmt.Sprintf("%s %d:%d", kind, int64(a.Addr)-base, a.Size)
			if a.Count != 1 {
				text += fmt.Sprintf("+%dx%d", a.Stride, a.Count)
			}
			last := &list[len(list)-1]
			*last = strings.TrimPrefix(*last+"; "+text, "; ")
		}
	}
	return list
}

func rankFile(dir string, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("rank-%d.mcct", rank))
}

// attempt runs a built program with tracing, whatever becomes of it, with a
// few lines of shell before it.
func (b *bench) attempt(ranks int, shell, program string) (dir, output string, exit int) {
	b.t.Helper()
	dir = b.path("traces-" + program)
	require.NoError(b.t, os.Mkdir(dir, 0o755))
	command := append(b.launcher(), "-n", fmt.Sprint(ranks), "sh", "-c", shell+" exec "+b.path(program))
	var out bytes.Buffer
	var err error
	b.launch(func() {
		cmd := exec.CommandContext(b.context(), command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, b.dir
		cmd.Env = append(os.Environ(), "MCCHK_TRACE_DIR="+dir)
		err = cmd.Run()
	})
	var status *exec.ExitError
	if err != nil {
		require.ErrorAs(b.t, err, &status, out.String())
		exit = status.ExitCode()
	}
	return dir, out.String(), exit
}

// onAll compiles a program for each platform and hands it over.
func onAll(t *testing.T, source string, options []string, check func(t *testing.T, b *bench)) {
	t.Helper()
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source})
			b.cc(append(options, "app.c", "-o", "app")...)
			check(t, b)
		})
	}
}

const head = `#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
`

func TestRecordedArguments(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	int rank, value = 5, got = 0, flag, n, index, indices[4];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	int *base;
	MPI_Win win;
	MPI_Comm dup, half;
	MPI_Request r[4];
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	for (int i = 0; i < 3; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
		MPI_Win_unlock(1, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 2, MPI_SUM, win);
	MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 2, MPI_NO_OP, win);
	MPI_Win_unlock_all(win);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
	MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, &r[0]);
	MPI_Isend(&value, 1, MPI_INT, 1 - rank, 9, dup, &r[1]);
	r[2] = MPI_REQUEST_NULL;
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, half, &r[3]);
	MPI_Wait(&r[3], MPI_STATUS_IGNORE);
	MPI_Send_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[0]);
	MPI_Start(&r[0]);
	MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
	MPI_Request_free(&r[0]);
	MPI_Comm_idup(dup, &half, &r[0]);
	MPI_Waitsome(1, r, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Bcast(MPI_BOTTOM, 0, MPI_INT, 0, half);
	MPI_Iprobe(MPI_ANY_SOURCE, 3, dup, &flag, MPI_STATUS_IGNORE);
	MPI_Datatype row, grid;
	MPI_Type_vector(2, 1, 3, MPI_INT, &row);
	MPI_Type_contiguous(2, row, &grid);
	MPI_Type_commit(&grid);
	MPI_Type_free(&row);
	int out[16] = {0};
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_SELF);
	MPI_Sendrecv(out, 1, grid, 1 - rank, 4, out + 8, 4, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < 3; i++) {
		MPI_Type_vector(2, 1, 3, MPI_INT, &row);
		MPI_Type_contiguous(i < 2 ? 2 : 3, row, &grid);
		MPI_Type_commit(&grid);
		MPI_Type_free(&row);
		MPI_Sendrecv(out, 1, grid, MPI_PROC_NULL, 4, out + 8, 4, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Type_free(&grid);
	}
	MPI_Group group;
	MPI_Comm_group(MPI_COMM_WORLD, &group);
	MPI_Win_post(group, 0, win);
	MPI_Win_start(group, 0, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O2"}, func(t *testing.T, b *bench) {
		dir := b.traced(2, "app")
		var files [2]*file
		tickets := map[int64]int{}
		for rank := range files {
			files[rank] = readFile(t, rankFile(dir, rank))
			checkArguments(t, rank, files[rank])
			for _, l := range files[rank].all("MPI_Win_lock") {
				require.Equal(t, int64(2), l.arg["lock_type"].Int)
				tickets[l.arg["ticket"].Int]++
			}
		}
		require.Equal(t, map[int64]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, tickets, "of the locks of rank 1")
		require.Equal(t, files[0].all("MPI_Bcast")[0].arg["comm"].Int, files[1].all("MPI_Bcast")[0].arg["comm"].Int, "the same in all processes")
		for _, call := range []string{"MPI_Win_allocate", "MPI_Comm_dup"} {
			id := map[string]string{"MPI_Win_allocate": "win", "MPI_Comm_dup": "newcomm"}[call]
			require.Equal(t, files[0].all(call)[0].arg[id].Int, files[1].all(call)[0].arg[id].Int, "the same in all processes")
		}
	})
}

func checkArguments(t *testing.T, rank int, f *file) {
	t.Helper()
	require.Nil(t, f.Cut())
	require.NotNil(t, f.End())
	w := f.all("MPI_Win_allocate")[0]
	require.Equal(t, int64(64), w.arg["size"].Int)
	require.NotZero(t, w.arg["baseptr"].Int)
	require.Equal(t, int64(1)<<32+1, w.arg["win"].Int)
	require.Len(t, f.all("mcchk_Lock_ticket"), 1, "one for the target and epoch")
	require.Equal(t, int64(0), f.all("mcchk_Lock_ticket")[0].arg["rank"].Int)

	dup := f.all("MPI_Comm_dup")[0].arg["newcomm"].Int
	require.Equal(t, int64(1)<<32+2, dup)
	require.Equal(t, 2, f.Comm(dup).Size)
	half := f.all("MPI_Comm_split")[0].arg["newcomm"].Int
	require.Equal(t, int64(rank+1), half>>32)
	require.Equal(t, []trace.RankRun{{First: int64(rank), Stride: 1, Count: 1}}, f.Comm(half).Ranks)

	irecv, isend := f.all("MPI_Irecv"), f.all("MPI_Isend")[0]
	require.Equal(t, trace.AnySource, irecv[0].arg["source"].Int)
	require.Equal(t, trace.AnyTag, irecv[0].arg["tag"].Int)
	wait := f.all("MPI_Waitall")[0]
	require.Equal(t, []int64{irecv[0].arg["request"].Int, isend.arg["request"].Int, 0}, wait.arg["requests"].List)
	require.Equal(t, []int64{int64(1 - rank), 9, 4, 0}, wait.arg["statuses"].List[:4])
	require.Equal(t, trace.ProcNull, irecv[1].arg["source"].Int)
	require.Equal(t, int64(1), f.all("MPI_Wait")[0].arg["done"].Int)
	started := f.all("MPI_Send_init")[0].arg["request"].Int
	require.Equal(t, started, f.all("MPI_Start")[0].arg["request"].Int)
	require.Equal(t, []int64{started}, f.all("MPI_Waitany")[0].arg["requests"].List)
	require.Zero(t, f.all("MPI_Waitany")[0].arg["index"].Int)
	require.Equal(t, []int64{0}, f.all("MPI_Waitsome")[0].arg["indices"].List)

	bcast := f.all("MPI_Bcast")[0]
	require.Zero(t, bcast.arg["buffer"].Int)
	require.GreaterOrEqual(t, bcast.arg["comm"].Int, int64(1)<<62, "made by MPI_Comm_idup")
	require.Equal(t, 2, f.Comm(bcast.arg["comm"].Int).Size)
	require.Zero(t, f.all("MPI_Iprobe")[0].arg["flag"].Int)
	reduce := f.all("MPI_Allreduce")[0]
	require.Equal(t, trace.InPlace, reduce.arg["sendbuf"].Int)
	require.Equal(t, int64(rank+1)<<32+1, reduce.arg["comm"].Int)
	require.Equal(t, "MPI_MAX", f.Op(reduce.arg["op"].Int))

	sent := f.all("MPI_Sendrecv")
	grid := f.Type(sent[0].arg["sendtype"].Int)
	require.Equal(t, trace.Contiguous, grid.Combiner)
	require.Equal(t, []int64{2}, grid.Ints)
	row := f.Type(grid.Types[0])
	require.Equal(t, trace.Vector, row.Combiner)
	require.Equal(t, []int64{2, 1, 3}, row.Ints)
	require.Equal(t, "MPI_INT", f.Type(row.Types[0]).Name)
	for _, again := range sent[1:3] {
		require.Equal(t, int64(grid.ID), again.arg["sendtype"].Int, "made alike")
	}
	other := f.Type(sent[3].arg["sendtype"].Int)
	require.Equal(t, []int64{3}, other.Ints)
	require.Equal(t, grid.Types, other.Types)
	require.Equal(t, []int64{int64(1 - rank), 4, 16, 0}, f.all("MPI_Sendrecv")[0].arg["status"].List)
	require.Equal(t, []int64{0, 1}, f.all("MPI_Win_post")[0].arg["group"].List)

	last := uint64(0)
	for _, e := range f.events {
		if e.access == nil {
			require.Equal(t, last+1, e.Seq)
			require.True(t, e.Returned)
			require.LessOrEqual(t, e.Begin, e.End)
			require.NotEmpty(t, f.Stack(e.Stack), e.Fn.Name)
			last = e.Seq
		}
	}
}

func TestAccessRuns(t *testing.T) {
	t.Parallel()
	const source = head + `
static char memory[3 * 4096] __attribute__((aligned(4096)));
struct __attribute__((packed)) odd { char c; double d; };
__attribute__((noinline)) void touch(volatile double *d, int i) { d[i] = i; }
int main(int argc, char **argv)
{
	volatile int n = 10;
	double sum = 0;
	MPI_Win win, second;
	MPI_Init(&argc, &argv);
	char *w = memory + 4096;
	MPI_Win_create(w, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	volatile double *d = (double *)w;
	MPI_Win_fence(0, win); /* a run, and again over it, and beside it */
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < n; i++)
			touch(d, i);
	touch(d, -1);
	touch(d, 512);
	MPI_Win_fence(0, win); /* downwards */
	for (int i = 9; i >= 0; i--)
		touch(d, 3 * i);
	MPI_Win_fence(0, win); /* one address */
	for (int i = 0; i < n; i++)
		touch(d, 7);
	MPI_Win_fence(0, win); /* rows, twice */
	for (int k = 0; k < 2; k++)
		for (int j = 0; j < 2; j++)
			for (int i = 0; i < n; i++)
				touch(d + 100 * j, i);
	MPI_Win_fence(0, win); /* from the page before into the window */
	((struct odd *)(w - 5))->d = n;
	MPI_Win_fence(0, win);
	memset(memory, n, sizeof memory);
	MPI_Win_fence(0, win);
	strcpy(w + 8, argc > 100 ? argv[0] : "four");
	MPI_Win_fence(0, win);
	__atomic_fetch_add((int *)(w + 16), n, __ATOMIC_RELAXED);
	MPI_Win_fence(0, win); /* another window over the same memory goes, this one stays */
	MPI_Win_create(w + 64, 128, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
	MPI_Win_free(&second);
	touch(d, 10);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	touch(d, 1);
	MPI_Finalize();
	return sum > 0;
}
`
	want := []string{
		"store 0:8+8x10",
		"store 216:8+-24x10",
		"store 56:8",
		"store 0:8+8x10; store 800:8+8x10",
		"store -4:8",
		"library store -4096:12288",
		"library store 8:5",
		"atomic store 16:4",
		"store 80:8",
		"",
	}
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		got := f.phases()
		// Readers give runs upwards.
		want[1] = "store 0:8+24x10"
		require.Equal(t, want, got)
		require.Equal(t, uint64(1), f.End().Units)
	})
}

func TestPendingBuffers(t *testing.T) {
	t.Parallel()
	const source = head + `
static int memory[64], buffer[5000], other[64];
__attribute__((noinline)) void touch(volatile int *p) { *p = 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Request r, s;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	touch(buffer);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Put(buffer, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
	touch(buffer + 3);
	touch(buffer + 4096);
	MPI_Put(buffer + 4, 4, MPI_INT, 0, 4, 4, MPI_INT, win);
	MPI_Put(buffer + 4, 4, MPI_INT, 0, 4, 4, MPI_INT, win);
	touch(buffer + 7);
	MPI_Win_flush_local(0, win);
	touch(buffer + 7);
	MPI_Win_unlock(0, win);
	MPI_Win_fence(0, win);
	MPI_Irecv(other, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
	MPI_Irecv(other, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &s);
	MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	touch(other);
	MPI_Send(buffer, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	touch(other + 1);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		var stores []uint64
		buffer := uint64(f.all("MPI_Put")[0].arg["origin_addr"].Int)
		other := uint64(f.all("MPI_Irecv")[0].arg["buf"].Int)
		for _, e := range f.events {
			if e.access != nil && e.access.Store {
				stores = append(stores, e.access.Addr)
			}
		}
		require.Equal(t, []uint64{buffer + 12, buffer + 28, other}, stores)
	})
}

func TestManyPendingOperations(t *testing.T) {
	t.Parallel()
	const source = head + `
#define N 60000
static double memory[8];
static struct { double value; char gap[4088 - 8 + 16]; } buffer[N];
__attribute__((noinline)) void touch(volatile double *p) { *p = 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < N; i++)
		MPI_Get(&buffer[i].value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
	for (int i = 0; i < N; i += 1000)
		touch(&buffer[i].value);
	MPI_Win_unlock_all(win);
	for (int i = 0; i < N; i++)
		touch(&buffer[i].value);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"app.c": source})
	b.cc("-O1", "app.c", "-o", "app")
	f := readFile(t, rankFile(b.traced(2, "app"), 0))
	elements := uint64(0)
	for _, e := range f.events {
		if e.access != nil {
			elements += e.access.Count
		}
	}
	require.Equal(t, uint64(60), elements)
	require.Equal(t, elements, f.End().Accesses)
}

// TestIrregularAccesses: addresses that have nothing to do with one another make no
// runs, which would seem to touch all between them; those at equal distances do.
func TestIrregularAccesses(t *testing.T) {
	t.Parallel()
	const source = head + `
static double memory[1 << 16];
int main(int argc, char **argv)
{
	MPI_Win win;
	unsigned x = 12345;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < 500; i++) {
		x = x * 1103515245 + 12345;
		memory[x >> 16 & 0xffff] = i;
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < 100; i++)
		memory[500 * i] = i;
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "", "app")
		require.Zero(t, exit, out)
		f := readFile(t, rankFile(dir, 0))
		fences, spans := f.all("MPI_Win_fence"), map[uint64][]trace.Access{}
		at := uint64(0)
		for _, e := range f.events {
			if e.access == nil {
				at = e.Seq
			} else {
				spans[at] = append(spans[at], *e.access)
			}
		}
		single := uint64(0) // alone, or with the nearest one
		for _, a := range spans[fences[0].Seq-1] {
			if a.Count <= 2 {
				single += a.Count
			}
			if a.Count > 1 {
				require.Less(t, a.Stride, int64(2048), "%d elements", a.Count)
			}
		}
		require.Greater(t, single, uint64(400))
		require.LessOrEqual(t, len(spans[fences[0].Seq]), 2, "a loop")
	})
}
