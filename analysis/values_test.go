package analysis

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle/values"
)

// TestValuesAgainstBruteForce holds the models that order processes through memory
// against a checker that tries all orders of updates, on random programs, with both
// clocks.
func TestValuesAgainstBruteForce(t *testing.T) {
	for _, model := range []string{"shmem", "gaspi", "shmem threads", "gaspi threads"} {
		t.Run(model, func(t *testing.T) {
			n := part(t, 5)
			first := firstSeed(t)
			var next, racy, decided, undecided, needless, drawn, bad atomic.Int64
			next.Store(first)
			t.Run("programs", func(t *testing.T) {
				for range runtime.GOMAXPROCS(0) {
					t.Run("", func(t *testing.T) {
						t.Parallel()
						for seed := next.Add(1) - 1; seed < first+n && bad.Load() < 5; seed = next.Add(1) - 1 {
							p := values.Generate(model, seed)
							r := p.Races()
							if r == nil {
								continue
							}
							drawn.Add(1)
							if len(r.Certain) > 0 {
								racy.Add(1)
							}
							if r.Decided {
								decided.Add(1)
							}
							text, open := differsOnValues(t, p, r)
							if open {
								undecided.Add(1)
								if r.Decided {
									needless.Add(1)
								}
							}
							if text == "" {
								continue
							}
							bad.Add(1)
							small := values.Shrink(p, func(q *values.Program) bool {
								r := q.Races()
								if r == nil {
									return false
								}
								text, _ := differsOnValues(t, q, r)
								return text != ""
							})
							text, _ = differsOnValues(t, small, small.Races())
							t.Errorf("seed %d:\n%s\n%s", seed, small, text)
						}
					})
				}
			})
			t.Logf("%d programs from seed %d, %d with races, %d decided by their values, the verdict of %d undecided, of %d without need",
				drawn.Load(), first, racy.Load(), decided.Load(), undecided.Load(), needless.Load())
			if !t.Failed() {
				require.Greater(t, drawn.Load(), n*8/10)
				require.Greater(t, decided.Load(), n*2/5)
				require.Greater(t, racy.Load(), n/10)
				require.Less(t, racy.Load(), n-n/10)
				require.LessOrEqual(t, needless.Load(), 1+n/200)
			}
		})
	}
}

// TestValuesThatDiffered: programs of which the engine has said something else, as long as the
// generator makes the same of these seeds.
func TestValuesThatDiffered(t *testing.T) {
	for _, x := range []struct {
		model string
		seed  int64
	}{
		{"shmem", 61000000},         // who finds that it is the last says so at once
		{"shmem", 73001575},         // what the word held at first agrees with what is to come, and another value with less
		{"shmem", 72000784},         // what a call to come completes is over then
		{"shmem", 75001450},         // a PE finds in its memory what it has not put there yet, and what it waits for comes
		{"shmem threads", 79000736}, // an update to come says what it has found
	} {
		p := values.Generate(x.model, x.seed)
		text, _ := differsOnValues(t, p, p.Races())
		require.Empty(t, text, "seed %d:\n%s", x.seed, p)
	}
}

// differsOnValues returns what the engine says differently, and whether it says that
// something is undecided.
func differsOnValues(t testing.TB, p *values.Program, want *values.Races) (text string, undecided bool) {
	files, err := p.Files()
	require.NoError(t, err)
	pairs := func(w way) (got, besides []string) {
		w.opts.Jobs = 1
		got, besides = w.analyse(t, files)
		for i, x := range got {
			_, got[i], _ = strings.Cut(x, ": ")
		}
		return got, besides
	}
	for _, opts := range []Options{
		{Clock: evc.Encoded}, {Clock: evc.Vector}, {Clock: evc.Encoded, phase: 1, turn: 1}, {Clock: evc.Vector, phase: 6, turn: 2},
	} {
		clock := fmt.Sprintf("phases of %d, %s", opts.phase, opts.Clock)
		got, besides := pairs(way{opts: opts})
		if opts.phase > 1 {
			if parts, _ := pairs(way{opts: opts, parts: 3}); !slices.Equal(distinct(parts), distinct(got)) {
				text += fmt.Sprintf("%s clock: in parts %v, as a whole %v\n", clock, parts, got)
			}
		}
		for _, x := range want.Untold {
			i := slices.Index(besides, x)
			if i < 0 {
				text += fmt.Sprintf("%s clock: nothing is said of %s\n", clock, x)
				continue
			}
			besides = slices.Delete(besides, i, i+1)
		}
		undecided = len(besides) > 0
		for _, x := range besides {
			if want.Decided {
				text += fmt.Sprintf("%s clock: besides: %s\n", clock, x)
			}
		}
		for _, x := range want.Certain {
			if !slices.Contains(got, x) && (!undecided || want.Decided) {
				text += fmt.Sprintf("%s clock: missed %s\n", clock, x)
			}
		}
		for _, x := range got {
			if !slices.Contains(want.Possible, x) {
				text += fmt.Sprintf("%s clock: false alarm %s\n", clock, x)
			}
		}
	}
	return text, undecided
}

func distinct(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

func TestModelsWhoseCallsWereMet(t *testing.T) {
	for model, name := range map[string]string{"shmem": "OpenSHMEM", "gaspi": "GASPI"} {
		files, err := values.Generate(model, 1).Files()
		require.NoError(t, err)
		require.Equal(t, name, inMemoryWith(t, files, Options{Clock: evc.Vector}).Basis.Model)
	}
	res, err := Run(t.Context(), "../fixtures/traces/jacobi_halo_right", Options{Clock: evc.Vector})
	require.NoError(t, err)
	require.Equal(t, "MPI", res.Basis.Model)
}
