/* The trace file: chunks in shared mappings. A thread has one open for calls and
 * all else, and from its first access on another for accesses alone. The records of
 * one that is full are made compact (compact.c), so that it takes more.
 *
 * A chunk's place in the file is claimed with one atomic addition, so threads
 * extend the file without a lock. The file is extended before it is mapped: a
 * full disk is an error here and never a SIGBUS. When that happens recording
 * stops for the whole process, and what is lost from then on is counted in a
 * `lost` record, for which every chunk of calls keeps room, as every chunk of
 * accesses does for its index.
 */
#include "mcchk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_HEADER 128u
#define LIVE_HEADER PAGE /* of a file that is read while it is written */
#define CHUNK_HEADER 40u
#define KEPT_ROOM 136u /* in each chunk: for a lost and an end record; or for an index without groups and END_CHUNK */
#define END_CHUNK (CHUNK_HEADER + (uint32_t)sizeof(struct end_record)) /* with an end record alone */
#define PAGE 4096u
#define SHORT_CHUNK (4u << 10) /* the first of threads but the first; each one behind it is four times as long */

struct lost_record {
	uint8_t type, reason;
	uint16_t zero;
	uint32_t length;
	uint64_t calls, accesses;
};

struct end_record {
	uint8_t type, zero[3];
	uint32_t length;
	uint64_t idle, accesses, units;
};

static struct {
	int fd;
	uint32_t chunk_size;
	_Atomic uint64_t end; /* where the next chunk will begin */
	_Atomic int full;     /* a lost reason: nothing can be recorded any more */
	_Atomic uint64_t lost_calls, lost_accesses, accesses;
	_Atomic uint64_t missed; /* accesses that are lost although recording goes on */
	_Atomic(struct lost_record *) lost;
	uint64_t most; /* bytes that the file may have */
	uint64_t most_live; /* that it may take at a time, when it is read along; 0: any */
	uint32_t header; /* bytes before the first chunk */
	int rank;
} file = {.fd = -1};

uint64_t mcchk_seq;
uint64_t mcchk_moment;
uint64_t mcchk_uncounted;
uint64_t mcchk_told = 1;
uint32_t mcchk_region;
int mcchk_multiple;
int mcchk_active;
int mcchk_recording;

/* ---- losses ---- */

static void show_losses(void)
{
	struct lost_record *r = file.lost;
	if (r) {
		__atomic_store_n(&r->calls, file.lost_calls, __ATOMIC_RELAXED);
		__atomic_store_n(&r->accesses, file.lost_accesses, __ATOMIC_RELAXED);
	}
}

void mcchk_lost(uint64_t calls, uint64_t accesses)
{
	atomic_fetch_add(&file.lost_calls, calls);
	atomic_fetch_add(&file.lost_accesses, accesses);
	show_losses();
}

void mcchk_missed(uint64_t accesses)
{
	atomic_fetch_add(&file.missed, accesses);
	mcchk_lost(0, accesses);
}

/* Puts the lost record into the room kept at the end of the thread's chunk of calls. */
static void place_lost(struct mcchk_thread *t, int reason)
{
	struct mcchk_chunk *c = t->calls.chunk;
	if (!c || file.lost)
		return;
	uint32_t used = c->used;
	struct lost_record *r = (void *)(c->payload + used);
	*r = (struct lost_record){.type = 10, .reason = (uint8_t)reason, .length = sizeof *r};
	struct lost_record *none = NULL;
	if (!atomic_compare_exchange_strong(&file.lost, &none, r))
		return;
	show_losses();
	__atomic_store_n(&c->used, used + (uint32_t)sizeof *r, __ATOMIC_RELEASE);
}

void mcchk_stop_recording(struct mcchk_thread *t, int reason, const char *why)
{
	int none = 0;
	if (atomic_compare_exchange_strong(&file.full, &none, reason)) {
		mcchk_live_stopped();
		char text[200];
		int n = snprintf(text, sizeof text, "mcchk: rank %d: the trace cannot grow (%s); recording stops, the program goes on\n",
				 file.rank, why);
		if (write(2, text, (size_t)n) < 0) { /* nothing more can be said */ }
	}
	place_lost(t, reason);
}

/* ---- chunks ---- */

/* By the kernel's own calls: libraries that watch a program's memory (UCX) take locks in
 * those of the C library, for which its threads wait by spinning. What is populated is read
 * ahead too, which costs more than the one page of a short chunk. */
