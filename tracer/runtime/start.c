/* The start of a run and its end, as far as they are the same for every library:
 * what the processes agree on, the trace file and what stands at its head. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MCCHK_VERSION
#define MCCHK_VERSION "1"
#endif

/* What the compiler command has linked in about the build, JSON. */
#pragma GCC visibility push(default)
extern const char mcchk_build_info[] __attribute__((weak));
#pragma GCC visibility pop

static void read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);
	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
}

static void read_boot(char *boot, size_t size) { read_line("/proc/sys/kernel/random/boot_id", boot, size); }

/* Which machine, since when, the process is on. */
uint64_t mcchk_host(void)
{
	union {
		char text[40];
		uint64_t words[5];
	} boot = {""};
	uint64_t h = 1;

	read_boot(boot.text, sizeof boot.text);
	for (unsigned i = 0; i < sizeof boot.words / sizeof *boot.words; i++)
		h = mcchk_hashed(h, boot.words[i]);
	return h;
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

/* Processes that others started are a world of their own: process 0 chooses its place in
 * the trace directory. The order of names is that of their beginnings. */
void mcchk_propose_world(struct mcchk_agreement *a)
{
	snprintf(a->world, sizeof a->world, "spawned/%020llu-%d", (unsigned long long)mcchk_now(), (int)getpid());
}

static void make_world(const char *directory, const char *world)
{
	char path[4096];
	const char *slash = strchr(world, '/');
	if (!slash)
		return;
	snprintf(path, sizeof path, "%s/%.*s", directory, (int)(slash - world), world);
	mkdir(path, 0755); /* that it was in vain shows when the trace is opened */
	snprintf(path, sizeof path, "%s/%s", directory, world);
	mkdir(path, 0755);
}

/* What process 0 proposes; why: what speaks against recording, or NULL. */
void mcchk_propose(struct mcchk_agreement *a, const char *directory, const char *why)
{
	if (!directory || !*directory)
		why = "start the program with 'mcchk run', or set MCCHK_TRACE_DIR";
	if (why)
		fprintf(stderr, "mcchk: not recording: %s\n", why);
	a->active = !why;
	make_run_id(a->run);
	read_boot(a->boot, sizeof a->boot);
	if (a->active)
		mcchk_clock_measure(&a->clock);
}

int mcchk_elsewhere(const struct mcchk_agreement *a)
{
	char boot[sizeof a->boot] = "";
	read_boot(boot, sizeof boot);
	return boot[0] == 0 || strcmp(boot, a->boot) != 0;
}

/* The bytes that each of the processes may write: equal parts of those of the run,
 * a size such as 512MiB. */
static uint64_t most_bytes(const char *variable, uint32_t ranks)
{
	static const char units[] = "KMGT";
	const char *s = getenv(variable);
	char *end = NULL;
	double all = s ? strtod(s, &end) : 0;
	const char *unit = s && *end ? strchr(units, *end) : NULL;
	for (; unit && unit >= units; unit--)
		all *= 1024;
	return all >= 1 && all < 0x1p63 ? (uint64_t)all / (ranks ? ranks : 1) : UINT64_MAX;
}

/* Opens a new file. One of an earlier run gives way; one of this run is another
 * process's, whose mapping must not be disturbed: then both stay, this one
 * under a further name, and the analysis refuses to take one for the whole. */
static int open_new(const char *path, const struct mcchk_file_header *h)
{
	char other[4096];
	for (int tries = 0; tries < 3; tries++) {
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd >= 0 || errno != EEXIST)
			return fd;
		uint8_t head[32] = {0};
		int old = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ssize_t n = old < 0 ? 0 : read(old, head, sizeof head);
		if (old >= 0)
			close(old);
		if (n <= 0 || (n == sizeof head && memcmp(head, "MCCHKTR1", 8) == 0 && memcmp(head + 16, h->run, 16) == 0))
			break;
		unlink(path);
	}
	size_t stem = strlen(path) - strlen(".mcct");
	snprintf(other, sizeof other, "%.*s-%d.mcct", (int)stem, path, (int)getpid());
	fprintf(stderr, "mcchk: there is a trace of rank %u of this run already. Did each process start alone, by the mpiexec of another MPI library? "
			"Or does the command start several MPI programs? Give each its own 'mcchk run'.\n", h->rank);
	return open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

void mcchk_open_trace(const struct mcchk_agreement *a, uint32_t rank, uint32_t ranks)
{
	const char *directory = getenv("MCCHK_TRACE_DIR");
	struct mcchk_file_header h = {.rank = rank, .ranks = ranks, .most = most_bytes("MCCHK_MAX_TRACE", ranks),
				      .most_live = most_bytes("MCCHK_MAX_DISK", ranks)};
	struct timespec real;
	char path[4096];
	directory = directory ? directory : ".";
	make_world(directory, a->world);
	int n = snprintf(path, sizeof path, "%s/%s%srank-%u.mcct", directory, a->world, a->world[0] ? "/" : "", rank);

	if (!mcchk_elsewhere(a))
		mcchk_clock_agree(&a->clock);
	memcpy(h.run, a->run, sizeof h.run);
	h.monotonic = mcchk_now();
	clock_gettime(CLOCK_REALTIME, &real);
	h.realtime = (uint64_t)real.tv_sec * 1000000000ull + (uint64_t)real.tv_nsec;
	int fd = n < (int)sizeof path ? open_new(path, &h) : -1;
	int e = fd >= 0 ? mcchk_file_open(fd, &h) : n < (int)sizeof path ? errno : ENAMETOOLONG;
	if (e > 0)
		fprintf(stderr, "mcchk: rank %u: not recording: %s: %s\n", rank, path, strerror(e));
}

/* What stands at the head of each trace; the key says which kind of library it is. */
void mcchk_write_infos(const char *library_key, const char *library)
{
	char program[4096] = "";
	uint32_t units = __atomic_load_n(&mcchk_units, __ATOMIC_RELAXED);
	ssize_t p = readlink("/proc/self/exe", program, sizeof program - 1);

	program[p > 0 ? p : 0] = 0;
	mcchk_write_info(library_key, library);
	mcchk_write_info("tracer.version", MCCHK_VERSION);
	mcchk_write_info("tracer.mode", mcchk_preloaded ? "preload" : units == 0 ? "none" : mcchk_inlined_units == units ? "inline" : "call");
	mcchk_write_info("program", program);
	if (mcchk_build_info)
		mcchk_write_info("build", mcchk_build_info);
}

/* A program that ends without the call that ends its library. */
static void finish(void *unused)
{
	(void)unused;
	mcchk_self.depth = 1;
	mcchk_file_finish(0, 0); /* calls and accesses of threads that go on end together there */
	mcchk_active = 0;
}

int __cxa_atexit(void (*)(void *), void *, void *);

/* What is registered first is called last: behind the destructors of all libraries, which may well make
 * that call. */
void mcchk_ends_at_exit(void) { __cxa_atexit(finish, NULL, NULL); }
