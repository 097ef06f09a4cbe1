package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
)

// WindowMap tells which processes touched which bytes of a window in the run.
type WindowMap struct {
	Run    int   // index of the run, of a result of several
	Window int64 // identifier
	Number int   // 1 for the first window of the run
	Name   string
	Parts  []PartMap // by owner
	// Others is the number of processes whose part was touched and is left out.
	Others int
}

// PartMap is the part of a window that one process has.
type PartMap struct {
	Owner int // world rank
	// Cell is how many bytes are told apart, a power of two: of a cell of which
	// one byte was touched, all count as touched.
	Cell   uint64
	Tracks []Track // the owner's first, then by rank and kind
}

// Track is what one process touched in one way.
type Track struct {
	Rank int // world rank; OtherRanks: several that are not told apart
	Kind regions.Kind
	Runs []Bytes // ascending
}

// OtherRanks is the rank of a track of several processes.
const OtherRanks = -1

// Bytes are bytes [Lo, Hi) of a part of a window, as offsets; addresses in a
// dynamic window.
type Bytes struct{ Lo, Hi uint64 }

// What the maps are bounded by. Findings come first, whatever they are about.
const (
	mapWindows = 64   // windows with a map
	mapOwners  = 64   // parts of a window with a map
	mapRanks   = 16   // processes that are told apart in a part
	mapCells   = 1024 // cells that are touched in a part
	mostShift  = 63   // of the size of a cell
)

// mapBuilder makes the maps of a run's windows.
type mapBuilder struct {
	first   map[partKey]bool // parts of windows that findings are about
	ranks   map[partKey]map[int32]bool
	windows map[int64]*windowBuilder
	order   []*windowBuilder
	exposed []exposedParts // by owner, in the region that is added
	scratch regions.Scratch
}

// exposedParts are the parts of windows that a process has in one region.
type exposedParts struct {
	parts []regions.Exposed // the oldest window first
	index intervals.Index
	found []int32
}

// set takes the parts in place of those of another region.
func (x *exposedParts) set(parts []regions.Exposed) {
	x.parts = parts
	ranges := make([]intervals.Range, len(parts))
	for i := range parts {
		ranges[i] = intervals.Range{Lo: parts[i].Lo, Hi: parts[i].Hi, ID: int32(i)}
	}
	x.index.Build(ranges)
}

// overlapping returns the numbers of the parts that overlap [lo, hi), ascending.
// The slice is valid until the next call.
func (x *exposedParts) overlapping(lo, hi uint64) []int32 {
	x.found = x.found[:0]
	x.index.Overlapping(lo, hi, func(id int32) bool {
		x.found = append(x.found, id)
		return true
	})
	slices.Sort(x.found)
	return x.found
}

type partKey struct {
	window int64
	owner  int32
}

type windowBuilder struct {
	window *regions.Object
	owners map[int32]*partBuilder // nil: left out
	shown  int
}

// newMapBuilder returns a builder of maps in which the findings have their place.
func newMapBuilder(findings []conflicts.Finding) *mapBuilder {
	b := &mapBuilder{first: map[partKey]bool{}, ranks: map[partKey]map[int32]bool{}, windows: map[int64]*windowBuilder{}}
	owners := map[int64]int{}
	for i := range findings {
		f := &findings[i]
		key := partKey{f.Window, int32(f.Owner)}
		if f.Window == 0 || !f.HasBytes() {
			continue
		}
		if !b.first[key] && (owners[f.Window] == mapOwners || owners[f.Window] == 0 && len(owners) == mapWindows) {
			continue
		}
		if !b.first[key] {
			b.first[key] = true
			b.ranks[key] = map[int32]bool{}
			owners[f.Window]++
		}
		if r := b.ranks[key]; len(r)+2 <= mapRanks {
			r[int32(f.First.Rank)], r[int32(f.Second.Rank)] = true, true
		}
	}
	for window := range owners {
		b.windows[window] = nil // has a place
	}
	return b
}

