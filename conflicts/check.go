package conflicts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Pair is two accesses of a region that conflict. First and Second are in an
// order that does not depend on how they were found.
type Pair struct {
	Region        *regions.Region
	First, Second *regions.Access
	Lo, Hi        uint64 // addresses of the owner that both access; half-open
	Rule          string
}

// Checker searches regions for conflicts with several workers. Large regions
// are searched by the process whose memory it is, small ones several at a time.
type Checker struct {
	ctx        context.Context         // of the search: done when the caller's is, or the search failed
	fail       context.CancelCauseFunc // of ctx, with the error
	part       regions.Part
	work       chan []unit
	batch      []unit // small regions not yet handed out
	weight     int    // of the regions in batch
	collectors []*Collector
	check      RegionCheck // nil: none
	workers    sync.WaitGroup
	handed     sync.WaitGroup // units that are not searched yet, together
	spare      sync.Pool      // of sharedRegion
}

// unit is the memory of one process in one region, or of all when owner is -1.
type unit struct {
	region *sharedRegion
	owner  int32
}

// sharedRegion is a region that several units are part of; the last one releases it.
type sharedRegion struct {
	*regions.Region
	owners [][]*regions.Access // what calls access, by whose memory it is
	all    []*regions.Access   // what owners are parts of
	ends   []int               // of these parts
	units  atomic.Int32
}

// over notes that a unit was searched, and releases the region with the last.
func (sh *sharedRegion) over(spare *sync.Pool) {
	if sh.units.Add(-1) == 0 {
		sh.Release()
		sh.Region = nil
		spare.Put(sh)
	}
}

const (
	allOwners = -1
	// batchWeight is how many accesses are worth handing to another goroutine.
	batchWeight = 1 << 11
)

// NewChecker starts that many workers, for conflicts in one part of memory. A
// conflict belongs to the part that has the first byte that both access. The
// workers stop when Close is called, and search nothing more once the context
// is done. memory is about how many bytes they should take together, as far as
// regions can be searched slice by slice; 0: what is best. With pairwise, every two accesses
// are compared: the check that the papers describe, to compare with. found counts the
// groups that are held, also while workers search; nil: nobody asks.
func NewChecker(ctx context.Context, workers int, judge Judge, part regions.Part, memory int64, pairwise bool, found *atomic.Int64) *Checker {
	ctx, fail := context.WithCancelCause(ctx)
	c := &Checker{ctx: ctx, fail: fail, part: part, work: make(chan []unit, workers)}
	checked := NewCollector()
	checked.found = found
	c.check = judge.Check(part, checked)
	c.collectors = append(c.collectors, checked)
	for range workers {
		out := NewCollector()
		out.found = found
		c.collectors = append(c.collectors, out)
		c.workers.Go(func() {
			s := newSearcher(judge, out)
			s.part, s.pairwise, s.most = part, pairwise, mostInSlice
			if memory > 0 {
				s.most = int(max(1, min(memory/int64(workers)/laneBytes, mostInSlice)))
			}
			for units := range c.work {
				for _, u := range units {
					s.unit(ctx, u)
					u.region.over(&c.spare)
				}
				s.scratch.LetGo()
				c.handed.Done()
				if s.err != nil {
					fail(s.err)
				}
			}
		})
	}
	return c
}

// Add searches a region, at once or later, and releases it.
func (c *Checker) Add(r *regions.Region) {
	if c.check != nil {
		if err := c.check(r); err != nil {
			c.fail(err)
		}
	}
	if r.CallCount() == 0 { // loads and stores alone do not conflict
		r.Release()
		return
	}
	sh, _ := c.spare.Get().(*sharedRegion)
	if sh == nil {
		sh = &sharedRegion{}
	}
	sh.sort(r)
	weight := r.Weight
	if weight < batchWeight {
		sh.units.Store(1)
		c.batch = append(c.batch, unit{sh, allOwners})
		if c.weight += weight + 16; c.weight >= batchWeight {
			c.flush()
		}
		return
	}
	c.flush()
	sh.units.Store(int32(len(sh.owners)))
	for owner := range sh.owners {
		c.hand([]unit{{sh, int32(owner)}})
	}
}

