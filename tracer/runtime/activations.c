/* Calls of functions that have maps (touches.c) or sets (sets.c).
 *
 * Such a call is known by its frame pointer and by where it returns to. Others that have both
 * in common are told apart where functions begin that may have some: there the rest of the
 * stack is compared. So within such a function whatever is known of a call with its frame
 * and its caller is true.
 *
 * All calls that only recursion sets apart have one context. By that, places know whether they
 * have a map in a call (mcchk_entries); what lies on the thread's own stack has maps of one call
 * alone, which then has a number of its own there.
 */
#include "activations.h"

#include <string.h>

#define CONTEXTS 512
#define SINGLE (100u << 10) /* calls that have their maps alone, in a span: with the contexts, less than 2^17 */

/* Where the calls of a stack return to, from a call on, without recursion. */
struct context {
	uint32_t frames;
	uint64_t hash;
	uint64_t pcs[MCCHK_MAX_FRAMES];
};

static struct context contexts[CONTEXTS]; /* from 1 on */
static uint32_t context_count;
static uint16_t context_slots[2 * CONTEXTS];

/* Which context calls of a function have that one of a context makes. */
static struct {
	uint64_t caller;
	uintptr_t of;
	uint32_t by_context, context;
} called[4 * CONTEXTS];

struct mcchk_activation mcchk_activations[MCCHK_ENTRIES];
static struct mcchk_walked stacks[MCCHK_ENTRIES]; /* of them */
static uint16_t begun[MCCHK_ENTRIES];             /* which are there, or were, … */
static uint32_t begun_count;                      /* … or more than that */
static struct mcchk_thread *active;               /* whose they are */
static uint32_t single_count;                     /* calls that have their maps alone */
uint64_t mcchk_entries[MCCHK_ENTRIES];

static struct mcchk_walked *stack_of(const struct mcchk_activation *a) { return &stacks[a - mcchk_activations]; }

/* ---- contexts ---- */

/* The number of a context; 0: there are too many. */
static uint32_t intern(struct context *c)
{
	c->hash = c->frames;
	for (uint32_t i = 0; i < c->frames; i++) {
		c->hash = (c->hash ^ c->pcs[i]) * 0x9E3779B97F4A7C15ull;
		c->hash ^= c->hash >> 29;
	}
	uint32_t s = (uint32_t)c->hash % (2 * CONTEXTS);
	for (; context_slots[s] != 0; s = (s + 1) % (2 * CONTEXTS)) {
		const struct context *known = &contexts[context_slots[s]];
		if (known->hash == c->hash && known->frames == c->frames && memcmp(known->pcs, c->pcs, c->frames * sizeof *c->pcs) == 0)
			return context_slots[s];
	}
	if (context_count + 1 == CONTEXTS)
		return 0;
	context_slots[s] = (uint16_t)++context_count;
	contexts[context_count].frames = c->frames;
	contexts[context_count].hash = c->hash;
	memcpy(contexts[context_count].pcs, c->pcs, c->frames * sizeof *c->pcs);
	return context_count;
}

static uint32_t context_of_stack(const struct mcchk_walked *w, uintptr_t of)
{
	struct mcchk_walked once;
	struct context c;

	mcchk_leave_recursion_out(w, of, &once);
	c.frames = once.frames - 1;
	memcpy(c.pcs, once.pcs + 1, c.frames * sizeof *c.pcs);
	return intern(&c);
}

