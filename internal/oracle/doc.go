// Package oracle is the second opinion of mcchk's own tests: a brute-force
// checker of the detection model and a generator of random small programs. It
// is imported by tests only, and shares no code with the engine.
//
// A Program is the history of one run that could really happen: the calls,
// loads and stores of all processes in the order in which a random scheduler
// let them begin. Generate makes one, Files writes it as trace files, Races
// says which pairs of source places conflict, Shrink makes a failing one
// small, and PermuteRanks, MoveMemory, SplitPut, SplitRun and BarriersAsMessages
// change it without changing the answer.
//
// # How it decides
//
// Every access is a set of single bytes, every pair of accesses is looked at,
// and happens-before is the transitive closure of an explicit graph. A call
// has four points in that graph, one after the other: it reads its buffers and
// completes operations (enter), signals, waits, and writes its buffers (leave).
// There are no clocks and no regions.
//
// # Choices
//
// Where the detection model is silent or leaves room, this package reads it as
// follows; S means that the MPI standard (4.1) decided.
//
//  1. The post → start, unlock → lock order is the observed one. A lock with
//     ticket k waits for every lock epoch of the same window and target with a
//     smaller ticket which it excludes. mcchk_Lock_ticket counts as a shared
//     lock acquired just before the operation that follows it and released at
//     the MPI_Win_unlock_all. A lock_all epoch without a ticket for a target
//     takes no part in the order of the locks of that target.
//  2. Locks exclude accesses of different processes only, and only accesses
//     that lie whole inside the lock epoch: issued after the lock, complete at
//     or before the unlock. They exclude at the locked window and target only
//     (S, 12.5.3: "at the window site"): an operation's access to its target is
//     protected by the lock epoch on that window and target; a load, a store, or
//     a buffer of another call by lock epochs on its own process's rank; a buffer
//     of an operation by the operation's own epoch where that covers its process
//     (MPI_Win_lock_all, or an operation to itself). What else lock epochs
//     order, choice 1 says. A lock_all epoch is a shared lock on every target
//     for its whole length.
//  3. A lock with MPI_MODE_NOCHECK (MPI_Win_lock_all's too) takes no lock: it
//     neither excludes nor orders, though the tracer draws its ticket. A start
//     with MPI_MODE_NOCHECK does not wait for its posts: what put them before it,
//     as the program vouches, must be another synchronization.
//  4. A fence with MPI_MODE_NOPRECEDE orders no processes, but an operation
//     issued after it accesses its target "only after MPI_Win_fence has been
//     called by the target process" (S, 12.5.1): its target access starts when
//     both it is issued and the target has called the matching fence. Its
//     buffers start when it is issued. Such a fence completes nothing.
//  5. MPI_Win_flush_local completes buffers. An operation that only reads at its
//     target (a get, or a fetch with MPI_NO_OP) is then complete there as well:
//     its data could not have arrived otherwise (S, 12.5.4; the model's table
//     says so for Rget).
//  6. For the same reason such an operation completes at MPI_Win_complete; all
//     others complete at the target's MPI_Win_wait.
//  7. MPI_Win_test with flag 0 is no event. With flag 1 it is MPI_Win_wait.
//  8. The accesses of one operation (buffers and target) are accesses like any
//     other: they are concurrent with each other, and a put that copies within
//     one process's memory onto itself conflicts with itself. The pair then
//     names the same place twice. (S: the buffers must be disjoint.)
//     Bytes that one access names twice are no conflict.
//  9. A blocking call reads its buffers where it enters, before it signals,
//     and writes them where it leaves, after it has waited. Where two of them
//     overlap, what it reads is in use until it writes, and they conflict with each
//     other (S, 2.3 and 3.10: they must be disjoint).
//     MPI_IN_PLACE makes the receive buffer one that is read and written; a
//     process's own part, which a Gather's or Scatter's root leaves where it is,
//     is not accessed. MPI_Reduce writes at the root only. MPI_Exscan does not
//     write at rank 0, whose receive buffer is not significant (S, 6.11.2).
//  10. A blocking receive writes the bytes it received (the status says how
//     many), which may be fewer than the buffer holds. A non-blocking receive
//     writes its whole buffer from the call to its completion: no part of it may
//     be touched (S, 3.7.2), also when it is then cancelled.
//  11. A non-blocking send reads its buffer until the call that completes it, also
//     when an answer shows that the message has been received. That of a request
//     freed while active is complete where it was freed and the message has been
//     received (S, 3.7.4, example of MPI_Request_free).
//  12. A synchronous send completes after the matching receive was begun or
//     posted, for a message matched by a probe after its MPI_Mrecv or MPI_Imrecv.
//     The mode of a send makes no other difference.
//  13. Atomic accesses: when any element shared by the two has different basic
//     types or different first bytes, the pair is an error; otherwise, when the
//     operations differ and neither is MPI_NO_OP, a warning. One pair of
//     accesses has one kind; a pair of places may have both, from different
//     accesses of its calls. The basic type is the predefined type by name:
//     MPI_INT and MPI_FLOAT differ. Two atomic reads never conflict.
//  14. Accumulates from one origin to one target whose shared elements match
//     are ordered, whatever their operations, MPI_Compare_and_swap included.
//  15. Atomicity and accumulate ordering hold for operations on one window
//     only. Atomic accesses to the same bytes through two overlapping windows
//     are an error unless both read (S, 12.2.1: "concurrent communications to
//     distinct, overlapping windows may lead to undefined results").
//  16. MPI_Init and MPI_Finalize order nothing. Calls with a count of 0 touch
//     no bytes and order as ever.
//  17. Making and freeing windows, MPI_Win_fence, and making communicators (also
//     between two groups, then all members of both) order their members all to
//     all, and complete operations before. MPI_Comm_free orders nothing, and so do
//     MPI_Win_attach and MPI_Win_detach. An operation on memory that is detached is an
//     error unless it is complete before, as where another strand issues it beside
//     the call that ends its epoch.
//  18. What names MPI_PROC_NULL touches and orders nothing.
//  19. A non-blocking or persistent operation signals where it is started and
//     waits where it is completed; its buffers are accessed all the time between
//     and, where it reads and writes one buffer (MPI_IN_PLACE,
//     MPI_Isendrecv_replace), written. All of a buffer counts, a root's own part
//     too: none of it may be touched (S, 6.12). The place of an access is that of
//     the call that starts it, MPI_Start for a persistent one.
//  20. A request is complete at the first Wait or Test that says so, or at an
//     MPI_Request_get_status with flag 1 (S, 3.7.6). Calls with flag 0 are no
//     events.
//  21. A probe that finds a message comes after its send (S, 3.8.1: there is a
//     message that can be received): the next of its communicator, source and tag
//     that no receive posted before takes.
//  22. MPI_Cancel takes a receive back that no message has been sent to; it then
//     takes no part in matching.
//  23. A persistent collective operation matches by the order of the
//     initializations, and then by the number of its start (S, 6.13).
//  24. On an intercommunicator collective calls order processes of one group after
//     those of the other only, in the direction of the root (S, 6.2.3).
//  25. Neighbourhood collectives order a process after its sources, and touch
//     nothing for MPI_PROC_NULL. Without any destination nothing is sent.
//  26. A partitioned send reads a partition from MPI_Pready to its completion, and
//     its accesses have the place of that call; the receive writes a partition
//     until MPI_Parrived finds it arrived, or to its completion. MPI_Pready comes
//     before that (S, 4.2).
//  27. Memory of a shared window is its owner's, whoever accesses it. A lock of
//     that window and the owner protects loads, stores and buffers in it (S,
//     12.5.3: "load/store accesses to a locked local or shared memory window");
//     locks of other windows do not.
//  28. With accumulate_ops=same_op, MPI_NO_OP is an operation like any other:
//     together with another one a warning. Of accumulate_ordering, what an
//     operation needs is what it does: MPI_REPLACE writes, MPI_NO_OP reads,
//     others do both.
//  29. A pair type is one basic type; its hole is not accessed.
//  30. A message, window or buffer is only used as MPI allows, but for races and
//     for buffers of one call that overlap.
//  31. A process may have several strands (Threaded): program order is that of a
//     strand, and a release of an object comes before all later acquires of it. A
//     call completes the operations that come before it in happens-before; where
//     several do, an access is complete before whatever comes after one of them.
//     Of the order of accumulates (choice 14) only those have a share of which one
//     is issued before the other. Two loads or stores of one process never conflict.
//  32. What several strands of a process use, they use one after the other, as MPI
//     asks for: requests, the epochs of a window, a communicator's collective calls,
//     sides of a channel. Messages match in the order in which they were begun. Several
//     strands may complete operations on a window beside each other, but an unlock comes
//     after all that is done under its lock.
package oracle
