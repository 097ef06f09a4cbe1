package oracle

import (
	"testing"

	"github.com/mcchk/mcchk/trace"
)

// putFlush is a put by process 0 to process 1 that is complete at once.
func putFlush(s *script) {
	s.shared(0, 1)
	s.put("put", 0, 1, 0)
	s.win(0, "unlock", 1)
}

// One scenario on either side of each row of the order table of the detection
// model (section 3). Process 0 puts to process 1, which loads afterwards.
func TestOrder(t *testing.T) {
	after := func(sync func(s *script)) func(s *script) {
		return func(s *script) {
			putFlush(s)
			sync(s)
			s.load("load", 1, window)
		}
	}
	check(t, []scenario{
		{"nothing", "load put", after(func(*script) {})},
		{"send, receive", "", after(func(s *script) {
			s.send(0, 1)
			s.recv(0, 1)
		})},
		{"a message the other way", "load put", after(func(s *script) {
			s.send(1, 0)
			s.recv(1, 0)
		})},
		{"messages over a third process", "", after(func(s *script) {
			s.send(0, 2)
			s.recv(0, 2)
			s.send(2, 1)
			s.recv(2, 1)
		})},
		{"the message sent before the put", "load put", func(s *script) {
			s.send(0, 1)
			putFlush(s)
			s.recv(0, 1)
			s.load("load", 1, window)
		}},
		{"ssend's receive orders its sender", "", after(func(s *script) {
			s.recvBuf("recv", 1, 0, s.fresh())
			s.sendBuf("ssend", "MPI_Ssend", 1, 0, s.fresh())
		})},
		{"ssend and an irecv posted before", "load put", func(s *script) {
			s.irecv("irecv", 1, 0, s.fresh(), 0)
			putFlush(s)
			s.sendBuf("ssend", "MPI_Ssend", 1, 0, s.fresh())
			s.load("load", 1, window)
			s.wait(0, 0)
		}},
		{"irecv orders at its wait", "", after(func(s *script) {
			s.irecv("irecv", 0, 1, s.fresh(), 0)
			s.send(0, 1)
			s.wait(1, 0)
		})},
		{"irecv does not order before its wait", "load put", func(s *script) {
			putFlush(s)
			s.send(0, 1)
			s.irecv("irecv", 0, 1, s.fresh(), 0)
			s.load("load", 1, window)
			s.wait(1, 0)
		}},
		{"isend signals at its call", "", after(func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, s.fresh(), 0)
			s.recv(0, 1)
			s.wait(0, 0)
		})},
		{"isend before the put, wait after it", "load put", func(s *script) {
			s.sendBuf("isend", "MPI_Isend", 0, 1, s.fresh(), 0)
			putFlush(s)
			s.wait(0, 0)
			s.recv(0, 1)
			s.load("load", 1, window)
		}},
		{"sendrecv", "", after(func(s *script) {
			for r, o := range []int{1, 0} {
				s.do("sendrecv", Call{Rank: r, Fn: "MPI_Sendrecv", Peer: o, Source: o, Origin: s.fresh(), Result: s.fresh()})
			}
		})},
		{"tags match in order", "load put", func(s *script) {
			s.do("send", Call{Rank: 0, Fn: "MPI_Send", Peer: 1, Tag: 1, Origin: s.fresh()})
			putFlush(s)
			s.do("send", Call{Rank: 0, Fn: "MPI_Send", Peer: 1, Tag: 2, Origin: s.fresh()})
			s.do("recv", Call{Rank: 1, Fn: "MPI_Recv", Source: 0, Tag: 1, Any: true, AnyTag: true, Result: s.fresh()})
			s.load("load", 1, window)
			s.do("recv", Call{Rank: 1, Fn: "MPI_Recv", Source: 0, Tag: 2, Result: s.fresh()})
		}},
		{"barrier", "", after((*script).barrier)},
		{"barrier of others", "load put", after(func(s *script) {
			for _, r := range []int{1, 2} {
				s.do("barrier", Call{Rank: r, Fn: "MPI_Barrier", Comm: 1})
			}
		})},
		{"allreduce", "", after(func(s *script) {
			for r := range 3 {
				s.do("allreduce", Call{Rank: r, Fn: "MPI_Allreduce", Op: "MPI_SUM", Origin: s.fresh(), Result: s.fresh()})
			}
		})},
		{"broadcast by the putting process", "", after(func(s *script) { bcast(s, 0) })},
		{"broadcast by the other", "load put", after(func(s *script) { bcast(s, 1) })},
		{"broadcast by a third", "load put", after(func(s *script) { bcast(s, 2) })},
		{"reduction to the other", "", after(func(s *script) { reduce(s, 1) })},
		{"reduction to the putting process", "load put", after(func(s *script) { reduce(s, 0) })},
		{"fence", "", after((*script).fence)},
		{"fence with NOPRECEDE", "load put", after(func(s *script) {
			s.all(Call{Fn: "MPI_Win_fence", Assert: trace.AssertNoPrecede})
		})},
		{"store before a fence with NOPRECEDE", "", func(s *script) {
			s.store("store", 1, window)
			s.all(Call{Fn: "MPI_Win_fence", Assert: trace.AssertNoPrecede})
			s.put("put", 0, 1, 0)
			s.fence()
		}},
		{"another's put before a fence with NOPRECEDE", "put put2", func(s *script) {
			s.all(Call{Fn: "MPI_Win_create", Win: 1})
			s.do("lock", Call{Rank: 2, Fn: "MPI_Win_lock", Win: 1, Peer: 1, Lock: trace.LockShared})
			s.put("put2", 2, 1, 0, on(1))
			s.all(Call{Fn: "MPI_Win_fence", Assert: trace.AssertNoPrecede})
			s.put("put", 0, 1, 0)
			s.do("unlock", Call{Rank: 2, Fn: "MPI_Win_unlock", Win: 1, Peer: 1})
			s.fence()
		}},
		{"making a window", "", after(func(s *script) { s.all(Call{Fn: "MPI_Win_create", Win: 1}) })},
		{"freeing a window", "", func(s *script) {
			s.all(Call{Fn: "MPI_Win_create", Win: 1})
			putFlush(s)
			s.all(Call{Fn: "MPI_Win_free", Win: 1})
			s.load("load", 1, window)
		}},
		{"post and start", "", func(s *script) {
			s.store("store", 1, window)
			s.post(1, 0)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
		}},
		{"a store after the post", "put store", func(s *script) {
			s.post(1, 0)
			s.store("store", 1, window)
			s.start(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
		}},
		{"complete and wait order what came before", "", func(s *script) {
			putFlush(s)
			s.post(1, 0)
			s.start(0, 1)
			s.win(0, "complete", 0)
			s.win(1, "wait", 0)
			s.load("load", 1, window)
		}},
		{"wait does not order the origin", "load put", func(s *script) {
			s.post(1, 0)
			s.start(0, 1)
			s.win(0, "complete", 0)
			putFlush2(s)
			s.win(1, "wait", 0)
			s.load("load", 1, window)
		}},
		{"starts match posts in order", "put2 store", func(s *script) {
			for _, name := range []string{"put1", "put2"} {
				s.post(1, 0)
				s.start(0, 1)
				s.put(name, 0, 1, 0)
				s.win(0, "complete", 0)
				if name == "put2" {
					s.store("store", 1, window)
				}
				s.win(1, "wait", 0)
			}
		}},
		{"flush orders nobody", "load put", after(func(s *script) {
			s.shared(1, 0)
			s.win(1, "flush", 0)
			s.win(1, "unlock", 0)
		})},
	})
}

