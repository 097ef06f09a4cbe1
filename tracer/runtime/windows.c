/* Windows: identifiers, the memory they show, operations that are pending, and
 * the observed order of locks.
 *
 * Beside each of the program's windows stands a hidden one with a counter in
 * every process. After a lock has been granted the counter at the target is
 * fetched and increased: the ticket says how many locks of this target came
 * before.
 */
#include "wrap.h"

#include <stdlib.h>
#include <string.h>

#define COUNTERS 64       /* of each process: of its locks, and of declared signals on its resources */
#define COUNTER_STEP 2    /* in int64_t: MPICH 4.0 on UCX counts 16 bytes too low where a counter does not begin at a multiple of 16 */
#define TICKET_ROOM (COUNTERS * COUNTER_STEP * sizeof(int64_t))
#define MAX_PENDING (1u << 18) /* ranges of one window, or attached: 6 MiB; what is beyond stays marked */

enum { ALL_ORDERS = 15 }; /* of accumulates: read after read 1, raw 2, war 4, waw 8 */

/* Parts of a dynamic window that are watched on after their detachment: others
 * may have operations pending there, which this process cannot know. */
#define MAX_DETACHED 64

/* A word that an operation fetches. The thread that issued it, and any other whose call
 * began after it was issued, may complete it, beside each other. */
struct fetching {
	int64_t number, value;   /* what it fetched, once a thread has completed it */
	const void *result, *at; /* its buffer, and where in it the word lies */
	uint64_t issued;         /* the number of the last call that had begun when it was issued */
	const struct mcchk_thread *by;
	uint32_t size;
	int target, known;
};

/* How often threads beside the one that issued it tell of an operation at most. It is kept
 * for that one then, until there are many such: what that never completes has to be forgotten. */
#define MAX_TOLD 4
#define MANY_TOLD 256

struct window {
	int64_t id, model;
	struct mcchk_accumulates accumulates;
	int whole;
	struct mcchk_ranges memory, pending;
	struct mcchk_range detached[MAX_DETACHED]; /* a ring */
	uint32_t detached_next;
	MPI_Win tickets;
	int has_tickets;
	int shares; /* its processes share memory, so the counters lie there */
	uint64_t made; /* as so many before it */
	int locked_all;
	int size;
	uint8_t *ticketed; /* by rank: has a ticket in this lock_all epoch */
	struct fetching *fetching;
	uint32_t fetching_count, fetching_room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map windows;
static uint64_t made;
static int64_t last_window;

static struct window *get(MPI_Win win)
{
	mcchk_lock(&lock);
	struct window *w = mcchk_map_get(&windows, mcchk_handle(win));
	mcchk_unlock(&lock);
	return w;
}

static void add_range(struct mcchk_ranges *list, struct mcchk_range r)
{
	mcchk_mark(&r); /* for good, if it finds no place in the list */
	if (list->count < MAX_PENDING)
		mcchk_ranges_add(list, r);
}

int64_t mcchk_win_id(MPI_Win win)
{
	struct window *w = get(win);
	return w ? w->id : 0;
}

/* ---- the hidden window ---- */

/* Whether all processes of a communicator share memory. */
static int share_memory(MPI_Comm comm)
{
	MPI_Comm node = MPI_COMM_NULL;
	int all = 0, here = -1;

	if (PMPI_Comm_size(comm, &all) != MPI_SUCCESS ||
	    PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS || node == MPI_COMM_NULL)
		return 0;
	PMPI_Comm_size(node, &here);
	PMPI_Comm_free(&node);
	return here == all;
}

/* Where processes share memory they count there by themselves: a target need not call MPI for
 * that, which the program itself need not wait for. */
static void make_tickets(struct window *w, MPI_Comm comm)
{
	MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
	int64_t *counter = NULL;
	int ok = 0, all = 0;

	PMPI_Comm_get_errhandler(comm, &handler);
	PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (w->shares = share_memory(comm);; w->shares = 0) {
		if (w->shares)
			ok = PMPI_Win_allocate_shared(TICKET_ROOM, sizeof *counter, MPI_INFO_NULL, comm, &counter, &w->tickets) == MPI_SUCCESS;
		else
			ok = PMPI_Win_allocate(TICKET_ROOM, sizeof *counter, MPI_INFO_NULL, comm, &counter, &w->tickets) == MPI_SUCCESS;
		if (ok) {
			PMPI_Win_set_errhandler(w->tickets, MPI_ERRORS_RETURN);
			ok = PMPI_Win_lock_all(MPI_MODE_NOCHECK, w->tickets) == MPI_SUCCESS;
			memset(counter, 0, TICKET_ROOM);
			PMPI_Win_sync(w->tickets);
		}
		PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, comm); /* nobody counts before all have zeroed */
		if (all || !w->shares)
			break;
	}
	w->has_tickets = all;
	if (handler != MPI_ERRHANDLER_NULL) {
		PMPI_Comm_set_errhandler(comm, handler);
		PMPI_Errhandler_free(&handler);
	}
}

