/* OpenMP: strands and their order, as an OpenMP library tells its tools (OMPT).
 *
 * Implicit and explicit tasks are strands, whatever threads execute them, and so is each
 * section of a sections construct: two that one thread executes one after the other are
 * as concurrent as if two had. A section comes after what its implicit task did before the
 * construct; what comes after it waits for it at the barrier. The iterations of a loop and
 * a single construct belong to the implicit task that executes them.
 *
 * A task that an OpenMP library executes at once because the team has one thread, or its
 * queues are full, is not taken for one that its creator waits for: that are those with a
 * false if clause, and descendants of final tasks.
 */
#include "tasks.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

uintptr_t mcchk_openmp_lo, mcchk_openmp_hi;
__thread struct mcchk_entry mcchk_entry;
__thread uint32_t mcchk_waits_told;

/* ---- sections ---- */

static void end_section(struct task *t, void *at)
{
	if (t->now == t->strand)
		return;
	MCCHK_RELEASE(barrier_of(t->team, t->barriers), at);
	if (!t->sections_over)
		t->sections_over = mcchk_objects(1);
	MCCHK_RELEASE(t->sections_over, at);
	mcchk_strand_over(t->now, at);
	t->now = t->strand;
	mcchk_strand_switch(t->now, at);
}

/* What a section keeps in the frame of the function that it stands in is gone when that
 * returns, but not before the section is over, for one thread does both. Nothing else of
 * the task comes after the section before the next barrier, so a strand of its own notes
 * the return. */
int mcchk_sections_aside(void *at)
{
	struct task *t = mcchk_task;
	if (!t || !t->sections_over || mcchk_strand_current() != t->strand)
		return 0;
	uint64_t object = mcchk_objects(1);
	MCCHK_FORK(object, at);
	mcchk_strand_switch(mcchk_strand_new(), at);
	MCCHK_ACQUIRE(object, at);
	MCCHK_ACQUIRE(t->sections_over, at);
	MCCHK_OBJECT_END(object, at);
	return 1;
}

void mcchk_sections_back(void *at)
{
	mcchk_strand_over(mcchk_strand_current(), at);
	mcchk_strand_switch(mcchk_task->strand, at);
}

int mcchk_outside(void) { return mcchk_task && !mcchk_task->team; }

void mcchk_section(int begins, void **frame)
{
	struct task *t = mcchk_task;
	if (!t || mcchk_outside()) /* nobody else could execute one */
		return;
	end_section(t, frame);
	if (begins) {
		mcchk_team_shares(t->team);
		if (!t->section_object) {
			t->section_object = mcchk_objects(1);
			MCCHK_FORK(t->section_object, frame);
		}
		t->now = mcchk_strand_new();
		mcchk_strand_switch(t->now, frame);
		MCCHK_ACQUIRE(t->section_object, frame);
		mcchk_stack_passes((uintptr_t)frame[0], frame);
	} else if (t->section_object) {
		MCCHK_OBJECT_END(t->section_object, frame);
		t->section_object = 0;
	}
}

/* ---- parallel regions ---- */

/* Strands of the team are at work beside one another. Those of a team of one thread are so only
 * once it has tasks or sections. */
void mcchk_team_shares(struct team *team)
{
	if (!team->shares)
		mcchk_strands_more(team->pc);
	team->shares = 1;
}

static void parallel_begin(union ompt_data *encountering, const void *frame, union ompt_data *parallel, unsigned size, int flags, const void *pc)
{
	struct task *t = mcchk_task_of(encountering);
	struct team *team = calloc(1, sizeof *team);
	struct place at = place_of(pc, 0);

	(void)frame, (void)flags;
	parallel->ptr = team;
	if (t)
		t->inner = team;
	if (!t || !team) {
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		return;
	}
	__atomic_store_n(&mcchk_strands, 1, __ATOMIC_RELAXED);
	*team = (struct team){.objects = mcchk_objects(TEAM_OBJECTS), .outside = t->now, .pc = at.pc, .references = 1};
	if (size != 1)
		mcchk_team_shares(team);
	MCCHK_FORK(begin_of(team), &at);
	mcchk_strand_waits(end_of(team), 0, 1, &at);
}

