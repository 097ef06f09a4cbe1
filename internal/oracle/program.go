package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/trace"
)

// Program is the history of one run of a small MPI program. Its data are plain,
// so that a test may write one by hand; Normalize fills in what a run shows.
type Program struct {
	Ranks int      // number of processes
	Base  []uint64 // address of each process's memory; buffers are offsets from it
	Size  []int    // bytes of each process's memory
	Comms []Comm   // the first is MPI_COMM_WORLD
	Wins  []Window
	Types []Type
	Calls []Call // of all processes, in the order in which they began

	layouts []*layout // of the first of Types, as far as they were asked for
}

// Comm is a communicator. Ranks are world ranks unless said otherwise. One that
// no call of the program makes (Call.New) is there from the start.
type Comm struct {
	Ranks  []int // world rank of each rank; of an intercommunicator: its first group
	Remote []int // of an intercommunicator: its second group; otherwise nil

	Dims    []int // of MPI_Cart_create
	Periods []int // of MPI_Cart_create, 0 or 1 a dimension

	// Neighbours of a communicator with a topology, by rank in the
	// communicator: world ranks in the standard's order, ProcNull where there
	// is none. With Dims they are per dimension -1, then +1, in both lists.
	Sources, Dests [][]int
}

// ProcNull is MPI_PROC_NULL wherever a world rank is asked for.
const ProcNull = -2

// Window is what the members of a communicator make together. All slices are
// by world rank.
type Window struct {
	Comm int    // index in Program.Comms
	Make string // MPI_Win_create, MPI_Win_allocate, MPI_Win_allocate_shared or MPI_Win_create_dynamic; "" is MPI_Win_create
	Off  []int  // where in the process's memory the window begins (nothing for a dynamic window)
	Size []int  // bytes (0 for a dynamic window)
	Unit []int  // displacement unit, bytes (1 for a dynamic window)

	// At[rank][owner] is where process rank sees the part of process owner of a
	// shared window, as an offset from rank's own Base.
	At [][]int

	SameOp   bool  // info accumulate_ops=same_op instead of same_op_no_op
	Unorder  int64 // bits taken out of accumulate_ordering: rar 1, raw 2, war 4, waw 8
	Separate bool  // MPI_WIN_MODEL is MPI_WIN_SEPARATE
}

// Buf is a buffer argument. Where it is an array of parts for several
// processes, Count is that of one part.
type Buf struct {
	Off   int // from Program.Base of the process
	Count int
	Type  int // index in Program.Types
	Of    int // world rank + 1 of the process in whose part of a shared window it lies, Off then counting from that process's Base; 0: in the caller's own memory
}

// Parts are the counts and displacements of one side of a collective call that
// has them, one for each process of the (remote) group or neighbour.
type Parts struct {
	Counts []int
	Displs []int // in extents of the type; in bytes for an Alltoallw
	Types  []int // of an Alltoallw: indices in Program.Types
}

// Call is one MPI call, load or store. Which fields mean something depends on
// Fn. Ranks are ranks in MPI_COMM_WORLD throughout.
type Call struct {
	Rank int    // who
	Line int    // its source place is line Line of file p<Rank>.c
	Fn   string // "MPI_Put", …, "load", "store"
	Unit int    // calls of one unit live and die together when shrinking

	Win    int   // index in Program.Wins
	Comm   int   // index in Program.Comms
	Peer   int   // target, destination, root, locked process, or local leader; or ProcNull
	Source int   // of a receive or probe: where from (or ProcNull); remote leader of MPI_Intercomm_create, whose peer communicator is MPI_COMM_WORLD
	Group  []int // of post and start, MPI_Comm_create and MPI_Comm_create_group
	Tag    int   // of the message sent, or that of the message received
	RTag   int   // of the Sendrecv family: tag of the message received
	Any    bool  // the receive or probe was called with MPI_ANY_SOURCE
	AnyTag bool  // and with MPI_ANY_TAG

	Origin  Buf   // origin, send, or broadcast buffer; the only buffer of Sendrecv_replace
	Result  Buf   // result or receive buffer
	Compare Buf   // of MPI_Compare_and_swap
	InPlace bool  // MPI_IN_PLACE (where the standard allows it for this process)
	Send    Parts // of the send buffer of a collective call (Scatterv, Alltoallv, Alltoallw)
	Recv    Parts // of its receive buffer (Gatherv, Allgatherv, Alltoallv, Alltoallw), and the counts of Reduce_scatter

	Disp   int // target displacement, in units of the target's window; for a dynamic window an offset from the target's Base
	TCount int // target count
	TType  int // target datatype

	Op     string
	Assert int64
	Lock   int64 // trace.LockShared or trace.LockExclusive

	// Requests have numbers from 0, each used once in the program. Reqs is the
	// one that a non-blocking, _init or R-call makes, or those that a Start,
	// Startall, Wait, Test, Cancel, Request_free, Request_get_status, Pready
	// or Parrived names; -1 is MPI_REQUEST_NULL.
	Reqs []int
	Done []int // indices in Reqs of those that Waitany, Waitsome, Testany or Testsome completed
	Flag bool  // result of a test, probe, MPI_Request_get_status or MPI_Parrived; "high" of MPI_Intercomm_merge
	Msg  int   // number of the message that Mprobe or Improbe matched, or Mrecv or Imrecv receives; each process counts from 1

	Partitions int   // of MPI_Psend_init and MPI_Precv_init; the buffer's Count is that of one
	Ready      []int // partitions of Pready (one), Pready_range (first, last) and Pready_list; of MPI_Parrived (one)

	New   int // communicator that a constructor makes: index in Program.Comms, or -1; a caller that is no member of it gets MPI_COMM_NULL
	Color int // of MPI_Comm_split; Undefined for none
	Key   int

	Ticket   int      // filled in by Normalize: of a lock, or of the mcchk_Lock_ticket before an operation; -1 none
	Statuses []Status // filled in by Normalize: what the call's statuses say; of a Waitsome or Testsome for each of Done

	// Of a load or store: the run of elements, Off from Program.Base. Of
	// names another process as Buf.Of does. MPI_Win_attach and MPI_Win_detach
	// use Off, and attach Bytes.
	Off, Elem, Stride, Count int
	Of                       int
	Bytes                    int

	Strand int  // of its process: 0 is the first
	Object int  // of an event of strands; Op says what it stands for
	Last   bool // an acquire after which nobody means what was released so far
}

