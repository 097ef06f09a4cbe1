/* Places that go from one address to any other, in spans between fences. What they touch
 * is written to the file "touched": span, store, offset, size. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8 << 20, MOST = 40000 };

static char *memory;
static int list[MOST], span;
static FILE *touched;
static MPI_Win win;
static unsigned seed = 1;
static double sum;

struct __attribute__((packed)) odd {
	int value;
};

static unsigned number(unsigned below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* Draws n of the elements from `first` on, every `step`-th. */
static void draw(int n, unsigned first, unsigned elements, unsigned step, int size, int store)
{
	for (int i = 0; i < n; i++) {
		list[i] = (int)(first + step * number(elements));
		fprintf(touched, "%d %d %ld %d\n", span, store, (long)list[i] * size, size);
	}
}

static void fence(void)
{
	MPI_Win_fence(0, win);
	span++;
}

#define PLACES(type)                                                                               \
	static __attribute__((noinline)) void load_##type(const type *a, int from, int n)          \
	{                                                                                          \
		for (int i = from; i < n; i++)                                                     \
			sum += (double)a[list[i]];                                                 \
	}                                                                                          \
	static __attribute__((noinline)) void store_##type(type *a, int from, int n)               \
	{                                                                                          \
		for (int i = from; i < n; i++)                                                     \
			a[list[i]] = (type)i;                                                      \
	}
typedef short half;
PLACES(char)
PLACES(half)
PLACES(int)
PLACES(double)

static __attribute__((noinline)) void load_odd(int n)
{
	for (int i = 0; i < n; i++)
		sum += ((const struct odd *)(memory + list[i]))->value;
}

/* One place in calls of several depths. */
static __attribute__((noinline)) int deep(int depth, int from, int n)
{
	const int *a = (const int *)memory;
	int x = 0;
	for (int i = from; i < from + n; i++)
		x ^= a[list[i]];
	return depth > 0 ? deep(depth - 1, from + n, n) + x : x;
}

static void *run(void *from)
{
	store_int((int *)memory, *(int *)from, 2 * *(int *)from);
	return NULL;
}

static void with_thread(int n)
{
	pthread_t thread;
	draw(2 * n, 0, 50000, 1, sizeof(int), 1);
	store_int((int *)memory, 0, n);
	pthread_create(&thread, NULL, run, &n);
	pthread_join(thread, NULL);
	draw(n, 0, 50000, 1, sizeof(double), 0);
	load_double((double *)memory, 0, n);
}

int main(int argc, char **argv)
{
	int provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	memory = aligned_alloc(4096, BYTES + 4096);
	for (int i = 0; i < BYTES + 4096; i++)
		memory[i] = 0;
	touched = fopen("touched", "w");
	MPI_Win_create(memory, BYTES - 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	fence();
	draw(MOST, 1000, 3000, 1, sizeof(double), 0); /* span 1: all of them */
	load_double((double *)memory, 0, MOST);
	fence();
	draw(MOST, 5, 2000, 3, sizeof(double), 1); /* span 2: every third */
	store_double((double *)memory, 0, MOST);
	fence();
	for (int repeat = 0; repeat < 3; repeat++) { /* few of many */
		draw(3000, 0, BYTES / 8, 1, sizeof(double), 1);
		store_double((double *)memory, 0, 3000);
		draw(3000, 0, BYTES / 4, 1, sizeof(int), 0);
		load_int((int *)memory, 0, 3000);
		draw(3000, 0, BYTES / 2, 1, sizeof(half), 1);
		store_half((half *)memory, 0, 3000);
		draw(3000, 0, BYTES, 1, 1, 0);
		load_char(memory, 0, 3000);
		fence();
	}
	for (int n = 10; n < 60; n++) { /* few in each span */
		draw(n, 0, 2000, 1, sizeof(int), 1);
		store_int((int *)memory, 0, n);
		fence();
	}
	draw(3000, 0, 50000, 1, sizeof(int), 0);
	sum += deep(9, 0, 300);
	fence();
	for (int i = 0; i < 5000; i++) { /* at any address */
		list[i] = (int)number(20000);
		fprintf(touched, "%d 0 %d 4\n", span, list[i]);
	}
	load_odd(5000);
	fence();
	with_thread(3000);
	fence();
	with_thread(500);
	fclose(touched);
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum == 1;
}