/* The same counter where processes share memory. */
static int64_t fetch_shared(struct window *w, int rank, int counter, int more)
{
	MPI_Aint size = 0;
	int unit = 0;
	int64_t *base = NULL;

	if (PMPI_Win_shared_query(w->tickets, rank, &size, &unit, &base) != MPI_SUCCESS || !base)
		return -1;
	return __atomic_fetch_add(base + COUNTER_STEP * counter, more, __ATOMIC_SEQ_CST);
}

/* Fetches a counter of a process, and increases it when op is MPI_SUM. */
static int64_t fetch_counter(struct window *w, int rank, int counter, MPI_Op op)
{
	int64_t one = 1, earlier = -1;
	if (!w->has_tickets || rank < 0 || rank >= w->size)
		return -1;
	if (w->shares)
		return fetch_shared(w, rank, counter, op == MPI_SUM);
	if (PMPI_Fetch_and_op(&one, &earlier, MPI_INT64_T, rank, COUNTER_STEP * counter, op, w->tickets) != MPI_SUCCESS ||
	    PMPI_Win_flush(rank, w->tickets) != MPI_SUCCESS)
		return -1;
	return earlier;
}

static int64_t take_ticket(struct window *w, int rank) { return fetch_counter(w, rank, 0, MPI_SUM); }

int64_t mcchk_win_ticket(MPI_Win win, int rank)
{
	struct window *w = get(win);
	return w ? take_ticket(w, rank) : -1;
}

/* How many signals were declared on a resource before this one, or so far; -1 unknown. */
int64_t mcchk_win_declared(MPI_Win win, int rank, int resource, int signal)
{
	struct window *w = get(win);
	if (!w || resource < 0 || resource >= COUNTERS - 1)
		return -1;
	return fetch_counter(w, rank, 1 + resource, signal ? MPI_SUM : MPI_NO_OP);
}

/* ---- making and freeing ---- */

static int64_t read_model(MPI_Win win)
{
	int *model = NULL, there = 0;
	PMPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &there);
	return !there || *model == MPI_WIN_UNIFIED;
}

/* What an info object says of accumulate operations, as numbers of the trace format. */
struct mcchk_accumulates mcchk_win_asked(MPI_Info info)
{
	static const char *const orders[] = {"rar", "raw", "war", "waw"};
	struct mcchk_accumulates a = {-1, -1};
	char value[MPI_MAX_INFO_VAL + 1];
	int there = 0;

	if (info == MPI_INFO_NULL)
		return a;
	PMPI_Info_get(info, "accumulate_ops", MPI_MAX_INFO_VAL, value, &there);
	if (there && strcmp(value, "same_op") == 0)
		a.ops = 1;
	else if (there && strcmp(value, "same_op_no_op") == 0)
		a.ops = 0;
	PMPI_Info_get(info, "accumulate_ordering", MPI_MAX_INFO_VAL, value, &there);
	if (!there)
		return a;
	a.ordering = 0;
	for (int i = 0; i < 4; i++)
		if (strstr(value, orders[i]))
			a.ordering |= 1 << i;
	return a;
}

static void take_settings(struct window *w, struct mcchk_accumulates a)
{
	w->accumulates.ops = a.ops >= 0 ? a.ops : w->accumulates.ops;
	w->accumulates.ordering = a.ordering >= 0 ? a.ordering : w->accumulates.ordering;
}

/* The library's settings, and over them what the program has asked for: what it
 * has given up it must not rely on, even where the library grants it. */
static void read_settings(struct window *w, MPI_Win win, struct mcchk_accumulates asked)
{
	MPI_Info used = MPI_INFO_NULL;
	if (PMPI_Win_get_info(win, &used) == MPI_SUCCESS && used != MPI_INFO_NULL) {
		take_settings(w, mcchk_win_asked(used));
		PMPI_Info_free(&used);
	}
	take_settings(w, asked);
}

