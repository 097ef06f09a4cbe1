/* All that a loop announces behind it, at once.
 *
 * Where a function is called again and again, each time for a few elements of several arrays,
 * a call for each access costs more than the loop. Most such calls go on: a function that
 * halves what it is given goes through its arrays level by level, and though the levels take
 * turns, loops that go round equally often lie side by side. So the plug-ins ask for all accesses
 * of a loop in one call, which compares their addresses with those that are expected for
 * a loop that goes round so often, and counts one more row. What does not go on is announced
 * one by one.
 *
 * Rows are taken only where all memory that they lie in matters as a whole, or nothing in it does;
 * which that is, is looked up ahead. They become records where they end, or before the span
 * does, as maps do (touches.c), and under the same conditions.
 */
#include "bundles.h"

#include <string.h>
#include <sys/mman.h>

#define BUNDLES 512u
#define ROWS_AHEAD 64u
#define ROWS_MOST (1u << 20)
#define PAGES_AHEAD 4096u
#define COST_MOST 512 /* then it takes nothing in this span, and … */
#define RESTING 16    /* … in so many more */
#define WORTH 32      /* rows that are, as records */
#define OTHERS 64u    /* announcements in another context, before it takes those, each time twice as many, … */
#define CHANGES 9     /* … up to so many times */

static struct mcchk_bundle *active[BUNDLES]; /* in this span */
static uint32_t active_count;                /* atomic */
static uint32_t stacks[BUNDLES][MCCHK_BUNDLE_WORDS]; /* of them */
static struct mcchk_way (*pool)[MCCHK_WAYS];
static uint32_t pool_used;

struct mcchk_learning mcchk_learning;

static uint32_t *stacks_of(const struct mcchk_bundle *b)
{
	for (uint32_t i = 0; i < active_count; i++)
		if (active[i] == b)
			return stacks[i];
	return NULL;
}

/* ---- from rows to records ---- */

/* What an access did in the rows that a way has taken: rows of elements, or a single one where
 * they adjoin or overlap. */
static uint64_t rows_of(const struct mcchk_bundle *b, const struct mcchk_way *y, uint32_t i, struct mcchk_elements *e, int64_t *step)
{
	const struct mcchk_bundled *x = &b->all[i];
	uint64_t rows = y->rows - y->left;

	*step = (int64_t)y->step[i];
	*e = (struct mcchk_elements){.start = y->next[i] - rows * y->step[i], .size = x->size, .flags = x->flags, .count = y->passes + x->last,
				     .stride = x->stride_word ? (int64_t)y->next[x->stride_word] : x->stride};
	if (e->count == 0)
		return 0;
	if (e->stride == 0)
		e->count = 1;
	if (*step == 0)
		return 1;
	if (e->count == 1) {
		e->stride = *step;
		e->count = rows;
		return 1;
	}
	int64_t apart = *step % e->stride == 0 ? *step / e->stride : INT64_MAX;
	if (apart < 0 && (uint64_t)-apart <= e->count) {
		e->start += (rows - 1) * (uint64_t)*step;
		apart = -apart;
	}
	if (apart < 0 || (uint64_t)apart > e->count)
		return rows;
	e->count += (uint64_t)apart * (rows - 1);
	return 1;
}

static void write_all_rows(struct mcchk_thread *t, uint64_t seq, const struct mcchk_elements *e, int64_t step, uint64_t rows, uint32_t stack)
{
	struct mcchk_elements row = *e;
	for (uint64_t n; rows > 0; rows -= n, row.start += n * (uint64_t)step) {
		n = rows < MCCHK_IN_GRID ? rows : MCCHK_IN_GRID;
		mcchk_write_rows(t, seq, &row, step, (uint32_t)n, stack);
	}
}

