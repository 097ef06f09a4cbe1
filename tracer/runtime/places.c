/* Where the elements of a datatype lie: in one box, or where that would span large holes, as of
 * a column of a matrix, or of variables named by their addresses, in one for each part. */
#include "contents.h"

#include <string.h>

#define NEAR (64u << 10)  /* parts with no more than that between them are one */
#define LARGE (1u << 20)  /* a box that is not looked into, bytes */
#define MOST_PARTS 4096u

/* The parts of one element, relative to its address. */
struct mcchk_parts {
	uint32_t n;
	int64_t near;
	struct part {
		int64_t lo, hi;
	} all[];
};

static int compare(const void *a, const void *b)
{
	int64_t x = ((const struct part *)a)->lo, y = ((const struct part *)b)->lo;
	return (x > y) - (x < y);
}

/* Makes those one that are near to each other. */
static void merge(struct mcchk_parts *s)
{
	uint32_t n = 0;
	qsort(s->all, s->n, sizeof s->all[0], compare);
	for (uint32_t k = 0; k < s->n; k++) {
		struct part p = s->all[k];
		if (n && p.lo - s->all[n - 1].hi <= s->near)
			s->all[n - 1].hi = p.hi > s->all[n - 1].hi ? p.hi : s->all[n - 1].hi;
		else
			s->all[n++] = p;
	}
	s->n = n;
}

static void add(struct mcchk_parts *s, int64_t lo, int64_t hi)
{
	struct part *last = s->n ? &s->all[s->n - 1] : NULL;
	if (last && lo <= last->hi + s->near && hi >= last->lo - s->near) {
		last->lo = lo < last->lo ? lo : last->lo;
		last->hi = hi > last->hi ? hi : last->hi;
		return;
	}
	for (; s->n == MOST_PARTS; s->near *= 16)
		merge(s);
	s->all[s->n++] = (struct part){lo, hi};
}

static void gather(struct mcchk_parts *s, MPI_Datatype type, int64_t at);

/* Elements that follow one another. */
static void gather_block(struct mcchk_parts *s, MPI_Datatype type, int64_t at, int64_t n)
{
	MPI_Count lb, extent, true_lb, true_extent;
	if (n <= 0 || PMPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS ||
	    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent) != MPI_SUCCESS || true_extent <= 0)
		return;
	int64_t size = (int64_t)true_extent, step = (int64_t)extent;
	if (size <= LARGE && step >= 0 && step <= size + NEAR) {
		add(s, at + (int64_t)true_lb, at + (int64_t)true_lb + (n - 1) * step + size);
		return;
	}
	for (int64_t k = 0; k < n; k++)
		gather(s, type, at + k * step);
}

/* The elements of a part of an array, from dimension d on, the last of which lies closest. */
struct array {
	int64_t dimensions;
	const int64_t *n; /* of elements of the part */
	int64_t *step;    /* from one to the next, bytes */
	MPI_Datatype type;
};

static void gather_array(struct mcchk_parts *s, const struct array *a, int64_t d, int64_t at)
{
	if (d == a->dimensions - 1) {
		gather_block(s, a->type, at, a->n[d]);
		return;
	}
	for (int64_t k = 0; k < a->n[d]; k++)
		gather_array(s, a, d + 1, at + k * a->step[d]);
}

/* Returns 0 without memory. */
static int gather_subarray(struct mcchk_parts *s, const struct mcchk_contents *c, int64_t at, int64_t extent)
{
	int64_t d = c->i[0], fortran = c->i[3 * d + 1], *n = calloc((size_t)d + 1, 2 * sizeof *n);
	if (!n)
		return 0;
	struct array a = {d, n, n + d, c->t[0]};
	for (int64_t k = d - 1, step = extent; k >= 0; k--) {
		int64_t from = fortran ? d - 1 - k : k;
		n[k] = c->i[1 + d + from];
		at += c->i[1 + 2 * d + from] * step;
		a.step[k] = step;
		step *= c->i[1 + from];
	}
	gather_array(s, &a, 0, at);
	free(n);
	return 1;
}

