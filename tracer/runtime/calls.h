/* What the wrappers of every programming model call: calls.c, map.c, memory.c and
 * start.c. Knows no library.
 *
 * Between mcchk_call_begin and mcchk_call_end of a call its thread writes no
 * other record: what a call refers to is defined before, what it makes after.
 */
#ifndef MCCHK_CALLS_H
#define MCCHK_CALLS_H

#include "mcchk.h"

#include <sched.h>

#pragma GCC visibility push(hidden)

#define MCCHK_FRAME __builtin_frame_address(0)

/* A function as the generator describes it; identifiers are index + 1. */
struct mcchk_function {
	const char *definition; /* "MPI_Put origin_addr:p,…" */
};
extern const struct mcchk_function mcchk_functions[];
extern const uint16_t mcchk_fn_mcchk_Memory_gone, mcchk_fn_mcchk_Threads, mcchk_fn_mcchk_Mapped, mcchk_fn_mcchk_Strand, mcchk_fn_mcchk_Strand_end, mcchk_fn_mcchk_Strand_waits, mcchk_fn_mcchk_Will_release,
	mcchk_fn_mcchk_Release, mcchk_fn_mcchk_Fork, mcchk_fn_mcchk_Acquire, mcchk_fn_mcchk_Object_end,
	mcchk_fn_mcchk_Atomic, mcchk_fn_mcchk_Atomic_fence;

/* ---- calls.c ---- */

/* The frame of the program's call, when the wrapper of a call in Fortran has been
 * passed on to the one in C whose frame this is. One above it was left by longjmp. */
static inline void *mcchk_caller(void *frame)
{
	void *through = mcchk_self.through;
	return through && (uintptr_t)frame < (uintptr_t)through ? through : frame;
}

void mcchk_call_left(void);
int mcchk_call_goes_on(void);

/* Until mcchk_leave the thread is within the library. */
static inline void mcchk_within(void *frame)
{
	mcchk_self.depth = 1;
	mcchk_self.frame = (uintptr_t)frame;
	mcchk_self.back = 0;
	mcchk_self.goes_on = 0;
}

/* Whether the program itself makes this call, and not the library or the
 * run-time. `frame` is the wrapper's; a call from above the frame of the one
 * that is under way means that the latter was left by longjmp or an exception. */
static inline int mcchk_enter(void *frame)
{
	struct mcchk_tls *self = &mcchk_self;
	if (!mcchk_active || (self->depth && (uintptr_t)frame < self->frame && mcchk_call_goes_on()))
		return 0;
	if (self->depth)
		mcchk_call_left();
	mcchk_within(frame);
	self->back = ((uintptr_t *)frame)[1];
	return 1;
}

static inline void mcchk_leave(void) { mcchk_self.depth = 0; }

struct mcchk_call_record {
	uint8_t type, flags;
	uint16_t function;
	uint32_t length;
	uint64_t seq, begin, end;
	uint32_t stack, zero;
	int64_t words[];
};

/* A hash of words, with one more. */
static inline uint64_t mcchk_hashed(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9E3779B97F4A7C15ull;
	return h ^ h >> 29;
}

int64_t *mcchk_call_begin(uint16_t function, uint64_t words, void *frame);
int64_t *mcchk_look_begin(uint16_t function, uint64_t words, void *frame);
void mcchk_call_commit(void);
void mcchk_call_commit_at(uint64_t begin);
void mcchk_call_end(uint64_t end, int failed);
uint64_t mcchk_call_seq(void); /* of the call that the thread makes; 0: none is recorded */
void mcchk_poll_end(uint64_t end, int failed); /* of one that only looks at a value */

/* ---- map.c: handles to what is known of them ---- */

struct mcchk_map {
	uint64_t *keys; /* 0: empty */
	void **values;
	uint32_t slots, count;
	uint64_t last; /* the last key that was looked up; 0: none, or the map has changed */
	void *found;
	int apart; /* its memory is the system's: it is set where malloc or free may be under way */
};
void *mcchk_map_find(struct mcchk_map *m, uint64_t key);
static inline void *mcchk_map_get(struct mcchk_map *m, uint64_t key)
{
	return MCCHK_LIKELY(key == m->last && key != 0) ? m->found : mcchk_map_find(m, key);
}
void mcchk_map_set(struct mcchk_map *m, uint64_t key, void *value); /* NULL removes */

