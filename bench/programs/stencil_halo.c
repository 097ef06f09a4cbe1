/* A four-point stencil over plain memory. Only the halo, a row above and one
 * below, lies in a window: neighbours put their outermost rows there.
 *
 *     stencil_halo ROWS COLUMNS STEPS      (rows of each process)
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
	size_t cells = (size_t)rows * columns;
	double *now = bench_doubles(cells), *next = bench_doubles(cells);
	double *halo = bench_doubles(2 * (size_t)columns), *above = halo, *below = halo + columns;

	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			now[(size_t)r * columns + c] = next[(size_t)r * columns + c] = stencil_value(rank, r, c);
	MPI_Win_create(halo, 2 * (MPI_Aint)columns * sizeof *halo, sizeof *halo, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		double *last = now + (size_t)(rows - 1) * columns;
		if (rank > 0)
			MPI_Put(now, columns, MPI_DOUBLE, rank - 1, columns, columns, MPI_DOUBLE, win);
		if (rank < ranks - 1)
			MPI_Put(last, columns, MPI_DOUBLE, rank + 1, 0, columns, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
		for (int r = 0; r < rows; r++) {
			double *here = now + (size_t)r * columns;
			stencil_row(next + (size_t)r * columns, r > 0 ? here - columns : above, here,
				    r < rows - 1 ? here + columns : below, columns);
		}
		MPI_Win_fence(0, win);
		double *t = now;
		now = next;
		next = t;
	}
	bench_report(start, stencil_sum(now, cells));

	MPI_Win_free(&win);
	free(now);
	free(next);
	free(halo);
	MPI_Finalize();
	return 0;
}