// add takes the accesses of a region. The error is that of reading what did not
// fit into memory.
func (b *mapBuilder) add(r *regions.Region) (err error) {
	if b.exposed == nil {
		b.exposed = make([]exposedParts, r.Processes())
	}
	for rank := range r.Processes() {
		b.exposed[rank].set(r.ExposedParts(int32(rank)))
	}
	for line := range r.Segments {
		for stretches, old := range r.Stretches(int32(line), 0, math.MaxUint64, &b.scratch, &err) {
			for i := range stretches {
				if !old {
					b.stretch(r.Process(int32(line)), &stretches[i])
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return r.EachCall(&b.scratch, b.call)
}

// call takes what a call accesses.
func (b *mapBuilder) call(a *regions.Access) {
	if a.Old || a.Role.Class.Gone() || a.Role.Class == regions.Vouched {
		return
	}
	lo, hi := a.Layout.Bounds(a.Base)
	target := a.Role.Class == regions.Target
	exposed := &b.exposed[a.Owner]
	for _, k := range exposed.overlapping(lo, hi) {
		if p := &exposed.parts[k]; !target || p.ID == a.Call.Object {
			b.track(p, a.Owner, a.Rank, a.Kind).addLayout(p, a.Base, a.Layout)
		}
	}
}

// stretch takes loads and stores of a process in its own windows.
func (b *mapBuilder) stretch(rank int32, s *regions.Stretch) {
	exposed := &b.exposed[rank]
	for _, k := range exposed.overlapping(s.Lo, s.Hi) {
		p := &exposed.parts[k]
		for i := range s.Rows {
			r := &s.Rows[i]
			from, to := r.Within(p.Lo, p.Hi)
			if from == to {
				continue
			}
			kind := regions.Read
			if r.Store {
				kind = regions.Write
			}
			t := b.track(p, rank, rank, kind)
			for k := from; k < to; k++ {
				a := r.Access(k)
				if a.Addr >= p.Lo && a.End() <= p.Hi {
					t.add(a.Addr-p.Base, uint64(a.Size), uint64(a.Stride), a.Count)
					continue
				}
				run := intervals.Strided(0, uint64(a.Size), uint64(a.Stride), a.Count)
				t.addLayout(p, a.Addr, intervals.NewLayout([]intervals.Run{run})) // reaches over an end of the part
			}
		}
	}
}

// track returns where to add what a process touches in a part of a window; nil,
// to which nothing is added, where the part is left out.
func (b *mapBuilder) track(w *regions.Exposed, owner, rank int32, kind regions.Kind) *trackBuilder {
	window := b.window(w.Object)
	if window == nil {
		return nil
	}
	part, known := window.owners[owner]
	if !known {
		key := partKey{w.ID, owner}
		if b.first[key] || window.shown < mapOwners {
			part = &partBuilder{kept: map[int32]bool{}, tracks: map[trackKey]*trackBuilder{}}
			part.kept[owner] = true
			for r := range b.ranks[key] {
				part.kept[r] = true
			}
			if !b.first[key] {
				window.shown++
			}
		}
		window.owners[owner] = part
	}
	if part == nil {
		return nil
	}
	return part.track(rank, kind)
}

func (b *mapBuilder) window(w *regions.Object) *windowBuilder {
	window, known := b.windows[w.ID]
	if window == nil && (known || len(b.windows) < mapWindows) {
		window = &windowBuilder{window: w, owners: map[int32]*partBuilder{}}
		b.windows[w.ID] = window
		b.order = append(b.order, window)
	}
	return window
}

// maps returns the maps, the window created first in front.
func (b *mapBuilder) maps(n *namer) []WindowMap {
	slices.SortStableFunc(b.order, func(x, y *windowBuilder) int { return cmp.Compare(x.window.Number, y.window.Number) })
	var out []WindowMap
	for _, w := range b.order {
		m := WindowMap{Window: w.window.ID, Number: w.window.Number, Name: n.object(w.window)}
		for owner, p := range w.owners {
			if p == nil {
				m.Others++
			} else {
				m.Parts = append(m.Parts, p.part(owner))
			}
		}
		slices.SortFunc(m.Parts, func(a, b PartMap) int { return cmp.Compare(a.Owner, b.Owner) })
		out = append(out, m)
	}
	return out
}

// partBuilder makes the map of one process's part of a window.
type partBuilder struct {
	kept   map[int32]bool // processes that are told apart
	shift  uint           // a cell has 1<<shift bytes
	all    cells          // touched by anybody
	tracks map[trackKey]*trackBuilder
}

type trackKey struct {
	rank int32
	kind regions.Kind
}

type trackBuilder struct {
	part  *partBuilder
	cells cells
}

func (p *partBuilder) track(rank int32, kind regions.Kind) *trackBuilder {
	if !p.kept[rank] {
		if len(p.kept) < mapRanks {
			p.kept[rank] = true
		} else {
			rank = OtherRanks
		}
	}
	key := trackKey{rank, kind}
	t := p.tracks[key]
	if t == nil {
		t = &trackBuilder{part: p}
		p.tracks[key] = t
	}
	return t
}

// addLayout adds what the layout at a base address has in a part of a window.
func (t *trackBuilder) addLayout(p *regions.Exposed, base uint64, l *intervals.Layout) {
	for _, run := range l.Within(base, p.Lo, p.Hi).Runs() {
		t.add(base+run.Lo-p.Base, run.Size, run.Stride, run.Count)
	}
}

// add takes count blocks of size bytes from offset lo on, stride apart.
func (t *trackBuilder) add(lo, size, stride, count uint64) {
	if t == nil {
		return
	}
	p := t.part
	if count > 1 && stride > size {
		for count > mapCells && stride-size >= 1<<p.shift && p.shift < mostShift {
			p.coarsen()
		}
		if stride-size >= 1<<p.shift {
			for n := range count {
				t.addSolid(lo+n*stride, lo+n*stride+size)
			}
			return
		}
	}
	if count > 1 { // no cell lies between two blocks
		size += stride * (count - 1)
	}
	t.addSolid(lo, lo+size)
}

func (t *trackBuilder) addSolid(lo, hi uint64) {
	p := t.part
	first, last := lo>>p.shift, (hi-1)>>p.shift
	if t.cells.has(first, last) {
		return
	}
	for last-first >= mapCells {
		p.coarsen()
		first, last = lo>>p.shift, (hi-1)>>p.shift
	}
	t.cells.add(first, last)
	p.all.add(first, last)
	for p.all.count() > mapCells {
		p.coarsen()
	}
}

// coarsen makes cells twice as large.
func (p *partBuilder) coarsen() {
	p.shift++
	p.all.halve()
	for _, t := range p.tracks {
		t.cells.halve()
	}
}

func (p *partBuilder) part(owner int32) PartMap {
	m := PartMap{Owner: int(owner), Cell: 1 << p.shift}
	for key, t := range p.tracks {
		track := Track{Rank: int(key.rank), Kind: key.kind}
		for _, c := range t.cells {
			track.Runs = append(track.Runs, Bytes{c.first << p.shift, (c.last + 1) << p.shift})
		}
		m.Tracks = append(m.Tracks, track)
	}
	place := func(rank int) int { // the owner first, several last
		switch rank {
		case m.Owner:
			return -1
		case OtherRanks:
			return 1
		}
		return 0
	}
	slices.SortFunc(m.Tracks, func(a, b Track) int {
		return cmp.Or(cmp.Compare(place(a.Rank), place(b.Rank)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Kind, b.Kind))
	})
	return m
}

// cells is a set of cells: runs of them, ascending, that do not touch.
type cells []cellRun

// cellRun is the cells from first to last, both included.
type cellRun struct{ first, last uint64 }

// at returns the index of the first run that ends at or behind a cell.
func (c cells) at(cell uint64) int {
	i, _ := slices.BinarySearchFunc(c, cell, func(r cellRun, cell uint64) int { return cmp.Compare(r.last, cell) })
	return i
}

func (c cells) has(first, last uint64) bool {
	i := c.at(first)
	return i < len(c) && c[i].first <= first && last <= c[i].last
}

func (c cells) count() uint64 {
	n := uint64(0)
	for _, r := range c {
		n += r.last - r.first + 1
	}
	return n
}

func (c *cells) add(first, last uint64) {
	i := c.at(first)
	if i > 0 && (*c)[i-1].last+1 == first {
		i--
	}
	j := i
	for j < len(*c) && (*c)[j].first <= last+1 {
		first, last = min(first, (*c)[j].first), max(last, (*c)[j].last)
		j++
	}
	*c = slices.Replace(*c, i, j, cellRun{first, last})
}

// halve makes each two cells one.
func (c *cells) halve() {
	out := (*c)[:0]
	for _, r := range *c {
		first, last := r.first>>1, r.last>>1
		if n := len(out); n > 0 && first <= out[n-1].last+1 {
			out[n-1].last = last
		} else {
			out = append(out, cellRun{first, last})
		}
	}
	*c = out
}
