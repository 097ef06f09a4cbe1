package oracle

import "testing"

// The conflict table of the detection model (section 4): two operations of
// processes 0 and 2 that meet at process 1 under shared locks.
func TestConflicts(t *testing.T) {
	meet := func(body func(s *script)) func(s *script) {
		return func(s *script) {
			s.win(0, "lock_all", 0)
			s.win(2, "lock_all", 0)
			body(s)
			s.win(0, "unlock_all", 0)
			s.win(2, "unlock_all", 0)
		}
	}
	pair := func(a, b string, change ...func(*Call)) func(s *script) {
		return meet(func(s *script) {
			s.op("a", a, 0, 1, 0)
			s.op("b", b, 2, 1, 0, change...)
		})
	}
	const acc, cas, fetch = "MPI_Accumulate", "MPI_Compare_and_swap", "MPI_Fetch_and_op"
	check(t, []scenario{
		{"get, get", "", pair("MPI_Get", "MPI_Get")},
		{"get, put", "a b", pair("MPI_Get", "MPI_Put")},
		{"put, put", "a b", pair("MPI_Put", "MPI_Put")},
		{"get, accumulate", "a b", pair("MPI_Get", acc)},
		{"put, accumulate", "a b", pair("MPI_Put", acc)},
		{"get, atomic read", "", pair("MPI_Get", fetch, with("MPI_NO_OP"))},
		{"put, atomic read", "a b", pair("MPI_Put", fetch, with("MPI_NO_OP"))},
		{"accumulate, atomic read", "", pair(acc, fetch, with("MPI_NO_OP"))},
		{"same operation", "", pair(acc, fetch)},
		{"different operations", "a b?", pair(acc, acc, with("MPI_REPLACE"))},
		{"compare_and_swap twice", "", pair(cas, cas)},
		{"compare_and_swap, replace", "a b?", pair(cas, acc, with("MPI_REPLACE"))},
		{"different basic types", "a b", pair(acc, acc, of(Float))},
		{"different types, atomic read", "a b", pair(acc, fetch, of(Short), with("MPI_NO_OP"))},
		{"misaligned", "a b", pair(acc, acc, func(c *Call) { c.Disp = 2 })},
		{"beside each other", "", pair("MPI_Put", "MPI_Put", func(c *Call) { c.Disp = 4 })},
		{"two atomic reads", "", meet(func(s *script) {
			s.op("a", fetch, 0, 1, 0, with("MPI_NO_OP"))
			s.op("b", fetch, 2, 1, 0, with("MPI_NO_OP"), of(Short))
		})},
		{"accumulates of one origin", "", meet(func(s *script) {
			s.acc("a", 0, 1, 0)
			s.acc("b", 0, 1, 0, with("MPI_REPLACE"))
			s.op("c", cas, 0, 1, 0)
		})},
		{"accumulates of one origin, other type", "a b", meet(func(s *script) {
			s.acc("a", 0, 1, 0)
			s.acc("b", 0, 1, 0, of(Float))
		})},
		{"puts of one origin", "a b", meet(func(s *script) {
			s.put("a", 0, 1, 0)
			s.put("b", 0, 1, 0)
		})},
		{"puts of one origin with a flush between", "", meet(func(s *script) {
			s.put("a", 0, 1, 0)
			s.win(0, "flush", 1)
			s.put("b", 0, 1, 0)
		})},
		{"accumulates through two windows", "a b", func(s *script) {
			s.all(Call{Fn: "MPI_Win_create", Win: 1})
			s.fence()
			s.all(Call{Fn: "MPI_Win_fence", Win: 1})
			s.acc("a", 0, 1, 0)
			s.acc("b", 0, 1, 0, on(1))
			s.fence()
			s.all(Call{Fn: "MPI_Win_fence", Win: 1})
		}},
		{"load, accumulate", "a b", meet(func(s *script) {
			s.acc("a", 0, 1, 0)
			s.load("b", 1, window)
		})},
		{"load, atomic read", "", meet(func(s *script) {
			s.op("a", fetch, 0, 1, 0, with("MPI_NO_OP"))
			s.load("b", 1, window)
		})},
		{"store, atomic read", "a b", meet(func(s *script) {
			s.op("a", fetch, 0, 1, 0, with("MPI_NO_OP"))
			s.store("b", 1, window)
		})},
		{"put's origin in a window, store by a put", "a b", meet(func(s *script) {
			s.put("a", 0, 1, 0, from(at4(window)))
			s.put("b", 2, 0, 0)
		})},
		{"put's origin in a window, read by a get", "", meet(func(s *script) {
			s.put("a", 0, 1, 0, from(at4(window)))
			s.get("b", 2, 0, 0)
		})},
		{"other processes' memory at the same address", "", meet(func(s *script) {
			s.put("a", 0, 1, 0)
			s.put("b", 2, 0, 0)
		})},
	})
}

