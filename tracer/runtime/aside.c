/* Accesses that are not recorded, so that it is said that there are any: those of a
 * process made by fork to memory that it shares with its parent, and those of a signal
 * handler that interrupts a call of the library, whose record is under way.
 *
 * Both are noticed in the slow path only, the first of each kind; a page that the two
 * processes share takes it. What a callback of the library does is part of its call.
 */
#include "calls.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANGES 128
#define NEAR_FRAMES 32 /* of a handler that are looked through */

/* ---- the memory that a forked process shares ---- */

static int child; /* this process was made by fork from one that records */

void mcchk_aside_forked(void) { child = 1; }

static struct {
	int known; /* 1: as listed; 2: there are more, and any may be */
	uint32_t count;
	struct {
		uintptr_t lo, hi;
	} range[RANGES];
} shared;

static void add_shared(uintptr_t lo, uintptr_t hi)
{
	if (shared.count == RANGES) {
		shared.known = 2;
		return;
	}
	shared.range[shared.count].lo = lo;
	shared.range[shared.count++].hi = hi;
}

/* A line of /proc/self/maps: bounds, rights of which the last is s or p, and more. */
static void find_shared(void)
{
	char buffer[2048];
	uintptr_t bound[2] = {0, 0};
	int field = 0, right = 0, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	shared.known = fd < 0 ? 2 : 1;
	while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			char c = buffer[i];
			if (c == '\n') {
				field = right = 0;
				bound[0] = bound[1] = 0;
			} else if (field < 2 && (c == '-' || c == ' ')) {
				field++;
			} else if (field < 2) {
				bound[field] = bound[field] << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
			} else if (field == 2 && right++ == 3) {
				field = 3;
				if (c == 's')
					add_shared(bound[0], bound[1]);
			}
		}
	}
	if (fd >= 0)
		close(fd);
}

static int is_shared(uintptr_t addr)
{
	if (!shared.known)
		find_shared(); /* what is mapped later is no memory of a window */
	if (shared.known == 2)
		return 1;
	for (uint32_t i = 0; i < shared.count; i++)
		if (addr >= shared.range[i].lo && addr < shared.range[i].hi)
			return 1;
	return 0;
}

/* ---- handlers ---- */

/* Whether the kernel begins a signal handler's return there. */
static int returns_from_signal(uint64_t pc)
{
#ifdef __x86_64__
	static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15, %rax; syscall */
#elif defined(__aarch64__)
	static const unsigned char code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* mov x8, 139; svc 0 */
#else
	static const unsigned char code[] = {0};
	return 0;
#endif
	return memcmp((const void *)(uintptr_t)pc, code, sizeof code) == 0;
}

static int on_signal_stack(void)
{
	stack_t s = {0};
	return sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK);
}

static int in_handler(const struct mcchk_walked *w)
{
	for (uint32_t i = 1; i < w->frames && i < NEAR_FRAMES; i++)
		if (returns_from_signal(w->pcs[i]))
			return 1;
	return on_signal_stack();
}

/* ---- an access ---- */

/* Walks the stack of an access; 0: another thread is about it. */
static int walk(uintptr_t pc, void **frame, struct mcchk_walked *w)
{
	static int walking;
	static struct mcchk_thread alone; /* for the bounds of the stack */

	if (__atomic_exchange_n(&walking, 1, __ATOMIC_ACQUIRE))
		return 0;
	alone.stack_lookups = 0;
	mcchk_walk(&alone, pc, frame, w);
	__atomic_store_n(&walking, 0, __ATOMIC_RELEASE);
	return 1;
}

/* Whether the call of the library that seems to be under way was left by longjmp, or an
 * exception, out of a callback. Accesses may be many: the first of a call says it for all below. */
static int left(struct mcchk_tls *self, const void *frame)
{
	if (!self->thread || !self->thread->call || on_signal_stack())
		return 0;
	if ((uintptr_t)frame > self->frame)
		return 1;
	self->goes_on = self->goes_on || mcchk_call_goes_on();
	return !self->goes_on;
}

/* An access at pc, in a function whose frame pointer is `frame`, while nothing is recorded.
 * Returns whether it is to be recorded after all. Copies by the C library may be the run-time's
 * own, within a call that is being recorded. */
int mcchk_aside(uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags)
{
	struct mcchk_tls *self = &mcchk_self;
	int kind = child ? MCCHK_FORKED : MCCHK_HANDLERS;
	struct mcchk_walked w;

	if (!child && (!mcchk_recording || self->busy || (flags & MCCHK_LIBRARY)))
		return 0;
	if (!child && left(self, frame)) {
		mcchk_call_left();
		return 1;
	}
	if (mcchk_is_noticed(kind) || MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT] == MCCHK_ONLY_WATCHED || (child && !is_shared(addr)))
		return 0;
	if (walk(pc, frame, &w) && (child || in_handler(&w)))
		mcchk_notice(kind, w.pcs, w.frames);
	return 0;
}
