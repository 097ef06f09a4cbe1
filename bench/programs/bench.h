/* What the programs of the benchmark share: each times its own kernel, so that
 * starting up is not in the figures, and ends with one line on standard output
 * that bench/launch.go reads. All figures are the largest of any process,
 * except for the checksum, which is the sum over them.
 */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_PEAK, BENCH_ANONYMOUS, BENCH_FILES, BENCH_SHARED, BENCH_FIGURES };

/* Memory of this process in KiB, as /proc/self/status has it. */
static void bench_memory(double figures[BENCH_FIGURES])
{
	static const char *const names[BENCH_FIGURES] = {"VmHWM:", "RssAnon:", "RssFile:", "RssShmem:"};
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	for (int i = 0; i < BENCH_FIGURES; i++)
		figures[i] = -1;
	if (!status)
		return;
	while (fgets(line, sizeof line, status))
		for (int i = 0; i < BENCH_FIGURES; i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0)
				figures[i] = strtod(line + strlen(names[i]), NULL);
	fclose(status);
}

/* Processor time of this process, seconds. */
static double bench_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double bench_cpu_before;

/* The moment all processes are ready to begin. */
static double bench_start(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	bench_cpu_before = bench_cpu();
	return MPI_Wtime();
}

/* Prints the result. Called by all processes, right after the kernel. */
static void bench_report(double start, double checksum)
{
	double seconds = MPI_Wtime() - start, cpu = bench_cpu() - bench_cpu_before, sum = 0, slowest = 0, most_cpu = 0;
	double mine[BENCH_FIGURES], most[BENCH_FIGURES];
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	bench_memory(mine);
	MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&cpu, &most_cpu, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&checksum, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(mine, most, BENCH_FIGURES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("bench seconds=%.6f cpu=%.6f checksum=%.17g peak_kib=%.0f anon_kib=%.0f file_kib=%.0f shmem_kib=%.0f\n",
		       slowest, most_cpu, sum, most[BENCH_PEAK], most[BENCH_ANONYMOUS], most[BENCH_FILES], most[BENCH_SHARED]);
}

/* Argument i of the program as a positive number. */
static int bench_number(int argc, char **argv, int i)
{
	int n = i < argc ? atoi(argv[i]) : 0;

	if (n <= 0) {
		fprintf(stderr, "%s: argument %d must be a positive number\n", argv[0], i);
		exit(2);
	}
	return n;
}

static double *bench_doubles(size_t n)
{
	double *p = (double *)aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);

	if (!p) {
		fprintf(stderr, "no memory for %zu numbers\n", n);
		exit(2);
	}
	memset(p, 0, n * sizeof *p);
	return p;
}

#endif
