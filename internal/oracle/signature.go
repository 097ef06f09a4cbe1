package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// arg is one argument of a call with its value.
type arg struct {
	trace.Arg
	value trace.Value
}

// typeID and typeIndex convert between indices of types and the identifiers
// under which a process's trace knows them. They differ between processes, as
// they may in a real run.
func typeID(rank, index int) int64     { return int64(index + 1 + 3*rank) }
func typeIndex(rank int, id int64) int { return int(id) - 1 - 3*rank }

// opNames are the operations, by index; opID is their identifier in a process.
var opNames = [...]string{"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_REPLACE", "MPI_NO_OP", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC", "MPI_MIN"}

func opID(rank int, name string) int64 {
	for i, n := range opNames {
		if n == name {
			return int64(i + 1 + 2*rank)
		}
	}
	return 0
}

func reqID(rank, req int) int64 {
	if req < 0 {
		return 0
	}
	return int64(req + 1 + rank)
}

// signer collects the arguments of one call.
type signer struct {
	p    *Program
	c    *Call
	args []arg
}

func (s *signer) word(name string, kind trace.ArgKind, v int64) {
	s.args = append(s.args, arg{trace.Arg{Name: name, Kind: kind}, trace.Value{Int: v}})
}

func (s *signer) list(name string, kind trace.ArgKind, v []int64) {
	s.args = append(s.args, arg{trace.Arg{Name: name, Kind: kind}, trace.Value{List: v}})
}

func (s *signer) addr(name string, off int) {
	s.word(name, trace.ArgAddress, int64(s.p.Base[s.c.Rank])+int64(off))
}

// place is the address of a buffer.
func (s *signer) place(name string, b Buf) {
	s.addr(name, s.p.bufferSeen(s.c.Rank, b))
}

// bufferSeen returns where a process sees a buffer, as seen does. Its address
// may lie before its first byte, and so before the window that this lies in.
func (p *Program) bufferSeen(rank int, b Buf) int {
	lo, _ := p.reach(b.Type, b.Count)
	return p.seen(rank, b.Of, b.Off+lo) - lo
}

// seen returns where a process sees memory of another, as an offset from its
// own Base. Of is that of a Buf or Call.
func (p *Program) seen(rank, of, off int) int {
	if of == 0 {
		return off
	}
	owner := of - 1
	for i := range p.Wins {
		if w := &p.Wins[i]; w.At != nil && off >= w.Off[owner] && off < w.Off[owner]+w.Size[owner] {
			return w.At[rank][owner] + off - w.Off[owner]
		}
	}
	return off
}

func (s *signer) typ(name string, t int) { s.word(name, trace.ArgType, typeID(s.c.Rank, t)) }

// buf adds address, count and type under these names.
func (s *signer) buf(b Buf, addr, count, typ string) {
	s.place(addr, b)
	s.word(count, trace.ArgNumber, int64(b.Count))
	s.typ(typ, b.Type)
}

// rank adds a process by its rank in the communicator, or in its remote group.
func (s *signer) rank(name string, world int) {
	if world == ProcNull {
		s.word(name, trace.ArgRank, trace.ProcNull)
		return
	}
	_, peers := s.p.Comms[s.p.commOf(s.c)].group(s.c.Rank)
	s.word(name, trace.ArgRank, rankIn(peers, world))
}

func rankIn(group []int, world int) int64 {
	if i := slices.Index(group, world); i >= 0 {
		return int64(i)
	}
	return trace.Undefined
}

func (s *signer) target(kind ...string) {
	s.rank("target_rank", s.c.Peer)
	disp := int64(s.c.Disp)
	if s.p.Wins[s.c.Win].Make == "MPI_Win_create_dynamic" && s.c.Peer != ProcNull {
		disp += int64(s.p.Base[s.c.Peer])
	}
	s.word("target_disp", trace.ArgNumber, disp)
	if len(kind) == 0 {
		s.word("target_count", trace.ArgNumber, int64(s.c.TCount))
		s.typ("target_datatype", s.c.TType)
	}
}

func (s *signer) op()     { s.word("op", trace.ArgOp, opID(s.c.Rank, s.c.Op)) }
func (s *signer) win()    { s.word("win", trace.ArgWin, s.p.winID(s.c.Win)) }
func (s *signer) comm()   { s.word("comm", trace.ArgComm, s.p.commID(s.p.commOf(s.c))) }
func (s *signer) assert() { s.word("assert", trace.ArgAssert, s.c.Assert) }

func (s *signer) group() {
	v := make([]int64, len(s.c.Group))
	for i, r := range s.c.Group {
		v[i] = int64(r)
	}
	s.list("group", trace.ArgGroup, v)
}

// source adds the source rank of a receive.
func (s *signer) source() {
	if s.c.Any && s.c.Source != ProcNull {
		s.word("source", trace.ArgRank, trace.AnySource)
	} else {
		s.rank("source", s.c.Source)
	}
}

func (s *signer) recvTag(name string) {
	tag := int64(s.c.recvChannel().tag)
	if s.c.AnyTag {
		tag = trace.AnyTag
	}
	s.word(name, trace.ArgTag, tag)
}

// commID and winID number handles as docs/trace-format.md says. Of an
// intercommunicator each group's first process draws a number, and the smaller
// identifier counts.
func (p *Program) commID(comm int) int64 {
	if comm == 0 {
		return trace.CommWorld
	}
	leaders := func(i int) []int {
		if c := &p.Comms[i]; c.Remote != nil {
			return []int{c.Ranks[0], c.Remote[0]}
		}
		return p.Comms[i].Ranks[:1]
	}
	l := slices.Min(leaders(comm))
	n := int64(2)
	for i := 1; i < comm; i++ {
		if slices.Contains(leaders(i), l) {
			n++
		}
	}
	return int64(l+1)<<32 + n
}

func (p *Program) winID(win int) int64 {
	leader := p.Comms[p.Wins[win].Comm].Ranks[0]
	n := int64(1)
	for i := range win {
		if p.Comms[p.Wins[i].Comm].Ranks[0] == leader {
			n++
		}
	}
	return int64(leader+1)<<32 + n
}

// signature returns the arguments of a call in the order of the standard.
func (p *Program) signature(c *Call) []arg {
	s := &signer{p: p, c: c}
	switch {
	case c.isOperation():
		s.operation()
	case c.onWindow():
		s.window()
	case c.makesComm():
		s.constructor()
	case c.isCollective():
		s.collective()
	case c.family() == messageCall:
		s.message()
	case c.family() == probeCall:
		s.probe()
	default:
		s.requests()
	}
	if (c.isOperation() || c.isCollective() || c.family() == messageCall) && c.form() != blocking {
		s.request()
	}
	s.values()
	return s.args
}

func (s *signer) request() { s.word("request", trace.ArgRequest, reqID(s.c.Rank, s.c.Reqs[0])) }

func (s *signer) operation() {
	c := s.c
	switch c.does() {
	case "MPI_Put", "MPI_Accumulate":
		s.buf(c.Origin, "origin_addr", "origin_count", "origin_datatype")
		s.target()
	case "MPI_Get":
		s.buf(c.Result, "origin_addr", "origin_count", "origin_datatype")
		s.target()
	case "MPI_Get_accumulate":
		s.buf(c.Origin, "origin_addr", "origin_count", "origin_datatype")
		s.buf(c.Result, "result_addr", "result_count", "result_datatype")
		s.target()
	case "MPI_Fetch_and_op":
		s.place("origin_addr", c.Origin)
		s.place("result_addr", c.Result)
		s.typ("datatype", c.TType)
		s.target("single")
	case "MPI_Compare_and_swap":
		s.place("origin_addr", c.Origin)
		s.place("compare_addr", c.Compare)
		s.place("result_addr", c.Result)
		s.typ("datatype", c.TType)
		s.target("single")
	}
	switch c.does() {
	case "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op":
		s.op()
	}
	s.win()
}

// values are those of an atomic operation: none, since the programs do not say what
// their memory holds.
func (s *signer) values() {
	switch s.c.does() {
	case "MPI_Compare_and_swap":
		defer s.number("compare", 0)
	case "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op":
	default:
		return
	}
	s.number("number", 0)
	s.number("operand", 0)
	if does := s.c.does(); does == "MPI_Accumulate" || does == "MPI_Get_accumulate" {
		s.numbers("operands", trace.ArgNumbers, nil)
	}
}

func (s *signer) window() {
	c := s.c
	if c.makesWindow() {
		s.makeWindow()
		return
	}
	switch c.Fn {
	case "MPI_Win_fence", "MPI_Win_lock_all":
		s.assert()
	case "MPI_Win_lock":
		s.word("lock_type", trace.ArgLock, c.Lock)
		s.rank("rank", c.Peer)
		s.assert()
		s.win()
		s.word("ticket", trace.ArgNumber, int64(c.Ticket))
		return
	case "MPI_Win_unlock", "MPI_Win_flush", "MPI_Win_flush_local":
		s.rank("rank", c.Peer)
	case "MPI_Win_post", "MPI_Win_start":
		s.group()
		s.assert()
	case "MPI_Win_test":
		s.win()
		s.flag()
		return
	case "MPI_Win_attach", "MPI_Win_detach":
		s.win()
		s.addr("base", c.Off)
		if c.Fn == "MPI_Win_attach" {
			s.word("size", trace.ArgNumber, int64(c.Bytes))
		}
		return
	}
	s.win()
}

func (s *signer) makeWindow() {
	c, w := s.c, &s.p.Wins[s.c.Win]
	if c.Fn == "MPI_Win_create" {
		s.addr("base", w.Off[c.Rank])
	}
	if c.Fn != "MPI_Win_create_dynamic" {
		s.number("size", w.Size[c.Rank])
		s.number("disp_unit", w.Unit[c.Rank])
	}
	s.comm()
	if w.allocates() {
		s.addr("baseptr", w.Off[c.Rank])
	}
	s.win()
	s.number("model", 1-bit(w.Separate))
	s.number("accumulate_ops", bit(w.SameOp))
	s.word("accumulate_ordering", trace.ArgNumber, trace.OrderAll&^w.Unorder)
}

func (s *signer) number(name string, v int) { s.word(name, trace.ArgNumber, int64(v)) }
func (s *signer) flag()                     { s.number("flag", bit(s.c.Flag)) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *signer) numbers(name string, kind trace.ArgKind, v []int) {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	s.list(name, kind, out)
}

// constructor is a call that makes a communicator.
func (s *signer) constructor() {
	c := s.c
	inter := "comm"
	switch c.Fn {
	case "MPI_Intercomm_create":
		inter = "local_comm"
	case "MPI_Intercomm_merge":
		inter = "intercomm"
	}
	s.word(inter, trace.ArgComm, s.p.commID(c.Comm))
	made := "newcomm"
	switch c.Fn {
	case "MPI_Comm_idup":
		return
	case "MPI_Comm_split":
		s.number("color", c.Color)
		s.number("key", c.Key)
	case "MPI_Comm_create":
		s.group()
	case "MPI_Comm_create_group":
		s.group()
		s.word("tag", trace.ArgTag, int64(c.Tag))
	case "MPI_Cart_create":
		n := &s.p.Comms[c.New]
		s.number("ndims", len(n.Dims))
		s.numbers("dims", trace.ArgNumbers, n.Dims)
		s.numbers("periods", trace.ArgNumbers, n.Periods)
		s.number("reorder", 0)
	case "MPI_Dist_graph_create_adjacent":
		sources, dests := s.p.Comms[c.New].neighbours(c.Rank)
		old := s.p.Comms[c.Comm].Ranks
		s.number("indegree", len(sources))
		s.numbers("sources", trace.ArgNumbers, ranksIn(old, sources))
		s.number("outdegree", len(dests))
		s.numbers("destinations", trace.ArgNumbers, ranksIn(old, dests))
		s.number("reorder", 0)
	case "MPI_Intercomm_create":
		peer := int64(0)
		s.rank("local_leader", c.Peer)
		if c.Peer == c.Rank {
			peer = s.p.commID(0)
		}
		s.word("peer_comm", trace.ArgComm, peer)
		s.word("remote_leader", trace.ArgRank, int64(c.Source))
		s.word("tag", trace.ArgTag, int64(c.Tag))
		made = "newintercomm"
	case "MPI_Intercomm_merge":
		s.number("high", bit(c.Flag))
		made = "newintracomm"
	}
	id := int64(0)
	if c.New >= 0 && slices.Contains(s.p.Comms[c.New].all(), c.Rank) {
		id = s.p.commID(c.New)
	}
	s.word(made, trace.ArgComm, id)
}

func ranksIn(group, world []int) []int {
	out := make([]int, len(world))
	for i, w := range world {
		if out[i] = ProcNull; w != ProcNull {
			out[i] = slices.Index(group, w)
		}
	}
	return out
}

func (s *signer) message() {
	c := s.c
	dest := func(tag string) {
		s.rank("dest", c.Peer)
		s.word(tag, trace.ArgTag, int64(c.Tag))
	}
	switch c.does() {
	case "MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend":
		s.buf(c.Origin, "buf", "count", "datatype")
		dest("tag")
		s.comm()
	case "MPI_Recv":
		s.buf(c.Result, "buf", "count", "datatype")
		s.source()
		s.recvTag("tag")
		s.comm()
	case "MPI_Mrecv":
		s.buf(c.Result, "buf", "count", "datatype")
		s.number("message", c.Msg)
	case "MPI_Sendrecv":
		s.buf(c.Origin, "sendbuf", "sendcount", "sendtype")
		dest("sendtag")
		s.buf(c.Result, "recvbuf", "recvcount", "recvtype")
		s.source()
		s.recvTag("recvtag")
		s.comm()
	case "MPI_Sendrecv_replace":
		s.buf(c.Origin, "buf", "count", "datatype")
		dest("sendtag")
		s.source()
		s.recvTag("recvtag")
		s.comm()
	case "MPI_Psend", "MPI_Precv":
		b := c.Origin
		if c.does() == "MPI_Precv" {
			b = c.Result
		}
		s.place("buf", b)
		s.number("partitions", c.Partitions)
		s.number("count", b.Count)
		s.typ("datatype", b.Type)
		if c.does() == "MPI_Psend" {
			dest("tag")
		} else {
			s.source()
			s.recvTag("tag")
		}
		s.comm()
	}
	if c.form() == blocking && (c.receives() || c.does() == "MPI_Mrecv") {
		s.statuses("status")
	}
}

func (s *signer) probe() {
	c := s.c
	s.source()
	s.recvTag("tag")
	s.comm()
	if c.Fn == "MPI_Iprobe" || c.Fn == "MPI_Improbe" {
		s.flag()
	}
	s.statuses("status")
	if c.Fn == "MPI_Mprobe" || c.Fn == "MPI_Improbe" {
		msg := 0
		if c.Fn == "MPI_Mprobe" || c.Flag {
			msg = c.Msg
		}
		s.number("handle", msg)
	}
}

// statuses adds what the call's statuses say; nothing where it has none.
func (s *signer) statuses(name string) {
	var v []int64
	for _, x := range s.c.Statuses {
		v = append(v, int64(x.Source), int64(x.Tag), int64(x.Bytes), int64(bit(x.Cancelled)))
	}
	s.list(name, trace.ArgStatuses, v)
}

func (s *signer) requests() {
	c := s.c
	switch c.Fn {
	case "MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived":
		s.partitions()
		return
	case "MPI_Start", "MPI_Wait", "MPI_Test", "MPI_Request_free", "MPI_Request_get_status", "MPI_Cancel":
		s.request()
	default:
		ids := make([]int64, len(c.Reqs))
		for i, r := range c.Reqs {
			ids[i] = reqID(c.Rank, r)
		}
		s.list("requests", trace.ArgRequests, ids)
	}
	switch c.Fn {
	case "MPI_Waitany", "MPI_Testany":
		index := Undefined
		if len(c.Done) > 0 {
			index = c.Done[0]
		}
		s.number("index", index)
	case "MPI_Waitsome", "MPI_Testsome":
		s.numbers("indices", trace.ArgNumbers, c.Done)
	}
	switch c.Fn {
	case "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Request_get_status":
		s.flag()
	}
	switch c.Fn {
	case "MPI_Wait":
		s.statuses("status")
		s.number("done", 1)
	case "MPI_Test", "MPI_Waitany", "MPI_Testany", "MPI_Request_get_status":
		s.statuses("status")
	case "MPI_Waitall", "MPI_Testall", "MPI_Waitsome", "MPI_Testsome":
		s.statuses("statuses")
	}
}

func (s *signer) partitions() {
	c := s.c
	switch c.Fn {
	case "MPI_Pready":
		s.number("partition", c.Ready[0])
	case "MPI_Pready_range":
		s.number("partition_low", c.Ready[0])
		s.number("partition_high", c.Ready[1])
	case "MPI_Pready_list":
		s.numbers("array_of_partitions", trace.ArgNumbers, c.Ready)
	}
	s.request()
	if c.Fn == "MPI_Parrived" {
		s.number("partition", c.Ready[0])
		s.flag()
	}
}
