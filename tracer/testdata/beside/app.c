/* Threads that load and store at random beside one another, each in a part of a window, while
 * the first makes calls. Each writes to a file what it has done between two calls of its own:
 * thread, span, 1 for a store, offset and bytes. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, SPANS = 6, PART = 1 << 13, TIMES = 20000 };

static double *base;
static MPI_Win win;
static FILE *touched;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int over;
static volatile double sum;

struct done {
	unsigned char load[PART], store[PART], half[PART];
};

static __attribute__((noinline)) void update(double *part, unsigned *random, struct done *d, int from, int n)
{
	for (int i = 0; i < TIMES; i++) {
		*random = *random * 1664525u + 1013904223u;
		int at = from + (int)((*random >> 8) % (unsigned)n);
		part[at] += 1;
		d->load[at] = d->store[at] = 1;
	}
}

static __attribute__((noinline)) double look(const double *part, int at) { return part[at]; }

static __attribute__((noinline)) void often(double *part, unsigned *random, struct done *d)
{
	double all = 0;
	for (int i = 0; i < TIMES / 4; i++) {
		*random = *random * 1664525u + 1013904223u;
		int at = (int)((*random >> 8) % PART) & ~7;
		all += look(part, at);
		d->load[at] = 1;
		((float *)part)[2 * (at + 2)] = (float)i;
		d->half[at + 2] = 1;
	}
	sum = all;
}

static void write_down(int thread, int span, struct done *d)
{
	MPI_Win_flush_local(0, win);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < PART; i++) {
		long at = 8L * (PART * thread + i);
		if (d->load[i])
			fprintf(touched, "%d %d 0 %ld 8\n", thread, span, at);
		if (d->store[i])
			fprintf(touched, "%d %d 1 %ld 8\n", thread, span, at);
		if (d->half[i])
			fprintf(touched, "%d %d 1 %ld 4\n", thread, span, at);
		d->load[i] = d->store[i] = d->half[i] = 0;
	}
	pthread_mutex_unlock(&mutex);
}

static void *work(void *which)
{
	int thread = *(int *)which;
	unsigned random = 17u * (unsigned)thread + 5;
	double *part = base + PART * thread;
	struct done *d = calloc(1, sizeof *d);

	for (int span = 0; span < SPANS; span++) {
		switch (span % 3) {
		case 0:
			update(part, &random, d, 0, PART);
			break;
		case 1:
			often(part, &random, d);
			break;
		default:
			update(part, &random, d, PART / 2, 500);
			often(part, &random, d);
		}
		write_down(thread, span, d);
	}
	free(d);
	return NULL;
}

static void *all_work(void *none)
{
	pthread_t threads[THREADS];
	int which[THREADS];
	for (int i = 0; i < THREADS; i++) {
		which[i] = i;
		pthread_create(&threads[i], NULL, work, &which[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	return none;
}

int main(int argc, char **argv)
{
	int provided;
	pthread_t others;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	touched = fopen("touched", "w");
	if (!touched || posix_memalign((void **)&base, 4096, sizeof *base * PART * THREADS) != 0)
		return 1;
	for (int i = 0; i < PART * THREADS; i++)
		base[i] = 0;
	MPI_Win_create(base, (MPI_Aint)sizeof *base * PART * THREADS, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	pthread_create(&others, NULL, all_work, NULL);
	for (int i = 0; i < 200 && !__atomic_load_n(&over, __ATOMIC_ACQUIRE); i++) {
		MPI_Win_flush_all(win);
		for (volatile int k = 0; k < 100000; k++)
			;
	}
	pthread_join(others, NULL);
	fclose(touched);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
