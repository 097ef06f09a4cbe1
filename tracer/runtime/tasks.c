/* Tasks of OpenMP, implicit and explicit, as ompt.c is told of them. */
#include "tasks.h"

#include <stdlib.h>

__thread struct task *mcchk_task;

void mcchk_drop_team(struct team *t)
{
	if (t && __atomic_sub_fetch(&t->references, 1, __ATOMIC_ACQ_REL) == 0) {
		mcchk_free(t->strands);
		mcchk_free(t);
	}
}

void mcchk_end_variables(struct task *t, void *at)
{
	for (uint32_t i = 0; i < t->variables.slots; i++)
		for (uint64_t k = 0; t->variables.keys[i] && k < 3; k++)
			MCCHK_OBJECT_END((uintptr_t)t->variables.values[i] + k, at);
	mcchk_free(t->variables.keys);
	mcchk_free(t->variables.values);
	t->variables = (struct mcchk_map){0};
}

void mcchk_drop_task(struct task *t, void *at)
{
	while (t && __atomic_sub_fetch(&t->references, 1, __ATOMIC_ACQ_REL) == 0) {
		struct task *creator = t->creator;
		mcchk_end_variables(t, at);
		if (!t->started && !t->only_waits)
			MCCHK_OBJECT_END(t->objects, at);
		if (t->included)
			MCCHK_OBJECT_END(t->objects + 1, at);
		if (t->created)
			MCCHK_OBJECT_END(t->objects + 2, at);
		mcchk_drop_team(t->team);
		mcchk_free(t->dependences);
		mcchk_free(t->iterations.objects);
		mcchk_free(t);
		t = creator;
	}
}

/* NULL: no memory; then order is missing, and the report says so. */
struct task *mcchk_new_task(union ompt_data *data, struct team *team, struct task *creator)
{
	struct task *t = calloc(1, sizeof *t);
	if (!t) {
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		return NULL;
	}
	t->objects = mcchk_objects(3);
	t->references = 1;
	t->team = team;
	t->creator = creator;
	if (team)
		__atomic_add_fetch(&team->references, 1, __ATOMIC_RELAXED);
	if (creator)
		__atomic_add_fetch(&creator->references, 1, __ATOMIC_RELAXED);
	data->ptr = t;
	return t;
}

/* A task that the tool was not told of before is a thread's first. */
struct task *mcchk_task_of(union ompt_data *data)
{
	struct task *t = data ? data->ptr : NULL;
	if (t || !data)
		return t;
	t = mcchk_new_task(data, NULL, NULL);
	if (t) {
		t->strand = t->now = mcchk_strand_current();
		t->started = 1;
		mcchk_task = t;
	}
	return t;
}

/* ---- iterations that wait for one another ---- */

void mcchk_doacross(void)
{
	if (mcchk_task)
		mcchk_task->doacross++;
}

int mcchk_alone(void)
{
	const struct task *t = mcchk_task;
	return t && (!t->team || __atomic_load_n(&t->team->size, __ATOMIC_RELAXED) == 1);
}

static void keep(struct iterations *x, const uint64_t *objects, size_t count)
{
	if (x->count + count > x->room) {
		size_t room = 2 * (x->count + count);
		uint64_t *all = malloc(room * sizeof *all);
		if (!all)
			return; /* they are kept longer than they mean anything */
		for (size_t i = 0; i < x->count; i++)
			all[i] = x->objects[i];
		mcchk_free(x->objects);
		x->objects = all;
		x->room = room;
	}
	for (size_t i = 0; i < count; i++)
		x->objects[x->count++] = objects[i];
}

/* The task comes to a barrier. Where all of its team have, nobody waits for these any more. */
void mcchk_iterations_done(struct task *t)
{
	if (t->iterations.count) {
		mcchk_spin_lock(&t->team->lock);
		keep(&t->team->iterations[t->barriers % 2], t->iterations.objects, t->iterations.count);
		mcchk_spin_unlock(&t->team->lock);
	}
	mcchk_free(t->iterations.objects);
	t->iterations = (struct iterations){0};
}

void mcchk_end_iterations(struct iterations *x, void *at)
{
	for (size_t i = 0; i < x->count; i++)
		MCCHK_OBJECT_END(x->objects[i], at);
	mcchk_free(x->objects);
	*x = (struct iterations){0};
}

