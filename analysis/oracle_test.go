package analysis

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/trace"
)

// inMemory analyses traces that lie in memory.
func inMemory(t testing.TB, files [][]byte, clock string, jobs int) *Result {
	t.Helper()
	return inMemoryWith(t, files, Options{Clock: clock, Jobs: jobs})
}

func inMemoryWith(t testing.TB, files [][]byte, opts Options) *Result {
	t.Helper()
	res, err := runInMemory(t, files, opts).result()
	require.NoError(t, err)
	return res
}

func runInMemory(t testing.TB, files [][]byte, opts Options) *run {
	t.Helper()
	open := func(rank int) (*trace.Reader, error) {
		return trace.NewReader(bytes.NewReader(files[rank]), fmt.Sprintf("rank %d", rank))
	}
	readers := make([]*trace.Reader, len(files))
	dir := &trace.Dir{Path: "memory", Ranks: len(files)}
	for i, b := range files {
		if b == nil {
			dir.Missing = append(dir.Missing, i)
			continue
		}
		r, err := open(i)
		require.NoError(t, err)
		readers[i] = r
		dir.Files = append(dir.Files, trace.File{Header: r.Header()})
	}
	return &run{ctx: context.Background(), opts: opts, dir: dir, readers: readers, reopen: open}
}

// pairsOf returns the findings as the oracle names conflicts.
func pairsOf(res *Result) []string {
	place := func(s *conflicts.Side) string {
		if len(s.Stack) == 0 {
			return "?"
		}
		return fmt.Sprintf("%s:%d", s.Stack[0].File, s.Stack[0].Line)
	}
	var out []string
	for i := range res.Findings {
		f := &res.Findings[i]
		if f.Rule == conflicts.RuleAssertion {
			continue // of no conflict; random programs assert what does not hold
		}
		a, b := place(&f.First), place(&f.Second)
		if a > b {
			a, b = b, a
		}
		out = append(out, fmt.Sprintf("%s: %s and %s", f.Severity, a, b))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func pairsWanted(p *oracle.Program) ([]string, error) {
	races, err := p.Races()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, q := range races {
		a, b := q.A.String(), q.B.String()
		if a > b {
			a, b = b, a
		}
		out = append(out, fmt.Sprintf("%s: %s and %s", q.Kind, a, b))
	}
	slices.Sort(out)
	return out, nil
}

// disagreement returns what the engine and the brute-force checker say
// differently of a program, or "".
func disagreement(t testing.TB, p *oracle.Program, clock string, jobs int) string {
	want, err := pairsWanted(p)
	if err != nil {
		return ""
	}
	files, err := p.Files()
	if err != nil {
		return ""
	}
	res := inMemory(t, files, clock, jobs)
	got := pairsOf(res)
	text := ""
	for _, d := range res.Caveats {
		text += fmt.Sprintf("caveat: %s\n", d.Text)
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			text += "missed: " + w + "\n"
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			text += "false alarm: " + g + "\n"
		}
	}
	return text
}

// asked returns the number of random programs that MCCHK_PROGRAMS asks for: more
// of them in make soak, fewer in make quick.
func asked(t *testing.T) (n int64, ok bool) {
	t.Helper()
	s := os.Getenv("MCCHK_PROGRAMS")
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err, "MCCHK_PROGRAMS")
	return n, true
}

// programs is how many random programs the property test draws for each clock.
func programs(t *testing.T) int64 {
	if n, ok := asked(t); ok {
		return n
	}
	if raceDetector {
		return 100 // it is ten times slower, and only looks for data races of our own
	}
	return 2_000
}

// part returns how many programs a test draws that takes longer for each.
func part(t *testing.T, of int64) int64 {
	n := programs(t)
	if raceDetector {
		return n
	}
	return min(n, max(n/of, 400))
}

// upTo returns how many a test draws that draws n otherwise, unless
// MCCHK_PROGRAMS asks for fewer.
func upTo(t *testing.T, n int64) int64 {
	if fewer, ok := asked(t); ok {
		return min(n, fewer)
	}
	return n
}

// TestEngineAgainstBruteForce holds the engine against the brute-force
// checker, which was written from the detection model alone, on random
// programs, with both clocks.
func TestEngineAgainstBruteForce(t *testing.T) {
	for _, clock := range []string{evc.Encoded, evc.Vector} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			racy := 0
			n := programs(t)
			for seed := range n {
				p := oracle.Generate(seed, oracle.Options{All: seed%8 == 0})
				if races, err := p.Races(); err == nil && len(races) > 0 {
					racy++
				}
				if text := disagreement(t, p, clock, 1+int(seed%3)); text != "" {
					small := oracle.Shrink(p, func(q *oracle.Program) bool { return disagreement(t, q, clock, 1) != "" })
					t.Fatalf("seed %d, %s:\n%s\n%s\nbefore shrinking:\n%s", seed, clock, small, disagreement(t, small, clock, 1), text)
				}
			}
			t.Logf("%d programs, %d with races", n, racy)
			require.Greater(t, racy, int(n/10))
			require.Less(t, racy, int(n-n/10))
		})
	}
}

// What the engine finds must not depend on names of processes, places in
// memory, the pieces in which data are put, or how processes tell each other
// that all are there.
func TestEngineOnChangedPrograms(t *testing.T) {
	n := min(programs(t)/8, 2_000)
	for seed := range n {
		p := oracle.Generate(seed, oracle.Options{})
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		base := slices.Clone(p.Base)
		for i := range base {
			base[i] += uint64(r.IntN(1000))
		}
		variants := map[string]*oracle.Program{
			"other ranks":          p.PermuteRanks(r.Perm(p.Ranks)),
			"other memory":         p.MoveMemory(base),
			"barriers of messages": p.BarriersAsMessages(),
			"all of these":         p.BarriersAsMessages().MoveMemory(base).PermuteRanks(r.Perm(p.Ranks)),
		}
		if puts := p.Splittable(); len(puts) > 0 {
			variants["put in two parts"] = p.SplitPut(puts[r.IntN(len(puts))])
		}
		for name, q := range variants {
			_, err := q.Races()
			require.NoError(t, err, "seed %d, %s\n%s", seed, name, q)
			clock := []string{evc.Encoded, evc.Vector}[r.IntN(2)]
			require.Empty(t, disagreement(t, q, clock, 1), "seed %d, %s, clock %s\n%s", seed, name, clock, q)
		}
	}
}
