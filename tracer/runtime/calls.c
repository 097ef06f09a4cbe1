/* Call records: begun before the MPI function is called, completed in place
 * after it has returned. */
#include "calls.h"

#include <string.h>
#include <unwind.h>

static int define_function(struct mcchk_thread *t, uint16_t function)
{
	struct record {
		uint8_t type, zero;
		uint16_t id;
		uint32_t length;
		char text[];
	};
	uint64_t *set = &t->functions[function / 64], bit = 1ull << function % 64;
	if (*set & bit)
		return 1;
	const char *text = mcchk_functions[function - 1].definition;
	size_t n = strlen(text);
	uint64_t length = mcchk_pad8(sizeof(struct record) + n);
	struct record *r = mcchk_reserve(t, length);
	if (!r)
		return 0;
	*r = (struct record){.type = 3, .id = function, .length = (uint32_t)length};
	memcpy(r->text, text, n);
	mcchk_commit(t, length);
	*set |= bit;
	return 1;
}

/* Counts a call that begins, and whether others may learn of it how far the process is. Returns its
 * number. */
static uint64_t count_call(int tells)
{
	uint64_t seq;

	if (MCCHK_LIKELY(mcchk_sole())) {
		seq = mcchk_seq + 1;
		__atomic_store_n(&mcchk_told, mcchk_told + (uint64_t)tells, __ATOMIC_RELAXED);
		__atomic_store_n(&mcchk_seq, seq, __ATOMIC_RELEASE);
		__atomic_store_n(&mcchk_moment, mcchk_moment + 1, __ATOMIC_RELEASE);
		mcchk_sole_ends();
		return seq;
	}
	if (tells)
		__atomic_add_fetch(&mcchk_told, 1, __ATOMIC_RELAXED);
	seq = __atomic_add_fetch(&mcchk_seq, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&mcchk_moment, 1, __ATOMIC_SEQ_CST);
	return seq;
}

/* The thread's last call is none that counts, if no other thread may have seen its number: what the
 * thread accesses from now on follows the one before, as what it has accessed since that. */
static void uncount_call(struct mcchk_thread *t, uint64_t seq)
{
	if (!mcchk_sole())
		return;
	if (mcchk_seq == seq) {
		__atomic_store_n(&mcchk_seq, seq - 1, __ATOMIC_RELEASE);
		__atomic_store_n(&mcchk_uncounted, mcchk_uncounted + 1, __ATOMIC_RELAXED);
		t->latest = t->before;
	}
	mcchk_sole_ends();
}

static int64_t *begin_call(uint16_t function, uint64_t words, void *frame, int tells)
{
	struct mcchk_thread *t = mcchk_thread_get();
	struct mcchk_call_record *r = NULL;
	uint64_t length = sizeof *r + 8 * words;
	uint32_t stack = 0;

	if (t)
		mcchk_live_records(t);
	if (t && (t->touching_count != 0 || t->beside))
		mcchk_write_touched(t);
	/* A coarray library's own frames, with buffers, lie below that of the program. */
	if (mcchk_stack_low < (uintptr_t)frame && !mcchk_self.coarray)
		mcchk_stack_risen(frame);
	if (t) {
		mcchk_disarm(t);
		t->armed_count = 0;
	}
	if (t && define_function(t, function)) {
		stack = mcchk_stack(t, (uintptr_t)((void **)frame)[1], ((void **)frame)[0]);
		r = mcchk_reserve(t, length);
	}
	uint64_t seq = count_call(tells);
	if (t) {
		t->before = t->latest;
		t->latest = seq;
	}
	if (mcchk_live)
		__atomic_store_n(&mcchk_live->seq, seq, __ATOMIC_RELEASE);
	if (!t)
		return NULL;
	mcchk_live_calls(t, seq);
	t->call = r;
	t->call_size = (uint32_t)length;
	if (!r) {
		mcchk_lost(1, 0);
		return NULL;
	}
	r->type = 1;
	r->function = function;
	r->length = (uint32_t)length;
	r->seq = seq;
	r->stack = stack;
	return r->words;
}

/* Begins the record of a call made where the wrapper with this frame returns
 * to. Returns its argument words, zeroed; NULL when it cannot be recorded. The
 * call counts in any case: spans end here, and sequence numbers go on. */
int64_t *mcchk_call_begin(uint16_t function, uint64_t words, void *frame) { return begin_call(function, words, frame, 1); }

/* The same of one by which nobody else comes after anything: it only looks at memory. */
int64_t *mcchk_look_begin(uint16_t function, uint64_t words, void *frame) { return begin_call(function, words, frame, 0); }

