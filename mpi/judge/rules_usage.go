package judge

import "github.com/mcchk/mcchk/conflicts"

// The rules for usage errors: calls that MPI forbids where they stand, so that
// what comes of them is not defined, whatever the timing of the run.

var outsideEpoch = conflicts.Rule{
	ID:       conflicts.RuleOutsideEpoch,
	Title:    "a one-sided call is made outside any epoch",
	Severity: conflicts.Error,
	Text: `A one-sided operation is called while no access epoch of the process covers its target. Such operations are allowed only between the synchronization calls that open and close an access epoch on the window (section 12.5): two fences, MPI_Win_start and MPI_Win_complete with the target in the group, MPI_Win_lock and MPI_Win_unlock of the target, or MPI_Win_lock_all and MPI_Win_unlock_all. An operation outside any epoch is never completed.

A fence with MPI_MODE_NOSUCCEED opens no epoch (section 12.5.5). A lock epoch covers only the locked target. The request-based calls (MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate) are allowed in lock epochs only (section 12.3.5).`,
	Wrong: `MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Put(&b, 1, MPI_INT, 2, 0, 1, MPI_INT, win); // rank 2 is not locked
MPI_Win_unlock(1, win);`,
	Right: `MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Put(&b, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
MPI_Win_unlock(2, win);
MPI_Win_unlock(1, win);`,
	Fix: "Move the call between the calls that open and close an epoch, or open an epoch for its target first.",
}

var outsideWindow = conflicts.Rule{
	ID:       conflicts.RuleOutsideWindow,
	Title:    "a one-sided operation accesses memory outside the window",
	Severity: conflicts.Error,
	Text: `The bytes that an operation accesses at its target do not all lie in the target's part of the window. They start at the target's base address, plus the target displacement times the target's displacement unit, and must be contained in the window (section 12.3). Each process chooses the size of its own part, which may be zero. Only the bytes of the target datatype count; its holes may lie anywhere.

In a dynamic window the displacement is an address at the target (MPI_Get_address there), and the bytes must lie in memory that the target has attached and not detached (section 12.2.4).

Such an operation may overwrite other memory of the target, crash the program, or appear to work.`,
	Wrong: `int memory[10];
MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);
MPI_Win_fence(0, win);
MPI_Put(&x, 1, MPI_INT, 1, 10, 1, MPI_INT, win); // the last element is 9
MPI_Win_fence(0, win);`,
	Right: `int memory[10];
MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);
MPI_Win_fence(0, win);
MPI_Put(&x, 1, MPI_INT, 1, 9, 1, MPI_INT, win);
MPI_Win_fence(0, win);`,
	Fix: "Correct the target displacement (in units of the target's disp_unit, not in bytes unless that is 1), the count or the datatype; or let the target expose a larger part; in a dynamic window, let the target attach the memory first.",
}

var notOpened = conflicts.Rule{
	ID:       conflicts.RuleNotOpened,
	Title:    "a synchronization call has no matching call that opens its epoch",
	Severity: conflicts.Error,
	Text:     `A call that closes an epoch, or is allowed only within one, is made while no such epoch is open: MPI_Win_unlock of a target that is not locked, MPI_Win_unlock_all without MPI_Win_lock_all, MPI_Win_complete without MPI_Win_start, MPI_Win_wait or MPI_Win_test without MPI_Win_post (sections 12.5.2 and 12.5.3), or a flush outside a lock epoch (section 12.5.4). The call completes nothing, so the operations that it was meant to complete are still pending.`,
	Wrong: `MPI_Win_lock_all(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_unlock(1, win);`,
	Right: `MPI_Win_lock_all(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_unlock_all(win);`,
	Fix: "Open the epoch first, on the same window and for the same target; or remove the call.",
}

var mixedEpochs = conflicts.Rule{
	ID:       conflicts.RuleMixedEpochs,
	Title:    "epochs on one window overlap",
	Severity: conflicts.Error,
	Text: `A process opens an access epoch on a window while another of its access epochs on the same window is open. Access epochs of a process on one window must be disjoint, and so must its exposure epochs (section 12.5). Only lock epochs of different targets may be open at the same time, and none together with MPI_Win_lock_all. A process's part of a window must not be locked and exposed (between MPI_Win_post and MPI_Win_wait) at the same time (section 12.5.3).

A fence opens an epoch only if operations follow it: a lock or MPI_Win_start right after a fence is allowed. Once operations have been issued, another fence has to close the epoch first. Epochs on different windows are independent.`,
	Wrong: `MPI_Win_fence(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);       // the fence epoch is still open
MPI_Put(&b, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
MPI_Win_unlock(2, win);`,
	Right: `MPI_Win_fence(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
MPI_Put(&b, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
MPI_Win_unlock(2, win);`,
	Fix: "Close the open epoch before opening the next, or use a second window over the same memory.",
}

