package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// growthCase is a synthetic trace, analysed by a process of its own.
type growthCase struct {
	title  string
	config synth.Config
	grid   *synthetic // instead of config
	cores  int        // GOMAXPROCS; 0: all
	args   []string
	shards int     // parts, analysed one after the other, of which the slowest counts; 0: no parts
	than   int     // compare with the case so many before; 0: none
	aim    float64 // most that the figure may be a multiple of that of the other
	figure func(growthCost) float64
}

// growthCost is what an analysis took.
type growthCost struct {
	wall, cpu float64 // seconds
	peak      float64 // MiB resident
	accesses  int64
}

// best takes the least time of two runs, and the most memory.
func (c growthCost) best(d growthCost) growthCost {
	if c.wall == 0 {
		return d
	}
	return growthCost{wall: min(c.wall, d.wall), cpu: min(c.cpu, d.cpu), peak: max(c.peak, d.peak)}
}

func wallOf(c growthCost) float64 { return c.wall }
func cpuOf(c growthCost) float64  { return c.cpu }
func peakOf(c growthCost) float64 { return c.peak }

// growthCases are the questions of how cost grows. Time is that of processors
// where other work on the machine shall not disturb the answer.
func growthCases() []growthCase {
	hot := func(n int64) synth.Config { return synth.Config{Pattern: "hot-counter", Ranks: 16, Accesses: n} }
	halo := func(n int64) synth.Config { return synth.Config{Pattern: "halo", Ranks: 16, Accesses: n} }
	ring := func(steps int64) synth.Config { return synth.Config{Pattern: "ring", Ranks: 64, Steps: steps} }
	clock := func(name string) []string { return []string{"--clock", name} }
	cases := []growthCase{
		{title: "halo, one core", config: halo(40_000_000), cores: 1},
		{title: "halo, two cores: time on the wall", config: halo(40_000_000), cores: 2, than: 1, aim: 1 / 1.8, figure: wallOf},
		{title: "halo, a tenth of the length: memory", config: halo(4_000_000), cores: 2},
		{title: "halo, the whole: memory", config: halo(40_000_000), cores: 2, than: 1, aim: 1.05, figure: peakOf},
		{title: "hot counter", config: hot(10_000)},
		{title: "hot counter, ten times", config: hot(100_000), than: 1, aim: 11, figure: cpuOf},
		{title: "hot counter, a hundred times", config: hot(1_000_000), than: 1, aim: 11, figure: cpuOf},
		{title: "hot counter of 20,000, every pair", config: hot(20_000), args: []string{"--pairwise"}},
		{title: "hot counter of 20,000", config: hot(20_000), than: 1, aim: 0.01, figure: cpuOf},
		{title: "messages in a ring of 64", config: ring(6_000)},
		{title: "messages, ten times: time", config: ring(60_000), than: 1, aim: 11, figure: cpuOf},
		{title: "messages, ten times: memory", config: ring(60_000), than: 2, aim: 1.05, figure: peakOf},
	}
	region := synth.Config{Pattern: "random", Ranks: 8, Accesses: 2_000_000, Steps: 1}
	cases = append(cases,
		growthCase{title: "random, all in one region", config: region},
		growthCase{title: "random, --max-memory 96MiB: memory", config: region, args: []string{"--max-memory", "96MiB"}, than: 1, aim: 0.6, figure: peakOf},
	)
	// Of one step, so that all loads and stores are in one region.
	grid := &synthetic{name: "one region", ranks: 24, kernel: gridScript(1, 200_000)}
	cases = append(cases,
		growthCase{title: "loads and stores of one region", grid: grid, cores: 1},
		growthCase{title: "the slower of two shards: time on the wall", grid: grid, cores: 1, shards: 2, than: 1, aim: 0.6, figure: wallOf},
		growthCase{title: "random, all in one region, one core", config: region, cores: 1},
		growthCase{title: "the slower of two shards: time on the wall", config: region, cores: 1, shards: 2, than: 1, aim: 0.6, figure: wallOf},
	)
	for _, c := range []synth.Config{
		{Pattern: "ring", Ranks: 64, Steps: 5_000},
		{Pattern: "alltoall", Ranks: 32, Accesses: 200_000},
		{Pattern: "lockopts", Ranks: 64, Accesses: 200_000},
	} {
		cases = append(cases,
			growthCase{title: c.Pattern + ", evc", config: c, args: clock(evc.Encoded)},
			growthCase{title: c.Pattern + ", vector", config: c, args: clock(evc.Vector)},
			growthCase{title: c.Pattern + ", auto, against evc", config: c, args: clock(evc.Auto), than: 2, aim: 1.2, figure: cpuOf},
			growthCase{title: c.Pattern + ", auto, against vector", config: c, args: clock(evc.Auto), than: 2, aim: 1.2, figure: cpuOf},
		)
	}
	return cases
}

