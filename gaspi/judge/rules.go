package judge

import "github.com/mcchk/mcchk/conflicts"

// Rules returns the rules of GASPI in the order of their identifiers. Sections are
// those of the GASPI standard, version 17.1.
func Rules() []conflicts.Rule {
	return []conflicts.Rule{remote, local, buffer, order, atomic, call, deleted, outside}
}

var remote = conflicts.Rule{
	ID:       conflicts.RuleGaspiRemote,
	Title:    "GASPI: operations of two ranks conflict in a segment",
	Severity: conflicts.Error,
	Text: `Two ranks operate on the same bytes of a segment, at least one of them writing (gaspi_write and its kin, or a global atomic that meets a plain operation), and nothing orders the completion of one before the start of the other. Which value remains, or which value a read returns, is undefined.

A write is complete at its target when the target has seen a notification that takes effect after it: one of gaspi_notify, posted to the same queue behind it, or that of its own gaspi_write_notify (GASPI 17.1, section 8.3). gaspi_wait completes it at its source only (section 8.2), and gaspi_barrier completes nothing (section 11.2).`,
	Wrong: `// ranks 1 and 2
gaspi_write(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK);        // both write the first bytes of rank 0`,
	Right: `// ranks 1 and 2
gaspi_write(0, 0, 0, 0, 8 * rank, 8, 0, GASPI_BLOCK); // each has a place of its own`,
	Fix: "Let each rank write its own place; or let the target see a notification of the first operation before it lets the second begin; or use global atomics for both.",
}

var local = conflicts.Rule{
	ID:       conflicts.RuleGaspiLocal,
	Title:    "GASPI: a rank's own access to a segment conflicts with another rank's operation",
	Severity: conflicts.Error,
	Text: `A rank loads from or stores to its segment, or uses it as the local part of an operation, while an operation of another rank on the same bytes may be in flight, and at least one of the two writes.

A write of another rank is complete when this rank has seen a notification that takes effect after it: gaspi_notify_waitsome returned its identifier, or gaspi_notify_reset a value other than 0 (GASPI 17.1, section 8.3). A notification of gaspi_notify takes effect after the earlier writes of its queue to its rank; that of gaspi_write_notify after its own data only (section 8.4). Neither gaspi_wait nor gaspi_barrier says that a write has arrived.
A read of another rank is complete when that rank has called gaspi_wait, and this one has learned of it.`,
	Wrong: `// rank 0
gaspi_write(0, 0, 1, 0, 0, 80, 0, GASPI_BLOCK);
gaspi_wait(0, GASPI_BLOCK);
gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);

// rank 1
gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
use(data);                           // may not have arrived`,
	Right: `// rank 0
gaspi_write(0, 0, 1, 0, 0, 80, 0, GASPI_BLOCK);
gaspi_notify(0, 1, 0, 1, 0, GASPI_BLOCK);

// rank 1
gaspi_notify_waitsome(0, 0, 1, &id, GASPI_BLOCK);
use(data);`,
	Fix: "Post a notification to the queue of the write, behind it, and let the target wait for it before its access; or use gaspi_write_notify.",
}

var buffer = conflicts.Rule{
	ID:       conflicts.RuleGaspiBuffer,
	Title:    "GASPI: a rank uses the memory of its own pending operation",
	Severity: conflicts.Error,
	Text: `Operations return at once, and the data moves later. Until gaspi_wait of its queue has returned GASPI_SUCCESS, the local part of a write must not be stored to, and that of a read neither loaded nor stored to (GASPI 17.1, section 8.2). gaspi_wait of another queue does not complete it, and neither does one that returned GASPI_TIMEOUT.

A read is also complete when its own notification has been seen (gaspi_read_notify, section 8.4), and the source of a write is free when its target has seen a notification that takes effect after it, and has let this rank know.`,
	Wrong: `gaspi_read(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
sum += values[0];                    // the read may not have happened yet
gaspi_wait(0, GASPI_BLOCK);`,
	Right: `gaspi_read(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_wait(0, GASPI_BLOCK);
sum += values[0];`,
	Fix: "Move the access after the gaspi_wait of the operation's queue; or call gaspi_wait earlier; or use another part of the segment.",
}

