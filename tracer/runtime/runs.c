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
#include "calls.h"

static inline struct mcchk_start *start_slot(struct mcchk_thread *t, uint64_t key, uint64_t addr)
{
	uint64_t h = (addr ^ key * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
	return &t->starts[h >> 52 & (MCCHK_STARTS - 1)];
}

static void resume(struct mcchk_run *r, uint64_t key, uint64_t seq, struct mcchk_access *rec)
{
	uint64_t n = rec->count;
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

/* Writes a record whose stack is known. */
static struct mcchk_access *new_record_of(struct mcchk_thread *t, uint32_t stack, uintptr_t addr, uint32_t size, uint32_t flags,
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

/* Writes a record of one element, or of a contiguous range when stride is 1. */
static struct mcchk_access *new_record(struct mcchk_thread *t, uintptr_t addr, uintptr_t pc, void **frame,
				       uint32_t size, uint32_t flags, int64_t stride, uint64_t count)
{
	return new_record_of(t, mcchk_stack(t, pc, frame), addr, size, flags, stride, count);
}

static void begin(struct mcchk_thread *t, uint64_t key, struct mcchk_run *r, uintptr_t addr, uintptr_t pc, void **frame,
		  uint32_t size, uint32_t flags)
{
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	struct mcchk_start *s = start_slot(t, key, addr);
	if (s->key == key && s->seq == seq && s->rec->addr == addr) {
		resume(r, key, seq, s->rec);
		return;
	}
	uint64_t before = r->key == key && r->seq == seq && r->stride == 0 ? r->base : addr;
	struct mcchk_access *rec = new_record(t, addr, pc, frame, size, flags, 0, 1);
	if (!rec)
		return;
	resume(r, key, seq, rec);
	r->sweep = before;
	*s = (struct mcchk_start){.key = key, .seq = seq, .rec = rec};
}

/* What is remembered of the 64 elements among which one begins at addr. */
static inline struct mcchk_seen *seen_with(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size, struct mcchk_seen *want)
{
	unsigned shift = (unsigned)__builtin_ctz(size);
	uint64_t block = addr >> shift >> 6;

	*want = (struct mcchk_seen){.key = key, .seq = __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED),
				    .block = block | (uint64_t)t->strand << 41, .elements = 1ull << (addr >> shift & 63)};
	return &t->seen[(block + (key * 0x9E3779B97F4A7C15ull >> 32)) & (MCCHK_ELEMENTS - 1)];
}

static inline int same_block(const struct mcchk_seen *a, const struct mcchk_seen *b)
{
	return a->key == b->key && a->seq == b->seq && a->block == b->block;
}

/* Whether the strand has recorded an element, which is aligned, in this span. */
static inline int is_seen(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size)
{
	struct mcchk_seen want, *s = seen_with(t, key, addr, size, &want);
	return same_block(s, &want) && (s->elements & want.elements);
}

static void remember(struct mcchk_thread *t, uint64_t key, uintptr_t addr, uint32_t size)
{
	struct mcchk_seen want, *s = seen_with(t, key, addr, size, &want);
	if (addr & (size - 1))
		return;
	if (same_block(s, &want))
		s->elements |= want.elements;
	else
		*s = want;
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

/* Enters the part that writes, for an access of elements from addr on. One made by a
 * signal handler that interrupted it is counted as lost. */
static struct mcchk_thread *enter(struct mcchk_tls *self, uint64_t elements, uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags)
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
	} else if (t->touching_count != 0 && !t->touching_late && __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED)) {
		mcchk_write_touched_early(t); /* from before the other thread recorded */
	}
	return t;
}

static void leave(struct mcchk_tls *self)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

static void keyed_access(uint64_t key, uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = enter(self, 1, addr, pc, frame, flags);
	if (!t)
		return;
	struct mcchk_run *r = self->runs + ((pc + 31 * (flags & MCCHK_STORE)) & (MCCHK_RUNS - 1));
	if (r->key != key || r->seq != __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED) || !belongs(r, addr))
		begin(t, key, r, addr, pc, frame, size, flags);
	leave(self);
}

void mcchk_run_other(uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	int aligned = (addr & (size - 1)) == 0;

	if (aligned ? self->thread && is_seen(self->thread, pc, addr, size) : !mcchk_hot_granules(addr, size))
		return;
	struct mcchk_thread *t = enter(self, 1, addr, pc, frame, flags);
	if (!t)
		return;
	struct mcchk_run *r = self->runs + (pc & (MCCHK_RUNS - 1)); /* the thread may just have got its table */
	int goes_on = r->key == pc && r->seq == __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED);
	if (!goes_on || !belongs(r, addr)) {
		if (goes_on)
			remember_run(t, r, size);
		begin(t, pc, r, addr, pc, frame, size, flags);
	}
	leave(self);
}

