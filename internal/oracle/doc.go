// Package oracle is the second opinion of mcchk's own tests: a brute-force
// checker of the detection model and a generator of random small programs. It
// is imported by tests only, and shares no code with the engine.
//
// A Program is the history of one run that could really happen: the calls,
// loads and stores of all processes in the order in which a random scheduler
// let them begin. Generate makes one, Files writes it as trace files, Races
// says which pairs of source places conflict, Shrink makes a failing one
// small, and PermuteRanks, MoveMemory and SplitPut change it without changing
// the answer.
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
//  3. MPI_MODE_NOCHECK changes nothing; it is not generated.
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
//     and writes them where it leaves, after it has waited. So the two buffers
//     of one MPI_Sendrecv or MPI_Allreduce never conflict with each other.
//     MPI_IN_PLACE makes the receive buffer one that is read and written.
//     MPI_Reduce writes at the root only.
//  10. MPI_Recv and MPI_Sendrecv write the bytes they received (the status says
//     how many), which may be fewer than the buffer holds. MPI_Irecv writes its
//     whole buffer from the call to its completion: no part of it may be
//     touched (S, 3.7.2).
//  11. MPI_Isend reads its buffer until the call that completes it, also when
//     an answer shows that the message has been received.
//  12. MPI_Ssend completes after the matching receive was begun (MPI_Recv,
//     MPI_Sendrecv) or posted (MPI_Irecv).
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
//     no bytes and order as ever; the generator gives counts of 0 to one-sided
//     operations only.
//  17. MPI_Win_create, MPI_Win_allocate, MPI_Win_free and MPI_Win_fence order the
//     members of their communicator all to all, and complete operations before.
//  18. Operations to, and messages with, MPI_PROC_NULL are not generated.
package oracle
