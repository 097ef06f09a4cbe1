/* The stencil of stencil_halo.c with all its cells in a window: both grids,
 * each with a halo row above and one below.
 *
 *     stencil_grid ROWS COLUMNS STEPS      (rows of each process)
 */
#include "bench.h"
#include "stencil.h"

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int rows = bench_number(argc, argv, 1), columns = bench_number(argc, argv, 2), steps = bench_number(argc, argv, 3);
	size_t grid = (size_t)(rows + 2) * columns;
	double *memory = bench_doubles(2 * grid), *now = memory, *next = memory + grid;

	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			now[(size_t)(r + 1) * columns + c] = next[(size_t)(r + 1) * columns + c] = stencil_value(rank, r, c);
	MPI_Win_create(memory, 2 * (MPI_Aint)grid * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		MPI_Aint at = now - memory;
		if (rank > 0)
			MPI_Put(now + columns, columns, MPI_DOUBLE, rank - 1, at + (MPI_Aint)(rows + 1) * columns, columns,
				MPI_DOUBLE, win);
		if (rank < ranks - 1)
			MPI_Put(now + (size_t)rows * columns, columns, MPI_DOUBLE, rank + 1, at, columns, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
		for (int r = 1; r <= rows; r++) {
			double *here = now + (size_t)r * columns;
			stencil_row(next + (size_t)r * columns, here - columns, here, here + columns, columns);
		}
		MPI_Win_fence(0, win);
		double *t = now;
		now = next;
		next = t;
	}
	bench_report(start, stencil_sum(now + columns, (size_t)rows * columns));

	MPI_Win_free(&win);
	free(memory);
	MPI_Finalize();
	return 0;
}
