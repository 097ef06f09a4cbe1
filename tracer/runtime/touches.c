/* Places that go from one address to any other: which elements they touch in a span.
 *
 * Of a place only the set of its elements counts within a span. So one that has taken
 * the slow path some times gets a map with a byte for each element of a part of the
 * memory that matters, which the program's own code sets (inline.c, the plug-ins). Before
 * the span ends, the thread's next call, the maps become records, elements at equal
 * distances one, and are zero again.
 *
 * A place has a map for each context in which its function is called often enough, and sets
 * those of one at a time: of calls that have it, which also says that the thread is the same
 * (activations.c), and only while no other thread records: what the thread had touched until
 * then is recorded before anything else that it records. What it touches in other contexts is
 * kept in sets (sets.c).
 */
#include "bundles.h"
#include "dense.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define POOL (1ull << 30)      /* bytes of address space for all maps, where that is limited; … */
#define LARGE_POOL (8ull << 30) /* … else */
#define ANYWAY (64ull << 20)   /* bytes that maps reach, at most, or twice as many as the memory has that they are for */
#define LARGEST (64ull << 20)  /* of one map: so large are only those of places that have taken the slow path often, */
#define MODEST (2ull << 20)    /* others not larger, in a span, than that, and … */
#define EARNED (64ull << 10)   /* … as many bytes more for each MCCHK_PATIENCE with it: what writing the map takes is less */
#define SMALLEST (4ull << 10)  /* of one that has just been begun */
#define AGAIN (6 * MCCHK_MISS) /* the same before one of the same context is looked at */
#define CHANGES 10             /* of the context that a place has a map of, each time after twice the cost, up to so many times */
#define OTHERS 8               /* of other contexts: each new one has to wait for longer, up to so many times as long */
#define WORTH 1024             /* a map has more bytes than that for each element: not worth it */

#define AROUND (8ull << 10)    /* bytes on each side of an access that are looked at for what does not matter, at first */
#define TURNS 8                /* eight times as many each time, … */
#define FARTHEST (1ull << 30)  /* … up to that: looking costs some 30 µs */

static uint8_t *pool; /* of the only thread that records, as all that follows */
static uint64_t pool_size, pool_used;
static uint64_t reached; /* by all maps */

/* What the thread has for the place that it sets now. */
static struct mcchk_touching *known(struct mcchk_thread *t, const struct mcchk_touch *touch)
{
	uint32_t n = touch->number;
	return n < t->touching_count && t->touching[n].touch == touch ? &t->touching[n] : NULL;
}

static int has_now(struct mcchk_thread *t, const struct mcchk_touching *g) { return known(t, g->touch) == g; }

static int is_whole(uint64_t page) { return __atomic_load_n(&MCCHK_SHADOW[page], __ATOMIC_ACQUIRE) == 1; }

/* Whether the eight bytes matter, and are not only watched, that the address is one of. */
static int is_marked(uintptr_t addr)
{
	uint8_t page = __atomic_load_n(&MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT], __ATOMIC_ACQUIRE);
	return page == 1 || (page == 2 && MCCHK_PARTS[addr >> 6] >> (addr >> 3 & 7) & 1);
}

/* The memory around an address that matters, which itself does, as far as a map of elements of
 * that size may come to reach. */
static void extent(uintptr_t addr, uint32_t shift, uintptr_t *lo, uintptr_t *hi)
{
	static struct extent {
		uint64_t unmarked;
		uintptr_t lo, hi;
	} extents[5]; /* of each size; holds as long as nothing has ceased to matter */
	struct extent *last = &extents[shift];
	uint64_t unmarked = __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) / MCCHK_UNMARKED;
	if (last->unmarked != unmarked || addr < last->lo || addr >= last->hi) {
		const uintptr_t page = 1u << MCCHK_PAGE_SHIFT, most = (LARGEST / 2 - page) << shift;
		uintptr_t lo = addr & ~7ull, hi = lo + 8, before = lo > most ? lo - most : 0, behind = hi + most;
		while (lo > before && is_marked(lo - 8))
			lo -= (lo & (page - 1)) == 0 && is_whole((lo >> MCCHK_PAGE_SHIFT) - 1) ? page : 8;
		while (hi < behind && is_marked(hi))
			hi += (hi & (page - 1)) == 0 && is_whole(hi >> MCCHK_PAGE_SHIFT) ? page : 8;
		*last = (struct extent){unmarked, lo, hi};
	}
	*lo = last->lo;
	*hi = last->hi;
}

