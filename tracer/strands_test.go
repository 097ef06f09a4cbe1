//go:build !quick

package tracer

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// order is what the notes of a trace say of the calls of MPI_Win_set_name in it, each with
// a name of its own: for each name, those of the calls that come before it.
type order map[string]map[string]bool

func orderOf(f *file) order {
	calls := slices.DeleteFunc(slices.Clone(f.events), func(r record) bool { return r.access != nil })
	slices.SortFunc(calls, func(a, b record) int { return cmp.Compare(a.Seq, b.Seq) })
	o, strands, objects := order{}, map[int64]map[string]bool{}, map[int64]map[string]bool{}
	current := map[uint32]int64{} // of threads
	known := func(m map[int64]map[string]bool, key int64) map[string]bool {
		if m[key] == nil {
			m[key] = map[string]bool{}
		}
		return m[key]
	}
	for _, c := range calls {
		strand := known(strands, current[uint32(c.strand)])
		switch c.Fn.Name {
		case "mcchk_Strand":
			current[uint32(c.strand)] = c.arg["strand"].Int
		case "mcchk_Release", "mcchk_Fork":
			maps.Copy(known(objects, c.arg["object"].Int), strand)
		case "mcchk_Acquire":
			maps.Copy(strand, objects[c.arg["object"].Int])
		case "mcchk_Object_end":
			delete(objects, c.arg["object"].Int)
		case "MPI_Win_set_name":
			var name strings.Builder
			for _, v := range c.arg["win_name"].List {
				name.WriteByte(byte(v))
			}
			o[name.String()] = maps.Clone(strand)
			strand[name.String()] = true
		}
	}
	return o
}

// require compares with a text: "a<b" says that a comes before b, "a|b" that neither does.
func (o order) require(t *testing.T, text string) {
	t.Helper()
	for _, w := range strings.Fields(text) {
		a, b, before := strings.Cut(w, "<")
		if !before {
			a, b, _ = strings.Cut(w, "|")
		}
		require.Contains(t, o, a)
		require.Contains(t, o, b)
		require.Equal(t, before, o[b][a], "%s: %s before %s", w, a, b)
		require.False(t, o[a][b], "%s: %s before %s", w, b, a)
	}
}

const marks = `
static MPI_Win win;
static __attribute__((noinline)) void mark(const char *name) { MPI_Win_set_name(win, name); }
static void start(int *argc, char ***argv)
{
	static int memory;
	int provided;
	MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Win_create(&memory, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}
static int finish(void)
{
	MPI_Win_free(&win);
	return MPI_Finalize();
}
`