func (c *Checker) hand(units []unit) {
	c.handed.Add(1)
	c.work <- units
}

// SoFar waits until all that was added is searched, and returns what was found by then,
// with what is known of it by then. The replay must not go on meanwhile.
func (c *Checker) SoFar() []Group {
	c.flush()
	c.handed.Wait()
	return c.groups()
}

func (c *Checker) flush() {
	if len(c.batch) > 0 {
		c.hand(c.batch)
		c.batch, c.weight = nil, 0
	}
}

// Failed returns the error for which nothing is searched any more, or nil. It is
// that of a file with what did not fit into memory.
func (c *Checker) Failed() error {
	if cause := context.Cause(c.ctx); !errors.Is(cause, c.ctx.Err()) {
		return cause
	}
	return nil
}

// Close waits until everything is searched, and returns what was found: all, or
// some of it when the context is done. The replay must be over. The error is that
// of Failed.
func (c *Checker) Close() ([]Group, error) {
	c.flush()
	close(c.work)
	c.workers.Wait()
	err := c.Failed()
	c.fail(nil)
	return c.groups(), err
}

func (c *Checker) groups() []Group {
	lists := make([][]Group, len(c.collectors))
	for i, out := range c.collectors {
		lists[i] = out.Groups()
	}
	return Join(lists...)
}

// sort makes it a region, of which it sorts what calls access by whose it is.
func (sh *sharedRegion) sort(r *regions.Region) {
	n := r.Processes()
	sh.Region = r
	sh.ends = append(sh.ends[:0], make([]int, n+1)...)
	ends := sh.ends
	for _, a := range r.Calls {
		ends[a.Owner+1]++
	}
	for i := range n {
		ends[i+1] += ends[i]
	}
	clear(sh.all)
	sh.all, sh.owners = slices.Grow(sh.all[:0], len(r.Calls))[:len(r.Calls)], slices.Grow(sh.owners[:0], n)[:n]
	owners := sh.owners
	for i := range owners {
		owners[i] = sh.all[ends[i]:ends[i]:ends[i+1]]
	}
	for _, a := range r.Calls {
		owners[a.Owner] = append(owners[a.Owner], a)
	}
}

// searcher looks for conflicts in the memory of one process at a time. Its
// storage serves one search after the other.
type searcher struct {
	Lanes
	judge    Judge
	region   *regions.Region
	part     regions.Part
	slice    regions.Slice // of the memory of the process
	line     int32         // of the stretches looked at
	most     int           // accesses of calls that a slice should have at most
	out      *Collector
	pairwise bool // compare every two accesses
	index    laneIndex
	// Bounding boxes of the lanes that loads of the owner, and that stores, may
	// conflict with.
	loads, stores box
	nearby        []nearLane // of the stretch of loads and stores looked at
	inTime        inTime
	met           []int32    // lanes that the one looked at, or rows of few elements far apart, may share bytes with
	hits          []int      // those of the rows that one of these meets
	pairs         []lanePair // of it, where lanes are found by time
	paired        uint64     // for how many lanes there were pairs
	old           bool       // which was in the phase before as well
	scratch       regions.Scratch
	err           error // of reading loads and stores that did not fit into memory
}

// box is a byte range that holds others.
type box struct{ lo, hi uint64 }

func (b *box) add(lo, hi uint64) {
	if b.hi == 0 {
		b.lo = lo
	}
	b.lo, b.hi = min(b.lo, lo), max(b.hi, hi)
}

func (b *box) meets(lo, hi uint64) bool { return b.lo < hi && lo < b.hi }