/* ---- from maps to records ---- */

/* Where the map has what it reaches. */
static uint8_t *map_of(const struct mcchk_touching *g) { return g->map + ((g->from - g->lo) >> g->shift); }

/* Writes what a place has touched, behind a call, and keeps it if it is to be written
 * again. */
static void write_map(struct mcchk_thread *t, const struct mcchk_touching *g, uint64_t seq, int keep)
{
	struct mcchk_touch *touch = g->touch;
	struct mcchk_progress all[MCCHK_MEMBERS];
	uint64_t elements = 0;

	if (!g->map)
		return;
	uint8_t *map = map_of(g);
	for (uint32_t i = 0; i < g->n; i++) {
		const struct mcchk_member *m = &g->members[i];
		all[i] = (struct mcchk_progress){.t = t, .seq = seq, .base = g->from + (uint64_t)(int64_t)m->offset, .stack = g->stacks[i],
						 .size = m->size, .flags = m->flags, .shift = g->shift};
	}
	for (uint64_t from = 0, end; from < g->count; from = end) {
		end = g->count - from > MCCHK_TOGETHER ? from + MCCHK_TOGETHER : g->count;
		uint64_t some = mcchk_write_part(all, g->n, map, from, end);
		if (some == 0)
			continue;
		if (!keep)
			memset(map + from, 0, end - from);
		elements += some;
	}
	for (uint32_t i = 0; i < g->n; i++)
		mcchk_progress_end(&all[i]);
	if (!keep && elements < g->count / WORTH && has_now(t, g)) {
		touch->count = 0;
		touch->resting = 16;
	}
}

static void rest(struct mcchk_touch *touch)
{
	__atomic_store_n(&touch->context, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Notes how far the map reaches that a place has now. */
static void note_reach(struct mcchk_touching *g)
{
	g->from = g->touch->lo;
	g->count = g->touch->count;
}

/* The program's code no longer sets anything, but for a loop that has read its maps. */
static void write_all(struct mcchk_thread *t, uint64_t seq, int keep)
{
	uint32_t n = t->touching_count;

	for (uint32_t i = 0; i < n; i++) {
		rest(t->touching[i].touch);
		t->touching[i].touch->cold_count = 0;
		if (has_now(t, &t->touching[i]))
			note_reach(&t->touching[i]);
	}
	mcchk_pour_sets(t);
	for (uint32_t i = 0; i < n; i++)
		write_map(t, &t->touching[i], seq, keep);
	if (!keep || !t->beside)
		mcchk_write_sets(t, seq, keep);
	mcchk_write_bundles(t, seq, keep);
}

/* Records what the calling thread has touched. Its own, and it is busy or in a call. */
void mcchk_write_touched(struct mcchk_thread *t)
{
	write_all(t, t->touching_seq, 0);
	__atomic_store_n(&t->touching_count, 0, __ATOMIC_RELEASE);
	mcchk_forget_sets(t);
	mcchk_forget_bundles();
	mcchk_forget_activations();
	t->touching_late = 0;
	pool_used = reached = 0;
}

/* The same before the thread records anything else beside another: a loop may go on to set
 * more, which is recorded later. */
void mcchk_write_touched_early(struct mcchk_thread *t)
{
	write_all(t, t->touching_seq, 0);
	t->touching_seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	t->touching_late = 1;
}

/* Behind a loop that had read its maps, and in the course of which other threads made
 * calls: what it touched is recorded before and after each of these, as what other loops
 * do (mcchk_elements_since). */
void mcchk_maps_end(void)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;
	uint64_t last = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);

	if (!t || self->depth || self->busy || t->touching_count == 0)
		return;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < t->touching_count; i++)
		if (t->touching[i].touch->cold_count != 0) /* it may have come to matter */
			mcchk_lost(0, 1);
	for (; t->touching_seq < last; t->touching_seq++)
		write_all(t, t->touching_seq, 1);
	mcchk_write_touched(t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

/* Whether a loop of the program may do without tests in that memory, as long as no other
 * thread makes a call: nothing in it matters. */
uint64_t mcchk_loop_is_plain(uintptr_t lo, uint64_t size)
{
	return mcchk_self.thread && !mcchk_self.busy && !__atomic_load_n(&mcchk_several, __ATOMIC_ACQUIRE) && !mcchk_hot(lo, size);
}

/* Behind a loop in the course of which another thread made a call: if it did so. */
void mcchk_plain_loop_ends(uint64_t plain)
{
	if (plain && mcchk_recording)
		mcchk_lost(0, 1); /* it may have come to matter */
}

/* Lets the program's code touch nothing any more. Any thread may do so. */
void mcchk_touch_no_more(struct mcchk_thread *t)
{
	uint32_t n = __atomic_load_n(&t->touching_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&t->touching[i].touch->context, 0, __ATOMIC_RELAXED);
	mcchk_rest_bundles();
}

/* ---- maps for places ---- */

/* The place was last asked for in an earlier span. */
static void begin_span(struct mcchk_touch *touch)
{
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED);

	if (touch->seq == seq)
		return;
	touch->seq = seq;
	touch->missed = 0;
	touch->changed = 0;
	touch->turns = 0;
	touch->number = UINT32_MAX;
	touch->cold_count = 0;
	touch->others = 0;
}

