package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// foundAt is a finding at a line.
func foundAt(line int, severity conflicts.Severity, count uint64, ranks ...int) conflicts.Finding {
	return conflicts.Finding{
		Rule: conflicts.RuleBuffer, Severity: severity, Count: count, Ranks: ranks,
		First: conflicts.Side{Rank: ranks[0], Role: "load", Stack: []symbols.Frame{{Func: "f", File: "a.c", Line: line}}},
	}
}

func TestJoin(t *testing.T) {
	run := func(v Verdict, fs ...conflicts.Finding) *Result {
		return &Result{Verdict: v, Findings: fs, Basis: Basis{Ranks: 2, RanksInRun: 2, Ended: 2, Windows: 1, Loads: 10}, Directory: string(v)}
	}
	weak := foundAt(3, conflicts.Warning, 2, 1)
	cut := run(Undecided)
	cut.Basis.Ended = 1
	cut.Caveats = []Caveat{{Kind: CutTrace, Ranks: []int{0}, Text: "cut"}}
	runs := []*Result{run(NoRace, weak), cut, run(Race, foundAt(3, conflicts.Error, 5, 0), foundAt(1, conflicts.Note, 1, 1))}

	res := Join(runs)
	require.Equal(t, Race, res.Verdict)
	require.Equal(t, Basis{Ranks: 2, RanksInRun: 2, Ended: 1, Windows: 3, Loads: 30}, res.Basis)
	require.Equal(t, []Caveat{{Kind: CutTrace, Ranks: []int{0}, Text: "cut (run 2 of 3)"}}, res.Caveats)
	require.Len(t, res.Findings, 2)
	require.Equal(t, conflicts.Runs{Counts: []uint64{0, 0, 1}, Shown: 2}, res.Findings[1].Runs)
	f := res.Findings[0]
	require.Equal(t, conflicts.Error, f.Severity, "the gravest is shown")
	require.Equal(t, 0, f.First.Rank)
	require.Equal(t, conflicts.Runs{Counts: []uint64{2, 0, 5}, Shown: 2}, f.Runs)
	require.Equal(t, 2, f.Runs.Of())
	require.EqualValues(t, 7, f.Count)
	require.Equal(t, []int{0, 1}, f.Ranks)
	require.Nil(t, runs[0].Findings[0].Runs.Counts, "those joined stay as they are")

	require.Equal(t, Undecided, Join(runs[:2]).Verdict, "one that is undecided keeps the others from passing")
	require.Same(t, cut, Join(runs[1:2]))
	cut.Program = "other"
	require.Contains(t, Join(runs).Warnings, "the runs are of different programs:  and other")
	both := Join([]*Result{cut, cut})
	require.Equal(t, "cut", both.Caveats[0].Text, "of all runs")
}

// TestJoinSizes: runs of different sizes lack nothing for that.
func TestJoinSizes(t *testing.T) {
	run := func(ranks, of, ended int) *Result {
		return &Result{Verdict: NoRace, Basis: Basis{Ranks: ranks, RanksInRun: of, Ended: ended}}
	}
	require.Equal(t, Basis{Ranks: 3, RanksInRun: 3, Ended: 3}, Join([]*Result{run(2, 2, 2), run(3, 3, 3)}).Basis)
	require.Equal(t, Basis{Ranks: 3, RanksInRun: 4, Ended: 2}, Join([]*Result{run(3, 3, 3), run(2, 3, 1)}).Basis)
}
