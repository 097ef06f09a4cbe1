/* Teams and tasks of OpenMP (ompt.c, tasks.c). */
#ifndef MCCHK_TASKS_H
#define MCCHK_TASKS_H

#include "openmp.h"
#include "ompt.h"

#pragma GCC visibility push(hidden)

#define TEAM_OBJECTS (1u << 20) /* its numbers: two, and one for each barrier, in turn */

/* Objects of iterations that others may wait for. */
struct iterations {
	uint64_t *objects;
	size_t count, room;
};

/* The implicit tasks of a parallel region. */
struct team {
	uint64_t objects;
	uint64_t outside;  /* the strand that goes on behind the region */
	uint64_t barriers; /* that its first task has passed, at its end */
	uint64_t *strands; /* its tasks', as many as there are; atomic */
	unsigned size, begun; /* atomic */
	int shares;           /* its strands may be at work beside one another: noted by its only thread, or before it begins */
	int lock, over;       /* over: the region is; changed under the lock */
	struct iterations iterations[2]; /* before its last barriers, in turn; under the lock */
	uintptr_t pc;
	int references; /* atomic, as that of tasks */
};

static inline uint64_t begin_of(const struct team *t) { return t->objects; }
static inline uint64_t end_of(const struct team *t) { return t->objects + 1; }
static inline uint64_t barrier_of(const struct team *t, uint64_t n) { return t->objects + 2 + n % (TEAM_OBJECTS - 2); }

struct group { /* a taskgroup */
	uint64_t object;
	uint64_t tasks, over; /* atomic */
	struct group *outer;
};

/* A dependence of a task: three objects of the variable for the tasks that its creator
 * makes. They are released by tasks that exclude others, that only read, and that are of
 * a set. */
struct dependence {
	uint64_t objects;
	int type;
};

struct task {
	struct team *inner; /* of the region that it has begun */
	uint64_t objects; /* three numbers: of its beginning, its end when its creator waits for it, and its children's ends */
	uint64_t strand;
	uint64_t now; /* its strand, or that of the section in which it is */
	uint64_t section_object;
	uint64_t sections_over; /* since its last barrier; 0: there were none */
	struct team *team;
	struct task *creator;
	struct group *group;
	uint64_t barriers; /* of its team that were passed when it was made, or that it has passed */
	struct mcchk_map variables; /* of its children's dependences */
	struct dependence *dependences;
	int dependence_count;
	int index; /* of an implicit task */
	uint64_t tasks, over; /* that it has made and does not execute at once, and those that are over (atomic) */
	uint64_t doacross; /* loops of an implicit task whose iterations wait for one another */
	struct iterations iterations; /* of these, since its last barrier */
	int loose; /* outside of regions: tasks that it has made and not waited for */
	int included, final, started, created; /* created: it has made tasks */
	int only_waits;                        /* stands for its creator, which waits for dependences, */
	struct mcchk_entry entry;              /* and goes on with that then */
	int waits;                             /* it does nothing before the construct that it is in is over */
	uintptr_t pc;
	int references;
};

extern __thread struct task *mcchk_task; /* that the thread executes */
extern ompt_get_task_memory mcchk_task_memory; /* NULL: the library cannot tell */

/* Bytes of the OpenMP library's own on the stack, from the call-backs up to where a task
 * begins: at least what there is. */
#define BETWEEN 256

/* The frame of a note: it stands where the program called the OpenMP library. */
struct place {
	const void *next;
	uintptr_t pc;
};

static inline struct place place_of(const void *pc, uintptr_t otherwise)
{
	return (struct place){NULL, mcchk_entry.pc ? mcchk_entry.pc : pc ? (uintptr_t)pc : otherwise};
}

struct task *mcchk_new_task(union ompt_data *data, struct team *team, struct task *creator);
struct task *mcchk_task_of(union ompt_data *data);
void mcchk_team_shares(struct team *team);
void mcchk_drop_team(struct team *t);
void mcchk_drop_task(struct task *t, void *at);
void mcchk_end_variables(struct task *t, void *at);
void mcchk_iterations_done(struct task *t);
void mcchk_end_iterations(struct iterations *x, void *at);

/* ---- call-backs of OMPT that are about explicit tasks ---- */

void mcchk_task_create(union ompt_data *encountering, const void *frame, union ompt_data *task, int flags, int has_dependences, const void *pc);
void mcchk_dependences(union ompt_data *task, const struct ompt_dependence *list, int n);
void mcchk_task_schedule(union ompt_data *prior_data, int status, union ompt_data *next_data);

#pragma GCC visibility pop
#endif
