/* The time of CLOCK_MONOTONIC, in nanoseconds.
 *
 * Where the kernel takes it from the processor's counter of cycles, that is read here too
 * (mcchk_now in clock.h), which takes half as long as asking the C library. How long a cycle is
 * each thread measures between times that it asks for; and it asks again every millisecond or so.
 * So what it says is no more than some nanoseconds away from what others of its machine say, and
 * never goes back.
 */
#include "mcchk.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t asked(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#ifdef __x86_64__
#include <cpuid.h>

#define SPAN (1ull << 22)    /* cycles that a time asked for is good for, and that are measured at first */
#define ENOUGH (1ull << 26)  /* cycles that are measured later, … */
#define LONG (1ull << 30)    /* … before others are, … */
#define TOO_LONG (1ull << 33) /* … and that are not: there are too many nanoseconds in them */
#define ASTRAY 10000u        /* ns that the two do not get apart in a span unless one of them was set */

static int counts; /* the counter is what the kernel uses */

void mcchk_clock_start(void)
{
	static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[8] = "";
	unsigned a = 0, b = 0, c = 0, d = 0;
	int fd = open(source, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	ssize_t n = read(fd, name, sizeof name - 1);
	close(fd);
	counts = n > 0 && strcmp(name, "tsc\n") == 0 && __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

/* Both at one moment. Returns whether they are: an interrupt may have come in between. */
static int ask(struct mcchk_clock *k, uint64_t *cycles, uint64_t *ns)
{
	for (int tries = 0; tries < 4; tries++) {
		uint64_t before = __builtin_ia32_rdtsc();
		*ns = asked();
		uint64_t took = __builtin_ia32_rdtsc() - before;
		*cycles = before + took / 2;
		if (k->quickest == 0 || took < k->quickest)
			k->quickest = took;
		if (took <= k->quickest + k->quickest / 2)
			return 1;
	}
	return 0;
}

/* Whether the counter has gone on as it was measured. */
static int goes_on(const struct mcchk_clock *k, uint64_t cycles, uint64_t ns)
{
	uint64_t since = cycles - k->cycles, expected = k->ns + (since * k->scale >> 32);
	return since >= 4 * SPAN || expected - ns + ASTRAY < 2 * ASTRAY;
}

/* Measures how long a cycle is, once there are enough of them. */
static void measure(struct mcchk_clock *k, uint64_t cycles, uint64_t ns)
{
	uint64_t passed = cycles - k->first_cycles;

	if (k->first_cycles != 0 && passed < TOO_LONG && passed >= (k->span ? ENOUGH : SPAN)) {
		k->scale = ((ns - k->first_ns) << 32) / passed;
		k->span = SPAN;
	}
	if (k->first_cycles == 0 || passed >= LONG) {
		k->first_cycles = cycles;
		k->first_ns = ns;
	}
}

uint64_t mcchk_ask_clock(void)
{
	struct mcchk_clock *k = &mcchk_self.clock;
	uint64_t cycles, ns;

	if (!counts)
		return asked();
	if (!ask(k, &cycles, &ns))
		return ns;
	if (k->span && !goes_on(k, cycles, ns)) {
		k->span = 0;
		k->first_cycles = 0;
	}
	measure(k, cycles, ns);
	k->cycles = cycles;
	k->ns = ns;
	return ns;
}
#else
void mcchk_clock_start(void) {}

uint64_t mcchk_ask_clock(void) { return asked(); }
#endif