/* ---- memory.c ---- */

void mcchk_memory_allocated(void *base, uint64_t size); /* by MPI_Alloc_mem */
void mcchk_memory_freed(void *base);                    /* by MPI_Free_mem, soon */

void mcchk_free(void *p); /* what the run-time itself has allocated, outside of calls: no memory of the program */

void mcchk_stack_bounds(uintptr_t *lo, uintptr_t *hi); /* of the calling thread; 0, 0: not known */

/* ---- blocks.c: where blocks of the heap were allocated ---- */

void mcchk_block_ends(void *p);
void mcchk_block_resized(void *p, uint64_t size, void *frame);
void mcchk_block_named(uint64_t at);
extern void *mcchk_blocks; /* NULL: nothing is known of them */
static inline int mcchk_blocks_known(void) { return mcchk_blocks != NULL; }

/* ---- strands.c: strands of the process, and what orders them ---- */

/* How a thread came about. */
enum mcchk_origin { MCCHK_UNSEEN, MCCHK_SEEN, MCCHK_OPENMP };

/* What a thread that the program makes is given. */
struct mcchk_birth {
	enum mcchk_origin origin;
	uint64_t start;  /* object that its first record comes after, */
	uint64_t end;    /* and that its last one comes before; 0: none */
	uintptr_t begin; /* where its code begins */
};
void mcchk_strand_born(const struct mcchk_birth *birth);

uint64_t mcchk_objects(uint64_t count); /* new objects: the first of so many numbers */
uint64_t mcchk_strand_new(void);
uint64_t mcchk_strand_current(void);
void mcchk_strand_switch(uint64_t strand, void *frame); /* what the calling thread does from here on */
void mcchk_strand_over(uint64_t strand, void *frame);
void mcchk_strand_waits(uint64_t object, uint64_t strands, uint64_t releases, void *frame); /* the calling thread's */
/* The same where it is known only behind the wait how many releases there were: 0, until
 * mcchk_strand_waited says so. */
struct mcchk_awaited {
	int64_t *words; /* of the note; NULL: there is none */
	struct mcchk_chunk *chunk;
	uint64_t offset;
	uint32_t used, compact;
};
struct mcchk_awaited mcchk_strand_waits_for(uint64_t object, void *frame);
void mcchk_strand_waited(const struct mcchk_awaited *w, uint64_t releases);
void mcchk_strand_only_tasks(void *frame); /* the calling thread does nothing but execute tasks from here on */
void mcchk_strands_start(void *frame); /* of the thread that called MPI_Init */

/* Notes; `frame` is that of the run-time's function that the program called. */
void mcchk_note(uint16_t function, uint64_t value, void *frame);
#define MCCHK_RELEASE(object, frame) mcchk_note(mcchk_fn_mcchk_Release, (uint64_t)(object), frame)
#define MCCHK_FORK(object, frame) mcchk_note(mcchk_fn_mcchk_Fork, (uint64_t)(object), frame) /* for strands that are to begin */
#define MCCHK_ACQUIRE(object, frame) mcchk_note(mcchk_fn_mcchk_Acquire, (uint64_t)(object), frame)
#define MCCHK_OBJECT_END(object, frame) mcchk_note(mcchk_fn_mcchk_Object_end, (uint64_t)(object), frame)

/* A call in which the thread may wait for others: it records nothing meanwhile. */
#define MCCHK_WAITING(call)                                                                        \
	({                                                                                         \
		mcchk_live_waits();                                                                \
		int _rc = call;                                                                    \
		mcchk_live_goes_on();                                                              \
		_rc;                                                                               \
	})

/* Whether calls of threads' functions are notes at all. */
static inline int mcchk_orders(void) { return __builtin_expect(__atomic_load_n(&mcchk_strands, __ATOMIC_RELAXED), 0); }

