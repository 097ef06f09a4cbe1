// Package analysis is the pipeline of mcchk: traces in, findings out. It is
// the library for other Go programs; it knows nothing of a terminal.
//
// The traces of a directory are replayed into concurrent regions one at a time
// (package regions) while the region before is searched for conflicts (package
// conflicts). What is found is gathered by source place; at the end the places
// get names (package symbols), and what the run did not show becomes a caveat.
package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
	"github.com/mcchk/mcchk/trace"
)

// Options of an analysis. The zero value is useful.
type Options struct {
	Clock       string      // evc.Auto (the default), evc.Encoded or evc.Vector
	Jobs        int         // goroutines that search; 0: one for each CPU
	MemoryModel MemoryModel // of windows; "" is ModelAuto
	// Pairwise compares every two accesses, as the papers do: the same findings,
	// in a time that grows with the square of the accesses in a region.
	Pairwise bool
	// Stats measures the parts that the analysis works in: Result.Stats.
	Stats bool
	// Predict also looks for races that another order of locks would have
	// made possible: findings of rule MC202. Where values leave open in which order
	// memory was updated, another order is tried: what only one of the two shows is a
	// warning.
	Predict bool
	// IgnoreValues leaves out the order that the values of atomic operations tell.
	IgnoreValues bool
	// MaxMemory is about how many bytes the analysis should take; 0: whatever it
	// needs. What does not fit is written to files without a name in os.TempDir.
	// The result is the same.
	MaxMemory int64
	// Heap is how many bytes the whole program may take; 0: no limit. The analysis
	// ends before it has more in use, with what it found by then and a caveat of kind
	// TooLarge. debug.SetMemoryLimit should be told the same.
	Heap int64
	// Unseen are parts of the program that need not be instrumented: what is not
	// seen of them is no caveat, but in Result.Allowed.
	Unseen []Unseen
	// Layers say which frames of call stacks are not the application's: reports
	// do not point at them.
	Layers             symbols.Layers
	phase, turn, words int // of core.Options, for tests
	part               regions.Part
	inspect            func(*regions.Region) // is given each before it is searched
	// Progress, if set, is called now and then from the goroutine of Run.
	Progress func(Progress)
}

// Progress tells how far an analysis is.
type Progress struct {
	Regions  int    // concurrent regions replayed
	Phases   int    // parts of them handed to the search
	Accesses uint64 // accesses in them
	// Read of Bytes of the traces' files were read; with Options.Predict each
	// is read twice.
	Read, Bytes int64
	// Behind is how many calls the processes of a run that goes on have begun that were
	// not replayed, and BehindFor since when.
	Behind    uint64
	BehindFor time.Duration
}

// MemoryModel says by which memory model windows are judged (MPI 4.1, 12.4).
type MemoryModel string

// Memory models.
const (
	ModelAuto     MemoryModel = "auto"     // that of MPI_WIN_MODEL
	ModelUnified  MemoryModel = "unified"  // the unified one
	ModelSeparate MemoryModel = "separate" // the separate one: errors of rules MC109 and MC110 too
)

var memoryModels = []MemoryModel{"", ModelAuto, ModelUnified, ModelSeparate}

// ErrModel is the error of a memory model that does not exist.
var ErrModel = errors.New("no such memory model")

// ErrClock is the error of a clock name that does not exist.
var ErrClock = errors.New("no such clock")