/* The object of an iteration of the loop in which the task is: a number that no other object
 * has, but by a chance of one in 2^62. */
static uint64_t iteration_of(const struct task *t, const struct ompt_dependence *list, int n)
{
	uint64_t h = begin_of(t->team) + t->doacross;
	for (int i = 0; i < n; i++) {
		h = (h ^ h >> 31) * 0x9E3779B97F4A7C15ull + list[i].variable.value;
		h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9ull;
	}
	return (h ^ h >> 32) | 3ull << 62;
}

/* Before others may go on that wait for the iteration, or behind having waited for it. */
static void iteration(struct task *t, const struct ompt_dependence *list, int n)
{
	struct place at = {NULL, mcchk_entry.iteration};
	uint64_t object;

	if (!t || !t->team || !t->doacross) {
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		return;
	}
	object = iteration_of(t, list, n);
	if (list[0].type == OMPT_DEPENDENCE_SINK) {
		MCCHK_ACQUIRE(object, &at);
		return;
	}
	keep(&t->iterations, &object, 1);
	MCCHK_RELEASE(object, &at);
}

/* ---- explicit tasks ---- */

void mcchk_task_create(union ompt_data *encountering, const void *frame, union ompt_data *task, int flags, int has_dependences, const void *pc)
{
	struct task *creator = mcchk_task_of(encountering);
	struct place at = place_of(pc, 0);

	(void)frame, (void)has_dependences;
	struct mcchk_entry entry = mcchk_entry;
	mcchk_entry = (struct mcchk_entry){0};
	mcchk_waits_told += (flags & OMPT_TASK_TASKWAIT) != 0;
	struct task *t = creator ? mcchk_new_task(task, creator->team, creator) : NULL;
	if (!t)
		return;
	if (flags & OMPT_TASK_TASKWAIT) {
		t->only_waits = 1;
		t->entry = entry;
		t->pc = at.pc;
		return;
	}
	__atomic_store_n(&mcchk_strands, 1, __ATOMIC_RELAXED);
	creator->created = 1;
	t->pc = at.pc;
	t->group = creator->group;
	t->barriers = creator->barriers;
	t->included = entry.included || creator->final;
	if (!t->included) {
		creator->tasks++;
		if (t->group)
			__atomic_add_fetch(&t->group->tasks, 1, __ATOMIC_RELAXED);
	}
	t->final = creator->final || (flags & OMPT_TASK_FINAL) != 0;
	if (!t->included && t->team) {
		mcchk_team_shares(t->team);
	} else if (!t->included) {
		creator->loose++;
		mcchk_strands_more(0);
	}
	MCCHK_FORK(t->objects, &at);
	if (t->included)
		mcchk_strand_waits(t->objects + 1, 0, 1, &at);
}

static uint64_t objects_of(struct task *creator, uint64_t variable)
{
	void *known = mcchk_map_get(&creator->variables, variable);
	if (!known) {
		known = (void *)(uintptr_t)mcchk_objects(3);
		mcchk_map_set(&creator->variables, variable, known);
	}
	return (uint64_t)(uintptr_t)known;
}

void mcchk_dependences(union ompt_data *task, const struct ompt_dependence *list, int n)
{
	struct task *t = task ? task->ptr : NULL;
	if (n > 0 && (list[0].type == OMPT_DEPENDENCE_SOURCE || list[0].type == OMPT_DEPENDENCE_SINK)) {
		iteration(t, list, n);
		return;
	}
	struct dependence *d = t && t->creator && !t->started ? calloc((size_t)n, sizeof *d) : NULL;

	if (!d) {
		mcchk_noticed(MCCHK_REGIONS, MCCHK_FRAME);
		return;
	}
	for (int i = 0; i < n; i++)
		d[i] = (struct dependence){objects_of(t->creator, list[i].variable.value), list[i].type};
	mcchk_free(t->dependences);
	t->dependences = d;
	t->dependence_count = n;
}

static void wait_for_dependences(const struct task *t, void *at)
{
	for (int i = 0; i < t->dependence_count; i++) {
		const struct dependence *d = &t->dependences[i];
		MCCHK_ACQUIRE(d->objects, at);
		if (d->type != OMPT_DEPENDENCE_IN)
			MCCHK_ACQUIRE(d->objects + 1, at);
		if (d->type != OMPT_DEPENDENCE_INOUTSET)
			MCCHK_ACQUIRE(d->objects + 2, at);
	}
}

