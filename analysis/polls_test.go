package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/evc"
	"github.com/mcchk/mcchk/internal/scenario"
	"github.com/mcchk/mcchk/regions"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// TestManyPolls: polls that are completed together, so many that the planner looks them up by
// what they found, are put in order as few are: whoever has polled a counter until it changed comes after what was put
// before, and whoever has not does not.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	const polls = 40
	verdict := func(each int, late bool) Verdict {
		var adds, reads strings.Builder
		var numbers, values []string
		for i := range polls {
			fmt.Fprintf(&reads, "  8: fetch_and_op to=0 disp=16 op=2 number=%d result_addr=%#x\n", 1+i, 0x90000+8*i)
			value := i / each
			if late {
				value = 0
			}
			numbers, values = append(numbers, fmt.Sprint(1+i)), append(values, fmt.Sprint(value))
		}
		for i := range (polls - 1) / each {
			fmt.Fprintf(&adds, "  5: accumulate to=0 disp=16 number=%d operand=1\n  6: flush rank=0\n", 1+i)
		}
		s, err := scenario.Parse("polls", fmt.Sprintf(`
every rank
  op 2: MPI_NO_OP
  op 3: MPI_REPLACE
  1: win_create size=100000
  2: lock_all
rank 0
  3: accumulate to=0 disp=16 number=90000 op=3 operand=0
  3: flush rank=0
every rank
  3: barrier
rank 0
  3: put to=2 disp=8
  4: flush rank=2
%s
rank 2
%[2]s  9: flush rank=0
    fetched numbers=[%[3]s] values=[%[4]s]
rank 1
%[2]s  9: flush rank=0
    fetched numbers=[%[3]s] values=[%[4]s]
  10: get to=2 disp=8
every rank
  11: unlock_all
  12: win_free

expect nothing
verdict no race found
`, adds.String(), reads.String(), strings.Join(numbers, ","), strings.Join(values, ",")))
		require.NoError(t, err)
		res := inMemoryWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Encoded})
		require.Empty(t, res.Caveats)
		return res.Verdict
	}
	for _, each := range []int{1, 10, 30} {
		require.Equal(t, NoRace, verdict(each, false), each)
		require.Equal(t, Race, verdict(each, true), each)
	}
}

// TestSumsCompletedTogether: many additions to a word, of which some fetch what they find and
// some do not, are put in order though all are completed at the end only.
func TestSumsCompletedTogether(t *testing.T) {
	t.Parallel()
	const ranks, each = 4, 100
	for silent := range ranks { // the first ones fetch nothing
		rng := rand.New(rand.NewPCG(1, uint64(silent)))
		var bodies, ends [ranks]strings.Builder
		var numbers, values [ranks][]string
		for sum := 0; sum < ranks*each; {
			k := rng.IntN(ranks)
			n := 1 + len(numbers[k])
			if n > each {
				continue
			}
			numbers[k], values[k] = append(numbers[k], fmt.Sprint(n)), append(values[k], fmt.Sprint(sum))
			if k < silent {
				fmt.Fprintf(&bodies[k], "  5: accumulate to=0 disp=16 number=%d operand=1\n", n)
			} else {
				fmt.Fprintf(&bodies[k], "  5: fetch_and_op to=0 disp=16 number=%d operand=1 result_addr=%#x\n", n, 0x90000+8*n)
			}
			sum++
		}
		var text strings.Builder
		text.WriteString("every rank\n  1: win_create size=100000\n  2: lock_all\n")
		for k := range ranks {
			fmt.Fprintf(&text, "rank %d\n%s", k, bodies[k].String())
			fmt.Fprintf(&ends[k], "rank %d\n  6: flush rank=0\n", k)
			if k >= silent {
				fmt.Fprintf(&ends[k], "    fetched numbers=[%s] values=[%s]\n", strings.Join(numbers[k], ","), strings.Join(values[k], ","))
			}
		}
		for k := range ranks {
			text.WriteString(ends[k].String())
		}
		text.WriteString("every rank\n  7: unlock_all\n  8: win_free\n\nexpect nothing\nverdict no race found\n")
		s, err := scenario.Parse("sums", text.String())
		require.NoError(t, err)
		res := inMemoryWith(t, traceFiles(t, s.Trace), Options{Clock: evc.Encoded})
		require.Empty(t, res.Caveats, silent)
		require.Equal(t, NoRace, res.Verdict, silent)
	}
}

// stored is the text of one file.
type stored string

func (s stored) ReadFile(string) ([]byte, error) { return []byte(s), nil }

func (stored) ModTime(string) time.Time { return time.Time{} }

// TestSeePolls: a load of what another process leaves may wait for it where it is in the condition of a
// loop, or in a function called there; not elsewhere, nor that of other bytes, nor where the source is not known.
func TestSeePolls(t *testing.T) {
	t.Parallel()
	n := &namer{sources: sources.NewReader(nil, stored("while (!box->flag)\n    x = box->flag;\nint ready(void) { return box->flag; }\nwhile (!ready()) {\n"))}
	polls := func(change func(*conflicts.Finding), lines ...int) bool {
		f := conflicts.Finding{
			First:  conflicts.Side{Call: "MPI_Put", Class: regions.Target, Write: true, Lo: 8, Hi: 12},
			Second: conflicts.Side{Rank: 1, Class: regions.Local, Lo: 8, Hi: 12},
		}
		for _, line := range lines {
			f.Second.Stack = append(f.Second.Stack, symbols.Frame{Func: fmt.Sprintf("f%d", line), File: "a.c", Line: line})
		}
		change(&f)
		n.seePolls(&f)
		require.False(t, f.First.Polls)
		return f.Second.Polls
	}
	as := func(*conflicts.Finding) {}
	require.True(t, polls(as, 1))
	require.True(t, polls(as, 3, 4))
	require.False(t, polls(as, 2))
	require.False(t, polls(as, 3))
	require.False(t, polls(as))
	require.False(t, polls(func(f *conflicts.Finding) { f.Began = 1 }, 1))
	require.False(t, polls(func(f *conflicts.Finding) { f.First.Hi = 16 }, 1))
	require.False(t, polls(func(f *conflicts.Finding) { f.Second.Write = true }, 1))
	require.False(t, polls(func(f *conflicts.Finding) { f.First.Rank = 1 }, 1))
	require.False(t, polls(func(f *conflicts.Finding) { f.First.Hi, f.Second.Hi = 40, 40 }, 1))
	n.sources = nil
	require.False(t, polls(as, 1))
}
