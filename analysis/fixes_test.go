package analysis

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/symbols"
)

// triedWith returns the result of a run with its fixes tried.
func triedWith(t *testing.T, files [][]byte, opts Options) *Result {
	t.Helper()
	res := inMemoryWith(t, files, opts)
	require.NoError(t, runInMemory(t, files, opts).tryFixes(res))
	return res
}

// TestFixes: which fixes are left once they were tried, as testdata/fixes expect, with
// both clocks and numbers of workers.
func TestFixes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "fixes", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		scenarios, err := scenario.ReadFile(path)
		require.NoError(t, err)
		for _, s := range scenarios {
			t.Run(filepath.Base(path)+"/"+s.Name, func(t *testing.T) {
				files := traceFiles(t, s.Trace)
				for jobs, clock := range []string{evc.Encoded, evc.Vector} {
					res := triedWith(t, files, Options{Clock: clock, Jobs: 1 + 2*jobs, Layers: symbols.Layers{Wrappers: []string{"window.h"}}})
					for i := range res.Findings {
						requireTried(t, res, i)
					}
					for _, expect := range s.Expect {
						require.NoError(t, expect.Check(outcome(res)))
					}
				}
			})
		}
	}
}

// requireTried checks what holds for all fixes once they were tried: those that were come
// first, but for one that leads, and remove their finding; of others it is said why they were not.
func requireTried(t *testing.T, res *Result, i int) {
	t.Helper()
	untried := false
	require.NotEmpty(t, res.Findings[i].Fixes)
	for _, fix := range res.Findings[i].Fixes {
		what := fmt.Sprintf("finding %d: %s", i, fix.Text)
		switch {
		case fix.Trial.Untried != "":
			require.False(t, fix.Trial.Tried, what)
			untried = untried || fix.Kind != conflicts.FixSeparate && !fix.Leads
		default:
			require.True(t, fix.Trial.Tried, what)
			require.False(t, untried, "%s: comes behind one that was not tried", what)
			if fix.Kind != conflicts.FixOther {
				require.Contains(t, fix.Trial.Removes, i, what)
			}
		}
	}
}

// TestFixesRemoveOthers: a fix tells which other findings it removes.
func TestFixesRemoveOthers(t *testing.T) {
	s, err := scenario.Parse("two", `
every rank
  win_create
  1: lock_all
rank 0
  10: put to=1 disp=8
  11: flush_local rank=1
  12: barrier
rank 1
  12: barrier
  20: load 0x1008
  21: load 0x1008
every rank
  99: unlock_all
  100: win_free
`)
	require.NoError(t, err)
	res := triedWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
	require.Len(t, res.Findings, 2)
	for i := range res.Findings {
		require.Equal(t, []int{0, 1}, res.Findings[i].Fixes[0].Trial.Removes)
		require.Equal(t, "call MPI_Win_flush instead of MPI_Win_flush_local (line 11)", res.Findings[i].Fixes[0].Text)
	}
}

// TestFixAtTheCaller: a lock that a function takes for several callers is another one for each. To lock
// exclusively where one reads keeps it from those who write, and does not keep these apart.
func TestFixAtTheCaller(t *testing.T) {
	s, err := scenario.Parse("wrapper", `
every rank
  win_create
ranks 1 2
  lock@a.c:7 < add@a.c:12 < main@a.c:90: lock rank=0 ticket=0
  add@a.c:13 < main@a.c:90: put to=0 disp=16
  add@a.c:14 < main@a.c:90: flush rank=0
  add@a.c:15 < main@a.c:90: put to=0
  add@a.c:16 < main@a.c:90: unlock rank=0
rank 3
  lock@a.c:7 < look@a.c:20 < main@a.c:91: lock rank=0 ticket=2
  look@a.c:21 < main@a.c:91: get from=0
  look@a.c:22 < main@a.c:91: unlock rank=0
every rank
  main@a.c:99: win_free
`)
	require.NoError(t, err)
	res := triedWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
	removes := map[string][]int{}
	for i := range res.Findings {
		for _, fix := range res.Findings[i].Fixes {
			removes[fix.Text] = fix.Trial.Removes
		}
	}
	const lock = "lock with MPI_LOCK_EXCLUSIVE instead of MPI_LOCK_SHARED in MPI_Win_lock (line %d, in lock at line 7), if either order will do"
	require.Equal(t, []int{0, 1, 2}, removes[fmt.Sprintf(lock, 12)])
	require.Equal(t, []int{2}, removes[fmt.Sprintf(lock, 20)])
}

