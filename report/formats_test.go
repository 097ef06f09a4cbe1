package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
)

// render writes a result in a format as a user in /home/u/src gets it.
func render(t *testing.T, format string, res *analysis.Result) []byte {
	t.Helper()
	f, ok := Lookup(format)
	require.True(t, ok)
	var buf bytes.Buffer
	require.NoError(t, f(&buf, with(res, source), Options{Dir: "/home/u/src", Version: "v1.2.3"}))
	return buf.Bytes()
}

// acceptedSample has findings that the gate took out.
func acceptedSample() *analysis.Result {
	return &analysis.Result{Verdict: analysis.NothingNew, Basis: goodBasis, Directory: "traces", Clock: "evc", Accepted: []analysis.Accepted{
		{Finding: bufferFinding(), By: analysis.Baseline},
		{Finding: crossFinding(), By: analysis.Suppression, Reason: "known to the <library>"},
	}}
}

func allSamples() map[string]*analysis.Result {
	out := samples()
	out["accepted"] = acceptedSample()
	return out
}

func TestMachineFormats(t *testing.T) {
	for name, res := range allSamples() {
		for format, suffix := range map[string]string{"sarif": ".sarif", "junit": ".xml", "github": ".github"} {
			t.Run(name+"/"+format, func(t *testing.T) {
				got := render(t, format, res)
				require.Equal(t, string(got), string(render(t, format, res)), "not the same bytes twice")
				golden(t, name+suffix, got)
			})
		}
	}
}

func TestSARIFFollowsThePublishedSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "sarif", "sarif-schema-2.1.0.json"))
	require.NoError(t, err)
	for name, res := range allSamples() {
		t.Run(name, func(t *testing.T) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(render(t, "sarif", res)))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value))
		})
	}
	for _, broken := range []string{`{}`, `{"version":"2.1.0"}`, `{"version":"2.1.0","runs":[{}]}`} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		require.NoError(t, err)
		require.Error(t, schema.Validate(value), broken)
	}
}

// TestFingerprintsAreStable: neither ranks, addresses, counts, the folder nor
// other findings change a finding's fingerprint; the places do.
func TestFingerprintsAreStable(t *testing.T) {
	of := func(fs ...conflicts.Finding) string {
		var log sarifLog
		require.NoError(t, json.Unmarshal(render(t, "sarif", &analysis.Result{Findings: fs}), &log))
		for _, print := range log.Runs[0].Results[0].Fingerprints {
			return print
		}
		return ""
	}
	f := crossFinding()
	want := of(f)
	require.NotEmpty(t, want)
	g := crossFinding()
	g.First, g.Second = g.Second, g.First
	g.First.Rank, g.Second.Rank, g.Owner, g.Ranks = 5, 4, 3, []int{3, 4, 5}
	g.Lo, g.Hi, g.Count, g.Region, g.Window = 128, 136, 77, 9, 12
	require.Equal(t, want, of(g, bufferFinding()))
	g.First.Stack = at("exchange", "/elsewhere/halo.c", 13)
	require.Equal(t, want, of(g))
	g.First.Stack = at("exchange", "/elsewhere/halo.c", 14)
	require.NotEqual(t, want, of(g))
}

// TestFormatsSayTheSame: each format has each finding with its rule, severity,
// message, both places, the reason, what would fix it.
func TestFormatsSayTheSame(t *testing.T) {
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis}
	res.Findings = append(res.Findings, bufferFinding(), crossFinding(), atomicFinding())
	res.Findings = append(res.Findings, usageFindings()...)
	for i := range res.Findings { // texts that tell whose they are
		f := &res.Findings[i]
		f.Why = fmt.Sprintf("reason <%d>", i)
		f.Fixes = []conflicts.Fix{{Kind: conflicts.FixMove, Text: fmt.Sprintf("change A%d", i)}, {Kind: conflicts.FixOther, Text: fmt.Sprintf("change B%d", i)}}
	}
	said := map[string][]string{
		"text": textBlocks(t, res), "json": jsonBlocks(t, res), "sarif": sarifBlocks(t, res),
		"junit": junitBlocks(t, res), "github": githubBlocks(t, res), "html": htmlBlocks(t, res),
	}
	for format, blocks := range said {
		require.Len(t, blocks, len(res.Findings), format)
		for i := range res.Findings {
			f := &res.Findings[i]
			lead, other := explain.Sides(f)
			wants := []string{f.Rule, string(f.Severity), Message(f), f.Why, f.Fixes[0].Text, f.Fixes[1].Text, second(f, lead)}
			if format == "json" { // which has the parts of what the others say
				wants = wants[:6]
			} else {
				wants = append(wants, stackPlace(lead.Stack, "/home/u/src"))
			}
			if !f.Alone() && format != "json" {
				wants = append(wants, stackPlace(other.Stack, "/home/u/src"), second(f, other))
			}
			block := ""
			for _, b := range blocks {
				if strings.Contains(b, f.Why) {
					block = b
				}
			}
			for _, want := range wants {
				if format == "text" && want == second(f, lead) {
					continue // it is in the message
				}
				require.Contains(t, block, want, "%s, finding %d", format, i)
			}
		}
	}
}

