package analysis

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/oracle/values"
	"github.com/mcchk/mcchk/internal/scenario"
)

// flagAfter returns a run in which rank 1 fetches 2 from a word that held 2 already, behind
// what ranks 0 and 2 do to the words of rank 0 before a barrier: so it does not come after the
// put of rank 2, which then adds 2. more stands behind another barrier.
func flagAfter(t *testing.T, word int, do map[int]string, more string) [][]byte {
	t.Helper()
	s, err := scenario.Parse("words", fmt.Sprintf(`
every rank
  op 2: MPI_NO_OP
  op 3: MPI_REPLACE
  type 3: MPI_DOUBLE size=8
  1: win_create size=100000
  2: lock_all
rank 0
%s
rank 2
%s
every rank
  7: barrier
rank 0
%s
every rank
  8: barrier
rank 2
  10: put to=0 disp=8
  11: flush rank=0
  12: accumulate to=0 disp=%[4]d number=90000 operand=2
  13: flush rank=0
rank 1
%s  14: fetch_and_op to=0 disp=%[4]d op=2 number=1
  15: flush rank=0
    fetched numbers=[1] values=[2]
  16: get to=0 disp=8
every rank
  17: unlock_all
  18: win_free

expect nothing
verdict no race found
`, do[0], do[2], more, word, strings.Repeat("  9: flush rank=0\n", 2+strings.Count(do[2], "\n"))))
	require.NoError(t, err)
	return traceFiles(t, s.Trace)
}

// updates returns accumulates to several words of rank 0, from a displacement on.
func updates(from, n int, args string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  3: accumulate to=0 disp=%d number=%d %s\n", from+4*i, i+1, args)
	}
	b.WriteString("  4: flush rank=0\n")
	return b.String()
}

// TestManyWords: where more words are forgotten than are remembered, a race that depends on
// what one held is not passed over in silence.
func TestManyWords(t *testing.T) {
	t.Parallel()
	two := map[int]string{0: updates(16, 1, "operand=1"), 2: updates(16, 1, "operand=1")}
	for _, c := range []struct {
		words   int
		operand int
		certain bool
	}{{50, 1, true}, {90, 1, true}, {200, 1, false}, {200, 0, false}} {
		more := updates(1000, c.words, fmt.Sprintf("operand=%d", c.operand))
		res := inMemoryWith(t, flagAfter(t, 16, two, more), Options{Clock: evc.Encoded, words: 64})
		require.NotEqual(t, NoRace, res.Verdict, "%+v", c)
		if c.certain {
			require.Equal(t, Race, res.Verdict, "%+v", c)
			require.Empty(t, res.Caveats)
		}
	}

	// That words held 0 may be forgotten: what is presumed is the same.
	res := inMemoryWith(t, flagAfter(t, 16, map[int]string{0: "", 2: ""}, updates(1000, 200, "operand=0")), Options{Clock: evc.Encoded, words: 64})
	require.Equal(t, NoRace, res.Verdict)
}

// TestManyOpenUpdates: of more updates than are kept whose order is open, what they leave is
// not guessed.
func TestManyOpenUpdates(t *testing.T) {
	t.Parallel()
	for n, certain := range map[int]bool{2: true, 500: true, 600: false} {
		do := map[int]string{0: updates(1000, n, "op=3 operand=0"), 2: updates(1000, n, "op=3 operand=2")}
		res := inMemoryWith(t, flagAfter(t, 1000+4*(n-1), do, ""), Options{Clock: evc.Encoded})
		require.NotEqual(t, NoRace, res.Verdict, n)
		if certain {
			require.Equal(t, Race, res.Verdict, n)
			require.Empty(t, res.Caveats)
		}
	}
}

