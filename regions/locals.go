package regions

import (
	"github.com/mcchk/mcchk/intervals"
	"github.com/mcchk/mcchk/trace"
)

// Stretch is loads and stores of one strand in the memory of its process that
// follow one another in one separate region, under the same locks. Each is an
// event: the first has number Pos, the others follow one by one.
type Stretch struct {
	Accesses      []trace.Access
	Lo, Hi        uint64 // a range of addresses that holds all of them, half-open
	Pos           uint64
	Seg           int32
	Strand        uint32
	locks         uint32 // index in Region.lockSets
	Loads, Stores bool   // there are some
}

// LocalAccess returns access i of a stretch as an Access.
func (r *Region) LocalAccess(rank int32, s *Stretch, i int) *Access {
	l := &s.Accesses[i]
	run := intervals.Strided(0, uint64(l.Size), uint64(l.Stride), l.Count)
	p := Point{Rank: rank, Seg: s.Seg, Pos: s.Pos + uint64(i)}
	a := loadOrStore(l)
	a.Owner, a.Rank = rank, rank
	a.Base, a.Layout = l.Addr, intervals.NewLayout([]intervals.Run{run})
	a.Start, a.End, a.Locks, a.Within = p, p, r.lockSets[s.locks], r.Segment(p).Calls
	a.Call = &CallInfo{Rank: rank, Strand: s.Strand, Stack: l.Stack, Pos: p.Pos}
	return &a
}

// local takes the run of loads or stores that is the event.
func (p *proc) local(m *Machine) {
	s := trace.NewStretch([]trace.Access{p.event.Access})
	p.pos--
	p.stretch(m, &s, p.event.Strand)
}

// stretch takes consecutive runs of loads and stores of one strand, the events
// that follow p.pos.
func (p *proc) stretch(m *Machine, s *trace.Stretch, strand uint32) {
	m.stats.Loads += s.Loads
	m.stats.Stores += s.Stores
	if strand != 0 {
		p.strands[strand] = true
	}
	p.event.Strand = strand
	if p.foreign(s.Lo, s.Hi) == nil {
		p.ownAccesses(m, s)
		return
	}
	for i := range s.Accesses {
		p.event.Access = s.Accesses[i]
		p.pos++
		if m.sharedLocal(p) {
			continue
		}
		p.pos--
		one := trace.NewStretch(s.Accesses[i : i+1])
		p.ownAccesses(m, &one)
	}
}

// ownAccesses takes accesses to the memory of the process itself.
func (p *proc) ownAccesses(m *Machine, s *trace.Stretch) {
	switch n := len(s.Accesses); {
	case m.part.Whole():
		p.hold(m, s)
	case !m.mine(p, s.Lo, s.Hi):
		p.pos += uint64(n)
		p.leaveOut(m, n)
	case oneBlock(s.Lo, s.Hi):
		p.hold(m, s)
	default:
		p.takePart(m, s.Accesses)
	}
}

// takePart takes those of the accesses that may matter to the part of memory.
func (p *proc) takePart(m *Machine, accesses []trace.Access) {
	mine := func(a *trace.Access) bool { return m.mine(p, a.Addr, a.End()) }
	for i := 0; i < len(accesses); {
		from := i
		for i < len(accesses) && !mine(&accesses[i]) {
			i++
		}
		p.pos += uint64(i - from)
		p.leaveOut(m, i-from)
		from = i
		for i < len(accesses) && mine(&accesses[i]) {
			i++
		}
		if from < i {
			s := trace.NewStretch(accesses[from:i])
			p.hold(m, &s)
		}
	}
}

func (p *proc) hold(m *Machine, s *trace.Stretch) {
	p.locals.add(m.store, Stretch{
		Accesses: s.Accesses, Lo: s.Lo, Hi: s.Hi, Loads: s.Loads > 0, Stores: s.Stores > 0,
		Pos: p.pos + 1, Seg: p.segment(), Strand: p.event.Strand, locks: p.ownIndex,
	})
	n := len(s.Accesses)
	p.pos += uint64(n)
	p.taken += n
	m.grown += n
}

// leaveOut counts loads and stores of other parts. What is counted decides on
// the phases, which so are the same in all parts.
func (p *proc) leaveOut(m *Machine, n int) {
	m.grown += n
	p.segs[len(p.segs)-1].others += n
	p.others += n
}
