package mpi

import (
	"strings"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// entry is what one MPI call means: which processes it orders and how, which
// operations it completes, and which memory it touches. It is read beside the
// detection model, "Accesses" and "Order". The texts are for people
// (docs/mpi-calls.md); of what the other fields tell, they say nothing. Only whether
// a call has any of signals, waits and completes matters elsewhere (kindOf).
type entry struct {
	do      func(*Model, *process, *core.Call, *entry)
	check   func(*Model, *process, *core.Call)                          // before do: whether the call may stand here
	foresee func(*Model, *process, *core.Call, *entry, *core.Foresight) // of a call to come: what it will do to a word
	order   core.Direction                                              // of collective calls
	touches []touch                                                     // buffers of calls other than one-sided operations
	op      operationRole                                               // of one-sided operations
	part    sides                                                       // what flushes complete
	send    sendMode

	form     form
	reads    bool // of file calls: into the buffer
	group    fileGroup
	mayOrder bool // it may order processes, but need not
	marked   bool // explanations name it, though it may begin no separate region
	aborts   bool // it ends the run

	end       string // of a split collective call: the one that ends it
	signals   string
	waits     string
	completes string
	memory    string
	note      string
}

// form tells the forms of a collective call apart.
type form uint8

const (
	blocking form = iota
	nonblocking
	persisted
)

// sendMode tells how a send orders.
type sendMode uint8

const (
	standard    sendMode = iota
	synchronous          // completes after its receive was called
)

// table says what each MPI call means. A call that is not in it is not
// understood, and named in the verdict; an entry without `do` orders, completes
// and touches nothing.
var table = makeTable()

func makeTable() map[string]*entry {
	t := map[string]*entry{}
	for _, part := range []map[string]*entry{environment, windowCalls, oneSidedCalls, windowSync, messageCalls, requestCalls, communicators, fileCalls(), declaredCalls} {
		for name, r := range part {
			t[name] = r
		}
	}
	for name, c := range collectives {
		do, start, init := doCollective, doStartCollective, doInitCollective
		if c.order == core.Neighbours {
			do, start, init = doNeighborhood, doStartNeighborhood, doInitNeighborhood
		}
		lower := strings.ToLower(name[:1]) + name[1:]
		t["MPI_"+name] = &entry{do: do, order: c.order, touches: c.touches}
		t["MPI_I"+lower] = &entry{do: start, order: c.order, touches: c.touches, form: nonblocking}
		t["MPI_"+name+"_init"] = &entry{do: init, order: c.order, touches: c.touches, form: persisted}
	}
	for name, check := range usageChecks {
		t[name].check = check
	}
	return t
}

// Start and end, and what is local (MPI 4.1, chapters 4 to 6 and 11).
var environment = map[string]*entry{
	"MPI_Init":        {do: doInitMPI, note: "ordered as the beginning of the trace"},
	"MPI_Init_thread": {do: doInitMPI, note: "ordered as the beginning of the trace"},
	"MPI_Finalize":    {do: doFinalize, signals: "all processes", waits: "all processes"},
	"MPI_Abort":       {aborts: true, note: "nothing follows it"},
	"mcchk_Threads":   {do: doThreads},
	"mcchk_Mapped":    {do: doMapped},
	"MPI_Type_free":   {},

	"MPI_Publish_name":   {mayOrder: true},
	"MPI_Unpublish_name": {mayOrder: true},
	"MPI_Lookup_name":    {mayOrder: true},
	"MPI_Op_free":        {},

	"MPI_Alloc_mem":        {},
	"MPI_Free_mem":         {},
	"MPI_Buffer_attach":    {},
	"MPI_Buffer_detach":    {},
	"MPI_Comm_set_info":    {},
	"MPI_Win_set_info":     {},
	"MPI_Session_finalize": {},

	"MPI_Reduce_local": {do: doLocal, touches: []touch{
		{buf: argInbuf, count: argCount, typ: argDatatype},
		{buf: argInoutbuf, count: argCount, typ: argDatatype, write: true},
	}},
	"MPI_Pack": {do: doLocal, touches: []touch{
		{buf: argInbuf, count: argIncount, typ: argDatatype},
		{buf: argPackedAt, count: argPacked, bytes: true, write: true},
	}},
	"MPI_Pack_external": {do: doLocal, touches: []touch{
		{buf: argInbuf, count: argIncount, typ: argDatatype},
		{buf: argPackedAt, count: argPacked, bytes: true, write: true},
	}},
	"MPI_Unpack": {do: doLocal, touches: []touch{
		{buf: argPackedAt, count: argPacked, bytes: true},
		{buf: argOutbuf, count: argOutcount, typ: argDatatype, write: true},
	}},
	"MPI_Unpack_external": {do: doLocal, touches: []touch{
		{buf: argPackedAt, count: argPacked, bytes: true},
		{buf: argOutbuf, count: argOutcount, typ: argDatatype, write: true},
	}},
}

// Calls of MPI_Pcontrol by which the program declares order
// (tracer/include/mcchk.h), and which pictures call so (orderOf).
var declaredCalls = map[string]*entry{
	"mcchk_signal":         {do: doDeclaredSignal, signals: "who waits for the resource from then on"},
	"mcchk_wait":           {do: doDeclaredWait, waits: "all signals on the resource so far"},
	"mcchk_signal_process": {do: doProcessSignal, signals: "the matching mcchk_wait_process"},
	"mcchk_wait_process":   {do: doProcessWait, waits: "the matching mcchk_signal_process"},
}

// Windows (12.2). Each call is about one window (FactsOf).
var windowCalls = map[string]*entry{
	"MPI_Win_create":          {do: doWinCreate, order: core.AllToAll},
	"MPI_Win_allocate":        {do: doWinCreate, order: core.AllToAll},
	"MPI_Win_allocate_shared": {do: doWinCreate, order: core.AllToAll, note: "loads and stores in the parts of others access the memory of those"},
	"MPI_Win_create_dynamic":  {do: doWinCreate, order: core.AllToAll},
	"MPI_Win_attach":          {do: doAttach, note: "displacements are absolute addresses"},
	"MPI_Win_detach":          {do: doDetach},
	"MPI_Win_free":            {do: doWinFree, order: core.AllToAll, completes: "nothing that is pending: see MC306"},
	"MPI_Win_shared_query":    {note: "the trace tells where the parts of the others are"},
	"mcchk_Shared_segment":    {do: doSegment},
	"MPI_Win_set_info":        {note: "accumulate_ops and accumulate_ordering apply from then on"},
	"MPI_Win_set_name":        {do: doWinName, note: "reports call the window so"},
	"mcchk_Win_info":          {do: doWinInfo},
	"mcchk_Memory_gone":       {do: doMemoryGone},
}

// One-sided operations (12.3).
var oneSidedCalls = map[string]*entry{
	"MPI_Put":              {do: doOperation, op: operationRole{role: PutTarget, kind: regions.Write}},
	"MPI_Rput":             {do: doOperation, op: operationRole{role: PutTarget, kind: regions.Write}},
	"MPI_Get":              {do: doOperation, op: operationRole{role: GetTarget, kind: regions.Read}},
	"MPI_Rget":             {do: doOperation, op: operationRole{role: GetTarget, kind: regions.Read}},
	"MPI_Accumulate":       {do: doOperation, foresee: foreseeOperation, op: operationRole{role: AccumulateTarget, kind: regions.AtomicWrite}},
	"MPI_Raccumulate":      {do: doOperation, foresee: foreseeOperation, op: operationRole{role: AccumulateTarget, kind: regions.AtomicWrite}},
	"MPI_Get_accumulate":   {do: doOperation, foresee: foreseeOperation, op: operationRole{role: FetchTarget, kind: regions.AtomicWrite}},
	"MPI_Rget_accumulate":  {do: doOperation, foresee: foreseeOperation, op: operationRole{role: FetchTarget, kind: regions.AtomicWrite}},
	"MPI_Fetch_and_op":     {do: doOperation, foresee: foreseeOperation, op: operationRole{role: FetchTarget, kind: regions.AtomicWrite}},
	"MPI_Compare_and_swap": {do: doOperation, foresee: foreseeOperation, op: operationRole{role: SwapTarget, kind: regions.AtomicWrite, op: CompareAndSwap}},
}

// Synchronization of windows (12.5). Each call is about one window (FactsOf), and
// synchronizes (kindOf).
var windowSync = map[string]*entry{
	"MPI_Win_fence": {do: doFence, order: core.AllToAll, completes: "the caller's operations since the last fence",
		note: "with MPI_MODE_NOPRECEDE it orders no processes, but operations issued after it reach their target after the target's fence"},
	"MPI_Win_post":  {do: doPost, signals: "MPI_Win_start of the group"},
	"MPI_Win_start": {do: doStart, waits: "MPI_Win_post of the group; not with MPI_MODE_NOCHECK"},
	"MPI_Win_complete": {do: doComplete, signals: "MPI_Win_wait of the group",
		completes: "the operations of the epoch: their buffers, and what only reads at the target"},
	"MPI_Win_wait": {do: doExposureEnd, waits: "MPI_Win_complete of the group", completes: "the group's operations at the caller"},
	"MPI_Win_test": {do: doExposureEnd, waits: "when it succeeds, as MPI_Win_wait", completes: "then as MPI_Win_wait"},
	"MPI_Win_lock": {marked: true, do: doLock, waits: "the unlock of every lock granted before that it excludes",
		note: "its accesses do not race with those of other processes under locks that it excludes; none of this with MPI_MODE_NOCHECK"},
	"MPI_Win_unlock": {marked: true, do: doUnlock, foresee: foreseeCompletion, signals: "the next locks that it excluded", completes: "the operations to the target"},
	"MPI_Win_lock_all": {marked: true, do: doLockAll, waits: "at the first operation to each target, as MPI_Win_lock",
		note: "a shared lock of each process"},
	"MPI_Win_unlock_all":      {marked: true, do: doUnlock, foresee: foreseeCompletion, signals: "as MPI_Win_unlock", completes: "all operations on the window"},
	"MPI_Win_flush":           {marked: true, do: doFlush, foresee: foreseeCompletion, part: buffers | targets, completes: "the operations to the target"},
	"MPI_Win_flush_all":       {marked: true, do: doFlush, foresee: foreseeCompletion, part: buffers | targets, completes: "all operations on the window"},
	"MPI_Win_flush_local":     {marked: true, do: doFlush, foresee: foreseeCompletion, part: buffers, completes: "the buffers of the operations to the target, and what only reads there"},
	"MPI_Win_flush_local_all": {marked: true, do: doFlush, foresee: foreseeCompletion, part: buffers, completes: "the buffers of all operations on the window, and what only reads at its target"},
	"MPI_Win_sync":            {do: doSync, note: "orders no processes; synchronizes the copies of a window with the separate memory model"},
	"mcchk_Lock_ticket":       {do: doLockTicket},
	"mcchk_Fetched":           {do: doFetched, foresee: foreseeFetched},
	trace.AtomicNote:          {do: doAtomic, foresee: foreseeAtomic},
	"mcchk_Atomic_fence":      {do: doAtomicFence},
}

// Messages (3.2, 3.4, 3.7, 3.8, 4.2). What they order is called so in pictures
// (orderOf).
var messageCalls = map[string]*entry{
	"MPI_Send":  send(doSend, standard),
	"MPI_Bsend": send(doSend, standard),
	"MPI_Rsend": send(doSend, standard),
	"MPI_Ssend": send(doSend, synchronous),
	"MPI_Recv":  {do: doRecv, signals: "the synchronous send", waits: "the send", memory: "writes what was received"},

	"MPI_Isend":  send(doIsend, standard),
	"MPI_Ibsend": send(doIsend, standard),
	"MPI_Irsend": send(doIsend, standard),
	"MPI_Issend": send(doIsend, synchronous),
	"MPI_Irecv":  {do: doIrecv, signals: "the synchronous send", waits: "when completed, the send", memory: untilDone("writes buf")},

	"MPI_Sendrecv":          exchangeMessages(doSendrecv),
	"MPI_Sendrecv_replace":  exchangeMessages(doSendrecv),
	"MPI_Isendrecv":         exchangeMessages(doIsendrecv),
	"MPI_Isendrecv_replace": exchangeMessages(doIsendrecv),

	"MPI_Probe":   {do: doProbe, waits: "the send of the message found"},
	"MPI_Iprobe":  {do: doProbe, waits: "when there is one, the send of the message found"},
	"MPI_Mprobe":  {do: doMprobe, waits: "the send of the message found", note: "removes the message from the queue"},
	"MPI_Improbe": {do: doMprobe, waits: "when there is one, the send of the message found", note: "removes the message, if there is one, from the queue"},
	"MPI_Mrecv":   {do: doMrecv, signals: "the synchronous send", waits: "the send", memory: "writes what was received"},
	"MPI_Imrecv":  {do: doImrecv, signals: "the synchronous send", waits: "when completed, the send", memory: untilDone("writes buf")},

	"MPI_Send_init":  send(doInit, standard),
	"MPI_Bsend_init": send(doInit, standard),
	"MPI_Rsend_init": send(doInit, standard),
	"MPI_Ssend_init": send(doInit, synchronous),
	"MPI_Recv_init":  {do: doInit, note: "as MPI_Irecv, at each start"},
	"MPI_Start":      {do: doStartRequests, note: "does what the request was made for"},
	"MPI_Startall":   {do: doStartRequests, note: "does what the requests were made for"},

	"MPI_Psend_init":   {do: doPsendInit, note: "each partition is sent on its own"},
	"MPI_Precv_init":   {do: doPrecvInit, memory: "writes buf, each partition from the start until it has arrived", waits: "when completed, MPI_Pready of all partitions"},
	"MPI_Pready":       {do: doPready, signals: "the partition's arrival", memory: untilDone("reads the partition")},
	"MPI_Pready_range": {do: doPready, signals: "the partitions' arrival", memory: untilDone("reads the partitions")},
	"MPI_Pready_list":  {do: doPready, signals: "the partitions' arrival", memory: untilDone("reads the partitions")},
	"MPI_Parrived":     {do: doParrived, waits: "when it says yes, MPI_Pready of the partition's data", completes: "the partition's buffer"},

	"MPI_Buffer_attach": {},
	"MPI_Buffer_detach": {note: "that buffered messages have been sent says nothing about their receipt"},
}

func untilDone(what string) string { return what + ", from the call until its request is complete" }

func send(do func(*Model, *process, *core.Call, *entry), mode sendMode) *entry {
	r := &entry{do: do, send: mode, signals: "the receive", memory: "reads buf"}
	if mode == synchronous {
		r.waits = "the call of the receive"
	}
	return r
}

func exchangeMessages(do func(*Model, *process, *core.Call, *entry)) *entry {
	return &entry{do: do, signals: "the receive of what it sends", waits: "the send of what it receives",
		memory: "reads the send buffer, writes the receive buffer"}
}

// Completion of requests (3.7.3 to 3.7.5, 3.8.4).
var requestCalls = map[string]*entry{
	"MPI_Grequest_start":    {do: doStartGeneral, note: "its request is complete when MPI_Grequest_complete says so"},
	"MPI_Grequest_complete": {do: doCompleteGeneral, signals: "the call that completes the request"},

	"MPI_Wait":         completion("the request"),
	"MPI_Test":         completion("the request, when it succeeds"),
	"MPI_Waitall":      completion("the requests"),
	"MPI_Testall":      completion("the requests, when it succeeds"),
	"MPI_Waitany":      completion("the request that index tells"),
	"MPI_Testany":      completion("the request that index tells, when it succeeds"),
	"MPI_Waitsome":     completion("the requests that indices tell"),
	"MPI_Testsome":     completion("the requests that indices tell"),
	"MPI_Request_free": {do: doRequestFree, note: "a send is then complete when its message was received; anything else is never known to be complete"},
	// A flag of true says that the operation is over, as MPI_Test does.
	"MPI_Request_get_status": completion("the request, when the flag is true"),
	"MPI_Cancel":             {do: doCancel, note: "a cancelled receive leaves its message to the next"},
}

func completion(what string) *entry {
	return &entry{do: doWait, waits: "what the operation waits for", completes: what}
}

// Communicators (7.4.2, 7.6.2, 8.5): their constructors synchronise.
var communicators = map[string]*entry{
	"MPI_Comm_dup":                     {do: doCollective, order: core.Everybody},
	"MPI_Comm_dup_with_info":           {do: doCollective, order: core.Everybody},
	"MPI_Comm_idup":                    {do: doStartCollective, order: core.Everybody, form: nonblocking},
	"MPI_Comm_idup_with_info":          {do: doStartCollective, order: core.Everybody, form: nonblocking},
	"MPI_Comm_create":                  {do: doCollective, order: core.Everybody},
	"MPI_Comm_split":                   {do: doCollective, order: core.Everybody},
	"MPI_Comm_split_type":              {do: doCollective, order: core.Everybody},
	"MPI_Cart_create":                  {do: doCollective, order: core.Everybody},
	"MPI_Cart_sub":                     {do: doCollective, order: core.Everybody},
	"MPI_Graph_create":                 {do: doCollective, order: core.Everybody},
	"MPI_Dist_graph_create":            {do: doCollective, order: core.Everybody},
	"MPI_Dist_graph_create_adjacent":   {do: doCollective, order: core.Everybody},
	"MPI_Comm_create_group":            {do: doCreateGroup, order: core.Everybody, note: "the processes of the new communicator only"},
	"MPI_Comm_create_from_group":       {do: doCreateGroup, order: core.Everybody, note: "the processes of the new communicator only"},
	"MPI_Intercomm_create":             {do: doCreateGroup, order: core.Everybody, note: "both groups"},
	"MPI_Intercomm_create_from_groups": {do: doCreateGroup, order: core.Everybody, note: "both groups"},
	"MPI_Intercomm_merge":              {do: doMerge, order: core.Everybody, note: "both groups"},
	"MPI_Comm_free":                    {},
	"MPI_Comm_disconnect":              {},
	"mcchk_Neighbors":                  {do: doNeighbors},
}

// collectiveCall is the meaning of a collective call in its blocking, non-blocking
// and persistent forms (chapters 6 and 8).
type collectiveCall struct {
	order   core.Direction
	touches []touch
}

var collectives = map[string]collectiveCall{
	"Barrier":              {core.AllToAll, nil},
	"Bcast":                {core.OneToAll, broadcast},
	"Scatter":              {core.OneToAll, scatter(false)},
	"Scatterv":             {core.OneToAll, scatter(true)},
	"Reduce":               {core.AllToOne, reductionToRoot},
	"Gather":               {core.AllToOne, gather(false)},
	"Gatherv":              {core.AllToOne, gather(true)},
	"Scan":                 {core.Prefix, reduction},
	"Exscan":               {core.Prefix, exclusiveScan},
	"Allreduce":            {core.AllToAll, reduction},
	"Reduce_scatter_block": {core.AllToAll, reduceScatterBlock},
	"Reduce_scatter":       {core.AllToAll, reduceScatter},
	"Allgather":            {core.AllToAll, allgather(false)},
	"Allgatherv":           {core.AllToAll, allgather(true)},
	"Alltoall":             {core.AllToAll, exchange("", perPeer, perPeer)},
	"Alltoallv":            {core.AllToAll, exchange("v", perPeer, perPeer)},
	"Alltoallw":            {core.AllToAll, exchange("w", perPeer, perPeer)},

	"Neighbor_allgather":  {core.Neighbours, neighborAllgather("")},
	"Neighbor_allgatherv": {core.Neighbours, neighborAllgather("v")},
	"Neighbor_alltoall":   {core.Neighbours, exchange("", perNeighbor, perSource)},
	"Neighbor_alltoallv":  {core.Neighbours, exchange("v", perNeighbor, perSource)},
	"Neighbor_alltoallw":  {core.Neighbours, exchange("w", perNeighbor, perSource)},
}

// The buffers of collective calls.
var (
	broadcast = []touch{
		{buf: argBuffer, count: argCount, typ: argDatatype, at: atRoot},
		{buf: argBuffer, count: argCount, typ: argDatatype, at: others, write: true},
	}
	reduction = []touch{
		{buf: argSendbuf, count: argCount, typ: argDatatype},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, placed: argSendbuf, then: onlyThen},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, write: true},
	}
	exclusiveScan = []touch{
		{buf: argSendbuf, count: argCount, typ: argDatatype},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, placed: argSendbuf, then: onlyThen},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, at: notFirst, write: true},
	}
	reductionToRoot = []touch{
		{buf: argSendbuf, count: argCount, typ: argDatatype},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, at: atRoot, placed: argSendbuf, then: onlyThen},
		{buf: argRecvbuf, count: argCount, typ: argDatatype, at: atRoot, write: true},
	}
	reduceScatterBlock = []touch{
		{buf: argSendbuf, count: argRecvcount, typ: argDatatype, each: perMember},
		{buf: argRecvbuf, count: argRecvcount, typ: argDatatype, each: perMember, placed: argSendbuf, then: onlyThen},
		{buf: argRecvbuf, count: argRecvcount, typ: argDatatype, write: true},
	}
	reduceScatter = []touch{
		{buf: argSendbuf, count: argRecvcounts, typ: argDatatype, sum: true},
		{buf: argRecvbuf, count: argRecvcounts, typ: argDatatype, sum: true, placed: argSendbuf, then: onlyThen},
		{buf: argRecvbuf, count: argRecvcounts, typ: argDatatype, own: true, write: true},
	}
)

