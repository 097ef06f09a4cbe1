//go:build !quick

package tracer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKilledProcessLeavesItsTrace(t *testing.T) {
	t.Parallel()
	const source = head + `
static double memory[1000];
__attribute__((noinline)) void touch(volatile double *p) { *p = 1; }
int main(int argc, char **argv)
{
	int rank;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 777; i++)
		touch(memory + i);
	END;
	for (;;)
		pause();
}
`
	for name, end := range map[string]string{
		"SIGKILL":   "if (rank == 0) kill(getpid(), SIGKILL)",
		"MPI_Abort": "if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 3)",
		"_exit":     "if (rank == 0) _exit(4)",
		"exit":      "if (rank == 0) exit(5)",
		"SIGSEGV":   "if (rank == 0) *(volatile int *)8 = 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAll(t, source, []string{"-O1", "-DEND=" + end}, func(t *testing.T, b *bench) {
				dir, out, exit := b.attempt(2, "", "app")
				require.NotZero(t, exit, out)
				f := readFile(t, rankFile(dir, 0))
				require.Nil(t, f.End())
				require.Equal(t, []string{"store 0:8+8x777"}, f.phases())
				if name == "MPI_Abort" {
					abort := f.all("MPI_Abort")
					require.Len(t, abort, 1)
					require.False(t, abort[0].Returned)
					require.Equal(t, int64(3), abort[0].arg["errorcode"].Int)
				}
			})
		})
	}
}

// TestWindowsAreLeftToFinalize: windows need not be freed, and the library has nothing of the run-time's
// own left where it ends.
func TestWindowsAreLeftToFinalize(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	MPI_Comm half;
	MPI_Win win;
	int *p, rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
	for (int i = 0; i < 3; i++) {
		MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, i == 1 ? half : MPI_COMM_WORLD, &p, &win);
		MPI_Win_fence(0, win);
	}
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(4, "", "app")
		require.Zero(t, exit, out)
		for rank := range 4 {
			require.NotNil(t, readFile(t, rankFile(dir, rank)).End())
		}
	})
}

