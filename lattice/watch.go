package lattice

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Point names an event: the number of an event in the trace of a process.
type Point struct {
	Rank int
	Pos  uint64 // from 1; 0: no event
}

// Target is an access of a finding that a lattice is to show.
type Target struct {
	Finding int    // index in the caller's list
	Side    int    // 1 or 2
	Letter  string // "A" or "B"
	At      Point
	Done    Point // the call that completes it; Pos 0: it is instantaneous, or nothing does
	Near    []Point
	Strand  uint32
	Name    string // "MPI_Put", "load"
	Place   Place  // of a load or store: where it is
	Memory  bool   // a load or store; otherwise a call's access
	Returns bool   // of a call: it is made when the call returns, as that to a receive buffer
}

// watch is the half of a Builder that watches a replay and keeps events.
// It is a core.Observer for one replay, by a Machine for the same processes.
//
// What is known of a process at any moment is how many events of each line of
// interest happened before it: so order among the kept events is known,
// whatever is left out. A process that learns nothing new shares what it knew
// with its events and signals.
type watch struct {
	columns []int // by rank: the column of a line of interest, or -1
	width   int
	lines   []line // by rank
	at      int    // events and joins so far
	region  int
	off     bool  // nothing is to be kept (any more)
	last    *join // that a process has come to

	keep func(*line, *record) // told of each event of a line of interest
}

// line is what is known of one process.
type line struct {
	rank    int
	column  int     // -1: of no interest
	knows   []int32 // by column: events of others that happened before; never changed, but replaced
	seq     int32   // its events so far
	calls   int32   // its calls so far
	call    *record // the call under way
	begun   bool    // it has an event
	first   *record // that event, if it may be but the first part of the call
	waits   bool    // it has waited for something since its last event
	from    []source
	joins   []*join
	note    record    // without a kind: there is none; its own that comes after others by a value
	found   *Found    // what it waits for has left that
	targets []*Target // loads and stores to come, by Pos
	counts  []strandCount
}

type strandCount struct {
	strand uint32
	n      int32
}

// source is an event that a signal came from.
type source struct {
	column int
	seq    int32
	pos    uint64
	found  *Found // that it has left
}

// record is one event.
type record struct {
	at     int
	rank   int
	column int
	seq    int32   // on its process, from 1
	knows  []int32 // events of others before it
	from   []source
	joins  []*join
	gap    int32 // calls of the process before it
	nth    int32 // on its thread, from 1; both parts of a call have the same
	strand uint32
	stack  uint32 // of a call
	place  *Place // of a load or store
	pos    uint64
	kind   Kind
	order  core.OrderKind // of what it signals
	part   Part
	name   string
	epoch  string
	window int64
	target int
	region int
}

// join is a collective call whose members have come together.
type join struct {
	at     int
	from   []source // the members of interest
	knows  []int32
	name   string
	region int
}

// mark is what signals carry.
type mark struct {
	knows []int32
	source
}

var _ core.ValueObserver = (*watch)(nil)

// newWatch watches the processes of a run, and keeps events of some.
func newWatch(ranks int, of []int, targets []Target, keep func(*line, *record)) *watch {
	w := &watch{columns: make([]int, ranks), width: len(of), lines: make([]line, ranks), keep: keep}
	for r := range w.columns {
		w.columns[r] = -1
	}
	for i, r := range of {
		w.columns[r] = i
	}
	nothing := make([]int32, w.width)
	for r := range w.lines {
		w.lines[r] = line{rank: r, column: w.columns[r], knows: nothing}
	}
	for i := range targets {
		if t := &targets[i]; t.Memory && t.At.Pos > 0 {
			l := &w.lines[t.At.Rank]
			l.targets = append(l.targets, t)
		}
	}
	for r := range w.lines {
		slices.SortStableFunc(w.lines[r].targets, func(a, b *Target) int { return cmp.Compare(a.At.Pos, b.At.Pos) })
	}
	return w
}

var kinds = map[core.CallKind]Kind{
	core.OtherCall: Local, core.OperationCall: Operation, core.SynchronizingCall: Synchronization,
}

// Call is that of core.Observer.
func (w *watch) Call(c *core.ObservedCall) {
	l := &w.lines[c.Rank]
	w.finish(l)
	w.loads(l, c.Pos)
	l.note, l.found = record{}, nil
	if w.off || l.column < 0 {
		return
	}
	if c.Kind == core.NoteCall {
		l.note = record{strand: c.Thread, pos: c.Pos, target: -1, gap: l.calls}
		return
	}
	l.calls++
	l.call = &record{
		strand: c.Thread, stack: c.Call.Stack, pos: c.Pos, kind: kinds[c.Kind], order: c.Order, name: c.Call.Fn.Name,
		epoch: string(c.Mode), window: c.Object, target: int(c.Target), nth: l.count(c.Thread), gap: l.calls,
	}
	l.begun, l.waits, l.first = false, false, nil
}

// count numbers the next event of a thread.
func (l *line) count(strand uint32) int32 {
	i := slices.IndexFunc(l.counts, func(c strandCount) bool { return c.strand == strand })
	if i < 0 {
		i = len(l.counts)
		l.counts = append(l.counts, strandCount{strand: strand})
	}
	l.counts[i].n++
	return l.counts[i].n
}

// finish makes an event of the call under way, unless it has one.
func (w *watch) finish(l *line) {
	if l.call != nil && !l.begun {
		w.event(l, *l.call)
	}
	l.call = nil
}

