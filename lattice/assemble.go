package lattice

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// assembly makes a lattice of the events that were kept.
type assembly struct {
	records []*record // by at
	cols    byColumn
	joins   []*join // those that are shown, by at
	shown   map[*join]bool
	leading map[*join][]*record // what leads to those directly
	index   map[*record]int     // in Lattice.Events
	joinAt  map[*join]int
	out     *Lattice
}

// assemble makes a lattice of events in the order in which they were observed.
// Its time grows with the events, with the processes that each learns of, and
// with the square of what one depends on directly. closing is shown though
// nobody waits for it.
func assemble(records []*record, width int, closing *join, targets []Target, places Places) *Lattice {
	a := &assembly{
		records: records, cols: columnsOf(records, width), shown: map[*join]bool{}, leading: map[*join][]*record{}, index: map[*record]int{}, joinAt: map[*join]int{},
		out: &Lattice{Lines: []Line{}, Events: []Event{}, Edges: []Edge{}, Accesses: []Access{}},
	}
	a.chooseJoins(closing)
	a.whole()
	a.events(places)
	a.edges()
	a.layers()
	a.accesses(targets)
	return a.out
}

// chooseJoins finds the joins that save edges: from several lines to several
// events. The others are shown as the edges that they stand for.
func (a *assembly) chooseJoins(closing *join) {
	waits := map[*join]int{}
	if closing != nil {
		waits[closing] = 1
	}
	add := func(j *join) {
		if waits[j]++; waits[j] == 2 && len(a.sources(j)) > 1 {
			a.shown[j] = true
			a.joins = append(a.joins, j)
		}
	}
	for _, r := range a.records {
		for _, j := range r.joins {
			add(j)
		}
	}
	if closing != nil {
		add(closing)
	}
	slices.SortFunc(a.joins, func(x, y *join) int { return cmp.Compare(x.at, y.at) })
}

// sources returns the kept events that lead to a join directly.
func (a *assembly) sources(j *join) []*record {
	var all []*record
	for m, n := range j.knows {
		if n > 0 {
			all = append(all, a.cols.upTo(m, n)...)
		}
	}
	return direct(all)
}

// direct leaves out those of a list that come before others of it.
func direct(all []*record) []*record {
	var out []*record
	for _, r := range all {
		if !slices.ContainsFunc(all, func(s *record) bool { return s != r && before(r, s) }) {
			out = append(out, r)
		}
	}
	return out
}

// whole makes one event of the two parts of a call where they need not be told
// apart: nobody comes after the first alone, or the second after nobody else.
func (a *assembly) whole() {
	seen := a.seenAlone()
	begun := make([]*record, len(a.cols)) // the first part of a line's call under way
	drop, merge := map[*record]bool{}, map[*record]*record{}
	for _, r := range a.records {
		b := begun[r.column]
		begun[r.column] = nil
		switch {
		case r.part == Begin:
			begun[r.column] = r
		case r.part != Return || b == nil || b.pos != r.pos:
		case !seen[b]:
			drop[b], merge[r] = true, b
		case !a.gains(b, r):
			drop[r], merge[b] = true, r
		}
	}
	kept := make([]*record, 0, len(a.records))
	for _, r := range a.records {
		if other := merge[r]; other != nil {
			one := *r
			one.part = Whole
			one.from = slices.Concat(r.from, other.from)
			one.joins = slices.Concat(r.joins, other.joins)
			r = &one
		}
		if !drop[r] {
			kept = append(kept, r)
		}
	}
	a.records, a.cols = kept, columnsOf(kept, len(a.cols))
}

// seenAlone returns the first parts of calls that somebody comes after who does
// not come after the second.
func (a *assembly) seenAlone() map[*record]bool {
	seen := map[*record]bool{}
	look := func(knows, known []int32, own int) {
		if len(known) > 0 && &knows[0] == &known[0] {
			return
		}
		for m, n := range knows {
			if m == own || known != nil && known[m] == n {
				continue
			}
			for _, r := range a.cols.upTo(m, n) {
				if r.part == Begin {
					seen[r] = true
				}
			}
		}
	}
	last := make([][]int32, len(a.cols))
	for _, r := range a.records {
		look(r.knows, last[r.column], r.column)
		last[r.column] = r.knows
	}
	for _, j := range a.joins {
		look(j.knows, nil, -1)
	}
	return seen
}