/* The strands of a team, as many as there are. NULL: no memory. */
static uint64_t *strands_of(struct team *team, unsigned size)
{
	uint64_t *all = __atomic_load_n(&team->strands, __ATOMIC_ACQUIRE), *made;
	if (all)
		return all;
	made = calloc(size, sizeof *made);
	__atomic_store_n(&team->size, size, __ATOMIC_RELAXED);
	if (made && !__atomic_compare_exchange_n(&team->strands, &all, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		mcchk_free(made);
		return all;
	}
	return made;
}

static void parallel_end(union ompt_data *parallel, union ompt_data *encountering, int flags, const void *pc)
{
	struct task *t = mcchk_task_of(encountering);
	struct team *team = t ? t->inner : NULL;
	struct place at = place_of(pc, team ? team->pc : 0);

	(void)flags, (void)parallel; /* which may be that of another region by now */
	if (!team || !t) {
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		return;
	}
	mcchk_task = t;
	mcchk_strand_switch(team->outside, &at);
	MCCHK_ACQUIRE(end_of(team), &at);
	MCCHK_ACQUIRE(barrier_of(team, team->barriers), &at);
	mcchk_spin_lock(&team->lock);
	team->over = 1;
	mcchk_spin_unlock(&team->lock);
	for (unsigned i = 1; team->strands && i < team->size; i++)
		if (team->strands[i])
			mcchk_strand_over(team->strands[i], &at);
	if (team->begun != team->size)
		MCCHK_OBJECT_END(begin_of(team), &at);
	MCCHK_OBJECT_END(end_of(team), &at);
	for (int i = 0; i < 2; i++)
		mcchk_end_iterations(&team->iterations[i], &at);
	for (uint64_t n = team->barriers ? team->barriers - 1 : 0; n <= team->barriers; n++)
		MCCHK_OBJECT_END(barrier_of(team, n), &at);
	t->inner = NULL;
	if (team->shares)
		mcchk_strands_fewer(team->pc);
	mcchk_drop_team(team);
}

static void begin_implicit(struct team *team, union ompt_data *data, unsigned size, unsigned index)
{
	struct place at = place_of(NULL, team->pc);
	struct task *t = mcchk_new_task(data, team, NULL);

	if (!t)
		return;
	t->index = (int)index;
	t->pc = team->pc;
	t->strand = t->now = mcchk_strand_new();
	t->started = 1;
	mcchk_task = t;
	if (index != 0) /* a thread of the OpenMP library's pool */
		mcchk_strand_only_tasks(&at);
	mcchk_strand_switch(t->now, &at);
	MCCHK_ACQUIRE(begin_of(team), &at);
	uint64_t *strands = strands_of(team, size);
	if (strands && index < size) {
		strands[index] = t->strand;
		if (__atomic_add_fetch(&team->begun, 1, __ATOMIC_ACQ_REL) == size)
			MCCHK_OBJECT_END(begin_of(team), &at);
	}
	mcchk_stack_passes((uintptr_t)MCCHK_FRAME + BETWEEN, &at);
}

/* Threads of the pool may tell of that much later: what they did is known at the last
 * barrier, and that they are over where the region is (parallel_end). */
static void end_implicit(struct task *t)
{
	struct place at = place_of(NULL, t->pc);

	end_section(t, &at);
	if (t->team) {
		if (t->index == 0) {
			t->team->barriers = t->barriers;
			MCCHK_RELEASE(end_of(t->team), &at);
			mcchk_strand_over(t->strand, &at);
		} else {
			mcchk_self.between = 1;
		}
	}
	mcchk_task = NULL;
	mcchk_drop_task(t, &at);
}

static void implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task, unsigned size, unsigned index, int flags)
{
	struct team *team = parallel ? parallel->ptr : NULL;

	if (endpoint == OMPT_BEGIN && team) {
		begin_implicit(team, task, size, index);
	} else if (endpoint == OMPT_BEGIN) {
		if (!(flags & OMPT_TASK_INITIAL))
			mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME); /* of a region that is not known */
		mcchk_task_of(task);
	} else if (task && task->ptr) {
		end_implicit(task->ptr);
		task->ptr = NULL;
	}
}

/* ---- synchronization ---- */

/* Whether OpenMP's cancellation is on: then a barrier may be left before all have come. */
static int cancels(void)
{
	static int known; /* 1: no, 2: yes; atomic */
	int how = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (!how) {
		int (*get)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_cancellation");
		how = !get || get() ? 2 : 1;
		__atomic_store_n(&known, how, __ATOMIC_RELAXED);
	}
	return how == 2;
}

/* The task goes on behind a construct in which it waited, for an object. Its thread may have
 * executed others meanwhile, and then has told so of nothing since. */
