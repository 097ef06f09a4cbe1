/* What orders threads beside their beginnings and ends (threads.c) and atomics: mutexes,
 * read-write and spin locks, semaphores, barriers, and what is done once, of POSIX, C11
 * and what C++ makes of them.
 *
 * The program is the first to define these functions, as in threads.c. Until it has
 * several strands they only pass on, and so they do for calls that the MPI library or an
 * OpenMP library makes for itself.
 *
 * A condition variable orders nothing but what its mutex does: a waiter may wake up, or
 * not wait at all, before anybody signals.
 *
 * This unit is compiled with -fexceptions: exceptions of C++, and threads that are cancelled, leave
 * some of these functions.
 */
#include "calls.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof(&name) _real;                                                      \
		__typeof(&name) _f = __atomic_load_n(&_real, __ATOMIC_RELAXED);                    \
		if (!_f) {                                                                         \
			_f = (__typeof(_f))mcchk_find(#name, __builtin_return_address(0));         \
			__atomic_store_n(&_real, _f, __ATOMIC_RELAXED);                            \
		}                                                                                  \
		_f;                                                                                \
	})

/* Whether the thread is at what follows, which may allocate memory: where the MPI library
 * watches the program's memory, that takes locks of its own. */
static __thread int keeping;

/* Locks taken within calls of MPI, and within the run-time, are not the program's. */
static int outside(void **frame)
{
	return !keeping && !mcchk_self.busy && !(mcchk_self.depth && (uintptr_t)frame < mcchk_self.frame);
}

#define NOTED(frame) (mcchk_orders() && mcchk_of_program(frame) && outside(frame))

static __attribute__((noinline)) void release(const volatile void *object, void **frame)
{
	MCCHK_RELEASE((uintptr_t)object, frame);
}

static __attribute__((noinline)) void acquire(const volatile void *object, void **frame)
{
	MCCHK_ACQUIRE((uintptr_t)object, frame);
}

static __attribute__((noinline)) void end(const volatile void *object, void **frame)
{
	MCCHK_OBJECT_END((uintptr_t)object, frame);
}

/* The program makes objects that processes share: how these order processes is not followed. */
static __attribute__((noinline)) void is_shared(void **frame)
{
	uint64_t pc = (uint64_t)(uintptr_t)frame[1];
	if (mcchk_of_program(frame) && outside(frame))
		mcchk_notice(MCCHK_SHARED, &pc, 1);
}

/* Who has given up a lock last, by locks: its address and a number of the thread. A wait for a
 * condition variable is over when another thread has had the mutex, most of the time. What is told
 * of one lock is written under it; two that have one place only make that less be known. */
#define GIVEN 256
static uint64_t given_by[GIVEN];

static uint64_t *given_place(const volatile void *lock) { return &given_by[((uintptr_t)lock >> 4 ^ (uintptr_t)lock >> 12) % GIVEN]; }

static uint64_t given_mark(const volatile void *lock)
{
	static __thread uint64_t number;
	static uint64_t last;
	if (number == 0)
		number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return (uint64_t)(uintptr_t)lock ^ number << 48;
}

static void gives(const volatile void *lock) { __atomic_store_n(given_place(lock), given_mark(lock), __ATOMIC_RELAXED); }

/* Whether another thread has given the lock up since this one did. */
static int another_gave(const volatile void *lock)
{
	uint64_t mark = __atomic_load_n(given_place(lock), __ATOMIC_RELAXED), same = (1ull << 48) - 1;
	return ((mark ^ (uint64_t)(uintptr_t)lock) & same) == 0 && mark != given_mark(lock);
}

/* A wait for a condition variable, and its mutex, where it is noted. */
struct wait {
	const void *mutex;
	void **frame;
	struct mcchk_awaited note;
};

static __attribute__((noinline)) void waits(struct wait *w)
{
	gives(w->mutex);
	release(w->mutex, w->frame);
	w->note = mcchk_strand_waits_for((uintptr_t)w->mutex, w->frame);
}

static void waited(struct wait *w)
{
	mcchk_live_goes_on();
	if (!w->mutex)
		return;
	mcchk_strand_waited(&w->note, another_gave(w->mutex));
	acquire(w->mutex, w->frame);
}

