/* A sorting network on numbers in a window: halves are sorted up and down, and merged by
 * comparing and exchanging, in functions that call themselves.
 *
 *     network NUMBERS STEPS      (a power of two)
 */
#include "bench.h"

static void merge(double *a, int n, int up)
{
	if (n == 1)
		return;
	for (int i = 0; i < n / 2; i++)
		if ((a[i] > a[i + n / 2]) == up) {
			double one = a[i];
			a[i] = a[i + n / 2];
			a[i + n / 2] = one;
		}
	merge(a, n / 2, up);
	merge(a + n / 2, n / 2, up);
}

static void sort(double *a, int n, int up)
{
	if (n == 1)
		return;
	sort(a, n / 2, 1);
	sort(a + n / 2, n / 2, 0);
	merge(a, n, up);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;
	double *numbers, sum = 0;
	unsigned random = 12345;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	MPI_Win_allocate((MPI_Aint)(n + 1) * (MPI_Aint)sizeof *numbers, sizeof *numbers, MPI_INFO_NULL, MPI_COMM_WORLD, &numbers, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < n; i++) {
			random = random * 1664525u + 1013904223u;
			numbers[i] = random >> 8;
		}
		sort(numbers, n, 1);
		sum += numbers[n / 2];
		MPI_Win_fence(0, win);
		MPI_Put(&sum, 1, MPI_DOUBLE, (rank + 1) % ranks, n, 1, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
