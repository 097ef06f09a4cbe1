/* What a process tells those who read its trace while it is written, in the first
 * page of the file (docs/trace-format.md, "A file that is read while it is written").
 */
#include "calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mcchk_live *mcchk_live;
static _Atomic int never_waits; /* for room: not to, or no longer */

/* Before anything is recorded; the file has its first page. As long as the process lives it holds a lock on the file; so
 * a reader on any node knows when it has died. */
void mcchk_live_begin(int fd, uint64_t most)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	_Static_assert(MCCHK_LIVE_AT + sizeof(struct mcchk_live) == 4096, "first page");
	if (page == MAP_FAILED)
		return; /* then it is read when it is finished */
	if (fcntl(fd, F_SETLK, &lock) != 0) { /* the process is looked for by its number */ }
	struct mcchk_live *l = (void *)(page + MCCHK_LIVE_AT);
	l->most = most;
	const char *when = getenv("MCCHK_WHEN_FULL"); /* the program may change its environment later */
	never_waits = when && strcmp(when, "drop") == 0;
	mcchk_live = l;
}

/* The file has its header, and a first chunk. */
void mcchk_live_tell(void)
{
	uint64_t magic;
	memcpy(&magic, "MCCHKLV2", sizeof magic);
	if (mcchk_live)
		__atomic_store_n((uint64_t *)(void *)mcchk_live->magic, magic, __ATOMIC_RELEASE);
}

/* ---- what threads write no more ---- */

/* Who reads along takes the last call begun first, then the places. So what a thread that
 * it does not find there, or finds waiting, records afterwards comes behind that call: the
 * place is told before the thread asks for the last call. */
static void tell(uint64_t *place)
{
	__atomic_store_n(place, 2 * __atomic_load_n(&mcchk_seq, __ATOMIC_SEQ_CST) + 1, __ATOMIC_SEQ_CST);
}

void mcchk_live_goes_on_as(struct mcchk_thread *t) { tell(t->place); }

/* Threads for which there is no place of their own: together they have the last, which stays
 * as it is until they have ended. */
static int crowd_lock;
static uint32_t crowd;

static void crowd_changes(int by)
{
	uint64_t *place = &mcchk_live->places[MCCHK_LIVE_PLACES - 1];

	mcchk_spin_lock(&crowd_lock);
	uint32_t before = crowd;
	crowd = before + (uint32_t)by;
	if (before == 0)
		tell(place);
	else if (crowd == 0)
		__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	mcchk_spin_unlock(&crowd_lock);
}

void mcchk_live_thread(struct mcchk_thread *t)
{
	if (!mcchk_live)
		return;
	if (t->number < MCCHK_LIVE_PLACES - 1) {
		t->place = &mcchk_live->places[t->number];
		tell(t->place);
	} else {
		crowd_changes(1);
	}
}

void mcchk_live_thread_over(struct mcchk_thread *t)
{
	if (t->place)
		__atomic_store_n(t->place, 0, __ATOMIC_RELEASE);
	else if (mcchk_live)
		crowd_changes(-1);
	t->place = NULL;
}

/* A reader that gives no sign for so long is gone, ns. */
#define GONE 30000000000ull

/* The program waits where the trace has all the room that it may take and is read along,
 * until the reader has given some back. It does not wait for a reader that is gone, nor
 * where it is not to wait at all: then it is not recorded any further. */
int mcchk_live_room(const _Atomic uint64_t *end, uint64_t size)
{
	struct mcchk_live *l = mcchk_live;
	uint64_t beat = 0, since = 0;
	unsigned pause = 200;

	if (!l || !l->most)
		return 1;
	for (int waits = 0;; waits = 1) {
		uint64_t freed = __atomic_load_n(&l->freed, __ATOMIC_ACQUIRE), grant = __atomic_load_n(&l->grant, __ATOMIC_RELAXED);
		if (*end - freed + size <= l->most + grant) {
			if (waits)
				__atomic_sub_fetch(&l->waiting, 1, __ATOMIC_RELAXED);
			return 1;
		}
		uint64_t now = mcchk_now(), b = __atomic_load_n(&l->beat, __ATOMIC_RELAXED);
		if (!waits) {
			if (never_waits || __atomic_load_n(&l->left, __ATOMIC_RELAXED))
				return 0;
			__atomic_add_fetch(&l->waiting, 1, __ATOMIC_RELAXED);
		}
		if (!waits || b != beat) {
			beat = b;
			since = now;
		} else if (now - since > GONE || __atomic_load_n(&l->left, __ATOMIC_RELAXED)) {
			never_waits = 1;
			__atomic_sub_fetch(&l->waiting, 1, __ATOMIC_RELAXED);
			return 0;
		}
		usleep(pause);
		pause = pause < 10000 ? pause * 2 : pause;
	}
}

/* Recording stops: nobody waits for what would come. */
void mcchk_live_stopped(void)
{
	if (mcchk_live)
		__atomic_store_n(&mcchk_live->stopped, 1, __ATOMIC_RELAXED);
}

/* Nothing in the file changes from now on. */
void mcchk_live_end(void)
{
	if (mcchk_live)
		__atomic_store_n(&mcchk_live->ended, 1, __ATOMIC_RELEASE);
}
