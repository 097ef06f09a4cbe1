/* C11 and C++11 atomics, as the compilers call them under -fsanitize=thread.
 *
 * The call-back performs the operation, always sequentially consistent, which
 * is at least what the program asked for. A failed compare-and-exchange is
 * recorded as a load.
 */
#include "mcchk.h"

#include <stdbool.h>

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

#define LOAD_STORE(bits, type)                                                                     \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		(void)order;                                                                       \
		RECORD(p, type, 0);                                                                \
		return load_##bits(p);                                                             \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		(void)order;                                                                       \
		RECORD(p, type, MCCHK_STORE);                                                      \
		store_##bits(p, v);                                                                \
	}

#define FETCH(bits, type, name)                                                                    \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		(void)order;                                                                       \
		RECORD(p, type, MCCHK_STORE);                                                      \
		return name##_##bits(p, v);                                                        \
	}

#define CAS(bits, type)                                                                            \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *expected, type v, int order, int failed) \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		bool done = cas_##bits(p, expected, v);                                            \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
		return done;                                                                       \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *expected, type v, int order, int failed) \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		bool done = cas_##bits(p, expected, v);                                            \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
		return done;                                                                       \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v, int order, int failed) \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		bool done = cas_##bits(p, &expected, v);                                           \
		RECORD(p, type, done ? MCCHK_STORE : 0);                                           \
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

#define LOOP(name, expression)                                                                     \
	static u128 name##_128(volatile u128 *p, u128 v)                                           \
	{                                                                                          \
		u128 old = load_128(p);                                                            \
		while (!cas_128(p, &old, (expression))) { }                                        \
		return old;                                                                        \
	}
LOOP(exchange, v)
LOOP(fetch_add, old + v)
LOOP(fetch_sub, old - v)
LOOP(fetch_and, old &v)
LOOP(fetch_or, old | v)
LOOP(fetch_xor, old ^ v)
LOOP(fetch_nand, ~(old & v))

static void store_128(volatile u128 *p, u128 v) { exchange_128(p, v); }

ALL(128, u128)
#endif

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