static char *map_chunk(uint64_t offset, uint64_t size)
{
	int populate = size > PAGE ? MAP_POPULATE : 0;
	return (char *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | populate, file.fd, (off_t)offset);
}

static void unmap_chunk(struct mcchk_open *o)
{
	syscall(SYS_munmap, o->map, o->map_size);
	o->chunk = NULL;
}

static int extend(uint64_t offset, uint64_t size)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + size > limit.rlim_cur)
		return EFBIG; /* before the kernel sends SIGXFSZ */
	int e;
	do
		e = posix_fallocate(file.fd, (off_t)offset, (off_t)size);
	while (e == EINTR);
	return e;
}

/* Takes the runs of a thread out of the hands of the program's code. Any thread
 * may do so. */
void mcchk_disarm(struct mcchk_thread *t)
{
	uint32_t n = __atomic_load_n(&t->armed_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&t->armed[i]->owner, 0, __ATOMIC_RELAXED);
}

/* The places of runs in a chunk of accesses must be forgotten before it is closed. */
static void forget_runs(struct mcchk_thread *t)
{
	mcchk_disarm(t);
	t->armed_count = 0;
	memset(t->runs, 0, MCCHK_RUNS * sizeof *t->runs);
	memset(t->starts, 0, MCCHK_STARTS * sizeof *t->starts);
	if (t->rows_begun)
		memset(t->rows, 0, MCCHK_RUNS * sizeof *t->rows);
	t->rows_begun = 0;
}

static void seal(struct mcchk_open *o, int with_index)
{
	struct mcchk_chunk *c = o->chunk;
	uint32_t kind = c->kind, used = c->used;
	if (kind != 0 && with_index) {
		uint64_t elements;
		uint32_t index = mcchk_write_index(c, o->sums, &elements);
		kind = index ? CHUNK_HEADER + used : kind;
		used += index;
		file.accesses += elements;
	}
	c->crc = mcchk_crc32c(c->payload, used);
	__atomic_store_n(&c->used, used, __ATOMIC_RELEASE);
	__atomic_store_n(&c->state, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&c->kind, kind, __ATOMIC_RELEASE);
}

/* Makes the records of one of the thread's own chunks compact, and reports whether more
 * may be written into it. Whoever ends recording waits until it is done. */
static int compact(struct mcchk_thread *t, struct mcchk_open *o)
{
	int on = 0;
	if (!o->chunk || file.full || t->compacting)
		return 0; /* a lost record stays where it is */
	if (o == &t->accesses)
		forget_runs(t);
	__atomic_store_n(&t->compacting, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&o->chunk->crc, 1, __ATOMIC_SEQ_CST); /* odd: who reads along has to wait */
	if (__atomic_load_n(&mcchk_recording, __ATOMIC_SEQ_CST))
		on = mcchk_compact(t->compactor, o);
	__atomic_add_fetch(&o->chunk->crc, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->compacting, 0, __ATOMIC_RELEASE);
	return on;
}

/* The last call begun. */
static uint64_t last_call(void)
{
	return __atomic_load_n(&mcchk_seq, __ATOMIC_SEQ_CST) - !mcchk_recording; /* mcchk_file_finish adds one */
}

/* Claims room for a chunk, and says after which call: chunks that lie behind it in the file
 * are claimed after that call or a later one. Their threads may begin them earlier. */
static uint64_t claim(uint64_t size, uint64_t *seq)
{
	uint64_t offset = atomic_load(&file.end);
	do
		*seq = last_call();
	while (!atomic_compare_exchange_strong(&file.end, &offset, offset + size));
	return offset;
}

static void begin_chunk(struct mcchk_chunk *c, uint32_t size, uint32_t strand, uint32_t kind, uint64_t seq)
{
	c->size = size;
	c->strand = strand;
	c->seq = seq;
	c->region = mcchk_region;
	c->kind = kind;
	c->state = c->used = c->crc = 0;
	__atomic_store_n(&c->magic, 0x4b4e4843u, __ATOMIC_SEQ_CST); /* before `since` is read */
}

static void close_chunk(struct mcchk_open *o)
{
	if (!o->chunk)
		return;
	seal(o, 1);
	unmap_chunk(o);
}