// gains reports whether the second part of a call comes after kept events that
// the first does not come after.
func (a *assembly) gains(b, r *record) bool {
	if slices.ContainsFunc(r.joins, func(j *join) bool { return a.shown[j] }) {
		return true
	}
	for m, n := range r.knows {
		if m != r.column && n > b.knows[m] {
			for _, c := range a.cols.upTo(m, n) {
				if c.seq > b.knows[m] {
					return true
				}
			}
		}
	}
	return false
}

// seatKey names a line.
type seatKey struct {
	rank   int
	strand uint32
}

// events lays out lines and events.
func (a *assembly) events(places Places) {
	seats := map[seatKey]int{}
	var keys []seatKey
	for _, r := range a.records {
		k := seatKey{r.rank, r.strand}
		if _, ok := seats[k]; !ok {
			seats[k] = 0
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y seatKey) int { return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.strand, y.strand)) })
	for i, k := range keys {
		seats[k] = i
		a.out.Lines = append(a.out.Lines, Line{Rank: k.rank, Strand: k.strand})
	}
	last := make([]int32, len(keys))
	joins := a.joins
	for _, r := range a.records {
		for len(joins) > 0 && joins[0].at < r.at {
			a.addJoin(joins[0])
			joins = joins[1:]
		}
		n := seats[seatKey{r.rank, r.strand}]
		e := Event{
			Line: n, Kind: r.kind, Part: r.part, Name: r.name, Position: r.pos, Region: r.region,
			Epoch: r.epoch, Window: r.window, Target: r.target,
		}
		if r.place != nil {
			e.Place = *r.place
		} else {
			e.Place = places(r.rank, r.stack)
		}
		switch {
		case last[n] == 0:
			a.out.Lines[n].Before = r.nth > 1
		default:
			e.Gap = r.nth > last[n]+1
		}
		last[n] = r.nth
		a.index[r] = len(a.out.Events)
		a.out.Events = append(a.out.Events, e)
	}
	for _, j := range joins {
		a.addJoin(j)
	}
}

func (a *assembly) addJoin(j *join) {
	a.joinAt[j] = len(a.out.Events)
	a.out.Events = append(a.out.Events, Event{Line: NoLine, Kind: Join, Name: j.name, Region: j.region, Target: -1})
}

// edges finds the direct dependences.
func (a *assembly) edges() {
	for _, j := range a.joins {
		a.leading[j] = a.sources(j)
	}
	for _, r := range a.records {
		a.edgesTo(r)
	}
	for _, j := range a.joins {
		for _, c := range a.leading[j] {
			kind := Path
			if slices.ContainsFunc(j.from, func(s source) bool { return s.column == c.column && s.pos == c.pos }) {
				kind = Collective
			}
			a.out.Edges = append(a.out.Edges, Edge{From: a.index[c], To: a.joinAt[j], Kind: kind})
		}
	}
	sortEdges(a.out.Edges)
}

func sortEdges(edges []Edge) {
	slices.SortFunc(edges, func(x, y Edge) int { return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.From, y.From)) })
}

// edgesTo finds what an event depends on directly.
func (a *assembly) edgesTo(r *record) {
	to := a.index[r]
	own := a.cols.own(r)
	for _, p := range own {
		if p.strand != r.strand {
			a.out.Edges = append(a.out.Edges, Edge{From: a.index[p], To: to, Kind: Thread})
		}
	}
	others := a.others(r, own)
	for _, c := range others {
		edge := Edge{From: a.index[c], To: to, Kind: Path}
		is := func(s source) bool { return s.column == c.column && s.pos == c.pos }
		found := slices.IndexFunc(r.from, func(s source) bool { return is(s) && s.found != nil })
		switch {
		case found >= 0:
			edge.Kind, edge.Found = Value, r.from[found].found
		case slices.ContainsFunc(r.from, is):
			edge.Kind = edgeKinds[c.order]
		case slices.ContainsFunc(r.joins, func(j *join) bool { return slices.ContainsFunc(j.from, is) }):
			edge.Kind = Collective
		}
		a.out.Edges = append(a.out.Edges, edge)
	}
	for _, j := range r.joins {
		if !a.shown[j] {
			continue
		}
		after := func(p *record) bool { return covers(p, j) }
		implied := slices.ContainsFunc(own, after) || slices.ContainsFunc(others, after)
		for _, k := range r.joins {
			implied = implied || k != j && slices.ContainsFunc(a.leading[k], after)
		}
		if !implied {
			a.out.Edges = append(a.out.Edges, Edge{From: a.joinAt[j], To: to, Kind: Collective})
		}
	}
}

