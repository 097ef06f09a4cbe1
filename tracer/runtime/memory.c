/* Memory that ceases to exist while MPI may still touch it: freed, or in the
 * frame of a function that returns. The shadow memory knows in a moment whether
 * any of it is a buffer of a pending operation or window memory; only then is
 * anything recorded, a pseudo call mcchk_Memory_gone with the whole of what
 * ceases: a block, or the end of a stack.
 *
 * The program is linked with -Wl,--wrap for what frees (see memops.c). Functions
 * announce their end (__tsan_func_exit): while mcchk_stack_low, the lowest
 * address of the thread's stack that has been marked, is above their frame, that
 * is the end of it. Functions that do not announce it are noticed at the next
 * call that is recorded. Both raise mcchk_stack_low to what is left.
 *
 * Where another strand goes on with a thread, what lies below on its stack is no more
 * either: the strand's own variables come to lie there. And while all memory is watched,
 * whatever is freed is recorded, for another strand may be given it.
 */
#include "openmp.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>

enum { FREED, RETURNED, COPY_FREED, PASSED };

#pragma GCC visibility push(default)
__thread uintptr_t mcchk_stack_low __attribute__((tls_model("initial-exec"))) = UINTPTR_MAX;
#pragma GCC visibility pop

/* ---- the record ---- */

static void record(uint64_t base, uint64_t size, int why, void *frame)
{
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Memory_gone, 3, frame);
	if (w) {
		w[0] = (int64_t)base;
		w[1] = (int64_t)size;
		w[2] = why;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

/* Outside of MPI calls. `frame` is that of the run-time's function that the
 * program called; `from` the one that the stack of the record begins with. */
static void gone(uint64_t base, uint64_t size, int why, void *frame, void *from)
{
	if (!mcchk_hot(base, size) || mcchk_self.busy || !mcchk_enter(frame))
		return;
	record(base, size, why, from);
	mcchk_leave();
}

/* ---- blocks of MPI_Alloc_mem ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map blocks; /* their sizes */

void mcchk_memory_allocated(void *base, uint64_t size)
{
	mcchk_lock(&lock);
	mcchk_map_set(&blocks, (uint64_t)(uintptr_t)base, (void *)(uintptr_t)size);
	mcchk_unlock(&lock);
}

/* In the wrapper of MPI_Free_mem. */
void mcchk_memory_freed(void *base)
{
	mcchk_lock(&lock);
	uint64_t size = (uint64_t)(uintptr_t)mcchk_map_get(&blocks, (uint64_t)(uintptr_t)base);
	mcchk_map_set(&blocks, (uint64_t)(uintptr_t)base, NULL);
	mcchk_unlock(&lock);
	if (mcchk_hot((uintptr_t)base, size))
		record((uint64_t)(uintptr_t)base, size, FREED, (void *)mcchk_self.frame);
}

/* ---- the C and C++ libraries ---- */

#define REAL(type, name, ...) extern type __real_##name(__VA_ARGS__) __attribute__((weak))

/* Whether malloc_usable_size knows what this function frees: both are of one library. */
static int of_malloc(void *function)
{
	Dl_info a, b;
	return dladdr(function, &a) && dladdr((void *)malloc_usable_size, &b) && a.dli_fbase == b.dli_fbase;
}

/* The bytes of a block that `function` is about to free, 0 when nothing matters
 * at all. Of a foreign allocator's the first one. */
static uint64_t block_size(void *p, void *function)
{
	static int known, ours; /* what `function` is; the same for all of the program */
	if (MCCHK_LIKELY(!mcchk_active || (mcchk_marks == 0 && !mcchk_beside())) || !p)
		return 0;
	if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
		ours = of_malloc(function);
		__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	}
	return ours ? malloc_usable_size(p) : 1;
}

static inline __attribute__((always_inline)) void freed(void *p, uint64_t size, void *frame)
{
	if (size != 0)
		gone((uint64_t)(uintptr_t)p, size, FREED, frame, frame);
}

