/* The order in which the PEs of a generated program take turns, and their memory. */
#ifndef TURNS_H
#define TURNS_H

#include <shmem.h>

#define SYMMETRIC 0x1000 /* bytes, from this address on in what was drawn */
#define PRIVATE 0x9000

extern char symmetric[SYMMETRIC];
extern long psync_barrier[SHMEM_BARRIER_SYNC_SIZE], psync_sync[SHMEM_BARRIER_SYNC_SIZE];

/* Waits for turn k, which ends with turn_pass. */
void turn_take(int k);
void turn_pass(void);

/* Lets what was issued take effect. */
void settle(void);
void settle_ctx(shmem_ctx_t ctx);

/* Ends a program of which a call gives something else than it has to. */
void expect(long found, long want, int line);

#define M(at) ((long *)(symmetric + ((at) - SYMMETRIC)))
#define P(at) ((long *)(own + ((at) - PRIVATE)))
#define LOAD(at) ((void)*(volatile long *)(at))
#define STORE(at, value) (*(volatile long *)(at) = (value))

struct program {
	void (*run[4])(char *own, shmem_ctx_t ctx); /* by PE, with its private memory */
	int turns;
};
extern const struct program programs[];

#endif
