/* Strands of program order, and what orders them.
 *
 * A process has several: threads, and the tasks of OpenMP. Notes (pseudo calls) in the
 * streams of the threads say which strand the records behind them belong to, and what
 * orders strands: a release comes before every acquire of the same object behind it, by
 * sequence numbers. So a release is noted before it takes effect, an acquire after it has.
 *
 * As long as the program has one strand nothing is noted. The one that called MPI_Init
 * has number 0 and says so only where it was another before; a thread's first record is
 * the note of its strand.
 *
 * Programs into which the run-time is preloaded have no notes: what an interpreter does
 * for itself would order all of its threads.
 */
#include "calls.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

int mcchk_strands;

static uint64_t last_strand, last_object; /* atomic */
static int first_taken;                   /* strand 0 is some thread's; atomic */

/* What a thread knows of its strands. */
static __thread struct {
	struct mcchk_birth birth;
	int known;        /* it has a strand: */
	uint64_t current; /* the one that it executes now */
	int switched;     /* that is not the one that it began with, or it has been another */
} own;

uint64_t mcchk_objects(uint64_t count) { return 1ull << 63 | (__atomic_fetch_add(&last_object, count, __ATOMIC_RELAXED) + 1); }

uint64_t mcchk_strand_new(void) { return __atomic_add_fetch(&last_strand, 1, __ATOMIC_RELAXED); }

uint64_t mcchk_strand_current(void)
{
	if (!own.known) {
		int first = mcchk_self.thread ? mcchk_self.thread->strand == 0 : !mcchk_recording && getpid() == gettid();
		own.current = first && !__atomic_exchange_n(&first_taken, 1, __ATOMIC_RELAXED) ? 0 : mcchk_strand_new();
		own.known = 1;
	}
	return own.current;
}

void mcchk_strand_born(const struct mcchk_birth *birth) { own.birth = *birth; }

/* ---- notes ---- */

/* Returns where the values stand; NULL: nowhere. */
static int64_t *write_values(uint16_t function, const uint64_t *values, int count, void *frame)
{
	int64_t *w = mcchk_call_begin(function, (size_t)count, frame);
	for (int i = 0; w && i < count; i++)
		w[i] = (int64_t)values[i];
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
	return w;
}

static void write_note(uint16_t function, uint64_t value, void *frame) { write_values(function, &value, 1, frame); }

static void note(uint16_t function, const uint64_t *values, int count, void *frame)
{
	if (mcchk_preloaded || !mcchk_active)
		return;
	if (mcchk_self.busy) { /* in a signal handler */
		mcchk_lost(1, 0);
		return;
	}
	if (!mcchk_enter(frame))
		return;
	write_values(function, values, count, frame);
	mcchk_watch_looks();
	mcchk_leave();
}

void mcchk_note(uint16_t function, uint64_t value, void *frame) { note(function, &value, 1, frame); }

void mcchk_strand_waits(uint64_t object, uint64_t strands, uint64_t releases, void *frame)
{
	uint64_t values[] = {object, strands, releases};
	note(mcchk_fn_mcchk_Strand_waits, values, 3, frame);
}

struct mcchk_awaited mcchk_strand_waits_for(uint64_t object, void *frame)
{
	struct mcchk_awaited w = {NULL, NULL, 0, 0, 0};
	uint64_t values[] = {object, 0, 0};

	if (mcchk_preloaded || !mcchk_active || mcchk_self.busy || !mcchk_enter(frame))
		return w;
	int64_t *words = write_values(mcchk_fn_mcchk_Strand_waits, values, 3, frame);
	const struct mcchk_open *calls = mcchk_self.thread ? &mcchk_self.thread->calls : NULL;
	if (words && calls && calls->chunk)
		w = (struct mcchk_awaited){words, calls->chunk, calls->file_offset, calls->chunk->used, calls->compact};
	mcchk_leave();
	return w;
}

