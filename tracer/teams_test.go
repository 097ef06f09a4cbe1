//go:build !quick

package tracer

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A parallel region with one thread does nothing beside anything, unless it has tasks or sections:
// what it does with memory that is no buffer is not recorded.
func TestTeamOfOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, map[string]string{"app.c": `
#include <mpi.h>
#include <stdlib.h>
static int numbers[1000];
int main(int argc, char **argv)
{
	int sum = 0, tasks = argc > 1;
	MPI_Init(&argc, &argv);
#pragma omp parallel num_threads(1)
	{
		for (int i = 0; i < 1000; i++)
			sum += numbers[rand() % 1000];
#pragma omp task if (tasks)
		numbers[argc] = sum;
		if (tasks)
			sum += numbers[rand() % 1000];
	}
	MPI_Finalize();
	return sum;
}`})
	b.cc("-O1", "-g", "-fopenmp", "app.c", "-o", "app")
	accesses := func(args ...string) (n int) {
		for _, e := range readFile(t, rankFile(b.traced(1, "app", args...), 0)).events {
			if e.access != nil {
				n++
			}
		}
		return n
	}
	require.Zero(t, accesses())
	require.Positive(t, accesses("tasks"))
}

// Threads of LLVM's library do not spin for long while they wait, unless the environment says so.
func TestThreadsWaitShortly(t *testing.T) {
	t.Parallel()
	b := newBench(t, platform{"mpich", "gcc"}, map[string]string{"app.c": `
#include <mpi.h>
#include <stdio.h>
extern int kmp_get_blocktime(void) __attribute__((weak));
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
#pragma omp parallel num_threads(2)
	;
	printf("blocktime %d\n", kmp_get_blocktime());
	MPI_Finalize();
}`})
	b.cc("-O1", "-g", "-fopenmp", "app.c", "-o", "app")
	for _, c := range []struct{ env, want string }{{"", "blocktime 1\n"}, {"export KMP_BLOCKTIME=7;", "blocktime 7\n"}} {
		dir, out, exit := b.attempt(1, c.env, "app")
		require.NoError(t, os.RemoveAll(dir))
		require.Zero(t, exit, out)
		require.Contains(t, out, c.want)
	}
}
