/* Call stacks get identifiers, and their definitions are written. */
#include "mcchk.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 1024 /* of the table of stacks; doubled up to MAX_SLOTS */
#define MAX_SLOTS (1u << 16)

static uint32_t next_id;

static uint64_t hash(const uint64_t *words, uint32_t n)
{
	uint64_t h = n;
	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ words[i]) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

void mcchk_forget_stacks(struct mcchk_thread *t)
{
	if (t->stacks)
		memset(t->stacks, 0, t->stack_slots * sizeof *t->stacks);
	t->stack_count = 0;
	for (uint32_t i = 0; i < MCCHK_LAST_STACKS; i++)
		t->last_stacks[i].frames = 0;
}

static int make_room(struct mcchk_thread *t)
{
	if (t->stacks && t->stack_count < t->stack_slots / 2)
		return 1;
	if (t->stack_slots >= MAX_SLOTS) { /* begin again; definitions are repeated */
		mcchk_forget_stacks(t);
		return 1;
	}
	uint32_t slots = t->stacks ? t->stack_slots * 2 : FIRST_SLOTS;
	struct mcchk_stack_slot *table = mmap(NULL, slots * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return 0;
	for (uint32_t i = 0; i < t->stack_slots; i++) {
		if (t->stacks[i].hash == 0)
			continue;
		uint32_t s = (uint32_t)t->stacks[i].hash & (slots - 1);
		while (table[s].hash != 0)
			s = (s + 1) & (slots - 1);
		table[s] = t->stacks[i];
	}
	if (t->stacks)
		munmap(t->stacks, t->stack_slots * sizeof *t->stacks);
	t->stacks = table;
	t->stack_slots = slots;
	return 1;
}

/* With the frame pointers, or without. */
static int write_stack(struct mcchk_thread *t, uint32_t id, const struct mcchk_walked *w, uint32_t pointers)
{
	struct record {
		uint8_t type, zero;
		uint16_t pointers;
		uint32_t length, id, frames;
		uint64_t words[];
	};
	uint64_t length = sizeof(struct record) + (w->frames + pointers) * sizeof(uint64_t);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return 0;
	*r = (struct record){.type = 4, .pointers = (uint16_t)pointers, .length = (uint32_t)length, .id = id, .frames = w->frames};
	memcpy(r->words, w->pcs, w->frames * sizeof(uint64_t));
	memcpy(r->words + w->frames, w->pointer, pointers * sizeof(uint64_t));
	mcchk_commit(t, length);
	return 1;
}

/* ---- the last stacks ---- */

/* The stack that began at that place, in that frame, if it is the same again; NULL. */
static struct mcchk_last_stack *again(struct mcchk_thread *t, uintptr_t pc, void **frame)
{
	struct mcchk_last_stack *l = &t->last_stacks[((pc ^ (uintptr_t)frame >> 4) * 0x9E3779B97F4A7C15ull >> 32) % MCCHK_LAST_STACKS];
	uint32_t n = l->frames;
	uintptr_t here = (uintptr_t)&n;

	if (n == 0 || l->pc != pc || l->above[0].frame != (uintptr_t)frame || here < t->stack_lo || here >= (uintptr_t)frame ||
	    l->above[n - 1].frame + 2 * sizeof(void *) > t->stack_hi || mcchk_self.once.inner)
		return NULL;
	for (uint32_t i = 0; i < n; i++) { /* each is where it was, or the one below it says something else */
		void **at = (void **)l->above[i].frame;
		if ((uintptr_t)at[1] != l->above[i].pc ||
		    (i + 1 < n ? (uintptr_t)at[0] != l->above[i + 1].frame : mcchk_may_be_frame(t, l->above[i].frame, (uintptr_t)at[0])))
			return NULL;
	}
	return l;
}

/* Remembers a stack that was walked up to where no frame can be. */
static struct mcchk_last_stack *remember(struct mcchk_thread *t, void **frame, const struct mcchk_walked *w)
{
	uint64_t top = w->pointers > 0 ? w->pointer[w->pointers - 1] : 0;
	struct mcchk_last_stack *l = &t->last_stacks[((w->pcs[0] ^ (uintptr_t)frame >> 4) * 0x9E3779B97F4A7C15ull >> 32) % MCCHK_LAST_STACKS];

	if (w->pointers == 0 || w->pointers + 1 != w->frames || w->pointers > MCCHK_LAST_DEPTH || mcchk_self.once.inner ||
	    mcchk_may_be_frame(t, top, w->end))
		return NULL;
	*l = (struct mcchk_last_stack){.pc = w->pcs[0], .frames = w->pointers};
	for (uint32_t i = 0; i < w->pointers; i++) {
		l->above[i].frame = w->pointer[i];
		l->above[i].pc = w->pcs[i + 1];
	}
	return l;
}

uint32_t mcchk_stack(struct mcchk_thread *t, uintptr_t pc, void **frame)
{
	struct mcchk_walked w;
	struct mcchk_last_stack *l = again(t, pc, frame);

	if (MCCHK_LIKELY(l && l->id != 0))
		return l->id;
	mcchk_walk(t, pc, frame, &w);
	uint32_t id = mcchk_stack_walked(t, &w);
	if (l || (l = remember(t, frame, &w)))
		l->id = id;
	return id;
}

/* Leaves recursion out, which would make as many stacks as there are ways to go down: of each
 * function its innermost frame remains, as in the call path (Path of ../../symbols). `of` is the
 * function of the first frame, or 0. Returns whether there was any. */
int mcchk_leave_recursion_out(const struct mcchk_walked *w, uintptr_t of, struct mcchk_walked *out)
{
	uint8_t table[4 * MCCHK_MAX_FRAMES] = {0}; /* of functions: their number in `out`, from 1 on */
	uintptr_t functions[MCCHK_MAX_FRAMES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->frames; i++) {
		uintptr_t function = i == 0 && of != 0 ? of : mcchk_function_at(w->pcs[i]);
		if (function == 0)
			function = w->pcs[i];
		uint32_t s = (uint32_t)((function * 0x9E3779B97F4A7C15ull) >> 32) % sizeof table;
		while (table[s] != 0 && functions[table[s] - 1] != function)
			s = (s + 1) % sizeof table;
		if (table[s] != 0)
			continue;
		functions[n] = function;
		out->pcs[n++] = w->pcs[i];
		table[s] = (uint8_t)n;
	}
	out->frames = n;
	out->pointers = 0;
	return n < w->frames;
}

/* Of a variable on the thread's own stack all frames are kept: in one of them it lies. */
uint32_t mcchk_access_stack_walked(struct mcchk_thread *t, uintptr_t addr, const struct mcchk_walked *w)
{
	struct mcchk_walked out;
	return (addr < t->stack_lo || addr >= t->stack_hi) && mcchk_leave_recursion_out(w, 0, &out) ? mcchk_stack_walked(t, &out) : mcchk_stack_walked(t, w);
}

uint32_t mcchk_access_stack(struct mcchk_thread *t, uintptr_t addr, uintptr_t pc, void **frame)
{
	struct mcchk_walked w;
	struct mcchk_last_stack *l = again(t, pc, frame);
	int own = addr >= t->stack_lo && addr < t->stack_hi;

	if (MCCHK_LIKELY(l && (own ? l->id : l->once) != 0))
		return own ? l->id : l->once;
	mcchk_walk(t, pc, frame, &w);
	uint32_t id = mcchk_access_stack_walked(t, addr, &w);
	if (l || (l = remember(t, frame, &w)))
		*(own ? &l->id : &l->once) = id;
	return id;
}

uint32_t mcchk_stack_walked(struct mcchk_thread *t, const struct mcchk_walked *w)
{
	uint64_t h = hash(w->pcs, w->frames), pointers = w->pointers > 0 ? hash(w->pointer, w->pointers) : 0;

	if (!make_room(t))
		return 0;
	uint32_t s = (uint32_t)h & (t->stack_slots - 1);
	for (; t->stacks[s].hash != 0; s = (s + 1) & (t->stack_slots - 1)) {
		struct mcchk_stack_slot *known = &t->stacks[s];
		if (known->hash != h)
			continue;
		if (MCCHK_LIKELY(known->pointers == pointers || known->pointers == 0))
			return (uint32_t)known->id;
		known->pointers = 0; /* frames of other sizes: from now on the stack has none */
		return write_stack(t, (uint32_t)known->id, w, 0) ? (uint32_t)known->id : 0;
	}
	uint32_t id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
	if (!write_stack(t, id, w, w->pointers))
		return 0;
	t->stacks[s] = (struct mcchk_stack_slot){.hash = h, .pointers = pointers, .id = id};
	t->stack_count++;
	return id;
}