func textBlocks(t *testing.T, res *analysis.Result) []string {
	blocks := strings.Split(string(render(t, "text", res)), "\n\n")
	blocks = blocks[:len(blocks)-1] // the last is the verdict
	if n := len(blocks) - 1; n >= 0 && strings.Contains(blocks[n], " problems:\n") {
		blocks = blocks[:n]
	}
	return blocks
}

func jsonBlocks(t *testing.T, res *analysis.Result) []string {
	var doc struct{ Findings []json.RawMessage }
	require.NoError(t, json.Unmarshal(render(t, "json", res), &doc))
	var out []string
	for _, f := range doc.Findings {
		out = append(out, string(f))
	}
	return out
}

func sarifBlocks(t *testing.T, res *analysis.Result) []string {
	var log sarifLog
	require.NoError(t, json.Unmarshal(render(t, "sarif", res), &log))
	var out []string
	for i := range log.Runs[0].Results {
		r := &log.Runs[0].Results[i]
		var b strings.Builder
		fmt.Fprintln(&b, r.RuleID, r.Level, r.Message.Text)
		require.Equal(t, r.RuleID, log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID)
		for _, l := range append(r.Locations, r.Related...) {
			place := l.Message.Text
			if l.Physical != nil {
				place += " " + fmt.Sprintf("%s:%d", l.Physical.Artifact.URI, l.Physical.Region.Line)
			}
			fmt.Fprintln(&b, place)
		}
		for _, s := range r.Stacks {
			fmt.Fprintln(&b, s.Message.Text, s.Frames[0].Location.Message.Text)
		}
		fmt.Fprintln(&b, r.Properties.Why, r.Properties.Fixes)
		out = append(out, b.String())
	}
	return out
}

func junitBlocks(t *testing.T, res *analysis.Result) []string {
	var doc junitSuites
	require.NoError(t, xml.Unmarshal(render(t, "junit", res), &doc))
	var out []string
	failed := 0
	for _, c := range doc.Suites[0].Cases {
		text := c.Output
		if c.Failure != nil {
			text = string(conflicts.Error) + c.Failure.Message + c.Failure.Text
			failed++
		} else if c.Name != "verdict" {
			text = string(conflicts.Warning) + text
		}
		if c.Name != "verdict" {
			out = append(out, c.Class+" "+c.Name+" "+text)
		}
	}
	require.Equal(t, doc.Suites[0].Failures, failed)
	require.Equal(t, doc.Suites[0].Tests, len(doc.Suites[0].Cases))
	return out
}

func githubBlocks(t *testing.T, res *analysis.Result) []string {
	var out []string
	few := *res
	for len(few.Findings) > 0 { // more than GitHub shows
		n := min(len(few.Findings), maxAnnotations)
		part := few
		part.Findings = few.Findings[:n]
		few.Findings = few.Findings[n:]
		for _, line := range strings.Split(string(render(t, "github", &part)), "\n") {
			if strings.HasPrefix(line, "::") {
				out = append(out, strings.NewReplacer("%0A", "\n", "%25", "%").Replace(line))
			}
		}
	}
	return out
}

