package mpi

import (
	"slices"

	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// peers are the processes that ranks in calls name (MPI 4.1, 7.6: in an
// intercommunicator those of the other group).
func peers(g *core.Group) []int32 {
	if g.Two() {
		return g.Remote
	}
	return g.Local
}

// peer returns the process with that rank, or -1.
func peer(g *core.Group, rank int64) int32 {
	if all := peers(g); rank >= 0 && rank < int64(len(all)) {
		return all[rank]
	}
	return -1
}

// rankIn returns the rank of a process in its own group, or -1.
func rankIn(g *core.Group, world int32) int32 { return int32(slices.Index(g.Local, world)) }

// holds reports whether a process is in either group.
func holds(g *core.Group, rank int32) bool {
	return slices.Contains(g.Local, rank) || slices.Contains(g.Remote, rank)
}

// communicator is a communicator of the run: one group, or two that see each
// other.
type communicator struct {
	sides []core.Group
}

// side returns the communicator as a process sees it; nil when it is no member.
func (c *communicator) side(world int32) *core.Group {
	if len(c.sides) == 1 {
		return &c.sides[0]
	}
	for i := range c.sides {
		if slices.Contains(c.sides[i].Local, world) {
			return &c.sides[i]
		}
	}
	return nil
}

// group returns the communicator that an argument names; nil, and a problem
// noted, when it is not known.
func (m *Model) group(p *process, c *core.Call, arg core.ArgName) *core.Group {
	id := c.Int(arg)
	if comm, ok := m.comms[id]; ok {
		if g := comm.side(p.Rank); g != nil {
			return g
		}
	} else if comm := m.communicator(p, id); comm != nil {
		m.comms[id] = comm
		if g := comm.side(p.Rank); g != nil {
			return g
		}
	}
	if c.Bad() {
		return nil
	}
	made := m.foreign[foreignComm{p.Rank, id}]
	if made == nil {
		p.NotUnderstood(c, "its communicator is not defined, or has processes of another run")
		return nil
	}
	p.NotUnderstoodFor(c, "its communicator, which "+made.Fn+" made, has processes of another run", made)
	for _, arg := range []core.ArgName{argNewcomm, argNewintracomm} {
		if c.Has(arg) { // has them too
			m.foreign[foreignComm{p.Rank, c.Int(arg)}] = made
		}
	}
	return nil
}

// foreignComm is a communicator with processes of another run, as a process knows it.
type foreignComm struct {
	rank int32
	id   int64
}

// foreignCalls are those that make such communicators, and the arguments that these are. What
// they order is not understood.
var foreignCalls = map[string]core.ArgName{
	"MPI_Comm_spawn": argIntercomm, "MPI_Comm_spawn_multiple": argIntercomm, "MPI_Comm_join": argIntercomm,
	"MPI_Comm_accept": argNewcomm, "MPI_Comm_connect": argNewcomm,
}

// bindForeign returns the meaning of such a call.
func (m *Model) bindForeign(arg core.ArgName) *core.Meaning {
	return &core.Meaning{Replay: func(s *core.Strand, c *core.Call) {
		if c.Has(arg) {
			m.foreign[foreignComm{s.Rank, c.Int(arg)}] = s.Info(c)
		}
		s.NotUnderstood(c, "")
	}}
}

// communicator returns a communicator as the trace of a process defines it, or
// nil.
func (m *Model) communicator(p *process, id int64) *communicator {
	def := p.defs.Comm(id)
	switch {
	case def != nil:
		local, ok := m.worldRanks(def.Ranks)
		if !ok {
			return nil
		}
		if !def.Inter {
			return &communicator{sides: []core.Group{{Local: local}}}
		}
		remote, ok := m.worldRanks(def.Remote)
		if !ok {
			return nil
		}
		return &communicator{sides: []core.Group{{Local: local, Remote: remote}, {Local: remote, Remote: local, Side: 1}}}
	case id == trace.CommWorld:
		ranks := make([]int32, len(m.procs))
		for i := range ranks {
			ranks[i] = int32(i)
		}
		return &communicator{sides: []core.Group{{Local: ranks}}}
	case id == int64(p.Rank+1)<<32|1: // MPI_COMM_SELF
		return &communicator{sides: []core.Group{{Local: []int32{p.Rank}}}}
	}
	return nil
}

func (m *Model) worldRanks(runs []trace.RankRun) ([]int32, bool) {
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
func doNeighbors(_ *Model, p *process, c *core.Call, _ *entry) {
	p.neighbours[c.Int(argComm)] = neighbours{slices.Clone(c.List(argSources)), slices.Clone(c.List(argDestinations))}
}
