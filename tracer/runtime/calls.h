/* What the wrappers of every programming model call: calls.c, map.c, memory.c and
 * start.c. Knows no library.
 *
 * Between mcchk_call_begin and mcchk_call_end of a call its thread writes no
 * other record: what a call refers to is defined before, what it makes after.
 */
#ifndef MCCHK_CALLS_H
#define MCCHK_CALLS_H

#include "mcchk.h"

#pragma GCC visibility push(hidden)

#define MCCHK_FRAME __builtin_frame_address(0)

/* A function as the generator describes it; identifiers are index + 1. */
struct mcchk_function {
	const char *definition; /* "MPI_Put origin_addr:p,…" */
};
extern const struct mcchk_function mcchk_functions[];
extern const uint16_t mcchk_fn_mcchk_Memory_gone, mcchk_fn_mcchk_Threads;

/* ---- calls.c ---- */

/* The frame of the program's call, when the wrapper of a call in Fortran has been
 * passed on to the one in C whose frame this is. One above it was left by longjmp. */
static inline void *mcchk_caller(void *frame)
{
	void *through = mcchk_self.through;
	return through && (uintptr_t)frame < (uintptr_t)through ? through : frame;
}

/* Until mcchk_leave the thread is within the library. */
static inline void mcchk_within(void *frame)
{
	mcchk_self.depth = 1;
	mcchk_self.frame = (uintptr_t)frame;
}

/* Whether the program itself makes this call, and not the library or the
 * run-time. `frame` is the wrapper's; a call from above the frame of the one
 * that is under way means that the latter was left by longjmp or an exception. */
static inline int mcchk_enter(void *frame)
{
	struct mcchk_tls *self = &mcchk_self;
	if (!mcchk_active || (self->depth && (uintptr_t)frame < self->frame))
		return 0;
	mcchk_within(frame);
	return 1;
}

static inline void mcchk_leave(void) { mcchk_self.depth = 0; }

int64_t *mcchk_call_begin(uint16_t function, uint64_t words, void *frame);
void mcchk_call_commit(void);
void mcchk_call_commit_at(uint64_t begin);
void mcchk_call_end(uint64_t end, int failed);

/* ---- map.c: handles to what is known of them ---- */

struct mcchk_map {
	uint64_t *keys; /* 0: empty */
	void **values;
	uint32_t slots, count;
};
void *mcchk_map_get(const struct mcchk_map *m, uint64_t key);
void mcchk_map_set(struct mcchk_map *m, uint64_t key, void *value); /* NULL removes */

/* ---- memory.c ---- */

void mcchk_memory_allocated(void *base, uint64_t size); /* by MPI_Alloc_mem */
void mcchk_memory_freed(void *base);                    /* by MPI_Free_mem, soon */

/* ---- threads.c ---- */

void mcchk_threads_start(void *frame);
void mcchk_threads_recorded(void *frame);

/* ---- start.c: what the start of a run is for every model ---- */

/* What process 0 tells the others. */
struct mcchk_agreement {
	int active;
	uint8_t run[16];
	char boot[40];
};

void mcchk_propose(struct mcchk_agreement *a, const char *directory, const char *why);
int mcchk_elsewhere(const struct mcchk_agreement *a); /* this machine's clock is another than that of process 0 */
void mcchk_open_trace(const struct mcchk_agreement *a, uint32_t rank, uint32_t ranks);
void mcchk_write_infos(const char *library_key, const char *library);

#pragma GCC visibility pop
#endif