// putFlush2 is putFlush through a window of its own, for use while the first is
// exposed.
func putFlush2(s *script) {
	s.all(Call{Fn: "MPI_Win_create", Win: 1})
	s.do("lock", Call{Rank: 0, Fn: "MPI_Win_lock", Win: 1, Peer: 1, Lock: trace.LockShared})
	s.put("put", 0, 1, 0, on(1))
	s.do("unlock", Call{Rank: 0, Fn: "MPI_Win_unlock", Win: 1, Peer: 1})
}

func bcast(s *script, root int) {
	for r := range 3 {
		s.do("bcast", Call{Rank: r, Fn: "MPI_Bcast", Peer: root, Origin: s.fresh()})
	}
}

func reduce(s *script, root int) {
	for r := range 3 {
		s.do("reduce", Call{Rank: r, Fn: "MPI_Reduce", Peer: root, Op: "MPI_SUM", Origin: s.fresh(), Result: s.fresh()})
	}
}

// Order and exclusion by locks.
func TestLocks(t *testing.T) {
	check(t, []scenario{
		{"two shared locks", "put0 put2", func(s *script) {
			s.shared(0, 1)
			s.put("put0", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.shared(2, 1)
			s.put("put2", 2, 1, 0)
			s.win(2, "unlock", 1)
		}},
		{"a shared and an exclusive lock", "", func(s *script) {
			s.shared(0, 1)
			s.put("put0", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.exclusive(2, 1)
			s.put("put2", 2, 1, 0)
			s.win(2, "unlock", 1)
		}},
		{"exclusive locks of two targets", "put0 put2", func(s *script) {
			s.exclusive(0, 0)
			s.exclusive(2, 2)
			s.shared(0, 1)
			s.put("put0", 0, 1, 0)
			s.shared(2, 1)
			s.put("put2", 2, 1, 0)
			s.win(0, "unlock", 1)
			s.win(0, "unlock", 0)
			s.win(2, "unlock", 1)
			s.win(2, "unlock", 2)
		}},
		{"a load without a lock", "load put", func(s *script) {
			s.exclusive(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.load("load", 1, window)
		}},
		{"a load under a lock of the own rank", "", func(s *script) {
			s.exclusive(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.shared(1, 1)
			s.load("load", 1, window)
			s.win(1, "unlock", 1)
		}},
		{"a load under shared locks", "load put", func(s *script) {
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			s.shared(1, 1)
			s.load("load", 1, window)
			s.win(1, "unlock", 1)
			s.win(0, "unlock", 1)
		}},
		{"a load after an unlock that nothing else follows", "load put", func(s *script) {
			s.exclusive(1, 1)
			s.win(1, "unlock", 1)
			s.exclusive(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.load("load", 1, window)
		}},
		{"the order of locks orders what lies outside", "", func(s *script) {
			s.store("store", 1, window)
			s.exclusive(1, 2)
			s.win(1, "unlock", 2)
			s.exclusive(0, 2)
			s.win(0, "unlock", 2)
			putFlush(s)
		}},
		{"the order of shared locks does not", "put store", func(s *script) {
			s.store("store", 1, window)
			s.shared(1, 2)
			s.win(1, "unlock", 2)
			s.shared(0, 2)
			s.win(0, "unlock", 2)
			putFlush(s)
		}},
		{"over a shared lock between two exclusive ones", "", func(s *script) {
			s.store("store", 1, window)
			s.exclusive(1, 2)
			s.win(1, "unlock", 2)
			s.shared(2, 2)
			s.win(2, "unlock", 2)
			s.exclusive(0, 2)
			s.win(0, "unlock", 2)
			putFlush(s)
		}},
		{"a lock_all takes its turn at the first operation", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.exclusive(2, 1)
			s.put("put2", 2, 1, 0)
			s.win(2, "unlock", 1)
			s.put("put0", 0, 1, 0)
			s.win(0, "unlock_all", 0)
		}},
		{"the ticket of a lock_all orders", "", func(s *script) {
			s.win(0, "lock_all", 0)
			s.store("store", 2, window)
			s.exclusive(2, 1)
			s.win(2, "unlock", 1)
			s.get("get", 0, 1, 0)
			s.put("put", 0, 2, 0)
			s.win(0, "unlock_all", 0)
		}},
		{"the ticket comes before its operation", "", func(s *script) {
			s.store("store", 1, window)
			s.exclusive(1, 1)
			s.win(1, "unlock", 1)
			s.win(0, "lock_all", 0)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock_all", 0)
		}},
		{"the lock of another rank does not protect a load", "load put", func(s *script) {
			s.exclusive(0, 2)
			s.shared(0, 1)
			s.put("put", 0, 1, 0)
			s.win(1, "lock_all", 0)
			s.load("load", 1, window)
			s.win(1, "unlock_all", 0)
			s.win(0, "unlock", 1)
			s.win(0, "unlock", 2)
		}},
		{"a lock_all without operations orders nothing", "load put", func(s *script) {
			putFlush(s)
			s.win(0, "lock_all", 0)
			s.win(0, "unlock_all", 0)
			s.exclusive(1, 2)
			s.win(1, "unlock", 2)
			s.load("load", 1, window)
		}},
		{"a load under lock_all", "", func(s *script) {
			s.exclusive(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.win(1, "lock_all", 0)
			s.load("load", 1, window)
			s.win(1, "unlock_all", 0)
		}},
		{"a store before, a put after under the lock", "put store", func(s *script) {
			s.exclusive(0, 1)
			s.put("put", 0, 1, 0)
			s.win(0, "unlock", 1)
			s.store("store", 1, window)
			s.shared(1, 1)
			s.win(1, "unlock", 1)
		}},
		{"locks do not keep a process from itself", "get load", func(s *script) {
			s.exclusive(1, 1)
			s.get("get", 1, 1, 4, into(at4(window)))
			s.load("load", 1, window)
			s.win(1, "unlock", 1)
		}},
	})
}
