/* Loops whose accesses are announced behind them (../plugin): which of their elements
 * matter.
 *
 * What is recorded is what would have been, had each element been looked at: those on
 * pages that matter, and of a page that matters in part those in such a part.
 */
#include "mcchk.h"

/* Elements [first, end) of a loop as a record. */
static void record(const struct mcchk_elements *e, uint64_t first, uint64_t end, uintptr_t pc, void **frame)
{
	if (first == 0 && end == e->count && end > 1) {
		mcchk_run_elements(e, pc, frame);
		return;
	}
	struct mcchk_elements part = *e;
	part.start += first * (uint64_t)e->stride;
	part.count = end - first;
	if (part.count > 1)
		mcchk_run_elements(&part, pc, frame);
	else if (part.count == 1)
		mcchk_run_other(part.start, pc, frame, e->size, e->flags);
}

static uint8_t shadow_of(uintptr_t addr) { return __atomic_load_n(&MCCHK_SHADOW[addr >> MCCHK_PAGE_SHIFT], __ATOMIC_ACQUIRE); }

/* The number of elements from `addr` on, of `left`, that begin on the same page. */
static uint64_t on_page(uintptr_t addr, int64_t stride, uint64_t left)
{
	const uintptr_t mask = (1u << MCCHK_PAGE_SHIFT) - 1;
	if (left == 1)
		return 1; /* it may have no stride */
	uint64_t room = stride > 0 ? mask - (addr & mask) : addr & mask, step = (uint64_t)(stride > 0 ? stride : -stride);
	if (room < step) /* of a column */
		return 1;
	uint64_t n = 1 + room / step;
	return n < left ? n : left;
}

/* Accesses of a size that has a call-back of its own: a page is looked up for the byte
 * that an element begins with. */
static void by_page(const struct mcchk_elements *e, uintptr_t pc, void **frame)
{
	uint64_t first = 0, n;
	int open = 0;

	for (uint64_t i = 0; i < e->count; i += n) {
		uintptr_t addr = e->start + i * (uint64_t)e->stride;
		uint8_t v = shadow_of(addr);
		n = on_page(addr, e->stride, e->count - i);
		if (v == 0) {
			if (open)
				record(e, first, i, pc, frame);
			open = 0;
			continue;
		}
		if (v & 1) {
			first = open ? first : i;
			open = 1;
			continue;
		}
		n = 1; /* the next is looked at anew */
		int hot = MCCHK_PART(addr, e->size, v) && (!(addr & (e->size - 1)) || mcchk_hot_granules(addr, e->size));
		if (open && !hot)
			record(e, first, i, pc, frame);
		else if (!open)
			first = i;
		open = hot;
	}
	if (open)
		record(e, first, e->count, pc, frame);
}

/* Accesses of other sizes: each is looked up whole. */
static void by_element(const struct mcchk_elements *e, uintptr_t pc, void **frame)
{
	uint64_t first = 0;

	for (uint64_t i = 0; i <= e->count; i++) {
		if (i < e->count && mcchk_hot(e->start + i * (uint64_t)e->stride, e->size))
			continue;
		if (first < i)
			record(e, first, i, pc, frame);
		first = i + 1;
	}
}

/* Whether any page of [lo, hi] matters. */
static int any_page(uintptr_t lo, uintptr_t hi)
{
	const uint8_t *p = MCCHK_SHADOW + (lo >> MCCHK_PAGE_SHIFT), *end = MCCHK_SHADOW + (hi >> MCCHK_PAGE_SHIFT);

	for (; p <= end && ((uintptr_t)p & 7) != 0; p++)
		if (*p != 0)
			return 1;
	for (uint64_t eight; p + 7 <= end; p += 8) {
		__builtin_memcpy(&eight, p, 8);
		if (eight != 0)
			return 1;
	}
	for (; p <= end; p++)
		if (*p != 0)
			return 1;
	return 0;
}

/* Whether pages that lie that far apart are looked at one by one, and not those between them. */
static int apart(uint64_t stride, uint64_t size) { return stride > size && (stride - size) >> MCCHK_PAGE_SHIFT > 8; }

/* Whether any page of elements matters, that lie `stride` bytes apart from the lowest one on. */
static int any_of(uintptr_t lo, uint64_t stride, uint64_t count, uint64_t size)
{
	if (!apart(stride, size))
		return any_page(lo, lo + (count - 1) * stride + size - 1);
	for (; count > 0; count--, lo += stride)
		if (any_page(lo, lo + size - 1))
			return 1;
	return 0;
}

static uint64_t length(int64_t n) { return n < 0 ? -(uint64_t)n : (uint64_t)n; }

/* Whether nothing that rows of elements touch matters, which begin `step` bytes apart: as
 * far as that is seen at once. */
int mcchk_loop_is_cold(uintptr_t start, int64_t step, uint64_t rows, int64_t stride, uint64_t count, uint32_t size, uint64_t moment)
{
	int64_t down = (int64_t)(rows - 1) * step, along = (int64_t)(count - 1) * stride;
	uintptr_t lo = start, hi = start + size - 1;

	*(down < 0 ? &lo : &hi) += (uint64_t)down;
	*(along < 0 ? &lo : &hi) += (uint64_t)along;
	return (hi - lo) >> MCCHK_PAGE_SHIFT < 64 * rows && __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) == moment && !any_page(lo, hi);
}

