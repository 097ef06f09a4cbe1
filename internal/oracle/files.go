package oracle

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Files returns the program's trace files, one a process by rank. It
// normalizes the program first, and returns an error when that is not possible.
func (p *Program) Files() ([][]byte, error) { return p.FilesIn(0) }

// FilesIn is Files with a new chunk begun after every so many events; 0 leaves
// it to the writer. What the files say is the same.
func (p *Program) FilesIn(events int) ([][]byte, error) {
	if err := p.Normalize(); err != nil {
		return nil, err
	}
	out := make([][]byte, p.Ranks)
	for r := range out {
		b, err := p.file(r, events)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", r, err)
		}
		out[r] = b
	}
	return out, nil
}

// file writes the trace of one process.
func (p *Program) file(rank, events int) ([]byte, error) {
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Header{
		Version: 1, Run: [16]byte{0: 1}, Rank: rank, Ranks: p.Ranks, PID: 1000 + rank, Host: "oracle",
	})
	if err != nil {
		return nil, err
	}
	f := &file{p: p, rank: rank, w: w, chunk: events, fns: map[string]*trace.Fn{},
		idups: map[int]*Call{}, neighbours: map[int]bool{}, on: map[uint32]int{}}
	if err := f.definitions(); err != nil {
		return nil, err
	}
	if err := f.calls(); err != nil {
		return nil, err
	}
	if err := w.End(trace.End{Accesses: f.elements, Units: 1}); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// file is the trace of one process while it is written.
type file struct {
	p        *Program
	rank     int
	w        *trace.Writer
	fns      map[string]*trace.Fn
	elements uint64
	chunk    int            // events a chunk; 0 any number
	events   int            // written so far
	seq      uint64         // of the last call written
	thread   uint32         // that writes
	on       map[uint32]int // the strand that each thread is on, where that is not the first

	idups      map[int]*Call // communicators being made, by request
	neighbours map[int]bool  // communicators whose neighbours are written
}

func (f *file) definitions() error {
	for i, t := range f.p.Types {
		if err := f.w.Type(f.typ(i, t)); err != nil {
			return err
		}
	}
	for _, name := range opNames {
		if err := f.w.Op(opID(f.rank, name), name); err != nil {
			return err
		}
	}
	made := map[int]bool{}
	for i := range f.p.Calls {
		if c := &f.p.Calls[i]; c.makesComm() && c.New >= 0 {
			made[c.New] = true
		}
	}
	for i := range f.p.Comms {
		if made[i] {
			continue
		}
		if err := f.comm(i); err != nil {
			return err
		}
	}
	return nil
}

// comm defines a communicator, if the process is a member.
func (f *file) comm(i int) error {
	c := &f.p.Comms[i]
	if !slices.Contains(c.all(), f.rank) {
		return nil
	}
	own, peers := c.group(f.rank)
	d := trace.Comm{ID: f.p.commID(i), Rank: slices.Index(own, f.rank), Size: len(own), Inter: c.Remote != nil, Ranks: runs(own)}
	if d.Inter {
		d.Remote = runs(peers)
	}
	return f.w.Comm(&d)
}

func runs(ranks []int) []trace.RankRun {
	var out []trace.RankRun
	for _, r := range ranks {
		out = append(out, trace.RankRun{First: int64(r), Stride: 1, Count: 1})
	}
	return out
}

// defineMade defines the communicator that a call made, or whose making it
// completed.
func (f *file) defineMade(c *Call) error {
	if c.makesComm() && c.form() == blocking && c.New >= 0 {
		return f.comm(c.New)
	}
	for _, r := range c.completed() {
		if d := f.idups[r]; d != nil && c.Fn != "MPI_Request_get_status" {
			delete(f.idups, r)
			return f.comm(d.New)
		}
	}
	if c.Fn == "MPI_Comm_idup" {
		f.idups[c.Reqs[0]] = c
	}
	return nil
}

// before writes what the tracer records before a call of the program.
func (f *file) before(c *Call, stack uint32, at int64) error {
	s := &signer{p: f.p, c: c}
	switch {
	case c.isOperation() && c.Ticket >= 0:
		s.rank("rank", c.Peer)
		s.win()
		s.word("ticket", trace.ArgNumber, int64(c.Ticket))
		return f.call("mcchk_Lock_ticket", s.args, stack, at-20, at-10)
	case c.isNeighbour() && !f.neighbours[c.Comm]:
		f.neighbours[c.Comm] = true
		sources, dests := f.p.Comms[c.Comm].neighbours(f.rank)
		s.comm()
		s.numbers("sources", trace.ArgNumbers, ranksIn(f.p.Comms[c.Comm].Ranks, sources))
		s.numbers("destinations", trace.ArgNumbers, ranksIn(f.p.Comms[c.Comm].Ranks, dests))
		return f.call("mcchk_Neighbors", s.args, stack, at-20, at-10)
	}
	return nil
}

// after writes what the tracer records after it.
func (f *file) after(c *Call, stack uint32, at int64) error {
	if err := f.defineMade(c); err != nil || c.Fn != "MPI_Win_allocate_shared" {
		return err
	}
	w := &f.p.Wins[c.Win]
	for _, r := range f.p.Comms[w.Comm].Ranks {
		s := &signer{p: f.p, c: c}
		s.win()
		s.rank("rank", r)
		s.addr("base", w.At[c.Rank][r])
		s.number("size", w.Size[r])
		if err := f.call("mcchk_Shared_segment", s.args, stack, at+1, at+2); err != nil {
			return err
		}
	}
	return nil
}

