/* From maps to records: elements at equal distances are one, and where the distances are like
 * no others, bits (dense.c).
 */
#include "dense.h"

#include <string.h>

#define NEAR 1024 /* bytes between two elements that are a record (runs.c) */

/* ---- runs ---- */

static void write_run(struct mcchk_progress *p, uint64_t count)
{
	uint64_t seq = p->seq;
	struct mcchk_access *rec = mcchk_reserve_access_after(p->t, &seq);
	if (!rec || (seq != p->seq && !p->beside)) { /* too late for the call that they follow */
		mcchk_missed(count);
		return;
	}
	*rec = (struct mcchk_access){.type = 2, .flags = p->flags, .size = p->size, .stack = p->stack, .addr = p->base + (p->first << p->shift),
				     .count = count, .stride = count > 1 ? (int64_t)(p->distance << p->shift) : 0};
	mcchk_commit_access(p->t);
}

void mcchk_progress_add(struct mcchk_progress *p, uint64_t i)
{
	uint64_t distance = i - p->last;

	if (p->count > 1 && distance == p->distance) {
		p->count++;
		p->last = i;
		return;
	}
	if (p->count > 0 && p->count < 3 && distance << p->shift <= NEAR) { /* the first of two is alone */
		if (p->count == 2)
			write_run(p, 1);
		p->first = p->last;
		p->count = 2;
	} else {
		if (p->count > 0)
			write_run(p, p->count);
		p->first = i;
		p->count = 1;
	}
	p->distance = distance;
	p->last = i;
}

void mcchk_progress_end(struct mcchk_progress *p)
{
	if (p->count > 0)
		write_run(p, p->count);
	p->count = 0;
}

/* ---- maps ---- */

/* Eight bytes of a map whose elements go on at a distance of at most eight, the first so many
 * bytes ahead. */
static inline uint64_t every(uint64_t distance, uint64_t ahead)
{
	static const uint64_t bytes[] = {
		0, 0x0101010101010101, 0x0001000100010001, 0x0001000001000001, 0x0000000100000001,
		0x0000010000000001, 0x0001000000000001, 0x0100000000000001, 0x0000000000000001};
	return bytes[distance] << 8 * ahead;
}

/* How many of eight bytes of a map, from an element on, are set, if that is what elements at
 * that distance make of them, behind the last; else 0. */
static inline uint64_t go_on(uint64_t last, uint64_t distance, uint64_t i, uint64_t w)
{
	uint64_t ahead = last + distance - i;

	return distance <= 8 && ahead <= 7 && w == every(distance, ahead) ? w * 0x0101010101010101 >> 56 : 0;
}

/* Counts the elements of the rest of a part, in which changes are of no account. */
static void count_rest(struct mcchk_survey *s, const uint8_t *map, uint64_t i, uint64_t end)
{
	for (uint64_t w; i < end; i += 8) {
		memcpy(&w, map + i, 8);
		if (w == 0)
			continue;
		s->n += w * 0x0101010101010101 >> 56;
		s->last = i + (uint64_t)(63 - __builtin_clzll(w)) / 8;
	}
}

/* Looks at a part of a map. */
static struct mcchk_survey survey(const uint8_t *map, uint64_t from, uint64_t end)
{
	struct mcchk_survey s = {.last = UINT64_MAX / 2};

	for (uint64_t i = from, w, n; i < end; i += 8) {
		memcpy(&w, map + i, 8);
		if (MCCHK_LIKELY(w == 0))
			continue;
		if (s.unit == 1 && mcchk_is_dense_up_to(&s, end)) {
			count_rest(&s, map, i, end);
			break;
		}
		n = s.changes > 0 ? go_on(s.last, s.distance, i, w) : 0;
		s.n += n;
		s.last += n * s.distance;
		for (; n == 0 && w != 0; w &= w - 1)
			mcchk_survey_add(&s, i + (uint64_t)__builtin_ctzll(w) / 8);
	}
	return s;
}

/* Eight bytes of a map as bits. */
static inline uint64_t eight_bits(uint64_t w) { return w * 0x0102040810204080 >> 56; }

/* The bits of a part of a map. */
static void take_bits(const uint8_t *map, const struct mcchk_survey *s, uint64_t *words)
{
	uint64_t i = s->first, w;

	memset(words, 0, mcchk_survey_words(s) * sizeof *words);
	for (uint64_t bit = 0; i <= s->last; bit++, i += s->unit)
		if (s->unit == 1 && bit % 8 == 0 && i + 7 <= s->last) {
			memcpy(&w, map + i, 8);
			words[bit / 64] |= eight_bits(w) << bit % 64;
			bit += 7;
			i += 7;
		} else {
			words[bit / 64] |= (uint64_t)map[i] << bit % 64;
		}
}

/* Writes the elements of a part of a map as runs. */
static void write_runs(struct mcchk_progress *p, const uint8_t *map, uint64_t from, uint64_t end)
{
	for (uint64_t i = from, w, n; i < end; i += 8) {
		memcpy(&w, map + i, 8);
		if (MCCHK_LIKELY(w == 0))
			continue;
		n = p->count > 1 ? go_on(p->last, p->distance, i, w) : 0;
		p->count += n;
		p->last += n * p->distance;
		for (; n == 0 && w != 0; w &= w - 1)
			mcchk_progress_add(p, i + (uint64_t)__builtin_ctzll(w) / 8);
	}
}

/* Writes the elements of a part of a map as records of each of n members, and returns how many
 * elements there are. */
uint64_t mcchk_write_part(struct mcchk_progress *members, uint32_t n, const uint8_t *map, uint64_t from, uint64_t end)
{
	uint64_t words[MCCHK_DENSE_WORDS];
	const struct mcchk_survey s = survey(map, from, end);
	int dense = s.n > 0 && mcchk_is_dense(&s);

	if (dense)
		take_bits(map, &s, words);
	for (uint32_t i = 0; i < n && s.n > 0; i++)
		if (dense)
			mcchk_write_dense(&members[i], &s, words);
		else
			write_runs(&members[i], map, from, end);
	return s.n;
}
