/* The run-time of mcchk: what its source files share.
 *
 * Data flow: MPI calls enter through the generated wrappers (wrappers.c, made
 * from mpi.tbl), loads and stores through the compiler's call-backs
 * (callbacks.c, or inlined from inline.c). Both write records into open chunks
 * of the trace file that are the thread's own, one for calls and one for
 * accesses (writer.c); the format is described in docs/trace-format.md.
 * shadow.c says which memory matters.
 *
 * Promises: nothing here changes what the program computes; the load/store
 * path neither allocates nor locks; when the file cannot grow the program
 * goes on and the loss is counted in the file.
 */
#ifndef MCCHK_H
#define MCCHK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

#define MCCHK_LIKELY(x) __builtin_expect(!!(x), 1)
#define MCCHK_COLD __attribute__((cold, noinline))

/* ---- shadow.c: which memory matters ---- */

/* One byte for each 4 KiB page of the 2^47 bytes of user addresses: 0 nothing
 * of interest, 1 all of the page matters, 2 parts of it do; 5 and 7 the same as 0 and 2,
 * but that all of it is watched (history.c). */
#define MCCHK_SHADOW ((uint8_t *)0x100000000000ull)
#define MCCHK_PAGE_SHIFT 12
#define MCCHK_ONLY_WATCHED 5
#define MCCHK_ADDRESS_BITS 47

/* One bit for each 8 bytes of them, which says for pages of which parts matter whether
 * they do. The first byte has all bits: no program has memory there. */
#define MCCHK_PARTS ((uint8_t *)0x120000000000ull)

/* Whether an access matters whose page has that byte in the shadow, not 0: a power of two of
 * bytes, at most 16. One that is not aligned is to be looked at. inline.c and the plug-ins
 * do the same. */
#define MCCHK_PART(addr, size, page)                                                               \
	((((addr) & ((size) - 1)) |                                                                \
	  (MCCHK_PARTS[(addr) >> 6 & ((page & 1) - 1ull)] >> ((addr) >> 3 & 7) & ((size) > 8 ? 3 : 1))) != 0)

/* A marked byte range [lo, hi). `coarse` remembers which of its edge pages had
 * to be marked whole, so that unmarking undoes exactly what marking did. */
struct mcchk_range {
	uint64_t lo, hi;
	uint32_t coarse;
	int32_t target; /* rank that a one-sided operation goes to */
};

extern uint64_t mcchk_marks; /* ranges that are marked; atomic */
void mcchk_mark(struct mcchk_range *r);
void mcchk_unmark(const struct mcchk_range *r);
int mcchk_hot(uintptr_t addr, uint64_t size);
int mcchk_hot_granules(uintptr_t addr, uint64_t size);

/* ---- writer.c: the trace file ---- */

struct mcchk_chunk {
	uint32_t magic, size, strand, crc, state, used;
	uint64_t seq;
	uint32_t region, kind; /* 0: calls and all else; not 0: accesses */
	char payload[];
};

struct mcchk_access {
	uint8_t type, flags;
	uint16_t size;
	uint32_t stack;
	uint64_t addr;
	int64_t stride;
	uint64_t count;
};

/* Accesses at equal distances: rows, and planes of rows. The first one has the type and the
 * length of the grid in place of its own type and its stack. */
struct mcchk_grid {
	struct mcchk_access first;
	uint32_t stack;
	uint16_t rows, planes; /* together MCCHK_IN_GRID accesses at most */
	int64_t row_step, plane_step;
};

#define MCCHK_IN_GRID UINT16_MAX

static inline uint64_t mcchk_in_grid(const struct mcchk_grid *g) { return (uint64_t)g->rows * g->planes; }

struct mcchk_mark {
	uint8_t type, zero[3];
	uint32_t length;
	uint64_t seq;
};

enum { MCCHK_STORE = 1, MCCHK_ATOMIC = 2, MCCHK_LIBRARY = 4 };
enum { MCCHK_LOST_DISK = 1, MCCHK_LOST_MEMORY = 2, MCCHK_LOST_OTHER = 3, MCCHK_LOST_SIZE = 4, MCCHK_LOST_DISKS = 5 };

