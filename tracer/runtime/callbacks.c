/* The call-backs of -fsanitize=thread, as gcc and clang call them: loads,
 * stores and ranges. Each is the test of one shadow byte; the rest is
 * elsewhere. Compiled by clang this file also has the slow functions that the
 * inlined test (inline.c) calls.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer") /* none for a function that only tests and jumps */
#endif
#include "bundles.h"
#include "sets.h"

uint32_t mcchk_units;
uint32_t mcchk_inlined_units;

#define CALLER ((uintptr_t)__builtin_return_address(0))

#if defined(__GNUC__) && !defined(__clang__)
#define WITH_FRAME __attribute__((noinline, optimize("no-omit-frame-pointer")))
#else
#define WITH_FRAME __attribute__((noinline))
#endif

/* What a place costs counts as long as it may have a map for it. */
static __attribute__((noinline)) void member_alone(uintptr_t addr, struct mcchk_member *m, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	m->pc = pc;
	m->cost = MCCHK_MISS_GOES_ON;
	if (mcchk_run_continues(addr, pc))
		return;
	m->cost = MCCHK_MISS_IN_SET;
	if (!mcchk_takes_one(addr, pc, frame, size, flags)) {
		mcchk_run_other(addr, pc, frame, size, flags);
		m->cost = MCCHK_MISS;
	}
}

/* An access of a loop that had read its map, whether it matters or not. Threads that record
 * beside one another write nothing that they share. */
static inline __attribute__((always_inline)) void member(uintptr_t addr, struct mcchk_member *m, uintptr_t pc, void **frame, uint32_t size,
							  uint32_t flags)
{
	uint8_t page = MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT];

	if (page == 0 || !MCCHK_PART(addr, size, page))
		return;
	if (!__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		member_alone(addr, m, pc, frame, size, flags);
	else if (!mcchk_run_continues(addr, pc) && !mcchk_takes_one(addr, pc, frame, size, flags))
		mcchk_run_other(addr, pc, frame, size, flags);
}

/* An access of code that tells of it wherever its page matters: inlined tests would be too
 * many. */
static inline __attribute__((always_inline)) void page_access(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	uint8_t page = MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT];
	if (page != 0 && MCCHK_PART(addr, size, page) && !mcchk_run_continues(addr, pc) && !mcchk_takes_one(addr, pc, frame, size, flags))
		mcchk_run_other(addr, pc, frame, size, flags);
}

#define ACCESS(kind, bytes, flags)                                                                 \
	/* Also called by code that has the test inlined by a plug-in (../plugin). */              \
	WITH_FRAME void mcchk_miss_##kind##bytes(uintptr_t addr)                                   \
	{                                                                                          \
		if (!mcchk_run_continues(addr, CALLER))                                            \
			mcchk_run_other(addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags);           \
	}                                                                                          \
	WITH_FRAME void mcchk_miss_page_##kind##bytes(uintptr_t addr)                              \
	{                                                                                          \
		page_access(addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags);                       \
	}                                                                                          \
	WITH_FRAME void mcchk_miss_touch_##kind##bytes(uintptr_t addr, struct mcchk_touch *touch)  \
	{                                                                                          \
		if (mcchk_run_continues(addr, CALLER)) {                                           \
			mcchk_touch_missed(touch, addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags, MCCHK_MISS_GOES_ON); \
			return;                                                                    \
		}                                                                                  \
		if (mcchk_other_map_takes(touch, addr, __builtin_ctz(bytes), MCCHK_CALLER_FRAME)) { \
			mcchk_touch_elsewhere(touch, addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags); \
			return;                                                                    \
		}                                                                                  \
		int32_t cost = MCCHK_MISS_IN_SET;                                                  \
		if (!mcchk_takes_one(addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags)) {            \
			mcchk_run_other(addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags);           \
			cost = MCCHK_MISS;                                                         \
		}                                                                                  \
		mcchk_touch_missed(touch, addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags, cost);   \
	}                                                                                          \
	WITH_FRAME void mcchk_miss_member_##kind##bytes(uintptr_t addr, struct mcchk_member *m)    \
	{                                                                                          \
		member(addr, m, CALLER, MCCHK_CALLER_FRAME, bytes, flags);                         \
	}                                                                                          \
	void __tsan_##kind##bytes(void *p)                                                         \
	{                                                                                          \
		uintptr_t addr = (uintptr_t)p;                                                     \
		uint8_t page = MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT];                             \
		if (__builtin_expect(page != 0, 0) && MCCHK_PART(addr, bytes, page))               \
			mcchk_miss_##kind##bytes(addr);                                            \
	}
