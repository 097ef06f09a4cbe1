/* C11 and C++11 atomics, as the compilers call them under -fsanitize=thread.
 *
 * The call-back performs the operation, always sequentially consistent, which
 * is at least what the program asked for. A failed compare-and-exchange is
 * recorded as a load.
 *
 * In a program with several strands they order as the program asked: a load with acquire
 * order comes after the store with release order that it read, and after what has been
 * added to it since by others that read and write. So that notes say what values said,
 * an operation and its notes are made under a lock, one for each of many cells that
 * addresses are divided among.
 *
 * Of an operation on memory that processes share the values are noted, by which they are
 * ordered (mcchk_atomic_valued).
 */
#include "calls.h"

#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 u128;

static void record(uintptr_t addr, uint32_t size, uint32_t flags, uintptr_t pc, void **frame)
{
	if (MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT] != 0)
		mcchk_range_access(addr, size, pc, frame, flags | MCCHK_ATOMIC);
}

#define RECORD(p, type, flags)                                                                     \
	do {                                                                                       \
		if (__builtin_expect(MCCHK_SHADOW[(uintptr_t)(p) >> MCCHK_PAGE_SHIFT] != 0, 0))    \
			record((uintptr_t)(p), sizeof(type), flags, (uintptr_t)__builtin_return_address(0), MCCHK_CALLER_FRAME); \
	} while (0)

/* ---- order ---- */

#define CELLS 4096
#define LOADS 16   /* relaxed ones that a fence may still make acquire */
#define FENCES 64  /* of a thread that relaxed stores may still publish */

/* What is known of the addresses of a cell. */
static struct cell {
	int lock;
	uint32_t stores, changes; /* what may order: stores, and all */
	uint64_t fenced;          /* the address that was stored to behind a fence last, */
	uint64_t fence;           /* and the object that the fence released */
	uint64_t head, strand;    /* the address that was released last, and by whom */
} cells[CELLS];

/* What the thread has written of its trace. */
struct written {
	uint64_t call;
	const struct mcchk_chunk *calls, *accesses;
	uint32_t calls_used, accesses_used;
};

static __thread struct {
	int inside; /* a signal handler does not wait for the cell that it interrupted */
	uint64_t fence, fences[FENCES];
	bool published;        /* the last one has been */
	struct written fenced; /* what was written when the last fence was over, */
	int done;              /* and what that has done, with those before it behind which nothing was */
	uint32_t fence_count, load_count, known_count;
	struct {
		uint64_t address;
		uint32_t stores;
	} loads[LOADS];
	struct {
		uint64_t address, strand;
		uint32_t changes;
	} known[LOADS]; /* acquired already */
} self;

static struct cell *cell_of(uint64_t address) { return &cells[address * 0x9E3779B97F4A7C15ull >> 52]; }

static struct cell *lock_cell(const volatile void *p)
{
	if (!mcchk_orders() || self.inside || mcchk_self.depth || mcchk_self.busy)
		return NULL;
	struct cell *c = cell_of((uintptr_t)p);
	self.inside = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_spin_lock(&c->lock);
	return c;
}

static void unlock_cell(struct cell *c)
{
	mcchk_spin_unlock(&c->lock);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.inside = 0;
}

static bool acquires(int order) { return (order & 7) == __ATOMIC_SEQ_CST || (order & 7) == __ATOMIC_ACQ_REL || (order & 7) == __ATOMIC_ACQUIRE || (order & 7) == __ATOMIC_CONSUME; }
static bool releases(int order) { return (order & 7) == __ATOMIC_SEQ_CST || (order & 7) == __ATOMIC_ACQ_REL || (order & 7) == __ATOMIC_RELEASE; }

/* Whether the strand has acquired all that there is; it has from now on. */
static bool known(uint64_t address, uint32_t changes)
{
	uint64_t strand = mcchk_strand_current();
	for (int i = 0; i < LOADS; i++) {
		if (self.known[i].address != address || self.known[i].strand != strand)
			continue;
		bool same = self.known[i].changes == changes;
		self.known[i].changes = changes;
		return same;
	}
	uint32_t i = self.known_count++ % LOADS;
	self.known[i].address = address;
	self.known[i].strand = strand;
	self.known[i].changes = changes;
	return false;
}

static void acquire(struct cell *c, uint64_t address, void **frame)
{
	if (c->changes == 0 || known(address, c->changes))
		return;
	MCCHK_ACQUIRE(address, frame);
	if (c->fenced == address)
		MCCHK_ACQUIRE(c->fence, frame);
}

