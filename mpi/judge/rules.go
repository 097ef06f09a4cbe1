package judge

import "github.com/mcchk/mcchk/conflicts"

// Rules returns the rules of MPI in the order of their identifiers. Sections are
// those of the MPI standard, version 4.1.
func Rules() []conflicts.Rule {
	return []conflicts.Rule{
		remoteRemote, localRemote, buffer, sameOrigin, atomicType, callBuffer, request, shared, copies, copyUpdates, atomicOp, lockOrder,
		outsideEpoch, outsideWindow, notOpened, mixedEpochs, neverClosed, freedPending, memoryGone, callOrder, dataMismatch, falseAssertion, givenUp, threads,
	}
}

var remoteRemote = conflicts.Rule{
	ID:       conflicts.RuleRemoteRemote,
	Title:    "one-sided operations of two processes conflict at a target",
	Severity: conflicts.Error,
	Text: `Two processes operate on the same bytes of a window, at least one of them writing (put or accumulate), and nothing orders the completion of one before the start of the other. Which value remains in the window, or which value a get returns, is undefined; the bytes may even be a mixture.

MPI forbids conflicting operations on the same location within the same or overlapping epochs (section 12.7). Only accumulate operations may be concurrent, under the conditions of sections 12.7.1 and 12.7.2. MPI_LOCK_SHARED does not exclude other holders of a shared lock (section 12.5.3), and MPI_Win_flush completes operations but does not order processes (section 12.5.4).`,
	Wrong: `// ranks 1 and 2 both do this
MPI_Win_fence(0, win);
MPI_Put(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, win); // both write element 0 of rank 0
MPI_Win_fence(0, win);`,
	Right: `MPI_Win_fence(0, win);
MPI_Put(&mine, 1, MPI_INT, 0, rank, 1, MPI_INT, win); // an element for each rank
MPI_Win_fence(0, win);`,
	Fix: "Let each process write its own location; or use MPI_Accumulate or MPI_Fetch_and_op, which may be concurrent; or take the lock as MPI_LOCK_EXCLUSIVE; or put a synchronization between the two (a fence, or a completed operation followed by a message or a barrier).",
}

var localRemote = conflicts.Rule{
	ID:       conflicts.RuleLocalRemote,
	Title:    "a process's own load or store conflicts with a one-sided operation of another process",
	Severity: conflicts.Error,
	Text: `A process reads or writes its own window memory with ordinary loads and stores while another process may have an operation on the same bytes in flight, and at least one of the two writes. The process may see the old value, the new one or a mixture, or its store may be lost.

Window memory may be accessed locally only when no conflicting operation can be pending there (section 12.7): after the call that closes the epoch in which the process is a target (MPI_Win_fence, MPI_Win_wait), under a lock on its own rank that excludes the other process, or after synchronizing (a message, a barrier) with the other process once that has completed the operation. A barrier alone completes no operation: an operation stays pending until a fence, unlock, flush or complete at its origin.`,
	Wrong: `// rank 0
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Barrier(MPI_COMM_WORLD);  // orders the processes, but the put is still pending
MPI_Win_unlock(1, win);

// rank 1
MPI_Barrier(MPI_COMM_WORLD);
printf("%d\n", memory[0]);`,
	Right: `// rank 0
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_unlock(1, win);       // the put is complete
MPI_Barrier(MPI_COMM_WORLD);

// rank 1
MPI_Barrier(MPI_COMM_WORLD);
printf("%d\n", memory[0]);`,
	Fix: "Complete the operation at its origin (close the epoch, or MPI_Win_flush) before the synchronization that the other process waits for; or enclose the local access in MPI_Win_lock(MPI_LOCK_EXCLUSIVE, own rank) and MPI_Win_unlock; or separate the two by a fence.",
}

