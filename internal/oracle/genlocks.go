package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// outlast queues an operation whose buffer lies in another process's part of a
// shared window, and locks of that part: the one of the process that issues the
// operation may end before that is complete, and the owner of the memory uses it
// under a lock of its own. All of these calls are left out where they cannot be
// made.
func (g *generator) outlast() {
	w := g.lockedWindow(func(w int) bool { return g.p.Wins[w].At != nil && len(g.p.Comms[g.p.Wins[w].Comm].Ranks) > 1 })
	if w < 0 {
		return
	}
	members := g.shuffled(g.p.Comms[g.p.Wins[w].Comm].Ranks)
	r, owner := members[0], members[1]
	meet := func() {}
	if g.chance(0.7) {
		u := g.unit()
		meet = func() {
			for q := range g.p.Ranks {
				g.push(q, Call{Fn: "MPI_Barrier", Unit: u}, 0)
			}
		}
	}
	at, ends := g.useMapped(r, w, owner)
	early := g.chance(0.6)
	if early {
		g.useOwn(w, owner, at)
	}
	if before := g.IntN(len(ends) + 1); g.chance(0.7) {
		g.pushAll(r, ends[:before])
		ends = ends[before:]
	}
	meet()
	if !early {
		g.useOwn(w, owner, at)
	}
	g.pushAll(r, ends)
}

// lockedWindow picks a window that lock epochs are planned for; -1 where there is
// none.
func (g *generator) lockedWindow(want func(w int) bool) int {
	var all []int
	for w := range g.p.Wins {
		if g.plan[w] == locked && want(w) {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return pick(g.Rand, all)
}

// pushAll queues calls that are left out where they cannot be made.
func (g *generator) pushAll(r int, calls []Call) {
	for _, c := range calls {
		c.Rank = r
		g.queue[r] = append(g.queue[r], task{Call: c, may: true})
	}
}

// lockPair returns the calls that lock and unlock a target, or all.
func (g *generator) lockPair(w, target int, all float64) (lock, unlock Call) {
	u := g.unit()
	if g.chance(all) {
		return Call{Fn: "MPI_Win_lock_all", Unit: u, Win: w, Assert: g.unchecked()}, Call{Fn: "MPI_Win_unlock_all", Unit: u, Win: w}
	}
	kind := pick(g.Rand, []int64{trace.LockShared, trace.LockShared, trace.LockExclusive})
	return Call{Fn: "MPI_Win_lock", Unit: u, Win: w, Peer: target, Lock: kind, Assert: g.unchecked()},
		Call{Fn: "MPI_Win_unlock", Unit: u, Win: w, Peer: target}
}

// useMapped queues locks and an operation of a process whose buffer lies in the
// owner's part of a shared window. It returns where in the memory of the owner the
// buffer begins, and the calls that complete the operation and give up the locks, in
// some order.
func (g *generator) useMapped(r, w, owner int) (at int, ends []Call) {
	lock, unlock := g.lockPair(w, owner, 0.6)
	g.pushAll(r, []Call{lock})
	v := g.lockedWindow(func(v int) bool { return slices.Contains(g.p.Comms[g.p.Wins[v].Comm].Ranks, r) })
	if fence := slices.Index(g.plan, fenced); fence >= 0 && g.chance(0.3) && slices.Contains(g.p.Comms[g.p.Wins[fence].Comm].Ranks, r) {
		v = fence
	}
	target := pick(g.Rand, g.p.Comms[g.p.Wins[v].Comm].Ranks)
	requests := g.plan[v] == locked
	ends = []Call{unlock}
	if requests && (v != w || g.chance(0.5)) {
		lock, unlock := g.lockPair(v, target, 0.4)
		g.pushAll(r, []Call{lock})
		ends = append(ends, unlock)
	}
	op := g.someOperation(r, v, target, requests)
	op.Result = g.inPart(op.Result, w, owner)
	if at = op.Result.Off; op.does() == "MPI_Put" || op.does() == "MPI_Accumulate" || g.chance(0.2) {
		op.Origin = g.inPart(op.Origin, w, owner)
		at = op.Origin.Off
	}
	g.pushAll(r, []Call{op})
	switch {
	case len(op.Reqs) > 0:
		ends = append(ends, Call{Fn: "MPI_Wait", Unit: op.Unit, Reqs: op.Reqs})
	case requests:
		fn := pick(g.Rand, []string{"MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all"})
		ends = append(ends, Call{Fn: fn, Unit: g.unit(), Win: v, Peer: target})
	}
	if g.chance(0.4) { // else what protects the buffer is given up first
		g.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	}
	return at, ends
}

// inPart moves a buffer to a process's part of a window, where there is room.
func (g *generator) inPart(b Buf, w, owner int) Buf {
	lo, hi := g.p.reach(b.Type, b.Count)
	win := &g.p.Wins[w]
	if room := win.Size[owner] - (hi - lo); room >= 0 && hi > lo {
		b.Of, b.Off = owner+1, win.Off[owner]+g.IntN(room+1)&^3-lo
	}
	return b
}

// useOwn queues what the owner of a part of a window does there under a lock of
// itself: loads and stores, most of them at one place, or an operation.
func (g *generator) useOwn(w, owner, at int) {
	lock, unlock := g.lockPair(w, owner, 0.2)
	if lock.Fn == "MPI_Win_lock" && g.chance(0.7) {
		lock.Lock = trace.LockExclusive
	}
	calls := []Call{lock}
	win := &g.p.Wins[w]
	for range 1 + g.IntN(3) {
		if g.chance(0.3) {
			calls = append(calls, g.someOperation(owner, w, owner, false))
			continue
		}
		c := Call{Fn: pick(g.Rand, []string{"load", "store", "store"}), Unit: g.unit(), Elem: 4, Count: 1}
		if room := win.Size[owner] - c.Elem; room >= 0 {
			c.Off = win.Off[owner] + g.IntN(room+1)&^3
			if part := win.part(owner); g.chance(0.7) && at >= part.lo && at+c.Elem <= part.hi {
				c.Off = at
			}
			calls = append(calls, c)
		}
	}
	g.pushAll(owner, append(calls, unlock))
}

// tryOut makes the next queued call of a process, which may be left out, if it can
// be made now. A lock is tried again most often: another process may give it up.
func (g *generator) tryOut(r int, c Call) {
	made := (!c.isOperation() || g.mayOperate(r, c.Win)) && g.emit(c)
	if made {
		g.track(r, &c)
	}
	if made || c.Fn != "MPI_Win_lock" && c.Fn != "MPI_Win_lock_all" || g.chance(0.3) {
		g.queue[r] = g.queue[r][1:]
	}
}

// mayOperate reports whether a process is in an epoch of a window that the plan
// ends.
func (g *generator) mayOperate(r, w int) bool {
	ws := g.s.ranks[r].wins[w]
	return ws != nil && (len(ws.access)+len(ws.locks) > 0 || ws.all || g.seen[w][r] == fenced)
}
