/* Memory that processes share without MPI: a file, or a segment of System V, that several of them map.
 *
 * What is accessed there is not recorded, and which processes share some only their traces tell
 * together. So what the program itself maps that it may share becomes a pseudo call mcchk_Mapped;
 * before MPI_Init, as soon as that is over.
 */
#include "calls.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

struct mapping {
	uint64_t device, file; /* of System V: UINT64_MAX, and the segment */
	uint64_t writes;
	uintptr_t pc; /* where it was made */
	uint64_t twice; /* the process has some of it mapped already */
};

static struct { /* before MPI_Init */
	int lock;
	size_t count;
	struct mapping *all;
} early;

static void record(const struct mapping *m, void *frame)
{
	int64_t *w = mcchk_call_begin(mcchk_fn_mcchk_Mapped, 5, frame);
	if (w) {
		w[0] = (int64_t)mcchk_host();
		w[1] = (int64_t)m->device;
		w[2] = (int64_t)m->file;
		w[3] = (int64_t)m->writes;
		w[4] = (int64_t)m->twice;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

static void keep(const struct mapping *m)
{
	mcchk_spin_lock(&early.lock);
	struct mapping *more = realloc(early.all, (early.count + 1) * sizeof *more);
	if (more) {
		early.all = more;
		early.all[early.count++] = *m;
	} else {
		mcchk_lost(1, 0);
	}
	mcchk_spin_unlock(&early.lock);
}

static void mapped(const struct mapping *m, void *frame)
{
	if (!mcchk_active) {
		if (!mcchk_self.depth)
			keep(m);
		return;
	}
	if (mcchk_self.busy || !mcchk_enter(frame))
		return;
	record(m, frame);
	mcchk_leave();
}

/* MPI_Init is over. */
void mcchk_mapped_start(void *frame)
{
	mcchk_spin_lock(&early.lock);
	struct mapping *all = early.all;
	size_t n = early.count;
	early.all = NULL;
	early.count = 0;
	mcchk_spin_unlock(&early.lock);
	if (n && mcchk_active && mcchk_enter(frame)) {
		for (size_t i = 0; i < n; i++) {
			struct place {
				const void *next;
				uintptr_t pc;
			} at = {NULL, all[i].pc};
			record(&all[i], &at);
		}
		mcchk_leave();
	}
	free(all);
}

/* What the process has mapped of files. */
struct view {
	uint64_t device, file, from, to; /* bytes of the file */
	uintptr_t lo, hi;
	uint64_t writes;
};

static struct {
	int lock;
	size_t count, room;
	struct view *all;
} views;

/* One of which some is gone counts no more. */
static void unmapped(uintptr_t lo, uintptr_t hi)
{
	for (size_t i = 0; i < views.count;)
		if (views.all[i].lo < hi && lo < views.all[i].hi)
			views.all[i] = views.all[--views.count];
		else
			i++;
}

void mcchk_unmapped(const void *p, uint64_t size)
{
	mcchk_spin_lock(&views.lock);
	unmapped((uintptr_t)p, (uintptr_t)p + size);
	mcchk_spin_unlock(&views.lock);
}

/* Adds one. Returns whether what is stored through one shows in another. */
static int is_another(const struct view *v)
{
	int another = 0;

	mcchk_spin_lock(&views.lock);
	unmapped(v->lo, v->hi);
	for (size_t i = 0; i < views.count; i++) {
		const struct view *x = &views.all[i];
		another |= x->device == v->device && x->file == v->file && x->from < v->to && v->from < x->to && (x->writes || v->writes);
	}
	if (views.count == views.room) {
		size_t room = views.room ? 2 * views.room : 16;
		struct view *more = realloc(views.all, room * sizeof *more);
		if (more) {
			views.all = more;
			views.room = room;
		}
	}
	if (views.count < views.room)
		views.all[views.count++] = *v;
	mcchk_spin_unlock(&views.lock);
	return another;
}

static void file_mapped(const void *p, size_t size, int protection, int flags, int fd, off64_t offset, void **frame)
{
	struct stat st;

	if (p == MAP_FAILED)
		return;
	if ((flags & MAP_TYPE) == MAP_PRIVATE || (flags & MAP_ANONYMOUS) || fstat(fd, &st) != 0) {
		mcchk_unmapped(p, size); /* it may have taken the place of others */
		return;
	}
	uint64_t writes = (protection & PROT_WRITE) != 0, from = (uint64_t)offset;
	int twice = is_another(&(struct view){st.st_dev, st.st_ino, from, from + size, (uintptr_t)p, (uintptr_t)p + size, writes});
	mapped(&(struct mapping){st.st_dev, st.st_ino, writes, (uintptr_t)frame[1], (uint64_t)twice}, frame);
}

/* What was at a fixed address is no more. */
static void taken_over(void *at, size_t size, int flags, void *frame)
{
	if (flags & MAP_FIXED)
		mcchk_pages_end(at, size, frame);
}

void *__real_mmap(void *, size_t, int, int, int, off_t) __attribute__((weak));
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	taken_over(at, size, flags, MCCHK_FRAME);
	void *p = __real_mmap(at, size, protection, flags, fd, offset);
	file_mapped(p, size, protection, flags, fd, offset, MCCHK_FRAME);
	return p;
}

void *__real_mmap64(void *, size_t, int, int, int, off64_t) __attribute__((weak));
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	taken_over(at, size, flags, MCCHK_FRAME);
	void *p = __real_mmap64(at, size, protection, flags, fd, offset);
	file_mapped(p, size, protection, flags, fd, offset, MCCHK_FRAME);
	return p;
}

void *__real_shmat(int, const void *, int) __attribute__((weak));
void *__wrap_shmat(int segment, const void *at, int flags)
{
	void *p = __real_shmat(segment, at, flags);
	if (p != (void *)-1)
		mapped(&(struct mapping){UINT64_MAX, (uint64_t)segment, !(flags & SHM_RDONLY), (uintptr_t)((void **)MCCHK_FRAME)[1], 0}, MCCHK_FRAME);
	return p;
}
