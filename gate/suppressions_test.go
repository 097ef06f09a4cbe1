package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

func TestSuppressionFits(t *testing.T) {
	tests := []struct {
		name, entry string
		halo, put   bool
	}{
		{"rule", "rule: MC103", true, false},
		{"all of a kind", "rule: MC3*", false, true},
		{"function of one side", "function: fetch", true, false},
		{"function of the other side", "function: sum", true, false},
		{"another function", "function: fetch_all", false, false},
		{"C++ function", "function: 'Grid<*>::send'", false, true},
		{"file name", "file: halo.c", true, false},
		{"file in its folder", "file: halo/halo.c", true, false},
		{"file in another folder", "file: other/halo.c", false, false},
		{"folder", "file: halo/*", true, false},
		{"whole path", "file: /src/grid.cc", false, true},
		{"longer than the path", "file: a/b/c/d/halo.c", false, false},
		{"call", "call: MPI_*", true, true},
		{"kind of access", "call: load", true, false},
		{"rule of one and call of another", "rule: MC103\n  call: MPI_Put", false, false},
		{"both of one side", "function: fetch\n  call: MPI_Get", true, false},
		{"mixed sides", "function: fetch\n  call: load", false, false},
		{"any frame, by function", "frame: sum", true, false},
		{"any frame, by file", "frame: halo/halo.c", true, false},
		{"any frame, further out", "frame: 'exchange*'", false, true},
		{"any frame, by library", "frame: libgrid.so*", false, true},
		{"no such frame", "frame: other", false, false},
		{"two sides", "function: fetch\n  other: {function: sum, call: load}", true, false},
		{"the other way round", "call: load\n  other: {call: MPI_Get}", true, false},
		{"the other does not fit", "call: load\n  other: {call: MPI_Put}", false, false},
		{"there is no other", "call: MPI_Put\n  other: {call: MPI_Put}", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, err := parseSuppressions([]byte("- " + test.entry + "\n  reason: a test\n"))
			require.NoError(t, err)
			require.Len(t, entries, 1)
			h, p := halo(10, 20), outside(7)
			p.First.Stack = append(p.First.Stack,
				symbols.Frame{Func: "apply", Module: "/x/libgrid.so.2"}, symbols.Frame{Func: "exchange(int)", File: "/src/app.cc"})
			require.Equal(t, test.halo, entries[0].Fits(&h, nil), "halo")
			require.Equal(t, test.put, entries[0].Fits(&p, nil), "put")
		})
	}
}

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"", "a", true}, {"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "a", true}, {"*a", "ba", true},
		{"a*c", "abbc", true}, {"a*c", "ac", true}, {"a*a", "a", false}, {"a*b*c", "axbyc", true}, {"a*b*c", "acb", false},
		{"operator[]", "operator[]", true}, {"operator*", "operator*", true}, {"*ab*ab", "ab", false},
	}
	for _, test := range tests {
		require.Equal(t, test.want, fits(test.pattern, test.text), "%q of %q", test.pattern, test.text)
	}
}

func TestSuppressionMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no reason", "- rule: MC103\n", "line 1: the reason is missing"},
		{"reason of blanks", "- rule: MC103\n  reason: ' '\n", "line 1: the reason is missing"},
		{"fits everything", "# all\n- reason: I want it green\n", "line 2: it would fit every finding"},
		{"a baseline", `{"mcchk_baseline": 2, "findings": []}`, "line 1: not a list ('- ...'): it is a baseline of mcchk"},
		{"conflict", "- rule: MC103\n  reason: x\n<<<<<<< main\n", "line 3: a merge left a conflict there"},
		{"unknown key", "- rule: MC103\n  funtion: f\n  reason: x\n", `line 2: unknown key "funtion" (did you mean function?)`},
		{"unknown key of the other", "- other: {fil: f}\n  reason: x\n", `unknown key "fil" (did you mean file?)`},
		{"no such rule", "- rule: MC999\n  reason: x\n", "line 1: there is no rule MC999"},
		{"no list", "rule: MC103\n", "line 1: not a list"},
		{"no mapping", "- MC103\n", "line 1: not of the form 'key: value'"},
		{"twice", "- rule: MC103\n  rule: MC104\n  reason: x\n", "line 2: rule stands in line 1 already"},
		{"no YAML", "- rule: [\n", "line 1"},
		{"list as a value", "- rule: [MC103]\n  reason: x\n", "not a single value"},
	}
	path := filepath.Join(t.TempDir(), "suppressions.yaml")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
			_, err := ReadSuppressions(path)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
		})
	}
	require.NoError(t, os.WriteFile(path, []byte("# nothing yet\n"), 0o600))
	s, err := ReadSuppressions(path)
	require.NoError(t, err)
	require.Empty(t, s.Entries)
}