// allocates reports whether MPI gives the window its memory.
func (w *Window) allocates() bool {
	return w.Make == "MPI_Win_allocate" || w.Make == "MPI_Win_allocate_shared"
}

// Undefined is MPI_UNDEFINED where a call takes it for a number.
const Undefined = -32766

// Status is what a status says.
type Status struct {
	Source    int // rank in the communicator (of its remote group), trace.AnySource or trace.ProcNull
	Tag       int // or trace.AnyTag
	Bytes     int
	Cancelled bool
}

// Place is a source place: line Line of file p<Rank>.c.
type Place struct{ Rank, Line int }

// String returns the place as file:line.
func (p Place) String() string { return fmt.Sprintf("p%d.c:%d", p.Rank, p.Line) }

// Place returns where the call stands in the source.
func (c *Call) Place() Place { return Place{c.Rank, c.Line} }

// clone returns a copy that shares nothing that is changed later.
func (p *Program) clone() *Program {
	q := *p
	q.Base = append([]uint64(nil), p.Base...)
	q.Size = append([]int(nil), p.Size...)
	q.Comms = slices.Clone(p.Comms)
	q.Wins = append([]Window(nil), p.Wins...)
	q.Types = append([]Type(nil), p.Types...)
	q.Calls = append([]Call(nil), p.Calls...)
	q.layouts = slices.Clip(p.layouts)
	return &q
}

// String lists the program for people: its memory and windows, then the calls
// in the order in which they began.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d processes\n", p.Ranks)
	for r := range p.Ranks {
		fmt.Fprintf(&b, "  process %d: memory %#x, %d bytes\n", r, p.Base[r], p.Size[r])
	}
	for i, c := range p.Comms[1:] {
		fmt.Fprintf(&b, "  communicator %d: %v", i+1, c.Ranks)
		if c.Remote != nil {
			fmt.Fprintf(&b, " and %v", c.Remote)
		}
		if c.Dims != nil {
			fmt.Fprintf(&b, ", grid %v periodic %v", c.Dims, c.Periods)
		}
		b.WriteByte('\n')
	}
	for i, w := range p.Wins {
		fmt.Fprintf(&b, "  window %d on communicator %d: offsets %v, sizes %v, units %v\n", i, w.Comm, w.Off, w.Size, w.Unit)
	}
	for i, t := range p.Types {
		if t.Make != trace.Named {
			fmt.Fprintf(&b, "  type %d: %s\n", i, t)
		}
	}
	threaded := p.isThreaded()
	for i := range p.Calls {
		c := &p.Calls[i]
		strand := ""
		if threaded {
			strand = fmt.Sprintf("(%d) ", c.Strand)
		}
		fmt.Fprintf(&b, "%4d  %-8s %s%s%s\n", i, c.Place(), strings.Repeat("    ", c.Rank), strand, p.describe(c))
	}
	return b.String()
}

// describe renders one call with its arguments.
func (p *Program) describe(c *Call) string {
	if c.isStrandEvent() {
		return fmt.Sprintf("%s %s %d", strings.TrimPrefix(c.Fn, "strand_"), c.Op, c.Object)
	}
	if c.isLocal() {
		of := ""
		if c.Of > 0 {
			of = fmt.Sprintf(" of process %d", c.Of-1)
		}
		return fmt.Sprintf("%s +%d%s, %d x %d bytes, stride %d", c.Fn, c.Off, of, c.Count, c.Elem, c.Stride)
	}
	var b strings.Builder
	if c.isOperation() && c.Ticket >= 0 {
		fmt.Fprintf(&b, "[ticket %d] ", c.Ticket)
	}
	b.WriteString(strings.TrimPrefix(c.Fn, "MPI_"))
	for _, s := range p.signature(c) {
		switch s.Kind {
		case 'p':
			switch v := s.value.Int; v {
			case 0:
				fmt.Fprintf(&b, " %s=none", s.Name)
			case trace.InPlace:
				fmt.Fprintf(&b, " %s=in place", s.Name)
			default:
				fmt.Fprintf(&b, " %s=+%d", s.Name, uint64(v)-p.Base[c.Rank])
			}
		case 't':
			if s.value.Int != 0 {
				fmt.Fprintf(&b, " %s=%s", s.Name, p.Types[typeIndex(c.Rank, s.value.Int)])
			}
		case 'o':
			fmt.Fprintf(&b, " op=%s", strings.TrimPrefix(c.Op, "MPI_"))
		case 'w':
			fmt.Fprintf(&b, " win=%d", c.Win)
		case 'c':
			n := p.commOf(c)
			if strings.HasPrefix(s.Name, "new") {
				n = c.New
			}
			fmt.Fprintf(&b, " %s=%d", s.Name, n)
		default:
			if s.Kind.IsList() {
				fmt.Fprintf(&b, " %s=%v", s.Name, s.value.List)
			} else {
				fmt.Fprintf(&b, " %s=%d", s.Name, s.value.Int)
			}
		}
	}
	return b.String()
}
