package report

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
	sourceRoot   = "%SRCROOT%" // what relative paths are relative to
)

// SARIF writes a result as one run of the Static Analysis Results Interchange
// Format, version 2.1.0. A problem is a result, that of the finding to read first:
// its place is the access that a report speaks of first, the other is a related
// location; both have their call stack, and a code flow with a thread flow for each
// process, from the synchronization before the access to what completes it. The other
// findings of the problem are related locations. Findings that package gate took out
// are results too, one by one, marked as suppressed.
func SARIF(w io.Writer, res *analysis.Result, opts Options) error {
	s := &sarifWriter{opts: opts, sources: res.Sources, ruleAt: map[string]int{}}
	run := sarifRun{
		Results:     []sarifResult{},
		ColumnKind:  "utf16CodeUnits",
		BaseIDs:     map[string]sarifArtifact{sourceRoot: {Description: &sarifMessage{Text: "the directory in which mcchk wrote the report"}}},
		Properties:  sarifRunProperties{Verdict: string(res.Verdict), Run: res.Run, Program: res.Program, Library: res.Library, Basis: jsonBasis(res.Basis)},
		Invocations: []sarifInvocation{{Successful: true, Notifications: []sarifNotification{}}},
	}
	run.Tool.Driver = sarifDriver{Name: "mcchk", Version: opts.Version, FullName: "mcchk, a checker for memory consistency errors in MPI one-sided programs"}
	for i, r := range models.Rules() {
		s.ruleAt[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(r))
	}
	for _, d := range res.Caveats {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{
			Level: "warning", Message: sarifMessage{Text: d.Text}, Properties: sarifCaveat{string(d.Kind), list(d.Ranks), d.Count},
		})
	}
	for _, d := range res.Allowed {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{
			Level: "note", Message: sarifMessage{Text: d.Text}, Properties: sarifCaveat{string(d.Kind), list(d.Ranks), d.Count},
		})
	}
	all := problems.Of(res.Findings)
	results := longList{"results", len(all) + len(res.Accepted), func(i int) any {
		if i < len(all) {
			r := s.result(&res.Findings[all[i].Lead()])
			for _, k := range all[i].Findings[1:] {
				s.relate(&r, &res.Findings[k])
			}
			return r
		}
		a := &res.Accepted[i-len(all)]
		r := s.result(&a.Finding)
		r.Suppressions = []sarifSuppression{{Kind: "external", Justification: a.Reason}}
		if a.By == analysis.Baseline {
			r.BaselineState = "unchanged"
			r.Suppressions[0].Justification = cmp.Or(a.Reason, "known when the baseline was written")
		}
		return r
	}}
	if err := writeLong(w, sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}, results); err != nil {
		return fmt.Errorf("write SARIF report: %w", err)
	}
	return nil
}

type sarifWriter struct {
	opts    Options
	sources *sources.Reader
	ruleAt  map[string]int
}

func sarifLevel(s conflicts.Severity) string { return string(s) } // error, warning, note: SARIF has the same words

func sarifRuleOf(r conflicts.Rule) sarifRule {
	return sarifRule{
		ID: r.ID, Short: sarifMessage{Text: r.Title}, Full: sarifMessage{Text: r.Text},
		Help: sarifHelp{
			Text: fmt.Sprintf("%s\n\nWrong:\n%s\n\nRight:\n%s\n\n%s", r.Text, r.Wrong, r.Right, r.Fix),
			Markdown: fmt.Sprintf("%s\n\nWrong:\n\n```c\n%s\n```\n\nRight:\n\n```c\n%s\n```\n\n%s",
				r.Text, r.Wrong, r.Right, r.Fix),
		},
		Default: sarifDefault{Level: sarifLevel(r.Severity)},
	}
}