int64_t mcchk_win_made(MPI_Win win, MPI_Comm comm, struct mcchk_accumulates asked, void *base, MPI_Aint size)
{
	struct window *w = calloc(1, sizeof *w);
	int64_t id = mcchk_pick_id(comm, &last_window);
	struct mcchk_comm *c = mcchk_comm_get(comm);

	if (!w || !c) {
		free(w);
		return 0;
	}
	w->id = id;
	w->model = read_model(win);
	w->accumulates.ordering = ALL_ORDERS;
	read_settings(w, win, asked);
	w->whole = c->whole;
	w->size = c->size;
	make_tickets(w, comm);
	mcchk_lock(&lock);
	w->made = made++;
	mcchk_map_set(&windows, mcchk_handle(win), w);
	mcchk_unlock(&lock);
	mcchk_win_attached(win, base, size);
	return id;
}

/* Where the parts of a shared-memory window lie in this process: what it loads
 * and stores there is the memory of their owners. A pseudo call for each. */
void mcchk_win_segments(MPI_Win win)
{
	struct window *w = get(win);
	if (w && w->size > 1 && !mcchk_preloaded)
		mcchk_atomics_shared();
	for (int rank = 0; w && rank < w->size; rank++) {
		MPI_Aint size = 0;
		int unit;
		void *base = NULL;
		if (PMPI_Win_shared_query(win, rank, &size, &unit, &base) != MPI_SUCCESS || !base || size <= 0)
			continue;
		mcchk_win_attached(win, base, size);
		int64_t *words = mcchk_call_begin(mcchk_fn_mcchk_Shared_segment, 4, (void *)mcchk_self.frame);
		if (words) {
			words[0] = w->id;
			words[1] = rank;
			words[2] = (int64_t)(uintptr_t)base;
			words[3] = size;
		}
		mcchk_call_commit();
		mcchk_call_end(mcchk_now(), 0);
	}
}

int64_t mcchk_win_model(MPI_Win win)
{
	struct window *w = get(win);
	return w ? w->model : 1;
}

int64_t mcchk_win_ops(MPI_Win win)
{
	struct window *w = get(win);
	return w ? w->accumulates.ops : 0;
}

int64_t mcchk_win_ordering(MPI_Win win)
{
	struct window *w = get(win);
	return w ? w->accumulates.ordering : ALL_ORDERS;
}

