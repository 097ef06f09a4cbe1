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
 * What else the library might decide is decided below the tracer, in the
 * PMPI functions that it calls; the program is linked with --wrap for them.
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
#include <time.h>
#include <unistd.h>

#define PATIENCE 40 /* seconds without a turn: the processes wait for each other */

char *mem;
MPI_Win win[MOST];
char *base[MOST];
MPI_Comm comm[MOST];
MPI_Datatype type[MOST];
MPI_Request req[MOST];
MPI_Status status[MOST];
int flag, idx, count, indices[MOST];

static _Atomic uint64_t *turns, *turn;
static MPI_Comm idle; /* has no messages: Open MPI does not go on with others when it finds one */
static int own_rank;
static const char *running;
static int forced_source = -1, forced_flag = -1;

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

void force_source(int rank) { forced_source = rank; }
void force_flag(int value) { forced_flag = value; }

static int source_of(int source)
{
	if (source == MPI_ANY_SOURCE && forced_source >= 0)
		source = forced_source;
	forced_source = -1;
	return source;
}

MPI_Group group_of(int n, const int *ranks)
{
	MPI_Group world, group;
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_incl(world, n, ranks, &group);
	PMPI_Group_free(&world);
	return group;
}

/* ---- what the library is made to decide ---- */

int __real_PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int __wrap_PMPI_Recv(void *p, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Status *s)
{
	return __real_PMPI_Recv(p, n, t, source_of(source), tag, c, s);
}

int __real_PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_PMPI_Irecv(void *p, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Request *r)
{
	return __real_PMPI_Irecv(p, n, t, source_of(source), tag, c, r);
}

int __real_PMPI_Win_test(MPI_Win, int *);
int __wrap_PMPI_Win_test(MPI_Win w, int *done)
{
	int err = MPI_SUCCESS;
	*done = 0;
	while (forced_flag && !*done && err == MPI_SUCCESS)
		err = __real_PMPI_Win_test(w, done);
	return err;
}

/* ---- main ---- */

static void start(const char *path, int programs_named)
{
	size_t size = 8 * (size_t)(programs_named + 1);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	turns = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
