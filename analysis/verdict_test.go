package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/trace"
)

func TestFindingTellsBothSides(t *testing.T) {
	res := inMemory(t, scenarioFiles(t, "verdicts.txtar", "race"), "evc", 1)
	require.Len(t, res.Findings, 1)
	f := res.Findings[0]
	require.Equal(t, "MC102", f.Rule)
	require.Equal(t, "MPI_Put", f.First.Call)
	require.Equal(t, "a.c", f.First.Stack[0].File)
	require.Equal(t, 10, f.First.Stack[0].Line)
	require.EqualValues(t, "fence", f.First.Epoch)
	require.True(t, f.First.Pending)
	require.Equal(t, "MPI_Win_fence", f.First.Done.Call)
	require.Equal(t, "store", f.Second.Role)
	require.Equal(t, 20, f.Second.Stack[0].Line)
	require.Equal(t, 1, f.Owner)
	require.EqualValues(t, 5, f.Window)
	require.Equal(t, []uint64{8, 12}, []uint64{f.Lo, f.Hi})
	require.Equal(t, []int{0, 1}, f.Ranks)
	require.Equal(t, 2, f.Region)
	require.NotEmpty(t, f.Why)
	require.NotEmpty(t, f.Fixes)
}

// The findings do not depend on the number of workers.
func TestSameFindingsForAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	run := scenario.NewTrace(3)
	run.Every().Call(1, "win_create", nil)
	run.Every().Call(2, "fence", nil)
	for k := range 20 {
		run.Every().Call(10+k%5, "put", scenario.Args{"to": k % 3, "disp": 4 * (k % 7), "count": 2})
		run.Every().In("f", "b.c").Access(20+k%4, trace.Access{Store: true, Addr: uint64(0x1000 + 4*k%64), Size: 4})
	}
	run.Every().Call(3, "fence", nil)
	files := traceFiles(t, run)
	want := inMemory(t, files, "evc", 1)
	require.Greater(t, len(want.Findings), 10)
	for jobs := 2; jobs < 6; jobs++ {
		require.Equal(t, want, inMemory(t, files, "evc", jobs))
	}
	vector := inMemory(t, files, "vector", 2)
	require.Equal(t, want.Findings, vector.Findings)
}

// TestMappedMemoryMayGoUnseen: memory that processes map and share without a window may go unseen, by the
// name of the file that maps it.
func TestMappedMemoryMayGoUnseen(t *testing.T) {
	s, err := scenario.Parse("mapped", `
every rank
  1: win_create
  2: fence
  9: mcchk_Mapped host=1 device=2 file=3 writes=1
 30: fence
`)
	require.NoError(t, err)
	files := traceFiles(t, s.Trace)
	for part, verdict := range map[string]Verdict{"*": NoRace, "other.c": Undecided} {
		res := inMemoryWith(t, files, Options{Clock: evc.Auto, Unseen: []Unseen{{Part: part, Reason: "counters"}}})
		require.Equal(t, verdict, res.Verdict, "%s: %v", part, res.Caveats)
		require.Equal(t, verdict == NoRace, len(res.Allowed) == 1, part)
	}
}
