/* The time (clock.c). mcchk.h includes this. */
#ifndef MCCHK_CLOCK_H
#define MCCHK_CLOCK_H

#pragma GCC visibility push(hidden)

/* When the processor's counter showed so many cycles, it was so late; it goes on by so many
 * nanoseconds, times 2^32, a cycle; 0: the counter does not tell the time. */
struct mcchk_clock {
	uint64_t cycles, ns, scale;
};

extern struct mcchk_clock mcchk_clock;

void mcchk_clock_measure(struct mcchk_clock *);     /* for all processes of this machine */
void mcchk_clock_agree(const struct mcchk_clock *); /* this process goes by it */
uint64_t mcchk_ask_clock(void);

/* The time when the counter showed so many cycles. */
static inline uint64_t mcchk_time_of(uint64_t cycles)
{
	const struct mcchk_clock *k = &mcchk_clock;
	uint64_t scale = __atomic_load_n(&k->scale, __ATOMIC_ACQUIRE), since = cycles - k->cycles;

	if (MCCHK_LIKELY(scale != 0 && since < 1ull << 62))
		return k->ns + (uint64_t)((unsigned __int128)since * scale >> 32);
	return mcchk_ask_clock();
}

/* The time; what comes before here may not all be done by then, and nothing is that comes after. */
static inline uint64_t mcchk_now_or_before(void)
{
#ifdef __x86_64__
	uint64_t cycles = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence(); /* a load does not wait for the counter */
	return mcchk_time_of(cycles);
#else
	return mcchk_ask_clock();
#endif
}

/* The time, after all that comes before here is done and has reached those who share memory: what
 * was stored may else be on its way there for microseconds. */
static inline uint64_t mcchk_now(void)
{
#ifdef __x86_64__
	__builtin_ia32_mfence(); /* the locked instruction that compilers take for it may end before what was stored is seen */
	__builtin_ia32_lfence();
	return mcchk_time_of(__builtin_ia32_rdtsc());
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return mcchk_ask_clock();
#endif
}

#pragma GCC visibility pop
#endif
