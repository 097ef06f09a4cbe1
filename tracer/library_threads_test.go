//go:build !quick

package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThreadsOfLibrary: what a library that is not instrumented starts before the program begins is none of
// the program's threads, as long as it does not call the program; what it starts later may be.
func TestThreadsOfLibrary(t *testing.T) {
	t.Parallel()
	const app = head + `
extern void (*library_calls)(void);
void library_starts(void);
static int *word;
static void called(void) { *word = 1; }
int main(int argc, char **argv)
{
	MPI_Win win;
	if (argc == 2)
		library_starts();
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
	if (argc == 3)
		__atomic_store_n(&library_calls, called, __ATOMIC_SEQ_CST);
	while (argc == 3 && __atomic_load_n(&library_calls, __ATOMIC_SEQ_CST)) { }
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
`
	const library = `
#include <pthread.h>
void (*library_calls)(void);
static void *work(void *p)
{
	while (p) {
		void (*f)(void) = __atomic_load_n(&library_calls, __ATOMIC_SEQ_CST);
		if (f) {
			f();
			__atomic_store_n(&library_calls, 0, __ATOMIC_SEQ_CST);
		}
	}
	return p;
}
__attribute__((constructor)) static void begins(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, work, &library_calls);
}
void library_starts(void) { begins(); }
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, map[string]string{"app.c": app, "library.c": library})
			b.command(nil, p.compiler, "-shared", "-fPIC", "-pthread", "library.c", "-o", "liblibrary.so")
			b.cc("-O1", "app.c", "-L.", "-llibrary", "-Wl,-rpath,"+b.dir, "-pthread", "-o", "app")
			f := readFile(t, rankFile(b.traced(1, "app"), 0))
			require.Empty(t, f.all("mcchk_Threads"))
			require.Empty(t, f.all("mcchk_Acquire"))
			require.Len(t, readFile(t, rankFile(b.traced(1, "app", "later"), 0)).all("mcchk_Threads"), 1)
			require.Len(t, readFile(t, rankFile(b.traced(1, "app", "and", "calls"), 0)).all("mcchk_Threads"), 1)
		})
	}
}
