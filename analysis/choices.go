package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/trace"
)

// otherOrder replays the run once more with another of the orders in which memory may have
// been updated, as far as values tell (core.Options.OtherOrder). Where that explains the
// values as well, what only that shows depends on the order.
func (r *run) otherOrder(e *evidence, taken core.Choices) error {
	if r.live != nil { // the traces may be gone
		return nil
	}
	m, groups, err := r.anew(func(opts *core.Options) { opts.OtherOrder = true })
	if err != nil || r.stopped != nil || !m.Choices().AsGood(taken) {
		return err
	}
	e.Compared, e.Open = true, taken.Orders
	e.Others = slices.DeleteFunc(groups, func(g conflicts.Group) bool {
		rule, ok := models.Lookup(g.Rule)
		return !ok || rule.Severity != conflicts.Error
	})
	return nil
}

// compared adds what there is in the other order only, as warnings. What there is in the usual
// one only is an error all the same, since no value speaks against that order.
func (n *namer) compared(all []found, e *evidence) []found {
	others := n.findings(e.Others, nil)
	first, second := conflicting(all), conflicting(others)
	for i := range all {
		if f := &all[i]; f.dependsOn(second) {
			f.Why += "; in another of the orders in which memory may have been updated they are ordered: " + n.openOrders(e.Open)
		}
	}
	n.depend(others, first, e.Open)
	return append(all, slices.DeleteFunc(others, func(f found) bool { return first[f.key.pair()] })...)
}

// dependsOn reports whether a finding is an error that there is in one of two orders only, which
// the conflicts of the other one do not have.
func (f *found) dependsOn(others map[pathPair]bool) bool {
	return f.Severity == conflicts.Error && f.Class != conflicts.Usage && !others[f.key.pair()]
}

// conflicting lists between which call paths there are conflicts.
func conflicting(fs []found) map[pathPair]bool {
	known := map[pathPair]bool{}
	for i := range fs {
		if f := &fs[i]; f.Class != conflicts.Usage {
			known[f.key.pair()] = true
		}
	}
	return known
}

// depend makes errors warnings that are not known in the other order.
func (n *namer) depend(fs []found, known map[pathPair]bool, open []core.OpenOrder) {
	for i := range fs {
		f := &fs[i]
		if f.dependsOn(known) {
			f.Severity, f.OneOrder = conflicts.Warning, true
			f.Why += "; but so it is only in one of the orders in which memory may have been updated: " + n.openOrders(open)
			n.depends++
		}
	}
}

// openOrders says which calls may have updated memory in several orders.
func (n *namer) openOrders(all []core.OpenOrder) string {
	var texts []string
	for _, o := range all {
		var calls []string
		for _, c := range o.Candidates {
			name := c.Fn
			if own := trace.Language(name); own != "" {
				name = "an " + own
			}
			calls = append(calls, fmt.Sprintf("%s%s of rank %d", name, n.where(c), c.Rank))
		}
		texts = append(texts, fmt.Sprintf("%s in the memory of rank %d", strings.Join(calls, ", "), o.Owner))
	}
	return strings.Join(texts, "; ")
}
