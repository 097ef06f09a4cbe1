package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestPhases: where concurrent regions are cut into phases, the result is the
// same, counts included. (But memory that is attached to a dynamic window after
// a finding in it may have no name then.)
func TestPhases(t *testing.T) {
	t.Parallel()
	cut := int64(0)
	n := min(600, programs(t))
	for seed := range n {
		p := oracle.Generate(seed, oracle.Options{Calls: 150, Without: oracle.DynamicWins})
		files, err := p.Files()
		require.NoError(t, err)
		clock := []string{evc.Encoded, evc.Vector}[seed%2]
		phases := 0
		count := func(p Progress) { phases = p.Phases }
		whole := inMemoryWith(t, files, Options{Clock: clock, Jobs: 1, Progress: count, turn: 1 + int(seed%4)})
		regions := phases
		phases = 0
		phased := inMemoryWith(t, files, Options{Clock: clock, Jobs: 1, Progress: count, phase: 6 + int(seed%30), turn: 1 + int(seed%4)})
		if phases > regions {
			cut++
		}
		require.Equal(t, len(whole.Findings), len(phased.Findings), "seed %d", seed)
		for i := range whole.Findings {
			forget(&whole.Findings[i], &phased.Findings[i])
			require.Equal(t, whole.Findings[i], phased.Findings[i], "seed %d", seed)
		}
		require.Equal(t, whole, phased, "seed %d:\n%s", seed, p)
	}
	require.Greater(t, cut, n/6)
}

// forget drops from the findings of a whole region what a phase of it may not
// know any more, or not know yet: what a process had heard of another before the
// phase, which locks of a pending access are released before it is complete,
// and the explanation, which speaks of both.
func forget(whole, phased *conflicts.Finding) {
	differ := false
	for _, s := range [][2]*conflicts.Side{{&whole.First, &phased.First}, {&whole.Second, &phased.Second}} {
		if s[1].Heard.Call == "" && s[0].Heard.Call != "" {
			s[0].Heard, differ = conflicts.SyncPoint{}, true
		}
		if s[0].Pending && len(s[0].Locks) < len(s[1].Locks) {
			s[0].Locks, s[1].Locks, differ = nil, nil, true
		}
	}
	for _, s := range [][2]*conflicts.Side{{&whole.First, &phased.First}, {&whole.Second, &phased.Second}} {
		if s[0].Next.Event != s[1].Next.Event { // a nearer one that came after the phase
			s[0].Next, s[1].Next, differ = conflicts.SyncPoint{}, conflicts.SyncPoint{}, true
			if !s[0].Pending {
				s[0].Done, s[1].Done = conflicts.SyncPoint{}, conflicts.SyncPoint{}
			}
		}
		if s[1].Started.Event != s[0].Started.Event { // of an access that started before the phase
			s[0].Started, s[1].Started, differ = conflicts.SyncPoint{}, conflicts.SyncPoint{}, true
		}
	}
	if differ {
		whole.Explanation, phased.Explanation = conflicts.Explanation{}, conflicts.Explanation{}
	}
}

// TestPhasesWhereOneWaits: what a process does while another one waits for it is forgotten: what that
// one does next comes after it, however little it knows now.
func TestPhasesWhereOneWaits(t *testing.T) {
	phases := func(waits string, waitsFor scenario.Args, goes string, goesOn scenario.Args) (n int) {
		run := scenario.NewTrace(2)
		every := run.Every()
		every.Call(1, "win_create", nil)
		run.Rank(0).Call(2, waits, waitsFor)
		for i := range 500 {
			run.Rank(1).Call(3, "lock", scenario.Args{"rank": 0, "ticket": i})
			run.Rank(1).Call(4, "put", scenario.Args{"to": 0})
			run.Rank(1).Call(5, "unlock", scenario.Args{"rank": 0})
		}
		run.Rank(1).Call(6, goes, goesOn)
		every.Call(7, "win_free", nil)
		res := inMemoryWith(t, traceFiles(t, run), Options{Clock: evc.Vector, Jobs: 1, phase: 100, turn: 10, Progress: func(p Progress) { n = p.Phases }})
		require.Equal(t, NoRace, res.Verdict)
		return n
	}
	require.Greater(t, phases("recv", scenario.Args{"source": 1, "tag": 5}, "send", scenario.Args{"dest": 0, "tag": 5}), 5)
	require.Greater(t, phases("bcast", scenario.Args{"root": 1}, "bcast", scenario.Args{"root": 1}), 5)
}
