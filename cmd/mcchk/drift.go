package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/clocks"
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

// synthesize writes the traces. With drifting clocks, they are written once without times,
// replayed to know what waits for what, and written again.
func synthesize(ctx context.Context, dir string, c synth.Config, o generateOptions) (*synth.Expected, error) {
	if !o.drift {
		return synth.Generate(ctx, dir, c)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	plain, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".generate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(plain)
	if _, err := synth.Generate(ctx, plain, c); err != nil {
		return nil, err
	}
	src := clocks.Source{Latency: clocks.Latency{Host: hostLatency, Network: networkLatency}}
	for rank := range c.Ranks {
		src.Hosts = append(src.Hosts, rank/o.perHost)
	}
	times := make([][][2]int64, c.Ranks)
	s := clocks.NewSimulation(src, c.Seed, func(rank int, begin, end int64) {
		times[rank] = append(times[rank], [2]int64{begin, end})
	})
	if err := analysis.Observe(ctx, plain, s); err != nil {
		return nil, err
	}
	c.Timing = timing(&src, c.Seed, times, s.Close())
	return synth.Generate(ctx, dir, c)
}

// timing has the clocks of hosts show the true times of calls.
func timing(src *clocks.Source, seed uint64, times [][][2]int64, end int64) *synth.Timing {
	hosts := src.Hosts[len(src.Hosts)-1] + 1
	drifts := make([]*clocks.Drift, hosts)
	name := func(host int) string { return fmt.Sprintf("host%d", host) }
	t := &synth.Timing{}
	for host := range drifts {
		drifts[host] = clocks.NewDrift(seed, host, end+2*before)
		t.Drifts = append(t.Drifts, synth.ExpectedClock{Host: name(host), Shows: drifts[host].Knots()})
	}
	of := func(rank int) *clocks.Drift { return drifts[src.Hosts[rank]] }
	t.Host = func(rank int) string { return name(src.Hosts[rank]) }
	t.Start = func(rank int) (uint64, uint64) {
		shown := uint64(of(rank).Shows(-before))
		return shown, 1_700_000_000_000_000_000 + shown
	}
	t.Clocks = func(rank int) []trace.Clock {
		r := rand.New(rand.NewPCG(seed, uint64(rank)<<8|8))
		var out []trace.Clock
		for _, at := range []int64{-before, end + before} {
			c := trace.Clock{Local: uint64(of(rank).Shows(at)), Reference: uint64(drifts[0].Shows(at))}
			if src.Hosts[rank] != src.Hosts[0] {
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
			call := times[rank][next]
			next++
			return of(rank).Shows(call[0]), of(rank).Shows(call[1])
		}
	}
	return t
}
