/* Communicators: identifiers that all members agree on, and definitions.
 *
 * Rank 0 of a new communicator picks its identifier from a counter of its own
 * and broadcasts it over the new communicator. Of an intercommunicator both
 * groups learn each other's pick and take the smaller.
 */
#include "wrap.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map comms;
static int world_rank, world_size;
static int64_t last_comm = 1;

int mcchk_world_rank(void) { return world_rank; }

static struct mcchk_comm *add(MPI_Comm comm, int64_t id)
{
	struct mcchk_comm *c = calloc(1, sizeof *c);
	int inter = 0;

	if (!c)
		return NULL;
	c->id = id;
	PMPI_Comm_rank(comm, &c->rank);
	PMPI_Comm_size(comm, &c->size);
	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &c->remote_size);
	c->whole = !inter && c->size == world_size;
	mcchk_lock(&lock);
	mcchk_map_set(&comms, mcchk_handle(comm), c);
	mcchk_unlock(&lock);
	return c;
}

/* Defines MPI_COMM_WORLD and MPI_COMM_SELF. */
int mcchk_comms_start(void)
{
	PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
	return add(MPI_COMM_WORLD, 1) && add(MPI_COMM_SELF, ((int64_t)(world_rank + 1) << 32) + 1);
}

static int64_t pick(int64_t *last)
{
	return ((int64_t)(world_rank + 1) << 32) + __atomic_add_fetch(last, 1, __ATOMIC_RELAXED);
}

struct mcchk_comm *mcchk_comm_get(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return NULL;
	mcchk_lock(&lock);
	struct mcchk_comm *c = mcchk_map_get(&comms, mcchk_handle(comm));
	mcchk_unlock(&lock);
	return c ? c : add(comm, pick(&last_comm));
}

/* ---- definitions ---- */

struct runs {
	int64_t (*run)[3]; /* first, stride, count */
	uint32_t n;
};

/* Adds a rank: to the last run where it continues it. One of another world, which is
 * negative, is alike with such ones only. */
static void add_rank(struct runs *r, int64_t rank)
{
	int64_t *last = r->n ? r->run[r->n - 1] : NULL;
	if (last && (last[0] < 0) != (rank < 0))
		last = NULL;
	if (last && last[2] == 1) {
		last[1] = rank - last[0];
		last[2] = 2;
	} else if (last && rank == last[0] + last[1] * last[2]) {
		last[2]++;
	} else {
		r->run[r->n][0] = rank;
		r->run[r->n][1] = 1;
		r->run[r->n++][2] = 1;
	}
}

static void add_group(struct runs *r, MPI_Group group)
{
	int n = mcchk_group_size(group);
	int64_t *ranks = calloc((size_t)n + 1, sizeof *ranks);
	if (!ranks)
		return;
	mcchk_group_words(group, ranks);
	struct runs own = {.run = r->run + r->n};
	for (int i = 0; i < n; i++)
		add_rank(&own, ranks[i]);
	r->n += own.n;
	free(ranks);
}

static void write_definition(MPI_Comm comm, const struct mcchk_comm *c)
{
	struct record {
		uint8_t type, flags;
		uint16_t zero;
		uint32_t length;
		int64_t id;
		uint32_t rank, size, runs, remote_runs;
		int64_t run[][3];
	};
	struct runs r = {.run = calloc((size_t)c->size + (size_t)c->remote_size, sizeof *r.run)};
	MPI_Group group;
	uint32_t local = 0;

	if (!r.run)
		return;
	if (PMPI_Comm_group(comm, &group) == MPI_SUCCESS) {
		add_group(&r, group);
		PMPI_Group_free(&group);
	}
	local = r.n;
	if (c->remote_size && PMPI_Comm_remote_group(comm, &group) == MPI_SUCCESS) {
		add_group(&r, group);
		PMPI_Group_free(&group);
	}
	struct mcchk_thread *t = mcchk_thread_get();
	uint64_t length = sizeof(struct record) + r.n * sizeof *r.run;
	struct record *d = mcchk_reserve(t, length);
	if (d) {
		*d = (struct record){.type = 6, .flags = c->remote_size > 0, .length = (uint32_t)length, .id = c->id,
				     .rank = (uint32_t)c->rank, .size = (uint32_t)c->size, .runs = local,
				     .remote_runs = r.n - local};
		memcpy(d->run, r.run, r.n * sizeof *r.run);
		mcchk_commit(t, length);
	}
	free(r.run);
}

int64_t mcchk_comm_id(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	if (!c)
		return 0;
	if (mcchk_thread_get() && mcchk_first_of_strand(&c->strands))
		write_definition(comm, c);
	return c->id;
}

void mcchk_comm_define(MPI_Comm comm) { mcchk_comm_id(comm); }

/* ---- new communicators ---- */

static int64_t agree(MPI_Comm comm)
{
	int inter = 0, rank = 0;
	PMPI_Comm_test_inter(comm, &inter);
	PMPI_Comm_rank(comm, &rank);
	int64_t id = rank == 0 ? pick(&last_comm) : 0;
	if (!inter) {
		PMPI_Bcast(&id, 1, MPI_INT64_T, 0, comm);
		return id;
	}
	/* Between two groups a reduction gives each the other's value. */
	int64_t theirs = 0, ours = 0;
	PMPI_Allreduce(&id, &theirs, 1, MPI_INT64_T, MPI_MAX, comm);
	PMPI_Allreduce(&theirs, &ours, 1, MPI_INT64_T, MPI_MAX, comm);
	return ours < theirs ? ours : theirs;
}

