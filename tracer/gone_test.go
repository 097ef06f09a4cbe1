//go:build !quick

package tracer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/trace"
)

// gone describes the pseudo calls of memory that ceased to exist: why, and the
// call before it.
func (f *file) gone(t *testing.T) []string {
	t.Helper()
	var list []string
	last := ""
	for _, e := range f.events {
		if e.access != nil {
			continue
		}
		if e.Fn.Name == "mcchk_Memory_gone" {
			require.NotEmpty(t, f.Stack(e.Stack))
			list = append(list, fmt.Sprintf("%d after %s", e.arg["why"].Int, last))
		}
		last = e.Fn.Name
	}
	return list
}

// covers checks that the only record of memory that is gone has these bytes.
func (f *file) covers(t *testing.T, address, size int64) {
	t.Helper()
	g := f.one(t, "mcchk_Memory_gone")
	base := g.arg["base"].Int
	require.LessOrEqual(t, base, address)
	require.GreaterOrEqual(t, base+g.arg["size"].Int, address+size)
	require.Less(t, g.arg["size"].Int, int64(1<<16))
}

// block is the record of the block that begins at an address.
func (f *file) block(t *testing.T, address int64) trace.Block {
	t.Helper()
	blocks := slices.DeleteFunc(slices.Clone(f.Blocks()), func(b trace.Block) bool { return b.Base != uint64(address) })
	require.Len(t, blocks, 1)
	require.Greater(t, len(f.Stack(blocks[0].Stack)), 1, "main, and what called it")
	return blocks[0]
}

// Programs in which nothing of memory that is pending ceases to exist, in C.
const goneRight = "#define _GNU_SOURCE\n" + head + `
#include <sys/mman.h>
static __attribute__((noinline)) void exchange(int k)
{
	int in[40], out[40];
	MPI_Request r[2];
	for (int i = 0; i < 40; i++)
		out[i] = k;
	MPI_Irecv(in, 40, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
	MPI_Isend(out, 40, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static __attribute__((noinline)) void put(MPI_Win win, int k)
{
	int value[2] = {k, k}, result[2];
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Put(value, 2, MPI_INT, 0, 0, 2, MPI_INT, win);
	MPI_Get(result, 2, MPI_INT, 0, 2, 2, MPI_INT, win);
	MPI_Win_unlock(0, win);
}
static __attribute__((noinline)) void start(int *buffer, MPI_Request *r)
{
	MPI_Irecv(buffer, 4, MPI_INT, 0, 2, MPI_COMM_SELF, r);
}
static __attribute__((noinline)) int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	int *memory = malloc(4096), *other = malloc(400), local[4], *block;
	MPI_Win_create(memory, 4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < 20; i++) {
		exchange(i);
		put(win, i);
		free(malloc(100 + i));
	}
	start(local, &r);
	exchange(depth(argc + 10));
	MPI_Send(other, 4, MPI_INT, 0, 2, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	block = malloc(64);
	start(block, &r);
	other = realloc(other, 100000);
	void *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(map, 8192);
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(map, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	map = mremap(map, 4096, 1 << 20, MREMAP_MAYMOVE);
	((int *)map)[1 << 17] = 1;
	MPI_Send(other, 4, MPI_INT, 0, 2, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	free(block);
	free(other);
	MPI_Win_free(&win);
	free(memory);
	MPI_Alloc_mem(64, MPI_INFO_NULL, &block);
	start(block, &r);
	MPI_Send(local, 4, MPI_INT, 0, 2, MPI_COMM_SELF);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Free_mem(block);
	MPI_Finalize();
	return 0;
}
`

// One piece of memory ceases to exist too early; the argument says which. Nothing
// is ever received, so that no freed memory is written.
const goneWrong = "#define _GNU_SOURCE\n" + head + `
#include <sys/mman.h>
static MPI_Request r;
static void *volatile keep;
static __attribute__((noinline)) void touch(volatile int *p) { *p += 1; }
static void receive(int *buffer) { MPI_Irecv(buffer, 4, MPI_INT, 0, 2, MPI_COMM_SELF, &r); }
static __attribute__((noinline)) void start(void)
{
	int buffer[4];
	keep = buffer;
	receive(buffer);
	touch(buffer);
}
static __attribute__((noinline)) void end(void)
{
	MPI_Cancel(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static __attribute__((noinline)) void put(MPI_Win win)
{
	int value[4] = {1};
	MPI_Put(value, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
	touch(value);
}
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	int *memory = malloc(4096), *block;
	MPI_Win_create(memory, 4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	switch (atoi(argv[1])) {
	case 0:
		block = malloc(64);
		receive(block);
		free(block);
		end();
		break;
	case 1:
		block = malloc(64);
		receive(block);
		keep = realloc(block, 1 << 20);
		end();
		break;
	case 2:
		block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MPI_Put(block, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
		munmap(block, 8192);
		break;
	case 3:
		MPI_Alloc_mem(64, MPI_INFO_NULL, &block);
		MPI_Put(block, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
		MPI_Free_mem(block);
		break;
	case 4:
		free(memory);
		break;
	case 5:
		start();
		end();
		break;
	case 6:
		put(win);
		break;
	case 7:
		block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MPI_Put(block, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
		mmap(block, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 8:
		block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		keep = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MPI_Put(block, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
		keep = mremap(block, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, keep);
		break;
	case 9:
		block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MPI_Put(block + 1024, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
		keep = mremap(block, 8192, 4096, 0);
		break;
	}
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`