/* An access run that may still grow, in a table indexed by program counter. */
struct mcchk_run {
	uint64_t key;   /* program counter (and size, for ranges) */
	uint64_t seq;   /* the span it belongs to */
	uint64_t next;  /* the address that extends it; 0 with one element */
	int64_t stride; /* 0 with one element */
	uint64_t sweep; /* the next address of another pass over its elements; of a run of one, the element recorded before it */
	uint64_t base;
	struct mcchk_access *rec;
	struct mcchk_site *site; /* where the program's own code carries the run on */
	uint32_t carried;        /* accesses that went on with it one after the other, by calls */
	uint64_t place;          /* the last key, of a run that has ended too; of that: */
	struct mcchk_set *set;   /* the last one in the span (sets.c), or NULL */
	uint32_t scattered;      /* how much of what the place does goes on with nothing: MCCHK_SCATTERED */
};

/* Of a place that goes from one address to any other (touches.c): in calls of its function
 * that have this context (MCCHK_CONTEXT), an aligned element of `count` that lie side by side
 * from `lo` on is set in `map`; of `cold_count` that do so from `cold_lo` on nothing matters.
 * The rest is the run-time's own. inline.c and the plug-ins know the first four, these also
 * the last four. Such a place may be several accesses of one block, at equal distances from
 * one another (struct mcchk_member), or all that a loop does in one access. */
struct mcchk_touch {
	uint64_t context; /* 0: nothing is set */
	uint64_t lo, count;
	uint8_t *map;
	uint64_t seq; /* the span in which the slow path was taken: */
	int32_t missed;
	uint32_t number;  /* which of the thread's it has now */
	uint16_t resting; /* spans in which it gets no map */
	uint16_t changed; /* so often, in this span, for one of another context */
	uint32_t turns;   /* in this span, that what does not matter was looked for */
	uint64_t settled; /* not 0: the run-time is not asked what does not matter */
	uint64_t cold_lo, cold_count;
	uint64_t others; /* not 0: it has maps of other contexts, in this span or an earlier one */
};

/* An access that is made whenever the element is that its place's map has: so many bytes
 * behind it. The first word is the plug-ins'. */
struct mcchk_member {
	int32_t offset;
	uint16_t size;
	uint8_t flags;
	uint8_t cost;   /* of its last slow path (MCCHK_MISS), which nobody has added up yet */
	uint64_t pc;    /* where it was taken */
};

#define MCCHK_MEMBERS 24 /* of a place, at most */

/* The state that inline.c keeps for each place in the program: while `owner`
 * is the executing thread, an access at `next` is counted and moves on by
 * `stride` without any call. Only the owner arms a site, and only as long as no
 * other thread records; whoever disarms it only clears `owner`. */
struct mcchk_site {
	uint64_t owner; /* the thread's pointer (fs:0); 0: not armed */
	uint64_t next;
	int64_t stride;
	uint64_t *counter;
	struct mcchk_touch touch;
};
_Static_assert(sizeof(struct mcchk_site) == 120, "inline.c and the plug-ins make such ones");

/* What stands behind a map: that of a place in the calls of one context. */
struct mcchk_touching {
	struct mcchk_touch *touch;
	uint64_t context;
	uintptr_t lo, hi; /* what the map may come to reach */
	uint8_t *map;     /* of lo; NULL: there is none */
	uint64_t from, count; /* what it reaches, as `lo` and `count` of its place, which are right while that has it */
	struct mcchk_member *members, own;
	uint32_t n; /* of them */
	uint32_t stacks[MCCHK_MEMBERS];
	uint32_t widened; /* so often, in this span */
	uint32_t next;    /* of the same place: all of these are in a ring */
	uint8_t shift;
	uint8_t of_one; /* call: see struct mcchk_activation */
};

/* A run by its first element, so that it can be resumed. */
struct mcchk_start {
	uint64_t key, seq;
	struct mcchk_access *rec;
};

/* A grid that rows go on with, which may be meant for one more plane of another that is as it
 * stays. */
struct mcchk_rows_on {
	uint64_t next; /* where the row begins that goes on with it … */
	uint64_t left; /* … as long as there are some left */
	struct mcchk_grid *grid;  /* or NULL; without elements it says nothing, and may become the next plane */
	struct mcchk_grid *whole; /* or NULL */
};

