/* Threads: that there are any, and how they begin and end.
 *
 * The program is the first to define the functions below, so the calls of
 * shared libraries come here too: those of POSIX and C11 that make threads and
 * join them. The first thread, and the first region or task of OpenMP, whose order
 * is not known (strands.c, openmp.c), and the first buffer of which it is not known what
 * other strands did with it before (history.c), become a pseudo call mcchk_Threads with
 * the place where it was, before MPI_Init as soon as that is over.
 *
 * Threads of the MPI library do not count: those that are made within a call of
 * MPI, and those that such threads make. To all of the run-time they are within
 * a call of MPI for as long as they are.
 *
 * The definitions are weak: a program with these libraries linked statically
 * keeps theirs.
 */
#include "calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>

#define FRAMES 32
#define ABOVE 8 /* frames of the run-time and of the unwinder */

/* The first of a kind: where it was, as return addresses. */
static struct first {
	int claimed, ready; /* atomic */
	int frames;
	uintptr_t pcs[FRAMES];
} own[MCCHK_KINDS], *firsts = own; /* of a process that records, in memory that it shares with those that it forks */

/* ---- the record ---- */

static void record(int kind)
{
	struct link {
		const struct link *next;
		uintptr_t pc;
	} links[FRAMES]; /* as frame pointers link frames */
	const struct first *f = &firsts[kind];

	for (int i = 0; i < f->frames; i++)
		links[i] = (struct link){i + 1 < f->frames ? &links[i + 1] : NULL, f->pcs[i]};
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Threads, 1, links);
	if (w)
		w[0] = kind;
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

/* A buffer of a call is not known from before: in the wrapper with that frame. */
void mcchk_threads_unseen(void *frame)
{
	struct first *f = &firsts[MCCHK_BUFFERS];

	if (__atomic_load_n(&f->claimed, __ATOMIC_RELAXED) || __atomic_exchange_n(&f->claimed, 1, __ATOMIC_SEQ_CST))
		return;
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Threads, 1, frame);
	if (w)
		w[0] = MCCHK_BUFFERS;
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

/* Records what has been noticed and could not be recorded at once. Outside of
 * MPI calls. */
void mcchk_threads_recorded(void *frame)
{
	for (int kind = 0; kind < MCCHK_KINDS; kind++) {
		if (!__atomic_load_n(&firsts[kind].ready, __ATOMIC_ACQUIRE) || mcchk_self.busy || !mcchk_enter(frame))
			continue;
		if (__atomic_exchange_n(&firsts[kind].ready, 0, __ATOMIC_ACQ_REL))
			record(kind);
		mcchk_leave();
	}
}

int mcchk_is_noticed(int kind) { return __atomic_load_n(&firsts[kind].claimed, __ATOMIC_RELAXED); }

/* Something of a kind was noticed, with that stack; to be recorded later, by whom that concerns. */
void mcchk_notice(int kind, const uint64_t *pcs, uint32_t frames)
{
	struct first *f = &firsts[kind];

	if (__atomic_exchange_n(&f->claimed, 1, __ATOMIC_SEQ_CST))
		return;
	f->frames = frames < FRAMES ? (int)frames : FRAMES;
	for (int i = 0; i < f->frames; i++)
		f->pcs[i] = (uintptr_t)pcs[i];
	__atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
}

/* From now on what forked processes notice is seen. */
static void share(void)
{
	struct first *f = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mcchk_recording || f == MAP_FAILED)
		return;
	memcpy(f, own, sizeof own);
	firsts = f;
}

/* The program, or a library of it, does something of a kind where `frame` returns to. */
__attribute__((noinline)) void mcchk_noticed(int kind, void **frame)
{
	struct first *f = &firsts[kind];
	uintptr_t pcs[FRAMES + ABOVE], pc = (uintptr_t)frame[1];

	if (mcchk_self.depth || __atomic_load_n(&f->claimed, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&f->claimed, 1, __ATOMIC_SEQ_CST))
		return;
	mcchk_within(frame); /* what it locks orders nothing */
	int n = backtrace((void **)pcs, FRAMES + ABOVE), at = 0;
	mcchk_leave();
	while (at < n && pcs[at] != pc)
		at++;
	if (at == n) {
		pcs[0] = pc;
		at = 0;
		n = 1;
	}
	f->frames = n - at < FRAMES ? n - at : FRAMES;
	memcpy(f->pcs, pcs + at, (size_t)f->frames * sizeof *pcs);
	__atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
	mcchk_threads_recorded(MCCHK_FRAME);
}

