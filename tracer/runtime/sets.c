/* Places in functions that are called very often, each time for a few elements that go on
 * with nothing: the nodes of a tree, the halves of what is sorted or transformed.
 *
 * Of such a place only the set of its elements counts within a span, for each context of
 * calls. So one that has begun many records in a span begins no more: the slow path puts
 * elements in a set of the run-time's own, where there is no map for them yet (touches.c).
 * Before the span ends sets become records, as maps do, and under the same conditions.
 *
 * Threads that record beside one another have no maps, but each has sets of its own. Those go
 * on until the thread itself makes a call, whatever others do: nothing that others do in between
 * comes before or after what the thread does. They do not tell contexts apart, as runs do not.
 * A thread of which nobody knows what orders it has none: it may never make a call.
 */
#include "dense.h"
#include "sets.h"

#include <string.h>
#include <sys/mman.h>

#define SETS 2048u /* a power of two; half of them are used */
#define BLOCKS (1u << 15)
#define SLOTS (2 * BLOCKS)
#define FIRST_SLOTS 1024u /* of them, doubled where blocks fill half of them */

/* What a thread has. */
struct mcchk_sets {
	struct mcchk_set all[SETS];
	uint16_t used[SETS / 2]; /* which of them have a key */
	uint32_t count;
	uint64_t seq; /* the call that they follow which are filled beside other threads */
	/* Of all sets: blocks of elements. */
	uint32_t block_count, slot_count;
	uint64_t keys[BLOCKS]; /* the set's number, and above which block */
	uint32_t order[BLOCKS];
	uint32_t slots[SLOTS]; /* 1 + the number of a block; 0: none */
	uint64_t words[BLOCKS][MCCHK_SET_WORDS];
};

static int are_several(void) { return __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED); }

static uint64_t mix(uint64_t a, uint64_t b) { return (a ^ b * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull; }

/* ---- from sets to records ---- */

/* Blocks before others: by set, and then as they lie in memory. */
static int before(const struct mcchk_sets *x, uint32_t i, uint32_t j)
{
	uint64_t a = x->keys[i], b = x->keys[j];
	return a % SETS != b % SETS ? a % SETS < b % SETS : a < b;
}

static void sink(struct mcchk_sets *x, uint32_t i, uint32_t n)
{
	uint32_t *order = x->order, moving = order[i];

	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && before(x, order[child], order[child + 1]))
			child++;
		if (!before(x, moving, order[child]))
			break;
		order[i] = order[child];
	}
	order[i] = moving;
}

/* Heapsort. */
static void sort_blocks(struct mcchk_sets *x)
{
	uint32_t n = x->block_count, sorted = 1;

	for (uint32_t i = 0; i < n; i++) {
		x->order[i] = i;
		sorted &= i == 0 || before(x, i - 1, i);
	}
	if (sorted)
		return;
	for (uint32_t i = n / 2; i-- > 0;)
		sink(x, i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t last = x->order[i];
		x->order[i] = x->order[0];
		x->order[0] = last;
		sink(x, 0, i);
	}
}

static int is_in(const uint64_t *words, uint64_t element) { return (int)(words[element / 64 % MCCHK_SET_WORDS] >> element % 64 & 1); }

/* Writes a block whose elements are many, but at no distances that are alike, as bits. Returns
 * whether it is one. */
static int write_dense(const struct mcchk_progress *p, const uint64_t *words, uint64_t element)
{
	struct mcchk_survey s = {.last = UINT64_MAX / 2};
	uint64_t bits[MCCHK_SET_WORDS] = {0}, n = 0;

	for (uint32_t i = 0; i < MCCHK_SET_WORDS; i++)
		for (uint64_t w = words[i]; w != 0; w &= w - 1)
			mcchk_survey_add(&s, element + 64 * i + (uint64_t)__builtin_ctzll(w));
	if (!mcchk_is_dense(&s))
		return 0;
	for (uint64_t i = s.first; i <= s.last; i += s.unit, n++)
		bits[n / 64] |= (uint64_t)is_in(words, i) << n % 64;
	mcchk_write_dense(p, &s, bits);
	return 1;
}

static void write_block(struct mcchk_progress *p, const uint64_t *words, uint64_t element)
{
	if (write_dense(p, words, element))
		return;
	for (uint32_t i = 0; i < MCCHK_SET_WORDS; i++, element += 64) {
		uint64_t w = words[i];
		if (w == UINT64_MAX && mcchk_progress_goes_on(p, element, 64))
			continue;
		for (; w != 0; w &= w - 1)
			mcchk_progress_add(p, element + (uint64_t)__builtin_ctzll(w));
	}
}