// TestLibraryThatEndsMPI: a library of the program may start MPI before main, and end it when the program's
// own destructors are over.
func TestLibraryThatEndsMPI(t *testing.T) {
	t.Parallel()
	const library = `#include <mpi.h>
__attribute__((constructor)) static void start(void) { MPI_Init(0, 0); }
__attribute__((destructor)) static void end(void) { MPI_Finalize(); }
void both(int *memory, MPI_Win win)
{
	MPI_Win_fence(0, win);
	*memory = 1;
	MPI_Win_fence(0, win);
}
`
	const program = `#include <mpi.h>
void both(int *memory, MPI_Win win);
int main(void)
{
	int *memory;
	MPI_Win win;
	MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	both(memory, win);
	MPI_Win_free(&win);
	return 0;
}
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"library.c": library, "app.c": program})
			b.cc("-O2", "-fPIC", "-shared", "library.c", "-o", "libmpistart.so")
			b.cc("-O2", "app.c", "-L.", "-lmpistart", "-Wl,-rpath,"+b.dir, "-o", "app")
			dir, out, exit := b.attempt(2, "", "app")
			require.Zero(t, exit, out)
			for rank := range 2 {
				f := readFile(t, rankFile(dir, rank))
				require.NotNil(t, f.End())
				require.Len(t, f.all("MPI_Finalize"), 1)
			}
		})
	}
}

// writesMuch is a program with many loads and stores in no order, and of no aligned elements:
// each is a record.
const writesMuch = head + `
enum { N = 1 << 17 };
struct __attribute__((packed)) odd { double d; };
static struct __attribute__((packed)) { char c; struct odd at[N]; } memory; /* no element is aligned */
__attribute__((noinline)) void touch(volatile struct odd *p) { p->d += 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	double sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Win_create(&memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	/* Now that the library has made its files. */
	if (getenv("LIMIT"))
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){200 << 10, RLIM_INFINITY});
	MPI_Win_fence(0, win);
	for (long i = 0; i < N; i++)
		touch(memory.at + i * (i + 1) / 2 % N); /* each once, and no two steps are alike */
	for (int i = 0; i < 100; i++)
		MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		sum += memory.at[i].d;
	MPI_Win_free(&win);
	MPI_Finalize();
	printf("sum %g\n", sum);
	return 0;
}
`

func TestFullDisk(t *testing.T) {
	t.Parallel()
	onAll(t, writesMuch, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "export MCCHK_CHUNK_KIB=64 LIMIT=1;", "app")
		require.Zero(t, exit, out)
		require.Contains(t, out, "sum 131072")
		require.Contains(t, out, "mcchk: rank 0: the trace cannot grow")
		f := readFile(t, rankFile(dir, 0))
		require.Len(t, f.lost, 1)
		require.Equal(t, uint8(1), f.lost[0].Reason)
		require.NotZero(t, f.lost[0].Accesses)
		require.NotNil(t, f.End())
	})
}

// TestMaxTrace: recording ends in each process where it has its part of the size, and
// the program goes on.
func TestMaxTrace(t *testing.T) {
	t.Parallel()
	onAll(t, writesMuch, []string{"-O1"}, func(t *testing.T, b *bench) {
		const each = 256 << 10
		dir, out, exit := b.attempt(2, "export MCCHK_MAX_TRACE=0.5MiB;", "app")
		require.Zero(t, exit, out)
		require.Equal(t, 2, strings.Count(out, "sum 131072\n"), out)
		for rank := range 2 {
			require.Contains(t, out, fmt.Sprintf("mcchk: rank %d: the trace cannot grow (it has the size that --max-trace allows); recording stops, the program goes on\n", rank))
			info, err := os.Stat(rankFile(dir, rank))
			require.NoError(t, err)
			require.LessOrEqual(t, info.Size(), int64(each))
			require.Greater(t, info.Size(), int64(each/2))
			f := readFile(t, rankFile(dir, rank))
			require.Len(t, f.lost, 1)
			require.Equal(t, uint8(4), f.lost[0].Reason)
			require.NotZero(t, f.lost[0].Accesses)
			require.NotNil(t, f.End())
			require.Nil(t, f.Cut())
		}
	})
}

// TestNoSpaceLeft has a disk that is full from the start for rank 1, and gets
// full during the run for rank 0.
func TestNoSpaceLeft(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <errno.h>
static int rank = -1;
__attribute__((no_sanitize("thread"))) int posix_fallocate(int fd, off_t offset, off_t size)
{
	if (rank < 0)
		PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1 || offset + size > 200 << 10)
		return ENOSPC;
	return ftruncate(fd, offset + size) == 0 ? 0 : errno;
}
enum { N = 1 << 17 };
struct __attribute__((packed)) odd { double d; };
static struct __attribute__((packed)) { char c; struct odd at[N]; } memory; /* no element is aligned */
__attribute__((noinline)) void touch(volatile struct odd *p) { p->d += 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	double sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Win_create(&memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (long i = 0; i < N; i++)
		touch(memory.at + i * (i + 1) / 2 % N); /* each once, and no two steps are alike */
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		sum += memory.at[i].d;
	MPI_Win_free(&win);
	MPI_Finalize();
	printf("sum %g\n", sum);
	return 0;
}
`
	onAll(t, source, []string{"-O1"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "export MCCHK_CHUNK_KIB=64;", "app")
		require.Zero(t, exit, out)
		require.Equal(t, 2, strings.Count(out, "sum 131072\n"), "the program goes on:\n%s", out)
		for rank := range 2 {
			require.Contains(t, out, fmt.Sprintf("mcchk: rank %d: the trace cannot grow (No space left on device); recording stops, the program goes on\n", rank))
		}
		require.Equal(t, 2, strings.Count(out, "mcchk:"), "each process says it once:\n%s", out)
		f := readFile(t, rankFile(dir, 0))
		require.Len(t, f.lost, 1)
		require.Equal(t, uint8(1), f.lost[0].Reason)
		info, err := os.Stat(rankFile(dir, 1))
		require.NoError(t, err)
		require.Zero(t, info.Size())
	})
}

func TestThreads(t *testing.T) {
	t.Parallel()
	const source = head + `
static double memory[4000];
static pthread_barrier_t barrier;
__attribute__((noinline)) void touch(volatile double *p) { *p += 1; }
static void *work(void *arg)
{
	int k = (int)(long)arg;
	for (int i = 0; i < 1000; i++)
		touch(memory + 1000 * k + i);
	pthread_barrier_wait(&barrier); /* the fence comes here */
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++)
		touch(memory + 1000 * k + i);
	return NULL;
}
int main(int argc, char **argv)
{
	MPI_Win win;
	int provided;
	pthread_t thread[3];
	double sum = 0;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	pthread_barrier_init(&barrier, NULL, 4);
	for (long k = 0; k < 3; k++)
		pthread_create(&thread[k], NULL, work, (void *)(k + 1));
	for (int i = 0; i < 1000; i++)
		touch(memory + i);
	pthread_barrier_wait(&barrier);
	MPI_Win_fence(0, win);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++)
		touch(memory + i);
	for (int k = 0; k < 3; k++)
		pthread_join(thread[k], NULL);
	for (int i = 0; i < 4000; i++)
		sum += memory[i];
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum != 8000;
}
`
	onAll(t, source, []string{"-O2", "-pthread"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		base := uint64(f.all("MPI_Win_create")[0].arg["base"].Int)
		stored := map[string]uint64{}
		fences := 0 // between them stand the notes of what the threads do
		for _, e := range f.events {
			switch {
			case e.access == nil && e.Fn.Name == "MPI_Win_fence":
				fences++
			case e.access != nil && e.access.Store:
				require.NotEmpty(t, f.Stack(e.access.Stack))
				stored[fmt.Sprintf("%d fences thousand %d", fences, (e.access.Addr-base)/8000)] += e.access.Count
			}
		}
		want := map[string]uint64{}
		for k := range 4 {
			want[fmt.Sprintf("1 fences thousand %d", k)] = 1000
			want[fmt.Sprintf("2 fences thousand %d", k)] = 1000
		}
		require.Equal(t, want, stored)
	})
}