// loads makes events of the wanted loads and stores before a moment.
func (w *watch) loads(l *line, pos uint64) {
	for len(l.targets) > 0 && l.targets[0].At.Pos < pos {
		t := l.targets[0]
		l.targets = l.targets[1:]
		if w.off || l.column < 0 {
			continue
		}
		w.event(l, record{
			strand: t.Strand, place: &t.Place, pos: t.At.Pos, kind: Memory, name: t.Name, target: -1,
			nth: l.count(t.Strand), gap: l.calls,
		})
		for len(l.targets) > 0 && l.targets[0].At.Pos == t.At.Pos {
			l.targets = l.targets[1:]
		}
	}
}

// event adds an event to a line of interest.
func (w *watch) event(l *line, r record) *record {
	if w.off || l.column < 0 {
		return nil
	}
	l.seq++
	w.at++
	r.at, r.rank, r.column, r.seq, r.knows, r.region = w.at, l.rank, l.column, l.seq, l.knows, w.region
	r.from, r.joins = l.from, l.joins
	l.from, l.joins, l.waits = nil, nil, false
	w.keep(l, &r)
	return &r
}

// begin makes an event of what comes of the call under way before it waits.
func (w *watch) begin(l *line) {
	if l.call != nil && !l.begun {
		l.begun = true
		if l.call.kind == Local {
			l.call.kind = Synchronization
		}
		r := *l.call
		r.part = Begin
		l.first = w.event(l, r)
	}
}

// source names the last event of a line, which is of the call under way.
func (l *line) source() source {
	s := source{column: l.column, seq: l.seq}
	if l.call != nil {
		s.pos = l.call.pos
	}
	return s
}

// Signal is that of core.Observer.
func (w *watch) Signal(rank int32) core.Mark {
	l := &w.lines[rank]
	w.begin(l)
	return &mark{l.knows, l.source()}
}

// Meet is that of core.Observer.
func (w *watch) Meet(met core.Mark, rank int32) core.Mark {
	l := &w.lines[rank]
	w.begin(l)
	j, ok := met.(*join)
	if !ok {
		j = &join{}
	}
	w.last = j
	if w.off {
		return j
	}
	if j.knows == nil {
		j.knows = make([]int32, w.width)
	}
	if l.call != nil {
		j.name = l.call.name
	}
	w.at++
	j.at, j.region = w.at, w.region
	for i, n := range l.knows {
		j.knows[i] = max(j.knows[i], n)
	}
	if l.column >= 0 {
		j.knows[l.column] = l.seq
		j.from = append(j.from, l.source())
	}
	return j
}

// Wait is that of core.Observer.
func (w *watch) Wait(rank int32, on core.Mark) {
	l := &w.lines[rank]
	l.waits = true
	if w.off {
		return
	}
	switch m := on.(type) {
	case *mark:
		l.learn(m.knows, m.source)
		if l.column >= 0 && m.column >= 0 && m.column != l.column {
			from := m.source
			from.found = l.found
			l.from = append(l.from, from)
		}
	case *join:
		l.learn(m.knows, source{column: -1})
		if l.column >= 0 {
			l.joins = append(l.joins, m)
		}
	}
}

// Found is that of core.ValueObserver.
func (w *watch) Found(v *core.ObservedValue) {
	l := &w.lines[v.Rank]
	l.found = nil
	if w.off || l.column < 0 || !v.Value.Known {
		return
	}
	x := &Found{Value: v.Value.Bits, Rank: int(v.Word.Owner), Offset: v.Word.Addr, Bytes: v.Word.Bytes}
	if bits := 64 - 8*v.Word.Bytes; v.Word.Bytes < 8 {
		x.Value = x.Value << bits >> bits
	}
	if o := v.Exposed.Object; o != nil {
		x.Object, x.Offset = fmt.Sprintf("%s %d", o.Kind, o.Number), v.Word.Addr-v.Exposed.Base
	}
	l.found = x
	if l.note.pos > 0 {
		l.note.kind, l.note.stack, l.note.name = Read, v.Stack, fmt.Sprintf("%s finds %d", v.Fn, x.Value)
	}
}

// learn takes over what somebody else knows, and an event of it.
func (l *line) learn(knows []int32, s source) {
	news := s.column >= 0 && s.column != l.column && s.seq > l.knows[s.column]
	for i, n := range knows {
		if news {
			break
		}
		news = n > l.knows[i] && i != l.column
	}
	if !news {
		return
	}
	all := slices.Clone(l.knows)
	for i, n := range knows {
		all[i] = max(all[i], n)
	}
	if s.column >= 0 {
		all[s.column] = max(all[s.column], s.seq)
	}
	l.knows = all
}

// Over is that of core.Observer.
func (w *watch) Over(rank int32) {
	l := &w.lines[rank]
	if !l.waits && l.first != nil {
		l.first.part = Whole // it has signalled, and waits for nothing
	}
	if l.note.kind != "" && l.waits {
		l.calls++
		l.note.nth = l.count(l.note.strand)
		w.event(l, l.note)
		l.note = record{}
	}
	l.found = nil
	if l.call == nil || !l.waits {
		return
	}
	if l.call.kind == Local {
		l.call.kind = Synchronization
	}
	r := *l.call
	if l.begun {
		r.part = Return
	}
	l.begun, l.first = true, nil
	w.event(l, r)
}

// Interval is that of core.Observer.
func (w *watch) Interval(*core.ObservedInterval) {}

// Region is that of core.Observer.
func (w *watch) Region(index int) { w.region = index }

// end makes events of what the replay left under way, and of the wanted loads and
// stores before a moment.
func (w *watch) end(pos uint64) {
	for r := range w.lines {
		l := &w.lines[r]
		if l.call != nil && !l.begun && !l.waits {
			w.event(l, *l.call)
		}
		l.call = nil
		w.loads(l, pos)
	}
}
