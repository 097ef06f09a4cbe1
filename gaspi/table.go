package gaspi

import "github.com/mcchk/mcchk/core"

// entry is what a call means. It is read beside the detection model, "GASPI". The
// texts are for people (docs/gaspi-calls.md).
type entry struct {
	do      func(*process, *core.Call)
	foresee func(*process, *core.Call, *core.Foresight) // of a call to come: what it will do to a word
	kind    core.CallKind
	results bool // what it means depends on what it returned
	gathers bool // it is over when all ranks of its group have come to it

	orders    string // whom
	completes string
	memory    string
	note      string
}

const (
	allToAll  = "all ranks of the group to all"
	counts    = "over when it returns GASPI_SUCCESS; what the process does after GASPI_TIMEOUT is beside it"
	untilWait = ", both until gaspi_wait of the queue"
	untilSeen = "reads the local segment until gaspi_wait of the queue, writes the remote one until a notification after it has been seen"
)

// table says what each call means. A call that is not in it is not understood; an
// entry without `do` orders, completes and touches nothing.
var table = map[string]*entry{
	"gaspi_proc_init": {do: start, results: true},
	"gaspi_proc_term": {kind: core.SynchronizingCall, note: "it orders no ranks, and completes nothing"},

	"gaspi_group_create": {do: groupCreate, results: true},
	"gaspi_group_add":    {do: groupAdd},
	"gaspi_group_commit": {do: meet, kind: core.SynchronizingCall, gathers: true, orders: allToAll, note: counts},
	"gaspi_group_delete": {do: groupDelete},

	"gaspi_segment_alloc":    {do: segmentAlloc, results: true},
	"gaspi_segment_bind":     {do: segmentAlloc, results: true},
	"gaspi_segment_register": {note: "it orders no ranks"},
	"gaspi_segment_create":   {do: segmentCreate, kind: core.SynchronizingCall, results: true, gathers: true, orders: allToAll, note: counts},
	"gaspi_segment_use":      {do: segmentCreate, kind: core.SynchronizingCall, results: true, gathers: true, orders: allToAll, note: counts},
	"gaspi_segment_delete":   {do: segmentDelete, memory: "gives up the segment"},

	"gaspi_write":      {do: write, kind: core.OperationCall, memory: untilSeen},
	"gaspi_write_list": {do: write, kind: core.OperationCall, memory: untilSeen},
	"gaspi_read":       {do: read, kind: core.OperationCall, memory: "writes the local segment, reads the remote one" + untilWait},
	"gaspi_read_list":  {do: read, kind: core.OperationCall, memory: "writes the local segment, reads the remote one" + untilWait},
	"gaspi_write_notify": {
		do: writeNotify, kind: core.OperationCall, orders: "before whoever sees the notification", memory: untilSeen,
		note: "the notification takes effect after the data of the call, and of no other",
	},
	"gaspi_write_list_notify": {
		do: writeNotify, kind: core.OperationCall, orders: "before whoever sees the notification", memory: untilSeen,
		note: "the notification takes effect after the data of the call, and of no other",
	},
	"gaspi_read_notify": {
		do: readNotify, kind: core.OperationCall, memory: "writes the local segment, reads the remote one" + untilWait + ", or until the notification has been seen",
		note: "the notification, of value 1, comes to the caller",
	},
	"gaspi_read_list_notify": {
		do: readNotify, kind: core.OperationCall, memory: "writes the local segment, reads the remote one" + untilWait + ", or until the notification has been seen",
		note: "the notification, of value 1, comes to the caller",
	},
	"gaspi_wait": {
		do: wait, kind: core.SynchronizingCall, results: true,
		completes: "what is on the queue: reads, and writes at their source but not at their target",
	},
	"gaspi_queue_create": {},
	"gaspi_queue_delete": {},
	"gaspi_queue_purge":  {do: purge, note: "undecided, where operations are on the queue"},

	"gaspi_notify": {
		do: notify, kind: core.SynchronizingCall, orders: "before whoever sees the notification",
		note: "it takes effect after all earlier writes of the queue to the rank",
	},
	"gaspi_notify_waitsome": {
		do: waitsome, kind: core.SynchronizingCall, results: true, orders: "after what its rank did before it posted the notification",
		completes: "the writes that the notification was chained after, at both ends",
	},
	"gaspi_notify_reset": {
		do: reset, kind: core.SynchronizingCall, results: true, orders: "where it returns another value than 0: after what its rank did before it posted the notification",
		completes: "the writes that the notification was chained after, at both ends",
	},

	"gaspi_atomic_fetch_add": {
		do: atomic, foresee: foreseeAtomic, kind: core.OperationCall, orders: "after the updates of the value that it fetched", memory: "updates the remote segment atomically, writes the old value; done on return",
	},
	"gaspi_atomic_compare_swap": {
		do: atomic, foresee: foreseeAtomic, kind: core.OperationCall, orders: "after the updates of the value that it fetched", memory: "updates the remote segment atomically, writes the old value; done on return",
	},
	"gaspi_passive_send": {
		do: passiveSend, kind: core.SynchronizingCall, orders: "before what follows the receive, and after what came before that", memory: "reads the local segment",
	},
	"gaspi_passive_receive": {
		do: passiveReceive, kind: core.SynchronizingCall, results: true, orders: "after what came before the send, and before what follows that", memory: "writes the local segment",
	},

	"gaspi_barrier":        {do: meet, kind: core.SynchronizingCall, gathers: true, orders: allToAll, note: counts + "; it completes nothing"},
	"gaspi_allreduce":      {do: allreduce, kind: core.SynchronizingCall, gathers: true, orders: allToAll, memory: "reads buffer_send, writes buffer_receive", note: counts},
	"gaspi_allreduce_user": {do: allreduce, kind: core.SynchronizingCall, gathers: true, orders: allToAll, memory: "reads buffer_send, writes buffer_receive", note: counts},
}

// start: the ranks of GASPI must be those of the traces, which may be MPI's.
func start(p *process, c *core.Call) {
	if rank := c.Int(argRank); rank != int64(p.Rank) {
		p.unsure = true
		p.NotUnderstood(c, "its rank is another than that in MPI_COMM_WORLD")
	}
}
