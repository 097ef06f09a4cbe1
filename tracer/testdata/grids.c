/* Announces loops of elements to the run-time, as compiled code does, and writes what was
 * announced and the chunks that came of it.
 *
 *     grids SEED ROUNDS CHUNKS         loops drawn at random
 *     grids field PLANES ROWS CHUNKS   a field of three dimensions, in one span
 *     grids chequered PLANES ROWS CHUNKS   the same, of which every other row begins an element later
 *     grids halves LENGTH ROWS CHUNKS  rows of ever shorter parts, again and again, as a Fourier transform has them
 */
#include "bundles.h"
#include "sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA 0x200000000000ull
#define PAGES 512u
#define CHUNK 16384u
#define SITES 6u

__thread struct mcchk_tls mcchk_self;
uint64_t mcchk_seq, mcchk_moment, mcchk_uncounted = 1000, mcchk_told = 1;
void (*mcchk_atomic_valued)(uint64_t begin, const volatile void *p, uint32_t size, int how, int order, int64_t operand, int64_t found, void **frame);
int mcchk_several, mcchk_recording = 1;
uint32_t mcchk_watching;

static struct mcchk_thread thread;
static struct mcchk_run runs[MCCHK_RUNS];
static struct mcchk_start starts[MCCHK_STARTS];
static struct mcchk_rows rows[MCCHK_RUNS];
static struct mcchk_seen seen[MCCHK_ELEMENTS];
static unsigned site;
static FILE *chunks;

/* ---- what the rest of the run-time does ---- */

uint32_t mcchk_crc32c(const void *data, size_t size)
{
	uint32_t c = ~0u;
	for (const uint8_t *p = data; size-- > 0; p++) {
		c ^= *p;
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
	}
	return ~c;
}

static uint8_t shadow(uint64_t addr) { return MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT]; }

int mcchk_hot(uintptr_t addr, uint64_t size) { return (shadow(addr) | shadow(addr + size - 1)) != 0; }
int mcchk_hot_granules(uintptr_t addr, uint64_t size) { return mcchk_hot(addr, size); }
void mcchk_lost(uint64_t calls, uint64_t accesses)
{
	if (calls + accesses)
		abort();
}
void mcchk_watch_counts(void) { }
void mcchk_live_goes_on_as(struct mcchk_thread *t) { abort(); (void)t; }
int mcchk_aside(uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags) { return addr && pc && frame && flags; }
void mcchk_write_touched_early(struct mcchk_thread *t) { t->touching_late = 1; }
uint64_t mcchk_entries[MCCHK_ENTRIES];
struct mcchk_activation mcchk_activations[MCCHK_ENTRIES]; /* none */
int mcchk_put(struct mcchk_run *r, const struct mcchk_elements *e, uintptr_t pc, void **frame) { return r && e && pc && !frame; }
int mcchk_range_put(struct mcchk_run *r, const struct mcchk_elements *e, uint64_t key, uint32_t shift, uintptr_t pc, void **frame) { abort(); (void)r, (void)e, (void)key, (void)shift, (void)pc, (void)frame; }
void mcchk_find_block(struct mcchk_thread *t, struct mcchk_set *of, uint64_t block) { abort(); (void)t, (void)of, (void)block; }
void mcchk_group_missed(uintptr_t addr, struct mcchk_touch *touch, struct mcchk_member *members, uint64_t kind, uintptr_t pc, void **frame)
{
	touch->missed = (int32_t)(addr + kind + pc) + (members != NULL) + (frame != NULL);
}