const (
	// laneBytes is about what an access of a call takes while it is searched, when it
	// is a lane by itself.
	laneBytes = 1 << 10
	// mostInSlice is how many accesses of calls are searched at once, where they can
	// be divided: more are searched no faster, since they stay in no cache.
	mostInSlice = 1 << 15
)

func newSearcher(judge Judge, out *Collector) *searcher {
	return &searcher{Lanes: *NewLanes(), judge: judge, out: out, index: laneIndex{judge: judge}}
}

func (s *searcher) unit(ctx context.Context, u unit) {
	s.region = u.region.Region
	if u.owner == allOwners {
		for owner, calls := range u.region.owners {
			s.search(ctx, int32(owner), calls)
		}
	} else {
		s.search(ctx, u.owner, u.region.owners[u.owner])
	}
	s.region = nil
}

func (s *searcher) search(ctx context.Context, owner int32, calls []*regions.Access) {
	if ctx.Err() != nil {
		return
	}
	if s.pairwise {
		s.searchPairs(ctx, owner, calls)
		return
	}
	for _, slice := range s.region.Slices(owner, s.most) {
		s.slice = slice
		s.searchSlice(ctx, owner, calls)
	}
}

// searchSlice looks for conflicts in a slice of the memory of a process.
func (s *searcher) searchSlice(ctx context.Context, owner int32, calls []*regions.Access) {
	s.sortSlice(calls)
	s.addSeries(owner)
	fresh := len(s.lanes)
	s.addCarried(owner)
	if len(s.lanes) == 0 {
		return
	}
	s.build(owner)
	for i := range fresh { // pairs of carried accesses were compared before
		if ctx.Err() != nil {
			return
		}
		s.compareLane(int32(i))
	}
	s.searchLocals(ctx, owner)
}

// build prepares the look-up of lanes.
func (s *searcher) build(owner int32) {
	s.loads, s.stores = box{}, box{}
	s.inTime.begin()
	threaded := s.region.Threaded(owner)
	for _, l := range s.lanes {
		a := l.First()
		l.own = a.Span == nil && a.Rank == owner && !threaded
		if l.own {
			continue // loads and stores are all before or after it
		}
		s.stores.add(l.lo, l.hi)
		if mayConflict(regions.Read, l.class.kind) {
			s.loads.add(l.lo, l.hi)
		}
	}
	s.index.build(s.lanes, s.most)
}

// searchLocals looks up each load and store in the lanes.
func (s *searcher) searchLocals(ctx context.Context, owner int32) {
	if s.stores.hi == 0 {
		return // nothing that a store may conflict with
	}
	for line := range s.region.Lines(owner) {
		s.line = line
		for stretches, old := range s.region.Stretches(line, s.stores.lo, s.stores.hi, &s.scratch, &s.err) {
			if ctx.Err() != nil {
				return
			}
			s.old = old
			for k := range stretches {
				s.searchStretch(&stretches[k])
			}
		}
	}
}

func (s *searcher) searchStretch(st *regions.Stretch) {
	if !s.stores.meets(st.Lo, st.Hi) || !st.Stores && !s.loads.meets(st.Lo, st.Hi) {
		return
	}
	if !s.slice.Whole() {
		// Hardly any of them lie in the slice.
		for i := range st.Rows {
			if s.slice.Touches(st.Rows[i].Bounds()) {
				s.lookUp(st, i)
			}
		}
		return
	}
	if s.near(st) {
		for _, n := range s.nearby {
			s.compareStretch(st, n)
		}
		return
	}
	for i := range st.Rows {
		s.lookUp(st, i)
	}
}

// nearLane is a lane of which the accesses [from, to) are concurrent with those
// of a stretch.
type nearLane struct {
	*Lane
	from, to int
}