// TestFlushIsPutIn: a flush that comes too late stays where it is, since it may complete
// what else is to be complete there, and an earlier one is put in. A request can be waited
// for only once.
func TestFlushIsPutIn(t *testing.T) {
	for text, want := range map[string]conflicts.StepKind{`
every rank
  win_create
  1: lock_all
rank 0
  10: put to=1 disp=8
  11: send to=1
  12: flush rank=1
rank 1
  11: recv from=0
  20: load 0x1008
every rank
  99: unlock_all
  100: win_free
`: conflicts.StepInsert, `
rank 0
  10: isend to=1 buf=0x5000 request=7
  11: store 0x5000
  12: wait request=7
rank 1
  11: recv from=0
`: conflicts.StepAdvance} {
		s, err := scenario.Parse("late", text)
		require.NoError(t, err)
		res := triedWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
		require.Len(t, res.Findings, 1)
		k := slices.IndexFunc(res.Findings[0].Fixes, func(f conflicts.Fix) bool { return f.Kind == conflicts.FixComplete })
		require.GreaterOrEqual(t, k, 0)
		require.True(t, res.Findings[0].Fixes[k].Trial.Tried)
		require.Equal(t, want, res.Findings[0].Fixes[k].Steps[0].Do)
	}
}

// TestFenceBehindPendingPut: a fence of another window ends the concurrent region, so that the put
// and the load that come before the put's own fence are in none together. Only some processes make
// the load, and all are to call the fence.
func TestFenceBehindPendingPut(t *testing.T) {
	s, err := scenario.Parse("pending", `
every rank
  1: win_create win=1
  2: win_create win=2 base=0x9000
  3: fence win=1
  4: fence win=2
rank 0
  10: put to=1 disp=8 win=1
every rank
  20: fence win=2
rank 1
  30: load 0x1008
every rank
  40: fence win=2
  41: fence win=1
`)
	require.NoError(t, err)
	res := triedWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
	require.Len(t, res.Findings, 1)
	fixes := res.Findings[0].Fixes
	k := slices.IndexFunc(fixes, func(f conflicts.Fix) bool {
		return f.Text == "call MPI_Win_fence in all processes of the window after MPI_Put (line 10) and before the load (line 30), so that the load reads what MPI_Put wrote"
	})
	require.GreaterOrEqual(t, k, 0, "%+v", fixes)
	require.True(t, fixes[k].Trial.Tried)
}

// TestFixesOfLongRuns: where trying all would take too long, none is taken out, and it is
// said that none was tried.
func TestFixesOfLongRuns(t *testing.T) {
	files := scenarioFiles(t, "proposals.txtar", "a load between post and wait")
	res := inMemoryWith(t, files, Options{Clock: evc.Auto})
	before := len(res.Findings[0].Fixes)
	res.Basis.Accesses = trialWork
	require.NoError(t, runInMemory(t, files, Options{Clock: evc.Auto}).tryFixes(res))
	require.Len(t, res.Findings[0].Fixes, before)
	require.False(t, slices.ContainsFunc(res.Findings[0].Fixes, func(f conflicts.Fix) bool { return f.Trial.Tried || f.Trial.Untried == "" }))
}