/* A load with relaxed order has read what a fence behind it may acquire. */
static void remember(const struct cell *c, uint64_t address)
{
	if (c->changes == 0)
		return;
	uint32_t i = self.load_count++ % LOADS;
	self.loads[i].address = address;
	self.loads[i].stores = c->stores;
}

static void loaded(struct cell *c, const volatile void *p, int order, void **frame)
{
	if (acquires(order))
		acquire(c, (uintptr_t)p, frame);
	else
		remember(c, (uintptr_t)p);
}

static void publish(struct cell *c, uint64_t address, int order, void **frame)
{
	if (releases(order)) {
		c->changes++;
		c->head = address;
		c->strand = mcchk_strand_current();
		MCCHK_RELEASE(address, frame);
	} else if (self.fence) {
		c->changes++;
		c->fenced = address;
		c->fence = self.fence;
		self.published = true;
	}
}

/* A store begins anew; what reads it comes after nothing that others released before. One by whom
 * has released there last goes on with that (C11, 5.1.2.4). */
static void stored(struct cell *c, const volatile void *p, int order, void **frame)
{
	if (c->changes && (c->head != (uintptr_t)p || c->strand != mcchk_strand_current())) {
		c->stores++;
		c->changes++;
		MCCHK_OBJECT_END((uintptr_t)p, frame);
		if (c->fenced == (uintptr_t)p)
			c->fenced = 0;
	}
	publish(c, (uintptr_t)p, order, frame);
}

static void updated(struct cell *c, const volatile void *p, int order, void **frame)
{
	loaded(c, p, order, frame);
	publish(c, (uintptr_t)p, order, frame);
}

/* What another part of the run-time notes as a release of this address, an atomic may
 * acquire. */
void mcchk_atomic_released(const void *p)
{
	struct cell *c = cell_of((uintptr_t)p);
	mcchk_spin_lock(&c->lock);
	c->changes++;
	mcchk_spin_unlock(&c->lock);
}

static void fence_acquires(void **frame)
{
	for (int i = 0; i < LOADS; i++) {
		uint64_t address = self.loads[i].address;
		struct cell *c = address ? lock_cell((void *)(uintptr_t)address) : NULL;
		self.loads[i].address = 0;
		if (!c)
			continue;
		if (c->stores == self.loads[i].stores)
			acquire(c, address, frame);
		unlock_cell(c);
	}
}

static bool same(const struct written *a, const struct written *b)
{
	return a->call == b->call && a->calls == b->calls && a->accesses == b->accesses && a->calls_used == b->calls_used && a->accesses_used == b->accesses_used;
}

static struct written written(const struct mcchk_thread *t)
{
	const struct mcchk_chunk *c = t->calls.chunk, *a = t->accesses.chunk;
	return (struct written){t->latest, c, a, c ? c->used : 0, a ? a->used : 0};
}

/* Each fence is an object of its own: what is stored behind it publishes what was before
 * it, and no more. One behind which nothing was published goes on as the next. */
static void fence_releases(void **frame)
{
	if (!self.fence || self.published) {
		uint64_t *old = &self.fences[self.fence_count++ % FENCES];
		if (*old)
			MCCHK_OBJECT_END(*old, frame);
		*old = self.fence = mcchk_objects(1);
		self.published = false;
	}
	MCCHK_RELEASE(self.fence, frame);
}

/* Performs an operation; in a program with several strands, with its notes. */
#define ORDERED(p, operation, note)                                                                \
	do {                                                                                       \
		struct cell *c = lock_cell(p);                                                     \
		operation;                                                                         \
		if (__builtin_expect(c != NULL, 0)) {                                              \
			note;                                                                      \
			unlock_cell(c);                                                            \
		}                                                                                  \
	} while (0)

/* ---- values ---- */

void (*mcchk_atomic_first)(void);
void (*mcchk_atomic_valued)(uint64_t begin, const volatile void *p, uint32_t size, int how, int order, int64_t operand, int64_t found, void **frame);
int (*mcchk_atomic_again)(const volatile void *p, int64_t found, void **frame);

/* When an operation begins of which the values are noted; 0: they are not. What only lies on a page
 * with such memory is none: of a word that came and went with buffers beside it, values would be missing. */
static uint64_t valued(const volatile void *p)
{
	if (__builtin_expect(mcchk_atomic_first == NULL, 1))
		return 0;
	uintptr_t addr = (uintptr_t)p;
	uint8_t page = MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT];
	if (page != 1 && !(page & 2 && MCCHK_PARTS[addr >> 6] >> (addr >> 3 & 7) & 1))
		return 0;
	if (!mcchk_atomic_valued)
		mcchk_atomic_first();
	return mcchk_now();
}

