/* Elements at equal distances, which a loop announces behind it, as records: runs, and
 * grids of runs that are alike.
 *
 * Those that go on with the run of their place count it up. Others begin a run, a row; and
 * three rows of a place and span at equal distances become a grid, in place of their runs.
 * Rows that go on with it are counted there, without more. One that does not is the first
 * of what may be the next plane: it begins another grid, and when that has as many rows it
 * becomes a plane of the one before. Rows that are announced together, those of a loop in a
 * loop, are a grid at once. Rows of other lengths are kept apart, and where every other row is
 * at equal distances from the last but one, these are two grids.
 *
 * A record whose elements are all in another one gets the count 0, and says nothing. The
 * other one is there by then, should the process be killed in between.
 */
#include "runs.h"

#include <string.h>

/* What is added: rows of elements that matter, `step` bytes apart. */
struct added {
	struct mcchk_thread *t;
	const struct mcchk_elements *e; /* the first */
	int64_t step;
	uint32_t rows;
	uint32_t stack; /* 0 until somebody asks for it */
	uint64_t seq;
	uintptr_t pc;
	void **frame;
};

static uint32_t stack_of(struct added *a)
{
	if (a->stack == 0)
		a->stack = mcchk_access_stack(a->t, a->e->start, a->pc, a->frame);
	return a->stack;
}

static struct mcchk_grid *grid_of(struct mcchk_access *rec) { return (struct mcchk_grid *)(void *)rec; }

/* Whether elements go on with the run or are among its own; counts them. */
static int takes(struct mcchk_run *r, const struct mcchk_elements *e)
{
	struct mcchk_access *rec = r->rec;
	int64_t offset = (int64_t)(e->start - r->base);

	if (r->stride == e->stride && e->start == r->next) { /* most often */
		__atomic_store_n(&rec->count, rec->count + e->count, __ATOMIC_RELEASE);
		r->next += e->count * (uint64_t)r->stride;
		return 1;
	}
	if (r->stride == e->stride && offset == 0 && e->count <= rec->count)
		return 1;
	if (r->stride == 0) { /* one element */
		if (offset != 0 && offset != e->stride)
			return 0;
		rec->stride = r->stride = e->stride;
	}
	int64_t span = (int64_t)rec->count * e->stride;
	if (r->stride != e->stride || (span > 0 ? offset < 0 || offset > span : offset > 0 || offset < span) || offset % e->stride != 0)
		return 0;
	int64_t k = offset / e->stride;
	if (k < 0 || (uint64_t)k > rec->count)
		return 0;
	if ((uint64_t)k + e->count > rec->count)
		__atomic_store_n(&rec->count, (uint64_t)k + e->count, __ATOMIC_RELEASE);
	r->next = r->base + rec->count * (uint64_t)r->stride;
	return 1;
}

/* ---- grids ---- */

static int like(const struct mcchk_grid *g, const struct mcchk_elements *e)
{
	return g->first.stride == e->stride && g->first.count == e->count;
}

/* Whether rows are among those of a grid. Of a grid whose steps go in different directions
 * that may not be noticed. */
static int within(const struct mcchk_grid *g, const struct added *a)
{
	int64_t offset = (int64_t)(a->e->start - g->first.addr), plane = 0, row;

	if (!like(g, a->e) || (a->rows > 1 && a->step != g->row_step))
		return 0;
	if (g->planes > 1) {
		plane = offset / g->plane_step;
		if (plane < 0 || plane >= g->planes)
			return 0;
		offset -= plane * g->plane_step;
	}
	row = offset / g->row_step;
	return row >= 0 && row + a->rows <= g->rows && row * g->row_step == offset;
}

/* The rows of a place that are like these, where they are of this span. */
static inline struct mcchk_rows *rows_of(const struct added *a)
{
	struct mcchk_rows *x = mcchk_rows_slot(a->t, a->pc, a->e->stride, a->e->count);
	return mcchk_rows_are(x, a->pc, a->seq, a->e->stride, a->e->count) ? x : NULL;
}

static struct mcchk_rows *begin_rows(const struct added *a)
{
	struct mcchk_rows *x = mcchk_rows_slot(a->t, a->pc, a->e->stride, a->e->count);
	*x = (struct mcchk_rows){.key = a->pc, .seq = a->seq, .stride = a->e->stride, .count = a->e->count};
	a->t->rows_begun = 1;
	return x;
}

