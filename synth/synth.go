// Package synth writes synthetic traces: those of programs that do not exist,
// of any size, with data races at known places. They show what an analysis
// finds, how long it takes, and how much memory it needs.
//
// Generate writes one file a process, a few at a time. A process's file is made
// step by step by a pattern (halo.go, patterns.go, random.go), which knows how
// the processes of such a program access memory and synchronise, and which
// never races by itself. Planted races (plant.go) are pairs of accesses that
// nothing orders, each at two source places of its own and in a window of its
// own, so that they neither disturb the pattern nor each other; Expected lists
// them.
//
// What is written depends on the Config alone. Memory grows with the number of
// planted races, and not with that of processes or accesses.
//
// An access here is one record of a trace that touches memory that others may
// touch: a run of loads or stores, as a tracer records the loop over a row, or
// a one-sided operation. Buffers of messages do not count.
package synth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcchk/mcchk/trace"
)

// ExpectedFile is the name of the file beside the traces that says what an
// analysis of them must find.
const ExpectedFile = "expected.json"

// Limits of a Config.
const (
	MaxRanks    = 1 << 20
	MaxAccesses = 1_000_000_000_000
	MaxRaces    = 10_000_000
)

// Ways in which the processes of a halo exchange synchronise.
const (
	SyncFence    = "fence"
	SyncPSCW     = "pscw"
	SyncMessages = "messages"
)

// Config says what to generate.
type Config struct {
	Pattern  string // one of Patterns
	Ranks    int    // processes, at least 2
	Accesses int64  // in all, planted ones included; 0: as many as Steps need
	Steps    int64  // repetitions of the pattern; 0: as many as suit Accesses
	Seed     uint64 // draws the random choices
	Races    int    // planted races
	Dims     int    // of the process grid of halo: 2 (also for 0) or 3
	Sync     string // of halo: SyncFence (also for ""), SyncPSCW or SyncMessages
	Compress bool   // write .mcct.zst files
	Jobs     int    // files written side by side; 0: one for each CPU
	// Timing gives the traces wall-clock times; nil: each call begins 1 ns after the
	// one before.
	Timing *Timing
	// Progress, if set, is called now and then with the number of accesses
	// written so far. Calls do not overlap.
	Progress func(done, of int64)
}

// Timing says when things happen, by the clocks of the processes. Its functions are called
// from several goroutines.
type Timing struct {
	Host   func(rank int) string
	Start  func(rank int) (monotonic, realtime uint64)     // of the trace
	Clocks func(rank int) []trace.Clock                    // as measured, in the order of time
	Calls  func(rank int) (next func() (begin, end int64)) // of the calls of a process, one after the other
	Drifts []ExpectedClock                                 // to be told in ExpectedFile
}

// ErrConfig is wrapped by the errors of Generate about its Config.
var ErrConfig = errors.New("cannot be generated")

// plan is a checked Config with what follows from it.
type plan struct {
	Config
	pattern patternInfo
	drawn   int64 // accesses without the planted ones
	plants  *plants
	written struct {
		accesses   atomic.Int64
		sync.Mutex // held during Progress
	}
}

// wrote counts accesses, and tells of them unless somebody else is telling.
func (p *plan) wrote(accesses int64) {
	n := p.written.accesses.Add(accesses)
	if p.Progress != nil && p.written.TryLock() {
		p.Progress(n, p.drawn)
		p.written.Unlock()
	}
}

