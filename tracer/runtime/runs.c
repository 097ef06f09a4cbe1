/* Merging of loads and stores into runs.
 *
 * Each place in the program has a slot for its current run. An access that
 * continues the run counts up the record in the file (mcchk_run in mcchk.h);
 * one that meets an element the run has already says nothing new and only
 * moves a cursor. Anything else begins a run, or resumes an earlier one of the
 * same place and span that began at this address, so that a program that goes
 * over the same memory again and again writes each run once. Of a place that goes
 * from one address to any other, elements that no run came of are remembered as
 * long as the span lasts: a second access of one says nothing new.
 *
 * A span ends at every call that any thread of the process records, and with
 * the chunk of accesses: then no run goes on.
 */
#include "sets.h"

void mcchk_resume(struct mcchk_run *r, uint64_t key, uint64_t seq, struct mcchk_access *rec)
{
	uint64_t n = rec->count;
	if (r->place != key || r->seq != seq) {
		r->place = key;
		r->scattered = mcchk_is_in_sets(mcchk_self.thread, key) ? MCCHK_SCATTERED : 0;
		r->set = NULL;
	}
	r->key = key;
	r->seq = seq;
	r->rec = rec;
	r->base = rec->addr;
	r->stride = rec->stride;
	r->next = n > 1 ? rec->addr + n * (uint64_t)rec->stride : 0;
	r->sweep = rec->addr + (uint64_t)rec->stride;
	r->site = NULL;
	r->carried = 0;
}

void mcchk_begin_run(struct mcchk_run *r, uint64_t key, uint64_t seq, struct mcchk_access *rec)
{
	mcchk_resume(r, key, seq, rec);
	if (r->scattered < MCCHK_SCATTERED_MOST)
		r->scattered += MCCHK_SCATTERED / MCCHK_BEGUN;
}

/* Writes a record whose stack is known. */
struct mcchk_access *mcchk_write_access(struct mcchk_thread *t, uint32_t stack, uintptr_t addr, uint32_t size, uint32_t flags,
					int64_t stride, uint64_t count)
{
	struct mcchk_access *rec = mcchk_reserve_access(t);
	if (!rec) {
		mcchk_lost(0, count);
		return NULL;
	}
	*rec = (struct mcchk_access){.type = 2, .flags = (uint8_t)flags, .size = (uint16_t)size, .stack = stack,
				     .addr = addr, .stride = stride, .count = count};
	mcchk_commit_access(t);
	if (__atomic_load_n(&mcchk_watching, __ATOMIC_RELAXED))
		mcchk_watch_counts();
	return rec;
}

/* Enters the part that writes, for an access of elements from addr on. One made by a
 * signal handler that interrupted it is counted as lost. */
