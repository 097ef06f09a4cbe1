/* Elements of maps and sets that are many, but at no distances that are alike: what a sort or
 * a permutation touches. A record for each run of them would take longer to write, and more
 * room, than a bit for each (docs/trace-format.md, "compact accesses").
 */
#include "dense.h"

#define RUNS 256u /* in a record: as long as those that accesses become (compact.c) */
#define WORDS 56u /* the same: it is moved within the room before records */

void mcchk_survey_changes(struct mcchk_survey *s, uint64_t distance)
{
	uint64_t a = s->unit, b = distance;

	while (b != 0 && a != 1) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	s->unit = a;
	s->changes++;
	s->distance = distance;
}

/* How many runs of bits begin in a word, behind another. */
static uint32_t runs_in(uint64_t before, uint64_t word) { return (uint32_t)__builtin_popcountll(word & ~(word << 1 | before >> 63)); }

void mcchk_write_dense(const struct mcchk_progress *p, const struct mcchk_survey *s, const uint64_t *words)
{
	uint32_t all = (uint32_t)mcchk_survey_words(s);

	for (uint32_t i = 0, n; i < all; i += n) {
		n = 1;
		if (words[i] == 0)
			continue;
		uint32_t runs = runs_in(0, words[i]);
		uint64_t elements = (uint64_t)__builtin_popcountll(words[i]);
		for (; i + n < all && n < WORDS && runs <= RUNS - 32 && (words[i + n] | words[i + n - 1]) != 0; n++) {
			runs += runs_in(words[i + n - 1], words[i + n]);
			elements += (uint64_t)__builtin_popcountll(words[i + n]);
		}
		const struct mcchk_access first = {.type = 2, .flags = p->flags, .size = p->size, .stack = p->stack,
						   .addr = p->base + ((s->first + 64 * i * s->unit) << p->shift),
						   .stride = (int64_t)(s->unit << p->shift), .count = 64 * n};
		if (!mcchk_write_bits(p->t, p->seq, p->beside, &first, words + i, runs, elements))
			mcchk_missed(elements);
	}
}
