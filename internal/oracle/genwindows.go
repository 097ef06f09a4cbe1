package oracle

import (
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// someWindow picks how a window is made.
func (g *generator) someWindow() string {
	makes := []string{"MPI_Win_create", "MPI_Win_create", "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate"}
	if g.with(SharedWins) {
		makes = append(makes, "MPI_Win_allocate_shared", "MPI_Win_allocate_shared", "MPI_Win_allocate_shared")
	}
	if g.with(DynamicWins) {
		makes = append(makes, "MPI_Win_create_dynamic", "MPI_Win_create_dynamic", "MPI_Win_create_dynamic")
	}
	return pick(g.Rand, makes)
}

// layOut says where the processes see a shared window, and takes from a dynamic
// one the memory that will be attached. A window that is given memory may get
// that of one that has been freed.
func (g *generator) layOut(win *Window, w int) {
	n := g.p.Ranks
	switch win.Make {
	case "MPI_Win_allocate":
		for old := range g.p.Wins {
			if o := &g.p.Wins[old]; o.Make == win.Make && g.plan[old] == dead && o.Comm == win.Comm && g.chance(0.5) {
				win.Off, win.Size = slices.Clone(o.Off), slices.Clone(o.Size)
				g.memory[w].Off, g.memory[w].Size = win.Off, win.Size
				return
			}
		}
	case "MPI_Win_allocate_shared":
		win.At = make([][]int, n)
		for r := range n {
			win.At[r] = make([]int, n)
			for owner := range n {
				if win.At[r][owner] = 4096 * (1 + 8*w + owner); owner == r {
					win.At[r][owner] = win.Off[r]
				}
			}
		}
	case "MPI_Win_create_dynamic":
		win.Off, win.Size, win.Unit = make([]int, n), make([]int, n), make([]int, n)
		for r := range n {
			win.Unit[r] = 1
		}
	}
}

// attach queues the attaching of the memory of a dynamic window, and what has
// the others know of it.
func (g *generator) attach(w, unit int) {
	win, m := &g.p.Wins[w], &g.memory[w]
	members := g.p.Comms[win.Comm].Ranks
	for _, r := range members {
		if m.Size[r] > 0 {
			g.push(r, Call{Fn: "MPI_Win_attach", Unit: unit, Win: w, Off: m.Off[r], Bytes: m.Size[r]}, 0)
		}
	}
	for _, r := range members {
		g.push(r, Call{Fn: "MPI_Barrier", Unit: unit, Comm: win.Comm}, 0)
	}
	for _, r := range members {
		g.queue[r][len(g.queue[r])-1].mode = g.plan[w]
		g.holdBack(r, w)
	}
}

// holdBack has the mode of a new window begin only with the last call queued.
func (g *generator) holdBack(r, w int) {
	for i := range g.queue[r] {
		if t := &g.queue[r][i]; t.Win == w && t.makesWindow() {
			t.mode = idle
		}
	}
	g.queue[r][len(g.queue[r])-1].opens = w + 1
}

// detach queues a fence, which ends all operations, and the detaching.
func (g *generator) detach(w, unit int) {
	g.plan[w] = idle
	for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		g.push(r, Call{Fn: "MPI_Win_fence", Unit: unit, Win: w}, idle)
	}
	for _, r := range g.p.Comms[g.p.Wins[w].Comm].Ranks {
		if m := &g.memory[w]; m.Size[r] > 0 {
			g.push(r, Call{Fn: "MPI_Win_detach", Unit: unit, Win: w, Off: m.Off[r]}, 0)
		}
	}
	g.plan[w] = dead
}

// elsewhere picks a place in another process's part of a shared window now and
// then: what it returns is for Call.Of or Buf.Of, and the offset.
func (g *generator) elsewhere(r, lo, hi int) (of, off int) {
	if !g.with(SharedWins) || !g.chance(0.3) {
		return 0, 0
	}
	for w := range g.p.Wins {
		win := &g.p.Wins[w]
		members := g.p.Comms[win.Comm].Ranks
		if win.At == nil || g.plan[w] == dead || !slices.Contains(members, r) {
			continue
		}
		owner := pick(g.Rand, members)
		if room := win.Size[owner] - (hi - lo); owner != r && room >= 0 && hi > lo {
			return owner + 1, win.Off[owner] + g.IntN(room+1)&^3 - lo
		}
	}
	return 0, 0
}

// unchecked picks MPI_MODE_NOCHECK for a lock now and then.
func (g *generator) unchecked() int64 {
	if g.with(NoCheck) && g.chance(0.3) {
		return trace.AssertNoCheck
	}
	return 0
}
