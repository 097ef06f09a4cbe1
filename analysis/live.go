package analysis

import (
	"context"
	"errors"
	"time"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/trace"
)

// LiveOptions are those of Live.
type LiveOptions struct {
	Options
	// Over reports whether the program has ended, so that no process writes any more; nil:
	// that is found out for each process.
	Over func() bool
	// Told is called once for each finding, soon after the concurrent region or phase that
	// it was found in is over, from the goroutine of Live. What is told may be less severe
	// in the end, or part of another finding.
	Told func(*conflicts.Finding)
}

// ErrPredict is the error of Live with Options.Predict, which reads the traces twice.
var ErrPredict = errors.New("what another order of locks would have made possible is not looked for while the program runs")

// Live analyses a run while it goes on. It begins when all processes have begun to record,
// and ends when all have ended: with the result that Run gives then. Errors are those of
// Run.
func Live(ctx context.Context, dir string, opts LiveOptions) (*Result, error) {
	if opts.Predict {
		return nil, ErrPredict
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	d, err := trace.FollowDir(ctx, dir, trace.Following{Over: opts.Over})
	if err != nil {
		return nil, err
	}
	r, err := startIn(ctx, d, opts.Options)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.live = &live{told: opts.Told, known: map[findingKey]bool{}}
	return r.result()
}

// live is what an analysis needs while the program runs. A nil one is of a run that is over.
type live struct {
	told    func(*conflicts.Finding)
	run     *run
	machine *core.Machine
	checker *conflicts.Checker
	names   *namer
	known   map[findingKey]bool // that were told
	news    bool                // regions were handed to the search since
	looked  time.Time           // when findings were told last
	groups  int64               // that were known then
	usages  int
}

// lookEvery is how often it is looked for findings to tell.
const lookEvery = 250 * time.Millisecond

// prefetch begins to read the traces.
func (r *run) prefetch(part regions.Part) prefetched {
	if r.live == nil {
		return prefetchPart(r.readers, part)
	}
	all := make(prefetched, len(r.readers))
	for i, reader := range r.readers {
		if reader != nil {
			all[i] = newPrefetch(reader, len(r.readers))
			all[i].idle = r.live.wait
		}
	}
	return all
}

func (l *live) begin(r *run, m *core.Machine, c *conflicts.Checker) {
	if l != nil {
		l.run, l.machine, l.checker = r, m, c
	}
}

func (l *live) end() {
	if l != nil {
		l.machine, l.checker = nil, nil
	}
}

// added is called when a region was handed to the search.
func (l *live) added() {
	if l == nil {
		return
	}
	l.news = true
	if time.Since(l.looked) >= lookEvery {
		l.look()
	}
}

// wait waits until a process has recorded more. Meanwhile it tells what was found.
func (l *live) wait(ready <-chan *trace.Batch) *trace.Batch {
	select {
	case b := <-ready:
		return b
	default:
	}
	tick := time.NewTicker(lookEvery / 5)
	defer tick.Stop()
	for {
		select {
		case b := <-ready:
			return b
		case <-tick.C:
			if l.machine != nil && time.Since(l.looked) >= lookEvery {
				l.look()
			}
			l.run.tick()
		}
	}
}

// look tells what was found since the last time.
func (l *live) look() {
	l.looked = time.Now()
	usages := l.machine.UsageCount()
	if !l.news && usages == l.usages {
		return
	}
	l.news = false
	groups := l.checker.SoFar()
	if n := l.run.found.Load(); n == l.groups && usages == l.usages || l.told == nil {
		return
	} else {
		l.groups, l.usages = n, usages
	}
	if l.names == nil {
		l.names, _ = l.run.newNamer()
	}
	l.names.unknown = l.machine.MayOrder()
	for _, f := range l.names.findings(groups, l.machine.Usages()) {
		if !l.known[f.key] {
			l.known[f.key] = true
			l.told(&f.Finding)
		}
	}
}
