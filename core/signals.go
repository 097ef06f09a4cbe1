package core

import (
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// Signal is what a signal event deposits for the wait events that match it
// (Schwitanski et al.,
// "An On-the-Fly Method to Exchange Vector Clocks in Distributed-Memory Programs",
// definitions 4 and 5). The zero Signal was not given yet.
type Signal struct {
	given  bool
	region int
	time   evc.Time
	mark   Mark // what an Observer has it carry
	// first and last are the strands that wait for it, in the order in which they
	// began to; those between are behind the first (synchronization.behind).
	first, last *Strand
}

// Given reports whether the signal was given.
func (s *Signal) Given() bool { return s.given }

// Wait is a wait event on a signal.
type Wait struct {
	On *Signal
	// Soft: the model draws an order where the run may have passed without it.
	// It is given up when nothing else can go on.
	Soft bool
	// Coming: as long as it is not given, somebody will give it who is still to do so, and what that one
	// knows then.
	Coming bool
	// Early: it is more likely than others to be for what never came, and is given up
	// before them.
	Early bool
	What  func() string // what is waited for, for a strand that stands still; may be nil
	Then  func() []Wait // what else to wait for, known only when this is over; may be nil
}

// synchronization is the synchronization event that a strand is in.
type synchronization struct {
	waits  []Wait            // that are not over; nil: the strand is in none
	buffer []Wait            // storage of waits; what is over is cleared, since a time holds its phase's vectors
	call   *regions.CallInfo // whose waits these are
	after  func()            // to do once they are over
	// quiet: it is a note of the tracer's that orders nobody else. Where it waits for nothing new,
	// the separate region goes on.
	quiet   bool
	learned bool // something, from a wait; the phase may have ended since then
	// behind is the strand that began to wait for the same signal next.
	behind *Strand
}

func (m *Machine) give(s *Signal, t evc.Time) {
	s.given, s.region, s.time = true, m.index, t
	for w := s.first; w != nil; {
		next := w.sync.behind
		w.sync.behind = nil
		w.state = running
		m.queue.add(w)
		w = next
	}
	s.first, s.last = nil, nil
}

// await lets a strand wait for the signal, which was not given yet.
func (s *Signal) await(w *Strand) {
	if s.last == nil {
		s.first = w
	} else {
		s.last.sync.behind = w
	}
	s.last = w
	w.state = waiting
}

// forsake lets a strand wait for the signal no more.
func (s *Signal) forsake(w *Strand) {
	var before *Strand
	at := &s.first
	for *at != w {
		before = *at
		at = &before.sync.behind
	}
	if *at, w.sync.behind = w.sync.behind, nil; s.last == w {
		s.last = before
	}
}

// Announce gives a signal that orders nobody: who waits for it goes on.
func (m *Machine) Announce(s *Signal) { m.give(s, evc.Time{}) }

// past reports whether to wait for a signal that was given orders nothing any
// more that is to come.
func (m *Machine) past(s *Signal) bool { return s.region != m.index || m.clock.Past(s.time) }

// Synchronize performs a synchronization event of the strand: the signals carry
// its timestamp, its clock ticks once (rule R1 of package evc; not where neither it nor others
// learn anything, as of a value that is read again and again), and it goes on with after, which may
// be nil, when every wait is over.
func (s *Strand) Synchronize(c *Call, signals []*Signal, waits []Wait, after func()) {
	info := s.Info(c)
	if c.members != nil {
		info = s.InfoOn(c, Exposer{}, "")
		info.Members = c.members
	}
	s.synchronize(info, c.Returned, signals, waits, after)
}

func (s *Strand) synchronize(by *regions.CallInfo, returned bool, signals []*Signal, waits []Wait, after func()) {
	m, y := s.m, &s.sync
	now := m.clock.Time(m.clock.Now(int(s.line)))
	y.learned = false
	if y.quiet = len(signals) == 0 && trace.IsNote(by.Fn); !y.quiet {
		m.clock.Tick(int(s.line))
	}
	y.call = by
	y.begin(waits, after)
	m.watch.signal(s, signals)
	for _, g := range signals {
		m.give(g, now)
	}
	if !returned {
		// The strand never left this call: its signals stand, and nothing of
		// what comes after it was recorded.
		s.state = ended
		return
	}
	s.goOn()
}

// begin begins an event: it is over with its waits, and then comes after.
func (y *synchronization) begin(waits []Wait, after func()) {
	y.after = after
	y.buffer = append(y.buffer[:0], waits...)
	y.waits = y.buffer // not nil: an event is under way
}

// over forgets the waits of an event that is over or given up.
func (y *synchronization) over() {
	clear(y.buffer)
	y.waits, y.buffer = nil, y.buffer[:0]
}

// Synchronizing returns the call whose waits were over last.
func (s *Strand) Synchronizing() *regions.CallInfo { return s.sync.call }

// goOn takes the waits of the strand's synchronization event as far as they
// are over. It reports whether the event is finished.
func (s *Strand) goOn() bool {
	m, y := s.m, &s.sync
	for len(y.waits) > 0 {
		w := y.waits[0]
		if !w.On.given {
			w.On.await(s)
			return false
		}
		switch {
		case w.On.region != m.index:
		case s.line == noLine:
			s.due, s.stale = m.clock.Join(s.due, w.On.time), true
		default:
			if !m.forgets() { // of thousands of processes that is most of the work, and of the memory
				before := m.clock.Now(int(s.line))
				m.clock.Merge(int(s.line), w.On.time)
				y.learned = y.learned || m.clock.Now(int(s.line)) != before
			}
			m.watch.waited(s, w.On.mark)
		}
		var next []Wait
		if w.Then != nil {
			next = w.Then()
		}
		if len(next) == 1 { // of a lock there may be thousands
			y.waits[0] = next[0]
			continue
		}
		if y.waits = y.waits[1:]; len(next) > 0 {
			y.waits = append(next, y.waits...)
		}
	}
	y.over()
	s.state = running
	switch {
	case s.line == noLine: // its next event begins a separate region
	case !y.quiet:
		m.watch.over(s)
		s.beginSegment(y.call)
	default:
		m.watch.over(s)
		if y.learned {
			m.clock.Tick(int(s.line))
			s.beginSegment(y.call)
		}
	}
	if after := y.after; after != nil {
		y.after = nil
		s.turn()
		after()
	}
	return true
}
