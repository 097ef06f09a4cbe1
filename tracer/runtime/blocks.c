/* Where the program allocated the blocks of its heap that become buffers or windows.
 *
 * The program is linked with -Wl,--wrap for what allocates (see memops.c). A table has
 * the blocks that are alive, each with the place of its allocation; a record is written
 * only when the first call names memory in one. Whatever cannot be had at once is done
 * without, as it only tells more of a finding: the table has a fixed size, and of small
 * blocks the first ones of a process are remembered. Nothing here locks but what writes
 * the record, and nothing allocates, so that it does not matter which allocator there is,
 * and who forks.
 *
 * A block is found by any address in it. So it stands under the power of two that holds
 * its size, and its address divided by that: the block that holds an address has this
 * quotient, or one less.
 */
#include "calls.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SMALL 1024        /* bytes; of smaller blocks */
#define BUDGET (1 << 16)  /* so many are remembered */
#define BUCKETS (1u << 14)
#define WAYS 4
#define PLACES (1u << 14) /* places of allocations, with what called them */
#define PROBES 16
#define FRAMES 20
#define PAGES (1u << 18)
#define NAMED 64
#define RECORDS (1u << 16)
#define CLASSES 48

#define TOLD (1ull << 63) /* in the size of a block: a record was written */
#define BUSY 1            /* an entry that is being written */

struct entry {
	uint64_t base_place; /* the address, 48 bits, and the number of the place, 16; 0: none; atomic */
	uint64_t size;       /* atomic */
};

struct place {
	uint64_t hash;   /* 0: none; atomic */
	uint32_t frames; /* 0: not written yet; atomic */
	uint64_t pcs[FRAMES];
};

static struct {
	struct entry buckets[BUCKETS][WAYS];
	struct place places[PLACES];
	uint8_t pages[PAGES]; /* whether a block in the table begins in such a page; atomic */
} *table; /* NULL: nothing is remembered */
void *mcchk_blocks;

static uint64_t classes; /* that blocks have been of; atomic */
static int budget = BUDGET;

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define REAL(type, name, ...) extern type __real_##name(__VA_ARGS__) __attribute__((weak))

REAL(void *, malloc, size_t);
REAL(void *, calloc, size_t, size_t);

static int of_malloc_library(void *function)
{
	Dl_info a, b;
	return dladdr(function, &a) && dladdr((void *)malloc_usable_size, &b) && a.dli_fbase == b.dli_fbase;
}

/* Before the constructors of the program. */
__attribute__((constructor(101))) static void start(void)
{
	if (mcchk_preloaded || !getenv("MCCHK_TRACE_DIR") || !__real_malloc || !of_malloc_library((void *)__real_malloc))
		return;
	void *p = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED)
		mcchk_blocks = table = p;
}

/* ---- places ---- */

/* The return addresses of the functions from that with this frame on. */
static uint32_t walk(void **frame, uint64_t *pcs)
{
	uintptr_t last = (uintptr_t)frame, lo, hi;
	uint32_t n = 0;

	mcchk_stack_bounds(&lo, &hi);
	pcs[n++] = (uint64_t)(uintptr_t)frame[1];
	if (last < lo || last >= hi)
		return n;
	for (void **f = frame[0]; n < FRAMES; f = f[0]) {
		uintptr_t at = (uintptr_t)f;
		if (at <= last || at + 2 * sizeof(void *) > hi || at % sizeof(void *) != 0 || (uintptr_t)f[1] < 4096)
			break;
		pcs[n++] = (uint64_t)(uintptr_t)f[1];
		last = at;
	}
	return n;
}

/* The number of the place that the wrapper with this frame is called from; 0: it has none. */
static uint32_t place_of(void **frame)
{
	uint64_t pcs[FRAMES], h = 0;
	uint32_t n = walk(frame, pcs);

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ pcs[i]) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	h = h ? h : 1;
	for (uint32_t k = 0; k < PROBES; k++) {
		uint32_t i = (uint32_t)(h + k) % PLACES;
		struct place *p = &table->places[i];
		uint64_t had = GET(p->hash);
		if (had == 0 && __atomic_compare_exchange_n(&p->hash, &had, h, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			for (uint32_t j = 0; j < n; j++) /* a memcpy here would be one of the program */
				__atomic_store_n(&p->pcs[j], pcs[j], __ATOMIC_RELAXED);
			SET(p->frames, n);
			return i + 1;
		}
		if (had == h)
			return i + 1;
	}
	return 0;
}

/* ---- the table ---- */

static uint32_t class_of(uint64_t size) { return size <= 16 ? 4 : 64 - (uint32_t)__builtin_clzll(size - 1); }

