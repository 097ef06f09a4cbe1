/* Requests: identifiers, and the buffers that matter until they complete.
 *
 * Libraries use one handle for several requests that are complete already. The
 * program gets another one for all but one of them, so that the handle tells
 * which it means. It may stand for more than one all the same, where the library
 * has used it again before this here knows that the one before is complete: the
 * latest is meant, of those that no call has taken.
 */
#include "wrap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map requests;
static int64_t last_id;

struct mcchk_request *mcchk_request_find(MPI_Request request)
{
	if (request == MPI_REQUEST_NULL)
		return NULL;
	mcchk_lock(&lock);
	struct mcchk_request *r = mcchk_map_get(&requests, mcchk_handle(request));
	mcchk_unlock(&lock);
	return r;
}

static struct mcchk_request *take(MPI_Request request)
{
	if (request == MPI_REQUEST_NULL)
		return NULL;
	struct mcchk_request *r = mcchk_map_get(&requests, mcchk_handle(request));
	while (r && r->taken)
		r = r->next;
	if (r)
		r->taken = 1;
	return r;
}

struct mcchk_request *mcchk_request_take(MPI_Request request)
{
	mcchk_lock(&lock);
	struct mcchk_request *r = take(request);
	mcchk_unlock(&lock);
	return r;
}

/* The requests of an array, each entry taken once. NULL without memory. */
struct mcchk_request **mcchk_requests_take(int n, const MPI_Request *array)
{
	struct mcchk_request **taken = calloc(n > 0 ? (size_t)n : 1, sizeof *taken);
	if (!taken)
		return NULL;
	mcchk_lock(&lock);
	for (int i = 0; i < n; i++)
		taken[i] = take(array[i]);
	mcchk_unlock(&lock);
	return taken;
}

void mcchk_request_leave(struct mcchk_request *r)
{
	if (!r)
		return;
	mcchk_lock(&lock);
	r->taken = 0;
	mcchk_unlock(&lock);
}

void mcchk_requests_leave(int n, struct mcchk_request **taken)
{
	int i = 0;
	while (taken && i < n && !taken[i])
		i++;
	if (taken && i < n) {
		mcchk_lock(&lock);
		for (; i < n; i++)
			if (taken[i])
				taken[i]->taken = 0;
		mcchk_unlock(&lock);
	}
	free(taken);
}

/* ---- handles ---- */

/* What a generalized request tells of the one that it stands for. */
static int tell(void *was, MPI_Status *status)
{
	int error = status->MPI_ERROR;
	*status = *(const MPI_Status *)was;
	status->MPI_ERROR = error;
	return MPI_SUCCESS;
}

static int release(void *was)
{
	free(was);
	return MPI_SUCCESS;
}

static int ignore(void *was, int complete) { return MPI_SUCCESS; }

/* Puts a request with a handle of its own in the place of one that is complete. */
static void replace(MPI_Request *request)
{
	int complete = 0;
	MPI_Request own;
	MPI_Status *was = calloc(1, sizeof *was);

	if (!was || PMPI_Request_get_status(*request, &complete, was) != MPI_SUCCESS || !complete ||
	    PMPI_Grequest_start(tell, release, ignore, was, &own) != MPI_SUCCESS) {
		free(was);
		return;
	}
	PMPI_Grequest_complete(own);
	PMPI_Wait(request, MPI_STATUS_IGNORE);
	*request = own;
}

/* Adds a request to those of its handle. Returns 0 when there are some that it is not
 * to be mixed up with. */
static int enlist(struct mcchk_request *r, int with_others)
{
	mcchk_lock(&lock);
	r->next = mcchk_map_get(&requests, r->handle);
	int added = !r->next || with_others;
	if (added) {
		mcchk_map_set(&requests, r->handle, r);
		r->id = ++last_id;
	}
	mcchk_unlock(&lock);
	return added;
}

/* A request that an MPI call has just made; it may be changed to another one, unless it is
 * `inactive`. NULL: it was complete, or there is no memory. */
struct mcchk_request *mcchk_request_new(MPI_Request *request, int inactive)
{
	struct mcchk_request *r;
	if (*request == MPI_REQUEST_NULL || !(r = calloc(1, sizeof *r)))
		return NULL;
	r->handle = mcchk_handle(*request);
	if (!enlist(r, inactive)) {
		replace(request);
		r->handle = mcchk_handle(*request);
		enlist(r, 1);
	}
	return r;
}

/* ---- buffers ---- */

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

static void forget(struct mcchk_request **taken)
{
	struct mcchk_request *r = *taken;
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
	*taken = NULL;
}

void mcchk_request_completed(struct mcchk_request **taken)
{
	struct mcchk_request *r = *taken;
	if (!r)
		return;
	set_marks(r, 0);
	if (r->persistent)
		return;
	if (r->result)
		mcchk_win_fetched(r->fetches, MCCHK_ALL, r->result);
	if (r->made)
		mcchk_comm_agreed(r->fortran ? PMPI_Comm_f2c(*(const MPI_Fint *)r->made) : *(const MPI_Comm *)r->made, r->made_id);
	forget(taken);
}

/* Freed before it completes: its buffers stay marked for good, for nothing
 * tells when the operation ends. */
void mcchk_request_forgotten(struct mcchk_request **taken)
{
	struct mcchk_request *r = *taken;
	if (!r)
		return;
	if (r->persistent)
		set_marks(r, 0);
	forget(taken);
}