func TestMemoryGone(t *testing.T) {
	t.Parallel()
	wrong := []struct{ name, want, call, buffer string }{
		{"free", "0 after MPI_Irecv", "MPI_Irecv", "buf"},
		{"realloc", "0 after MPI_Irecv", "MPI_Irecv", "buf"},
		{"munmap", "0 after MPI_Put", "MPI_Put", "origin_addr"},
		{"MPI_Free_mem", "0 after MPI_Put", "MPI_Put", "origin_addr"},
		{"window memory", "0 after MPI_Win_fence", "MPI_Win_create", "base"},
		{"function of a receive", "1 after MPI_Irecv", "MPI_Irecv", "buf"},
		{"function of a put", "1 after MPI_Put", "MPI_Put", "origin_addr"},
		{"mmap over it", "0 after MPI_Put", "MPI_Put", "origin_addr"},
		{"mremap", "0 after MPI_Put", "MPI_Put", "origin_addr"},
		{"mremap to less", "0 after MPI_Put", "MPI_Put", "origin_addr"},
	}
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"right.c": goneRight, "wrong.c": goneWrong})
			for _, level := range []string{"-O0", "-O2"} {
				b.cc(level, "-g", "right.c", "-o", "right"+level)
				dir, out, exit := b.attempt(2, "", "right"+level)
				require.Zero(t, exit, out)
				for rank := range 2 {
					require.Empty(t, readFile(t, rankFile(dir, rank)).gone(t), "nothing too early")
				}
			}
			b.cc("-O2", "-g", "-w", "wrong.c", "-o", "wrong")
			for i, w := range wrong {
				dir, out, _ := b.attempt(2, "", fmt.Sprintf("wrong %d", i))
				f := readFile(t, rankFile(dir, 0))
				require.Equal(t, []string{w.want}, f.gone(t), "%s\n%s", w.name, out)
				f.covers(t, f.all(w.call)[0].arg[w.buffer].Int, 16)
				require.Equal(t, uint64(4096), f.block(t, f.all("MPI_Win_create")[0].arg["base"].Int).Size)
				if w.call == "MPI_Irecv" && i < 2 {
					require.Equal(t, uint64(64), f.block(t, f.all("MPI_Irecv")[0].arg["buf"].Int).Size)
				}
			}
		})
	}
}

func TestMemoryGoneInCxx(t *testing.T) {
	t.Parallel()
	const source = `#include <mpi.h>
#include <memory>
#include <vector>
#include <stdexcept>
static MPI_Request r;
static void receive(int *p) { MPI_Irecv(p, 4, MPI_INT, 0, 2, MPI_COMM_SELF, &r); }
static void end()
{
	MPI_Cancel(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}
struct alignas(64) wide { int v[16]; };
__attribute__((noinline)) static void thrower()
{
	int local[4];
	receive(local);
	throw std::runtime_error("");
}
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	{
		std::vector<int> v(16);
		receive(v.data());
		end();
	}
	{
		std::vector<int> v(16);
		receive(v.data());
	}
	end();
	receive((new wide)->v);
	end();
	wide *w = new wide;
	receive(w->v);
	delete w;
	end();
	try {
		thrower();
	} catch (std::exception &) {
	}
	end();
	MPI_Finalize();
	return 0;
}
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.cpp": source})
			b.must(CXX, "-O1", "-g", "app.cpp", "-o", "app")
			dir, out, _ := b.attempt(1, "", "app")
			f := readFile(t, rankFile(dir, 0))
			require.Equal(t, []string{"0 after MPI_Irecv", "0 after MPI_Irecv", "1 after MPI_Irecv"}, f.gone(t), out)
		})
	}
}

// A function that announces nothing is noticed at the next MPI call.
func TestMemoryGoneWithoutInstrumentation(t *testing.T) {
	t.Parallel()
	const part = head + `
void start(MPI_Request *r)
{
	int buffer[4];
	MPI_Irecv(buffer, 4, MPI_INT, 0, 2, MPI_COMM_SELF, r);
}
`
	const source = head + `
void start(MPI_Request *r);
int main(int argc, char **argv)
{
	int data[4] = {0};
	MPI_Request r;
	MPI_Init(&argc, &argv);
	start(&r);
	MPI_Barrier(MPI_COMM_SELF);
	MPI_Finalize();
	return data[0];
}
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source, "part.c": part})
			b.command([]string{"MPICH_CC=" + p.compiler, "OMPI_CC=" + p.compiler}, "mpicc."+p.mpi, "-O1", "-c", "part.c")
			b.cc("-O1", "app.c", "part.o", "-o", "app")
			dir, out, _ := b.attempt(1, "", "app")
			require.Equal(t, []string{"1 after MPI_Irecv"}, readFile(t, rankFile(dir, 0)).gone(t), out)
		})
	}
}
