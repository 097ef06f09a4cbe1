/* Which memory matters: window memory and buffers of pending operations.
 *
 * A page is covered whole by a number of ranges (covers, one 16-bit count for
 * each page, in a second sparse reservation), or in part: then a block holds
 * which granules of 8 bytes each range has, or where they are many a count for each
 * granule, and a third reservation (MCCHK_PARTS) a bit. Counts make overlapping ranges survive the release of one of them. A count
 * that would overflow stays where it is for good: marking too much is harmless. The
 * same holds when there are no blocks left: the page is then marked whole.
 *
 * Where other strands of the process may be at work (history.c), what has been a buffer
 * once matters for good: nothing need order what they do with it later. And what they
 * did before: so all memory that is mapped may be watched, whatever it is.
 *
 * Marking happens in MPI calls, under a lock unless the thread is alone (mcchk_sole); the
 * load/store path reads without.
 */
#include "history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COVERS ((uint16_t *)0x110000000000ull)
#define PAGES (1ull << (MCCHK_ADDRESS_BITS - MCCHK_PAGE_SHIFT))
#define PAGE 4096u
#define GRANULES 512u
#define MANY 0x3fffu /* a count that stays */
#define IN_BLOCK 0x4000u /* of a page: it has a block */
#define USED 0x8000u /* it has been a buffer beside other strands */

/* In the byte of a page that is watched, beside 1 and, where parts of it matter, 2. */
#define WATCHED 4

/* Up to MAX_BLOCKS pages are tracked by granule: 1.1 KiB each, 15 MiB in all. */
#define SLOTS 32768u
#define MAX_BLOCKS 14000u

enum { COARSE_FIRST = 1, COARSE_LAST = 2, COARSE_BEFORE = 4 };

#define LISTED 6u

struct block {
	uint32_t refs; /* 1 of them because some were used: */
	uint8_t used;
	uint8_t counted; /* 0: nothing is, but its ranges are these: */
	uint16_t listed;
	struct granules {
		uint16_t g0, g1;
	} list[LISTED];
	uint16_t counts[GRANULES];
};

static struct {
	uint64_t page[SLOTS]; /* page number; 0: empty */
	uint32_t index[SLOTS];
	uint32_t used;
	struct block *blocks;
} table;

static int lock;
uint64_t mcchk_marks;

/* Memory that is watched, as pages. */
static struct mcchk_pages watched[MCCHK_MAX_PAGES];
static uint32_t watched_count;

static void fail(const char *why)
{
	dprintf(2,
		"mcchk: cannot reserve 2.1 TiB of address space for the shadow memory: %s\n"
		"mcchk: raise the limit on virtual memory (ulimit -v unlimited); no memory is used by it\n",
		why);
	_exit(2);
}

