/* What a datatype is made of: how it was constructed. */
#ifndef MCCHK_CONTENTS_H
#define MCCHK_CONTENTS_H

#include "wrap.h"

#pragma GCC visibility push(hidden)

/* What MPI_Type_get_contents returns, in the layout of the plain constructors. Combiners have
 * the numbers that they have in the trace: 0 is a named type, 255 one that is not known. */
struct mcchk_contents {
	int combiner;
	int ints, addresses, types;
	int64_t *i, *a;
	MPI_Datatype *t;
};

int mcchk_read_contents(MPI_Datatype handle, struct mcchk_contents *c); /* 0: they cannot be read */
/* Writes the name of a type that has combiner 0, at most MPI_MAX_OBJECT_NAME characters; those
 * that Fortran asks for by precision are named by the call that made them. Returns its length. */
int mcchk_type_name(MPI_Datatype handle, char *name);
void mcchk_drop_contents(struct mcchk_contents *c);
/* Whether a handle out of a type's contents is a reference that must be freed. */
int mcchk_is_derived(MPI_Datatype handle);

#pragma GCC visibility pop
#endif
