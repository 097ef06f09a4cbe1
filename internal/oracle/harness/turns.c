/* Runs generated programs one after the other so that each takes the course
 * that was drawn for it.
 *
 *     app TURNS PROGRAM...
 *
 * TURNS is a file of zeros that all processes map: 8 bytes for each program
 * named, the number of its current turn. A process waits for its turn before a
 * call on which something depends that the run would otherwise decide: who gets
 * a lock, whether a test succeeds. While it waits it lets the MPI library go on
 * (MPI_Iprobe by its profiling name, which is not traced).
 *
 * What else the library might decide is decided below the tracer (decide.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "turns.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 40 /* seconds without a turn: the processes wait for each other */

char *mem;
MPI_Win win[MOST];
char *base[MOST];
char *shared[MOST][16];
MPI_Comm comm[MOST], no_comm;
MPI_Datatype type[MOST];
MPI_Request req[MOST], copies[MOST], no_request = MPI_REQUEST_NULL;
MPI_Message message[MOST];
MPI_Status status[MOST];
int flag, idx, count, indices[MOST];

/* For decide.c: what force_… has said, once. */
int forced_source(int source);
int forced_flag(void);
int forced_done(const int **indices);

static _Atomic uint64_t *turns, *turn;
static MPI_Comm idle; /* has no messages: Open MPI does not go on with others when it finds one */
static char bsends[1 << 20];
static int own_rank;
static const char *running;
static int next_source = -1, next_flag = -1, next_count = -1;
static const int *next_indices;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void turn_await(int k)
{
	double since = 0;
	uint64_t seen = *turn;
	for (unsigned spins = 0; *turn < (uint64_t)k; spins++) {
		int there;
		PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, idle, &there, MPI_STATUS_IGNORE);
		sched_yield();
		if (spins % 4096 != 0)
			continue;
		if (since == 0 || seen != *turn) {
			since = now();
			seen = *turn;
		} else if (now() - since > PATIENCE) {
			fprintf(stderr, "%s: process %d waits for turn %d, it is turn %d\n", running, own_rank, k, (int)*turn);
			_exit(3);
		}
	}
}

void turn_take(int k)
{
	turn_await(k);
	if (*turn != (uint64_t)k) {
		fprintf(stderr, "%s: process %d missed turn %d, it is turn %d\n", running, own_rank, k, (int)*turn);
		_exit(3);
	}
}

void turn_pass(void) { ++*turn; }

void turn_program(const char *part) { running = part; }

void force_source(int rank) { next_source = rank; }
void force_flag(int value) { next_flag = value; }

void force_done(int n, const int *which)
{
	next_count = n;
	next_indices = which;
}

int forced_source(int source)
{
	if (source == MPI_ANY_SOURCE && next_source >= 0)
		source = next_source;
	next_source = -1;
	return source;
}

int forced_flag(void)
{
	int value = next_flag;
	next_flag = -1;
	return value;
}

int forced_done(const int **which)
{
	int n = next_count;
	*which = next_indices;
	next_count = -1;
	return n;
}

MPI_Group group_of(int n, const int *ranks)
{
	MPI_Group world, group;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_incl(world, n, ranks, &group);
	PMPI_Group_free(&world);
	return group;
}

MPI_Info window_info(const char *ops, const char *ordering)
{
	MPI_Info info;
	PMPI_Info_create(&info);
	PMPI_Info_set(info, "accumulate_ops", ops);
	PMPI_Info_set(info, "accumulate_ordering", ordering);
	return info;
}

void shared_parts(int w, int n)
{
	for (int k = 0; k < n; k++) {
		MPI_Aint size;
		int unit;
		PMPI_Win_shared_query(win[w], k, &size, &unit, &shared[w][k]);
	}
}

/* ---- main ---- */

static void start(const char *path, int programs_named)
{
	size_t size = 8 * (size_t)(programs_named + 1);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	turns = (void *)syscall(SYS_mmap, NULL, size, (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, (long)fd, 0L); /* none of the programs' */
	if (turns == MAP_FAILED)
		fail("mmap");
	close(fd);
	mem = mmap((void *)MEMORY, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (mem != (char *)MEMORY)
		fail("mmap of the programs' memory");
	mem += MARGIN;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	if (argc < 3) {
		fprintf(stderr, "usage: %s TURNS PROGRAM...\n", argv[0]);
		return 2;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
	PMPI_Comm_dup(MPI_COMM_WORLD, &idle);
	PMPI_Buffer_attach(bsends, sizeof bsends);
	start(argv[1], argc - 2);
	for (int i = 2; i < argc; i++) {
		const struct program *p = &programs[atoi(argv[i])];
		turn = &turns[i - 2];
		running = p->name;
		MPI_Barrier(MPI_COMM_WORLD);
		p->run(own_rank);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	PMPI_Comm_free(&idle);
	MPI_Finalize();
	return 0;
}