/* The thread writes no more. */
void mcchk_chunks_end(struct mcchk_thread *t)
{
	forget_runs(t);
	if (mcchk_recording) {
		compact(t, &t->accesses);
		close_chunk(&t->accesses);
		if (!file.full) { /* else it may have the lost record */
			compact(t, &t->calls);
			close_chunk(&t->calls);
		}
	}
	t->calls = t->accesses = (struct mcchk_open){0};
}

static int open_chunk(struct mcchk_thread *t, struct mcchk_open *o, uint64_t payload)
{
	uint64_t size = t->strand == 0 ? file.chunk_size : o->chunk ? 4 * o->map_size : SHORT_CHUNK;
	uint64_t need = (CHUNK_HEADER + file.header + KEPT_ROOM + MCCHK_ROOM + payload + PAGE - 1) / PAGE * PAGE;
	if (size > file.chunk_size)
		size = file.chunk_size;
	if (size < need)
		size = need;
	if (size > UINT32_MAX) {
		mcchk_stop_recording(t, MCCHK_LOST_OTHER, strerror(EFBIG));
		return 0;
	}
	if (!mcchk_live_room(&file.end, size)) {
		mcchk_stop_recording(t, MCCHK_LOST_DISKS, "all that --max-disk allows is taken, and nobody gives any of it back");
		return 0;
	}
	uint64_t seq, offset = claim(size, &seq), end = offset + size;
	int e = 0;
	char *map = MAP_FAILED;
	if (offset != 0 && end > file.most)
		mcchk_stop_recording(t, MCCHK_LOST_SIZE, "it has the size that --max-trace allows");
	else if ((e = extend(offset, size)) != 0)
		mcchk_stop_recording(t, MCCHK_LOST_DISK, strerror(e));
	else if ((map = map_chunk(offset, size)) == MAP_FAILED)
		mcchk_stop_recording(t, MCCHK_LOST_MEMORY, strerror(errno));
	if (map == MAP_FAILED) {
		atomic_compare_exchange_strong(&file.end, &end, offset);
		return 0;
	}
	if (o->chunk && o == &t->accesses)
		forget_runs(t);
	close_chunk(o);
	uint32_t before = offset == 0 ? file.header : 0;
	struct mcchk_chunk *c = (void *)(map + before);
	begin_chunk(c, (uint32_t)size - before, t->strand, o == &t->accesses, seq);
	*o = (struct mcchk_open){.chunk = c, .map = map, .map_size = size, .file_offset = offset + before,
				 .since = last_call(), .limit = c->size - CHUNK_HEADER - KEPT_ROOM};
	mcchk_compact_begin(t->compactor, o);
	if (o == &t->accesses)
		t->marked = UINT64_MAX;
	return 1;
}

/* Makes room for a record in the thread's chunk, or in a new one. A chunk is made
 * compact again and again until only an eighth of it is left: each time runs are
 * forgotten, which costs as much however few records there are. */
static int make_room(struct mcchk_thread *t, struct mcchk_open *o, uint64_t bytes)
{
	if (compact(t, o)) {
		struct mcchk_chunk *c = o->chunk;
		uint32_t limit = c->size - CHUNK_HEADER - KEPT_ROOM - o->groups - MCCHK_GROUP;
		if (c->used + MCCHK_ROOM + bytes + c->size / 8 <= limit) {
			o->limit = limit;
			mcchk_compact_on(o);
			return 1;
		}
	}
	return open_chunk(t, o, bytes);
}

static int may_record(struct mcchk_thread *t)
{
	if (MCCHK_LIKELY(t && mcchk_recording && !file.full))
		return 1;
	if (t && file.full && !file.lost)
		place_lost(t, file.full);
	return 0;
}

/* Room, zeroed, for a record of the given length (a multiple of 8), not an access, in
 * the thread's chunk. The record counts once it is committed. NULL: it is lost. */
void *mcchk_reserve(struct mcchk_thread *t, uint64_t bytes)
{
	if (!may_record(t))
		return NULL;
	struct mcchk_open *o = &t->calls;
	if ((!o->chunk || o->chunk->used + bytes > o->limit) && !make_room(t, o, bytes))
		return NULL;
	uint64_t *room = (uint64_t *)(void *)(o->chunk->payload + o->chunk->used);
	for (uint64_t i = 0; i < bytes / 8; i++) /* other records may have been here; most are short */
		__atomic_store_n(&room[i], 0, __ATOMIC_RELAXED);
	return room;
}