// growth measures all cases, and prints them.
func (o options) growth(ctx context.Context, out io.Writer, work string) error {
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk")}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return err
	}
	dir := filepath.Join(work, "growth")
	defer os.RemoveAll(dir)
	made, accesses := "", int64(0)
	known := map[string]growthCost{}
	var costs []growthCost
	lines := [][]string{{"case", "accesses", "wall s", "cpu s", "M accesses/s", "peak MiB", "ratio", "aim", ""}}
	for i, c := range growthCases() {
		if c.trace() != made {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			var err error
			if accesses, err = c.write(ctx, dir); err != nil {
				return fmt.Errorf("%s: %w", c.title, err)
			}
			made = c.trace()
		}
		key := fmt.Sprint(c.trace(), c.cores, c.args, c.shards)
		cost, ok := known[key]
		for run := 0; !ok && run < max(1, (o.rounds+1)/2); run++ {
			again, err := c.run(ctx, l.mcchk, dir)
			if err != nil {
				return fmt.Errorf("%s: %w", c.title, err)
			}
			cost = cost.best(again)
		}
		known[key] = cost
		cost.accesses = accesses
		costs = append(costs, cost)
		lines = append(lines, c.line(cost, costs[:i]))
	}
	table(out, "How cost grows (synthetic traces, each analysis a process of its own, the best time and the\nmost memory of several; accesses: runs of loads and stores, and one-sided operations; ratio: of what the line is about, to the line above or two above)", lines)
	return nil
}

// trace names the trace of the case.
func (c *growthCase) trace() string {
	if c.grid != nil {
		return c.grid.name
	}
	return fmt.Sprint(c.config.Pattern, " ", c.config.Ranks, " ", c.config.Accesses, " ", c.config.Steps)
}

// write writes the trace, and returns how many accesses it has.
func (c *growthCase) write(ctx context.Context, dir string) (int64, error) {
	if c.grid == nil {
		e, err := synth.Generate(ctx, dir, c.config)
		if err != nil {
			return 0, err
		}
		return e.Accesses, nil
	}
	if err := c.grid.write(ctx, dir); err != nil {
		return 0, err
	}
	d, err := trace.OpenDir(dir)
	if err != nil {
		return 0, err
	}
	size, err := decode(d)
	return int64(size.records), err
}

// run analyses the trace, which has no races.
func (c *growthCase) run(ctx context.Context, mcchk, dir string) (growthCost, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*runTimeout)
	defer cancel()
	if c.shards == 0 {
		return c.command(ctx, mcchk, append(append([]string{"analyze"}, c.args...), dir)...)
	}
	part := func(i int) string { return fmt.Sprintf("%s.part.%d", dir, i) }
	merge := []string{"merge", "--format", "json=" + part(0)}
	var slowest growthCost
	for i := 1; i <= c.shards; i++ {
		defer os.Remove(part(i))
		cost, err := c.command(ctx, mcchk, "analyze", "--shard", fmt.Sprintf("%d/%d", i, c.shards), dir, "-o", part(i))
		if err != nil {
			return growthCost{}, err
		}
		slowest = growthCost{wall: max(slowest.wall, cost.wall), cpu: max(slowest.cpu, cost.cpu), peak: max(slowest.peak, cost.peak)}
		merge = append(merge, part(i))
	}
	defer os.Remove(part(0))
	if _, err := c.command(ctx, mcchk, merge...); err != nil {
		return growthCost{}, err
	}
	return slowest, c.sameAsWhole(ctx, mcchk, dir, part(0))
}

// sameAsWhole fails unless a merged report is what one analysis reports.
func (c *growthCase) sameAsWhole(ctx context.Context, mcchk, dir, merged string) error {
	whole := dir + ".whole"
	defer os.Remove(whole)
	if _, err := c.command(ctx, mcchk, "analyze", "--format", "json="+whole, dir); err != nil {
		return err
	}
	a, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(merged)
	if err == nil && !bytes.Equal(a, b) {
		err = errors.New("the merged report differs from that of one analysis")
	}
	return err
}

// command runs mcchk.
func (c *growthCase) command(ctx context.Context, mcchk string, args ...string) (growthCost, error) {
	cmd := exec.CommandContext(ctx, mcchk, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(cmp.Or(c.cores, runtime.NumCPU())))
	began := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return growthCost{}, fmt.Errorf("%w\n%s", errors.Join(err, ctx.Err()), text)
	}
	return costOf(cmd.ProcessState, time.Since(began)), nil
}

// costOf returns what a process took that has ended.
func costOf(state *os.ProcessState, wall time.Duration) growthCost {
	cost := growthCost{wall: wall.Seconds(), cpu: (state.UserTime() + state.SystemTime()).Seconds()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		cost.peak = float64(usage.Maxrss) / 1024
	}
	return cost
}

// line is the case's line of the table, behind the cases before it.
func (c *growthCase) line(cost growthCost, before []growthCost) []string {
	ratio, aim, ok := "", "", ""
	if c.than > 0 {
		r := c.figure(cost) / c.figure(before[len(before)-c.than])
		ratio = fmt.Sprintf("%.3g", r)
		aim, ok = verdict(r, c.aim)
	}
	return []string{
		c.title, fmt.Sprint(cost.accesses), fmt.Sprintf("%.2f", cost.wall), fmt.Sprintf("%.2f", cost.cpu),
		fmt.Sprintf("%.2f", float64(cost.accesses)/1e6/cost.wall), fmt.Sprintf("%.0f", cost.peak), ratio, aim, ok,
	}
}
