// Package clocks corrects the times of a run, so that nothing happens before what
// it waited for: linear interpolation of measured offsets, and on top of it the
// controlled logical clock with forward and backward amortization (Becker,
// Rabenseifner, Wolf and Linford, "Scalable timestamp synchronization for event
// traces of message-passing applications", Parallel Computing 35, 2009).
//
// What orders calls is known from watching one replay (core.Observer). What that tells
// is collected in slabs of so many events of all processes (Forward): of each slab the
// clocks are put forward by goroutines, each of which follows some process up to where it
// waits for what another one has not come to, while the replay goes on; and what is to be
// known later goes to a temporary file. From that, slab by slab from the last to the
// first, all processes beside one another, is found how far what came before a correction
// may move, and what was wrong before and after (backward.go, survey.go). So memory grows
// with the number of processes, the size of a slab, and with what is under way at a
// moment, not with the length of the run.
//
// All times are in nanoseconds.
package clocks

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
const slack = 4

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