void mcchk_commit(struct mcchk_thread *t, uint64_t bytes)
{
	struct mcchk_chunk *c = t->calls.chunk;
	__atomic_store_n(&c->used, c->used + (uint32_t)bytes, __ATOMIC_RELEASE);
}

/* A record of so many bytes counts no longer, if it is the last. */
void mcchk_take_back(struct mcchk_thread *t, const void *record, uint64_t bytes)
{
	struct mcchk_chunk *c = t->calls.chunk;
	if ((const char *)record + bytes == (const char *)c->payload + c->used)
		__atomic_store_n(&c->used, c->used - (uint32_t)bytes, __ATOMIC_RELEASE);
}

/* Says which call the next accesses follow. */
static void write_mark(struct mcchk_thread *t, uint64_t seq)
{
	struct mcchk_open *o = &t->accesses;
	struct mcchk_mark *m = (void *)(o->chunk->payload + o->chunk->used);
	*m = (struct mcchk_mark){.type = 8, .length = sizeof *m, .seq = seq};
	__atomic_store_n(&o->chunk->used, o->chunk->used + (uint32_t)sizeof *m, __ATOMIC_RELEASE);
	o->limit -= MCCHK_GROUP;
	t->marked = seq;
}

/* The same as mcchk_reserve for accesses, which stand behind a mark of a call: of
 * *seq, or the first after it that can still be said, which *seq then is. */
static void *reserve_after(struct mcchk_thread *t, uint64_t *seq, uint32_t bytes)
{
	const uint32_t most = sizeof(struct mcchk_mark) + MCCHK_GROUP + bytes;
	if (!may_record(t))
		return NULL;
	struct mcchk_open *o = &t->accesses;
	if ((!o->chunk || o->chunk->used + most > o->limit) && !make_room(t, o, most))
		return NULL;
	if (*seq < o->since)
		*seq = o->since;
	if (t->marked != UINT64_MAX && *seq < t->marked)
		*seq = t->marked;
	if (t->marked != *seq)
		write_mark(t, *seq);
	return (void *)(o->chunk->payload + o->chunk->used);
}

struct mcchk_access *mcchk_reserve_access_after(struct mcchk_thread *t, uint64_t *seq)
{
	return reserve_after(t, seq, sizeof(struct mcchk_access));
}

/* The same behind a mark of the last call. */
struct mcchk_access *mcchk_reserve_access(struct mcchk_thread *t)
{
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	return reserve_after(t, &seq, sizeof(struct mcchk_access));
}

struct mcchk_grid *mcchk_reserve_grid_after(struct mcchk_thread *t, uint64_t *seq)
{
	return reserve_after(t, seq, sizeof(struct mcchk_grid));
}

struct mcchk_grid *mcchk_reserve_grid(struct mcchk_thread *t)
{
	uint64_t seq = __atomic_load_n(&mcchk_seq, __ATOMIC_ACQUIRE);
	return reserve_after(t, &seq, sizeof(struct mcchk_grid));
}

static void commit_accesses(struct mcchk_thread *t, uint32_t bytes)
{
	struct mcchk_chunk *c = t->accesses.chunk;
	__atomic_store_n(&c->used, c->used + bytes, __ATOMIC_RELEASE);
}

void mcchk_commit_access(struct mcchk_thread *t) { commit_accesses(t, sizeof(struct mcchk_access)); }

void mcchk_commit_grid(struct mcchk_thread *t) { commit_accesses(t, sizeof(struct mcchk_grid)); }

/* Writes elements as bits (compact.c) behind the call of that number, or a later one if that
 * is as good. Returns whether it could. */
int mcchk_write_bits(struct mcchk_thread *t, uint64_t seq, int or_later, const struct mcchk_access *all, const uint64_t *bits, uint32_t runs, uint64_t elements)
{
	uint64_t at = seq;
	char *record = reserve_after(t, &at, MCCHK_BITS_MOST + (uint32_t)all->count / 8);

	if (!record || (at != seq && !or_later)) /* too late for that call */
		return 0;
	struct mcchk_sums *sums = &t->accesses.sums;
	uint64_t *counted = &sums->elements[all->flags & MCCHK_STORE], before = *counted;
	mcchk_count(sums, all);
	*counted = before + elements;
	commit_accesses(t, mcchk_compact_bits(record, all, bits, runs));
	return 1;
}