/* Adds the parts by how the type was constructed; 0: that is not known. */
static int gather_made(struct mcchk_parts *s, const struct mcchk_contents *c, int64_t at)
{
	MPI_Count lb = 0, extent = 0;
	const int64_t *i = c->i, *a = c->a;
	int64_t n = c->ints > 0 ? i[0] : 1;
	if (c->types > 0)
		PMPI_Type_get_extent_x(c->t[0], &lb, &extent);
	switch (c->combiner) {
	case 1:  /* dup */
	case 12: /* resized */
		gather(s, c->t[0], at);
		return 1;
	case 2: /* contiguous */
		gather_block(s, c->t[0], at, n);
		return 1;
	case 3: /* vector */
	case 4: /* hvector */
		for (int64_t k = 0; k < n; k++)
			gather_block(s, c->t[0], at + k * (c->combiner == 3 ? i[2] * (int64_t)extent : a[0]), i[1]);
		return 1;
	case 5: /* indexed */
	case 6: /* hindexed */
		for (int64_t k = 0; k < n; k++)
			gather_block(s, c->t[0], at + (c->combiner == 5 ? i[1 + n + k] * (int64_t)extent : a[k]), i[1 + k]);
		return 1;
	case 7: /* indexed_block */
	case 8: /* hindexed_block */
		for (int64_t k = 0; k < n; k++)
			gather_block(s, c->t[0], at + (c->combiner == 7 ? i[2 + k] * (int64_t)extent : a[k]), i[1]);
		return 1;
	case 9: /* struct */
		for (int64_t k = 0; k < n; k++)
			gather_block(s, c->t[k], at + a[k], i[1 + k]);
		return 1;
	case 10: /* subarray */
		return gather_subarray(s, c, at, (int64_t)extent);
	}
	return 0;
}

static void gather(struct mcchk_parts *s, MPI_Datatype type, int64_t at)
{
	MPI_Count lb, extent;
	struct mcchk_contents c;
	if (PMPI_Type_get_true_extent_x(type, &lb, &extent) != MPI_SUCCESS || extent <= 0)
		return;
	int known = 0;
	if (extent > LARGE && mcchk_read_contents(type, &c)) {
		known = gather_made(s, &c, at);
		mcchk_drop_contents(&c);
	}
	if (!known)
		add(s, at + (int64_t)lb, at + (int64_t)(lb + extent));
}

struct mcchk_parts *mcchk_parts_of(MPI_Datatype type)
{
	struct mcchk_parts *s = malloc(sizeof *s + MOST_PARTS * sizeof s->all[0]);
	if (!s)
		return NULL;
	s->n = 0;
	s->near = NEAR;
	gather(s, type, 0);
	merge(s);
	struct mcchk_parts *fit = realloc(s, sizeof *s + s->n * sizeof s->all[0]);
	return fit ? fit : s;
}

void mcchk_places(const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype type,
		  void (*with)(void *of, struct mcchk_range place), void *of)
{
	struct mcchk_range box = mcchk_box_at(p, displacement, count, type);
	if (box.lo >= box.hi)
		return;
	const struct mcchk_parts *parts = box.hi - box.lo > LARGE && (uint64_t)count <= MOST_PARTS ? mcchk_type_parts(type) : NULL;
	if (!parts || parts->n * (uint64_t)count > MOST_PARTS) {
		with(of, box);
		return;
	}
	MPI_Count lb = 0, extent = 0;
	PMPI_Type_get_extent_x(type, &lb, &extent);
	struct mcchk_range last = {0};
	uint64_t at = (p == MPI_BOTTOM ? 0 : (uint64_t)(uintptr_t)p) + (uint64_t)(displacement * extent);
	for (MPI_Count k = 0; k < count; k++, at += (uint64_t)extent)
		for (uint32_t i = 0; i < parts->n; i++) {
			struct mcchk_range r = {.lo = at + (uint64_t)parts->all[i].lo, .hi = at + (uint64_t)parts->all[i].hi};
			if (last.lo < last.hi && r.lo >= last.lo && r.lo <= last.hi + NEAR) {
				last.hi = r.hi > last.hi ? r.hi : last.hi;
				continue;
			}
			if (last.lo < last.hi)
				with(of, last);
			last = r;
		}
	with(of, last);
}

/* ---- lists of places that matter ---- */

struct mcchk_range *mcchk_ranges(struct mcchk_ranges *l) { return l->more ? l->more : l->few; }

int mcchk_ranges_add(struct mcchk_ranges *l, struct mcchk_range r)
{
	const uint32_t few = sizeof l->few / sizeof l->few[0];
	uint32_t room = l->more ? l->room : few;
	if (l->count == room) {
		struct mcchk_range *more = realloc(l->more, 2 * room * sizeof *more);
		if (!more)
			return 0;
		if (!l->more)
			memcpy(more, l->few, sizeof l->few);
		l->more = more;
		l->room = 2 * room;
	}
	mcchk_ranges(l)[l->count++] = r;
	return 1;
}

void mcchk_ranges_collect(void *list, struct mcchk_range r) { mcchk_ranges_add(list, r); }

void mcchk_ranges_mark(struct mcchk_ranges *l, int marked)
{
	for (uint32_t i = 0; i < l->count; i++) {
		if (marked)
			mcchk_mark(&mcchk_ranges(l)[i]);
		else
			mcchk_unmark(&mcchk_ranges(l)[i]);
	}
}

void mcchk_ranges_drop(struct mcchk_ranges *l)
{
	free(l->more);
	*l = (struct mcchk_ranges){0};
}