/* One more of the place. What it has now, if there is any, is what it had. */
static struct mcchk_touching *append(struct mcchk_thread *t, struct mcchk_touch *touch)
{
	uint32_t n = t->touching_count;
	struct mcchk_touching *now = known(t, touch);

	if (n == MCCHK_TOUCHING)
		return NULL;
	t->touching[n] = (struct mcchk_touching){.touch = touch, .next = now ? now->next : n};
	if (now) {
		now->next = n;
		touch->others++;
	} else {
		touch->number = n;
	}
	if (n == 0)
		t->touching_seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	__atomic_store_n(&t->touching_count, n + 1, __ATOMIC_RELEASE);
	return &t->touching[n];
}

/* The map that a place, which has one now, has for calls of a context; NULL: it has none. */
static struct mcchk_touching *map_for(struct mcchk_thread *t, const struct mcchk_touch *touch, uint64_t context)
{
	static struct {
		const struct mcchk_touch *touch;
		uint64_t context, seq;
		uint32_t n, of; /* of so many maps; n is `of` where it is none of them */
	} asked[2048]; /* by the only thread that records */
	uint64_t h = ((uintptr_t)touch * 0x9E3779B97F4A7C15ull ^ context >> MCCHK_ADDRESS_BITS) * 0xD6E8FEB86659FD93ull;
	uint32_t s = (uint32_t)(h >> 53), n = t->touching_count;
	struct mcchk_touching *now = known(t, touch), *g = now;

	if (now->map && now->context == context)
		return now;
	if (asked[s].touch != touch || asked[s].context != context || asked[s].seq != touch->seq || (asked[s].n == asked[s].of && asked[s].of != n)) {
		do
			g = &t->touching[g->next];
		while (g != now && (!g->map || g->context != context));
		asked[s].touch = touch;
		asked[s].context = context;
		asked[s].seq = touch->seq;
		asked[s].of = n;
		asked[s].n = g == now ? n : (uint32_t)(g - t->touching);
	}
	g = asked[s].n < n ? &t->touching[asked[s].n] : NULL;
	return g && g->touch == touch && g->context == context && g->map ? g : NULL;
}

/* What the place has without a map, or for calls that have their maps alone, for such a call. */
static struct mcchk_touching *room_for(struct mcchk_thread *t, const struct mcchk_touch *touch, uint32_t of_one)
{
	struct mcchk_touching *first = known(t, touch), *g = first, *room = NULL;

	if (!g)
		return NULL;
	do {
		if (g->map && of_one && g->of_one)
			return g;
		if (!g->map)
			room = g;
		g = &t->touching[g->next];
	} while (g != first);
	return room;
}

/* The thread has sets. Returns whether that could be noted. */
int mcchk_has_sets(struct mcchk_thread *t)
{
	static struct mcchk_touch none; /* stands for them */
	return known(t, &none) || append(t, &none);
}

/* Lets the program's code set what it touches in calls of a context. */
static void set_context(struct mcchk_touch *touch, uint64_t context)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&touch->context, context, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the other thread has a barrier for both (become_several in recorders.c) */
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		rest(touch);
}

/* ---- maps ---- */

/* How far the members of a place reach beyond an element of it, in front and behind. */
static void reach(const struct mcchk_member *members, uint32_t n, uint32_t shift, uint64_t *front, uint64_t *behind)
{
	int64_t lo = 0, hi = 1ll << shift;

	for (uint32_t i = 0; i < n; i++) {
		if (members[i].offset < lo)
			lo = members[i].offset;
		if (members[i].offset + members[i].size > hi)
			hi = members[i].offset + members[i].size;
	}
	*front = (uint64_t)-lo;
	*behind = (uint64_t)hi - (1ull << shift);
}