REAL(void, free, void *);
void __wrap_free(void *p)
{
	uint64_t size = block_size(p, (void *)__real_free);
	if (size != 0)
		gone((uint64_t)(uintptr_t)p, size, mcchk_copy(p) ? COPY_FREED : FREED, MCCHK_FRAME, MCCHK_FRAME);
	mcchk_block_ends(p);
	__real_free(p);
}

void mcchk_free(void *p)
{
	if (__real_free)
		__real_free(p);
	else
		free(p);
}

/* Afterwards: only then is it known whether the block has moved. */
static void resized(uint64_t old, uint64_t had, void *now, uint64_t size, void *frame)
{
	if (had == 0 || (!now && size != 0))
		return;
	if ((uint64_t)(uintptr_t)now != old)
		gone(old, had, FREED, frame, frame);
	else if (size < had)
		gone(old + size, had - size, FREED, frame, frame);
}

REAL(void *, realloc, void *, size_t);
void *__wrap_realloc(void *p, size_t size)
{
	uint64_t old = (uint64_t)(uintptr_t)p, had = block_size(p, (void *)__real_realloc);
	mcchk_block_ends(p);
	void *now = __real_realloc(p, size);
	mcchk_block_resized(now, size, MCCHK_FRAME);
	resized(old, had, now, size, MCCHK_FRAME);
	return now;
}

REAL(void *, reallocarray, void *, size_t, size_t);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	uint64_t old = (uint64_t)(uintptr_t)p, had = block_size(p, (void *)__real_reallocarray);
	mcchk_block_ends(p);
	void *now = __real_reallocarray(p, n, size);
	mcchk_block_resized(now, n * size, MCCHK_FRAME);
	resized(old, had, now, n * size, MCCHK_FRAME);
	return now;
}

void mcchk_pages_end(void *p, size_t size, void *frame)
{
	freed(p, mcchk_marks || mcchk_beside() ? size : 0, frame);
	mcchk_unmapped(p, size);
}

REAL(int, munmap, void *, size_t);
int __wrap_munmap(void *p, size_t size)
{
	mcchk_pages_end(p, size, MCCHK_FRAME);
	return __real_munmap(p, size);
}

/* What moves leaves its place, and may take that of something else. */
REAL(void *, mremap, void *, size_t, size_t, int, ...);
void *__wrap_mremap(void *p, size_t had, size_t size, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
	va_end(rest);
	if (to)
		mcchk_pages_end(to, size, MCCHK_FRAME);
	void *now = __real_mremap(p, had, size, flags, to);
	if (now == MAP_FAILED)
		return now;
	if (now != p)
		mcchk_pages_end(p, had, MCCHK_FRAME);
	else if (size < had)
		mcchk_pages_end((char *)p + size, had - size, MCCHK_FRAME);
	return now;
}

/* What the program has loaded stays: its places are known to the run-time, and to the trace
 * by addresses, which nothing else may have. */
REAL(int, dlclose, void *);
int __wrap_dlclose(void *module)
{
	struct link_map *m;
	if (mcchk_active && dlinfo(module, RTLD_DI_LINKMAP, &m) == 0 && m->l_name[0])
		dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return __real_dlclose(module);
}

REAL(void, _ZdlPv, void *);

/* operator delete. The library's own frees what malloc gave; one of the program
 * calls free itself, or keeps the memory. */
static int of_malloc_too(void)
{
	static int known, ours;
	if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
		Dl_info a, program;
		ours = __real__ZdlPv && dladdr((void *)__real__ZdlPv, &a) && dladdr((void *)&mcchk_functions, &program) &&
		       a.dli_fbase != program.dli_fbase;
		__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	}
	return ours;
}

static uint64_t object_size(void *p)
{
	if (MCCHK_LIKELY(!mcchk_active || (mcchk_marks == 0 && !mcchk_beside())) || !p)
		return 0;
	return of_malloc_too() ? malloc_usable_size(p) : 0;
}

