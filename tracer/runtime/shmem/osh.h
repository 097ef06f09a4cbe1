/* What the generated wrappers of OpenSHMEM call, and what the hooks of shmem.tbl may
 * use. */
#ifndef MCCHK_SHMEM_H
#define MCCHK_SHMEM_H

#include "calls.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

#define MCCHK_SHMEM_VERSION (SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION)

#if MCCHK_SHMEM_VERSION >= 104
typedef shmem_ctx_t mcchk_ctx;
#else
typedef void *mcchk_ctx;
#endif
#if MCCHK_SHMEM_VERSION >= 105
typedef shmem_team_t mcchk_team;
#else
typedef void *mcchk_team;
#endif

extern const uint16_t mcchk_fn_shmem_init, mcchk_fn_shmem_init_thread, mcchk_fn_start_pes, mcchk_fn_shmem_finalize,
	mcchk_fn_mcchk_Symmetric_data;

/* ---- values as the trace format has them ---- */

int64_t mcchk_ctx_id(mcchk_ctx ctx);
int64_t mcchk_team_id(mcchk_team team);
int64_t mcchk_comparison(int cmp);
int64_t mcchk_signal_sets(int op); /* 1: the signal sets, 0: it adds */
/* The bytes at p as a number; 0 of none, and of more than eight. */
int64_t mcchk_peek(const volatile void *p, uint64_t size);

static inline int64_t mcchk_bits_float(float v)
{
	int64_t b = 0;
	memcpy(&b, &v, sizeof v);
	return b;
}

static inline int64_t mcchk_bits_double(double v)
{
	int64_t b = 0;
	memcpy(&b, &v, sizeof v);
	return b;
}

static inline int64_t mcchk_bits_long_double(long double v)
{
	(void)v;
	return 0; /* more than a number holds */
}

static inline int64_t mcchk_bits_integer(int64_t v) { return v; }

#define mcchk_bits(v)                                                                              \
	_Generic((v), float : mcchk_bits_float, double : mcchk_bits_double,                        \
		 long double : mcchk_bits_long_double, default : mcchk_bits_integer)(v)

/* What there was before a test, which is recorded where it succeeds: n values at p, and
 * one of them. */
void mcchk_glance(const volatile void *p, uint64_t n, uint64_t size);
int64_t mcchk_glanced(int64_t k);

/* What is put, where it is one element that a number holds. */
#define mcchk_first(p, n, size) ((n) == 1 ? mcchk_peek(p, size) : 0)

/* ---- shmem.c ---- */

extern int pshmem_my_pe(void) __attribute__((visibility("default")));
void mcchk_shmem_missing(const char *function) __attribute__((noreturn));

/* A buffer that the library uses until the context is quiet. */
void mcchk_shmem_pending(int64_t ctx, const void *p, uint64_t size);
void mcchk_shmem_completed(int64_t ctx);
void mcchk_shmem_barrier(void); /* of all: it completes, and ends a region */
void mcchk_shmem_passed(void);  /* all have passed */

/* Blocks of the symmetric heap. */
void mcchk_symmetric_made(void *p, uint64_t size);
void mcchk_symmetric_moved(void *from, void *to, uint64_t size);
void mcchk_symmetric_freed(const void *p);
/* shmem_ptr gave another process's copy of what lies at p. */
void mcchk_symmetric_seen(const void *p, const void *there);

/* The number of earlier holders of a lock that was just taken, -1 unknown. */
int64_t mcchk_lock_ticket(const volatile long *lock);
int mcchk_lock_tried(int taken);
#define MCCHK_LOCK_FREE mcchk_lock_tried(_rc) /* 0, what shmem_test_lock returns then */

#pragma GCC visibility pop
#endif