// Buffers of two-sided and collective calls in window memory.
func TestCallBuffers(t *testing.T) {
	put := func(body func(s *script)) func(s *script) {
		return func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			body(s)
			s.win(0, "unlock", 1)
		}
	}
	each := func(fn string, change func(c *Call)) func(s *script) {
		return put(func(s *script) {
			for r := range 3 {
				c := Call{Rank: r, Fn: fn, Origin: s.fresh(), Result: s.fresh(), Op: "MPI_SUM"}
				name := "other"
				if r == 1 {
					name = "call"
				}
				change(&c)
				s.do(name, c)
			}
		})
	}
	mine := func(f func(c *Call)) func(c *Call) {
		return func(c *Call) {
			if c.Rank == 1 {
				f(c)
			}
		}
	}
	check(t, []scenario{
		{"send buffer", "call put", put(func(s *script) {
			s.sendBuf("call", "MPI_Send", 1, 2, at4(window))
			s.recv(1, 2)
		})},
		{"receive buffer", "call put", put(func(s *script) {
			s.send(2, 1)
			s.recvBuf("call", 2, 1, at4(window))
		})},
		{"bytes beyond the message", "", put(func(s *script) {
			s.do("send", Call{Rank: 2, Fn: "MPI_Send", Peer: 1, Origin: s.fresh()})
			s.do("recv", Call{Rank: 1, Fn: "MPI_Recv", Source: 2, Result: Buf{Off: window - 4, Count: 2, Type: Int}})
		})},
		{"bytes beyond the message, pending", "call put", put(func(s *script) {
			s.do("send", Call{Rank: 2, Fn: "MPI_Send", Peer: 1, Origin: s.fresh()})
			s.irecv("call", 2, 1, Buf{Off: window - 4, Count: 2, Type: Int}, 0)
			s.wait(1, 0)
		})},
		{"broadcast into the window", "call put", each("MPI_Bcast", mine(func(c *Call) { c.Origin = at4(window) }))},
		{"reduction out of the window", "call put", each("MPI_Reduce", mine(func(c *Call) { c.Origin = at4(window) }))},
		{"receive buffer of a process that is not the root", "", each("MPI_Reduce", mine(func(c *Call) { c.Result = at4(window) }))},
		{"allreduce into the window", "call put", each("MPI_Allreduce", mine(func(c *Call) { c.Result = at4(window) }))},
		{"allreduce in place", "call put", each("MPI_Allreduce", mine(func(c *Call) { c.InPlace, c.Result = true, at4(window) }))},
		{"one buffer for both sides of a sendrecv", "sendrecv sendrecv, sendrecv sendrecv", func(s *script) {
			for r, o := range []int{1, 0} {
				s.do("sendrecv", Call{Rank: r, Fn: "MPI_Sendrecv", Peer: o, Source: o, Origin: at4(window), Result: at4(window)})
			}
		}},
		{"a reduction's result is written after all have put", "", func(s *script) {
			putFlush(s)
			for r := range 3 {
				c := Call{Rank: r, Fn: "MPI_Reduce", Peer: 1, Op: "MPI_SUM", Origin: s.fresh(), Result: s.fresh()}
				if r == 1 {
					c.Result = at4(window)
				}
				s.do("reduce", c)
			}
		}},
		{"a reduction's contribution is read before", "put reduce", func(s *script) {
			putFlush(s)
			for r := range 3 {
				c := Call{Rank: r, Fn: "MPI_Reduce", Peer: 1, Op: "MPI_SUM", Origin: s.fresh(), Result: s.fresh()}
				if r == 1 {
					c.Origin = at4(window)
				}
				s.do("reduce", c)
			}
		}},
	})
}