// What orders threads: one does a part of each pair while the other waits for it.
func TestOrderOfThreads(t *testing.T) {
	t.Parallel()
	const source = head + `
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>
` + marks + `
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static sem_t sem;
static int condition, written;
static atomic_int released, relaxed, fenced, counted, turn;
static void make(void) { mark("make"); }
static void wait_for(int n) /* orders nothing */
{
	while (atomic_load_explicit(&turn, memory_order_relaxed) < n)
		sched_yield();
}
static void *other(void *p)
{
	mark("begin");
	mark("m1");
	pthread_mutex_lock(&mutex);
	condition = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	mark("s1");
	sem_post(&sem);
	mark("w1");
	pthread_rwlock_wrlock(&rwlock);
	written = 1;
	pthread_rwlock_unlock(&rwlock);
	mark("b1");
	pthread_barrier_wait(&barrier);
	mark("after_b");
	pthread_once(&once, make);
	pthread_barrier_wait(&barrier);
	mark("a1");
	atomic_store_explicit(&released, 1, memory_order_release);
	mark("r1");
	atomic_store_explicit(&relaxed, 1, memory_order_relaxed);
	mark("f1");
	atomic_thread_fence(memory_order_release);
	mark("g1");
	atomic_store_explicit(&fenced, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted, 1, memory_order_release);
	wait_for(1);
	mark("end");
	return p;
}
static int c11(void *p)
{
	mark("c11");
	return p != NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	thrd_t u;
	start(&argc, &argv);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&sem, 0, 0);
	mark("create");
	pthread_create(&t, NULL, other, NULL);
	mark("created");
	pthread_mutex_lock(&mutex);
	while (!condition)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	mark("m2");
	sem_wait(&sem);
	mark("s2");
	for (int done = 0; !done;) {
		pthread_rwlock_rdlock(&rwlock);
		done = written;
		pthread_rwlock_unlock(&rwlock);
	}
	mark("w2");
	pthread_barrier_wait(&barrier);
	mark("b2");
	pthread_barrier_wait(&barrier);
	pthread_once(&once, make);
	mark("once");
	while (!atomic_load_explicit(&released, memory_order_acquire))
		sched_yield();
	mark("a2");
	while (!atomic_load_explicit(&relaxed, memory_order_acquire))
		sched_yield();
	mark("r2");
	while (!atomic_load_explicit(&fenced, memory_order_relaxed))
		sched_yield();
	mark("f2");
	atomic_thread_fence(memory_order_acquire);
	mark("f3");
	while (!atomic_load_explicit(&counted, memory_order_acquire))
		sched_yield();
	mark("c2");
	atomic_store_explicit(&turn, 1, memory_order_relaxed);
	pthread_join(t, NULL);
	mark("join");
	thrd_create(&u, c11, NULL);
	thrd_join(u, NULL);
	mark("last");
	return finish();
}
`
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"app.c": source})
	b.cc("-O2", "-pthread", "app.c", "-o", "app")
	orderOf(readFile(t, rankFile(b.traced(2, "app"), 0))).require(t, `
		create<begin created|begin m1<m2 s1|m2 s1<s2 w1|s2 w1<w2 b1<b2 b2|after_b b2<a1 after_b<once
		make<once a1<a2 r1|a2 r1|r2 f1|r2 f1|f2 f1<f3 g1|f3 g1<c2 end<join c2|end join<c11 c11<last`)
}

