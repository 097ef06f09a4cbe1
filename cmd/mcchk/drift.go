package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/clocks"
	"github.com/mcchk/mcchk/experiments"
	"github.com/mcchk/mcchk/synth"
	"github.com/mcchk/mcchk/trace"
)

// Least latencies of generated runs, ns: those measured on one of the paper's systems.
const (
	hostLatency    = 1_000
	networkLatency = 4_700
)

// before is how long before the first call offsets of clocks are measured, and how long
// behind the last one, ns.
const before = 1_000_000

// drifting is a run whose clocks drift: all that is true of it.
type drifting struct {
	hosts  []int           // by rank
	calls  [][][2]int64    // begin and end, by rank
	clocks []*clocks.Drift // by host
	end    int64
}

// synthesize writes the traces of a run with drifting clocks. They are written once without
// times, replayed to know what waits for what, and written again.
func synthesize(ctx context.Context, dir string, c synth.Config, perHost int) (*synth.Expected, *drifting, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	plain, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".generate-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(plain)
	if _, err := synth.Generate(ctx, plain, c); err != nil {
		return nil, nil, err
	}
	d := &drifting{calls: make([][][2]int64, c.Ranks)}
	for rank := range c.Ranks {
		d.hosts = append(d.hosts, rank/perHost)
	}
	src := clocks.Source{Hosts: d.hosts, Latency: driftLatency()}
	s := clocks.NewSimulation(src, c.Seed, func(rank int, begin, end int64) {
		d.calls[rank] = append(d.calls[rank], [2]int64{begin, end})
	})
	if err := analysis.Observe(ctx, plain, s); err != nil {
		return nil, nil, err
	}
	d.end = s.Close()
	for host := range d.hosts[len(d.hosts)-1] + 1 {
		d.clocks = append(d.clocks, clocks.NewDrift(c.Seed, host, d.end+2*before))
	}
	c.Timing = d.timing(c.Seed)
	e, err := synth.Generate(ctx, dir, c)
	return e, d, err
}

// driftLatency is the least latencies of a generated run.
func driftLatency() clocks.Latency {
	return clocks.Latency{Host: hostLatency, Network: networkLatency}
}

// of is the clock of a process.
func (d *drifting) of(rank int) *clocks.Drift { return d.clocks[d.hosts[rank]] }

// errors says how far times are from what the clock of rank 0 showed when something really
// was, and how wrong the time is from one event of the run to the next one of any process.
// interpolated times are those that have the clock of rank 0 as it is.
func (d *drifting) errors(times, interpolated func(rank int, local int64) int64) experiments.Errors {
	type event struct{ at, by int64 }
	zero := interpolated(0, 0)
	var all []event
	for rank, calls := range d.calls {
		for _, call := range calls {
			for _, at := range call {
				all = append(all, event{at, times(rank, d.of(rank).Shows(at)) - zero - d.of(0).Shows(at)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var by, between []int64
	for i, e := range all {
		by = append(by, e.by)
		if i > 0 {
			between = append(between, e.by-all[i-1].by)
		}
	}
	return experiments.Errors{Times: clocks.Deviate(by), Between: clocks.Deviate(between)}
}

// timing has the clocks of hosts show the true times of calls.
func (d *drifting) timing(seed uint64) *synth.Timing {
	name := func(host int) string { return fmt.Sprintf("host%d", host) }
	t := &synth.Timing{}
	for host, c := range d.clocks {
		t.Drifts = append(t.Drifts, synth.ExpectedClock{Host: name(host), Shows: c.Knots()})
	}
	of := d.of
	t.Host = func(rank int) string { return name(d.hosts[rank]) }
	t.Start = func(rank int) (uint64, uint64) {
		shown := uint64(of(rank).Shows(-before))
		return shown, 1_700_000_000_000_000_000 + shown
	}
	t.Clocks = func(rank int) []trace.Clock {
		r := rand.New(rand.NewPCG(seed, uint64(rank)<<8|8))
		var out []trace.Clock
		for _, at := range []int64{-before, d.end + before} {
			c := trace.Clock{Local: uint64(of(rank).Shows(at)), Reference: uint64(of(0).Shows(at))}
			if d.hosts[rank] != d.hosts[0] {
				noise := 200 * r.ExpFloat64() // the quickest exchange is a little slower, one way or the other
				c.RoundTrip = uint64(2*networkLatency + noise)
				c.Reference += uint64(int64(noise * (r.Float64() - 0.5)))
			} else {
				c.Reference = c.Local
			}
			out = append(out, c)
		}
		return out
	}
	t.Calls = func(rank int) func() (begin, end int64) {
		next := 0
		return func() (int64, int64) {
			call := d.calls[rank][next]
			next++
			return of(rank).Shows(call[0]), of(rank).Shows(call[1])
		}
	}
	return t
}
