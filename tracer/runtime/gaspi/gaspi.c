/* GASPI: the start and the end of a run, segments, and values. */
#include "gas.h"

#include <stdio.h>

/* The library's own functions (the linker's --wrap). */
extern gaspi_return_t __real_gaspi_proc_init(gaspi_timeout_t timeout);
extern gaspi_return_t __real_gaspi_proc_term(gaspi_timeout_t timeout);

/* The program uses MPI as well (init.c, where that is linked). */
extern void mcchk_mpi_joins(void) __attribute__((weak));

/* ---- values ---- */

int64_t mcchk_gaspi_result(gaspi_return_t rc) { return rc == GASPI_SUCCESS ? 0 : rc == GASPI_TIMEOUT ? 1 : 2; }

int64_t mcchk_group_id(gaspi_group_t group) { return group == GASPI_GROUP_ALL ? 0 : 1 + (int64_t)group; }

int64_t mcchk_gaspi_size(gaspi_datatype_t type)
{
	switch (type) {
	case GASPI_TYPE_INT:
	case GASPI_TYPE_UINT:
	case GASPI_TYPE_FLOAT:
		return 4;
	default:
		return 8;
	}
}

/* ---- segments ---- */

struct segment {
	struct mcchk_range range;
	struct segment *next;
	gaspi_segment_id_t id;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment *segments;

void *mcchk_segment_made(gaspi_segment_id_t id, uint64_t size)
{
	gaspi_pointer_t p = NULL;
	struct segment *s = calloc(1, sizeof *s);

	if (gaspi_segment_ptr(id, &p) != GASPI_SUCCESS || !s) {
		free(s);
		return NULL;
	}
	s->range = (struct mcchk_range){.lo = (uint64_t)(uintptr_t)p, .hi = (uint64_t)(uintptr_t)p + size};
	s->id = id;
	mcchk_lock(&lock);
	s->next = segments;
	segments = s;
	mcchk_mark(&s->range);
	mcchk_unlock(&lock);
	return p;
}

void mcchk_segment_deleted(gaspi_segment_id_t id)
{
	mcchk_lock(&lock);
	for (struct segment **at = &segments; *at; at = &(*at)->next) {
		struct segment *s = *at;
		if (s->id != id)
			continue;
		*at = s->next;
		mcchk_unmark(&s->range);
		free(s);
		break;
	}
	mcchk_unlock(&lock);
}

/* ---- queues ---- */

static uint64_t posts; /* how many operations all threads have begun to post */

/* What a thread has seen of posts where its last wait began: of its last one, and of each
 * of the first queues. */
static __thread struct {
	uint64_t last, of[64];
} seen;

void mcchk_gaspi_posts(void) { __atomic_add_fetch(&posts, 1, __ATOMIC_RELEASE); }
void mcchk_gaspi_waits(void) { seen.last = __atomic_load_n(&posts, __ATOMIC_ACQUIRE); }

/* Whether the wait that has returned found what the thread's last one for the queue did:
 * nothing has been posted since that began. */
int mcchk_gaspi_waited(gaspi_queue_id_t queue)
{
	if (queue >= sizeof seen.of / sizeof *seen.of)
		return 0;
	int same = seen.of[queue] == seen.last;
	seen.of[queue] = seen.last;
	return same;
}

void mcchk_gaspi_passed(gaspi_group_t group, gaspi_return_t rc)
{
	if (group == GASPI_GROUP_ALL && rc == GASPI_SUCCESS)
		__atomic_add_fetch(&mcchk_region, 1, __ATOMIC_RELAXED);
}

/* ---- reductions ---- */

/* The last one of its group has timed out, and uses its buffers until it succeeds. */
struct reduction {
	struct mcchk_range send, receive;
	struct reduction *next;
	gaspi_group_t group;
};

static struct reduction *reductions;

static struct mcchk_range watched(const void *p, uint64_t bytes, void *frame)
{
	struct mcchk_range r = {.lo = (uint64_t)(uintptr_t)p, .hi = (uint64_t)(uintptr_t)p + bytes};
	mcchk_buffer(r, frame);
	mcchk_mark(&r);
	return r;
}

void mcchk_gaspi_reduced(gaspi_group_t group, const void *send, const void *receive, uint64_t bytes, gaspi_return_t rc, void *frame)
{
	if (MCCHK_LIKELY(rc == GASPI_SUCCESS && !__atomic_load_n(&reductions, __ATOMIC_RELAXED)))
		return;
	mcchk_lock(&lock);
	struct reduction **at = &reductions, *r;
	while ((r = *at) && r->group != group)
		at = &r->next;
	if (rc != GASPI_TIMEOUT && r) {
		__atomic_store_n(at, r->next, __ATOMIC_RELAXED);
		mcchk_unmark(&r->send);
		mcchk_unmark(&r->receive);
		free(r);
	} else if (rc == GASPI_TIMEOUT && !r) {
		r = malloc(sizeof *r);
		if (r) {
			*r = (struct reduction){.send = watched(send, bytes, frame), .receive = watched(receive, bytes, frame), .next = reductions, .group = group};
			__atomic_store_n(&reductions, r, __ATOMIC_RELAXED);
		} else {
			mcchk_lost(0, 1);
		}
	}
	mcchk_unlock(&lock);
}

/* ---- start and end ---- */

static struct mcchk_agreement run;
static int opened; /* the trace was begun here, and not by MPI_Init */

/* All processes get process 0's words; 0: there is no group of all (where the program
 * builds the infrastructure itself), and each keeps its own. */
static int spread(unsigned long *words, unsigned n, gaspi_rank_t rank)
{
	unsigned long *mine = calloc(n, sizeof *mine);
	if (mine && rank == 0)
		memcpy(mine, words, n * sizeof *mine);
	unsigned long *all = calloc(n, sizeof *all);
	int done = mine && all && gaspi_allreduce(mine, all, n, GASPI_OP_SUM, GASPI_TYPE_ULONG, GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS;
	if (done)
		memcpy(words, all, n * sizeof *all);
	free(mine);
	free(all);
	return done;
}

static void agree(gaspi_rank_t rank)
{
	unsigned long words[(sizeof run + sizeof(long) - 1) / sizeof(long)] = {0};

	if (rank == 0)
		mcchk_propose(&run, getenv("MCCHK_TRACE_DIR"), NULL);
	memcpy(words, &run, sizeof run);
	if (spread(words, sizeof words / sizeof *words, rank))
		memcpy(&run, words, sizeof run);
	else if (rank != 0)
		mcchk_propose(&run, getenv("MCCHK_TRACE_DIR"), NULL);
}

static void relate_clocks(gaspi_rank_t rank)
{
	uint64_t before = mcchk_now();
	gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
	uint64_t now = mcchk_now();
	unsigned long there = now;
	spread(&there, 1, rank);
	if (mcchk_elsewhere(&run))
		mcchk_write_clock(now, there, now - before);
	else
		mcchk_write_clock(now, now, 0);
}

static int open_trace(gaspi_rank_t rank, gaspi_rank_t num)
{
	char library[60];
	float version = 0;

	agree(rank);
	if (!run.active)
		return 0;
	mcchk_open_trace(&run, rank, num);
	gaspi_version(&version);
	snprintf(library, sizeof library, "GASPI library, version %.2f", (double)version);
	mcchk_write_infos("gaspi.library", library);
	mcchk_write_modules();
	if (mcchk_mpi_joins)
		mcchk_mpi_joins();
	relate_clocks(rank);
	opened = 1;
	return 1;
}

#pragma GCC visibility push(default)

gaspi_return_t __wrap_gaspi_proc_init(gaspi_timeout_t timeout)
{
	gaspi_rank_t rank = 0, num = 0;
	uint64_t begin = mcchk_now();

	mcchk_within(MCCHK_FRAME); /* the library may call itself while it starts */
	gaspi_return_t rc = __real_gaspi_proc_init(timeout);
	uint64_t end = mcchk_now();
	if (rc == GASPI_SUCCESS) {
		gaspi_proc_rank(&rank);
		gaspi_proc_num(&num);
	}
	if (rc != GASPI_SUCCESS || (!mcchk_active && !open_trace(rank, num))) {
		mcchk_leave();
		return rc;
	}
	int64_t *words = mcchk_call_begin(mcchk_fn_gaspi_proc_init, 3, MCCHK_FRAME);
	if (words) {
		words[0] = (int64_t)timeout;
		words[1] = rank;
		words[2] = num;
	}
	mcchk_call_commit_at(begin);
	mcchk_call_end(end, 0);
	mcchk_multiple = 1; /* every thread may call GASPI */
	mcchk_active = 1;
	mcchk_leave();
	mcchk_threads_start(MCCHK_FRAME);
	return rc;
}

gaspi_return_t __wrap_gaspi_proc_term(gaspi_timeout_t timeout)
{
	mcchk_threads_recorded(MCCHK_FRAME);
	if (!mcchk_enter(MCCHK_FRAME))
		return __real_gaspi_proc_term(timeout);
	if (opened)
		mcchk_write_modules();
	int64_t *words = mcchk_call_begin(mcchk_fn_gaspi_proc_term, 1, MCCHK_FRAME);
	if (words)
		words[0] = (int64_t)timeout;
	mcchk_call_commit();
	gaspi_return_t rc = __real_gaspi_proc_term(timeout);
	mcchk_call_end(mcchk_now(), rc != GASPI_SUCCESS);
	if (opened && rc == GASPI_SUCCESS) {
		mcchk_active = 0;
		mcchk_file_finish(__atomic_load_n(&mcchk_units, __ATOMIC_RELAXED), 1);
	}
	mcchk_leave();
	return rc;
}

#pragma GCC visibility pop