/* The arguments have been filled in; the call began at that time, ns. */
void mcchk_call_commit_at(uint64_t begin)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t || !t->call)
		return;
	t->call->begin = begin;
	mcchk_commit(t, t->call_size);
}

/* A time that is read too early makes the call a little longer. */
void mcchk_call_commit(void) { mcchk_call_commit_at(mcchk_now_or_before()); }

/* The results have been filled in. */
void mcchk_call_end(uint64_t end, int failed)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (!t || !t->call)
		return;
	t->call->end = end;
	__atomic_store_n(&t->call->flags, failed ? 3 : 1, __ATOMIC_RELEASE);
	mcchk_live_returned(t, t->call->seq);
	t->call = NULL;
}

uint64_t mcchk_call_seq(void)
{
	struct mcchk_thread *t = mcchk_self.thread;
	return t && t->call ? t->call->seq : 0;
}

static uint64_t hash_of_words(const struct mcchk_call_record *r)
{
	uint64_t h = r->length;
	for (uint64_t i = 0; i < (r->length - sizeof *r) / 8; i++)
		h = mcchk_hashed(h, (uint64_t)r->words[i]);
	return h;
}

/* The poll among the last that has this record's place, arguments and results; NULL: none. */
static struct mcchk_poll *polled_before(struct mcchk_polls *p, const struct mcchk_call_record *r, uint64_t words)
{
	for (unsigned i = 0; i < sizeof p->all / sizeof *p->all; i++) {
		struct mcchk_poll *x = &p->all[i];
		if (x->seq && x->function == r->function && x->stack == r->stack && x->words == words)
			return x;
	}
	return NULL;
}

/* The results of a call that only looks whether something has come have been filled in. One
 * that finds the same as one before it, at the same place and with none of this thread in between
 * but such calls, is taken back, unless one of those has found something new behind it: whatever
 * it races with, the one before does, and nobody comes after it that does not come after that.
 * Where there are other threads it leaves a gap in the sequence numbers. Of a file that is read along,
 * nothing is taken back. */
void mcchk_poll_end(uint64_t end, int failed)
{
	struct mcchk_thread *t = mcchk_self.thread;
	struct mcchk_call_record *r = t ? t->call : NULL;
	struct mcchk_polls *p = t ? &t->polls : NULL;

	mcchk_call_end(end, failed);
	if (!r || failed || mcchk_live)
		return;
	uint64_t words = hash_of_words(r), seq = r->seq;
	if (p->seq != t->before)
		memset(p, 0, sizeof *p);
	p->seq = seq;
	struct mcchk_poll *x = polled_before(p, r, words);
	if (x && x->seq >= p->changed) {
		mcchk_take_back(t, r, r->length);
		uncount_call(t, seq);
		p->seq = t->latest;
		return;
	}
	if (!x) {
		p->changed = seq;
		x = &p->all[p->next];
		p->next = (p->next + 1) % (sizeof p->all / sizeof *p->all);
		x->function = r->function;
		x->stack = r->stack;
		x->words = words;
	}
	x->seq = seq;
}

/* ---- calls that are left ---- */

#ifdef __x86_64__
struct search {
	uintptr_t frame; /* that the return address of the wrapper lies just below of */
	int passed, found;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *p)
{
	struct search *s = p;
	uintptr_t frame = _Unwind_GetCFA(context);

	s->found |= frame == s->frame;
	s->passed = frame >= s->frame;
	return s->passed ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

extern __typeof(_Unwind_Backtrace) _Unwind_Backtrace __attribute__((weak));
#endif

/* Whether the call that seems to be under way is: what comes now, from below its frame, comes from
 * the library, or a callback of it. After longjmp or an exception it may come from functions that
 * lie where the library's lay. Looking takes some microseconds. */
int mcchk_call_goes_on(void)
{
#ifdef __x86_64__
	struct mcchk_tls *self = &mcchk_self;
	struct search s = {self->frame + 2 * sizeof(void *), 0, 0};

	if (self->back == 0 || !_Unwind_Backtrace)
		return 1;
	if (((uintptr_t *)self->frame)[1] != self->back)
		return 0;
	_Unwind_Backtrace(look, &s);
	return !s.passed || s.found;
#else
	return 1;
#endif
}

/* The thread's call that is under way was left by longjmp, or an exception, out of a
 * callback of the library: that of an error, most often. */
void mcchk_call_left(void)
{
	mcchk_call_end(mcchk_now(), 1);
	mcchk_leave();
}
