/* Records in few bytes. What a thread writes into its chunks is at first as long
 * is convenient, and may change; when a chunk is full, or the run is over, its
 * records are made compact where they stand (docs/trace-format.md, "compact calls"
 * and "compact accesses"), and the room that this leaves is written on.
 *
 * Before the records that are not compact yet lies a `room` record, which says
 * nothing. Some of the first records are written into the room in compact form; a
 * shorter `room` record behind that takes the place of what is left of it and of the
 * records themselves; and one store of eight bytes, the head of the new record over
 * that of the old one, puts both into force. So the chunk is whole at any moment,
 * should the process be killed.
 */
#include "mcchk.h"

#include <string.h>

#define HEAD 8u             /* of a compact record, of a room record */
#define EXPANDED_MOST 8192u  /* bytes of the records that one compact record stands for, … */
#define EXPANDED_ONE 524280u /* … unless it is one record */
#define STREAM 4096u         /* and of its own */

#define CALL_PLACES 128u
#define CALL_WORDS 64u /* calls with more are not compared */
enum { IRREGULAR = 0x80, ALONE = 0x81, APART = 0x82, LITERAL = 0xff };

#define NUMBERS_MOST 27u /* bytes that three numbers take, and what is written behind them */

#define PLACES 60u
enum { ON = 0, AGAIN = PLACES, BY = 2 * PLACES, OTHER = 3 * PLACES, MARK = 4 * PLACES, GRID, BITS }; /* all but the last and the number of a place */

#define CALL_HEAD 40u

struct call {
	uint8_t type, flags;
	uint16_t function;
	uint32_t length;
	uint64_t seq, begin, end;
	uint32_t stack, zero;
	uint64_t words[];
};

/* The last call, or access, of each place. */
struct mcchk_compactor {
	struct {
		uint64_t key[CALL_PLACES]; /* function, stack and number of words; 0: none */
		uint64_t words[CALL_PLACES][CALL_WORDS];
		uint64_t seq, end; /* of the last call */
	} calls;
	struct {
		struct place {
			uint64_t head, addr, stride, count;
			uint64_t step; /* from the address before it */
		} place[PLACES];
		struct grid_place {
			uint64_t head;
			uint32_t stack;
			uint64_t fields[5]; /* address, stride, count, steps */
		} grid[PLACES];
		uint64_t addr, stride, count; /* of the last access */
		uint64_t mark;
	} accesses;
	unsigned char stream[STREAM + 16]; /* numbers are written eight bytes at a time */
};

const size_t mcchk_compactor_size = sizeof(struct mcchk_compactor);

static inline uint64_t zigzag(uint64_t v) { return v << 1 ^ (uint64_t)((int64_t)v >> 63); }

/* Writes a number into 1 to 9 bytes, and up to 7 behind it. How many bytes follow
 * the first is how many of its lowest bits are zero. Returns where it ends. */
static inline unsigned char *number(unsigned char *p, uint64_t v)
{
	if (MCCHK_LIKELY(v < 128)) {
		*p = (unsigned char)(v << 1 | 1);
		return p + 1;
	}
	unsigned n = mcchk_number_length(v);
	if (n > 8) {
		*p = 0;
		memcpy(p + 1, &v, 8);
		return p + 9;
	}
	v = (v << 1 | 1) << (n - 1);
	memcpy(p, &v, 8);
	return p + n;
}

unsigned char *mcchk_number(unsigned char *p, uint64_t v) { return number(p, v); }

static uint64_t head_of(uint32_t type, uint32_t expanded, uint32_t length)
{
	return type | (uint64_t)(expanded / 8) << 16 | (uint64_t)length << 32;
}

static void put_head(char *at, uint64_t head) { __atomic_store_n((uint64_t *)(void *)at, head, __ATOMIC_RELEASE); }

static unsigned char *literal(unsigned char *out, const void *record, uint32_t length)
{
	*out++ = LITERAL;
	memcpy(out, record, length);
	return out + length;
}

/* ---- calls ---- */

/* Writes a call that is compared with no other, and becomes that of a place: its words as
 * they differ from what lists of equal things make of those before them. Returns NULL where
 * that reaches the limit. */
