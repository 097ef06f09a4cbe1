package analysis

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/regions"
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
	opts.inspect = func(r *regions.Region) { requireHeldOnce(t, r) }
	return &run{ctx: context.Background(), opts: opts, dir: dir, readers: readers, reopen: open}
}

// requireHeldOnce: an access that a region has twice would be used again as two when it is
// released.
func requireHeldOnce(t testing.TB, r *regions.Region) {
	seen := map[*regions.Access]bool{}
	for _, a := range r.Calls {
		require.False(t, seen[a], "%s at %v", a.Role.Name, a.Start)
		seen[a] = true
	}
}

// unknownToOracle reports whether random programs break a rule of which the oracle does not
// know: they assert what does not hold, and where several strands issue operations, some
// end their epoch beside it. Neither is of a conflict.
func unknownToOracle(rule string) bool {
	return rule == conflicts.RuleAssertion || rule == conflicts.RuleFreedPending
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
		if unknownToOracle(f.Rule) {
			continue
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
	return slices.Compact(out), nil
}

// way is one of the ways to analyse a program: options, and in how many parts.
type way struct {
	name  string
	opts  Options
	parts int
	named bool // to the result, in which findings are explained; most of the time goes there
}

// analyse returns the pairs of places that are found, as the oracle names
// conflicts, and what is there besides: caveats and usage errors.
func (w way) analyse(t testing.TB, files [][]byte) (pairs, besides []string) {
	t.Helper()
	if w.named {
		res := inMemoryWith(t, files, w.opts)
		for _, d := range res.Caveats {
			besides = append(besides, d.Text)
		}
		return pairsOf(res), besides
	}
	for i := range max(w.parts, 1) {
		opts := w.opts
		if w.parts > 1 {
			opts.part.Index, opts.part.Of = i, w.parts
		}
		r := runInMemory(t, files, opts)
		e, err := r.gather()
		require.NoError(t, err)
		pairs = append(pairs, r.pairsOfGroups(e.Groups)...)
		for _, u := range e.Usages {
			if unknownToOracle(u.Rule) {
				continue
			}
			besides = append(besides, u.Rule+": "+u.Why)
		}
		for _, p := range e.Problems {
			besides = append(besides, fmt.Sprint(p))
		}
		for _, c := range e.Caveats {
			besides = append(besides, c.Text)
		}
		besides = append(besides, e.MayOrder...)
	}
	slices.Sort(pairs)
	return slices.Compact(pairs), besides
}

func (r *run) pairsOfGroups(groups []conflicts.Group) []string {
	place := func(s conflicts.Site) string {
		reader := r.readers[s.Rank]
		at := reader.Sources(reader.Stack(s.Stack)[0])[0]
		return fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	var out []string
	for i := range groups {
		g := &groups[i]
		if unknownToOracle(g.Rule) {
			continue
		}
		rule, _ := models.Lookup(g.Rule)
		a, b := place(g.First), place(g.Second)
		out = append(out, fmt.Sprintf("%s: %s and %s", rule.Severity, min(a, b), max(a, b)))
	}
	return out
}

// fourWays are the ways that the property test compares: with each clock, in
// parts, and with next to no memory, cut into phases or not.
func fourWays(r *rand.Rand) []way {
	clock := func() string { return []string{evc.Encoded, evc.Vector}[r.IntN(2)] }
	parts := Options{Clock: clock(), Jobs: 1, part: regions.Part{Processes: r.IntN(2) == 0}}
	little := Options{Clock: clock(), Jobs: 1, MaxMemory: tiny, turn: r.IntN(5)}
	if r.IntN(2) == 0 {
		little.phase = 6 + r.IntN(30)
	}
	return []way{
		{name: "encoded clock", named: true, opts: Options{Clock: evc.Encoded, Jobs: 1 + r.IntN(3)}},
		{name: "vector clock", opts: Options{Clock: evc.Vector, Jobs: 1 + r.IntN(3)}},
		{name: "in parts", opts: parts, parts: []int{2, 2, 2, 3, 4}[r.IntN(5)]},
		{name: "little memory", opts: little},
	}
}

// disagreement returns what the engine says differently of a program than the
// brute-force checker, whose pairs are wanted, in some of these ways; "" where
// they agree.
func disagreement(t testing.TB, p *oracle.Program, want []string, ways ...way) string {
	t.Helper()
	files, err := p.Files()
	require.NoError(t, err)
	text := ""
	for _, w := range ways {
		got, besides := w.analyse(t, files)
		undecided := slices.ContainsFunc(besides, beside)
		for _, what := range slices.DeleteFunc(besides, beside) {
			text += fmt.Sprintf("%s: besides: %s\n", w.name, what)
		}
		for _, q := range want {
			if !slices.Contains(got, q) && !undecided {
				text += fmt.Sprintf("%s: missed %s\n", w.name, q)
			}
		}
		for _, q := range got {
			if !slices.Contains(want, q) {
				text += fmt.Sprintf("%s: false alarm %s\n", w.name, q)
			}
		}
	}
	return text
}

// beside reports whether a caveat says that what locks protect is not known: a strand does
// something beside the unlock of another. What is missed then may be missed.
func beside(caveat string) bool { return strings.Contains(caveat, "gave up a lock of a window beside") }

// disagrees is disagreement for a program that shrinking made.
func disagrees(t testing.TB, p *oracle.Program, ways []way) string {
	want, err := pairsWanted(p)
	if err != nil {
		return "" // nothing that could happen
	}
	return disagreement(t, p, want, ways...)
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

// programs is how many random programs the property test draws.
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
	return min(n, programs(t))
}

// firstSeed is where the property test begins to draw, with MCCHK_FIRST_SEED: so
// that a long run can be made of several, or go on where it was ended. With -v it
// tells how far it has come.
func firstSeed(t *testing.T) int64 {
	t.Helper()
	s := os.Getenv("MCCHK_FIRST_SEED")
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err, "MCCHK_FIRST_SEED")
	return n
}

// randomProgram is the program of a seed. Its memory lies anywhere, and often across the
// borders of the blocks that slices and parts are made of. In every third program calls
// are as in loops: many have one place, and operations are repeated there.
func randomProgram(seed int64) (*oracle.Program, *rand.Rand) {
	p := oracle.Generate(seed, oracle.Options{All: seed%8 == 0})
	r := rand.New(rand.NewPCG(uint64(seed), 4))
	if seed%3 == 0 {
		p = p.Repeated(r).InLoops()
	}
	base := slices.Clone(p.Base)
	for i := range base {
		block := []uint64{1, 1 << 12, 1 << 16}[r.IntN(3)]
		base[i] = (1<<20+r.Uint64N(1<<20))/block*block - r.Uint64N(600)
		base[i] &^= 15
	}
	return p.MoveMemory(base), r
}

// threadedProgram is the program of a seed, of which several strands of each process make
// the calls.
func threadedProgram(seed int64) (*oracle.Program, *rand.Rand) {
	opts := oracle.Options{All: seed%8 == 0}
	if seed%2 == 0 {
		opts.Calls = 10 + int(seed%7)*6
	}
	p := oracle.Generate(seed, opts)
	r := rand.New(rand.NewPCG(uint64(seed), 6))
	if seed%3 == 0 {
		p = p.Repeated(r)
	}
	return p.Threaded(r), r
}

// tally is how a run of the property test goes, which its workers share.
type tally struct {
	draw            func(seed int64) (*oracle.Program, *rand.Rand)
	next, racy, bad atomic.Int64
	end             int64
}

// TestEngineAgainstBruteForce holds the engine against the brute-force
// checker, which was written from the detection model alone, on random
// programs: each goes through the checker once, and through the engine in four
// ways. Programs are divided among GOMAXPROCS workers.
func TestEngineAgainstBruteForce(t *testing.T) { againstBruteForce(t, programs(t), randomProgram) }

// The same for programs whose processes have several strands.
func TestStrandsAgainstBruteForce(t *testing.T) {
	againstBruteForce(t, part(t, 5), threadedProgram)
}

// TestWaitsThatPhasesEndIn: a strand waits for another while the phase ends, and has then learned
// something, whatever its timestamps are.
func TestWaitsThatPhasesEndIn(t *testing.T) {
	t.Parallel()
	p, _ := threadedProgram(71000821)
	want, err := pairsWanted(p)
	require.NoError(t, err)
	var ways []way
	for phase := 1; phase < 20; phase++ {
		ways = append(ways, way{name: fmt.Sprint("phases of ", phase), opts: Options{Clock: evc.Vector, Jobs: 1, phase: phase}})
	}
	require.Empty(t, disagreement(t, p, want, ways...), "%s", p)
}

func againstBruteForce(t *testing.T, n int64, draw func(int64) (*oracle.Program, *rand.Rand)) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the heap is small
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	first := firstSeed(t)
	run := tally{draw: draw, end: first + n}
	run.next.Store(first)
	t.Run("programs", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				run.work(t)
			})
		}
	})
	racy := run.racy.Load()
	t.Logf("%d programs from seed %d, %d with races, %d disagreements", run.next.Load()-first, first, racy, run.bad.Load())
	if !t.Failed() {
		require.Greater(t, racy, n/10)
		require.Less(t, racy, n-n/10)
	}
}

