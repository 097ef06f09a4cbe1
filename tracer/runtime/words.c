/* Values of words: what atomic operations write, and what they fetched, for order
 * through memory. A value is recorded with its sign, whatever its type. */
#include "wrap.h"

#include <string.h>

/* How many elements of an integer type an operation has at most that is followed: more are data. Others
 * update counters one by one, and look at all of them at once. */
#define MOST_UPDATED 8
#define MOST_READ 64

struct fetched {
	int64_t number, value;
};

__thread uint32_t mcchk_words_ready;
static __thread struct fetched *ready;
static __thread uint32_t room;
static int64_t last_number;

int64_t mcchk_word_read(const void *p, uint32_t size)
{
	union {
		int8_t b;
		int16_t h;
		int32_t w;
		int64_t d;
	} v;
	memcpy(&v, p, size);
	return size == 1 ? v.b : size == 2 ? v.h : size == 4 ? v.w : v.d;
}

const void *mcchk_word_at(const void *p, MPI_Count count, MPI_Datatype type, uint32_t *size)
{
	int64_t offset = 0;
	*size = count == 1 ? mcchk_type_word(type, &offset) : 0;
	return (const char *)p + offset;
}

int64_t mcchk_word(const void *p, MPI_Count count, MPI_Datatype type)
{
	uint32_t size;
	const void *at = mcchk_word_at(p, count, type, &size);
	return size ? mcchk_word_read(at, size) : 0;
}

static int words(MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	int64_t offset;
	if (count == 1)
		return mcchk_type_word(type, &offset) != 0;
	return count > 1 && count <= (op == MPI_NO_OP ? MOST_READ : MOST_UPDATED) && mcchk_type_integer(type) ? (int)count : 0;
}

const void *mcchk_words_at(const void *p, MPI_Count count, MPI_Datatype type, uint32_t *size)
{
	if (count == 1)
		return mcchk_word_at(p, count, type, size);
	*size = mcchk_type_integer(type);
	return p;
}

int mcchk_operands(MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	return count == 1 || op == MPI_NO_OP ? 0 : words(count, type, op);
}

uint32_t mcchk_operand_size(MPI_Count count, MPI_Datatype type) { return count == 1 ? 0 : mcchk_type_integer(type); }

int64_t mcchk_word_number(MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	int n = words(count, type, op);
	return n > 0 ? __atomic_add_fetch(&last_number, n, __ATOMIC_RELAXED) - n + 1 : 0;
}

/* Notes what an operation has fetched, for the note to come. */
void mcchk_word_fetched(int64_t number, int64_t value)
{
	if (mcchk_words_ready == room) {
		uint32_t more = room ? 2 * room : 16;
		struct fetched *larger = realloc(ready, more * sizeof *larger);
		if (!larger) {
			mcchk_lost(1, 0);
			return;
		}
		ready = larger;
		room = more;
	}
	ready[mcchk_words_ready++] = (struct fetched){number, value};
}

void mcchk_words_write(void)
{
	uint32_t n = mcchk_words_ready;
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Fetched, 2 + 2 * (uint64_t)n, (void *)mcchk_self.frame);
	if (w) {
		*w++ = n;
		for (uint32_t i = 0; i < n; i++)
			*w++ = ready[i].number;
		*w++ = n;
		for (uint32_t i = 0; i < n; i++)
			*w++ = ready[i].value;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
	mcchk_words_ready = 0;
	mcchk_rounds_told();
}
