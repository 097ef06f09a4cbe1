package regions

import (
	"slices"
)

// Storage holds the accesses of the phase of a concurrent region that is under
// way, and hands them over as a Region. It belongs to the goroutine of the
// replay; regions that it handed over may be searched and released by others.
type Storage struct {
	pool         *pool
	region       *Region   // that the phase will be
	calls        []*Access // what calls access, but for those of series
	old          int       // of calls, the phase before had already
	series       seriesBuilder
	processes    int
	locals       []locals // loads and stores, by line
	own          []uint32 // by rank: the lock set, in sets, that protects its loads and stores
	sets         []*LockSet
	carried      carriedAccesses
	carriedNew   int          // carried accesses that the region began with and that are not complete, in its first phase
	again        []*Access    // room that was given back
	slab         []Access     // room
	made         int          // of it at once, the last time
	recycled     [][]recycled // by rank, in the concurrent region; nil: none
	recycledKept []int        // how many they were when they were last gone through
}

// Past says which separate regions are past: those of line i with a
// number below element i.
type Past []int32

// past reports whether an access is over in a separate region that is past, or seen to be
// over there.
func (l Past) past(a *Access) bool { return l.has(a.End) || slices.ContainsFunc(a.Seen, l.has) }

func (l Past) has(p Point) bool { return p.Seg >= 0 && p.Seg < l[p.Line] }

// NewStorage returns Storage for that many processes. memory is how many bytes of
// accesses may be held; what is more is written to files without a name in
// os.TempDir. 0 means no limit.
func NewStorage(processes int, memory int64) *Storage {
	p := newPool(memory, processes)
	return &Storage{
		pool: p, processes: processes, locals: make([]locals, processes), own: make([]uint32, processes),
		series: seriesBuilder{pool: p, recent: make([]recentShapes, processes)},
	}
}

// Begin begins a concurrent region, which has no accesses yet.
func (s *Storage) Begin() {
	s.series.beginRegion()
	s.begin()
	s.old, s.carriedNew = 0, s.carried.n
	s.recycled = nil
	s.locals = s.locals[:s.processes]
	clear(s.locals)
	clear(s.own)
}

// begin begins a phase.
func (s *Storage) begin() {
	s.region = s.pool.region(s.processes)
	s.calls, s.sets = s.region.Calls, append(s.region.lockSets, nil)
	s.series.begin(s.region.moments)
}

// Region returns the region that the phase under way will be. It has no accesses
// before HandOver; whatever else it is belongs to the caller. Its Clock is one
// that is not used any more, or nil, and Segments and First are as long as there
// are processes.
func (s *Storage) Region() *Region { return s.region }

// Err returns the error of writing to a file, after which nothing more is
// written, or of reading it; otherwise nil.
func (s *Storage) Err() error { return s.pool.err }

// Spilled returns what did not fit into memory so far.
func (s *Storage) Spilled() SpillStats { return s.pool.spilled }

// NewAccess returns room for an access, with whatever was there before.
func (s *Storage) NewAccess() *Access {
	if len(s.again) == 0 {
		s.again = s.pool.takeCalls(s.again)
	}
	if n := len(s.again); n > 0 {
		a := s.again[n-1]
		s.again = s.again[:n-1]
		return a
	}
	if len(s.slab) == 0 {
		s.made = min(max(4, 2*s.made), 256)
		s.slab = make([]Access, s.made)
	}
	a := &s.slab[0]
	s.slab = s.slab[1:]
	return a
}

// GiveBack takes room back that nothing refers to.
func (s *Storage) GiveBack(a *Access) { s.again = append(s.again, a) }

// Copy returns a copy of an access.
func (s *Storage) Copy(a *Access) *Access {
	b := s.NewAccess()
	*b = *a
	return b
}

// Add adds an access of a call, which may be complete later. It is the Storage's
// from now on.
func (s *Storage) Add(a *Access) { s.calls = append(s.calls, a) }

// Settle adds an access that is complete, and was not added yet, as a part of a
// series; by is the call that completed it, or nil. It reports whether it did:
// then the access may be given back.
func (s *Storage) Settle(a *Access, by *CallInfo) bool { return s.series.settle(a, by) }

// SetLocks says which locks protect the loads and stores of a process from now
// on.
func (s *Storage) SetLocks(rank int32, set *LockSet) { s.own[rank] = s.lockIndex(set) }

func (s *Storage) lockIndex(set *LockSet) uint32 {
	if set == nil {
		return 0
	}
	s.sets = append(s.sets, set)
	return uint32(len(s.sets) - 1)
}

