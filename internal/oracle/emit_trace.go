package oracle

import (
	"errors"
	"fmt"
	"io"
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

// required returns, for each load and store by index, the bytes that a trace
// must show, by offset from Program.Base: those in windows of the process and
// in buffers of its pending operations. Whether it shows the others is up to
// the tracer: no other process can meet them, and no operation.
func (p *Program) required() (map[int]map[int]bool, error) {
	o, err := newOrder(p)
	if err != nil {
		return nil, err
	}
	all := o.accesses()
	out := map[int]map[int]bool{}
	for i := range p.Calls {
		c := &p.Calls[i]
		if !c.isLocal() {
			continue
		}
		bytes := o.local(i).bytes
		must := map[int]bool{}
		for off := range bytes {
			if p.inLiveWindow(o, i, off) {
				must[off] = true
			}
		}
		for k := range all {
			a := &all[k]
			if a.rank != c.Rank || a.owner != c.Rank || a.target || a.call >= i || o.p.Calls[a.call].isLocal() {
				continue
			}
			if a.done != never && int(a.done)/points < i {
				continue
			}
			for off := range bytes {
				if _, ok := a.bytes[off]; ok {
					must[off] = true
				}
			}
		}
		out[i] = must
	}
	return out, nil
}

// inLiveWindow reports whether a byte of the caller's memory lies in a window
// that exists when call i is made.
func (p *Program) inLiveWindow(o *order, i, off int) bool {
	live := map[int]bool{}
	for _, j := range o.of[p.Calls[i].Rank] {
		if j >= i {
			break
		}
		switch c := &p.Calls[j]; c.Fn {
		case "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared":
			live[c.Win] = true
		case "MPI_Win_free":
			delete(live, c.Win)
		}
	}
	for w := range live {
		win, r := &p.Wins[w], p.Calls[i].Rank
		if off >= win.Off[r] && off < win.Off[r]+win.Size[r] {
			return true
		}
	}
	return false
}
