package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
)

// TestElementsAreOperationsOfTheirOwn: an atomic operation is atomic for each of its elements (MPI 4.1,
// 12.7.1), so what it orders and conflicts with is the same as when each element has an operation of
// its own, on random runs of three processes that take turns.
func TestElementsAreOperationsOfTheirOwn(t *testing.T) {
	n, first := part(t, 5), firstSeed(t)
	racy := 0
	for seed := first; seed < first+n; seed++ {
		said := func(apart bool) string {
			r := elementsRun{rng: rand.New(rand.NewPCG(uint64(seed), 0)), apart: apart}
			s, err := scenario.Parse("elements", r.text())
			require.NoError(t, err)
			pairs, besides := way{opts: Options{Clock: evc.Auto, Jobs: 1}}.analyse(t, traceFiles(t, s.Trace))
			if !apart && len(pairs) > 0 {
				racy++
			}
			return strings.Join(append(distinct(pairs), distinct(besides)...), "\n")
		}
		if together, apart := said(false), said(true); together != apart {
			r := elementsRun{rng: rand.New(rand.NewPCG(uint64(seed), 0))}
			t.Fatalf("seed %d: together\n%s\napart\n%s\n%s", seed, together, apart, r.text())
		}
	}
	t.Logf("%d programs, %d with races", n, racy)
	require.Greater(t, racy, int(n/10))
	require.Less(t, racy, int(n-n/10))
}

// elementsRun writes a run in which each process does something in its turn, while the others make
// calls of no account: so the times of the calls tell in which order they came.
type elementsRun struct {
	strings.Builder
	rng    *rand.Rand
	apart  bool
	words  [4]int
	number [3]int
	line   int
}

// turnCalls is how many calls a turn has.
const turnCalls = 7

func (r *elementsRun) text() string {
	r.WriteString("every rank\n  op 2: MPI_NO_OP\n  op 3: MPI_REPLACE\n  1: win_create size=64\n  2: lock_all\n  3: barrier\n")
	r.line = 4
	turns := 6 + r.rng.IntN(12)
	for range turns {
		r.turn(r.rng.IntN(3))
	}
	fmt.Fprintf(r, "every rank\n  %d: unlock_all\n  %d: win_free\n", r.line, r.line+1)
	return r.String()
}

// turn is one of a process; others are at rest.
func (r *elementsRun) turn(rank int) {
	fmt.Fprintf(r, "rank %d\n", rank)
	calls := 0
	call := func(format string, args ...any) {
		calls++
		fmt.Fprintf(r, "  %d: %s\n", r.line, fmt.Sprintf(format, args...))
	}
	switch what := r.rng.IntN(12); {
	case what < 1:
		call("put to=0 disp=%d", 4*r.rng.IntN(3))
		if r.rng.IntN(3) > 0 {
			r.line++
			call("flush rank=0")
		}
	case what < 2:
		call("get from=0 disp=%d", 4*r.rng.IntN(3))
		r.line++
		call("flush rank=0")
	case what < 5:
		if rank == 0 {
			first := r.rng.IntN(8)
			fmt.Fprintf(r, "  %d: load %#x stride=4 count=%d\n", r.line, 0x1000+4*first, 1+r.rng.IntN(8-first))
		}
	default:
		r.atomics(rank, call)
	}
	r.line++
	for range turnCalls - calls {
		fmt.Fprint(r, "  win_sync\n")
	}
	for other := range 3 {
		if other != rank {
			fmt.Fprintf(r, "rank %d\n%s", other, strings.Repeat("  win_sync\n", turnCalls))
		}
	}
}

// atomics is an atomic operation on some words behind one another, which other ranks fetch.
func (r *elementsRun) atomics(rank int, call func(string, ...any)) {
	first := r.rng.IntN(4)
	n := 1 + r.rng.IntN(4-first)
	fetches := r.rng.IntN(3) > 0
	op := 1 + r.rng.IntN(3)
	if op == 2 {
		fetches = true
	}
	var operands, found, numbers []int
	for i := range n {
		w := &r.words[first+i]
		operand := 0
		found = append(found, *w)
		switch op {
		case 1:
			operand = 1 + r.rng.IntN(2)
			*w += operand
		case 3:
			operand = r.rng.IntN(4)
			*w = operand
		}
		operands = append(operands, operand)
		numbers = append(numbers, r.number[rank]+1+i)
	}
	do := func(i, n int, operands []int) {
		name, more := "accumulate", ""
		if fetches {
			name, more = "get_accumulate", fmt.Sprintf(" result_count=%d result_addr=%#x", n, 0x90000+4*numbers[i])
		}
		if n == 1 {
			more += fmt.Sprint(" operand=", operands[0])
		} else if op != 2 {
			more += " operands=" + listOf(operands)
		}
		call("%s to=0 disp=%d origin_count=%d target_count=%d op=%d number=%d%s", name, 16+4*(first+i), n, n, op, numbers[i], more)
	}
	if r.apart {
		for i := range n {
			do(i, 1, operands[i:])
		}
	} else {
		do(0, n, operands)
	}
	r.number[rank] += n
	r.line++
	if fetches || r.rng.IntN(2) > 0 {
		call("flush rank=0")
	}
	if fetches {
		call("fetched numbers=%s values=%s", listOf(numbers), listOf(found))
	}
}

func listOf(all []int) string {
	return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ",") + "]"
}
