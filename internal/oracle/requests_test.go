package oracle

import (
	"testing"

	"github.com/mcchk/mcchk/trace"
)

// One scenario on either side of each choice about requests, probes, forms of
// collective calls, partitions and kinds of windows.
func TestRequests(t *testing.T) {
	const p = 100 // a private buffer
	rput := func(s *script) {
		s.shared(0, 1)
		s.op("rput", "MPI_Rput", 0, 1, 0, from(at4(p)), under(0))
	}
	after := func(sync func(s *script)) func(s *script) {
		return func(s *script) {
			putFlush(s)
			sync(s)
			s.load("load", 1, window)
		}
	}
	start := func(s *script, r int, reqs ...int) {
		s.do("start", Call{Rank: r, Fn: "MPI_Startall", Reqs: reqs})
	}
	check(t, []scenario{
		{"buffer of a put before its wait", "rput store", func(s *script) {
			rput(s)
			s.store("store", 0, p)
			s.wait(0, 0)
			s.win(0, "unlock", 1)
		}},
		{"buffer of a put after its wait", "", func(s *script) {
			rput(s)
			s.wait(0, 0)
			s.store("store", 0, p)
			s.win(0, "unlock", 1)
		}},
		{"buffer of a put after a test that fails", "rput store", func(s *script) {
			rput(s)
			s.do("test", Call{Rank: 0, Fn: "MPI_Test", Reqs: []int{0}})
			s.store("store", 0, p)
			s.wait(0, 0)
			s.win(0, "unlock", 1)
		}},
		{"buffer of a put after its status was seen", "", func(s *script) {
			rput(s)
			s.do("get_status", Call{Rank: 0, Fn: "MPI_Request_get_status", Reqs: []int{0}, Flag: true})
			s.store("store", 0, p)
			s.wait(0, 0)
			s.win(0, "unlock", 1)
		}},
		{"a put's wait does not complete its target", "load rput", func(s *script) {
			rput(s)
			s.wait(0, 0)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock", 1)
		}},
		{"a get's wait completes its target", "", func(s *script) {
			s.shared(0, 1)
			s.op("rget", "MPI_Rget", 0, 1, 0, under(0))
			s.wait(0, 0)
			s.barrier()
			s.store("store", 1, window)
			s.win(0, "unlock", 1)
		}},
		{"Waitany completes the one it names", "rput store", func(s *script) {
			rput(s)
			s.op("rget", "MPI_Rget", 0, 1, 8, under(1))
			s.do("waitany", Call{Rank: 0, Fn: "MPI_Waitany", Reqs: []int{0, 1}, Done: []int{1}})
			s.store("store", 0, p)
			s.wait(0, 0)
			s.win(0, "unlock", 1)
		}},
		{"a freed send is complete once received", "", func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, at4(p), 0)
			s.do("free", Call{Rank: 0, Fn: "MPI_Request_free", Reqs: []int{0}})
			s.recv(0, 1)
			s.barrier()
			s.store("store", 0, p)
		}},
		{"a freed send before that", "isend store", func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, at4(p), 0)
			s.do("free", Call{Rank: 0, Fn: "MPI_Request_free", Reqs: []int{0}})
			s.store("store", 0, p)
			s.recv(0, 1)
		}},
		{"a cancelled receive has its buffer", "irecv load", func(s *script) {
			s.irecv("irecv", 0, 1, at4(p), 0)
			s.do("cancel", Call{Rank: 1, Fn: "MPI_Cancel", Reqs: []int{0}})
			s.load("load", 1, p)
			s.wait(1, 0)
		}},
		{"a cancelled receive matches nothing", "", after(func(s *script) {
			s.irecv("irecv", 0, 1, s.fresh(), 0)
			s.do("cancel", Call{Rank: 1, Fn: "MPI_Cancel", Reqs: []int{0}})
			s.send(0, 1)
			s.recv(0, 1)
			s.wait(1, 0)
		})},
		{"a probe comes after the send", "", func(s *script) {
			putFlush(s)
			s.send(0, 1)
			s.do("probe", Call{Rank: 1, Fn: "MPI_Probe", Source: 0})
			s.load("load", 1, window)
			s.recv(0, 1)
		}},
		{"a probe that finds nothing does not", "load put", func(s *script) {
			putFlush(s)
			s.send(0, 1)
			s.do("iprobe", Call{Rank: 1, Fn: "MPI_Iprobe", Source: 0})
			s.load("load", 1, window)
			s.recv(0, 1)
		}},
		{"a matched message is received out of order", "", func(s *script) {
			s.send(0, 1)
			s.do("mprobe", Call{Rank: 1, Fn: "MPI_Mprobe", Source: 0, Msg: 1})
			putFlush(s)
			s.send(0, 1)
			s.recv(0, 1)
			s.load("load", 1, window)
			s.do("mrecv", Call{Rank: 1, Fn: "MPI_Mrecv", Msg: 1, Result: s.fresh()})
		}},
		{"MPI_PROC_NULL orders and touches nothing", "load put", after(func(s *script) {
			s.do("send", Call{Rank: 0, Fn: "MPI_Send", Peer: ProcNull, Origin: at4(p)})
			s.do("recv", Call{Rank: 1, Fn: "MPI_Recv", Source: ProcNull, Result: at4(window)})
		})},
		{"a persistent message orders from start to wait", "", func(s *script) {
			s.do("send_init", Call{Rank: 0, Fn: "MPI_Send_init", Peer: 1, Origin: at4(p), Reqs: []int{0}})
			s.do("recv_init", Call{Rank: 1, Fn: "MPI_Recv_init", Source: 0, Result: at4(p), Reqs: []int{1}})
			putFlush(s)
			start(s, 0, 0)
			start(s, 1, 1)
			s.wait(1, 1)
			s.load("load", 1, window)
			s.wait(0, 0)
		}},
		{"a persistent message uses its buffer while active", "load start", func(s *script) {
			s.do("send_init", Call{Rank: 0, Fn: "MPI_Send_init", Peer: 1, Origin: at4(p), Reqs: []int{0}})
			s.do("recv_init", Call{Rank: 1, Fn: "MPI_Recv_init", Source: 0, Result: at4(p), Reqs: []int{1}})
			s.store("store", 0, p)
			start(s, 0, 0)
			start(s, 1, 1)
			s.load("load", 1, p)
			s.wait(1, 1)
			s.wait(0, 0)
			s.store("store", 0, p)
		}},
		{"a non-blocking barrier orders from start to wait", "", func(s *script) {
			putFlush(s)
			for r := range 3 {
				s.do("ibarrier", Call{Rank: r, Fn: "MPI_Ibarrier", Reqs: []int{r}})
			}
			s.wait(1, 1)
			s.load("load", 1, window)
			s.wait(0, 0)
			s.wait(2, 2)
		}},
		{"a non-blocking barrier does not order before its wait", "load put", func(s *script) {
			putFlush(s)
			for r := range 3 {
				s.do("ibarrier", Call{Rank: r, Fn: "MPI_Ibarrier", Reqs: []int{r}})
			}
			s.load("load", 1, window)
			for r := range 3 {
				s.wait(r, r)
			}
		}},
		{"MPI_Scan orders upwards", "", after(func(s *script) { s.reduce("MPI_Scan") })},
		{"MPI_Scan does not order downwards", "load put", func(s *script) {
			s.shared(2, 1)
			s.put("put", 2, 1, 0)
			s.win(2, "unlock", 1)
			s.reduce("MPI_Scan")
			s.load("load", 1, window)
		}},
		{"a partition is read from MPI_Pready on", "pready store", func(s *script) {
			s.partitioned(p)
			start(s, 0, 0)
			start(s, 1, 1)
			s.store("before", 0, p)
			s.do("pready", Call{Rank: 0, Fn: "MPI_Pready", Reqs: []int{0}, Ready: []int{0}})
			s.store("store", 0, p)
			s.store("other", 0, p+4)
			s.do("pready", Call{Rank: 0, Fn: "MPI_Pready", Reqs: []int{0}, Ready: []int{1}})
			s.wait(0, 0)
			s.wait(1, 1)
		}},
		{"MPI_Parrived orders after MPI_Pready", "", func(s *script) {
			s.partitioned(p)
			start(s, 0, 0)
			start(s, 1, 1)
			putFlush(s)
			s.do("pready", Call{Rank: 0, Fn: "MPI_Pready", Reqs: []int{0}, Ready: []int{1}})
			s.do("parrived", Call{Rank: 1, Fn: "MPI_Parrived", Reqs: []int{1}, Ready: []int{1}, Flag: true})
			s.load("load", 1, window)
			s.load("arrived", 1, p+4)
			s.do("pready", Call{Rank: 0, Fn: "MPI_Pready", Reqs: []int{0}, Ready: []int{0}})
			s.wait(0, 0)
			s.wait(1, 1)
		}},
		{"a lock without check excludes nothing", "put store", func(s *script) {
			s.do("lock", Call{Rank: 0, Fn: "MPI_Win_lock", Peer: 1, Lock: trace.LockExclusive, Assert: trace.AssertNoCheck})
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.exclusive(1, 1)
			s.store("store", 1, window)
			s.win(1, "unlock", 1)
		}},
		{"accumulates without order", "acc acc2?", func(s *script) {
			s.p.Wins[0].Unorder = trace.OrderAll
			s.shared(0, 1)
			s.acc("acc", 0, 1, 0)
			s.acc("acc2", 0, 1, 0, with("MPI_MAX"))
			s.win(0, "unlock", 1)
		}},
		{"same_op and MPI_NO_OP", "acc fetch?", func(s *script) {
			s.p.Wins[0].SameOp = true
			s.shared(0, 1)
			s.acc("acc", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.shared(2, 1)
			s.op("fetch", "MPI_Fetch_and_op", 2, 1, 0, with("MPI_NO_OP"))
			s.win(2, "unlock", 1)
		}},
		{"the hole of a pair type", "", func(s *script) {
			s.shared(0, 1)
			s.acc("acc", 0, 1, 0, of(ShortInt), with("MPI_MINLOC"))
			s.do("load", Call{Rank: 1, Fn: "load", Off: window + 2, Elem: 2, Count: 1})
			s.win(0, "unlock", 1)
		}},
		{"pairs that overlap in part", "acc acc2", func(s *script) {
			s.shared(0, 1)
			s.acc("acc", 0, 1, 0, of(ShortInt), with("MPI_MINLOC"))
			s.acc("acc2", 0, 1, 4, of(ShortInt), with("MPI_MINLOC"))
			s.win(0, "unlock", 1)
		}},
	})
}

func under(n int) func(*Call) { return func(c *Call) { c.Reqs = []int{n} } }

// reduce has all processes reduce one MPI_INT.
func (s *script) reduce(fn string) {
	for r := range 3 {
		s.do(fn, Call{Rank: r, Fn: fn, Op: "MPI_SUM", Origin: s.fresh(), Result: s.fresh()})
	}
}

// partitioned initializes a partitioned message of process 0 to 1, two MPI_INT
// in two partitions, under requests 0 and 1.
func (s *script) partitioned(at int) {
	s.do("psend", Call{Rank: 0, Fn: "MPI_Psend_init", Peer: 1, Source: 0, Origin: at4(at), Partitions: 2, Reqs: []int{0}})
	s.do("precv", Call{Rank: 1, Fn: "MPI_Precv_init", Peer: 1, Source: 0, Result: at4(at), Partitions: 2, Reqs: []int{1}})
}