var neverClosed = conflicts.Rule{
	ID:       conflicts.RuleNeverClosed,
	Title:    "an epoch is never closed",
	Severity: conflicts.Error,
	Text:     `An epoch is open when its window is freed or the process calls MPI_Finalize: a lock without unlock, MPI_Win_start without MPI_Win_complete, MPI_Win_post without MPI_Win_wait, or operations after a fence that no other fence follows. Each call that opens an epoch has to be matched by the one that closes it (section 12.5); the window may be freed only when the process has completed its part in all communication on it (section 12.2.5). Operations of such an epoch may never reach their target, and a lock is never released.`,
	Wrong: `MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_flush(1, win);
MPI_Win_free(&win);`,
	Right: `MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_unlock(1, win);
MPI_Win_free(&win);`,
	Fix: "Call MPI_Win_unlock, MPI_Win_unlock_all, MPI_Win_complete, MPI_Win_wait or MPI_Win_fence after the last operation of the epoch.",
}

var freedPending = conflicts.Rule{
	ID:       conflicts.RuleFreedPending,
	Title:    "a window is freed while operations on it are pending",
	Severity: conflicts.Error,
	Text:     `MPI_Win_free is called while operations that the process issued on the window are not complete: the epoch that they belong to is still open, and no flush completed them. A process may free a window only after it has completed its part in all communication on it (section 12.2.5). MPI_Win_free completes nothing: the data may never arrive, or may be written to memory that is in use for something else by then.`,
	Wrong: `MPI_Win_fence(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_free(&win);`,
	Right: `MPI_Win_fence(0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
MPI_Win_free(&win);`,
	Fix: "Close the epoch (fence, unlock, complete) before MPI_Win_free.",
}

var memoryGone = conflicts.Rule{
	ID:       conflicts.RuleMemoryGone,
	Title:    "memory of a pending operation is freed or goes out of scope",
	Severity: conflicts.Error,
	Text: `Memory is released while an operation may still access it. Either the buffer of a pending one-sided operation, message or collective call is freed, or is a local variable of a function that returns; or window memory is freed, or detached from a dynamic window, while operations of other processes on it may be in flight, or freed before later ones. The memory must stay valid until the operation completes (section 3.7.2 for messages, section 12.3 for one-sided operations), and window memory until MPI_Win_free or MPI_Win_detach (sections 12.2.4 and 12.2.5). A block of the symmetric heap of OpenSHMEM must stay until the operations of all contexts on it are complete: the barrier with which shmem_free begins completes those of the default context (OpenSHMEM 1.5, section 9.3). Whatever is stored there next may be sent, or be overwritten.

The second place in the report is where the memory was freed or detached, or the function that returned.`,
	Wrong: `void send_mark(MPI_Win win) {
    int mark = 1;
    MPI_Put(&mark, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
}                                // mark is gone, the put is pending

send_mark(win);
MPI_Win_fence(0, win);`,
	Right: `void send_mark(MPI_Win win) {
    static const int mark = 1;
    MPI_Put(&mark, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
}

send_mark(win);
MPI_Win_fence(0, win);`,
	Fix: "Complete the operation before the memory is released (close the epoch, flush, or wait for the request), or keep the memory for longer.",
}

var callOrder = conflicts.Rule{
	ID:       conflicts.RuleCallOrder,
	Title:    "processes make collective calls in different orders",
	Severity: conflicts.Error,
	Text: `All members of a communicator must make the same collective calls on it, in the same order and with the same root (section 6.14 and the descriptions of the calls), and so must all members of a window (fences, MPI_Win_free). MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED must be asserted by all members or by none (section 12.5.5). Blocking calls on different communicators or windows must come in the same order as well, since each may wait for all members: a program that could deadlock is wrong even where the MPI library does not deadlock.

After such calls it is undefined what the processes exchange and what is ordered; conflicts found after that point may be consequences.`,
	Wrong: `if (rank == 0) {
    MPI_Barrier(comm);
    MPI_Win_fence(0, win);
} else {
    MPI_Win_fence(0, win);
    MPI_Barrier(comm);
}`,
	Right: `MPI_Barrier(comm);
MPI_Win_fence(0, win);`,
	Fix: "Let all members make the same collective calls in the same order.",
}