static unsigned char *call_alone(const struct mcchk_compactor *p, unsigned char *out, const unsigned char *limit, const struct call *c, uint32_t place)
{
	uint32_t n = (c->length - CALL_HEAD) / 8;
	const uint64_t *w = c->words;
	uint64_t as_guessed = 0;

	if (limit - out < 2 * (ptrdiff_t)NUMBERS_MOST + 2)
		return NULL;
	if (place == c->stack % CALL_PLACES) {
		*out++ = ALONE;
	} else {
		*out++ = APART;
		*out++ = (unsigned char)place;
	}
	*out++ = c->flags;
	out = number(number(number(out, c->function), c->stack), n);
	out = number(out, zigzag(c->seq - p->calls.seq));
	out = number(out, zigzag(c->begin - p->calls.end));
	out = number(out, zigzag(c->end - c->begin));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t guess = i < 4 ? 0 : i < 8 ? w[i - 4] : 2 * w[i - 4] - w[i - 8];
		if (w[i] == guess) {
			as_guessed++;
			continue;
		}
		if (limit - out < (ptrdiff_t)NUMBERS_MOST)
			return NULL;
		out = number(number(out, as_guessed), zigzag(w[i] - guess));
		as_guessed = 0;
	}
	if (limit - out < (ptrdiff_t)NUMBERS_MOST)
		return NULL;
	return as_guessed > 0 ? number(out, as_guessed) : out;
}

/* Writes a call as what differs from the words of the last one of its place. */
static unsigned char *call_again(struct mcchk_compactor *p, unsigned char *out, const struct call *c, uint32_t k, uint32_t n)
{
	unsigned char values[9 * CALL_WORDS + 8], *v = values;
	uint64_t changed = 0, *words = p->calls.words[k];

	if (c->flags != 1 || c->seq != p->calls.seq + 1) {
		*out++ = IRREGULAR;
		*out++ = (unsigned char)k;
		*out++ = c->flags;
		out = number(out, zigzag(c->seq - p->calls.seq));
	} else {
		*out++ = (unsigned char)k;
	}
	out = number(out, zigzag(c->begin - p->calls.end));
	out = number(out, zigzag(c->end - c->begin));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t d = c->words[i] - words[i];
		if (d != 0) {
			changed |= 1ull << i;
			v = number(v, zigzag(d));
			words[i] = c->words[i];
		}
	}
	out = number(out, changed);
	for (ptrdiff_t i = 0; i < v - values; i += 8)
		memcpy(out + i, values + i, 8);
	return out + (v - values);
}

/* The place of a call: that of its stack, unless another function is called there (a statement
 * of Fortran with coarrays makes several calls). */
static uint32_t place_of(const struct mcchk_compactor *p, const struct call *c, uint64_t key)
{
	uint32_t first = c->stack % CALL_PLACES;
	uint64_t there = p->calls.key[first];
	if (there == key || there == 0 || there >> 32 != c->stack)
		return first;
	return (c->stack + 37 * c->function + 11 * (uint32_t)(key >> 16 & 0xffff)) % CALL_PLACES;
}

/* Returns NULL, and has changed nothing, where the call does not fit before the limit. */
static unsigned char *compact_call(struct mcchk_compactor *p, unsigned char *out, const unsigned char *limit, const struct call *c)
{
	uint32_t n = (c->length - CALL_HEAD) / 8;
	uint64_t key = (uint64_t)c->stack << 32 | n << 16 | c->function;
	uint32_t k = place_of(p, c, key);
	ptrdiff_t left = limit - out;

	if (n <= CALL_WORDS && p->calls.key[k] == key) {
		if (left < (ptrdiff_t)(c->length + c->length / 8 + 16))
			return NULL;
		out = call_again(p, out, c, k, n);
	} else {
		int fits = left > (ptrdiff_t)c->length;
		unsigned char *end = call_alone(p, out, fits ? out + c->length : limit, c, k);
		if (end == NULL && !fits)
			return NULL;
		if (end == NULL)
			k = c->stack % CALL_PLACES;
		out = end != NULL ? end : literal(out, c, c->length);
		if (n <= CALL_WORDS) {
			p->calls.key[k] = key;
			memcpy(p->calls.words[k], c->words, n * sizeof *c->words);
		}
	}
	p->calls.seq = c->seq;
	p->calls.end = c->end;
	return out;
}

