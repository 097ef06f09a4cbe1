/* Numbers in a window are sorted by the standard library, each process its own: partitions
 * and insertions in functions that call one another and themselves.
 *
 *     sort NUMBERS STEPS
 */
#include "bench.h"

#include <algorithm>

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;
	long *memory;
	unsigned random = 12345;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int numbers = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	long *given = new long[numbers];
	MPI_Win_allocate((MPI_Aint)(numbers + 1) * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	for (int i = 0; i < numbers; i++) {
		random = random * 1664525u + 1013904223u;
		given[i] = random >> 4;
	}
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		memcpy(memory, given, numbers * sizeof *memory);
		std::sort(memory, memory + numbers);
		sum += (double)memory[step * 97 % numbers];
		MPI_Win_fence(0, win);
		MPI_Put(given, 1, MPI_LONG, (rank + 1) % ranks, numbers, 1, MPI_LONG, win);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	delete[] given;
	MPI_Finalize();
	return 0;
}