// What orders tasks of OpenMP, whatever threads execute them: gcc's program runs on LLVM's
// library, as clang's does.
func TestOrderOfTasks(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
int main(int argc, char **argv)
{
	int x = 0, y = 0;
	start(&argc, &argv);
	mark("before");
#pragma omp parallel
	{
#pragma omp master
		mark("master");
#pragma omp barrier
#pragma omp single
		{
			mark("single");
#pragma omp task depend(out : x)
			mark("out");
#pragma omp task depend(in : x)
			mark("in1");
#pragma omp task depend(in : x)
			mark("in2");
#pragma omp task depend(inout : x)
			mark("inout");
#pragma omp task depend(out : y)
			mark("other");
			mark("creator");
#pragma omp taskwait
			mark("taskwait");
#pragma omp taskgroup
			{
#pragma omp task
				{
					mark("child");
#pragma omp task
					mark("grandchild");
				}
			}
			mark("taskgroup");
#pragma omp task if (0)
			mark("included");
			mark("behind");
#pragma omp task
			mark("last");
			mark("free");
		}
	}
	mark("after");
#pragma omp parallel sections
	{
#pragma omp section
		mark("section1");
#pragma omp section
		{
#pragma omp critical
			mark("section2");
		}
	}
	mark("end");
	return finish();
}
`
	for _, p := range []platform{{"openmpi", "gcc"}, {"openmpi", "clang"}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source})
			b.cc("-O2", "-fopenmp", "-c", "app.c")
			link := "-fopenmp"
			if p.compiler == "gcc" { // as CMake's OpenMP::OpenMP_C does
				path, err := exec.Command("gcc", "-print-file-name=libgomp.so").Output()
				require.NoError(t, err)
				link = strings.TrimSpace(string(path))
			}
			b.cc("app.o", link, "-o", "app")
			for _, threads := range []string{"1", "2", "4"} {
				dir, out, exit := b.attempt(2, "export OMP_NUM_THREADS="+threads+";", "app")
				require.Zero(t, exit, out)
				o := orderOf(readFile(t, rankFile(dir, 0)))
				require.NoError(t, os.RemoveAll(dir))
				o.require(t, `before<master master<single single<out out<in1 out<in2 in1|in2 in1<inout in2<inout out|other
					inout|other creator|out creator|inout inout<taskwait other<taskwait taskwait<child child<grandchild
					grandchild<taskgroup taskgroup<included included<behind behind<last last|free last<after free<after
					after<section1 after<section2 section1|section2 section1<end section2<end`)
			}
		})
	}
}

// What a flush publishes is known however often the thread flushes behind it, as one that
// polls does; and the results of tasks are put together when a taskgroup has waited for them.
func TestOrderOfFlushesAndReductions(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
static int flag;
static volatile int polled;
static void combine(int *all, const int *one)
{
	static int combined;
	if (!combined++)
		mark("combined");
	*all += *one;
}
#pragma omp declare reduction(put_together : int : combine(&omp_out, &omp_in)) initializer(omp_priv = 0)
int main(int argc, char **argv)
{
	int sum = 0;
	start(&argc, &argv);
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		{
			mark("made");
#pragma omp flush
#pragma omp atomic write
			flag = 1;
			for (int i = 0, f; i < 100; i++) {
#pragma omp atomic read
				f = flag;
#pragma omp flush
				mark("polling");
				(void)f;
			}
			polled = 1;
		}
#pragma omp section
		{
			int f = 0;
			while (!polled)
				;
			mark("early");
			while (!f)
#pragma omp atomic read acquire
				f = flag;
			mark("read");
		}
	}
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp taskgroup task_reduction(put_together : sum)
		{
#pragma omp task in_reduction(put_together : sum)
			{
				mark("task");
				sum++;
			}
		}
		mark("behind");
	}
	return finish();
}
`
	for _, p := range []platform{{"openmpi", "gcc"}, {"openmpi", "clang"}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": source})
			b.cc("-O1", "-fopenmp", "app.c", "-o", "app")
			orderOf(readFile(t, rankFile(b.traced(2, "app"), 0))).require(t, `
				made|early made<read polling|read task<combined combined<behind`)
		})
	}
}

// Whatever a thread has recorded before: the note that it ends may be the one that its chunk
// has no room for.
func TestThreadEndsInFullChunk(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
enum { THREADS = 80 };
static long done[THREADS];
static pthread_key_t key;
static __attribute__((noinline, no_sanitize("thread"))) void give_back(void *p)
{
	volatile char room[8192]; /* the last record before the end is made far down on the stack */
	room[0] = 0;
	free(p);
	room[1] = 0;
}
static void *run(void *p)
{
	unsigned x = 1 + (unsigned)(long)p;
	char name[64];
	pthread_setspecific(key, malloc(16));
	for (long i = 0; i < (long)p; i++) {
		int n = (int)(x >> 16) % 50 + 8;
		for (int k = 0; k < n; k++)
			name[k] = (char)('a' + (x = x * 1103515245 + 12345) / 65536 % 26); /* that takes all its room */
		name[n] = 0;
		mark(name);
		done[(long)p]++;
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	start(&argc, &argv);
	pthread_key_create(&key, give_back);
	for (long i = 0; i < THREADS; i++)
		pthread_create(t + i, NULL, run, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return finish();
}
`
	onAll(t, source, []string{"-O0"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "export MCCHK_CHUNK_KIB=4;", "app")
		require.Zero(t, exit, out)
		f := readFile(t, rankFile(dir, 0))
		require.NotNil(t, f.End())
		require.Len(t, f.all("mcchk_Strand_end"), 80)
		require.Len(t, f.all("MPI_Win_set_name"), 80*79/2)
	})
}

// Programs of gcc keep libgomp where LLVM's library does not do what they call.
func TestOpenMPKept(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
#include <omp.h>
int main(int argc, char **argv)
{
	int x = 0, seen = 0;
	start(&argc, &argv);
#pragma omp parallel num_threads(2)
#pragma omp single
	{
		omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x)
		x = 1;
#pragma omp task depend(in : x)
		seen = x;
		usleep(10000);
		x = 2;
		omp_fulfill_event(event);
#pragma omp taskwait
	}
	return finish() || seen != 2;
}
`
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"app.c": source})
	out := b.cc("-O1", "-fopenmp", "app.c", "-o", "app")
	require.Contains(t, out, "the program calls omp_fulfill_event, which LLVM's OpenMP library")
	require.NotContains(t, out, "in place of libgomp")
	_, out, exit := b.attempt(2, "", "app")
	require.Zero(t, exit, out)
}

