package models

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
)

var update = flag.Bool("update", false, "write docs/rules.md anew")

func TestRules(t *testing.T) {
	want := []string{
		conflicts.RuleRemoteRemote, conflicts.RuleLocalRemote, conflicts.RuleBuffer, conflicts.RuleSameOrigin,
		conflicts.RuleAtomicType, conflicts.RuleCallBuffer, conflicts.RuleRequest, conflicts.RuleShared, conflicts.RuleCopies, conflicts.RuleCopyUpdates,
		conflicts.RuleShmemRemote, conflicts.RuleShmemLocal, conflicts.RuleShmemBuffer, conflicts.RuleShmemOrder, conflicts.RuleShmemAtomic, conflicts.RuleShmemCall,
		conflicts.RuleGaspiRemote, conflicts.RuleGaspiLocal, conflicts.RuleGaspiBuffer, conflicts.RuleGaspiOrder, conflicts.RuleGaspiAtomic, conflicts.RuleGaspiCall, conflicts.RuleGaspiDeleted,
		conflicts.RuleAtomicOp, conflicts.RuleLockOrder,
		conflicts.RuleOutsideEpoch, conflicts.RuleOutsideWindow, conflicts.RuleNotOpened, conflicts.RuleMixedEpochs,
		conflicts.RuleNeverClosed, conflicts.RuleFreedPending, conflicts.RuleMemoryGone, conflicts.RuleCallOrder, conflicts.RuleData, conflicts.RuleAssertion, conflicts.RuleGivenUp, conflicts.RuleThreads,
		conflicts.RuleNotSymmetric, conflicts.RuleContextGone, conflicts.RuleGaspiOutside,
	}
	var got []string
	for _, r := range Rules() {
		got = append(got, r.ID)
		for name, text := range map[string]string{
			"Title": r.Title, "Text": r.Text, "Wrong": r.Wrong, "Right": r.Right, "Fix": r.Fix,
		} {
			require.NotEmpty(t, text, "%s: %s", r.ID, name)
			require.Equal(t, strings.TrimSpace(text), text, "%s: %s", r.ID, name)
		}
		require.Contains(t, r.Text, "section", "%s does not say where the standard says so", r.ID)
		if strings.HasPrefix(r.ID, "MC2") || r.ID == conflicts.RuleAssertion {
			require.Equal(t, conflicts.Warning, r.Severity, r.ID)
		} else {
			require.Equal(t, conflicts.Error, r.Severity, r.ID)
		}
	}
	require.Equal(t, want, got)
}

func TestLookup(t *testing.T) {
	r, ok := Lookup("mc103")
	require.True(t, ok)
	require.Equal(t, conflicts.RuleBuffer, r.ID)
	_, ok = Lookup("MC999")
	require.False(t, ok)
	_, ok = Lookup("")
	require.False(t, ok)
}

// TestRulesPage keeps docs/rules.md equal to the rules:
// go test ./models -run TestRulesPage -update writes it anew.
func TestRulesPage(t *testing.T) {
	path := filepath.Join("..", "docs", "rules.md")
	page := rulesPage()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "docs/rules.md is not what the rules say: go test ./models -run TestRulesPage -update")
}

func rulesPage() string {
	var b strings.Builder
	b.WriteString("# Rules\n\n<!-- Written by go test ./models -run TestRulesPage -update. Change the rules of the programming models instead (mpi/judge/rules.go, shmem/judge/rules.go, gaspi/judge/rules.go). -->\n\n")
	b.WriteString("The kinds of findings that mcchk reports. Their identifiers are stable. `mcchk explain RULE` prints the same text.\nSections are those of the MPI standard, version 4.1, for OpenSHMEM of its specification, version 1.5, and for GASPI of its standard, version 17.1.\n\n")
	b.WriteString("| rule | severity | what |\n| --- | --- | --- |\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, strings.ToLower(r.ID), r.Severity, r.Title)
	}
	for _, r := range Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s%s** (%s)\n\n%s\n\n", r.ID, strings.ToUpper(r.Title[:1]), r.Title[1:], r.Severity, r.Text)
		fmt.Fprintf(&b, "Wrong:\n\n```c\n%s\n```\n\nRight:\n\n```c\n%s\n```\n\nHow to fix it: %s\n", r.Wrong, r.Right, r.Fix)
	}
	return b.String()
}

// TestMessagesOfUsageErrors: each kind of usage error says something of its own.
func TestMessagesOfUsageErrors(t *testing.T) {
	said := map[string]string{}
	for _, r := range Rules() {
		if !r.Usage() {
			continue
		}
		side := conflicts.Side{Call: "MPI_Call"}
		text := Message(&conflicts.Finding{Rule: r.ID, Class: conflicts.Usage, First: side, Second: side})
		require.NotEmpty(t, text, r.ID)
		require.Empty(t, said[text], "%s says what %s does", r.ID, said[text])
		said[text] = r.ID
	}
	require.Len(t, said, 15)
}
