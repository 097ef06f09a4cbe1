/* Members of objects of the program's own, read and written in a loop, beside which a
 * window of four bytes lies in the same structure of main: their page matters in part.
 *
 *     objects STEPS
 */
#include "bench.h"

enum { BINS = 16, POINTS = 4096 };

struct box {
	double length[3], half[3];
	int counts[BINS];
};

struct state {
	struct box box;
	/* The window. MPICH 4.0 loses what a process puts into its own that is not aligned so. */
	int ready __attribute__((aligned(16)));
	double energy[2];
};

/* Distances in a box that repeats itself. */
static __attribute__((noinline)) void add_up(struct box *box, double *energy, const double *at, int points, int step)
{
	for (int i = 3; i < 3 * points; i += 3) {
		double r = 0;
		for (int k = 0; k < 3; k++) {
			double d = at[i + k] - at[k] - step * 1e-6;
			if (d > box->half[k])
				d -= box->length[k];
			r += d * d;
		}
		energy[i & 1] += r;
		box->counts[(unsigned)(r * 4) % BINS]++;
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;
	struct state state = {.box = {.length = {1, 2, 3}, .half = {0.5, 1, 1.5}}};
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int steps = bench_number(argc, argv, 1);
	double *at = bench_doubles(3 * POINTS), sum = 0;

	for (int i = 0; i < 3 * POINTS; i++)
		at[i] = (i * 7919 % 1000) / 1000.0 * state.box.length[i % 3];
	MPI_Win_create(&state.ready, sizeof state.ready, sizeof state.ready, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		MPI_Put(&step, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, win);
		MPI_Win_fence(0, win);
		add_up(&state.box, state.energy, at, POINTS, state.ready);
		MPI_Win_fence(0, win);
	}
	for (int i = 0; i < BINS; i++)
		sum += state.box.counts[i] * (i + 1.0);
	bench_report(start, sum + state.energy[0] + state.energy[1]);

	MPI_Win_free(&win);
	free(at);
	MPI_Finalize();
	return 0;
}