#define ALIAS(name, of) extern __typeof(of) name __attribute__((alias(#of)));
#define WITH_PC(kind, bytes, flags)                                                                \
	WITH_FRAME void __tsan_##kind##bytes##_pc(void *p, void *pc)                               \
	{                                                                                          \
		uintptr_t addr = (uintptr_t)p;                                                     \
		uint8_t page = MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT];                             \
		if (__builtin_expect(page != 0, 0) && MCCHK_PART(addr, bytes, page))               \
			mcchk_run_other(addr, (uintptr_t)pc, MCCHK_CALLER_FRAME, bytes, flags);  \
	}

#define ALL_SIZES(kind, flags)                                                                     \
	ACCESS(kind, 1, flags)                                                                     \
	ACCESS(kind, 2, flags)                                                                     \
	ACCESS(kind, 4, flags)                                                                     \
	ACCESS(kind, 8, flags)                                                                     \
	ACCESS(kind, 16, flags)                                                                    \
	WITH_PC(kind, 1, flags)                                                                    \
	WITH_PC(kind, 2, flags)                                                                    \
	WITH_PC(kind, 4, flags)                                                                    \
	WITH_PC(kind, 8, flags)                                                                    \
	WITH_PC(kind, 16, flags)                                                                   \
	ALIAS(__tsan_unaligned_##kind##1, __tsan_##kind##1)                                        \
	ALIAS(__tsan_unaligned_##kind##2, __tsan_##kind##2)                                        \
	ALIAS(__tsan_unaligned_##kind##4, __tsan_##kind##4)                                        \
	ALIAS(__tsan_unaligned_##kind##8, __tsan_##kind##8)                                        \
	ALIAS(__tsan_unaligned_##kind##16, __tsan_##kind##16)                                      \
	ALIAS(__tsan_volatile_##kind##1, __tsan_##kind##1)                                         \
	ALIAS(__tsan_volatile_##kind##2, __tsan_##kind##2)                                         \
	ALIAS(__tsan_volatile_##kind##4, __tsan_##kind##4)                                         \
	ALIAS(__tsan_volatile_##kind##8, __tsan_##kind##8)                                         \
	ALIAS(__tsan_volatile_##kind##16, __tsan_##kind##16)                                       \
	ALIAS(__tsan_unaligned_volatile_##kind##1, __tsan_##kind##1)                               \
	ALIAS(__tsan_unaligned_volatile_##kind##2, __tsan_##kind##2)                               \
	ALIAS(__tsan_unaligned_volatile_##kind##4, __tsan_##kind##4)                               \
	ALIAS(__tsan_unaligned_volatile_##kind##8, __tsan_##kind##8)                               \
	ALIAS(__tsan_unaligned_volatile_##kind##16, __tsan_##kind##16)

ALL_SIZES(read, 0)
ALL_SIZES(write, MCCHK_STORE)

/* clang's compound access: a load and a store of one place. */
#define READ_WRITE(bytes)                                                                          \
	ALIAS(__tsan_read_write##bytes, __tsan_write##bytes)                                       \
	ALIAS(__tsan_unaligned_read_write##bytes, __tsan_read_write##bytes)
READ_WRITE(1)
READ_WRITE(2)
READ_WRITE(4)
READ_WRITE(8)
READ_WRITE(16)

/* An access of a size that no other call-back has, always the same at one place. */
static __attribute__((noinline)) void range(uintptr_t addr, uint64_t size, uintptr_t pc, void **frame, uint32_t flags)
{
	if (size > UINT16_MAX)
		mcchk_range_access(addr, size, pc, frame, flags);
	else if (mcchk_hot(addr, size) && !mcchk_run_continues(addr, pc) && !mcchk_takes_one(addr, pc, frame, (uint32_t)size, flags))
		mcchk_run_other(addr, pc, frame, (uint32_t)size, flags);
}

WITH_FRAME void mcchk_miss_read_range(uintptr_t addr, uint64_t size)
{
	range(addr, size, CALLER, MCCHK_CALLER_FRAME, 0);
}

WITH_FRAME void mcchk_miss_write_range(uintptr_t addr, uint64_t size)
{
	range(addr, size, CALLER, MCCHK_CALLER_FRAME, MCCHK_STORE);
}

void __tsan_read_range(void *p, unsigned long size)
{
	if (!mcchk_range_is_cold((uintptr_t)p, size))
		mcchk_miss_read_range((uintptr_t)p, size);
}

void __tsan_write_range(void *p, unsigned long size)
{
	if (!mcchk_range_is_cold((uintptr_t)p, size))
		mcchk_miss_write_range((uintptr_t)p, size);
}

WITH_FRAME void __tsan_read_range_pc(void *p, unsigned long size, void *pc)
{
	mcchk_range_access((uintptr_t)p, size, (uintptr_t)pc, MCCHK_CALLER_FRAME, 0);
}

WITH_FRAME void __tsan_write_range_pc(void *p, unsigned long size, void *pc)
{
	mcchk_range_access((uintptr_t)p, size, (uintptr_t)pc, MCCHK_CALLER_FRAME, MCCHK_STORE);
}

/* C++: a constructor sets, a virtual call reads, the pointer to the table. */
void __tsan_vptr_update(void **p, void *value)
{
	(void)value;
	__tsan_write8(p);
}
ALIAS(__tsan_vptr_read, __tsan_read8)

void __tsan_init(void) { __atomic_add_fetch(&mcchk_units, 1, __ATOMIC_RELAXED); }

/* What inline.c makes of __tsan_init. */
void mcchk_inlined_unit(void)
{
	__atomic_add_fetch(&mcchk_units, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&mcchk_inlined_units, 1, __ATOMIC_RELAXED);
}

void __tsan_func_entry(void *caller) { (void)caller; }

/* The frame pointer is still that of the function that returns where this one
 * has none of its own. */
#if defined(__x86_64__) && !defined(__clang__)
#define RETURNING_FRAME ({ uintptr_t _f; __asm__("movq %%rbp, %0" : "=r"(_f)); _f; })
#else
#define RETURNING_FRAME ((uintptr_t)MCCHK_CALLER_FRAME)
#endif

static MCCHK_COLD void slow_exit(uintptr_t frame, uintptr_t pc) { mcchk_function_returns(frame, pc); }

void __tsan_func_exit(void)
{
	uintptr_t frame = RETURNING_FRAME;
	if (__builtin_expect(mcchk_stack_low < frame, 0))
		slow_exit(frame, CALLER);
}

void __tsan_ignore_thread_begin(void) { }
void __tsan_ignore_thread_end(void) { }

/* The same for code that has the test inlined by a plug-in. */
WITH_FRAME void mcchk_miss_exit(uintptr_t frame) { slow_exit(frame, CALLER); }

/* A call begins that may be taken for one that has maps. */
WITH_FRAME void mcchk_miss_entry(void) { mcchk_entered(CALLER, MCCHK_CALLER_FRAME); }

/* Whether a run is that of its place in this span, of elements at that distance. */
static inline __attribute__((always_inline)) int is_run_of(const struct mcchk_run *r, int64_t stride, uintptr_t pc)
{
	return r->key == pc && r->seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED) && r->stride == stride;
}

/* Whether elements at the distance of a run are among its own. */
static inline __attribute__((always_inline)) int loop_is_among(struct mcchk_run *r, uintptr_t start, int64_t stride, uint64_t count)
{
	const struct mcchk_access *rec = r->rec;
	uint64_t offset = start - r->base;
	if (stride <= 0 || (stride & (stride - 1)) != 0 || (offset & (uint64_t)(stride - 1)) != 0 || start < r->base)
		return 0;
	if ((offset >> __builtin_ctzll((uint64_t)stride)) + count > rec->count)
		return 0;
	r->scattered -= r->scattered > 0;
	return 1;
}

/* Whether two or more elements in memory that matters go on with the run of their place, or
 * are among its own: as mcchk_run_elements, for what is most frequent. */
static inline __attribute__((always_inline)) int loop_goes_on(uintptr_t start, int64_t stride, uint64_t count, uintptr_t pc)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));
	if (!is_run_of(r, stride, pc))
		return 0;
	if (start == r->next) {
		r->next = start + count * (uint64_t)stride;
		__atomic_store_n(&r->rec->count, r->rec->count + count, __ATOMIC_RELEASE);
		r->scattered -= r->scattered > 0;
		return 1;
	}
	return loop_is_among(r, start, stride, count);
}

/* Whether they are the next row of a grid of their place, which is not the last of a plane:
 * the same again. */
static inline __attribute__((always_inline)) int row_goes_on(uintptr_t start, int64_t stride, uint64_t count, uintptr_t pc)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t || mcchk_self.busy)
		return 0;
	struct mcchk_rows *x = mcchk_rows_slot(t, pc, stride, count);
	if (!mcchk_rows_are(x, pc, __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED), stride, count))
		return 0;
	if (start != x->now.next && start == x->other.next)
		mcchk_rows_swap(x);
	struct mcchk_rows_on *on = &x->now;
	if (start != on->next || on->left < 2)
		return 0;
	mcchk_self.runs[pc & (MCCHK_RUNS - 1)].scattered -= mcchk_self.runs[pc & (MCCHK_RUNS - 1)].scattered > 0;
	on->left--;
	on->next = start + (uint64_t)on->grid->row_step;
	__atomic_store_n(&on->grid->rows, (uint16_t)(on->grid->rows + 1), __ATOMIC_RELEASE);
	return 1;
}

static __attribute__((noinline)) void loop_elements(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uint64_t moment,
						    uintptr_t pc, void **frame)
{
	struct mcchk_elements e = {.start = start, .stride = stride, .count = stride == 0 && count > 0 ? 1 : count,
				   .size = kind & UINT16_MAX, .flags = (uint32_t)(kind >> 16)};
	mcchk_loop_elements(&e, moment, pc, frame);
}

static __attribute__((noinline)) int set_takes(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uintptr_t pc, void **frame)
{
	const struct mcchk_elements e = {.start = start, .stride = stride, .count = count, .size = kind & UINT16_MAX, .flags = (uint32_t)(kind >> 16)};
	return count <= MCCHK_IN_SET && mcchk_takes(&e, pc, frame);
}

/* A set has what a loop did: the place is to have a map, or one that reaches further. */
static __attribute__((noinline)) void loop_missed(uintptr_t start, uintptr_t last, uint64_t kind, struct mcchk_touch *touch, uintptr_t pc, void **frame)
{
	uint32_t size = kind & UINT16_MAX;
	uintptr_t beyond = (start - touch->lo) / size < touch->count ? last : start;

	mcchk_touch_missed(touch, beyond, pc, frame, size, (uint32_t)(kind >> 16), MCCHK_MISS_IN_SET);
}

/* Whether the map of a loop takes what it did in one access, or a run has that already. */
static inline __attribute__((always_inline)) int loop_touches(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uint64_t moment,
							      const struct mcchk_touch *touch, uintptr_t pc, void **frame)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));
	uint32_t size = kind & UINT16_MAX, shift = (uint32_t)__builtin_ctz(size);
	uint64_t first = start - touch->lo, step = (uint64_t)(stride >> shift), last;

	if (!mcchk_touches_in(touch, frame) || count - 1 >= MCCHK_IN_SET || ((first | (uint64_t)stride) & (size - 1)) != 0 ||
	    __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) != moment)
		return 0;
	first >>= shift;
	last = first + (count - 1) * step;
	if (first >= touch->count || last >= touch->count)
		return 0;
	if (is_run_of(r, stride, pc) && loop_is_among(r, start, stride, count))
		return 1;
	r->scattered += r->place == pc && r->scattered < MCCHK_SCATTERED_MOST;
	for (uint8_t *map = touch->map + first; count > 0; count--, map += step)
		*map = 1;
	return 1;
}

/* Whether none of so many pages matters from one on, 8 at most. */
static inline __attribute__((always_inline)) int are_cold(const uint8_t *first, uint64_t pages)
{
	uint64_t eight;
	__builtin_memcpy(&eight, first, sizeof eight);
	return eight << (64 - 8 * pages) == 0;
}

/* Of a short loop the pages of its first and last byte are all that it has to do with. */
static inline __attribute__((always_inline)) void loop(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uint64_t moment,
						       struct mcchk_touch *touch, uintptr_t pc, void **frame)
{
	uintptr_t last = start + (count - 1) * (uint64_t)stride;
	uintptr_t lo = stride < 0 ? last : start, hi = (stride < 0 ? start : last) + (kind & UINT16_MAX) - 1;
	uint64_t pages = (hi >> MCCHK_PAGE_SHIFT) - (lo >> MCCHK_PAGE_SHIFT) + 1;
	if (count > 0 && pages <= 8 && __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) == moment) {
		const uint8_t *shadow = MCCHK_SHADOW + (lo >> MCCHK_PAGE_SHIFT);
		if (are_cold(shadow, pages))
			return;
		if (pages <= 2 && shadow[0] == 1 && shadow[pages - 1] == 1 && (stride != 0 || count == 1)) {
			if (count == 1 ? mcchk_run_continues(start, pc) :
					 loop_goes_on(start, stride, count, pc) || row_goes_on(start, stride, count, pc))
				return;
			if (mcchk_self.runs[pc & (MCCHK_RUNS - 1)].scattered >= MCCHK_SCATTERED && set_takes(start, stride, count, kind, pc, frame)) {
				if (touch)
					loop_missed(start, last, kind, touch, pc, frame);
				return;
			}
			if (count == 1) {
				mcchk_run_other(start, pc, frame, kind & UINT16_MAX, (uint32_t)(kind >> 16));
				return;
			}
		}
	}
	loop_elements(start, stride, count, kind, moment, pc, frame);
}

/* What a loop did, when it is left: `count` accesses from `start` on, each `stride` bytes
 * from the last; it began at that moment (mcchk.h). `touch` is NULL where elements are not those
 * of a map. */
WITH_FRAME void mcchk_loop(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uint64_t moment, struct mcchk_touch *touch)
{
	if (__builtin_expect(mcchk_learning.bundle != NULL, 0))
		mcchk_learn(start, CALLER, MCCHK_CALLER_FRAME);
	if (touch && __atomic_load_n(&touch->context, __ATOMIC_RELAXED) != 0) {
		if (loop_touches(start, stride, count, kind, moment, touch, CALLER, MCCHK_CALLER_FRAME))
			return;
		if (touch->others && mcchk_touch_turns(touch, CALLER, MCCHK_CALLER_FRAME) &&
		    loop_touches(start, stride, count, kind, moment, touch, CALLER, MCCHK_CALLER_FRAME))
			return;
	}
	loop(start, stride, count, kind, moment, touch, CALLER, MCCHK_CALLER_FRAME);
}

/* A loop is about to read the map of a place, which has that of another context. */
WITH_FRAME void mcchk_maps_turn(struct mcchk_touch *touch) { mcchk_touch_turns(touch, CALLER, MCCHK_CALLER_FRAME); }

/* What a loop did in all of its accesses, when it is left that has gone round so often; behind
 * the arguments that are here come the words of the announcement (bundles.c). 0: each is to be
 * announced alone, at once. */
WITH_FRAME uint64_t mcchk_bundle(struct mcchk_bundle *b, uint64_t passes, uint64_t moment, uint64_t x, uint64_t y, uint64_t z)
{
	(void)x, (void)y, (void)z;
#ifdef __x86_64__
	const uint64_t *words = (const uint64_t *)__builtin_frame_address(0) + 2; /* arguments behind the first six lie side by side */
	return mcchk_bundle_goes_on(b, passes, moment, words, CALLER, MCCHK_CALLER_FRAME) ||
	       mcchk_bundle_other(b, passes, moment, words, CALLER, MCCHK_CALLER_FRAME);
#else
	(void)b, (void)passes, (void)moment;
	return 0;
#endif
}

/* Whether rows that begin `apart` elements from each other, of `first` to `last` elements each,
 * leave nothing out between them. */
static int are_joined(int64_t apart, uint64_t rows, int64_t first, int64_t last, int64_t growth)
{
	int64_t second = first + growth, last_but_one = last - growth;
	return rows == 1 || (apart <= (first < last_but_one ? first : last_but_one) && -apart <= (second < last ? second : last));
}

/* The last triangles of places, by these, whose rows were recorded one by one: the same again, as
 * that of a sum of squares, in the same span is nothing new. */
struct triangle {
	const struct mcchk_thread *by;
	uintptr_t pc, start;
	int64_t step, stride, count, growth;
	uint64_t rows, seq;
};
#define TRIANGLES 16u /* a power of two */
static __thread struct triangle triangles[TRIANGLES] __attribute__((tls_model("initial-exec")));

static int is_same_triangle(const struct triangle *a, const struct triangle *b)
{
	return a->start == b->start && a->by == b->by && a->pc == b->pc && a->seq == b->seq && a->rows == b->rows && a->step == b->step && a->stride == b->stride &&
	       a->count == b->count && a->growth == b->growth;
}

/* What mcchk_nest says where each row has `growth` elements more than the last. Rows that lie over
 * or behind each other are one. */
static __attribute__((noinline)) void triangle(uintptr_t start, int64_t step, uint64_t rows, int64_t stride, int64_t count, int64_t growth,
					       uint64_t kind, uint64_t moment, uintptr_t pc, void **frame)
{
	if (growth < 0) {
		uint64_t some = count > 0 ? (uint64_t)(count - 1) / -(uint64_t)growth + 1 : 0;
		rows = some < rows ? some : rows;
	} else if (count <= 0) {
		uint64_t none = -(uint64_t)count / (uint64_t)growth + 1;
		none = none < rows ? none : rows;
		rows -= none;
		start += none * (uint64_t)step;
		count += (int64_t)none * growth;
	}
	if (rows == 0)
		return;
	int64_t after = (int64_t)(rows - 1), last = count + after * growth;
	if (stride == 0) { /* an element a row */
		loop(start, step, rows, kind, moment, NULL, pc, frame);
		return;
	}
	if (step % stride == 0 && are_joined(step / stride, rows, count, last, growth)) {
		int64_t shift = after * (step / stride), lo = shift < 0 ? shift : 0, hi = shift + last > count ? shift + last : count;
		loop(start + (uint64_t)(lo * stride), stride, (uint64_t)(hi - lo), kind, moment, NULL, pc, frame);
		return;
	}
	if (mcchk_loop_is_cold(start, step, rows, stride, (uint64_t)(last > count ? last : count), kind & UINT16_MAX, moment))
		return;
	struct triangle now = {mcchk_self.thread, pc, start, step, stride, count, growth, rows, __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED)};
	struct triangle *before = &triangles[pc / 8 % TRIANGLES];
	int in_span = mcchk_self.thread && !mcchk_self.busy && !mcchk_self.depth && mcchk_recording &&
		      __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) == moment;
	if (in_span && is_same_triangle(before, &now))
		return;
	for (; rows > 0; rows--, start += (uint64_t)step, count += growth)
		loop(start, stride, (uint64_t)count, kind, moment, NULL, pc, frame);
	if (in_span && __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) == moment)
		*before = now;
}

/* What a loop in a loop did, when the outer one is left: `rows` times, beginnings `step`
 * bytes apart, what mcchk_loop says of the inner one. Each row has `growth` elements more than
 * the last, and none where that makes less than one. */
WITH_FRAME void mcchk_nest(uintptr_t start, int64_t step, uint64_t rows, int64_t stride, uint64_t count, int64_t growth, uint64_t kind, uint64_t moment)
{
	if (growth != 0) {
		triangle(start, step, rows, stride, (int64_t)count, growth, kind, moment, CALLER, MCCHK_CALLER_FRAME);
		return;
	}
	if (rows == 0 || (int64_t)count <= 0)
		return;
	if (count == 1 || stride == 0) { /* an element a row */
		stride = step;
		count = rows;
		rows = 1;
	} else if (step == 0) {
		rows = 1;
	} else if (step == stride * (int64_t)count) { /* rows that follow one another */
		count *= rows;
		rows = 1;
	}
	if (rows == 1) {
		loop(start, stride, count, kind, moment, NULL, CALLER, MCCHK_CALLER_FRAME);
		return;
	}
	struct mcchk_elements e = {.start = start, .stride = stride, .count = count, .size = kind & UINT16_MAX, .flags = (uint32_t)(kind >> 16)};
	if (!mcchk_loop_is_cold(start, step, rows, stride, count, e.size, moment))
		mcchk_loop_rows(&e, step, rows, moment, CALLER, MCCHK_CALLER_FRAME);
}

/* What a loop had read of a place says nothing of an element. */
WITH_FRAME void mcchk_miss_group(uintptr_t addr, struct mcchk_touch *touch, struct mcchk_member *members, uint64_t kind)
{
	mcchk_group_missed(addr, touch, members, kind, CALLER, MCCHK_CALLER_FRAME);
}

#ifdef __clang__
/* The slow functions of inline.c: called from the program's own code, which
 * keeps its registers. */
static __attribute__((preserve_most, noinline, cold)) void arm(struct mcchk_site *site, uintptr_t pc) { mcchk_arm(site, pc); }

/* The same for loops that had read their maps: the plug-in. */
__attribute__((preserve_most)) void mcchk_slow_group(uintptr_t addr, struct mcchk_touch *touch, struct mcchk_member *members, uint64_t kind)
{
	mcchk_group_missed(addr, touch, members, kind, CALLER, MCCHK_CALLER_FRAME);
}

#define INLINED(kind, bytes, flags)                                                                \
	static __attribute__((preserve_most, noinline, cold)) void                                 \
		slower_##kind##bytes(uintptr_t addr, struct mcchk_site *site, uintptr_t pc, void **frame) \
	{                                                                                          \
		if (site && mcchk_other_map_takes(&site->touch, addr, __builtin_ctz(bytes), frame)) { \
			mcchk_touch_elsewhere(&site->touch, addr, pc, frame, bytes, flags);        \
			return;                                                                    \
		}                                                                                  \
		int32_t cost = MCCHK_MISS_IN_SET;                                                  \
		if (!site || !mcchk_takes_one(addr, pc, frame, bytes, flags)) {                    \
			mcchk_run_other(addr, pc, frame, bytes, flags);                            \
			cost = MCCHK_MISS;                                                         \
		}                                                                                  \
		if (site) {                                                                        \
			mcchk_rest(site, pc);                                                      \
			mcchk_touch_missed(&site->touch, addr, pc, frame, bytes, flags, cost);     \
		}                                                                                  \
	}                                                                                          \
	__attribute__((preserve_most)) void mcchk_slow_member_##kind##bytes(uintptr_t addr, struct mcchk_member *m) \
	{                                                                                          \
		member(addr, m, CALLER, MCCHK_CALLER_FRAME, bytes, flags);                         \
	}                                                                                          \
	__attribute__((preserve_most)) void mcchk_slow_page_##kind##bytes(uintptr_t addr)          \
	{                                                                                          \
		page_access(addr, CALLER, MCCHK_CALLER_FRAME, bytes, flags);                       \
	}                                                                                          \
	__attribute__((preserve_most)) void mcchk_slow_##kind##bytes(uintptr_t addr, struct mcchk_site *site) \
	{                                                                                          \
		if (site)                                                                          \
			mcchk_catch_up(site, CALLER);                                              \
		if (!mcchk_run_continues(addr, CALLER))                                            \
			slower_##kind##bytes(addr, site, CALLER, MCCHK_CALLER_FRAME);              \
		else if (mcchk_is_long(site, CALLER))                                              \
			arm(site, CALLER);                                                         \
	}
#define INLINED_ALL(kind, flags)                                                                   \
	INLINED(kind, 1, flags)                                                                    \
	INLINED(kind, 2, flags)                                                                    \
	INLINED(kind, 4, flags)                                                                    \
	INLINED(kind, 8, flags)                                                                    \
	INLINED(kind, 16, flags)
INLINED_ALL(read, 0)
INLINED_ALL(write, MCCHK_STORE)

__attribute__((preserve_most)) void mcchk_slow_entry(void) { mcchk_entered(CALLER, MCCHK_CALLER_FRAME); }

__attribute__((preserve_most)) void mcchk_slow_exit(uintptr_t frame) { slow_exit(frame, CALLER); }
#endif