/* After MPI_Win_set_info: a pseudo call with what holds now. */
void mcchk_win_informed(MPI_Win win, struct mcchk_accumulates asked)
{
	struct window *w = get(win);
	if (!w)
		return;
	read_settings(w, win, asked);
	int64_t *words = mcchk_call_begin(mcchk_fn_mcchk_Win_info, 3, (void *)mcchk_self.frame);
	if (words) {
		words[0] = w->id;
		words[1] = w->accumulates.ops;
		words[2] = w->accumulates.ordering;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

void mcchk_win_attached(MPI_Win win, const void *base, MPI_Aint size)
{
	struct window *w = get(win);
	uint64_t lo = (uint64_t)(uintptr_t)base;
	if (!w || !base || size <= 0)
		return;
	mcchk_lock(&lock);
	int known = 0;
	for (uint32_t i = 0; i < w->memory.count; i++)
		known |= mcchk_ranges(&w->memory)[i].lo == lo && mcchk_ranges(&w->memory)[i].hi == lo + (uint64_t)size;
	if (!known)
		add_range(&w->memory, (struct mcchk_range){.lo = lo, .hi = lo + (uint64_t)size});
	mcchk_unlock(&lock);
}

void mcchk_win_detached(MPI_Win win, const void *base)
{
	struct window *w = get(win);
	if (!w)
		return;
	mcchk_lock(&lock);
	for (uint32_t i = 0; i < w->memory.count; i++) {
		if (mcchk_ranges(&w->memory)[i].lo != (uint64_t)(uintptr_t)base)
			continue;
		struct mcchk_range *last = &w->detached[w->detached_next++ % MAX_DETACHED];
		if (last->hi)
			mcchk_unmark(last);
		*last = mcchk_ranges(&w->memory)[i];
		mcchk_ranges(&w->memory)[i] = mcchk_ranges(&w->memory)[--w->memory.count];
		break;
	}
	mcchk_unlock(&lock);
}

static void watch_range(struct mcchk_range *r, int on)
{
	if (on)
		mcchk_mark(r);
	else
		mcchk_unmark(r);
}

/* Watches all memory of a window again, or no more. */
static void watch(struct window *w, int on)
{
	for (uint32_t i = 0; i < w->memory.count; i++)
		watch_range(&mcchk_ranges(&w->memory)[i], on);
	for (uint32_t i = 0; i < w->pending.count; i++)
		watch_range(&mcchk_ranges(&w->pending)[i], on);
	for (uint32_t i = 0; i < MAX_DETACHED && w->detached[i].hi; i++)
		watch_range(&w->detached[i], on);
}

/* Before the program's window is freed: its memory may go with it. The window is
 * given to one of the two below. */
void *mcchk_win_freeing(MPI_Win win)
{
	mcchk_lock(&lock);
	struct window *w = mcchk_map_get(&windows, mcchk_handle(win));
	mcchk_map_set(&windows, mcchk_handle(win), NULL);
	mcchk_unlock(&lock);
	if (w)
		watch(w, 0);
	return w;
}

/* The library refused to free the window. */
void mcchk_win_kept(MPI_Win win, void *window)
{
	if (!window)
		return;
	watch(window, 1);
	mcchk_lock(&lock);
	mcchk_map_set(&windows, mcchk_handle(win), window);
	mcchk_unlock(&lock);
}

static void free_tickets(struct window *w)
{
	if (!w->has_tickets)
		return;
	w->has_tickets = 0;
	PMPI_Win_unlock_all(w->tickets);
	PMPI_Win_free(&w->tickets);
}

/* The window that was made first after so many. */
static struct window *first_from(uint64_t number)
{
	struct window *first = NULL;
	for (uint32_t i = 0; i < windows.slots; i++) {
		struct window *w = windows.keys[i] ? windows.values[i] : NULL;
		if (w && w->made >= number && (!first || w->made < first->made))
			first = w;
	}
	return first;
}

/* Frees what was made for windows that the program leaves to MPI_Finalize, in the order in which
 * all processes have made them. MPICH fails there with memory that is still registered. */
void mcchk_win_left(void)
{
	uint64_t next = 0;
	for (struct window *w; (w = first_from(next)); next = w->made + 1)
		free_tickets(w);
}

void mcchk_win_freed(void *window)
{
	struct window *w = window;
	if (!w)
		return;
	free_tickets(w);
	if (w->whole)
		__atomic_add_fetch(&mcchk_region, 1, __ATOMIC_RELAXED);
	mcchk_ranges_drop(&w->memory);
	mcchk_ranges_drop(&w->pending);
	free(w->ticketed);
	free(w->fetching);
	free(w);
}

/* ---- operations and their completion ---- */

/* The ticket of a lock_all epoch is taken at the first operation to a target. */
void mcchk_win_access(MPI_Win win, int rank)
{
	struct window *w = get(win);
	if (!w || !w->locked_all || !w->ticketed || rank < 0 || rank >= w->size || w->ticketed[rank])
		return;
	w->ticketed[rank] = 1;
	int64_t *words = mcchk_call_begin(mcchk_fn_mcchk_Lock_ticket, 3, (void *)mcchk_self.frame);
	mcchk_call_commit();
	int64_t ticket = take_ticket(w, rank);
	if (words) {
		words[0] = rank;
		words[1] = w->id;
		words[2] = ticket;
	}
	mcchk_call_end(mcchk_now(), 0);
}

/* Whether the last places that were added are these, for a target. */
static int added_last(struct mcchk_ranges *to, struct mcchk_ranges *places, int rank)
{
	if (places->count > to->count)
		return 0;
	const struct mcchk_range *last = mcchk_ranges(to) + to->count - places->count, *all = mcchk_ranges(places);
	for (uint32_t i = 0; i < places->count; i++)
		if (last[i].lo != all[i].lo || last[i].hi != all[i].hi || last[i].target != rank)
			return 0;
	return 1;
}

void mcchk_win_pending(MPI_Win win, int rank, const void *p, MPI_Count count, MPI_Datatype type)
{
	struct window *w = get(win);
	struct mcchk_ranges places = {0};
	if (!w)
		return;
	mcchk_places(p, 0, count, type, mcchk_ranges_collect, &places);
	mcchk_lock(&lock);
	uint32_t n = added_last(&w->pending, &places, rank) ? 0 : places.count;
	for (uint32_t i = 0; i < n; i++) {
		struct mcchk_range r = mcchk_ranges(&places)[i];
		r.target = rank;
		add_range(&w->pending, r);
	}
	mcchk_unlock(&lock);
	mcchk_ranges_drop(&places);
}

void mcchk_win_completed(MPI_Win win, int rank)
{
	struct window *w = get(win);
	if (!w)
		return;
	mcchk_lock(&lock);
	struct mcchk_range *all = mcchk_ranges(&w->pending);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < w->pending.count; i++) {
		if (rank == MCCHK_ALL || all[i].target == rank)
			mcchk_unmark(&all[i]);
		else
			all[kept++] = all[i];
	}
	w->pending.count = kept;
	mcchk_unlock(&lock);
	if (w->fetching_count)
		mcchk_win_fetched(win, rank, NULL);
}

/* Makes room for more operations that fetch words; 0 without memory. */
static int room_for(struct window *w, uint32_t more)
{
	uint32_t room = w->fetching_room ? w->fetching_room : 16;
	while (w->fetching_count + more > room)
		room *= 2;
	if (room == w->fetching_room)
		return 1;
	struct fetching *larger = realloc(w->fetching, room * sizeof *larger);
	if (!larger)
		return 0;
	w->fetching = larger;
	w->fetching_room = room;
	return 1;
}

/* An operation that fetches words is pending. Returns the number of the first, 0 if it fetches
 * something else. */
int64_t mcchk_win_fetching(MPI_Win win, int rank, const void *result, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	struct window *w = get(win);
	uint32_t size;
	int64_t number = w && rank >= 0 ? mcchk_word_number(count, type, op) : 0;
	const char *at = mcchk_words_at(result, count, type, &size);
	if (!number)
		return 0;
	mcchk_lock(&lock);
	uint32_t n = (uint32_t)count;
	if (!room_for(w, n))
		n = 0;
	uint64_t issued = __atomic_load_n(&mcchk_seq, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < n; i++)
		w->fetching[w->fetching_count++] = (struct fetching){
			.number = number + i, .result = result, .at = at + i * size, .size = size, .target = rank,
			.issued = issued, .by = mcchk_self.thread,
		};
	mcchk_unlock(&lock);
	return n > 0 ? number : 0;
}

/* Whether the thread's call has completed the operation, and is done with it. One that began
 * before the operation was issued need not have. */
static int has_fetched(struct fetching *f, uint64_t call)
{
	int own = f->by == mcchk_self.thread;
	if (!own && (f->issued >= call || f->known == MAX_TOLD))
		return 0;
	if (!f->known) /* later on the buffer may hold something else */
		f->value = mcchk_word_read(f->at, f->size);
	mcchk_word_fetched(f->number, f->value);
	f->known += !own;
	return own;
}

/* Forgets operations of which others have told enough. */
static void forget_told(struct window *w)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->fetching_count; i++)
		if (w->fetching[i].known < MAX_TOLD)
			w->fetching[kept++] = w->fetching[i];
	w->fetching_count = kept;
}