#define DELETE(name, parameters, arguments)                                                        \
	REAL(void, name, parameters);                                                              \
	void __wrap_##name(parameters)                                                             \
	{                                                                                          \
		freed(p, object_size(p), MCCHK_FRAME);                                             \
		if (of_malloc_too())                                                               \
			mcchk_block_ends(p);                                                       \
		__real_##name(arguments);                                                          \
	}
#define BOTH(a, b) a, b
#define THREE(a, b, c) a, b, c
DELETE(_ZdlPv, void *p, p)
DELETE(_ZdaPv, void *p, p)
DELETE(_ZdlPvm, BOTH(void *p, size_t n), BOTH(p, n))
DELETE(_ZdaPvm, BOTH(void *p, size_t n), BOTH(p, n))
DELETE(_ZdlPvSt11align_val_t, BOTH(void *p, size_t alignment), BOTH(p, alignment))
DELETE(_ZdaPvSt11align_val_t, BOTH(void *p, size_t alignment), BOTH(p, alignment))
DELETE(_ZdlPvmSt11align_val_t, THREE(void *p, size_t n, size_t alignment), THREE(p, n, alignment))
DELETE(_ZdaPvmSt11align_val_t, THREE(void *p, size_t n, size_t alignment), THREE(p, n, alignment))

/* ---- stacks ---- */

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t owns; /* so often a stack became known; atomic */

/* Lets other threads know where the thread's stack lies. */
static void own(struct mcchk_tls *self)
{
	if (!self->thread || self->stack_hi == 0)
		return;
	mcchk_lock(&own_lock);
	self->thread->own = (struct mcchk_own_stack){self->stack_lo, self->stack_hi, &mcchk_stack_low, &self->stack_used};
	__atomic_add_fetch(&owns, 1, __ATOMIC_RELEASE);
	mcchk_unlock(&own_lock);
}

void mcchk_stack_ends(struct mcchk_thread *t)
{
	mcchk_lock(&own_lock);
	t->own = (struct mcchk_own_stack){0};
	mcchk_unlock(&own_lock);
}

/* The bounds of the thread's own stack. Stacks that a program makes and switches
 * to itself are none: what lies below another there may be alive. */
static int find_stack(struct mcchk_tls *self)
{
	pthread_attr_t attributes;
	void *lo = NULL;
	size_t size = 0;

	self->stack_known = 1;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return 0;
	if (pthread_attr_getstack(&attributes, &lo, &size) == 0 && size != 0) {
		self->stack_lo = (uintptr_t)lo;
		self->stack_hi = (uintptr_t)lo + size;
	}
	pthread_attr_destroy(&attributes);
	own(self);
	return self->stack_hi != 0;
}

void mcchk_stack_begins(void)
{
	struct mcchk_tls *self = &mcchk_self;
	if (self->stack_known)
		own(self);
	else if (self->thread->strand > 0)
		find_stack(self);
}

void mcchk_stack_bounds(uintptr_t *lo, uintptr_t *hi)
{
	struct mcchk_tls *self = &mcchk_self;
	if (!self->stack_known)
		find_stack(self);
	*lo = self->stack_lo;
	*hi = self->stack_hi;
}

/* The buffer lies on the stack of another thread: its function may return. */
static void watch_other(uintptr_t lo)
{
	static __thread struct {
		uintptr_t page;
		uint64_t owns;
	} on_none __attribute__((tls_model("initial-exec"))); /* the last page that was on no stack, of those known then */
	uint64_t known = __atomic_load_n(&owns, __ATOMIC_ACQUIRE);

	if (on_none.page == lo >> 12 && on_none.owns == known)
		return;
	on_none.page = lo >> 12;
	on_none.owns = known;
	mcchk_lock(&own_lock);
	for (struct mcchk_thread *t = mcchk_threads_recording(); t; t = t->next) {
		if (!t->own.low || lo < t->own.lo || lo >= t->own.hi)
			continue;
		on_none.page = 0;
		uintptr_t low = __atomic_load_n(t->own.low, __ATOMIC_RELAXED), used = __atomic_load_n(t->own.used, __ATOMIC_RELAXED);
		if (lo < low)
			__atomic_store_n(t->own.low, lo, __ATOMIC_RELEASE);
		if (used == 0 || lo < used)
			__atomic_store_n(t->own.used, lo, __ATOMIC_RELEASE);
		break;
	}
	mcchk_unlock(&own_lock);
}

