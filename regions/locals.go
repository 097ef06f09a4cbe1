package regions

import (
	"sync"

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
	a := &Access{
		Owner: rank, Rank: rank, Role: Load, Kind: Read,
		Base: l.Addr, Layout: intervals.NewLayout([]intervals.Run{run}),
		Start: p, End: p, Locks: r.lockSets[s.locks], Within: r.Segment(p).Calls,
		Call: &CallInfo{Rank: rank, Strand: s.Strand, Stack: l.Stack, Pos: p.Pos},
	}
	if l.Store {
		a.Role, a.Kind = Store, Write
	}
	return a
}

// locals holds the loads and stores of a process in a phase.
type locals struct {
	stretches []Stretch
	old       int              // stretches that the phase before had already
	room      []trace.Access   // what is in use of the last of rooms
	rooms     [][]trace.Access // storage of the accesses
}

func newLocals(r *recycler) locals { return locals{stretches: r.stretchRoom()} }

// add adds a copy of a stretch.
func (l *locals) add(r *recycler, s Stretch) {
	n := len(s.Accesses)
	if cap(l.room)-len(l.room) < n {
		l.room = r.accessRoom(n, 2*cap(l.room))
		l.rooms = append(l.rooms, l.room)
	} else if l.extend(&s) {
		return
	}
	at := len(l.room)
	l.room = append(l.room, s.Accesses...)
	s.Accesses = l.room[at:len(l.room):len(l.room)]
	l.stretches = append(l.stretches, s)
}

// extend adds the accesses of a stretch to the last one, when it goes on where
// that ends and both together are no longer than one may be. There must be room.
func (l *locals) extend(s *Stretch) bool {
	k := len(l.stretches) - 1
	if k < l.old {
		return false
	}
	last, n := &l.stretches[k], len(s.Accesses)
	if m := len(last.Accesses); m+n > trace.MaxStretch || last.Pos+uint64(m) != s.Pos ||
		last.Seg != s.Seg || last.Strand != s.Strand || last.locks != s.locks || &last.Accesses[m-1] != &l.room[len(l.room)-1] {
		return false
	}
	from := len(l.room) - len(last.Accesses)
	l.room = append(l.room, s.Accesses...)
	last.Accesses = l.room[from:len(l.room):len(l.room)]
	last.Lo, last.Hi = min(last.Lo, s.Lo), max(last.Hi, s.Hi)
	last.Loads, last.Stores = last.Loads || s.Loads, last.Stores || s.Stores
	return true
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
	p.locals.add(m.recycled, Stretch{
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

// recycler keeps the storage of loads and stores of regions that have been
// searched, for the regions to come. They are most of a large trace, and come
// and go with every region. It keeps no more than a few of the largest regions
// need.
type recycler struct {
	mu        sync.Mutex
	accesses  pool[trace.Access]
	stretches pool[Stretch]
}

// Elements of storage.
const (
	firstRoom = 16      // when new
	mostRoom  = 1 << 12 // of accesses, as long as no more are wanted at once
	smallRoom = 1 << 18 // that are kept in any case
)

// pool is storage that is not in use.
type pool[T any] struct {
	spare   [][]T
	room    int // elements in spare
	largest int // elements of the largest region so far
}

// get returns storage without elements, or nil.
func (p *pool[T]) get() []T {
	n := len(p.spare)
	if n == 0 {
		return nil
	}
	s := p.spare[n-1]
	p.spare = p.spare[:n-1]
	p.room -= cap(s)
	return s[:0]
}

// put takes the storage of a region back.
func (p *pool[T]) put(all [][]T) {
	size := 0
	for _, s := range all {
		size += cap(s)
	}
	p.largest = max(p.largest, size)
	for _, s := range all {
		if p.room+cap(s) <= max(smallRoom, 2*p.largest) {
			p.spare = append(p.spare, s)
			p.room += cap(s)
		}
	}
}

// accessRoom returns room for at least n accesses, and when it is new about as
// many as are wanted.
func (r *recycler) accessRoom(n, wanted int) []trace.Access {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.accesses.get(); cap(s) >= n {
		return s
	}
	return make([]trace.Access, 0, max(n, firstRoom, min(wanted, mostRoom)))
}

func (r *recycler) stretchRoom() []Stretch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.stretches.get(); s != nil {
		return s
	}
	return make([]Stretch, 0, firstRoom)
}

func (r *recycler) put(rooms [][]trace.Access, stretches [][]Stretch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accesses.put(rooms)
	r.stretches.put(stretches)
}
