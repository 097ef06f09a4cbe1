/* Arrays of Fortran, as gfortran passes them. */
#ifndef MCCHK_ARRAY_H
#define MCCHK_ARRAY_H

#include <stddef.h>

/* How gfortran describes an array, since version 8. */
struct mcchk_array {
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

/* Whether elements of an array do not follow one another. */
static inline int mcchk_is_section(const struct mcchk_array *a)
{
	ptrdiff_t next = 1;
	for (int k = 0; k < a->element.rank; k++) {
		ptrdiff_t n = a->dimension[k].upper - a->dimension[k].lower + 1;
		if (n != 1 && a->dimension[k].stride != next)
			return 1;
		next *= n;
	}
	return 0;
}

#endif
