/* OpenSHMEM: the start and the end of a run, pending buffers, locks, and values. */
#include "osh.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

void mcchk_symmetric_data(void);
int64_t mcchk_symmetric_name(const volatile void *p);
int64_t mcchk_static_name(const volatile void *p);

/* The profiling interface, as far as the run-time itself needs it. */
extern void pshmem_init(void);
extern int pshmem_init_thread(int requested, int *provided) __attribute__((weak));
extern void pstart_pes(int npes) __attribute__((weak));
extern void pshmem_finalize(void);
extern int pshmem_n_pes(void);
extern void pshmem_barrier_all(void);
extern void pshmem_getmem(void *dest, const void *source, size_t nelems, int pe);
extern void pshmem_query_thread(int *provided) __attribute__((weak));
extern void pshmem_info_get_name(char *name) __attribute__((weak));
extern long pshmem_long_atomic_compare_swap(long *dest, long cond, long value, int pe) __attribute__((weak));
extern long pshmem_long_atomic_fetch_inc(long *dest, int pe) __attribute__((weak));

/* The program uses MPI as well (init.c, where that is linked). */
extern void mcchk_mpi_joins(void) __attribute__((weak));
extern int mcchk_mpi_over(void) __attribute__((weak));

/* The launcher ends the other PEs. */
void mcchk_shmem_missing(const char *function)
{
	fprintf(stderr, "mcchk: the OpenSHMEM library has no p%s, by which %s is observed: the program ends\n", function, function);
	_exit(2); /* what is to be done at exit would wait for the other PEs */
}

/* ---- values ---- */

int64_t mcchk_ctx_id(mcchk_ctx ctx)
{
#if MCCHK_SHMEM_VERSION >= 104
	if (ctx == SHMEM_CTX_DEFAULT)
		return 0;
#endif
#if MCCHK_SHMEM_VERSION >= 105
	if (ctx == SHMEM_CTX_INVALID)
		return -1;
#endif
	return ctx ? (int64_t)(intptr_t)ctx : -1;
}

int64_t mcchk_team_id(mcchk_team team)
{
#if MCCHK_SHMEM_VERSION >= 105
	if (team == SHMEM_TEAM_INVALID)
		return 0;
	if (team == SHMEM_TEAM_WORLD)
		return 1;
	if (team == SHMEM_TEAM_SHARED)
		return 2;
#endif
	return (int64_t)(intptr_t)team;
}

int64_t mcchk_comparison(int cmp)
{
	const int order[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
	for (int i = 0; i < 6; i++)
		if (cmp == order[i])
			return i + 1;
	return 0;
}

int64_t mcchk_signal_sets(int op)
{
#if MCCHK_SHMEM_VERSION >= 105
	return op == SHMEM_SIGNAL_SET;
#else
	return op == 0;
#endif
}

int64_t mcchk_peek(const volatile void *p, uint64_t size)
{
	uint64_t v = 0;
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)p;
	case 2:
		return *(const volatile uint16_t *)p;
	case 4:
		return *(const volatile uint32_t *)p;
	case 8:
		v = *(const volatile uint64_t *)p;
	}
	return (int64_t)v;
}

static _Thread_local int64_t *glance;
static _Thread_local uint64_t glance_count, glance_room;

void mcchk_glance(const volatile void *p, uint64_t n, uint64_t size)
{
	if (n > glance_room) {
		int64_t *more = realloc(glance, n * sizeof *more);
		if (more) {
			glance = more;
			glance_room = n;
		}
	}
	glance_count = n < glance_room ? n : glance_room;
	for (uint64_t k = 0; k < glance_count; k++)
		glance[k] = mcchk_peek((const volatile char *)p + k * size, size);
}

int64_t mcchk_glanced(int64_t k) { return (uint64_t)k < glance_count ? glance[k] : 0; }

/* ---- pending buffers ---- */

