/* What gfortran leaves to its library, which is not instrumented: the copies of
 * array sections that it passes to procedures, intrinsics on arrays, and input and
 * output.
 *
 * The program is linked so that such a call comes first to code that tells
 * mcchk_gfortran which of its arguments are read and written (tracer/gfortran.go).
 */
#include "array.h"
#include "calls.h"

#include <string.h>

#define MAX_RANK 15

/* ---- arrays ---- */

/* The number of elements, and the bytes from the first of which they are. */
static size_t extent(const struct mcchk_array *d, ptrdiff_t *lo, ptrdiff_t *hi)
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

/* The elements of an array: of a whole first dimension at once where they adjoin. It calls `with`
 * for each until that returns something else than 0, which it returns; 0 in the end. */
static int each(const struct mcchk_array *d, int (*with)(void *of, char *element, uint64_t size), void *of)
{
	ptrdiff_t at[MAX_RANK] = {0};
	int rank = d->element.rank;
	int solid = rank > 0 && d->dimension[0].stride == 1;
	uint64_t size = d->element.size * (solid ? (size_t)(d->dimension[0].upper - d->dimension[0].lower + 1) : 1);
	for (;;) {
		ptrdiff_t offset = 0;
		for (int k = 0; k < rank; k++)
			offset += at[k] * d->dimension[k].stride;
		int rc = with(of, d->base + offset * (ptrdiff_t)d->element.size, size);
		int k = solid;
		while (k < rank && ++at[k] > d->dimension[k].upper - d->dimension[k].lower)
			at[k++] = 0;
		if (rc || k >= rank)
			return rc;
	}
}

/* Whether accesses to some of an array matter. */
static int matters(const struct mcchk_array *d)
{
	ptrdiff_t lo, hi;
	int rank = d ? d->element.rank : 0;
	return d && d->base && rank >= 0 && rank <= MAX_RANK && extent(d, &lo, &hi) != 0 &&
	       mcchk_hot((uintptr_t)(d->base + lo), (uint64_t)(hi - lo));
}

struct accesses {
	uint32_t flags;
	uintptr_t pc;
	void **frame;
};

static int access_one(void *of, char *element, uint64_t size)
{
	struct accesses *a = of;
	mcchk_range_access((uintptr_t)element, size, a->pc, a->frame, a->flags | MCCHK_LIBRARY);
	return 0;
}

/* The accesses to an array. */
static void array(const struct mcchk_array *d, uint32_t flags, uintptr_t pc, void **frame)
{
	if (matters(d))
		each(d, access_one, &(struct accesses){flags, pc, frame});
}

/* ---- input and output ---- */

/* How the compiler describes a statement to the library, as far as is of interest
 * (st_parameter_dt, since version 8). */
struct statement {
	uint32_t flags;
	int unit;
	char *file;
	int line;
	char *message;
	size_t message_length;
	int *iostat;
	int64_t record;
	int64_t *size, *length;
	struct mcchk_array *unit_array;
	char *format;
	size_t format_length;
	size_t advance_length;
	char *advance;
	char *unit_text;
	size_t unit_length;
};

#define HAS_IOSTAT (1u << 5)
#define READS_NAMELIST (1u << 8)
#define INTERNAL_UNIT (1u << 14)

/* An array of a namelist, of which the dimensions come one by one. No call of MPI can
 * come between that and the transfer. */
static __thread struct {
	struct mcchk_array array;
	ptrdiff_t room[3 * MAX_RANK];
} listed __attribute__((tls_model("initial-exec")));

/* The internal unit of a statement: characters, or an array of them. */
static void internal_unit(const struct statement *s, uint32_t flags, uintptr_t pc, void **frame)
{
	if (!(s->flags & INTERNAL_UNIT))
		return;
	if (s->unit_array)
		array(s->unit_array, flags, pc, frame);
	else if (s->unit_text)
		mcchk_range_access((uintptr_t)s->unit_text, s->unit_length, pc, frame, flags | MCCHK_LIBRARY);
}

static void end_statement(const struct statement *s, uintptr_t pc, void **frame)
{
	if ((s->flags & HAS_IOSTAT) && s->iostat)
		mcchk_range_access((uintptr_t)s->iostat, sizeof *s->iostat, pc, frame, MCCHK_STORE | MCCHK_LIBRARY);
}

static uint32_t namelist_flags(const struct statement *s) { return s->flags & READS_NAMELIST ? MCCHK_STORE : 0; }

static void namelist_variable(const struct statement *s, void *address, size_t length, const size_t *type, uintptr_t pc, void **frame)
{
	struct mcchk_array *d = &listed.array;

	d->base = address;
	memcpy(&d->element, type, sizeof d->element);
	if (d->element.size == 0) /* characters */
		d->element.size = length;
	if (d->element.rank == 0)
		mcchk_range_access((uintptr_t)address, d->element.size, pc, frame, namelist_flags(s) | MCCHK_LIBRARY);
}

static void namelist_dimension(const struct statement *s, int k, const uintptr_t *bounds, uintptr_t pc, void **frame)
{
	struct mcchk_array *d = &listed.array;

	if (k < 0 || k >= d->element.rank || k >= MAX_RANK)
		return;
	d->dimension[k].stride = (ptrdiff_t)bounds[0];
	d->dimension[k].lower = (ptrdiff_t)bounds[1];
	d->dimension[k].upper = (ptrdiff_t)bounds[2];
	if (k == d->element.rank - 1)
		array(d, namelist_flags(s), pc, frame);
}

/* ---- calls ---- */

/* The n-th argument: six are in registers, the others behind the caller's frame. */
static uintptr_t argument(const uintptr_t *arguments, void **frame, int n)
{
	return n < 6 ? arguments[n] : (uintptr_t)frame[2 + n - 6];
}