/* The same where the process has got on: goes on with what the places have. */
static void tell_rows(const struct mcchk_bundle *b, struct mcchk_way *y, void **frame)
{
	for (uint32_t i = 0; i < b->accesses; i++) {
		struct mcchk_elements e;
		int64_t step;
		uint64_t rows = y->hot >> i & 1 ? rows_of(b, y, i, &e, &step) : 0;
		if (rows == 0)
			continue;
		if (rows == 1 && e.count == 1)
			mcchk_run_other(e.start, b->all[i].pc, frame, e.size, e.flags);
		else
			mcchk_run_rows(&e, rows == 1 ? 0 : step, rows, b->all[i].pc, frame);
	}
}

static void write_way(struct mcchk_thread *t, uint64_t seq, const struct mcchk_bundle *b, const struct mcchk_way *y, const uint32_t *of)
{
	for (uint32_t i = 0; i < b->accesses; i++) {
		struct mcchk_elements e;
		int64_t step;
		uint64_t rows = y->hot >> i & 1 ? rows_of(b, y, i, &e, &step) : 0;
		if (rows > 0)
			write_all_rows(t, seq, &e, step, rows, of[i]);
	}
}

static void write_bundle(struct mcchk_thread *t, uint64_t seq, struct mcchk_bundle *b, const uint32_t *of, int keep)
{
	for (uint32_t i = 0; i < MCCHK_WAYS; i++) {
		struct mcchk_way *y = &b->ways[i];
		if (y->rows > y->left)
			write_way(t, seq, b, y, of);
		if (!keep)
			y->rows = y->left = y->moment = 0;
	}
}

void mcchk_write_bundles(struct mcchk_thread *t, uint64_t seq, int keep)
{
	mcchk_rest_bundles();
	for (uint32_t i = 0; i < active_count; i++)
		write_bundle(t, seq, active[i], stacks[i], keep);
}

void mcchk_forget_bundles(void) { __atomic_store_n(&active_count, 0, __ATOMIC_RELEASE); }

