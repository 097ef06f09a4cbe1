/* What other strands of the process do with memory that is no buffer yet.
 *
 * Nothing need order what another strand did with a buffer before an operation was issued
 * on it, and then it is part of a race. So while several strands may be at work, all
 * memory that is mapped is watched, until so much has been recorded that a long run would
 * be slowed down. What has been a buffer by then goes on to matter (shadow.c); where memory
 * becomes one later, beside other strands, a note says that not all is known.
 *
 * Where there are no other strands, because all were joined, or the parallel region is
 * over, all that they did comes before whatever follows. A region of OpenMP that passed
 * often enough without a buffer is not watched any more.
 */
#include "history.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BUDGET (1u << 21)  /* records of accesses of a process, while all of memory is watched */
#define TRIES 16           /* times that a region is watched which has no buffers */
#define REGIONS 1024
#define ROOM (1ull << 30 >> MCCHK_PAGE_SHIFT) /* pages beside a mapping that may be mapped later */
#define MOST (1ull << 36 >> MCCHK_PAGE_SHIFT)       /* pages of one mapping */

int mcchk_others;         /* strands that may be at work beside another; atomic */
uint32_t mcchk_watching; /* all memory is watched; atomic */

static uint32_t written, spent; /* atomic */
static uint64_t buffers;        /* made beside other strands; atomic */

/* ---- what is mapped ---- */

