package experiments

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/mcchk/mcchk/clocks"
	"github.com/mcchk/mcchk/synth"
)

// Clocks measures what the controlled logical clock does to runs whose clocks drift:
// figures 5 and 6 and tables 3 and 4 of "Scalable timestamp synchronization for event
// traces of message-passing applications", and, which the paper could not, how near
// corrected times are to the true ones.
type Clocks struct {
	Pattern string
	Ranks   []int
	PerHost int   // processes of a host, which have one clock
	Steps   int64 // of the pattern
	Runs    int   // with each number of processes, of other clocks and times each
	Seed    uint64
	Dir     string // for the traces, one after the other; "": a temporary one
	// Correct writes the traces of a run, and corrects its times.
	Correct func(ctx context.Context, dir string, c synth.Config, perHost int) (*Corrected, error)
	// Progress, if set, is told what begins.
	Progress func(what string)
}

// Corrected is what a correction did.
type Corrected struct {
	clocks.Table
	Jumps    int           // violations that were corrected explicitly
	Analysis time.Duration // what searching the run for races took
	Clocks   time.Duration // what the correction took, without the Table
	Errors   map[clocks.Kind]Errors
}

// Errors is how far times are from the true ones.
type Errors struct {
	Times   clocks.Deviation // of each event from the clock that all times are told by
	Between clocks.Deviation // of the time between an event of the run and the next one of any process
}

// ClocksResult is what a Clocks found.
type ClocksResult struct {
	clocks Clocks
	rows   []clocksRow
}

type clocksRow struct {
	ranks int
	runs  []*Corrected
}

// Run generates and corrects. Traces are removed.
func (c Clocks) Run(ctx context.Context) (*ClocksResult, error) {
	res := &ClocksResult{clocks: c}
	for _, ranks := range c.Ranks {
		row := clocksRow{ranks: ranks}
		for run := range c.Runs {
			if c.Progress != nil {
				c.Progress(fmt.Sprintf("%d processes: run %d of %d", ranks, run+1, c.Runs))
			}
			one, err := c.run(ctx, ranks, c.Seed+uint64(run))
			if err != nil {
				return nil, fmt.Errorf("%d processes: %w", ranks, err)
			}
			row.runs = append(row.runs, one)
		}
		res.rows = append(res.rows, row)
	}
	return res, nil
}