var dataMismatch = conflicts.Rule{
	ID:       conflicts.RuleData,
	Title:    "the data of a one-sided operation are not described as they have to be",
	Severity: conflicts.Error,
	Text: `A one-sided operation moves data as a message would: what one side sends must fit, without truncation, into what the other side takes, and both must have the same basic datatypes in the same order (section 12.3.1 for MPI_Put, 12.3.2 for MPI_Get; section 3.3.1 for matching types). An MPI_Get of ten elements into a buffer of five overwrites memory behind the buffer, or fails.

All data of an accumulate, at its origin, its target and in its result, must be of one and the same predefined datatype (section 12.3.4): a structure of integers and floating-point numbers cannot be combined.

Where data arrive, at the target of a put or an accumulate and in the buffer that a get or a fetching accumulate fills, the datatype must not name one place twice (sections 12.3.1, 12.3.2 and 4.1.11): which of the two elements is left there is not defined.

mcchk compares sizes, and basic datatypes where a side has only one; MPI_BYTE and other datatypes of one byte fit all but accumulates.`,
	Wrong: `int values[5];
MPI_Get(values, 5, MPI_INT, 1, 0, 10, MPI_INT, win); // 40 bytes into 20`,
	Right: `int values[10];
MPI_Get(values, 10, MPI_INT, 1, 0, 10, MPI_INT, win);`,
	Fix: "Give counts and datatypes that describe the same data at the origin and at the target, each element with a place of its own where they arrive.",
}

var falseAssertion = conflicts.Rule{
	ID:       conflicts.RuleAssertion,
	Title:    "a call asserts what does not hold",
	Severity: conflicts.Warning,
	Text: `A synchronization call gives an assertion that the run contradicts. Assertions change nothing about what a correct program means, but an MPI library may rely on them (section 12.5.5): with a false one the program is wrong, even where the library in use ignores assertions and the program works with it.

MPI_MODE_NOSTORE of a fence or post says that the process itself has not changed its part of the window, by stores, gets or receives, since its last synchronization of the window; what others put there does not count. MPI_MODE_NOPUT says that no put or accumulate, the process's own included, updates its part in the epoch that begins. MPI_MODE_NOCHECK of a start says that the matching posts have been made before; both calls assert it or neither. MPI_MODE_NOCHECK of a lock says that no other process holds or requests a conflicting lock while this one is held.

MPI_MODE_NOPRECEDE of a fence says that it completes no operation of the process, which it would if there were one since the fence before; mcchk takes such an operation for pending until a later fence. MPI_MODE_NOSUCCEED is judged as MC301, and that not all processes assert either as MC308.

That processes wait for each other in some way other than MPI is not seen.`,
	Wrong: `memory[0] = rank;
MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPRECEDE, win); // there was a store
MPI_Get(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(MPI_MODE_NOSUCCEED, win);`,
	Right: `memory[0] = rank;
MPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE, win);   // gets only
MPI_Get(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win);`,
	Fix: "Leave the assertion out, or make it true: with MPI_MODE_NOCHECK, synchronize the processes by messages or a barrier first.",
}

var givenUp = conflicts.Rule{
	ID:       conflicts.RuleGivenUp,
	Title:    "the request of a one-sided operation is freed or cancelled",
	Severity: conflicts.Error,
	Text: `MPI_Request_free or MPI_Cancel is called with the request of an MPI_Rput, MPI_Rget, MPI_Raccumulate or MPI_Rget_accumulate, which is an error (section 12.3.5). Such a request can only be waited or tested for. Some MPI libraries refuse the call, others do not, and what becomes of the operation is not defined.

mcchk goes on as if the call had not been made: the operation is pending until a flush or the end of the epoch completes it.`,
	Wrong: `MPI_Request request;
MPI_Rput(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
MPI_Request_free(&request);      // nobody wants to wait for it
MPI_Win_flush(1, win);`,
	Right: `MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_flush(1, win);`,
	Fix: "Use the form of the operation without a request where nobody waits for it, or wait for the request.",
}

var threads = conflicts.Rule{
	ID:       conflicts.RuleThreads,
	Title:    "two threads call MPI at the same time, which was not provided",
	Severity: conflicts.Error,
	Text: `Two threads of a process call MPI, and nothing orders the two calls, though MPI_Init or MPI_Init_thread has provided less than MPI_THREAD_MULTIPLE (section 11.6.2). With MPI_THREAD_SERIALIZED threads take turns, with MPI_THREAD_FUNNELED and MPI_THREAD_SINGLE only one of them calls MPI at all. An MPI library without locks of its own may fail, or leave anything in the buffers.

Calls that other threads than the main one make in turns are not reported.`,
	Wrong: `MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
#pragma omp parallel
{
    int x = omp_get_thread_num();
    MPI_Put(&x, 1, MPI_INT, 1, x, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
}`,
	Right: `MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
#pragma omp parallel
{
    int x = omp_get_thread_num();
    #pragma omp critical
    {
        MPI_Put(&x, 1, MPI_INT, 1, x, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
    }
}`,
	Fix: "Ask MPI_Init_thread for MPI_THREAD_MULTIPLE, and see that it is provided, or let threads call MPI one after the other.",
}