// An element that a place comes back to at once, after another that is far away, is recorded
// once: the numbers of loads and stores are those of elements.
func TestAgainAtOnce(t *testing.T) {
	t.Parallel()
	const source = head + `
static double memory[40000];
__attribute__((noinline)) void touch(volatile double *p) { *p = 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	touch(memory + 100);
	touch(memory + 30000);
	touch(memory + 30000);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Finalize();
}
`
	onAll(t, source, []string{"-O2"}, func(t *testing.T, b *bench) {
		f := readFile(t, rankFile(b.traced(2, "app"), 0))
		base := uint64(f.all("MPI_Win_create")[0].arg["base"].Int)
		stored, all := map[uint64]uint64{}, uint64(0)
		for _, e := range f.events {
			if e.access == nil {
				continue
			}
			all += e.access.Count
			if e.access.Store {
				stored[(e.access.Addr-base)/8] += e.access.Count
			}
		}
		require.Equal(t, map[uint64]uint64{100: 1, 30000: 1}, stored)
		require.Equal(t, all, f.End().Accesses)
	})
}

// The program forks, handles signals, unwinds the stack out of a call-back of
// the MPI library, and starts threads that end: what it prints must not change.
func TestProgramIsUnchanged(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <setjmp.h>
#include <sys/wait.h>
static double memory[1000];
static volatile sig_atomic_t hits;
static jmp_buf out;
static void handler(int s) { (void)s; hits++; memory[hits % 1000] += 1; }
static void failed(MPI_Comm *c, int *e, ...) { (void)c; (void)e; MPI_Barrier(MPI_COMM_SELF); longjmp(out, 1); }
static void *brief(void *p) { memory[(long)p] += 1; return NULL; }
static __attribute__((noinline)) void get(double *to, MPI_Win win) { MPI_Get(to, 1, MPI_DOUBLE, 0, 999, 1, MPI_DOUBLE, win); }
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Errhandler handle;
	double sum = 0, got = 0;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 500; i++) {
		raise(SIGUSR1);
		memory[999 - i % 100] += 1;
	}
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 1000; i++)
			memory[i] += 1;
		_exit(7);
	}
	int status;
	waitpid(child, &status, 0);
	MPI_Comm_create_errhandler(failed, &handle);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handle);
	MPI_Win_fence(0, win);
	if (setjmp(out) == 0)
		MPI_Send(NULL, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
	get(&got, win); /* from a frame where the library's were */
	for (long i = 0; i < 200; i++) {
		pthread_t t;
		pthread_create(&t, NULL, brief, (void *)i);
		pthread_join(t, NULL);
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < 1000; i++)
		sum += memory[i];
	MPI_Win_free(&win);
	MPI_Finalize();
	printf("sum %g hits %d child %d\n", sum, (int)hits, WEXITSTATUS(status));
	return 0;
}
`
	onAll(t, source, []string{"-O2", "-pthread"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "", "app")
		require.Zero(t, exit, out)
		require.Equal(t, 2, strings.Count(out, "sum 1200 hits 500 child 7"), out)
		f := readFile(t, rankFile(dir, 0))
		require.Nil(t, f.Cut())
		require.Empty(t, f.lost)
		require.Len(t, f.all("MPI_Send"), 1)
		require.True(t, f.all("MPI_Send")[0].Failed, "left by longjmp")
		require.Len(t, f.all("MPI_Get"), 1, "behind that")
		require.Len(t, f.all("MPI_Win_fence"), 2, "and what follows is recorded")
		stat, err := os.Stat(rankFile(dir, 0))
		require.NoError(t, err)
		require.Less(t, stat.Size(), int64(8<<20), "200 short threads")
	})
}

// What a plug-in stored is recorded after it was closed, with the places that it had, where
// nothing else has been loaded since.
func TestClosedPlugin(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <dlfcn.h>
int main(int argc, char **argv)
{
	int index[64], *mem;
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(64 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	for (int i = 0; i < 64; i++)
		index[i] = (7 * i + 3) % 64;
	for (int n = 0; n < 8; n++) {
		char name[] = "./pluginN.so";
		name[8] = "12"[n % 2];
		void *plugin = dlopen(name, RTLD_NOW);
		void (*store)(int *, const int *) = (void (*)(int *, const int *))dlsym(plugin, "store");
		for (int k = 0; k < 50; k++)
			store(mem, index);
		dlclose(plugin);
		MPI_Win_fence(0, win);
	}
	MPI_Win_free(&win);
	return MPI_Finalize();
}
`
	const plugin = "void store(int *mem, const int *index)\n{\n\tfor (int i = 0; i < 64; i++)\n\t\tmem[index[i]] += i;\n}\n"
	for _, p := range []platform{{"openmpi", "gcc"}, {"openmpi", "clang"}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source, "plugin.c": plugin})
			b.cc("-O2", "-fPIC", "-shared", "plugin.c", "-o", "plugin1.so")
			b.cc("-O2", "-fPIC", "-shared", "plugin.c", "-o", "plugin2.so")
			b.cc("-O2", "app.c", "-ldl", "-o", "app")
			dir, out, exit := b.attempt(1, "", "app")
			require.Zero(t, exit, out)
			var places []string
			for _, m := range readFile(t, rankFile(dir, 0)).Modules() {
				places = append(places, filepath.Base(m.Path))
			}
			require.Contains(t, places, "plugin1.so")
			require.Contains(t, places, "plugin2.so")
		})
	}
}

