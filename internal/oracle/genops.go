package oracle

import (
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// oneSided issues a one-sided operation, if an epoch allows it, and reports
// whether it did.
func (g *generator) oneSided(r int) bool {
	w := g.IntN(len(g.p.Wins))
	members := g.p.Comms[g.p.Wins[w].Comm].Ranks
	if !slices.Contains(members, r) || g.seen[w][r] == unborn || g.seen[w][r] == dead {
		return false
	}
	target := pick(g.Rand, members)
	switch ws := g.s.ranks[r].wins[w]; {
	case len(ws.access) > 0:
		target = pick(g.Rand, ws.access)
	case len(ws.locks) > 0:
		for try := 0; try < 3 && ws.locks[target] == 0; try++ {
			target = pick(g.Rand, members)
		}
	case !g.mayOperate(r, w):
		return false
	}
	ws := g.s.ranks[r].wins[w]
	c := g.someOperation(r, w, target, ws.all || len(ws.locks) > 0)
	if !g.emit(c) {
		return false
	}
	g.track(r, &c)
	return true
}

// someOperation draws a one-sided operation, with a request only where there may be
// one.
func (g *generator) someOperation(r, w, target int, requests bool) Call {
	fns := []string{"MPI_Put", "MPI_Get"}
	if g.with(Atomics) && g.chance(0.5) {
		fns = []string{"MPI_Accumulate", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap"}
	}
	c := Call{Rank: r, Fn: pick(g.Rand, fns), Unit: g.unit(), Win: w, Peer: target}
	if g.with(NullProcess) && g.chance(0.05) {
		c.Peer = ProcNull
	}
	basic, n := g.basicType(), 1
	single := c.Fn == "MPI_Fetch_and_op" || c.Fn == "MPI_Compare_and_swap"
	if g.with(RequestOps) && !single && requests && g.chance(0.5) {
		c.Fn = "MPI_R" + strings.ToLower(c.Fn[4:])
		c.Reqs = g.newRequest()
	}
	switch {
	case c.Fn == "MPI_Compare_and_swap" && basic >= Float && basic != Byte:
		basic = Long
	case !single && g.chance(0.5):
		n = pick(g.Rand, []int{2, 2, 3, 4, 6})
	case !single && g.with(EmptyOps) && g.chance(0.05):
		n = 0
	}
	g.operands(&c, basic, n, single)
	if !single || c.Fn == "MPI_Fetch_and_op" {
		c.Op = g.operator(basic)
		if c.does() != "MPI_Accumulate" && g.chance(0.25) {
			c.Op = "MPI_NO_OP"
		}
	}
	if c.does() == "MPI_Put" || c.does() == "MPI_Get" {
		c.Op = ""
	}
	return c
}

// basicType picks a predefined type for data, most often MPI_INT.
func (g *generator) basicType() int {
	switch {
	case g.with(PairTypes) && g.chance(0.3):
		return pairs + g.IntN(predefined-pairs)
	case g.chance(0.7):
		return Int
	}
	return g.IntN(pairs)
}

// operator picks an operation that the type allows (MPI standard, 6.9.2).
func (g *generator) operator(basic int) string {
	switch {
	case basic >= pairs:
		return pick(g.Rand, []string{"MPI_MAXLOC", "MPI_MAXLOC", "MPI_MINLOC", "MPI_REPLACE"})
	case basic == Byte:
		return pick(g.Rand, []string{"MPI_BXOR", "MPI_BXOR", "MPI_REPLACE"})
	case basic == Char:
		return "MPI_REPLACE"
	}
	return pick(g.Rand, []string{"MPI_SUM", "MPI_SUM", "MPI_SUM", "MPI_MAX", "MPI_REPLACE"})
}

// operands picks the buffers and the target bytes of an operation.
func (g *generator) operands(c *Call, basic, n int, single bool) {
	buffer := g.buffer
	if single {
		buffer = func(r, basic, n int) Buf { return g.place(r, Buf{Type: basic, Count: n}) }
	}
	if c.Peer == ProcNull {
		c.Origin, c.Result, c.Compare = buffer(c.Rank, basic, n), buffer(c.Rank, basic, n), buffer(c.Rank, basic, n)
		c.TType, c.TCount = basic, n
		return
	}
	c.Origin, c.Result, c.Compare = buffer(c.Rank, basic, n), buffer(c.Rank, basic, n), buffer(c.Rank, basic, n)
	t := buffer(c.Peer, basic, n)
	c.TCount, c.TType = t.Count, t.Type
	win := &g.p.Wins[c.Win]
	unit := win.Unit[c.Peer]
	lo, hi := g.p.reach(t.Type, t.Count)
	if win.Make == "MPI_Win_create_dynamic" {
		c.Disp = g.memory[c.Win].Off[c.Peer]
	}
	if room := g.memory[c.Win].Size[c.Peer] - (hi - lo); room >= 0 {
		at := g.IntN(room + 1)
		if g.chance(0.8) {
			at -= at % g.p.layout(basic).align
		}
		c.Disp += (at - lo) / unit
	}
}

// lockCall makes a lock, unlock or flush call of some kind, and reports
// whether it did.
func (g *generator) lockCall(r int) bool {
	w := g.IntN(len(g.p.Wins))
	if !g.with(Locks) || g.seen[w][r] != locked {
		return false
	}
	ws := g.s.ranks[r].wins[w]
	target := pick(g.Rand, g.p.Comms[g.p.Wins[w].Comm].Ranks)
	open := ws.all || len(ws.locks) > 0
	switch x := g.Float64(); {
	case open && x < 0.2:
		return g.unlockAny(r, w)
	case open && x < 0.6:
		fn := pick(g.Rand, []string{"MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all"})
		return g.emit(Call{Rank: r, Fn: fn, Unit: g.unit(), Win: w, Peer: target})
	case !open && x < 0.3:
		u := g.unit()
		return g.emit(Call{Rank: r, Fn: "MPI_Win_lock_all", Unit: u, Win: w, Assert: g.unchecked()})
	default:
		u := g.unit()
		kind := pick(g.Rand, []int64{trace.LockShared, trace.LockExclusive})
		return g.emit(Call{Rank: r, Fn: "MPI_Win_lock", Unit: u, Win: w, Peer: target, Lock: kind, Assert: g.unchecked()})
	}
}
