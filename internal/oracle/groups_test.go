package oracle

import "testing"

// Which processes collective calls order between two groups and among
// neighbours, and whose memory a shared window is.
func TestGroups(t *testing.T) {
	between := func(putter int) func(s *script) {
		return func(s *script) {
			s.p.Comms = append(s.p.Comms, Comm{Ranks: []int{0}, Remote: []int{1, 2}})
			s.shared(putter, 1)
			s.put("put", putter, 1, 0)
			s.win(putter, "unlock", 1)
			s.all(Call{Fn: "MPI_Barrier", Comm: 2})
			s.load("load", 1, window)
		}
	}
	around := func(putter int) func(s *script) {
		return func(s *script) {
			s.p.Comms = append(s.p.Comms, Comm{
				Ranks:   []int{0, 1, 2},
				Sources: [][]int{{}, {0}, {1}}, Dests: [][]int{{1}, {2}, {}},
			})
			s.shared(putter, 1)
			s.put("put", putter, 1, 0)
			s.win(putter, "unlock", 1)
			for r := range 3 {
				s.do("allgather", Call{Rank: r, Fn: "MPI_Neighbor_allgather", Comm: 2, Origin: s.fresh(), Result: s.fresh()})
			}
			s.load("load", 1, window)
		}
	}
	grid := func(putter int) func(s *script) {
		return func(s *script) {
			s.p.Comms = append(s.p.Comms, Comm{Ranks: []int{0, 1, 2}, Dims: []int{3}, Periods: []int{0}})
			s.shared(putter, 0)
			s.put("put", putter, 0, 0)
			s.win(putter, "unlock", 0)
			for r := range 3 {
				s.do("allgather", Call{Rank: r, Fn: "MPI_Neighbor_allgather", Comm: 2, Origin: s.fresh(), Result: s.fresh()})
				s.slot += 4 // two neighbours
			}
			s.load("load", 0, window)
		}
	}
	const part = 192
	sharedWindow := func(use func(s *script)) func(s *script) {
		return func(s *script) {
			s.p.Wins[1] = Window{
				Make: "MPI_Win_allocate_shared", Off: []int{part, part, part}, Size: []int{16, 16, 16}, Unit: []int{1, 1, 1},
				At: [][]int{{part, 1024, 2048}, {1024, part, 2048}, {1024, 2048, part}},
			}
			s.all(Call{Fn: "MPI_Win_allocate_shared", Win: 1})
			use(s)
		}
	}
	far := func(s *script, name, fn string) {
		s.do(name, Call{Rank: 0, Fn: fn, Off: part, Of: 2, Elem: 4, Count: 1})
	}
	lock := func(s *script, r, win, target int) {
		s.do("lock", Call{Rank: r, Fn: "MPI_Win_lock", Win: win, Peer: target, Lock: 2})
	}
	unlock := func(s *script, r, win, target int) {
		s.do("unlock", Call{Rank: r, Fn: "MPI_Win_unlock", Win: win, Peer: target})
	}
	check(t, []scenario{
		{"a barrier of two groups, across", "", between(0)},
		{"a barrier of two groups, within one", "load put", between(2)},
		{"a neighbour that sends", "", around(0)},
		{"a neighbour that receives", "load put", around(2)},
		{"the next in a grid", "", grid(1)},
		{"the next but one in a grid", "load put", grid(2)},
		{"stores to one part of a shared window", "far store", sharedWindow(func(s *script) {
			far(s, "far", "store")
			s.store("store", 1, part)
		})},
		{"loads of one part of a shared window", "", sharedWindow(func(s *script) {
			far(s, "far", "load")
			s.load("load", 1, part)
		})},
		{"the same place in the caller's part", "", sharedWindow(func(s *script) {
			far(s, "far", "store")
			s.store("store", 0, part)
		})},
		{"locks of the owner in the shared window", "", sharedWindow(func(s *script) {
			lock(s, 0, 1, 1)
			far(s, "far", "store")
			unlock(s, 0, 1, 1)
			lock(s, 1, 1, 1)
			s.store("store", 1, part)
			unlock(s, 1, 1, 1)
		})},
	})
}
