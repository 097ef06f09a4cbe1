package analysis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
	// Patience is how long to wait for the first process; 0: as long as it takes.
	Patience time.Duration
	// Begun, if set, is called once: all processes have begun to record.
	Begun func()
	// Told is called once for each finding, soon after the concurrent region or phase that
	// it was found in is over, from the goroutine of Live. What is told may be less severe
	// in the end, or part of another finding.
	Told func(*conflicts.Finding)
	// Version is that of the program, for the file that keeps what was found of traces that
	// are given back.
	Version string
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
	d, err := trace.FollowDir(ctx, dir, trace.Following{Over: opts.Over, Patience: opts.Patience})
	if err != nil {
		return nil, err
	}
	r, err := startIn(ctx, d, opts.Options)
	if err != nil {
		return nil, err
	}
	defer r.close()
	for _, f := range d.Files {
		if f.Header.GivenBack {
			return nil, fmt.Errorf("%s: %w", f.Path, trace.ErrGivenBack)
		}
	}
	if opts.Begun != nil {
		opts.Begun()
	}
	r.live = &live{told: opts.Told, known: map[findingKey]bool{}, keeper: keeper{version: opts.Version}}
	r.live.batch.Store(time.Now().UnixNano())
	stop := r.live.watch(r)
	res, err := r.result()
	stop()
	if err == nil {
		r.live.conclude(r, res)
	}
	if err == nil && !res.Interrupted {
		err = r.live.forget()
	}
	return res, err
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
	outside
	keeper
}

// outside is what the analysis and the goroutine that looks at the processes tell one
// another.
type outside struct {
	starved atomic.Bool  // the replay waits for a process
	batch   atomic.Int64 // when it was given something last, ns since 1970
	full    atomic.Int64 // when a process was last seen to wait for room, likewise
	calls   atomic.Uint64
	mu      sync.Mutex
	history []moment // of calls, once a second
	granted map[int]uint64
	// stopped: a process records nothing any more, so the replay does not get beyond that
	// before it ends. Those without room do not wait for it. Of the asking goroutine.
	stopped bool
}

// moment is how many calls of all processes could be read at a time.
type moment struct {
	at    time.Time
	calls uint64
}

const (
	askEvery = 200 * time.Millisecond
	// fullFor is how long processes are taken to wait for room after they were seen to.
	fullFor = 2 * time.Second
	// stuckAfter is how long the replay may be without anything, while a process waits
	// for room, before that is given some that it is not meant to have: the process that
	// the replay needs may itself need the one that waits.
	stuckAfter  = time.Second
	leastGrant  = 1 << 20
	mostHistory = 3600
)

// watch looks at what the processes tell, until the function that it returns is called.
func (l *live) watch(r *run) (stop func()) {
	end := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for n := uint64(1); ; n++ {
			l.ask(r, n)
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(end)
		wait.Wait()
	}
}

// ask asks all processes, the n-th time.
func (l *live) ask(r *run, n uint64) {
	const second = uint64(time.Second / askEvery)
	calls, now := uint64(0), time.Now()
	for rank, reader := range r.readers {
		if reader == nil {
			continue
		}
		before := reader.Live()
		if n%second != 1 && (before == nil || before.Most == 0) {
			continue
		}
		x, ok := reader.Ask()
		if !ok {
			continue
		}
		l.stopped = l.stopped || x.Stopped && !x.Ended
		calls += x.Bound / 2
		if n%second == 1 {
			reader.Beat(n)
		}
		if x.Waiting == 0 {
			continue
		}
		l.full.Store(now.UnixNano())
		if l.stopped {
			_ = reader.Dismiss() // it waits on, and is told again
			continue
		}
		if l.starved.Load() && now.UnixNano()-l.batch.Load() > int64(stuckAfter) {
			l.mu.Lock()
			if l.granted == nil {
				l.granted = map[int]uint64{}
			}
			l.granted[rank] = x.Grant + max(x.Most/4, leastGrant)
			_ = reader.Grant(l.granted[rank]) // it waits on, and is asked again
			l.mu.Unlock()
		}
	}
	if n%second == 1 {
		l.mu.Lock()
		if l.history = append(l.history, moment{now, calls}); len(l.history) > mostHistory {
			l.history = l.history[1:]
		}
		l.mu.Unlock()
		l.calls.Store(calls)
	}
}

// behind returns how many calls are yet to be replayed, and since when.
func (l *live) behind(replayed uint64) (calls uint64, since time.Duration) {
	if all := l.calls.Load(); all > replayed {
		calls = all - replayed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.history {
		if m.calls > replayed {
			return calls, time.Since(m.at)
		}
	}
	return calls, 0
}

// notKept is why fixes are not tried.
const notKept = "the traces were given back while they were analysed (--max-disk)"

// conclude says in a result what became of the traces.
func (l *live) conclude(r *run, res *Result) {
	all, most := int64(0), uint64(0)
	for _, reader := range r.readers {
		if reader == nil {
			continue
		}
		n, err := reader.GaveBack()
		if err != nil {
			res.Warnings = append(res.Warnings, err.Error()+": the traces took more room than --max-disk allows")
		}
		all += n
	}
	for _, n := range l.granted {
		most += n
	}
	if l.problem != "" {
		res.Warnings = append(res.Warnings, l.problem)
	}
	if most > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("the traces took up to %d MiB more than --max-disk allows: a process that the analysis needed waited for one that waited for room", (most>>20)+1))
	}
	if res.GivenBack = all > 0; !res.GivenBack {
		return
	}
	res.notTried()
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
		l.keep(true)
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

// wait waits until a process has recorded more. Meanwhile it tells what was found. It returns
// nil where others are to go on.
func (l *live) wait(ready <-chan *trace.Batch) *trace.Batch {
	select {
	case b := <-ready:
		l.came()
		return b
	default:
	}
	l.starved.Store(true)
	every := lookEvery / 5
	if l.crowded() {
		every = 2 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case b := <-ready:
			l.came()
			return b
		case <-tick.C:
			if l.machine != nil && time.Since(l.looked) >= lookEvery {
				l.look()
			}
			l.run.tick()
			if l.crowded() {
				return nil
			}
		}
	}
}

// came notes that the replay was given something.
func (l *live) came() {
	l.batch.Store(time.Now().UnixNano())
	l.starved.Store(false)
}

// crowded reports whether processes wait for room. Then the replay goes on with whatever is
// there, out of turn: what it waits for may come only when they go on.
func (l *live) crowded() bool { return time.Now().UnixNano()-l.full.Load() < int64(fullFor) }

// look tells what was found since the last time.
func (l *live) look() {
	l.looked = time.Now()
	l.keep(false)
	usages := l.machine.UsageCount()
	if !l.news && usages == l.usages {
		return
	}
	l.news = false
	groups, n := l.checker.SoFar(), l.run.found.Load()
	if n == l.groups && usages == l.usages || l.told == nil {
		return
	}
	names := l.namer()
	names.know(l.machine.MayOrder(), l.machine.Problems())
	kept := false
	for _, f := range names.findings(groups, l.machine.Usages()) {
		if l.known[f.key] {
			continue
		}
		if !kept && !l.keep(true) { // before it is told
			l.news = true
			return
		}
		kept = true
		l.known[f.key] = true
		l.told(&f.Finding)
	}
	l.groups, l.usages = n, usages
}

func (l *live) namer() *namer {
	if l.names == nil {
		l.names, _ = l.run.newNamer() // the error is a warning of the result
	}
	return l.names
}
