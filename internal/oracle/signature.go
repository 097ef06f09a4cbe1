package oracle

import "github.com/mcchk/mcchk/trace"

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
var opNames = [...]string{"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_REPLACE", "MPI_NO_OP", "MPI_BXOR"}

func opID(rank int, name string) int64 {
	for i, n := range opNames {
		if n == name {
			return int64(i + 1 + 2*rank)
		}
	}
	return 0
}

func reqID(rank, req int) int64 { return int64(req + 1 + rank) }

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

func (s *signer) typ(name string, t int) { s.word(name, trace.ArgType, typeID(s.c.Rank, t)) }

// buf adds address, count and type under these names.
func (s *signer) buf(b Buf, addr, count, typ string) {
	s.addr(addr, b.Off)
	s.word(count, trace.ArgNumber, int64(b.Count))
	s.typ(typ, b.Type)
}

func (s *signer) rank(name string, world int) {
	for i, r := range s.p.Comms[s.p.commOf(s.c)].Ranks {
		if r == world {
			s.word(name, trace.ArgRank, int64(i))
			return
		}
	}
	s.word(name, trace.ArgRank, trace.Undefined)
}

func (s *signer) target(kind ...string) {
	s.rank("target_rank", s.c.Peer)
	s.word("target_disp", trace.ArgNumber, int64(s.c.Disp))
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
	if s.c.Any {
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

// commID and winID number handles as docs/trace-format.md says.
func (p *Program) commID(comm int) int64 {
	if comm == 0 {
		return trace.CommWorld
	}
	n := int64(2)
	for i := 1; i < comm; i++ {
		if p.Comms[i].Ranks[0] == p.Comms[comm].Ranks[0] {
			n++
		}
	}
	return int64(p.Comms[comm].Ranks[0]+1)<<32 + n
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
	case c.isCollective():
		s.collective()
	default:
		s.message()
	}
	return s.args
}

func (s *signer) operation() {
	c := s.c
	switch c.Fn {
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
		s.addr("origin_addr", c.Origin.Off)
		s.addr("result_addr", c.Result.Off)
		s.typ("datatype", c.TType)
		s.target("single")
	case "MPI_Compare_and_swap":
		s.addr("origin_addr", c.Origin.Off)
		s.addr("compare_addr", c.Compare.Off)
		s.addr("result_addr", c.Result.Off)
		s.typ("datatype", c.TType)
		s.target("single")
	}
	if c.Fn == "MPI_Accumulate" || c.Fn == "MPI_Get_accumulate" || c.Fn == "MPI_Fetch_and_op" {
		s.op()
	}
	s.win()
}

func (s *signer) window() {
	c, w := s.c, &s.p.Wins[s.c.Win]
	switch c.Fn {
	case "MPI_Win_create", "MPI_Win_allocate":
		if c.Fn == "MPI_Win_create" {
			s.addr("base", w.Off[c.Rank])
		}
		s.word("size", trace.ArgNumber, int64(w.Size[c.Rank]))
		s.word("disp_unit", trace.ArgNumber, int64(w.Unit[c.Rank]))
		s.comm()
		if c.Fn == "MPI_Win_allocate" {
			s.addr("baseptr", w.Off[c.Rank])
		}
		s.win()
		s.word("model", trace.ArgNumber, 1)
		s.word("accumulate_ops", trace.ArgNumber, 0)
		s.word("accumulate_ordering", trace.ArgNumber, trace.OrderAll)
		return
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
		flag := int64(0)
		if c.Flag {
			flag = 1
		}
		s.word("flag", trace.ArgNumber, flag)
		return
	}
	s.win()
}

func (s *signer) collective() {
	c := s.c
	switch c.Fn {
	case "MPI_Bcast":
		s.buf(c.Origin, "buffer", "count", "datatype")
		s.rank("root", c.Peer)
	case "MPI_Reduce", "MPI_Allreduce":
		root := c.Fn == "MPI_Allreduce" || c.Rank == c.Peer
		if c.InPlace && root {
			s.word("sendbuf", trace.ArgAddress, trace.InPlace)
		} else {
			s.addr("sendbuf", c.Origin.Off)
		}
		if root {
			s.buf(c.Result, "recvbuf", "count", "datatype")
		} else {
			s.word("recvbuf", trace.ArgAddress, 0)
			s.word("count", trace.ArgNumber, int64(c.Origin.Count))
			s.typ("datatype", c.Origin.Type)
		}
		s.op()
		if c.Fn == "MPI_Reduce" {
			s.rank("root", c.Peer)
		}
	}
	s.comm()
}

func (s *signer) message() {
	c := s.c
	switch c.Fn {
	case "MPI_Send", "MPI_Ssend", "MPI_Isend":
		s.buf(c.Origin, "buf", "count", "datatype")
		s.rank("dest", c.Peer)
		s.word("tag", trace.ArgTag, int64(c.Tag))
		s.comm()
	case "MPI_Recv", "MPI_Irecv":
		s.buf(c.Result, "buf", "count", "datatype")
		s.source()
		s.recvTag("tag")
		s.comm()
	case "MPI_Sendrecv":
		s.buf(c.Origin, "sendbuf", "sendcount", "sendtype")
		s.rank("dest", c.Peer)
		s.word("sendtag", trace.ArgTag, int64(c.Tag))
		s.buf(c.Result, "recvbuf", "recvcount", "recvtype")
		s.source()
		s.recvTag("recvtag")
		s.comm()
	}
	switch c.Fn {
	case "MPI_Isend", "MPI_Irecv":
		s.word("request", trace.ArgRequest, reqID(c.Rank, c.Reqs[0]))
	case "MPI_Recv", "MPI_Sendrecv":
		s.list("status", trace.ArgStatuses, s.p.status(c))
	case "MPI_Wait":
		s.word("request", trace.ArgRequest, reqID(c.Rank, c.Reqs[0]))
		s.list("status", trace.ArgStatuses, s.p.requestStatus(c.Rank, c.Reqs[0]))
		s.word("done", trace.ArgNumber, 1)
	case "MPI_Waitall":
		var reqs, statuses []int64
		for _, r := range c.Reqs {
			reqs = append(reqs, reqID(c.Rank, r))
			statuses = append(statuses, s.p.requestStatus(c.Rank, r)...)
		}
		s.list("requests", trace.ArgRequests, reqs)
		s.list("statuses", trace.ArgStatuses, statuses)
	}
}

// status returns what a receive's status says.
func (p *Program) status(c *Call) []int64 {
	for i, r := range p.Comms[c.Comm].Ranks {
		if r == c.Source {
			return []int64{int64(i), int64(c.recvChannel().tag), int64(c.Received), 0}
		}
	}
	return make([]int64, trace.StatusWords)
}

// requestStatus returns the status of a completed request; that of a send is
// empty (MPI standard, 3.7.3).
func (p *Program) requestStatus(rank, req int) []int64 {
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Rank == rank && c.Fn == "MPI_Irecv" && c.Reqs[0] == req {
			return p.status(c)
		}
	}
	return []int64{trace.AnySource, trace.AnyTag, 0, 0}
}
