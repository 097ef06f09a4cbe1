package analysis

import (
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trial"
)

// polls notes the one-sided operations of a replay, to find out where a process may have
// waited for a value that another one left.
type polls struct {
	*trial.Scan
	ranks [][]polled // in program order
	left  int        // how many more are noted
	now   []current  // of each process
	sends []trial.Need
	weak  map[stackKey][]string // the memory orders that atomic operations of the language lack
}

// polled is an operation.
type polled struct {
	models.Polled
	region int
	call   conflicts.SyncPoint // without its stack
	stack  uint32
	begin  int64
}

func newPolls(scan *trial.Scan, ranks int) *polls {
	return &polls{Scan: scan, ranks: make([][]polled, ranks), left: trial.MostNoted, now: make([]current, ranks), weak: map[stackKey][]string{}}
}

// Call is that of core.Observer.
func (p *polls) Call(c *core.ObservedCall) {
	p.Scan.Call(c)
	p.call(c)
	if orders := models.Lacks(c.Call); len(orders) > 0 {
		p.weak[stackKey{c.Rank, c.Call.Stack}] = orders
	}
	if what, ok := models.Polls(c.Call); ok && p.left > 0 {
		p.left--
		p.ranks[c.Rank] = append(p.ranks[c.Rank], polled{what, p.Scan.Regions(), conflicts.SyncPoint{Call: c.Call.Fn.Name, Rank: int(c.Rank), Event: c.Pos}, c.Call.Stack, c.Call.Begin})
	}
}

// between returns an operation of the process of x, behind x, and one of the process of y,
// before y, of which the second may have fetched what the first left there; nil where their
// values tell whether it has, so that nothing is left to be declared.
func (p *polls) between(x, y *conflicts.Side) (leaves, fetches *polled) {
	if x.Event == 0 || y.Event == 0 {
		return nil, nil
	}
	for i := range slices.Backward(p.ranks[y.Rank]) {
		f := &p.ranks[y.Rank][i]
		if f.call.Event >= y.Event || !f.Fetches {
			continue
		}
		for k := range p.ranks[x.Rank] {
			if l := &p.ranks[x.Rank][k]; l.call.Event > x.Event && l.Changes && l.Location == f.Location && l.region == f.region {
				if l.Valued && f.Valued {
					return nil, nil
				}
				return l, f
			}
		}
		return nil, nil
	}
	return nil, nil
}

// declare proposes to declare the order of two accesses, where a process may have waited
// for a value.
func (t *trials) declare(f *conflicts.Finding) (conflicts.Fix, bool) {
	if f.Class != conflicts.AcrossProcesses || f.First.Atomic && f.Second.Atomic { // as operations that poll are meant to meet
		return conflicts.Fix{}, false
	}
	for _, s := range [][2]*conflicts.Side{{&f.First, &f.Second}, {&f.Second, &f.First}} {
		leaves, fetches := t.polls.between(s[0], s[1])
		if leaves == nil || removed(f) && !t.polls.repeated(fetches) {
			continue
		}
		for _, x := range []*polled{leaves, fetches} {
			x.call.Stack = t.namer.stack(int32(x.call.Rank), x.stack)
		}
		fix := models.Declare(f, fetches.Location, leaves.call, fetches.call)
		fix.Trial.Untried = "only who wrote the program knows"
		return fix, true
	}
	return conflicts.Fix{}, false
}

// removed reports whether there is a fix that was tried.
func removed(f *conflicts.Finding) bool {
	return slices.ContainsFunc(f.Fixes, func(x conflicts.Fix) bool { return x.Trial.Tried && x.Kind != conflicts.FixOther })
}

// repeated reports whether the process of an operation has fetched what was there before, with
// nothing between the two that all processes wait for.
func (p *polls) repeated(f *polled) bool {
	for i := range p.ranks[f.call.Rank] {
		x := &p.ranks[f.call.Rank][i]
		if x.call.Event < f.call.Event && x.Fetches && x.Location == f.Location && x.region == f.region {
			return true
		}
	}
	return false
}
