/* Functions that go from one address to any other, called in turn by others whose calls have
 * their frames at the same addresses. Each way of calling has some memory of its own, of which
 * the file "touched" has the offsets: way, offset. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { AREA = 16384, WAYS = 26, CALLS = 400, LIST = 24 };

static int *memory, list[LIST];
static FILE *touched;
static jmp_buf env;
static unsigned seed = 1;
static long sum;

static long number(unsigned below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static __attribute__((noinline)) void one(const int *at)
{
	for (int i = 0; i < LIST; i += 6)
		list[i] = (int)number(AREA / 2);
	sum += at[list[0]];
}

static __attribute__((noinline)) void many(const int *at)
{
	for (int i = 0; i < LIST; i++)
		sum += at[list[i]];
}

static __attribute__((noinline)) void calls(void (*f)(const int *), const int *at) { f(at); }

static __attribute__((noinline)) void jumps(void (*f)(const int *), const int *at)
{
	f(at);
	longjmp(env, 1);
}

static __attribute__((noinline)) void recurs(void (*f)(const int *), const int *at, int depth)
{
	if (depth == 0)
		f(at);
	else if (depth & 1)
		recurs(f, at, depth / 2);
	else
		recurs(f, at, depth - 1);
}

static __attribute__((noinline)) void tell(int way, int n, void (*f)(const int *))
{
	for (int i = 0; f == many && i < LIST; i++)
		list[i] = (int)number(AREA / 2);
	if (f == one) { /* what it will draw */
		unsigned before = seed;
		fprintf(touched, "%d %ld\n", way, (way * AREA + n % (AREA / 2) + number(AREA / 2)) * (long)sizeof(int));
		seed = before;
	}
	for (int i = 0; f == many && i < LIST; i++)
		fprintf(touched, "%d %ld\n", way, (way * AREA + n % (AREA / 2) + list[i]) * (long)sizeof(int));
}

#define CALLER(name)                                                                               \
	static __attribute__((noinline)) void name(int way, void (*f)(const int *), int how)       \
	{                                                                                          \
		for (volatile int i = 0; i < CALLS; i++) {                                         \
			const int *at = memory + way * AREA + i;                                   \
			tell(way, i, f);                                                           \
			if (how == 0)                                                              \
				f(at);                                                             \
			else if (how == 1)                                                         \
				calls(f, at);                                                      \
			else if (how == 2)                                                         \
				recurs(f, at, i % 20);                                             \
			else if (setjmp(env) == 0)                                                 \
				jumps(f, at);                                                      \
		}                                                                                  \
	}
CALLER(first)
CALLER(second)

int main(int argc, char **argv)
{
	int way = 0;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	touched = fopen("touched", "w");
	memory = aligned_alloc(4096, WAYS * AREA * sizeof(int));
	for (int i = 0; i < WAYS * AREA; i++)
		memory[i] = i;
	MPI_Win_create(memory, WAYS * AREA * sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (int how = 0; how < 4; how++) {
		first(way++, one, how);
		second(way++, one, how);
		first(way++, one, how);
		first(way++, many, how);
		second(way++, many, how);
		first(way++, many, how);
	}
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	free(memory);
	fclose(touched);
	MPI_Finalize();
	printf("%ld\n", sum);
	return 0;
}
