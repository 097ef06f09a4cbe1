package analysis

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcchk/mcchk/trace"
)

// An analysis that gives traces back cannot begin anew when it was killed. So it keeps, in a
// file beside them, what it would report if it were interrupted: always before it tells a
// finding, and now and then. The state of the replay is not in it: what the processes
// recorded later cannot be understood without, and is not analysed.

// soFarFile is the file's name.
const soFarFile = "found-so-far"

// ErrNothingKept is the error of FoundSoFar where there is no file of this run, or no
// readable one.
var ErrNothingKept = errors.New("no analysis has kept what it found")

// keeper keeps what was found so far.
type keeper struct {
	version string
	path    string // "" until it is known that traces are given back
	wrote   time.Time
	took    time.Duration // by the last time
	problem string        // why it is not written any more
}

// keepEvery is how often the file is written without a new finding. With many findings
// that takes long, and is done less often: it takes at most one part in keepShare of the time,
// of news in newsShare.
const keepEvery, keepShare, newsShare = 3 * time.Second, 20, 2

// keep writes the file: at once for news, unless it took long the last time. It returns false
// where news have to wait for that: what is told has been kept.
func (l *live) keep(news bool) bool {
	k, since := &l.keeper, time.Since(l.wrote) // long, the first time
	switch {
	case l.machine == nil || k.problem != "" || !l.limited():
		return true
	case news && since < newsShare*k.took, !news && since < max(keepEvery, keepShare*k.took):
		return false
	}
	began := time.Now()
	k.path = filepath.Join(l.run.dir.Path, soFarFile)
	if err := l.soFar().WriteFile(k.path); err != nil {
		k.problem = fmt.Sprintf("what was found so far could not be kept beside the traces: %v", err)
	}
	k.wrote = time.Now()
	k.took = k.wrote.Sub(began)
	return true
}

// limited reports whether what was read of traces is given back.
func (l *live) limited() bool {
	return l.path != "" || slices.ContainsFunc(l.run.readers, func(r *trace.Reader) bool {
		if r == nil {
			return false
		}
		if told := r.Live(); told != nil {
			return told.Most > 0
		}
		told, ok := r.Ask()
		return ok && told.Most > 0
	})
}

// soFar is what is known by now.
func (l *live) soFar() *Partial {
	r := l.run
	e := r.evidence(l.machine, l.checker.SoFar())
	e.Caveats = append(slices.Clip(e.Caveats), Caveat{
		Kind: Interrupted,
		Text: fmt.Sprintf("the analysis was ended from outside after %s and %s, and what it had read was given back (--max-disk): nothing later was analysed, so calls in it that complete or order accesses are not known",
			plural(uint64(r.regions), "concurrent region", "concurrent regions"), plural(e.Basis.Calls, "call", "calls")),
	})
	n := l.namer()
	n.weakened, n.ofThreads, n.ofOne, n.strands = 0, false, false, 0
	p := newPartial(Shard{1, 1}, r.opts, e.Run, e)
	p.Version = l.version
	e.conclude(n)
	p.Places, p.Variables = placesOfStacks(n), variablesKnown(n)
	return p
}

// forget removes the file of an analysis that came to its end.
func (k *keeper) forget() error {
	if k.path == "" {
		return nil
	}
	if err := os.Remove(k.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// FoundSoFar returns what an analysis had found that gave the traces in a directory back and
// was killed. Processes that wait for it go on, unrecorded. An error wraps ErrNothingKept
// where that is not known, or trace.ErrReadAlong when the analysis goes on.
func FoundSoFar(dir, version string, heap int64) (*Result, error) {
	d, err := trace.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	if err := d.Dismiss(); err != nil {
		return nil, err
	}
	p, err := ReadPartial(filepath.Join(dir, soFarFile), version)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNothingKept, err)
	}
	if run := hex.EncodeToString(d.Run[:]); p.Run != run {
		return nil, fmt.Errorf("%w: %s is of another run, %s", ErrNothingKept, p.Path, p.Run)
	}
	res, err := MergePartials([]*Partial{p}, heap)
	if err != nil {
		return nil, err
	}
	res.GivenBack = true
	res.notTried()
	return res, nil
}

// notTried says of all fixes that they cannot be tried.
func (res *Result) notTried() {
	for i := range res.Findings {
		fixes := res.Findings[i].Fixes
		for k := range fixes {
			fixes[k].Trial.Untried = notKept
		}
	}
}