/* What the program would have called without the run-time. A library that was
 * loaded for itself finds its own libraries only. */
void *mcchk_find(const char *name, void *caller)
{
	Dl_info from;
	void *f = strncmp(name, "pthread_cond_", 13) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL; /* not the ones before */
	if (!f)
		f = dlsym(RTLD_NEXT, name);
	void *library = f || !dladdr(caller, &from) ? NULL : dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

	if (library) {
		f = dlsym(library, name);
		dlclose(library);
	}
	if (!f) {
		fprintf(stderr, "mcchk: the program calls %s, which no library has\n", name);
		abort();
	}
	return f;
}

/* ---- threads ---- */

/* How a thread begins, in either kind of function. */
struct start {
	void *(*run)(void *);
	int (*run_c11)(void *);
	void *argument;
	int within_mpi; /* it is the MPI library's */
	struct mcchk_birth birth;
};

static struct start begin(void *p)
{
	struct start s = *(struct start *)p;
	if (s.within_mpi)
		mcchk_within((void *)UINTPTR_MAX);
	mcchk_strand_born(&s.birth);
	mcchk_free(p); /* a library that watches memory may take locks here */
	return s;
}

/* The thread's stack may be that of one that has ended, with its thread-local variables. */
static void anew(const struct start *s)
{
	const struct {
		const void *next;
		uintptr_t pc;
	} at = {NULL, s->birth.begin + 1};
	if (!s->within_mpi && s->birth.origin == MCCHK_SEEN)
		mcchk_stack_passes(MCCHK_WHOLE_STACK, (void *)&at);
}

static void *run(void *p)
{
	struct start s = begin(p);
	anew(&s);
	return s.run(s.argument);
}

static int run_c11(void *p)
{
	struct start s = begin(p);
	anew(&s);
	return s.run_c11(s.argument);
}

/* The objects that the ends of threads release, by the threads. Whoever knows a thread
 * finds it here: it is locked while a thread is made. */
static int ends_lock;
static struct mcchk_map ends;

static uint64_t end_of(pthread_t thread)
{
	mcchk_spin_lock(&ends_lock);
	uint64_t object = (uint64_t)(uintptr_t)mcchk_map_get(&ends, (uint64_t)thread);
	mcchk_spin_unlock(&ends_lock);
	return object;
}

/* The thread has been joined, or detached: another one may be known by its name already. */
static void forget(pthread_t thread, uint64_t object)
{
	mcchk_spin_lock(&ends_lock);
	if ((uint64_t)(uintptr_t)mcchk_map_get(&ends, (uint64_t)thread) == object)
		mcchk_map_set(&ends, (uint64_t)thread, NULL);
	mcchk_spin_unlock(&ends_lock);
}

