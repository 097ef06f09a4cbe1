/* A ring of messages: each process puts a block into its right neighbour's
 * memory, flushes, tells it so, and reads what its left neighbour has put. A
 * block has as many places as there are processes, so that its next put there
 * follows a token that has gone round.
 *
 *     ring NUMBERS STEPS       (numbers of a block)
 */
#include "bench.h"

int main(int argc, char **argv)
{
	int rank, ranks, token;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int numbers = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	size_t all = (size_t)numbers * ranks;
	double *slots = bench_doubles(all), *block = bench_doubles(numbers), sum = 0;

	MPI_Win_create(slots, (MPI_Aint)(all * sizeof *slots), sizeof *slots, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		MPI_Aint at = (MPI_Aint)(step % ranks) * numbers;
		block[0] = block[numbers - 1] = step + rank;
		MPI_Put(block, numbers, MPI_DOUBLE, right, at, numbers, MPI_DOUBLE, win);
		MPI_Win_flush(right, win);
		MPI_Sendrecv(&step, 1, MPI_INT, right, 0, &token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += slots[at] + slots[at + numbers - 1] + (token - step);
	}
	bench_report(start, sum);

	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	free(slots);
	free(block);
	MPI_Finalize();
	return 0;
}
