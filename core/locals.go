package core

import (
	"errors"
	"slices"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// local takes the run of loads or stores that is the event.
func (s *Strand) local() {
	st := trace.StretchOf(&s.event.Access)
	st.Counted = s.event.Counted
	s.pos--
	s.stretch(&st, s.event.Strand)
}

// stretch takes consecutive runs of loads and stores of one thread, the events
// that follow s.pos.
func (s *Strand) stretch(st *trace.Stretch, thread uint32) {
	if !st.Counted {
		s.m.stats.Loads += st.Loads
		s.m.stats.Stores += st.Stores
	}
	if thread != 0 && s.team == nil {
		s.threads[thread] = true
	}
	s.thread = thread
	if st.Stores > 0 {
		if s.words.meets(st.Lo, st.Hi) {
			s.overwrites(st)
		}
		s.recent.note(s, st)
	}
	if st.Stores == 0 && thread == 0 && s.reread.again(s.spanNow(), st.Rows) {
		s.count(st.Len)
		return
	}
	if len(s.memory.aliases.Overlapping(st.Lo, st.Hi)) == 0 {
		s.ownAccesses(st)
		return
	}
	if slices.ContainsFunc(st.Rows, trace.Rows.HasColumns) {
		s.columns(st)
		return
	}
	for a := range trace.InOrder(st.Rows) {
		s.apart(&a)
	}
}

// apart takes a load or store of a stretch, of which some may lie in the memory of other
// processes.
func (s *Strand) apart(a *trace.Access) {
	s.event.Access = *a
	s.pos++
	if s.aliased() {
		return
	}
	s.pos--
	one := trace.StretchOf(a)
	s.ownAccesses(&one)
}

// columns takes a stretch of which some rows are few elements each, far apart, that lie beside
// those of the next row: sections of arrays of which another dimension is the first. Taken
// element by element they are few accesses of many elements, and each row one that meets all
// others by its bounds. Nothing of a stretch comes before anything else of it for others.
func (s *Strand) columns(st *trace.Stretch) {
	end := s.pos + uint64(st.Len)
	for i := range st.Rows {
		r := &st.Rows[i]
		if !r.HasColumns() {
			for k := range int(r.N) {
				a := r.Access(k)
				s.apart(&a)
			}
			continue
		}
		for k := range r.Columns() {
			a := r.Column(k)
			s.apart(&a)
		}
	}
	s.pos = end
}

// aliased takes a load or store of which some bytes may lie in the memory of
// other processes. What does becomes an access of its own, in the memory of its
// owner; it reports whether that was all.
func (s *Strand) aliased() bool {
	a := &s.event.Access
	all := s.memory.layout(a)
	own := all
	for _, e := range s.memory.aliases.Overlapping(all.Bounds(a.Addr)) {
		x := &e.Value
		part := all.Within(a.Addr, x.Lo, x.Hi)
		if part.IsEmpty() {
			continue
		}
		own = own.Without(a.Addr, x.Lo, x.Hi)
		s.loadOrStore(a.Addr+x.Shift, part, x.Owner, x.Exposer)
	}
	if own.IsEmpty() {
		return true
	}
	if own != all {
		// The rest is in this process's own memory.
		s.loadOrStore(a.Addr, own, s.Rank, Exposer{})
		return true
	}
	return false
}

// aliasLayouts is what loads and stores through aliases cover.
type aliasLayouts struct {
	recent [16]struct {
		run    intervals.Run
		layout *intervals.Layout
	}
	all Alike
}

// layout returns what a load or store covers from its address on: the same for equal ones, which
// differ in time only then.
func (y *aliasLayouts) layout(a *trace.Access) *intervals.Layout {
	run := intervals.Strided(0, uint64(a.Size), uint64(a.Stride), a.Count)
	recent := &y.recent[(run.Size^run.Count^run.Stride>>3)%uint64(len(y.recent))]
	if recent.layout == nil || recent.run != run {
		if y.all.strided == nil {
			y.all = NewAlike()
		}
		recent.run, recent.layout = run, y.all.Strided(a.Count, uint64(a.Size), uint64(a.Stride))
	}
	return recent.layout
}

// loadOrStore adds the load or store that is the event as an access of its own.
func (s *Strand) loadOrStore(base uint64, layout *intervals.Layout, owner int32, on Exposer) {
	a := &s.event.Access
	acc := regions.LoadOrStore(a)
	acc.Base, acc.Layout = base, layout
	acc.Call = s.calls.info(&regions.CallSite{Rank: s.Rank, Thread: s.thread, Stack: a.Stack, Object: on.Object, Made: on.Made, Mode: on.Mode}, s.pos)
	if !s.told(a.Atomic) {
		s.writes(&acc, owner)
	}
	s.instantAt(acc, owner, on.Object)
}

// ownAccesses takes accesses to the memory of the process itself. What is
// counted decides on the phases, which so are the same in all parts.
func (s *Strand) ownAccesses(st *trace.Stretch) {
	switch part := s.m.opts.Part; {
	case part.Whole():
		s.keepRows(st, st.Rows)
	case !s.m.wants(s.Rank, st.Lo, st.Hi):
	case part.Processes || regions.OneBlock(st.Lo, st.Hi):
		s.keepRows(st, st.Rows)
	default:
		s.takePart(st)
	}
	s.count(st.Len)
}

func (s *Strand) count(accesses int) {
	s.m.phase.grown += accesses
	s.path.last().Loads += accesses
	s.pos += uint64(accesses)
	s.taken += accesses
}

// ErrSkipped is the error of a replay for a part of memory whose streams pass
// over accesses that may belong to it.
var ErrSkipped = errors.New("accesses were passed over that may lie in the memory of another process")

// passOver counts the accesses that the event says were passed over, and elements
// that are coming.
func (s *Strand) passOver() error {
	x := &s.event.Skipped
	words := s.words.meets(x.Lo, x.Hi)
	switch {
	case x.Accesses == 0:
	case s.m.opts.OrderOnly: // which words are meant is not asked: none is certain
		if words {
			s.m.disturb(memoryOf{s.Rank, x.Lo, x.Hi})
		}
	case s.memory.aliases.Len() > 0 || words:
		return ErrSkipped
	}
	s.m.stats.Loads += x.Loads
	s.m.stats.Stores += x.Stores
	if s.event.Strand != 0 && s.team == nil {
		s.threads[s.event.Strand] = true
	}
	s.count(int(x.Accesses))
	return nil
}

// takePart takes those of the accesses that may matter to the part of memory.
func (s *Strand) takePart(st *trace.Stretch) {
	mine := func(r *trace.Rows, k int) bool {
		a := r.Access(k)
		return s.m.wants(s.Rank, a.Addr, a.End())
	}
	rows := s.memory.rows[:0]
	for i := range st.Rows {
		r := &st.Rows[i]
		if lo, hi := r.Bounds(); !s.m.wants(s.Rank, lo, hi) {
			continue
		}
		for k, n := 0, int(r.N); k < n; {
			from := k
			for k < n && mine(r, k) {
				k++
			}
			if from < k {
				rows = append(rows, r.Part(from, k))
			}
			for k < n && !mine(r, k) {
				k++
			}
		}
	}
	s.memory.rows = rows
	for len(rows) > 0 {
		n := min(len(rows), trace.MaxStretch)
		s.keepRows(st, rows[:n])
		rows = rows[n:]
	}
}

// spanNow is the span of what the strand does now.
func (s *Strand) spanNow() span { return span{s.m.index, s.path.segment(), s.callsBefore} }

// keepRows takes rows of a stretch.
func (s *Strand) keepRows(st *trace.Stretch, rows []trace.Rows) {
	if s.kept == nil {
		s.kept = &recent{}
	}
	if s.kept.again(s.spanNow(), rows) {
		return
	}
	if s.team != nil && s.memory.own != nil {
		s.m.store.SetLocks(s.Rank, s.ownLocks())
	}
	s.m.store.AddLocals(s.line, regions.NewStretch(st, rows, s.pos+1, s.path.segment(), s.thread))
}