var buffer = conflicts.Rule{
	ID:       conflicts.RuleBuffer,
	Title:    "a process uses the memory of its own pending one-sided operation",
	Severity: conflicts.Error,
	Text: `One-sided calls return at once; the data moves later. Until the operation completes at its origin, the program must not store to the origin buffer of a put or accumulate, and must neither load from nor store to the memory that receives the result of a get, fetch or compare-and-swap (section 12.3). A load may return the old value indefinitely, even in a loop that waits for a new one; a stored value may be sent in place of the intended one.

At the origin an operation completes with the call that closes the epoch (MPI_Win_fence, MPI_Win_complete, MPI_Win_unlock, MPI_Win_unlock_all), with MPI_Win_flush or MPI_Win_flush_local and their _all forms (section 12.5.4), and the request-based forms with MPI_Wait or a successful MPI_Test (section 12.3.5).

An operation of a process on its own part of a window is pending there in the same way: the process must not load or store those bytes until the operation is complete at the target.`,
	Wrong: `MPI_Win_fence(0, win);
MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
sum += value;                 // the get may not have happened yet
MPI_Win_fence(0, win);`,
	Right: `MPI_Win_fence(0, win);
MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(0, win);
sum += value;`,
	Fix: "Move the access after the call that completes the operation, or complete it earlier (within lock or lock_all: MPI_Win_flush_local); or use another buffer.",
}

var sameOrigin = conflicts.Rule{
	ID:       conflicts.RuleSameOrigin,
	Title:    "one-sided operations of one process conflict before the first is complete",
	Severity: conflicts.Error,
	Text: `One process issues two operations that touch the same bytes, at the target or in its own buffers, at least one of them writing, and the first is not complete when the second is issued. Operations within an epoch need not take effect in program order (section 12.7.2): a get may run before an earlier put, and of two puts either may win.

The exception is accumulate operations from one origin to the same target with the same basic datatype: these take effect in program order by default (section 12.7.2, info key accumulate_ordering).`,
	Wrong: `MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Get(&b, 1, MPI_INT, 1, 0, 1, MPI_INT, win); // may overtake the put
MPI_Win_unlock(1, win);`,
	Right: `MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_flush(1, win);                          // the put is complete at rank 1
MPI_Get(&b, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_unlock(1, win);`,
	Fix: "Complete the first operation before the second: MPI_Win_flush between them within lock or lock_all, a fence between them in fence epochs; or use accumulate operations (MPI_REPLACE in place of put, MPI_Get_accumulate with MPI_NO_OP in place of get); or use separate locations.",
}

var atomicType = conflicts.Rule{
	ID:       conflicts.RuleAtomicType,
	Title:    "concurrent accumulates use different basic datatypes or partly overlapping elements",
	Severity: conflicts.Error,
	Text:     `Two accumulate operations (MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap and their request-based forms) access the same bytes of a target concurrently. They are atomic with respect to each other only element by element, for elements of the same predefined datatype that start at the same address (section 12.7.1). With different basic datatypes, or when elements of the two overlap only in part, the outcome is undefined.`,
	Wrong: `// rank 1
MPI_Accumulate(&i, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
// rank 2, in the same epoch
MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win);`,
	Right: `// ranks 1 and 2
MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win);`,
	Fix: "Use one basic datatype for all atomic operations on a location, and displacements that are whole elements; or separate operations of different types by a synchronization.",
}

var callBuffer = conflicts.Rule{
	ID:       conflicts.RuleCallBuffer,
	Title:    "a buffer of a send, receive or collective call conflicts with a one-sided operation",
	Severity: conflicts.Error,
	Text: `A message or a collective call reads or writes memory that a one-sided operation may be working on at the same time: window memory that another process puts to or gets from, or the buffer of a one-sided operation that is still pending. To the one-sided operation such a call is a local access like a load or a store (section 12.7): MPI_Send and MPI_Bcast at its root read their buffer, MPI_Recv writes it.

This is easily overlooked because both are MPI calls, but nothing in MPI orders the use of a message buffer and a pending one-sided operation.`,
	Wrong: `MPI_Win_fence(0, win);
MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD); // value is not here yet
MPI_Win_fence(0, win);`,
	Right: `MPI_Win_fence(0, win);
MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_fence(0, win);
MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);`,
	Fix: "Complete the one-sided operation before the call (fence, unlock, flush or complete, and a synchronization where another process is the origin); or use other memory in the call.",
}

