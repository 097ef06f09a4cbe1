/* What a loop does in all of its accesses, told at once (bundles.c). */
#ifndef MCCHK_BUNDLES_H
#define MCCHK_BUNDLES_H

#include "activations.h"

#pragma GCC visibility push(hidden)

#define MCCHK_BUNDLE_WORDS 32u /* of an announcement, at most */
#define MCCHK_WAYS 32u

/* An access of a loop. The first two words are the plug-ins'. */
struct mcchk_bundled {
	int64_t stride; /* where that is always the same */
	uint16_t size;
	uint16_t flags;
	uint8_t last;   /* 1: made once more than the loop has gone round */
	uint8_t stride_word; /* of the announcement; 0: `stride` */
	uint16_t zero;
	uint64_t pc; /* where it is announced alone */
};

/* What a loop announces that goes round so often, each time the same distances further. */
struct mcchk_way {
	uint64_t passes, moment;
	uint64_t left; /* rows that are known to be like those before, and … */
	uint64_t rows; /* … how many of them there were, with those that have come; 0: they are announced one by one */
	uint32_t hot;  /* a bit for each access that matters */
	uint64_t next[MCCHK_BUNDLE_WORDS]; /* the words of the one that goes on with it */
	uint64_t step[MCCHK_BUNDLE_WORDS];
};

/* The accesses of a loop that are announced where it is left in one way: each announcement has
 * the first address of each, and then strides that are not always the same. */
struct mcchk_bundle {
	uint64_t context; /* of calls (MCCHK_CONTEXT) of which it may take something; 0: of none */
	uint64_t pc;      /* where it is called: a function may be inlined in several places */
	struct mcchk_way *ways;
	uint64_t seq; /* the span in which it last did not go on; of that: */
	int32_t cost;
	uint16_t others; /* so many announcements came of another context, … */
	uint8_t changed; /* … and it changed so often */
	uint8_t resting; /* spans in which it takes nothing */
	uint16_t accesses, words; /* the plug-ins' */
	uint32_t known;           /* the places of all accesses are */
	struct mcchk_bundled all[];
};

uint64_t mcchk_bundle_other(struct mcchk_bundle *b, uint64_t passes, uint64_t moment, const uint64_t *words, uintptr_t pc, void **frame);

/* Where a bundle has what goes round so often. */
static inline struct mcchk_way *mcchk_way_of(const struct mcchk_bundle *b, uint64_t passes)
{
	uint64_t other = MCCHK_WAYS / 2 + (passes * 0x9E3779B97F4A7C15ull >> 60);
	return &b->ways[passes < MCCHK_WAYS / 2 ? passes : other];
}

/* A row has come. The caller is busy. */
static inline __attribute__((always_inline)) void mcchk_way_goes_on(const struct mcchk_bundle *b, struct mcchk_way *y)
{
	for (uint32_t i = 0, n = b->words; i < n; i++)
		y->next[i] += y->step[i];
	y->left--;
}

/* Whether an announcement goes on with what came before in the same context. */
static inline __attribute__((always_inline)) uint64_t mcchk_bundle_goes_on(struct mcchk_bundle *b, uint64_t passes, uint64_t moment,
									   const uint64_t *words, uintptr_t pc, void **frame)
{
	uint64_t word = mcchk_entries[MCCHK_ENTRY((uintptr_t)frame, (uintptr_t)frame[1])], differs = 0;

	if (b->context == 0 || mcchk_self.busy || MCCHK_CONTEXT(word, frame) != __atomic_load_n(&b->context, __ATOMIC_RELAXED) || b->pc != pc)
		return 0;
	struct mcchk_way *y = mcchk_way_of(b, passes);
	if (y->left == 0 || y->passes != passes || y->moment != moment || __atomic_load_n(&mcchk_moment, __ATOMIC_ACQUIRE) != moment)
		return 0;
	uint32_t n = b->words;
	for (uint32_t i = 0; i < n; i++)
		differs |= words[i] ^ y->next[i];
	if (differs)
		return 0;
	mcchk_self.busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_way_goes_on(b, y);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mcchk_self.busy = 0;
	return 1;
}

/* Loops are announced one by one behind a bundle that did not take them: it gets to know where. */
extern struct mcchk_learning {
	struct mcchk_bundle *bundle; /* NULL: none does */
	uint32_t known;
	void **frame;
	uint64_t words[MCCHK_BUNDLE_WORDS];
} mcchk_learning;
void mcchk_learn(uint64_t start, uintptr_t pc, void **frame);

/* Writes what bundles have taken, behind a call, and keeps it if it is to be written again. */
void mcchk_write_bundles(struct mcchk_thread *t, uint64_t seq, int keep);
void mcchk_forget_bundles(void);
/* They take nothing more. Any thread may do so. */
void mcchk_rest_bundles(void);

#pragma GCC visibility pop
#endif
