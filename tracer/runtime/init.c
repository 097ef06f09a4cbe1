/* The start and the end of a run of MPI: agreement between the processes on what
 * all must do alike, and their clocks. */
#include "wrap.h"

#include <pthread.h>
#include <stdlib.h>

#define ROUNDS 8 /* of ping-pong between clocks */

static MPI_Comm tool = MPI_COMM_NULL; /* for the run-time's own messages */
static struct mcchk_agreement run;
static int joined; /* the trace was begun by another library, which ends it */

static int spawned(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	PMPI_Comm_get_parent(&parent);
	return parent != MPI_COMM_NULL;
}

/* All processes observe calls, or none: identifiers take part of them all. */
static void agree(const char *directory)
{
	if (mcchk_world_rank() == 0) {
		mcchk_propose(&run, directory, NULL);
		if (spawned())
			mcchk_propose_world(&run);
	}
	PMPI_Comm_dup(MPI_COMM_WORLD, &tool);
	PMPI_Bcast(&run, sizeof run, MPI_BYTE, 0, tool);
}

/* ---- clocks ---- */

static void answer_clocks(const int *away, int size)
{
	for (int r = 1; r < size; r++) {
		for (int i = 0; away[r] && i < ROUNDS; i++) {
			uint64_t now;
			PMPI_Recv(&now, 1, MPI_UINT64_T, r, 0, tool, MPI_STATUS_IGNORE);
			now = mcchk_now();
			PMPI_Send(&now, 1, MPI_UINT64_T, r, 0, tool);
		}
	}
}

/* Relates the clock of this process to that of rank 0; of several exchanges
 * the quickest counts. Collective. */
static void relate_clocks(void)
{
	int size = 1, away, *all = NULL;
	uint64_t best = UINT64_MAX, local = mcchk_now(), reference = local;

	away = mcchk_elsewhere(&run);
	PMPI_Comm_size(tool, &size);
	if (mcchk_world_rank() == 0) {
		away = 0;
		all = calloc((size_t)size, sizeof *all);
		if (!all)
			PMPI_Abort(MPI_COMM_WORLD, 1); /* a few bytes cannot be had: nothing can go on */
	}
	PMPI_Gather(&away, 1, MPI_INT, all, 1, MPI_INT, 0, tool);
	if (mcchk_world_rank() == 0)
		answer_clocks(all, size);
	for (int i = 0; away && i < ROUNDS; i++) {
		uint64_t there = 0, sent = mcchk_now();
		PMPI_Send(&sent, 1, MPI_UINT64_T, 0, 0, tool);
		PMPI_Recv(&there, 1, MPI_UINT64_T, 0, 0, tool, MPI_STATUS_IGNORE);
		uint64_t back = mcchk_now();
		if (back - sent < best) {
			best = back - sent;
			local = sent + best / 2;
			reference = there;
		}
	}
	free(all);
	mcchk_write_clock(local, reference, away ? best : 0);
}

/* ---- MPI_Init ---- */

static void write_infos(void)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int n = 0;

	PMPI_Get_library_version(library, &n);
	mcchk_write_infos("mpi.library", library);
}

int mcchk_mpi_over(void)
{
	int over = 0;
	PMPI_Finalized(&over);
	return over;
}

/* MPI is used in a program whose trace another library began. */
void mcchk_mpi_joins(void)
{
	int initialized = 0;
	PMPI_Initialized(&initialized);
	if (joined || !initialized || !mcchk_comms_start())
		return;
	joined = 1;
	mcchk_comm_define(MPI_COMM_WORLD);
}

static int begin_trace(const char *directory)
{
	int size = 1;

	agree(directory);
	if (!run.active) {
		PMPI_Comm_free(&tool);
		return 0;
	}
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	mcchk_open_trace(&run, (uint32_t)mcchk_world_rank(), (uint32_t)size);
	write_infos();
	mcchk_write_modules();
	mcchk_comm_define(MPI_COMM_WORLD);
	relate_clocks();
	return 1;
}

