package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func expected(t *testing.T, text string) *Expectation {
	t.Helper()
	s, err := Parse("t.txt", text)
	require.NoError(t, err)
	require.Len(t, s.Expect, 1)
	require.NoError(t, s.complete("t.txt"))
	return s.Expect[0]
}

func outcome() *Outcome {
	return &Outcome{
		Verdict: "race",
		Findings: []Found{
			{Text: "MC102 3 b.c:7", Why: "the put (line 3) may come late", Sought: []Note{{"path", "rank 1 waiting: none"}},
				Proposals: []Note{{"move", "move the load"}, {"lock", "take a lock, or two"}}},
			{Text: "MC301 9 (warning)", Why: "no epoch"},
		},
		Caveats: []Note{{"unmatched", "rank 0 waits at a.c:12"}},
	}
}

// What is expected of outcome, in all detail and with as little as may be said.
const (
	inDetail = `expect MC301 9 (warning)
  why: no epoch
expect MC102 3 b.c:7
  why: the put (line 3)
     | may come late
  sought path: rank 1 waiting: none
  proposal move: move ...
  proposal lock: ... lock, or ...
  no proposal: ...fence...
verdict race
caveat unmatched: rank 0 waits...
`
	inShort = "expect MC102 3 b.c:7\nexpect MC301 9 (warning)\nverdict race\ncaveat unmatched: ...\n"
)

func TestCheck(t *testing.T) {
	require.NoError(t, expected(t, inDetail).Check(outcome()))
	require.NoError(t, expected(t, inShort).Check(outcome()))
	require.NoError(t, expected(t, "expect nothing\nverdict no race found").Check(&Outcome{Verdict: "no race found"}))
}

// TestCheckFails: each line of an expectation can fail.
func TestCheckFails(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"verdict race", "verdict undecided", `t.txt:1: the verdict is "race", not "undecided"`},
		{"MC301 9 (warning)", "MC301 9", "t.txt:1: MC301 9 is not found"},
		{"MC301 9 (warning)", "MC301 9", "t.txt:1: MC301 9 (warning) is found"},
		{"3 b.c:7", "b.c:7 3", "t.txt:3: MC102 b.c:7 3 is not found"},
		{"expect MC301 9 (warning)\n  why: no epoch\n", "", "MC301 9 (warning) is found"},
		{"why: no epoch", "why: an epoch", `t.txt:1: MC301 9 (warning): why: "no epoch" does not fit "an epoch"`},
		{"| may", "| will", "t.txt:3: MC102 3 b.c:7: why:"},
		{"sought path: rank", "sought lock: rank", `t.txt:3: MC102 3 b.c:7: "path: rank 1 waiting: none" does not fit "lock: rank`},
		{"waiting: none", "waiting", "does not fit"},
		{"  sought path", "  sought lock: of both\n  sought path", `"path: rank 1 waiting: none" is missing`},
		{"  proposal move: move ...\n", "", `"lock: take a lock, or two" is too many`},
		{"proposal move: move ...", "proposal move: ... store", `"move: move the load" does not fit`},
		{"...fence...", "...load...", `there is a proposal "move the load"`},
		{"caveat unmatched: rank 0", "caveat lost: rank 0", "t.txt:1: caveats:"},
		{"caveat unmatched: rank 0 waits...\n", "", `t.txt:1: caveats: "unmatched: rank 0 waits at a.c:12" is too many`},
	} {
		text := strings.Replace(inDetail, tt.old, tt.new, 1)
		require.NotEqual(t, inDetail, text)
		err := expected(t, text).Check(outcome())
		require.ErrorContains(t, err, tt.want)
		require.ErrorContains(t, err, "The analysis says:\n\nexpect MC102 3 b.c:7\n")
	}
}

// TestOutcomeAsItIsExpected: what a failure prints can be put into the scenario.
func TestOutcomeAsItIsExpected(t *testing.T) {
	for _, o := range []*Outcome{outcome(), {Verdict: "no race found"}} {
		require.NoError(t, expected(t, o.String()).Check(o))
	}
}

func TestConditions(t *testing.T) {
	s, err := Parse("t.txt", "expect nothing\nverdict undecided\nunder --predict\nexpect MC202 1 2\nverdict race\n")
	require.NoError(t, err)
	require.NoError(t, s.complete("t.txt"))
	require.Len(t, s.Expect, 2)
	require.Equal(t, "", s.Expect[0].Under)
	require.Equal(t, "undecided", s.Expect[0].Verdict)
	require.Equal(t, "--predict", s.Expect[1].Under)
	require.Equal(t, "MC202 1 2", s.Expect[1].Findings[0].Text)
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a b", "a b", true}, {"a b", "a b c", false}, {"a...", "a b c", true}, {"...c", "a b c", true}, {"...b...", "a b c", true},
		{"a ... c", "a b c", true}, {"a ... c", "a c", true}, {"a...c", "a b", false}, {"...d...", "a b c", false},
		{"...b...b...", "a b c", false}, {"...", "", true}, {"ab...bc", "abc", false}, {"lock, …", "lock, …", true},
	} {
		require.Equal(t, tt.want, matches(tt.pattern, tt.text), "%q %q", tt.pattern, tt.text)
	}
}
