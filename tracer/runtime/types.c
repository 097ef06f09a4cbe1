/* Datatypes and operations: identified by this process at first use. A handle
 * is forgotten when the program frees it, for the library may use it again.
 * Datatypes that are made alike have one identifier, and one definition in the
 * trace: many programs make theirs anew for each operation. */
#include "contents.h"

#include <string.h>

/* A definition as the trace has it. */
struct record {
	uint8_t type, zero;
	uint16_t combiner;
	uint32_t length, id, name_size;
	int64_t size, lb, extent;
	uint32_t ints, addresses, types, reserved;
	int64_t words[];
};

/* What handles of datatypes that are made alike have in common. */
struct shape {
	struct shape *next; /* with the same hash */
	struct record *r;
	struct shape **inner; /* of the types that it is made of */
	uint64_t users; /* handles and shapes that refer to it */
	uint64_t strands; /* that have its definition */
};

struct type {
	struct shape *shape; /* NULL until the trace names it */
	MPI_Count lb, extent, true_lb, true_extent, size;
	int integer; /* a predefined one */
	struct mcchk_parts *parts; /* NULL until somebody asks */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map types, ops;
static int64_t last_type, last_op;

/* The shapes, by hash. Those that nobody refers to stay until they take much room. */
#define SHAPES (1u << 14)
#define MOST_BYTES (8u << 20)
static struct shape *shapes[SHAPES];
static uint64_t shape_bytes, shape_limit = MOST_BYTES;

static struct type *lookup(MPI_Datatype handle)
{
	mcchk_lock(&lock);
	struct type *t = mcchk_map_get(&types, mcchk_handle(handle));
	mcchk_unlock(&lock);
	return t;
}

/* The datatypes that were new while they might be the library's own. */
static __thread struct {
	int on, n, room;
	MPI_Datatype *types;
} lent;

static void lend(MPI_Datatype handle)
{
	if (lent.n == lent.room) {
		int room = lent.room ? 2 * lent.room : 8;
		MPI_Datatype *more = realloc(lent.types, (size_t)room * sizeof *more);
		if (!more)
			return;
		lent.types = more;
		lent.room = room;
	}
	lent.types[lent.n++] = handle;
}

static int is_integer(MPI_Datatype type)
{
	const MPI_Datatype integers[] = {
		MPI_INT, MPI_LONG, MPI_SHORT, MPI_SIGNED_CHAR, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
		MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_CHAR, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
		MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8,
	};
	for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
		if (integers[i] == type && type != MPI_DATATYPE_NULL)
			return 1;
	return 0;
}

static struct type *get(MPI_Datatype handle)
{
	struct type *t = lookup(handle);
	if (t || !(t = calloc(1, sizeof *t)))
		return t;
	PMPI_Type_get_extent_x(handle, &t->lb, &t->extent);
	PMPI_Type_get_true_extent_x(handle, &t->true_lb, &t->true_extent);
	PMPI_Type_size_x(handle, &t->size);
	t->integer = is_integer(handle);
	mcchk_lock(&lock);
	struct type *other = mcchk_map_get(&types, mcchk_handle(handle));
	if (!other)
		mcchk_map_set(&types, mcchk_handle(handle), t);
	mcchk_unlock(&lock);
	if (!other) {
		if (lent.on && mcchk_is_derived(handle))
			lend(handle);
		return t;
	}
	free(t);
	return other;
}

void mcchk_types_lent(int on)
{
	lent.on = on;
	while (!on && lent.n > 0)
		mcchk_type_freed(lent.types[--lent.n]);
}

static uint64_t shape_size(const struct shape *s)
{
	return sizeof *s + s->r->length + s->r->types * sizeof *s->inner;
}

/* The hash of a definition without an identifier. */
static uint32_t hash(const struct record *r)
{
	const uint64_t *words = (const uint64_t *)r;
	uint64_t h = 0;
	for (uint32_t k = 0; k < r->length / 8; k++) {
		h = (h ^ words[k]) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32) % SHAPES;
}

static void drop_shape(struct shape *s)
{
	for (uint32_t k = 0; s->r && s->inner && k < s->r->types; k++)
		if (s->inner[k])
			s->inner[k]->users--;
	free(s->inner);
	free(s->r);
	free(s);
}

/* Forgets the shapes that nothing refers to. */
static void forget_shapes(void)
{
	for (uint32_t h = 0; h < SHAPES; h++) {
		struct shape **at = &shapes[h];
		while (*at) {
			struct shape *s = *at;
			if (s->users > 0) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			shape_bytes -= shape_size(s);
			drop_shape(s);
		}
	}
	shape_limit = 2 * shape_bytes > MOST_BYTES ? 2 * shape_bytes : MOST_BYTES;
}

/* Returns the one shape that is like a new one, for one more user. The new one is given
 * up, or becomes it. */
static struct shape *only(struct shape *made)
{
	uint32_t h = hash(made->r);
	mcchk_lock(&lock);
	struct shape *s = shapes[h];
	for (; s; s = s->next) {
		made->r->id = s->r->id;
		if (s->r->length == made->r->length && memcmp(s->r, made->r, s->r->length) == 0)
			break;
	}
	if (s) {
		drop_shape(made);
	} else {
		s = made;
		s->r->id = (uint32_t)++last_type;
		s->next = shapes[h];
		shapes[h] = s;
		shape_bytes += shape_size(s);
	}
	s->users++;
	if (shape_bytes > shape_limit)
		forget_shapes();
	mcchk_unlock(&lock);
	return s;
}

static struct shape *inner_shape(MPI_Datatype handle);

/* Sets what a datatype is made of; 0 without memory. */
static int read_inner(struct shape *s, const struct mcchk_contents *c)
{
	for (int k = 0; k < c->types; k++)
		if (!(s->inner[k] = inner_shape(c->t[k])))
			return 0;
	return 1;
}

static void fill(struct record *r, MPI_Datatype handle, const struct mcchk_contents *c, struct shape **inner, const char *name)
{
	MPI_Count size = 0, lb = 0, extent = 0;
	PMPI_Type_size_x(handle, &size);
	PMPI_Type_get_extent_x(handle, &lb, &extent);
	r->size = size;
	r->lb = lb;
	r->extent = extent;
	int64_t *p = r->words;
	for (int k = 0; k < c->ints; k++)
		*p++ = c->i[k];
	for (int k = 0; k < c->addresses; k++)
		*p++ = c->a[k];
	for (int k = 0; k < c->types; k++)
		*p++ = inner[k]->r->id;
	memcpy(p, name, r->name_size);
}

/* Reads the shape of a datatype, for one more user; NULL without memory, or where the
 * library does not tell. */
static struct shape *read_shape(MPI_Datatype handle)
{
	struct mcchk_contents c;
	char name[MPI_MAX_OBJECT_NAME] = "";
	int name_size = 0;
	struct shape *s = mcchk_read_contents(handle, &c) ? calloc(1, sizeof *s) : NULL;
	if (s) {
		if (c.combiner == 0)
			name_size = mcchk_type_name(handle, name);
		uint64_t words = (uint64_t)c.ints + (uint64_t)c.addresses + (uint64_t)c.types;
		uint64_t length = sizeof *s->r + 8 * words + mcchk_pad8((uint64_t)name_size);
		s->r = calloc(1, length);
		s->inner = calloc((size_t)c.types + 1, sizeof *s->inner);
		if (s->r && s->inner)
			*s->r = (struct record){.type = 5, .combiner = (uint16_t)c.combiner, .length = (uint32_t)length,
						.name_size = (uint32_t)name_size, .ints = (uint32_t)c.ints,
						.addresses = (uint32_t)c.addresses, .types = (uint32_t)c.types};
		if (s->r && s->inner && read_inner(s, &c)) {
			fill(s->r, handle, &c, s->inner, name);
			s = only(s);
		} else {
			mcchk_lock(&lock);
			drop_shape(s);
			mcchk_unlock(&lock);
			s = NULL;
		}
	}
	mcchk_drop_contents(&c);
	return s;
}

/* The shape of a handle of the program, which refers to it until it is freed. */
static struct shape *shape_of(MPI_Datatype handle, struct type *t)
{
	struct shape *s = __atomic_load_n(&t->shape, __ATOMIC_ACQUIRE);
	if (s || !(s = read_shape(handle)))
		return s;
	mcchk_lock(&lock);
	if (t->shape)
		s->users--; /* another thread has read it meanwhile, and it is the same */
	else
		__atomic_store_n(&t->shape, s, __ATOMIC_RELEASE);
	mcchk_unlock(&lock);
	return s;
}

/* The shape of a type inside another, for one more user. A derived one may live on after
 * the program has freed it, so that its handle says nothing. */
static struct shape *inner_shape(MPI_Datatype handle)
{
	if (mcchk_is_derived(handle))
		return read_shape(handle);
	struct type *t = get(handle);
	struct shape *s = t ? shape_of(handle, t) : NULL;
	if (s) {
		mcchk_lock(&lock);
		s->users++;
		mcchk_unlock(&lock);
	}
	return s;
}

/* Writes the definition for this strand, unless it has it. */
static void define(struct shape *s)
{
	if (!mcchk_first_of_strand(&s->strands))
		return;
	for (uint32_t k = 0; k < s->r->types; k++)
		define(s->inner[k]);
	struct mcchk_thread *t = mcchk_thread_get();
	struct record *r = mcchk_reserve(t, s->r->length);
	if (!r)
		return;
	memcpy(r, s->r, s->r->length);
	mcchk_commit(t, s->r->length);
}

int64_t mcchk_type_id(MPI_Datatype handle)
{
	if (handle == MPI_DATATYPE_NULL)
		return 0;
	struct type *t = get(handle);
	if (!t || !mcchk_thread_get())
		return 0;
	struct shape *s = shape_of(handle, t);
	if (!s)
		return 0;
	define(s);
	return s->r->id;
}

int64_t mcchk_type_known(MPI_Datatype handle)
{
	struct type *t = lookup(handle);
	struct shape *s = t ? __atomic_load_n(&t->shape, __ATOMIC_ACQUIRE) : NULL;
	return s ? s->r->id : 0;
}

void mcchk_type_freed(MPI_Datatype handle)
{
	mcchk_lock(&lock);
	struct type *t = mcchk_map_get(&types, mcchk_handle(handle));
	mcchk_map_set(&types, mcchk_handle(handle), NULL);
	if (t && t->shape)
		t->shape->users--;
	mcchk_unlock(&lock);
	if (t)
		free(t->parts);
	free(t);
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

const struct mcchk_parts *mcchk_type_parts(MPI_Datatype handle)
{
	struct type *t = get(handle);
	struct mcchk_parts *s = t ? __atomic_load_n(&t->parts, __ATOMIC_ACQUIRE) : NULL, *other = NULL;
	if (s || !t || !(s = mcchk_parts_of(handle)))
		return s;
	if (__atomic_compare_exchange_n(&t->parts, &other, s, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return s;
	free(s);
	return other;
}

uint32_t mcchk_type_word(MPI_Datatype handle, int64_t *offset)
{
	struct type *t = handle == MPI_DATATYPE_NULL ? NULL : get(handle);
	if (!t || t->size != t->true_extent || (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8))
		return 0;
	*offset = t->true_lb;
	return (uint32_t)t->size;
}

uint32_t mcchk_type_integer(MPI_Datatype handle)
{
	struct type *t = handle == MPI_DATATYPE_NULL ? NULL : get(handle);
	return t && t->integer && t->size <= 8 ? (uint32_t)t->size : 0;
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
	if (mcchk_first_of_strand(&op->strands))
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