void mcchk_touch_missed(struct mcchk_touch *touch, uintptr_t addr, uintptr_t pc, void **frame, uint32_t size, uint32_t flags, int32_t cost)
{
	touch->missed = (int32_t)(addr + pc + size + flags) + cost + (frame != NULL);
}
int mcchk_is_in_sets(struct mcchk_thread *t, uint64_t key) { return !t && key; }
int mcchk_touch_turns(struct mcchk_touch *touch, uintptr_t pc, void **frame) { return touch && pc && !frame; }
void mcchk_map_cold(uintptr_t addr, struct mcchk_touch *touch, uint64_t shift, void **frame) { touch->lo = addr + shift + (frame != NULL); }
struct mcchk_learning mcchk_learning;
void mcchk_learn(uint64_t start, uintptr_t pc, void **frame) { abort(); (void)start, (void)pc, (void)frame; }
uint64_t mcchk_bundle_other(struct mcchk_bundle *b, uint64_t passes, uint64_t moment, const uint64_t *words, uintptr_t pc, void **frame)
{
	return b && words && frame && passes && moment && !pc;
}
void mcchk_function_returns(uintptr_t frame, uintptr_t pc) { site = (unsigned)(frame + pc); }
void mcchk_entered(uintptr_t pc, void **frame) { (void)pc, (void)frame; }
__thread uintptr_t mcchk_stack_low;
struct mcchk_thread *mcchk_thread_begins(void) { return &thread; }
uint32_t mcchk_stack(struct mcchk_thread *t, uintptr_t pc, void **frame) { return t && pc && frame ? site + 1 : 0; }
uint32_t mcchk_access_stack(struct mcchk_thread *t, uintptr_t addr, uintptr_t pc, void **frame) { return addr ? mcchk_stack(t, pc, frame) : 0; }

static void begin_chunk(void)
{
	struct mcchk_chunk *c = thread.accesses.chunk;
	memset(c, 0, CHUNK);
	c->magic = 0x4b4e4843u;
	c->size = CHUNK;
	c->kind = 1;
	c->seq = mcchk_seq;
	thread.accesses = (struct mcchk_open){.chunk = c, .since = mcchk_seq, .limit = CHUNK - 40 - 136};
	mcchk_compact_begin(thread.compactor, &thread.accesses);
	thread.marked = UINT64_MAX;
}

static void forget(void)
{
	memset(runs, 0, sizeof runs);
	memset(starts, 0, sizeof starts);
	memset(rows, 0, sizeof rows);
}

static void end_chunk(void)
{
	struct mcchk_chunk *c = thread.accesses.chunk;
	uint64_t elements;
	forget();
	mcchk_compact(thread.compactor, &thread.accesses);
	uint32_t used = c->used, index = mcchk_write_index(c, thread.accesses.sums, &elements);
	c->kind = index ? 40 + used : 1;
	c->used = used + index;
	c->size = c->used + 40;
	c->crc = mcchk_crc32c(c->payload, c->used);
	c->state = 1;
	if (fwrite(c, c->size, 1, chunks) != 1)
		abort();
}

static void *reserve(uint32_t bytes)
{
	struct mcchk_open *o = &thread.accesses;
	bytes += (uint32_t)sizeof(struct mcchk_mark) + MCCHK_GROUP;
	if (o->chunk->used + bytes > o->limit) {
		forget();
		if (mcchk_compact(thread.compactor, o) && o->chunk->used + MCCHK_ROOM + bytes + CHUNK / 2 < o->limit) {
			mcchk_compact_on(o);
		} else {
			end_chunk();
			begin_chunk();
		}
	}
	if (thread.marked != mcchk_seq) {
		struct mcchk_mark m = {.type = 8, .length = sizeof m, .seq = mcchk_seq};
		memcpy(o->chunk->payload + o->chunk->used, &m, sizeof m);
		o->chunk->used += (uint32_t)sizeof m;
		o->limit -= MCCHK_GROUP;
		thread.marked = mcchk_seq;
	}
	return o->chunk->payload + o->chunk->used;
}

struct mcchk_access *mcchk_reserve_access(struct mcchk_thread *t) { return t ? reserve(sizeof(struct mcchk_access)) : NULL; }
struct mcchk_grid *mcchk_reserve_grid(struct mcchk_thread *t) { return t ? reserve(sizeof(struct mcchk_grid)) : NULL; }
struct mcchk_grid *mcchk_reserve_grid_after(struct mcchk_thread *t, uint64_t *seq) { return t && seq ? NULL : NULL; }
struct mcchk_access *mcchk_reserve_access_after(struct mcchk_thread *t, uint64_t *seq) { return t && seq ? NULL : NULL; }
void mcchk_commit_access(struct mcchk_thread *t) { t->accesses.chunk->used += (uint32_t)sizeof(struct mcchk_access); }
void mcchk_commit_grid(struct mcchk_thread *t) { t->accesses.chunk->used += (uint32_t)sizeof(struct mcchk_grid); }

/* ---- the program ---- */

void mcchk_loop(uintptr_t start, int64_t stride, uint64_t count, uint64_t kind, uint64_t moment, struct mcchk_touch *touch);
void mcchk_nest(uintptr_t start, int64_t step, uint64_t rows, int64_t stride, uint64_t count, int64_t growth, uint64_t kind,
		uint64_t moment);

