package analysis

import (
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