static struct mcchk_rows *rows_from(const struct added *a)
{
	struct mcchk_rows *x = rows_of(a);
	return x ? x : begin_rows(a);
}

static void remember_start(const struct added *a, uintptr_t start, struct mcchk_grid *g)
{
	*mcchk_start_slot(a->t, a->pc, start) = (struct mcchk_start){.key = a->pc, .seq = a->seq, .rec = &g->first};
}

/* Rows that come next go on with the grid, up to so many in all. */
static void go_on_with(struct mcchk_rows_on *on, struct mcchk_grid *g, uint64_t most)
{
	on->grid = g;
	on->left = g->planes == 1 && most > g->rows ? most - g->rows : 0;
	on->next = g->first.addr + g->rows * (uint64_t)g->row_step;
}

/* Rows that come next go on with a grid that no others do, or with the one before. */
static void take_up(struct mcchk_rows *x, struct mcchk_grid *g)
{
	if (x->now.grid)
		x->other = x->now;
	x->now.whole = NULL;
	go_on_with(&x->now, g, MCCHK_IN_GRID);
}

/* The grid that is being written has all rows of a plane: it becomes one, if it lies where
 * that should be. */
static void plane_done(struct mcchk_rows_on *on, const struct added *a)
{
	struct mcchk_grid *w = on->whole, *g = on->grid;

	if (w->planes == 1) {
		w->plane_step = (int64_t)(g->first.addr - w->first.addr);
	} else if (g->first.addr != w->first.addr + w->planes * (uint64_t)w->plane_step) {
		on->whole = NULL; /* it may have more rows */
		go_on_with(on, g, MCCHK_IN_GRID);
		return;
	}
	__atomic_store_n(&w->planes, (uint16_t)(w->planes + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&g->first.count, 0, __ATOMIC_RELEASE);
	remember_start(a, g->first.addr, w);
	on->left = 0;
}

/* Counts rows of the grid that is being written, where there are that many left. */
static void count_rows(struct mcchk_rows_on *on, const struct added *a, uint64_t rows)
{
	struct mcchk_grid *g = on->grid;

	__atomic_store_n(&g->rows, (uint16_t)(g->rows + rows), __ATOMIC_RELEASE);
	on->left -= rows;
	on->next += rows * (uint64_t)g->row_step;
	if (on->whole && on->left == 0)
		plane_done(on, a);
}

/* Writes a grid of the first row and what follows it. All that is known of the place may be
 * forgotten then. NULL: it is lost. */
static struct mcchk_grid *new_grid(struct added *a, uintptr_t start, int64_t step, uint32_t rows)
{
	uint32_t stack = stack_of(a);
	struct mcchk_grid *g = mcchk_reserve_grid(a->t);

	if (!g) {
		mcchk_lost(0, a->rows * a->e->count);
		return NULL;
	}
	*g = (struct mcchk_grid){
		.first = {.type = MCCHK_TYPE_GRID, .flags = (uint8_t)a->e->flags, .size = (uint16_t)a->e->size, .stack = sizeof *g,
			  .addr = start, .stride = a->e->stride, .count = a->e->count},
		.stack = stack, .rows = (uint16_t)rows, .planes = 1, .row_step = step};
	mcchk_commit_grid(a->t);
	if (__atomic_load_n(&mcchk_watching, __ATOMIC_RELAXED))
		mcchk_watch_counts();
	remember_start(a, start, g);
	return g;
}

/* Rows that do not go on with a grid of their place begin one more plane of it, if they can
 * be that. */
static int begin_plane(struct mcchk_rows_on *on, struct added *a)
{
	struct mcchk_grid *w = on->grid, *g = NULL;

	if (!w)
		return 0;
	if (on->whole && w->first.count == 0) { /* it was a plane */
		g = w;
		w = on->whole;
	}
	if (w->rows < (a->rows > 1 ? 2 : 3) || a->rows > w->rows || (a->rows > 1 && a->step != w->row_step) || mcchk_in_grid(w) + w->rows > MCCHK_IN_GRID)
		return 0;
	if (!g) {
		g = new_grid(a, a->e->start, w->row_step, a->rows);
		if (!g)
			return 1;
		if (!rows_of(a)) { /* w is not what it was */
			take_up(begin_rows(a), g);
			return 1;
		}
	} else {
		g->first.addr = a->e->start;
		g->rows = (uint16_t)a->rows;
		g->row_step = w->row_step;
		__atomic_store_n(&g->first.count, a->e->count, __ATOMIC_RELEASE);
		remember_start(a, a->e->start, g);
	}
	on->whole = w;
	go_on_with(on, g, w->rows);
	if (on->left == 0)
		plane_done(on, a);
	return 1;
}

/* Whether rows go on with a grid of the place, or are in it. */
static int grid_takes(struct mcchk_rows_on *on, struct added *a)
{
	const struct mcchk_grid *g = on->grid;

	if (!g)
		return 0;
	int64_t offset = (int64_t)(a->e->start - g->first.addr), row = offset / g->row_step, more = row + a->rows - g->rows;
	if (within(g, a) || (on->whole && within(on->whole, a)))
		return 1;
	if ((a->rows > 1 && a->step != g->row_step) || row < 0 || row > g->rows || row * g->row_step != offset || more <= 0 ||
	    (uint64_t)more > on->left)
		return 0;
	count_rows(on, a, (uint64_t)more); /* the first may be the grid's */
	return 1;
}

static int grids_take(struct mcchk_rows *x, struct added *a)
{
	if (grid_takes(&x->now, a))
		return 1;
	if (!grid_takes(&x->other, a))
		return 0;
	mcchk_rows_swap(x);
	return 1;
}

static int begins_plane(struct mcchk_rows *x, struct added *a) { return begin_plane(&x->now, a) || begin_plane(&x->other, a); }

/* Whether rows are in a grid of the place that has some that begin where they do; the
 * place then goes on with that. */
static int grid_began(struct added *a)
{
	const struct mcchk_start *s = mcchk_start_slot(a->t, a->pc, a->e->start);
	if (s->key != a->pc || s->seq != a->seq || s->rec->type != MCCHK_TYPE_GRID || !within(grid_of(s->rec), a))
		return 0;
	take_up(begin_rows(a), grid_of(s->rec)); /* nothing else may go on with it */
	return 1;
}

/* ---- rows ---- */

/* The third of three rows at equal distances, and alike: a grid. */
static int makes_grid(struct added *a, struct mcchk_access *first, struct mcchk_access *second)
{
	if (!first || !second || first->count != a->e->count || second->count != a->e->count)
		return 0;
	uint64_t start = first->addr, step = second->addr - start;
	if (step == 0 || a->e->start - second->addr != step)
		return 0;
	struct mcchk_grid *g = new_grid(a, start, (int64_t)step, 3);
	if (!g)
		return 1;
	struct mcchk_rows *x = rows_of(a);
	if (x) { /* otherwise there are records of the rows that cannot be changed, too */
		__atomic_store_n(&first->count, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&second->count, 0, __ATOMIC_RELEASE);
		struct mcchk_access *between = x->last[0] == second ? NULL : x->last[0], *before = between ? x->last[2] : NULL;
		memset(x->last, 0, sizeof x->last);
		x->last[0] = between;
		x->last[1] = before;
	}
	mcchk_self.runs[a->pc & (MCCHK_RUNS - 1)].key = 0;
	take_up(rows_from(a), g);
	return 1;
}

/* Whether a row is a grid with some of the last ones: those just before, or every other one. */
static int joins_last(const struct mcchk_rows *x, struct added *a)
{
	return makes_grid(a, x->last[1], x->last[0]) || makes_grid(a, x->last[3], x->last[1]);
}

/* A row that goes on with nothing: that of a run that began with the same element, or a new
 * one. */
static void begin_row(struct mcchk_run *r, struct added *a)
{
	const struct mcchk_elements *e = a->e;
	struct mcchk_start *s = mcchk_start_slot(a->t, a->pc, e->start);

	if (mcchk_started(s, a->pc, a->seq, e->start)) {
		mcchk_resume(r, a->pc, a->seq, s->rec);
		if (takes(r, e))
			return;
	}
	struct mcchk_access *rec = mcchk_write_access(a->t, stack_of(a), e->start, e->size, e->flags, e->stride, e->count);
	if (!rec)
		return;
	mcchk_begin_run(r, a->pc, a->seq, rec);
	*s = (struct mcchk_start){.key = a->pc, .seq = a->seq, .rec = rec};
	struct mcchk_rows *x = rows_from(a);
	memmove(x->last + 1, x->last, sizeof x->last - sizeof *x->last);
	x->last[0] = rec;
}

static void add_row(struct added *a)
{
	struct mcchk_run *r = mcchk_self.runs + (a->pc & (MCCHK_RUNS - 1));
	struct mcchk_rows *x = rows_of(a);

	if (x && grids_take(x, a))
		return;
	if (r->key == a->pc && r->seq == a->seq && takes(r, a->e))
		return;
	if (grid_began(a) || (x && (joins_last(x, a) || begins_plane(x, a))))
		return;
	begin_row(r, a);
}

static void add_rows(struct added *a)
{
	struct mcchk_rows *x = rows_of(a);

	if ((x && grids_take(x, a)) || grid_began(a) || (x && begins_plane(x, a)))
		return;
	struct mcchk_grid *g = new_grid(a, a->e->start, a->step, a->rows);
	if (g)
		take_up(rows_from(a), g);
}

/* Rows of elements that are known to matter, two or more each, `step` bytes apart, which is
 * not 0 where there are several. */
void mcchk_run_rows(const struct mcchk_elements *e, int64_t step, uint64_t rows, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = mcchk_enter_access(self, rows * e->count, e->start, pc, frame, e->flags);
	if (!t)
		return;
	struct mcchk_elements from = *e;
	struct added a = {.t = t, .e = &from, .step = step, .seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE), .pc = pc, .frame = frame};
	for (; rows > 0; rows -= a.rows, from.start += a.rows * (uint64_t)step) {
		a.rows = rows < MCCHK_IN_GRID ? (uint32_t)rows : MCCHK_IN_GRID;
		if (a.rows == 1)
			add_row(&a);
		else
			add_rows(&a);
	}
	mcchk_leave_access(self);
}