/* A constructor gave this communicator to all its members. */
int64_t mcchk_comm_made(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return 0;
	int64_t id = agree(comm);
	add(comm, id);
	return id;
}

/* A communicator with processes outside this world: nothing can be agreed on. */
int64_t mcchk_comm_met(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c ? c->id : 0;
}

/* MPI_Comm_idup. Its identifier follows from the old communicator's and how
 * often that was duplicated so: all members work it out alike without a message,
 * for nobody may wait here. Above 2^62, where no counted ones are. */
void mcchk_comm_promised(MPI_Comm comm, const void *made, struct mcchk_request *r, int fortran)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	if (!c)
		return;
	uint64_t h = (uint64_t)c->id * 0x9E3779B97F4A7C15ull + (uint64_t)++c->duplicates;
	h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9ull;
	h = (h ^ h >> 27) * 0x94D049BB133111EBull;
	int64_t id = (int64_t)(1ull << 62 | (h ^ h >> 31) >> 2);
	if (r) {
		r->made = made;
		r->fortran = fortran;
		r->made_id = id;
		return;
	}
	MPI_Comm now = fortran ? PMPI_Comm_f2c(*(const MPI_Fint *)made) : *(const MPI_Comm *)made;
	if (now != MPI_COMM_NULL)
		mcchk_comm_agreed(now, id); /* there already */
}

/* MPI_Comm_idup has completed. */
void mcchk_comm_agreed(MPI_Comm comm, int64_t id)
{
	add(comm, id);
}

void mcchk_comm_freed(MPI_Comm comm)
{
	mcchk_lock(&lock);
	struct mcchk_comm *c = mcchk_map_get(&comms, mcchk_handle(comm));
	mcchk_map_set(&comms, mcchk_handle(comm), NULL);
	mcchk_unlock(&lock);
	free(c);
}

int64_t mcchk_pick_id(MPI_Comm comm, int64_t *last)
{
	int rank = 0;
	PMPI_Comm_rank(comm, &rank);
	int64_t id = rank == 0 ? pick(last) : 0;
	PMPI_Bcast(&id, 1, MPI_INT64_T, 0, comm);
	return id;
}

/* The process passed a synchronization of all members. */
void mcchk_passed(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	if (c && c->whole)
		__atomic_add_fetch(&mcchk_region, 1, __ATOMIC_RELAXED);
}

/* ---- what a process has to do with a collective ---- */

int mcchk_is_root(int root, MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c && (c->remote_size ? root == MPI_ROOT : root == c->rank);
}

int mcchk_not_root(int root, MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c && (!c->remote_size || (root != MPI_ROOT && root != MPI_PROC_NULL));
}

int mcchk_takes_part(int root, MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c && (!c->remote_size || root != MPI_PROC_NULL);
}

int mcchk_leads(int leader, MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c && leader == c->rank;
}

int mcchk_peers(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return !c ? 0 : c->remote_size ? c->remote_size : c->size;
}

int mcchk_own_size(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	return c ? c->size : 0;
}

int mcchk_neighbours(MPI_Comm comm, int outgoing)
{
	int kind = MPI_UNDEFINED, n = 0, in = 0, weighted;
	PMPI_Topo_test(comm, &kind);
	if (kind == MPI_CART) {
		PMPI_Cartdim_get(comm, &n);
		return 2 * n;
	}
	if (kind == MPI_GRAPH) {
		struct mcchk_comm *c = mcchk_comm_get(comm);
		PMPI_Graph_neighbors_count(comm, c ? c->rank : 0, &n);
		return n;
	}
	if (kind == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors_count(comm, &in, &n, &weighted);
	return outgoing ? n : in;
}

/* The neighbours in the order of the standard: of a grid, for each dimension
 * the one below and the one above. */
static void read_neighbours(MPI_Comm comm, int rank, int kind, int *sources, int *destinations)
{
	int in = mcchk_neighbours(comm, 0), out = mcchk_neighbours(comm, 1);

	if (kind == MPI_DIST_GRAPH) {
		int *weights = calloc((size_t)(in > out ? in : out) + 1, sizeof *weights);
		int *unused = calloc((size_t)(in > out ? in : out) + 1, sizeof *unused);
		if (weights && unused)
			PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, destinations, unused);
		free(weights);
		free(unused);
		return;
	}
	if (kind == MPI_GRAPH)
		PMPI_Graph_neighbors(comm, rank, in, sources);
	for (int d = 0; kind == MPI_CART && 2 * d < in; d++)
		PMPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
	for (int i = 0; i < out; i++)
		destinations[i] = sources[i];
}

/* A pseudo call before the process's first neighbourhood collective. */
void mcchk_comm_neighbours(MPI_Comm comm)
{
	struct mcchk_comm *c = mcchk_comm_get(comm);
	int kind = MPI_UNDEFINED;

	if (!c || c->neighbours_told)
		return;
	c->neighbours_told = 1;
	PMPI_Topo_test(comm, &kind);
	int in = mcchk_neighbours(comm, 0), out = mcchk_neighbours(comm, 1);
	int *ranks = calloc((size_t)in + (size_t)out + 1, sizeof *ranks);
	if (!ranks)
		return;
	read_neighbours(comm, c->rank, kind, ranks, ranks + in);
	mcchk_comm_define(comm);
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Neighbors, 3 + (uint64_t)in + (uint64_t)out, (void *)mcchk_self.frame);
	if (w) {
		*w++ = c->id;
		*w++ = in;
		for (int i = 0; i < in; i++)
			*w++ = mcchk_rank(ranks[i]);
		*w++ = out;
		for (int i = 0; i < out; i++)
			*w++ = mcchk_rank(ranks[in + i]);
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
	free(ranks);
}