var order = conflicts.Rule{
	ID:       conflicts.RuleGaspiOrder,
	Title:    "GASPI: operations of one rank conflict before the first is complete",
	Severity: conflicts.Error,
	Text: `Two operations of one rank go to the same bytes of a segment, at least one of them writes, and the first is not complete when the second is posted. Operations may overtake one another, on one queue as on two (GASPI 17.1, section 8.2): which value remains, or which one a read returns, is undefined.

gaspi_wait does not order two writes: the first is complete at its target only when the target has seen a notification behind it.`,
	Wrong: `gaspi_write(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_wait(0, GASPI_BLOCK);
gaspi_write(0, 8, 1, 0, 0, 8, 0, GASPI_BLOCK);      // may arrive first`,
	Right: `gaspi_write_notify(0, 0, 1, 0, 0, 8, 0, 1, 0, GASPI_BLOCK);
gaspi_notify_waitsome(0, 1, 1, &id, GASPI_BLOCK);   // the target has seen it, and says so
gaspi_write(0, 8, 1, 0, 0, 8, 0, GASPI_BLOCK);`,
	Fix: "Write other bytes; or let the target see a notification of the first operation, and answer with one that this rank waits for before it posts the second.",
}

var atomic = conflicts.Rule{
	ID:       conflicts.RuleGaspiAtomic,
	Title:    "GASPI: concurrent global atomics on values that overlap in part",
	Severity: conflicts.Error,
	Text:     `Two global atomics that nothing orders go to values that overlap and do not begin at the same byte. They are not atomic to each other (GASPI 17.1, section 10.2).`,
	Wrong: `// rank 1
gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK);
// rank 2
gaspi_atomic_fetch_add(0, 4, 0, 1, &old, GASPI_BLOCK);`,
	Right: `// rank 1
gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK);
// rank 2
gaspi_atomic_fetch_add(0, 8, 0, 1, &old, GASPI_BLOCK);`,
	Fix: "Let values of global atomics lie at multiples of their size.",
}

var call = conflicts.Rule{
	ID:       conflicts.RuleGaspiCall,
	Title:    "GASPI: a buffer of a reduction, of passive communication or of a global atomic conflicts with an operation",
	Severity: conflicts.Error,
	Text: `gaspi_allreduce, gaspi_passive_send, gaspi_passive_receive or the old value of a global atomic reads or writes memory of a segment while a one-sided operation on the same bytes may be in flight, and at least one of the two writes. These calls complete no operations on queues, though they order ranks (GASPI 17.1, sections 9 to 11).

A reduction that has returned GASPI_TIMEOUT goes on, and uses its buffers until it has returned GASPI_SUCCESS: the rank must not store to them in between.`,
	Wrong: `gaspi_read(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_passive_send(0, 0, 2, 8, GASPI_BLOCK);        // may send what was there before
gaspi_wait(0, GASPI_BLOCK);`,
	Right: `gaspi_read(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_wait(0, GASPI_BLOCK);
gaspi_passive_send(0, 0, 2, 8, GASPI_BLOCK);`,
	Fix: "Complete the operation before the call, or use another part of the segment.",
}

var deleted = conflicts.Rule{
	ID:       conflicts.RuleGaspiDeleted,
	Title:    "GASPI: a segment is deleted while an operation on it may be in flight",
	Severity: conflicts.Error,
	Text:     `gaspi_segment_delete gives up memory that an operation of this or of another rank may still access: the operation is not complete before it, or nothing orders the two. What the operation accesses then is undefined (GASPI 17.1, section 7.3).`,
	Wrong: `gaspi_write(1, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_segment_delete(1);             // the source of the write
gaspi_wait(0, GASPI_BLOCK);`,
	Right: `gaspi_write(1, 0, 1, 0, 0, 8, 0, GASPI_BLOCK);
gaspi_wait(0, GASPI_BLOCK);
gaspi_segment_delete(1);`,
	Fix: "Complete all operations on the segment, those of other ranks included, and let this rank know, before it deletes the segment.",
}

var outside = conflicts.Rule{
	ID:       conflicts.RuleGaspiOutside,
	Title:    "GASPI: an operation outside a segment",
	Severity: conflicts.Error,
	Text:     `The offset and size of an operation name bytes that lie outside the segment, at the target or at the caller. What the operation accesses there is undefined (GASPI 17.1, section 8.2); a library may notice or not.`,
	Wrong: `gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT);
gaspi_write(0, 0, 1, 0, 60, 8, 0, GASPI_BLOCK);`,
	Right: `gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT);
gaspi_write(0, 0, 1, 0, 56, 8, 0, GASPI_BLOCK);`,
	Fix: "Keep offset and size within the segment, or make the segment larger.",
}
