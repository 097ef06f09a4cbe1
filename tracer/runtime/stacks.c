/* Call stacks, by walking the frame pointers that the program is compiled to
 * keep. Every frame is checked to lie on the thread's stack, above the last
 * one; where that fails the walk ends, and the stack is shorter. */
#include "mcchk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_LOOKUPS 64   /* of the stack's bounds by one thread */
#define FIRST_SLOTS 1024 /* of the table of stacks; doubled up to MAX_SLOTS */
#define MAX_SLOTS (1u << 16)

static uint32_t next_id;

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Finds the mapping that holds an address, in /proc/self/maps. Neither
 * allocates nor locks. */
static void find_mapping(uintptr_t addr, uintptr_t *lo, uintptr_t *hi)
{
	char buffer[2048];
	uintptr_t bound[2] = {0, 0};
	int field = 0, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	*lo = *hi = 0;
	if (fd < 0)
		return;
	while ((n = read(fd, buffer, sizeof buffer)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			char c = buffer[i];
			if (c == '\n') {
				field = 0;
				bound[0] = bound[1] = 0;
			} else if (field < 2 && hex(c) >= 0) {
				bound[field] = bound[field] << 4 | (uintptr_t)hex(c);
			} else if (field < 2 && ++field == 2 && addr >= bound[0] && addr < bound[1]) {
				*lo = bound[0];
				*hi = bound[1];
				close(fd);
				return;
			}
		}
	}
	close(fd);
}

/* Whether the calling thread's stack is known to hold the address `here`. */
static int know_stack(struct mcchk_thread *t, uintptr_t here)
{
	if (here >= t->stack_lo && here < t->stack_hi)
		return 1;
	if (t->stack_lookups >= MAX_LOOKUPS)
		return 0;
	t->stack_lookups++;
	find_mapping(here, &t->stack_lo, &t->stack_hi);
	return here >= t->stack_lo && here < t->stack_hi;
}

static uint32_t walk(struct mcchk_thread *t, uintptr_t pc, void **frame, uint64_t *pcs)
{
	uint32_t n = 0;
	uintptr_t last = (uintptr_t)&n;

	pcs[n++] = pc;
	if (!know_stack(t, last))
		return n;
	while (n < MCCHK_MAX_FRAMES) {
		uintptr_t at = (uintptr_t)frame;
		if (at <= last || at + 2 * sizeof(void *) > t->stack_hi || at % sizeof(void *) != 0)
			break;
		if ((uintptr_t)frame[1] < 4096)
			break;
		pcs[n++] = (uintptr_t)frame[1];
		last = at;
		frame = (void **)frame[0];
	}
	return n;
}

static uint64_t hash_pcs(const uint64_t *pcs, uint32_t n)
{
	uint64_t h = n;
	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ pcs[i]) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

static int make_room(struct mcchk_thread *t)
{
	if (t->stacks && t->stack_count < t->stack_slots / 2)
		return 1;
	if (t->stack_slots >= MAX_SLOTS) { /* begin again; definitions are repeated */
		memset(t->stacks, 0, t->stack_slots * sizeof *t->stacks);
		t->stack_count = 0;
		return 1;
	}
	uint32_t slots = t->stacks ? t->stack_slots * 2 : FIRST_SLOTS;
	struct mcchk_stack_slot *table = mmap(NULL, slots * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return 0;
	for (uint32_t i = 0; i < t->stack_slots; i++) {
		if (t->stacks[i].hash == 0)
			continue;
		uint32_t s = (uint32_t)t->stacks[i].hash & (slots - 1);
		while (table[s].hash != 0)
			s = (s + 1) & (slots - 1);
		table[s] = t->stacks[i];
	}
	if (t->stacks)
		munmap(t->stacks, t->stack_slots * sizeof *t->stacks);
	t->stacks = table;
	t->stack_slots = slots;
	return 1;
}

static int write_stack(struct mcchk_thread *t, uint32_t id, const uint64_t *pcs, uint32_t n)
{
	struct record {
		uint8_t type, zero[3];
		uint32_t length, id, frames;
		uint64_t pcs[];
	};
	uint64_t length = sizeof(struct record) + n * sizeof(uint64_t);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return 0;
	*r = (struct record){.type = 4, .length = (uint32_t)length, .id = id, .frames = n};
	for (uint32_t i = 0; i < n; i++)
		r->pcs[i] = pcs[i];
	mcchk_commit(t, length);
	return 1;
}

uint32_t mcchk_stack(struct mcchk_thread *t, uintptr_t pc, void **frame)
{
	uint64_t pcs[MCCHK_MAX_FRAMES];
	uint32_t n = walk(t, pc, frame, pcs);
	uint64_t h = hash_pcs(pcs, n);

	if (!make_room(t))
		return 0;
	uint32_t s = (uint32_t)h & (t->stack_slots - 1);
	for (; t->stacks[s].hash != 0; s = (s + 1) & (t->stack_slots - 1))
		if (t->stacks[s].hash == h)
			return (uint32_t)t->stacks[s].id;
	uint32_t id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
	if (!write_stack(t, id, pcs, n))
		return 0;
	t->stacks[s].hash = h;
	t->stacks[s].id = id;
	t->stack_count++;
	return id;
}
