/* What the entry points of OpenMP (openmp.c) and its interface for tools (ompt.c) share. */
#ifndef MCCHK_OPENMP_H
#define MCCHK_OPENMP_H

#include "calls.h"

/* What an entry point tells the tool's call-backs, which do not know it. */
struct mcchk_entry {
	uintptr_t pc; /* where the program called; 0: as the call-back says */
	int included; /* the task that is about to be made is executed at once */
	uintptr_t iteration; /* where the program last waited for an iteration of a loop, or let others go on */
};
extern __thread struct mcchk_entry mcchk_entry;
extern __thread uint32_t mcchk_waits_told; /* how often OMPT told that a task waits for dependences */

/* The calling thread begins a section of its implicit task, or ends the last one (0). */
void mcchk_section(int begins, void **frame);

/* Has another strand than the calling thread's note the return of a function, if that has
 * executed sections since the last barrier: it comes after them. Then mcchk_sections_back
 * is to be called. */
int mcchk_sections_aside(void *at);
void mcchk_sections_back(void *at);

/* The calling thread begins a loop whose iterations wait for one another (doacross). */
void mcchk_doacross(void);
int mcchk_outside(void); /* the calling thread is in no parallel region */
int mcchk_alone(void); /* the team of the calling thread has no other */

#endif
