/* What the generated wrappers of MPI call, and what the hooks of mpi.tbl may use.
 */
#ifndef MCCHK_WRAP_H
#define MCCHK_WRAP_H

#include "calls.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

#define MCCHK_ALL (-1) /* every target rank */
extern const uint16_t mcchk_fn_MPI_Init, mcchk_fn_MPI_Init_thread, mcchk_fn_MPI_Finalize, mcchk_fn_mcchk_Lock_ticket,
	mcchk_fn_mcchk_Shared_segment, mcchk_fn_mcchk_Win_info, mcchk_fn_mcchk_Neighbors, mcchk_fn_mcchk_Fetched,
	mcchk_fn_mcchk_signal, mcchk_fn_mcchk_wait,
	mcchk_fn_mcchk_signal_process, mcchk_fn_mcchk_wait_process,
	mcchk_fn_MPI_Fetch_and_op, mcchk_fn_MPI_Compare_and_swap, mcchk_fn_MPI_Get_accumulate, mcchk_fn_MPI_Win_sync, mcchk_fn_MPI_Win_flush, mcchk_fn_MPI_Win_flush_all,
	mcchk_fn_MPI_Win_flush_local, mcchk_fn_MPI_Win_flush_local_all;

/* ---- init.c ---- */

void mcchk_start(uint16_t function, const int *provided, int required, uint64_t begin, uint64_t end, void *frame);

/* ---- values.c: MPI's constants as the format has them ---- */

#define mcchk_handle(h) ((uint64_t)(uintptr_t)(h))
int64_t mcchk_address(const void *p);
int64_t mcchk_rank(int rank);
int64_t mcchk_tag(int tag);
int64_t mcchk_assertion(int assertion);
int64_t mcchk_lock_type(int type);
void mcchk_status_words(const MPI_Status *s, int64_t *words);
/* The program's statuses, or n zeroed ones of our own when it ignores them: `one`, or in *own. */
MPI_Status *mcchk_statuses(MPI_Status *s, int n, MPI_Status *one, MPI_Status **own);
int mcchk_group_size(MPI_Group group);
void mcchk_group_words(MPI_Group group, int64_t *words);

/* ---- init.c ---- */

int mcchk_mpi_over(void);   /* MPI has been finalized */
void mcchk_mpi_joins(void); /* after shmem_init, where MPI has been started too */

/* ---- comms.c ---- */

struct mcchk_request;
struct mcchk_comm {
	int64_t id;
	int rank, size, remote_size; /* remote_size 0: an intracommunicator */
	int whole;                   /* all processes of the world */
	int neighbours_told;         /* a mcchk_Neighbors stands in the trace */
	int duplicates;              /* by MPI_Comm_idup */
	uint64_t strands;            /* that have its definition */
};

int mcchk_comms_start(void);
int mcchk_world_rank(void);
struct mcchk_comm *mcchk_comm_get(MPI_Comm comm);
int64_t mcchk_comm_id(MPI_Comm comm);
int64_t mcchk_comm_made(MPI_Comm comm);
int64_t mcchk_comm_met(MPI_Comm comm);
void mcchk_comm_agreed(MPI_Comm comm, int64_t id);
void mcchk_comm_define(MPI_Comm comm);
void mcchk_comm_promised(MPI_Comm comm, const void *made, struct mcchk_request *r, int fortran);
void mcchk_comm_freed(MPI_Comm comm);
void mcchk_passed(MPI_Comm comm);
/* A new identifier that all of the communicator agree on; `last` counts this process's own. */
int64_t mcchk_pick_id(MPI_Comm comm, int64_t *last);
void mcchk_comm_neighbours(MPI_Comm comm); /* a neighbourhood collective is about to be recorded */

/* Whether the strand needs a definition that those of a set have: it is in the set from now on,
 * unless it is beyond the 64th, which need all of them each time. */