// A library that watches memory, as UCX does, takes a lock where the C library gives memory back,
// and has its own: no memory is asked of it there.
func TestMemoryGivenBack(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void *wait(void *p)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return p;
}
int main(int argc, char **argv)
{
	enum { BLOCKS = 40 };
	pthread_t t;
	char *blocks[BLOCKS];
	start(&argc, &argv);
	pthread_mutex_lock(&held);
	pthread_create(&t, NULL, wait, NULL);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100000);
	for (int i = BLOCKS; i-- > 0;) /* the top of the heap */
		free(blocks[i]);
	pthread_mutex_unlock(&held);
	pthread_join(t, NULL);
	return finish();
}
`
	b := newBench(t, platform{"mpich", "gcc"}, map[string]string{"app.c": source})
	b.cc("-O1", "app.c", "-o", "app", "-lpthread")
	_, out, exit := b.attempt(2, "export MALLOC_ARENA_MAX=1;", "app")
	require.Zero(t, exit, out)
}

// A program is linked with the library that tells what orders tasks where only a library of its
// own has some.
func TestOpenMPInLibrary(t *testing.T) {
	t.Parallel()
	const tasks = `int sum(int n)
{
	int s = 0;
#pragma omp parallel for reduction(+ : s)
	for (int i = 0; i < n; i++)
		s += i;
	return s;
}
`
	const source = head + marks + `
int sum(int n);
int main(int argc, char **argv)
{
	start(&argc, &argv);
	int s = sum(10);
	return finish() || s != 45;
}
`
	b := newBench(t, platform{"openmpi", "gcc"}, map[string]string{"app.c": source, "tasks.c": tasks})
	b.cc("-O1", "-fPIC", "-shared", "-fopenmp", "tasks.c", "-o", "libtasks.so")
	require.Contains(t, b.cc("-O1", "app.c", "-L.", "-ltasks", "-Wl,-rpath,.", "-o", "app"), "in place of libgomp")
	_, out, exit := b.attempt(2, "", "app")
	require.Zero(t, exit, out)
}

// What is done once has the stack of the call that does it, though the C library keeps no
// frame pointers.
func TestStackOfOnce(t *testing.T) {
	t.Parallel()
	const source = head + marks + `
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make(void) { mark("once"); }
static __attribute__((noinline)) void need(void) { pthread_once(&once, make); mark("behind"); }
static void *other(void *p)
{
	need();
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t;
	start(&argc, &argv);
	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	return finish();
}
`
	onAll(t, source, []string{"-O0"}, func(t *testing.T, b *bench) {
		dir, out, exit := b.attempt(2, "", "app")
		require.Zero(t, exit, out)
		f := readFile(t, rankFile(dir, 0))
		marked := f.all("MPI_Win_set_name")
		require.Len(t, marked, 2)
		within, behind := f.Stack(marked[0].Stack), f.Stack(marked[1].Stack)
		require.Len(t, within, len(behind)+1) // make, which need calls
	})
}