/* Whether each page of [lo, hi] matters as a whole. */
static int all_pages(uintptr_t lo, uintptr_t hi)
{
	const uint8_t *p = MCCHK_SHADOW + (lo >> MCCHK_PAGE_SHIFT), *end = MCCHK_SHADOW + (hi >> MCCHK_PAGE_SHIFT);
	const uint64_t whole = 0x0101010101010101ull;

	for (uint64_t eight; p + 7 <= end; p += 8) {
		__builtin_memcpy(&eight, p, 8);
		if ((eight & whole) != whole)
			return 0;
	}
	for (; p <= end; p++)
		if (!(*p & 1))
			return 0;
	return 1;
}

/* Whether all of [lo, hi] matters, 1, which is in one page, or nothing in it does, 0; -1: neither. */
static int page_matters(uintptr_t lo, uintptr_t hi)
{
	uint8_t page = shadow_of(lo);
	uint64_t matter = 0, others = 0;

	if (page & 1)
		return 1;
	if (page != 2)
		return page == 0 ? 0 : -1;
	for (uintptr_t at = lo >> 9; at <= hi >> 9; at++) { /* 64 granules of 8 bytes */
		uint64_t all = ~0ull, bits;
		if (at == lo >> 9)
			all &= ~0ull << (lo >> 3 & 63);
		if (at == hi >> 9)
			all &= ~0ull >> (63 - (hi >> 3 & 63));
		__builtin_memcpy(&bits, MCCHK_PARTS + 8 * at, 8);
		matter |= bits & all;
		others |= ~bits & all;
	}
	return others == 0 ? 1 : matter == 0 ? 0 : -1;
}

/* The same where pages between the first and the last are looked at as a whole. */
int mcchk_range_matters(uintptr_t lo, uintptr_t hi)
{
	const uintptr_t mask = (1u << MCCHK_PAGE_SHIFT) - 1;

	if ((lo ^ hi) <= mask)
		return page_matters(lo, hi);
	int first = page_matters(lo, lo | mask), last = page_matters(hi & ~mask, hi);
	uintptr_t from = (lo | mask) + 1, to = hi & ~mask;
	if (first != last || first < 0 || from == to)
		return first == last ? first : -1;
	return first ? (all_pages(from, to - 1) ? 1 : -1) : any_page(from, to - 1) ? -1 : 0;
}

/* The same of elements: of what is between them only where they are near. */
static int elements_matter(uintptr_t lo, uint64_t stride, uint64_t count, uint64_t size)
{
	if (!apart(stride, size))
		return mcchk_range_matters(lo, lo + (count - 1) * stride + size - 1);
	int first = mcchk_range_matters(lo, lo + size - 1);
	for (; count > 0 && first >= 0; count--, lo += stride)
		if (mcchk_range_matters(lo, lo + size - 1) != first)
			return -1;
	return first;
}

void mcchk_loop_elements(struct mcchk_elements *e, uint64_t moment, uintptr_t pc, void **frame)
{
	uint64_t now = __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE);

	if (e->count == 0)
		return;
	if (now != moment) { /* what matters now may not be what did */
		mcchk_elements_since(e, MCCHK_SEQ_AT(moment), pc, frame);
		return;
	}
	uintptr_t lo = e->stride < 0 ? e->start + (e->count - 1) * (uint64_t)e->stride : e->start;
	if (MCCHK_LIKELY(!any_of(lo, length(e->stride), e->count, e->size)))
		return;
	int matter = elements_matter(lo, length(e->stride), e->count, e->size);
	if (matter >= 0) { /* most often */
		if (matter)
			record(e, 0, e->count, pc, frame);
		return;
	}
	if (e->size <= 16 && (e->size & (e->size - 1)) == 0)
		by_page(e, pc, frame);
	else
		by_element(e, pc, frame);
}

#define AT_ONCE 64 /* rows, before the loop looks again whether another thread made a call */
#define PAGES_AT_ONCE 4096

/* How many rows of elements, from the first on, matter as a whole. */
static uint64_t hot_rows(const struct mcchk_elements *e, int64_t step, uint64_t rows)
{
	int64_t along = (int64_t)(e->count - 1) * e->stride, down = (int64_t)(rows - 1) * step;
	uintptr_t lo = along < 0 ? e->start + (uint64_t)along : e->start, from = down < 0 ? lo + (uint64_t)down : lo;
	uint64_t stride = length(e->stride), column = length(down) + e->size, n = 0;

	/* All of them, by columns: those of one adjoin, or they are seen with what lies between them. */
	uint64_t pages = apart(stride, column) ? e->count * ((column >> MCCHK_PAGE_SHIFT) + 2) : (length(along) + column) >> MCCHK_PAGE_SHIFT;
	if (pages < PAGES_AT_ONCE && elements_matter(from, stride, e->count, column) > 0)
		return rows;
	while (n < rows && n < AT_ONCE && elements_matter(lo + n * (uint64_t)step, stride, e->count, e->size) > 0)
		n++;
	return n;
}

/* What mcchk_loop_elements does, for rows of two or more elements each that begin `step`
 * bytes apart. */
void mcchk_loop_rows(struct mcchk_elements *e, int64_t step, uint64_t rows, uint64_t moment, uintptr_t pc, void **frame)
{
	for (uint64_t n; rows > 0; rows -= n, e->start += n * (uint64_t)step) {
		n = __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) == moment ? hot_rows(e, step, rows) : 0;
		if (n > 0) {
			mcchk_run_rows(e, step, n, pc, frame);
			continue;
		}
		n = 1;
		mcchk_loop_elements(e, moment, pc, frame);
	}
}