func TestNotRecording(t *testing.T) {
	t.Parallel()
	// With no trace to write, the memory of a window has the byte of any other in the
	// shadow (MCCHK_SHADOW), by which the program's code goes past the run-time.
	const source = head + `
static double memory[2048] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	MPI_Win win;
	MPI_Init(&argc, &argv);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	puts(*(volatile unsigned char *)(0x100000000000 + ((unsigned long)memory >> 12)) ? "slow" : "done");
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	onAll(t, source, nil, func(t *testing.T, b *bench) {
		for way, said := range map[string]int{"unset MCCHK_TRACE_DIR;": 1, "export MCCHK_TRACE_DIR=" + b.path("nowhere") + ";": 2} {
			program := fmt.Sprint("app", said)
			require.NoError(t, os.Link(b.path("app"), b.path(program)))
			_, out, exit := b.attempt(2, way, program)
			require.Zero(t, exit, out)
			require.Equal(t, said, strings.Count(out, "not recording"), out)
			require.Equal(t, 2, strings.Count(out, "done"), out)
		}
	})
}

func TestNoAddressSpace(t *testing.T) {
	t.Parallel()
	b := newBench(t, platforms[0], map[string]string{"app.c": "int main(void) { return 0; }\n"})
	b.cc("app.c", "-o", "app")
	out, err := exec.CommandContext(b.context(), "sh", "-c", "ulimit -v 8000000; exec "+b.path("app")).CombinedOutput()
	var status *exec.ExitError
	require.ErrorAs(t, err, &status, string(out))
	require.Equal(t, 2, status.ExitCode())
	require.Contains(t, string(out), "ulimit -v")
}

// TestRefusedFree: a window that the library refuses to free is what it was before.
func TestRefusedFree(t *testing.T) {
	t.Parallel()
	const source = head + `
int main(int argc, char **argv)
{
	MPI_Win win;
	int *memory, rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	if (MPI_Win_free(&win) == MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 7);
	memory[3] = 5;
	MPI_Win_unlock(rank, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	for _, p := range platforms {
		if p.mpi != "mpich" { // Open MPI frees a locked window
			continue
		}
		b := newBench(t, p, map[string]string{"app.c": source})
		b.cc("app.c", "-o", "app")
		dir, out, exit := b.attempt(2, "", "app")
		require.Zero(t, exit, out)
		f := readFile(t, rankFile(dir, 0))
		id := f.all("MPI_Win_allocate")[0].arg["win"]
		frees := f.all("MPI_Win_free")
		require.Len(t, frees, 2)
		require.True(t, frees[0].Failed)
		require.False(t, frees[1].Failed)
		for _, c := range append(frees, f.all("MPI_Win_unlock")...) {
			require.Equal(t, id, c.arg["win"], c.Fn.Name)
		}
		require.Len(t, f.stores(frees[0].Seq), 1)
	}
}
