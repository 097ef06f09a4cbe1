/* What activations.c, sets.c and touches.c have in common. */
#ifndef MCCHK_ACTIVATIONS_H
#define MCCHK_ACTIVATIONS_H

#include "runs.h"

#pragma GCC visibility push(hidden)

/* A call of a function that has maps or sets, by its frame pointer and where it returns to.
 * That is there if its word of mcchk_entries has its frame. */
struct mcchk_activation {
	uintptr_t frame, caller;
	uintptr_t function; /* where that begins; 0: not known */
	uintptr_t begins;   /* the place in it that says so; 0: not known */
	uint32_t context;   /* the way by which it was called, without recursion */
	uint32_t of_one;    /* its maps are those of this call alone: some are of its thread's own stack */
	uint32_t silent;    /* its function may not say that it begins: what it calls is not known by it */
	/* What called it, if that is one that is there too: */
	uintptr_t by_frame, by_function; /* 0: it is not */
	uint32_t by_context;
};
extern struct mcchk_activation mcchk_activations[MCCHK_ENTRIES];

/* The call with this frame, of a function that announces its begin, if it is there; NULL. */
static inline __attribute__((always_inline)) struct mcchk_activation *mcchk_activation_known(void **frame)
{
	uint32_t entry = MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1]);
	struct mcchk_activation *a = &mcchk_activations[entry];
	return MCCHK_HAS_FRAME(mcchk_entries[entry], (uintptr_t)frame) && a->caller == (uintptr_t)frame[1] ? a : NULL;
}

/* What mcchk_entries says of it, and the places that it has maps of. */
static inline uint64_t mcchk_context_of(const struct mcchk_activation *a)
{
	return MCCHK_CONTEXT(mcchk_entries[a - mcchk_activations], a->frame);
}

/* The call with this frame, of the function that has the place pc. On the thread's own stack
 * variables are of one call, whatever else is the same. NULL: there is nothing that it could
 * be known by. */
struct mcchk_activation *mcchk_activation(struct mcchk_thread *t, uintptr_t pc, void **frame, int own_stack);

/* The same of a function that need not say where it begins. */
struct mcchk_activation *mcchk_activation_checked(struct mcchk_thread *t, uintptr_t pc, void **frame);

void mcchk_forget_activations(void);

/* Whether a place that has the map of another context has one for this call of its function that
 * takes an element: sets it there. */
static inline __attribute__((always_inline)) int mcchk_other_map_takes(const struct mcchk_touch *touch, uintptr_t addr, uint32_t shift, void **frame)
{
	struct mcchk_thread *t = mcchk_self.thread;
	uint64_t context = MCCHK_CONTEXT(mcchk_entries[MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1])], frame);
	uint32_t n = touch->number;

	if (!t || n >= t->touching_count || t->touching[n].touch != touch || touch->context == 0 || mcchk_self.busy ||
	    __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		return 0;
	for (const struct mcchk_touching *g = &t->touching[t->touching[n].next]; g != &t->touching[n]; g = &t->touching[g->next]) {
		if (g->context != context || !g->map)
			continue;
		uint64_t element = addr - g->from;
		if ((element & ((1u << shift) - 1)) != 0 || element >> shift >= g->count)
			return 0;
		g->map[(addr - g->lo) >> shift] = 1;
		return 1;
	}
	return 0;
}

/* Writes what the sets have, behind a call, and keeps it if it is to be written again. */
void mcchk_write_sets(struct mcchk_thread *t, uint64_t seq, int keep);
void mcchk_forget_sets(struct mcchk_thread *t);

/* Puts what sets have of places in the maps of these, as far as they reach: they have got
 * them later. */
void mcchk_pour_sets(struct mcchk_thread *t);

/* ---- elements at equal distances that are about to be a record ---- */

struct mcchk_progress {
	struct mcchk_thread *t;
	uint64_t seq;   /* the call that they follow */
	uintptr_t base; /* of element 0 */
	uint32_t stack;
	uint16_t size;
	uint8_t flags, shift;
	uint8_t beside; /* or a later one: it is of another thread */
	uint64_t first, last, distance, count;
};

void mcchk_progress_add(struct mcchk_progress *p, uint64_t element);
void mcchk_progress_end(struct mcchk_progress *p);

/* The next n elements, where those that were added last lie side by side up to there. */
static inline int mcchk_progress_goes_on(struct mcchk_progress *p, uint64_t element, uint64_t n)
{
	if (p->count < 2 || p->distance != 1 || p->last != element - 1)
		return 0;
	p->count += n;
	p->last += n;
	return 1;
}

#pragma GCC visibility pop
#endif