static int of_openmp(void *caller)
{
	static const char *const names[] = {"libgomp", "libomp", "libiomp"};
	Dl_info from;
	const char *name = dladdr(caller, &from) ? strrchr(from.dli_fname, '/') : NULL;
	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (strncmp(name + 1, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

/* Whether any of the program's code has begun. Before it there are the constructors of libraries that
 * are not instrumented, and what they start, as the workers of a library for linear algebra, does nothing
 * that could be recorded. If it does come to call the program, that is a thread of which nobody knows when it
 * began (mcchk_strand_begins). */
static int begun;
__attribute__((constructor(101))) static void begins(void) { begun = 1; }

static int is_before_program(void) { return !begun && __atomic_load_n(&mcchk_units, __ATOMIC_RELAXED) == 0; }

static uintptr_t early; /* where the first thread was made before MPI_Init */

/* What a new thread is given; NULL: it begins as it is. */
static struct start *new_start(struct start s, void **frame)
{
	if (is_before_program())
		return NULL;
	struct start *p = malloc(sizeof *p);

	if (!p) {
		mcchk_noticed(MCCHK_THREADS, frame);
		return NULL;
	}
	s.within_mpi = mcchk_self.depth != 0;
	s.birth = (struct mcchk_birth){.origin = MCCHK_SEEN, .begin = s.run ? (uintptr_t)s.run : (uintptr_t)s.run_c11};
	if (!s.within_mpi && of_openmp(frame[1])) {
		s.birth.origin = MCCHK_OPENMP;
		if (!mcchk_openmp_hi)
			mcchk_noticed(MCCHK_REGIONS, frame);
	} else if (!s.within_mpi) {
		__atomic_store_n(&mcchk_strands, 1, __ATOMIC_RELAXED);
		s.birth.start = mcchk_objects(2);
		s.birth.end = s.birth.start + 1;
		if (!mcchk_active && !__atomic_load_n(&early, __ATOMIC_RELAXED))
			__atomic_store_n(&early, (uintptr_t)frame[1], __ATOMIC_RELAXED);
		mcchk_strands_more(0);
		MCCHK_FORK(s.birth.start, frame);
	}
	*p = s;
	return p;
}

static void not_begun(struct start *s)
{
	if (s->birth.start)
		mcchk_strands_fewer(0);
	mcchk_free(s);
}

static __attribute__((noinline)) void joined(pthread_t thread, uint64_t object, void **frame)
{
	if (!object)
		return;
	MCCHK_ACQUIRE(object, frame);
	MCCHK_OBJECT_END(object, frame);
	MCCHK_OBJECT_END(object - 1, frame); /* that of its beginning */
	forget(thread, object);
	mcchk_strands_fewer(0);
}

#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof(&name) _real;                                                      \
		if (!_real)                                                                        \
			_real = (__typeof(_real))mcchk_find(#name, __builtin_return_address(0));   \
		_real;                                                                             \
	})

#pragma GCC visibility push(default)

__attribute__((weak)) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	struct start *s = new_start((struct start){.run = start, .argument = argument}, MCCHK_FRAME);
	if (!s)
		return REAL(pthread_create)(thread, attributes, start, argument);
	uint64_t object = s->birth.end;
	mcchk_spin_lock(&ends_lock);
	int rc = REAL(pthread_create)(thread, attributes, run, s);
	if (rc == 0 && object)
		mcchk_map_set(&ends, (uint64_t)*thread, (void *)(uintptr_t)object);
	mcchk_spin_unlock(&ends_lock);
	if (rc != 0)
		not_begun(s);
	return rc;
}

__attribute__((weak)) int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct start *s = new_start((struct start){.run_c11 = start, .argument = argument}, MCCHK_FRAME);
	if (!s)
		return REAL(thrd_create)(thread, start, argument);
	uint64_t object = s->birth.end;
	mcchk_spin_lock(&ends_lock);
	int rc = REAL(thrd_create)(thread, run_c11, s);
	if (rc == thrd_success && object)
		mcchk_map_set(&ends, (uint64_t)*thread, (void *)(uintptr_t)object);
	mcchk_spin_unlock(&ends_lock);
	if (rc != thrd_success)
		not_begun(s);
	return rc;
}

/* waits: the thread does nothing before the other one has ended. */
#define JOINS(name, waits, parameters, ...)                                                        \
	__attribute__((weak)) int name parameters                                                  \
	{                                                                                          \
		uint64_t object = mcchk_orders() ? end_of(thread) : 0;                             \
		if (waits && object)                                                               \
			mcchk_strand_waits(object, 0, 0, MCCHK_FRAME);                             \
		int rc = MCCHK_WAITING(REAL(name)(__VA_ARGS__));                                   \
		if (rc == 0)                                                                       \
			joined(thread, object, MCCHK_FRAME);                                       \
		return rc;                                                                         \
	}
JOINS(pthread_join, 1, (pthread_t thread, void **value), thread, value)
JOINS(pthread_tryjoin_np, 0, (pthread_t thread, void **value), thread, value)
JOINS(pthread_timedjoin_np, 0, (pthread_t thread, void **value, const struct timespec *t), thread, value, t)
JOINS(pthread_clockjoin_np, 0, (pthread_t thread, void **value, clockid_t c, const struct timespec *t), thread, value, c, t)
JOINS(thrd_join, 1, (thrd_t thread, int *value), thread, value)

__attribute__((weak)) int pthread_detach(pthread_t thread)
{
	uint64_t object = mcchk_orders() ? end_of(thread) : 0;
	if (object)
		forget(thread, object);
	return REAL(pthread_detach)(thread);
}

__attribute__((weak)) int thrd_detach(thrd_t thread)
{
	uint64_t object = mcchk_orders() ? end_of(thread) : 0;
	if (object)
		forget(thread, object);
	return REAL(thrd_detach)(thread);
}

#pragma GCC visibility pop

/* The program has called MPI_Init, whose wrapper has that frame. */
void mcchk_threads_start(void *frame)
{
	share();
	mcchk_watch_start();
	if (mcchk_beside()) /* what they did so far was not recorded */
		mcchk_notice(MCCHK_THREADS, &(uint64_t){early ? early : (uintptr_t)((void **)frame)[1]}, 1);
	mcchk_strands_start(frame);
	if (mcchk_openmp_within())
		mcchk_noticed(MCCHK_REGIONS, frame);
	mcchk_threads_recorded(frame);
	mcchk_mapped_start(frame);
}
