package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
)

// withSyncs adds calls of MPI_Win_sync to a program, where its windows exist.
func withSyncs(p *oracle.Program, seed int64) *oracle.Program {
	r := rand.New(rand.NewPCG(uint64(seed), 0x73_79_6e_63))
	q := *p
	q.Calls = nil
	live := map[[2]int]bool{} // process, window
	lines := 1 << 16
	for _, c := range p.Calls {
		q.Calls = append(q.Calls, c)
		switch c.Fn {
		case "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic", "MPI_Win_allocate_shared":
			live[[2]int{c.Rank, c.Win}] = true
		case "MPI_Win_free":
			delete(live, [2]int{c.Rank, c.Win})
		}
		for w := range p.Wins {
			if live[[2]int{c.Rank, w}] && r.Float64() < 0.15 {
				lines++
				q.Calls = append(q.Calls, oracle.Call{Rank: c.Rank, Line: lines, Fn: "MPI_Win_sync", Unit: 1 << 20, Win: w})
			}
		}
	}
	if q.Normalize() != nil {
		return p // a process was inside a call
	}
	return &q
}

// separateDisagreement returns what the engine and the brute-force checker say
// differently of a program whose windows have the separate memory model, or "".
func separateDisagreement(t testing.TB, p *oracle.Program, clock string) string {
	races, err := pairsWanted(p)
	if err != nil {
		return ""
	}
	pairs, err := p.Separate(true)
	if err != nil {
		return ""
	}
	files, err := p.Files()
	if err != nil {
		return ""
	}
	res := inMemoryWith(t, files, Options{Clock: clock, Jobs: 2, MemoryModel: ModelSeparate})
	text := ""
	compare := func(what string, want []string, rules func(rule string) bool) {
		part := *res
		part.Findings = nil
		for _, f := range res.Findings {
			if rules(f.Rule) {
				part.Findings = append(part.Findings, f)
			}
		}
		got := pairsOf(&part)
		for _, w := range want {
			if !slices.Contains(got, w) {
				text += fmt.Sprintf("%s: missed %s\n", what, w)
			}
		}
		for _, g := range got {
			if !slices.Contains(want, g) {
				text += fmt.Sprintf("%s: false alarm %s\n", what, g)
			}
		}
	}
	names := func(pairs []oracle.Pair) (out []string) {
		for _, q := range pairs {
			a, b := q.A.String(), q.B.String()
			out = append(out, fmt.Sprintf("%s: %s and %s", q.Kind, min(a, b), max(a, b)))
		}
		return out
	}
	compare("any model", races, func(r string) bool { return r != conflicts.RuleCopies && r != conflicts.RuleCopyUpdates })
	compare("MC109", names(pairs.Overlapping), func(r string) bool { return r == conflicts.RuleCopies })
	compare("MC110", names(pairs.Disjoint), func(r string) bool { return r == conflicts.RuleCopyUpdates })
	for _, d := range res.Caveats {
		text += "caveat: " + d.Text + "\n"
	}
	return text
}

// TestSeparateAgainstBruteForce holds what the engine finds under the separate
// memory model against a checker that reads the standard's rules pair by pair.
func TestSeparateAgainstBruteForce(t *testing.T) {
	t.Parallel()
	for _, clock := range []string{evc.Encoded, evc.Vector} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			n := part(t, 5)
			overlapping, disjoint, none := 0, 0, 0
			for seed := range n {
				p := withSyncs(oracle.Generate(seed, oracle.Options{}), seed)
				if pairs, err := p.Separate(true); err == nil {
					overlapping += min(1, len(pairs.Overlapping))
					disjoint += min(1, len(pairs.Disjoint))
					if len(pairs.Overlapping)+len(pairs.Disjoint) == 0 {
						none++
					}
				}
				if text := separateDisagreement(t, p, clock); text != "" {
					small := oracle.Shrink(p, func(q *oracle.Program) bool { return separateDisagreement(t, q, clock) != "" })
					t.Fatalf("seed %d, %s:\n%s\n%s\nbefore shrinking:\n%s", seed, clock, small, separateDisagreement(t, small, clock), text)
				}
			}
			t.Logf("%d programs: MC109 in %d, MC110 in %d, neither in %d", n, overlapping, disjoint, none)
			require.Greater(t, overlapping, int(n/50))
			require.Greater(t, disjoint, int(n/50))
			require.Greater(t, none, int(n/50))
		})
	}
}
