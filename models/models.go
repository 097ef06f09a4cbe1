// Package models has the list of the programming models that mcchk knows, and
// what each says of conflicts: who compares, explains and reports asks here, and
// knows none of them.
package models

import (
	"strings"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/mpi/judge"
	"github.com/mcchk/mcchk/regions"
)

// Judge returns the judge of what conflicts, over all models.
func Judge() conflicts.Judge { return judge.Judge{} }

// Rules returns the rules of all models in the order of their identifiers.
func Rules() []conflicts.Rule { return judge.Rules() }

// Lookup returns the rule with that identifier. Case does not matter.
func Lookup(id string) (conflicts.Rule, bool) {
	for _, r := range Rules() {
		if strings.EqualFold(r.ID, id) {
			return r, true
		}
	}
	return conflicts.Rule{}, false
}

// UsageRule returns the identifier of the rule for a kind of usage error.
func UsageRule(k regions.UsageKind) string { return judge.UsageRule(k) }