static const uint64_t kinds[SITES] = {8, 8 | MCCHK_STORE << 16, 4, 1 | MCCHK_STORE << 16, 24, 16};

/* Each site has a place of its own from which it calls. */
#define SITE(n)                                                                                                       \
	static __attribute__((noinline)) void loop##n(uint64_t start, int64_t stride, uint64_t count)                 \
	{                                                                                                             \
		mcchk_loop(start, stride, count, kinds[n], mcchk_moment, NULL);                                           \
		__asm__ volatile("" ::: "memory");                                                                    \
	}                                                                                                             \
	static __attribute__((noinline)) void nest##n(uint64_t start, int64_t step, uint64_t times, int64_t stride, uint64_t count, \
						      int64_t growth)                                                 \
	{                                                                                                             \
		mcchk_nest(start, step, times, stride, count, growth, kinds[n], mcchk_moment);                        \
		__asm__ volatile("" ::: "memory");                                                                    \
	}
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5)

static void (*const loops[SITES])(uint64_t, int64_t, uint64_t) = {loop0, loop1, loop2, loop3, loop4, loop5};
static void (*const nests[SITES])(uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t) = {nest0, nest1, nest2, nest3, nest4, nest5};

static void announced(uint64_t start, int64_t stride, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = start + i * (uint64_t)stride, size = kinds[site] & UINT16_MAX;
		if (size > 16 ? mcchk_hot(at, size) : shadow(at) != 0)
			printf("%lu %u %lu %lu\n", (unsigned long)mcchk_seq, site + 1, (unsigned long)(at - ARENA), (unsigned long)size);
	}
}

struct shape {
	unsigned site;
	uint64_t start;
	int64_t stride, row_step, plane_step, shift; /* of every other row */
	uint64_t count, rows, planes;
	int64_t less, growth; /* of the rows of a plane that are announced together */
};

static void do_row(const struct shape *s, uint64_t row, uint64_t plane)
{
	uint64_t start = s->start + row * (uint64_t)s->row_step + plane * (uint64_t)s->plane_step + (row + plane) % 2 * (uint64_t)s->shift;
	site = s->site;
	announced(start, s->stride, s->count);
	loops[site](start, s->stride, s->count);
}

static void do_plane(const struct shape *s, uint64_t plane)
{
	uint64_t start = s->start + plane * (uint64_t)s->plane_step;
	site = s->site;
	int64_t first = (int64_t)s->count - s->less;
	for (uint64_t r = 0; r < s->rows; r++) {
		int64_t count = first + (int64_t)r * s->growth;
		announced(start + r * (uint64_t)s->row_step, s->stride, count > 0 ? (uint64_t)count : 0);
	}
	nests[site](start, s->row_step, s->rows, s->stride, (uint64_t)first, s->growth);
}

static void field(uint64_t planes, uint64_t rows, int64_t shift)
{
	struct shape s[3];
	for (unsigned i = 0; i < 3; i++)
		s[i] = (struct shape){.site = i, .start = ARENA + 4096 * i + 8, .stride = shift ? 2 * shift : 8, .count = 3, .row_step = 64, .rows = rows,
				      .plane_step = 1024, .planes = planes, .shift = shift};
	for (uint64_t p = 0; p < planes; p++)
		for (uint64_t r = 0; r < rows; r++)
			for (unsigned i = 0; i < 2; i++)
				do_row(&s[i], r, p);
	for (uint64_t p = 0; p < planes && !shift; p++)
		do_plane(&s[2], p);
}

static void halves(uint64_t length, uint64_t rows)
{
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t part = length; part > 1; part /= 2) {
			struct shape s = {.start = ARENA + r * length * 8, .stride = 8, .count = part / 2, .row_step = (int64_t)part * 8, .rows = length / part};
			do_plane(&s, 0);
		}
}

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % n;
}

static int64_t draw_step(int64_t most)
{
	int64_t v = 8 * (int64_t)below((uint64_t)most / 8 + 1);
	return below(5) == 0 ? -v : v;
}

