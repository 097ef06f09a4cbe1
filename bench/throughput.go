package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/trace"
)

// throughputAim is how much longer than decoding an analysis may take.
const throughputAim = 1.5

// throughput is the times of one trace with one clock and number of cores,
// decoding and analysis in turn, seconds.
type throughput struct {
	title            string
	procs            int
	clock            string
	decode, analysis []float64
	size             traceSize
}

// measureThroughput decodes and analyses the traces of a directory in turn.
// The verdict must be that there is no race.
func measureThroughput(ctx context.Context, title, dir string, rounds int) ([]throughput, error) {
	d, err := trace.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var results []throughput
	for _, procs := range []int{1, 2} {
		runtime.GOMAXPROCS(procs)
		for _, clock := range []string{evc.Auto, evc.Vector} {
			t := throughput{title: title, procs: procs, clock: clock}
			for begin := time.Now(); len(t.decode) == 0 || len(t.decode) < rounds && time.Since(begin) < enough; {
				if err := t.round(ctx, d); err != nil {
					return nil, fmt.Errorf("%d cores, %s: %w", procs, clock, err)
				}
			}
			results = append(results, t)
		}
	}
	return results, nil
}

func (t *throughput) round(ctx context.Context, d *trace.Dir) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	runtime.GC()
	start := time.Now()
	size, err := decode(d)
	if err != nil {
		return err
	}
	t.decode = append(t.decode, time.Since(start).Seconds())
	t.size = size

	runtime.GC()
	start = time.Now()
	res, err := analysis.Run(ctx, d.Path, analysis.Options{Clock: t.clock})
	if err != nil {
		return err
	}
	t.analysis = append(t.analysis, time.Since(start).Seconds())
	return clean(res)
}

// decode reads all events of the files side by side, on as many cores as
// GOMAXPROCS allows.
func decode(d *trace.Dir) (traceSize, error) {
	sizes, errs := make([]traceSize, len(d.Files)), make([]error, len(d.Files))
	var wg sync.WaitGroup
	for i, f := range d.Files {
		wg.Go(func() { errs[i] = sizes[i].count(f.Path) })
	}
	wg.Wait()
	var sum traceSize
	for _, s := range sizes {
		sum.calls += s.calls
		sum.records += s.records
		sum.elements += s.elements
	}
	return sum, errors.Join(errs...)
}
