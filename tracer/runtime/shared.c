/* Values of atomic operations of the language in memory that processes share, by which these
 * are ordered, and fences. A value is recorded with its sign, whatever its type. */
#include "calls.h"

/* Loads that a thread may be polling with, or with which it walks over nodes that have a flag each: where
 * one finds what it found before, and all calls of the thread in between were such loads, none of which
 * found anything new, it is not recorded (as in mcchk_poll_end, and without a call). */

/* What was found at that address and place, or where it is to be noted. NULL: nowhere. */
static struct mcchk_polled *polled_at(const volatile void *p, void *place)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t)
		return NULL;
	if (mcchk_polled != t->latest)
		t->polled_anew = t->polled_since = t->latest + 1;
	uint64_t h = mcchk_hashed(mcchk_hashed(0, (uintptr_t)p), (uintptr_t)place);
	struct mcchk_polled *slots = &t->polled[(h >> 32 & (MCCHK_POLLED - 1)) & ~3ull], *oldest = slots;
	for (struct mcchk_polled *x = slots; x < slots + 4; x++) {
		if (x->p == p && x->place == place)
			return x;
		if (x->seq < oldest->seq)
			oldest = x;
	}
	return oldest;
}

static int has_found(const struct mcchk_polled *x, const volatile void *p, void *place, int64_t value)
{
	return x && x->p == p && x->place == place && x->value == value && x->seq >= mcchk_self.thread->polled_since;
}

static int atomic_again(const volatile void *p, int64_t found, void **frame)
{
	const struct mcchk_polled *x = polled_at(p, ((void **)frame)[1]);
	return has_found(x, p, ((void **)frame)[1], found) && x->seq >= mcchk_self.thread->polled_anew;
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
	struct mcchk_polled *x = how == 0 ? polled_at(p, place) : NULL;
	if (!enters(frame))
		return;
	int64_t *w = how == 0 ? mcchk_look_begin(mcchk_fn_mcchk_Atomic, 6, frame) : mcchk_call_begin(mcchk_fn_mcchk_Atomic, 6, frame);
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
	if (x) {
		mcchk_polled = mcchk_self.thread->latest;
		if (!has_found(x, p, place, found))
			mcchk_self.thread->polled_anew = mcchk_polled;
		*x = (struct mcchk_polled){.seq = mcchk_polled, .p = p, .place = place, .value = found};
	}
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

void mcchk_atomics_shared(void)
{
	mcchk_atomics_exposed();
	mcchk_atomic_again = atomic_again;
	mcchk_atomic_valued = atomic_valued;
}

void mcchk_atomics_exposed(void)
{
	mcchk_fence_noted = fence_noted;
	mcchk_atomic_first = mcchk_atomics_shared;
}
