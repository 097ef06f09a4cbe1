/* Those who read the trace while it is written (live.c). mcchk.h includes this. */
#ifndef MCCHK_LIVE_H
#define MCCHK_LIVE_H

#pragma GCC visibility push(hidden)

#define MCCHK_LIVE_AT 128u /* offset in the file */

#define MCCHK_LIVE_PLACES 480u

/* What the two tell one another, in the file's first page. */
struct mcchk_live {
	char magic[8];
	uint64_t seq;     /* the last call begun */
	uint64_t ended;   /* the file is finished */
	uint64_t stopped; /* nothing is recorded any more, but what is lost is counted */
	uint64_t waiting; /* threads that wait for room */
	uint64_t most;    /* bytes that the file may take; 0: no limit */
	/* The reader's: */
	uint64_t left;  /* nobody reads any more, and what is missing makes it useless: do not wait */
	uint64_t freed; /* bytes of the file that it has given back */
	uint64_t grant; /* bytes that the file may take beyond `most` */
	uint64_t beat;  /* counts up as long as there is a reader */
	uint64_t none[6];
	/* Of threads that record, the last of all that have none of their own: what they write from
	 * now on does not come before that place. Call n is at 2n, and what follows it at 2n + 1.
	 * 0: there is no thread, or it waits, and writes nothing before calls that begin later. */
	uint64_t places[MCCHK_LIVE_PLACES];
};

extern struct mcchk_live *mcchk_live; /* NULL: nobody is expected to read along */
void mcchk_live_begin(int fd, uint64_t most);
void mcchk_live_tell(void);
int mcchk_live_room(const _Atomic uint64_t *end, uint64_t size); /* waits for it; 0: there is none */
void mcchk_live_thread(struct mcchk_thread *t);      /* begins to record */
void mcchk_live_thread_over(struct mcchk_thread *t); /* and has written its last */
void mcchk_live_goes_on_as(struct mcchk_thread *t);
void mcchk_live_end(void);
void mcchk_live_stopped(void);

/* The thread, which may have waited, is about to record something. */
static inline void mcchk_live_records(struct mcchk_thread *t)
{
	if (__builtin_expect(t->place != NULL, 0) && *t->place == 0)
		mcchk_live_goes_on_as(t);
}

/* All that it writes before its call is in the file, */
static inline void mcchk_live_calls(struct mcchk_thread *t, uint64_t seq)
{
	if (__builtin_expect(t->place != NULL, 0))
		__atomic_store_n(t->place, 2 * seq, __ATOMIC_RELEASE);
}

/* and the call too, which has returned. */
static inline void mcchk_live_returned(struct mcchk_thread *t, uint64_t seq)
{
	if (__builtin_expect(t->place != NULL, 0))
		__atomic_store_n(t->place, 2 * seq + 1, __ATOMIC_RELEASE);
}

/* The calling thread is about to wait for others, */
static inline void mcchk_live_waits(void)
{
	struct mcchk_thread *t = mcchk_self.thread;
	if (t && __builtin_expect(t->place != NULL, 0) && !mcchk_self.depth && !mcchk_self.busy && t->touching_count == 0 && !t->beside)
		__atomic_store_n(t->place, 0, __ATOMIC_RELEASE);
}

/* and has done so. */
static inline void mcchk_live_goes_on(void)
{
	if (mcchk_self.thread)
		mcchk_live_records(mcchk_self.thread);
}

#pragma GCC visibility pop
#endif
