/* What datatypes are made of. */
#include "contents.h"

#include <stdio.h>

static int combiner_number(int c)
{
	const int known[][2] = {
		{MPI_COMBINER_NAMED, 0}, {MPI_COMBINER_DUP, 1}, {MPI_COMBINER_CONTIGUOUS, 2},
		{MPI_COMBINER_VECTOR, 3}, {MPI_COMBINER_HVECTOR, 4}, {MPI_COMBINER_INDEXED, 5},
		{MPI_COMBINER_HINDEXED, 6}, {MPI_COMBINER_INDEXED_BLOCK, 7}, {MPI_COMBINER_HINDEXED_BLOCK, 8},
		{MPI_COMBINER_STRUCT, 9}, {MPI_COMBINER_SUBARRAY, 10}, {MPI_COMBINER_DARRAY, 11},
		{MPI_COMBINER_RESIZED, 12},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i][0] == c)
			return known[i][1];
	return 255;
}

/* The same as the library has it: `large` are the counts of a large-count
 * constructor (MPI 4), where it has taken them apart from the rest. */
struct raw {
	MPI_Count ints, addresses, large, types;
	int combiner;
	int *i;
	MPI_Aint *a;
	MPI_Count *l;
	MPI_Datatype *t;
};

static int read_envelope(MPI_Datatype handle, struct raw *r)
{
	*r = (struct raw){.combiner = MPI_COMBINER_NAMED};
#if MPI_VERSION >= 4
	return PMPI_Type_get_envelope_c(handle, &r->ints, &r->addresses, &r->large, &r->types, &r->combiner) == MPI_SUCCESS;
#else
	int ints = 0, addresses = 0, types = 0;
	int rc = PMPI_Type_get_envelope(handle, &ints, &addresses, &types, &r->combiner);
	r->ints = ints;
	r->addresses = addresses;
	r->types = types;
	return rc == MPI_SUCCESS;
#endif
}

static int read_raw(MPI_Datatype handle, struct raw *r)
{
	r->i = calloc((size_t)r->ints + 1, sizeof *r->i);
	r->a = calloc((size_t)r->addresses + 1, sizeof *r->a);
	r->l = calloc((size_t)r->large + 1, sizeof *r->l);
	r->t = calloc((size_t)r->types + 1, sizeof *r->t);
	if (!r->i || !r->a || !r->l || !r->t)
		return 0;
#if MPI_VERSION >= 4
	return PMPI_Type_get_contents_c(handle, r->ints, r->addresses, r->large, r->types, r->i, r->a, r->l, r->t) == MPI_SUCCESS;
#else
	return PMPI_Type_get_contents(handle, (int)r->ints, (int)r->addresses, (int)r->types, r->i, r->a, r->t) == MPI_SUCCESS;
#endif
}

static void drop_raw(struct raw *r)
{
	free(r->i);
	free(r->a);
	free(r->l);
}

static void add_ints(struct mcchk_contents *c, const int *from, MPI_Count n)
{
	for (MPI_Count k = 0; k < n; k++)
		c->i[c->ints++] = from[k];
}

static void add_large(int64_t *to, int *count, const MPI_Count *from, MPI_Count n)
{
	for (MPI_Count k = 0; k < n; k++)
		to[(*count)++] = (int64_t)from[k];
}

/* Puts large counts where the plain constructor has its integers and addresses
 * (MPI 4.0, 5.1.13). */
static void arrange(struct mcchk_contents *c, const struct raw *r)
{
	MPI_Count ints = r->large; /* that many are integers, the rest addresses */
	MPI_Count head = r->ints, n = r->large > 0 ? r->l[0] : 0;

	switch (r->large > 0 ? c->combiner : 0) {
	case 4: /* hvector */
	case 8: /* hindexed_block */
		ints = 2;
		break;
	case 6: /* hindexed */
	case 9: /* struct */
		ints = 1 + n;
		break;
	case 10: /* subarray: dimensions, sizes, order */
		head = 1;
		break;
	case 11: /* darray: size, rank, dimensions, sizes, the rest */
		head = 3;
		break;
	case 12: /* resized */
		ints = 0;
		break;
	}
	if (head > r->ints)
		head = r->ints;
	if (ints > r->large)
		ints = r->large;
	add_ints(c, r->i, head);
	add_large(c->i, &c->ints, r->l, ints);
	add_ints(c, r->i + head, r->ints - head);
	for (MPI_Count k = 0; k < r->addresses; k++)
		c->a[c->addresses++] = (int64_t)r->a[k];
	add_large(c->a, &c->addresses, r->l + ints, r->large - ints);
}