static void *reserve_at(uintptr_t where, size_t size)
{
	void *p = mmap((void *)where, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (p != (void *)where) { /* a kernel that does not know FIXED_NOREPLACE */
		munmap(p, size);
		errno = EEXIST;
		return NULL;
	}
	madvise(p, size, MADV_DONTDUMP);
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

/* Runs before any code that is instrumented. */
void mcchk_reserve_shadow(void)
{
	if (!reserve_at((uintptr_t)MCCHK_SHADOW, PAGES + PAGE) || /* bytes are read eight at a time */
	    !reserve_at((uintptr_t)COVERS, PAGES * sizeof(uint16_t)) ||
	    !reserve_at((uintptr_t)MCCHK_PARTS, PAGES * GRANULES / 8))
		fail(strerror(errno));
	MCCHK_PARTS[0] = 0xff;
}

/* Begins to change what is marked. Returns whether the thread is alone. */
static int begin(void)
{
	if (MCCHK_LIKELY(mcchk_sole()))
		return 1;
	mcchk_spin_lock(&lock);
	return 0;
}

static void end(int alone)
{
	if (alone)
		mcchk_sole_ends();
	else
		mcchk_spin_unlock(&lock);
}

/* Memory ceases to matter: a loop that goes on was before the first of two such moments, or
 * began before the second. */
static void pass_moment(int alone)
{
	if (alone)
		__atomic_store_n(&mcchk_moment, mcchk_moment + MCCHK_UNMARKED, __ATOMIC_RELEASE);
	else
		__atomic_add_fetch(&mcchk_moment, MCCHK_UNMARKED, __ATOMIC_SEQ_CST);
}

static uint32_t home_slot(uint64_t page) { return (uint32_t)((page * 0x9E3779B97F4A7C15ull) >> 49) & (SLOTS - 1); }

/* The bits of 64 granules of a page. */
static uint64_t *part(uint64_t page, uint32_t g) { return (uint64_t *)(void *)(MCCHK_PARTS + (page * GRANULES + g) / 64 * 8); }

static struct block *find_block(uint64_t page)
{
	if (!(COVERS[page] & IN_BLOCK))
		return NULL;
	for (uint32_t s = home_slot(page);; s = (s + 1) & (SLOTS - 1)) {
		if (table.page[s] == page)
			return &table.blocks[table.index[s]];
		if (table.page[s] == 0)
			return NULL;
	}
}

static void insert_block(uint64_t page, uint32_t index)
{
	uint32_t s = home_slot(page);
	while (table.page[s] != 0)
		s = (s + 1) & (SLOTS - 1);
	table.index[s] = index;
	table.page[s] = page;
	COVERS[page] |= IN_BLOCK;
}

/* Forgets the blocks that no range needs any more. */
static void drop_unused_blocks(void)
{
	static uint64_t live[MAX_BLOCKS]; /* under the lock */
	uint32_t n = 0;

	for (uint32_t i = 0; i < MAX_BLOCKS; i++)
		live[i] = 0;
	for (uint32_t s = 0; s < SLOTS; s++) {
		uint64_t page = table.page[s];
		if (page == 0)
			continue;
		if (table.blocks[table.index[s]].refs != 0)
			live[table.index[s]] = page;
		else /* of counts that overflowed */
			memset(part(page, 0), 0, GRANULES / 8);
		COVERS[page] &= (uint16_t)~IN_BLOCK;
		table.page[s] = 0;
	}
	for (uint32_t i = 0; i < table.used; i++) {
		if (live[i] == 0)
			continue;
		if (n != i)
			memcpy(&table.blocks[n], &table.blocks[i], sizeof(struct block));
		insert_block(live[i], n++);
	}
	memset(&table.blocks[n], 0, (size_t)(table.used - n) * sizeof(struct block));
	table.used = n;
}

static struct block *get_block(uint64_t page)
{
	if (!table.blocks) {
		void *p = mmap(NULL, (size_t)MAX_BLOCKS * sizeof(struct block), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		table.blocks = p;
	}
	struct block *b = find_block(page);
	if (b)
		return b;
	if (table.used == MAX_BLOCKS) {
		static uint32_t futile; /* attempts to skip after one that freed little */
		if (futile != 0) {
			futile--;
			return NULL;
		}
		drop_unused_blocks();
		if (table.used > MAX_BLOCKS - MAX_BLOCKS / 8)
			futile = MAX_BLOCKS;
		if (table.used == MAX_BLOCKS)
			return NULL;
	}
	uint32_t index = table.used++;
	insert_block(page, index);
	return &table.blocks[index];
}

static int is_watched(uint64_t page)
{
	for (uint32_t i = 0; i < watched_count; i++)
		if (page >= watched[i].first && page < watched[i].end)
			return 1;
	return 0;
}

static void refresh(uint64_t page)
{
	uint8_t v = 0;
	if (COVERS[page] & (USED | MANY)) {
		v = 1;
	} else {
		struct block *b = find_block(page);
		if (b && b->refs != 0)
			v = 2;
		if (is_watched(page))
			v |= WATCHED | 1;
	}
	__atomic_store_n(&MCCHK_SHADOW[page], v, __ATOMIC_RELEASE);
}

static void cover(uint64_t first, uint64_t end, int delta)
{
	for (uint64_t page = first; page < end; page++) {
		if ((COVERS[page] & MANY) == MANY)
			continue;
		COVERS[page] = (uint16_t)(COVERS[page] + delta);
		if (delta > 0)
			__atomic_store_n(&MCCHK_SHADOW[page], 1, __ATOMIC_RELEASE);
		else if (COVERS[page] == 0 && watched_count == 0)
			__atomic_store_n(&MCCHK_SHADOW[page], 0, __ATOMIC_RELEASE);
		else if ((COVERS[page] & (USED | MANY)) == 0)
			refresh(page);
	}
}

/* One more range, or one less, has the granules [g0, g1). */
static void count_granules(struct block *b, uint64_t page, uint32_t g0, uint32_t g1, int delta)
{
	for (uint32_t g = g0; g < g1; g++) {
		if ((b->counts[g] & MANY) == MANY)
			continue;
		b->counts[g] = (uint16_t)(b->counts[g] + delta);
		uint64_t bit = 1ull << (g & 63), *word = part(page, g);
		__atomic_store_n(word, b->counts[g] != 0 ? *word | bit : *word & ~bit, __ATOMIC_RELAXED);
	}
}

/* From now on it has counts. */
static void begin_to_count(struct block *b, uint64_t page)
{
	if (b->counted)
		return;
	for (uint32_t i = 0; i < b->listed; i++)
		count_granules(b, page, b->list[i].g0, b->list[i].g1, 1);
	b->counted = 1;
}

/* Those of the 64 granules from g on that are in [g0, g1), which has some of them, as bits. */
static uint64_t bits_in(uint32_t g, uint32_t g0, uint32_t g1)
{
	uint64_t from = g0 > g ? ~0ull << (g0 - g) : ~0ull;
	return g1 < g + 64 ? from & ~(~0ull << (g1 - g)) : from;
}

/* The bits of the words that [g0, g1) lies in, from the list. */
static void set_listed(const struct block *b, uint64_t page, uint32_t g0, uint32_t g1)
{
	for (uint32_t g = g0 & ~63u; g < g1; g += 64) {
		uint64_t bits = 0;
		for (uint32_t i = 0; i < b->listed; i++)
			if (b->list[i].g0 < g + 64 && b->list[i].g1 > g)
				bits |= bits_in(g, b->list[i].g0, b->list[i].g1);
		__atomic_store_n(part(page, g), bits, __ATOMIC_RELAXED);
	}
}

static void add_granules(struct block *b, uint64_t page, uint32_t g0, uint32_t g1)
{
	if (g0 == g1)
		return;
	if (!b->counted && b->listed < LISTED) {
		b->list[b->listed++] = (struct granules){(uint16_t)g0, (uint16_t)g1};
		set_listed(b, page, g0, g1);
		return;
	}
	begin_to_count(b, page);
	count_granules(b, page, g0, g1, 1);
}

static void remove_granules(struct block *b, uint64_t page, uint32_t g0, uint32_t g1)
{
	if (b->counted) {
		count_granules(b, page, g0, g1, -1);
		return;
	}
	for (uint32_t i = 0; i < b->listed; i++) {
		if (b->list[i].g0 != g0 || b->list[i].g1 != g1)
			continue;
		b->list[i] = b->list[--b->listed];
		set_listed(b, page, g0, g1);
		return;
	}
}

/* Marks the granules [g0, g1) of a page; returns 1 when all of it had to be. */
static int mark_part(uint64_t page, uint32_t g0, uint32_t g1)
{
	struct block *b = get_block(page);
	if (!b) {
		cover(page, page + 1, 1);
		return 1;
	}
	b->refs++;
	add_granules(b, page, g0, g1);
	refresh(page);
	return 0;
}

static void unmark_part(uint64_t page, uint32_t g0, uint32_t g1, int coarse)
{
	if (coarse) {
		cover(page, page + 1, -1);
		return;
	}
	struct block *b = find_block(page);
	if (!b)
		return;
	remove_granules(b, page, g0, g1);
	if (--b->refs == 0)
		refresh(page);
}

/* How a range lies on pages: [whole, whole_end) are covered whole. */
struct layout {
	uint64_t whole, whole_end;
	int first, last, before; /* has a partial first, last page, one to watch before it */
	uint64_t first_page, last_page;
	uint32_t first_g0, first_g1, last_g1;
};

static struct layout lay_out(const struct mcchk_range *r)
{
	struct layout l = {0};
	uint64_t p0 = r->lo / PAGE, p1 = (r->hi - 1) / PAGE;
	uint32_t off = r->lo % PAGE, end = (uint32_t)((r->hi - 1) % PAGE) + 1;

	l.first_page = p0;
	l.last_page = p1;
	l.first_g0 = off / 8;
	l.first_g1 = p0 == p1 ? (end + 7) / 8 : GRANULES;
	l.last_g1 = (end + 7) / 8;
	l.first = off != 0 || (p0 == p1 && end != PAGE);
	l.last = p0 != p1 && end != PAGE;
	l.before = off < 16 && p0 > 0; /* an unaligned access may begin there */
	l.whole = p0 + (l.first ? 1 : 0);
	l.whole_end = p1 + 1 - (l.last ? 1 : 0);
	return l;
}

/* Nothing matters to a process that writes no trace. It begins before memory is marked. */
static int markable(const struct mcchk_range *r)
{
	return mcchk_recording && r->lo < r->hi && r->lo >= PAGE && r->hi <= 1ull << MCCHK_ADDRESS_BITS;
}

/* Granules of a page have been a buffer. Returns whether some of them were not looked at
 * before. */
static int use_part(uint64_t page, uint32_t g0, uint32_t g1)
{
	int unseen = 0, whole = MCCHK_SHADOW[page] & 1;
	struct block *b = get_block(page);

	if (!b) {
		unseen = g0 < g1 && !whole;
		COVERS[page] |= USED;
		refresh(page);
		return unseen;
	}
	begin_to_count(b, page);
	if (!b->used) {
		b->used = 1;
		b->refs++;
	}
	for (uint32_t g = g0; g < g1; g++) {
		unseen |= b->counts[g] == 0 && !whole;
		b->counts[g] |= USED;
		__atomic_store_n(part(page, g), *part(page, g) | 1ull << (g & 63), __ATOMIC_RELAXED);
	}
	refresh(page);
	return unseen;
}

static int use(const struct mcchk_range *r)
{
	struct layout l = lay_out(r);
	int unseen = 0;

	if (l.before)
		use_part(l.first_page - 1, 0, 0);
	if (l.first)
		unseen |= use_part(l.first_page, l.first_g0, l.first_g1);
	if (l.last)
		unseen |= use_part(l.last_page, 0, l.last_g1);
	for (uint64_t page = l.whole; page < l.whole_end; page++) {
		if (COVERS[page] & USED)
			continue;
		unseen |= !(MCCHK_SHADOW[page] & 1);
		COVERS[page] |= USED;
		__atomic_store_n(&MCCHK_SHADOW[page], 1, __ATOMIC_RELEASE);
	}
	return unseen;
}

void mcchk_mark(struct mcchk_range *r)
{
	r->coarse = 0;
	if (!markable(r))
		return;
	struct layout l = lay_out(r);
	int alone = begin();
	if (l.before && mark_part(l.first_page - 1, 0, 0))
		r->coarse |= COARSE_BEFORE;
	if (l.first && mark_part(l.first_page, l.first_g0, l.first_g1))
		r->coarse |= COARSE_FIRST;
	if (l.last && mark_part(l.last_page, 0, l.last_g1))
		r->coarse |= COARSE_LAST;
	cover(l.whole, l.whole_end, 1);
	__atomic_store_n(&mcchk_marks, mcchk_marks + 1, __ATOMIC_RELAXED);
	end(alone);
	mcchk_watch_stack(r->lo);
}

void mcchk_unmark(const struct mcchk_range *r)
{
	if (!markable(r))
		return;
	struct layout l = lay_out(r);
	int alone = begin();
	if (mcchk_beside())
		use(r);
	pass_moment(alone);
	if (l.before)
		unmark_part(l.first_page - 1, 0, 0, r->coarse & COARSE_BEFORE);
	if (l.first)
		unmark_part(l.first_page, l.first_g0, l.first_g1, r->coarse & COARSE_FIRST);
	if (l.last)
		unmark_part(l.last_page, 0, l.last_g1, r->coarse & COARSE_LAST);
	cover(l.whole, l.whole_end, -1);
	__atomic_store_n(&mcchk_marks, mcchk_marks - 1, __ATOMIC_RELAXED);
	pass_moment(alone);
	end(alone);
}

/* The memory is a buffer, and matters from now on. Returns whether accesses to some of it
 * may not have been recorded so far. */
int mcchk_use(const struct mcchk_range *r)
{
	if (!markable(r))
		return 0;
	int alone = begin();
	int unseen = use(r);
	end(alone);
	mcchk_watch_stack(r->lo);
	return unseen;
}

#define ALIKE 64 /* pages that are looked at together */

/* Whether that is what is known of so many pages, from one whose number is a multiple of it. */
static int alike(uint64_t page, uint64_t what)
{
	const uint64_t *eight = (const void *)&MCCHK_SHADOW[page];
	uint64_t other = 0;
	for (int i = 0; i < ALIKE / 8; i++)
		other |= eight[i] ^ what;
	return other == 0;
}

/* Pages are watched, or no more. Most are like those beside them. */
static void watch_pages(uint64_t page, uint64_t end, int on)
{
	const uint64_t all = 0x0101010101010101ull * (WATCHED | 1);

	while (page < end) {
		if (page % ALIKE == 0 && end - page >= ALIKE && alike(page, on ? 0 : all)) {
			memset(&MCCHK_SHADOW[page], on ? WATCHED | 1 : 0, ALIKE);
			page += ALIKE;
			continue;
		}
		uint8_t v = MCCHK_SHADOW[page];
		if (on && !(v & 1))
			__atomic_store_n(&MCCHK_SHADOW[page], v | WATCHED | 1, __ATOMIC_RELAXED);
		else if (!on && v & WATCHED)
			__atomic_store_n(&MCCHK_SHADOW[page], v & ~(WATCHED | 1), __ATOMIC_RELAXED);
		page++;
	}
}

/* All of that memory is watched from now on. */
void mcchk_watch_pages(const struct mcchk_pages *list, uint32_t n)
{
	int alone = begin();
	for (uint32_t i = 0; i < n && watched_count < MCCHK_MAX_PAGES; i++) {
		watched[watched_count++] = list[i];
		watch_pages(list[i].first, list[i].end, 1);
	}
	end(alone);
}

/* Nothing is watched any more. */
void mcchk_watch_ends(void)
{
	int alone = begin();
	pass_moment(alone);
	for (uint32_t i = 0; i < watched_count; i++)
		watch_pages(watched[i].first, watched[i].end, 0);
	watched_count = 0;
	pass_moment(alone);
	end(alone);
}

static int page_hit(uint64_t page, uint32_t g0, uint32_t g1)
{
	uint8_t v = __atomic_load_n(&MCCHK_SHADOW[page], __ATOMIC_ACQUIRE);
	if (v != 2)
		return v != 0;
	for (uint32_t g = g0 & ~63u; g < g1; g += 64)
		if (__atomic_load_n(part(page, g), __ATOMIC_RELAXED) & bits_in(g, g0, g1))
			return 1;
	return 0;
}

/* Whether any of [addr, addr+size) is marked. */
int mcchk_hot_granules(uintptr_t addr, uint64_t size)
{
	uint64_t last = addr + size - 1;
	if (last >> MCCHK_ADDRESS_BITS || last < addr)
		return 0;
	for (uint64_t page = addr / PAGE; page <= last / PAGE; page++) {
		uint32_t g0 = page == addr / PAGE ? (uint32_t)(addr % PAGE) / 8 : 0;
		uint32_t g1 = page == last / PAGE ? (uint32_t)(last % PAGE) / 8 + 1 : GRANULES;
		if (page_hit(page, g0, g1))
			return 1;
	}
	return 0;
}

/* The same for a range of any length, quick when its pages hold nothing. */
int mcchk_hot(uintptr_t addr, uint64_t size)
{
	if (size == 0 || addr >> MCCHK_ADDRESS_BITS || (addr + size - 1) >> MCCHK_ADDRESS_BITS)
		return 0;
	const uint8_t *p = MCCHK_SHADOW + addr / PAGE, *end = MCCHK_SHADOW + (addr + size - 1) / PAGE;
	while (p <= end && *p == 0)
		p++;
	return p <= end && mcchk_hot_granules(addr, size);
}