/* The operations to a target, or of a result buffer, have fetched. */
void mcchk_win_fetched(MPI_Win win, int rank, const void *result)
{
	struct window *w = get(win);
	if (!w)
		return;
	uint64_t call = mcchk_call_seq();
	mcchk_lock(&lock);
	uint32_t kept = 0, told = 0;
	for (uint32_t i = 0; i < w->fetching_count; i++) {
		struct fetching *f = &w->fetching[i];
		int meant = (rank == MCCHK_ALL || f->target == rank) && (!result || f->result == result);
		if (meant && has_fetched(f, call))
			continue;
		told += f->known == MAX_TOLD;
		w->fetching[kept++] = *f;
	}
	w->fetching_count = kept;
	if (told > MANY_TOLD)
		forget_told(w);
	mcchk_unlock(&lock);
}

void mcchk_win_locked_all(MPI_Win win, int locked)
{
	struct window *w = get(win);
	if (!w)
		return;
	w->locked_all = locked;
	if (!locked)
		return;
	if (!w->ticketed)
		w->ticketed = calloc((size_t)w->size, 1);
	else
		memset(w->ticketed, 0, (size_t)w->size);
}

void mcchk_fenced(MPI_Win win, int assertion)
{
	struct window *w = get(win);
	if (w && w->whole && !(assertion & MPI_MODE_NOPRECEDE))
		__atomic_add_fetch(&mcchk_region, 1, __ATOMIC_RELAXED);
}