func (c Clocks) run(ctx context.Context, ranks int, seed uint64) (*Corrected, error) {
	dir, err := os.MkdirTemp(c.Dir, "mcchk-clocks-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return c.Correct(ctx, dir, synth.Config{Pattern: c.Pattern, Ranks: ranks, Steps: c.Steps, Seed: seed}, c.PerHost)
}

// mean returns the mean of a figure of the runs.
func (r *clocksRow) mean(figure func(*Corrected) float64) float64 {
	sum := 0.0
	for _, run := range r.runs {
		sum += figure(run)
	}
	return sum / float64(len(r.runs))
}

// most returns the greatest of a figure of the runs.
func (r *clocksRow) most(figure func(*Corrected) float64) float64 {
	var all []float64
	for _, run := range r.runs {
		all = append(all, figure(run))
	}
	return slices.Max(all)
}

func percent(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}

const micro = 1e-3 // microseconds of a nanosecond

func reversed(c *Corrected) float64   { return percent(c.Before.Reversed, c.Before.Messages) }
func violations(c *Corrected) float64 { return percent(c.Before.Violations, c.Before.Messages) }
func explicit(c *Corrected) float64   { return percent(int64(c.Jumps), c.Before.Messages) }
func left(c *Corrected) float64       { return float64(c.After.Violations) }
func analysed(c *Corrected) float64   { return c.Analysis.Seconds() }
func corrected(c *Corrected) float64  { return c.Clocks.Seconds() }

func averageError(c *Corrected) float64 { return micro * c.Before.AverageReversed }
func mostError(c *Corrected) float64    { return micro * float64(c.Before.MostReversed) }

// wrong is how wrong the time between neighbouring events is by times of a kind, on average,
// microseconds.
func wrong(k clocks.Kind) func(*Corrected) float64 {
	return func(c *Corrected) float64 { return micro * c.Errors[k].Between.Average }
}

// Tables returns the figures, a table for each of the paper's and one of errors.
func (r *ClocksResult) Tables() []Table {
	figure5 := Table{Name: "clocks-figure5", Columns: []string{"pattern", "processes", "runs", "messages", "reversed_percent", "violations_percent", "corrected_percent", "violations_left"}}
	table3 := Table{Name: "clocks-table3", Columns: []string{"processes", "average_us", "most_us"}}
	table4 := Table{Name: "clocks-table4", Columns: []string{"processes", "threshold_percent", "intervals_percent", "time_percent", "average_percent", "most_percent"}}
	figure6 := Table{Name: "clocks-figure6", Columns: []string{"processes", "events", "analysis_s", "correction_s"}}
	truth := Table{Name: "clocks-truth", Columns: []string{"processes", "times", "between_events_average_us", "between_events_most_us", "average_us", "most_us"}}
	for i := range r.rows {
		row := &r.rows[i]
		ranks := strconv.Itoa(row.ranks)
		first := row.runs[0]
		figure5.Rows = append(figure5.Rows, []string{
			r.clocks.Pattern, ranks, strconv.Itoa(len(row.runs)), strconv.FormatInt(first.Before.Messages, 10),
			decimal(row.mean(reversed), 4), decimal(row.mean(violations), 4), decimal(row.mean(explicit), 4), decimal(row.most(left), 0),
		})
		table3.Rows = append(table3.Rows, []string{ranks, decimal(row.mean(averageError), 2), decimal(row.most(mostError), 1)})
		for k := range first.Intervals.Above {
			table4.Rows = append(table4.Rows, []string{
				ranks, strconv.FormatFloat(first.Intervals.Above[k].Threshold, 'g', -1, 64),
				decimal(row.most(func(c *Corrected) float64 { return c.Intervals.Above[k].Intervals }), 2),
				decimal(row.most(func(c *Corrected) float64 { return c.Intervals.Above[k].Time }), 2),
				decimal(row.most(func(c *Corrected) float64 { return c.Intervals.Average }), 4),
				decimal(row.most(func(c *Corrected) float64 { return c.Intervals.Most }), 2),
			})
		}
		figure6.Rows = append(figure6.Rows, []string{ranks, strconv.FormatInt(first.Moves.Events, 10), decimal(row.mean(analysed), 3), decimal(row.mean(corrected), 3)})
		for _, kind := range clocks.Kinds() {
			of := func(f func(Errors) float64) func(*Corrected) float64 {
				return func(c *Corrected) float64 { return micro * f(c.Errors[kind]) }
			}
			truth.Rows = append(truth.Rows, []string{
				ranks, string(kind), decimal(row.mean(wrong(kind)), 2),
				decimal(row.most(of(func(e Errors) float64 { return float64(e.Between.Most) })), 1),
				decimal(row.mean(of(func(e Errors) float64 { return e.Times.Average })), 2),
				decimal(row.most(of(func(e Errors) float64 { return float64(e.Times.Most) })), 1),
			})
		}
	}
	return []Table{figure5, table3, table4, figure6, truth}
}

// Summary returns the figures for people: a line for each number of processes.
func (r *ClocksResult) Summary() Table {
	t := Table{Columns: []string{"processes", "reversed %", "violations %", "corrected %", "left", "wrong by, µs", "at most", "intervals changed %"}}
	for _, kind := range clocks.Kinds() {
		t.Columns = append(t.Columns, string(kind)+": off by, µs")
	}
	t.Columns = append(t.Columns, "analysis s", "correction s")
	for i := range r.rows {
		row := &r.rows[i]
		cells := []string{
			strconv.Itoa(row.ranks), decimal(row.mean(reversed), 2), decimal(row.mean(violations), 2), decimal(row.mean(explicit), 2), decimal(row.most(left), 0),
			decimal(row.mean(averageError), 1), decimal(row.most(mostError), 0),
			decimal(row.most(func(c *Corrected) float64 { return c.Intervals.Average }), 4),
		}
		for _, kind := range clocks.Kinds() {
			cells = append(cells, decimal(row.mean(wrong(kind)), 1))
		}
		t.Rows = append(t.Rows, append(cells, decimal(row.mean(analysed), 2), decimal(row.mean(corrected), 2)))
	}
	return t
}