/* A lock of the run-time's own that is held for moments. */
static inline void mcchk_spin_lock(int *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void mcchk_spin_unlock(int *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

/* ---- history.c ---- */

extern int mcchk_others;
extern uint32_t mcchk_watching;

/* Whether strands may be at work whose accesses are not all before what follows. */
static inline int mcchk_beside(void) { return __builtin_expect(__atomic_load_n(&mcchk_others, __ATOMIC_SEQ_CST) > 0, 0); }

void mcchk_strands_more(uintptr_t pc);
void mcchk_strands_fewer(uintptr_t pc);
void mcchk_watch_start(void);
void mcchk_watch_counts(void);
void mcchk_watch_looks(void);
void mcchk_buffer(struct mcchk_range r, void *frame);
void mcchk_given(void *frame, struct mcchk_range place); /* the same, for mcchk_places */

/* ---- threads.c ---- */

enum { MCCHK_THREADS, MCCHK_REGIONS, MCCHK_BUFFERS, MCCHK_FORKED, MCCHK_HANDLERS, MCCHK_SHARED, MCCHK_KINDS }; /* of what is not ordered, or not recorded */
void mcchk_threads_unseen(void *frame);
void mcchk_threads_start(void *frame);
void mcchk_threads_recorded(void *frame);
void mcchk_noticed(int kind, void **frame);
int mcchk_is_noticed(int kind);
void mcchk_notice(int kind, const uint64_t *pcs, uint32_t frames);
void *mcchk_find(const char *name, void *caller);

/* ---- mapped.c ---- */

void mcchk_mapped_start(void *frame);
void mcchk_unmapped(const void *p, uint64_t size);
void mcchk_pages_end(void *p, size_t size, void *frame); /* these too, and what was in them is gone */
uint64_t mcchk_host(void); /* start.c */

/* ---- aside.c: accesses that are not recorded ---- */

int mcchk_aside(uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags);

/* ---- atomics.c ---- */

void mcchk_atomic_released(const void *p); /* is released */

/* Whatever the strand did comes before what it publishes with relaxed order from now on, and
 * after what it has read so. */
void mcchk_fence(int order, void **frame);

/* Called before the first operation on memory that matters; NULL: it is no one's but the process's. */
extern void (*mcchk_atomic_first)(void);
/* Notes an operation on memory that processes share; NULL as long as they share none. */
extern void (*mcchk_atomic_valued)(uint64_t begin, const volatile void *p, uint32_t size, int how, int order, int64_t operand, int64_t found, void **frame);
extern void (*mcchk_fence_noted)(int order, void **frame); /* and a fence, likewise */
/* The thread's latest call, where it was a load that may poll, or a fence behind one. */
extern __thread uint64_t mcchk_polled __attribute__((tls_model("initial-exec")));
/* Whether a load polls: nobody can tell it from one before, which is recorded. */
extern int (*mcchk_atomic_again)(const volatile void *p, int64_t found, void **frame);

/* ---- shared.c ---- */

void mcchk_atomics_shared(void);  /* processes share memory, */
void mcchk_atomics_exposed(void); /* or do so as soon as there is an atomic operation in memory that matters */

/* ---- openmp.c ---- */

/* Where the code of an OpenMP library lies whose tasks are known. */
extern uintptr_t mcchk_openmp_lo, mcchk_openmp_hi;
int mcchk_openmp_within(void);

/* Whether the program does it, and not its OpenMP library for itself. */
static inline int mcchk_of_program(void **frame)
{
	uintptr_t pc = (uintptr_t)frame[1];
	return pc < mcchk_openmp_lo || pc >= mcchk_openmp_hi;
}

/* ---- start.c: what the start of a run is for every model ---- */

/* What process 0 tells the others. */
struct mcchk_agreement {
	int active;
	uint8_t run[16];
	char boot[40];
	struct mcchk_clock clock; /* of the machine that process 0 is on */
	char world[64]; /* of processes that others started: where in the directory; or "" */
};

void mcchk_propose(struct mcchk_agreement *a, const char *directory, const char *why);
void mcchk_propose_world(struct mcchk_agreement *a);
int mcchk_elsewhere(const struct mcchk_agreement *a); /* this machine's clock is another than that of process 0 */
void mcchk_open_trace(const struct mcchk_agreement *a, uint32_t rank, uint32_t ranks);
void mcchk_write_infos(const char *library_key, const char *library);

#pragma GCC visibility pop
#endif
