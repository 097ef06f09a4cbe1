package analysis

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/mcchk/mcchk/clocks"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/timeline"
)

// Timeline writes the run in the traces of a directory as trace events for
// Chrome and Perfetto, with the accesses of findings, as Run has found them, as
// instants. Times are of a kind that package clocks has; where a trace has none (it
// was not recorded but written by hand or generated) they are logical. It reads the
// traces once more, for corrected times three times.
//
// Errors are those of Run, of writing, and the context's; what was written by
// then is no complete file.
func Timeline(ctx context.Context, dir string, times clocks.Kind, layers symbols.Layers, findings []conflicts.Finding, w io.Writer) error {
	time, err := Times(ctx, dir, times)
	if err != nil {
		return err
	}
	r, err := start(ctx, dir, Options{Layers: layers})
	if err != nil {
		return err
	}
	defer r.close()
	n, _ := r.newNamer() // Run has warned of what cannot be read
	from := timeline.Source{
		Ranks: r.dir.Ranks,
		Place: func(rank int, stack uint32) string { return placeOf(n.stack(int32(rank), stack)).String() },
		Info:  map[string]string{"run": hex.EncodeToString(r.dir.Run[:])},
	}
	if time != nil {
		from.Info["clocks"] = string(times)
		from.Time = func(rank int, local int64) timeline.Moment { return timeline.Moment(time(rank, local)) }
	}
	if program := r.info("program"); program != "" {
		from.Info["program"] = program
	}
	t := timeline.NewWriter(w, from, marksOf(findings, r.dir.Ranks))
	if err := r.follow(t, func() bool { return t.Failed() != nil }); err != nil {
		return err
	}
	return t.Close()
}

// follow replays the run for an observer, until that has had enough. The traces are not
// read ahead: the places of calls are looked up as they come.
func (r *run) follow(o core.Observer, enough func() bool) error {
	streams := make([]core.Stream, len(r.readers))
	for i, reader := range r.readers {
		if reader != nil {
			streams[i] = reader
		}
	}
	return r.followIn(streams, o, enough)
}

// allTurns is how many events all processes may be ahead of one another together, where only their order
// is asked for, and mostTurn how many each may.
const allTurns, mostTurn = 1 << 17, 512

// followIn replays streams for an observer.
func (r *run) followIn(streams []core.Stream, o core.Observer, enough func() bool) error {
	opts := r.replayOptions()
	opts.Observer = o
	opts.Part, opts.OrderOnly = noMemory, true
	opts.Turn = min(max(leastBatch, allTurns/len(streams)), mostTurn)
	m, err := core.NewMachine(streams, opts, r.models()...)
	if err != nil {
		return err
	}
	for region, err := range r.replayed(m) {
		if err != nil {
			return err
		}
		region.Release()
		if enough() {
			break
		}
	}
	return nil
}

// marksOf lists the accesses of findings for a timeline.
func marksOf(findings []conflicts.Finding, ranks int) []timeline.Mark {
	var out []timeline.Mark
	for i := range findings {
		f := &findings[i]
		for k, s := range []*conflicts.Side{&f.First, &f.Second} {
			if s.Event == 0 || s.Rank >= ranks {
				continue
			}
			t := targetOf(i, k+1, s, ranks)
			out = append(out, timeline.Mark{
				Finding: i + 1, Side: k + 1, Letter: letterOf(f, s), Rank: s.Rank, Strand: s.Thread, Pos: s.Event,
				Rule: f.Rule, Name: t.Name, Place: placeOf(s.Stack).String(),
			})
		}
	}
	return out
}
