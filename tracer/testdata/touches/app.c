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

/* Members of objects: those that are accessed together. `move` and `move_packed` call
 * nothing, `visit` calls. */
#define OBJECT double x, y, z; int kind; short flag; double more;
struct object {
	OBJECT
};
struct __attribute__((packed)) packed_object {
	OBJECT
};

static void nothing(void) { }
static void (*volatile call)(void) = nothing;

#define VISIT(name, type, calls)                                                                   \
	static __attribute__((noinline)) void name(struct type *all, int n)                        \
	{                                                                                          \
		for (int i = 0; i < n; i++) {                                                      \
			struct type *p = all + list[i];                                            \
			if (list[i] & 1) {                                                         \
				p->x += 1;                                                         \
				p->z = p->y;                                                       \
			} else {                                                                   \
				sum += p->kind + p->flag + p->more + all[list[i] + 1].x;           \
			}                                                                          \
			calls;                                                                     \
		}                                                                                  \
	}
VISIT(move, object, (void)0)
VISIT(move_packed, packed_object, (void)0)
VISIT(visit, object, call())

static void draw_objects(int n, long start, unsigned first, unsigned objects, int packed)
{
	long size = packed ? sizeof(struct packed_object) : sizeof(struct object);
	for (int i = 0; i < n; i++) {
		list[i] = (int)(first + number(objects));
		long at = start + list[i] * size;
		if (list[i] & 1)
			fprintf(touched, "%d 0 %ld 16\n%d 1 %ld 8\n%d 1 %ld 8\n", span, at, span, at, span, at + 16);
		else
			fprintf(touched, "%d 0 %ld 6\n%d 0 %ld 8\n%d 0 %ld 8\n", span, at + 24, span, at + (packed ? 30 : 32), span, at + size);
	}
}

static void with_objects(int n, unsigned first, unsigned objects)
{
	draw_objects(n, 0, first, objects, 0);
	move((struct object *)memory, n);
	draw_objects(n, 24, first, objects, 0);
	move((struct object *)(memory + 24), n);
	draw_objects(n, 3, first, objects, 1);
	move_packed((struct packed_object *)(memory + 3), n);
	draw_objects(n, 0, first, objects, 0);
	visit((struct object *)memory, n);
	fence();
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
	for (int n = 20; n < 10000; n *= 5) {
		with_objects(n, 0, 3000);
		with_objects(n, 0, BYTES / 40);
		with_objects(n, BYTES / 40 - 20, 20); /* some of them beyond the window */
		static struct object own[500]; /* in no window */
		for (int i = 0; i < n; i++)
			list[i] = (int)number(499);
		move(own, n);
		fence();
	}
	for (unsigned step = 1; step < 10; step++) { /* many, at no distances that are alike */
		draw(MOST, 7, 70000, step, 1, 0);
		load_char(memory, 0, MOST);
		draw(MOST, 300, 40000, step, sizeof(half), 1);
		store_half((half *)memory, 0, MOST);
		draw(MOST, 64 * step, 30000, step, sizeof(double), 0);
		load_double((double *)memory, 0, MOST);
		draw_objects(MOST, 0, 100, 20000, 0);
		move((struct object *)memory, MOST);
		fence();
		draw(MOST, step, 60000, step, sizeof(int), 0);
		sum += deep(99, 0, 400);
		fence();
	}
	with_thread(3000);
	fence();
	with_thread(500);
	fclose(touched);
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum == 1;
}