static void go_on(struct task *t, uint64_t object, void *at)
{
	int others = t->now != mcchk_strand_current();
	t->waits = 0;
	if (others)
		mcchk_strand_switch(t->now, at);
	MCCHK_ACQUIRE(object, at);
	if (others)
		mcchk_stack_passes((uintptr_t)MCCHK_FRAME + BETWEEN, at);
}

static void barrier(struct task *t, int endpoint, void *at)
{
	struct team *team = t->team;
	if (!team)
		return;
	if (endpoint == OMPT_BEGIN) {
		end_section(t, at);
		if (t->sections_over) /* what comes behind the barrier comes after them */
			MCCHK_OBJECT_END(t->sections_over, at);
		t->sections_over = 0;
		mcchk_iterations_done(t);
		t->waits = 1;
		MCCHK_RELEASE(barrier_of(team, t->barriers), at);
		mcchk_strand_waits(barrier_of(team, t->barriers), cancels() ? 0 : team->size, 0, at);
		mcchk_live_waits();
		return;
	}
	if (t->index != 0)
		mcchk_spin_lock(&team->lock);
	if (!team->over) /* threads of the pool may leave the last barrier long after that */
		go_on(t, barrier_of(team, t->barriers), at);
	if (t->index != 0)
		mcchk_spin_unlock(&team->lock);
	if (t->index == 0)
		mcchk_end_iterations(&team->iterations[t->barriers % 2], at);
	if (t->index == 0 && t->barriers > 0) /* nobody is in the barrier before */
		MCCHK_OBJECT_END(barrier_of(team, t->barriers - 1), at);
	t->barriers++;
}

/* The task waits for those of its tasks that are not over. One that is about to be over is
 * none of them: nobody waits for one that has been noted to be. */
static void wait_for_tasks(uint64_t object, uint64_t tasks, const uint64_t *over, void *at)
{
	uint64_t n = __atomic_load_n(over, __ATOMIC_ACQUIRE);
	if (n < tasks)
		mcchk_strand_waits(object, 0, tasks - n, at);
}

static void taskgroup(struct task *t, int endpoint, void *at)
{
	struct group *g = t->group;
	if (endpoint == OMPT_BEGIN) {
		g = malloc(sizeof *g);
		if (g) {
			*g = (struct group){.object = mcchk_objects(1), .outer = t->group};
			t->group = g;
		} else {
			mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		}
	} else if (g) { /* sync_region_wait was called */
		MCCHK_OBJECT_END(g->object, at);
		t->group = g->outer;
		mcchk_free(g);
	}
}

static void sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, const void *pc)
{
	struct task *t = task ? task->ptr : NULL;

	(void)parallel;
	if (!t)
		return;
	struct place at = place_of(pc, t->pc);
	if (kind == OMPT_SYNC_TASKGROUP) {
		taskgroup(t, endpoint, &at);
	} else if (kind == OMPT_SYNC_TASKWAIT) {
		if (endpoint != OMPT_END) {
			t->waits = 1;
			wait_for_tasks(t->objects + 2, t->tasks, &t->over, &at);
			mcchk_live_waits();
			return;
		}
		go_on(t, t->objects + 2, &at);
		mcchk_end_variables(t, &at); /* of tasks that are over */
		for (; t->loose > 0; t->loose--)
			mcchk_strands_fewer(0);
	} else if (kind != OMPT_SYNC_REDUCTION) {
		barrier(t, endpoint, &at);
	}
}

/* The end of a taskgroup begins to wait; or has waited, and puts reductions together. */
static void sync_region_wait(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, const void *pc)
{
	struct task *t = task ? task->ptr : NULL;

	(void)parallel;
	if (kind != OMPT_SYNC_TASKGROUP || !t || !t->group)
		return;
	struct place at = place_of(pc, t->pc);
	if (endpoint != OMPT_BEGIN) {
		go_on(t, t->group->object, &at);
		return;
	}
	t->waits = 1;
	wait_for_tasks(t->group->object, __atomic_load_n(&t->group->tasks, __ATOMIC_RELAXED), &t->group->over, &at);
}

/* ---- locks ---- */

/* The locks that somebody has whose release has not been noted yet: it is noted after it
 * took effect. */
static int held_lock;
static struct mcchk_map held;
#define PATIENCE 100000 /* times that others are let go on */