// AddLocals adds loads and stores of a line: a copy of the stretch.
func (s *Storage) AddLocals(line int32, st Stretch) {
	st.locks = s.own[s.region.Process(line)]
	s.locals[line].add(s.pool, st)
}

// NewCalls returns how many accesses of calls the phase has that the one before did
// not have.
func (s *Storage) NewCalls() int { return len(s.calls) - s.old + s.series.settled + s.carriedNew }

// CarriedOpen returns how many accesses of Opens are carried, and how many moments they
// are.
func (s *Storage) CarriedOpen() (accesses, moments int) {
	return s.carried.open.n, s.carried.open.moments
}

// CarriedBatches returns how many Opens are carried.
func (s *Storage) CarriedBatches() int { return s.carried.open.batches }

// CarriedCount returns how many accesses are carried one by one, and CallCount how many
// others of calls are held so.
func (s *Storage) CarriedCount() int { return s.carried.n - s.carried.open.n }
func (s *Storage) CallCount() int    { return len(s.calls) }

// Remaining counts the accesses of calls that are not past.
func (s *Storage) Remaining(past Past) int {
	n := s.carried.n
	for _, a := range s.calls {
		if !past.past(a) {
			n++
		}
	}
	r := s.region
	r.moments, r.shapes, r.spill = s.series.moments, s.series.shapes, s.pool.spill
	s.keptMoments(past, r, func(_ int32, t *moment) { n += int(t.count) })
	return n
}

// HandOver gives all accesses to the Region, and returns it. The Storage is to
// Begin, or to GoOn. Of carried accesses the Region gets those that may share bytes
// with something new in it; with allCarried, it gets all.
func (s *Storage) HandOver(allCarried bool) *Region {
	r := s.region
	s.giveCarried(r, allCarried)
	r.Calls = s.calls
	r.contents = contents{
		carried: r.carried, given: r.given, spans: s.series.spans, began: s.series.began, lines: r.lines,
		locals: r.locals, moments: s.series.moments, settled: s.series.settled + s.series.kept,
		shapes: s.series.shapes, enders: s.series.enders, lockSets: s.sets, pool: s.pool, spill: s.pool.spill,
		recycled: s.handRecycled(),
	}
	s.pool.spill = nil
	for i := range s.locals {
		r.locals[i] = s.locals[i].first
	}
	return r
}

// PutOff leaves accesses out of a region that was handed over, and that another
// one follows, which are not complete and wait for their Gate to be known: where
// that is, the next region has to say what they are ordered after.
func (s *Storage) PutOff(r *Region) {
	r.leaveOut(func(a *Access) bool { return a.gateOpen() && a.End.Seg == Never })
}

// leaveOut takes accesses of calls out of the region.
func (r *Region) leaveOut(which func(*Access) bool) {
	if slices.ContainsFunc(r.Calls, which) {
		r.Calls = slices.DeleteFunc(slices.Clone(r.Calls), which)
	}
}

// GoOn begins the next phase with what is not past of the region that was
// handed over, marked as old. An access that waits for its Gate to be known goes
// on in the next phase only. pending says of each access that is not complete, or about
// which more may become known, by carry, that it goes on as another one: the region keeps
// its own. What is past does not go on, and carry returns nil. coming returns the position in
// the trace of a process before which nothing begins any more.
func (s *Storage) GoOn(r *Region, past Past, coming func(rank int32) uint64, pending func(carry func(*Access) *Access)) {
	all, sets, going := s.calls, s.sets, s.positions()
	s.begin()
	s.region.addLines(r.of)
	s.carriedNew = 0
	r.leaveOut((*Access).gateOpen)
	var went map[*Access]bool // of those that are complete
	pending(func(a *Access) *Access {
		switch {
		case a.gateOpen():
			return a
		case past.past(a):
			return nil
		case a.End.Seg == Never:
		default:
			if went == nil {
				went = map[*Access]bool{}
			}
			went[a] = true
		}
		return s.carry(a)
	})
	if went != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(a *Access) bool { return went[a] })
	}
	s.goOnCalls(r, all, past, going)
	s.goOnLocals(r, sets, past, going)
	s.forgetRecycled(going, coming)
}

// carry takes a copy of an access into the next phase.
func (s *Storage) carry(a *Access) *Access {
	b := s.Copy(a)
	b.Old = true
	s.calls = append(s.calls, b)
	return b
}