static inline int mcchk_first_of_strand(uint64_t *strands)
{
	const struct mcchk_thread *t = mcchk_self.thread;
	uint64_t bit = t && t->strand < 64 ? 1ull << t->strand : 0;
	if (MCCHK_LIKELY(__atomic_load_n(strands, __ATOMIC_RELAXED) & bit))
		return 0;
	__atomic_fetch_or(strands, bit, __ATOMIC_RELAXED);
	return 1;
}

int mcchk_is_root(int root, MPI_Comm comm);
int mcchk_not_root(int root, MPI_Comm comm);
int mcchk_takes_part(int root, MPI_Comm comm);
int mcchk_leads(int leader, MPI_Comm comm);
int mcchk_peers(MPI_Comm comm);
int mcchk_own_size(MPI_Comm comm);
int mcchk_neighbours(MPI_Comm comm, int outgoing);
#define IS_ROOT(root, comm) mcchk_is_root(root, comm)           /* receives from, or sends to, all */
#define NOT_ROOT(root, comm) mcchk_not_root(root, comm)         /* sends to, or receives from, the root */
#define TAKES_PART(root, comm) mcchk_takes_part(root, comm)
#define LEADS(leader, comm) mcchk_leads(leader, comm)
#define PEERS(comm) mcchk_peers(comm)                           /* processes that data goes to */
#define OWN(comm) mcchk_own_size(comm)
#define SOURCES(comm) mcchk_neighbours(comm, 0)
#define DESTINATIONS(comm) mcchk_neighbours(comm, 1)

/* ---- words.c: values that one word has ---- */

#define WORD(p, count, type) p, count, type
int64_t mcchk_word(const void *p, MPI_Count count, MPI_Datatype type);        /* 0: it is none */
/* The number of an operation on words of which the trace has values: on one, or on several elements of an
 * integer type, which have numbers one behind the other, of which this is the first; 0: it is none. */
int64_t mcchk_word_number(MPI_Count count, MPI_Datatype type, MPI_Op op);
/* The first of them in a buffer, and their size. */
const void *mcchk_words_at(const void *p, MPI_Count count, MPI_Datatype type, uint32_t *size);
/* Where several are updated: how many, and their size. */
int mcchk_operands(MPI_Count count, MPI_Datatype type, MPI_Op op);
uint32_t mcchk_operand_size(MPI_Count count, MPI_Datatype type);
/* Where the word lies in a buffer, and its size; 0: it is none. */
const void *mcchk_word_at(const void *p, MPI_Count count, MPI_Datatype type, uint32_t *size);
int64_t mcchk_word_read(const void *at, uint32_t size);
void mcchk_word_fetched(int64_t number, int64_t value);
void mcchk_words_write(void);

extern __thread uint32_t mcchk_words_ready __attribute__((tls_model("initial-exec")));

/* Behind a call that may have completed operations: a note of what these fetched. */
static inline void mcchk_fetched(void)
{
	if (mcchk_words_ready)
		mcchk_words_write();
}

/* ---- rounds.c ---- */

void mcchk_rounds_told(void); /* a note tells what was fetched */

/* ---- types.c ---- */

/* Where the bytes of one element lie, if they are one word: of 1, 2, 4 or 8 bytes. 0: they are not. */
uint32_t mcchk_type_word(MPI_Datatype type, int64_t *offset);
/* The size of a predefined integer type, of at most 8 bytes; 0: it is none. */
uint32_t mcchk_type_integer(MPI_Datatype type);

int64_t mcchk_type_id(MPI_Datatype type);    /* writes its definition when it is new */
int64_t mcchk_type_known(MPI_Datatype type); /* the same, after mcchk_type_id */
void mcchk_type_freed(MPI_Datatype type);
/* Whether derived datatypes that are new may be the library's own, for as long as a call lasts:
 * MPICH's mpi_f08 makes one for each section of an array, and frees it without telling. */
void mcchk_types_lent(int lent);
int64_t mcchk_op_id(MPI_Op op);
void mcchk_op_freed(MPI_Op op);
/* The bounding box of `count` elements at a displacement from `p`, in elements; empty when there
 * is no memory. */