static struct entry *bucket(uint64_t base, uint32_t class)
{
	return table->buckets[((base >> class ^ (uint64_t)class << 40) * 0x9E3779B97F4A7C15ull) >> 50];
}

static uint8_t *page(uint64_t base) { return &table->pages[(base >> MCCHK_PAGE_SHIFT) % PAGES]; }

static void insert(uint64_t base, uint64_t size, uint32_t class, uint32_t place)
{
	struct entry *b = bucket(base, class), *into = NULL;
	uint64_t had = 0, least = size;

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t w = GET(b[i].base_place), s = GET(b[i].size) & ~TOLD;
		if (w != 0 && w >> 16 != base && (s >= least || w == BUSY))
			continue;
		into = &b[i];
		had = w;
		least = w == 0 ? 0 : s;
		if (w >> 16 == base && w != 0)
			break;
	}
	if (!into || !__atomic_compare_exchange_n(&into->base_place, &had, BUSY, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	SET(into->size, size);
	SET(into->base_place, base << 16 | place);
	if (!*page(base))
		__atomic_store_n(page(base), 1, __ATOMIC_RELAXED);
	if (!(__atomic_load_n(&classes, __ATOMIC_RELAXED) >> class & 1))
		__atomic_fetch_or(&classes, 1ull << class, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void made(void *p, uint64_t size, void *frame)
{
	uint64_t base = (uint64_t)(uintptr_t)p;

	if (!p || size == 0 || mcchk_self.depth || mcchk_self.busy || base >> 48)
		return;
	uint32_t class = class_of(malloc_usable_size(p)), place = class < CLASSES ? place_of(frame) : 0;
	if (place)
		insert(base, size, class, place);
}

static inline __attribute__((always_inline)) void allocated(void *p, uint64_t size, void *frame)
{
	if (MCCHK_LIKELY(!table))
		return;
	if (size < SMALL) { /* several threads may take one for the same */
		int left = __atomic_load_n(&budget, __ATOMIC_RELAXED);
		if (left <= 0)
			return;
		__atomic_store_n(&budget, left - 1, __ATOMIC_RELAXED);
	}
	made(p, size, frame);
}

static __attribute__((noinline)) void forget(void *p)
{
	uint64_t base = (uint64_t)(uintptr_t)p;
	uint32_t class = class_of(malloc_usable_size(p));

	if (class >= CLASSES || !(__atomic_load_n(&classes, __ATOMIC_RELAXED) >> class & 1))
		return;
	struct entry *b = bucket(base, class);
	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t w = GET(b[i].base_place);
		if (w >> 16 == base && w != 0)
			__atomic_compare_exchange_n(&b[i].base_place, &w, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

/* A block of malloc is about to be freed, or to get another size. */
void mcchk_block_ends(void *p)
{
	if (MCCHK_LIKELY(!table) || !p || !__atomic_load_n(page((uint64_t)(uintptr_t)p), __ATOMIC_RELAXED))
		return;
	forget(p);
}

/* It has another size, and perhaps another place. */
void mcchk_block_resized(void *p, uint64_t size, void *frame) { allocated(p, size, frame); }

/* The block that holds an address; NULL where it is none, or not certain which. */
static struct entry *find(uint64_t at, uint64_t *word)
{
	struct entry *found = NULL;

	for (uint64_t left = __atomic_load_n(&classes, __ATOMIC_RELAXED); left; left &= left - 1) {
		uint32_t class = (uint32_t)__builtin_ctzll(left);
		for (uint64_t base = at, k = 0; k < 2; k++, base -= 1ull << class) {
			struct entry *b = bucket(base, class);
			for (uint32_t i = 0; i < WAYS; i++) {
				uint64_t w = GET(b[i].base_place), size = GET(b[i].size) & ~TOLD;
				if (w <= UINT16_MAX || at < w >> 16 || at - (w >> 16) >= size || &b[i] == found)
					continue;
				if (found)
					return NULL;
				found = &b[i];
				*word = w;
			}
		}
	}
	return found;
}

/* ---- the record ---- */

/* Blocks that were told last. */
static struct named {
	const struct entry *entry;
	uint64_t word, lo, hi;
} named[NAMED];
static int naming;
static uint32_t records;

static struct named *named_at(uint64_t at) { return &named[(at >> MCCHK_PAGE_SHIFT) * 0x9E3779B97F4A7C15ull >> 58]; }

static void tell(struct entry *e, uint64_t word)
{
	struct record {
		uint8_t type, flags;
		uint16_t zero;
		uint32_t length;
		uint64_t base, size, seq;
		uint32_t stack, none;
	};
	const struct place *p = &table->places[(word & UINT16_MAX) - 1];
	struct mcchk_walked w;
	struct mcchk_thread *t = mcchk_thread_get();
	uint64_t lo = word >> 16, size = GET(e->size);

	w.frames = GET(p->frames);
	w.pointers = 0;
	if (!t || w.frames == 0 || records == RECORDS)
		return;
	for (uint32_t i = 0; i < w.frames; i++)
		w.pcs[i] = GET(p->pcs[i]);
	uint32_t stack = mcchk_stack_walked(t, &w);
	struct record *r = stack ? mcchk_reserve(t, sizeof *r) : NULL;
	if (!r)
		return;
	*r = (struct record){.type = 19, .length = sizeof *r, .base = lo, .size = size,
			     .seq = __atomic_load_n(&mcchk_seq, __ATOMIC_RELAXED), .stack = stack};
	mcchk_commit(t, sizeof *r);
	records++;
	for (uint32_t i = 0; i < NAMED; i++) /* what was told of this memory is no more */
		if (named[i].lo < lo + size && lo < named[i].hi)
			named[i].hi = named[i].lo;
}

/* Whether it is told of the block that has the address. */
static int is_named(const struct named *n, uint64_t at) { return at >= n->lo && at < n->hi && GET(n->entry->base_place) == n->word; }

/* A call that is about to be recorded names memory. */
void mcchk_block_named(uint64_t at)
{
	struct mcchk_tls *self = &mcchk_self;
	uint64_t word = 0;

	if (MCCHK_LIKELY(!table) || (at >= self->stack_lo && at < self->stack_hi))
		return;
	struct named *n = named_at(at);
	if (mcchk_sole()) {
		int told = is_named(n, at);
		mcchk_sole_ends();
		if (MCCHK_LIKELY(told))
			return;
	}
	mcchk_spin_lock(&naming);
	if (!is_named(n, at)) {
		struct entry *e = find(at, &word);
		if (e) {
			uint64_t size = GET(e->size);
			if (!(size & TOLD)) {
				tell(e, word);
				SET(e->size, size | TOLD);
			}
			*n = (struct named){e, word, word >> 16, (word >> 16) + (size & ~TOLD)};
		}
	}
	mcchk_spin_unlock(&naming);
}

/* ---- the C and C++ libraries ---- */

void *__wrap_malloc(size_t size)
{
	void *p = __real_malloc(size);
	allocated(p, size, MCCHK_FRAME);
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = __real_calloc(n, size);
	allocated(p, n * size, MCCHK_FRAME);
	return p;
}

#define ALLOCATES(name, size, parameters, arguments)                                               \
	REAL(void *, name, parameters);                                                            \
	void *__wrap_##name(parameters)                                                            \
	{                                                                                          \
		void *p = __real_##name(arguments);                                                \
		allocated(p, size, MCCHK_FRAME);                                                   \
		return p;                                                                          \
	}
#define BOTH(a, b) a, b
#define THREE(a, b, c) a, b, c
ALLOCATES(aligned_alloc, size, BOTH(size_t alignment, size_t size), BOTH(alignment, size))
ALLOCATES(memalign, size, BOTH(size_t alignment, size_t size), BOTH(alignment, size))

REAL(int, posix_memalign, void **, size_t, size_t);
int __wrap_posix_memalign(void **p, size_t alignment, size_t size)
{
	int rc = __real_posix_memalign(p, alignment, size);
	if (rc == 0)
		allocated(*p, size, MCCHK_FRAME);
	return rc;
}

/* operator new. That of a library calls malloc there, where it is not seen; one of the
 * program calls malloc itself, or gives a part of what it has. */
static int of_library(void *new)
{
	static int known, library; /* the same for all of the program */
	if (!GET(known)) {
		Dl_info a, program;
		library = new && dladdr(new, &a) && dladdr((void *)&mcchk_functions, &program) && a.dli_fbase != program.dli_fbase;
		SET(known, 1);
	}
	return library;
}

#define NEW(name, parameters, arguments)                                                           \
	REAL(void *, name, parameters);                                                            \
	void *__wrap_##name(parameters)                                                            \
	{                                                                                          \
		void *p = __real_##name(arguments);                                                \
		if (!MCCHK_LIKELY(!table) && of_library((void *)__real_##name))                    \
			allocated(p, size, MCCHK_FRAME);                                           \
		return p;                                                                          \
	}
NEW(_Znwm, size_t size, size)
NEW(_Znam, size_t size, size)
NEW(_ZnwmRKSt9nothrow_t, BOTH(size_t size, const void *nothrow), BOTH(size, nothrow))
NEW(_ZnamRKSt9nothrow_t, BOTH(size_t size, const void *nothrow), BOTH(size, nothrow))
NEW(_ZnwmSt11align_val_t, BOTH(size_t size, size_t alignment), BOTH(size, alignment))
NEW(_ZnamSt11align_val_t, BOTH(size_t size, size_t alignment), BOTH(size, alignment))