static int order_number(int64_t order) { return order == MPI_ORDER_FORTRAN; }

static int distribution_number(int64_t d)
{
	return d == MPI_DISTRIBUTE_BLOCK ? 1 : d == MPI_DISTRIBUTE_CYCLIC ? 2 : 0;
}

/* Storage order and distributions have other numbers in every library. */
static void normalise(struct mcchk_contents *c)
{
	int64_t n = c->ints > 0 ? c->i[0] : 0;
	if (c->combiner == 10 && c->ints == 3 * n + 2)
		c->i[3 * n + 1] = order_number(c->i[3 * n + 1]);
	if (c->combiner != 11 || c->ints < 4)
		return;
	n = c->i[2];
	if (c->ints != 4 * n + 4)
		return;
	for (int64_t k = 3 + n; k < 3 + 2 * n; k++)
		c->i[k] = distribution_number(c->i[k]);
	for (int64_t k = 3 + 2 * n; k < 3 + 3 * n; k++)
		if (c->i[k] == MPI_DISTRIBUTE_DFLT_DARG)
			c->i[k] = -1;
	c->i[4 * n + 3] = order_number(c->i[4 * n + 3]);
}

/* The constructor of a predefined type without a name (MPI 4.0, 19.1.9); NULL for other types. */
static const char *unnamed(const struct raw *r)
{
	switch (r->combiner) {
	case MPI_COMBINER_F90_INTEGER: return "MPI_Type_create_f90_integer";
	case MPI_COMBINER_F90_REAL: return "MPI_Type_create_f90_real";
	case MPI_COMBINER_F90_COMPLEX: return "MPI_Type_create_f90_complex";
	default: return NULL;
	}
}

int mcchk_type_name(MPI_Datatype handle, char *name)
{
	struct raw r;
	int size = 0;
	const char *constructor = read_envelope(handle, &r) ? unnamed(&r) : NULL;
	if (!constructor) {
		PMPI_Type_get_name(handle, name, &size);
		return size;
	}
	if (read_raw(handle, &r)) {
		size = snprintf(name, MPI_MAX_OBJECT_NAME, "%s(", constructor);
		for (MPI_Count k = 0; k < r.ints; k++) {
			char value[16] = "MPI_UNDEFINED";
			if (r.i[k] != MPI_UNDEFINED)
				snprintf(value, sizeof value, "%d", r.i[k]);
			size += snprintf(name + size, MPI_MAX_OBJECT_NAME - (size_t)size, "%s%s", k > 0 ? ", " : "", value);
		}
		size += snprintf(name + size, MPI_MAX_OBJECT_NAME - (size_t)size, ")");
	}
	free(r.t);
	drop_raw(&r);
	return size;
}

int mcchk_read_contents(MPI_Datatype handle, struct mcchk_contents *c)
{
	struct raw r;
	*c = (struct mcchk_contents){0};
	if (!read_envelope(handle, &r))
		return 0;
	c->combiner = unnamed(&r) ? 0 : combiner_number(r.combiner);
	if (c->combiner == 0 || c->combiner == 255)
		return 1;
	int ok = read_raw(handle, &r);
	if (ok) {
		c->t = r.t;
		c->types = (int)r.types;
		c->i = calloc((size_t)(r.ints + r.large) + 1, sizeof *c->i);
		c->a = calloc((size_t)(r.addresses + r.large) + 1, sizeof *c->a);
		ok = c->i && c->a;
	} else {
		free(r.t);
	}
	if (ok) {
		arrange(c, &r);
		normalise(c);
	}
	drop_raw(&r);
	return ok;
}

int mcchk_is_derived(MPI_Datatype handle)
{
	struct raw r;
	return read_envelope(handle, &r) && r.combiner != MPI_COMBINER_NAMED && !unnamed(&r);
}

void mcchk_drop_contents(struct mcchk_contents *c)
{
	for (int k = 0; k < c->types; k++)
		if (mcchk_is_derived(c->t[k]))
			PMPI_Type_free(&c->t[k]); /* a reference of ours only */
	free(c->i);
	free(c->a);
	free(c->t);
}