static int scalar(char letter)
{
	switch (letter) {
	case '4':
		return 4;
	case '8':
		return 8;
	case 'x':
		return 16;
	}
	return 0;
}

#pragma GCC visibility push(default)

/* A call of the library with these arguments. `reads` says of each what it is:
 * r, w: an array that is read, written; R, W: a scalar, of as many bytes as the
 * argument behind it says; C, D: one of twice as many; X, Y: characters, their number and
 * size behind them; <n, >n: characters that are read, written, whose number is
 * argument n; 4, 8, x: a scalar of 4, 8, 16 bytes that is written, or NULL;
 * M: the number of strings behind it, each a length and characters; i, o, d: the
 * statement that begins to read, to write, or is done; N, n: as namelist_variable and
 * namelist_dimension have it; -: something else. With * in front, characters have
 * four bytes. */
void mcchk_gfortran(const char *reads, const uintptr_t *arguments, void **frame)
{
	uintptr_t pc = (uintptr_t)frame[1];
	uint64_t wide = 1;

	if (!mcchk_active || mcchk_marks == 0)
		return;
	if (*reads == '*') {
		wide = 4;
		reads++;
	}
	for (int i = 0; *reads; i++, reads++) {
		uintptr_t value = argument(arguments, frame, i);
		uint64_t size = 0;
		uint32_t flags = 0;

		switch (*reads) {
		case '-':
			continue;
		case 'r':
		case 'w':
			array((const struct mcchk_array *)value, *reads == 'w' ? MCCHK_STORE : 0, pc, frame[0]);
			continue;
		case 'D':
		case 'C':
			size = 2 * (uint32_t)argument(arguments, frame, i + 1);
			flags = *reads == 'D' ? MCCHK_STORE : 0;
			break;
		case 'W':
		case 'R':
			size = (uint32_t)argument(arguments, frame, i + 1);
			flags = *reads == 'W' ? MCCHK_STORE : 0;
			break;
		case 'Y':
		case 'X':
			size = argument(arguments, frame, i + 1) * (uint32_t)argument(arguments, frame, i + 2);
			flags = *reads == 'Y' ? MCCHK_STORE : 0;
			break;
		case '>':
		case '<':
			flags = *reads == '>' ? MCCHK_STORE : 0;
			size = wide * argument(arguments, frame, *++reads - '0');
			break;
		case '4':
		case '8':
		case 'x':
			size = scalar(*reads);
			flags = MCCHK_STORE;
			break;
		case 'M':
			for (int k = 0; k < (int)value; k++) {
				size = wide * argument(arguments, frame, i + 1 + 2 * k);
				mcchk_range_access(argument(arguments, frame, i + 2 + 2 * k), size, pc, frame[0], MCCHK_LIBRARY);
			}
			return;
		case 'i':
		case 'o':
			internal_unit((const struct statement *)value, *reads == 'i' ? 0 : MCCHK_STORE, pc, frame[0]);
			return;
		case 'd':
			end_statement((const struct statement *)value, pc, frame[0]);
			return;
		case 'N':
			namelist_variable((const struct statement *)value, (void *)arguments[1], arguments[4], (const size_t *)&frame[2], pc, frame[0]);
			return;
		case 'n':
			namelist_dimension((const struct statement *)value, (int)arguments[1], &arguments[2], pc, frame[0]);
			return;
		}
		if (value != 0 && size != 0)
			mcchk_range_access(value, size, pc, frame[0], flags | MCCHK_LIBRARY);
	}
}

/* The program has called a function of its coarray library, whose stub has that frame.
 * What that calls in turn is a call of the program's statement. */
void mcchk_coarray(char kind, void **frame)
{
	mcchk_self.through = frame;
	mcchk_self.coarray = kind;
}

#pragma GCC visibility pop

/* ---- copies of arguments ---- */

#define COPIES 32 /* a thread's last */
static __thread struct {
	const void *last[COPIES];
	uint64_t next;
} copies __attribute__((tls_model("initial-exec")));

int mcchk_copy(const void *p)
{
	for (uint64_t i = 0; i < COPIES && i < copies.next; i++) {
		if (copies.last[i] == p) {
			copies.last[i] = NULL;
			return 1;
		}
	}
	return 0;
}

/* Returns the array itself where its elements adjoin. */
extern void *__real__gfortran_internal_pack(struct mcchk_array *) __attribute__((weak));
void *__wrap__gfortran_internal_pack(struct mcchk_array *d)
{
	void *p = __real__gfortran_internal_pack(d);
	if (p != d->base) {
		array(d, 0, (uintptr_t)__builtin_return_address(0), MCCHK_CALLER_FRAME);
		copies.last[copies.next++ % COPIES] = p;
	}
	return p;
}

/* Whether an element is another than in a copy, which is at the next one then. */
static int differs(void *of, char *element, uint64_t size)
{
	const char **copy = of;
	const char *here = *copy;
	*copy += size;
	return memcmp(element, here, size) != 0;
}

/* What comes back from a procedure as it was is no store: the procedure has only read it, as far
 * as the program says. */
extern void __real__gfortran_internal_unpack(struct mcchk_array *, const void *) __attribute__((weak));
void __wrap__gfortran_internal_unpack(struct mcchk_array *d, const void *p)
{
	const char *copy = p;
	if (p && p != d->base && matters(d) && each(d, differs, &copy))
		array(d, MCCHK_STORE, (uintptr_t)__builtin_return_address(0), MCCHK_CALLER_FRAME);
	__real__gfortran_internal_unpack(d, p);
}
