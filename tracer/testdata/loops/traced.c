/* The kernels under the run-time, each between two calls of MPI; the arena is a window,
 * whole or pieces of it. Compiled without instrumentation. */
#include "arena.h"

#include <mpi.h>

void kernels(void);

void begin(void)
{
	sum_arena("sums");
	fill_arena();
	MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
	MPI_Win wins[8];
	int n = 0;

	MPI_Init(&argc, &argv);
	make_arena();
	for (int i = 1; i + 1 < argc && n < 8; i += 2) {
		long from = atol(argv[i]), end = atol(argv[i + 1]);
		MPI_Win_create(ARENA + from, end - from, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[n++]);
	}
	kernels();
	sum_arena("sums");
	MPI_Barrier(MPI_COMM_SELF);
	while (n > 0)
		MPI_Win_free(&wins[--n]);
	MPI_Finalize();
	return 0;
}