var request = conflicts.Rule{
	ID:       conflicts.RuleRequest,
	Title:    "a buffer of a pending send or receive is used before it completes",
	Severity: conflicts.Error,
	Text:     `A non-blocking call (MPI_Isend, MPI_Irecv, a non-blocking collective call) has been started and not completed, and the program uses its buffer: it stores to a buffer being sent, or it loads from or stores to a buffer being received. The buffer belongs to MPI until MPI_Wait, or a successful MPI_Test, completes the request (section 3.7.2; section 6.12 for collective calls). Or two buffers of one call overlap, one of which is written; a blocking call may not have that either (sections 2.3 and 3.10), but with MPI_IN_PLACE.`,
	Wrong: `MPI_Irecv(&halo, 1, MPI_DOUBLE, left, 0, comm, &req);
sum += halo;                       // not received yet
MPI_Wait(&req, MPI_STATUS_IGNORE);`,
	Right: `MPI_Irecv(&halo, 1, MPI_DOUBLE, left, 0, comm, &req);
MPI_Wait(&req, MPI_STATUS_IGNORE);
sum += halo;`,
	Fix: "Move the access after the MPI_Wait (or the successful MPI_Test) of the request, or use another buffer; where two buffers of one call overlap, use MPI_IN_PLACE (MPI_Sendrecv_replace) or another buffer.",
}

var shared = conflicts.Rule{
	ID:       conflicts.RuleShared,
	Title:    "data race between two processes in a shared window",
	Severity: conflicts.Error,
	Text:     `Two processes access the same bytes of a window made by MPI_Win_allocate_shared, at least one of them writes, and nothing orders the two. They load and store there directly, like threads, and must synchronize like threads: with an MPI call that orders the processes (a barrier, a message, a fence), and with MPI_Win_sync or another call that synchronizes the window on both sides of it (sections 12.2.3 and 12.4).`,
	Wrong: `// rank 0
part[0] = 1;
// rank 1, through MPI_Win_shared_query
use(part_of_rank_0[0]);`,
	Right: `// rank 0
part[0] = 1;
MPI_Win_sync(win);
MPI_Barrier(comm);
// rank 1
MPI_Barrier(comm);
MPI_Win_sync(win);
use(part_of_rank_0[0]);`,
	Fix: "Put a synchronization of the two processes between the accesses: MPI_Win_sync, a barrier or a message, MPI_Win_sync; or MPI_Win_fence.",
}

var copies = conflicts.Rule{
	ID:       conflicts.RuleCopies,
	Title:    "no call makes an update visible in the other copy of the window (separate memory model)",
	Severity: conflicts.Error,
	Yields:   1,
	Text: `A process's own access and a one-sided operation access the same bytes of a window. They are ordered, but the window has the separate memory model (MPI_WIN_MODEL is MPI_WIN_SEPARATE, or --memory-model separate was given). In that model the process loads from and stores to a private copy, and operations work on a public copy (section 12.4). What the first access wrote is still in one copy when the second accesses the other.

A put or accumulate is visible to the owner's loads only after the owner has called MPI_Win_wait (or a successful MPI_Win_test), MPI_Win_fence, MPI_Win_lock, MPI_Win_lock_all or MPI_Win_sync on that window after the operation was complete. A store is visible to operations only after the owner has called MPI_Win_post, MPI_Win_fence, MPI_Win_unlock, MPI_Win_unlock_all or MPI_Win_sync on that window after the store (section 12.7, rules 5 and 6). A message or a barrier alone does not synchronize the copies.`,
	Wrong: `// rank 0, within lock_all
MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
MPI_Win_flush(1, win);
MPI_Barrier(comm);
// rank 1, within lock_all
MPI_Barrier(comm);
printf("%d\n", memory[0]);       // the put is in the public copy`,
	Right: `// rank 1, within lock_all
MPI_Barrier(comm);
MPI_Win_sync(win);
printf("%d\n", memory[0]);`,
	Fix: "Let the owner of the memory call MPI_Win_sync (or another synchronization of that window) between the two: after the operation is complete and before the load, or after the store and before the operation. If the program only ever runs where windows have the unified memory model, --memory-model unified leaves this rule out.",
}

