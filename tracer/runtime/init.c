/* The start and the end of a run: the trace file, and agreement between the
 * processes on what all must do alike. */
#include "wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef MCCHK_VERSION
#define MCCHK_VERSION "1"
#endif
#define ROUNDS 8 /* of ping-pong between clocks */

/* What mcchk cc has linked in about the build, JSON. */
#pragma GCC visibility push(default)
extern const char mcchk_build_info[] __attribute__((weak));
#pragma GCC visibility pop

/* What rank 0 tells the others. */
struct agreement {
	int active;
	uint8_t run[16];
	char boot[40];
};

static MPI_Comm tool = MPI_COMM_NULL; /* for the run-time's own messages */
static struct agreement run;

static void read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);
	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
}

static void make_run_id(uint8_t *id)
{
	const char *s = getenv("MCCHK_RUN_ID");
	unsigned byte;
	int i = 0;

	while (s && strlen(s) == 32 && i < 16 && sscanf(s + 2 * i, "%2x", &byte) == 1)
		id[i++] = (uint8_t)byte;
	if (i == 16)
		return;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, id, 16) != 16) {
		uint64_t seed[2] = {mcchk_now(), (uint64_t)getpid()};
		memcpy(id, seed, 16);
	}
	if (fd >= 0)
		close(fd);
}

static int spawned(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	PMPI_Comm_get_parent(&parent);
	return parent != MPI_COMM_NULL;
}

/* All processes observe calls, or none: identifiers take part of them all. */
static void agree(const char *directory)
{
	const char *why = NULL;
	if (mcchk_world_rank() == 0) {
		if (!directory || !*directory)
			why = "start the program with 'mcchk run', or set MCCHK_TRACE_DIR";
		else if (spawned())
			why = "this program was started by another with MPI_Comm_spawn";
		if (why)
			fprintf(stderr, "mcchk: not recording: %s\n", why);
		run.active = !why;
		make_run_id(run.run);
		read_line("/proc/sys/kernel/random/boot_id", run.boot, sizeof run.boot);
	}
	PMPI_Comm_dup(MPI_COMM_WORLD, &tool);
	PMPI_Bcast(&run, sizeof run, MPI_BYTE, 0, tool);
}

static void open_file(const char *directory)
{
	struct mcchk_file_header h = {.rank = (uint32_t)mcchk_world_rank()};
	struct timespec real;
	char path[4096];
	int size = 1, n = snprintf(path, sizeof path, "%s/rank-%u.mcct", directory ? directory : ".", h.rank);

	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	h.ranks = (uint32_t)size;
	memcpy(h.run, run.run, sizeof h.run);
	h.monotonic = mcchk_now();
	clock_gettime(CLOCK_REALTIME, &real);
	h.realtime = (uint64_t)real.tv_sec * 1000000000ull + (uint64_t)real.tv_nsec;
	int e = n < (int)sizeof path ? mcchk_file_open(path, &h) : ENAMETOOLONG;
	if (e > 0)
		fprintf(stderr, "mcchk: rank %u: not recording: %s: %s\n", h.rank, path, strerror(e));
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
	char boot[sizeof run.boot] = "";
	int size = 1, away, *all = NULL;
	uint64_t best = UINT64_MAX, local = mcchk_now(), reference = local;

	read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	away = boot[0] == 0 || strcmp(boot, run.boot) != 0;
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
	char library[MPI_MAX_LIBRARY_VERSION_STRING] = "", program[4096] = "";
	int n = 0;
	uint32_t units = __atomic_load_n(&mcchk_units, __ATOMIC_RELAXED);
	ssize_t p = readlink("/proc/self/exe", program, sizeof program - 1);

	PMPI_Get_library_version(library, &n);
	program[p > 0 ? p : 0] = 0;
	mcchk_write_info("mpi.library", library);
	mcchk_write_info("tracer.version", MCCHK_VERSION);
	mcchk_write_info("tracer.mode", units == 0 ? "none" : mcchk_inlined_units == units ? "inline" : "call");
	mcchk_write_info("program", program);
	if (mcchk_build_info)
		mcchk_write_info("build", mcchk_build_info);
}

static void start(uint16_t function, const int *provided, int required, uint64_t begin, uint64_t end, void *frame)
{
	const char *directory = getenv("MCCHK_TRACE_DIR");

	if (!mcchk_comms_start())
		return;
	mcchk_within(frame);
	agree(directory);
	if (!run.active) {
		PMPI_Comm_free(&tool);
		mcchk_leave();
		return;
	}
	open_file(directory);
	write_infos();
	mcchk_write_modules();
	mcchk_comm_define(MPI_COMM_WORLD);
	relate_clocks();
	int64_t *words = mcchk_call_begin(function, provided ? 2 : 0, frame);
	if (words && provided) {
		words[0] = required;
		words[1] = *provided;
	}
	mcchk_call_commit_at(begin);
	mcchk_call_end(end, 0);
	int level = MPI_THREAD_MULTIPLE;
	PMPI_Query_thread(&level);
	mcchk_multiple = level == MPI_THREAD_MULTIPLE;
	mcchk_active = 1;
	mcchk_leave();
	mcchk_threads_start(frame);
}

#pragma GCC visibility push(default)

int MPI_Init(int *argc, char ***argv)
{
	uint64_t begin = mcchk_now();
	mcchk_within(MCCHK_FRAME);
	int rc = PMPI_Init(argc, argv);
	mcchk_leave();
	if (rc == MPI_SUCCESS)
		start(mcchk_fn_MPI_Init, NULL, 0, begin, mcchk_now(), MCCHK_FRAME);
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	uint64_t begin = mcchk_now();
	mcchk_within(MCCHK_FRAME);
	int rc = PMPI_Init_thread(argc, argv, required, provided);
	mcchk_leave();
	if (rc == MPI_SUCCESS)
		start(mcchk_fn_MPI_Init_thread, provided, required, begin, mcchk_now(), MCCHK_FRAME);
	return rc;
}

int MPI_Finalize(void)
{
	mcchk_threads_recorded(MCCHK_FRAME);
	if (!mcchk_enter(MCCHK_FRAME))
		return PMPI_Finalize();
	mcchk_write_modules();
	relate_clocks();
	PMPI_Comm_free(&tool);
	mcchk_call_begin(mcchk_fn_MPI_Finalize, 0, MCCHK_FRAME);
	mcchk_call_commit();
	int rc = PMPI_Finalize();
	mcchk_call_end(mcchk_now(), rc != MPI_SUCCESS);
	mcchk_active = 0;
	mcchk_file_finish(__atomic_load_n(&mcchk_units, __ATOMIC_RELAXED), 1);
	mcchk_leave();
	return rc;
}

#pragma GCC visibility pop

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void finish(void)
{
	mcchk_self.depth = 1;
	mcchk_active = 0;
	mcchk_file_finish(0, 0);
}