/* What waits for the task may go on. */
static void release_task(const struct task *t, void *at)
{
	for (int i = 0; i < t->dependence_count; i++) {
		const struct dependence *d = &t->dependences[i];
		MCCHK_RELEASE(d->objects + (d->type == OMPT_DEPENDENCE_IN ? 1 : d->type == OMPT_DEPENDENCE_INOUTSET ? 2 : 0), at);
	}
	if (t->included) {
		MCCHK_RELEASE(t->objects + 1, at);
		return;
	}
	__atomic_add_fetch(&t->creator->over, 1, __ATOMIC_ACQ_REL); /* before that is noted (wait_for_tasks) */
	MCCHK_RELEASE(t->creator->objects + 2, at);
	if (t->group) {
		__atomic_add_fetch(&t->group->over, 1, __ATOMIC_ACQ_REL);
		MCCHK_RELEASE(t->group->object, at);
	}
	if (t->team)
		MCCHK_RELEASE(barrier_of(t->team, t->barriers), at);
}

static void resume(struct task *t)
{
	struct place at = {NULL, t->pc};
	mcchk_task = t;
	if (t->started) {
		if (!t->waits && t->now != mcchk_strand_current()) {
			mcchk_strand_switch(t->now, &at);
			mcchk_stack_passes((uintptr_t)MCCHK_FRAME + BETWEEN, &at);
		}
		return;
	}
	t->started = 1;
	t->strand = t->now = mcchk_strand_new();
	mcchk_strand_switch(t->now, &at);
	MCCHK_ACQUIRE(t->objects, &at);
	MCCHK_OBJECT_END(t->objects, &at);
	wait_for_dependences(t, &at);
	if (!t->included) /* the program itself may call that */
		mcchk_stack_passes((uintptr_t)MCCHK_FRAME + BETWEEN, &at);
}

ompt_get_task_memory mcchk_task_memory;

/* The copies of variables that the task under way has for itself lie where the library puts those
 * of a task that is made later. */
static void private_copies_end(void *at)
{
	void *block = NULL;
	size_t size = 0;
	for (int i = 0, more = 1; mcchk_task_memory && more; i++) {
		more = mcchk_task_memory(&block, &size, i);
		if (block && size > 0)
			mcchk_memory_passes((uintptr_t)block, size, at);
		if (!block)
			break;
		block = NULL;
	}
}

void mcchk_task_schedule(union ompt_data *prior_data, int status, union ompt_data *next_data)
{
	struct task *prior = prior_data ? prior_data->ptr : NULL, *next = next_data ? next_data->ptr : NULL;
	int explicit = prior && prior->creator, done = 0, over = 0;

	switch (status) {
	case OMPT_STATUS_COMPLETE:
	case OMPT_STATUS_CANCEL:
		done = over = explicit;
		break;
	case OMPT_STATUS_DETACH: /* what ends it has not happened yet */
		done = explicit;
		break;
	case OMPT_STATUS_LATE_FULFILL: /* has happened */
		over = explicit;
	}
	struct place at = {NULL, prior ? prior->pc : 0};
	if (done && prior->started && next && next->waits) /* which tells nothing until it goes on */
		mcchk_stack_passes((uintptr_t)MCCHK_FRAME + BETWEEN, &at);
	if (done && over && prior->started)
		private_copies_end(&at);
	if (status == OMPT_STATUS_TASKWAIT_COMPLETE && explicit) {
		wait_for_dependences(prior, &at);
		mcchk_entry = prior->entry;
	} else if (done || over || (status == OMPT_STATUS_EARLY_FULFILL && explicit))
		release_task(prior, &at);
	if (done && prior->started)
		mcchk_strand_over(prior->strand, &at);
	if (next)
		resume(next);
	if (done && prior->included)
		MCCHK_ACQUIRE(prior->objects + 1, &at);
	if (over || (status == OMPT_STATUS_TASKWAIT_COMPLETE && explicit)) {
		prior_data->ptr = NULL;
		mcchk_drop_task(prior, &at);
	}
}
