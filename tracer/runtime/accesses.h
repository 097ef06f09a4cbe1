/* Loads and stores: their slow paths (runs.c, touches.c, elements.c), and what these and the
 * call-backs begin with. mcchk.h includes this. */
#ifndef MCCHK_ACCESSES_H
#define MCCHK_ACCESSES_H

#pragma GCC visibility push(hidden)

/* ---- runs.c: the slow path of loads and stores ---- */

void mcchk_run_other(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags);
void mcchk_range_access(uintptr_t addr, uint64_t size, uintptr_t pc, void **frame, uint32_t flags);
void mcchk_arm(struct mcchk_site *site, uintptr_t pc);
void mcchk_rest(struct mcchk_site *site, uintptr_t pc);

/* ---- touches.c: the slow path of places that go from one address to any other ---- */

/* What the slow path costs: little where a run goes on, which is a record already. */
enum { MCCHK_MISS_GOES_ON = 1, MCCHK_MISS_IN_SET = 16, MCCHK_MISS = 64 };
#define MCCHK_PATIENCE (16 * MCCHK_MISS) /* of the slow path, before a place has a map, or a larger one */
void mcchk_touch_missed(struct mcchk_touch *touch, uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags, int32_t cost);
void mcchk_group_missed(uintptr_t addr, struct mcchk_touch *touch, struct mcchk_member *members, uint64_t kind, uintptr_t pc, void **frame);
void mcchk_write_touched(struct mcchk_thread *t);
void mcchk_write_touched_early(struct mcchk_thread *t);
void mcchk_touch_no_more(struct mcchk_thread *t);
int mcchk_has_sets(struct mcchk_thread *t);

/* A place set an element in the map of another context than that whose map it has: it is to have the
 * other one, if that comes often. */
static inline __attribute__((always_inline)) void mcchk_touch_elsewhere(struct mcchk_touch *touch, uintptr_t addr, uintptr_t pc, void **frame,
									uint32_t size, uint32_t flags)
{
	touch->missed += MCCHK_MISS_GOES_ON;
	if (__builtin_expect(touch->missed >= MCCHK_PATIENCE << touch->changed, 0))
		mcchk_touch_missed(touch, addr, pc, frame, size, flags, 0);
}

int mcchk_touch_turns(struct mcchk_touch *touch, uintptr_t pc, void **frame);

/* ---- activations.c: calls of functions that have maps or sets ---- */

void mcchk_entered(uintptr_t pc, void **frame);

/* A word for each of so many groups of calls of functions, which are told apart by their frame
 * pointer and by where they return to: where one of them has maps or sets, its frame pointer, and
 * its context in the bits above. inline.c and the plug-ins do the same. */
#define MCCHK_ENTRIES 4096u
#define MCCHK_ENTRY(frame, caller) ((((frame) >> 4) + (caller)) & (MCCHK_ENTRIES - 1))
extern uint64_t mcchk_entries[MCCHK_ENTRIES] __attribute__((visibility("default")));

/* The context of a call that has that word; something else if it is another's. */
#define MCCHK_CONTEXT(word, frame) ((word) - (uint64_t)(frame))
/* Whether it is one with that frame pointer. */
#define MCCHK_HAS_FRAME(word, frame) (((word) ^ (uint64_t)(frame)) << (64 - MCCHK_ADDRESS_BITS) == 0)

/* Whether the place's map is that of the call with this frame. */
static inline __attribute__((always_inline)) int mcchk_touches_in(const struct mcchk_touch *touch, void **frame)
{
	uint64_t context = __atomic_load_n(&touch->context, __ATOMIC_RELAXED);
	uint64_t word = mcchk_entries[MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1])];
	return context != 0 && MCCHK_CONTEXT(word, (uintptr_t)frame) == context;
}

/* Elements at equal distances, made by a loop. */
struct mcchk_elements {
	uintptr_t start;
	int64_t stride;
	uint64_t count;
	uint32_t size, flags;
};
void mcchk_run_elements(const struct mcchk_elements *e, uintptr_t pc, void **frame);
void mcchk_run_rows(const struct mcchk_elements *e, int64_t step, uint64_t rows, uintptr_t pc, void **frame);
void mcchk_write_rows(struct mcchk_thread *t, uint64_t seq, const struct mcchk_elements *e, int64_t step, uint32_t rows, uint32_t stack);
int mcchk_range_matters(uintptr_t lo, uintptr_t hi);
void mcchk_loop_elements(struct mcchk_elements *e, uint64_t moment, uintptr_t pc, void **frame);
void mcchk_loop_rows(struct mcchk_elements *e, int64_t step, uint64_t rows, uint64_t moment, uintptr_t pc, void **frame);
int mcchk_loop_is_cold(uintptr_t start, int64_t step, uint64_t rows, int64_t stride, uint64_t count, uint32_t size, uint64_t moment);
void mcchk_elements_since(const struct mcchk_elements *e, uint64_t seq, uintptr_t pc, void **frame);

/* Whether nothing of a short range matters, as far as that is seen at once. */
static inline __attribute__((always_inline)) int mcchk_range_is_cold(uintptr_t addr, uint64_t size)
{
	uintptr_t last = addr + size - 1;
	return size - 1 < 1u << MCCHK_PAGE_SHIFT && ((addr | last) >> MCCHK_ADDRESS_BITS) == 0 &&
	       (MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT] | MCCHK_SHADOW[last >> MCCHK_PAGE_SHIFT]) == 0;
}

/* Elements of a size are numbered by that many bytes, if they begin at multiples of it. */
static inline uint32_t mcchk_unit(uint32_t size) { return size & -size; }

/* Whether an access of a page that matters goes on with the run of its place,
 * which then has it. Such an address is not looked up: what lies beside the
 * marked memory may be recorded with it, which says nothing wrong. */
static inline __attribute__((always_inline)) int mcchk_run_continues(uintptr_t addr, uintptr_t pc)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));

	if (MCCHK_LIKELY(r->key == pc && r->seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED))) {
		if (MCCHK_LIKELY(addr == r->next)) {
			struct mcchk_access *rec = r->rec;
			r->next = addr + (uint64_t)r->stride;
			__atomic_store_n(&rec->count, rec->count + 1, __ATOMIC_RELAXED);
			return 1;
		}
		if (addr == r->sweep) {
			r->sweep = addr + (uint64_t)r->stride;
			return 1;
		}
	}
	return 0;
}

/* Before a site's run is looked at: how far the program's code has carried it. */
static inline __attribute__((always_inline)) void mcchk_catch_up(struct mcchk_site *site, uintptr_t pc)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));
	if (r->site != site)
		return;
	if (r->stride != 0)
		r->next = site->next;
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		r->site = NULL; /* never armed again */
}

/* Behind an access that went on with the run of its place: whether the program's code
 * may carry it on. */
static inline __attribute__((always_inline)) int mcchk_is_long(const struct mcchk_site *site, uintptr_t pc)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));
	return site && ++r->carried >= MCCHK_SHORT;
}

#pragma GCC visibility pop
#endif
