/* Records of 16 bytes in a window, each process its own, are sorted by two members; then shortest
 * ways are worked out in a table in the window, with std::min.
 *
 *     records RECORDS TABLE STEPS      (rows of the table)
 */
#include "bench.h"

#include <algorithm>

struct record {
	float x, y, weight;
	int number;
};

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;
	char *memory;
	unsigned random = 12345;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int n = bench_number(argc, argv, 1), rows = bench_number(argc, argv, 2), steps = bench_number(argc, argv, 3);
	size_t of_records = (size_t)n * sizeof(record), of_table = (size_t)rows * (size_t)rows * sizeof(int);
	MPI_Win_allocate((MPI_Aint)(of_records + of_table + 8), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	record *records = (record *)memory;
	int *way = (int *)(memory + of_records);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < n; i++) {
			random = random * 1664525u + 1013904223u;
			records[i] = record{(float)(random >> 24), (float)(random >> 8 & 255), 1, i};
		}
		std::sort(records, records + n, [](const record &a, const record &b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
		for (int i = 0; i < rows * rows; i++) {
			random = random * 1664525u + 1013904223u;
			way[i] = (int)(random >> 8) % 1000;
		}
		for (int k = 0; k < rows; k++)
			for (int i = 0; i < rows; i++)
				for (int j = 0; j < rows; j++)
					way[i * rows + j] = std::min(way[i * rows + j], way[i * rows + k] + way[k * rows + j]);
		sum += records[n / 2].y + way[rows];
		MPI_Win_fence(0, win);
		MPI_Put(&step, 1, MPI_INT, (rank + 1) % ranks, (MPI_Aint)(of_records + of_table), 1, MPI_INT, win);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
