package oracle

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mcchk/mcchk/trace"
)

// Recorded is what a trace shows of one process of a program.
type Recorded struct {
	reader *trace.Reader // for what its definitions say
	events []recordedEvent
}

// recordedEvent is a call, or a run of loads or stores.
type recordedEvent struct {
	line   int
	call   *trace.Call // nil for an access
	access trace.Access
}

// ReadRecorded reads a trace to its end and sorts out the events of several
// programs. place says which program a stack belongs to, and the line of its
// call in that program; "" when it belongs to none: what the frame around the
// programs does is no part of them.
func ReadRecorded(r *trace.Reader, place func(stack uint32) (program string, line int)) (map[string]*Recorded, error) {
	out := map[string]*Recorded{}
	var ev trace.Event
	for {
		err := r.ReadEvent(&ev)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		e := recordedEvent{access: ev.Access}
		stack := ev.Access.Stack
		switch ev.Kind {
		case trace.KindCall:
			e.call = cloneCall(ev.Call)
			stack = e.call.Stack
		case trace.KindAccess:
		case trace.KindLost:
			return nil, fmt.Errorf("rank %d has lost events", r.Header().Rank)
		default:
			continue
		}
		program, line := place(stack)
		if program == "" {
			continue
		}
		if out[program] == nil {
			out[program] = &Recorded{reader: r}
		}
		e.line = line
		out[program].events = append(out[program].events, e)
	}
}

func cloneCall(c *trace.Call) *trace.Call {
	d := *c
	d.Args = slices.Clone(c.Args)
	for i := range d.Args {
		d.Args[i].List = slices.Clone(d.Args[i].List)
	}
	return &d
}

// touch is a source line that loads or stores.
type touch struct {
	line  int
	store bool
}

// required returns, for each load and store by index, the addresses that a
// trace must show: those in windows that the process is in, and in buffers of
// its pending operations. Whether it shows the others is up to the tracer: no
// other process can meet them, and no operation.
func (p *Program) required() (map[int]map[uint64]bool, error) {
	o, err := newOrder(p)
	if err != nil {
		return nil, err
	}
	all := o.accesses()
	out := map[int]map[uint64]bool{}
	for i := range p.Calls {
		c := &p.Calls[i]
		if !c.isLocal() {
			continue
		}
		local := o.local(i)
		live := p.liveWindows(o, i)
		pending := slices.DeleteFunc(slices.Clone(all), func(a access) bool {
			return a.rank != c.Rank || a.owner != local.owner || a.target || a.call >= i || p.Calls[a.call].isLocal() ||
				a.over(i)
		})
		must := map[uint64]bool{}
		for off := range local.bytes.all {
			at := span{local.owner, off, off + 1}
			if slices.ContainsFunc(live, at.meets) || slices.ContainsFunc(pending, func(a access) bool { return a.bytes.has(off) }) {
				must[p.Base[c.Rank]+uint64(p.seen(c.Rank, c.Of, off))] = true
			}
		}
		out[i] = must
	}
	return out, nil
}

// liveWindows returns the memory of the windows that the caller of call i is in
// then: its own part, and all parts of a shared one.
func (p *Program) liveWindows(o *order, i int) []span {
	live := map[int]bool{}
	attached := map[[2]int]span{} // by window and offset
	rank := p.Calls[i].Rank
	for _, j := range o.of[rank] {
		if j >= i {
			break
		}
		switch c := &p.Calls[j]; {
		case c.makesWindow():
			live[c.Win] = true
		case c.Fn == "MPI_Win_free":
			delete(live, c.Win)
		case c.Fn == "MPI_Win_attach":
			attached[[2]int{c.Win, c.Off}] = span{rank, c.Off, c.Off + c.Bytes}
		case c.Fn == "MPI_Win_detach":
			delete(attached, [2]int{c.Win, c.Off})
		}
	}
	maps.DeleteFunc(attached, func(k [2]int, _ span) bool { return !live[k[0]] })
	out := slices.Collect(maps.Values(attached))
	for w := range live {
		win := &p.Wins[w]
		for _, r := range p.Comms[win.Comm].Ranks {
			if part := win.part(r); part.lo < part.hi && (r == rank || win.At != nil) {
				out = append(out, part)
			}
		}
	}
	return out
}