// gather is the buffers of calls that bring the data of all to the root.
func gather(vector bool) []touch {
	in := parts(incoming, argRecvcounts, argDispls, perPeer, vector)
	in.at, in.write, in.placed, in.then = atRoot, true, argSendbuf, ownLeftOut
	return []touch{outgoing, in}
}

// allgather is those of calls that bring the data of all to everyone.
func allgather(vector bool) []touch {
	own, in := parts(incoming, argRecvcounts, argDispls, perPeer, vector), parts(incoming, argRecvcounts, argDispls, perPeer, vector)
	own.placed, own.then = argSendbuf, ownOnly
	in.write, in.placed, in.then = true, argSendbuf, ownLeftOut
	return []touch{outgoing, own, in}
}

// neighborAllgather is those of MPI_Neighbor_allgather and its forms.
func neighborAllgather(form string) []touch {
	in := parts(incoming, argRecvcounts, argDispls, perSource, form == "v")
	in.write = true
	return []touch{{buf: argSendbuf, count: argSendcount, typ: argSendtype, at: havingOne}, in}
}

// scatter is those of calls that deal out the data of the root.
func scatter(vector bool) []touch {
	out := parts(outgoing, argSendcounts, argDispls, perPeer, vector)
	out.at, out.placed, out.then = atRoot, argRecvbuf, ownLeftOut
	return []touch{out, {buf: argRecvbuf, count: argRecvcount, typ: argRecvtype, write: true}}
}

// exchange is those of calls in which each has data for each.
func exchange(form string, to, from each) []touch {
	out, in := parts(outgoing, argSendcounts, argSdispls, to, form != ""), parts(incoming, argRecvcounts, argRdispls, from, form != "")
	if form == "w" {
		out.typ, in.typ = argSendtypes, argRecvtypes
	}
	before := in
	before.placed, before.then = argSendbuf, onlyThen
	in.write = true
	return []touch{out, before, in}
}

// Buffers with a part for each of several processes, equal ones.
var (
	outgoing = touch{buf: argSendbuf, count: argSendcount, typ: argSendtype}
	incoming = touch{buf: argRecvbuf, count: argRecvcount, typ: argRecvtype}
)

// parts is such a buffer, or with a list of counts and one of displacements in
// place of what it has.
func parts(t touch, counts, displs core.ArgName, e each, vector bool) touch {
	t.each = e
	if vector {
		t.count, t.displs, t.list = counts, displs, true
	}
	return t
}