func (s *sarifWriter) result(f *conflicts.Finding) sarifResult {
	lead, other := explain.Sides(f)
	r := sarifResult{
		RuleID: f.Rule, RuleIndex: s.ruleAt[f.Rule], Level: sarifLevel(f.Severity),
		Message:      sarifMessage{Text: s.message(f, other)},
		Locations:    []sarifLocation{s.location(lead.Stack, second(f, lead))},
		Stacks:       []sarifStack{s.stack(f, lead)},
		CodeFlows:    []sarifCodeFlow{{Message: sarifMessage{Text: f.Why}, ThreadFlows: []sarifThreadFlow{s.flow("1", f, lead)}}},
		Fingerprints: map[string]string{fingerprint.Name: fingerprint.Of(f, s.sources).Hash()},
		Occurrences:  f.Count,
		Properties: sarifProperties{
			Class: string(f.Class), Memory: memoryToJSON(f), Region: f.Region, Ranks: list(f.Ranks), Runs: runsToJSON(&f.Runs),
			Why: f.Why, Sought: soughtToJSON(f), Fixes: fixesToJSON(f),
		},
	}
	if !f.Alone() {
		related := s.location(other.Stack, second(f, other))
		related.ID = 1
		r.Related = []sarifLocation{related}
		r.Stacks = append(r.Stacks, s.stack(f, other))
		r.CodeFlows[0].ThreadFlows = append(r.CodeFlows[0].ThreadFlows, s.flow("2", f, other))
	}
	return r
}

// relate adds another finding of the same problem to a result.
func (s *sarifWriter) relate(r *sarifResult, f *conflicts.Finding) {
	lead, _ := explain.Sides(f)
	l := s.location(lead.Stack, "of the same problem: "+Message(f)+" ["+f.Rule+"]"+runsBehind(f))
	l.ID = len(r.Related) + 1
	r.Related = append(r.Related, l)
}

// message is all that a viewer shows at the first place: what, the other place
// as a link, why, and what would fix it.
func (s *sarifWriter) message(f *conflicts.Finding, other *conflicts.Side) string {
	text := Message(f)
	if !f.Alone() {
		escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)
		text = fmt.Sprintf("%s. The other: [%s](1), %s", text, escape.Replace(second(f, other)), stackPlace(other.Stack, s.opts.Dir))
	}
	text += runsBehind(f) + ". Why: " + f.Why
	for _, fix := range fixTexts(f.Fixes) {
		text += ". Fix: " + fix
	}
	return text + "."
}

// flow is what one process does around its access.
func (s *sarifWriter) flow(id string, f *conflicts.Finding, side *conflicts.Side) sarifThreadFlow {
	flow := sarifThreadFlow{ID: id, Message: &sarifMessage{Text: models.Terms(f).Who(side)}}
	step := func(stack []symbols.Frame, importance, format string, args ...any) {
		flow.Locations = append(flow.Locations, sarifStep{Location: s.location(stack, fmt.Sprintf(format, args...)), Importance: importance})
	}
	if p := side.Started; p.Call != "" {
		step(p.Stack, "important", "%s: the last synchronization before", p.Call)
	}
	step(side.Stack, "essential", "%s", models.What(side))
	if p := side.Done; p.Call != "" {
		word := "the next synchronization"
		if side.Pending {
			word = "completes it"
		}
		step(p.Stack, "important", "%s: %s", p.Call, word)
	}
	return flow
}

func (s *sarifWriter) stack(of *conflicts.Finding, side *conflicts.Side) sarifStack {
	out := sarifStack{Message: sarifMessage{Text: second(of, side)}, Frames: []sarifFrame{}}
	for _, f := range side.Stack {
		out.Frames = append(out.Frames, sarifFrame{Location: s.frame(f, place(f, s.opts.Dir)), Module: module(f)})
	}
	return out
}

// module is the name of a program or library, without its folder.
func module(f symbols.Frame) string {
	if f.Module == "" {
		return ""
	}
	return filepath.Base(f.Module)
}

func (s *sarifWriter) location(stack []symbols.Frame, text string) sarifLocation {
	f, _ := symbols.Here(stack)
	return s.frame(f, text)
}

func (s *sarifWriter) frame(f symbols.Frame, text string) sarifLocation {
	out := sarifLocation{Message: &sarifMessage{Text: text}}
	if f.Func != "" {
		out.Logical = []sarifLogical{{Name: f.Func, Kind: "function"}}
	}
	if f.File == "" {
		return out
	}
	out.Physical = &sarifPhysical{Artifact: artifact(f.File, s.opts.Dir)}
	if f.Line > 0 {
		out.Physical.Region = &sarifRegion{Line: f.Line, Column: f.Column}
	}
	return out
}

// artifact is a file as SARIF names it: below dir relative to it, elsewhere as
// a file: URI.
func artifact(path, dir string) sarifArtifact {
	rel := relative(path, dir)
	if filepath.IsAbs(rel) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(rel)}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(rel)}).String(), BaseID: sourceRoot}
}