// near finds the lanes, in s.nearby, that the loads and stores of a stretch may
// conflict with. It reports false where these are many, or it takes long to
// tell: then it is better to ask what each of them meets.
func (s *searcher) near(st *regions.Stretch) bool {
	c := class{kind: regions.Read}
	if st.Stores {
		c.kind = regions.Write
	}
	at := regions.Point{Line: s.line, Seg: st.Seg, Pos: st.Pos}
	if s.inTime.crowded {
		if s.nearInTime(st, c, at) {
			return true
		}
		s.inTime.crowded = false
	}
	s.nearby = s.nearby[:0]
	most := fewLanes + 2*len(st.Rows) // to look at
	if s.index.overlapping(c, st.Lo, st.Hi, func(j int32) bool {
		if most--; most < 0 {
			return false
		}
		s.addNearby(j, at)
		return len(s.nearby) <= fewLanes
	}) {
		return true
	}
	s.inTime.crowded = s.nearInTime(st, c, at)
	return s.inTime.crowded
}

// addNearby adds a lane that a stretch may conflict with to those nearby, if nothing orders
// them.
func (s *searcher) addNearby(j int32, at regions.Point) {
	l := s.lanes[j]
	if l.own || s.old && l.old {
		return
	}
	// No call lies between the accesses of the stretch: all are concurrent
	// with the same of the lane.
	if from, to := l.concurrentWith(s.region, at); from < to {
		s.nearby = append(s.nearby, nearLane{l, from, to})
	}
}

// compareStretch compares the loads and stores of a stretch with a lane.
func (s *searcher) compareStretch(st *regions.Stretch, n nearLane) {
	loads := mayConflict(regions.Read, n.class.kind)
	for i := range st.Rows {
		if r := &st.Rows[i]; (loads || r.Store) && n.near(r) {
			s.compareRows(st, i, n)
		}
	}
}

// lookUp compares row i of a stretch, which many lanes are near, with those that
// its own bytes may meet.
func (s *searcher) lookUp(st *regions.Stretch, i int) {
	r := &st.Rows[i]
	c := class{kind: regions.Read}
	if r.Store {
		c.kind = regions.Write
	}
	lo, hi := r.Bounds()
	at := regions.Point{Line: s.line, Seg: st.Seg, Pos: st.Pos}
	if r.HasColumns() {
		s.lookUpColumns(st, i, c, at)
		return
	}
	s.index.overlapping(c, lo, hi, func(j int32) bool {
		l := s.lanes[j]
		if l.own || s.old && l.old || !l.near(r) {
			return true
		}
		if from, to := l.concurrentWith(s.region, at); from < to {
			s.compareRows(st, i, nearLane{l, from, to})
		}
		return true
	})
}

// lookUpColumns is lookUp for rows of few elements far apart: what their bounds meet is much, and
// what an element of all of them meets is little.
func (s *searcher) lookUpColumns(st *regions.Stretch, i int, c class, at regions.Point) {
	r := &st.Rows[i]
	s.met = s.met[:0]
	for k := range r.Columns() {
		a := r.Column(k)
		s.index.overlapping(c, a.Addr, a.End(), func(j int32) bool {
			s.met = append(s.met, j)
			return true
		})
	}
	slices.Sort(s.met)
	for _, j := range slices.Compact(s.met) {
		l := s.lanes[j]
		if l.own || s.old && l.old {
			continue
		}
		if from, to := l.concurrentWith(s.region, at); from < to {
			s.compareColumns(st, i, nearLane{l, from, to})
		}
	}
}

// compareColumns compares those of the rows of which an element meets a lane.
func (s *searcher) compareColumns(st *regions.Stretch, i int, n nearLane) {
	r := &st.Rows[i]
	s.hits = s.hits[:0]
	for k := range r.Columns() {
		column := *r
		column.Addr += uint64(k) * uint64(r.Stride)
		column.Count, column.Stride = 1, 0
		from, to := column.Within(n.lo, n.hi)
		for x := from; x < to; x++ {
			if one := column.Part(x, x+1); n.meets(&one, one.Addr+one.Span()) {
				s.hits = append(s.hits, x)
			}
		}
	}
	slices.Sort(s.hits)
	for _, k := range slices.Compact(s.hits) {
		s.compareLocal(st, i, k, n)
	}
}

