/* A sparse matrix times a vector, again and again: the vectors and the numbers of the
 * matrix are in a window, and elements of the vector are read at indices from a list.
 *
 *     sparse ROWS STEPS
 */
#include "bench.h"

enum { PER_ROW = 12 };

static void multiply(double *restrict y, const double *restrict a, const int *restrict column, const double *restrict x, int rows)
{
	for (int r = 0; r < rows; r++) {
		double sum = 0;
		for (int k = r * PER_ROW; k < (r + 1) * PER_ROW; k++)
			sum += a[k] * x[column[k]];
		y[r] = sum;
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;
	unsigned random = 12345;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int rows = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2), all = rows * PER_ROW;
	size_t numbers = (size_t)all + 2 * (size_t)rows;
	double *memory = bench_doubles(numbers), *a = memory + 2 * rows, *x = memory, *y = memory + rows, sum = 0;
	int *column = malloc((size_t)all * sizeof *column);

	for (int i = 0; i < all; i++) {
		random = random * 1664525u + 1013904223u;
		column[i] = (int)((random >> 8) % (unsigned)rows);
		a[i] = (i % 13) / (6.0 * PER_ROW);
	}
	for (int i = 0; i < rows; i++)
		x[i] = y[i] = 1 + i % 7;
	MPI_Win_create(memory, (MPI_Aint)(numbers * sizeof *memory), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		multiply(y, a, column, x, rows);
		MPI_Win_fence(0, win);
		MPI_Put(y, rows / 8, MPI_DOUBLE, (rank + 1) % ranks, x - memory, rows / 8, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
	}
	for (int i = 0; i < rows; i++)
		sum += x[i] + y[i];
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(memory);
	free(column);
	MPI_Finalize();
	return 0;
}
