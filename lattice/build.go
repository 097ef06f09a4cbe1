package lattice

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/core"
)

// Places tells where a recorded stack of a process is.
type Places func(rank int, stack uint32) Place

// Region builds the lattice of one concurrent region from a replay: it is the
// replay's core.Observer.
type Region struct {
	watch
	index   int
	limit   int
	records []*record
	targets []Target
	cut     bool
	over    bool
	closing *join // the synchronization that ends the region; nil: the run ends with it
}

// NewRegion returns a builder for a region of a run of that many processes.
// targets are the accesses to be shown in it; of more than limit events the
// first are kept, in the order of the replay (0: no limit).
func NewRegion(ranks, index, limit int, targets []Target) *Region {
	if limit <= 0 {
		limit = math.MaxInt
	}
	b := &Region{index: index, limit: limit, targets: targets}
	all := make([]int, ranks)
	for r := range all {
		all[r] = r
	}
	b.watch = *newWatch(ranks, all, targets, b.take)
	b.off = true
	return b
}

// Region is that of core.Observer.
func (b *Region) Region(index int) {
	if index > b.index && !b.Done() {
		b.finishAll(0) // the loads and stores still to come are of later regions
		b.closing = b.watch.last
	}
	b.watch.Region(index)
	b.off = index != b.index || b.cut
}

func (b *Region) take(_ *line, r *record) {
	if len(b.records) == b.limit {
		b.cut, b.off = true, true
		return
	}
	b.records = append(b.records, r)
}

func (b *Region) finishAll(pos uint64) {
	b.over = true
	b.end(pos)
}

// Done reports whether nothing that is still to be replayed matters.
func (b *Region) Done() bool { return b.over || b.cut }

// Lattice returns the lattice, when the replay is over or Done.
func (b *Region) Lattice(places Places) *Lattice {
	if !b.over && !b.cut {
		b.finishAll(math.MaxUint64)
	}
	l := assemble(b.records, b.width, b.closing, b.targets, places)
	l.Truncated = b.cut
	return l
}

// Neighbourhoods builds the lattices around the accesses of findings, all from
// one replay: it is the replay's core.Observer. Each has the events that are
// at most so many away from where an access begins or is completed, on the
// lines of the processes that do so.
type Neighbourhoods struct {
	watch
	around  int
	targets [][]Target // by finding
	kept    []map[*record]bool
	focuses [][]focus   // by column, those to come, by pos
	open    [][]*window // by column
	recent  [][]*record // by column: of the last calls
	left    int         // focuses and windows that are not complete
}

// focus is a moment around which events are kept.
type focus struct {
	finding, around int
	pos             uint64
}

// window is where events that follow a focus are kept.
type window struct {
	finding, left int
	pos           uint64
}

// NewNeighbourhoods returns a builder for so many findings of a run of that
// many processes.
func NewNeighbourhoods(ranks, findings, around int, targets []Target) *Neighbourhoods {
	b := &Neighbourhoods{
		around: around, targets: make([][]Target, findings), kept: make([]map[*record]bool, findings),
	}
	for i := range b.kept {
		b.kept[i] = map[*record]bool{}
	}
	of := map[int]bool{}
	for _, t := range targets {
		b.targets[t.Finding] = append(b.targets[t.Finding], t)
		for _, p := range append([]Point{t.At, t.Done}, t.Near...) {
			of[p.Rank] = of[p.Rank] || p.Pos > 0
		}
	}
	var ranksOf []int
	for r := range ranks {
		if of[r] {
			ranksOf = append(ranksOf, r)
		}
	}
	b.watch = *newWatch(ranks, ranksOf, targets, b.take)
	b.focuses, b.open, b.recent = make([][]focus, b.width), make([][]*window, b.width), make([][]*record, b.width)
	for _, t := range targets {
		b.focus(t.Finding, t.At, around)
		b.focus(t.Finding, t.Done, around)
		for _, p := range t.Near {
			b.focus(t.Finding, p, 0)
		}
	}
	for c := range b.focuses {
		slices.SortStableFunc(b.focuses[c], func(a, b focus) int { return cmp.Compare(a.pos, b.pos) })
	}
	return b
}

func (b *Neighbourhoods) focus(finding int, p Point, around int) {
	if p.Pos > 0 {
		c := b.columns[p.Rank]
		b.focuses[c] = append(b.focuses[c], focus{finding, around, p.Pos})
		b.left++
	}
}