/* A value with its sign; sixteen bytes are folded into eight, which tells them apart. */
#define UNUSED_BITS(type) (sizeof(type) < 8 ? 64 - 8 * sizeof(type) : 0)
#define FOLDED(v) ((uint64_t)(v) + (uint64_t)((u128)(v) >> 64) * 0x9E3779B97F4A7C15ull)
#define SIGNED(type, v) (sizeof(type) > 8 ? (int64_t)FOLDED(v) : (int64_t)((uint64_t)(v) << UNUSED_BITS(type)) >> UNUSED_BITS(type))

#define VALUED(p, type, how, order, operand, found)                                                \
	do {                                                                                       \
		if (__builtin_expect(begin != 0, 0))                                               \
			mcchk_atomic_valued(begin, p, sizeof(type), how, order, SIGNED(type, operand), SIGNED(type, found), MCCHK_FRAME); \
	} while (0)

/* Whether an operation that only loads polls: neither its access nor its value is recorded then. */
#define AGAIN(p, type, found)                                                                      \
	(__builtin_expect(begin != 0, 0) && mcchk_atomic_again(p, SIGNED(type, found), MCCHK_FRAME))

enum { VALUE_load, VALUE_store, VALUE_exchange, VALUE_fetch_add, VALUE_fetch_sub, VALUE_fetch_and, VALUE_fetch_or, VALUE_fetch_xor, VALUE_fetch_nand };

/* ---- the call-backs ---- */

