/* Places in functions that are called very often, each time for a few elements that go on
 * with nothing: the nodes of a tree, the halves of what is sorted or transformed.
 *
 * Of such a place only the set of its elements counts within a span, for each context of
 * calls. So one that has begun many records in a span begins no more: the slow path puts
 * elements in a set of the run-time's own, where there is no map for them yet (touches.c).
 * Before the span ends sets become records, as maps do, and under the same conditions.
 */
#include "dense.h"
#include "sets.h"

#include <string.h>
#include <sys/mman.h>

#define SETS 2048u /* a power of two; half of them are used */
#define BLOCKS (1u << 15)
#define SLOTS (2 * BLOCKS)
#define FIRST_SLOTS 1024u /* of them, doubled where blocks fill half of them */

static struct mcchk_set sets[SETS];
static uint32_t set_count;

/* Of all sets: blocks of elements. */
static struct blocks {
	uint64_t words[BLOCKS][MCCHK_SET_WORDS];
	uint64_t keys[BLOCKS]; /* the set's number, and above which block */
	uint32_t order[BLOCKS];
	uint32_t slots[SLOTS]; /* 1 + the number of a block; 0: none */
} *blocks;
static uint32_t block_count, slots = FIRST_SLOTS;

static uint64_t mix(uint64_t a, uint64_t b) { return (a ^ b * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull; }

/* ---- from sets to records ---- */

/* Blocks before others: by set, and then as they lie in memory. */
static int before(uint32_t a, uint32_t b)
{
	uint64_t x = blocks->keys[a], y = blocks->keys[b];
	return x % SETS != y % SETS ? x % SETS < y % SETS : x < y;
}

static void sink(uint32_t i, uint32_t n)
{
	uint32_t *order = blocks->order, moving = order[i];

	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && before(order[child], order[child + 1]))
			child++;
		if (!before(moving, order[child]))
			break;
		order[i] = order[child];
	}
	order[i] = moving;
}

/* Heapsort. */
static void sort_blocks(void)
{
	uint32_t n = block_count, sorted = 1;

	for (uint32_t i = 0; i < n; i++) {
		blocks->order[i] = i;
		sorted &= i == 0 || before(i - 1, i);
	}
	if (sorted)
		return;
	for (uint32_t i = n / 2; i-- > 0;)
		sink(i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t last = blocks->order[i];
		blocks->order[i] = blocks->order[0];
		blocks->order[0] = last;
		sink(0, i);
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

static void forget_blocks(void)
{
	memset(blocks->slots, 0, slots * sizeof *blocks->slots);
	slots = FIRST_SLOTS;
	block_count = 0;
	for (uint32_t i = 0; i < SETS; i++)
		sets[i].block = UINT64_MAX;
}

void mcchk_write_sets(struct mcchk_thread *t, uint64_t seq, int keep)
{
	struct mcchk_progress p = {0};
	const struct mcchk_set *of = NULL;

	if (block_count == 0)
		return;
	sort_blocks();
	for (uint32_t i = 0; i < block_count; i++) {
		uint32_t b = blocks->order[i];
		const struct mcchk_set *s = &sets[blocks->keys[b] % SETS];
		if (s != of) {
			mcchk_progress_end(&p);
			p = (struct mcchk_progress){.t = t, .seq = seq, .stack = s->stack, .size = s->size, .flags = s->flags, .shift = s->shift};
			of = s;
		}
		write_block(&p, blocks->words[b], blocks->keys[b] / SETS << MCCHK_SET_SHIFT);
	}
	mcchk_progress_end(&p);
	if (!keep)
		forget_blocks();
}

/* Which set a place has in a context, or where there is room for it. */
static struct mcchk_set *slot_for(uint64_t key, uint32_t context)
{
	uint32_t i = (uint32_t)(mix(key, context) >> 32) % SETS;

	while (sets[i].key != 0 && (sets[i].key != key || sets[i].context != context))
		i = (i + 1) % SETS;
	return &sets[i];
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
	static const struct mcchk_touching *into[SETS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->touching_count && block_count > 0; i++) {
		const struct mcchk_touching *g = &t->touching[i];
		struct mcchk_set *s = g->map && g->n == 1 ? slot_for(g->members->pc, (uint32_t)(g->context >> MCCHK_ADDRESS_BITS)) : NULL;
		if (!s || s->key == 0)
			continue;
		into[s - sets] = g;
		n++;
	}
	for (uint32_t i = 0; i < block_count && n > 0; i++) {
		const struct mcchk_touching *g = into[blocks->keys[i] % SETS];
		if (g)
			pour(blocks->words[i], blocks->keys[i] / SETS << MCCHK_SET_SHIFT, g);
	}
	if (n > 0)
		memset(into, 0, sizeof into);
}

void mcchk_forget_sets(void)
{
	if (set_count > 0)
		memset(sets, 0, sizeof sets);
	set_count = 0;
}

/* ---- sets ---- */

/* Where a block is noted, or is to be. */
static uint32_t slot_of(uint64_t key)
{
	uint32_t s = (uint32_t)(mix(key, 0) >> 32) & (slots - 1);

	while (blocks->slots[s] != 0 && blocks->keys[blocks->slots[s] - 1] != key)
		s = (s + 1) & (slots - 1);
	return s;
}

static void begin_block(struct mcchk_thread *t, uint64_t key)
{
	if (block_count == BLOCKS)
		mcchk_write_sets(t, t->touching_seq, 0);
	if (block_count == slots / 2) {
		memset(blocks->slots, 0, slots * sizeof *blocks->slots);
		slots *= 2;
		for (uint32_t i = 0; i < block_count; i++)
			blocks->slots[slot_of(blocks->keys[i])] = i + 1;
	}
	blocks->keys[block_count] = key;
	memset(blocks->words[block_count], 0, sizeof blocks->words[block_count]);
	uint32_t s = slot_of(key);
	blocks->slots[s] = ++block_count;
}

/* Has a set at hand what it has of a block. */
void mcchk_find_block(struct mcchk_thread *t, struct mcchk_set *of, uint64_t block)
{
	uint64_t key = block * SETS | (uint64_t)(of - sets);
	uint32_t s = slot_of(key);

	if (__builtin_expect(blocks->slots[s] == 0, 0)) {
		begin_block(t, key);
		s = slot_of(key);
	}
	of->block = block;
	of->words = blocks->words[blocks->slots[s] - 1];
}

static int have_blocks(void)
{
	if (!blocks) {
		void *p = mmap(NULL, sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return 0;
		madvise(p, sizeof *blocks, MADV_DONTDUMP);
		blocks = p;
	}
	return 1;
}

/* The set of a place in a call of its function; NULL: there is none, and no room for one. */
static struct mcchk_set *set_of(struct mcchk_thread *t, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame,
				uint32_t context)
{
	struct mcchk_set *s = slot_for(key, context);

	if (MCCHK_LIKELY(s->key != 0))
		return s;
	if (set_count == SETS / 2 || !have_blocks() || !mcchk_has_sets(t))
		return NULL;
	set_count++;
	*s = (struct mcchk_set){.key = key, .context = context, .stack = mcchk_access_stack(t, e->start, pc, frame), .block = UINT64_MAX,
			  .size = (uint16_t)e->size, .flags = (uint8_t)e->flags, .shift = (uint8_t)shift};
	return s;
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
	struct mcchk_activation *a = key == pc ? mcchk_activation(t, pc, frame, 0) : mcchk_activation_checked(t, pc, frame);
	r->set = a ? set_of(t, e, key, shift, pc, frame, a->context) : NULL;
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
