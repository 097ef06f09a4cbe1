/* Particles with lists of neighbours: positions and forces are in a window, and those of
 * the neighbours are reached by their indices.
 *
 *     particles PARTICLES STEPS
 */
#include "bench.h"

enum { NEIGHBOURS = 24 };

static void forces(double *force, const double *at, const int *near, int particles)
{
	for (int i = 0; i < particles; i++) {
		double x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2], fx = 0, fy = 0, fz = 0;
		const int *list = near + (size_t)i * NEIGHBOURS;
		for (int k = 0; k < NEIGHBOURS; k++) {
			int j = list[k];
			double dx = x - at[3 * j], dy = y - at[3 * j + 1], dz = z - at[3 * j + 2];
			double r = dx * dx + dy * dy + dz * dz;
			if (r < 2) {
				double s = 1 / (r + 0.01), six = s * s * s, f = six * (six - 0.5) * s;
				fx += dx * f;
				fy += dy * f;
				fz += dz * f;
				force[3 * j] -= dx * f;
				force[3 * j + 1] -= dy * f;
				force[3 * j + 2] -= dz * f;
			}
		}
		force[3 * i] += fx;
		force[3 * i + 1] += fy;
		force[3 * i + 2] += fz;
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;
	unsigned random = 4711;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2), ghosts = n / 10;
	size_t numbers = 6 * (size_t)n;
	double *at = bench_doubles(numbers), *force = at + 3 * (size_t)n, sum = 0;
	int *near = malloc((size_t)n * NEIGHBOURS * sizeof *near);

	for (int i = 0; i < 3 * n; i++)
		at[i] = (i / 3) % 50 * 0.05 + (i * 7919 % 1000) / 1000.0;
	for (int i = 0; i < n * NEIGHBOURS; i++) { /* somewhere near it */
		random = random * 1664525u + 1013904223u;
		near[i] = (i / NEIGHBOURS + 1 + (int)((random >> 8) % 400u)) % n;
	}
	MPI_Win_create(at, (MPI_Aint)(numbers * sizeof *at), sizeof *at, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		forces(force, at, near, n - ghosts);
		for (int i = 0; i < 3 * (n - ghosts); i++)
			at[i] += 1e-9 * force[i];
		MPI_Win_fence(0, win);
		MPI_Put(at, 3 * ghosts, MPI_DOUBLE, (rank + 1) % ranks, 3 * (MPI_Aint)(n - ghosts), 3 * ghosts, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
	}
	for (int i = 0; i < 3 * n; i++)
		sum += at[i];
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(at);
	free(near);
	MPI_Finalize();
	return 0;
}
