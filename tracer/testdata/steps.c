/* Makes the records of a chunk compact, one instruction of the processor after the
 * other, and writes what the chunk was after each that changed it: what a process
 * that is killed would have left.
 *
 *     steps calls|accesses
 */
#include "mcchk.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 8192u

uint32_t mcchk_crc32c(const void *data, size_t size) { return data && size ? 1 : 0; }

static struct mcchk_open o;

static void add(const void *record, uint32_t size)
{
	memcpy(o.chunk->payload + o.chunk->used, record, size);
	o.chunk->used += size;
}

static void add_calls(void)
{
	uint64_t definition[3] = {3 | 1ull << 16 | 24ull << 32};
	memcpy(definition + 1, "f a:i,b:i", 9);
	add(definition, sizeof definition);
	definition[0] = 3 | 2ull << 16 | 24ull << 32;
	memcpy(definition + 1, "g q:Q\0\0\0", 9);
	add(definition, sizeof definition);
	definition[0] = 3 | 3ull << 16 | 24ull << 32;
	memcpy(definition + 1, "h c:i,d:i", 9);
	add(definition, sizeof definition);
	for (uint64_t i = 0; i < 60; i++) {
		if (i % 20 == 19) {
			uint64_t list[6 + 100] = {1 | 1 << 8 | 2ull << 16 | (uint64_t)sizeof list << 32, i + 1, 1000 * i, 1000 * i + 1, 3, 100};
			for (uint64_t k = 0; k < 100; k++)
				list[6 + k] = k == 50 ? 1ull << 40 : 1000 * i + k;
			add(list, sizeof list);
			continue;
		}
		uint64_t call[] = {1 | (i % 7 ? 1 : 3) << 8 | (i % 2 ? 1ull : 3ull) << 16 | 56ull << 32, i + 1, 1000 * i, 1000 * i + i % 3, i % 3, i * i, i / 10};
		add(call, sizeof call);
	}
}

static void add_accesses(void)
{
	for (uint64_t i = 0; i < 40; i++) {
		struct mcchk_mark m = {.type = 8, .length = sizeof m, .seq = 2 * i};
		add(&m, sizeof m);
		for (uint64_t k = 0; k < 3; k++) {
			if (k == 1 && i % 2 == 1) {
				struct mcchk_grid g = {
					.first = {.type = 20, .size = 8, .stack = sizeof g, .addr = 1 << 20, .stride = 8, .count = 1 + i / 10},
					.stack = 5, .rows = (uint16_t)i, .planes = (uint16_t)(1 + i % 3), .row_step = 128, .plane_step = 8192};
				add(&g, sizeof g);
				continue;
			}
			struct mcchk_access a = {.type = 2, .flags = k == 2, .size = 8, .stack = (uint32_t)k, .addr = 4096 + 1000 * i * (k ? 1 : i), .stride = 8, .count = 1 + i / 10};
			add(&a, sizeof a);
		}
	}
}

int main(int argc, char **argv)
{
	int accesses = argc > 1 && strcmp(argv[1], "accesses") == 0, status;
	static char last[SIZE];
	struct mcchk_compactor *p = calloc(1, mcchk_compactor_size);

	o.chunk = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	o.chunk->magic = 0x4b4e4843u;
	o.chunk->size = SIZE;
	o.chunk->kind = (uint32_t)accesses;
	mcchk_compact_begin(p, &o);
	if (accesses)
		add_accesses();
	else
		add_calls();

	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(mcchk_compact(p, &o) ? 0 : 1);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		if (memcmp(last, o.chunk, SIZE) != 0) {
			memcpy(last, o.chunk, SIZE);
			if (write(1, last, SIZE) != SIZE)
				return 2;
		}
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
			return 3;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
