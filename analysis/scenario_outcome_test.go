package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/symbols"
)

// What scenarios expect is named here in terms of a Result, and nowhere else.

// outcome returns what a scenario can expect of a result.
func outcome(res *Result) *scenario.Outcome {
	o := &scenario.Outcome{Verdict: string(res.Verdict)}
	for i := range res.Findings {
		f := &res.Findings[i]
		found := scenario.Found{Text: findingText(f), Why: f.Why}
		for _, s := range f.Sought {
			found.Sought = append(found.Sought, scenario.Note{Kind: string(s.Kind), Text: s.Text})
		}
		for _, m := range f.Fixes {
			found.Proposals = append(found.Proposals, scenario.Note{Kind: string(m.Kind), Text: m.Text})
		}
		o.Findings = append(o.Findings, found)
	}
	for _, d := range res.Caveats {
		o.Caveats = append(o.Caveats, scenario.Note{Kind: string(d.Kind), Text: d.Text})
	}
	return o
}

// findingText returns a finding as a scenario has it: the rule and the places,
// "MC102 3 b.c:7 (warning)".
func findingText(f *conflicts.Finding) string {
	text := f.Rule + " " + placeText(f.First.Stack)
	if !f.Alone() {
		text += " " + placeText(f.Second.Stack)
	}
	if f.Severity != conflicts.Error {
		text += fmt.Sprintf(" (%s)", f.Severity)
	}
	return text
}

func placeText(stack []symbols.Frame) string {
	at, ok := symbols.Here(stack)
	switch {
	case !ok:
		return "-"
	case at.File != "a.c":
		return fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	return fmt.Sprint(at.Line)
}

// requireWhole checks what every finding of a scenario has, whatever it is about.
func requireWhole(t testing.TB, res *Result) {
	t.Helper()
	for i := range res.Findings {
		f := &res.Findings[i]
		require.Equal(t, strings.HasPrefix(f.Rule, "MC3"), f.Class == conflicts.Usage, f.Rule)
		require.NotEmpty(t, f.Why, f.Rule)
		require.NotEmpty(t, f.Fixes, f.Rule)
		require.NotEmpty(t, f.Ranks, f.Rule)
		require.Positive(t, f.Count, f.Rule)
	}
}

// line returns the line of the place that a report points at, or 0.
func line(stack []symbols.Frame) int {
	f, _ := symbols.Here(stack)
	return f.Line
}