/* Writes calls and what else is among them, from *in on, into the stream, which may have
 * up to `most` bytes. Returns where it ends, in *in what comes next, and in *expanded how long
 * the records are. */
static unsigned char *compact_calls(struct mcchk_compactor *p, const char **in, const char *end, uint32_t most, uint32_t *expanded)
{
	unsigned char *out = p->stream;
	const unsigned char *limit = p->stream + most;
	const char *from = *in, *at = from;

	while (at < end) {
		const struct call *c = (const void *)at;
		unsigned char *next = NULL;
		if ((uint64_t)(at - from) + c->length > (at == from ? EXPANDED_ONE : EXPANDED_MOST))
			break;
		if (c->type == 1)
			next = compact_call(p, out, limit, c);
		else if (limit - out > (ptrdiff_t)c->length)
			next = literal(out, c, c->length);
		if (next == NULL)
			break;
		out = next;
		at += c->length;
	}
	*in = at;
	*expanded = (uint32_t)(at - from);
	return out;
}

/* ---- accesses ---- */

static uint64_t access_head(const struct mcchk_access *a)
{
	uint64_t head;
	memcpy(&head, a, sizeof head);
	return head;
}

static inline unsigned char *compact_access(struct mcchk_compactor *p, unsigned char *out, const struct mcchk_access *a)
{
	uint64_t head = access_head(a);
	uint32_t k = (2ull * a->stack + (a->flags & MCCHK_STORE)) % PLACES;
	struct place *l = &p->accesses.place[k];
	uint64_t again = (p->accesses.addr ^ a->addr) | (p->accesses.stride ^ (uint64_t)a->stride) | (p->accesses.count ^ a->count);

	p->accesses.addr = a->addr;
	p->accesses.stride = (uint64_t)a->stride;
	p->accesses.count = a->count;
	if (l->head != head) {
		*l = (struct place){.head = head, .addr = a->addr, .stride = (uint64_t)a->stride, .count = a->count};
		return literal(out, a, sizeof *a);
	}
	uint64_t step = a->addr - l->addr, stride = (uint64_t)a->stride - l->stride, count = a->count - l->count;
	uint64_t on = (step ^ l->step) | stride | count;
	*l = (struct place){.head = head, .addr = a->addr, .stride = (uint64_t)a->stride, .count = a->count, .step = step};
	if (on == 0 || again == 0) {
		*out++ = (unsigned char)(k + (on == 0 ? ON : AGAIN));
		return out;
	}
	if ((stride | count) == 0) {
		*out++ = (unsigned char)(BY + k);
		return number(out, zigzag(step));
	}
	*out++ = (unsigned char)(OTHER + k);
	return number(number(number(out, zigzag(step)), zigzag(stride)), zigzag(count));
}

#define GRID_MOST (3u + 7u * 9u) /* bytes that a grid takes */

static unsigned char *compact_grid(struct mcchk_compactor *p, unsigned char *out, const struct mcchk_grid *g)
{
	uint64_t head = access_head(&g->first);
	uint32_t k = (2ull * g->stack + (g->first.flags & MCCHK_STORE)) % PLACES;
	struct grid_place *l = &p->accesses.grid[k], now = {.head = head, .stack = g->stack, .fields = {
		g->first.addr, (uint64_t)g->first.stride, g->first.count, (uint64_t)g->row_step, (uint64_t)g->plane_step}};
	struct grid_place old = *l;

	*l = now;
	if (old.head != head || old.stack != g->stack)
		return literal(out, g, sizeof *g);
	unsigned char *changed = out + 2;
	*out = GRID;
	out[1] = (unsigned char)k;
	*changed = 0;
	out = number(number(out + 3, g->rows), g->planes);
	for (unsigned i = 0; i < 5; i++) {
		if (now.fields[i] == old.fields[i])
			continue;
		*changed |= (unsigned char)(1u << i);
		out = number(out, zigzag(now.fields[i] - old.fields[i]));
	}
	return out;
}

