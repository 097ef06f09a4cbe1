/* Records that define what the trace refers to: infos, modules, sources, clocks. */
#include "mcchk.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mcchk_write_info(const char *key, const char *value)
{
	struct record {
		uint8_t type, zero;
		uint16_t key_length;
		uint32_t length;
		char text[];
	};
	struct mcchk_thread *t = mcchk_thread_get();
	size_t k = strlen(key), v = strlen(value);
	uint64_t length = mcchk_pad8(sizeof(struct record) + k + v);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return;
	*r = (struct record){.type = 12, .key_length = (uint16_t)k, .length = (uint32_t)length};
	memcpy(r->text, key, k);
	memcpy(r->text + k, value, v);
	mcchk_commit(t, length);
}

void mcchk_write_clock(uint64_t local, uint64_t reference, uint64_t round_trip)
{
	struct record {
		uint8_t type, zero[3];
		uint32_t length;
		uint64_t local, reference, round_trip, reserved;
	};
	struct mcchk_thread *t = mcchk_thread_get();
	struct record *r = mcchk_reserve(t, sizeof *r);
	if (!r)
		return;
	*r = (struct record){.type = 9, .length = sizeof *r, .local = local, .reference = reference, .round_trip = round_trip};
	mcchk_commit(t, sizeof *r);
}

/* Where a program counter comes from, for one that lies in no module. */
void mcchk_write_source(uint64_t pc, const char *function, const char *file, uint32_t line)
{
	struct record {
		uint8_t type, zero;
		uint16_t function_length;
		uint32_t length;
		uint64_t pc;
		uint32_t line, column, file_length, inlined;
		char text[];
	};
	struct mcchk_thread *t = mcchk_thread_get();
	size_t f = strnlen(function, UINT16_MAX), n = strlen(file);
	uint64_t length = sizeof(struct record) + mcchk_pad8(f) + mcchk_pad8(n);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return;
	*r = (struct record){.type = 14, .function_length = (uint16_t)f, .length = (uint32_t)length,
			     .pc = pc, .line = line, .file_length = (uint32_t)n};
	memcpy(r->text, function, f);
	memcpy(r->text + mcchk_pad8(f), file, n);
	mcchk_commit(t, length);
}

/* ---- modules ---- */

struct module {
	uint64_t start, end, bias;
	const uint8_t *build_id;
	uint32_t build_id_size;
	char path[PATH_MAX];
};

static void write_module(const struct module *m)
{
	struct record {
		uint8_t type, zero;
		uint16_t build_id_size;
		uint32_t length;
		uint64_t start, end, bias;
		uint32_t path_size, reserved;
		char text[];
	};
	struct mcchk_thread *t = mcchk_thread_get();
	size_t path = strlen(m->path);
	uint64_t length = sizeof(struct record) + mcchk_pad8(m->build_id_size) + mcchk_pad8(path);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return;
	*r = (struct record){.type = 7, .build_id_size = (uint16_t)m->build_id_size, .length = (uint32_t)length,
			     .start = m->start, .end = m->end, .bias = m->bias, .path_size = (uint32_t)path};
	memcpy(r->text, m->build_id, m->build_id_size);
	memcpy(r->text + mcchk_pad8(m->build_id_size), m->path, path);
	mcchk_commit(t, length);
}

static void find_build_id(struct module *m, const char *note, size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)note;
		size_t name = (n->n_namesz + 3u) & ~3u, desc = (n->n_descsz + 3u) & ~3u;
		if (sizeof *n + name + desc > size)
			return;
		const char *body = note + sizeof *n;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(body, "GNU", 4) == 0) {
			m->build_id = (const uint8_t *)body + name;
			m->build_id_size = n->n_descsz;
			return;
		}
		note += sizeof *n + name + desc;
		size -= sizeof *n + name + desc;
	}
}

/* Modules already written, by bias and start. Only the initialising thread
 * and the finalising one come here. */
static uint64_t (*seen)[2];
static size_t seen_count;

static int is_new(const struct module *m)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i][0] == m->bias && seen[i][1] == m->start)
			return 0;
	uint64_t(*more)[2] = realloc(seen, (seen_count + 1) * sizeof *seen);
	if (!more)
		return 1;
	seen = more;
	seen[seen_count][0] = m->bias;
	seen[seen_count++][1] = m->start;
	return 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *module)
{
	struct module *m = module;
	(void)size;
	m->start = UINT64_MAX;
	m->end = 0;
	m->bias = info->dlpi_addr;
	m->build_id = NULL;
	m->build_id_size = 0;
	m->path[0] = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			m->start = at < m->start ? at : m->start;
			m->end = at + p->p_memsz > m->end ? at + p->p_memsz : m->end;
		} else if (p->p_type == PT_NOTE && !m->build_id) {
			find_build_id(m, (const char *)at, p->p_filesz);
		}
	}
	if (m->end == 0 || !is_new(m))
		return 0;
	if (!info->dlpi_name || !info->dlpi_name[0]) { /* the executable, always first; else [vdso] without a name */
		ssize_t n = seen_count == 1 ? readlink("/proc/self/exe", m->path, sizeof m->path - 1) : 0;
		m->path[n > 0 ? n : 0] = 0;
	} else if (!realpath(info->dlpi_name, m->path)) {
		strncpy(m->path, info->dlpi_name, sizeof m->path - 1);
		m->path[sizeof m->path - 1] = 0;
	}
	write_module(m);
	return 0;
}

/* Writes the modules that have not been written yet. */
void mcchk_write_modules(void)
{
	struct module m;
	dl_iterate_phdr(visit, &m);
}