/* Address space for maps. What they do not reach takes no memory. */
static int find_pool(void)
{
	struct rlimit limit;
	uint64_t size = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY ? LARGE_POOL : POOL;
	void *p = MAP_FAILED;

	for (; p == MAP_FAILED && size >= POOL; size /= LARGE_POOL / POOL) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pool_size = size;
	}
	if (p == MAP_FAILED)
		return 0;
	madvise(p, pool_size, MADV_NOHUGEPAGE);
	madvise(p, pool_size, MADV_DONTDUMP);
	pool = p;
	return 1;
}

/* Gives the place a map for all of the memory around the address that it may come to
 * have one for. */
static int begin(struct mcchk_thread *t, struct mcchk_touching *g, uintptr_t addr)
{
	const struct mcchk_touch *touch = g->touch;
	uint32_t shift = g->shift;
	uintptr_t lo, hi;
	uint64_t front, behind, within = (1ull << shift) - 1;

	if (!pool && !find_pool())
		return 0;
	extent(addr, shift, &lo, &hi);
	reach(g->members, g->n, shift, &front, &behind);
	lo = (lo + front + within) & ~within;
	hi = (hi - behind) & ~within;
	if (addr < lo || addr >= hi)
		return 0;
	uint64_t bytes = (hi - lo) >> shift;
	if (pool_used + bytes + 64 > pool_size)
		return 0;
	g->lo = lo;
	g->hi = hi;
	g->map = pool + pool_used;
	pool_used += (bytes + 8 + 63) & ~63ull; /* it is read by words, from any byte on */
	if (has_now(t, g) && touch->lo >= lo && touch->lo + (touch->count << shift) <= hi)
		note_reach(g); /* of the last one, in an earlier span */
	else
		g->from = g->count = 0;
	reached += g->count;
	return 1;
}

/* Has the map reach an address, unless it is too far: what it is now, and as much again. */
static void widen(struct mcchk_touching *g, uintptr_t addr)
{
	uint64_t room = (g->count ? g->count : SMALLEST / 2) << g->shift;
	uintptr_t lo = addr - g->lo > room ? addr - room : g->lo, hi = g->hi - addr > room ? addr + room : g->hi;

	lo &= ~63ull << g->shift; /* the map goes by words */
	hi = (hi + (64ull << g->shift) - 1) & ~63ull << g->shift;
	if (g->count != 0 && g->from < lo)
		lo = g->from;
	if (g->count != 0 && g->from + (g->count << g->shift) > hi)
		hi = g->from + (g->count << g->shift);
	if (lo < g->lo)
		lo = g->lo;
	if (hi > g->hi)
		hi = g->hi;
	uint64_t count = (hi - lo) >> g->shift, most = 2 * (g->hi - g->lo);
	if ((count > MODEST + EARNED * ++g->widened && g->count != 0) || reached - g->count + count > (most < ANYWAY ? ANYWAY : most))
		return;
	reached += count - g->count;
	g->from = lo;
	g->count = count;
}

/* Whether what the members access with an element begins and ends where it matters. */
static int are_marked(const struct mcchk_member *members, uint32_t n, uintptr_t addr, uint32_t shift)
{
	uint64_t front, behind;

	reach(members, n, shift, &front, &behind);
	return is_marked(addr - front) && is_marked(addr + behind + (1ull << shift) - 1);
}

/* The map is that of the calls of a context, of which one has this frame. */
static void begin_context(struct mcchk_thread *t, struct mcchk_touching *g, uintptr_t addr, const struct mcchk_activation *a, void **frame)
{
	if (g->context != 0)
		write_map(t, g, t->touching_seq, 0); /* of another call that has its maps alone */
	for (uint32_t i = 0; i < g->n; i++)
		g->stacks[i] = mcchk_access_stack(t, addr, g->members[i].pc, frame);
	g->context = mcchk_context_of(a);
	g->of_one = (uint8_t)a->of_one;
}

/* The place has that map from now on. */
static void take_map(struct mcchk_thread *t, struct mcchk_touching *g)
{
	struct mcchk_touch *touch = g->touch;

	touch->number = (uint32_t)(g - t->touching);
	touch->lo = g->from;
	touch->count = g->count;
	touch->map = map_of(g);
	set_context(touch, g->context);
}

/* Adds up what the slow path costs a place in a span. */
static inline int32_t costs(struct mcchk_touch *touch, int32_t cost)
{
	begin_span(touch);
	return touch->missed += cost;
}