// work takes one seed after the other, until none is left or the engine
// disagreed on several programs.
func (run *tally) work(t *testing.T) {
	const enough = 5
	for run.bad.Load() < enough {
		seed := run.next.Add(1) - 1
		if seed >= run.end {
			run.next.Store(run.end)
			return
		}
		if seed%10_000 == 0 {
			t.Logf("at seed %d", seed)
		}
		p, r := run.draw(seed)
		ways := fourWays(r)
		want, err := pairsWanted(p)
		require.NoError(t, err, "seed %d\n%s", seed, p)
		if len(want) > 0 {
			run.racy.Add(1)
		}
		text := disagreement(t, p, want, ways...)
		if text == "" {
			continue
		}
		run.bad.Add(1)
		small := oracle.Shrink(p, func(q *oracle.Program) bool { return disagrees(t, q, ways) != "" })
		t.Errorf("seed %d:\n%s\n%s\nbefore shrinking:\n%s", seed, small, disagrees(t, small, ways), text)
	}
}

// What the engine finds must not depend on names of processes, places in
// memory, the pieces in which data are put, or how processes tell each other
// that all are there.
func TestEngineOnChangedPrograms(t *testing.T) {
	t.Parallel()
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
			want, err := pairsWanted(q)
			require.NoError(t, err, "seed %d, %s\n%s", seed, name, q)
			clock := []string{evc.Encoded, evc.Vector}[r.IntN(2)]
			text := disagreement(t, q, want, way{name: name, opts: Options{Clock: clock, Jobs: 1}})
			require.Empty(t, text, "seed %d, clock %s\n%s", seed, clock, q)
		}
	}
}
