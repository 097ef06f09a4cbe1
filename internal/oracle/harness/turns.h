/* What generated programs share: their memory, their handles, and the order in
 * which their processes take turns. See turns.c. */
#ifndef TURNS_H
#define TURNS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MOST 64 /* handles of a kind in one program; the emitter checks it */

extern char *mem;              /* the process's memory: the same address in all */
extern MPI_Win win[MOST];
extern char *base[MOST];       /* of windows: the memory that the library allocated */
extern char *shared[MOST][16];  /* of shared windows: where each member's part is seen */
extern MPI_Comm comm[MOST], no_comm;
extern MPI_Datatype type[MOST];
extern MPI_Request req[MOST], copies[MOST], no_request;
extern MPI_Message message[MOST];
extern MPI_Status status[MOST];
extern int flag, idx, count, indices[MOST];

/* Says which part of which program runs. It also keeps compilers from making
 * one function of two parts that are alike. */
void turn_program(const char *part);
/* Waits for turn k, which ends with turn_pass. */
void turn_take(int k);
void turn_pass(void);
/* Waits until turn k has begun. */
void turn_await(int k);

/* What the next call that leaves it open is to show: the rank that a wildcard
 * receive gets its message from; the flag of a test, or whether a cancel
 * succeeds; the indices that a Waitany, Waitsome, Testany or Testsome tells. */
void force_source(int rank);
void force_flag(int flag);
void force_done(int n, const int *indices);

/* The group of these world ranks. */
MPI_Group group_of(int n, const int *ranks);
/* The info of a window. */
MPI_Info window_info(const char *accumulate_ops, const char *accumulate_ordering);
/* Fills in shared[w] of a window with n members. */
void shared_parts(int w, int n);

#define LOAD(type, at) ((void)*(volatile type *)(at))
#define STORE(type, at) (*(volatile type *)(at) = 1)
#define LOADS(type, at, stride, n) do { for (int k_ = 0; k_ < (n); k_++) LOAD(type, (at) + k_ * (stride)); } while (0)
#define STORES(type, at, stride, n) do { for (int k_ = 0; k_ < (n); k_++) STORE(type, (at) + k_ * (stride)); } while (0)

struct program {
	void (*run)(int rank);
	const char *name;
};
extern const struct program programs[];

#endif