// take keeps an event for the findings that it is near to.
func (b *Neighbourhoods) take(l *line, r *record) {
	c := l.column
	b.follow(c, r)
	b.recent[c] = append(b.recent[c], r)
	for len(b.focuses[c]) > 0 && b.focuses[c][0].pos <= r.pos {
		f := b.focuses[c][0]
		b.focuses[c] = b.focuses[c][1:]
		b.reach(c, f)
	}
	if n := len(b.recent[c]); n > 4*b.around+4 { // a call has at most two events
		b.recent[c] = append(b.recent[c][:0], b.recent[c][n-2*b.around-2:]...)
	}
}

// follow keeps an event that follows a focus.
func (b *Neighbourhoods) follow(c int, r *record) {
	open := b.open[c][:0]
	for _, w := range b.open[c] {
		if r.pos != w.pos {
			if w.left == 0 {
				b.left--
				continue
			}
			w.left--
			w.pos = r.pos
		}
		b.kept[w.finding][r] = true
		open = append(open, w)
	}
	b.open[c] = open
}

// reach keeps the events before a focus, and those to follow.
func (b *Neighbourhoods) reach(c int, f focus) {
	recent := b.recent[c]
	first, n, pos := len(recent)-1, -1, uint64(0)
	for i := len(recent) - 1; i >= 0; i-- {
		if recent[i].pos != pos {
			n, pos = n+1, recent[i].pos
		}
		if n > f.around {
			break
		}
		first = i
	}
	for _, r := range recent[first:] {
		b.kept[f.finding][r] = true
	}
	b.open[c] = append(b.open[c], &window{f.finding, f.around, recent[len(recent)-1].pos})
}

// Done reports whether nothing that is still to be replayed matters.
func (b *Neighbourhoods) Done() bool { return b.left == 0 }

// Lattices returns the lattices by finding, when the replay is over or Done.
// Those of findings without targets are empty.
func (b *Neighbourhoods) Lattices(places Places) []*Lattice {
	b.end(math.MaxUint64)
	out := make([]*Lattice, len(b.kept))
	for i := range b.kept {
		records := slices.SortedFunc(maps.Keys(b.kept[i]), func(a, b *record) int { return cmp.Compare(a.at, b.at) })
		out[i] = assemble(records, b.width, nil, b.targets[i], places)
		for k := range out[i].Lines {
			n := &out[i].Lines[k]
			l := &b.lines[n.Rank]
			j := slices.IndexFunc(l.counts, func(c strandCount) bool { return c.strand == n.Strand })
			n.After = l.counts[j].n > lastOf(records, n)
		}
	}
	return out
}

// lastOf returns the number of the last record of a line.
func lastOf(records []*record, n *Line) int32 {
	for _, r := range slices.Backward(records) {
		if r.rank == n.Rank && r.strand == n.Strand {
			return r.nth
		}
	}
	return 0
}

var _, _ core.Observer = (*Region)(nil), (*Neighbourhoods)(nil)

// byColumn finds kept events of a line of interest by number.
type byColumn [][]*record

func columnsOf(records []*record, width int) byColumn {
	cols := make(byColumn, width)
	for _, r := range records {
		cols[r.column] = append(cols[r.column], r)
	}
	return cols
}

// last returns the index of the last kept event among the first n of a line, or -1.
func (cols byColumn) last(column int, n int32) int {
	col := cols[column]
	return sort.Search(len(col), func(i int) bool { return col[i].seq > n }) - 1
}

// upTo returns the kept events among the first n of a line that have no kept one
// of these behind them: one, or the last of each thread since the last call.
func (cols byColumn) upTo(column int, n int32) []*record {
	col := cols[column]
	i := cols.last(column, n)
	if i < 0 {
		return nil
	}
	first := i
	for first > 0 && beside(col[i], col[first-1]) {
		first--
	}
	if first == i {
		return col[i : i+1]
	}
	var out []*record
	for k := i; k >= first; k-- {
		if !slices.ContainsFunc(out, func(r *record) bool { return r.strand == col[k].strand }) {
			out = append(out, col[k])
		}
	}
	return out
}

// beside reports whether two events of one process are accesses between the same
// two calls: only those of one thread are ordered.
func beside(a, b *record) bool { return a.kind == Memory && b.kind == Memory && a.gap == b.gap }

// before reports whether event a happens before another event b.
func before(a, b *record) bool {
	switch {
	case a.column != b.column:
		return b.knows[a.column] >= a.seq
	case beside(a, b) && a.strand != b.strand:
		return false
	}
	return a.seq < b.seq
}