// TestWordsWithoutValues: updates after which it is not known what a word holds, whatever
// their order, are not kept for that, and of words whose updates are too many to be kept no
// others are forgotten.
func TestWordsWithoutValues(t *testing.T) {
	t.Parallel()
	sums := strings.Repeat("  3: accumulate to=0 disp=1000 number=1 origin_datatype=3 target_datatype=3\n", 600) + "  4: flush rank=0\n"
	for name, do := range map[string]string{
		"sums of floating-point numbers": sums,
		"many whose order is open":       updates(1000, 600, "op=3 operand=2"),
	} {
		res := inMemoryWith(t, flagAfter(t, 16, map[int]string{0: do, 2: do}, ""), Options{Clock: evc.Encoded})
		require.Equal(t, NoRace, res.Verdict, name)
		require.Empty(t, res.Caveats, name)
	}
}

// TestPartsOfWords: what is found in programs whose words are updated in several regions does
// not depend on parts and memory.
func TestPartsOfWords(t *testing.T) {
	t.Parallel()
	check := func(files [][]byte, what string) (found int) {
		opts := Options{Clock: evc.Encoded, Jobs: 1}
		want := inMemoryWith(t, files, opts)
		for _, byProcess := range []bool{false, true} {
			parts := opts
			parts.part.Processes = byProcess
			require.Equal(t, want, inParts(t, files, parts, 3), what)
		}
		opts.MaxMemory = tiny
		got := inMemoryWith(t, files, opts)
		got.Stats = want.Stats
		require.Equal(t, want, got, what)
		return len(want.Findings)
	}
	found := 0
	for seed := range int64(max(8, min(programs(t)/100, 40))) {
		for _, model := range []string{"shmem", "gaspi", "shmem threads", "gaspi threads"} {
			files, err := values.Generate(model, seed).Files()
			require.NoError(t, err)
			found += check(files, fmt.Sprintf("%s, seed %d", model, seed))
		}
	}
	require.Positive(t, found)
	scenarios, err := scenario.ReadFile(filepath.Join("testdata", "scenarios", "values.txtar"))
	require.NoError(t, err)
	for _, s := range scenarios {
		check(traceFiles(t, s.Trace), s.Name)
	}
}

// TestPartsOfStoredWords: what stores leave in words counts in all parts, whoever passes over
// them.
func TestPartsOfStoredWords(t *testing.T) {
	s, err := scenario.Parse("stored", `
# The word of rank 1 held 2, and holds what is not known: what rank 2 finds was made by rank 0.
every rank
  op 2: MPI_NO_OP
  1: win_create
  2: lock_all
rank 0
  3: accumulate to=1 disp=0 number=1 operand=2
  4: flush rank=1
every rank
  5: barrier
rank 1
  6: store 0x1000
every rank
  7: barrier
rank 0
  8: put to=2 disp=16
  9: flush rank=2
  10: accumulate to=1 disp=0 number=2 operand=2
  11: flush rank=1
rank 2
  12: flush rank=0
  12: flush rank=0
  12: flush rank=0
  12: flush rank=0
  12: fetch_and_op to=1 disp=0 op=2 number=1
  13: flush rank=1
    fetched numbers=[1] values=[2]
  14: get to=2 disp=16
every rank
  15: unlock_all
  16: win_free

expect nothing
verdict no race found
`)
	require.NoError(t, err)
	files := traceFiles(t, s.Trace)
	opts := Options{Clock: evc.Encoded, Jobs: 1}
	want := inMemoryWith(t, files, opts)
	require.Equal(t, NoRace, want.Verdict)
	opts.part.Processes = true
	require.Equal(t, want, inParts(t, files, opts, 3))

	// What asks for the order of calls alone passes over them.
	observe(t, files)
}

// TestMoreMemoryRemembersMoreWords: of how many words it is remembered what they hold goes by what the
// analysis may take, between bounds.
func TestMoreMemoryRemembersMoreWords(t *testing.T) {
	t.Parallel()
	for memory, words := range map[int64]int{0: 0, 256 << 20: 0, 8 << 30: 2 << 20, 1 << 40: 4 << 20} {
		r := run{opts: Options{MaxMemory: memory}}
		require.Equal(t, words, r.rememberedWords(), memory)
	}
}