// TestFixesTellWhatIsFetched: a flush that is put in tells what the operations before it have
// fetched, and whom the process comes after.
func TestFixesTellWhatIsFetched(t *testing.T) {
	s, err := scenario.Parse("fetched", `
every rank
  op 2: MPI_NO_OP
  1: win_create
  2: lock_all
rank 0
  3: put to=2 disp=16
  4: flush rank=2
  5: accumulate to=2 disp=0 number=1 operand=1
  6: flush rank=2
# Rank 1 is later, by its clock.
rank 1
  6: flush rank=0
  6: flush rank=0
  6: flush rank=0
  6: flush rank=0
  6: flush rank=0
  6: flush rank=0
  7: fetch_and_op to=2 disp=0 op=2 number=1
  7: fetch_and_op to=2 disp=0 op=2 number=2
  8: get to=2 disp=16 origin_addr=0x9900
  9: flush rank=2
    fetched numbers=[1,2] values=[1,1]
rank 2
every rank
  10: unlock_all
  11: win_free
`)
	require.NoError(t, err)
	res := triedWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Auto})
	require.Len(t, res.Findings, 2)
	for i := range res.Findings {
		if f := &res.Findings[i]; f.Class == conflicts.WithinEpoch {
			require.Equal(t, []int{0, 1}, f.Fixes[0].Trial.Removes)
			return
		}
	}
	t.Fatal("the operations with one buffer are not found")
}

// incomplete is a run whose processes add to a word and read it, where nothing completes that
// before the end, when all becomes known that the reads have fetched. Two other reads have a
// buffer in common.
func incomplete(t *testing.T, each int) [][]byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("every rank\n  win_create\n  op 3: MPI_NO_OP\n  1: lock_all\n")
	rng := rand.New(rand.NewPCG(1, 2))
	const ranks = 3
	var calls, numbers, values [ranks][]string
	counter := 0
	for i := range ranks * each {
		rank, n := rng.IntN(ranks), strconv.Itoa(i+1)
		if rng.IntN(8) == 0 {
			calls[rank] = append(calls[rank], "  10: accumulate to=0 disp=8 op=MPI_SUM number="+n+" operand=1")
			counter++
			continue
		}
		calls[rank] = append(calls[rank], fmt.Sprintf("  11: fetch_and_op to=0 disp=8 op=MPI_NO_OP result_addr=%#x number=%s", 0x8000+8*i, n))
		numbers[rank], values[rank] = append(numbers[rank], n), append(values[rank], strconv.Itoa(counter))
	}
	for rank := range ranks {
		fmt.Fprintf(&b, "rank %d\n%s\n", rank, strings.Join(calls[rank], "\n"))
	}
	b.WriteString("rank 0\n  20: get to=1 disp=64\n  21: get to=1 disp=64\n")
	b.WriteString("every rank\n  30: unlock_all\n")
	for rank := range ranks {
		fmt.Fprintf(&b, "rank %d\n  30: mcchk_Fetched numbers=[%s] values=[%s]\n", rank, strings.Join(numbers[rank], ","), strings.Join(values[rank], ","))
	}
	b.WriteString("every rank\n  100: win_free\n")
	s, err := scenario.Parse("searches", b.String())
	require.NoError(t, err)
	return traceFiles(t, s.Trace)
}

// TestFixesOfSearches: where each replay searches long for the order that values show, that
// counts as work, however few events the run has.
func TestFixesOfSearches(t *testing.T) {
	files := incomplete(t, 100)
	res := inMemoryWith(t, files, Options{Clock: evc.Auto})
	tr := runInMemory(t, files, Options{Clock: evc.Auto}).newTrials()
	require.NoError(t, tr.try(res))
	require.Less(t, tr.room, mostTrials, "something is tried")
	require.Greater(t, tr.before.work, 10*int(res.Basis.Calls+res.Basis.Accesses))
	require.LessOrEqual(t, tr.work, trialWork-2*tr.before.work)
}

// TestSearchesEnd: where a search for the order of many operations takes too long, it is
// given up, and that is said.
func TestSearchesEnd(t *testing.T) {
	res := inMemoryWith(t, incomplete(t, 400), Options{Clock: evc.Auto})
	require.Len(t, res.Caveats, 1)
	require.Contains(t, res.Caveats[0].Text, "was not found in the time that there is for it")
}
