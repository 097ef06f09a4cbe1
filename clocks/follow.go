package clocks

import (
	"slices"
	"sync"

	"github.com/mcchk/mcchk/core"
)

// perSlab is how many events a slab has.
const perSlab = 1 << 18

// event is something that a process did: in times of the Source.
type event struct {
	rank  int32
	other bool // of another strand than that which the process began with
	what  eventKind
	at    int64
	left  *departure  // of leaves
	waits []core.Mark // of ends
}

type eventKind uint8

const (
	begins eventKind = iota // a call
	leaves                  // something does, with the call
	ends                    // the call does, when it has what it waited for
)

// slab is the next events of all processes.
type slab struct {
	events []event     // as they came
	marks  []core.Mark // room for those that events wait for
}

// empty makes room for other events.
func (s *slab) empty() {
	clear(s.events)
	clear(s.marks)
	s.events, s.marks = s.events[:0], s.marks[:0]
}

// dealt is the events of a slab by processes.
type dealt struct {
	events []event
	ends   []int // of those of each process
}

// deal deals out the events of a slab, and keeps their order.
func (d *dealt) deal(s *slab, ranks int) {
	d.ends = append(d.ends[:0], make([]int, ranks+1)...)
	for i := range s.events {
		d.ends[s.events[i].rank+1]++
	}
	for rank := range ranks {
		d.ends[rank+1] += d.ends[rank]
	}
	d.events = slices.Grow(d.events[:0], len(s.events))[:len(s.events)]
	for _, e := range s.events {
		d.events[d.ends[e.rank]] = e
		d.ends[e.rank]++
	}
}

// of returns the events of a process.
func (d *dealt) of(rank int) []event {
	if rank == 0 {
		return d.events[:d.ends[0]]
	}
	return d.events[d.ends[rank-1]:d.ends[rank]]
}

// follower watches a replay and collects what happens in slabs. A call of a strand is over
// when its next one begins.
type follower struct {
	src    Source
	procs  []follows
	size   int // of a slab
	now    *slab
	full   chan *slab // to be worked on
	empty  chan *slab // worked off
	worked sync.WaitGroup
}

// follows is the calls under way of a process.
type follows struct {
	first  call // of the strand that it began with
	others map[int64]*call
	turn   *call // of the strand that things are told of
}

// call is the call under way of a strand, in times of the Source.
type call struct {
	open, returned bool
	begin, end     int64
	left           *departure
	waits          []core.Mark
}

// begin has slabs worked on as they are full, beside the replay.
func (f *follower) begin(src Source, work func(*slab)) {
	ranks := len(src.Hosts)
	f.src, f.procs, f.size, f.now = src, make([]follows, ranks), perSlab, &slab{}
	f.full, f.empty = make(chan *slab), make(chan *slab, 2)
	f.empty <- &slab{}
	for i := range f.procs {
		f.procs[i].turn = &f.procs[i].first
	}
	f.worked.Go(func() {
		for s := range f.full {
			work(s)
			s.empty()
			f.empty <- s
		}
	})
}

// add adds an event of a process.
func (f *follower) add(rank int, e event) {
	e.rank, e.other = int32(rank), f.procs[rank].turn != &f.procs[rank].first
	f.now.events = append(f.now.events, e)
	if len(f.now.events) >= f.size {
		f.full <- f.now
		f.now = <-f.empty
	}
}

// Strand is that of core.StrandObserver.
func (f *follower) Strand(rank int32, strand int64) {
	p := &f.procs[rank]
	if strand == 0 {
		p.turn = &p.first
		return
	}
	c := p.others[strand]
	if c == nil {
		if p.others == nil {
			p.others = map[int64]*call{}
		}
		c = &call{}
		p.others[strand] = c
	}
	p.turn = c
}

// Gone is that of core.StrandObserver.
func (f *follower) Gone(rank int32, strand int64) {
	p := &f.procs[rank]
	if c := p.others[strand]; c != nil {
		f.finish(int(rank), c)
		delete(p.others, strand)
		if p.turn == c {
			p.turn = &p.first
		}
	}
}

// Call is that of core.Observer.
func (f *follower) Call(o *core.ObservedCall) {
	rank := int(o.Rank)
	c := f.procs[rank].turn
	f.finish(rank, c)
	if o.Call.Begin == 0 {
		return
	}
	c.open, c.returned, c.begin = true, o.Call.Returned, f.src.Time(rank, o.Call.Begin)
	if c.end = c.begin; c.returned {
		c.end = max(c.end, f.src.Time(rank, o.Call.End))
	}
	f.add(rank, event{what: begins, at: c.begin})
}

// finish ends the call under way of a strand.
func (f *follower) finish(rank int, c *call) {
	if c.open && c.returned {
		e := event{what: ends, at: c.end}
		if n := len(c.waits); n > 0 {
			room := &f.now.marks
			*room = append(*room, c.waits...)
			e.waits = (*room)[len(*room)-n:]
		}
		f.add(rank, e)
	}
	clear(c.waits)
	c.open, c.left, c.waits = false, nil, c.waits[:0]
}

// leaves notes that something leaves a process with its call under way.
func (f *follower) leaves(rank int32) *departure {
	c := f.procs[rank].turn
	if c.left == nil {
		c.left = &departure{rank: rank, shown: c.begin}
		f.add(int(rank), event{what: leaves, at: c.begin, left: c.left})
	}
	return c.left
}

// Signal is that of core.Observer.
func (f *follower) Signal(rank int32) core.Mark { return f.leaves(rank) }

// Meet is that of core.Observer.
func (f *follower) Meet(met core.Mark, rank int32) core.Mark {
	a, ok := met.(attendance)
	if !ok {
		a.meeting = &meeting{in: -1}
	}
	a.meeting.come = append(a.meeting.come, f.leaves(rank))
	a.come = a.meeting.come
	return a
}

// Wait is that of core.Observer.
func (f *follower) Wait(rank int32, on core.Mark) {
	c := f.procs[rank].turn
	c.waits = append(c.waits, on)
}

// Over is that of core.Observer.
func (*follower) Over(int32) {}

// Region is that of core.Observer.
func (*follower) Region(int) {}

// Interval is that of core.Observer.
func (*follower) Interval(*core.ObservedInterval) {}

// close ends the calls under way, once the replay is over, and waits until all is worked
// off.
func (f *follower) close() {
	for rank := range f.procs {
		p := &f.procs[rank]
		f.finish(rank, &p.first)
		for _, c := range p.others {
			f.finish(rank, c)
		}
	}
	f.full <- f.now
	close(f.full)
	f.worked.Wait()
}