/* The rows of elements that a place records, alike in stride and count (rows.c): a Fourier
 * transform makes rows of ever other lengths at one place. They go on with one of two grids, for
 * every other row may be shifted, as in a chequerboard; or are records of their own. */
struct mcchk_rows {
	uint64_t key, seq; /* as those of a run */
	int64_t stride;
	uint64_t count;
	struct mcchk_rows_on now, other;
	struct mcchk_access *last[4]; /* that are in no grid, the last one first; or NULL */
};

/* Elements that a place has recorded and that no run came of: those of 64 that lie side by side.
 * They are known as long as nobody can have come after them (mcchk_told): whatever a second access
 * of one races with, the first does. */
struct mcchk_seen {
	uint64_t key, told;
	uint64_t block;    /* which 64, and of which strand */
	uint64_t elements; /* a bit for each */
};

/* Records that a place begins in a span make it scattered; what a loop of it does that goes on with
 * one counts against that, as much as what it puts in a set counts for it (sets.c). */
#define MCCHK_BEGUN 16
#define MCCHK_SCATTERED (8 * MCCHK_BEGUN)
#define MCCHK_SCATTERED_MOST (8 * MCCHK_SCATTERED)

#define MCCHK_RUNS 1024
#define MCCHK_STARTS 4096
#define MCCHK_ELEMENTS 65536
#define MCCHK_MAX_FUNCTIONS 4096
#define MCCHK_MAX_FRAMES 64
#define MCCHK_MAX_POINTERS 32 /* of a stack that are kept */
#define MCCHK_SITES 256 /* armed at a time */
#define MCCHK_TOUCHING 1024 /* maps at a time */
#define MCCHK_SHORT 20  /* accesses: shorter runs do not arm a site */

/* What accesses come to. */
struct mcchk_sums {
	uint64_t elements[2]; /* loads, stores */
	uint64_t lo, hi;      /* a range of addresses that holds all of them; hi 0: none */
};

/* A chunk that a thread writes. */
struct mcchk_open {
	struct mcchk_chunk *chunk; /* NULL: none yet, or the file is full */
	void *map;
	size_t map_size;
	uint64_t file_offset; /* of the chunk */
	uint64_t since;       /* the last call when the chunk was begun: its accesses come after it */
	uint32_t limit;       /* payload bytes that ordinary records may fill */
	uint32_t compact;     /* payload bytes that are; behind them MCCHK_ROOM and records that are not */
	/* Of compact accesses: */
	struct mcchk_sums sums;
	uint32_t groups; /* bytes that their groups take in the index, but for the last number */
	uint64_t group;  /* accesses of the last group */
};

struct mcchk_stack_slot {
	uint64_t hash; /* 0: empty */
	uint64_t pointers; /* hash of its frame pointers; 0: they are not always the same, or not known */
	uint64_t id;
};

#define MCCHK_LAST_STACKS 128u
#define MCCHK_LAST_DEPTH 16u /* of those that are remembered */

/* The last stack of those that share the slot, from a place on: the frames of the functions
 * above it, each with where it returns to. */
struct mcchk_last_stack {
	uint64_t pc;
	uint32_t frames;   /* 0: there is none */
	uint32_t id, once; /* with and without recursion; 0: not known */
	struct {
		uint64_t frame, pc;
	} above[MCCHK_LAST_DEPTH];
};

struct mcchk_call_record;
struct mcchk_compactor;

/* The last calls that only looked whether something has come, with no other call in between. */
struct mcchk_polls {
	uint64_t seq;     /* of the last, recorded or not; 0: there was none */
	uint64_t changed; /* of the last that found what none of them had */
	uint32_t next;    /* that is replaced */
	struct mcchk_poll {
		uint64_t seq; /* of the last record of it; 0: there is none */
		uint32_t stack;
		uint16_t function;
		uint64_t words; /* a hash of the arguments and results */
	} all[8];
};

/* What an atomic load of memory that processes share has found at a place. */
struct mcchk_polled {
	uint64_t seq; /* of the last one recorded */
	const volatile void *p;
	void *place;
	int64_t value;
};
#define MCCHK_POLLED 65536u

/* Where the stack that a thread was given lies, and what the thread watches of it, which others
 * may lower. `low` is NULL where that is not known, and when the thread is over. */