static void forget_blocks(struct mcchk_sets *x)
{
	memset(x->slots, 0, x->slot_count * sizeof *x->slots);
	x->slot_count = FIRST_SLOTS;
	x->block_count = 0;
	for (uint32_t i = 0; i < x->count; i++)
		x->all[x->used[i]].block = UINT64_MAX;
}

void mcchk_write_sets(struct mcchk_thread *t, uint64_t seq, int keep)
{
	struct mcchk_sets *x = t->sets;
	struct mcchk_progress p = {0};
	const struct mcchk_set *of = NULL;

	if (!x || x->block_count == 0)
		return;
	if (t->beside)
		seq = x->seq;
	sort_blocks(x);
	for (uint32_t i = 0; i < x->block_count; i++) {
		uint32_t b = x->order[i];
		const struct mcchk_set *s = &x->all[x->keys[b] % SETS];
		if (s != of) {
			mcchk_progress_end(&p);
			p = (struct mcchk_progress){.t = t, .seq = seq, .beside = (uint8_t)t->beside, .stack = s->stack, .size = s->size,
						.flags = s->flags, .shift = s->shift};
			of = s;
		}
		write_block(&p, x->words[b], x->keys[b] / SETS << MCCHK_SET_SHIFT);
	}
	mcchk_progress_end(&p);
	if (!keep)
		forget_blocks(x);
}

/* Which set a place has in a context, or where there is room for it. */
static struct mcchk_set *slot_for(struct mcchk_sets *x, uint64_t key, uint32_t context)
{
	uint32_t i = (uint32_t)(mix(key, context) >> 32) % SETS;

	while (x->all[i].key != 0 && (x->all[i].key != key || x->all[i].context != context))
		i = (i + 1) % SETS;
	return &x->all[i];
}

static void pour(uint64_t *words, uint64_t element, const struct mcchk_touching *g)
{
	uint64_t from = g->from >> g->shift, lo = g->lo >> g->shift;

	for (uint32_t i = 0; i < MCCHK_SET_WORDS; i++, element += 64)
		for (uint64_t w = words[i]; w != 0; w &= w - 1) {
			uint64_t e = element + (uint64_t)__builtin_ctzll(w);
			if (e - from >= g->count)
				continue;
			g->map[e - lo] = 1;
			words[i] &= ~(w & -w);
		}
}

void mcchk_pour_sets(struct mcchk_thread *t)
{
	static const struct mcchk_touching *into[SETS]; /* of the only thread that has maps */
	struct mcchk_sets *x = t->sets;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->touching_count && x && x->block_count > 0; i++) {
		const struct mcchk_touching *g = &t->touching[i];
		struct mcchk_set *s = g->map && g->n == 1 ? slot_for(x, g->members->pc, (uint32_t)(g->context >> MCCHK_ADDRESS_BITS)) : NULL;
		if (!s || s->key == 0)
			continue;
		into[s - x->all] = g;
		n++;
	}
	for (uint32_t i = 0; n > 0 && i < x->block_count; i++) {
		const struct mcchk_touching *g = into[x->keys[i] % SETS];
		if (g)
			pour(x->words[i], x->keys[i] / SETS << MCCHK_SET_SHIFT, g);
	}
	if (n > 0)
		memset(into, 0, sizeof into);
}

void mcchk_forget_sets(struct mcchk_thread *t)
{
	struct mcchk_sets *x = t->sets;

	for (uint32_t i = 0; x && i < x->count; i++)
		x->all[x->used[i]].key = 0;
	if (x)
		x->count = 0;
	__atomic_store_n(&t->beside, 0, __ATOMIC_RELEASE);
}

/* ---- sets ---- */

/* Where a block is noted, or is to be. */
static uint32_t slot_of(const struct mcchk_sets *x, uint64_t key)
{
	uint32_t s = (uint32_t)(mix(key, 0) >> 32) & (x->slot_count - 1);

	while (x->slots[s] != 0 && x->keys[x->slots[s] - 1] != key)
		s = (s + 1) & (x->slot_count - 1);
	return s;
}