// typ defines a datatype under the identifier that this process knows it by.
func (f *file) typ(i int, t Type) *trace.Type {
	l := f.p.layout(i)
	d := &trace.Type{
		ID: uint32(typeID(f.rank, i)), Combiner: t.Make, Name: t.Name,
		Size: int64(f.p.bytes(i, 1)), LB: int64(l.lb), Extent: int64(l.ub - l.lb),
	}
	for _, v := range t.Ints {
		d.Ints = append(d.Ints, int64(v))
	}
	for _, v := range t.Addrs {
		d.Addrs = append(d.Addrs, int64(v))
	}
	for _, o := range t.Olds {
		d.Types = append(d.Types, typeID(f.rank, o))
	}
	return d
}

// calls writes the events. The time of the i-th call of the program is from
// 100·i ns until shortly before the next of its process.
func (f *file) calls() error {
	s := &signer{p: f.p}
	s.word("provided", trace.ArgNumber, 3) // MPI_THREAD_MULTIPLE
	if err := f.plain("MPI_Init", 0, s.args...); err != nil {
		return err
	}
	var mine []int
	for i := range f.p.Calls {
		if f.p.Calls[i].Rank == f.rank {
			mine = append(mine, i)
		}
	}
	for k, i := range mine {
		end := len(f.p.Calls)
		if k+1 < len(mine) {
			end = mine[k+1]
		}
		if err := f.event(&f.p.Calls[i], int64(100*(i+1)), int64(100*(end+1)-10)); err != nil {
			return err
		}
	}
	end, err := f.w.StackAt(trace.Source{Func: "main", File: fmt.Sprintf("p%d.c", f.rank), Line: 1 << 20})
	if err != nil {
		return err
	}
	if err := f.goOnWith(&Call{}, end, int64(100*len(f.p.Calls)+50)); err != nil {
		return err
	}
	return f.plain("MPI_Finalize", int64(100*(len(f.p.Calls)+1)))
}

// event writes one call, load or store.
func (f *file) event(c *Call, begin, end int64) error {
	if f.events++; f.chunk > 0 && f.events%f.chunk == 0 {
		if err := f.w.BeginChunk(trace.Chunk{Seq: f.seq, Sealed: true}); err != nil {
			return err
		}
	}
	stack, err := f.w.StackAt(trace.Source{Func: "main", File: fmt.Sprintf("p%d.c", c.Rank), Line: uint32(c.Line)})
	if err != nil {
		return err
	}
	if err := f.goOnWith(c, stack, begin); err != nil {
		return err
	}
	if c.isStrandEvent() {
		return f.strandEvent(c, stack, begin)
	}
	if c.isLocal() {
		f.elements += uint64(c.Count)
		return f.w.Access(&trace.Access{
			Addr: f.p.Base[f.rank] + uint64(f.p.seen(c.Rank, c.Of, c.Off)), Size: uint32(c.Elem), Stride: int64(c.Stride), Count: uint64(c.Count),
			Stack: stack, Store: c.Fn == "store",
		})
	}
	if err := f.before(c, stack, begin); err != nil {
		return err
	}
	if err := f.call(c.Fn, f.p.signature(c), stack, begin, end); err != nil {
		return err
	}
	return f.after(c, stack, end)
}

// threads is how many threads the strands of a process run on.
const threads = 3

// goOnWith lets the thread of a call's strand write, and notes which strand that is.
func (f *file) goOnWith(c *Call, stack uint32, at int64) error {
	thread := uint32(c.Strand % threads)
	if thread != f.thread {
		f.thread = thread
		if err := f.w.BeginChunk(trace.Chunk{Strand: thread, Seq: f.seq, Sealed: true}); err != nil {
			return err
		}
	}
	if on, known := f.on[thread]; on == c.Strand && (known || thread == 0) {
		return nil
	}
	f.on[thread] = c.Strand
	return f.strandNote("mcchk_Strand", "strand", c.Strand, stack, at)
}

// strandEvent writes what the tracer notes of an event of strands.
func (f *file) strandEvent(c *Call, stack uint32, at int64) error {
	switch c.Fn {
	case strandFork:
		return f.strandNote("mcchk_Fork", "object", c.Object, stack, at+1)
	case strandRelease:
		return f.strandNote("mcchk_Release", "object", c.Object, stack, at+1)
	case strandEnd:
		f.on[f.thread] = -1
		return f.strandNote("mcchk_Strand_end", "strand", c.Strand, stack, at+1)
	}
	if err := f.strandNote("mcchk_Acquire", "object", c.Object, stack, at+1); err != nil || !c.Last {
		return err
	}
	return f.strandNote("mcchk_Object_end", "object", c.Object, stack, at+2)
}

func (f *file) strandNote(name, arg string, value int, stack uint32, at int64) error {
	s := &signer{p: f.p}
	s.word(arg, trace.ArgNumber, int64(value))
	return f.call(name, s.args, stack, at, at)
}

func (f *file) plain(name string, at int64, args ...arg) error {
	stack, err := f.w.StackAt(trace.Source{Func: "main", File: fmt.Sprintf("p%d.c", f.rank), Line: 1 << 20})
	if err != nil {
		return err
	}
	return f.call(name, args, stack, at, at+1)
}

func (f *file) call(name string, args []arg, stack uint32, begin, end int64) error {
	fn := f.fns[name]
	if fn == nil {
		defs := make([]trace.Arg, len(args))
		for i, a := range args {
			defs[i] = a.Arg
		}
		var err error
		if fn, err = f.w.Define(name, defs); err != nil {
			return err
		}
		f.fns[name] = fn
	}
	values := make([]trace.Value, len(args))
	for i, a := range args {
		values[i] = a.value
	}
	f.seq++
	return f.w.Call(&trace.Call{Fn: fn, Seq: f.seq, Begin: begin, End: end, Returned: true, Stack: stack, Args: values})
}