struct mcchk_own_stack {
	uintptr_t lo, hi;
	uintptr_t *low, *used; /* mcchk_stack_low, and stack_used of mcchk_tls */
};

/* What one thread (strand) owns. */
struct mcchk_thread {
	struct mcchk_own_stack own;
	uint32_t strand;
	struct mcchk_open calls; /* and all that is not an access */
	struct mcchk_open accesses;
	uint64_t marked; /* the call that the last accesses follow; UINT64_MAX: none in this chunk */
	struct mcchk_compactor *compactor;
	int compacting; /* its records are being moved; atomic */
	int sole;       /* see mcchk_sole; atomic */
	struct mcchk_run *runs; /* into the chunk of accesses, as `starts` and `armed` */
	struct mcchk_start *starts;
	struct mcchk_rows *rows;
	int rows_begun; /* some of them are not all zero */
	struct mcchk_seen *seen;
	struct mcchk_stack_slot *stacks;
	uint32_t stack_slots, stack_count;
	struct mcchk_last_stack last_stacks[MCCHK_LAST_STACKS];
	uintptr_t stack_lo, stack_hi; /* mapping that holds the thread's stack */
	uint32_t stack_lookups;
	struct mcchk_site *armed[MCCHK_SITES];
	uint32_t armed_count; /* atomic */
	struct mcchk_touching touching[MCCHK_TOUCHING];
	uint32_t touching_count; /* atomic */
	uint64_t touching_seq;   /* the call that what they touch follows */
	int touching_late;       /* what had been touched is written: a loop may go on with it */
	struct mcchk_sets *sets; /* NULL: it had none so far */
	int beside;              /* it fills some beside other threads; atomic */
	int unseen;              /* it is not known who made it */
	struct mcchk_call_record *call; /* the call that is being made */
	uint32_t call_size;
	uint64_t latest, before; /* its last call, and that before it */
	struct mcchk_polls polls;
	struct mcchk_polled *polled; /* by address and place */
	uint64_t polled_since, polled_anew; /* behind the last other call; and the last load that found anything new since */
	uint64_t functions[MCCHK_MAX_FUNCTIONS / 64]; /* already defined */
	uint32_t number; /* of all that ever were: those whose threads have ended are used again */
	uint64_t *place; /* in mcchk_live: what it writes from now on does not come before that; NULL: none is told */
	struct mcchk_thread *next;                    /* of all threads that ever were */
	int used;                                     /* 0: its thread has ended; atomic */
};

/* Where the program comes back from a library that keeps no frame pointers: stacks go on
 * at the call of the library. */
struct mcchk_through {
	const void *inner; /* frame of the run-time's function that the library calls, which */
	const void *back;  /* returns to there: else that function has been left by an exception */
	void **outer;      /* frame of the wrapper that called the library */
};

struct mcchk_tls {
	struct mcchk_run *runs; /* never NULL; all zero until the thread records */
	struct mcchk_thread *thread;
	uintptr_t frame; /* of the wrapper that set depth */
	uintptr_t back;  /* where that returns to; 0: not known */
	int goes_on;     /* an access within it has shown that it was not left by longjmp or an exception */
	uint32_t depth;  /* inside an MPI call or the run-time */
	void *through;   /* frame of the Fortran wrapper that calls the one in C; NULL */
	char coarray;    /* within a function of a coarray library: tracer/coarrays.go; 0 */
	uint32_t busy;   /* writing an access */
	int stack_known;              /* its bounds have been asked for: */
	uintptr_t stack_lo, stack_hi; /* of the stack that the thread was given; 0, 0 unknown */
	uintptr_t stack_used;         /* the lowest address there that was a buffer beside other strands; 0: none */
	int between;                  /* the strand that it was is over, and it has not gone on with another */
	int exits;                    /* rounds of destructors of its data so far, as it ends */
	struct mcchk_through once;    /* what the program does once, by the C library */
};

extern __thread struct mcchk_tls mcchk_self __attribute__((tls_model("initial-exec")));

#include "clock.h"

