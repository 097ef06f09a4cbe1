package timeline

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
)

var categories = map[core.CallKind]string{
	core.OtherCall: "call", core.OperationCall: "one-sided", core.SynchronizingCall: "synchronization",
}

// Call is that of core.Observer.
func (t *Writer) Call(c *core.ObservedCall) {
	rank := int(c.Rank)
	t.finish(rank)
	t.instants(rank, c.Pos)
	if c.Kind == core.NoteCall {
		return
	}
	p := &t.procs[rank]
	s := t.strand(rank, c.Thread)
	p.open = true
	p.call = slice{
		strand: c.Thread, pos: c.Pos, name: c.Call.Fn.Name, category: categories[c.Kind],
		place: t.from.Place(rank, c.Call.Stack), epoch: string(c.Mode), window: c.Number, target: c.Target,
		returned: c.Call.Returned,
	}
	if t.from.Time == nil {
		p.clock += step
		p.call.begin = p.clock
		return
	}
	// Slices of a thread must not overlap: clocks of two sources may differ a little.
	p.call.begin = max(t.from.Time(rank, c.Call.Begin), s.end)
	p.call.end = p.call.begin + 1
	if c.Call.Returned {
		p.call.end = max(p.call.end, t.from.Time(rank, c.Call.End))
	}
}

// strand finds or makes a thread.
func (t *Writer) strand(rank int, id uint32) *strand {
	p := &t.procs[rank]
	i := slices.IndexFunc(p.strands, func(s strand) bool { return s.id == id })
	if i < 0 {
		i = len(p.strands)
		p.strands = append(p.strands, strand{id: id})
		name := "main thread"
		if id > 0 {
			name = fmt.Sprintf("thread %d", id)
		}
		t.event(event{Phase: "M", Name: "thread_name", PID: rank, TID: id, Args: map[string]any{"name": name}})
	}
	return &p.strands[i]
}

// Signal is that of core.Observer.
func (t *Writer) Signal(rank int32) core.Mark {
	s := t.here(int(rank))
	return &s
}

// here is where a flow from the call under way comes from.
func (t *Writer) here(rank int) source {
	c := &t.procs[rank].call
	return source{rank: rank, strand: c.strand, at: c.begin, name: c.name}
}

// Meet is that of core.Observer.
func (t *Writer) Meet(met core.Mark, rank int32) core.Mark {
	m, ok := met.(*meeting)
	if here := t.here(int(rank)); !ok {
		m = &meeting{here}
	} else if here.at > m.last.at {
		m.last = here
	}
	return m
}

// Wait is that of core.Observer.
func (t *Writer) Wait(rank int32, on core.Mark) {
	var from source
	switch m := on.(type) {
	case *source:
		from = *m
	case *meeting:
		from = m.last
	}
	p := &t.procs[rank]
	p.clock = max(p.clock, from.at)
	if from.rank != int(rank) {
		p.arrows = append(p.arrows, arrow{from: from, early: !p.open})
	}
}

// Over is that of core.Observer.
func (t *Writer) Over(int32) {}

// Region is that of core.Observer.
func (t *Writer) Region(int) {}

// Interval is that of core.Observer.
func (t *Writer) Interval(o *core.ObservedInterval) {
	p := &t.procs[o.Rank]
	key := epochKey{o.Object.Kind, o.Object.Number, o.Target, o.Family}
	e, known := p.epochs[key]
	switch {
	case !o.Begins && known:
		delete(p.epochs, key)
	case o.Begins && !known:
		t.epochs++
		e = epoch{t.epochs, epochName(o)}
		p.epochs[key] = e
	default:
		return // a call that is wrong where it stands
	}
	p.changes = append(p.changes, change{e, p.call.strand, o.Begins})
}

func epochName(o *core.ObservedInterval) string {
	name := string(o.Mode)
	if o.Target >= 0 {
		name += fmt.Sprintf(" of rank %d", o.Target)
	}
	return fmt.Sprintf("%s, %s %d", name, o.Object.Kind, o.Object.Number)
}

// finish writes the call under way of a process, and what belongs to it.
func (t *Writer) finish(rank int) {
	p := &t.procs[rank]
	if !p.open {
		return
	}
	p.open = false
	c := &p.call
	if t.from.Time == nil {
		p.clock = max(p.clock, c.begin)
		c.end = p.clock + step*4/5
	}
	t.strand(rank, c.strand).end = c.end
	t.event(event{
		Phase: "X", Name: c.name, Category: c.category, PID: rank, TID: c.strand,
		Time: at(c.begin), Duration: at(c.end - c.begin), Args: c.args(),
	})
	for _, a := range p.arrows {
		end := c.end - 1
		if a.early {
			end = c.begin
		}
		t.flow(a.from, source{rank: rank, strand: c.strand, at: end})
	}
	p.arrows = p.arrows[:0]
	for _, x := range p.changes {
		if x.opens {
			t.epochEvent("b", rank, x.strand, x.epoch, c.begin)
		} else {
			t.epochEvent("e", rank, x.strand, x.epoch, c.end)
		}
	}
	p.changes = p.changes[:0]
	for len(p.marks) > 0 && p.marks[0].Pos <= c.pos {
		t.instant(p.marks[0], c.begin)
		p.marks = p.marks[1:]
	}
}

func (c *slice) args() map[string]any {
	args := map[string]any{"event": c.pos}
	if c.place != "" {
		args["place"] = c.place
	}
	if c.epoch != "" {
		args["epoch"] = c.epoch
	}
	if c.window != 0 {
		args["window"] = c.window
	}
	if c.target >= 0 {
		args["target"] = c.target
	}
	if !c.returned {
		args["returned"] = false
	}
	return args
}

// flow writes an arrow: both ends, so that none is without the other.
func (t *Writer) flow(from, to source) {
	t.flows++
	id := fmt.Sprintf("0x%x", t.flows)
	t.event(event{Phase: "s", Name: from.name, Category: "order", PID: from.rank, TID: from.strand, Time: at(from.at), ID: id})
	t.event(event{Phase: "f", Name: from.name, Category: "order", PID: to.rank, TID: to.strand, Time: at(to.at), ID: id, Bind: "e"})
}

// instants writes the marks of loads and stores before an event. When they
// happened is not recorded: they stand at the end of the call before.
func (t *Writer) instants(rank int, pos uint64) {
	p := &t.procs[rank]
	for len(p.marks) > 0 && p.marks[0].Pos < pos {
		m := p.marks[0]
		p.marks = p.marks[1:]
		t.strand(rank, m.Strand)
		end := Moment(0)
		for _, s := range p.strands {
			end = max(end, s.end)
		}
		t.instant(m, end)
	}
}

func (t *Writer) instant(m Mark, when Moment) {
	args := map[string]any{"finding": m.Finding, "access": m.Side, "rule": m.Rule}
	if m.Place != "" {
		args["place"] = m.Place
	}
	t.event(event{
		Phase: "i", Scope: "t", Name: fmt.Sprintf("finding %d, %s: %s", m.Finding, m.Letter, m.Name), Category: "finding",
		PID: m.Rank, TID: m.Strand, Time: at(when), Args: args,
	})
}