struct mcchk_range mcchk_box_at(const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype type);
/* What is kept of a datatype: mcchk_parts_of it. NULL without memory. */
const struct mcchk_parts *mcchk_type_parts(MPI_Datatype type);

/* ---- places.c ---- */

/* The parts of one element of a datatype, to be freed. NULL without memory. */
struct mcchk_parts *mcchk_parts_of(MPI_Datatype type);
/* Calls `with` for each place that some elements lie in: one, or several where there are large
 * holes between them. */
void mcchk_places(const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype type,
		  void (*with)(void *of, struct mcchk_range place), void *of);

/* A list of places; zero: an empty one. */
struct mcchk_ranges {
	uint32_t count, room;
	struct mcchk_range few[2], *more;
};
struct mcchk_range *mcchk_ranges(struct mcchk_ranges *l);
int mcchk_ranges_add(struct mcchk_ranges *l, struct mcchk_range r); /* 0: without memory */
void mcchk_ranges_collect(void *list, struct mcchk_range r); /* the same, for mcchk_places */
void mcchk_ranges_mark(struct mcchk_ranges *l, int marked);
void mcchk_ranges_drop(struct mcchk_ranges *l); /* which is empty then */

/* ---- requests.c ---- */

struct mcchk_request {
	int64_t id;
	uint64_t handle;
	struct mcchk_request *next; /* of the same handle, from the latest */
	struct mcchk_ranges buffers;
	int persistent, marked;
	int taken; /* by a call under way that may complete it, or give it up */
	const void *made; /* of MPI_Comm_idup: where the program has the communicator, */
	int fortran;      /* an INTEGER */
	int64_t made_id;
	MPI_Win fetches; /* of an operation that fetches: its window, */
	const void *result;
};

struct mcchk_request *mcchk_request_find(MPI_Request request);
/* For a call that may complete requests, or give them up: until it leaves them, no other one takes them. */
struct mcchk_request *mcchk_request_take(MPI_Request request);
struct mcchk_request **mcchk_requests_take(int n, const MPI_Request *requests);
void mcchk_request_leave(struct mcchk_request *r);
void mcchk_requests_leave(int n, struct mcchk_request **taken);
struct mcchk_request *mcchk_request_new(MPI_Request *request, int inactive);
void mcchk_request_buffer(struct mcchk_request *r, const void *p, MPI_Count displacement, MPI_Count count, MPI_Datatype type, int same);
int64_t mcchk_request_ready(struct mcchk_request *r);
void mcchk_request_fetches(struct mcchk_request *r, MPI_Win win, const void *result);
void mcchk_request_started(struct mcchk_request *r);
/* One that was taken: it is NULL where it is gone. */
void mcchk_request_completed(struct mcchk_request **r);
void mcchk_request_forgotten(struct mcchk_request **r);

#define PERSISTENT _made->persistent = 1
#define BUFFER(p, count, type) mcchk_request_buffer(_made, p, 0, count, type, 0)
/* Parts of one buffer, displacements in elements, or in bytes with types of their own. */
#define BUFFERS(p, counts, displs, type, n)                                                        \
	do {                                                                                       \
		if ((p) != MPI_IN_PLACE)                                                           \
			for (int _k = 0, _n = (n); _k < _n; _k++)                                  \
				mcchk_request_buffer(_made, p, (displs)[_k], (counts)[_k], type, _k > 0); \
	} while (0)
#define TYPED_BUFFERS(p, counts, displs, types, n)                                                 \
	do {                                                                                       \
		if ((p) != MPI_IN_PLACE)                                                           \
			for (int _k = 0, _n = (n); _k < _n; _k++)                                  \
				mcchk_request_buffer(_made, (const char *)(p) + (displs)[_k], 0, (counts)[_k], (types)[_k], _k > 0); \
	} while (0)
#define SUM(counts, n)                                                                             \
	({                                                                                         \
		MPI_Count _sum = 0;                                                                \
		for (int _k = 0, _n = (n); _k < _n; _k++)                                          \
			_sum += (counts)[_k];                                                      \
		_sum;                                                                              \
	})