/* Whether the calling thread is one that may give the mutex up. One that knows its owner is left as
 * it is by others, whose attempts fail (POSIX, pthread_mutex_unlock: EPERM), and order nothing. */
static int may_give(const void *mutex)
{
#ifdef __GLIBC__
	const pthread_mutex_t *m = mutex;
	int kind = m->__data.__kind, type = kind & 3, robust = kind & 16;
	if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK || robust)
		return m->__data.__owner == gettid();
#endif
	return 1;
}

#define FUNCTION(type, name, parameters) __attribute__((weak)) type name parameters

/* Functions that return 0 when they have done it, or EOWNERDEAD where the last owner gave the mutex
 * up by its end (strands.c). */
#define ACQUIRES(name, object, parameters, ...)                                                    \
	FUNCTION(int, name, parameters)                                                            \
	{                                                                                          \
		int rc = MCCHK_WAITING(REAL(name)(__VA_ARGS__));                                   \
		if ((rc == 0 || rc == EOWNERDEAD) && NOTED(MCCHK_FRAME))                           \
			acquire(object, MCCHK_FRAME);                                              \
		return rc;                                                                         \
	}
#define RELEASES(name, object, parameters, ...) RELEASES_IF(1, name, object, parameters, __VA_ARGS__)
#define RELEASES_IF(may, name, object, parameters, ...)                                            \
	FUNCTION(int, name, parameters)                                                            \
	{                                                                                          \
		if (NOTED(MCCHK_FRAME) && (may)) {                                                 \
			gives(object);                                                             \
			release(object, MCCHK_FRAME);                                              \
		}                                                                                  \
		return REAL(name)(__VA_ARGS__);                                                    \
	}
/* They let others have the lock meanwhile, and have it again whatever they return, and where the
 * thread is cancelled (POSIX, 2.9.5.2). */
#define WAITS(name, object, parameters, ...)                                                       \
	FUNCTION(int, name, parameters)                                                            \
	{                                                                                          \
		struct wait w __attribute__((cleanup(waited))) = {NOTED(MCCHK_FRAME) && may_give(object) ? object : NULL, MCCHK_FRAME, {0}}; \
		if (w.mutex)                                                                       \
			waits(&w);                                                                 \
		mcchk_live_waits();                                                                \
		return REAL(name)(__VA_ARGS__);                                                    \
	}
#define ENDS(type, name, object, parameters, ...)                                                  \
	FUNCTION(type, name, parameters)                                                           \
	{                                                                                          \
		if (NOTED(MCCHK_FRAME))                                                            \
			end(object, MCCHK_FRAME);                                                  \
		return REAL(name)(__VA_ARGS__);                                                    \
	}

/* They begin an object, which is shared between processes or not. */
#define BEGINS(name, object, shared, parameters, ...)                                              \
	FUNCTION(int, name, parameters)                                                            \
	{                                                                                          \
		if (shared)                                                                        \
			is_shared(MCCHK_FRAME);                                                    \
		if (NOTED(MCCHK_FRAME))                                                            \
			end(object, MCCHK_FRAME);                                                  \
		return REAL(name)(__VA_ARGS__);                                                    \
	}
/* They say so of objects to come. */
#define SHARES(name, attributes)                                                                   \
	FUNCTION(int, name, (attributes *a, int shared))                                           \
	{                                                                                          \
		if (shared == PTHREAD_PROCESS_SHARED)                                              \
			is_shared(MCCHK_FRAME);                                                    \
		return REAL(name)(a, shared);                                                      \
	}

#pragma GCC visibility push(default)

SHARES(pthread_mutexattr_setpshared, pthread_mutexattr_t)
SHARES(pthread_condattr_setpshared, pthread_condattr_t)
SHARES(pthread_rwlockattr_setpshared, pthread_rwlockattr_t)
SHARES(pthread_barrierattr_setpshared, pthread_barrierattr_t)

/* ---- mutexes and condition variables ---- */