/* Writes accesses and marks, from *in on, into the stream, which may have up to `most`
 * bytes; those that say nothing are left out. Returns where it ends, in *in what comes next,
 * and in *expanded how long the records are. */
static unsigned char *compact_accesses(struct mcchk_compactor *p, struct mcchk_open *o, const char **in, const char *end, uint32_t most,
				       uint32_t *expanded)
{
	unsigned char *out = p->stream;
	const char *from = *in, *at = from;
	uint32_t empty = 0;

	while (at < end && *at != MCCHK_TYPE_COMPACT_ACCESSES && (uint32_t)(out - p->stream) + GRID_MOST <= most &&
	       (uint64_t)(at - from) + sizeof(struct mcchk_grid) <= EXPANDED_MOST) {
		if (*at == 2) {
			const struct mcchk_access *a = (const void *)at;
			mcchk_count(&o->sums, a);
			at += sizeof *a;
			if (a->count == 0) {
				empty += (uint32_t)sizeof *a;
				continue;
			}
			o->group++;
			out = compact_access(p, out, a);
			continue;
		}
		if (*at == MCCHK_TYPE_GRID) {
			const struct mcchk_grid *g = (const void *)at;
			at += sizeof *g;
			if (g->first.count == 0) {
				empty += (uint32_t)sizeof *g;
				continue;
			}
			mcchk_count_grid(&o->sums, g);
			o->group += mcchk_in_grid(g);
			out = compact_grid(p, out, g);
			continue;
		}
		const struct mcchk_mark *m = (const void *)at;
		uint64_t later = m->seq - p->accesses.mark;
		o->groups += mcchk_number_length(later) + mcchk_number_length(o->group);
		o->group = 0;
		p->accesses.mark = m->seq;
		*out++ = MARK;
		out = number(out, later);
		at += sizeof *m;
	}
	*in = at;
	*expanded = (uint32_t)(at - from) - empty;
	return out;
}

/* Writes elements as bits, of which those are set that were accessed: a compact record that
 * stands for an access for each run of them. `all` are those that there might be, a multiple of
 * 64. Returns its length. */
uint32_t mcchk_compact_bits(char *record, const struct mcchk_access *all, const uint64_t *bits, uint32_t runs)
{
	unsigned char *stream = (unsigned char *)record + HEAD, *out = stream;
	uint64_t bytes = all->count / 8;

	*out++ = BITS;
	*out++ = all->flags;
	out = number(number(number(out, all->size), all->stack), all->addr);
	out = number(number(out, (uint64_t)all->stride), bytes);
	memcpy(out, bits, bytes);
	memset(out + bytes, 0, 8);
	uint32_t length = HEAD + (uint32_t)mcchk_pad8((uint64_t)(out + bytes - stream));
	put_head(record, head_of(MCCHK_TYPE_COMPACT_ACCESSES, runs * (uint32_t)sizeof *all, length));
	return length;
}

/* Whether a record of compact accesses is one of bits. */
int mcchk_are_bits(const char *record) { return ((const unsigned char *)record)[HEAD] == BITS; }

/* ---- chunks ---- */

/* Puts room behind what the chunk holds, all of it compact, before what will be written. */
void mcchk_compact_on(struct mcchk_open *o)
{
	struct mcchk_chunk *c = o->chunk;
	put_head(c->payload + c->used, head_of(MCCHK_TYPE_ROOM, 0, MCCHK_ROOM));
	__atomic_store_n(&c->used, c->used + MCCHK_ROOM, __ATOMIC_RELEASE);
}

/* The first record is about to be written into a chunk. */
void mcchk_compact_begin(struct mcchk_compactor *p, struct mcchk_open *o)
{
	if (o->chunk->kind == 0) {
		memset(p->calls.key, 0, sizeof p->calls.key);
		p->calls.seq = o->chunk->seq;
		p->calls.end = 0;
	} else {
		memset(&p->accesses, 0, sizeof p->accesses);
		p->accesses.mark = o->chunk->seq;
	}
	mcchk_compact_on(o);
}

/* Moves a record that was compact at once into the room before it. Returns its length; 0: there
 * is not enough. */
