/* Functions that do next to nothing, called very often.
 *
 *     calls N STEPS       (the N-th Fibonacci number, by definition)
 */
#include "bench.h"

static __attribute__((noinline)) long fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	double *shared = bench_doubles(1);

	MPI_Win_create(shared, sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start(), sum = 0;
	for (int step = 0; step < steps; step++) {
		sum += (double)fib(n);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(shared);
	MPI_Finalize();
	return 0;
}
