package values

import (
	"bytes"
	"fmt"

	"github.com/mcchk/mcchk/trace"
)

// Files returns the trace files, one a process.
func (p *Program) Files() ([][]byte, error) {
	out := make([][]byte, p.ranks)
	for rank := range out {
		var buf bytes.Buffer
		w, err := trace.NewWriter(&buf, trace.Header{Version: 1, Run: [16]byte{0: 1}, Rank: rank, Ranks: p.ranks, PID: 1000 + rank, Host: "oracle"})
		if err != nil {
			return nil, err
		}
		if err := p.write(w, rank); err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		out[rank] = buf.Bytes()
	}
	return out, nil
}

// note is what the trace says of a strand.
type note struct {
	name   string
	arg    int
	before bool // the event that it stands with
}

func (p *Program) write(w *trace.Writer, rank int) error {
	fns := map[string]*trace.Fn{}
	var seq, elements uint64
	strand, begun := 0, map[int]bool{0: true}
	notes := func(e *event, list []note, before bool) error {
		for _, n := range list {
			if n.before != before {
				continue
			}
			fn := fns[n.name]
			if fn == nil {
				arg := "object"
				if n.name == "mcchk_Strand" || n.name == "mcchk_Strand_end" {
					arg = "strand"
				}
				var err error
				if fn, err = w.Define(n.name, []trace.Arg{{Name: arg, Kind: trace.ArgNumber}}); err != nil {
					return err
				}
				fns[n.name] = fn
			}
			seq++
			if err := w.Call(&trace.Call{Fn: fn, Seq: seq, Begin: e.end, End: e.end, Returned: true, Args: []trace.Value{{Int: int64(n.arg)}}}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, e := range p.events {
		if e.pe != rank {
			continue
		}
		if e.strand != strand {
			strand = e.strand
			if err := w.BeginChunk(trace.Chunk{Strand: uint32(strand), Seq: seq, Sealed: true}); err != nil {
				return err
			}
			if !begun[strand] {
				begun[strand] = true
				if err := notes(e, []note{{"mcchk_Strand", strand, true}}, true); err != nil {
					return err
				}
			}
		}
		if err := notes(e, p.notes[e.index], true); err != nil {
			return err
		}
		stack, err := w.StackAt(trace.Source{Func: "main", File: fmt.Sprintf("p%d.c", rank), Line: uint32(e.line)})
		if err != nil {
			return err
		}
		if e.fn == "" {
			elements++
			err = w.Access(&trace.Access{Addr: uint64(e.at), Size: uint32(e.size), Stride: e.size, Count: 1, Stack: stack, Store: e.store})
			if err != nil {
				return err
			}
			if err := notes(e, p.notes[e.index], false); err != nil {
				return err
			}
			continue
		}
		// Alternatives of a function have other arguments.
		name := e.fn
		for _, a := range e.args {
			name += " " + a.name
		}
		fn := fns[name]
		if fn == nil {
			defs := []trace.Arg{} // nil would be those of MPI
			for _, a := range e.args {
				defs = append(defs, trace.Arg{Name: a.name, Kind: trace.ArgKind(a.kind)})
			}
			if fn, err = w.Define(e.fn, defs); err != nil {
				return err
			}
			fns[name] = fn
		}
		var args []trace.Value
		for _, a := range e.args {
			args = append(args, trace.Value{Int: a.value, List: a.list})
		}
		seq++
		if err := w.Call(&trace.Call{Fn: fn, Seq: seq, Begin: e.begin, End: e.end, Returned: true, Stack: stack, Args: args}); err != nil {
			return err
		}
	}
	if err := w.End(trace.End{Accesses: elements, Units: 1}); err != nil {
		return err
	}
	return w.Close()
}