func TestGitHubShowsTen(t *testing.T) {
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis}
	for i := range 12 {
		f := crossFinding()
		f.First.Stack = at("exchange", "/home/u/src/halo.c", 20+i)
		res.Findings = append(res.Findings, f)
	}
	res.Findings = append(res.Findings, atomicFinding())
	got := string(render(t, "github", res))
	require.Equal(t, maxAnnotations, strings.Count(got, "::error "))
	require.Equal(t, 1, strings.Count(got, "::warning "))
	require.Contains(t, got, "mcchk: 2 more errors")
}

// TestStrangeTexts: what a program's names and sources may hold breaks no format.
func TestStrangeTexts(t *testing.T) {
	f := crossFinding()
	f.First.Stack = at("operator<[]>(a, b)", "/home/u/src/dir, with: 100% ]odd[ & <names>.c", 12)
	f.Why = "a \x01 control, an invalid \xff byte, \"quotes\"\nand a new line"
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Program: "./a&b\x02", Findings: []conflicts.Finding{f}}
	require.NoError(t, xml.Unmarshal(render(t, "junit", res), new(junitSuites)))
	require.True(t, json.Valid(render(t, "json", res)))
	require.True(t, json.Valid(render(t, "sarif", res)))
	require.Contains(t, string(render(t, "sarif", res)), "./dir,%20with:%20100%25%20%5Dodd%5B%20&%20%3Cnames%3E.c")
	line, _, _ := strings.Cut(string(render(t, "github", res)), "\n")
	require.Contains(t, line, "file=dir%2C with%3A 100%25 ]odd[ & <names>.c,line=12")
	require.Contains(t, line, "and a new line")
}

func TestMarksAndWraps(t *testing.T) {
	tests := []struct {
		name, source, call string
		column, want       int
		ok                 bool
	}{
		{"column", "    total += halo;", "", 14, 9, true},
		{"column after a tab and an umlaut", "\tä = b;", "", 7, 4, true},
		{"call without a column", "  if (MPI_Put(x))", "MPI_Put", 0, 4, true},
		{"nothing known", "  x = 1;", "", 0, 0, false},
		{"call on another line", "  &x, 1,", "MPI_Put", 0, 0, false},
		{"column in the indentation", "    x = 1;", "", 2, 0, false},
		{"column past the line: the source changed", "x", "", 9, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			at, ok := caret(test.source, test.column, test.call)
			require.Equal(t, test.ok, ok)
			require.Equal(t, test.want, at)
		})
	}
	require.Equal(t, []string{"move the load", "(line 12) after", "MPI_Win_fence"}, wrapped("move the load (line 12) after MPI_Win_fence", 17))
	require.Equal(t, []string{""}, wrapped("", 10))
}

func TestSamePairOfLinesIsShownOnce(t *testing.T) {
	a := crossFinding()
	a.First.Stack, a.Second.Stack = bufferFinding().First.Stack, bufferFinding().Second.Stack
	b := a
	b.Rule = conflicts.RuleAtomicOp
	var buf bytes.Buffer
	require.NoError(t, Text(&buf, with(&analysis.Result{Findings: []conflicts.Finding{a, b}, Basis: goodBasis}, source), Options{}))
	require.Equal(t, 1, strings.Count(buf.String(), "| total += halo"))
	require.Contains(t, buf.String(), "the same two places as above")
}

// A long report ends with a list, and tells the first problems only in full.
func TestLongTextReport(t *testing.T) {
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Directory: "traces", Clock: "evc"}
	add := func(n int) string {
		for range n {
			f := crossFinding()
			f.First.Stack = slices.Clone(f.First.Stack)
			f.First.Stack[0].Line += len(res.Findings)
			res.Findings = append(res.Findings, f)
		}
		return string(render(t, "text", res))
	}
	require.NotContains(t, add(mostAtSight), "problems:")
	text := add(1)
	require.Contains(t, text, "\n6 problems:\n    #1  halo.c:12: error: MPI_Put by rank 1")
	require.Contains(t, text, "\n    #6  halo.c:17: error: MPI_Put by rank 1")
	text = add(mostInFull)
	require.Equal(t, mostInFull, strings.Count(text, "\n    why "))
	require.Contains(t, text, "\n   #56  halo.c:67: error: ")
	require.Contains(t, text, "The first 50 are told in full above")
}