void mcchk_run_elements(const struct mcchk_elements *e, uintptr_t pc, void **frame) { mcchk_run_rows(e, 0, 1, pc, frame); }

/* Writes rows as a record, behind a call, whatever else their place has: what has been known since
 * the call is written before the next. */
void mcchk_write_rows(struct mcchk_thread *t, uint64_t seq, const struct mcchk_elements *e, int64_t step, uint32_t rows, uint32_t stack)
{
	uint64_t at = seq;
	struct mcchk_access row = {.type = 2, .flags = (uint8_t)e->flags, .size = (uint16_t)e->size, .stack = stack, .addr = e->start,
				   .stride = e->count > 1 ? e->stride : 0, .count = e->count};
	struct mcchk_access *rec = rows == 1 ? mcchk_reserve_access_after(t, &at) : NULL;
	struct mcchk_grid *g = rows == 1 ? NULL : mcchk_reserve_grid_after(t, &at);

	if (at != seq || (!rec && !g)) {
		mcchk_lost(0, rows * e->count);
	} else if (rec) {
		*rec = row;
		mcchk_commit_access(t);
	} else {
		*g = (struct mcchk_grid){.first = row, .stack = stack, .rows = (uint16_t)rows, .planes = 1, .row_step = step};
		g->first.type = MCCHK_TYPE_GRID;
		g->first.stack = sizeof *g;
		mcchk_commit_grid(t);
	}
}

/* Elements of a loop in the course of which other threads made the calls after `seq`:
 * nothing says which of its elements come before which of them. */
void mcchk_elements_since(const struct mcchk_elements *e, uint64_t seq, uintptr_t pc, void **frame)
{
	struct mcchk_tls *self = &mcchk_self;
	struct mcchk_thread *t = mcchk_enter_access(self, e->count, e->start, pc, frame, e->flags);
	if (!t)
		return;
	uint64_t last = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE), at = seq;
	int begun = 0;
	uint32_t stack = mcchk_access_stack(t, e->start, pc, frame);
	if (t->calls.chunk && at < t->calls.since) /* its chunk defines the stack */
		at = t->calls.since;
	do {
		struct mcchk_access *rec = mcchk_reserve_access_after(t, &at);
		if (!rec || (!begun && at > seq)) /* no room, or too late for the first of the calls */
			mcchk_lost(0, e->count);
		if (!rec)
			break;
		begun = 1;
		*rec = (struct mcchk_access){.type = 2, .flags = (uint8_t)e->flags, .size = (uint16_t)e->size, .stack = stack,
					     .addr = e->start, .stride = e->stride, .count = e->count};
		mcchk_commit_access(t);
	} while (at++ < last);
	mcchk_leave_access(self);
}