func newPlan(c Config) (*plan, error) {
	bad := func(format string, args ...any) (*plan, error) {
		return nil, fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	info, ok := patternOf(c.Pattern)
	switch {
	case !ok:
		return bad("there is no pattern %q; there are %s", c.Pattern, strings.Join(Patterns(), ", "))
	case c.Ranks < 2 || c.Ranks > MaxRanks:
		return bad("%d processes: from 2 to %d are possible", c.Ranks, MaxRanks)
	case c.Accesses < 0 || c.Accesses > MaxAccesses || c.Steps < 0 || c.Steps > MaxAccesses:
		return bad("accesses and steps must be from 1 to %d", int64(MaxAccesses))
	case c.Accesses == 0 && c.Steps == 0:
		return bad("the number of accesses is missing")
	case c.Races < 0 || c.Races > MaxRaces:
		return bad("%d planted races: at most %d are possible", c.Races, MaxRaces)
	case c.Pattern != Halo && (c.Dims != 0 || c.Sync != ""):
		return bad("dimensions and kinds of synchronization are for the pattern %s", Halo)
	}
	if c.Pattern == Halo {
		if c.Dims == 0 {
			c.Dims = 2
		}
		if c.Sync == "" {
			c.Sync = SyncFence
		}
		if c.Dims != 2 && c.Dims != 3 {
			return bad("%d dimensions: there are 2 and 3", c.Dims)
		}
		if c.Sync != SyncFence && c.Sync != SyncPSCW && c.Sync != SyncMessages {
			return bad("synchronization %q: there are %s, %s and %s", c.Sync, SyncFence, SyncPSCW, SyncMessages)
		}
	}
	p := &plan{Config: c, pattern: info}
	if err := p.size(); err != nil {
		return nil, err
	}
	p.plants = newPlants(p)
	return p, nil
}

// size decides on the number of accesses and steps.
func (p *plan) size() error {
	shape := p.pattern.shape(&p.Config)
	planted := 2 * int64(p.Races)
	perStep := int64(p.Ranks) * shape.usual
	switch {
	case shape.once && p.Steps > 1:
		return fmt.Errorf("%w: pattern %s has one step", ErrConfig, p.Pattern)
	case p.Accesses == 0:
		if p.Steps > MaxAccesses/perStep {
			return fmt.Errorf("%w: %d steps of %d accesses are more than %d", ErrConfig, p.Steps, perStep, int64(MaxAccesses))
		}
		p.Accesses = p.Steps*perStep + planted
	case shape.once:
		p.Steps = 1
	case p.Steps == 0:
		p.Steps = max(1, (p.Accesses-planted)/perStep)
	}
	p.drawn = p.Accesses - planted
	if least := int64(p.Ranks) * p.Steps * shape.least; p.drawn < least {
		return fmt.Errorf("%w: %d steps of pattern %s with %d processes and %d planted races are at least %d accesses",
			ErrConfig, p.Steps, p.Pattern, p.Ranks, p.Races, least+planted)
	}
	return nil
}

// budget is the number of accesses that the pattern makes in one step of one
// process. The sum over all is p.drawn, and no two of a process differ by more than 1.
func (p *plan) budget(rank int, step int64) int64 {
	mine := part(p.drawn, int64(rank), int64(p.Ranks))
	return part(mine, step, p.Steps)
}

// part is the i-th of n parts of a whole that differ by at most 1.
func part(whole, i, n int64) int64 {
	each, more := whole/n, whole%n
	if i < more {
		return each + 1
	}
	return each
}

// Generate writes the traces and ExpectedFile into dir, which it makes. A
// directory that holds anything is refused, unless Generate made it: then its
// traces are replaced. An error that wraps ErrConfig is about the Config.
func Generate(ctx context.Context, dir string, c Config) (*Expected, error) {
	p, err := newPlan(c)
	if err != nil {
		return nil, err
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	total, err := p.writeAll(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := p.expected(total)
	return e, e.write(filepath.Join(dir, ExpectedFile))
}

// writeAll writes the files of all processes, some side by side, and sums up
// what they hold.
func (p *plan) writeAll(ctx context.Context, dir string) (Totals, error) {
	jobs := p.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  atomic.Int64
		total Totals
	)
	for range min(jobs, p.Ranks) {
		wg.Go(func() {
			for rank := int(next.Add(1)) - 1; rank < p.Ranks && ctx.Err() == nil; rank = int(next.Add(1)) - 1 {
				t, err := p.writeFile(ctx, dir, rank)
				if err != nil {
					cancel(fmt.Errorf("rank %d: %w", rank, err))
					return
				}
				mu.Lock()
				total.add(t)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total, context.Cause(ctx)
}

// prepare makes an empty directory.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := false
	for _, e := range entries {
		ours = ours || e.Name() == ExpectedFile
	}
	for _, e := range entries {
		if name := e.Name(); !ours || name != ExpectedFile && !isTrace(name) {
			return fmt.Errorf("%s holds other files (%s): give a new or empty directory", dir, name)
		}
	}
	// The file that makes the directory ours goes last, so that a generation
	// that was ended can be repeated.
	for _, e := range entries {
		if isTrace(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	// An empty one marks a directory that is being written.
	return os.WriteFile(filepath.Join(dir, ExpectedFile), nil, 0o644)
}

// unfinished begins the names of traces that are being written.
const unfinished = ".generate-"

func isTrace(name string) bool {
	return strings.HasPrefix(name, unfinished) || strings.HasPrefix(name, "rank-") && strings.HasSuffix(strings.TrimSuffix(name, ".zst"), ".mcct")
}