/* The program's MPI_Init has returned; once, though in Fortran it may come to the one in C. */
void mcchk_start(uint16_t function, const int *provided, int required, uint64_t begin, uint64_t end, void *frame)
{
	static int started;
	const char *directory = getenv("MCCHK_TRACE_DIR");

	if (started++)
		return;
	mcchk_prepare();
	if (!mcchk_active && !mcchk_comms_start())
		return;
	mcchk_within(frame);
	if (mcchk_active)
		mcchk_mpi_joins();
	else if (!begin_trace(directory)) {
		mcchk_leave();
		return;
	}
	int level = MPI_THREAD_MULTIPLE;
	PMPI_Query_thread(&level);
	int64_t *words = mcchk_call_begin(function, provided ? 2 : 1, frame);
	if (words && provided) {
		words[0] = required;
		words[1] = *provided;
	} else if (words) {
		words[0] = level;
	}
	mcchk_call_commit_at(begin);
	mcchk_call_end(end, 0);
	mcchk_multiple = level == MPI_THREAD_MULTIPLE;
	mcchk_active = 1;
	mcchk_leave();
	mcchk_threads_start(frame);
}

/* ---- what a program leaves to MPI_Finalize ---- */

/* Attributes of MPI_COMM_SELF, in the order in which they were set. */
static struct {
	pthread_mutex_t lock;
	int *keys;
	unsigned count, room;
} attributes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_attribute(int key)
{
	pthread_mutex_lock(&attributes.lock);
	unsigned i = 0;
	while (i < attributes.count && attributes.keys[i] != key)
		i++;
	if (i == attributes.room) {
		unsigned room = 2 * attributes.room + 8;
		int *keys = realloc(attributes.keys, room * sizeof *keys);
		if (keys) {
			attributes.keys = keys;
			attributes.room = room;
		}
	}
	if (i == attributes.count && i < attributes.room)
		attributes.keys[attributes.count++] = key;
	pthread_mutex_unlock(&attributes.lock);
}

/* Deletes the attributes of MPI_COMM_SELF, the last one first, as MPI_Finalize is about to do
 * before anything else (MPI 4.0, 11.2.4): so the calls that their callbacks make are recorded as
 * any others are. */
static void delete_attributes(void)
{
	MPI_Errhandler handler;

	PMPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
	while (attributes.count > 0) {
		int key = attributes.keys[--attributes.count], there = 0;
		void *value;
		PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* the key may have been freed */
		int rc = PMPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &there);
		PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
		if (rc == MPI_SUCCESS && there)
			PMPI_Comm_delete_attr(MPI_COMM_SELF, key);
	}
	PMPI_Errhandler_free(&handler);
}

#pragma GCC visibility push(default)

int MPI_Init(int *argc, char ***argv)
{
	uint64_t begin = mcchk_now();
	mcchk_within(MCCHK_FRAME);
	int rc = PMPI_Init(argc, argv);
	mcchk_leave();
	if (rc == MPI_SUCCESS)
		mcchk_start(mcchk_fn_MPI_Init, NULL, 0, begin, mcchk_now(), mcchk_caller(MCCHK_FRAME));
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	uint64_t begin = mcchk_now();
	mcchk_within(MCCHK_FRAME);
	int rc = PMPI_Init_thread(argc, argv, required, provided);
	mcchk_leave();
	if (rc == MPI_SUCCESS)
		mcchk_start(mcchk_fn_MPI_Init_thread, provided, required, begin, mcchk_now(), mcchk_caller(MCCHK_FRAME));
	return rc;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
	int rc = PMPI_Comm_set_attr(comm, key, value);
	if (rc == MPI_SUCCESS && comm == MPI_COMM_SELF)
		note_attribute(key);
	return rc;
}

int MPI_Finalize(void)
{
	void *frame = mcchk_caller(MCCHK_FRAME);

	delete_attributes();
	mcchk_threads_recorded(frame);
	if (!mcchk_enter(frame))
		return PMPI_Finalize();
	mcchk_write_modules();
	mcchk_win_left();
	if (!joined) {
		relate_clocks();
		PMPI_Comm_free(&tool);
	}
	mcchk_call_begin(mcchk_fn_MPI_Finalize, 0, frame);
	mcchk_call_commit();
	int rc = PMPI_Finalize();
	mcchk_call_end(mcchk_now(), rc != MPI_SUCCESS);
	if (!joined) {
		mcchk_active = 0;
		mcchk_file_finish(__atomic_load_n(&mcchk_units, __ATOMIC_RELAXED), 1);
	}
	mcchk_leave();
	return rc;
}

#pragma GCC visibility pop