extern uint64_t mcchk_seq;      /* the last call begun; accessed atomically */
extern uint64_t mcchk_told;     /* changes where others may come after what the process did; atomic */
extern uint32_t mcchk_region;   /* synchronizations over all processes passed */
extern uint32_t mcchk_units;    /* instrumented translation units */
extern uint32_t mcchk_inlined_units;
extern int mcchk_several;   /* more than one thread has recorded; atomic */
extern int mcchk_multiple;  /* MPI calls of several threads may overlap (MPI_THREAD_MULTIPLE) */
extern int mcchk_active;    /* MPI calls are observed (the same in all processes) */
extern int mcchk_recording; /* this process writes a trace */

/* What a loop compares before and behind: in its low bits how many calls were begun, above
 * them how often memory has ceased to matter. */
extern uint64_t mcchk_moment __attribute__((visibility("default")));
extern uint64_t mcchk_uncounted; /* of these calls, those whose numbers are others' now; atomic */
#define MCCHK_UNMARKED (1ull << 40)
/* The number of the last call begun at a moment. */
#define MCCHK_SEQ_AT(moment) (((moment) & (MCCHK_UNMARKED - 1)) - __atomic_load_n(&mcchk_uncounted, __ATOMIC_RELAXED))

/* ---- locks.c ---- */

void mcchk_mutex_lock(pthread_mutex_t *m); /* of the run-time's own, which order nothing */
void mcchk_mutex_unlock(pthread_mutex_t *m);

/* Locks what only MPI calls touch. */
static inline void mcchk_lock(pthread_mutex_t *m)
{
	if (mcchk_multiple)
		mcchk_mutex_lock(m);
}

static inline void mcchk_unlock(pthread_mutex_t *m)
{
	if (mcchk_multiple)
		mcchk_mutex_unlock(m);
}

/* ---- strands.c ---- */

extern int mcchk_strands; /* the process has had more than one strand of the program; atomic */
void mcchk_strand_begins(void); /* before the first record of a thread but the first */
void mcchk_strand_ends(void);   /* behind the last record of a thread */

struct mcchk_file_header {
	uint8_t run[16];
	uint32_t rank, ranks;
	uint64_t monotonic, realtime;
	uint64_t most, most_live; /* bytes that it may have, and that it may take at a time when it is read along */
};

int mcchk_file_open(int fd, const struct mcchk_file_header *h);
void mcchk_file_finish(uint64_t units, int with_end);
void mcchk_lost(uint64_t calls, uint64_t accesses);
void mcchk_missed(uint64_t accesses); /* the verdict tells, also where recording goes on to the end */
void mcchk_stop_recording(struct mcchk_thread *t, int reason, const char *why);
void mcchk_chunks_end(struct mcchk_thread *t);
void mcchk_disarm(struct mcchk_thread *t);
void *mcchk_reserve(struct mcchk_thread *t, uint64_t bytes);
void mcchk_commit(struct mcchk_thread *t, uint64_t bytes);
void mcchk_take_back(struct mcchk_thread *t, const void *record, uint64_t bytes);
struct mcchk_access *mcchk_reserve_access(struct mcchk_thread *t);
struct mcchk_grid *mcchk_reserve_grid(struct mcchk_thread *t);
struct mcchk_grid *mcchk_reserve_grid_after(struct mcchk_thread *t, uint64_t *seq);
struct mcchk_access *mcchk_reserve_access_after(struct mcchk_thread *t, uint64_t *seq);
void mcchk_commit_access(struct mcchk_thread *t);
int mcchk_write_bits(struct mcchk_thread *t, uint64_t seq, int or_later, const struct mcchk_access *all, const uint64_t *bits, uint32_t runs, uint64_t elements);
void mcchk_commit_grid(struct mcchk_thread *t);

/* ---- crc.c ---- */

void mcchk_crc_start(void);
uint32_t mcchk_crc32c(const void *data, size_t size);

/* ---- recorders.c: threads that record ---- */

int mcchk_recorders_start(void);
struct mcchk_thread *mcchk_threads_recording(void);
struct mcchk_thread *mcchk_thread_begins(void);

/* The calling thread's state; NULL when this process does not record, or the thread is
 * over. The caller has set depth or busy, so that it is not entered twice. */
static inline struct mcchk_thread *mcchk_thread_get(void)
{
	struct mcchk_thread *t = mcchk_self.thread;
	return MCCHK_LIKELY(t != NULL) ? t : mcchk_thread_begins();
}

void mcchk_not_sole(void);

