package core_test

// Other algorithms that order accesses by the values of words alone, as programs use them.
var orders = map[string]algorithm{
	"barrier that reverses its sense": func(a *actor) {
		for i := range a.turns {
			a.store(1 + a.rank)
			if a.add(0, 1) == int64(a.ranks-1) {
				a.set(0, 0)
				a.set(1, int64(1-i%2))
			} else {
				a.await(1, int64(1-i%2))
			}
			a.load(1 + (a.rank+1)%a.ranks)
			if a.add(2, 1) == int64(a.ranks-1) {
				a.set(2, 0)
				a.set(3, int64(1-i%2))
			} else {
				a.await(3, int64(1-i%2))
			}
		}
	},
	"dissemination": func(a *actor) {
		for i := range a.turns {
			a.store(a.rank)
			for round, d := 0, 1; d < a.ranks; round, d = round+1, 2*d {
				a.more(8*round+(a.rank+d)%a.ranks, 1)
				for a.fetch(8*round+a.rank) < int64(2*i+1) {
				}
			}
			a.load((a.rank + 1) % a.ranks)
			for round, d := 0, 1; d < a.ranks; round, d = round+1, 2*d {
				a.more(8*round+(a.rank+d)%a.ranks, 1)
				for a.fetch(8*round+a.rank) < int64(2*i+2) {
				}
			}
		}
	},
	"ring": func(a *actor) {
		for i := range a.turns {
			if i+a.rank > 0 {
				before := (a.rank + a.ranks - 1) % a.ranks
				want := int64(i + 1)
				if a.rank == 0 {
					want = int64(i)
				}
				a.await(before, want)
			}
			a.store(0)
			a.set(a.rank, int64(i+1))
		}
	},
	"bounded queue": func(a *actor) { // of cells with numbers
		const cells, cell, produced, consumed = 2, 10, 0, 1
		if a.rank == 0 {
			for i := range cells {
				a.set(cell+i, int64(i))
			}
			a.set(2, 1)
		} else {
			a.await(2, 1)
		}
		for range a.turns {
			for { // enqueue
				at := a.fetch(produced)
				n := a.fetch(cell + int(at)%cells)
				if n == at && a.cas(produced, at, at+1) {
					a.store(int(at) % cells)
					a.set(cell+int(at)%cells, at+1)
					break
				}
			}
			for { // dequeue
				at := a.fetch(consumed)
				n := a.fetch(cell + int(at)%cells)
				if n == at+1 && a.cas(consumed, at, at+1) {
					a.load(int(at) % cells)
					a.set(cell+int(at)%cells, at+cells)
					break
				}
			}
		}
	},
	"stack": func(a *actor) { // of nodes, with a count of changes
		const head = 0
		node := a.rank + 1
		for range a.turns {
			if node != 0 {
				a.store(node)
				for {
					old := a.fetch(head)
					a.set(100+node, old%100)
					if a.cas(head, old, (old/100+1)*100+int64(node)) {
						break
					}
				}
				node = 0
			}
			for {
				old := a.fetch(head)
				if old%100 == 0 {
					break
				}
				next := a.fetch(100 + int(old%100))
				if a.cas(head, old, (old/100+1)*100+next) {
					node = int(old % 100)
					a.load(node)
					break
				}
			}
		}
	},
	"counting barrier": func(a *actor) {
		for i := range a.turns {
			a.store(a.rank)
			a.more(0, 1)
			for a.fetch(0) < int64((2*i+1)*a.ranks) {
			}
			a.load((a.rank + 1) % a.ranks)
			a.add(0, 1)
			for a.fetch(0) < int64((2*i+2)*a.ranks) {
			}
		}
	},
	"once": func(a *actor) {
		for i := range a.turns {
			if a.fetch(1000+i) == 0 {
				if a.cas(i, 0, 1) {
					a.store(i)
					a.set(1000+i, 1)
				} else {
					a.await(1000+i, 1)
				}
			}
			a.load(i)
		}
	},
	"token": func(a *actor) {
		for range a.turns {
			a.await(0, int64(a.rank))
			a.store(0)
			a.set(0, int64((a.rank+1)%a.ranks))
		}
	},
	"tasks": func(a *actor) {
		const tasks = 12
		for {
			i := int(a.add(0, 1))
			if i >= tasks {
				break
			}
			a.store(i)
			a.more(1, 1)
		}
		a.await(1, tasks)
		for i := range tasks {
			a.load(i)
		}
	},
	"ring buffer": func(a *actor) {
		const room = 2
		if a.rank > 1 {
			return
		}
		for i := range 2 * a.turns {
			if a.rank == 0 {
				for int64(i)-a.fetch(1) >= room {
				}
				a.store(i % room)
				a.set(0, int64(i+1))
			} else {
				for a.fetch(0) <= int64(i) {
				}
				a.load(i % room)
				a.set(1, int64(i+1))
			}
		}
	},
	"bits": func(a *actor) {
		for i := range a.turns {
			a.store(a.rank)
			a.more(i, 1<<a.rank)
			for a.fetch(i) != 1<<a.ranks-1 {
			}
			a.load((a.rank + 1) % a.ranks)
			a.more(100+i, 1<<a.rank)
			for a.fetch(100+i) != 1<<a.ranks-1 {
			}
		}
	},
	"list": func(a *actor) { // nodes are only added
		const head = 0
		for i := range a.turns {
			node := 1 + a.rank*a.turns + i
			a.store(node)
			for {
				old := a.fetch(head)
				a.set(100+node, old)
				if a.cas(head, old, int64(node)) {
					break
				}
			}
			for at := a.fetch(head); at != 0; at = a.fetch(100 + int(at)) {
				a.load(int(at))
			}
		}
	},
	"versions": func(a *actor) {
		for i := range a.turns {
			if a.rank == 0 {
				a.store(i + 1)
				a.set(0, int64(i+1))
			} else if v := a.fetch(0); v > 0 {
				a.load(int(v))
			}
		}
	},
	"queue of links": func(a *actor) { // Michael and Scott; node 1 is the first dummy
		const head, tail, next = 0, 1, 100
		if a.rank == 0 {
			a.set(head, 1)
			a.set(tail, 1)
			a.set(2, 1)
		} else {
			a.await(2, 1)
		}
		for i := range a.turns {
			node := int64(2 + a.rank*a.turns + i)
			a.store(int(node))
			for {
				last := a.fetch(tail)
				n := a.fetch(next + int(last))
				if n != 0 {
					a.cas(tail, last, n)
					continue
				}
				if a.cas(next+int(last), 0, node) {
					a.cas(tail, last, node)
					break
				}
			}
			for {
				first, last := a.fetch(head), a.fetch(tail)
				n := a.fetch(next + int(first))
				if first == last {
					if n == 0 {
						break
					}
					a.cas(tail, last, n)
					continue
				}
				if a.cas(head, first, n) {
					a.load(int(n))
					break
				}
			}
		}
	},
	"phases": func(a *actor) { // a barrier of a count that is set back, and a phase
		for i := range a.turns {
			a.store(a.rank)
			if a.add(0, 1) == int64(a.ranks-1) {
				a.set(0, 0)
				a.more(1, 1)
			} else {
				for a.fetch(1) == int64(2*i) {
				}
			}
			a.load((a.rank + 1) % a.ranks)
			if a.add(0, 1) == int64(a.ranks-1) {
				a.set(0, 0)
				a.more(1, 1)
			} else {
				for a.fetch(1) == int64(2*i+1) {
				}
			}
		}
	},
	"tree": func(a *actor) { // up and down a tree of flags
		for i := range a.turns {
			a.store(a.rank)
			for c := 2*a.rank + 1; c <= 2*a.rank+2 && c < a.ranks; c++ {
				a.await(c, int64(i+1))
			}
			a.set(a.rank, int64(i+1))
			if a.rank > 0 {
				a.await(100+(a.rank-1)/2, int64(i+1))
			}
			a.set(100+a.rank, int64(i+1))
			if a.rank == 0 {
				for r := range a.ranks {
					a.load(r)
				}
			}
			for c := 2*a.rank + 1; c <= 2*a.rank+2 && c < a.ranks; c++ {
				a.await(200+c, int64(i+1))
			}
			if a.rank > 0 {
				a.set(200+a.rank, int64(i+1))
			}
			if a.rank > 0 {
				a.await(300+(a.rank-1)/2, int64(i+1))
			}
			a.set(300+a.rank, int64(i+1))
		}
	},
	"toggled flag": func(a *actor) { // full and empty, of one word, many of each
		for range a.turns {
			if a.rank%2 == 0 {
				if a.rank+1 == a.ranks {
					return
				}
				for !a.cas(a.rank/2, 0, 2) {
				}
				a.store(a.rank / 2)
				a.set(a.rank/2, 1)
			} else {
				for !a.cas(a.rank/2, 1, 3) {
				}
				a.load(a.rank / 2)
				a.set(a.rank/2, 0)
			}
		}
	},
	"full and empty of all": func(a *actor) {
		if a.ranks%2 == 1 && a.rank == 0 {
			return
		}
		for range a.turns {
			if a.rank%2 == 0 {
				for !a.cas(0, 0, 2) {
				}
				a.store(0)
				a.set(0, 1)
			} else {
				for !a.cas(0, 1, 3) {
				}
				a.load(0)
				a.set(0, 0)
			}
		}
	},
}
