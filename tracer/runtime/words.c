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
}

/* ---- atomics of the language, in memory that processes share ---- */

/* A loop that polls is one load, unless there is a record in between. */
static __thread struct {
	const volatile void *p;
	int64_t value;
	uint64_t seq;
} polled;

static void atomic_valued(uint64_t begin, const volatile void *p, uint32_t size, int how, int order, int64_t operand, int64_t found, void **frame)
{
	if (how == 0 && polled.p == p && polled.value == found && polled.seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED))
		return;
	if (mcchk_self.busy) { /* in a signal handler */
		mcchk_lost(1, 0);
		return;
	}
	if (!mcchk_enter(frame))
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
	polled.p = how == 0 ? p : NULL;
	polled.value = found;
	polled.seq = __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED);
	mcchk_leave();
}

void mcchk_words_shared(void) { mcchk_atomic_valued = atomic_valued; }
