/* Which function an instruction is of: for modules say so for whoever unwinds stacks.
 *
 * Of each function (or part of one that stands elsewhere) there is an entry in a table that is
 * sorted by address, .eh_frame_hdr, with where its description lies, which has the length. Other
 * encodings than those that linkers write are not read.
 */
#include "mcchk.h"

#include <dlfcn.h>
#include <string.h>

enum { TABLE_OF_OFFSETS = 0x3b, OFFSET = 0x1b, NUMBER = 0x03 };

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	struct entry {
		int32_t function, description; /* from the header on */
	} table[];
};

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

/* NULL: it is not known. */
static const struct header *header_of(uintptr_t pc)
{
	struct dl_find_object module;
	if (!_dl_find_object || _dl_find_object((void *)pc, &module) != 0)
		return NULL;
	return module.dlfo_eh_frame;
}
#else
static const struct header *header_of(uintptr_t pc)
{
	(void)pc;
	return NULL;
}
#endif

static uintptr_t function_of(uintptr_t pc)
{
	const struct header *h = header_of(pc - 1);
	if (!h || h->version != 1 || h->count_encoding != NUMBER || h->table_encoding != TABLE_OF_OFFSETS)
		return 0;
	int64_t offset = (int64_t)(pc - 1 - (uintptr_t)h);
	uint32_t first = 0, end = h->count; /* the last that does not begin behind it is in [first - 1, end) */
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;
		if (h->table[middle].function <= offset)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == 0)
		return 0;
	const struct entry *e = &h->table[first - 1];
	struct {
		uint32_t length, common;
		int32_t function;
		uint32_t bytes;
	} description;
	memcpy(&description, (const char *)h + e->description, sizeof description);
	return offset - e->function < description.bytes ? (uintptr_t)h + (uintptr_t)(intptr_t)e->function : 0;
}

/* Where the function begins that has the instruction before that address; 0: not known. */
uintptr_t mcchk_function_at(uintptr_t pc)
{
	static struct {
		uint64_t check; /* pc and function by exclusive or: of what another thread has written in part it is another's */
		uint64_t function;
	} known[1024];
	uint32_t s = (uint32_t)(pc * 0x9E3779B97F4A7C15ull >> 54);
	uint64_t function = __atomic_load_n(&known[s].function, __ATOMIC_RELAXED);

	if (MCCHK_LIKELY((__atomic_load_n(&known[s].check, __ATOMIC_RELAXED) ^ function) == pc))
		return function;
	function = function_of(pc);
	__atomic_store_n(&known[s].function, function, __ATOMIC_RELAXED);
	__atomic_store_n(&known[s].check, pc ^ function, __ATOMIC_RELAXED);
	return function;
}