ENDS(int, pthread_mutex_init, m, (pthread_mutex_t *m, const pthread_mutexattr_t *a), m, a)
ENDS(int, pthread_mutex_destroy, m, (pthread_mutex_t *m), m)
ACQUIRES(pthread_mutex_lock, m, (pthread_mutex_t *m), m)
ACQUIRES(pthread_mutex_trylock, m, (pthread_mutex_t *m), m)
ACQUIRES(pthread_mutex_timedlock, m, (pthread_mutex_t *m, const struct timespec *t), m, t)
ACQUIRES(pthread_mutex_clocklock, m, (pthread_mutex_t *m, clockid_t c, const struct timespec *t), m, c, t)
RELEASES_IF(may_give(m), pthread_mutex_unlock, m, (pthread_mutex_t *m), m)
WAITS(pthread_cond_wait, m, (pthread_cond_t *v, pthread_mutex_t *m), v, m)
WAITS(pthread_cond_timedwait, m, (pthread_cond_t *v, pthread_mutex_t *m, const struct timespec *t), v, m, t)
WAITS(pthread_cond_clockwait, m, (pthread_cond_t *v, pthread_mutex_t *m, clockid_t c, const struct timespec *t), v, m, c, t)

ENDS(int, mtx_init, m, (mtx_t *m, int type), m, type)
ENDS(void, mtx_destroy, m, (mtx_t *m), m)
ACQUIRES(mtx_lock, m, (mtx_t *m), m)
ACQUIRES(mtx_trylock, m, (mtx_t *m), m)
ACQUIRES(mtx_timedlock, m, (mtx_t *m, const struct timespec *t), m, t)
RELEASES_IF(may_give(m), mtx_unlock, m, (mtx_t *m), m)
WAITS(cnd_wait, m, (cnd_t *v, mtx_t *m), v, m)
WAITS(cnd_timedwait, m, (cnd_t *v, mtx_t *m, const struct timespec *t), v, m, t)

/* ---- spin locks and semaphores ---- */

BEGINS(pthread_spin_init, l, shared == PTHREAD_PROCESS_SHARED, (pthread_spinlock_t *l, int shared), l, shared)
ENDS(int, pthread_spin_destroy, l, (pthread_spinlock_t *l), l)
ACQUIRES(pthread_spin_lock, l, (pthread_spinlock_t *l), l)
ACQUIRES(pthread_spin_trylock, l, (pthread_spinlock_t *l), l)
RELEASES(pthread_spin_unlock, l, (pthread_spinlock_t *l), l)

BEGINS(sem_init, s, shared != 0, (sem_t *s, int shared, unsigned value), s, shared, value)
ENDS(int, sem_destroy, s, (sem_t *s), s)
ACQUIRES(sem_wait, s, (sem_t *s), s)
ACQUIRES(sem_trywait, s, (sem_t *s), s)
ACQUIRES(sem_timedwait, s, (sem_t *s, const struct timespec *t), s, t)
ACQUIRES(sem_clockwait, s, (sem_t *s, clockid_t c, const struct timespec *t), s, c, t)
RELEASES(sem_post, s, (sem_t *s), s)

#pragma GCC visibility pop

void mcchk_mutex_lock(pthread_mutex_t *m) { REAL(pthread_mutex_lock)(m); }
void mcchk_mutex_unlock(pthread_mutex_t *m) { REAL(pthread_mutex_unlock)(m); }

/* ---- read-write locks ---- */

/* Readers come after writers, and writers after both: two objects, of which the second is
 * the lock's next byte. */
#define BY_WRITERS(l) ((char *)(l))
#define BY_READERS(l) ((char *)(l) + 1)

/* The locks that a writer has. A library that watches memory takes some where the C library gives
 * memory back, and holds locks of its own. */
static int writers_lock;
static struct mcchk_map writers = {.apart = 1};

static int set_writer(pthread_rwlock_t *l, void *writes)
{
	uint64_t key = (uint64_t)(uintptr_t)l;
	keeping = 1;
	mcchk_spin_lock(&writers_lock);
	int wrote = mcchk_map_get(&writers, key) != NULL;
	if (wrote || writes)
		mcchk_map_set(&writers, key, writes);
	mcchk_spin_unlock(&writers_lock);
	keeping = 0;
	return wrote;
}

