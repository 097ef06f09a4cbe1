/* A hash map from MPI handles to pointers: open addressing, linear probing. */
#include "calls.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t home(const struct mcchk_map *m, uint64_t key)
{
	return (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> 32) & (m->slots - 1);
}

static uint32_t find(const struct mcchk_map *m, uint64_t key)
{
	uint32_t s = home(m, key);
	while (m->keys[s] != 0 && m->keys[s] != key)
		s = (s + 1) & (m->slots - 1);
	return s;
}

void *mcchk_map_find(struct mcchk_map *m, uint64_t key)
{
	if (m->slots == 0 || key == 0)
		return NULL;
	uint32_t s = find(m, key);
	if (!m->keys[s])
		return NULL;
	m->last = key;
	return m->found = m->values[s];
}

/* The memory of n slots' keys, or values. That of a map apart comes from the kernel itself: a
 * library that watches memory takes locks in mmap, too. */
static void *get(const struct mcchk_map *m, uint32_t n)
{
	if (!m->apart)
		return calloc(n, sizeof(uint64_t));
	long p = syscall(SYS_mmap, NULL, n * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	return p == -1 ? NULL : (void *)p;
}

static void give_back(const struct mcchk_map *m, void *p, uint32_t n)
{
	if (!m->apart)
		mcchk_free(p);
	else if (p)
		syscall(SYS_munmap, p, n * sizeof(uint64_t));
}

static int grow(struct mcchk_map *m)
{
	struct mcchk_map more = {.slots = m->slots ? m->slots * 2 : 64, .apart = m->apart};
	more.keys = get(m, more.slots);
	more.values = get(m, more.slots);
	if (!more.keys || !more.values) {
		give_back(m, more.keys, more.slots);
		give_back(m, more.values, more.slots);
		return 0;
	}
	for (uint32_t i = 0; i < m->slots; i++) {
		if (m->keys[i] == 0)
			continue;
		uint32_t s = find(&more, m->keys[i]);
		more.keys[s] = m->keys[i];
		more.values[s] = m->values[i];
		more.count++;
	}
	give_back(m, m->keys, m->slots);
	give_back(m, m->values, m->slots);
	*m = more;
	return 1;
}

static void drop(struct mcchk_map *m, uint64_t key)
{
	if (m->slots == 0)
		return;
	uint32_t hole = find(m, key);
	if (m->keys[hole] == 0)
		return;
	m->count--;
	for (uint32_t s = (hole + 1) & (m->slots - 1); m->keys[s] != 0; s = (s + 1) & (m->slots - 1)) {
		uint32_t h = home(m, m->keys[s]);
		if (((s - h) & (m->slots - 1)) < ((s - hole) & (m->slots - 1)))
			continue; /* it lies between its home and here already */
		m->keys[hole] = m->keys[s];
		m->values[hole] = m->values[s];
		hole = s;
	}
	m->keys[hole] = 0;
	m->values[hole] = NULL;
}

/* Without memory the entry is not made: its handle stays unknown. */
void mcchk_map_set(struct mcchk_map *m, uint64_t key, void *value)
{
	if (key == 0)
		return;
	m->last = 0;
	if (!value) {
		drop(m, key);
		return;
	}
	if (m->count + 1 > m->slots / 2 && !grow(m))
		return;
	uint32_t s = find(m, key);
	if (m->keys[s] == 0)
		m->count++;
	m->keys[s] = key;
	m->values[s] = value;
}
