package oracle

import (
	"testing"

	"github.com/mcchk/mcchk/trace"
)

// One scenario on either side of each row of the completion table of the
// detection model (section 2).
func TestCompletion(t *testing.T) {
	const p = 100 // a private buffer
	check(t, []scenario{
		{"put's buffer stored before the fence", "put store", func(s *script) {
			s.fence()
			s.put("put", 0, 1, 0, from(at4(p)))
			s.store("store", 0, p)
			s.fence()
		}},
		{"put's buffer stored after the fence", "", func(s *script) {
			s.fence()
			s.put("put", 0, 1, 0, from(at4(p)))
			s.fence()
			s.store("store", 0, p)
		}},
		{"put's buffer loaded before the fence", "", func(s *script) {
			s.fence()
			s.put("put", 0, 1, 0, from(at4(p)))
			s.load("load", 0, p)
			s.fence()
		}},
		{"get's buffer loaded before the fence", "get load", func(s *script) {
			s.fence()
			s.get("get", 0, 1, 0, into(at4(p)))
			s.load("load", 0, p)
			s.fence()
		}},
		{"get's buffer loaded after the fence", "", func(s *script) {
			s.fence()
			s.get("get", 0, 1, 0, into(at4(p)))
			s.fence()
			s.load("load", 0, p)
		}},
		{"target of a put loaded before the fence", "load put", func(s *script) {
			s.fence()
			s.put("put", 0, 1, 0)
			s.load("load", 1, window)
			s.fence()
		}},
		{"target of a put loaded after the fence", "", func(s *script) {
			s.fence()
			s.put("put", 0, 1, 0)
			s.fence()
			s.load("load", 1, window)
		}},
		{"target of a get stored before the fence", "get store", func(s *script) {
			s.fence()
			s.get("get", 0, 1, 0)
			s.store("store", 1, window)
			s.fence()
		}},
		{"target of a get loaded before the fence", "", func(s *script) {
			s.fence()
			s.get("get", 0, 1, 0)
			s.load("load", 1, window)
			s.fence()
		}},
		{"a fence on another window completes nothing", "put store", func(s *script) {
			s.all(Call{Fn: "MPI_Win_create", Win: 1})
			s.fence()
			s.put("put", 0, 1, 0, from(at4(p)))
			s.all(Call{Fn: "MPI_Win_fence", Win: 1})
			s.store("store", 0, p)
			s.fence()
		}},
		{"buffer before the unlock", "get load", func(s *script) {
			s.shared(0, 1)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.load("load", 0, p)
			s.win(0, "unlock", 1)
		}},
		{"buffer after the unlock", "", func(s *script) {
			s.shared(0, 1)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.win(0, "unlock", 1)
			s.load("load", 0, p)
		}},
		{"the unlock of another target", "get load", func(s *script) {
			s.shared(0, 1)
			s.shared(0, 2)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.win(0, "unlock", 2)
			s.load("load", 0, p)
			s.win(0, "unlock", 1)
		}},
		{"unlock_all completes", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.win(0, "unlock_all", 0)
			s.load("load", 0, p)
		}},
		{"before the unlock_all", "get load", func(s *script) {
			s.win(0, "lock_all", 0)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.load("load", 0, p)
			s.win(0, "unlock_all", 0)
		}},
		{"a barrier completes nothing", "load put", func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock", 1)
		}},
		{"flush, then a barrier", "", func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "flush", 1)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock", 1)
		}},
		{"flush_all, then a barrier", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.put("put", 0, 1, 0)
			s.win(0, "flush_all", 0)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock_all", 0)
		}},
		{"flush of another target", "load put", func(s *script) {
			s.win(0, "lock_all", 0)
			s.put("put", 0, 1, 0)
			s.win(0, "flush", 2)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock_all", 0)
		}},
		{"flush_local completes the buffer", "", func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0, from(at4(p)))
			s.win(0, "flush_local", 1)
			s.store("store", 0, p)
			s.win(0, "unlock", 1)
		}},
		{"flush_local of another target", "put store", func(s *script) {
			s.win(0, "lock_all", 0)
			s.put("put", 0, 1, 0, from(at4(p)))
			s.win(0, "flush_local", 2)
			s.store("store", 0, p)
			s.win(0, "unlock_all", 0)
		}},
		{"flush_local does not complete the target", "load put", func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "flush_local", 1)
			s.barrier()
			s.load("load", 1, window)
			s.win(0, "unlock", 1)
		}},
		{"flush_local_all completes the buffer", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.get("get", 0, 1, 0, into(at4(p)))
			s.win(0, "flush_local_all", 0)
			s.load("load", 0, p)
			s.win(0, "unlock_all", 0)
		}},
		{"buffer before the complete", "put store", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0, from(at4(p)))
			s.store("store", 0, p)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
		}},
		{"buffer after the complete", "", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0, from(at4(p)))
			s.win(0, "complete", 0)
			s.store("store", 0, p)
			s.win(1, "wait", 0)
		}},
		{"target between complete and wait", "load put", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "complete", 0)
			s.barrier()
			s.load("load", 1, window)
			s.win(1, "wait", 0)
		}},
		{"target after the wait", "", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
			s.load("load", 1, window)
		}},
		{"target after a test that succeeds", "", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "complete", 0)
			s.do("test", Call{Rank: 1, Fn: "MPI_Win_test", Flag: true})
			s.load("load", 1, window)
		}},
		{"target after a test that fails", "load put", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.do("test", Call{Rank: 1, Fn: "MPI_Win_test"})
			s.load("load", 1, window)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
		}},
		{"target of a get completes at the complete", "", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.get("get", 0, 1, 0)
			s.win(0, "complete", 0)
			s.barrier()
			s.store("store", 1, window)
			s.win(1, "wait", 0)
		}},
		{"target of a fetch completes at the wait", "fetch store", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.op("fetch", "MPI_Fetch_and_op", 0, 1, 0, with("MPI_SUM"))
			s.win(0, "complete", 0)
			s.barrier()
			s.store("store", 1, window)
			s.win(1, "wait", 0)
		}},
		{"target of a fetch that only reads completes at the complete", "", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.op("fetch", "MPI_Fetch_and_op", 0, 1, 0, with("MPI_NO_OP"))
			s.win(0, "complete", 0)
			s.barrier()
			s.store("store", 1, window)
			s.win(1, "wait", 0)
		}},
		{"flush_local completes the target of a get", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.get("get", 0, 1, 0)
			s.win(0, "flush_local", 1)
			s.barrier()
			s.store("store", 1, window)
			s.win(0, "unlock_all", 0)
		}},
		{"isend's buffer before the wait", "isend store", func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, at4(p), 0)
			s.store("store", 0, p)
			s.recv(0, 1)
			s.wait(0, 0)
		}},
		{"isend's buffer after the wait", "", func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, at4(p), 0)
			s.wait(0, 0)
			s.store("store", 0, p)
			s.recv(0, 1)
		}},
		{"irecv's buffer before the wait", "irecv load", func(s *script) {
			s.send(0, 1)
			s.irecv("irecv", 0, 1, at4(p), 0)
			s.load("load", 1, p)
			s.wait(1, 0)
		}},
		{"irecv's buffer after the waitall", "", func(s *script) {
			s.send(0, 1)
			s.send(0, 1)
			s.irecv("irecv", 0, 1, at4(p), 0)
			s.irecv("irecv2", 0, 1, at4(p+4), 1)
			s.wait(1, 0, 1)
			s.load("load", 1, p)
		}},
	})
}