// compareRows compares row i of a stretch with a lane that it is near.
func (s *searcher) compareRows(st *regions.Stretch, i int, n nearLane) {
	r := &st.Rows[i]
	from, to := r.Within(n.lo, n.hi)
	for k := from; k < to; k++ {
		if one := r.Part(k, k+1); r.N == 1 || n.meets(&one, one.Addr+one.Span()) {
			s.compareLocal(st, i, k, n)
		}
	}
}

// near reports whether any of the rows may share bytes with the lane; of one that
// is a single access, whether it does.
func (l *Lane) near(r *trace.Rows) bool {
	lo, hi := r.Bounds()
	switch {
	case lo >= l.hi || hi <= l.lo:
		return false
	case r.N == 1:
		return l.meets(r, hi)
	}
	first := l.First()
	return first.Layout.Meets(first.Base, footprint(r))
}

// footprint returns a run that holds all bytes of the rows: each row as if it
// had no holes.
func footprint(r *trace.Rows) intervals.Run {
	if r.N == 1 {
		return intervals.Strided(r.Addr, uint64(r.Size), uint64(r.Stride), r.Count)
	}
	lo, _ := r.Bounds()
	return intervals.Strided(lo, r.Span(), uint64(max(r.Pitch, -r.Pitch)), uint64(r.N))
}

// meets reports whether a load or store, which ends at hi, shares bytes with the
// lane. It must meet the lane's bounds.
func (l *Lane) meets(a *trace.Rows, hi uint64) bool {
	if l.step == 0 || a.Count > 1 && uint64(a.Stride) > uint64(a.Size) {
		first := l.First()
		return first.Layout.Meets(first.Base, footprint(a))
	}
	// A range without holes, and blocks at equal distances.
	if a.Addr <= l.lo {
		return true
	}
	past := (a.Addr - l.lo) % l.step
	return past < l.block || hi-a.Addr > l.step-past
}

// compareLocal compares access k of row i of a stretch with the accesses of a
// lane whose bytes it meets.
func (s *searcher) compareLocal(st *regions.Stretch, i, k int, n nearLane) {
	a := s.region.LocalAccess(s.line, st, i, k)
	m, ok := s.meet(a, n.First())
	if ok && s.region.Recycles(a, n.First(), m.lo, m.hi) {
		n.from, n.to = n.whileThere(s.region.Lifetime(a.Owner, a.Start, a.End, m.lo, m.hi), n.from, n.to)
	}
	if !ok || n.from == n.to {
		return
	}
	if n.from = n.notSeen(s.region, a, a.Start, n.from, n.to); n.from < n.to {
		s.out.Add(NewPair(s.region, a, n.access(n.from), m.lo, m.hi, m.rule), uint64(n.to-n.from))
	}
}

// NewPair puts two accesses that break a rule into their order: by process, then
// by role and time, so that the same pair reads the same however it was found.
func NewPair(r *regions.Region, a, b *regions.Access, lo, hi uint64, rule string) Pair {
	if less(b, a) {
		a, b = b, a
	}
	return Pair{Region: r, First: a, Second: b, Lo: lo, Hi: hi, Rule: rule}
}

// less orders accesses: one-sided operations before others, then by process
// and by time.
func less(a, b *regions.Access) bool {
	if x, y := a.Role.Class == regions.Local, b.Role.Class == regions.Local; x != y {
		return y
	}
	if a.Rank != b.Rank {
		return a.Rank < b.Rank
	}
	if a.Start.Pos != b.Start.Pos {
		return a.Start.Pos < b.Start.Pos
	}
	return a.Role.Order < b.Role.Order
}
