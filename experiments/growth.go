// Package experiments repeats measurements of the papers that mcchk rests on:
// how fast encoded vector clocks grow, and what they cost against plain vector
// clocks. Each returns its figures as tables, which Write stores as CSV files and
// the command in plot draws; docs/experiments.md holds them beside the papers'.
package experiments

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/evc"
)

// Growth repeats section 3 of "On the Growth of the Prime Numbers Based Encoded
// Vector Clock": its figures 3 to 7.
type Growth struct {
	Runs  int     // simulations averaged for a point of figures 3 and 7, at least 1
	Delay float64 // of messages, in events of one process
	Seed  uint64
	Jobs  int // simulations at a time; 0: one for each CPU
	// Progress, if set, is called now and then with the number of simulations
	// done. Calls do not overlap.
	Progress func(done, of int)
}

// DefaultDelay is the delay of messages with which figure 3 is closest to the paper's.
const DefaultDelay = 3

// What the paper varies.
const (
	figure3Send = 0.6 // probability of a send, against an internal event
	figure4Send = 0.5
	// maxGrowthEvents is far beyond what any simulation here needs.
	maxGrowthEvents = 100_000_000
)

func figure4Processes() []int { return []int{30, 60, 100} }

func figure7Shares() []float64 {
	return []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98}
}

// growthProcesses are the numbers of processes of figures 3 and 7.
func growthProcesses() []int {
	var ns []int
	for n := 10; n <= 100; n += 10 {
		ns = append(ns, n)
	}
	return ns
}

// growthPoint is the mean of some simulations of one setting.
type growthPoint struct {
	processes int
	internal  float64 // share of internal events of all, in steady state
	send      float64
	events    mean // in all
	atProcess mean // of the overflow process
	receives  mean // share of all events
}

// mean is a mean with its standard deviation.
type mean struct{ value, deviation float64 }

func meanOf(xs []float64) mean {
	var m mean
	for _, x := range xs {
		m.value += x / float64(len(xs))
	}
	for _, x := range xs {
		m.deviation += (x - m.value) * (x - m.value)
	}
	if len(xs) > 1 {
		m.deviation = math.Sqrt(m.deviation / float64(len(xs)-1))
	}
	return m
}

// GrowthResult is what a Growth found.
type GrowthResult struct {
	figure3 []growthPoint
	figure7 []growthPoint
	sizes   map[int][]size // figures 4 to 6, by number of processes
}

// size is the size of a timestamp.
type size struct{ event, bits int }

// Run simulates. The error is the context's.
func (g Growth) Run(ctx context.Context) (*GrowthResult, error) {
	res := &GrowthResult{sizes: map[int][]size{}}
	for _, n := range growthProcesses() {
		res.figure3 = append(res.figure3, growthPoint{processes: n, send: figure3Send, internal: (1 - figure3Send) / (1 + figure3Send)})
		for _, share := range figure7Shares() {
			res.figure7 = append(res.figure7, growthPoint{processes: n, send: evc.InternalShare(share), internal: share})
		}
	}
	points := make([]*growthPoint, 0, len(res.figure3)+len(res.figure7))
	for _, ps := range [][]growthPoint{res.figure3, res.figure7} {
		for i := range ps {
			points = append(points, &ps[i])
		}
	}
	if err := g.average(ctx, points); err != nil {
		return nil, err
	}
	for _, n := range figure4Processes() {
		var sizes []size
		g.simulation(n, figure4Send, 0).Run(func(_, bits int) { sizes = append(sizes, size{len(sizes) + 1, bits}) })
		res.sizes[n] = sizes[:len(sizes)-1] // the last one outgrew the vector
	}
	return res, ctx.Err()
}

func (g Growth) simulation(processes int, send float64, run int) evc.Growth {
	return evc.Growth{Processes: processes, Send: send, Delay: g.Delay, Seed: g.Seed + uint64(run), MaxEvents: maxGrowthEvents}
}

// average runs the simulations of points side by side.
func (g Growth) average(ctx context.Context, points []*growthPoint) error {
	jobs := g.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next atomic.Int64
		done int
	)
	for range jobs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(points) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				g.point(ctx, points[i])
				mu.Lock()
				if done++; g.Progress != nil {
					g.Progress(done*g.Runs, len(points)*g.Runs)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

func (g Growth) point(ctx context.Context, p *growthPoint) {
	var events, atProcess, receives []float64
	for run := 0; run < g.Runs && ctx.Err() == nil; run++ {
		grown := g.simulation(p.processes, p.send, run).Run(nil)
		events = append(events, float64(grown.Events))
		atProcess = append(atProcess, float64(grown.AtProcess))
		receives = append(receives, float64(grown.Receives)/float64(grown.Events))
	}
	p.events, p.atProcess, p.receives = meanOf(events), meanOf(atProcess), meanOf(receives)
}

// Tables returns the figures as tables: growth-figure3 and so on.
func (r *GrowthResult) Tables() []Table {
	tables := []Table{growthTable("growth-figure3", r.figure3), growthTable("growth-figure7", r.figure7)}
	for i, n := range figure4Processes() {
		t := Table{Name: fmt.Sprintf("growth-figure%d", 4+i), Columns: []string{"processes", "event", "bits"}}
		for _, s := range r.sizes[n] {
			t.Rows = append(t.Rows, []string{strconv.Itoa(n), strconv.Itoa(s.event), strconv.Itoa(s.bits)})
		}
		tables = append(tables, t)
	}
	return tables
}

func growthTable(name string, points []growthPoint) Table {
	t := Table{Name: name, Columns: []string{
		"processes", "internal_share", "send_probability", "events", "events_deviation", "events_per_process",
		"events_of_overflow_process", "receive_share",
	}}
	for _, p := range points {
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(p.processes), decimal(p.internal, 4), decimal(p.send, 4), decimal(p.events.value, 1), decimal(p.events.deviation, 1),
			decimal(p.events.value/float64(p.processes), 2), decimal(p.atProcess.value, 1), decimal(p.receives.value, 4),
		})
	}
	return t
}

// Summary returns what is held against the paper's text: events until an
// encoded clock outgrew the vector, by number of processes.
func (r *GrowthResult) Summary() Table {
	t := Table{Columns: []string{"processes", "figure 3: events", "per process", "figure 7, 90 % internal: events", "per process"}}
	for _, p := range r.figure3 {
		row := []string{strconv.Itoa(p.processes), decimal(p.events.value, 0), decimal(p.events.value/float64(p.processes), 1)}
		for _, q := range r.figure7 {
			if q.processes == p.processes && q.internal == 0.9 {
				row = append(row, decimal(q.events.value, 0), decimal(q.events.value/float64(q.processes), 1))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
