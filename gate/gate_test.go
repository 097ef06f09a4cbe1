package gate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

func side(call, role, function, file string, line int) conflicts.Side {
	return conflicts.Side{Call: call, Role: role, Stack: []symbols.Frame{{Func: function, File: file, Line: line}}}
}

// halo is a load of the buffer of a get, at two lines of /src/halo/halo.c.
func halo(get, load int) conflicts.Finding {
	return conflicts.Finding{
		Rule: "MC103", Severity: conflicts.Error,
		First:  side("MPI_Get", "origin buffer", "fetch", "/src/halo/halo.c", get),
		Second: side("", "load", "sum", "/src/halo/halo.c", load),
	}
}

// outside is a put outside of an epoch.
func outside(line int) conflicts.Finding {
	return conflicts.Finding{
		Rule: "MC301", Severity: conflicts.Error, Class: conflicts.Usage,
		First: side("MPI_Put", "put", "Grid<int>::send", "/src/grid.cc", line),
	}
}

func result(v analysis.Verdict, fs ...conflicts.Finding) *analysis.Result {
	return &analysis.Result{Verdict: v, Findings: fs}
}

func lines(fs []conflicts.Finding) []int {
	var out []int
	for i := range fs {
		out = append(out, fs[i].First.Stack[0].Line)
	}
	return out
}

func TestBaseline(t *testing.T) {
	known := result(analysis.Race, halo(10, 20), halo(10, 22), outside(7))
	tests := []struct {
		name     string
		now      []conflicts.Finding
		new      []int // lines of the first sides
		vanished int
	}{
		{"the same", known.Findings, nil, 0},
		{"another order", []conflicts.Finding{outside(7), halo(10, 22), halo(10, 20)}, nil, 0},
		{"one more", append([]conflicts.Finding{halo(11, 20)}, known.Findings...), []int{11}, 0},
		{"one less", []conflicts.Finding{halo(10, 20), outside(7)}, nil, 1},
		{"one instead of another", []conflicts.Finding{halo(10, 20), halo(10, 23), outside(7)}, []int{10}, 1},
		{"none", nil, nil, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := Gate{Baseline: NewBaseline(known)}
			res, outcome := g.Apply(result(analysis.Race, test.now...))
			require.Equal(t, test.new, lines(res.Findings))
			require.Len(t, outcome.Vanished, test.vanished)
			require.Equal(t, len(test.now), len(res.Findings)+len(res.Accepted))
		})
	}
}

// oneFile is a machine on which every file has that text.
type oneFile string

func (f oneFile) ReadFile(string) ([]byte, error) { return []byte(f), nil }

func (f oneFile) ModTime(string) time.Time { return time.Time{} }

func TestBaselineAfterLinesMoved(t *testing.T) {
	with := func(text oneFile, res *analysis.Result) *analysis.Result {
		res.Sources = sources.NewReader(nil, text)
		return res
	}
	const after = "\n\nget\nx = a;\nx = a;\nx = a;\n"
	b := NewBaseline(with("get\nx = a;\nx = a;\n", result(analysis.Race, halo(1, 2), halo(1, 3))))

	g := Gate{Baseline: b}
	res, outcome := g.Apply(with(after, result(analysis.Race, halo(3, 4), halo(3, 5))))
	require.Empty(t, res.Findings)
	require.Empty(t, outcome.Vanished)
	require.Equal(t, analysis.NothingNew, res.Verdict)

	res, _ = g.Apply(with(after, result(analysis.Race, halo(3, 4), halo(3, 5), halo(3, 6))))
	require.Len(t, res.Findings, 1, "a third line of the same text is new")
	require.Equal(t, analysis.Race, res.Verdict)

	res, outcome = g.Apply(result(analysis.Race, halo(1, 2), halo(1, 3)))
	require.Empty(t, res.Findings, "without the source, by line")
	require.Empty(t, outcome.Vanished)
}

func TestBaselineFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.json")
	b := NewBaseline(result(analysis.Race, halo(10, 20), outside(7)))
	require.NoError(t, b.WriteFile(path))
	got, err := ReadBaseline(path)
	require.NoError(t, err)
	require.Equal(t, b, got)

	for text, what := range map[string]string{
		"":         "the file is empty",
		"findings": "it is no JSON",
		`{"version": 1, "verdict": "race", "findings": []}`:                   "it is a report of mcchk",
		`{"mcchk_baseline": 2, "findings": [`:                                 "the file is cut off",
		"{\n<<<<<<< main\n}":                                                  "a merge left a conflict in line 2",
		`{"mcchk_baseline": 2, "findings": {}}`:                               "json: cannot unmarshal object",
		`{"mcchk_baseline": 2, "findings": []} x`:                             "something follows its end",
		`{"mcchk_baseline": 2, "findings": [{"rule": "MC101", "sides": []}]}`: "finding 1 has no rule",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadBaseline(path)
		require.ErrorIs(t, err, ErrNoBaseline, text)
		require.ErrorContains(t, err, "baseline "+path+": no baseline of mcchk: "+what)
		require.ErrorContains(t, err, "--write-baseline "+path)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"mcchk_baseline": 3}`), 0o600))
	_, err = ReadBaseline(path)
	require.ErrorContains(t, err, "write it anew")
	_, err = ReadBaseline(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, b.WriteFile(filepath.Join(path, "below")), "baseline")
}

// TestWaysThere: two mistakes through the same function are two findings, and a
// baseline that knows the one does not know the other.
func TestWaysThere(t *testing.T) {
	from := func(caller string, line int) conflicts.Finding {
		f := halo(10, 20)
		f.First.Stack = append(f.First.Stack, symbols.Frame{Func: caller, File: "/src/app.c", Line: line})
		return f
	}
	g := Gate{Baseline: NewBaseline(result(analysis.Race, from("left", 3)))}
	res, outcome := g.Apply(result(analysis.Race, from("left", 3), from("right", 9)))
	require.Len(t, res.Findings, 1)
	require.Equal(t, "right", res.Findings[0].First.Stack[1].Func)
	require.Empty(t, outcome.Vanished)
	res, outcome = g.Apply(result(analysis.Race, from("right", 9)))
	require.Equal(t, analysis.Race, res.Verdict, "the old one mended, the new one there")
	require.Len(t, outcome.Vanished, 1)

	path := filepath.Join(t.TempDir(), "old.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcchk_baseline": 1, "findings": [{"fingerprint": "x", "rule": "MC103", "sides": [
		{"call": "MPI_Get", "function": "fetch", "file": "halo.c", "line": 10}, {"call": "load", "function": "sum", "file": "halo.c", "line": 20}]}]}`), 0o600))
	old, err := ReadBaseline(path)
	require.NoError(t, err)
	require.True(t, old.Old)
	g = Gate{Baseline: old}
	res, outcome = g.Apply(result(analysis.Race, from("left", 3), from("right", 9), halo(11, 20)))
	require.Equal(t, []int{11}, lines(res.Findings), "an old baseline knows findings by their innermost lines")
	require.Len(t, res.Accepted, 2)
	require.Empty(t, outcome.Vanished)
	require.Len(t, NewBaseline(res).Findings, 3)
}

func TestNewBaselineKeepsTheOldOne(t *testing.T) {
	old := Gate{Baseline: NewBaseline(result(analysis.Race, halo(10, 20)))}
	res, _ := old.Apply(result(analysis.Race, halo(10, 20), outside(7)))
	require.Len(t, NewBaseline(res).Findings, 2)
}

func TestVerdict(t *testing.T) {
	all := &Suppressions{Entries: []Suppression{{Rule: "MC*", Reason: "trying"}}}
	caveat := []analysis.Caveat{{Kind: analysis.CutTrace}}
	warning := halo(1, 2)
	warning.Severity = conflicts.Warning
	tests := []struct {
		name string
		res  *analysis.Result
		want analysis.Verdict
	}{
		{"a race accepted", result(analysis.Race, halo(1, 2)), analysis.NothingNew},
		{"a race accepted, with caveats", &analysis.Result{Verdict: analysis.Race, Findings: []conflicts.Finding{halo(1, 2)}, Caveats: caveat}, analysis.Undecided},
		{"a warning accepted", result(analysis.NoRace, warning), analysis.NoRace},
		{"nothing found", result(analysis.NoRace), analysis.NoRace},
		{"undecided", &analysis.Result{Verdict: analysis.Undecided, Caveats: caveat}, analysis.Undecided},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := Gate{Suppressions: all}
			res, _ := g.Apply(test.res)
			require.Equal(t, test.want, res.Verdict)
			require.Empty(t, res.Findings)
		})
	}
	g := Gate{Suppressions: &Suppressions{Entries: []Suppression{{Rule: "MC103", Reason: "trying"}}}}
	res, _ := g.Apply(result(analysis.Race, halo(1, 2), outside(3)))
	require.Equal(t, analysis.Misuse, res.Verdict, "only the usage error is left")
	var none Gate
	res, outcome := none.Apply(result(analysis.Race, halo(1, 2)))
	require.Equal(t, result(analysis.Race, halo(1, 2)), res)
	require.Zero(t, outcome)
}

func TestSuppressionsComeFirst(t *testing.T) {
	known := result(analysis.Race, halo(1, 2))
	g := Gate{Baseline: NewBaseline(known), Suppressions: &Suppressions{Entries: []Suppression{{Rule: "MC103", Reason: "trying"}}}}
	res, outcome := g.Apply(known)
	require.Equal(t, []analysis.Accepted{{Finding: known.Findings[0], By: analysis.Suppression, Reason: "trying"}}, res.Accepted)
	require.Zero(t, outcome, "it has not vanished")
	require.Empty(t, NewBaseline(res).Findings)
}
