package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
)

// predictedPairs returns the findings of rule MC202 as the oracle names
// conflicts, and those of all other rules.
func predictedPairs(res *Result) (predicted, others []string) {
	all := *res
	all.Findings = nil
	for _, f := range res.Findings {
		if f.Rule == conflicts.RuleLockOrder {
			f.Severity = conflicts.Error // as the oracle has it
			all.Findings = append(all.Findings, f)
		}
	}
	rest := *res
	rest.Findings = slices.DeleteFunc(slices.Clone(res.Findings), func(f conflicts.Finding) bool {
		return f.Rule == conflicts.RuleLockOrder
	})
	return pairsOf(&all), pairsOf(&rest)
}

// predictDisagreement returns what the engine and the brute-force checker say
// differently of what another order of locks would do, or "".
func predictDisagreement(t testing.TB, p *oracle.Program, clock string) string {
	pairs, err := p.Predicted()
	if err != nil {
		return ""
	}
	want := []string{}
	for _, q := range pairs {
		a, b := q.A.String(), q.B.String()
		want = append(want, fmt.Sprintf("%s: %s and %s", q.Kind, min(a, b), max(a, b)))
	}
	slices.Sort(want)
	files, err := p.Files()
	if err != nil {
		return ""
	}
	res := inMemoryWith(t, files, Options{Clock: clock, Jobs: 2, Predict: true})
	got, rest := predictedPairs(res)
	without := pairsOf(inMemoryWith(t, files, Options{Clock: clock, Jobs: 2}))
	text := ""
	if !slices.Equal(rest, without) {
		text += fmt.Sprintf("--predict changes other findings: %v, without it %v\n", rest, without)
	}
	if !slices.Equal(got, want) {
		text += fmt.Sprintf("predicted %v, want %v\n", got, want)
	}
	for _, f := range res.Findings {
		if f.Rule == conflicts.RuleLockOrder && (f.Severity != conflicts.Warning || !strings.Contains(f.Why, "got its lock")) {
			text += fmt.Sprintf("%s: %s\n", f.Severity, f.Why)
		}
	}
	return text
}

// TestPredictAgainstBruteForce holds the findings of --predict against those
// of the brute-force checker with the order of locks left out.
func TestPredictAgainstBruteForce(t *testing.T) {
	t.Parallel()
	for _, clock := range []string{evc.Encoded, evc.Vector} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			n, some := part(t, 10), 0
			for seed := range n {
				p := oracle.Generate(seed, oracle.Options{})
				if pairs, err := p.Predicted(); err == nil && len(pairs) > 0 {
					some++
				}
				if text := predictDisagreement(t, p, clock); text != "" {
					small := oracle.Shrink(p, func(q *oracle.Program) bool { return predictDisagreement(t, q, clock) != "" })
					t.Fatalf("seed %d, %s:\n%s\n%s\nbefore shrinking:\n%s", seed, clock, small, predictDisagreement(t, small, clock), text)
				}
			}
			t.Logf("%d programs, in %d another order of locks would race", n, some)
			require.Positive(t, some)
		})
	}
}
