/* The fast path of sets.c. */
#ifndef MCCHK_SETS_H
#define MCCHK_SETS_H

#include "activations.h"

#pragma GCC visibility push(hidden)

#define MCCHK_IN_SET 512   /* elements, no more of a loop are put in a set */
#define MCCHK_SET_WORDS 32u/* of 64 elements, in a block */
#define MCCHK_SET_SHIFT 11

/* The elements of a place, by the number that their addresses make. */
struct mcchk_set {
	uint64_t key;     /* of the place's runs; 0: none */
	uint32_t context; /* of the calls of its function */
	uint32_t stack;
	uint64_t block;  /* the last one; UINT64_MAX: none */
	uint64_t *words; /* of that */
	uint16_t size;
	uint8_t flags, shift;
};

/* Whether the thread has a set for a place that it fills beside other threads. */
int mcchk_is_in_sets(struct mcchk_thread *t, uint64_t key);

void mcchk_find_block(struct mcchk_thread *t, struct mcchk_set *of, uint64_t block);

/* What mcchk_takes does of a place that is scattered, where the last set of the place is another
 * one. */
int mcchk_put(struct mcchk_run *r, const struct mcchk_elements *e, uintptr_t pc, void **frame);

/* The same of what a call of the C library does, by a key of its own, for which functions need
 * not say where they begin; of elements that are numbered by 2^shift bytes. */
int mcchk_range_put(struct mcchk_run *r, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame);

static inline __attribute__((always_inline)) void mcchk_set_elements(struct mcchk_thread *t, struct mcchk_set *s, const struct mcchk_elements *e)
{
	uint64_t element = e->start >> s->shift, step = (uint64_t)(e->stride >> s->shift);

	for (uint64_t n = e->count; n > 0; n--, element += step) {
		if (__builtin_expect(element >> MCCHK_SET_SHIFT != s->block, 0))
			mcchk_find_block(t, s, element >> MCCHK_SET_SHIFT);
		uint64_t *word = &s->words[element / 64 % MCCHK_SET_WORDS], all = n < 64 - element % 64 ? n : 64 - element % 64;
		if (step == 1 && all > 1) { /* those of the word at once */
			*word |= UINT64_MAX >> (64 - all) << element % 64;
			element += all - 1;
			n -= all - 1;
		} else {
			*word |= 1ull << element % 64;
		}
	}
}

/* Whether what its place does goes into a set: that is scattered, each element can be told from
 * others, and none lies on the thread's own stack (mcchk_access_stack). */
static inline __attribute__((always_inline)) int mcchk_is_for_set(const struct mcchk_run *r, uint64_t key, const struct mcchk_elements *e, uint32_t unit)
{
	const struct mcchk_thread *t = mcchk_self.thread;

	return __builtin_expect(r->scattered >= MCCHK_SCATTERED, 0) && r->place == key && r->seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED) && t &&
	       ((e->start | (e->count > 1 ? (uint64_t)e->stride : 0)) & (unit - 1)) == 0 &&
	       (e->start < t->stack_lo || e->start >= t->stack_hi);
}

/* Whether the set, which a place had, still is that of the place in the present call of the
 * function with this frame. */
static inline __attribute__((always_inline)) int mcchk_is_of(const struct mcchk_thread *t, const struct mcchk_set *s, uint64_t key, void **frame)
{
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		return t->beside && s->key == key;
	const struct mcchk_activation *a = mcchk_activation_known(frame);
	return a && a->context == s->context;
}

/* Elements that matter go into the set of their place, if that is scattered. Returns whether
 * they could. */
static inline __attribute__((always_inline)) int mcchk_takes(const struct mcchk_elements *e, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_run *r = self->runs + (pc & (MCCHK_RUNS - 1));
	struct mcchk_thread *t = self->thread;

	if (!mcchk_is_for_set(r, pc, e, mcchk_unit(e->size)))
		return 0;
	struct mcchk_set *s = r->set;
	if (__builtin_expect(!s || !mcchk_is_of(t, s, pc, frame) || self->depth || self->busy, 0))
		return mcchk_put(r, e, pc, frame);
	r->scattered += r->scattered < MCCHK_SCATTERED_MOST;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_set_elements(t, s, e);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	return 1;
}

static inline __attribute__((always_inline)) int mcchk_takes_one(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	const struct mcchk_elements e = {.start = addr, .stride = 0, .count = 1, .size = size, .flags = flags};
	return mcchk_takes(&e, pc, frame);
}

/* The same of one element of a call of the C library. */
static inline __attribute__((always_inline)) int mcchk_range_takes(struct mcchk_run *r, uint64_t key, uintptr_t addr, uintptr_t pc, void **frame,
								   uint32_t size, uint32_t flags)
{
	const struct mcchk_elements e = {.start = addr, .stride = 0, .count = 1, .size = size, .flags = flags};
	uint32_t unit = size % 8 == 0 ? 8 : mcchk_unit(size);

	return mcchk_is_for_set(r, key, &e, unit) && mcchk_range_put(r, &e, key, (uint32_t)__builtin_ctz(unit), pc, frame);
}

#pragma GCC visibility pop
#endif