static __attribute__((noinline)) void acquire_to_write(pthread_rwlock_t *l, void **frame)
{
	set_writer(l, l);
	acquire(BY_WRITERS(l), frame);
	acquire(BY_READERS(l), frame);
}

static __attribute__((noinline)) void end_both(pthread_rwlock_t *l, void **frame)
{
	end(BY_WRITERS(l), frame);
	end(BY_READERS(l), frame);
}

#pragma GCC visibility push(default)

#define WRITES(name, parameters, ...)                                                              \
	FUNCTION(int, name, parameters)                                                            \
	{                                                                                          \
		int rc = MCCHK_WAITING(REAL(name)(__VA_ARGS__));                                   \
		if (rc == 0 && NOTED(MCCHK_FRAME))                                                 \
			acquire_to_write(l, MCCHK_FRAME);                                          \
		return rc;                                                                         \
	}

WRITES(pthread_rwlock_wrlock, (pthread_rwlock_t *l), l)
WRITES(pthread_rwlock_trywrlock, (pthread_rwlock_t *l), l)
WRITES(pthread_rwlock_timedwrlock, (pthread_rwlock_t *l, const struct timespec *t), l, t)
WRITES(pthread_rwlock_clockwrlock, (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), l, c, t)
ACQUIRES(pthread_rwlock_rdlock, BY_WRITERS(l), (pthread_rwlock_t *l), l)
ACQUIRES(pthread_rwlock_tryrdlock, BY_WRITERS(l), (pthread_rwlock_t *l), l)
ACQUIRES(pthread_rwlock_timedrdlock, BY_WRITERS(l), (pthread_rwlock_t *l, const struct timespec *t), l, t)
ACQUIRES(pthread_rwlock_clockrdlock, BY_WRITERS(l), (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), l, c, t)

FUNCTION(int, pthread_rwlock_unlock, (pthread_rwlock_t *l))
{
	if (NOTED(MCCHK_FRAME))
		release(set_writer(l, NULL) ? BY_WRITERS(l) : BY_READERS(l), MCCHK_FRAME);
	return REAL(pthread_rwlock_unlock)(l);
}

FUNCTION(int, pthread_rwlock_init, (pthread_rwlock_t *l, const pthread_rwlockattr_t *a))
{
	if (NOTED(MCCHK_FRAME))
		end_both(l, MCCHK_FRAME);
	return REAL(pthread_rwlock_init)(l, a);
}

FUNCTION(int, pthread_rwlock_destroy, (pthread_rwlock_t *l))
{
	if (NOTED(MCCHK_FRAME))
		end_both(l, MCCHK_FRAME);
	return REAL(pthread_rwlock_destroy)(l);
}

#pragma GCC visibility pop

/* ---- barriers ---- */

/* Each time all have come is an object of its own: who comes to the next time is not
 * waited for by those who still leave this one. */
struct barrier {
	unsigned count, arrived;
	uint64_t object, last; /* of this time, and of the one before */
};

static int barriers_lock;
static struct mcchk_map barriers;

/* A thread comes. Returns the object of this time, and in *over that of an earlier one
 * that all have left. */
static uint64_t arrive(const pthread_barrier_t *b, uint64_t *over)
{
	uint64_t object = 0;
	mcchk_spin_lock(&barriers_lock);
	struct barrier *x = mcchk_map_get(&barriers, (uint64_t)(uintptr_t)b);
	if (x) {
		if (x->arrived++ == 0)
			x->object = mcchk_objects(1);
		object = x->object;
		if (x->arrived == x->count) {
			*over = x->last;
			x->last = object;
			x->arrived = 0;
		}
	}
	mcchk_spin_unlock(&barriers_lock);
	return object;
}

static __attribute__((noinline)) uint64_t come(const pthread_barrier_t *b, void **frame)
{
	uint64_t over = 0, object = arrive(b, &over);
	if (object)
		MCCHK_RELEASE(object, frame);
	if (over)
		MCCHK_OBJECT_END(over, frame);
	return object;
}