/* Before a call: the memory that it names (blocks.c). */
#define NAME(p, ...) mcchk_block_named((uint64_t)(uintptr_t)(p))
#define NAME_PARTS(p, ...) NAME(p, )
#define NAME_PENDING(win, rank, p, ...) NAME(p, )

/* Before a call: the memory that it is given (history.c). */
#define GIVE_MEMORY(base, bytes) mcchk_buffer((struct mcchk_range){.lo = (uint64_t)(uintptr_t)(base), .hi = (uint64_t)(uintptr_t)(base) + (uint64_t)(bytes)}, _frame)
#define GIVE(p, count, type) mcchk_places(p, 0, count, type, mcchk_given, _frame)
#define GIVE_PENDING(win, rank, p, count, type) GIVE(p, count, type)
#define GIVE_PARTS(p, counts, displs, type, n)                                                     \
	do {                                                                                       \
		if ((p) != MPI_IN_PLACE)                                                           \
			for (int _k = 0, _n = (n); _k < _n; _k++)                                  \
				mcchk_places(p, (displs)[_k], (counts)[_k], type, mcchk_given, _frame); \
	} while (0)
#define GIVE_TYPED(p, counts, displs, types, n)                                                    \
	do {                                                                                       \
		if ((p) != MPI_IN_PLACE)                                                           \
			for (int _k = 0, _n = (n); _k < _n; _k++)                                  \
				mcchk_places((const char *)(p) + (displs)[_k], 0, (counts)[_k], (types)[_k], mcchk_given, _frame); \
	} while (0)

/* ---- windows.c ---- */

/* Settings of accumulate operations as in the trace format; -1: not given. */
struct mcchk_accumulates {
	int64_t ops, ordering;
};
/* To be read before the call: MPICH cuts values in the program's info object. */
struct mcchk_accumulates mcchk_win_asked(MPI_Info info);

int64_t mcchk_win_id(MPI_Win win);
int64_t mcchk_win_made(MPI_Win win, MPI_Comm comm, struct mcchk_accumulates asked, void *base, MPI_Aint size);
int64_t mcchk_win_model(MPI_Win win);
int64_t mcchk_win_ops(MPI_Win win);      /* accumulate_ops */
int64_t mcchk_win_ordering(MPI_Win win); /* accumulate_ordering */
void mcchk_win_informed(MPI_Win win, struct mcchk_accumulates asked);
int64_t mcchk_win_ticket(MPI_Win win, int rank);
int64_t mcchk_win_declared(MPI_Win win, int rank, int resource, int signal);
void mcchk_win_attached(MPI_Win win, const void *base, MPI_Aint size);
void mcchk_win_detached(MPI_Win win, const void *base);
void mcchk_win_segments(MPI_Win win); /* of a shared-memory window */
void *mcchk_win_freeing(MPI_Win win);
void mcchk_win_freed(void *window);
void mcchk_win_left(void);
void mcchk_win_kept(MPI_Win win, void *window);
void mcchk_win_access(MPI_Win win, int rank); /* an operation is about to be recorded */
void mcchk_win_pending(MPI_Win win, int rank, const void *p, MPI_Count count, MPI_Datatype type);
void mcchk_win_completed(MPI_Win win, int rank);
int64_t mcchk_win_fetching(MPI_Win win, int rank, const void *result, MPI_Count count, MPI_Datatype type, MPI_Op op);
void mcchk_win_fetched(MPI_Win win, int rank, const void *result);
void mcchk_win_locked_all(MPI_Win win, int locked);
void mcchk_fenced(MPI_Win win, int assertion);
#define PENDING(win, rank, p, count, type) mcchk_win_pending(win, rank, p, count, type)

/* ---- files.c ---- */

int64_t mcchk_file_made(MPI_File fh, MPI_Comm comm);
int64_t mcchk_file_id(MPI_File fh);
void mcchk_file_pending(MPI_File fh, const void *p, MPI_Count count, MPI_Datatype type);
void mcchk_file_completed(MPI_File fh);
void mcchk_file_closed(MPI_File fh);

#pragma GCC visibility pop
#endif
