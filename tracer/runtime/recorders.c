/* Threads that record: their state, how they begin and end, and what changes once there are
 * several. */
#include "mcchk.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(struct mcchk_thread *) threads;
static _Atomic uint32_t strands, thread_count;
static pthread_key_t exit_key;
static struct mcchk_run no_runs[MCCHK_RUNS]; /* never written */

__thread struct mcchk_tls mcchk_self = {.runs = no_runs};
int mcchk_several;
static int are_several; /* and the first has seen it */

/* All that ever were, by `next`. */
struct mcchk_thread *mcchk_threads_recording(void) { return threads; }

static void *zeroed(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct thread_memory {
	struct mcchk_thread thread;
	struct mcchk_run runs[MCCHK_RUNS] __attribute__((aligned(64)));
	struct mcchk_start starts[MCCHK_STARTS];
	struct mcchk_rows rows[MCCHK_RUNS];
	struct mcchk_seen seen[MCCHK_ELEMENTS];
	struct mcchk_polled polled[MCCHK_POLLED];
	char compactor[] __attribute__((aligned(64)));
};

static struct mcchk_thread *new_thread(void)
{
	for (struct mcchk_thread *t = threads; t; t = t->next) {
		int idle = 0;
		if (atomic_compare_exchange_strong((_Atomic int *)&t->used, &idle, 1)) {
			t->polls.seq = 0; /* it is another thread */
			return t;
		}
	}
	struct thread_memory *m = zeroed(sizeof *m + mcchk_compactor_size);
	if (!m)
		return NULL;
	m->thread.used = 1;
	m->thread.number = atomic_fetch_add(&thread_count, 1);
	m->thread.runs = m->runs;
	m->thread.starts = m->starts;
	m->thread.rows = m->rows;
	m->thread.seen = m->seen;
	m->thread.polled = m->polled;
	m->thread.compactor = (void *)m->compactor;
	m->thread.next = threads;
	while (!atomic_compare_exchange_weak(&threads, &m->thread.next, &m->thread)) { }
	return &m->thread;
}

static int barrier(int command) { return (int)syscall(SYS_membarrier, command, 0, 0); }

/* Another thread begins to record: no place of the program is armed from now on, and none is
 * alone. The barrier has all threads as if they had one between what arms a place, or says that
 * a thread is alone, and the look whether that may be. */
static void become_several(void)
{
	if (__atomic_exchange_n(&mcchk_several, 1, __ATOMIC_SEQ_CST)) {
		while (!__atomic_load_n(&are_several, __ATOMIC_ACQUIRE))
			sched_yield();
		return;
	}
	barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	for (struct mcchk_thread *t = threads; t; t = t->next) {
		mcchk_disarm(t);
		mcchk_touch_no_more(t);
		while (t != mcchk_self.thread && __atomic_load_n(&t->sole, __ATOMIC_ACQUIRE))
			sched_yield();
	}
	__atomic_store_n(&are_several, 1, __ATOMIC_RELEASE);
}

/* The calling thread, which does not record, is about to do what one that does may do as if
 * there were no other. */
void mcchk_not_sole(void)
{
	if (mcchk_recording && !__atomic_load_n(&are_several, __ATOMIC_ACQUIRE))
		become_several();
}

struct mcchk_thread *mcchk_thread_begins(void)
{
	struct mcchk_tls *self = &mcchk_self;
	if (!mcchk_recording || self->exits == PTHREAD_DESTRUCTOR_ITERATIONS)
		return NULL;
	struct mcchk_thread *t = new_thread();
	if (!t) {
		mcchk_stop_recording(&(struct mcchk_thread){0}, MCCHK_LOST_MEMORY, strerror(ENOMEM));
		return NULL;
	}
	t->strand = atomic_fetch_add(&strands, 1);
	mcchk_live_thread(t);
	if (t->strand > 0)
		become_several();
	pthread_setspecific(exit_key, t);
	self->thread = t;
	self->runs = t->runs;
	mcchk_stack_begins();
	if (t->strand > 0)
		mcchk_strand_begins();
	return t;
}

/* A destructor of the thread's data, called in the last round: those of others, of the
 * program or of libraries that take locks, belong to the strand. What comes behind is not
 * recorded: the thread would begin once more, with the strand that has ended. */
static void thread_exits(void *p)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = p;
	if (self->thread != t)
		return;
	if (++self->exits < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(exit_key, p) == 0)
		return;
	self->exits = PTHREAD_DESTRUCTOR_ITERATIONS;
	mcchk_strand_ends();
	self->busy = 1;
	mcchk_stack_ends(t);
	mcchk_write_touched(t);
	self->runs = no_runs;
	self->thread = NULL;
	mcchk_chunks_end(t);
	mcchk_live_thread_over(t);
	t->call = NULL;
	t->stack_lo = t->stack_hi = 0;
	t->stack_lookups = 0;
	mcchk_forget_stacks(t);
	memset(t->functions, 0, sizeof t->functions);
	atomic_store((_Atomic int *)&t->used, 0);
	self->busy = 0;
}

/* In the child of fork: the file belongs to the parent. */
static void forked(void)
{
	mcchk_recording = 0;
	mcchk_active = 0;
	mcchk_live = NULL;
	for (struct mcchk_thread *t = threads; t; t = t->next) {
		mcchk_disarm(t);
		mcchk_touch_no_more(t);
	}
	mcchk_self.runs = no_runs;
	mcchk_self.thread = NULL;
	mcchk_aside_forked();
}

/* Before the first thread records. Returns 0 or an errno. */
int mcchk_recorders_start(void)
{
	if (pthread_key_create(&exit_key, thread_exits) != 0 || pthread_atfork(NULL, NULL, forked) != 0)
		return ENOMEM;
	if (barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
		mcchk_several = are_several = 1; /* no place is ever armed */
	return 0;
}
