// Package gate decides which findings count: not those that a suppressions
// file excuses with a reason, and not those that a baseline holds already.
//
// Both files are read before an analysis (ReadBaseline, ReadSuppressions), so
// that a mistake in them costs no time. Apply then takes what they accept out
// of the findings of a result. Suppressions come first: what they excuse needs
// no place in a baseline. Nothing is lost on the way: accepted findings stay
// in the result, and what the files name and the run did not show is returned.
package gate

import (
	"github.com/mcchk/mcchk/analysis"
)

// Gate is what a result is held against. The zero value accepts nothing.
type Gate struct {
	Baseline     *Baseline     // nil: none
	Suppressions *Suppressions // nil: none
}

// Outcome is what the files of a gate name and a result does not have.
type Outcome struct {
	Vanished []Known       // in the baseline, and not found any more
	Unused   []Suppression // fitting no finding
}

// Apply returns the result with its accepted findings moved from Findings to
// Accepted, and the verdict on the rest. The result given stays as it is.
func (g *Gate) Apply(res *analysis.Result) (*analysis.Result, Outcome) {
	out := *res
	out.Findings = nil
	out.Accepted = nil
	used := make([]bool, g.Suppressions.len())
	known, vanished := g.Baseline.match(res.Findings, res.Sources)
	for i := range res.Findings {
		f := &res.Findings[i]
		if s := g.Suppressions.match(f, res.Sources, used); s != nil {
			out.Accepted = append(out.Accepted, analysis.Accepted{Finding: *f, By: analysis.Suppression, Reason: s.Reason})
			continue
		}
		if k := known[i]; k != nil {
			out.Accepted = append(out.Accepted, analysis.Accepted{Finding: *f, By: analysis.Baseline, Reason: k.Reason})
			continue
		}
		out.Findings = append(out.Findings, *f)
	}
	out.Verdict = verdict(&out)
	return &out, Outcome{Vanished: vanished, Unused: g.Suppressions.unused(used)}
}

// verdict is that of the findings left.
func verdict(res *analysis.Result) analysis.Verdict {
	if len(res.Accepted) == 0 || res.Verdict == analysis.NoRace || res.Verdict == analysis.Undecided {
		return res.Verdict
	}
	v := analysis.VerdictOn(res)
	if v == analysis.NoRace {
		return analysis.NothingNew
	}
	return v
}
