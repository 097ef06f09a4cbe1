/* Functions that are called very often, each time for a few elements of a window: one calls
 * itself, one has a loop that goes round a few times, and one a loop that goes from one element to
 * any other. The first two are called by two others, which have every other block of 64 elements,
 * the last one by these, from one place, and from another place, in turns. The file "touched" says how often a set was asked for a
 * block, and of how many accesses or loops, in each third of the program; and then by which way
 * each element was touched. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4096, NUMBERS = 64 * BLOCKS, DEPTH = 8, TIMES = 200, SHORT = 20000 };

static double *memory;
static char ways[4 * NUMBERS];
static unsigned seed = 1;
static int begin; /* of the elements of this third */
static jmp_buf back;

/* Between the call-backs and the sets. */
long asked;
static long done;
__asm__(".globl __wrap_mcchk_find_block\n"
	"__wrap_mcchk_find_block:\n"
	"	incq asked(%rip)\n"
	"	jmp __real_mcchk_find_block\n");

static __attribute__((noinline)) unsigned number(unsigned below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* An element of those that a way touches, with room for a few more behind it. */
static __attribute__((noinline)) int element(int way) { return begin + (int)(128 * number(BLOCKS / 2) + 64 * ((unsigned)way & 1) + number(56)); }

static __attribute__((noinline)) void down(int depth, int way)
{
	int at = element(way);
	ways[at] = (char)way;
	memory[at] += depth;
	done++;
	if (depth == 0) {
		if (number(500) == 0)
			longjmp(back, 1);
		return;
	}
	down(depth - 1, way);
	__asm__ volatile("# one place");
	down(depth - 1, way);
	__asm__ volatile("# another place");
}

static __attribute__((noinline)) void few(double *restrict to, int n)
{
	for (int i = 0; i < n; i++)
		to[i] += n;
}

static __attribute__((noinline)) void some(int way)
{
	int at = element(way), n = 1 + (int)number(5);
	for (int i = 0; i < n; i++)
		ways[at + i] = (char)way;
	few(memory + at, n);
	done++;
}

static __attribute__((noinline)) void any(double *to, const int *at, int n)
{
	for (int i = 0; i < n; i++)
		to[at[i]] += n;
}

static __attribute__((noinline)) void several(int way)
{
	static int at[5];
	int n = 2 + (int)number(4);
	for (int i = 0; i < n; i++) {
		at[i] = element(way) + (way == 7 ? NUMBERS : 0);
		ways[at[i]] = (char)way;
	}
	done += n;
	if (way != 7) {
		any(memory, at, n);
		__asm__ volatile("# here");
	} else {
		any(memory, at, n);
		__asm__ volatile("# elsewhere");
	}
}

static __attribute__((noinline)) void first(int what)
{
	if (what == 0)
		down(DEPTH, 1);
	else if (what == 1)
		some(3);
	else
		several(5);
	__asm__ volatile("# here");
}

static __attribute__((noinline)) void second(int what)
{
	if (what == 0)
		down(DEPTH, 2);
	else if (what == 1)
		some(4);
	else
		several(6);
	__asm__ volatile("# there");
}

int main(int argc, char **argv)
{
	FILE *touched = fopen("touched", "w");
	MPI_Win win;

	MPI_Init(&argc, &argv);
	memory = aligned_alloc(4096, 4 * NUMBERS * sizeof *memory);
	if (!touched || !memory)
		return 1;
	memset(memory, 0, 4 * NUMBERS * sizeof *memory);
	MPI_Win_create(memory, 4 * NUMBERS * sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (volatile int i = 0; i < TIMES; i++)
		if (setjmp(back) == 0)
			(i / 40 % 2 ? first : second)(0);
	MPI_Win_fence(0, win);
	fprintf(touched, "%ld %ld\n", asked, done);
	asked = done = 0;
	begin = NUMBERS;
	for (int i = 0; i < SHORT; i++)
		(i / 4000 % 2 ? first : second)(1);
	MPI_Win_fence(0, win);
	fprintf(touched, "%ld %ld\n", asked, done);
	asked = done = 0;
	begin = 2 * NUMBERS;
	for (int i = 0; i < SHORT; i++)
		if (i % 3 == 2)
			several(7);
		else
			(i % 3 ? first : second)(2);
	MPI_Win_fence(0, win);
	fprintf(touched, "%ld %ld\n", asked, done);
	for (int i = 0; i < 4 * NUMBERS; i++)
		if (ways[i])
			fprintf(touched, "%d %d\n", ways[i], i);
	fclose(touched);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
