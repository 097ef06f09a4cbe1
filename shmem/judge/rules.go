package judge

import "github.com/mcchk/mcchk/conflicts"

// Rules returns the rules of OpenSHMEM in the order of their identifiers. Sections are
// those of the OpenSHMEM specification, version 1.5.
func Rules() []conflicts.Rule {
	return []conflicts.Rule{remote, local, buffer, order, atomic, collective, notSymmetric, contextGone}
}

var remote = conflicts.Rule{
	ID:       conflicts.RuleShmemRemote,
	Title:    "OpenSHMEM: operations of two PEs conflict in the memory of one",
	Severity: conflicts.Error,
	Text: `Two PEs operate on the same bytes of symmetric memory, at least one of them writing (put, p, put with signal, or an atomic operation that meets one that is not atomic), and nothing orders the completion of one before the start of the other. Which value remains, or which value a get returns, is undefined.

A put is complete at its target only with shmem_quiet, or a barrier, of the PE that issued it (OpenSHMEM 1.5, section 9.10). Only atomic operations of one type and one atomicity domain may meet (sections 3.1 and 9.7).`,
	Wrong: `// all PEs
shmem_int_p(&last, me, 0);           // all write the same variable of PE 0
shmem_barrier_all();`,
	Right: `shmem_int_p(&all[me], me, 0);        // an element for each PE
shmem_barrier_all();`,
	Fix: "Let each PE write its own place; or use atomic operations for both; or take a lock; or put a barrier, or a quiet and a signal that the other PE waits for, between the two.",
}

var local = conflicts.Rule{
	ID:       conflicts.RuleShmemLocal,
	Title:    "OpenSHMEM: a PE's own access to symmetric memory conflicts with another PE's operation",
	Severity: conflicts.Error,
	Text: `A PE loads from or stores to its symmetric memory, or gives it to a call as a buffer, while an operation of another PE on the same bytes may be in flight, and at least one of the two writes.

An operation of another PE is complete when that PE has called shmem_quiet or a barrier, and this PE has learned of that: by a barrier, or by a value that it waited for and that was sent after the quiet (OpenSHMEM 1.5, sections 9.10 and 9.11). shmem_fence orders the put before what the same context sends next to the same PE, so a wait for a flag that was put after the fence does as well. shmem_sync_all and shmem_team_sync complete nothing.`,
	Wrong: `// PE 0
shmem_int_put(data, local, 100, 1);
shmem_int_p(&flag, 1, 1);            // may arrive before the data

// PE 1
shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
use(data);`,
	Right: `// PE 0
shmem_int_put(data, local, 100, 1);
shmem_fence();                       // the data first
shmem_int_p(&flag, 1, 1);

// PE 1
shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
use(data);`,
	Fix: "Put shmem_fence (or shmem_quiet) between the put and the flag that announces it; or use shmem_put_signal; or a barrier between the two accesses.",
}

var buffer = conflicts.Rule{
	ID:       conflicts.RuleShmemBuffer,
	Title:    "OpenSHMEM: a PE uses the memory of its own pending operation",
	Severity: conflicts.Error,
	Text: `Non-blocking operations (the names with _nbi) return at once, and the data moves later. Until the operation is complete the program must not store to the source of a put, and must neither load from nor store to the memory that a get or a fetching atomic operation writes (OpenSHMEM 1.5, sections 9.6 and 9.7). A put of a PE to its own memory is pending there in the same way.

shmem_quiet completes them, and shmem_barrier_all those of the default context; shmem_ctx_quiet and shmem_ctx_destroy those of a context of the program's. shmem_fence completes nothing.`,
	Wrong: `shmem_int_get_nbi(&value, &source, 1, 1);
sum += value;                        // the get may not have happened yet
shmem_quiet();`,
	Right: `shmem_int_get_nbi(&value, &source, 1, 1);
shmem_quiet();
sum += value;`,
	Fix: "Move the access after the shmem_quiet that completes the operation; or call shmem_quiet earlier; or use another buffer.",
}

var order = conflicts.Rule{
	ID:       conflicts.RuleShmemOrder,
	Title:    "OpenSHMEM: operations of one PE conflict, with neither a fence nor a quiet between them",
	Severity: conflicts.Error,
	Text: `Two operations of one PE go to the same bytes of the same target, at least one of them writes, and the first is not complete when the second is issued. Operations may overtake one another: which value remains, or which one a get returns, is undefined.

shmem_fence orders what a context issues to a PE, but not operations of different contexts, and not the values of non-blocking gets and fetching atomic operations (OpenSHMEM 1.5, section 9.10).`,
	Wrong: `shmem_int_p(&x, 1, 1);
shmem_int_p(&x, 2, 1);               // may arrive first`,
	Right: `shmem_int_p(&x, 1, 1);
shmem_fence();
shmem_int_p(&x, 2, 1);`,
	Fix: "Call shmem_fence between the two, where both are of one context and the second is no non-blocking get; otherwise shmem_quiet.",
}