/* Until mcchk_sole_ends the calling thread need not lock what threads share, and use no locked
 * instruction for it: it is the only one that records, and another waits (become_several). It is
 * in a call, calls nothing that may wait, and does not begin the same again. 0: it is not alone. */
static inline int mcchk_sole(void)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t) {
		mcchk_not_sole();
		return 0;
	}
	__atomic_store_n(&t->sole, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the other thread has a barrier for both */
	if (MCCHK_LIKELY(!__atomic_load_n(&mcchk_several, __ATOMIC_ACQUIRE)))
		return 1;
	__atomic_store_n(&t->sole, 0, __ATOMIC_RELEASE);
	return 0;
}

static inline void mcchk_sole_ends(void) { __atomic_store_n(&mcchk_self.thread->sole, 0, __ATOMIC_RELEASE); }

#include "live.h"

/* ---- compact.c: records in few bytes ---- */

enum { MCCHK_TYPE_COMPACT_CALLS = 16, MCCHK_TYPE_COMPACT_ACCESSES = 17, MCCHK_TYPE_ROOM = 18, MCCHK_TYPE_GRID = 20 };
#define MCCHK_ROOM 1024u /* bytes before records that are not compact yet */

extern const size_t mcchk_compactor_size;
void mcchk_compact_begin(struct mcchk_compactor *p, struct mcchk_open *o);
int mcchk_compact(struct mcchk_compactor *p, struct mcchk_open *o);
void mcchk_compact_on(struct mcchk_open *o);
unsigned char *mcchk_number(unsigned char *p, uint64_t v);
enum { MCCHK_COMPACT_MARK, MCCHK_COMPACT_ACCESS, MCCHK_COMPACT_GRID };
int mcchk_compact_next(const unsigned char **at, uint64_t *value);
#define MCCHK_BITS_MOST 64u /* bytes of a record of bits, without them */
uint32_t mcchk_compact_bits(char *record, const struct mcchk_access *all, const uint64_t *bits, uint32_t runs);
int mcchk_are_bits(const char *record);

/* The bytes that a number takes, 1 to 9 (10 stands for 9). */
static inline uint32_t mcchk_number_length(uint64_t v) { return (70u - (uint32_t)__builtin_clzll(v | 1)) / 7; }

/* ---- index.c: what a chunk of accesses holds ---- */

#define MCCHK_INDEX 64u /* bytes of an index without groups */
#define MCCHK_GROUP 10u /* and more for each mark, at most */
void mcchk_count(struct mcchk_sums *x, const struct mcchk_access *a);
void mcchk_count_grid(struct mcchk_sums *x, const struct mcchk_grid *g);
uint32_t mcchk_write_index(struct mcchk_chunk *c, struct mcchk_sums sums, uint64_t *elements);

/* ---- records.c: definitions ---- */

static inline uint64_t mcchk_pad8(uint64_t n) { return (n + 7) & ~7ull; }

void mcchk_write_info(const char *key, const char *value);
void mcchk_write_modules(void);
void mcchk_write_source(uint64_t pc, const char *function, const char *file, uint32_t line);
void mcchk_write_clock(uint64_t local, uint64_t reference, uint64_t round_trip);

/* ---- memory.c: memory that ceases to exist ---- */

#pragma GCC visibility push(default)
extern __thread uintptr_t mcchk_stack_low __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop
void mcchk_watch_stack(uintptr_t lo);
void mcchk_stack_begins(void);                    /* the calling thread has begun to record */
void mcchk_stack_ends(struct mcchk_thread *t); /* it does so no more */
void mcchk_function_returns(uintptr_t frame, uintptr_t pc);
void mcchk_stack_risen(void *frame);
void mcchk_stack_passes(uintptr_t end, void *from);
#define MCCHK_WHOLE_STACK UINTPTR_MAX
void mcchk_memory_passes(uintptr_t lo, size_t size, void *from);

/* ---- gfortran.c ---- */

int mcchk_copy(const void *p); /* whether it is a copy that the compiler made of an argument */

/* ---- stacks.c ---- */

/* The frame pointer of the program's function that called this one. */
#define MCCHK_CALLER_FRAME (*(void ***)__builtin_frame_address(0))

/* The identifier of the stack that begins at pc, in a function whose frame
 * pointer is `frame`. Writes the definition when the stack is new. 0 when it
 * cannot be written. */
