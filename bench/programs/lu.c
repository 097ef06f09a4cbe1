/* LU decomposition of a matrix in blocks of 16 by 16 numbers, all of it in a window; each
 * process has a matrix of its own, and its right neighbour gets the blocks of the
 * diagonal.
 *
 *     lu BLOCKS       (the matrix has 16 times as many rows)
 */
#include "bench.h"

enum { B = 16, BLOCK = B * B };

static void axpy(double *a, const double *b, int n, double factor)
{
	for (int i = 0; i < n; i++)
		a[i] -= factor * b[i];
}

/* The block of the diagonal. */
static void factor(double *d, int n)
{
	for (int k = 0; k < n; k++)
		for (int j = k + 1; j < n; j++) {
			d[j * n + k] /= d[k * n + k];
			axpy(d + j * n + k + 1, d + k * n + k + 1, n - k - 1, d[j * n + k]);
		}
}

/* A block below it. */
static void divide(double *a, const double *d, int n)
{
	for (int k = 0; k < n; k++)
		for (int j = 0; j < n; j++) {
			a[j * n + k] /= d[k * n + k];
			axpy(a + j * n + k + 1, d + k * n + k + 1, n - k - 1, a[j * n + k]);
		}
}

/* A block to the right of it. */
static void modify(double *a, const double *d, int n)
{
	for (int k = 0; k < n; k++)
		for (int j = k + 1; j < n; j++)
			axpy(a + j * n, a + k * n, n, d[j * n + k]);
}

/* Any other. */
static void multiply(double *c, const double *a, const double *b, int n)
{
	for (int j = 0; j < n; j++)
		for (int k = 0; k < n; k++)
			axpy(c + j * n, b + k * n, n, a[j * n + k]);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = bench_number(argc, argv, 1);
	size_t all = (size_t)n * n * BLOCK;
	double *memory = bench_doubles(all + (size_t)n * BLOCK), sum = 0;

#define AT(i, j) (memory + ((size_t)(i) * n + (j)) * BLOCK)
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < BLOCK; k++)
				AT(i, j)[k] = (i * 31 + j * 17 + k * 7 + rank) % 97 / 97.0 + (i == j && k % (B + 1) == 0 ? 16.0 * n : 0);
	MPI_Win_create(memory, (MPI_Aint)((all + (size_t)n * BLOCK) * sizeof *memory), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int k = 0; k < n; k++) {
		factor(AT(k, k), B);
		MPI_Put(AT(k, k), BLOCK, MPI_DOUBLE, (rank + 1) % ranks, (MPI_Aint)(all + (size_t)k * BLOCK), BLOCK, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
		for (int i = k + 1; i < n; i++)
			divide(AT(i, k), AT(k, k), B);
		for (int j = k + 1; j < n; j++)
			modify(AT(k, j), AT(k, k), B);
		for (int i = k + 1; i < n; i++)
			for (int j = k + 1; j < n; j++)
				multiply(AT(i, j), AT(i, k), AT(k, j), B);
		MPI_Win_fence(0, win);
	}
	for (size_t i = 0; i < all + (size_t)n * BLOCK; i++)
		sum += memory[i];
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(memory);
	MPI_Finalize();
	return 0;
}
