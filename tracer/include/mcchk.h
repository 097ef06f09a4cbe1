/* mcchk.h - order that no MPI call shows, declared to mcchk
 *
 * For programs whose processes synchronize by polling: a flag that a put sets, a
 * lock built from compare-and-swap, a counter. What a process did before
 * mcchk_signal happens before what another does after the matching mcchk_wait.
 * See "Order that no MPI call shows" in the user guide.
 *
 * These are calls of MPI_Pcontrol, which does nothing in a program that is not
 * compiled with mcchk cc; no library is needed.
 */
#ifndef MCCHK_H
#define MCCHK_H

#include <mpi.h>

/* Signal on, and wait for, a resource: a number from 0 to 62 at a process of a
 * window. Signal before the operation that others look for (the release of a
 * lock, the flag), and after the flush that completes what they are to find. Wait
 * after the loop that found it. A wait waits for all signals so far. */
#define mcchk_signal(win, rank, resource) MPI_Pcontrol(7101, (win), (int)(rank), (int)(resource))
#define mcchk_wait(win, rank, resource) MPI_Pcontrol(7102, (win), (int)(rank), (int)(resource))

/* Signal to, and wait for, a process: the n-th wait for a process, with a tag,
 * matches that process's n-th signal to this one with the tag. */
#define mcchk_signal_process(comm, rank, tag) MPI_Pcontrol(7103, (comm), (int)(rank), (int)(tag))
#define mcchk_wait_process(comm, rank, tag) MPI_Pcontrol(7104, (comm), (int)(rank), (int)(tag))

#endif
