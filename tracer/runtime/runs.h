/* What runs.c and rows.c share. */
#ifndef MCCHK_RUNS_H
#define MCCHK_RUNS_H

#include "calls.h"

#pragma GCC visibility push(hidden)

/* Where a run is found by its place and its first element. */
static inline struct mcchk_start *mcchk_start_slot(struct mcchk_thread *t, uint64_t key, uint64_t addr)
{
	uint64_t h = (addr ^ key * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
	return &t->starts[h >> 52 & (MCCHK_STARTS - 1)];
}

/* Where the rows of a place are found that have this stride and count. */
static inline struct mcchk_rows *mcchk_rows_slot(struct mcchk_thread *t, uint64_t key, int64_t stride, uint64_t count)
{
	uint64_t h = (key ^ (uint64_t)stride * 0x9E3779B97F4A7C15ull ^ count * 0xC2B2AE3D27D4EB4Full) * 0xD6E8FEB86659FD93ull;
	return &t->rows[h >> 54 & (MCCHK_RUNS - 1)];
}

/* Whether they are of that place and span. */
static inline int mcchk_rows_are(const struct mcchk_rows *x, uint64_t key, uint64_t seq, int64_t stride, uint64_t count)
{
	return x->key == key && x->seq == seq && x->stride == stride && x->count == count;
}

/* Rows take turns. */
static inline void mcchk_rows_swap(struct mcchk_rows *x)
{
	struct mcchk_rows_on now = x->now;
	x->now = x->other;
	x->other = now;
}

/* Whether a run of the place that begins at that address can be resumed. */
static inline int mcchk_started(const struct mcchk_start *s, uint64_t key, uint64_t seq, uint64_t addr)
{
	return s->key == key && s->seq == seq && s->rec->addr == addr && s->rec->type == 2 && s->rec->count != 0;
}

/* Makes a record that there is the run of its place. */
void mcchk_resume(struct mcchk_run *r, uint64_t key, uint64_t seq, struct mcchk_access *rec);

/* Makes a new record the run of its place. */
void mcchk_begin_run(struct mcchk_run *r, uint64_t key, uint64_t seq, struct mcchk_access *rec);

/* Writes a record whose stack is known; NULL: it is lost. */
struct mcchk_access *mcchk_write_access(struct mcchk_thread *t, uint32_t stack, uintptr_t addr, uint32_t size, uint32_t flags,
					int64_t stride, uint64_t count);

struct mcchk_thread *mcchk_enter_access(struct mcchk_tls *self, uint64_t elements, uintptr_t addr, uintptr_t pc, void **frame, uint32_t flags);

static inline void mcchk_leave_access(struct mcchk_tls *self)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
}

#pragma GCC visibility pop
#endif