static int take(uint64_t lock)
{
	mcchk_spin_lock(&held_lock);
	int free = mcchk_map_get(&held, lock) == NULL;
	if (free)
		mcchk_map_set(&held, lock, &held);
	mcchk_spin_unlock(&held_lock);
	return free;
}

static void give(uint64_t lock)
{
	mcchk_spin_lock(&held_lock);
	mcchk_map_set(&held, lock, NULL);
	mcchk_spin_unlock(&held_lock);
}

static void mutex_acquired(int kind, uint64_t lock, const void *pc)
{
	struct place at = place_of(pc, mcchk_task ? mcchk_task->pc : 0);
	int tries = 0;

	(void)kind;
	while (!take(lock) && tries++ < PATIENCE)
		sched_yield();
	if (tries > PATIENCE)
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
	MCCHK_ACQUIRE(lock, &at);
}

static void mutex_released(int kind, uint64_t lock, const void *pc)
{
	struct place at = place_of(pc, mcchk_task ? mcchk_task->pc : 0);

	(void)kind;
	MCCHK_RELEASE(lock, &at);
	give(lock);
}

static void lock_init(int kind, unsigned hint, unsigned how, uint64_t lock, const void *pc)
{
	struct place at = place_of(pc, 0);

	(void)kind, (void)hint, (void)how;
	give(lock); /* somebody may have it still, and never give it back: it is another one from now on */
	if (mcchk_orders())
		MCCHK_OBJECT_END(lock, &at);
}

static void lock_destroy(int kind, uint64_t lock, const void *pc) { lock_init(kind, 0, 0, lock, pc); }

/* ---- the tool ---- */

static int find_library(struct dl_phdr_info *info, size_t size, void *within)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
		if (p->p_type != PT_LOAD || (uintptr_t)within < lo || (uintptr_t)within >= hi)
			continue;
		mcchk_openmp_lo = lo;
		__atomic_store_n(&mcchk_openmp_hi, hi, __ATOMIC_RELEASE);
		return 1;
	}
	return 0;
}

static int initialize(ompt_lookup lookup, int device, union ompt_data *data)
{
	static const struct {
		int which;
		void (*callback)(void);
	} callbacks[] = {
		{OMPT_PARALLEL_BEGIN, (void (*)(void))parallel_begin}, {OMPT_PARALLEL_END, (void (*)(void))parallel_end},
		{OMPT_IMPLICIT_TASK, (void (*)(void))implicit_task}, {OMPT_TASK_CREATE, (void (*)(void))mcchk_task_create},
		{OMPT_TASK_SCHEDULE, (void (*)(void))mcchk_task_schedule}, {OMPT_DEPENDENCES, (void (*)(void))mcchk_dependences},
		{OMPT_SYNC_REGION, (void (*)(void))sync_region},
		{OMPT_SYNC_REGION_WAIT, (void (*)(void))sync_region_wait}, {OMPT_MUTEX_ACQUIRED, (void (*)(void))mutex_acquired},
		{OMPT_MUTEX_RELEASED, (void (*)(void))mutex_released}, {OMPT_LOCK_INIT, (void (*)(void))lock_init},
		{OMPT_LOCK_DESTROY, (void (*)(void))lock_destroy},
	};
	ompt_set_callback set = (ompt_set_callback)lookup("ompt_set_callback");

	mcchk_task_memory = (ompt_get_task_memory)lookup("ompt_get_task_memory");

	(void)device, (void)data;
	if (!set)
		return 0;
	for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
		if (set(callbacks[i].which, callbacks[i].callback) != OMPT_SET_ALWAYS)
			return 0; /* order would be missing */
	dl_iterate_phdr(find_library, (void *)lookup);
	return mcchk_openmp_hi != 0;
}

static void finalize(union ompt_data *data) { (void)data; }

/* Threads that wait spin for 200 ms if nobody says how long, which on a machine with fewer cores than
 * threads are many times the run: one is as good where there are enough. The library reads that
 * later. */
static void wait_shortly(void)
{
	if (getenv("MCCHK_TRACE_DIR") && !getenv("OMP_WAIT_POLICY") && !getenv("KMP_LIBRARY"))
		setenv("KMP_BLOCKTIME", "1", 0);
}

#pragma GCC visibility push(default)

/* Called by the OpenMP library when it starts. */
struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *library)
{
	static struct ompt_start_tool_result tool = {initialize, finalize, {0}};
	(void)version, (void)library;
	if (mcchk_preloaded)
		return NULL;
	wait_shortly();
	return &tool;
}

#pragma GCC visibility pop
