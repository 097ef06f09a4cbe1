/* The index that stands behind the records of a chunk of accesses, so that a
 * reader which needs none of them can count them without reading them.
 */
#include "mcchk.h"

#include <string.h>

struct index {
	uint8_t type, form; /* 1: groups are numbers */
	uint16_t zero;
	uint32_t length;
	uint64_t elements[2]; /* loads, stores */
	uint64_t lo, hi;
	uint32_t n, zero2;
	/* For each mark how much greater its call is than that of the mark before, and how
	 * many accesses follow; and the checksum of all this, and four bytes of zero. */
	unsigned char groups[];
};

_Static_assert(sizeof(struct mcchk_mark) == 16 && sizeof(struct mcchk_access) == 32 && sizeof(struct mcchk_grid) == 56, "records");
_Static_assert(sizeof(struct index) + 8 + 7 <= MCCHK_INDEX, "index");

/* Adds an access to the sums of its chunk. */
void mcchk_count(struct mcchk_sums *x, const struct mcchk_access *a)
{
	if (a->count == 0)
		return;
	uint64_t last = a->addr + (a->count - 1) * (uint64_t)a->stride;
	uint64_t lo = a->stride < 0 ? last : a->addr;
	uint64_t hi = (a->stride < 0 ? a->addr : last) + a->size;
	if (x->hi == 0 || lo < x->lo)
		x->lo = lo;
	if (hi > x->hi)
		x->hi = hi;
	x->elements[a->flags & MCCHK_STORE] += a->count;
}

/* Adds the accesses of a grid, of which those at its corners reach farthest. */
void mcchk_count_grid(struct mcchk_sums *x, const struct mcchk_grid *g)
{
	struct mcchk_access corner = g->first;
	uint64_t down = (g->rows - 1u) * (uint64_t)g->row_step, along = (g->planes - 1u) * (uint64_t)g->plane_step;

	mcchk_count(x, &corner);
	corner.addr += down;
	mcchk_count(x, &corner);
	corner.addr += along;
	mcchk_count(x, &corner);
	corner.addr -= down;
	mcchk_count(x, &corner);
	x->elements[corner.flags & MCCHK_STORE] += (mcchk_in_grid(g) - 4) * corner.count;
}

/* Groups being written. */
struct groups {
	unsigned char *at;
	uint32_t n;
	uint64_t accesses; /* of the last */
};

static void add_group(struct groups *g, uint64_t later)
{
	if (g->n++ > 0)
		g->at = mcchk_number(g->at, g->accesses);
	g->at = mcchk_number(g->at, later);
	g->accesses = 0;
}

/* Those of the accesses in a compact record. */
static void add_compact(struct groups *g, const char *record, uint64_t *seq)
{
	uint32_t length, left;
	uint16_t words;
	memcpy(&words, record + 2, sizeof words);
	memcpy(&length, record + 4, sizeof length);
	const unsigned char *at = (const unsigned char *)record + 8;

	if (mcchk_are_bits(record)) {
		g->accesses += 8u * words / sizeof(struct mcchk_access);
		return;
	}
	for (left = 8u * words; left > 0;) {
		uint64_t value;
		switch (mcchk_compact_next(&at, &value)) {
		case MCCHK_COMPACT_MARK:
			add_group(g, value);
			*seq += value;
			left -= (uint32_t)sizeof(struct mcchk_mark);
			break;
		case MCCHK_COMPACT_ACCESS:
			g->accesses++;
			left -= (uint32_t)sizeof(struct mcchk_access);
			break;
		default:
			g->accesses += value;
			left -= (uint32_t)sizeof(struct mcchk_grid);
		}
	}
}

/* Writes the index behind the records of a chunk of accesses, which keeps room
 * for it. The sums are of its compact records. Returns its length, and in *elements
 * how many accesses there are; 0 when there are none. */
uint32_t mcchk_write_index(struct mcchk_chunk *c, struct mcchk_sums sums, uint64_t *elements)
{
	uint32_t used = c->used, length;
	uint64_t seq = c->seq;
	struct index *x = (void *)(c->payload + used);
	struct groups g = {.at = x->groups};

	for (uint32_t at = 0; at < used;) {
		const char *r = c->payload + at;
		const struct mcchk_mark *m = (const void *)r;
		memcpy(&length, r + 4, sizeof length);
		switch (m->type) {
		case 2:
			mcchk_count(&sums, (const void *)r);
			g.accesses += ((const struct mcchk_access *)(const void *)r)->count != 0;
			length = sizeof(struct mcchk_access);
			break;
		case MCCHK_TYPE_GRID:
			mcchk_count_grid(&sums, (const void *)r);
			if (((const struct mcchk_grid *)(const void *)r)->first.count != 0)
				g.accesses += mcchk_in_grid((const void *)r);
			break;
		case 8:
			add_group(&g, m->seq - seq);
			seq = m->seq;
			break;
		case MCCHK_TYPE_COMPACT_ACCESSES:
			add_compact(&g, r, &seq);
			break;
		}
		at += length;
	}
	*elements = sums.elements[0] + sums.elements[1];
	if (g.n == 0)
		return 0;
	g.at = mcchk_number(g.at, g.accesses);
	*x = (struct index){.type = 15, .form = 1, .elements = {sums.elements[0], sums.elements[1]}, .lo = sums.lo, .hi = sums.hi, .n = g.n};
	uint32_t *crc = (void *)((char *)x + mcchk_pad8((uint64_t)(g.at - (unsigned char *)x)));
	memset(g.at, 0, (size_t)((unsigned char *)crc - g.at));
	x->length = (uint32_t)((char *)crc - (char *)x) + 8;
	crc[0] = mcchk_crc32c(x, x->length - 8);
	crc[1] = 0;
	return x->length;
}