// What the buffers of an operation are.
func TestBuffers(t *testing.T) {
	const p = 100
	epoch := func(body func(s *script)) func(s *script) {
		return func(s *script) {
			s.shared(0, 1)
			body(s)
			s.win(0, "unlock", 1)
		}
	}
	check(t, []scenario{
		{"fetch reads its origin buffer", "fetch store", epoch(func(s *script) {
			s.op("fetch", "MPI_Fetch_and_op", 0, 1, 0, from(at4(p)))
			s.store("store", 0, p)
		})},
		{"fetch with MPI_NO_OP does not", "", epoch(func(s *script) {
			s.op("fetch", "MPI_Fetch_and_op", 0, 1, 0, from(at4(p)), with("MPI_NO_OP"))
			s.store("store", 0, p)
		})},
		{"get_accumulate writes its result", "gacc load", epoch(func(s *script) {
			s.op("gacc", "MPI_Get_accumulate", 0, 1, 0, into(at4(p)))
			s.load("load", 0, p)
		})},
		{"compare_and_swap reads what it compares with", "cas store", epoch(func(s *script) {
			s.op("cas", "MPI_Compare_and_swap", 0, 1, 0, func(c *Call) { c.Compare = at4(p) })
			s.store("store", 0, p)
		})},
		{"compare_and_swap reads only", "", epoch(func(s *script) {
			s.op("cas", "MPI_Compare_and_swap", 0, 1, 0, func(c *Call) { c.Compare, c.Origin = at4(p), at4(p) })
			s.load("load", 0, p)
		})},
		{"the gaps of a vector", "", epoch(func(s *script) {
			s.p.Types = append(s.p.Types, Type{Make: trace.Vector, Ints: []int{2, 1, 2}, Olds: []int{Int}})
			s.put("put", 0, 1, 0, from(Buf{Off: p, Count: 1, Type: predefined}), func(c *Call) { c.TCount = 2 })
			s.store("store", 0, p+4)
		})},
		{"the blocks of a vector", "put store", epoch(func(s *script) {
			s.p.Types = append(s.p.Types, Type{Make: trace.Vector, Ints: []int{2, 1, 2}, Olds: []int{Int}})
			s.put("put", 0, 1, 0, from(Buf{Off: p, Count: 1, Type: predefined}), func(c *Call) { c.TCount = 2 })
			s.store("store", 0, p+8)
		})},
		{"a put onto itself", "put put", func(s *script) {
			s.shared(0, 0)
			s.put("put", 0, 0, 0, from(at4(window)))
			s.win(0, "unlock", 0)
		}},
		{"a count of 0", "", epoch(func(s *script) {
			s.put("put", 0, 1, 0, from(Buf{Off: p, Type: Int}), func(c *Call) { c.TCount = 0 })
			s.store("store", 0, p)
		})},
	})
}