static void begin_block(struct mcchk_thread *t, uint64_t key)
{
	struct mcchk_sets *x = t->sets;

	if (x->block_count == BLOCKS)
		mcchk_write_sets(t, t->touching_seq, 0);
	if (x->block_count == x->slot_count / 2) {
		memset(x->slots, 0, x->slot_count * sizeof *x->slots);
		x->slot_count *= 2;
		for (uint32_t i = 0; i < x->block_count; i++)
			x->slots[slot_of(x, x->keys[i])] = i + 1;
	}
	x->keys[x->block_count] = key;
	memset(x->words[x->block_count], 0, sizeof x->words[x->block_count]);
	uint32_t s = slot_of(x, key);
	x->slots[s] = ++x->block_count;
}

/* Has a set at hand what it has of a block. */
void mcchk_find_block(struct mcchk_thread *t, struct mcchk_set *of, uint64_t block)
{
	struct mcchk_sets *x = t->sets;
	uint64_t key = block * SETS | (uint64_t)(of - x->all);
	uint32_t s = slot_of(x, key);

	if (__builtin_expect(x->slots[s] == 0, 0)) {
		begin_block(t, key);
		s = slot_of(x, key);
	}
	of->block = block;
	of->words = x->words[x->slots[s] - 1];
}

static int have_sets(struct mcchk_thread *t)
{
	if (!t->sets) {
		struct mcchk_sets *x = mmap(NULL, sizeof *x, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (x == MAP_FAILED)
			return 0;
		madvise(x, sizeof *x, MADV_NOHUGEPAGE);
		madvise(x, sizeof *x, MADV_DONTDUMP);
		x->slot_count = FIRST_SLOTS;
		t->sets = x;
	}
	return 1;
}

/* The thread has sets, which it says: returns whether it could. */
static int has_some(struct mcchk_thread *t)
{
	if (!are_several())
		return mcchk_has_sets(t);
	if (!t->beside) {
		t->sets->seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
		__atomic_store_n(&t->beside, 1, __ATOMIC_RELEASE);
	}
	return 1;
}

/* The set of a place in a call of its function; NULL: there is none, and no room for one. */
static struct mcchk_set *set_of(struct mcchk_thread *t, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame,
				uint32_t context)
{
	if (!have_sets(t))
		return NULL;
	struct mcchk_sets *x = t->sets;
	struct mcchk_set *s = slot_for(x, key, context);

	if (MCCHK_LIKELY(s->key != 0))
		return s;
	if (x->count == SETS / 2 || !has_some(t))
		return NULL;
	x->used[x->count++] = (uint16_t)(s - x->all);
	*s = (struct mcchk_set){.key = key, .context = context, .stack = mcchk_access_stack(t, e->start, pc, frame), .block = UINT64_MAX,
			  .size = (uint16_t)e->size, .flags = (uint8_t)e->flags, .shift = (uint8_t)shift};
	return s;
}

#define BESIDE 0 /* the context of sets that are filled beside other threads; others are not 0 */

int mcchk_is_in_sets(struct mcchk_thread *t, uint64_t key) { return t->beside && slot_for(t->sets, key, BESIDE)->key != 0; }

/* The set for a call of a function; NULL: there is none. */
static struct mcchk_set *set_in(struct mcchk_thread *t, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame)
{
	if (are_several()) {
		if (t->unseen)
			return NULL;
		if (t->touching_count != 0 && !t->touching_late)
			mcchk_write_touched_early(t);
		return set_of(t, e, key, shift, pc, frame, BESIDE);
	}
	struct mcchk_activation *a = key == pc ? mcchk_activation(t, pc, frame, 0) : mcchk_activation_checked(t, pc, frame);
	return a ? set_of(t, e, key, shift, pc, frame, a->context) : NULL;
}

/* Puts elements in the set of the place with this run and that key. Returns whether it could. */
static int put(struct mcchk_run *r, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;

	if (!t || self->depth || self->busy || !mcchk_recording)
		return 0;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_live_records(t);
	r->set = set_in(t, e, key, shift, pc, frame);
	if (r->set) {
		mcchk_set_elements(t, r->set, e);
		r->scattered += r->scattered < MCCHK_SCATTERED_MOST;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	return r->set != NULL;
}

int mcchk_put(struct mcchk_run *r, const struct mcchk_elements *e, uintptr_t pc, void **frame)
{
	return put(r, e, pc, (uint32_t)__builtin_ctz(e->size), pc, frame);
}

int mcchk_range_put(struct mcchk_run *r, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame)
{
	return put(r, e, key, shift, pc, frame);
}