var atomic = conflicts.Rule{
	ID:       conflicts.RuleShmemAtomic,
	Title:    "OpenSHMEM: concurrent atomic operations of different types or atomicity domains",
	Severity: conflicts.Error,
	Text: `Two atomic operations that nothing orders meet in the same bytes, with different types, with elements that overlap only in part, or through contexts of different atomicity domains. They are not atomic to each other.

Atomicity is guaranteed for operations of the same type in the same domain: contexts of teams that were split from SHMEM_TEAM_WORLD are one domain, those of teams that were split from SHMEM_TEAM_SHARED another (OpenSHMEM 1.5, section 3.1). The signals of shmem_put_signal are atomic to other signals of the same operator (section 9.8).`,
	Wrong: `// PE 0
shmem_long_atomic_add(&n, 1, 1);
// PE 2
shmem_int_atomic_add((int *)&n, 1, 1);   // another type`,
	Right: `// both
shmem_long_atomic_add(&n, 1, 1);`,
	Fix: "Use one type, and contexts of one domain, for all atomic operations on a variable.",
}

var collective = conflicts.Rule{
	ID:       conflicts.RuleShmemCall,
	Title:    "OpenSHMEM: memory of a collective call conflicts with another access",
	Severity: conflicts.Error,
	Text: `A collective call uses its source, dest, pWrk or pSync while something else may access the same bytes, and at least one of the two writes: a one-sided operation that is in flight, a load or store, or another collective call.

From the moment at which the first PE of the group calls it, the call may write dest, pWrk and pSync in every PE, until that PE has returned; a broadcast writes dest from the call of the root on. So dest must be ready in all PEs before any of them calls: what was read from it in the iteration before must have been read, and a pSync array must have been set to SHMEM_SYNC_VALUE. PEs leave a collective call at different times, so that its arrays may still be in use where another PE has returned: pSync and pWrk can be used again after a barrier, or in turns with a second set. Only shmem_barrier and shmem_sync of one active set may follow one another with one pSync. Collective calls other than the barriers complete no operations, though they order PEs (OpenSHMEM 1.5, section 9.9).`,
	Wrong: `for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
    pSync[i] = SHMEM_SYNC_VALUE;
shmem_long_sum_to_all(sums, parts, 4, 0, 0, npes, pWrk, pSync);   // another PE may be in it, and use this PE's pSync`,
	Right: `for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
    pSync[i] = SHMEM_SYNC_VALUE;
shmem_barrier_all();
shmem_long_sum_to_all(sums, parts, 4, 0, 0, npes, pWrk, pSync);`,
	Fix: "Call shmem_barrier_all between the other access and the collective call, or use other memory: a second dest, pWrk and pSync in turns with the first.",
}

var notSymmetric = conflicts.Rule{
	ID:       conflicts.RuleNotSymmetric,
	Title:    "OpenSHMEM: an address that is not symmetric",
	Severity: conflicts.Error,
	Text:     `A call names memory of another PE by an address that is not symmetric: it lies in no block of the symmetric heap and in no static or global variable. What the call accesses there is undefined (OpenSHMEM 1.5, section 3). Memory of malloc, and local variables, are not symmetric.`,
	Wrong: `int x = 0;
shmem_int_p(&x, 1, 1);`,
	Right: `static int x;
shmem_int_p(&x, 1, 1);`,
	Fix: "Allocate the memory with shmem_malloc, or make the variable static or global.",
}

var contextGone = conflicts.Rule{
	ID:       conflicts.RuleContextGone,
	Title:    "OpenSHMEM: a context is used after its end",
	Severity: conflicts.Error,
	Text:     `An operation is issued on a context that shmem_ctx_destroy has destroyed. What comes of it is undefined (OpenSHMEM 1.5, section 9.5).`,
	Wrong: `shmem_ctx_destroy(ctx);
shmem_ctx_int_p(ctx, &x, 1, 1);`,
	Right: `shmem_ctx_int_p(ctx, &x, 1, 1);
shmem_ctx_destroy(ctx);`,
	Fix: "Destroy the context after its last use.",
}