/* The place may have a map in a call, for an aligned element of 1 to 16 bytes that its map has
 * not. Without members it is a single access, which is `own`. */
static void have_map(struct mcchk_thread *t, struct mcchk_touch *touch, uintptr_t addr, struct mcchk_member *members, uint32_t n,
		     const struct mcchk_member *own, uint32_t shift, void **frame)
{
	int own_stack = addr >= t->stack_lo && addr < t->stack_hi;
	const struct mcchk_activation *a = mcchk_activation(t, members ? members->pc : own->pc, frame, own_stack);
	uint64_t context = a ? mcchk_context_of(a) : 0;
	struct mcchk_touching *now = known(t, touch);

	struct mcchk_touching *g = a && now ? map_for(t, touch, context) : NULL;
	int there = g != NULL, patience = MCCHK_PATIENCE * (int)(touch->others < OTHERS ? touch->others + 1 : OTHERS);
	if (there)
		patience = g == now || touch->context == 0 ? 0 : MCCHK_PATIENCE << touch->changed;
	else if (a && a->of_one)
		patience = MCCHK_PATIENCE << touch->changed;
	if (touch->missed < patience)
		return; /* it may be seldom in that context */
	touch->missed = 0;
	if (!a || (!g && !(g = room_for(t, touch, a->of_one)) && !(g = append(t, touch))))
		return;
	if (now)
		note_reach(now);
	if (!g->map) {
		if (own)
			g->own = *own;
		g->members = members ? members : &g->own;
		g->n = n;
		g->shift = (uint8_t)shift;
		if (!begin(t, g, addr))
			return;
	}
	if (addr < g->lo || addr >= g->hi)
		return;
	rest(touch);
	if (g->context != context)
		begin_context(t, g, addr, a, frame);
	if (g->count == 0 || addr < g->from || addr >= g->from + (g->count << g->shift))
		widen(g, addr);
	touch->changed += touch->changed < CHANGES && there && !has_now(t, g);
	take_map(t, g);
}

/* A loop asks for the map of its place, which has that of another context: it gets the one for the calls
 * of its function with this frame, if there is one. Returns whether there is. */
int mcchk_touch_turns(struct mcchk_touch *touch, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;
	struct mcchk_touching *now = t ? known(t, touch) : NULL, *g = NULL;

	if (!now || touch->context == 0 || self->depth || self->busy || !mcchk_recording || __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED))
		return 0;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	const struct mcchk_activation *a = mcchk_activation(t, pc, frame, 0);
	if (a)
		g = map_for(t, touch, mcchk_context_of(a));
	if (g && touch->context != g->context) {
		note_reach(now);
		rest(touch);
		take_map(t, g);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	return g != NULL;
}

/* The slow path has been taken at a place often enough to look at its maps. */
static void missed(struct mcchk_touch *touch, uintptr_t addr, struct mcchk_member *members, uint32_t n, const struct mcchk_member *own,
		   uint32_t shift, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;

	if (touch->missed < MCCHK_PATIENCE && !(t && known(t, touch)))
		return;
	if (!t || self->depth || self->busy || !mcchk_recording || __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED) ||
	    (addr & ((1u << shift) - 1)) != 0 || !are_marked(members ? members : own, n, addr, shift)) {
		touch->missed = 0;
		return;
	}
	if (touch->resting > 0) {
		touch->resting--;
		touch->missed = INT32_MIN; /* not in this span */
		return;
	}
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	have_map(t, touch, addr, members, n, own, shift, frame);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

/* The same of a single access. */
void mcchk_touch_missed(struct mcchk_touch *touch, uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags, int32_t cost)
{
	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED) || MCCHK_LIKELY(costs(touch, cost) < AGAIN))
		return;
	const struct mcchk_member own = {.size = (uint16_t)size, .flags = (uint8_t)flags, .pc = pc};
	missed(touch, addr, NULL, 1, &own, (uint32_t)__builtin_ctz(size), frame);
}

/* ---- memory that does not matter ---- */

/* Whether eight bytes do not matter, from a multiple of eight on. */
static int is_cold(uintptr_t addr)
{
	uint8_t page = __atomic_load_n(&MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT], __ATOMIC_ACQUIRE);
	return page == 0 || (page == 2 && !(MCCHK_PARTS[addr >> 6] >> (addr >> 3 & 7) & 1));
}

