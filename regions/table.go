package regions

import (
	"maps"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// rule is what one MPI call means: which processes it orders and how, which
// operations it completes, and which memory it touches. It is read beside the
// detection model, sections 2 and 3.
type rule struct {
	do      func(*Machine, *proc, *call, *rule)
	order   direction     // of collective calls
	touches []touch       // buffers of calls other than one-sided operations
	op      operationRole // of one-sided operations
	part    part          // what flushes complete
	send    sendMode
}

// sendMode tells how a send orders.
type sendMode uint8

const (
	standard    sendMode = iota
	synchronous          // completes after its receive was called
)

// table says what each MPI call means. A call that is not in it is not
// understood, and named in the verdict; an empty rule orders, completes and
// touches nothing.
var table = map[string]*rule{
	"MPI_Init":        {},
	"MPI_Init_thread": {},
	"MPI_Finalize":    {do: doFinalize},
	"MPI_Abort":       {},
	"MPI_Type_free":   {},
	"MPI_Op_free":     {},

	// Windows (MPI 4.1, 12.2).
	"MPI_Win_create":   {do: doWinCreate},
	"MPI_Win_allocate": {do: doWinCreate},
	"MPI_Win_free":     {do: doWinFree},

	"MPI_Win_allocate_shared": {do: doWinCreate},
	"mcchk_Shared_segment":    {do: doSegment},
	"MPI_Win_shared_query":    {},
	"MPI_Win_create_dynamic":  {do: doWinCreate},
	"MPI_Win_attach":          {do: doAttach},
	"MPI_Win_detach":          {do: doDetach},

	// One-sided operations (12.3).
	"MPI_Put":              {do: doOperation, op: operationRole{role: PutTarget, kind: Write}},
	"MPI_Rput":             {do: doOperation, op: operationRole{role: PutTarget, kind: Write}},
	"MPI_Get":              {do: doOperation, op: operationRole{role: GetTarget, kind: Read}},
	"MPI_Rget":             {do: doOperation, op: operationRole{role: GetTarget, kind: Read}},
	"MPI_Accumulate":       {do: doOperation, op: operationRole{role: AccumulateTarget, kind: AtomicWrite}},
	"MPI_Raccumulate":      {do: doOperation, op: operationRole{role: AccumulateTarget, kind: AtomicWrite}},
	"MPI_Get_accumulate":   {do: doOperation, op: operationRole{role: FetchTarget, kind: AtomicWrite}},
	"MPI_Rget_accumulate":  {do: doOperation, op: operationRole{role: FetchTarget, kind: AtomicWrite}},
	"MPI_Fetch_and_op":     {do: doOperation, op: operationRole{role: FetchTarget, kind: AtomicWrite}},
	"MPI_Compare_and_swap": {do: doOperation, op: operationRole{role: SwapTarget, kind: AtomicWrite, op: compareAndSwap}},

	// Synchronization of windows (12.5).
	"MPI_Win_fence":           {do: doFence},
	"MPI_Win_post":            {do: doPost},
	"MPI_Win_start":           {do: doStart},
	"MPI_Win_complete":        {do: doComplete},
	"MPI_Win_wait":            {do: doExposureEnd},
	"MPI_Win_test":            {do: doExposureEnd},
	"MPI_Win_lock":            {do: doLock},
	"mcchk_Lock_ticket":       {do: doLockTicket},
	"MPI_Win_unlock":          {do: doUnlock},
	"MPI_Win_lock_all":        {do: doLockAll},
	"MPI_Win_unlock_all":      {do: doUnlock},
	"MPI_Win_flush":           {do: doFlush, part: buffers | targets},
	"MPI_Win_flush_all":       {do: doFlush, part: buffers | targets},
	"MPI_Win_flush_local":     {do: doFlush, part: buffers},
	"MPI_Win_flush_local_all": {do: doFlush, part: buffers},
	"MPI_Win_sync":            {},

	// Messages (3.2, 3.4, 3.7).
	"MPI_Send":     {do: doSend},
	"MPI_Bsend":    {do: doSend},
	"MPI_Rsend":    {do: doSend},
	"MPI_Ssend":    {do: doSend, send: synchronous},
	"MPI_Recv":     {do: doRecv},
	"MPI_Sendrecv": {do: doSendrecv},
	"MPI_Isend":    {do: doIsend},
	"MPI_Ibsend":   {do: doIsend},
	"MPI_Irsend":   {do: doIsend},
	"MPI_Issend":   {do: doIsend, send: synchronous},
	"MPI_Irecv":    {do: doIrecv},
	"MPI_Probe":    {},
	"MPI_Iprobe":   {},

	"MPI_Sendrecv_replace": {do: doSendrecvReplace},

	"MPI_Mprobe":  {do: doMprobe},
	"MPI_Improbe": {do: doMprobe},
	"MPI_Mrecv":   {do: doMrecv},
	"MPI_Imrecv":  {do: doImrecv},

	"MPI_Send_init":  {do: doInit},
	"MPI_Bsend_init": {do: doInit},
	"MPI_Rsend_init": {do: doInit},
	"MPI_Ssend_init": {do: doInit, send: synchronous},
	"MPI_Recv_init":  {do: doInit},
	"MPI_Start":      {do: doStartRequests},
	"MPI_Startall":   {do: doStartRequests},

	"MPI_Wait":         {do: doWait},
	"MPI_Test":         {do: doWait},
	"MPI_Waitall":      {do: doWait},
	"MPI_Testall":      {do: doWait},
	"MPI_Waitany":      {do: doWait},
	"MPI_Testany":      {do: doWait},
	"MPI_Waitsome":     {do: doWait},
	"MPI_Testsome":     {do: doWait},
	"MPI_Request_free": {do: doRequestFree},
	// A flag of true says that the operation is over, as MPI_Test does.
	"MPI_Request_get_status": {do: doWait},

	// Collective calls (chapter 6).
	"MPI_Barrier":              {do: doCollective, order: allToAll},
	"MPI_Bcast":                {do: doCollective, order: oneToAll, touches: broadcast},
	"MPI_Reduce":               {do: doCollective, order: allToOne, touches: reductionToRoot},
	"MPI_Allreduce":            {do: doCollective, order: allToAll, touches: reduction},
	"MPI_Scan":                 {do: doCollective, order: prefix, touches: reduction},
	"MPI_Exscan":               {do: doCollective, order: prefix, touches: reduction},
	"MPI_Reduce_scatter_block": {do: doCollective, order: allToAll, touches: reduceScatterBlock},
	"MPI_Gather":               {do: doCollective, order: allToOne, touches: gather(root, false)},
	"MPI_Gatherv":              {do: doCollective, order: allToOne, touches: gather(root, true)},
	"MPI_Scatter":              {do: doCollective, order: oneToAll, touches: scatter(false)},
	"MPI_Scatterv":             {do: doCollective, order: oneToAll, touches: scatter(true)},
	"MPI_Allgather":            {do: doCollective, order: allToAll, touches: gather(everyone, false)},
	"MPI_Allgatherv":           {do: doCollective, order: allToAll, touches: gather(everyone, true)},
	"MPI_Alltoall":             {do: doCollective, order: allToAll, touches: exchange(false)},
	"MPI_Alltoallv":            {do: doCollective, order: allToAll, touches: exchange(true)},

	"MPI_Ibarrier":              {do: doStartCollective, order: allToAll},
	"MPI_Ibcast":                {do: doStartCollective, order: oneToAll, touches: broadcast},
	"MPI_Ireduce":               {do: doStartCollective, order: allToOne, touches: reductionToRoot},
	"MPI_Iallreduce":            {do: doStartCollective, order: allToAll, touches: reduction},
	"MPI_Iscan":                 {do: doStartCollective, order: prefix, touches: reduction},
	"MPI_Iexscan":               {do: doStartCollective, order: prefix, touches: reduction},
	"MPI_Ireduce_scatter_block": {do: doStartCollective, order: allToAll, touches: reduceScatterBlock},
	"MPI_Igather":               {do: doStartCollective, order: allToOne, touches: gather(root, false)},
	"MPI_Igatherv":              {do: doStartCollective, order: allToOne, touches: gather(root, true)},
	"MPI_Iscatter":              {do: doStartCollective, order: oneToAll, touches: scatter(false)},
	"MPI_Iscatterv":             {do: doStartCollective, order: oneToAll, touches: scatter(true)},
	"MPI_Iallgather":            {do: doStartCollective, order: allToAll, touches: gather(everyone, false)},
	"MPI_Iallgatherv":           {do: doStartCollective, order: allToAll, touches: gather(everyone, true)},
	"MPI_Ialltoall":             {do: doStartCollective, order: allToAll, touches: exchange(false)},
	"MPI_Ialltoallv":            {do: doStartCollective, order: allToAll, touches: exchange(true)},

	// Communicators (7.4.2): their constructors synchronise the group.
	"MPI_Comm_dup":                   {do: doCollective, order: allToAll},
	"MPI_Comm_dup_with_info":         {do: doCollective, order: allToAll},
	"MPI_Comm_create":                {do: doCollective, order: allToAll},
	"MPI_Comm_split":                 {do: doCollective, order: allToAll},
	"MPI_Comm_split_type":            {do: doCollective, order: allToAll},
	"MPI_Cart_create":                {do: doCollective, order: allToAll},
	"MPI_Cart_sub":                   {do: doCollective, order: allToAll},
	"MPI_Graph_create":               {do: doCollective, order: allToAll},
	"MPI_Dist_graph_create":          {do: doCollective, order: allToAll},
	"MPI_Dist_graph_create_adjacent": {do: doCollective, order: allToAll},
	"MPI_Comm_free":                  {},
}

// The buffers of collective calls.
var (
	broadcast = []touch{
		{buf: "buffer", count: "count", typ: "datatype", at: root},
		{buf: "buffer", count: "count", typ: "datatype", at: others, write: true},
	}
	reduction = []touch{
		{buf: "sendbuf", count: "count", typ: "datatype", at: everyone, orElse: "recvbuf"},
		{buf: "recvbuf", count: "count", typ: "datatype", at: everyone, write: true},
	}
	reductionToRoot = []touch{
		{buf: "sendbuf", count: "count", typ: "datatype", at: everyone, orElse: "recvbuf"},
		{buf: "recvbuf", count: "count", typ: "datatype", at: root, write: true},
	}
	reduceScatterBlock = []touch{
		{buf: "sendbuf", count: "recvcount", typ: "datatype", at: everyone, each: true, orElse: "recvbuf"},
		{buf: "recvbuf", count: "recvcount", typ: "datatype", at: everyone, write: true},
	}
)

// gather is the buffers of calls that bring the data of all to a place.
func gather(to place, vector bool) []touch {
	return []touch{
		{buf: "sendbuf", count: "sendcount", typ: "sendtype", at: everyone},
		fromEach(touch{buf: "recvbuf", typ: "recvtype", at: to, write: true}, "recv", "displs", vector),
	}
}

// scatter is those of calls that deal out the data of the root.
func scatter(vector bool) []touch {
	return []touch{
		fromEach(touch{buf: "sendbuf", typ: "sendtype", at: root}, "send", "displs", vector),
		{buf: "recvbuf", count: "recvcount", typ: "recvtype", at: everyone, write: true},
	}
}

// exchange is those of calls in which each has data for each.
func exchange(vector bool) []touch {
	return []touch{
		fromEach(touch{buf: "sendbuf", typ: "sendtype", at: everyone}, "send", "sdispls", vector),
		fromEach(touch{buf: "recvbuf", typ: "recvtype", at: everyone, write: true}, "recv", "rdispls", vector),
	}
}

// fromEach completes a touch that has a part for each process: equal ones, or
// with counts and displacements.
func fromEach(t touch, prefix, displs string, vector bool) touch {
	t.count, t.each = prefix+"count", !vector
	if vector {
		t.count, t.displs = prefix+"counts", displs
	}
	return t
}

func doFinalize(m *Machine, p *proc, c *call, _ *rule) { m.arrive(p, c, nil) }

func doWinCreate(m *Machine, p *proc, c *call, _ *rule) {
	members := m.members(p, c)
	id := c.num("win")
	if members == nil || id == 0 {
		return
	}
	w := m.windows.byID[id]
	if w == nil {
		w = m.windows.add(id, members)
	}
	i := int32(m.rankIn(p, c))
	if i < 0 {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), "the caller is not in the communicator")
		return
	}
	switch w.known[i] = true; {
	case c.has("base"):
		w.base[i], w.size[i], w.unit[i] = c.addr("base"), c.addr("size"), c.addr("disp_unit")
	case c.has("baseptr"):
		w.base[i], w.size[i], w.unit[i] = c.addr("baseptr"), c.addr("size"), c.addr("disp_unit")
	default: // dynamic: displacements are addresses
		w.unit[i] = 1
		if w.dynamic == nil {
			w.dynamic = make([][]span64, len(members))
		}
	}
	if w.Unified = c.num("model") != 0; !w.Unified {
		m.problems.add(Problem{Kind: SeparateModel, Rank: p.rank, Fn: c.Fn.Name, Call: p.info(c),
			Text: "the window has the separate memory model, of which only what it shares with the unified one is checked"})
	}
	if w.Created == nil || p.rank < w.Created.Rank {
		w.Created = p.info(c)
	}
	p.wins[id] = &epochs{win: w, rank: i, locks: map[int32]*lockEpoch{}}
	m.collect(p, c, collKey{on: c.num("comm")}, members, allToAll, 0, nil)
}

