package regions

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// group is the processes of a communicator as one of them sees it: world
// ranks, by rank in the communicator.
type group struct {
	local  []int32
	remote []int32 // of an intercommunicator: the other group
	side   uint8   // which of the two groups is the own one; otherwise 0
}

// inter reports whether the communicator connects two groups.
func (g *group) inter() bool { return g.remote != nil }

// peers are the processes that ranks in calls name (MPI 4.1, 7.6: in an
// intercommunicator those of the other group).
func (g *group) peers() []int32 {
	if g.inter() {
		return g.remote
	}
	return g.local
}

// peer returns the process with that rank, or -1.
func (g *group) peer(rank int64) int32 {
	if peers := g.peers(); rank >= 0 && rank < int64(len(peers)) {
		return peers[rank]
	}
	return -1
}

// size is the number of processes in both groups.
func (g *group) size() int { return len(g.local) + len(g.remote) }

// rankOf returns the rank of a process in its own group, or -1.
func (g *group) rankOf(world int32) int32 { return int32(slices.Index(g.local, world)) }

// communicator is a communicator of the run: one group, or two that see each
// other.
type communicator struct {
	sides []group
}

// side returns the communicator as a process sees it; nil when it is no member.
func (c *communicator) side(world int32) *group {
	if len(c.sides) == 1 {
		return &c.sides[0]
	}
	for i := range c.sides {
		if slices.Contains(c.sides[i].local, world) {
			return &c.sides[i]
		}
	}
	return nil
}

// group returns the communicator that an argument names; nil, and a problem
// noted, when it is not known.
func (m *Machine) group(p *proc, c *call, arg string) *group {
	id := c.num(arg)
	if comm, ok := m.comms[id]; ok {
		if g := comm.side(p.rank); g != nil {
			return g
		}
	} else if comm := m.communicator(p, id); comm != nil {
		m.comms[id] = comm
		if g := comm.side(p.rank); g != nil {
			return g
		}
	}
	if !c.bad {
		m.problems.notUnderstood(c.Fn.Name, p.info(c), fmt.Sprintf("communicator %d is not defined, or has processes of another run", id))
	}
	return nil
}

// communicator returns a communicator as the trace of a process defines it, or
// nil.
func (m *Machine) communicator(p *proc, id int64) *communicator {
	def := p.stream.Comm(id)
	switch {
	case def != nil:
		local, ok := m.worldRanks(def.Ranks)
		if !ok {
			return nil
		}
		if !def.Inter {
			return &communicator{sides: []group{{local: local}}}
		}
		remote, ok := m.worldRanks(def.Remote)
		if !ok {
			return nil
		}
		return &communicator{sides: []group{{local, remote, 0}, {remote, local, 1}}}
	case id == trace.CommWorld:
		ranks := make([]int32, len(m.procs))
		for i := range ranks {
			ranks[i] = int32(i)
		}
		return &communicator{sides: []group{{local: ranks}}}
	case id == int64(p.rank+1)<<32|1: // MPI_COMM_SELF
		return &communicator{sides: []group{{local: []int32{p.rank}}}}
	}
	return nil
}

func (m *Machine) worldRanks(runs []trace.RankRun) ([]int32, bool) {
	var ranks []int32
	for _, run := range runs {
		for k := range run.Count {
			r := run.First + k*run.Stride
			if r < 0 || r >= int64(len(m.procs)) || len(ranks) >= len(m.procs) {
				return nil, false
			}
			ranks = append(ranks, int32(r))
		}
	}
	return ranks, len(ranks) > 0
}

// neighbours are those of a process in the topology of a communicator (MPI
// 4.1, 8.6), as ranks in it.
type neighbours struct {
	sources, destinations []int64
}

// doNeighbors: the tracer's note of a process's neighbours in a communicator.
func doNeighbors(_ *Machine, p *proc, c *call, _ *rule) {
	p.neighbours[c.num("comm")] = neighbours{slices.Clone(c.list("sources")), slices.Clone(c.list("destinations"))}
}
