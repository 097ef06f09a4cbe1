/* Requests: identifiers, and the buffers that matter until they complete.
 *
 * A library may use one handle for several requests that are complete already,
 * so a handle stands for a list. The one that the program keeps in the same
 * variable is preferred, else the oldest.
 */
#include "wrap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map requests;
static int64_t last_id;

static struct mcchk_request *choose(struct mcchk_request *first, const void *variable, int untaken)
{
	struct mcchk_request *oldest = NULL;
	for (struct mcchk_request *r = first; r; r = r->next) {
		if (untaken && r->taken)
			continue;
		if (r->variable == variable)
			return r;
		if (!oldest)
			oldest = r;
	}
	return oldest;
}

struct mcchk_request *mcchk_request_find(MPI_Request request, const void *variable)
{
	if (request == MPI_REQUEST_NULL)
		return NULL;
	mcchk_lock(&lock);
	struct mcchk_request *r = choose(mcchk_map_get(&requests, mcchk_handle(request)), variable, 0);
	mcchk_unlock(&lock);
	return r;
}

/* The requests of an array, each entry found once; to be freed. NULL without memory.
 * The program keeps them in `variables`, of that many bytes each. */
struct mcchk_request **mcchk_requests_find(int n, const MPI_Request *array, const void *variables, size_t size)
{
	struct mcchk_request **found = calloc(n > 0 ? (size_t)n : 1, sizeof *found);
	if (!found)
		return NULL;
	mcchk_lock(&lock);
	for (int i = 0; i < n; i++) {
		if (array[i] == MPI_REQUEST_NULL)
			continue;
		found[i] = choose(mcchk_map_get(&requests, mcchk_handle(array[i])),
				  (const char *)variables + (size_t)i * size, 1);
		if (found[i])
			found[i]->taken = 1;
	}
	for (int i = 0; i < n; i++)
		if (found[i])
			found[i]->taken = 0;
	mcchk_unlock(&lock);
	return found;
}

/* A request that an MPI call has just made. NULL: it was complete, or there is
 * no memory. */
struct mcchk_request *mcchk_request_new(MPI_Request request, const void *variable)
{
	struct mcchk_request *r;
	if (request == MPI_REQUEST_NULL || !(r = calloc(1, sizeof *r)))
		return NULL;
	r->handle = mcchk_handle(request);
	r->variable = variable;
	mcchk_lock(&lock);
	r->id = ++last_id;
	struct mcchk_request *same = mcchk_map_get(&requests, r->handle);
	if (!same) {
		mcchk_map_set(&requests, r->handle, r);
	} else {
		while (same->next)
			same = same->next;
		same->next = r;
	}
	mcchk_unlock(&lock);
	return r;
}

struct addition {
	struct mcchk_ranges *to;
	int same;
};

static void add(void *of, struct mcchk_range place)
{
	const uint64_t near = 1u << 16;
	struct addition *a = of;
	struct mcchk_range *last = a->to->count ? &mcchk_ranges(a->to)[a->to->count - 1] : NULL;
	int joined = last && a->same && place.lo <= last->hi + near && place.hi + near >= last->lo;
	if (!joined && (mcchk_ranges_add(a->to, place) || !last))
		return;
	last->lo = place.lo < last->lo ? place.lo : last->lo;
	last->hi = place.hi > last->hi ? place.hi : last->hi;
}

/* Adds a buffer; with `same`, another part of the last one. */
void mcchk_request_buffer(struct mcchk_request *r, const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype type, int same)
{
	if (r)
		mcchk_places(p, displacement, count, type, add, &(struct addition){&r->buffers, same});
}

static void set_marks(struct mcchk_request *r, int marked)
{
	if (r->marked == marked)
		return;
	r->marked = marked;
	mcchk_ranges_mark(&r->buffers, marked);
}

/* All of its buffers are known. Returns its identifier. */
int64_t mcchk_request_ready(struct mcchk_request *r)
{
	if (!r)
		return 0;
	if (!r->persistent)
		set_marks(r, 1);
	return r->id;
}

/* It is of an operation that fetches into a result buffer. */
void mcchk_request_fetches(struct mcchk_request *r, MPI_Win win, const void *result)
{
	r->fetches = win;
	r->result = result;
}

void mcchk_request_started(struct mcchk_request *r)
{
	if (r)
		set_marks(r, 1);
}

static void forget(struct mcchk_request *r)
{
	mcchk_lock(&lock);
	struct mcchk_request *first = mcchk_map_get(&requests, r->handle);
	if (first == r) {
		mcchk_map_set(&requests, r->handle, r->next);
	} else {
		while (first && first->next != r)
			first = first->next;
		if (first)
			first->next = r->next;
	}
	mcchk_unlock(&lock);
	mcchk_ranges_drop(&r->buffers);
	free(r);
}

void mcchk_request_completed(struct mcchk_request *r)
{
	if (!r)
		return;
	set_marks(r, 0);
	if (r->persistent)
		return;
	if (r->result)
		mcchk_win_fetched(r->fetches, MCCHK_ALL, r->result);
	if (r->made)
		mcchk_comm_agreed(r->fortran ? PMPI_Comm_f2c(*(const MPI_Fint *)r->made) : *(const MPI_Comm *)r->made, r->made_id);
	forget(r);
}

/* Freed before it completes: its buffers stay marked for good, for nothing
 * tells when the operation ends. */
void mcchk_request_forgotten(struct mcchk_request *r)
{
	if (!r)
		return;
	if (r->persistent)
		set_marks(r, 0);
	forget(r);
}
