/* A loop that stays in registers and cache: how soon points of the plane leave
 * the Mandelbrot set, for the 2048 points of a line, and a fence after each
 * line. The numbers are plain memory; a window stands beside them.
 *
 *     compute LINES
 */
#include "bench.h"

enum { POINTS = 2048, MOST = 64 };

static int escape(double x, double y)
{
	double a = x, b = y;

	for (int k = 0; k < MOST; k++) {
		double aa = a * a, bb = b * b;
		if (aa + bb > 4)
			return k;
		b = 2 * a * b + y;
		a = aa - bb + x;
	}
	return MOST;
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int lines = bench_number(argc, argv, 1);
	double *place = bench_doubles(POINTS), *steps = bench_doubles(POINTS), *shared = bench_doubles(1);

	for (int i = 0; i < POINTS; i++)
		place[i] = -2 + 3.0 * i / POINTS;
	MPI_Win_create(shared, sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int line = 0; line < lines; line++) {
		double height = 1.0 * line / lines + 0.125 * rank / ranks;
		for (int i = 0; i < POINTS; i++)
			steps[i] += escape(place[i], height);
		shared[0] = steps[0];
		MPI_Win_fence(0, win);
	}
	double sum = shared[0];
	for (int i = 0; i < POINTS; i++)
		sum += steps[i];
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(place);
	free(steps);
	free(shared);
	MPI_Finalize();
	return 0;
}
