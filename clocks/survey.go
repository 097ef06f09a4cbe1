package clocks

import (
	"math"
	"slices"

	"github.com/mcchk/mcchk/core"
)

// Messages says how many messages there are, and how many are impossible by their
// times. Those of collective calls count too, as the messages that their meaning asks
// for: from each process that another one waits for to that one (section 4 of the paper).
type Messages struct {
	Messages   int64 `json:"messages"`
	Reversed   int64 `json:"reversed"`   // arrived before they left
	Violations int64 `json:"violations"` // arrived before they can have arrived, the reversed ones included
	// By how much those that are reversed are, ns.
	AverageReversed float64 `json:"average_reversed_ns"`
	MostReversed    int64   `json:"most_reversed_ns"`
}

// Moves says how far events were moved, ns. Events are the beginnings and ends of calls.
type Moves struct {
	Events  int64   `json:"events"`
	Moved   int64   `json:"moved"`
	Average float64 `json:"average_ns"` // of those that were
	Most    int64   `json:"most_ns"`
}

// Thresholds are the deviations that Intervals counts beyond, in parts of an interval's
// length (table 4 of the paper).
var Thresholds = []float64{0, 0.0001, 0.001, 0.01, 0.1, 1}

// Intervals says how much the time between neighbouring events of a process changed.
type Intervals struct {
	Intervals int64   `json:"intervals"`
	Average   float64 `json:"average_percent"` // sum of the changes by sum of the lengths
	Most      float64 `json:"most_percent"`
	Above     []Above `json:"above"`
}

// Above is what share of intervals, and of the time that all take, changed by more
// than a threshold. All are in percent.
type Above struct {
	Threshold float64 `json:"threshold_percent"`
	Intervals float64 `json:"intervals_percent"`
	Time      float64 `json:"time_percent"`
}

// Deviation is how far times are from others, ns: on average and at most, whichever is
// later.
type Deviation struct {
	Average float64
	Most    int64
}

// Deviate returns the deviation of some times.
func Deviate(by []int64) (d Deviation) {
	for _, n := range by {
		d.Average += float64(abs(n))
		d.Most = max(d.Most, abs(n))
	}
	d.Average = ratio(d.Average, float64(len(by)))
	return d
}

// Table is what a Survey finds.
type Table struct {
	Before    Messages  `json:"before"`
	After     Messages  `json:"after"`
	Moves     Moves     `json:"moves"`
	Intervals Intervals `json:"intervals"`
}

// Survey watches a replay, and compares times before and after a correction.
type Survey struct {
	// Longest is the longest interval that Table.Intervals has, ns; 0: all count. The paper
	// leaves out the pauses of its runs.
	Longest int64
	follower
	src       Source
	corrected func(rank int, t int64) int64
	table     Table
	reversed  [2]float64 // sums of Messages.AverageReversed
	last      []times    // event of each process
	any       []bool
	lengths   lengths
}

// lengths are sums over intervals.
type lengths struct {
	time, change float64
	counts       [6]int64 // by threshold
	times        [6]float64
}

var _ core.Observer = (*Survey)(nil)

// times are those of an event: before and after.
type times [2]int64

// NewSurvey returns a Survey. corrected turns times of the Source into others.
func NewSurvey(src Source, corrected func(rank int, t int64) int64) *Survey {
	s := &Survey{src: src, corrected: corrected, last: make([]times, len(src.Hosts)), any: make([]bool, len(src.Hosts))}
	s.follower = newFollower(len(src.Hosts), s.ended)
	return s
}

// start is when something left a process.
type start struct {
	rank int
	at   times
}

// crowd is a meeting up to some process.
type crowd struct {
	start
	before *crowd
	counts *counts // made when somebody waits for it
}

// counts are the departures of a crowd, for counting: ascending, by host and in all.
type counts struct {
	ranks map[int]start
	hosts map[int]*[2][]int64
	all   [2][]int64
}

// Call is that of core.Observer.
func (s *Survey) Call(o *core.ObservedCall) { s.next(&s.src, o) }

func (s *Survey) start(rank int32) start {
	t := s.calls[rank].begin
	return start{int(rank), times{t, s.corrected(int(rank), t)}}
}

// Signal is that of core.Observer.
func (s *Survey) Signal(rank int32) core.Mark { return s.start(rank) }

// Meet is that of core.Observer.
func (s *Survey) Meet(met core.Mark, rank int32) core.Mark {
	before, _ := met.(*crowd)
	return &crowd{start: s.start(rank), before: before}
}

