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
// rule MC202: the accesses that only this order kept apart. Pairs of call paths
// that already have a finding of rule MC1xx are not repeated.
func (n *namer) predicted(groups []conflicts.Group, first []found) []found {
	known := map[pathPair]bool{}
	for i := range first {
		if f := &first[i]; f.Class != conflicts.Usage && f.Rule != conflicts.RuleAtomicOp {
			known[f.key.pair()] = true
		}
	}
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Rule = conflicts.RuleLockOrder
	}
	return slices.DeleteFunc(n.findings(groups, nil), func(f found) bool { return known[f.key.pair()] })
}

// pathPair is two call paths, whatever was done there.
type pathPair struct{ first, second string }

func (k *findingKey) pair() pathPair {
	return pathPair{min(k.first.path, k.second.path), max(k.first.path, k.second.path)}
}