// Run analyses the traces of a directory. Errors are those of trace.OpenDir
// (trace.ErrNoTraces, trace.ErrMixedRuns, no readable file), ErrClock and
// ErrModel; a trace that is damaged, cut or missing is no error but a caveat.
// When the context is done, the result is what was found by then.
func Run(ctx context.Context, dir string, opts Options) (*Result, error) {
	r, err := start(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.result()
}

// start opens the traces of a directory.
func start(ctx context.Context, dir string, opts Options) (*run, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	d, err := trace.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	return startIn(ctx, d, opts)
}

// check refuses what does not exist.
func (o *Options) check() error {
	if o.Clock == "" {
		o.Clock = evc.Auto
	}
	if !slices.Contains(evc.Names(), o.Clock) {
		return fmt.Errorf("%w: %q; there are %s", ErrClock, o.Clock, strings.Join(evc.Names(), ", "))
	}
	if !slices.Contains(memoryModels, o.MemoryModel) {
		return fmt.Errorf("%w: %q; there are %s, %s and %s", ErrModel, o.MemoryModel, ModelAuto, ModelUnified, ModelSeparate)
	}
	return nil
}

func startIn(ctx context.Context, d *trace.Dir, opts Options) (*run, error) {
	r := &run{opts: opts, dir: d, reopen: d.Open}
	r.ctx, r.unguard = r.guard(ctx)
	d.Until(r.ctx)
	var err error
	if r.readers, err = d.OpenAll(); err != nil {
		r.unguard()
		return nil, err
	}
	return r, nil
}

func (r *run) close() {
	r.unguard()
	closeAll(r.readers)
}

// openAgain opens the traces once more. Also with an error, those that are open
// are to be closed.
func (r *run) openAgain() ([]*trace.Reader, error) {
	readers := make([]*trace.Reader, len(r.readers))
	for rank, reader := range r.readers {
		if reader == nil {
			continue
		}
		again, err := r.reopen(rank)
		if err != nil {
			return readers, fmt.Errorf("reading the trace of rank %d once more: %w", rank, err)
		}
		readers[rank] = again
	}
	return readers, nil
}

func closeAll(readers []*trace.Reader) {
	for _, reader := range readers {
		if reader != nil {
			reader.Close()
		}
	}
}

// again goes back to where nothing was read.
func (r *run) again() error {
	readers, err := r.openAgain()
	if err != nil {
		closeAll(readers)
		return err
	}
	closeAll(r.readers)
	r.readers, r.regions, r.stats, r.at, r.vain = readers, 0, Stats{}, Progress{}, r.dir.BytesRead()
	return nil
}

// run is one analysis under way.
type run struct {
	ctx      context.Context
	opts     Options
	dir      *trace.Dir
	readers  []*trace.Reader // by rank; nil where there is no trace
	reopen   func(rank int) (*trace.Reader, error)
	streams  prefetched
	regions  int
	stats    Stats
	at       Progress
	told     time.Time // when progress was told last
	vain     int64     // bytes read before all began again, or for what is not the replay
	fetched  *models.Fetched
	stopped  error                    // why the replay did not come to its end: the cause of the context
	allows   mayBeUnseen              // to go unseen
	enoughOf func(*core.Machine) bool // whether it is known what comes of a replay; nil: never before its end
	live     *live                    // of a run that goes on while it is analysed; else nil
	guarded
}

func (r *run) result() (*Result, error) {
	e, err := r.gather()
	if err != nil {
		return nil, err
	}
	n, err := r.newNamer()
	if err != nil {
		e.Warnings = append(e.Warnings, err.Error())
	}
	n.sources = sources.NewReader(r.keptText(e), sources.Disk{})
	res := e.conclude(n)
	res.showSources(n.sources)
	res.Stats = r.stats
	res.Interrupted = r.stopped != nil
	return res, nil
}

// VerdictOn is the verdict that the findings and caveats of a result lead to.
func VerdictOn(res *Result) Verdict {
	misused := false
	for i := range res.Findings {
		switch f := &res.Findings[i]; {
		case f.Severity != conflicts.Error:
		case f.Class != conflicts.Usage:
			return Race
		default:
			misused = true
		}
	}
	if misused {
		return Misuse
	}
	if len(res.Caveats) > 0 {
		return Undecided
	}
	return NoRace
}

// mostWords bounds the words of which it is remembered what they hold, and wordShare is how many bytes
// the analysis may take for each: sixteen times what one does.
const mostWords, wordShare = 1 << 22, 16 * 256

// rememberedWords returns of how many words it is remembered what they hold; 0: as many as by default.
func (r *run) rememberedWords() int {
	if n := min(r.allowed()/wordShare, mostWords); n > core.DefaultWords {
		return int(n)
	}
	return 0
}

// accessShare is which part of Options.MaxMemory is for accesses, and searchShare
// which is for their search. The rest is for timestamps, findings, and reading.
const accessShare, searchShare = 4, 4

func (r *run) replayOptions() core.Options {
	return core.Options{Clock: r.opts.Clock, Part: r.opts.part, Phase: r.opts.phase, Turn: r.opts.turn, Words: cmp.Or(r.opts.words, r.rememberedWords()), Tick: r.tick, IgnoreValues: r.opts.IgnoreValues, Memory: r.opts.MaxMemory / accessShare}
}

// models returns the programming models for a replay.
func (r *run) models() []core.Model {
	return models.New(string(cmp.Or(r.opts.MemoryModel, ModelAuto)), r.whereFetched)
}

// search decodes, replays and searches, the one ahead of the other. The readers
// are free afterwards.
func (r *run) search(streams prefetched, opts core.Options) (*core.Machine, []conflicts.Group, error) {
	defer streams.stop()
	return r.searchIn(streams.streams(), opts)
}

// anew reads the traces once more and searches, with options changed.
func (r *run) anew(change func(*core.Options)) (*core.Machine, []conflicts.Group, error) {
	readers, err := r.openAgain()
	defer closeAll(readers)
	if err != nil {
		return nil, nil, err
	}
	r.vain = r.dir.BytesRead()
	opts := r.replayOptions()
	change(&opts)
	return r.search(prefetchAll(readers), opts)
}

// searchIn replays streams and searches.
func (r *run) searchIn(streams []core.Stream, opts core.Options) (*core.Machine, []conflicts.Group, error) {
	var m *core.Machine
	opts.Enough, opts.Room = func() bool { return r.hadEnough(m) }, r.room
	m, err := core.NewMachine(streams, opts, r.models()...)
	if err != nil {
		return nil, nil, err
	}
	jobs := r.opts.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	checker := conflicts.NewChecker(r.ctx, jobs, models.Judge(), opts.Part, r.opts.MaxMemory/searchShare, r.opts.Pairwise, &r.found)
	r.live.begin(r, m, checker)
	err = r.replay(m, checker)
	r.live.end()
	groups, failed := checker.Close()
	if failed != nil {
		err = failed
	}
	if err != nil && !errors.Is(err, r.ctx.Err()) && !errors.Is(err, context.Cause(r.ctx)) {
		return nil, nil, err
	}
	if h := m.Short(); h != nil && r.stopped == nil {
		r.stopped, r.held = &memoryError{r.allowed()}, *h
	}
	spilled := m.Stats().Spilled
	r.stats.Spilled.Accesses += spilled.Accesses
	r.stats.Spilled.Bytes += spilled.Bytes
	if r.ctx.Err() != nil && r.stopped == nil { // the search may not be complete
		r.stopped, r.held = context.Cause(r.ctx), m.Holdings()
	}
	return m, groups, nil
}

// replayed replays a run and gives its regions, or the phases of long ones, each
// to be released. The last may be an error instead, that of
// core.Machine.Next.
func (r *run) replayed(m *core.Machine) iter.Seq2[*regions.Region, error] {
	return func(yield func(*regions.Region, error) bool) {
		for {
			region, err := m.Next(r.ctx)
			if errors.Is(err, io.EOF) || !yield(region, err) || err != nil {
				return
			}
		}
	}
}

// replay replays the run and hands its regions to the checker. It ends early
// when the checker failed.
func (r *run) replay(m *core.Machine, checker *conflicts.Checker) error {
	for region, err := range r.replayed(m) {
		if err != nil {
			return err
		}
		r.regions = region.Index + 1
		r.at.Regions, r.at.Accesses = r.regions, m.Stats().Accesses
		r.at.Phases++
		r.tell()
		if r.opts.Stats {
			r.stats.add(region)
		}
		if r.opts.inspect != nil {
			r.opts.inspect(region)
		}
		checker.Add(region)
		r.live.added()
		if checker.Failed() != nil {
			break
		}
	}
	return nil
}

// tellEvery is how often progress is told while a region is replayed.
const tellEvery = 100 * time.Millisecond

// tick is called every few hundred events.
func (r *run) tick() {
	if r.opts.Progress != nil && time.Since(r.told) >= tellEvery {
		r.tell()
	}
}

func (r *run) tell() {
	if r.opts.Progress == nil {
		return
	}
	r.told = time.Now()
	r.at.Read, r.at.Bytes = r.dir.BytesRead()-r.vain, r.bytes()
	if r.live != nil && r.live.machine != nil {
		r.at.Behind, r.at.BehindFor = r.live.behind(r.live.machine.Stats().Calls)
	}
	r.opts.Progress(r.at)
}

func (r *run) basis(m *core.Machine) Basis {
	s := m.Stats()
	return Basis{
		Ended: s.Ended,
		Ranks: len(r.dir.Files), RanksInRun: r.dir.Ranks,
		Model: s.Model, Windows: s.Objects, Regions: r.regions,
		Calls: s.Calls, Operations: s.Operations,
		Loads: s.Loads, Stores: s.Stores, Accesses: s.Accesses,
		LostCalls: s.LostCalls, LostAccess: s.LostAccess,
		Instruments: s.Units, Preloaded: r.preloaded(),
	}
}

// info returns an info record of the lowest rank that has it.
func (r *run) info(key string) string {
	for _, reader := range r.readers {
		if reader == nil {
			continue
		}
		if values := reader.Info(key); len(values) > 0 {
			return values[0]
		}
	}
	return ""
}