static struct shape draw(void)
{
	struct shape s = {.site = (unsigned)below(SITES), .start = ARENA + (PAGES / 2 << 12) + 8 * below(3000), .count = 1 + below(12),
			  .rows = 1 + below(9), .planes = 1 + below(6)};
	s.stride = below(3) ? 8 : draw_step(32);
	if (below(6) == 0) { /* pages apart */
		s.stride = draw_step(80000);
		s.count = 1 + below(4);
	}
	s.row_step = below(4) ? 128 : draw_step(5000);
	s.plane_step = below(4) ? 2048 : draw_step(20000);
	s.shift = below(3) ? 0 : draw_step(32);
	if (below(3) == 0 && s.stride >= -32 && s.stride <= 32) { /* a triangle */
		s.growth = (int64_t)below(7) - 3;
		s.less = s.growth >= 0 ? (int64_t)below(12) : 0;
		if (below(3))
			s.row_step = s.stride * ((int64_t)below(7) - 3);
		if (below(2))
			s.planes = 1;
	}
	return s;
}

static void change(struct shape *s)
{
	if (s->growth != 0 && below(2)) /* a triangle is often the same again */
		return;
	switch (below(8)) {
	case 0: s->start += (uint64_t)(s->row_step * (int64_t)below(s->rows + 1)); break;
	case 1: s->start += (uint64_t)(s->plane_step * (int64_t)s->planes); break;
	case 2: s->rows = 1 + below(9); break;
	case 3: s->count = 1 + below(s->stride > 32 || s->stride < -32 ? 4 : 12); break;
	case 4: s->start += (uint64_t)draw_step(4000); break;
	case 5: s->planes = 1 + below(6); break;
	}
	uint64_t far = s->start - ARENA;
	if (far < 150u << 12 || far > 350u << 12)
		s->start = ARENA + (PAGES / 2 << 12);
}

static void step(struct shape *s, unsigned n)
{
	uint64_t how = below(4);
	if (below(4) == 0)
		s[below(n)] = draw();
	for (unsigned i = 0; i < n; i++)
		change(&s[i]);
	if (how == 0) { /* the places of a loop take turns */
		for (uint64_t p = 0; p < s[0].planes; p++)
			for (uint64_t r = 0; r < s[0].rows; r++)
				for (unsigned i = 0; i < n; i++)
					do_row(&s[i], r, p);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		for (uint64_t p = 0; p < s[i].planes; p++) {
			if (how == 1)
				do_plane(&s[i], p);
			else
				for (uint64_t r = 0; r < s[i].rows; r++)
					do_row(&s[i], below(20) ? r : below(9), p);
		}
}

int main(int argc, char **argv)
{
	const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uint8_t *pages = MCCHK_SHADOW + (ARENA >> MCCHK_PAGE_SHIFT);
	if (argc < 4 || mmap(pages, PAGES, PROT_READ | PROT_WRITE, fixed, -1, 0) == MAP_FAILED ||
	    mmap(MCCHK_PARTS, 4096, PROT_READ | PROT_WRITE, fixed, -1, 0) == MAP_FAILED)
		return 2;
	memset(MCCHK_PARTS, 0xff, 4096);
	memset(pages, 1, PAGES);
	mcchk_self.thread = &thread;
	mcchk_self.runs = thread.runs = runs;
	thread.starts = starts;
	thread.rows = rows;
	thread.seen = seen;
	thread.compactor = calloc(1, mcchk_compactor_size);
	thread.accesses.chunk = calloc(1, CHUNK + 65536);
	chunks = fopen(argv[argc - 1], "w");
	mcchk_seq = 1;
	mcchk_moment = mcchk_uncounted + mcchk_seq;
	begin_chunk();
	if (strcmp(argv[1], "field") == 0) {
		field(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), 0);
	} else if (strcmp(argv[1], "chequered") == 0) {
		field(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), 8);
	} else if (strcmp(argv[1], "halves") == 0) {
		halves(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	} else {
		state = strtoul(argv[1], NULL, 10) * 0x9E3779B97F4A7C15ull + 1;
		struct shape s[4];
		for (unsigned i = 0; i < 4; i++)
			s[i] = draw();
		for (uint64_t n = strtoul(argv[2], NULL, 10); n > 0; n--) {
			if (below(12) == 0) {
				mcchk_seq++;
				mcchk_told++;
				mcchk_moment++;
				pages[PAGES / 2 + below(20)] = below(3) != 0;
			}
			step(s, 1 + (unsigned)below(4));
		}
	}
	end_chunk();
	return fclose(chunks) != 0;
}