/* ---- opening and closing ---- */

/* An analysis holds two chunks of each process: the more processes, the smaller. */
static uint32_t chunk_size(uint32_t ranks)
{
	const char *s = getenv("MCCHK_CHUNK_KIB");
	unsigned long kib = (64u << 10) / (ranks ? ranks : 1);
	kib = kib > 256 ? 256 : kib < 8 ? 8 : kib;
	while (kib > 8 && (file.most / 8 < kib * 1024 || (file.most_live && file.most_live / 16 < kib * 1024)))
		kib /= 2;
	if (s)
		kib = strtoul(s, NULL, 10);
	if (kib < 4)
		kib = 4;
	if (kib > 1u << 20)
		kib = 1u << 20;
	return (uint32_t)(kib * 1024 / PAGE * PAGE);
}

static void write_header(const struct mcchk_file_header *h, char *at)
{
	struct {
		char magic[8];
		uint32_t version, length;
		uint8_t run[16];
		uint32_t rank, ranks, pid, flags;
		uint64_t monotonic, realtime;
		char host[60];
		uint32_t crc;
	} f = {.magic = "MCCHKTR1", .version = 5, .length = file.header, .rank = h->rank, .ranks = h->ranks,
	       .pid = (uint32_t)getpid(), .monotonic = h->monotonic, .realtime = h->realtime};
	_Static_assert(sizeof f == FILE_HEADER, "header");
	memcpy(f.run, h->run, sizeof f.run);
	gethostname(f.host, sizeof f.host - 1);
	f.crc = mcchk_crc32c(&f, FILE_HEADER - 4);
	memcpy(at, &f, sizeof f);
}

/* Begins a new file, and the first chunk of the calling thread, strand 0.
 * Returns 0, an errno, or -1 when recording has stopped already, and said so. */
int mcchk_file_open(int fd, const struct mcchk_file_header *h)
{
	mcchk_crc_start();
	file.rank = (int)h->rank;
	file.most = h->most;
	file.header = getenv("MCCHK_LIVE") ? LIVE_HEADER : FILE_HEADER;
	if (file.header == LIVE_HEADER)
		file.most_live = h->most_live;
	if (file.most_live == UINT64_MAX)
		file.most_live = 0;
	file.chunk_size = chunk_size(h->ranks);
	if (file.most_live && file.most_live < 8 * file.chunk_size)
		file.most_live = 8 * file.chunk_size; /* less would not do */
	file.fd = fd;
	int e = mcchk_recorders_start();
	if (e != 0)
		return e;
	if (file.header == LIVE_HEADER && extend(0, PAGE) == 0)
		mcchk_live_begin(file.fd, file.most_live);
	mcchk_recording = 1;
	struct mcchk_thread *t = mcchk_thread_get();
	if (!t || !open_chunk(t, &t->calls, 0))
		return -1;
	write_header(h, t->calls.map);
	mcchk_live_tell();
	return 0;
}

/* Takes back the room of the file's last chunk behind its first `size` bytes. */
static int give_back(struct mcchk_open *o, uint64_t size)
{
	uint64_t end = o->chunk ? o->file_offset + o->chunk->size : 0;
	return o->chunk && atomic_compare_exchange_strong(&file.end, &end, o->file_offset + size);
}

/* Moves the last `size` bytes of the file, where chunks begin, into the room that
 * the chunk before them does not use, so that few records make a small file. One
 * store decides which of the two copies is there, should the process be killed. */
static void move_up(struct mcchk_open *before, struct mcchk_open *last, uint32_t size)
{
	struct mcchk_chunk *c = before->chunk;
	uint64_t end = last->file_offset + size;
	if (!c || before->file_offset + c->size != last->file_offset || CHUNK_HEADER + c->used + size > c->size ||
	    !atomic_compare_exchange_strong(&file.end, &end, before->file_offset + CHUNK_HEADER + c->used + size))
		return;
	memcpy(c->payload + c->used, last->chunk, size);
	__atomic_store_n(&c->size, CHUNK_HEADER + c->used, __ATOMIC_RELEASE);
}

/* What was lost although recording went on to the end. */
static void add_losses(struct mcchk_chunk *c)
{
	struct lost_record *r = (void *)(c->payload + c->used);
	if (file.lost || file.missed == 0)
		return;
	*r = (struct lost_record){.type = 10, .reason = MCCHK_LOST_OTHER, .length = sizeof *r, .accesses = file.missed};
	__atomic_store_n(&c->used, c->used + (uint32_t)sizeof *r, __ATOMIC_RELEASE);
}