struct pending {
	struct mcchk_range range;
	int64_t ctx;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *pending;
static size_t pending_count, pending_room;

void mcchk_shmem_pending(int64_t ctx, const void *p, uint64_t size)
{
	if (!p || size == 0)
		return;
	mcchk_lock(&lock);
	const struct pending *last = pending_count ? &pending[pending_count - 1] : NULL;
	struct pending next = {.range = {.lo = (uint64_t)(uintptr_t)p, .hi = (uint64_t)(uintptr_t)p + size}, .ctx = ctx};
	int same = last && last->ctx == ctx && last->range.lo == next.range.lo && last->range.hi == next.range.hi;
	if (!same && pending_count == pending_room) {
		size_t room = pending_room ? 2 * pending_room : 64;
		struct pending *more = realloc(pending, room * sizeof *more);
		if (more) {
			pending = more;
			pending_room = room;
		}
	}
	if (!same && pending_count < pending_room) {
		pending[pending_count] = next;
		mcchk_mark(&pending[pending_count++].range);
	}
	mcchk_unlock(&lock);
}

void mcchk_shmem_completed(int64_t ctx)
{
	size_t kept = 0;
	mcchk_lock(&lock);
	for (size_t i = 0; i < pending_count; i++) {
		if (pending[i].ctx == ctx)
			mcchk_unmark(&pending[i].range);
		else
			pending[kept++] = pending[i];
	}
	pending_count = kept;
	mcchk_unlock(&lock);
}

void mcchk_shmem_passed(void) { __atomic_add_fetch(&mcchk_region, 1, __ATOMIC_RELAXED); }

void mcchk_shmem_barrier(void)
{
	mcchk_shmem_completed(0);
	mcchk_shmem_passed();
}

/* ---- locks ---- */

/* Process 0 counts the holders of each lock, in symmetric memory of the run-time. */
#define LOCKS 1024
static struct {
	long name, holders;
} locks[LOCKS];

int64_t mcchk_lock_ticket(const volatile long *p)
{
	long name = (long)mcchk_symmetric_name(p);
	if (name == 0)
		name = (long)mcchk_static_name(p);
	if (name == 0 || !pshmem_long_atomic_compare_swap || !pshmem_long_atomic_fetch_inc)
		return -1;
	unsigned slot = (unsigned)(((uint64_t)name * 0x9E3779B97F4A7C15ull) >> 54) % LOCKS;
	for (unsigned i = 0; i < LOCKS; i++, slot = (slot + 1) % LOCKS) {
		long there = pshmem_long_atomic_compare_swap(&locks[slot].name, 0, name, 0);
		if (there == 0 || there == name)
			return pshmem_long_atomic_fetch_inc(&locks[slot].holders, 0);
	}
	return -1;
}

/* A lock was tried. If it was taken, others are served: Open MPI serves the atomic operations of others, ours above among
 * them, only in calls that wait, which a process need not make that tries a lock
 * again and again. */
int mcchk_lock_tried(int taken)
{
	static void (*progress)(void);
	static int looked;
	if (!taken)
		return 0;
	if (!looked) {
		looked = 1;
		*(void **)&progress = dlsym(RTLD_DEFAULT, "opal_progress");
	}
	if (progress)
		progress();
	return 0;
}

/* ---- start and end ---- */

static struct mcchk_agreement proposed, run; /* proposed: symmetric, of process 0 */
static uint64_t clock_here;                  /* symmetric */
static int finalized;
static int opened;                           /* the trace was begun here, and not by MPI_Init */

static void relate_clocks(void)
{
	uint64_t before = mcchk_now(), there = 0;
	pshmem_barrier_all();
	uint64_t now = mcchk_now();
	clock_here = now;
	pshmem_barrier_all();
	pshmem_getmem(&there, &clock_here, sizeof there, 0);
	if (mcchk_elsewhere(&run))
		mcchk_write_clock(now, there, now - before);
	else
		mcchk_write_clock(now, now, 0);
	pshmem_barrier_all();
}

static void agree(int pe)
{
	if (pe == 0)
		mcchk_propose(&proposed, getenv("MCCHK_TRACE_DIR"), NULL);
	pshmem_barrier_all();
	pshmem_getmem(&run, &proposed, sizeof run, 0);
	pshmem_barrier_all();
}

static int open_trace(void)
{
	char name[SHMEM_MAX_NAME_LEN + 1] = "", library[SHMEM_MAX_NAME_LEN + 40];
	int pe = pshmem_my_pe();

	agree(pe);
	if (!run.active)
		return 0;
	mcchk_open_trace(&run, (uint32_t)pe, (uint32_t)pshmem_n_pes());
	if (pshmem_info_get_name)
		pshmem_info_get_name(name);
	snprintf(library, sizeof library, "OpenSHMEM %d.%d, %s", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, name);
	mcchk_write_infos("shmem.library", library);
	mcchk_write_modules();
	if (mcchk_mpi_joins)
		mcchk_mpi_joins();
	relate_clocks();
	opened = 1;
	return 1;
}

static void start(uint16_t function, const int64_t *args, int count, uint64_t begin, void *frame)
{
	uint64_t end = mcchk_now();
	int level = -1;

	if (!mcchk_active && !open_trace()) {
		mcchk_leave();
		return;
	}
	mcchk_symmetric_data();
	mcchk_atomics_exposed(); /* by shmem_ptr, which may be called by others only */
	int64_t *words = mcchk_call_begin(function, (uint64_t)count, frame);
	for (int i = 0; words && i < count; i++)
		words[i] = args[i];
	mcchk_call_commit_at(begin);
	mcchk_call_end(end, 0);
	if (pshmem_query_thread)
		pshmem_query_thread(&level);
	mcchk_multiple |= level == SHMEM_THREAD_MULTIPLE;
	mcchk_active = 1;
	mcchk_leave();
	mcchk_threads_start(frame);
}

/* The library may call itself while it starts. */
static uint64_t starting(void *frame)
{
	mcchk_within(frame);
	return mcchk_now();
}

#pragma GCC visibility push(default)

void shmem_init(void)
{
	uint64_t begin = starting(MCCHK_FRAME);
	pshmem_init();
	start(mcchk_fn_shmem_init, NULL, 0, begin, MCCHK_FRAME);
}

int shmem_init_thread(int requested, int *provided)
{
	if (!pshmem_init_thread)
		mcchk_shmem_missing("shmem_init_thread");
	uint64_t begin = starting(MCCHK_FRAME);
	int rc = pshmem_init_thread(requested, provided);
	int64_t args[] = {requested, *provided};
	start(mcchk_fn_shmem_init_thread, args, 2, begin, MCCHK_FRAME);
	return rc;
}

/* What was begun by start_pes ends with the program, where that does not end it. */
static void end_with_program(void)
{
	if (!finalized)
		shmem_finalize();
}

void start_pes(int npes)
{
	uint64_t begin = starting(MCCHK_FRAME);
	int64_t args[] = {npes};
	if (pstart_pes)
		pstart_pes(npes);
	else
		pshmem_init();
	start(mcchk_fn_start_pes, args, 1, begin, MCCHK_FRAME);
	atexit(end_with_program);
}

void shmem_finalize(void)
{
	finalized = 1;
	mcchk_threads_recorded(MCCHK_FRAME);
	if (!mcchk_enter(MCCHK_FRAME)) {
		pshmem_finalize();
		return;
	}
	mcchk_write_modules();
	if (opened)
		relate_clocks();
	mcchk_call_begin(mcchk_fn_shmem_finalize, 0, MCCHK_FRAME);
	mcchk_call_commit();
	pshmem_finalize();
	mcchk_call_end(mcchk_now(), 0);
	if (opened || (mcchk_mpi_over && mcchk_mpi_over())) { /* Open MPI's ends MPI with it */
		mcchk_active = 0;
		mcchk_file_finish(__atomic_load_n(&mcchk_units, __ATOMIC_RELAXED), 1);
	}
	mcchk_leave();
}

#pragma GCC visibility pop