var copyUpdates = conflicts.Rule{
	ID:       conflicts.RuleCopyUpdates,
	Title:    "a process stores to its window while another operation updates it elsewhere (separate memory model)",
	Severity: conflicts.Error,
	Yields:   2,
	Text: `A process stores to its own window memory, and a put or accumulate updates the same window at that process, at other bytes. In the unified memory model that is correct. But the window has the separate memory model (section 12.4), with a private and a public copy of the whole window: when the two copies are synchronized, one update may overwrite the other.

Once a store to the window has started, no put or accumulate may access the window until the store is visible in the public copy; once a put or accumulate has started, no store may start until its update is visible in the private copy, "even if they access disjoint locations in the window" (section 12.7). Stores include what MPI_Recv and MPI_Get write.`,
	Wrong: `MPI_Win_fence(0, win);
memory[0] = 1;                                         // rank 0, its own part
MPI_Put(&x, 1, MPI_INT, 0, 7, 1, MPI_INT, win);        // rank 1, element 7 of rank 0
MPI_Win_fence(0, win);`,
	Right: `memory[0] = 1;                                         // rank 0
MPI_Win_fence(0, win);
MPI_Put(&x, 1, MPI_INT, 0, 7, 1, MPI_INT, win);        // rank 1
MPI_Win_fence(0, win);`,
	Fix: "Store in one epoch and let others update in another, or use two windows. If the program only ever runs where windows have the unified memory model, --memory-model unified leaves this rule out.",
}

var atomicOp = conflicts.Rule{
	ID:       conflicts.RuleAtomicOp,
	Title:    "concurrent accumulates use different operations",
	Severity: conflicts.Warning,
	Text: `Two accumulate calls with the same basic datatype access the same bytes of a target concurrently, but use different operations (say MPI_SUM and MPI_REPLACE, or a fetch and MPI_Compare_and_swap). By default MPI guarantees atomicity only for the same operation, or for one operation and MPI_NO_OP: the info key accumulate_ops is "same_op_no_op" (sections 12.2.1 and 12.7.1).

MPI libraries usually guarantee more than the standard, and much code relies on it (locks that swap with MPI_REPLACE and release with MPI_Compare_and_swap). This is therefore a warning. It is left out where the values of the word show that whoever issued the later operation knew that the earlier one had taken effect, as the last process to arrive at a barrier does that sets the counter of arrivals back.`,
	Wrong: `// rank 1
MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
// rank 2, at the same time
MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);`,
	Right: `// rank 1
MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
MPI_Win_flush(0, win);
MPI_Barrier(comm);
// rank 2
MPI_Barrier(comm);
MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);`,
	Fix: "Use the same operation on both sides, or separate the two by a synchronization. If your MPI library guarantees more, you can ignore this warning: warnings affect the exit status only if you ask for it.",
}

var lockOrder = conflicts.Rule{
	ID:       conflicts.RuleLockOrder,
	Title:    "accesses ordered only by the order in which this run granted locks",
	Severity: conflicts.Warning,
	Text: `Two accesses conflict, and in the run that was recorded one came before the other only because a process got a lock before another process did. The accesses are not both made under locks that exclude each other, and nothing else orders them. MPI does not define the order in which locks are granted (section 12.5.3): had the other process got its lock first, the two would race.

Such findings are reported with --predict only. mcchk knows what the processes did in this run, not what they would have done in another: a program that takes the lock, reads a flag, and accesses the data only if the flag is set is correct, and is reported all the same. So check whether the second process depends on what it read under the lock.`,
	Wrong: `// rank 0
MPI_Put(&x, 1, MPI_INT, 2, 0, 1, MPI_INT, win);   // within lock_all, then flushed
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, other);    // in this run rank 0 came first
MPI_Win_unlock(2, other);

// rank 1
MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, other);
MPI_Win_unlock(2, other);
MPI_Get(&y, 1, MPI_INT, 2, 0, 1, MPI_INT, win);`,
	Right: `// rank 0
MPI_Put(&x, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
MPI_Win_flush(2, win);
MPI_Send(NULL, 0, MPI_INT, 1, 0, comm);

// rank 1
MPI_Recv(NULL, 0, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
MPI_Get(&y, 1, MPI_INT, 2, 0, 1, MPI_INT, win);`,
	Fix: "Make both accesses under a lock of the same window and target, at least one of them exclusive; or order the two processes by a message, a barrier or a fence. If the second process accesses the memory only because of what it read under the lock, ignore the warning.",
}
