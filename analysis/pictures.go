package analysis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcchk/mcchk/regions"
)

// Pictures is what the drawings of a report need beside the findings.
type Pictures struct {
	Windows []WindowMap
	// Missing says why there are none; otherwise "".
	Missing string
}

// ErrOtherRun: the traces are not those that the result is of.
var ErrOtherRun = errors.New("the traces are of another run")

// Draw reads the traces of a result once more, and returns what drawings need.
// It asks for the traces, so that it can be done, and gives the same, for the
// result of Run and for that of MergePartials. Of the options it heeds Progress.
// Errors are those of Run, ErrOtherRun, and the context's.
func Draw(ctx context.Context, res *Result, opts Options) (*Pictures, error) {
	r, err := start(ctx, res.Directory, Options{Progress: opts.Progress, phase: opts.phase, turn: opts.turn})
	if err != nil {
		return nil, err
	}
	defer r.close()
	if run := hex.EncodeToString(r.dir.Run[:]); run != res.Run {
		return nil, fmt.Errorf("%w: %s, not %s", ErrOtherRun, run, res.Run)
	}
	findings := slices.Clone(res.Findings)
	for i := range res.Accepted {
		findings = append(findings, res.Accepted[i].Finding)
	}
	b := newMapBuilder(findings)
	r.streams = prefetchAll(r.readers)
	defer r.streams.stop()
	m, err := regions.NewMachine(r.streams.streams(), r.replayOptions())
	if err != nil {
		return nil, err
	}
	for {
		region, err := m.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		b.add(region)
		r.at.Regions = region.Index + 1
		r.tell()
		region.Release()
	}
	n, _ := newNamer(r.dir, r.readers) // the error is a warning of the result already
	return &Pictures{Windows: b.maps(n)}, nil
}