#define LOAD_STORE(bits, type)                                                                     \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		type v;                                                                            \
		uint64_t begin = valued(p);                                                        \
		ORDERED(p, v = load_##bits(p), loaded(c, p, order, MCCHK_FRAME));                  \
		if (AGAIN(p, type, v))                                                             \
			return v;                                                                  \
		RECORD(p, type, 0);                                                                \
		VALUED(p, type, VALUE_load, order, 0, v);                                          \
		return v;                                                                          \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		RECORD(p, type, MCCHK_STORE);                                                      \
		uint64_t begin = valued(p);                                                        \
		ORDERED(p, store_##bits(p, v), stored(c, p, order, MCCHK_FRAME));                  \
		VALUED(p, type, VALUE_store, order, v, 0);                                         \
	}

/* What operations leave: of sixteen bytes that is noted, since sums of folded values are no
 * folded sums. */
#define LEFT_exchange(old, v) (v)
#define LEFT_fetch_add(old, v) ((old) + (v))
#define LEFT_fetch_sub(old, v) ((old) - (v))
#define LEFT_fetch_and(old, v) ((old) & (v))
#define LEFT_fetch_or(old, v) ((old) | (v))
#define LEFT_fetch_xor(old, v) ((old) ^ (v))
#define LEFT_fetch_nand(old, v) (~((old) & (v)))

/* One that leaves what it found is to others a load: who spins with it polls. */
#define FETCH(bits, type, name)                                                                    \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		type old;                                                                          \
		RECORD(p, type, MCCHK_STORE);                                                      \
		uint64_t begin = valued(p);                                                        \
		ORDERED(p, old = name##_##bits(p, v), updated(c, p, order, MCCHK_FRAME));          \
		if ((type)LEFT_##name(old, v) != old)                                              \
			VALUED(p, type, sizeof(type) > 8 ? VALUE_exchange : VALUE_##name, order,   \
			       sizeof(type) > 8 ? LEFT_##name(old, v) : v, old);                   \
		else if (!AGAIN(p, type, old))                                                     \
			VALUED(p, type, VALUE_load, order, 0, old);                                \
		return old;                                                                        \
	}

#define EXCHANGE(p, operation)                                                                     \
	ORDERED(p, operation, done ? updated(c, p, order, MCCHK_FRAME) : loaded(c, p, failed, MCCHK_FRAME))

#define CAS(bits, type)                                                                            \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *expected, type v, int order, int failed) \
	{                                                                                          \
		bool done;                                                                         \
		uint64_t begin = valued(p);                                                        \
		EXCHANGE(p, done = cas_##bits(p, expected, v));                                    \
		if (!done && AGAIN(p, type, *expected))                                            \
			return done;                                                               \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
		VALUED(p, type, done ? VALUE_exchange : VALUE_load, done ? order : failed, v, *expected); \
		return done;                                                                       \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *expected, type v, int order, int failed) \
	{                                                                                          \
		bool done;                                                                         \
		uint64_t begin = valued(p);                                                        \
		EXCHANGE(p, done = cas_##bits(p, expected, v));                                    \
		if (!done && AGAIN(p, type, *expected))                                            \
			return done;                                                               \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
		VALUED(p, type, done ? VALUE_exchange : VALUE_load, done ? order : failed, v, *expected); \
		return done;                                                                       \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v, int order, int failed) \
	{                                                                                          \
		bool done;                                                                         \
		uint64_t begin = valued(p);                                                        \
		EXCHANGE(p, done = cas_##bits(p, &expected, v));                                   \
		if (!done && AGAIN(p, type, expected))                                             \
			return expected;                                                           \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
		VALUED(p, type, done ? VALUE_exchange : VALUE_load, done ? order : failed, v, expected); \
		return expected;                                                                   \
	}

#define ALL(bits, type)                                                                            \
	LOAD_STORE(bits, type)                                                                     \
	FETCH(bits, type, exchange)                                                                \
	FETCH(bits, type, fetch_add)                                                               \
	FETCH(bits, type, fetch_sub)                                                               \
	FETCH(bits, type, fetch_and)                                                               \
	FETCH(bits, type, fetch_or)                                                                \
	FETCH(bits, type, fetch_xor)                                                               \
	FETCH(bits, type, fetch_nand)                                                              \
	CAS(bits, type)

#define NATIVE(bits, type)                                                                         \
	static type load_##bits(const volatile type *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
	static void store_##bits(volatile type *p, type v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
	static type exchange_##bits(volatile type *p, type v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_add_##bits(volatile type *p, type v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_sub_##bits(volatile type *p, type v) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_and_##bits(volatile type *p, type v) { return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_or_##bits(volatile type *p, type v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_xor_##bits(volatile type *p, type v) { return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST); } \
	static type fetch_nand_##bits(volatile type *p, type v) { return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST); } \
	static bool cas_##bits(volatile type *p, type *e, type v)                                  \
	{                                                                                          \
		return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}

NATIVE(8, uint8_t)
NATIVE(16, uint16_t)
NATIVE(32, uint32_t)
NATIVE(64, uint64_t)

ALL(8, uint8_t)
ALL(16, uint16_t)
ALL(32, uint32_t)
ALL(64, uint64_t)

#ifdef __x86_64__
/* Sixteen bytes: without libatomic, everything is a compare-and-exchange. */
static bool cas_128(volatile u128 *p, u128 *e, u128 v)
{
	bool done;
	uint64_t lo = (uint64_t)*e, hi = (uint64_t)(*e >> 64);
	__asm__ __volatile__("lock cmpxchg16b %1"
			     : "=@cce"(done), "+m"(*p), "+a"(lo), "+d"(hi)
			     : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
			     : "memory");
	*e = (u128)hi << 64 | lo;
	return done;
}

static u128 load_128(const volatile u128 *p)
{
	u128 v = 0;
	cas_128((volatile u128 *)p, &v, v);
	return v;
}

#define LOOP(name)                                                                                 \
	static u128 name##_128(volatile u128 *p, u128 v)                                           \
	{                                                                                          \
		u128 old = load_128(p);                                                            \
		while (!cas_128(p, &old, LEFT_##name(old, v))) { }                                 \
		return old;                                                                        \
	}
LOOP(exchange)
LOOP(fetch_add)
LOOP(fetch_sub)
LOOP(fetch_and)
LOOP(fetch_or)
LOOP(fetch_xor)
LOOP(fetch_nand)

static void store_128(volatile u128 *p, u128 v) { exchange_128(p, v); }

ALL(128, u128)
#endif

void (*mcchk_fence_noted)(int order, void **frame);
__thread uint64_t mcchk_polled __attribute__((tls_model("initial-exec")));

void mcchk_fence(int order, void **frame)
{
	enum { ACQUIRES = 1, RELEASES = 2 };
	const struct mcchk_thread *t = mcchk_self.thread;
	if (!mcchk_fence_noted && !mcchk_orders())
		return;
	bool polls = t && mcchk_polled == t->latest;
	struct written now = t ? written(t) : (struct written){0};
	if (!t || !same(&now, &self.fenced))
		self.done = 0;
	/* What has been done already, with nothing recorded since: a loop that polls may have fences. */
	int does = (acquires(order) ? ACQUIRES : 0) | (releases(order) ? RELEASES : 0);
	int missing = does & ~(t && t->touching_count == 0 && !t->beside ? self.done : self.done & ~RELEASES);
	if (missing && mcchk_fence_noted)
		mcchk_fence_noted(order, frame);
	if (mcchk_orders()) {
		if (does & ACQUIRES)
			fence_acquires(frame);
		if (missing & RELEASES)
			fence_releases(frame);
	}
	if (!(t = mcchk_self.thread))
		return;
	self.done |= does;
	self.fenced = written(t);
	if (polls) /* what is loaded again is still the same: nobody can see a fence by itself */
		mcchk_polled = t->latest;
}

void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	mcchk_fence(order, MCCHK_FRAME);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