/* A buffer has been marked that begins at `lo`: watch it when it lies on the stack of this
 * thread, or of another one. */
void mcchk_watch_stack(uintptr_t lo)
{
	struct mcchk_tls *self = &mcchk_self;
	uintptr_t here = (uintptr_t)MCCHK_FRAME;

	if (!self->stack_known)
		find_stack(self);
	if (lo < self->stack_lo || lo >= self->stack_hi) {
		if (mcchk_beside())
			watch_other(lo);
		return;
	}
	if (lo >= mcchk_stack_low || here < self->stack_lo || lo <= here)
		return;
	mcchk_stack_low = lo;
	if (mcchk_beside() && (self->stack_used == 0 || lo < self->stack_used))
		self->stack_used = lo;
}

/* Another strand goes on with the thread, with what lies below `end` on its stack, or with what
 * else is in its mapping: variables of the thread. The stack of the record begins with the frame `from`. */
void mcchk_stack_passes(uintptr_t end, void *from)
{
	struct mcchk_tls *self = &mcchk_self;
	int watching = __atomic_load_n(&mcchk_watching, __ATOMIC_RELAXED) != 0;

	if (mcchk_preloaded || !mcchk_recording || self->busy || (!watching && self->stack_used == 0) || (!self->stack_known && !find_stack(self)))
		return;
	uintptr_t lo = watching ? self->stack_lo : self->stack_used;
	if (end == MCCHK_WHOLE_STACK)
		end = self->stack_hi;
	if (end <= lo || end > self->stack_hi || !mcchk_enter(MCCHK_FRAME))
		return;
	record(lo, end - lo, PASSED, from);
	mcchk_leave();
}

/* A library gives memory to others later that lay where no stack does. */
void mcchk_memory_passes(uintptr_t lo, size_t size, void *from)
{
	if (mcchk_preloaded || !mcchk_recording || mcchk_self.busy || !mcchk_hot(lo, size) || !mcchk_enter(MCCHK_FRAME))
		return;
	record(lo, size, PASSED, from);
	mcchk_leave();
}

/* All of the stack below `end` is no longer used, or soon. */
static int stack_ends(uintptr_t end, uint64_t *base)
{
	*base = mcchk_stack_low;
	if (end > mcchk_self.stack_hi || end < mcchk_self.stack_lo)
		return 0; /* another stack */
	mcchk_stack_low = end;
	return *base < end;
}

/* A function is about to return at pc. */
void mcchk_function_returns(uintptr_t frame, uintptr_t pc)
{
	void *from[2] = {(void *)frame, (void *)pc};
	uintptr_t end = frame + 2 * sizeof(void *);
	uint64_t base;

	if (!stack_ends(end, &base) || mcchk_self.busy || !mcchk_hot(base, end - base))
		return;
	int aside = mcchk_sections_aside(from);
	gone(base, end - base, RETURNED, MCCHK_FRAME, from);
	if (aside)
		mcchk_sections_back(from);
}

/* Inside the run-time: the program called the function with this frame. */
void mcchk_stack_risen(void *frame)
{
	uintptr_t end = (uintptr_t)frame + 2 * sizeof(void *);
	uint64_t base;

	if (stack_ends(end, &base) && !mcchk_self.between && mcchk_hot(base, end - base))
		record(base, end - base, RETURNED, frame);
}
