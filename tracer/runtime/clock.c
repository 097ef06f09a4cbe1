/* The time, in nanoseconds: CLOCK_MONOTONIC at the start of the run, and close to it from then on.
 *
 * Which of two operations came first is told by their times (core/placement.go), so these have to
 * agree among the processes of a machine to some nanoseconds. Where the kernel takes its time from
 * the processor's counter of cycles, all processes of the first one's machine go by that counter,
 * which is one for all cores, and by what the first one has measured: when it showed what, and how
 * long a cycle is. All others ask the C library, which takes twice as long.
 */
#include "mcchk.h"

#include <time.h>

struct mcchk_clock mcchk_clock;

uint64_t mcchk_ask_clock(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#ifdef __x86_64__
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ENOUGH 20000000ull /* ns in which a cycle is measured, to some tenths of a millionth */

static struct mcchk_clock start; /* when the process began */

/* Both at one moment: of several tries, in which an interrupt may come between, the quickest. */
static void ask(struct mcchk_clock *k)
{
	uint64_t quickest = UINT64_MAX;

	for (int tries = 0; tries < 32; tries++) {
		uint64_t before = __builtin_ia32_rdtsc(), ns = mcchk_ask_clock();
		uint64_t took = __builtin_ia32_rdtsc() - before;
		if (took < quickest) {
			quickest = took;
			k->cycles = before + took / 2;
			k->ns = ns;
		}
	}
}

__attribute__((constructor)) static void begin(void) { ask(&start); }

/* Whether the counter is what the kernel uses. */
static int counts(void)
{
	static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[8] = "";
	unsigned a = 0, b = 0, c = 0, d = 0;
	int fd = open(source, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	ssize_t n = read(fd, name, sizeof name - 1);
	close(fd);
	return n > 0 && strcmp(name, "tsc\n") == 0 && __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

void mcchk_clock_measure(struct mcchk_clock *k)
{
	k->scale = 0;
	if (!counts())
		return;
	for (ask(k); k->ns - start.ns < ENOUGH; ask(k))
		nanosleep(&(struct timespec){.tv_nsec = (long)(ENOUGH - (k->ns - start.ns))}, NULL); /* or less, if a signal comes */
	if (k->cycles > start.cycles && k->ns > start.ns)
		k->scale = (uint64_t)(((unsigned __int128)(k->ns - start.ns) << 32) / (k->cycles - start.cycles));
}
#else
void mcchk_clock_measure(struct mcchk_clock *k) { k->scale = 0; }
#endif

void mcchk_clock_agree(const struct mcchk_clock *k)
{
	if (mcchk_clock.scale != 0)
		return;
	mcchk_clock.cycles = k->cycles;
	mcchk_clock.ns = k->ns;
	__atomic_store_n(&mcchk_clock.scale, k->scale, __ATOMIC_RELEASE);
}
