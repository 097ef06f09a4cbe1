/* The time (clock.c). mcchk.h includes this. */
#ifndef MCCHK_CLOCK_H
#define MCCHK_CLOCK_H

#pragma GCC visibility push(hidden)

void mcchk_clock_start(void); /* before anything is recorded */
uint64_t mcchk_ask_clock(void);

/* The time; what comes before here may not all be done by then. */
static inline uint64_t mcchk_now_or_before(void)
{
	struct mcchk_clock *k = &mcchk_self.clock;
#ifdef __x86_64__
	uint64_t since = __builtin_ia32_rdtsc() - k->cycles;
	uint64_t ns = MCCHK_LIKELY(since < k->span) ? k->ns + (since * k->scale >> 32) : mcchk_ask_clock();
#else
	uint64_t ns = mcchk_ask_clock();
#endif
	k->latest = ns > k->latest ? ns : k->latest;
	return k->latest;
}

/* The time, after all that comes before here is done. */
static inline uint64_t mcchk_now(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
#endif
	return mcchk_now_or_before();
}

#pragma GCC visibility pop
#endif
