/* The part of OpenMP's interface for tools (OMPT, OpenMP 5.2, chapter 19) that openmp.c
 * uses, so that no header of an OpenMP library is needed to build the run-time. */
#ifndef MCCHK_OMPT_H
#define MCCHK_OMPT_H

union ompt_data {
	uint64_t value;
	void *ptr;
};

enum {
	OMPT_PARALLEL_BEGIN = 3,
	OMPT_PARALLEL_END = 4,
	OMPT_TASK_CREATE = 5,
	OMPT_TASK_SCHEDULE = 6,
	OMPT_IMPLICIT_TASK = 7,
	OMPT_SYNC_REGION_WAIT = 16,
	OMPT_MUTEX_RELEASED = 17,
	OMPT_DEPENDENCES = 18,
	OMPT_SYNC_REGION = 23,
	OMPT_LOCK_INIT = 24,
	OMPT_LOCK_DESTROY = 25,
	OMPT_MUTEX_ACQUIRED = 27,
};

enum { OMPT_SET_ALWAYS = 5 };
enum { OMPT_BEGIN = 1, OMPT_END = 2 };
enum { OMPT_TASK_INITIAL = 1, OMPT_TASK_TASKWAIT = 0x10, OMPT_TASK_FINAL = 0x20000000 };
enum {
	OMPT_STATUS_COMPLETE = 1,
	OMPT_STATUS_CANCEL = 3,
	OMPT_STATUS_DETACH = 4,
	OMPT_STATUS_EARLY_FULFILL = 5,
	OMPT_STATUS_LATE_FULFILL = 6,
	OMPT_STATUS_TASKWAIT_COMPLETE = 8,
};
enum { OMPT_SYNC_TASKWAIT = 5, OMPT_SYNC_TASKGROUP = 6, OMPT_SYNC_REDUCTION = 7 }; /* all others are barriers */
enum { OMPT_DEPENDENCE_IN = 1, OMPT_DEPENDENCE_SOURCE = 5, OMPT_DEPENDENCE_SINK = 6, OMPT_DEPENDENCE_INOUTSET = 7 }; /* all others exclude one another */

struct ompt_dependence {
	union ompt_data variable;
	int type;
};

typedef void *(*ompt_lookup)(const char *name);
typedef int (*ompt_set_callback)(int which, void (*callback)(void));
typedef int (*ompt_get_task_memory)(void **lo, size_t *size, int block); /* returns whether there are more */

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup lookup, int device, union ompt_data *data);
	void (*finalize)(union ompt_data *data);
	union ompt_data tool_data;
};

#endif