/* The context of calls of a function by one that has a context. */
static uint32_t context_called(uint32_t by_context, uint64_t caller, uintptr_t of)
{
	uint64_t h = (caller ^ by_context * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
	uint32_t s = (uint32_t)(h >> 32) % (4 * CONTEXTS);

	if (called[s].context != 0 && called[s].by_context == by_context && called[s].caller == caller && called[s].of == of)
		return called[s].context;
	const struct context *by = &contexts[by_context];
	struct context c = {.frames = 0};
	if (of == 0 || mcchk_function_at(caller) != of)
		c.pcs[c.frames++] = caller;
	for (uint32_t i = 0; i < by->frames && c.frames < MCCHK_MAX_FRAMES - 1; i++)
		if (by->pcs[i] != caller && (of == 0 || mcchk_function_at(by->pcs[i]) != of))
			c.pcs[c.frames++] = by->pcs[i];
	called[s].by_context = by_context;
	called[s].of = of;
	called[s].caller = caller;
	called[s].context = intern(&c);
	return called[s].context;
}

/* ---- calls ---- */

/* Whether that call, or another one with the same stack, goes on. Where what called it is
 * known by its frame and its caller, and is of the function that it returns to, which
 * announces its begin, that need not be compared again. */
static int lasts(const struct mcchk_thread *t, const struct mcchk_activation *a)
{
	const struct mcchk_walked *w = stack_of(a);

	if (a->by_frame != 0) {
		void **by = *(void ***)a->frame;
		const struct mcchk_activation *b = (uintptr_t)by == a->by_frame ? mcchk_activation_known(by) : NULL;
		return b && b->function == a->by_function && b->context == a->by_context;
	}
	for (uint32_t i = 0; i + 1 < w->frames; i++) {
		const uint64_t *frame = (const void *)(uintptr_t)w->pointer[i];
		if (frame[1] != w->pcs[i + 1])
			return 0;
		if (frame[0] == (i + 2 < w->frames ? w->pointer[i + 1] : w->end))
			continue;
		if (i + 2 < w->frames || mcchk_may_be_frame(t, w->pointer[i], w->end) || mcchk_may_be_frame(t, w->pointer[i], frame[0]))
			return 0; /* else the stack can be followed no further, as before */
	}
	return 1;
}

/* Whether what called it is there. Then it has a context. */
static int is_called_by_known(struct mcchk_thread *t, struct mcchk_activation *a)
{
	void **by = *(void ***)a->frame;

	if (a->frame < t->stack_lo || (uintptr_t)by <= a->frame || (uintptr_t)by + 2 * sizeof(void *) > t->stack_hi || (uintptr_t)by % sizeof(void *) != 0)
		return 0;
	const struct mcchk_activation *b = mcchk_activation_known(by);
	if (!b || b->silent || b->function == 0 || b->function != mcchk_function_at(a->caller))
		return 0;
	a->context = context_called(b->context, a->caller, a->function);
	a->by_frame = (uintptr_t)by;
	a->by_function = b->function;
	a->by_context = b->context;
	return a->context != 0;
}

struct mcchk_activation *mcchk_activation(struct mcchk_thread *t, uintptr_t pc, void **frame, int own_stack)
{
	uint32_t entry = MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1]);
	struct mcchk_activation *a = &mcchk_activations[entry];

	if (mcchk_activation_known(frame) && (!own_stack || (a->of_one && lasts(t, a))))
		return a;
	mcchk_entries[entry] = 0;
	*a = (struct mcchk_activation){.frame = (uintptr_t)frame, .caller = (uintptr_t)frame[1], .function = mcchk_function_at(pc)};
	if (own_stack || !is_called_by_known(t, a)) {
		struct mcchk_walked *w = stack_of(a);
		a->by_frame = 0;
		mcchk_walk(t, 0, frame, w);
		if (w->frames < 2)
			return NULL;
		a->context = context_of_stack(w, a->function);
		if (a->context == 0)
			return NULL;
	}
	uint64_t shown = a->context;
	if (own_stack) {
		if (single_count == SINGLE)
			return NULL;
		shown = CONTEXTS + single_count++;
		a->of_one = 1;
	}
	active = t;
	if (begun_count < MCCHK_ENTRIES)
		begun[begun_count] = (uint16_t)entry;
	begun_count++;
	mcchk_entries[entry] = a->frame + (shown << MCCHK_ADDRESS_BITS);
	return a;
}

struct mcchk_activation *mcchk_activation_checked(struct mcchk_thread *t, uintptr_t pc, void **frame)
{
	struct mcchk_activation *a = mcchk_activation_known(frame);

	if (a && a->function == mcchk_function_at(pc) && (a->begins != 0 || lasts(t, a)))
		return a;
	mcchk_entries[MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1])] = 0;
	a = mcchk_activation(t, pc, frame, 0);
	if (a)
		a->silent = 1;
	return a;
}

/* Nobody has a map or a set. */
void mcchk_forget_activations(void)
{
	if (begun_count > MCCHK_ENTRIES)
		memset(mcchk_entries, 0, sizeof mcchk_entries);
	else
		for (uint32_t i = 0; i < begun_count; i++)
			mcchk_entries[begun[i]] = 0;
	begun_count = 0;
	single_count = 0;
	if (context_count < CONTEXTS / 2)
		return;
	context_count = 0;
	memset(context_slots, 0, sizeof context_slots);
	memset(called, 0, sizeof called);
}

/* A function that has the place pc and may have maps or sets begins, and another call of it, or of another
 * function, that had some may be taken for this one. Where nothing can be changed, for this
 * is a signal handler or another thread, nobody sets anything any more. */
void mcchk_entered(uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	uint32_t entry = MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1]);
	struct mcchk_activation *a = &mcchk_activations[entry];

	if (!MCCHK_HAS_FRAME(mcchk_entries[entry], (uintptr_t)frame))
		return;
	if (self->thread != active || self->busy) {
		mcchk_touch_no_more(active);
		return;
	}
	if (a->caller != (uintptr_t)frame[1] || !lasts(active, a) || (a->begins != pc && a->function != mcchk_function_at(pc)))
		mcchk_entries[entry] = 0; /* that call is over */
	else
		a->begins = pc;
}