static uint32_t move(struct mcchk_open *o, char *out, const char *in)
{
	uint64_t head;
	uint32_t room = (uint32_t)(in - out);

	memcpy(&head, in, sizeof head);
	uint32_t length = (uint32_t)(head >> 32);
	if (length + HEAD > room)
		return 0;
	o->group += (uint32_t)(head >> 16 & UINT16_MAX) * 8 / (uint32_t)sizeof(struct mcchk_access);
	memcpy(out + HEAD, in + HEAD, length - HEAD);
	put_head(out + length, head_of(MCCHK_TYPE_ROOM, 0, room));
	put_head(out, head);
	return length;
}

/* Makes the records of a chunk compact that are not. Nobody may know where any of
 * them is. Returns whether that was possible for all: then `mcchk_compact_on` goes on
 * with the chunk. */
int mcchk_compact(struct mcchk_compactor *p, struct mcchk_open *o)
{
	struct mcchk_chunk *c = o->chunk;
	const char *end = c->payload + c->used, *in = c->payload + o->compact + MCCHK_ROOM;
	char *out = c->payload + o->compact;

	while (in < end) {
		if (*in == MCCHK_TYPE_COMPACT_ACCESSES) {
			uint32_t moved = move(o, out, in);
			if (moved == 0)
				break;
			in += moved;
			out += moved;
			continue;
		}
		const char *from = in;
		uint64_t room = (uint64_t)(in - out);
		uint32_t most = room < STREAM + 2 * HEAD ? (uint32_t)room - 2 * HEAD : STREAM;
		uint32_t expanded;
		unsigned char *last = c->kind == 0 ? compact_calls(p, &in, end, most, &expanded) :
						     compact_accesses(p, o, &in, end, most, &expanded);
		uint32_t length = HEAD + (uint32_t)mcchk_pad8((uint64_t)(last - p->stream));
		if (in == from)
			break; /* too long a record */
		memset(last, 0, 8);
		memcpy(out + HEAD, p->stream, length - HEAD);
		put_head(out + length, head_of(MCCHK_TYPE_ROOM, 0, (uint32_t)(in - out) - length));
		put_head(out, head_of(c->kind == 0 ? MCCHK_TYPE_COMPACT_CALLS : MCCHK_TYPE_COMPACT_ACCESSES, expanded, length));
		out += length;
	}
	o->compact = (uint32_t)(out - c->payload);
	if (in < end)
		return 0;
	__atomic_store_n(&c->used, o->compact, __ATOMIC_RELEASE);
	return 1;
}

static uint64_t read_number(const unsigned char **at)
{
	const unsigned char *p = *at;
	uint64_t v = 0;
	unsigned n = *p ? (unsigned)__builtin_ctz(*p) + 1 : 9;

	memcpy(&v, n > 8 ? p + 1 : p, n > 8 ? 8 : n);
	*at = p + n;
	return n > 8 ? v : v >> n;
}

/* What stands at *at in the stream of compact accesses; *value is how much later the call
 * of a mark is, or how many accesses a grid has. Goes behind it. */
int mcchk_compact_next(const unsigned char **at, uint64_t *value)
{
	const unsigned char *p = *at;
	unsigned tag = *p++, numbers = tag < BY ? 0 : tag < OTHER ? 1 : tag < MARK ? 3 : 0;
	int what = MCCHK_COMPACT_ACCESS;

	if (tag == MARK) {
		*value = read_number(&p);
		what = MCCHK_COMPACT_MARK;
	} else if (tag == GRID) {
		numbers = (unsigned)__builtin_popcount(p[1]);
		p += 2;
		*value = read_number(&p);
		*value *= read_number(&p);
		what = MCCHK_COMPACT_GRID;
	} else if (tag == LITERAL && *p == MCCHK_TYPE_GRID) {
		struct mcchk_grid g;
		memcpy(&g, p, sizeof g);
		*value = mcchk_in_grid(&g);
		p += sizeof g;
		what = MCCHK_COMPACT_GRID;
	} else if (tag == LITERAL) {
		p += sizeof(struct mcchk_access);
	}
	for (; numbers > 0; numbers--)
		p += *p ? __builtin_ctz(*p) + 1 : 9;
	*at = p;
	return what;
}