static uint64_t hexadecimal(const char **at)
{
	uint64_t v = 0;
	for (;; (*at)++) {
		char c = **at;
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* Adds a mapping that a line of /proc/self/maps tells of, and what may be mapped beside it. */
static uint32_t add(struct mcchk_pages *list, uint32_t n, const char *line)
{
	uint64_t first = hexadecimal(&line) >> MCCHK_PAGE_SHIFT;
	line++;
	uint64_t end = hexadecimal(&line) >> MCCHK_PAGE_SHIFT;
	line++; /* then the rights */
	uint64_t shadow = (uint64_t)(uintptr_t)MCCHK_SHADOW >> MCCHK_PAGE_SHIFT;
	if ((line[1] != 'w' && line[0] != '-') || end - first > MOST || end >> (MCCHK_ADDRESS_BITS - MCCHK_PAGE_SHIFT) ||
	    (first >= shadow && first < 2 * shadow))
		return n;
	if (strstr(line, "[heap]"))
		end += ROOM;
	if (n > 0 && first < list[n - 1].end)
		first = list[n - 1].end;
	if (n > 0 && first - list[n - 1].end < ROOM) {
		list[n - 1].end = end;
		return n;
	}
	if (n == MCCHK_MAX_PAGES)
		return n;
	uint64_t below = n > 0 && first - list[n - 1].end < ROOM ? 0 : first > 2 * ROOM ? ROOM : 0;
	list[n] = (struct mcchk_pages){first - below, end};
	return n + 1;
}

static uint32_t mapped(struct mcchk_pages *list)
{
	char text[4096 + 1];
	size_t have = 0;
	uint32_t n = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	for (;;) {
		ssize_t got = read(fd, text + have, sizeof text - 1 - have);
		if (got <= 0)
			break;
		have += (size_t)got;
		text[have] = 0;
		char *line = text;
		for (char *end; (end = memchr(line, '\n', have - (size_t)(line - text))); line = end + 1) {
			*end = 0;
			n = add(list, n, line);
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
		if (have == sizeof text - 1)
			have = 0; /* no such line */
	}
	close(fd);
	return n;
}

/* ---- watching ---- */

static int turning;

/* What is mapped, or was so shortly before that to ask again would take a twentieth of the
 * time: a program may make one thread after the other. */
static void watch_mapped(void)
{
	static struct mcchk_pages list[MCCHK_MAX_PAGES];
	static uint32_t n;
	static uint64_t asked, took;
	uint64_t now = mcchk_now_or_before();

	if (n == 0 || now - asked > 20 * took) {
		n = mapped(list);
		asked = mcchk_now_or_before();
		took = asked - now;
	}
	mcchk_watch_pages(list, n);
}

static void watch(void)
{
	mcchk_spin_lock(&turning);
	if (!mcchk_watching && !__atomic_load_n(&spent, __ATOMIC_RELAXED)) {
		watch_mapped();
		__atomic_store_n(&mcchk_watching, 1, __ATOMIC_SEQ_CST);
	}
	mcchk_spin_unlock(&turning);
}

static void watch_no_more(void)
{
	mcchk_spin_lock(&turning);
	if (mcchk_watching) {
		__atomic_store_n(&mcchk_watching, 0, __ATOMIC_SEQ_CST);
		mcchk_watch_ends();
	}
	mcchk_spin_unlock(&turning);
}

/* A record of accesses was written while memory is watched. */
void mcchk_watch_counts(void)
{
	if (__atomic_add_fetch(&written, 1, __ATOMIC_RELAXED) == BUDGET)
		__atomic_store_n(&spent, 1, __ATOMIC_RELAXED);
}

/* Outside of the load/store path: watching ends when it has cost enough. */
void mcchk_watch_looks(void)
{
	if (__atomic_load_n(&mcchk_watching, __ATOMIC_RELAXED) && __atomic_load_n(&spent, __ATOMIC_RELAXED))
		watch_no_more();
}

/* ---- other strands ---- */

/* Places where parallel regions begin. */
static struct region {
	uintptr_t pc;      /* 0: none yet; atomic */
	uint32_t quiet;    /* times in a row that there were no buffers */
	uint64_t buffers;  /* before the one under way */
} regions[REGIONS];

static struct region *region_at(uintptr_t pc)
{
	struct region *r = &regions[(pc * 0x9E3779B97F4A7C15ull) >> 54];
	uintptr_t none = 0;
	if (pc == 0)
		return NULL;
	__atomic_compare_exchange_n(&r->pc, &none, pc, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return r->pc == pc ? r : NULL;
}

/* A strand begins that is at work beside the one that makes it; pc: where, 0 where that
 * tells nothing. Before it does anything. */
void mcchk_strands_more(uintptr_t pc)
{
	if (mcchk_preloaded)
		return;
	if (__atomic_fetch_add(&mcchk_others, 1, __ATOMIC_SEQ_CST) > 0)
		return;
	if (mcchk_self.thread)
		mcchk_touch_no_more(mcchk_self.thread); /* it has maps of memory that did not matter */
	struct region *r = region_at(pc);
	if (r)
		r->buffers = __atomic_load_n(&buffers, __ATOMIC_RELAXED);
	if (mcchk_recording && !(r && r->quiet >= TRIES))
		watch();
}

/* All that it did comes before what follows. */
void mcchk_strands_fewer(uintptr_t pc)
{
	if (mcchk_preloaded || __atomic_sub_fetch(&mcchk_others, 1, __ATOMIC_SEQ_CST) > 0)
		return;
	struct region *r = region_at(pc);
	if (r)
		r->quiet = r->buffers == __atomic_load_n(&buffers, __ATOMIC_RELAXED) ? r->quiet + 1 : 0;
	watch_no_more();
}

/* MPI has been started beside other strands. */
void mcchk_watch_start(void)
{
	if (mcchk_recording && !mcchk_preloaded && mcchk_beside())
		watch();
}

/* Memory becomes a buffer of a call that the program makes. Before the call is recorded,
 * by the wrapper with that frame. */
void mcchk_buffer(struct mcchk_range r, void *frame)
{
	if (r.lo >= r.hi || mcchk_preloaded || !mcchk_beside())
		return;
	__atomic_add_fetch(&buffers, 1, __ATOMIC_RELAXED);
	if (mcchk_use(&r))
		mcchk_threads_unseen(frame);
}

void mcchk_given(void *frame, struct mcchk_range place) { mcchk_buffer(place, frame); }
