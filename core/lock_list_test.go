package core_test

// Locks that are made of words, as programs use them.
var locks = map[string]algorithm{
	"test and set": func(a *actor) {
		for range a.turns {
			for !a.cas(0, 0, 1) {
			}
			a.store(0)
			a.set(0, 0)
		}
	},
	"test and set, released by a swap": func(a *actor) {
		for range a.turns {
			for a.swap(0, 1) != 0 {
			}
			a.store(0)
			a.swap(0, 0)
		}
	},
	"ticket": func(a *actor) {
		for range a.turns {
			a.await(1, a.add(0, 1))
			a.store(0)
			a.more(1, 1)
		}
	},
	"slots": func(a *actor) {
		if a.rank == 0 {
			a.set(1, 1)
		}
		for range a.turns {
			slot := 1 + int(a.add(0, 1))%a.ranks
			a.await(slot, 1)
			a.set(slot, 0)
			a.store(0)
			a.set(1+slot%a.ranks, 1)
		}
	},
	"queue": func(a *actor) { // each waits at its own word for who comes before it
		const tail = 0
		locked, next := 1+2*a.rank, 2+2*a.rank
		for range a.turns {
			a.set(next, 0)
			a.set(locked, 1)
			if before := int(a.swap(tail, int64(a.rank+1))); before != 0 {
				a.set(2*before, int64(a.rank+1))
				a.await(locked, 0)
			}
			a.store(0)
			if a.fetch(next) == 0 {
				if a.cas(tail, int64(a.rank+1), 0) {
					continue
				}
				for a.fetch(next) == 0 {
				}
			}
			a.set(int(2*a.fetch(next))-1, 0)
		}
	},
	"two who take turns": func(a *actor) {
		const turn = 2
		for range a.turns {
			if a.rank > 1 {
				return
			}
			a.set(a.rank, 1)
			a.set(turn, int64(1-a.rank))
			for a.fetch(1-a.rank) != 0 && a.fetch(turn) == int64(1-a.rank) {
			}
			a.store(0)
			a.set(a.rank, 0)
		}
	},
	"readers and a writer": func(a *actor) {
		const writer = 1000
		for i := range a.turns {
			if (i+a.rank)%2 == 1 {
				for a.add(0, 1) >= writer {
					a.more(0, -1)
				}
				a.load(0)
				a.more(0, -1)
				continue
			}
			for a.add(0, writer) != 0 {
				a.more(0, -writer)
			}
			a.store(0)
			a.more(0, -writer)
		}
	},
	"try": func(a *actor) {
		for i := 0; i < a.turns; {
			if a.fetch(0) != 0 || !a.cas(0, 0, 1) {
				a.more(1+a.rank, 1)
				continue
			}
			a.store(0)
			a.cas(0, 1, 0)
			i++
		}
	},
	"a semaphore of one": func(a *actor) {
		if a.rank == 0 {
			a.store(0)
			a.more(0, 1)
		}
		for range a.turns {
			for a.add(0, -1) < 1 {
				a.more(0, 1)
			}
			a.store(0)
			a.more(0, 1)
		}
	},
	"a semaphore that is there": func(a *actor) {
		for range a.turns {
			for a.add(there, -1) < 1 {
				a.more(there, 1)
			}
			a.store(0)
			a.more(there, 1)
		}
	},
	"test, test and set": func(a *actor) {
		for range a.turns {
			for a.fetch(0) != 0 || !a.cas(0, 0, 1) {
			}
			a.store(0)
			a.set(0, 0)
		}
	},
	"owner": func(a *actor) { // a lock that knows its owner, taken again by it
		me := int64(a.rank + 1)
		for range a.turns {
			for depth := range 2 {
				if depth > 0 && a.fetch(0) == me {
					a.store(0)
					continue
				}
				for !a.cas(0, 0, me) {
				}
				a.store(0)
			}
			a.cas(0, me, 0)
		}
	},
	"bakery": func(a *actor) {
		for range a.turns {
			a.set(a.rank, 1)
			most := int64(0)
			for r := range a.ranks {
				most = max(most, a.fetch(100+r))
			}
			mine := most + 1
			a.set(100+a.rank, mine)
			a.set(a.rank, 0)
			for r := range a.ranks {
				if r == a.rank {
					continue
				}
				a.await(r, 0)
				for {
					n := a.fetch(100 + r)
					if n == 0 || n > mine || n == mine && r > a.rank {
						break
					}
				}
			}
			a.store(0)
			a.set(100+a.rank, 0)
		}
	},
	"filter": func(a *actor) {
		for range 2 {
			for level := 1; level < a.ranks; level++ {
				a.set(a.rank, int64(level))
				a.set(100+level, int64(a.rank))
				for r := 0; r < a.ranks; r++ {
					if r == a.rank {
						continue
					}
					for a.fetch(r) >= int64(level) && a.fetch(100+level) == int64(a.rank) {
					}
				}
			}
			a.store(0)
			a.set(a.rank, 0)
		}
	},
	"queue of nodes handed on": func(a *actor) { // CLH; node 0 is free at first
		node := a.rank + 1
		for range a.turns {
			a.set(100+node, 1)
			before := int(a.swap(0, int64(node)))
			a.await(100+before, 0)
			a.store(0)
			a.set(100+node, 0)
			node = before
		}
	},
	"readers and a writer by exchange": func(a *actor) {
		for i := range a.turns {
			if (i+a.rank)%2 == 1 {
				for {
					v := a.fetch(0)
					if v >= 0 && a.cas(0, v, v+1) {
						break
					}
				}
				a.load(0)
				a.more(0, -1)
				continue
			}
			for !a.cas(0, 0, -1) {
			}
			a.store(0)
			a.set(0, 0)
		}
	},
	"even and odd": func(a *actor) { // writers of a sequence lock
		for range a.turns {
			for {
				v := a.fetch(0)
				if v%2 == 0 && a.cas(0, v, v+1) {
					break
				}
			}
			a.store(0)
			a.more(0, 1)
		}
	},
	"readers and a writer by addition": func(a *actor) {
		const writer = 1000
		for i := range a.turns {
			if (i+a.rank)%3 == 0 {
				for a.add(0, writer) != 0 {
					a.add(0, -writer)
				}
				a.store(0)
				a.more(0, -writer)
				continue
			}
			for a.add(0, 1) >= writer {
				a.add(0, -1)
				for a.fetch(0) >= writer {
				}
			}
			a.load(0)
			a.more(0, -1)
		}
	},
	"two levels": func(a *actor) {
		local := 1 + a.rank/2
		for range a.turns {
			for !a.cas(local, 0, 1) {
			}
			for a.swap(0, 1) != 0 {
			}
			a.store(0)
			a.set(0, 0)
			a.set(local, 0)
		}
	},
	"condition": func(a *actor) { // a lock, and a count under it that is waited for
		lock := func() {
			for a.swap(0, 1) != 0 {
			}
		}
		meet := func(round int) {
			lock()
			n := a.fetch(1)
			a.set(1, n+1)
			a.set(0, 0)
			for n < int64(a.ranks*round) {
				lock()
				n = a.fetch(1)
				a.set(0, 0)
			}
		}
		for i := range a.turns {
			a.store(1 + a.rank)
			meet(2*i + 1)
			a.load(1 + (a.rank+1)%a.ranks)
			meet(2*i + 2)
		}
	},
}