// counted returns the departures of a crowd, ascending.
func (s *Survey) counted(c *crowd) *counts {
	if c.counts != nil {
		return c.counts
	}
	n := &counts{ranks: map[int]start{}, hosts: map[int]*[2][]int64{}}
	for at := c; at != nil; at = at.before {
		n.ranks[at.rank] = at.start
		host := n.hosts[s.src.Hosts[at.rank]]
		if host == nil {
			host = new([2][]int64)
			n.hosts[s.src.Hosts[at.rank]] = host
		}
		for k, t := range at.at {
			host[k] = append(host[k], t)
			n.all[k] = append(n.all[k], t)
		}
	}
	for k := range n.all {
		slices.Sort(n.all[k])
		for _, host := range n.hosts {
			slices.Sort(host[k])
		}
	}
	c.counts = n
	return n
}

func (s *Survey) ended(rank int, c *call) {
	begin := times{c.begin, s.corrected(rank, c.begin)}
	s.event(rank, begin)
	if !c.returned {
		return
	}
	end := times{c.end, s.corrected(rank, c.end)}
	for _, on := range c.waits {
		switch m := on.(type) {
		case start:
			if m.rank != rank {
				s.message(m, rank, end)
			}
		case *crowd:
			s.messages(s.counted(m), rank, end)
		}
	}
	s.event(rank, end)
}

func (s *Survey) message(from start, rank int, end times) {
	for k, m := range []*Messages{&s.table.Before, &s.table.After} {
		m.Messages++
		if end[k] < from.at[k]+s.src.least(from.rank, rank) {
			m.Violations++
		}
		s.late(k, m, from.at[k]-end[k])
	}
}

// late counts a message that left that much after it had arrived.
func (s *Survey) late(k int, m *Messages, by int64) {
	if by > 0 {
		m.Reversed++
		m.MostReversed = max(m.MostReversed, by)
		s.reversed[k] += float64(by)
	}
}

// messages counts those of a collective call.
func (s *Survey) messages(n *counts, rank int, end times) {
	own, within := n.ranks[rank]
	host := n.hosts[s.src.Hosts[rank]]
	for k, m := range []*Messages{&s.table.Before, &s.table.After} {
		m.Messages += int64(len(n.all[k]))
		m.Violations += above(n.all[k], end[k]-s.src.Latency.Network)
		if host != nil {
			m.Violations += above(host[k], end[k]-s.src.Latency.Host) - above(host[k], end[k]-s.src.Latency.Network)
		}
		if within {
			m.Messages--
			if own.at[k] > end[k]-s.src.Latency.Host {
				m.Violations--
			}
		}
		for i := len(n.all[k]) - 1; i >= 0 && n.all[k][i] > end[k]; i-- {
			s.late(k, m, n.all[k][i]-end[k])
		}
	}
}

// above counts the numbers that are greater.
func above(ascending []int64, than int64) int64 {
	i, _ := slices.BinarySearch(ascending, than+1)
	return int64(len(ascending) - i)
}

// event notes an event of a process.
func (s *Survey) event(rank int, at times) {
	m := &s.table.Moves
	m.Events++
	if by := abs(at[1] - at[0]); by > 0 {
		m.Moved++
		m.Average += float64(by)
		m.Most = max(m.Most, by)
	}
	last := s.last[rank]
	if length := at[0] - last[0]; s.any[rank] && length > 0 && (s.Longest == 0 || length <= s.Longest) {
		s.interval(float64(length), float64(at[1]-last[1]))
	}
	if !s.any[rank] || at[0] > last[0] {
		s.last[rank], s.any[rank] = at, true
	}
}

func (s *Survey) interval(before, after float64) {
	l, i := &s.lengths, &s.table.Intervals
	change := math.Abs(after - before)
	i.Intervals++
	i.Most = max(i.Most, 100*change/before)
	l.time += before
	l.change += change
	for k, t := range Thresholds {
		if change > t*before {
			l.counts[k]++
			l.times[k] += before
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

// Close ends the pass, when the replay is over.
func (s *Survey) Close() *Table {
	s.close()
	t := &s.table
	for k, m := range []*Messages{&t.Before, &t.After} {
		m.AverageReversed = ratio(s.reversed[k], float64(m.Reversed))
	}
	t.Moves.Average = ratio(t.Moves.Average, float64(t.Moves.Moved))
	t.Intervals.Average = 100 * ratio(s.lengths.change, s.lengths.time)
	for k, threshold := range Thresholds {
		t.Intervals.Above = append(t.Intervals.Above, Above{
			Threshold: 100 * threshold,
			Intervals: 100 * ratio(float64(s.lengths.counts[k]), float64(t.Intervals.Intervals)),
			Time:      100 * ratio(s.lengths.times[k], s.lengths.time),
		})
	}
	return t
}

func ratio(a, of float64) float64 {
	if of == 0 {
		return 0
	}
	return a / of
}
