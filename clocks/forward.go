package clocks

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/core"
)

// Forward watches the replay: where a call ended before what it waited for
// had arrived, the clock of its process is put forward (section 3.1 of the paper; for
// collective calls 4.1).
type Forward struct {
	follower
	pass   int
	survey bool
	procs  []process
	dealt  dealt  // the slab under way
	pages  []page // of it, by rank
	met    struct {
		sync.Mutex
		all []met // of the slab under way
	}
	out   slabFile
	err   error
	slabs int64

	jumps atomic.Int64
	late  atomic.Int64 // the most by which anything came too early, by the times shown
	most  atomic.Int64 // the farthest that any clock was put forward
}

var _ core.Observer = (*Forward)(nil)

// process is how far a process is followed.
type process struct {
	line   line
	events []event // that are to come
	kept   []event // of an earlier slab that are to come, in storage of their own
	last   int64   // the latest event so far
	others bool    // it has several strands

	mu     sync.Mutex
	behind []int32 // processes that wait for something that leaves this one
}

// NewForward returns a Forward for a run. Where there is to be a Table, more is kept for it.
func NewForward(src Source, survey bool) (*Forward, error) { return newForward(src, survey, 0) }

func newForward(src Source, survey bool, pass int) (*Forward, error) {
	f := &Forward{pass: pass, survey: survey, procs: make([]process, len(src.Hosts)), pages: make([]page, len(src.Hosts))}
	if err := f.out.create(); err != nil {
		return nil, err
	}
	for i := range f.procs {
		f.procs[i].line.slower, f.procs[i].last = slower[pass], math.MinInt64
	}
	f.begin(src, f.work)
	return f, nil
}

// work puts clocks forward in a slab. All processes are followed beside one another, each up to where
// it waits for what another one has not come to yet.
func (f *Forward) work(s *slab) {
	var ready []int32
	f.dealt.deal(s, len(f.procs))
	for rank := range f.procs {
		p := &f.procs[rank]
		f.pages[rank].empty(p.last)
		p.behind = p.behind[:0]
		if p.events = f.dealt.of(rank); len(p.kept) > 0 {
			p.kept = append(p.kept, p.events...)
			p.events = p.kept
		}
		if p.others = p.others || slices.ContainsFunc(p.events, func(e event) bool { return e.other }); p.others {
			// The replay goes on with one strand as far as it can: they have one clock.
			slices.SortStableFunc(p.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		}
		if len(p.events) > 0 {
			ready = append(ready, int32(rank))
		}
	}
	f.met.all = f.met.all[:0]
	newCrew(ready).work(func(rank int32) []int32 { return f.follow(rank, false) })
	for rank := range f.procs {
		f.procs[rank].keep()
	}
	f.write()
}

// keep keeps events that could not be followed in the slab: their storage is used again.
func (p *process) keep() {
	kept := make([]event, 0, len(p.events))
	for _, e := range p.events {
		e.waits = append([]core.Mark(nil), e.waits...)
		kept = append(kept, e)
	}
	p.events, p.kept = nil, kept
	if len(kept) == 0 {
		p.kept = nil
	}
}

// write writes the slab under way.
func (f *Forward) write() {
	f.slabs++
	for i := range f.met.all {
		f.limit(&f.met.all[i])
	}
	if f.err != nil {
		return
	}
	mets := f.met.all
	if !f.survey {
		mets = nil
	}
	f.err = f.out.write(len(f.pages), func(rank int, to []byte) []byte { return f.pages[rank].encode(to, f.survey) }, mets)
}

// follow follows a process up to where it waits for what has not left another one yet, or,
// by force, to the end. It returns those that may go on, then.
func (f *Forward) follow(rank int32, force bool) (ready []int32) {
	p := &f.procs[rank]
	for len(p.events) > 0 {
		e := &p.events[0]
		switch e.what {
		case leaves:
			e.left.at = e.at + p.line.at(e.at)
			e.left.known.Store(true)
		case begins:
			f.pages[rank].event(e.at, f.survey)
		case ends:
			if !force && !f.whole(rank, e.waits) {
				return append(ready, p.awaken()...)
			}
			f.ended(rank, p, e)
			f.pages[rank].event(e.at, f.survey)
		}
		p.last = max(p.last, e.at)
		p.events = p.events[1:]
	}
	return append(ready, p.awaken()...)
}

// awaken returns the processes that wait for this one: there may be what they wait for.
func (p *process) awaken() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.behind
	p.behind = nil
	return out
}

