/* Threads that share a window of their process: each has rows of a grid, and updates them by their
 * neighbours (1), or in an order that it reads from a list (2). The first puts a row to the other
 * process behind each step.
 *
 *     threads THREADS KIND STEPS
 */
#include "bench.h"

#include <pthread.h>

enum { ROWS = 256, CELLS = 1024 };

static int threads, kind, steps, next;
static double *grid;
static int order[CELLS];
static MPI_Win win;
static pthread_barrier_t barrier;

static __attribute__((noinline)) void neighbours(double *row)
{
	for (int i = 1; i < CELLS - 1; i++)
		row[i] = 0.5 * row[i] + 0.25 * (row[i - 1] + row[i + 1]);
}

static __attribute__((noinline)) void listed(double *row)
{
	for (int i = 0; i < CELLS; i++)
		row[order[i]] += 0.5 * i;
}

static void *work(void *which)
{
	int me = *(int *)which, rows = ROWS / threads;

	for (int step = 0; step < steps; step++) {
		for (int r = me * rows; r < (me + 1) * rows; r++)
			(kind == 1 ? neighbours : listed)(grid + r * CELLS);
		pthread_barrier_wait(&barrier);
		if (me == 0) {
			MPI_Put(grid, CELLS, MPI_DOUBLE, next, ROWS * CELLS, CELLS, MPI_DOUBLE, win);
			MPI_Win_flush(next, win);
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	enum { MOST = 64 };
	int rank, ranks, provided, which[MOST];
	pthread_t all[MOST];
	double sum = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	threads = bench_number(argc, argv, 1);
	kind = bench_number(argc, argv, 2);
	steps = bench_number(argc, argv, 3);
	next = (rank + 1) % ranks;
	MPI_Win_allocate((MPI_Aint)(ROWS + 1) * CELLS * (MPI_Aint)sizeof *grid, sizeof *grid, MPI_INFO_NULL, MPI_COMM_WORLD, &grid, &win);
	for (int i = 0; i < ROWS * CELLS; i++)
		grid[i] = i % 17;
	for (int i = 0; i < CELLS; i++)
		order[i] = i * 389 % CELLS;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	MPI_Win_lock_all(0, win);

	double start = bench_start();
	for (int t = 0; t < threads; t++) {
		which[t] = t;
		if (pthread_create(&all[t], NULL, work, &which[t]) != 0)
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (int t = 0; t < threads; t++)
		pthread_join(all[t], NULL);
	for (int i = 0; i < ROWS * CELLS; i += 97)
		sum += grid[i];
	bench_report(start, sum);

	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