// Findings that one change would remove are told together.
func TestProblemInEveryFormat(t *testing.T) {
	barrier := conflicts.Turn{SyncPoint: conflicts.SyncPoint{Call: "MPI_Barrier", Stack: crossFinding().First.Stack}}
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Directory: "traces", Clock: "evc"}
	for i := range 3 {
		f := crossFinding()
		f.Began = 0
		f.First.Before, f.Second.Before = barrier, barrier
		f.First.Stack = slices.Clone(f.First.Stack)
		f.First.Stack[0].Line += 100 + i
		res.Findings = append(res.Findings, f)
	}
	text := string(render(t, "text", res))
	require.Equal(t, 1, strings.Count(text, "\n    why "))
	require.Contains(t, text, "also")
	require.Equal(t, 2, strings.Count(text, "[MC101]")-1)
	require.Contains(t, text, "race (3 errors, in 1 problem)")

	// What no fix of the first removes has its own, once.
	fix := func(text string, removes ...int) []conflicts.Fix {
		return []conflicts.Fix{{Text: text, Trial: conflicts.Trial{Tried: removes != nil, Removes: removes}}}
	}
	for _, x := range []struct {
		lead, others []conflicts.Fix
		want         int
	}{
		{fix("wait", 0), fix("flush"), 1},
		{fix("wait", 0, 1, 2), fix("flush"), 0},
		{fix("wait"), fix("flush"), 0}, // whether it removes them is not known
		{fix("wait", 0), fix("wait"), 0},
	} {
		res.Findings[0].Fixes, res.Findings[1].Fixes, res.Findings[2].Fixes = x.lead, x.others, x.others
		text := string(render(t, "text", res))
		require.Equal(t, x.want, strings.Count(text, "; fix: "), text)
	}
	for i := range res.Findings {
		res.Findings[i].Fixes = nil
	}

	var report struct {
		Problems []struct{ Findings []int }
		Findings []any
	}
	require.NoError(t, json.Unmarshal(render(t, "json", res), &report))
	require.Len(t, report.Problems, 1)
	require.Equal(t, []int{1, 2, 3}, report.Problems[0].Findings)
	require.Len(t, report.Findings, 3)

	var log struct {
		Runs []struct {
			Results []struct{ RelatedLocations []any }
		}
	}
	require.NoError(t, json.Unmarshal(render(t, "sarif", res), &log))
	require.Len(t, log.Runs[0].Results, 1)
	require.Len(t, log.Runs[0].Results[0].RelatedLocations, 3, "the other access, and two findings")

	junit := string(render(t, "junit", res))
	require.Equal(t, 1, strings.Count(junit, "<failure"))
	require.Equal(t, 2, strings.Count(junit, "Of the same problem:"))
	annotations := string(render(t, "github", res))
	require.Equal(t, 1, strings.Count(annotations, "::error "))
	require.Contains(t, annotations, "%0A%0AOf the same problem:%0A#2 ")
	require.Equal(t, 3, strings.Count(annotations, "[MC101]"))
}

// TestAlikeInOneLine: findings of a problem that are about the same two places are one line, with
// a count.
func TestAlikeInOneLine(t *testing.T) {
	barrier := conflicts.Turn{SyncPoint: conflicts.SyncPoint{Call: "MPI_Barrier", Stack: crossFinding().First.Stack}}
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Directory: "traces", Clock: "evc"}
	for i := range 14 {
		f := crossFinding()
		f.Began = 0
		f.First.Before, f.Second.Before = barrier, barrier
		f.First.Stack = slices.Clone(f.First.Stack)
		if f.First.Stack[0].Line += 100; i == 4 {
			f.First.Stack[0].Line++
		}
		f.First.Stack[len(f.First.Stack)-1].Offset += uint64(i) // on another call path
		res.Findings = append(res.Findings, f)
	}
	text := strings.Join(strings.Fields(string(render(t, "text", res))), " ")
	require.Equal(t, 2, strings.Count(text, "[MC101]"), "the first, and the one elsewhere")
	require.Contains(t, text, "the same places on another call path (and 11 more at the same places: #3, #4, #6, #7, #8, #9, #10, #11, …) - #5 ")
	require.Contains(t, text, "race (14 errors, in 1 problem)")
	annotations := string(render(t, "github", res))
	require.Contains(t, annotations, "[MC101] (and 11 more at the same places: #3, #4, #6, #7, #8, #9, #10, #11, …)%0A#5 ")
}