// whole reports whether all is known that a call waited for. Where it is not, the process
// is noted with another one that has to go on first.
func (f *Forward) whole(rank int32, waits []core.Mark) bool {
	missing := func(d *departure) bool {
		if d.known.Load() {
			return false
		}
		p := &f.procs[d.rank]
		p.mu.Lock()
		defer p.mu.Unlock()
		if d.known.Load() {
			return false
		}
		p.behind = append(p.behind, rank)
		return true
	}
	for _, on := range waits {
		switch m := on.(type) {
		case *departure:
			if missing(m) {
				return false
			}
		case attendance:
			for n := m.sure(); n < int64(len(m.come)); n = m.sure() {
				if missing(m.come[n]) {
					return false
				}
				m.more(n)
			}
		}
	}
	return true
}

func (f *Forward) ended(rank int32, p *process, e *event) {
	at, shown := f.src.arrival(int(rank), e.waits, slack)
	if shown > e.at {
		raise(&f.late, shown-e.at)
	}
	before := p.line.last.after
	if jumped, higher := p.line.advance(e.at, at); jumped || higher {
		j := p.line.last
		raise(&f.most, j.after)
		if jumped {
			f.jumps.Add(1)
		} else {
			j.before, j.past = before, j.at
		}
		f.pages[rank].jumps = append(f.pages[rank].jumps, j)
	}
	end := max(e.at+p.line.at(e.at), at)
	for _, on := range e.waits {
		switch m := on.(type) {
		case *departure:
			if m.rank != rank && m.known.Load() {
				f.pages[m.rank].send(sent{at: m.shown, to: rank, arrived: e.at, room: end - f.src.least(int(m.rank), int(rank)) - slack - m.at})
			}
		case attendance:
			f.attended(m, waiter{rank: rank, size: len(m.come), at: e.at, end: end})
		}
	}
}

// attended notes a call that waited for a meeting.
func (f *Forward) attended(a attendance, w waiter) {
	f.met.Lock()
	defer f.met.Unlock()
	m := a.meeting
	if m.in != f.slabs {
		m.in, m.number = f.slabs, len(f.met.all)
		f.met.all = append(f.met.all, met{})
	}
	here := &f.met.all[m.number]
	if len(a.come) > len(here.come) {
		here.come = a.come
	}
	here.waiters = append(here.waiters, w)
}

func raise(a *atomic.Int64, to int64) {
	for now := a.Load(); to > now && !a.CompareAndSwap(now, to); now = a.Load() {
	}
}

// Close ends the pass, when the replay is over, and says how many times clocks were
// put forward.
func (f *Forward) Close() (jumps int, err error) {
	f.close()
	// What is left waits in a circle: the clock of some process went back.
	left := false
	for rank := range f.procs {
		f.pages[rank].empty(f.procs[rank].last)
	}
	f.met.all = f.met.all[:0]
	for rank := range f.procs {
		if p := &f.procs[rank]; len(p.kept) > 0 {
			left = true
			p.events = p.kept
			f.follow(int32(rank), true)
		}
	}
	if left {
		f.write()
	}
	return int(f.jumps.Load()), f.err
}

// Again returns the pass that has to be made instead of this one, which is closed, since
// clocks were put forward much farther than what came too early asks for: corrections
// added up. nil: there need not be one, or no other would help.
func (f *Forward) Again() (*Forward, error) {
	if f.most.Load() <= avalanche*f.late.Load() || f.pass+1 == len(slower) {
		return nil, nil
	}
	f.out.close()
	return newForward(f.src, f.survey, f.pass+1)
}

// Discard gives up what a pass has kept, which is closed.
func (f *Forward) Discard() { f.out.close() }

// crew is goroutines that work on processes that are ready.
type crew struct {
	mu    sync.Mutex
	more  *sync.Cond
	ready []int32
	busy  int
}

func newCrew(ready []int32) *crew {
	c := &crew{ready: ready}
	c.more = sync.NewCond(&c.mu)
	return c
}

// share is how many processes somebody takes at a time, at most.
const share = 64

// work has processes worked on until none is ready any more. What work returns is ready.
func (c *crew) work(on func(int32) []int32) {
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var mine, ready []int32
			for {
				if mine = c.take(mine[:0], ready); len(mine) == 0 {
					return
				}
				ready = ready[:0]
				for _, rank := range mine {
					ready = append(ready, on(rank)...)
				}
			}
		})
	}
	all.Wait()
}

// take gives what is ready now, and takes some; none: all is done.
func (c *crew) take(mine, ready []int32) []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(mine) > 0 { // it was at work
		c.busy--
	}
	c.ready = append(c.ready, ready...)
	for len(c.ready) == 0 && c.busy > 0 {
		c.more.Wait()
	}
	n := len(c.ready)
	if n == 0 {
		c.more.Broadcast()
		return mine[:0]
	}
	n = min(share, (n+1)/2)
	mine = append(mine, c.ready[len(c.ready)-n:]...)
	c.ready = c.ready[:len(c.ready)-n]
	c.busy++
	if len(c.ready) > 0 {
		c.more.Signal()
	}
	return mine
}
