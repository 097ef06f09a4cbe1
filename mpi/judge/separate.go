package judge

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/regions"
)

// Under the separate memory model (MPI 4.1, 12.4) a process loads and stores in
// a private copy of its window memory, and operations of others work on a
// public copy. A store is in the public copy, and an update of the public copy
// in the private one, only after a call of the owner that makes it so (12.7,
// rules 5 and 6); until then the other copy must not be accessed at that place,
// and after an update of one copy none of the other must be made anywhere in
// the window (12.7: "even if they access disjoint locations in the window").
//
// So to an operation on the window a local access seems longer than it is: a
// store lasts until the call that publishes it, and an access meets all
// updates since the call that last refreshed the private copy. Stretched in this
// way, local accesses are compared with operations like any others.

// copiesChecker looks for what the separate memory model forbids beyond the
// unified one. Regions come in their order: what no call has made visible is
// carried from one to the next.
type copiesChecker struct {
	mine    regions.Part // of the memory; a window at a process is one piece
	out     *conflicts.Collector
	lanes   *conflicts.Lanes // of operations
	scratch regions.Scratch
	kept    map[partKey]*kept
}

// partKey names the part of a window at one process.
type partKey struct {
	win   int64
	owner int32
}

func newCopiesChecker(mine regions.Part, out *conflicts.Collector) *copiesChecker {
	return &copiesChecker{mine: mine, out: out, lanes: conflicts.NewLanes(), kept: map[partKey]*kept{}}
}

// check searches a region. It costs nothing where all windows are unified.
func (c *copiesChecker) check(r *regions.Region) error {
	copies := copiesOf(r)
	if len(copies) == 0 {
		clear(c.kept)
		return nil
	}
	parts := make(map[partKey]*part, len(copies))
	for i := range copies {
		if !c.mine.HasProcess(copies[i].Owner) {
			continue
		}
		p := newPart(r, &copies[i])
		parts[p.key()] = p
		if c.kept[p.key()] == nil {
			c.kept[p.key()] = newKept()
		}
	}
	locals := map[int32][]*regions.Access{}
	calls, err := r.AllCalls(&c.scratch)
	if err != nil {
		return err
	}
	for _, a := range slices.Concat(append(slices.Clone(r.Carried), calls)...) {
		switch {
		case a.Role.Class == regions.Target:
			if p := parts[partKey{a.Call.Object, a.Owner}]; p != nil {
				p.operations = append(p.operations, a)
			}
		case a.Rank == a.Owner && a.Role.Class != regions.Vouched:
			locals[a.Rank] = append(locals[a.Rank], a)
		}
	}
	for key, p := range parts {
		if err := c.part(p, c.kept[key], locals[key.owner]); err != nil {
			return err
		}
	}
	for key := range c.kept {
		if parts[key] == nil {
			delete(c.kept, key)
		}
	}
	return nil
}

// copiesOf returns the windows of the separate memory model in a region.
func copiesOf(r *regions.Region) []mpi.Copies {
	for _, kept := range r.ForChecks {
		if copies, ok := kept.([]mpi.Copies); ok {
			return copies
		}
	}
	return nil
}

func (c *copiesChecker) part(p *part, k *kept, calls []*regions.Access) error {
	p.lanes = c.lanes.Sort(p.operations)
	p.cutAtOwnOperations()
	if p.quiet = len(p.lanes) == 0 && len(k.unseen) == 0; p.quiet && len(p.publishes) > 0 {
		p.from = p.publishes[len(p.publishes)-1].Pos
	}
	if err := p.addLocals(&c.scratch); err != nil {
		return err
	}
	for _, a := range calls {
		p.addCall(a)
	}
	for _, g := range p.groups {
		g.build()
		for _, l := range p.lanes {
			c.compare(p, g, l)
		}
	}
	k.compare(c.out, p)
	k.update(p)
	return nil
}

// part is the part of a window at one process in one region, and who accesses it.
type part struct {
	r          *regions.Region
	c          *mpi.Copies
	memory     intervals.Index // of c.Memory
	operations []*regions.Access
	lanes      []*conflicts.Lane // of operations
	refreshes  []regions.Point
	publishes  []regions.Point
	cuts       []uint64 // where operations of the owner itself start and complete
	quiet      bool     // nobody has operated on it: only what it leaves to the next region matters
	from       uint64   // local accesses up to that event do not matter
	groups     []*group
	byKey      map[eraKey]*group
}