static void add_end(struct mcchk_chunk *c, uint64_t units)
{
	struct end_record *e = (void *)(c->payload + c->used);
	*e = (struct end_record){.type = 11, .length = sizeof *e, .units = units, .accesses = file.accesses};
	__atomic_store_n(&c->used, c->used + (uint32_t)sizeof *e, __ATOMIC_RELEASE);
}

static void cut_file(struct mcchk_open *last)
{
	unmap_chunk(last);
	if (ftruncate(file.fd, (off_t)file.end) != 0) { /* the reader skips zeros */ }
}

/* The calling thread's chunks, when all others are sealed. The end record comes
 * into the last chunk of the file: a new one when that is not one for calls. */
static void finish_own(struct mcchk_thread *t, uint64_t units, int with_end)
{
	struct mcchk_open *calls = &t->calls, *accesses = &t->accesses;
	uint32_t end = with_end ? sizeof(struct end_record) : 0, end_chunk = with_end ? END_CHUNK : 0;

	if (calls->chunk)
		add_losses(calls->chunk);
	if (!mcchk_live && accesses->chunk && give_back(accesses, CHUNK_HEADER + accesses->chunk->used + end_chunk)) {
		uint32_t size = CHUNK_HEADER + accesses->chunk->used;
		if (calls->chunk)
			seal(calls, 1);
		if (with_end) {
			struct mcchk_chunk *c = (void *)((char *)accesses->chunk + size);
			begin_chunk(c, END_CHUNK, t->strand, 0, last_call());
			add_end(c, units);
			seal(&(struct mcchk_open){.chunk = c}, 1);
		}
		__atomic_store_n(&accesses->chunk->size, size, __ATOMIC_RELEASE);
		move_up(calls, accesses, size + end_chunk);
		cut_file(accesses);
		return;
	}
	if (!calls->chunk)
		return;
	/* Who reads along knows by now where chunks end. */
	int last = !mcchk_live && give_back(calls, CHUNK_HEADER + calls->chunk->used + end);
	if (!last && with_end && !file.full && open_chunk(t, calls, end)) {
		calls->chunk->used = 0; /* no room: nothing will be made compact in it */
		last = !mcchk_live && give_back(calls, CHUNK_HEADER + end);
	}
	if (with_end)
		add_end(calls->chunk, units);
	seal(calls, 1);
	if (last) {
		calls->chunk->size = CHUNK_HEADER + calls->chunk->used;
		move_up(accesses, calls, calls->chunk->size);
		cut_file(calls);
	}
}

/* Ends recording: seals the chunks of all threads, with an `end` record when
 * the process passed MPI_Finalize. Chunks of other threads stay mapped, for
 * one of them may be in the middle of a record. */
void mcchk_file_finish(uint64_t units, int with_end)
{
	struct mcchk_thread *own = mcchk_self.thread;
	if (!mcchk_recording)
		return;
	if (!own)
		mcchk_not_sole();
	if (own) {
		if (!mcchk_self.busy)
			mcchk_write_touched(own);
		compact(own, &own->accesses);
		compact(own, &own->calls);
	}
	__atomic_store_n(&mcchk_recording, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&mcchk_seq, 1, __ATOMIC_SEQ_CST); /* no run goes on */
	for (struct mcchk_thread *t = mcchk_threads_recording(); t; t = t->next) {
		mcchk_disarm(t);
		mcchk_touch_no_more(t);
		if (__atomic_load_n(&t->touching_count, __ATOMIC_ACQUIRE) != 0 || __atomic_load_n(&t->beside, __ATOMIC_ACQUIRE))
			mcchk_missed(1); /* a map, or sets, of a thread that cannot write them now */
	}
	for (struct mcchk_thread *t = mcchk_threads_recording(); t; t = t->next) {
		while (t != own && __atomic_load_n(&t->compacting, __ATOMIC_SEQ_CST))
			sched_yield();
		if (t->accesses.chunk)
			seal(&t->accesses, !t->compacting); /* a signal handler may have ended the program just then */
		if (t != own && t->calls.chunk)
			seal(&t->calls, 1);
	}
	if (own)
		finish_own(own, units, with_end);
	mcchk_live_end();
}
