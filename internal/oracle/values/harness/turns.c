/* Runs a generated program: `app TURNS I` the I-th. TURNS is the name of a file of 8 zeros
 * that all PEs map: the number of the current turn. A PE waits for its turn before a call, so
 * that all take the course that was drawn. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "turns.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 40 /* seconds without a turn: the PEs wait for each other */

char symmetric[SYMMETRIC] __attribute__((aligned(4096)));
long psync_barrier[SHMEM_BARRIER_SYNC_SIZE], psync_sync[SHMEM_BARRIER_SYNC_SIZE];

static _Atomic uint64_t *turn;

/* What no tracer sees: going on with what others do to this PE, and completing what it has
 * issued. */
static void (*progress)(void), (*quiet)(void), (*ctx_quiet)(shmem_ctx_t ctx);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void turn_take(int k)
{
	double since = now();
	uint64_t seen = *turn;

	for (unsigned spins = 1; *turn < (uint64_t)k; spins++) {
		progress();
		sched_yield();
		if (spins % 4096 != 0)
			continue;
		if (seen != *turn) {
			since = now();
			seen = *turn;
		} else if (now() - since > PATIENCE) {
			fprintf(stderr, "a PE waits for turn %d, it is turn %d\n", k, (int)*turn);
			_exit(3);
		}
	}
}

void turn_pass(void) { ++*turn; }

void settle(void) { quiet(); }
void settle_ctx(shmem_ctx_t ctx) { ctx_quiet(ctx); }

static void nothing(void) {}

static void find(void *function, const char *name)
{
	if (!(*(void **)function = dlsym(RTLD_DEFAULT, name))) {
		fprintf(stderr, "the library has no %s\n", name);
		exit(2);
	}
}

void expect(long found, long want, int line)
{
	if (found != want) {
		fprintf(stderr, "the call of line %d gives %ld, not %ld\n", line, found, want);
		_exit(4);
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
	if (fd < 0 || (turn = (void *)syscall(SYS_mmap, NULL, 8L, (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, (long)fd, 0L)) == MAP_FAILED) {
		perror("usage: app TURNS I");
		return 2;
	}
	const struct program *p = &programs[atoi(argv[2])];
	for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
		psync_barrier[i] = psync_sync[i] = SHMEM_SYNC_VALUE;
	char *own = malloc(4096);
	shmem_ctx_t ctx;
	if (!(*(void **)&progress = dlsym(RTLD_DEFAULT, "opal_progress")))
		progress = nothing; /* of the library for tests */
	find(&quiet, "pshmem_quiet");
	find(&ctx_quiet, "pshmem_ctx_quiet");
	shmem_init();
	if (shmem_ctx_create(0, &ctx) != 0)
		return 2;
	p->run[shmem_my_pe()](own, ctx);
	turn_take(p->turns);
	shmem_ctx_destroy(ctx);
	shmem_finalize();
	free(own);
	return 0;
}