func newPart(r *regions.Region, c *mpi.Copies) *part {
	p := &part{r: r, c: c, byKey: map[eraKey]*group{}}
	memory := make([]intervals.Range, len(c.Memory))
	for i, x := range c.Memory {
		memory[i] = intervals.Range{Lo: x.Lo, Hi: x.Hi, ID: int32(i)}
	}
	p.memory.Build(memory)
	for _, s := range c.Syncs {
		if s.Publishes {
			p.publishes = append(p.publishes, s.At)
		}
		if s.Refreshes {
			p.refreshes = append(p.refreshes, s.At)
		}
	}
	return p
}

func (p *part) key() partKey { return partKey{p.c.Window, p.c.Owner} }

// refreshed returns when the private copy was last refreshed before a moment.
func (p *part) refreshed(at regions.Point) regions.Point {
	if n := p.refreshesBefore(at.Pos); at.Within() && n > 0 {
		return p.refreshes[n-1]
	}
	return regions.BeforeRegion(p.c.Owner)
}

func (p *part) refreshesBefore(pos uint64) int {
	return sort.Search(len(p.refreshes), func(i int) bool { return p.refreshes[i].Pos > pos })
}

// published returns when what is stored at a moment is in the public copy.
func (p *part) published(at regions.Point) regions.Point {
	if n := p.publishesBefore(at.Pos); at.Within() && n < len(p.publishes) {
		return p.publishes[n]
	}
	return regions.AfterRegion(p.c.Owner)
}

func (p *part) publishesBefore(pos uint64) int {
	return sort.Search(len(p.publishes), func(i int) bool { return p.publishes[i].Pos >= pos })
}

// cutAtOwnOperations notes where the owner's operations on its own part begin
// and end: to these the moment of a load or store matters, not only its
// separate region.
func (p *part) cutAtOwnOperations() {
	for _, a := range p.operations {
		for _, at := range []regions.Point{a.Start, a.End} {
			if p.r.Process(at.Line) == p.c.Owner && at.Within() {
				p.cuts = append(p.cuts, at.Pos)
			}
		}
	}
	slices.Sort(p.cuts)
	p.cuts = slices.Compact(p.cuts)
}

// group is local accesses of one source place that no operation can tell apart
// by their time.
type group struct {
	regions.Access // the first, with the bytes of all
	runs           []intervals.Run
	refreshed      regions.Point
	published      regions.Point
}

type eraKey struct {
	stack     uint32
	store     bool
	line, seg int32
	refreshes int
	publishes int
	cuts      int
}

func (g *group) build() {
	g.Base, g.Layout = 0, union(g.runs)
}

func (g *group) stores() bool { return g.Kind == regions.Write }

// addLocals groups the owner's loads and stores in the part.
func (p *part) addLocals(scratch *regions.Scratch) (err error) {
	if len(p.c.Memory) == 0 {
		return nil
	}
	lo, hi := p.bounds()
	for line := range p.r.Lines(p.c.Owner) {
		for stretches := range p.r.Stretches(line, lo, hi, scratch, &err) {
			for k := range stretches {
				if s := &stretches[k]; s.Lo < hi && lo < s.Hi && !(p.quiet && !s.Stores) {
					p.addStretch(line, s, lo, hi)
				}
			}
		}
	}
	return err
}

// addStretch groups those loads and stores of a stretch that may lie in the part.
func (p *part) addStretch(line int32, s *regions.Stretch, lo, hi uint64) {
	for i := range s.Rows {
		from, to := s.Rows[i].Within(lo, hi)
		for k := from; k < to; k++ {
			p.addLocal(line, s, i, k)
		}
	}
}

// bounds returns a range of addresses that holds all memory of the part, of which
// there is some.
func (p *part) bounds() (lo, hi uint64) {
	lo = math.MaxUint64
	for _, x := range p.c.Memory {
		lo, hi = min(lo, x.Lo), max(hi, x.Hi)
	}
	return lo, hi
}

// addLocal adds access k of row i of a stretch to its group.
func (p *part) addLocal(line int32, s *regions.Stretch, i, k int) {
	l, pos := s.Rows[i].Access(k), s.PosOf(i, k)
	if pos <= p.from || p.quiet && !l.Store {
		return
	}
	runs := p.within(pos, pos, intervals.Strided(l.Addr, uint64(l.Size), uint64(l.Stride), l.Count))
	if len(runs) == 0 {
		return
	}
	cut, _ := slices.BinarySearch(p.cuts, pos)
	key := eraKey{l.Stack, l.Store, line, s.Seg, p.refreshesBefore(pos), p.publishesBefore(pos), cut}
	g := p.byKey[key]
	if g == nil {
		g = p.newGroup(p.r.LocalAccess(line, s, i, k))
		p.byKey[key] = g
	}
	g.runs = append(g.runs, runs...)
}

