package regions

import (
	"errors"

	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// Stretch is loads and stores of one strand in the memory of its process that
// follow one another in one separate region, under the same locks. Each is an
// event: the first has number Pos, the others follow one by one.
type Stretch struct {
	Rows          []trace.Rows
	Len           int    // accesses
	Lo, Hi        uint64 // a range of addresses that holds all of them, half-open
	Pos           uint64
	Seg           int32
	Strand        uint32
	locks         uint32 // index in Region.lockSets
	Loads, Stores bool   // there are some
}

// LocalAccess returns access k of row i of a stretch as an Access.
func (r *Region) LocalAccess(rank int32, s *Stretch, i, k int) *Access {
	l := s.Rows[i].Access(k)
	run := intervals.Strided(0, uint64(l.Size), uint64(l.Stride), l.Count)
	p := Point{Rank: rank, Seg: s.Seg, Pos: s.PosOf(i, k)}
	a := loadOrStore(&l)
	a.Owner, a.Rank = rank, rank
	a.Base, a.Layout = l.Addr, intervals.NewLayout([]intervals.Run{run})
	a.Start, a.End, a.Locks, a.Within = p, p, r.lockSets[s.locks], r.Segment(p).Calls
	a.Call = &CallInfo{Rank: rank, Strand: s.Strand, Stack: l.Stack, Pos: p.Pos}
	return &a
}

// PosOf returns the number of the event that access k of row i is.
func (s *Stretch) PosOf(i, k int) uint64 { return s.Pos + uint64(s.Rows[i].Number(k)) }

// local takes the run of loads or stores that is the event.
func (p *proc) local(m *Machine) {
	s := trace.StretchOf(&p.event.Access)
	s.Counted = p.event.Counted
	p.pos--
	p.stretch(m, &s, p.event.Strand)
}

// stretch takes consecutive runs of loads and stores of one strand, the events
// that follow p.pos.
func (p *proc) stretch(m *Machine, s *trace.Stretch, strand uint32) {
	if !s.Counted {
		m.stats.Loads += s.Loads
		m.stats.Stores += s.Stores
	}
	if strand != 0 {
		p.strands[strand] = true
	}
	p.event.Strand = strand
	if p.foreign(s.Lo, s.Hi) == nil {
		p.ownAccesses(m, s)
		return
	}
	for a := range trace.InOrder(s.Rows) {
		p.event.Access = a
		p.pos++
		if m.sharedLocal(p) {
			continue
		}
		p.pos--
		one := trace.StretchOf(&a)
		p.ownAccesses(m, &one)
	}
}

// ownAccesses takes accesses to the memory of the process itself. What is
// counted decides on the phases, which so are the same in all parts.
func (p *proc) ownAccesses(m *Machine, s *trace.Stretch) {
	switch {
	case m.part.Whole():
		p.hold(m, s, s.Rows)
	case !m.mine(p, s.Lo, s.Hi):
	case m.part.Processes || oneBlock(s.Lo, s.Hi):
		p.hold(m, s, s.Rows)
	default:
		p.takePart(m, s)
	}
	p.count(m, s.Len)
}

func (p *proc) count(m *Machine, accesses int) {
	m.grown += accesses
	p.segs[len(p.segs)-1].loads += accesses
	p.pos += uint64(accesses)
	p.taken += accesses
}

// ErrSkipped is the error of a replay for a part of memory whose streams pass
// over accesses that may belong to it.
var ErrSkipped = errors.New("accesses were passed over that may lie in the memory of another process")

// passOver counts the accesses that the event says were passed over, and elements
// that are coming.
func (p *proc) passOver(m *Machine) error {
	s := &p.event.Skipped
	if len(p.shared) > 0 && s.Accesses > 0 {
		return ErrSkipped
	}
	m.stats.Loads += s.Loads
	m.stats.Stores += s.Stores
	if p.event.Strand != 0 {
		p.strands[p.event.Strand] = true
	}
	p.count(m, int(s.Accesses))
	return nil
}

// takePart takes those of the accesses that may matter to the part of memory.
func (p *proc) takePart(m *Machine, s *trace.Stretch) {
	mine := func(r *trace.Rows, k int) bool {
		a := r.Access(k)
		return m.mine(p, a.Addr, a.End())
	}
	rows := p.rows[:0]
	for i := range s.Rows {
		r := &s.Rows[i]
		if lo, hi := r.Bounds(); !m.mine(p, lo, hi) {
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
	p.rows = rows
	for len(rows) > 0 {
		n := min(len(rows), trace.MaxStretch)
		p.hold(m, s, rows[:n])
		rows = rows[n:]
	}
}

// hold takes rows of a stretch.
func (p *proc) hold(m *Machine, s *trace.Stretch, rows []trace.Rows) {
	held := Stretch{
		Rows: rows, Len: s.Len, Lo: s.Lo, Hi: s.Hi, Loads: s.Loads > 0, Stores: s.Stores > 0,
		Pos: p.pos + 1, Seg: p.segment(), Strand: p.event.Strand, locks: p.ownIndex,
	}
	if len(rows) < len(s.Rows) {
		held.bound()
	}
	p.locals.add(m.store, held)
}

// bound finds out what holds for all rows.
func (s *Stretch) bound() {
	s.Lo, s.Hi = s.Rows[0].Bounds()
	s.Loads, s.Stores = false, false
	for i := range s.Rows {
		r := &s.Rows[i]
		lo, hi := r.Bounds()
		s.Lo, s.Hi = min(s.Lo, lo), max(s.Hi, hi)
		s.Loads, s.Stores = s.Loads || !r.Store, s.Stores || r.Store
	}
}
