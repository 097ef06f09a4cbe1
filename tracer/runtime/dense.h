/* Many elements of a place, at no distances that are alike: sets of bits (dense.c). */
#ifndef MCCHK_DENSE_H
#define MCCHK_DENSE_H

#include "activations.h"

#pragma GCC visibility push(hidden)

#define MCCHK_TOGETHER 32768u                    /* elements of a map that become records, or bits, together */
#define MCCHK_DENSE_WORDS (MCCHK_TOGETHER / 64u) /* of bits, at most */

/* What elements, added one after the other, are like. */
struct mcchk_survey {
	uint64_t n, first, last;
	uint64_t distance; /* of the last from the one before */
	uint64_t changes;  /* so often it was another */
	uint64_t unit;     /* which all distances are multiples of */
};

void mcchk_survey_changes(struct mcchk_survey *s, uint64_t distance);

static inline __attribute__((always_inline)) void mcchk_survey_add(struct mcchk_survey *s, uint64_t i)
{
	uint64_t distance = i - s->last;

	if (s->n++ == 0)
		s->first = i;
	else if (distance != s->distance)
		mcchk_survey_changes(s, distance);
	s->last = i;
}

/* A bit for each unit from the first element to the last: so many words of them. */
static inline uint64_t mcchk_survey_words(const struct mcchk_survey *s) { return (s->last - s->first) / s->unit / 64 + 1; }

/* Whether records would take more room than so many words of bits. */
static inline int mcchk_are_less(uint64_t words, uint64_t changes) { return 8 * words + 64 < 3 * changes && words <= MCCHK_DENSE_WORDS; }

static inline int mcchk_is_dense(const struct mcchk_survey *s) { return s->changes > 32 && mcchk_are_less(mcchk_survey_words(s), s->changes); }

/* The same of a unit of one, whatever comes before an element. */
static inline int mcchk_is_dense_up_to(const struct mcchk_survey *s, uint64_t end)
{
	return s->changes > 32 && mcchk_are_less((end - 1 - s->first) / 64 + 1, s->changes);
}

void mcchk_write_dense(const struct mcchk_progress *p, const struct mcchk_survey *s, const uint64_t *words);
uint64_t mcchk_write_part(struct mcchk_progress *members, uint32_t n, const uint8_t *map, uint64_t from, uint64_t end); /* elements.c */

#pragma GCC visibility pop
#endif
