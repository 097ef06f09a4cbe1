package analysis

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/clocks"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/trace"
)

// ErrNoTimes says that traces have no times: they were not recorded, but written by
// hand or generated.
var ErrNoTimes = errors.New("the traces have no wall-clock times: they were not recorded by a run")

// ClocksOptions say how to correct the times of a run.
type ClocksOptions struct {
	// From is what is corrected: Measured or Interpolated times.
	From clocks.Kind
	// Latency is the least that anything takes between processes; a negative one is what
	// the traces show: 0 within a host, and between hosts half of the quickest exchange by
	// which clocks were compared.
	Latency clocks.Latency
	// Longest is the longest interval that Table.Intervals has, ns; 0: all count. The paper
	// leaves out the pauses of its runs.
	Longest int64
}

// ClocksResult is what a correction of times did.
type ClocksResult struct {
	clocks.Table
	Hosts   int
	Latency clocks.Latency
	Jumps   int // how often a clock was put forward
}

// Clocks corrects the times of the run in the traces of a directory, and says what was
// wrong with them before and after. It reads the traces twice.
//
// Errors are ErrNoTimes, those of Run, and the context's.
func Clocks(ctx context.Context, dir string, opts ClocksOptions) (*ClocksResult, error) {
	src, err := clockSource(ctx, dir, opts.From)
	if err != nil {
		return nil, err
	}
	if opts.Latency.Host >= 0 {
		src.Latency.Host = opts.Latency.Host
	}
	if opts.Latency.Network >= 0 {
		src.Latency.Network = opts.Latency.Network
	}
	correction, jumps, err := correctTimes(ctx, dir, *src, true, false, opts.Longest)
	if err != nil {
		return nil, err
	}
	hosts := map[int]bool{}
	for _, h := range src.Hosts {
		hosts[h] = true
	}
	return &ClocksResult{Table: *correction.Table(), Hosts: len(hosts), Latency: src.Latency, Jumps: jumps}, nil
}

// Times returns what turns times of processes into those of the run, from the
// beginning of its first trace on; nil where they were not recorded.
func Times(ctx context.Context, dir string, kind clocks.Kind) (func(rank int, local int64) int64, error) {
	from := kind
	if kind == clocks.Corrected {
		from = clocks.Interpolated
	}
	src, err := clockSource(ctx, dir, from)
	switch {
	case errors.Is(err, ErrNoTimes):
		return nil, nil
	case err != nil:
		return nil, err
	case kind != clocks.Corrected:
		return src.Time, nil
	}
	correction, _, err := correctTimes(ctx, dir, *src, false, true, 0)
	if err != nil {
		return nil, err
	}
	return func(rank int, local int64) int64 { return correction.Time(rank, src.Time(rank, local)) }, nil
}

// correctTimes replays the run for the controlled logical clock: once, and seldom more
// often. It returns how often a clock was put forward, too.
func correctTimes(ctx context.Context, dir string, src clocks.Source, survey, times bool, longest int64) (*clocks.Correction, int, error) {
	forward, err := clocks.NewForward(src, survey)
	if err != nil {
		return nil, 0, err
	}
	for {
		observed := Observe(ctx, dir, forward)
		jumps, err := forward.Close()
		if err = cmp.Or(observed, err); err != nil {
			forward.Discard()
			return nil, 0, err
		}
		again, err := forward.Again()
		if err != nil {
			return nil, 0, err
		}
		if again == nil {
			c, err := forward.Correct(times, longest)
			return c, jumps, err
		}
		forward = again
	}
}

// Observe replays the run in the traces of a directory for an observer.
//
// Errors are those of Run, and the context's.
func Observe(ctx context.Context, dir string, o core.Observer) error {
	r, err := start(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer r.close()
	streams := prefetchPart(r.readers, noMemory)
	defer streams.stop()
	return r.followIn(streams.streams(), o, func() bool { return false })
}

// clockSource reads the offsets of all clocks.
func clockSource(ctx context.Context, dir string, kind clocks.Kind) (*clocks.Source, error) {
	r, err := start(ctx, dir, Options{})
	if err != nil {
		return nil, err
	}
	defer r.close()
	first := r.began()
	if first == 0 {
		return nil, ErrNoTimes
	}
	// The clock of rank 0, or of the first that there is, is the reference.
	reference := r.dir.Files[0].Header
	zero := first - int64(reference.Realtime) + int64(reference.Monotonic)
	src := &clocks.Source{Hosts: make([]int, r.dir.Ranks)}
	lines := make([]func(int64) int64, r.dir.Ranks)
	hosts := map[string]int{}
	quickest := int64(math.MaxInt64)
	offsets, err := r.allOffsets(&reference, kind == clocks.Measured)
	if err != nil {
		return nil, err
	}
	for rank, reader := range r.readers {
		if reader == nil {
			continue
		}
		for _, o := range offsets[rank] {
			if o.RoundTrip > 0 {
				quickest = min(quickest, o.RoundTrip)
			}
		}
		lines[rank] = clocks.Interpolate(offsets[rank])
		name := reader.Header().Host
		if _, known := hosts[name]; !known {
			hosts[name] = len(hosts)
		}
		src.Hosts[rank] = hosts[name]
	}
	if quickest < math.MaxInt64 {
		src.Latency.Network = quickest / 2
	}
	src.Time = func(rank int, local int64) int64 { return lines[rank](local) - zero }
	return src, nil
}

// allOffsets returns those of all clocks, by rank.
func (r *run) allOffsets(reference *trace.Header, first bool) ([][]clocks.Offset, error) {
	offsets, errs := make([][]clocks.Offset, len(r.readers)), make([]error, len(r.readers))
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for rank := int(next.Add(1)) - 1; rank < len(r.readers); rank = int(next.Add(1)) - 1 {
				if reader := r.readers[rank]; reader != nil {
					offsets[rank], errs[rank] = offsetsOf(r.ctx, reader, reference, first)
				}
			}
		})
	}
	all.Wait()
	return offsets, errors.Join(errs...)
}

// offsetsOf returns how the clock of a trace related to the reference: as was measured
// first, or whenever it was. It reads the trace as far as it must, or to where it is
// damaged. What was not measured follows from the times of day.
func offsetsOf(ctx context.Context, reader *trace.Reader, reference *trace.Header, first bool) ([]clocks.Offset, error) {
	var ev trace.Event
	for n := 0; !(first && len(reader.Clocks()) > 0) && reader.ReadEvent(&ev) == nil; n++ {
		if n%10_000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	var out []clocks.Offset
	for _, c := range reader.Clocks() {
		out = append(out, clocks.Offset{Local: int64(c.Local), Reference: int64(c.Reference), RoundTrip: int64(c.RoundTrip)})
	}
	h := reader.Header()
	if len(out) == 0 || reference.Rank != 0 {
		out = []clocks.Offset{{Local: int64(h.Monotonic), Reference: int64(h.Realtime) - int64(reference.Realtime) + int64(reference.Monotonic)}}
	}
	if first {
		out = out[:1]
	}
	return out, nil
}
