package oracle

import (
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// form is how an operation comes to its end: in its call, or by a request.
type form int

const (
	blocking form = iota
	nonblocking
	persistent
)

// family is what kind of call a function is.
type family int

const (
	epochCall      family = iota // synchronizes on a window, alone or with some others
	localAccess                  // a load or store
	operationCall                // one-sided
	messageCall                  // point to point
	collectiveCall               // of all members of a communicator or window
	probeCall
	requestCall // starts, completes or frees requests
)

// function says what a function does: the name of its blocking form, and its own.
type function struct {
	does   string
	form   form
	family family
}

// functions are the calls that a program may hold, but for those on windows.
var functions = func() map[string]function {
	m := map[string]function{"load": {family: localAccess}, "store": {family: localAccess}}
	add := func(fn, does string, f form, k family) { m[fn] = function{does, f, k} }
	two := func(k family, fns ...string) {
		for _, fn := range fns {
			name := strings.TrimPrefix(fn, "MPI_")
			add(fn, fn, blocking, k)
			add("MPI_I"+strings.ToLower(name[:1])+name[1:], fn, nonblocking, k)
		}
	}
	all := func(k family, fns ...string) {
		two(k, fns...)
		for _, fn := range fns {
			add(fn+"_init", fn, persistent, k)
		}
	}
	all(messageCall, "MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Recv")
	two(messageCall, "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Mrecv")
	add("MPI_Psend_init", "MPI_Psend", persistent, messageCall)
	add("MPI_Precv_init", "MPI_Precv", persistent, messageCall)
	all(collectiveCall, "MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan",
		"MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv",
		"MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw",
		"MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw")
	for _, fn := range []string{"MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap"} {
		add(fn, fn, blocking, operationCall)
	}
	for _, fn := range []string{"MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate"} {
		add("MPI_R"+strings.ToLower(fn[4:]), fn, nonblocking, operationCall)
	}
	for _, fn := range []string{"MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic", "MPI_Win_free", "MPI_Win_fence",
		"MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create", "MPI_Comm_create_group", "MPI_Cart_create", "MPI_Dist_graph_create_adjacent",
		"MPI_Intercomm_create", "MPI_Intercomm_merge", "MPI_Comm_free"} {
		add(fn, fn, blocking, collectiveCall)
	}
	add("MPI_Comm_idup", "MPI_Comm_dup", nonblocking, collectiveCall)
	for _, fn := range []string{"MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe"} {
		add(fn, fn, blocking, probeCall)
	}
	for _, fn := range []string{"MPI_Start", "MPI_Startall", "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
		"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_free", "MPI_Request_get_status", "MPI_Cancel",
		"MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived"} {
		add(fn, fn, blocking, requestCall)
	}
	return m
}()

// does is the blocking form of what the call does: MPI_Put for MPI_Rput,
// MPI_Bcast for MPI_Ibcast and MPI_Bcast_init.
func (c *Call) does() string {
	if f, ok := functions[c.Fn]; ok {
		return f.does
	}
	return c.Fn
}

func (c *Call) form() form     { return functions[c.Fn].form }
func (c *Call) family() family { return functions[c.Fn].family }

// isLocal reports whether the call is a load or store.
func (c *Call) isLocal() bool { return c.Fn == "load" || c.Fn == "store" }

// isOperation reports whether the call is a one-sided operation.
func (c *Call) isOperation() bool { return c.family() == operationCall }

// isCollective reports whether all members of Comm, or of the window's
// communicator, take part in the call.
func (c *Call) isCollective() bool { return c.family() == collectiveCall }

// onWindow reports whether the call names a window.
func (c *Call) onWindow() bool { return c.isOperation() || strings.HasPrefix(c.Fn, "MPI_Win_") }

// makesWindow and makesComm report whether the call is a constructor.
func (c *Call) makesWindow() bool {
	switch c.Fn {
	case "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic":
		return true
	}
	return false
}

func (c *Call) makesComm() bool {
	switch c.does() {
	case "MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create", "MPI_Comm_create_group",
		"MPI_Cart_create", "MPI_Dist_graph_create_adjacent", "MPI_Intercomm_create", "MPI_Intercomm_merge":
		return true
	}
	return false
}

// sends and receives report which sides of a message the call is.
func (c *Call) sends() bool {
	switch c.does() {
	case "MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Sendrecv", "MPI_Sendrecv_replace":
		return true
	}
	return false
}

func (c *Call) receives() bool {
	switch c.does() {
	case "MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace":
		return true
	}
	return false
}

// channel is what messages match by, in order.
type channel struct{ comm, from, to, tag int }

func (c *Call) sendChannel() channel { return channel{c.Comm, c.Rank, c.Peer, c.Tag} }

func (c *Call) recvChannel() channel {
	tag := c.Tag
	if c.does() == "MPI_Sendrecv" || c.does() == "MPI_Sendrecv_replace" {
		tag = c.RTag
	}
	return channel{c.Comm, c.Source, c.Rank, tag}
}

// isNeighbour reports whether the call is a neighbourhood collective.
func (c *Call) isNeighbour() bool { return strings.HasPrefix(c.does(), "MPI_Neighbor_") }

// typed reports whether the call has a datatype for each process.
func (c *Call) typed() bool {
	return c.does() == "MPI_Alltoallw" || c.does() == "MPI_Neighbor_alltoallw"
}

// rooted reports whether the call has a root.
func (c *Call) rooted() bool {
	switch c.does() {
	case "MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv":
		return true
	}
	return false
}

// group returns the members of a communicator that a process sees as its own
// group, and those it communicates with: the remote group, or again its own.
func (c *Comm) group(rank int) (own, peers []int) {
	switch {
	case c.Remote == nil:
		return c.Ranks, c.Ranks
	case slices.Contains(c.Ranks, rank):
		return c.Ranks, c.Remote
	}
	return c.Remote, c.Ranks
}

// all returns all members of a communicator.
func (c *Comm) all() []int { return slices.Concat(c.Ranks, c.Remote) }

// neighbours returns the sources and destinations of a process, world ranks or
// ProcNull in the standard's order (8.6).
func (c *Comm) neighbours(rank int) (sources, dests []int) {
	i := slices.Index(c.Ranks, rank)
	if c.Dims == nil {
		return c.Sources[i], c.Dests[i]
	}
	coords := make([]int, len(c.Dims))
	for d, rest := len(c.Dims)-1, i; d >= 0; d-- {
		coords[d], rest = rest%c.Dims[d], rest/c.Dims[d]
	}
	for d := range c.Dims {
		for _, step := range []int{-1, 1} {
			n, at := 0, slices.Clone(coords)
			at[d] += step
			if c.Periods[d] != 0 {
				at[d] = (at[d] + c.Dims[d]) % c.Dims[d]
			}
			for k := range at {
				n = n*c.Dims[k] + at[k]
			}
			if at[d] < 0 || at[d] >= c.Dims[d] {
				sources = append(sources, ProcNull)
			} else {
				sources = append(sources, c.Ranks[n])
			}
		}
	}
	return sources, sources
}

// members returns the world ranks that take part in a collective call.
func (p *Program) members(c *Call) []int {
	switch c.does() {
	case "MPI_Comm_create_group":
		return c.Group
	case "MPI_Intercomm_create":
		return p.Comms[c.New].all()
	}
	return p.Comms[p.commOf(c)].all()
}

// collKey names the sequence of collective calls that c belongs to: those of a
// communicator, the fences and the free of a window, or the one call that makes
// a communicator without one that all its callers belong to.
type collKey struct {
	of string
	id int
}

func (p *Program) collKey(c *Call) collKey {
	switch c.does() {
	case "MPI_Win_fence", "MPI_Win_free":
		return collKey{"window", c.Win}
	case "MPI_Comm_create_group", "MPI_Intercomm_create":
		return collKey{"new", c.New}
	}
	return collKey{"communicator", p.commOf(c)}
}

func (p *Program) commOf(c *Call) int {
	if c.onWindow() {
		return p.Wins[c.Win].Comm
	}
	return c.Comm
}

// signals reports whether in a collective call the part of one process comes
// before the end of another's: the direction of the call (detection model,
// section 3; between the groups of an intercommunicator, MPI standard, 6.2.3).
func (p *Program) signals(c *Call, from, to int) bool {
	switch {
	case c.Fn == "MPI_Win_fence":
		return c.Assert&trace.AssertNoPrecede == 0
	case c.Fn == "MPI_Comm_free":
		return false
	case c.makesWindow(), c.makesComm(), c.Fn == "MPI_Win_free":
		return true
	}
	comm := &p.Comms[c.Comm]
	if comm.Remote != nil && slices.Contains(comm.Remote, from) == slices.Contains(comm.Remote, to) {
		return false
	}
	switch c.does() {
	case "MPI_Bcast", "MPI_Scatter", "MPI_Scatterv":
		return from == c.Peer
	case "MPI_Reduce", "MPI_Gather", "MPI_Gatherv":
		return to == c.Peer
	case "MPI_Scan", "MPI_Exscan":
		return slices.Index(comm.Ranks, from) < slices.Index(comm.Ranks, to)
	}
	if c.isNeighbour() {
		sources, _ := comm.neighbours(to)
		return slices.Contains(sources, from)
	}
	return true
}
