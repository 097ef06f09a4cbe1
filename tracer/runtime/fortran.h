/* What the generated wrappers of Fortran procedures use besides wrap.h. */
#ifndef MCCHK_FORTRAN_H
#define MCCHK_FORTRAN_H

#include "array.h"
#include "wrap.h"

#include <string.h>

#pragma GCC visibility push(hidden)

#define FORTRAN 1

/* The address of a buffer, with the constants as C has them. */
const void *mcchk_f_address(const void *p);
/* Zeroed room for n elements; the program ends when there is none. */
void *mcchk_f_copy(int n, size_t size);
/* A text without the blanks that it is filled up with; to be freed. */
char *mcchk_f_text(const char *text, size_t length);
/* The number of an element, from 0; MPI_UNDEFINED stays. */
int mcchk_f_index(MPI_Fint index);

/* The program's n statuses, or zeroed ones of our own in *own when it ignores
 * them; and, after the call, the same in C, to be freed. */
MPI_Fint *mcchk_f_statuses(void *statuses, int n, MPI_Fint **own);
MPI_Status *mcchk_f_statuses_read(const MPI_Fint *statuses, int n);

/* The program has called a procedure, whose wrapper has that frame, that will
 * call the function in C. Returns what mcchk_self.through was. */
static inline void *mcchk_through(void *frame)
{
	void *outer = mcchk_self.through;
	mcchk_self.through = mcchk_caller(frame);
	return outer;
}

#pragma GCC visibility pop
#endif