// addCall adds a local access that a call makes.
func (p *part) addCall(a *regions.Access) {
	from, to := a.Start.Pos, a.End.Pos
	if !a.Start.Within() {
		from = 0
	}
	if !a.End.Within() {
		to = math.MaxUint64
	}
	var runs []intervals.Run
	for _, run := range a.Layout.Runs() {
		runs = append(runs, p.within(from, to, run.Shift(a.Base))...)
	}
	if len(runs) > 0 {
		p.newGroup(a).runs = runs
	}
}

func (p *part) newGroup(a *regions.Access) *group {
	g := &group{Access: *a, refreshed: p.refreshed(a.Start), published: p.published(a.End)}
	p.groups = append(p.groups, g)
	return g
}

// within returns what a run has in the part's memory between two events of the
// owner.
func (p *part) within(from, to uint64, run intervals.Run) []intervals.Run {
	var out []intervals.Run
	p.memory.Overlapping(run.Lo, run.Hi(), func(id int32) bool {
		x := &p.c.Memory[id]
		if x.From >= to || from >= x.To {
			return true
		}
		if run.Lo >= x.Lo && run.Hi() <= x.Hi {
			out = []intervals.Run{run}
			return false
		}
		out = append(out, intervals.NewLayout([]intervals.Run{run}).Within(0, x.Lo, x.Hi).Runs()...)
		return true
	})
	return out
}

// compare holds local accesses against operations on the part. Pairs that
// share bytes and are concurrent in any memory model are left to the search
// for those.
func (c *copiesChecker) compare(p *part, g *group, l *conflicts.Lane) {
	op := l.First()
	updates := writes(op.Kind)
	if !updates && !g.stores() || p.excluded(g.Locks, op) || inLaterRegion(op) {
		return
	}
	if !(updates && g.stores()) && apart(g, l) {
		return // they share no bytes
	}
	stretched := g.Access
	if updates {
		stretched.Start = g.refreshed
	}
	if g.stores() {
		stretched.End = g.published
	}
	from, to := l.Concurrent(p.r, &stretched, 0)
	if from == to {
		return
	}
	lo, hi, meet := intervals.MeetLayouts(0, g.Layout, op.Base, op.Layout)
	switch {
	case meet:
		first, last := l.Concurrent(p.r, &g.Access, 0)
		if first == last {
			first, last = to, to
		}
		add(c.out, p.r, &g.Access, l.Accesses()[from:first], lo, hi, conflicts.RuleCopies)
		add(c.out, p.r, &g.Access, l.Accesses()[last:to], lo, hi, conflicts.RuleCopies)
	case updates && g.stores():
		lo, hi = firstBlock(op)
		add(c.out, p.r, &g.Access, l.Accesses()[from:to], lo, hi, conflicts.RuleCopyUpdates)
	}
}

// apart reports whether the bounds of local accesses and of operations share no
// bytes.
func apart(g *group, l *conflicts.Lane) bool {
	lo, hi := g.Layout.Bounds(0)
	from, to := l.Bounds()
	return lo >= to || from >= hi
}

// writes reports whether accesses of a kind change memory.
func writes(k regions.Kind) bool { return k == regions.Write || k == regions.AtomicWrite }

// union returns the bytes of some runs, which it sorts.
func union(runs []intervals.Run) *intervals.Layout {
	slices.SortFunc(runs, func(a, b intervals.Run) int {
		return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Stride, b.Stride), cmp.Compare(a.Count, b.Count))
	})
	return intervals.NewLayout(slices.Compact(runs))
}

// excluded reports whether locks keep a local access and an operation apart.
func (p *part) excluded(locks *regions.LockSet, op *regions.Access) bool {
	return op.Rank != p.c.Owner && regions.Exclude(locks, op.Locks)
}

// inLaterRegion reports whether an operation accesses its target only after a
// fence there that has yet to come, and that publishes what is stored before it.
func inLaterRegion(op *regions.Access) bool { return op.Gated && !op.Gate.Within() }

// firstBlock returns the first bytes of an access.
func firstBlock(a *regions.Access) (lo, hi uint64) {
	run := a.Layout.Runs()[0].Shift(a.Base)
	return run.Lo, run.Lo + run.Size
}

// add collects the pairs of an access with each of some others.
func add(out *conflicts.Collector, r *regions.Region, a *regions.Access, others []*regions.Access, lo, hi uint64, rule string) {
	if len(others) > 0 {
		out.Add(conflicts.NewPair(r, a, others[0], lo, hi, rule), uint64(len(others)))
	}
}
