/* One process stores numbers one after the other, another one loads them, and both take the times
 * at which they begin and have done that: by these, a load must be able to have found what it has.
 * Says how many loads found another number than the one before, and how many contradict the times:
 * they found what had been there before a store that was over, or what was not stored yet.
 */
#include "mcchk.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST (1 << 21)    /* stores, and loads */
#define ENOUGH 20000      /* loads that find something new */

struct interval {
	uint64_t begin, end;
};

static struct shared {
	struct mcchk_clock clock;
	struct interval stores[MOST + 1]; /* of each number */
	int64_t number __attribute__((aligned(128)));
	int ready __attribute__((aligned(128))), enough;
} *s;

static void meet(void)
{
	__atomic_add_fetch(&s->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE) < 2)
		;
	mcchk_clock_agree(&s->clock);
}

static void store(void)
{
	meet();
	for (int i = 1; i <= MOST && !__atomic_load_n(&s->enough, __ATOMIC_RELAXED); i++) {
		s->stores[i].begin = mcchk_now_or_before();
		__atomic_store_n(&s->number, i, __ATOMIC_RELEASE);
		s->stores[i].end = mcchk_now();
	}
	_exit(0);
}

int main(void)
{
	static struct load {
		struct interval at;
		int64_t found;
	} loads[MOST];
	int n = 0, others = 0, stale = 0, early = 0;

	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 1;
	pid_t other = fork();
	if (other == 0)
		store();
	mcchk_clock_measure(&s->clock);
	meet();
	while (n < MOST && others < ENOUGH) {
		loads[n].at.begin = mcchk_now_or_before();
		loads[n].found = __atomic_load_n(&s->number, __ATOMIC_ACQUIRE);
		loads[n].at.end = mcchk_now();
		others += n > 0 && loads[n].found != loads[n - 1].found;
		n++;
	}
	__atomic_store_n(&s->enough, 1, __ATOMIC_RELAXED);
	waitpid(other, NULL, 0);
	for (int i = 0; i < n; i++) {
		struct load *l = &loads[i];
		stale += l->found < MOST && s->stores[l->found + 1].end != 0 && s->stores[l->found + 1].end < l->at.begin;
		early += l->found > 0 && l->at.end < s->stores[l->found].begin;
	}
	printf("%d %d %d\n", others, stale, early);
	return 0;
}
