/* Sets of numbers in a window, as trees: of two numbers drawn the roots are looked for, by a function
 * that is called from two places in turns and shortens the ways, and one becomes the other's.
 *
 *     forest NUMBERS STEPS
 */
#include "bench.h"

static __attribute__((noinline)) int root(int *above, int at)
{
	while (above[at] != at) {
		above[at] = above[above[at]];
		at = above[at];
	}
	return at;
}

int main(int argc, char **argv)
{
	int rank, ranks, *above;
	MPI_Win win;
	unsigned random = 12345;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int numbers = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	MPI_Win_allocate((MPI_Aint)(numbers + 1) * (MPI_Aint)sizeof *above, sizeof *above, MPI_INFO_NULL, MPI_COMM_WORLD, &above, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < numbers; i++)
			above[i] = i;
		for (int i = 0; i < numbers; i++) {
			random = random * 1664525u + 1013904223u;
			int a = root(above, (int)(random >> 8) % numbers);
			random = random * 1664525u + 1013904223u;
			int b = root(above, (int)(random >> 8) % numbers);
			above[a] = b;
		}
		sum += above[step % numbers];
		MPI_Win_fence(0, win);
		MPI_Put(&step, 1, MPI_INT, (rank + 1) % ranks, numbers, 1, MPI_INT, win);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