struct mcchk_thread *mcchk_enter_access(struct mcchk_tls *self, uint64_t elements, uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags)
{
	if (__builtin_expect(!mcchk_recording || self->depth, 0) && !mcchk_aside(addr, pc, frame, flags))
		return NULL;
	if (self->busy) {
		mcchk_lost(0, elements);
		return NULL;
	}
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct mcchk_thread *t = mcchk_thread_get();
	if (!t) {
		mcchk_lost(0, elements);
		self->busy = 0;
		return NULL;
	}
	mcchk_live_records(t);
	if (t->touching_count != 0 && !t->touching_late && __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		mcchk_write_touched_early(t); /* from before the other thread recorded */
	return t;
}

/* Beyond this distance, bytes, two elements are no run yet: addresses that have
 * nothing to do with one another, as in a hash table, would make runs that seem
 * to touch all between them. Three at equal distances are one, but for the first. */
#define NEAR 1024

/* Whether an element at that distance may be the second of a run of one. */
static int second(const struct mcchk_run *r, int64_t offset)
{
	return (offset <= NEAR && offset >= -NEAR) || offset == (int64_t)(r->base - r->sweep);
}

/* Whether the access is one of the run's, or its second; moves the cursor. */
static int belongs(struct mcchk_run *r, uintptr_t addr)
{
	struct mcchk_access *rec = r->rec;
	int64_t offset = (int64_t)(addr - r->base);

	if (addr == r->next && r->next != 0) {
		r->next = addr + (uint64_t)r->stride;
		__atomic_store_n(&rec->count, rec->count + 1, __ATOMIC_RELEASE);
		return 1;
	}
	if (addr == r->sweep) {
		r->sweep = addr + (uint64_t)r->stride;
		return 1;
	}
	if (r->stride == 0) { /* a second element: not yet another address */
		if (offset == 0)
			return 1;
		if (!second(r, offset))
			return 0;
		rec->stride = offset;
		__atomic_store_n(&rec->count, 2, __ATOMIC_RELEASE);
		r->stride = offset;
		r->next = addr + (uint64_t)offset;
		r->sweep = addr;
		return 1;
	}
	if (offset == 0) {
		r->sweep = r->base + (uint64_t)r->stride;
		return 1;
	}
	if (addr == r->next - (uint64_t)r->stride)
		return 1;
	int64_t k = offset / r->stride;
	if (k > 0 && (uint64_t)k < rec->count && k * r->stride == offset) {
		r->sweep = addr + (uint64_t)r->stride;
		return 1;
	}
	return 0;
}

/* Writes a record of one element, or of a contiguous range when stride is 1. */
static struct mcchk_access *new_record(struct mcchk_thread *t, uintptr_t addr, uintptr_t pc, void **frame,
				       uint32_t size, uint32_t flags, int64_t stride, uint64_t count)
{
	return mcchk_write_access(t, mcchk_access_stack(t, addr, pc, frame), addr, size, flags, stride, count);
}

static void begin(struct mcchk_thread *t, uint64_t key, struct mcchk_run *r, uintptr_t addr, uintptr_t pc, void **frame,
		  uint32_t size, uint32_t flags)
{
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	struct mcchk_start *s = mcchk_start_slot(t, key, addr);
	if (mcchk_started(s, key, seq, addr)) {
		mcchk_resume(r, key, seq, s->rec);
		return;
	}
	uint64_t before = r->key == key && r->seq == seq && r->stride == 0 ? r->base : addr;
	struct mcchk_access *rec = new_record(t, addr, pc, frame, size, flags, 0, 1);
	if (!rec)
		return;
	mcchk_begin_run(r, key, seq, rec);
	r->sweep = before;
	*s = (struct mcchk_start){.key = key, .seq = seq, .rec = rec};
}

/* What is remembered of the 64 elements among which one begins at addr, and what is asked; NULL if
 * nothing is. Two share their slots, of which one is free for it. */
static inline struct mcchk_seen *seen_with(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size, struct mcchk_seen *want,
					   struct mcchk_seen **room)
{
	unsigned shift = (unsigned)__builtin_ctz(size);
	uint64_t block = addr >> shift >> 6;

	*want = (struct mcchk_seen){.key = key, .told = __atomic_load_n(&mcchk_told, __ATOMIC_RELAXED),
				    .block = block | (uint64_t)t->strand << 41, .elements = 1ull << (addr >> shift & 63)};
	uint64_t h = (block ^ key * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
	size_t some = mcchk_atomic_valued ? MCCHK_ELEMENTS : MCCHK_ELEMENTS / 4; /* few, that the caches keep, where each span begins anew */
	struct mcchk_seen *x = &t->seen[h >> 40 & (some - 1)];
	struct mcchk_seen *y = &t->seen[(x - t->seen) ^ 1];
	*room = x->told != want->told ? x : y;
	for (struct mcchk_seen *s = x;; s = y) {
		if (s->key == want->key && s->told == want->told && s->block == want->block)
			return s;
		if (s == y)
			return NULL;
	}
}

/* Whether the strand has recorded an element, which is aligned, and told nobody since. */
static inline int is_seen(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size)
{
	struct mcchk_seen want, *room, *s = seen_with(t, key, addr, size, &want, &room);
	return s && (s->elements & want.elements);
}

static void remember(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size)
{
	struct mcchk_seen want, *room, *s = seen_with(t, key, addr, size, &want, &room);
	if (addr & (mcchk_unit(size) - 1))
		return;
	if (s)
		s->elements |= want.elements;
	else
		*room = want;
}

/* A place leaves a run: remembers its elements when they are no more than two. */
static void remember_run(struct mcchk_thread *t, const struct mcchk_run *r, uint32_t size)
{
	if (r->rec->count > 2)
		return;
	remember(t, r->key, r->base, size);
	if (r->rec->count == 2)
		remember(t, r->key, r->base + (uint64_t)r->stride, size);
}

static void keyed_access(uint64_t key, uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	size_t run = (pc + 31 * (flags & MCCHK_STORE) + 61 * size) & (MCCHK_RUNS - 1); /* copies of other lengths do not end it */
	if (!(flags & MCCHK_ATOMIC) && mcchk_range_takes(self->runs + run, key, addr, pc, frame, size, flags))
		return;
	struct mcchk_thread *t = mcchk_enter_access(self, 1, addr, pc, frame, flags);
	if (!t)
		return;
	struct mcchk_run *r = self->runs + run; /* the thread may just have got its table */
	int told = mcchk_atomic_valued && !(flags & MCCHK_ATOMIC) && (addr & (mcchk_unit(size) - 1)) == 0;
	if ((r->key != key || r->seq != __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED) || !belongs(r, addr)) &&
	    !(told && is_seen(t, key, addr, size))) {
		begin(t, key, r, addr, pc, frame, size, flags);
		if (told)
			remember(t, key, addr, size);
	}
	mcchk_leave_access(self);
}

static inline int is_aligned(uintptr_t addr, uint32_t size) { return (addr & (mcchk_unit(size) - 1)) == 0; }

static __attribute__((noinline)) void other_access(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	if (!is_aligned(addr, size) && !mcchk_hot_granules(addr, size))
		return;
	struct mcchk_thread *t = mcchk_enter_access(self, 1, addr, pc, frame, flags);
	if (!t)
		return;
	struct mcchk_run *r = self->runs + (pc & (MCCHK_RUNS - 1)); /* the thread may just have got its table */
	int goes_on = r->key == pc && r->seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED);
	if (!goes_on || !belongs(r, addr)) {
		if (goes_on)
			remember_run(t, r, size);
		begin(t, pc, r, addr, pc, frame, size, flags);
		if (mcchk_atomic_valued) /* loads that poll end its span, and tell nobody */
			remember(t, pc, addr, size);
	}
	mcchk_leave_access(self);
}

