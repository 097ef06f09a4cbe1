/* What holds where the run-time is linked into the program by mcchk cc. In a library
 * that is preloaded, preload.c stands in its place.
 *
 * Stacks are walked by the frame pointers that the program is compiled to keep.
 * Every frame is checked to lie on the thread's stack, above the last one; where
 * that fails the walk ends, and the stack is shorter. */
#include "mcchk.h"

#include <fcntl.h>
#include <unistd.h>

#define MAX_LOOKUPS 64 /* of the stack's bounds by one thread */

const int mcchk_preloaded = 0;

/* Before any code of the program. */
static void begin(void)
{
	mcchk_reserve_shadow();
	mcchk_ends_at_exit();
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = begin;

void mcchk_prepare(void) {}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Finds the mapping that holds an address, in /proc/self/maps. Neither
 * allocates nor locks. */
static void find_mapping(uintptr_t addr, uintptr_t *lo, uintptr_t *hi)
{
	char buffer[2048];
	uintptr_t bound[2] = {0, 0};
	int field = 0, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	*lo = *hi = 0;
	if (fd < 0)
		return;
	while ((n = read(fd, buffer, sizeof buffer)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			char c = buffer[i];
			if (c == '\n') {
				field = 0;
				bound[0] = bound[1] = 0;
			} else if (field < 2 && hex(c) >= 0) {
				bound[field] = bound[field] << 4 | (uintptr_t)hex(c);
			} else if (field < 2 && ++field == 2 && addr >= bound[0] && addr < bound[1]) {
				*lo = bound[0];
				*hi = bound[1];
				close(fd);
				return;
			}
		}
	}
	close(fd);
}

/* Whether the calling thread's stack is known to hold the address `here`. */
static int know_stack(struct mcchk_thread *t, uintptr_t here)
{
	if (here >= t->stack_lo && here < t->stack_hi)
		return 1;
	if (t->stack_lookups >= MAX_LOOKUPS)
		return 0;
	t->stack_lookups++;
	find_mapping(here, &t->stack_lo, &t->stack_hi);
	return here >= t->stack_lo && here < t->stack_hi;
}

void mcchk_walk(struct mcchk_thread *t, uintptr_t pc, void **frame, struct mcchk_walked *w)
{
	uint32_t n = 0;
	uintptr_t last = (uintptr_t)&n;

	w->pcs[n++] = pc;
	while (know_stack(t, last) && n < MCCHK_MAX_FRAMES) {
		uintptr_t at = (uintptr_t)frame;
		if (!mcchk_may_be_frame(t, last, at))
			break;
		if ((uintptr_t)frame[1] < 4096)
			break;
		w->pointer[n - 1] = at;
		const struct mcchk_through *once = &mcchk_self.once;
		if (frame[0] && frame[0] == once->inner && ((void **)frame[0])[1] == once->back)
			frame = once->outer;
		w->pcs[n++] = (uintptr_t)frame[1];
		last = (uintptr_t)frame;
		frame = (void **)frame[0];
	}
	w->frames = n;
	w->pointers = n - 1 < MCCHK_MAX_POINTERS ? n - 1 : MCCHK_MAX_POINTERS;
	w->end = (uintptr_t)frame;
}
