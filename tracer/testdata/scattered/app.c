/* Functions that are called very often, each time for a few elements of a window: by two
 * others, whose calls have their frames at the same addresses. What they touch is written to
 * the file "touched": span, by which way, store, offset, size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NUMBERS = 4096, NODES = 3000, AREA = 1 << 20, FAR = 40000, PAGE = 4096 };

struct node {
	long key;
	int left, right; /* 0: none */
};

static char *memory;
static struct node *nodes; /* from 1 on */
static int used, span, way;
static FILE *touched;
static MPI_Win win;
static unsigned seed = 1;
static double sum;

static void touch(const void *at, int size, int store)
{
	fprintf(touched, "%d %d %d %ld %d\n", span, way, store, (long)((const char *)at - memory), size);
}

static void fence(void)
{
	MPI_Win_fence(0, win);
	span++;
}

/* Loads with a distance, stores one after the other, by halves. */
static __attribute__((noinline)) void halves(const double *restrict from, double *restrict to, int n, int stride)
{
	if (n < 2)
		return;
	for (int i = 0; i < n; i++)
		to[i] = from[i * stride];
	if (n % 3 == 0) {
		halves(from, to, n / 2, stride);
		halves(from + n / 2 * stride, to + n / 2, n - n / 2, stride);
	} else {
		halves(from + n / 2 * stride, to + n / 2, n - n / 2, stride);
		halves(from, to, n / 2, stride);
	}
}

static void tell_halves(const double *from, double *to, int n, int stride)
{
	for (int i = 0; i < n; i++) {
		touch(from + i * stride, 8, 0);
		touch(to + i, 8, 1);
	}
}

static __attribute__((noinline)) int insert(int at, long key)
{
	if (at == 0) {
		nodes[++used].key = key;
		return used;
	}
	if (key < nodes[at].key)
		nodes[at].left = insert(nodes[at].left, key);
	else if (key > nodes[at].key)
		nodes[at].right = insert(nodes[at].right, key);
	return at;
}

/* What insert is about to do, and writes: the stores of what it has found too. */
static void tell_insert(int at, long key)
{
	if (at == 0) {
		touch(&nodes[used + 1].key, 8, 1);
		return;
	}
	touch(&nodes[at].key, 8, 0);
	if (key == nodes[at].key)
		return;
	int *next = key < nodes[at].key ? &nodes[at].left : &nodes[at].right;
	touch(next, 4, 0);
	touch(next, 4, 1);
	tell_insert(*next, key);
}

static __attribute__((noinline)) void one(const char *at) { sum += *at; }

/* Called by a function that has called itself, at two places in either order. */
typedef void step(const char *at, int first, int more);

static __attribute__((noinline)) void leaf(const char *at, int first, int more) { sum += *at + first + more; }

static __attribute__((noinline)) void branch(const char *at, int first, int more)
{
	step *volatile next = more ? branch : leaf;
	if (first) {
		next(at, 0, more - 1);
		__asm__ volatile("# one place");
	} else {
		next(at, 1, more - 1);
		__asm__ volatile("# another place");
	}
}

static __attribute__((noinline)) void in_turn(int n)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		way = 5 + i % 2;
		const char *at = memory + way * AREA + (seed >> 8) % (AREA / 2);
		touch(at, 1, 0);
		branch(at, i % 2, 1);
	}
}

/* Functions that do nothing but let the C library copy, called at one place, with their frames at
 * one address: what calls them is told apart by its own callers. */
typedef void copy(char *to, const void *from);

#define COPIES(name, bytes, barrier)                                                               \
	static __attribute__((noinline)) void name(char *to, const void *from)                     \
	{                                                                                          \
		memcpy(to, from, bytes);                                                           \
		__asm__ volatile(barrier);                                                         \
	}
COPIES(copy24, 24, "# 24")
COPIES(copy16, 16, "# 16")

static __attribute__((noinline)) void by_copy(copy *c, char *to, const void *from)
{
	c(to, from);
	__asm__ volatile("# copied");
}

static __attribute__((noinline)) void copy_now(copy *c, char *to, const void *from)
{
	by_copy(c, to, from);
	__asm__ volatile("# now");
}

static __attribute__((noinline)) void copy_anew(copy *c, char *to, const void *from)
{
	by_copy(c, to, from);
	__asm__ volatile("# anew");
}

static __attribute__((noinline)) void copies(int n)
{
	static copy *const both[] = {copy24, copy16};
	static void (*const by[])(copy *, char *, const void *) = {copy_now, copy_anew};
	char from[32] = {0};

	for (int i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		int size = seed >> 31, caller = seed >> 30 & 1;
		way = 8 + 2 * size + caller;
		char *to = memory + way * AREA + 8 * (seed >> 8 & 4095);
		touch(to, size ? 16 : 24, 1);
		by[caller](both[size], to, from);
	}
}

#define CALLER(name)                                                                               \
	static __attribute__((noinline)) void name(int by, int what)                               \
	{                                                                                          \
		double *numbers = (double *)(memory + by * AREA);                                  \
		way = by;                                                                          \
		if (what == 0) {                                                                   \
			tell_halves(numbers, numbers + 3 * NUMBERS, NUMBERS, 2);                   \
			for (volatile int i = 0; i < 2; i++)                                       \
				halves(numbers, numbers + 3 * NUMBERS, NUMBERS, 2);                \
			return;                                                                    \
		}                                                                                  \
		nodes = (struct node *)(memory + by * AREA);                                       \
		used = 0;                                                                          \
		for (int i = 0, root = 0; i < NODES; i++) {                                        \
			seed = seed * 1664525u + 1013904223u;                                      \
			tell_insert(root, seed >> 8);                                              \
			root = insert(root, seed >> 8);                                            \
		}                                                                                  \
	}
CALLER(first)
CALLER(second)

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	touched = fopen("touched", "w");
	memory = mmap(NULL, FAR * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MPI_Win_create(memory, FAR * (MPI_Aint)PAGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	fence();
	first(0, 0); /* span 1 */
	second(1, 0);
	first(2, 0);
	fence();
	first(3, 1); /* span 2 */
	second(4, 1);
	in_turn(2000);
	fence();
	way = 7; /* span 3: more blocks than sets have */
	for (long i = 0; i < FAR; i++) {
		touch(memory + i * PAGE, 1, 0);
		one(memory + i * PAGE);
	}
	fence();
	copies(20000); /* span 4 */
	fence();
	fclose(touched);
	MPI_Win_free(&win);
	MPI_Finalize();
	return sum == 1;
}
