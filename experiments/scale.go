package experiments

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/mcchk/mcchk/synth"
)

// Scale measures the analysis of synthetic traces of more and more processes
// with different clocks: the study that section 5 of "On the Growth of the Prime
// Numbers Based Encoded Vector Clock" reports, of 512 to 8,192 processes on a
// pattern of locks.
type Scale struct {
	Pattern string
	Ranks   []int
	Clocks  []string // as 'mcchk analyze --clock' takes them
	Steps   int64    // of the pattern
	Runs    int      // analyses of each trace with each clock in turn; the median counts
	Seed    uint64
	Dir     string // for the traces, one after the other; "": a temporary one
	// Analyze analyses traces in a process of its own and says what that took.
	// It is an error when it finds anything.
	Analyze func(ctx context.Context, dir, clock string) (Cost, error)
	// Progress, if set, is told what begins.
	Progress func(what string)
}

// Cost is what an analysis took.
type Cost struct {
	Wall   time.Duration
	CPU    time.Duration // of user and system, all threads
	Memory int64         // the most that was resident, bytes
}

// ScaleResult is what a Scale found.
type ScaleResult struct {
	scale Scale
	rows  []scaleRow
}

type scaleRow struct {
	ranks    int
	clock    string
	accesses int64
	costs    []Cost
}

// Run generates and measures. Traces are removed.
func (s Scale) Run(ctx context.Context) (*ScaleResult, error) {
	res := &ScaleResult{scale: s}
	for _, ranks := range s.Ranks {
		rows, err := s.measure(ctx, ranks)
		if err != nil {
			return nil, fmt.Errorf("%d processes: %w", ranks, err)
		}
		res.rows = append(res.rows, rows...)
	}
	return res, nil
}

func (s Scale) measure(ctx context.Context, ranks int) ([]scaleRow, error) {
	dir, err := os.MkdirTemp(s.Dir, "mcchk-scale-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s.say("%d processes: generating", ranks)
	e, err := synth.Generate(ctx, dir, synth.Config{Pattern: s.Pattern, Ranks: ranks, Steps: s.Steps, Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	rows := make([]scaleRow, len(s.Clocks))
	for run := range s.Runs {
		for i, clock := range s.Clocks {
			s.say("%d processes: %s, run %d of %d", ranks, clock, run+1, s.Runs)
			cost, err := s.Analyze(ctx, dir, clock)
			if err != nil {
				return nil, fmt.Errorf("clock %s: %w", clock, err)
			}
			rows[i].ranks, rows[i].clock, rows[i].accesses = ranks, clock, e.Accesses
			rows[i].costs = append(rows[i].costs, cost)
		}
	}
	return rows, nil
}

func (s Scale) say(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

// median returns the median of one figure of the runs.
func (r *scaleRow) median(figure func(Cost) float64) float64 {
	var xs []float64
	for _, c := range r.costs {
		xs = append(xs, figure(c))
	}
	slices.Sort(xs)
	if n := len(xs); n%2 == 0 {
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	return xs[len(xs)/2]
}

func wallSeconds(c Cost) float64 { return c.Wall.Seconds() }
func cpuSeconds(c Cost) float64  { return c.CPU.Seconds() }
func mebibytes(c Cost) float64   { return float64(c.Memory) / (1 << 20) }

// Tables returns the figures as a table.
func (r *ScaleResult) Tables() []Table {
	t := Table{Name: "scale", Columns: []string{"pattern", "processes", "steps", "accesses", "clock", "runs", "wall_s", "cpu_s", "peak_mib"}}
	for _, row := range r.rows {
		t.Rows = append(t.Rows, []string{
			r.scale.Pattern, strconv.Itoa(row.ranks), strconv.FormatInt(r.scale.Steps, 10), strconv.FormatInt(row.accesses, 10), row.clock,
			strconv.Itoa(len(row.costs)), decimal(row.median(wallSeconds), 3), decimal(row.median(cpuSeconds), 3), decimal(row.median(mebibytes), 1),
		})
	}
	return []Table{t}
}

// Summary returns the figures for people: a line for each number of processes.
func (r *ScaleResult) Summary() Table {
	t := Table{Columns: []string{"processes"}}
	for _, clock := range r.scale.Clocks {
		t.Columns = append(t.Columns, clock+": wall s", "CPU s", "peak MiB")
	}
	for i, row := range r.rows {
		if i%len(r.scale.Clocks) == 0 {
			t.Rows = append(t.Rows, []string{strconv.Itoa(row.ranks)})
		}
		last := &t.Rows[len(t.Rows)-1]
		*last = append(*last, decimal(row.median(wallSeconds), 2), decimal(row.median(cpuSeconds), 2), decimal(row.median(mebibytes), 0))
	}
	return t
}