// others returns the events of other processes that an event depends on
// directly, but for those that a join stands for. own are those of its own.
func (a *assembly) others(r *record, own []*record) []*record {
	if slices.ContainsFunc(own, func(p *record) bool { return &p.knows[0] == &r.knows[0] }) {
		return nil
	}
	var all []*record
	for m, n := range r.knows {
		if m == r.column || n == 0 || slices.ContainsFunc(own, func(p *record) bool { return p.knows[m] >= n }) {
			continue
		}
		for _, c := range a.cols.upTo(m, n) {
			joined := slices.ContainsFunc(r.joins, func(j *join) bool { return a.shown[j] && j.knows[m] >= c.seq })
			if !joined && !slices.ContainsFunc(own, func(p *record) bool { return before(c, p) }) {
				all = append(all, c)
			}
		}
	}
	all = direct(all)
	return slices.DeleteFunc(all, func(c *record) bool { // what joins stand for may know of others too
		return slices.ContainsFunc(r.joins, func(j *join) bool { return a.shown[j] && j.knows[c.column] >= c.seq })
	})
}

// own returns the events of its own process that an event depends on directly.
func (cols byColumn) own(r *record) []*record {
	all := cols.upTo(r.column, r.seq-1)
	if !slices.ContainsFunc(all, func(p *record) bool { return !before(p, r) }) {
		return all
	}
	col := cols[r.column]
	for i := cols.last(r.column, r.seq-1); i >= 0; i-- {
		if before(col[i], r) {
			return col[i : i+1]
		}
	}
	return nil
}

// covers reports whether an event knows all that a join knows: it comes after it.
func covers(p *record, j *join) bool {
	for m, n := range j.knows {
		if m != p.column && p.knows[m] < n || m == p.column && p.seq < n {
			return false
		}
	}
	return true
}

// edgeKinds says what a call's signal gives.
var edgeKinds = map[core.OrderKind]EdgeKind{
	core.CollectiveOrder: Collective, core.MessageOrder: Message, core.ExposureOrder: Exposure,
	core.GrantOrder: LockOrder, core.DeclaredOrder: Declared,
}

// layers finds the longest path to each event.
func (a *assembly) layers() {
	l := a.out
	edges := l.Edges
	last := make([]int, len(l.Lines))
	for i := range last {
		last[i] = -1
	}
	for i := range l.Events {
		e := &l.Events[i]
		for len(edges) > 0 && edges[0].To == i {
			e.Layer = max(e.Layer, l.Events[edges[0].From].Layer+1)
			edges = edges[1:]
		}
		if e.Line == NoLine {
			continue
		}
		if n := last[e.Line]; n >= 0 {
			e.Layer = max(e.Layer, l.Events[n].Layer+1)
		}
		last[e.Line] = i
	}
}

// accesses finds the events of the accesses of findings.
func (a *assembly) accesses(targets []Target) {
	l := a.out
	at := map[Point][]int{}
	for i := range l.Events {
		if e := &l.Events[i]; e.Line != NoLine {
			p := Point{l.Lines[e.Line].Rank, e.Position}
			at[p] = append(at[p], i)
		}
	}
	for i := range targets {
		t := &targets[i]
		events := at[t.At]
		if len(events) == 0 {
			continue
		}
		x := Access{Finding: t.Finding, Side: t.Side, Letter: t.Letter, Event: events[0], Done: -1, Name: t.Name}
		if t.Returns {
			x.Event = events[len(events)-1]
		}
		if done := at[t.Done]; len(done) > 0 && t.Done != t.At {
			x.Done = done[0]
		}
		l.Accesses = append(l.Accesses, x)
	}
	slices.SortStableFunc(l.Accesses, func(x, y Access) int { return cmp.Or(cmp.Compare(x.Finding, y.Finding), cmp.Compare(x.Side, y.Side)) })
}
