package analysis

import (
	"fmt"
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
)

// predict replays the run once more without the order in which locks were
// granted, and returns the errors that there are then. Locks still exclude.
func (r *run) predict() ([]conflicts.Group, error) {
	readers, err := r.openAgain()
	defer closeAll(readers)
	if err != nil {
		return nil, err
	}
	opts := r.replayOptions()
	opts.AnyLockOrder = true
	_, groups, err := r.search(prefetchAll(readers), opts)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(groups, func(g conflicts.Group) bool {
		rule, ok := models.Lookup(g.Rule)
		return !ok || rule.Severity != conflicts.Error
	}), nil
}

// predicted turns what conflicts without the order of locks into findings of
// rule MC202: the accesses that only this order kept apart. Pairs of places that
// already have a finding of rule MC1xx are not repeated.
func (n *namer) predicted(groups []conflicts.Group, found []conflicts.Finding) []conflicts.Finding {
	known := map[placePair]bool{}
	for i := range found {
		if found[i].Class != conflicts.Usage && found[i].Rule != conflicts.RuleAtomicOp {
			known[placesOf(&found[i])] = true
		}
	}
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Rule = conflicts.RuleLockOrder
	}
	return slices.DeleteFunc(n.findings(groups, nil), func(f conflicts.Finding) bool { return known[placesOf(&f)] })
}

// placePair is two source places, whatever was done there.
type placePair struct{ first, second sideKey }

func placesOf(f *conflicts.Finding) placePair {
	place := func(s *conflicts.Side) sideKey {
		k := keyOf(s)
		k.role, k.call = "", ""
		return k
	}
	p := placePair{place(&f.First), place(&f.Second)}
	if p.first.compare(p.second) > 0 {
		p.first, p.second = p.second, p.first
	}
	return p
}

// explainLocks says which order of locks would let the accesses race.
func (n *namer) explainLocks(f *conflicts.Finding, s *conflicts.Sample) conflicts.Explanation {
	w := newWording(f)
	a, b := &f.First, &f.Second
	first, then := s.Locks[0], s.Locks[1]
	e := conflicts.Explanation{
		Why: fmt.Sprintf("only the order in which locks were granted in this run keeps %s of rank %d and %s of rank %d apart",
			w.access(a), a.Rank, w.access(b), b.Rank),
		Mends: []conflicts.Mend{
			mend(conflicts.MendLock, "make both accesses under a lock that excludes the other"),
			mend(conflicts.MendSynchronize, "synchronize the two processes otherwise (message, barrier or fence)"),
		},
	}
	if first != nil {
		e.Why = fmt.Sprintf("only because rank %d got its lock (%s%s) before rank %d (%s%s) do %s of rank %d and %s of rank %d not meet; had rank %d got it first, nothing would order them",
			first.Rank, first.Fn, n.where(first), then.Rank, then.Fn, n.where(then),
			w.access(a), a.Rank, w.access(b), b.Rank, then.Rank)
		e.Sought = []conflicts.Sought{{
			Kind: conflicts.SoughtPath, From: n.syncPoint(first), Found: n.syncPoint(then),
			Text: fmt.Sprintf("a message, barrier or fence between rank %d and rank %d: there are the locks alone", a.Rank, b.Rank),
		}}
	}
	return e
}
