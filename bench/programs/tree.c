/* A binary tree in a window: numbers are put in by a function that calls itself, looked for
 * in a loop, and added up by another function that calls itself.
 *
 *     tree NUMBERS STEPS
 */
#include "bench.h"

struct node {
	long key;
	int left, right; /* 0: none */
};

static struct node *nodes; /* from 1 on */
static int used;

static int insert(int at, long key)
{
	if (at == 0) {
		nodes[++used] = (struct node){.key = key};
		return used;
	}
	if (key < nodes[at].key)
		nodes[at].left = insert(nodes[at].left, key);
	else if (key > nodes[at].key)
		nodes[at].right = insert(nodes[at].right, key);
	return at;
}

static int contains(int at, long key)
{
	while (at != 0 && nodes[at].key != key)
		at = key < nodes[at].key ? nodes[at].left : nodes[at].right;
	return at != 0;
}

static long add_up(int at, int depth)
{
	if (at == 0)
		return 0;
	return depth + nodes[at].key % 3 + add_up(nodes[at].left, depth + 1) + add_up(nodes[at].right, depth + 1);
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Win win;
	unsigned random = 12345;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int numbers = bench_number(argc, argv, 1), steps = bench_number(argc, argv, 2);
	MPI_Win_allocate((MPI_Aint)(numbers + 2) * (MPI_Aint)sizeof *nodes, sizeof *nodes, MPI_INFO_NULL, MPI_COMM_WORLD, &nodes, &win);
	struct node *first = nodes; /* of the memory: a put comes there */
	nodes++;
	memset(first, 0, sizeof *first);
	MPI_Win_fence(0, win);

	double start = bench_start();
	for (int step = 0; step < steps; step++) {
		int root = 0, found = 0;
		used = 0;
		for (int i = 0; i < numbers; i++) {
			random = random * 1664525u + 1013904223u;
			root = insert(root, random >> 8);
		}
		for (int i = 0; i < numbers; i++) {
			random = random * 1664525u + 1013904223u;
			found += contains(root, random >> 8);
		}
		sum += (double)(found + add_up(root, 0) % 1000);
		MPI_Win_fence(0, win);
		MPI_Put(&used, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, win);
		MPI_Win_fence(0, win);
	}
	bench_report(start, sum);

	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
