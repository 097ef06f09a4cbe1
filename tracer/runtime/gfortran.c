/* What gfortran leaves to its library, which is not instrumented: the copies of
 * array sections that it passes to procedures, intrinsics on arrays, and input and
 * output.
 *
 * The program is linked so that such a call comes first to code that tells
 * mcchk_gfortran which of its arguments are read and written (tracer/gfortran.go).
 */
#include "calls.h"

/* How gfortran describes an array, since version 8. */
struct descriptor {
	char *base;
	size_t offset;
	struct {
		size_t size; /* of an element */
		int version;
		signed char rank, type;
		short attribute;
	} element;
	ptrdiff_t span;
	struct {
		ptrdiff_t stride, lower, upper; /* strides in elements */
	} dimension[];
};

#define MAX_RANK 15

/* ---- arrays ---- */

/* The number of elements, and the bytes from the first of which they are. */
static size_t extent(const struct descriptor *d, ptrdiff_t *lo, ptrdiff_t *hi)
{
	size_t n = 1;
	*lo = *hi = 0;
	for (int k = 0; k < d->element.rank; k++) {
		ptrdiff_t count = d->dimension[k].upper - d->dimension[k].lower + 1;
		if (count <= 0)
			return 0;
		ptrdiff_t last = (count - 1) * d->dimension[k].stride * (ptrdiff_t)d->element.size;
		n *= (size_t)count;
		*(last < 0 ? lo : hi) += last;
	}
	*hi += (ptrdiff_t)d->element.size;
	return n;
}

/* The accesses to an array: of a whole first dimension at once where its elements adjoin. */
static void array(const struct descriptor *d, uint32_t flags, uintptr_t pc, void **frame)
{
	ptrdiff_t lo, hi, at[MAX_RANK] = {0};
	int rank = d ? d->element.rank : 0;

	if (!d || !d->base || rank < 0 || rank > MAX_RANK || extent(d, &lo, &hi) == 0 ||
	    !mcchk_hot((uintptr_t)(d->base + lo), (uint64_t)(hi - lo)))
		return;
	int solid = rank > 0 && d->dimension[0].stride == 1;
	uint64_t size = d->element.size * (solid ? (size_t)(d->dimension[0].upper - d->dimension[0].lower + 1) : 1);
	for (;;) {
		ptrdiff_t offset = 0;
		for (int k = 0; k < rank; k++)
			offset += at[k] * d->dimension[k].stride;
		mcchk_range_access((uintptr_t)(d->base + offset * (ptrdiff_t)d->element.size), size, pc, frame, flags | MCCHK_LIBRARY);
		int k = solid;
		while (k < rank && ++at[k] > d->dimension[k].upper - d->dimension[k].lower)
			at[k++] = 0;
		if (k >= rank)
			return;
	}
}

#pragma GCC visibility push(default)

/* A call of the library with these arguments. `reads` says of each what it is:
 * r, w: an array that is read, written; R, W: a scalar, of as many bytes as the
 * argument behind it says; C, D: one of twice as many; -: something else. */
void mcchk_gfortran(const char *reads, const uintptr_t *arguments, void **frame)
{
	uintptr_t pc = (uintptr_t)frame[1];

	if (!mcchk_active || mcchk_marks == 0)
		return;
	for (int i = 0; reads[i]; i++) {
		uint64_t size = reads[i] == 'R' || reads[i] == 'W' ? 1 : reads[i] == 'C' || reads[i] == 'D' ? 2 : 0;
		uint32_t flags = reads[i] == 'w' || reads[i] == 'W' || reads[i] == 'D' ? MCCHK_STORE : 0;
		if (size != 0)
			mcchk_range_access(arguments[i], size * (uint32_t)arguments[i + 1], pc, frame[0], flags | MCCHK_LIBRARY);
		else if (reads[i] != '-')
			array((const struct descriptor *)arguments[i], flags, pc, frame[0]);
	}
}

#pragma GCC visibility pop

/* ---- copies of arguments ---- */

#define COPIES 32 /* a thread's last */
static __thread struct {
	const void *last[COPIES];
	uint32_t next;
} copies __attribute__((tls_model("initial-exec")));

int mcchk_copy(const void *p)
{
	for (int i = 0; i < COPIES; i++) {
		if (copies.last[i] == p) {
			copies.last[i] = NULL;
			return 1;
		}
	}
	return 0;
}

/* Returns the array itself where its elements adjoin. */
extern void *__real__gfortran_internal_pack(struct descriptor *) __attribute__((weak));
void *__wrap__gfortran_internal_pack(struct descriptor *d)
{
	void *p = __real__gfortran_internal_pack(d);
	if (p != d->base) {
		array(d, 0, (uintptr_t)__builtin_return_address(0), MCCHK_CALLER_FRAME);
		copies.last[copies.next++ % COPIES] = p;
	}
	return p;
}