/* Sets what is known of a barrier; count 0: it is no more. */
static void set_barrier(const pthread_barrier_t *b, unsigned count)
{
	struct barrier *x = count ? calloc(1, sizeof *x) : NULL;
	if (x)
		x->count = count;
	mcchk_spin_lock(&barriers_lock);
	struct barrier *before = mcchk_map_get(&barriers, (uint64_t)(uintptr_t)b);
	if (before || x)
		mcchk_map_set(&barriers, (uint64_t)(uintptr_t)b, x);
	mcchk_spin_unlock(&barriers_lock);
	mcchk_free(before);
}

#pragma GCC visibility push(default)

FUNCTION(int, pthread_barrier_init, (pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count))
{
	int rc = REAL(pthread_barrier_init)(b, a, count);
	if (rc == 0 && mcchk_self.depth == 0)
		set_barrier(b, count);
	return rc;
}

FUNCTION(int, pthread_barrier_destroy, (pthread_barrier_t *b))
{
	if (mcchk_self.depth == 0)
		set_barrier(b, 0);
	return REAL(pthread_barrier_destroy)(b);
}

FUNCTION(int, pthread_barrier_wait, (pthread_barrier_t *b))
{
	uint64_t object = NOTED(MCCHK_FRAME) && mcchk_self.depth == 0 ? come(b, MCCHK_FRAME) : 0;
	int rc = MCCHK_WAITING(REAL(pthread_barrier_wait)(b));
	if (object)
		MCCHK_ACQUIRE(object, MCCHK_FRAME);
	return rc;
}

/* ---- once ---- */

#pragma GCC visibility pop

static __thread struct {
	void (*run)(void);
	const void *control;
	void **frame;
} once;

/* What is done once, until it is over: with an exception, it is done again. */
struct running {
	struct mcchk_through before;
	const void *control;
	void **frame;
};

static void ran(struct running *r)
{
	mcchk_self.once = r->before;
	if (mcchk_orders())
		release(r->control, r->frame);
}

/* Stands in for what is done once. */
static void run_once(void)
{
	struct running r __attribute__((cleanup(ran))) = {mcchk_self.once, once.control, MCCHK_FRAME};

	mcchk_self.once = (struct mcchk_through){r.frame, r.frame[1], once.frame};
	acquire(r.control, r.frame);
	once.run();
}

#pragma GCC visibility push(default)

FUNCTION(int, pthread_once, (pthread_once_t *control, void (*run)(void)))
{
	if (!NOTED(MCCHK_FRAME))
		return REAL(pthread_once)(control, run);
	once.run = run;
	once.control = control;
	once.frame = MCCHK_FRAME;
	int rc = REAL(pthread_once)(control, run_once);
	acquire(control, MCCHK_FRAME);
	return rc;
}

FUNCTION(void, call_once, (once_flag * control, void (*run)(void)))
{
	if (!NOTED(MCCHK_FRAME)) {
		REAL(call_once)(control, run);
		return;
	}
	once.run = run;
	once.control = control;
	once.frame = MCCHK_FRAME;
	REAL(call_once)(control, run_once);
	acquire(control, MCCHK_FRAME);
}

/* C++: the initialization of a variable that is static in a function. */
int __cxa_guard_acquire(int64_t *guard);
void __cxa_guard_release(int64_t *guard);
void __cxa_guard_abort(int64_t *guard);

FUNCTION(int, __cxa_guard_acquire, (int64_t *guard))
{
	int rc = REAL(__cxa_guard_acquire)(guard);
	if (NOTED(MCCHK_FRAME))
		acquire(guard, MCCHK_FRAME);
	return rc;
}

FUNCTION(void, __cxa_guard_release, (int64_t *guard))
{
	if (NOTED(MCCHK_FRAME)) {
		mcchk_atomic_released(guard);
		release(guard, MCCHK_FRAME);
	}
	REAL(__cxa_guard_release)(guard);
}

/* It has ended with an exception, and is tried again. */
FUNCTION(void, __cxa_guard_abort, (int64_t *guard))
{
	if (NOTED(MCCHK_FRAME))
		release(guard, MCCHK_FRAME);
	REAL(__cxa_guard_abort)(guard);
}

#pragma GCC visibility pop
