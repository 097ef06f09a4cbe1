package analysis

import (
	"slices"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
)

// firm replays the run once more with calls ordering processes that need not
// (core.Options.FullOrder). What conflicts then as well was ordered by none of them.
func (r *run) firm(e *evidence, first *core.Machine) error {
	if r.live != nil || !first.CanOrder() || !e.mayBeWeakened() { // live: the traces may be gone
		return nil
	}
	m, groups, err := r.anew(func(opts *core.Options) { opts.FullOrder, opts.Doubtful = true, first.Doubtful() })
	if err != nil {
		return err
	}
	if r.stopped != nil {
		if r.ctx.Err() == nil { // the first replay had the memory that it needed
			r.stopped = nil
		}
		return nil
	}
	if len(m.MayOrder()) > 0 || waitedInVain(m) > waitedInVain(first) {
		return nil
	}
	e.Firm, e.FirmUsages = groups, m.Usages()
	return nil
}

// mayBeWeakened reports whether anything is found that order between processes would undo.
func (e *evidence) mayBeWeakened() bool {
	return slices.ContainsFunc(e.Groups, func(g conflicts.Group) bool {
		rule, ok := models.Lookup(g.Rule)
		return ok && rule.Severity == conflicts.Error
	}) || slices.ContainsFunc(e.Usages, func(u core.Usage) bool { return u.Rule == conflicts.RuleMemoryGone })
}

// waitedInVain counts what was waited for and never came.
func waitedInVain(m *core.Machine) (n uint64) {
	for _, p := range m.Problems() {
		if p.Kind == core.Unmatched || p.Kind == core.Mismatch {
			n += p.Count
		}
	}
	return n
}

// firmly makes of findings those that hold whatever calls have ordered that need not.
func (n *namer) firmly(e *evidence) map[findingKey]found {
	unknown, unordered, strangers := n.unknown, n.unordered, n.strangers
	n.unknown, n.unordered, n.strangers = nil, nil, nil
	defer func() { n.unknown, n.unordered, n.strangers = unknown, unordered, strangers }()
	all := map[findingKey]found{}
	for _, f := range n.findings(e.Firm, e.FirmUsages) {
		all[f.key] = f
	}
	return all
}
