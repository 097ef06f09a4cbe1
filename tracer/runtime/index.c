/* The index that stands behind the records of a chunk of accesses, so that a
 * reader which needs none of them can count them without reading them.
 */
#include "mcchk.h"

struct group {
	uint32_t seq; /* how much greater than that of the mark before */
	uint32_t accesses;
};

struct index {
	uint8_t type, zero[3];
	uint32_t length;
	uint64_t elements[2]; /* loads, stores */
	uint64_t lo, hi;
	uint32_t n, zero2;
	struct group groups[];
	/* and the checksum of all this, and four bytes of zero */
};

_Static_assert(sizeof(struct mcchk_mark) == 16 && sizeof(struct mcchk_access) == 32, "records");
_Static_assert(sizeof(struct index) + 8 == MCCHK_INDEX && sizeof(struct group) == MCCHK_GROUP, "index");

static void add(struct index *x, const struct mcchk_access *a)
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
	x->groups[x->n - 1].accesses++;
}

/* Writes the index behind the records of a chunk of accesses, which keeps room
 * for it. Returns its length, and in *elements how many accesses there are. */
uint32_t mcchk_write_index(struct mcchk_chunk *c, uint64_t *elements)
{
	uint32_t used = c->used;
	uint64_t seq = c->seq;
	struct index *x = (void *)(c->payload + used);

	*x = (struct index){.type = 15};
	for (uint32_t at = 0; at < used;) {
		const char *r = c->payload + at;
		if (*r == 2) {
			add(x, (const void *)r);
			at += sizeof(struct mcchk_access);
			continue;
		}
		const struct mcchk_mark *m = (const void *)r;
		x->groups[x->n++] = (struct group){.seq = (uint32_t)(m->seq - seq)};
		seq = m->seq;
		at += sizeof *m;
	}
	x->length = MCCHK_INDEX + x->n * MCCHK_GROUP;
	uint32_t *crc = (void *)&x->groups[x->n];
	crc[0] = mcchk_crc32c(x, x->length - 8);
	crc[1] = 0;
	*elements = x->elements[0] + x->elements[1];
	return x->length;
}
