/* The fast Fourier transform by its definition: even and odd elements are gathered, each half
 * is transformed by the function itself, and both are put together. The numbers and the
 * room for the halves are in a window.
 *
 *     fft NUMBERS STEPS
 */
#include "bench.h"

#include <math.h>

static double *cosines, *sines; /* of all parts of the circle */
static int circle;

static void transform(double *re, double *im, double *even_re, double *even_im, int n)
{
	if (n == 1)
		return;
	int half = n / 2;
	double *odd_re = even_re + half, *odd_im = even_im + half;
	for (int i = 0; i < half; i++) {
		even_re[i] = re[2 * i];
		even_im[i] = im[2 * i];
		odd_re[i] = re[2 * i + 1];
		odd_im[i] = im[2 * i + 1];
	}
	transform(even_re, even_im, re, im, half);
	transform(odd_re, odd_im, re + half, im + half, half);
	for (int i = 0; i < half; i++) {
		double c = cosines[i * (circle / n)], s = sines[i * (circle / n)];
		double x = c * odd_re[i] - s * odd_im[i], y = c * odd_im[i] + s * odd_re[i];
		re[i] = even_re[i] + x;
		im[i] = even_im[i] + y;
		re[i + half] = even_re[i] - x;
		im[i + half] = even_im[i] - y;
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;
	double *memory, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = 1, steps = bench_number(argc, argv, 2);
	while (2 * n <= bench_number(argc, argv, 1))
		n *= 2;
	cosines = bench_doubles((size_t)n);
	sines = bench_doubles((size_t)n);
	circle = n;
	for (int i = 0; i < n; i++) {
		cosines[i] = cos(2 * 3.14159265358979323846 * i / n);
		sines[i] = -sin(2 * 3.14159265358979323846 * i / n);
	}
	MPI_Win_allocate((MPI_Aint)(4 * (size_t)n * sizeof *memory), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	double *re = memory, *im = memory + n;
	for (int i = 0; i < n; i++) {
		re[i] = i % 17 - 8;
		im[i] = i % 5;
	}
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		transform(re, im, memory + 2 * n, memory + 3 * n, n);
		for (int i = 0; i < n; i++) {
			re[i] /= n;
			im[i] /= n;
		}
		MPI_Win_fence(0, win);
		MPI_Put(memory + 2 * n, 8, MPI_DOUBLE, (rank + 1) % ranks, 3 * n, 8, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
	}
	for (int i = 0; i < n; i++)
		sum += re[i] * re[i] + im[i];
	bench_report(start, sum);

	MPI_Win_free(&win);
	free(cosines);
	free(sines);
	MPI_Finalize();
	return 0;
}
