/* Datatypes and operations: identified by this process at first use. A handle
 * is forgotten when the program frees it, for the library may use it again. */
#include "wrap.h"

#include <string.h>

struct type {
	int64_t id;
	uint64_t strands; /* that have its definition */
	MPI_Count lb, extent, true_lb, true_extent, size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map types, ops;
static int64_t last_type, last_op;

static struct type *lookup(MPI_Datatype handle)
{
	mcchk_lock(&lock);
	struct type *t = mcchk_map_get(&types, mcchk_handle(handle));
	mcchk_unlock(&lock);
	return t;
}

static struct type *get(MPI_Datatype handle)
{
	struct type *t = lookup(handle);
	if (t || !(t = calloc(1, sizeof *t)))
		return t;
	t->id = __atomic_add_fetch(&last_type, 1, __ATOMIC_RELAXED);
	PMPI_Type_get_extent_x(handle, &t->lb, &t->extent);
	PMPI_Type_get_true_extent_x(handle, &t->true_lb, &t->true_extent);
	PMPI_Type_size_x(handle, &t->size);
	mcchk_lock(&lock);
	mcchk_map_set(&types, mcchk_handle(handle), t);
	mcchk_unlock(&lock);
	return t;
}

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

/* What MPI_Type_get_contents returns, in the layout of the plain constructors. */
struct contents {
	int combiner;
	int ints, addresses, types;
	int64_t *i, *a;
	MPI_Datatype *t;
};

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

static void add_ints(struct contents *c, const int *from, MPI_Count n)
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
static void arrange(struct contents *c, const struct raw *r)
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
static void normalise(struct contents *c)
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

static int read_contents(MPI_Datatype handle, struct contents *c)
{
	struct raw r;
	*c = (struct contents){0};
	if (!read_envelope(handle, &r))
		return 0;
	c->combiner = combiner_number(r.combiner);
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

/* Whether a handle out of a type's contents is a reference that must be freed. */
static int is_derived(MPI_Datatype handle)
{
	struct raw r;
	return read_envelope(handle, &r) && r.combiner != MPI_COMBINER_NAMED && r.combiner != MPI_COMBINER_F90_REAL &&
	       r.combiner != MPI_COMBINER_F90_COMPLEX && r.combiner != MPI_COMBINER_F90_INTEGER;
}

static void drop_contents(struct contents *c)
{
	for (int k = 0; k < c->types; k++)
		if (is_derived(c->t[k]))
			PMPI_Type_free(&c->t[k]); /* a reference of ours only */
	free(c->i);
	free(c->a);
	free(c->t);
}

static void write_record(MPI_Datatype handle, int64_t id, const struct contents *c, const int64_t *inner)
{
	struct record {
		uint8_t type, zero;
		uint16_t combiner;
		uint32_t length, id, name_size;
		int64_t size, lb, extent;
		uint32_t ints, addresses, types, reserved;
		int64_t words[];
	};
	char name[MPI_MAX_OBJECT_NAME] = "";
	int name_size = 0;
	MPI_Count size = 0, lb = 0, extent = 0;

	if (c->combiner == 0)
		PMPI_Type_get_name(handle, name, &name_size);
	PMPI_Type_size_x(handle, &size);
	PMPI_Type_get_extent_x(handle, &lb, &extent);
	struct mcchk_thread *t = mcchk_thread_get();
	uint64_t words = (uint64_t)c->ints + (uint64_t)c->addresses + (uint64_t)c->types;
	uint64_t length = sizeof(struct record) + 8 * words + mcchk_pad8((uint64_t)name_size);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return;
	*r = (struct record){.type = 5, .combiner = (uint16_t)c->combiner, .length = (uint32_t)length, .id = (uint32_t)id,
			     .name_size = (uint32_t)name_size, .size = size, .lb = lb, .extent = extent,
			     .ints = (uint32_t)c->ints, .addresses = (uint32_t)c->addresses, .types = (uint32_t)c->types};
	int64_t *p = r->words;
	for (int k = 0; k < c->ints; k++)
		*p++ = c->i[k];
	for (int k = 0; k < c->addresses; k++)
		*p++ = (int64_t)c->a[k];
	for (int k = 0; k < c->types; k++)
		*p++ = inner[k];
	memcpy(p, name, (size_t)name_size);
	mcchk_commit(t, length);
}

static void define(MPI_Datatype handle, int64_t id);

/* A type inside another: a derived one may live on after the program has freed
 * it, so that its handle says nothing; it is defined anew. */
static int64_t inner_id(MPI_Datatype handle)
{
	if (!is_derived(handle))
		return mcchk_type_id(handle);
	int64_t id = __atomic_add_fetch(&last_type, 1, __ATOMIC_RELAXED);
	define(handle, id);
	return id;
}

static void define(MPI_Datatype handle, int64_t id)
{
	struct contents c;
	int64_t *inner = NULL;

	if (read_contents(handle, &c) && (inner = calloc((size_t)c.types + 1, sizeof *inner))) {
		for (int k = 0; k < c.types; k++)
			inner[k] = k > 0 && c.t[k] == c.t[k - 1] ? inner[k - 1] : inner_id(c.t[k]);
		write_record(handle, id, &c, inner);
		free(inner);
	}
	drop_contents(&c);
}

int64_t mcchk_type_id(MPI_Datatype handle)
{
	if (handle == MPI_DATATYPE_NULL)
		return 0;
	struct type *t = get(handle);
	if (!t || !mcchk_thread_get())
		return 0;
	uint64_t bit = mcchk_strand_bit();
	if (!(__atomic_fetch_or(&t->strands, bit, __ATOMIC_RELAXED) & bit))
		define(handle, t->id);
	return t->id;
}

int64_t mcchk_type_known(MPI_Datatype handle)
{
	struct type *t = lookup(handle);
	return t ? t->id : 0;
}

void mcchk_type_freed(MPI_Datatype handle)
{
	mcchk_lock(&lock);
	struct type *t = mcchk_map_get(&types, mcchk_handle(handle));
	mcchk_map_set(&types, mcchk_handle(handle), NULL);
	mcchk_unlock(&lock);
	free(t);
}

struct mcchk_range mcchk_box(const void *p, MPI_Count count, MPI_Datatype handle)
{
	return mcchk_box_at(p, 0, count, handle);
}

struct mcchk_range mcchk_box_at(const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype handle)
{
	if (p == MPI_IN_PLACE || count <= 0 || handle == MPI_DATATYPE_NULL)
		return (struct mcchk_range){0};
	struct type *t = get(handle);
	if (!t || t->true_extent <= 0)
		return (struct mcchk_range){0};
	int64_t base = (p == MPI_BOTTOM ? 0 : (int64_t)(uintptr_t)p) + (int64_t)displacement * t->extent;
	int64_t first = base + t->true_lb, last = first + (int64_t)(count - 1) * t->extent;
	int64_t lo = first < last ? first : last, hi = (first < last ? last : first) + t->true_extent;
	return (struct mcchk_range){.lo = (uint64_t)lo, .hi = (uint64_t)hi};
}

uint32_t mcchk_type_word(MPI_Datatype handle, int64_t *offset)
{
	struct type *t = handle == MPI_DATATYPE_NULL ? NULL : get(handle);
	if (!t || t->size != t->true_extent || (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8))
		return 0;
	*offset = t->true_lb;
	return (uint32_t)t->size;
}

/* ---- operations ---- */

struct op {
	int64_t id;
	uint64_t strands;
};

static const char *op_name(MPI_Op op)
{
	const struct {
		MPI_Op op;
		const char *name;
	} known[] = {
		{MPI_MAX, "MPI_MAX"}, {MPI_MIN, "MPI_MIN"}, {MPI_SUM, "MPI_SUM"}, {MPI_PROD, "MPI_PROD"},
		{MPI_LAND, "MPI_LAND"}, {MPI_BAND, "MPI_BAND"}, {MPI_LOR, "MPI_LOR"}, {MPI_BOR, "MPI_BOR"},
		{MPI_LXOR, "MPI_LXOR"}, {MPI_BXOR, "MPI_BXOR"}, {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"},
		{MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].op == op)
			return known[i].name;
	return "user";
}

static void define_op(MPI_Op op, int64_t id)
{
	struct record {
		uint8_t type, zero;
		uint16_t name_size;
		uint32_t length, id, reserved;
		char name[];
	};
	const char *name = op_name(op);
	size_t n = strlen(name);
	struct mcchk_thread *t = mcchk_thread_get();
	uint64_t length = mcchk_pad8(sizeof(struct record) + n);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return;
	*r = (struct record){.type = 13, .name_size = (uint16_t)n, .length = (uint32_t)length, .id = (uint32_t)id};
	memcpy(r->name, name, n);
	mcchk_commit(t, length);
}

int64_t mcchk_op_id(MPI_Op handle)
{
	if (handle == MPI_OP_NULL || !mcchk_thread_get())
		return 0;
	mcchk_lock(&lock);
	struct op *op = mcchk_map_get(&ops, mcchk_handle(handle));
	if (!op && (op = calloc(1, sizeof *op))) {
		op->id = ++last_op;
		mcchk_map_set(&ops, mcchk_handle(handle), op);
	}
	mcchk_unlock(&lock);
	if (!op)
		return 0;
	uint64_t bit = mcchk_strand_bit();
	if (!(__atomic_fetch_or(&op->strands, bit, __ATOMIC_RELAXED) & bit))
		define_op(handle, op->id);
	return op->id;
}

void mcchk_op_freed(MPI_Op handle)
{
	mcchk_lock(&lock);
	struct op *op = mcchk_map_get(&ops, mcchk_handle(handle));
	mcchk_map_set(&ops, mcchk_handle(handle), NULL);
	mcchk_unlock(&lock);
	free(op);
}