void mcchk_rest_bundles(void)
{
	uint32_t n = __atomic_load_n(&active_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&active[i]->context, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- what goes on ---- */

static int is_same(const struct mcchk_bundle *b, const uint64_t *words, const uint64_t *expected)
{
	return memcmp(words, expected, b->words * sizeof *words) == 0;
}

static int64_t stride_of(const struct mcchk_bundled *x, const uint64_t *words)
{
	return x->stride_word ? (int64_t)words[x->stride_word] : x->stride;
}

/* Where an access of several rows lies, from the first to the last byte. Returns whether that
 * is somewhere. */
static int extent(const struct mcchk_bundled *x, const uint64_t *words, uint32_t i, uint64_t passes, uint64_t step, uint64_t rows, uintptr_t *lo,
		  uintptr_t *hi)
{
	uint64_t count = passes + x->last;
	int64_t along = (int64_t)(count - 1) * stride_of(x, words), down = (int64_t)((rows - 1) * step);

	*lo = words[i];
	*hi = *lo + x->size - 1;
	*(along < 0 ? lo : hi) += (uint64_t)along;
	*(down < 0 ? lo : hi) += (uint64_t)down;
	return count != 0;
}

/* Whether nothing matters that a loop did. */
static int is_cold(const struct mcchk_bundle *b, const uint64_t *words, uint64_t passes)
{
	for (uint32_t i = 0; i < b->accesses; i++) {
		uintptr_t lo, hi;
		if (!extent(&b->all[i], words, i, passes, 0, 1, &lo, &hi))
			continue;
		uint64_t pages = (hi >> MCCHK_PAGE_SHIFT) - (lo >> MCCHK_PAGE_SHIFT) + 1, eight;
		if (pages > 8)
			return 0;
		memcpy(&eight, MCCHK_SHADOW + (lo >> MCCHK_PAGE_SHIFT), sizeof eight);
		if (eight << (64 - 8 * pages) != 0)
			return 0;
	}
	return 1;
}

/* Looks up which accesses matter in rows from one on. Returns how many are alike in that. */
static uint64_t look_ahead(struct mcchk_thread *t, const struct mcchk_bundle *b, const struct mcchk_way *y, const uint64_t *words, uint64_t most,
			   uint32_t *hot)
{
	uint64_t rows = most;

	*hot = 0;
	for (uint32_t i = 0; i < b->accesses && rows > 1;) {
		uintptr_t lo, hi;
		int some = extent(&b->all[i], words, i, y->passes, y->step[i], rows, &lo, &hi);
		int matters = -1;
		if (!some)
			matters = 0;
		else if (lo <= hi && !(hi >> MCCHK_ADDRESS_BITS) && (hi - lo) >> MCCHK_PAGE_SHIFT <= PAGES_AHEAD)
			matters = mcchk_range_matters(lo, hi);
		if (matters < 0 || (matters > 0 && lo < t->stack_hi && hi >= t->stack_lo)) {
			rows /= 2;
			*hot = 0;
			i = 0;
			continue;
		}
		*hot |= (uint32_t)matters << i;
		i++;
	}
	return rows;
}

static int have_ways(struct mcchk_bundle *b)
{
	if (b->ways)
		return 1;
	if (!pool) {
		void *p = mmap(NULL, BUNDLES * sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return 0;
		madvise(p, BUNDLES * sizeof *pool, MADV_DONTDUMP);
		pool = p;
	}
	if (pool_used == BUNDLES)
		return 0;
	b->ways = pool[pool_used++];
	return 1;
}

/* The bundle takes what goes on in calls of a context. */
static int begin(struct mcchk_thread *t, struct mcchk_bundle *b, uint64_t context, uintptr_t pc)
{
	uint32_t *of = stacks_of(b);

	if (!have_ways(b))
		return 0;
	if (of) { /* nothing is left of another context */
		write_bundle(t, t->touching_seq, b, of, 0);
	} else {
		if (active_count == BUNDLES || !mcchk_has_sets(t))
			return 0;
		of = stacks[active_count];
		active[active_count] = b;
		__atomic_store_n(&active_count, active_count + 1, __ATOMIC_RELEASE);
	}
	of[0] = 0;
	if (b->pc != pc)
		b->known = 0;
	b->pc = pc;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&b->context, context, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the other thread has a barrier for both (become_several in recorders.c) */
	if (!__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		return 1;
	__atomic_store_n(&b->context, 0, __ATOMIC_RELAXED);
	return 0;
}

/* Has the bundle take what goes on in this call of its function. Returns whether it does. */
static int is_of(struct mcchk_thread *t, struct mcchk_bundle *b, uintptr_t pc, void **frame)
{
	const struct mcchk_activation *a = mcchk_activation(t, pc, frame, 0);
	if (!a || a->of_one)
		return 0;
	uint64_t context = mcchk_context_of(a);
	if (b->context == context && b->pc == pc)
		return 1;
	if (b->context != 0) {
		if (++b->others < OTHERS << b->changed)
			return 0;
		b->others = 0;
		b->changed += b->changed < CHANGES;
	}
	return begin(t, b, context, pc);
}

/* The stacks of its accesses. */
static int have_stacks(struct mcchk_thread *t, const struct mcchk_bundle *b, void **frame)
{
	uint32_t *of = stacks_of(b);

	for (uint32_t i = b->accesses; of[0] == 0 && i-- > 0;)
		if ((of[i] = mcchk_access_stack(t, 0, b->all[i].pc, frame)) == 0)
			return 0;
	return of[0] != 0;
}

/* The announcements that follow say where they are. */
static void learn(struct mcchk_bundle *b, const uint64_t *words, void **frame)
{
	mcchk_learning = (struct mcchk_learning){.bundle = b, .frame = frame};
	memcpy(mcchk_learning.words, words, b->accesses * sizeof *words);
}

void mcchk_learn(uint64_t start, uintptr_t pc, void **frame)
{
	struct mcchk_learning *l = &mcchk_learning;

	if (!mcchk_self.thread || l->frame != frame)
		return;
	if (l->words[l->known] != start) { /* a signal came in between */
		l->bundle = NULL;
		return;
	}
	l->bundle->all[l->known++].pc = pc;
	if (l->known < l->bundle->accesses)
		return;
	l->bundle->known = 1;
	l->bundle = NULL;
}

/* The way expects the next row at the distance of the last two. */
static void turn(struct mcchk_bundle *b, struct mcchk_way *y, const uint64_t *words)
{
	for (uint32_t i = 0; i < b->words; i++) {
		y->step[i] = i < b->accesses ? words[i] - (y->next[i] - y->step[i]) : 0;
		y->next[i] = words[i] + y->step[i];
	}
	b->cost++;
}

/* Nor is anything known of the way. */
static void begin_way(struct mcchk_bundle *b, struct mcchk_way *y, uint64_t passes, uint64_t moment, const uint64_t *words)
{
	y->passes = passes;
	y->moment = moment;
	memcpy(y->next, words, b->words * sizeof *words);
	memset(y->step, 0, b->words * sizeof *words);
	b->cost++;
}

/* Has a way take a row, where it expects that, and those that go on with it. */
static int look_on(struct mcchk_thread *t, struct mcchk_bundle *b, struct mcchk_way *y, const uint64_t *words, void **frame)
{
	uint64_t most = y->rows < ROWS_AHEAD ? ROWS_AHEAD : y->rows < ROWS_MOST ? y->rows : ROWS_MOST;
	uint32_t hot;

	if (!b->known) {
		learn(b, words, frame);
		return 0;
	}
	uint64_t rows = have_stacks(t, b, frame) ? look_ahead(t, b, y, words, most, &hot) : 0;
	if (rows < 2 || (y->rows > 0 && hot != y->hot))
		return 0;
	y->hot = hot;
	y->rows += rows;
	y->left = rows;
	return 1;
}

/* Whether a loop goes on with its way. */
static uint64_t take(struct mcchk_thread *t, struct mcchk_bundle *b, struct mcchk_way *y, const uint64_t *words, void **frame)
{
	if (!is_same(b, words, y->next) || (y->left == 0 && !look_on(t, b, y, words, frame)))
		return 0;
	mcchk_way_goes_on(b, y);
	return 1;
}

/* What a way has taken goes on with nothing. */
static void end(struct mcchk_bundle *b, struct mcchk_way *y, void **frame)
{
	uint64_t rows = y->rows - y->left;

	if (rows < WORTH)
		b->cost += WORTH - (int32_t)rows;
	else
		b->cost -= b->cost > WORTH ? WORTH : b->cost;
	tell_rows(b, y, frame);
	y->rows = y->left = 0;
}

/* It takes nothing for some time. */
static void rest(struct mcchk_thread *t, struct mcchk_bundle *b)
{
	uint32_t *of = stacks_of(b);

	if (of)
		write_bundle(t, t->touching_seq, b, of, 0);
	__atomic_store_n(&b->context, 0, __ATOMIC_RELAXED);
	b->resting = RESTING;
}

/* An announcement that does not go on with what came before. Returns whether there is nothing
 * to be announced one by one. */
uint64_t mcchk_bundle_other(struct mcchk_bundle *b, uint64_t passes, uint64_t moment, const uint64_t *words, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;
	struct mcchk_way *y = NULL;
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED), takes = 0;

	if (__atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) != moment)
		return 0;
	if (is_cold(b, words, passes))
		return 1;
	if (!t || self->depth || self->busy || !mcchk_recording || __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		return 0;
	if (b->seq != seq) {
		b->seq = seq;
		b->cost = 0;
		b->others = b->changed = 0;
		b->resting -= b->resting > 0;
	}
	if (b->resting)
		return 0;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_live_records(t);
	if (b->cost > COST_MOST)
		rest(t, b);
	else if (is_of(t, b, pc, frame))
		y = mcchk_way_of(b, passes);
	else
		b->cost++;
	int known = y && y->passes == passes && y->moment == moment;
	if (known)
		takes = take(t, b, y, words, frame);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	if (!y || takes)
		return takes;
	if (y->rows > 0)
		end(b, y, frame);
	if (known)
		turn(b, y, words);
	else
		begin_way(b, y, passes, moment, words);
	return 0;
}