// goOnCalls takes the accesses of calls that are complete and not past into the
// next phase, and those that have not begun.
func (s *Storage) goOnCalls(r *Region, all []*Access, past Past, going positions) {
	for _, a := range all {
		if a.End.Seg != Never && !a.gateOpen() && !past.past(a) {
			s.carry(a)
		}
	}
	s.goOnMoments(r, past, going)
	s.old = len(s.calls)
	for _, a := range all {
		if a.gateOpen() {
			s.calls = append(s.calls, a)
		}
	}
	going.addCalls(s.calls)
}

// goOnMoments takes the moments that are not past into the next phase. Accesses that
// start in a separate region that is past are its only ones that have to keep what
// that was.
func (s *Storage) goOnMoments(r *Region, past Past, going positions) {
	var moved map[uint32]uint32
	if len(s.series.shapes) < len(r.shapes) {
		moved = map[uint32]uint32{}
	}
	s.keptMoments(past, r, func(owner int32, t *moment) {
		if t.startSeg <= firstEarlier || t.startSeg >= past[r.shapes[t.shape].access.Start.Line] {
			s.series.keep(owner, *t, r.shapes, moved)
			rank := r.shapes[t.shape].access.Rank
			going.add(rank, t.start, t.lastStart())
			going.add(rank, t.end, t.lastEnd())
			return
		}
		for i := range uint64(t.count) {
			a := s.NewAccess()
			r.fullAccess(t, i, a)
			a.Old = true
			s.calls = append(s.calls, a)
		}
	})
	s.series.markOld()
}

// gateOpen reports whether the access waits for its Gate: when it starts is not
// known yet.
func (a *Access) gateOpen() bool { return a.Gated && a.Gate.Seg == Later }

// goOnLocals takes the loads and stores that are not past into the next phase,
// with the lock sets that they refer to, which have the numbers of before.
func (s *Storage) goOnLocals(r *Region, before []*LockSet, past Past, going positions) {
	moved := map[uint32]uint32{0: 0}
	move := func(i uint32) uint32 {
		j, ok := moved[i]
		if !ok {
			j = s.lockIndex(before[i])
			moved[i] = j
		}
		return j
	}
	for line := range s.locals {
		var kept locals
		rank := r.Process(int32(line))
		s.keptLocals(int32(line), past, r.spill, func(st *Stretch) {
			t := *st
			t.locks = move(st.locks)
			kept.add(s.pool, t)
			going.add(rank, t.Pos, t.Pos+uint64(t.Len))
		})
		kept.markOld()
		s.locals[line] = kept
	}
	for rank := range s.own {
		s.own[rank] = move(s.own[rank])
	}
}

// keptLocals visits the loads and stores of a line that are not past, those
// in the file of the phase included.
func (s *Storage) keptLocals(line int32, past Past, f *spillFile, visit func(*Stretch)) {
	p := s.pool
	for r := s.locals[line].first; r != nil; r = r.next {
		stretches := r.stretches
		if w := r.stored; w != nil && p.err == nil {
			if w.to < past[line] {
				continue
			}
			if p.err = f.read(w, &p.scratch); p.err != nil {
				return
			}
			stretches = p.scratch.room.stretches
		}
		for k := range stretches {
			if st := &stretches[k]; st.Seg >= past[line] {
				visit(st)
			}
		}
	}
}

// keptMoments visits those of a region's accesses that are not past.
func (s *Storage) keptMoments(past Past, r *Region, visit func(owner int32, t *moment)) {
	p := s.pool
	for owner := range r.moments {
		err := r.each(int32(owner), Slice{}, &p.scratch, func(t *moment, _ bool) {
			if t.endSeg >= past[t.endLine] {
				visit(int32(owner), t)
			}
		})
		if p.err == nil {
			p.err = err
		}
	}
}

// contents are the accesses of a region.
type contents struct {
	lines
	locals   []*room       // by line, in program order; nil: none
	moments  []moments     // of what calls access, by world rank of the owner
	settled  int           // accesses in moments
	given    int           // of carried ones, those in moments
	spans    []*Completion // that moments refer to
	began    []*Bounds
	carried  int      // carried accesses, those that the region was not given included
	shapes   []*shape // that moments are of
	enders   []*CallSite
	lockSets []*LockSet   // of loads and stores; the first is the empty set
	pool     *pool        // that all of it belongs to
	spill    *spillFile   // where that lies that does not fit into memory
	recycled []*recycling // by rank; nil: none
	capacity int          // of a region that is not in use: what it has room for
}
