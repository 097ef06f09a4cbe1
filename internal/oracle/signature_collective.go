package oracle

import (
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// root adds the root as the standard asks for it: on an intercommunicator
// MPI_ROOT at the root, MPI_PROC_NULL in the rest of its group.
func (s *signer) root() {
	own, _ := s.p.Comms[s.c.Comm].group(s.c.Rank)
	switch {
	case s.p.Comms[s.c.Comm].Remote == nil || !slices.Contains(own, s.c.Peer):
		s.rank("root", s.c.Peer)
	case s.c.Peer == s.c.Rank:
		s.word("root", trace.ArgRank, trace.RootRank)
	default:
		s.word("root", trace.ArgRank, trace.ProcNull)
	}
}

// side adds one side of a collective call, with counts and displacements for
// each process where it has them. Where it is not significant its arguments are
// 0 and its lists are empty.
func (s *signer) side(b Buf, v Parts, prefix, displs string, many, significant bool) {
	w := s.c.typed()
	addr, count, typ := prefix+"buf", prefix+"count", prefix+"type"
	if significant {
		s.place(addr, b)
	} else {
		s.word(addr, trace.ArgAddress, 0)
		b, v = Buf{Type: -1}, Parts{}
	}
	if many {
		s.numbers(count+"s", trace.ArgNumbers, v.Counts)
		s.numbers(displs, trace.ArgNumbers, v.Displs)
	} else {
		s.number(count, b.Count)
	}
	switch {
	case w:
		ids := make([]int64, len(v.Types))
		for i, t := range v.Types {
			ids[i] = typeID(s.c.Rank, t)
		}
		s.list(typ+"s", trace.ArgTypes, ids)
	case b.Type < 0:
		s.word(typ, trace.ArgType, 0)
	default:
		s.typ(typ, b.Type)
	}
}

// inPlace marks the send buffer, or that of a Scatter's root its receive
// buffer, as MPI_IN_PLACE.
func (s *signer) inPlace(name string) {
	for i := range s.args {
		if s.args[i].Name == name {
			s.args[i].value.Int = trace.InPlace
		}
	}
}

func (s *signer) collective() {
	c := s.c
	if c.Fn == "MPI_Comm_free" {
		s.comm()
		return
	}
	comm := &s.p.Comms[c.Comm]
	own, _ := comm.group(c.Rank)
	inter := comm.Remote != nil
	root := c.rooted() && c.Rank == c.Peer
	idle := inter && c.rooted() && !root && slices.Contains(own, c.Peer)
	fn := c.does()
	v := strings.HasSuffix(fn, "v") || c.typed()
	switch fn {
	case "MPI_Bcast":
		if idle {
			s.word("buffer", trace.ArgAddress, 0)
			s.number("count", 0)
			s.word("datatype", trace.ArgType, 0)
		} else {
			s.buf(c.Origin, "buffer", "count", "datatype")
		}
	case "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block":
		s.reduction(root, idle)
	case "MPI_Gather", "MPI_Gatherv":
		s.side(c.Origin, Parts{}, "send", "", false, !idle && !(root && inter) && !c.InPlace)
		s.side(c.Result, c.Recv, "recv", "displs", v, root)
		if c.InPlace && root {
			s.inPlace("sendbuf")
		}
	case "MPI_Scatter", "MPI_Scatterv":
		s.side(c.Origin, c.Send, "send", "displs", v, root)
		s.side(c.Result, Parts{}, "recv", "", false, !idle && !(root && inter) && !c.InPlace)
		if c.InPlace && root {
			s.inPlace("recvbuf")
		}
	case "MPI_Barrier":
	default:
		gathers := strings.Contains(strings.ToLower(fn), "allgather")
		rdispls := "rdispls"
		if gathers {
			rdispls = "displs"
		}
		s.side(c.Origin, c.Send, "send", "sdispls", v && !gathers, !c.InPlace)
		s.side(c.Result, c.Recv, "recv", rdispls, v, true)
		if c.InPlace {
			s.inPlace("sendbuf")
		}
	}
	if c.rooted() {
		s.root()
	}
	s.comm()
}

// reduction adds the arguments of a reducing call. Its one count and type are
// those of the result, or at a process without one of what it gives.
func (s *signer) reduction(root, idle bool) {
	c := s.c
	inter := s.p.Comms[c.Comm].Remote != nil
	gives := !idle && !(c.rooted() && root && inter)
	gets := !c.rooted() || root
	b := c.Result
	if !gets {
		b = c.Origin
	}
	switch {
	case c.InPlace && gets:
		s.word("sendbuf", trace.ArgAddress, trace.InPlace)
	case gives:
		s.place("sendbuf", c.Origin)
	default:
		s.word("sendbuf", trace.ArgAddress, 0)
	}
	if gets {
		s.place("recvbuf", c.Result)
	} else {
		s.word("recvbuf", trace.ArgAddress, 0)
	}
	switch c.does() {
	case "MPI_Reduce_scatter":
		s.numbers("recvcounts", trace.ArgNumbers, c.Recv.Counts)
	case "MPI_Reduce_scatter_block":
		s.number("recvcount", b.Count)
	default:
		if idle {
			s.number("count", 0)
		} else {
			s.number("count", b.Count)
		}
	}
	if idle {
		s.word("datatype", trace.ArgType, 0)
	} else {
		s.typ("datatype", b.Type)
	}
	s.op()
}
