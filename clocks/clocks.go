// Package clocks corrects the times of a run, so that nothing happens before what
// it waited for: linear interpolation of measured offsets, and on top of it the
// controlled logical clock with forward and backward amortization (Becker,
// Rabenseifner, Wolf and Linford, "Scalable timestamp synchronization for event
// traces of message-passing applications", Parallel Computing 35, 2009).
//
// What orders calls is known from watching replays (core.Observer), of which a
// correction takes two: the first finds which calls end too early, and moves them
// and what comes after them (Forward); the second finds how far what comes before
// them may move (Backward). A third one counts what is wrong before and after
// (Survey). Memory grows with the number of corrections and of what lies in their
// neighbourhood, not with the length of the run.
//
// All times are in nanoseconds.
package clocks

import (
	"cmp"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Source says of a run what a correction needs beside its replay.
type Source struct {
	// Hosts is, by rank, on which host a process ran: those of one host have one clock.
	Hosts []int
	// Time turns a time of a process's own clock into that of the run, as well as is
	// known without the replay.
	Time    func(rank int, local int64) int64
	Latency Latency
}

// Latency is the least time that anything takes from one process to another.
type Latency struct {
	Host    int64 // of processes of one host
	Network int64 // of others
}

// least is the least time from one process to another.
func (s *Source) least(from, to int) int64 {
	if s.Hosts[from] == s.Hosts[to] {
		return s.Latency.Host
	}
	return s.Latency.Network
}

// Offset is the relation of a process's clock to the reference at a moment.
type Offset struct {
	Local, Reference int64
	RoundTrip        int64 // of the exchange that measured it; 0: the clocks are one
}

// Interpolate returns what turns a process's own time into the reference's: by the
// offset where there is one, on the line through the first and the last where there
// are several (section 2 of the paper), unchanged where there is none.
func Interpolate(offsets []Offset) func(local int64) int64 {
	if len(offsets) == 0 {
		return func(local int64) int64 { return local }
	}
	first, last := offsets[0], offsets[len(offsets)-1]
	if last.Local <= first.Local {
		return func(local int64) int64 { return local + first.Reference - first.Local }
	}
	begin, end := first.Reference-first.Local, last.Reference-last.Local
	slope := float64(end-begin) / float64(last.Local-first.Local)
	return func(local int64) int64 {
		return local + begin + int64(slope*float64(local-first.Local))
	}
}

// slack makes up for rounding of corrected times: what a correction asks for beyond
// the least latency.
const slack = 2

// The clock of a process that was put forward runs slower by one part in so many until
// it shows its own time again, which is 1 - γ with γ the control variable of the paper:
// 0.999 is good enough for clocks whose drifts differ by less than 10⁻⁴. Where clocks push
// one another ever farther ahead, further passes take lesser γ (section 5).
var slower = []int64{1000, 100, 10}

// avalanche is how much farther than any message is late a clock may be put forward
// before another pass is made.
const avalanche = 2

// gentle is how much longer than the jump the stretch is before it, over which it
// is spread: the paper wants a few percent.
const gentle = 50

// line is the correction of one process by forward amortization.
type line struct {
	slower int64
	jumps  []jump
}

// jump is a moment at which a process's clock is put forward.
type jump struct {
	at            int64 // uncorrected
	before, after int64 // correction up to the moment, and from it on
}

// at returns the correction at a moment: that after a jump at the same moment.
func (l *line) at(t int64) int64 {
	i, found := slices.BinarySearchFunc(l.jumps, t, func(j jump, t int64) int { return cmp.Compare(j.at, t) })
	if found {
		return l.jumps[i].after
	}
	if i == 0 {
		return 0
	}
	return l.later(&l.jumps[i-1], t)
}

// later returns what is left of the correction of a jump at a later moment.
func (l *line) later(j *jump, t int64) int64 { return max(0, j.after-(t-j.at)/l.slower) }

// advance puts the clock forward from a moment on, so that it shows at least `to` there.
func (l *line) advance(t, to int64) {
	now := l.at(t)
	if t+now >= to {
		return
	}
	i, found := slices.BinarySearchFunc(l.jumps, t, func(j jump, t int64) int { return cmp.Compare(j.at, t) })
	if found {
		l.jumps[i].after = to - t
	} else {
		l.jumps = slices.Insert(l.jumps, i, jump{at: t, before: now, after: to - t})
	}
	// Moments of several threads may come out of order.
	for k := i + 1; k < len(l.jumps); k++ {
		j := &l.jumps[k]
		j.before = l.later(&l.jumps[k-1], j.at)
		j.after = max(j.after, j.before)
	}
}

// follower follows the calls of a replay, as all passes do. A call of a process is
// over when its next one begins.
type follower struct {
	onlooker
	calls []call
	over  func(rank int, c *call)
}

// call is the call under way of a process, in times of the Source.
type call struct {
	open, returned bool
	begin, end     int64
	waits          []core.Mark
}

func newFollower(ranks int, over func(int, *call)) follower {
	return follower{calls: make([]call, ranks), over: over}
}

// next ends the call under way of a process and begins another.
func (f *follower) next(src *Source, o *core.ObservedCall) {
	rank := int(o.Rank)
	f.finish(rank)
	c := &f.calls[rank]
	c.open, c.returned = o.Call.Begin != 0, o.Call.Returned
	c.begin = src.Time(rank, o.Call.Begin)
	if c.end = c.begin; c.returned {
		c.end = max(c.end, src.Time(rank, o.Call.End))
	}
}

func (f *follower) finish(rank int) {
	c := &f.calls[rank]
	if c.open {
		f.over(rank, c)
	}
	c.open, c.waits = false, c.waits[:0]
}

// Wait is that of core.Observer.
func (f *follower) Wait(rank int32, on core.Mark) {
	c := &f.calls[rank]
	c.waits = append(c.waits, on)
}

// onlooker is what no observer of this package is interested in.
type onlooker struct{}

// Over is that of core.Observer.
func (onlooker) Over(int32) {}

// Region is that of core.Observer.
func (onlooker) Region(int) {}

// Interval is that of core.Observer.
func (onlooker) Interval(*core.ObservedInterval) {}

// close ends the calls under way, once the replay is over.
func (f *follower) close() {
	for rank := range f.calls {
		f.finish(rank)
	}
}

// Kind says which times to go by.
type Kind string

// Kinds of times.
const (
	Measured     Kind = "measured"     // those of the clocks, with the offsets at the beginning of the run
	Interpolated Kind = "interpolated" // with offsets between those at its beginning and its end
	Corrected    Kind = "corrected"    // with the controlled logical clock besides
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Measured, Interpolated, Corrected} }
