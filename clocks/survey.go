package clocks

import (
	"math"
	"slices"
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

// Table is what was wrong before and after a correction.
type Table struct {
	Before    Messages  `json:"before"`
	After     Messages  `json:"after"`
	Moves     Moves     `json:"moves"`
	Intervals Intervals `json:"intervals"`
}

// survey compares times before and after a correction, slab by slab from the last to the first.
type survey struct {
	src     *Source
	sweeps  []sweep
	longest int64 // Correct
	procs   []surveyed
	crowds  []*crowd // of which it is not known yet when some came
	late    sums     // of meetings
}

// surveyed is what was found at a process.
type surveyed struct {
	sums
	moves     Moves
	moved     int64
	intervals Intervals
	lengths   lengths
	next      times // the event that was seen last
	any       bool
	sent      []arrived // that are to come
}

// arrived is something that left a process: when what waited for it was over.
type arrived struct {
	at   int64
	to   int32
	over times
}

// sums is what was found of messages, before and after.
type sums struct {
	messages [2]Messages
	reversed [2]int64 // by how much all that are reversed are
}

// lengths are sums over intervals.
type lengths struct {
	time, change float64
	counts       [6]int64 // by threshold
	times        [6]float64
}

// times are those of an event: before and after.
type times [2]int64

// start is when something left a process.
type start struct {
	rank int
	at   times
	done bool // it is known
}

// crowd is a meeting.
type crowd struct {
	come    []start
	waiters []waiter // with times after the correction in end
	missing int      // of those that have come
}

// counts are the departures of a crowd, for counting: ascending, by host and in all.
type counts struct {
	ranks map[int]start
	hosts map[int]*[2][]int64
	all   [2][]int64
}

func newSurvey(src *Source, sweeps []sweep, longest int64) *survey {
	return &survey{src: src, sweeps: sweeps, longest: longest, procs: make([]surveyed, len(sweeps))}
}

// time returns a time of the slab before and after.
func (s *survey) time(rank int, t int64) times { return times{t, s.sweeps[rank].time(t)} }

// slab looks at a slab, which was swept.
func (s *survey) slab(pages []page, behind []byte) {
	each(len(pages), func(rank int) {
		p := &s.procs[rank]
		for i := len(pages[rank].times) - 1; i >= 0; i-- {
			s.event(p, s.time(rank, pages[rank].times[i]))
		}
		// What waited is in this slab, what it waited for in this one or an earlier one.
		for _, m := range pages[rank].sends {
			if m.to != nobody {
				p.sent = append(p.sent, arrived{m.at, m.to, s.time(int(m.to), m.arrived)})
			}
		}
		p.sent = slices.DeleteFunc(p.sent, func(m arrived) bool {
			if m.at < pages[rank].floor {
				return false
			}
			s.message(&p.sums, start{rank: rank, at: s.time(rank, m.at)}, int(m.to), m.over)
			return true
		})
	})
	for d := (decoder{b: behind}); len(d.b) > 0; {
		c := decodeMet(&d)
		for i := range c.waiters {
			w := &c.waiters[i]
			w.end = s.sweeps[w.rank].time(w.at)
		}
		s.crowds = append(s.crowds, c)
	}
	whole := make([]sums, len(s.crowds))
	each(len(s.crowds), func(i int) {
		c := s.crowds[i]
		for k := range c.come {
			if d := &c.come[k]; !d.done && d.at[0] >= pages[d.rank].floor {
				d.done, d.at = true, s.time(d.rank, d.at[0])
				c.missing--
			}
		}
		if c.missing == 0 {
			s.crowd(&whole[i], c)
		}
	})
	for i := range whole {
		s.late.add(&whole[i])
	}
	s.crowds = slices.DeleteFunc(s.crowds, func(c *crowd) bool { return c.missing == 0 })
}

func (s *survey) message(n *sums, from start, rank int, end times) {
	for k := range n.messages {
		m := &n.messages[k]
		m.Messages++
		if end[k] < from.at[k]+s.src.least(from.rank, rank) {
			m.Violations++
		}
		n.late(k, from.at[k]-end[k])
	}
}

// late counts a message that left that much after it had arrived.
func (n *sums) late(k int, by int64) {
	if by > 0 {
		m := &n.messages[k]
		m.Reversed++
		m.MostReversed = max(m.MostReversed, by)
		n.reversed[k] += by
	}
}

func (n *sums) add(other *sums) {
	for k := range n.messages {
		m, o := &n.messages[k], &other.messages[k]
		m.Messages += o.Messages
		m.Reversed += o.Reversed
		m.Violations += o.Violations
		m.MostReversed = max(m.MostReversed, o.MostReversed)
		n.reversed[k] += other.reversed[k]
	}
}

// crowd counts the messages of a meeting.
func (s *survey) crowd(n *sums, c *crowd) {
	slices.SortStableFunc(c.waiters, func(a, b waiter) int { return a.size - b.size })
	var come *counts
	for i, w := range c.waiters {
		if i == 0 || w.size != c.waiters[i-1].size {
			come = s.counted(c.come[:w.size])
		}
		s.messages(n, come, int(w.rank), times{w.at, w.end})
	}
}

// counted returns the departures of those that came to a meeting, ascending.
func (s *survey) counted(come []start) *counts {
	n := &counts{ranks: map[int]start{}, hosts: map[int]*[2][]int64{}}
	for _, d := range come {
		n.ranks[d.rank] = d
		host := n.hosts[s.src.Hosts[d.rank]]
		if host == nil {
			host = new([2][]int64)
			n.hosts[s.src.Hosts[d.rank]] = host
		}
		for k, t := range d.at {
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
	return n
}

// messages counts those of a collective call.
func (s *survey) messages(out *sums, n *counts, rank int, end times) {
	own, within := n.ranks[rank]
	host := n.hosts[s.src.Hosts[rank]]
	for k := range out.messages {
		m := &out.messages[k]
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
			out.late(k, n.all[k][i]-end[k])
		}
	}
}

// above counts the numbers that are greater.
func above(ascending []int64, than int64) int64 {
	i, _ := slices.BinarySearch(ascending, than+1)
	return int64(len(ascending) - i)
}

// event notes an event of a process, which comes before those seen so far.
func (s *survey) event(p *surveyed, at times) {
	p.moves.Events++
	if by := abs(at[1] - at[0]); by > 0 {
		p.moves.Moved++
		p.moved += by
		p.moves.Most = max(p.moves.Most, by)
	}
	if length := p.next[0] - at[0]; p.any && length > 0 && (s.longest == 0 || length <= s.longest) {
		p.interval(float64(length), float64(p.next[1]-at[1]))
	}
	if !p.any || at[0] < p.next[0] {
		p.next, p.any = at, true
	}
}

func (p *surveyed) interval(before, after float64) {
	l, i := &p.lengths, &p.intervals
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

// close adds up what was found.
func (s *survey) close() *Table {
	t := &Table{}
	all, moved, lengths := s.late, int64(0), lengths{}
	for rank := range s.procs {
		p := &s.procs[rank]
		all.add(&p.sums)
		t.Moves.Events += p.moves.Events
		t.Moves.Moved += p.moves.Moved
		t.Moves.Most = max(t.Moves.Most, p.moves.Most)
		moved += p.moved
		t.Intervals.Intervals += p.intervals.Intervals
		t.Intervals.Most = max(t.Intervals.Most, p.intervals.Most)
		lengths.time += p.lengths.time
		lengths.change += p.lengths.change
		for k := range Thresholds {
			lengths.counts[k] += p.lengths.counts[k]
			lengths.times[k] += p.lengths.times[k]
		}
	}
	t.Before, t.After = all.messages[0], all.messages[1]
	for k, m := range []*Messages{&t.Before, &t.After} {
		m.AverageReversed = ratio(float64(all.reversed[k]), float64(m.Reversed))
	}
	t.Moves.Average = ratio(float64(moved), float64(t.Moves.Moved))
	t.Intervals.Average = 100 * ratio(lengths.change, lengths.time)
	for k, threshold := range Thresholds {
		t.Intervals.Above = append(t.Intervals.Above, Above{
			Threshold: 100 * threshold,
			Intervals: 100 * ratio(float64(lengths.counts[k]), float64(t.Intervals.Intervals)),
			Time:      100 * ratio(lengths.times[k], lengths.time),
		})
	}
	return t
}

func abs(n int64) int64 { return max(n, -n) }

func ratio(a, of float64) float64 {
	if of == 0 {
		return 0
	}
	return a / of
}
