package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// declaredStep is a step of a program whose processes declare order.
type declaredStep struct {
	rank int
	kind string // put, flush, signal, wait, to, from (a process), barrier
	cell int    // of a put
	res  int    // resource; the other process
	n    int    // of signals on the resource before
}

// declaredProgram draws steps in the order in which they were executed. A wait
// for a process comes after its signal.
func declaredProgram(rng *rand.Rand, ranks int) []declaredStep {
	var steps []declaredStep
	signals := map[int]int{}
	sent := map[[2]int]int{}
	for range 4 + rng.IntN(70) {
		s := declaredStep{rank: rng.IntN(ranks), cell: rng.IntN(3), res: rng.IntN(2)}
		switch x := rng.IntN(20); {
		case x < 6:
			s.kind = "put"
		case x < 10:
			s.kind = "flush"
		case x < 13:
			s.kind, s.n = "signal", signals[s.res]
			signals[s.res]++
		case x < 16:
			s.kind, s.n = "wait", signals[s.res]
		case x < 18:
			s.kind, s.res = "to", rng.IntN(ranks)
			sent[[2]int{s.rank, s.res}]++
		case x < 19:
			s.kind, s.res = "from", rng.IntN(ranks)
			if sent[[2]int{s.res, s.rank}] == 0 {
				continue
			}
			sent[[2]int{s.res, s.rank}]--
		default:
			if rng.IntN(3) > 0 {
				continue
			}
			s.kind = "barrier"
		}
		steps = append(steps, s)
	}
	return steps
}

// lineOf is the source line of a step.
func lineOf(step int) int { return 10 + step }

func declaredTrace(t *testing.T, ranks int, steps []declaredStep) [][]byte {
	run := scenario.NewTrace(ranks)
	run.Every().Call(1, "win_create", nil)
	run.Every().Call(2, "lock_all", nil)
	for i, s := range steps {
		process, line := run.Rank(s.rank), lineOf(i)
		switch s.kind {
		case "put":
			process.Call(line, "put", scenario.Args{"to": 0, "disp": 4 * s.cell, "addr": 0x5000 + 16*i})
		case "flush":
			process.Call(line, "flush", scenario.Args{"rank": 0})
		case "signal", "wait":
			process.Call(line, "mcchk_"+s.kind, scenario.Args{"rank": s.res, "resource": 7, "count": s.n})
		case "to":
			process.Call(line, "mcchk_signal_process", scenario.Args{"to": s.res, "tag": 3})
		case "from":
			process.Call(line, "mcchk_wait_process", scenario.Args{"from": s.res, "tag": 3})
		case "barrier":
			run.Every().Call(line, "barrier", nil)
		}
	}
	run.Every().Call(3, "unlock_all", nil)
	return traceFiles(t, run)
}

// declaredRaces returns the lines of all pairs of puts that nothing orders: by
// what comes before each step, in the order of the run.
func declaredRaces(ranks int, steps []declaredStep) [][2]int {
	before := make([]map[int]bool, len(steps))
	past := make([]map[int]bool, ranks) // what each process knows of
	for r := range past {
		past[r] = map[int]bool{}
	}
	learn := func(r int, more map[int]bool) {
		for e := range more {
			past[r][e] = true
		}
	}
	type mail struct{ from, to int }
	signalled := map[int][]map[int]bool{}
	sent := map[mail][]map[int]bool{}
	copied := func(m map[int]bool) map[int]bool {
		c := map[int]bool{}
		for e := range m {
			c[e] = true
		}
		return c
	}
	for i, s := range steps {
		r := s.rank
		switch s.kind {
		case "wait":
			for _, m := range signalled[s.res] {
				learn(r, m)
			}
		case "from":
			q := sent[mail{s.res, r}]
			learn(r, q[0])
			sent[mail{s.res, r}] = q[1:]
		case "barrier":
			all := map[int]bool{}
			for q := range ranks {
				for e := range past[q] {
					all[e] = true
				}
			}
			for q := range ranks {
				learn(q, all)
			}
			continue
		}
		before[i] = copied(past[r])
		past[r][i] = true
		switch s.kind {
		case "signal":
			signalled[s.res] = append(signalled[s.res], copied(past[r]))
		case "to":
			sent[mail{r, s.res}] = append(sent[mail{r, s.res}], copied(past[r]))
		}
	}
	completed := func(put int) int {
		for i := put + 1; i < len(steps); i++ {
			if steps[i].rank == steps[put].rank && steps[i].kind == "flush" {
				return i
			}
		}
		return -1
	}
	var races [][2]int
	for j, b := range steps {
		for i, a := range steps[:j] {
			if a.kind == "put" && b.kind == "put" && a.cell == b.cell && !before[j][completed(i)] {
				races = append(races, [2]int{lineOf(i), lineOf(j)})
			}
		}
	}
	return races
}

// TestDeclaredOrder: the races of random programs whose processes declare order
// are those that reachability finds, wherever regions are cut into phases.
func TestDeclaredOrder(t *testing.T) {
	t.Parallel()
	n := int(upTo(t, 400))
	racing, clean := 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 11))
		ranks := 2 + rng.IntN(4)
		steps := declaredProgram(rng, ranks)
		want := declaredRaces(ranks, steps)
		if len(want) > 0 {
			racing++
		} else {
			clean++
		}
		files := declaredTrace(t, ranks, steps)
		for _, opts := range []Options{
			{Clock: evc.Encoded}, {Clock: evc.Vector, turn: 1}, {Clock: evc.Auto, phase: 4 + int(seed%9), turn: 1 + int(seed%3)},
		} {
			res := inMemoryWith(t, files, opts)
			require.Empty(t, res.Caveats, "seed %d", seed)
			var got [][2]int
			for i := range res.Findings {
				f := &res.Findings[i]
				a, b := f.First.Stack[0].Line, f.Second.Stack[0].Line
				got = append(got, [2]int{min(a, b), max(a, b)})
			}
			slices.SortFunc(got, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
			slices.SortFunc(want, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
			require.Equal(t, want, got, "seed %d, %+v: %+v", seed, opts, steps)
		}
	}
	require.Greater(t, racing, n/8)
	require.GreaterOrEqual(t, clean, n/20)
}
