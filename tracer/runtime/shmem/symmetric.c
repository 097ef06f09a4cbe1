/* Symmetric memory: blocks of the heap, and the data of the program and its
 * libraries, which all processes expose at all times. Loads and stores there
 * matter from shmem_init on. */
#include "osh.h"

#include <link.h>

struct block {
	struct mcchk_range range;
	int64_t number; /* in the order in which all processes made them */
};

/* Memory of another process as shmem_ptr shows it. */
struct view {
	struct mcchk_range range;
	int64_t number; /* of the block; 0: data of a module */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static struct mcchk_range *segments; /* data of modules, for good */
static struct view *views;
static size_t block_count, segment_count, view_count;
static int64_t made;

/* One more entry behind n of them, at the place where the list is now; NULL: no memory. */
static void *longer(void *list, size_t n, size_t size)
{
	return n & (n - 1) ? list : realloc(list, (n ? 2 * n : 1) * size);
}

static struct block *find(uint64_t at)
{
	for (size_t i = 0; i < block_count; i++)
		if (at >= blocks[i].range.lo && at < blocks[i].range.hi)
			return &blocks[i];
	return NULL;
}

void mcchk_symmetric_made(void *p, uint64_t size)
{
	mcchk_lock(&lock);
	int64_t number = ++made;
	struct block *more = p ? longer(blocks, block_count, sizeof *blocks) : NULL;
	if (more) {
		blocks = more;
		struct block *b = &blocks[block_count++];
		*b = (struct block){.range = {.lo = (uint64_t)(uintptr_t)p, .hi = (uint64_t)(uintptr_t)p + size}, .number = number};
		mcchk_mark(&b->range);
	}
	mcchk_unlock(&lock);
}

void mcchk_symmetric_freed(const void *p)
{
	mcchk_lock(&lock);
	struct block *b = p ? find((uint64_t)(uintptr_t)p) : NULL;
	if (b) {
		for (size_t i = 0; i < view_count;) {
			if (views[i].number == b->number) {
				mcchk_unmark(&views[i].range);
				views[i] = views[--view_count];
			} else {
				i++;
			}
		}
		mcchk_unmark(&b->range);
		*b = blocks[--block_count];
	}
	mcchk_unlock(&lock);
}

void mcchk_symmetric_moved(void *from, void *to, uint64_t size)
{
	if (from && (to || size == 0))
		mcchk_symmetric_freed(from);
	mcchk_symmetric_made(to, size);
}

void mcchk_symmetric_seen(const void *p, const void *there)
{
	uint64_t at = (uint64_t)(uintptr_t)p, shown = (uint64_t)(uintptr_t)there;
	if (!there || at == shown)
		return;
	mcchk_lock(&lock);
	const struct block *b = find(at);
	const struct mcchk_range *whole = b ? &b->range : NULL;
	for (size_t i = 0; !whole && i < segment_count; i++)
		if (at >= segments[i].lo && at < segments[i].hi)
			whole = &segments[i];
	int known = 0;
	for (size_t i = 0; whole && i < view_count; i++)
		known |= views[i].range.lo == shown - (at - whole->lo);
	struct view *more = whole && !known ? longer(views, view_count, sizeof *views) : NULL;
	if (more) {
		views = more;
		struct view *v = &views[view_count++];
		uint64_t lo = shown - (at - whole->lo);
		*v = (struct view){.range = {.lo = lo, .hi = lo + (whole->hi - whole->lo)}, .number = b ? b->number : 0};
		mcchk_mark(&v->range);
	}
	mcchk_unlock(&lock);
}

/* What names a symmetric address in all processes: never 0. */
int64_t mcchk_symmetric_name(const volatile void *p)
{
	uint64_t at = (uint64_t)(uintptr_t)p;
	mcchk_lock(&lock);
	struct block *b = find(at);
	int64_t name = b ? b->number << 40 | (int64_t)(at - b->range.lo + 1) : 0;
	mcchk_unlock(&lock);
	return name;
}

/* ---- data of modules ---- */

static int64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return (int64_t)(h >> 1);
}

/* A module's writable data: not what is read-only once it has been relocated. */
struct data {
	uint64_t lo, hi, bias;
	int64_t module;
};

static void note(struct data d)
{
	if (d.lo >= d.hi)
		return;
	mcchk_lock(&lock);
	struct mcchk_range *more = longer(segments, segment_count, sizeof *segments);
	if (more) {
		segments = more;
		struct mcchk_range *range = &segments[segment_count++];
		*range = (struct mcchk_range){.lo = d.lo, .hi = d.hi};
		mcchk_mark(range);
	}
	mcchk_unlock(&lock);
	if (!more)
		return;
	int64_t *words = mcchk_call_begin(mcchk_fn_mcchk_Symmetric_data, 4, (void *)mcchk_self.frame);
	if (words) {
		words[0] = (int64_t)d.lo;
		words[1] = (int64_t)(d.hi - d.lo);
		words[2] = (int64_t)(d.lo - d.bias);
		words[3] = d.module;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused)
{
	uint64_t relro = 0, relro_end = 0;
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_GNU_RELRO) {
			relro = info->dlpi_addr + p->p_vaddr;
			relro_end = relro + p->p_memsz;
		}
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		struct data d = {.lo = info->dlpi_addr + p->p_vaddr, .bias = info->dlpi_addr, .module = hash(info->dlpi_name ? info->dlpi_name : "")};
		d.hi = d.lo + p->p_memsz;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		if (relro >= d.lo && relro_end <= d.hi && relro < relro_end) {
			struct data before = d;
			before.hi = relro;
			note(before);
			d.lo = relro_end;
		}
		note(d);
	}
	return 0;
}

/* Tells of the data of all modules, and watches it. */
void mcchk_symmetric_data(void) { dl_iterate_phdr(visit, NULL); }

/* Names static data as mcchk_symmetric_name names blocks. */
struct wanted {
	uint64_t at;
	int64_t name;
};

static int name_static(struct dl_phdr_info *info, size_t size, void *wanted)
{
	struct wanted *w = wanted;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t lo = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || w->at < lo || w->at >= lo + p->p_memsz)
			continue;
		w->name = (int64_t)(((uint64_t)hash(info->dlpi_name ? info->dlpi_name : "") ^ (w->at - info->dlpi_addr) * 0x9E3779B97F4A7C15ull) | 1ull << 62) & INT64_MAX;
		return 1;
	}
	return 0;
}

int64_t mcchk_static_name(const volatile void *p)
{
	struct wanted w = {.at = (uint64_t)(uintptr_t)p};
	dl_iterate_phdr(name_static, &w);
	return w.name;
}
