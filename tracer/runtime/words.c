/* Values of words: what atomic operations write, and what they fetched, for order
 * through memory. A value is recorded with its sign, whatever its type. */
#include "wrap.h"

#include <string.h>

struct fetched {
	int64_t number, value;
};

__thread uint32_t mcchk_words_ready;
static __thread struct fetched *ready;
static __thread uint32_t room;
static int64_t last_number;

int64_t mcchk_word_read(const void *p, uint32_t size)
{
	union {
		int8_t b;
		int16_t h;
		int32_t w;
		int64_t d;
	} v;
	memcpy(&v, p, size);
	return size == 1 ? v.b : size == 2 ? v.h : size == 4 ? v.w : v.d;
}

const void *mcchk_word_at(const void *p, MPI_Count count, MPI_Datatype type, uint32_t *size)
{
	int64_t offset = 0;
	*size = count == 1 ? mcchk_type_word(type, &offset) : 0;
	return (const char *)p + offset;
}

int64_t mcchk_word(const void *p, MPI_Count count, MPI_Datatype type)
{
	uint32_t size;
	const void *at = mcchk_word_at(p, count, type, &size);
	return size ? mcchk_word_read(at, size) : 0;
}

int64_t mcchk_word_number(const void *p, MPI_Count count, MPI_Datatype type)
{
	uint32_t size;
	mcchk_word_at(p, count, type, &size);
	return size ? __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED) : 0;
}

/* Notes what an operation has fetched, for the note to come. */
void mcchk_word_fetched(int64_t number, int64_t value)
{
	if (mcchk_words_ready == room) {
		uint32_t more = room ? 2 * room : 16;
		struct fetched *larger = realloc(ready, more * sizeof *larger);
		if (!larger) {
			mcchk_lost(1, 0);
			return;
		}
		ready = larger;
		room = more;
	}
	ready[mcchk_words_ready++] = (struct fetched){number, value};
}

void mcchk_words_write(void)
{
	uint32_t n = mcchk_words_ready;
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Fetched, 2 + 2 * (uint64_t)n, (void *)mcchk_self.frame);
	if (w) {
		*w++ = n;
		for (uint32_t i = 0; i < n; i++)
			*w++ = ready[i].number;
		*w++ = n;
		for (uint32_t i = 0; i < n; i++)
			*w++ = ready[i].value;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
	mcchk_words_ready = 0;
	mcchk_rounds_told();
}

/* ---- atomics of the language, in memory that processes share ---- */

/* Loads that a thread may be polling with: where one finds what it found before, and all calls
 * of the thread in between were such loads, none of which found anything new, it is not
 * recorded (as in mcchk_poll_end, and without a call). */
static __thread struct {
	uint64_t changed; /* of the last that found what it had not found before */
	uint32_t next;    /* that is replaced */
	struct polled {
		uint64_t seq; /* 0: there is none */
		const volatile void *p;
		void *place;
		int64_t value;
	} all[8];
} polled;

static struct polled *polled_at(const volatile void *p, void *place, int64_t value)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t || mcchk_polled != t->latest) {
		memset(&polled, 0, sizeof polled);
		return NULL;
	}
	for (unsigned i = 0; i < sizeof polled.all / sizeof *polled.all; i++)
		if (polled.all[i].seq && polled.all[i].p == p && polled.all[i].place == place && polled.all[i].value == value)
			return &polled.all[i];
	return NULL;
}

static void polled_now(struct polled *x, const volatile void *p, void *place, int64_t value)
{
	if (!mcchk_self.thread)
		return;
	mcchk_polled = mcchk_self.thread->latest;
	if (!x) {
		polled.changed = mcchk_polled;
		x = &polled.all[polled.next];
		polled.next = (polled.next + 1) % (sizeof polled.all / sizeof *polled.all);
		*x = (struct polled){.p = p, .place = place, .value = value};
	}
	x->seq = mcchk_polled;
}

static int atomic_again(const volatile void *p, int64_t found, void **frame)
{
	struct polled *x = polled_at(p, ((void **)frame)[1], found);
	return x && x->seq >= polled.changed;
}

/* Whether a note can be made now. */
static int enters(void **frame)
{
	if (mcchk_self.busy) { /* in a signal handler */
		mcchk_lost(1, 0);
		return 0;
	}
	return mcchk_enter(frame);
}

static void atomic_valued(uint64_t begin, const volatile void *p, uint32_t size, int how, int order, int64_t operand, int64_t found, void **frame)
{
	void *place = ((void **)frame)[1];
	struct polled *x = how == 0 ? polled_at(p, place, found) : NULL;
	if (!enters(frame))
		return;
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Atomic, 6, frame);
	if (w) {
		w[0] = (int64_t)(uintptr_t)p;
		w[1] = size;
		w[2] = how;
		w[3] = order & 7;
		w[4] = operand;
		w[5] = found;
	}
	mcchk_call_commit_at(begin);
	mcchk_call_end(mcchk_now(), 0);
	if (how == 0)
		polled_now(x, p, place, found);
	mcchk_leave();
}

static void fence_noted(int order, void **frame)
{
	if (!enters(frame))
		return;
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Atomic_fence, 1, frame);
	if (w)
		w[0] = order & 7;
	mcchk_call_commit_at(mcchk_now());
	mcchk_call_end(mcchk_now(), 0);
	mcchk_leave();
}

void mcchk_words_shared(void)
{
	mcchk_atomic_again = atomic_again;
	mcchk_atomic_valued = atomic_valued;
	mcchk_fence_noted = fence_noted;
}
