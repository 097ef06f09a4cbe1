/* The memory that the kernels work on, at the same address in both programs. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

extern unsigned opaque_calls;

static inline void make_arena(void)
{
	if (mmap(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != ARENA) {
		perror("mmap");
		exit(2);
	}
}

/* What is in the arena, as a number: a line for each time that it is filled anew, and in the
 * end. */
static inline void sum_arena(const char *name)
{
	static FILE *file;
	unsigned long sum = 0;
	if (!file && !(file = fopen(name, "w")))
		exit(2);
	for (int i = 0; i < ARENA_SIZE; i++)
		sum = sum * 31 + (unsigned char)ARENA[i];
	fprintf(file, "%lx\n", sum);
	fflush(file);
}

static inline void fill_arena(void)
{
	unsigned x = 1;
	for (int i = 0; i < ARENA_SIZE; i++) {
		x = x * 1664525 + 1013904223;
		ARENA[i] = (char)(x >> 24);
	}
	opaque_calls = 0;
}