uint32_t mcchk_stack(struct mcchk_thread *t, uintptr_t pc, void **frame);
void mcchk_forget_stacks(struct mcchk_thread *t); /* all that have identifiers */

/* The same of an access at that address, which recursion is left out of: each frame is there
 * once, the innermost of those that are the same. */
uint32_t mcchk_access_stack(struct mcchk_thread *t, uintptr_t addr, uintptr_t pc, void **frame);

/* ---- linked.c, or preload.c ---- */

extern const int mcchk_preloaded;

struct mcchk_walked {
	uint32_t frames, pointers; /* how many; of the pointers, those that are kept */
	uint64_t pcs[MCCHK_MAX_FRAMES];
	uint64_t pointer[MCCHK_MAX_FRAMES]; /* frame pointers of the functions, if there are any */
	uint64_t end;                       /* what the last of them has as the one before it */
};

/* The identifier of a stack that was walked, as mcchk_stack. */
uint32_t mcchk_stack_walked(struct mcchk_thread *t, const struct mcchk_walked *w);
uintptr_t mcchk_function_at(uintptr_t pc); /* code.c */
int mcchk_leave_recursion_out(const struct mcchk_walked *w, uintptr_t of, struct mcchk_walked *out);
uint32_t mcchk_access_stack_walked(struct mcchk_thread *t, uintptr_t addr, const struct mcchk_walked *w);

/* Whether a function may have its frame there, if one that it called has its own below. Code
 * without frame pointers leaves anything where they would be. */
static inline int mcchk_may_be_frame(const struct mcchk_thread *t, uintptr_t below, uintptr_t at)
{
	return at > below && at + 2 * sizeof(void *) <= t->stack_hi && at % sizeof(void *) == 0;
}

/* Walks the stack that begins at pc, as above. */
void mcchk_walk(struct mcchk_thread *t, uintptr_t pc, void **frame, struct mcchk_walked *w);

/* What is to be done before recording begins; ends a program that cannot be recorded. */
void mcchk_prepare(void);
void mcchk_reserve_shadow(void);
void mcchk_ends_at_exit(void); /* before any library has registered anything */

/* What inline.c takes for the thread: the word at its thread pointer. */
static inline uint64_t mcchk_thread_pointer(void)
{
	uint64_t p = 0;
#ifdef __x86_64__
	__asm__("movq %%fs:0, %0" : "=r"(p));
#endif
	return p;
}

/* ---- aside.c ---- */

void mcchk_aside_forked(void);

#include "accesses.h"

#pragma GCC visibility pop
/* In programs these functions are wrapped (libc.c, memory.c), and the run-time's own calls are none of
 * the program's: some are of threads that are not known yet. */
#if defined(MCCHK_LINKED) && !defined(MCCHK_WRAPS)
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
size_t __real_strlen(const char *);
size_t __real_strnlen(const char *, size_t);
int __real_strcmp(const char *, const char *);
int __real_strncmp(const char *, const char *, size_t);
int __real_memcmp(const void *, const void *, size_t);
void *__real_memchr(const void *, int, size_t);
ssize_t __real_read(int, void *, size_t);
ssize_t __real_write(int, const void *, size_t);
ssize_t __real_pread(int, void *, size_t, off_t);
ssize_t __real_pwrite(int, const void *, size_t, off_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
int __real_snprintf(char *, size_t, const char *, ...) __attribute__((format(printf, 3, 4)));
#define strlen(...) __real_strlen(__VA_ARGS__)
#define strnlen(...) __real_strnlen(__VA_ARGS__)
#define strcmp(...) __real_strcmp(__VA_ARGS__)
#define strncmp(...) __real_strncmp(__VA_ARGS__)
#define memcmp(...) __real_memcmp(__VA_ARGS__)
#define memchr(...) __real_memchr(__VA_ARGS__)
#define read(...) __real_read(__VA_ARGS__)
#define write(...) __real_write(__VA_ARGS__)
#define pread(...) __real_pread(__VA_ARGS__)
#define pwrite(...) __real_pwrite(__VA_ARGS__)
#define mmap(...) __real_mmap(__VA_ARGS__)
#define munmap(...) __real_munmap(__VA_ARGS__)
#define snprintf(...) __real_snprintf(__VA_ARGS__)
#endif

#endif
