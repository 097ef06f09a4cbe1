/* Epochs between fences: each process updates elements of its window at random, and puts
 * a few to its neighbour's. With a fourth argument, the first epochs have errors: an element
 * that is put is also stored, and another loaded.
 */
#include "bench.h"

int main(int argc, char **argv)
{
	int rank, size;
	double *mine, value = 1, sum = 0;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int epochs = bench_number(argc, argv, 1), updates = bench_number(argc, argv, 2), n = bench_number(argc, argv, 3);
	int wrong = argc > 4 ? bench_number(argc, argv, 4) : 0;

	MPI_Win_allocate((MPI_Aint)(n + 64) * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	memset(mine, 0, (size_t)(n + 64) * 8);
	unsigned x = (unsigned)rank + 1;
	MPI_Win_fence(0, win);
	double start = bench_start();
	for (int e = 0; e < epochs; e++) {
		for (int i = 0; i < updates; i++) {
			x = x * 1664525u + 1013904223u;
			mine[(unsigned)((unsigned long long)x * (unsigned)n >> 32)] += 1;
		}
		for (int i = 0; i < 8; i++)
			MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, n + 2 * i, 1, MPI_DOUBLE, win);
		if (e < wrong && rank == 0)
			mine[n] = 2;
		if (e < wrong && rank == 1)
			sum += mine[n + 2] * 0;
		MPI_Win_fence(0, win);
	}
	for (int i = 0; i < n; i += 1 + n / 100)
		sum += mine[i];
	bench_report(start, sum);
	MPI_Win_free(&win);
	MPI_Finalize();
}
