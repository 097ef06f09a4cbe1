/* Rounds of polls: operations that fetch words and change nothing, calls that complete them, and
 * notes of what they fetched. Of rounds that find the same, with nothing else of the thread in
 * between, the first few and the last are kept: whatever the others race with, these do, and nobody
 * comes after them that does not come after these (core/polls.go); that the last one is there says
 * how long the words held that. The last one's records become those of the one before, and are
 * taken back, which leaves a gap in the sequence numbers. Of a file that is read along, nothing is
 * taken back. */
#include "wrap.h"

#define MOST 6 /* notes in a round */

/* Places of arguments (mpi.tbl) of operations that fetch words; words is how many arguments they have,
 * op that of the operation, in a compare-and-swap that of what is compared with. */
struct fetches {
	unsigned op, number, words;
};

static const struct fetches *fetches_of(uint16_t function)
{
	static const struct fetches fetch = {5, 7, 9}, swap = {9, 7, 10}, several = {10, 12, 15};
	if (function == mcchk_fn_MPI_Fetch_and_op)
		return &fetch;
	if (function == mcchk_fn_MPI_Compare_and_swap)
		return &swap;
	return function == mcchk_fn_MPI_Get_accumulate ? &several : NULL;
}

/* The records from one note to the next. */
struct part {
	char *begin;
	uint32_t length;
	uint64_t hash; /* of what is the same in polls that find the same */
};

/* The last parts of the thread, none of which has changed anything. */
static __thread struct {
	struct part all[3 * MOST];
	unsigned n;
	/* Where they lie, and where accesses stood when they began. */
	struct mcchk_chunk *chunk, *accesses;
	uint64_t offset;
	uint32_t compact, end, touched;
} rounds;

/* What the note of a part says of a number. Returns whether it says it. */
static int told(const struct mcchk_call_record *note, int64_t number, int64_t *value)
{
	int64_t n = note->words[0];
	for (int64_t i = 1; i <= n; i++) {
		if (note->words[i] == number) {
			*value = note->words[n + 1 + i];
			return 1;
		}
	}
	return 0;
}

/* Whether an operation has changed nothing. */
static int leaves(const struct mcchk_call_record *r, const struct fetches *at, const struct mcchk_call_record *note)
{
	static int64_t no_op;
	int64_t found;

	if (r->words[at->number] == 0 || !told(note, r->words[at->number], &found))
		return 0;
	if (r->function == mcchk_fn_MPI_Compare_and_swap)
		return found != r->words[at->op];
	if (no_op == 0)
		no_op = mcchk_op_id(MPI_NO_OP);
	return r->words[at->op] == no_op;
}

/* The hash of a part, the last record of which is the note; 0: it may have changed something. */
static uint64_t hash_of(const char *begin, const char *end)
{
	const struct mcchk_call_record *note = NULL, *r;
	uint64_t h = 1;

	for (const char *at = begin; at < end; at += r->length) {
		r = (const void *)at;
		if (r->type != 1 || r->flags != 1)
			return 0;
		note = r;
	}
	for (const char *at = begin; at < end; at += r->length) {
		r = (const void *)at;
		uint32_t words = (r->length - (uint32_t)sizeof *r) / 8, from = 0;
		uint16_t f = r->function;
		const struct fetches *operation = fetches_of(f);
		if (operation) {
			if (words != operation->words || !leaves(r, operation, note))
				return 0;
		} else if (r == note) {
			from = (uint32_t)r->words[0] + 1; /* what follows the numbers */
		} else if (f != mcchk_fn_MPI_Win_flush && f != mcchk_fn_MPI_Win_flush_all && f != mcchk_fn_MPI_Win_flush_local &&
			   f != mcchk_fn_MPI_Win_flush_local_all && f != mcchk_fn_MPI_Win_sync) {
			return 0;
		}
		h = mcchk_hashed(mcchk_hashed(h, (uint64_t)f << 32 | r->length), r->stack);
		for (uint32_t i = from; i < words; i++)
			if (!operation || i != operation->number)
				h = mcchk_hashed(h, (uint64_t)r->words[i]);
	}
	return h | 1;
}

/* Whether the last so many parts before a place are what the ones before them are. */
static int again(unsigned parts, unsigned place)
{
	for (unsigned i = place - parts; i < place; i++) {
		const struct part *a = &rounds.all[i], *b = a - parts;
		if (a->hash != b->hash || a->length != b->length)
			return 0;
	}
	return 1;
}

/* The last so many parts take the place of those before them. */
static void replace(struct mcchk_thread *t, unsigned parts)
{
	struct part *last = &rounds.all[rounds.n - parts], *before = last - parts;
	uint64_t length = 0;
	for (unsigned i = 0; i < parts; i++)
		length += last[i].length;
	mcchk_take_back(t, last->begin, length);
	/* From the end on, where sequence numbers are higher, and ends of calls behind their beginnings:
	 * so the file is whole after every instruction. */
	const uint64_t *from = (const uint64_t *)(const void *)last->begin;
	uint64_t *to = (uint64_t *)(void *)before->begin;
	for (uint64_t i = length / 8; i-- > 0;)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	rounds.n -= parts;
	rounds.end -= (uint32_t)length;
}

void mcchk_rounds_told(void)
{
	struct mcchk_thread *t = mcchk_self.thread;
	struct mcchk_chunk *c = t ? t->calls.chunk : NULL, *a = t ? t->accesses.chunk : NULL;
	if (!c || mcchk_live)
		return;
	uint32_t touched = a ? a->used : 0, used = c->used;
	int goes_on = c == rounds.chunk && t->calls.file_offset == rounds.offset && t->calls.compact == rounds.compact && used > rounds.end &&
		      a == rounds.accesses && touched == rounds.touched;
	uint64_t hash = goes_on ? hash_of(c->payload + rounds.end, c->payload + used) : 0;
	if (!hash) {
		rounds.n = 0;
		rounds.chunk = c;
		rounds.offset = t->calls.file_offset;
		rounds.compact = t->calls.compact;
		rounds.accesses = a;
		rounds.touched = touched;
		rounds.end = used;
		return;
	}
	if (rounds.n == 3 * MOST) {
		memmove(rounds.all, rounds.all + MOST, 2 * MOST * sizeof *rounds.all);
		rounds.n -= MOST;
	}
	rounds.all[rounds.n++] = (struct part){.begin = c->payload + rounds.end, .length = used - rounds.end, .hash = hash};
	rounds.end = used;
	for (unsigned parts = 1; 3 * parts <= rounds.n; parts++) {
		if (again(parts, rounds.n) && again(parts, rounds.n - parts)) {
			replace(t, parts);
			return;
		}
	}
}