/* Whether none of eight pages matters, from one on whose number is a multiple of eight. */
static int eight_are_cold(uint64_t page)
{
	return __atomic_load_n((const uint64_t *)(const void *)(MCCHK_SHADOW + page), __ATOMIC_ACQUIRE) == 0;
}

/* The memory around an address that does not matter, as far as some bytes to each side. */
static void cold_around(uintptr_t addr, uint64_t most, uintptr_t *lo, uintptr_t *hi)
{
	const uintptr_t page = 1u << MCCHK_PAGE_SHIFT, eight = 8 * page;
	uintptr_t first = addr & ~7ull, end = first + 8, from = first > most ? first - most : 0, to = first + most;

	if (to >> MCCHK_ADDRESS_BITS)
		to = 1ull << MCCHK_ADDRESS_BITS;
	while (first > from)
		if ((first & (eight - 1)) == 0 && eight_are_cold((first >> MCCHK_PAGE_SHIFT) - 8))
			first -= eight;
		else if ((first & (page - 1)) == 0 && MCCHK_SHADOW[(first >> MCCHK_PAGE_SHIFT) - 1] == 0)
			first -= page;
		else if (is_cold(first - 8))
			first -= 8;
		else
			break;
	while (end < to)
		if ((end & (eight - 1)) == 0 && eight_are_cold(end >> MCCHK_PAGE_SHIFT))
			end += eight;
		else if ((end & (page - 1)) == 0 && MCCHK_SHADOW[end >> MCCHK_PAGE_SHIFT] == 0)
			end += page;
		else if (is_cold(end))
			end += 8;
		else
			break;
	*lo = first;
	*hi = end;
}

/* In a loop that has nothing in it by which memory could come to matter, an aligned element
 * does not: nor does what lies around it, of which the program's code sets nothing. There
 * is none of that where other strands may be at work. */
static void map_cold(uintptr_t addr, struct mcchk_touch *touch, const struct mcchk_member *members, uint32_t n, uint32_t shift, uintptr_t pc,
		     void **frame)
{
	static struct {
		uint64_t seq, most;
		uintptr_t lo, hi;
	} last; /* of the only thread that records */
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = self->thread;
	uint64_t front, behind, unit = 1ull << shift;

	if (self->depth || self->busy)
		return;
	if (!t || !mcchk_recording || __atomic_load_n(&mcchk_several, __ATOMIC_RELAXED) || mcchk_beside()) {
		touch->settled = 1;
		return;
	}
	begin_span(touch);
	struct mcchk_touching *g = known(t, touch);
	if ((g && g->map && !mcchk_touches_in(touch, frame)) || ++touch->turns > TURNS || !is_cold(addr & ~7ull)) {
		touch->settled = 1;
		return;
	}
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	const struct mcchk_activation *a = mcchk_activation(t, pc, frame, 0);
	rest(touch);
	if (a && (g || (g = append(t, touch)))) {
		uint64_t most = AROUND << 3 * touch->turns;
		if (most > FARTHEST)
			most = FARTHEST;
		if (last.seq != touch->seq || last.most != most || addr < last.lo || addr >= last.hi) {
			cold_around(addr, most, &last.lo, &last.hi);
			last.seq = touch->seq;
			last.most = most;
		}
		reach(members, n, shift, &front, &behind);
		uintptr_t lo = (last.lo + front + unit - 1) & ~(unit - 1), hi = last.hi - behind;
		if (!g->map)
			touch->count = 0; /* of an earlier span */
		touch->cold_lo = lo;
		touch->cold_count = hi > lo ? (hi - lo) >> shift : 0;
		set_context(touch, mcchk_context_of(a));
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

/* Neither the place's map nor what is known not to matter has an element. What is accessed
 * with it has been recorded, if it matters. `kind` is the number of members, and the
 * logarithm of the element's size from bit 16 on. */
void mcchk_group_missed(uintptr_t addr, struct mcchk_touch *touch, struct mcchk_member *members, uint64_t kind, uintptr_t pc, void **frame)
{
	uint32_t n = kind & UINT16_MAX, shift = (uint32_t)(kind >> 16);
	int32_t cost = 0;

	if (__atomic_load_n(&mcchk_several, __ATOMIC_RELAXED)) {
		if (!touch->settled)
			touch->settled = 1;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		cost += members[i].cost;
		members[i].cost = 0;
	}
	if (cost > 0 && costs(touch, cost) > 0) /* the loop may go on for long */
		missed(touch, addr, members, n, NULL, shift, frame);
	else if (cost == 0 && !touch->settled)
		map_cold(addr, touch, members, n, shift, pc, frame);
}