func doAttach(m *Machine, p *proc, c *call, _ *rule) {
	if e := m.epochsOf(p, c); e != nil && e.win.dynamic != nil {
		lo := c.addr("base")
		e.win.dynamic[e.rank] = append(slices.Clip(e.win.dynamic[e.rank]), span64{lo, lo + c.addr("size")})
	}
}

func doDetach(m *Machine, p *proc, c *call, _ *rule) {
	if e := m.epochsOf(p, c); e != nil && e.win.dynamic != nil {
		lo := c.addr("base")
		e.win.dynamic[e.rank] = slices.DeleteFunc(slices.Clone(e.win.dynamic[e.rank]), func(s span64) bool { return s.lo == lo })
	}
}

func doWinFree(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	e.finish(p, p.info(c), buffers|targets, nil)
	id := e.win.ID
	m.collect(p, c, collKey{on: id, win: true}, e.win.members, allToAll, 0, func() {
		delete(p.wins, id)
		p.shared = slices.DeleteFunc(slices.Clone(p.shared), func(s segment) bool { return s.win == id })
		m.windows.free(e.win)
	})
}

func doOperation(m *Machine, p *proc, c *call, r *rule) {
	op := m.oneSided(p, c, r.op)
	if c.has("request") && op != nil {
		m.addRequest(p, c, &request{op: op, epoch: p.wins[c.num("win")]})
	}
}

// doFence: completes what the process issued since the last fence, then orders
// all processes of the window; unless it says that no operation precedes, when
// it does not necessarily act as a barrier (12.5.1).
func doFence(m *Machine, p *proc, c *call, _ *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	assert := c.num("assert")
	e.fence = assert&trace.AssertNoSucceed == 0
	e.fences++
	if e.loose = assert&trace.AssertNoPrecede != 0; e.loose {
		m.pass(p, e)
		return
	}
	e.finish(p, p.info(c), buffers|targets, nil)
	m.collect(p, c, collKey{on: e.win.ID, win: true}, e.win.members, allToAll, 0, func() {
		maps.DeleteFunc(e.win.gates, func(k fenceKey, _ *gate) bool { return k.n < e.fences })
	})
}

func doFlush(m *Machine, p *proc, c *call, r *rule) {
	e := m.epochsOf(p, c)
	if e == nil {
		return
	}
	var which func(*operation) bool
	if c.has("rank") {
		which = toTarget(int32(c.num("rank")))
	}
	e.finish(p, p.info(c), r.part, which)
}