func TestUnused(t *testing.T) {
	s := &Suppressions{Entries: []Suppression{
		{Line: 1, Rule: "MC103", Reason: "x"}, {Line: 4, Rule: "MC301", Side: SidePattern{Function: "gone"}, Reason: "y"}, {Line: 7, Rule: "MC10*", Reason: "z"},
	}}
	g := Gate{Suppressions: s}
	res, outcome := g.Apply(result(analysis.Race, halo(1, 2)))
	require.Equal(t, "x", res.Accepted[0].Reason, "the first that fits")
	require.Len(t, outcome.Unused, 1)
	require.Equal(t, "rule MC301, function gone", outcome.Unused[0].String())
}

func TestWrittenSuppressionsFit(t *testing.T) {
	found := result(analysis.Race, halo(1, 2), halo(1, 9), outside(7))
	text := string(WriteSuppressions(found))
	require.Equal(t, 2, strings.Count(text, "reason:\n"), "alike ones once:\n%s", text)
	_, err := parseSuppressions([]byte(text))
	require.ErrorContains(t, err, "the reason is missing")
	entries, err := parseSuppressions([]byte(strings.ReplaceAll(text, "reason:", "reason: a test")))
	require.NoError(t, err)
	g := Gate{Suppressions: &Suppressions{Entries: entries}}
	res, outcome := g.Apply(found)
	require.Empty(t, res.Findings)
	require.Empty(t, outcome.Unused)

	entries, err = parseSuppressions(WriteSuppressions(result(analysis.NoRace)))
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestWrittenSuppressionsAcceptNothingNew: an entry fits what is at the same lines, not what
// else is in their function.
func TestWrittenSuppressionsAcceptNothingNew(t *testing.T) {
	with := func(text oneFile, fs ...conflicts.Finding) *analysis.Result {
		res := result(analysis.Race, fs...)
		res.Sources = sources.NewReader(nil, text)
		return res
	}
	text := string(WriteSuppressions(with("get(a);\n  x = *a;\nx = b;\n", halo(1, 2))))
	entries, err := parseSuppressions([]byte(strings.ReplaceAll(text, "reason:", "reason: a test")))
	require.NoError(t, err)
	g := Gate{Suppressions: &Suppressions{Entries: entries}}
	res, _ := g.Apply(with("\nget( a );\nx=*a;\nx = b;\n", halo(2, 3), halo(2, 4)))
	require.Equal(t, []int{4}, []int{res.Findings[0].Second.Stack[0].Line})
	require.Len(t, res.Accepted, 1)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("- rule: MC103\n  other: {function: 'a*'}\n  reason: x\n"))
	f.Add([]byte(`{"mcchk_baseline": 2, "findings": [{"rule": "MC101", "sides": [{"call": "load", "path": [{"file": "a.c"}]}]}]}`))
	f.Add([]byte(`{"mcchk_baseline": 1, "findings": [{"rule": "MC101", "sides": [{"call": "load"}]}]}`))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := halo(1, 2)
		entries, err := parseSuppressions(data)
		for i := range entries {
			if err == nil {
				require.NotEmpty(t, entries[i].Reason)
				entries[i].Fits(&h, nil)
			}
		}
		if b, err := parseBaseline(data); err == nil {
			g := Gate{Baseline: b}
			g.Apply(result(analysis.Race, h))
		}
	})
}