/* Whether elements go on with the run or are among its own; counts them. */
static int takes(struct mcchk_run *r, const struct mcchk_elements *e)
{
	struct mcchk_access *rec = r->rec;
	int64_t offset = (int64_t)(e->start - r->base);

	if (r->stride == e->stride && e->start == r->next) { /* most often */
		__atomic_store_n(&rec->count, rec->count + e->count, __ATOMIC_RELEASE);
		r->next += e->count * (uint64_t)r->stride;
		return 1;
	}
	if (r->stride == e->stride && offset == 0 && e->count <= rec->count)
		return 1;
	if (r->stride == 0) { /* one element */
		if (offset != 0 && offset != e->stride)
			return 0;
		rec->stride = r->stride = e->stride;
	}
	int64_t span = (int64_t)rec->count * e->stride;
	if (r->stride != e->stride || (span > 0 ? offset < 0 || offset > span : offset > 0 || offset < span) || offset % e->stride != 0)
		return 0;
	int64_t k = offset / e->stride;
	if (k < 0 || (uint64_t)k > rec->count)
		return 0;
	if ((uint64_t)k + e->count > rec->count)
		__atomic_store_n(&rec->count, (uint64_t)k + e->count, __ATOMIC_RELEASE);
	r->next = r->base + rec->count * (uint64_t)r->stride;
	return 1;
}

/* Elements that do not go on with the run of their place: those of a run that began with
 * the same element, or of a new one. The stack is 0 until somebody asks for it. */
static void begin_elements(struct mcchk_thread *t, struct mcchk_run *r, const struct mcchk_elements *e, uint64_t seq, uintptr_t pc,
			   void **frame, uint32_t *stack)
{
	struct mcchk_start *s = start_slot(t, pc, e->start);
	if (s->key == pc && s->seq == seq && s->rec->addr == e->start) {
		resume(r, pc, seq, s->rec);
		if (takes(r, e))
			return;
	}
	if (*stack == 0)
		*stack = mcchk_stack(t, pc, frame);
	struct mcchk_access *rec = new_record_of(t, *stack, e->start, e->size, e->flags, e->stride, e->count);
	if (rec) {
		resume(r, pc, seq, rec);
		*s = (struct mcchk_start){.key = pc, .seq = seq, .rec = rec};
	}
}

/* Rows of elements that are known to matter, two or more each, `step` bytes apart. */
void mcchk_run_rows(const struct mcchk_elements *e, int64_t step, uint64_t rows, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = enter(self, rows * e->count, e->start, pc, frame, e->flags);
	if (!t)
		return;
	struct mcchk_run *r = self->runs + (pc & (MCCHK_RUNS - 1));
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	struct mcchk_elements row = *e;
	uint32_t stack = 0;
	for (; rows > 0; rows--, row.start += (uint64_t)step) {
		__builtin_prefetch(start_slot(t, pc, row.start + 4 * (uint64_t)step), 1);
		if (r->key != pc || r->seq != seq || !takes(r, &row))
			begin_elements(t, r, &row, seq, pc, frame, &stack);
	}
	leave(self);
}

void mcchk_run_elements(const struct mcchk_elements *e, uintptr_t pc, void **frame) { mcchk_run_rows(e, 0, 1, pc, frame); }

/* Elements of a loop in the course of which other threads made the calls after `seq`:
 * nothing says which of its elements come before which of them. */
void mcchk_elements_since(const struct mcchk_elements *e, uint64_t seq, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = enter(self, e->count, e->start, pc, frame, e->flags);
	if (!t)
		return;
	uint64_t last = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE), at = seq;
	int begun = 0;
	uint32_t stack = mcchk_stack(t, pc, frame);
	if (t->calls.chunk && at < t->calls.since) /* its chunk defines the stack */
		at = t->calls.since;
	do {
		struct mcchk_access *rec = mcchk_reserve_access_after(t, &at);
		if (!rec || (!begun && at > seq)) /* no room, or too late for the first of the calls */
			mcchk_lost(0, e->count);
		if (!rec)
			break;
		begun = 1;
		*rec = (struct mcchk_access){.type = 2, .flags = (uint8_t)e->flags, .size = (uint16_t)e->size, .stack = stack,
					     .addr = e->start, .stride = e->stride, .count = e->count};
		mcchk_commit_access(t);
	} while (at++ < last);
	leave(self);
}

/* A contiguous range of any length, already known to matter. */
static void long_range(uintptr_t addr, uint64_t size, uintptr_t pc, void **frame, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	uint64_t key = pc | 1ull << 63 | (uint64_t)(flags & MCCHK_STORE) << 62;
	struct mcchk_thread *t = enter(self, size, addr, pc, frame, flags);
	if (!t)
		return;
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	struct mcchk_start *s = start_slot(t, key, addr);
	if (s->key != key || s->seq != seq || s->rec->addr != addr) {
		struct mcchk_access *rec = new_record(t, addr, pc, frame, 1, flags, 1, size);
		if (rec)
			*s = (struct mcchk_start){.key = key, .seq = seq, .rec = rec};
	} else if (s->rec->count < size) {
		__atomic_store_n(&s->rec->count, size, __ATOMIC_RELEASE);
	}
	leave(self);
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
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the other thread has a barrier for both (become_several in writer.c) */
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		__atomic_store_n(&site->owner, 0, __ATOMIC_RELAXED);
}