void mcchk_run_other(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	struct mcchk_thread *t = mcchk_self.thread;

	if (!t || !is_aligned(addr, size) || !is_seen(t, pc, addr, size))
		other_access(addr, pc, frame, size, flags);
}

/* A contiguous range of any length, already known to matter. */
static void long_range(uintptr_t addr, uint64_t size, uintptr_t pc, void **frame, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	uint64_t key = pc | 1ull << 63 | (uint64_t)(flags & MCCHK_STORE) << 62;
	struct mcchk_thread *t = mcchk_enter_access(self, size, addr, pc, frame, flags);
	if (!t)
		return;
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	struct mcchk_start *s = mcchk_start_slot(t, key, addr);
	if (!mcchk_started(s, key, seq, addr)) {
		struct mcchk_access *rec = new_record(t, addr, pc, frame, 1, flags, 1, size);
		if (rec)
			*s = (struct mcchk_start){.key = key, .seq = seq, .rec = rec};
	} else if (s->rec->count < size) {
		__atomic_store_n(&s->rec->count, size, __ATOMIC_RELEASE);
	}
	mcchk_leave_access(self);
}

void mcchk_range_access(uintptr_t addr, uint64_t size, uintptr_t pc, void **frame, uint32_t flags)
{
	if (MCCHK_LIKELY(!mcchk_hot(addr, size)))
		return;
	if (size > UINT16_MAX)
		long_range(addr, size, pc, frame, flags);
	else
		keyed_access(pc | size << 47 | (uint64_t)(flags & MCCHK_STORE) << 63, addr, pc, frame, (uint32_t)size, flags);
}

/* An access did not go on with the run: the program's code carries it on no more. */
void mcchk_rest(struct mcchk_site *site, uintptr_t pc)
{
	struct mcchk_run *r = mcchk_self.runs + (pc & (MCCHK_RUNS - 1));

	if (r->key != pc) /* the thread does not record */
		return;
	r->site = NULL;
	r->carried = 0;
	if (__atomic_load_n(&site->owner, __ATOMIC_RELAXED) == mcchk_thread_pointer())
		site->next = UINT64_MAX;
}

/* Lets the program's code carry on the run that its place now has. */
void mcchk_arm(struct mcchk_site *site, uintptr_t pc)
{
	static uint64_t repeated; /* counts accesses of one address over and over, for nobody */
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;
	struct mcchk_run *r = self->runs + (pc & (MCCHK_RUNS - 1));

	if (!t || self->depth || self->busy || __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED) || r->key != pc ||
	    r->seq != __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED))
		return;
	r->carried = 0;
	if (__atomic_load_n(&site->owner, __ATOMIC_RELAXED) == 0) {
		uint32_t n = t->armed_count;
		if (n == MCCHK_SITES)
			return;
		t->armed[n] = site;
		__atomic_store_n(&t->armed_count, n + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&site->owner, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	site->next = r->stride ? r->next : r->base;
	site->stride = r->stride;
	site->counter = r->stride ? &r->rec->count : &repeated;
	r->site = site;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&site->owner, mcchk_thread_pointer(), __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the other thread has a barrier for both (become_several in recorders.c) */
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		__atomic_store_n(&site->owner, 0, __ATOMIC_RELAXED);
}