/* As long as nothing was written behind the note it stands where it was. */
void mcchk_strand_waited(const struct mcchk_awaited *w, uint64_t releases)
{
	const struct mcchk_open *calls = mcchk_self.thread ? &mcchk_self.thread->calls : NULL;

	if (w->words && calls && calls->chunk == w->chunk && calls->file_offset == w->offset && calls->compact == w->compact &&
	    w->chunk->used == w->used)
		__atomic_store_n(&w->words[2], (int64_t)releases, __ATOMIC_RELAXED);
}

void mcchk_strand_switch(uint64_t strand, void *frame)
{
	own.current = strand;
	own.known = own.switched = 1;
	if (mcchk_self.thread)
		mcchk_note(mcchk_fn_mcchk_Strand, strand, frame);
	mcchk_self.between = 0;
}

/* Between tasks such a thread does nothing of the program's: were its own strand not over,
 * it would be one that may go on at any time. */
void mcchk_strand_only_tasks(void *frame)
{
	if (own.known && !own.switched && mcchk_self.thread)
		mcchk_strand_over(own.current, frame);
}

void mcchk_strand_over(uint64_t strand, void *frame)
{
	mcchk_note(mcchk_fn_mcchk_Strand_end, strand, frame);
	if (own.known && strand == own.current)
		mcchk_self.between = 1;
}

/* ---- the life of a thread ---- */

/* The frame of a record that no function of the program makes: it stands where the
 * thread's code begins. */
struct place {
	const void *next;
	uintptr_t pc;
};

static struct place beginning(void) { return (struct place){NULL, own.birth.begin + 1}; }

void mcchk_strand_begins(void)
{
	struct place at = beginning();

	if (mcchk_preloaded)
		return;
	__atomic_store_n(&mcchk_strands, 1, __ATOMIC_RELAXED);
	write_note(mcchk_fn_mcchk_Strand, mcchk_strand_current(), own.birth.begin ? (void *)&at : MCCHK_FRAME);
	if (own.birth.start) {
		write_note(mcchk_fn_mcchk_Acquire, own.birth.start, &at);
		write_note(mcchk_fn_mcchk_Object_end, own.birth.start, &at);
		write_note(mcchk_fn_mcchk_Will_release, own.birth.end, &at);
	}
	int unseen = own.birth.origin == MCCHK_UNSEEN && getpid() != gettid();
	if (mcchk_self.thread)
		mcchk_self.thread->unseen = unseen;
	if (unseen)
		write_note(mcchk_fn_mcchk_Threads, MCCHK_THREADS, MCCHK_FRAME);
}

/* The last bit of a reference tells a mutex with priority inheritance. */
static const struct robust_list *mutex_entry(const struct robust_list *reference)
{
	return (const struct robust_list *)((uintptr_t)reference & ~(uintptr_t)1);
}

/* The robust mutexes that the thread still has are given up by its end, as the kernel finds them
 * (get_robust_list(2)). */
static void abandon(void *frame)
{
	struct robust_list_head *held;
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &held, &size) != 0 || !held)
		return;
	const struct robust_list *end = &held->list, *at = mutex_entry(held->list.next);
	for (int i = 0; at != end && i < ROBUST_LIST_LIMIT; i++, at = mutex_entry(at->next))
		write_note(mcchk_fn_mcchk_Release, (uint64_t)((intptr_t)at + held->futex_offset), frame);
}

void mcchk_strand_ends(void)
{
	struct place at = beginning();

	if (mcchk_preloaded || !mcchk_active || !own.known)
		return;
	mcchk_within(MCCHK_FRAME);
	abandon(&at);
	if (own.birth.end)
		write_note(mcchk_fn_mcchk_Release, own.birth.end, &at);
	write_note(mcchk_fn_mcchk_Strand_end, own.current, &at);
	mcchk_leave();
}

/* Its records so far are those of strand 0, which a strand that it has been before MPI_Init
 * follows. */
void mcchk_strands_start(void *frame)
{
	if (mcchk_strand_current() == 0)
		return;
	uint64_t object = mcchk_objects(1);
	MCCHK_FORK(object, frame);
	mcchk_strand_switch(own.current, frame);
	MCCHK_ACQUIRE(object, frame);
	MCCHK_OBJECT_END(object, frame);
}
