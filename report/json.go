package report

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// jsonVersion changes when a field is removed or changes its meaning. New
// fields do not change it.
const jsonVersion = 1

// JSON writes a result as one JSON object, described by
// docs/report.schema.json. Findings keep the order of the result.
func JSON(w io.Writer, res *analysis.Result) error {
	c := Count(res)
	out := jsonReport{
		Version:   jsonVersion,
		Verdict:   string(res.Verdict),
		Directory: res.Directory,
		Program:   res.Program,
		Began:     beganJSON(res),
		Library:   res.Library,
		Run:       res.Run,
		Clock:     res.Clock,
		Summary:   jsonSummary(c),
		Basis:     jsonBasis(res.Basis),
		Problems:  []jsonProblem{},
		Caveats:   []jsonCaveat{},
		Findings:  []jsonFinding{},
	}
	for _, r := range res.Runs {
		out.Runs = append(out.Runs, jsonRun{string(r.Verdict), r.Directory, beganJSON(r), r.Run})
	}
	for _, p := range problems.Of(res.Findings) {
		out.Problems = append(out.Problems, problemToJSON(&p))
	}
	for _, d := range res.Caveats {
		out.Caveats = append(out.Caveats, jsonCaveat{string(d.Kind), list(d.Ranks), d.Count, d.Text})
	}
	for _, d := range res.Allowed {
		out.Allowed = append(out.Allowed, jsonCaveat{string(d.Kind), list(d.Ranks), d.Count, d.Text})
	}
	findings := longList{"findings", len(res.Findings), func(i int) any { return findingToJSON(&res.Findings[i], res.Sources) }}
	lists := []longList{findings}
	if len(res.Accepted) > 0 {
		out.Accepted = &[]jsonAccepted{}
		lists = append(lists, longList{"accepted", len(res.Accepted), func(i int) any {
			a := &res.Accepted[i]
			return jsonAccepted{string(a.By), a.Reason, findingToJSON(&a.Finding, res.Sources)}
		}})
	}
	if err := writeLong(w, out, lists...); err != nil {
		return fmt.Errorf("write JSON report: %w", err)
	}
	return nil
}

// beganJSON is when the run began, by RFC 3339.
func beganJSON(res *analysis.Result) string {
	if res.Began.IsZero() {
		return ""
	}
	return res.Began.UTC().Format(time.RFC3339)
}

type jsonReport struct {
	Version   int           `json:"version"`
	Verdict   string        `json:"verdict"`
	Directory string        `json:"directory"`
	Program   string        `json:"program,omitempty"`
	Began     string        `json:"began,omitempty"`
	Library   string        `json:"library,omitempty"`
	Run       string        `json:"run,omitempty"`
	Runs      []jsonRun     `json:"runs,omitempty"` // where there are several
	Clock     string        `json:"clock,omitempty"`
	Summary   jsonSummary   `json:"summary"`
	Basis     jsonBasis     `json:"basis"`
	Problems  []jsonProblem `json:"problems"`
	Caveats   []jsonCaveat  `json:"doubts"`
	Allowed   []jsonCaveat  `json:"allowed,omitempty"` // unseen parts
	// The elements of these come later.
	Findings []jsonFinding   `json:"findings"`
	Accepted *[]jsonAccepted `json:"accepted,omitempty"`
}

// jsonRun is one of several runs.
type jsonRun struct {
	Verdict   string `json:"verdict"`
	Directory string `json:"directory"`
	Began     string `json:"began,omitempty"`
	Run       string `json:"run,omitempty"`
}

// jsonRuns is in which of them a finding was found.
type jsonRuns struct {
	Found  int      `json:"found"`
	Of     int      `json:"of"`
	Counts []uint64 `json:"counts"`
	Shown  int      `json:"shown"`
}

func runsToJSON(r *conflicts.Runs) *jsonRuns {
	if r.Counts == nil {
		return nil
	}
	return &jsonRuns{r.Of(), len(r.Counts), r.Counts, r.Shown + 1}
}

// jsonProblem is findings that one change would remove together: their numbers from 1
// in the order of the report, first the one to read first.
type jsonProblem struct {
	Findings []int `json:"findings"`
}

func problemToJSON(p *problems.Problem) jsonProblem {
	var out jsonProblem
	for _, i := range p.Findings {
		out.Findings = append(out.Findings, i+1)
	}
	return out
}

// jsonAccepted is a finding that does not count.
type jsonAccepted struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	jsonFinding
}

type jsonSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// jsonBasis has the fields of analysis.Basis in the same order.
type jsonBasis struct {
	Ranks       int    `json:"ranks"`
	RanksInRun  int    `json:"ranks_in_run"`
	Ended       int    `json:"ended_ranks"`
	Model       string `json:"model,omitempty"`
	Windows     int    `json:"windows"`
	Regions     int    `json:"concurrent_regions"`
	Calls       uint64 `json:"calls"`
	Operations  uint64 `json:"one_sided_operations"`
	Loads       uint64 `json:"loads"`
	Stores      uint64 `json:"stores"`
	Accesses    uint64 `json:"accesses"`
	LostCalls   uint64 `json:"lost_calls"`
	LostAccess  uint64 `json:"lost_accesses"`
	Instruments uint64 `json:"instrumented_units"`
	Preloaded   bool   `json:"preloaded,omitempty"`
}

type jsonCaveat struct {
	Kind  string `json:"kind"`
	Ranks []int  `json:"ranks"`
	Count uint64 `json:"count,omitempty"`
	Text  string `json:"text"`
}

type jsonFinding struct {
	Rule     string       `json:"rule"`
	Title    string       `json:"title"`
	Severity string       `json:"severity"`
	Class    string       `json:"class"`
	Print    string       `json:"fingerprint"`
	Message  string       `json:"message"`
	First    jsonSide     `json:"first"`
	Second   *jsonSide    `json:"second,omitempty"`
	Lead     string       `json:"lead"`
	Memory   jsonMemory   `json:"memory"`
	Region   int          `json:"region"`
	Why      string       `json:"why"`
	Fix      string       `json:"fix"`
	Mend     string       `json:"mend"` // the same, under the name that it had at first
	Began    string       `json:"began"`
	Sought   []jsonSought `json:"sought"`
	Fixes    []jsonFix    `json:"fixes"`
	Mends    []jsonFix    `json:"mends"` // the same
	Count    uint64       `json:"count"`
	Ranks    []int        `json:"ranks"`
	Runs     *jsonRuns    `json:"runs,omitempty"`
}

// jsonMemory: bytes [lo, hi) of the window's memory of the owner, or
// addresses when window is 0; both 0 when the finding is about no bytes.
type jsonMemory struct {
	Owner      int           `json:"owner"`
	Window     int64         `json:"window"`
	WindowName string        `json:"window_name,omitempty"`
	Number     int           `json:"window_number,omitempty"`
	Lo         uint64        `json:"lo"`
	Hi         uint64        `json:"hi"`
	Variable   *jsonVariable `json:"variable,omitempty"`
	Block      *jsonBlock    `json:"block,omitempty"`
}

// jsonBlock is the allocated memory that the bytes lie in.
type jsonBlock struct {
	Name   string      `json:"name,omitempty"`
	Size   uint64      `json:"size"`
	Offset uint64      `json:"offset"`
	Stack  []jsonFrame `json:"stack"`
}

// jsonVariable is the variable that the bytes lie in.
type jsonVariable struct {
	Name   string `json:"name"`
	Func   string `json:"func,omitempty"` // the function that it is seen in; none of a global one
	Static bool   `json:"static,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

func memoryToJSON(f *conflicts.Finding) jsonMemory {
	m := jsonMemory{Owner: f.Owner, Window: f.Window, WindowName: f.WinName, Number: f.WinNumber, Lo: f.Lo, Hi: f.Hi}
	if b := f.Block; b.Size > 0 {
		m.Block = &jsonBlock{b.Name, b.Size, b.At, framesToJSON(b.Stack)}
	}
	if v := f.Variable; v.Name != "" {
		m.Variable = &jsonVariable{v.Name, v.Func, v.Static, v.File, v.Line}
	}
	return m
}

type jsonSide struct {
	Rank    int         `json:"rank"`
	Strand  uint32      `json:"strand"`
	Call    string      `json:"call,omitempty"`
	Role    string      `json:"role"`
	Write   bool        `json:"write"`
	Atomic  bool        `json:"atomic"`
	Op      string      `json:"op,omitempty"`
	Type    string      `json:"type,omitempty"`
	Epoch   string      `json:"epoch,omitempty"`
	Locks   []jsonLock  `json:"locks,omitempty"`
	Pending bool        `json:"pending"`
	Started *jsonSync   `json:"started,omitempty"`
	Next    *jsonSync   `json:"next,omitempty"`
	Made    *jsonSync   `json:"made,omitempty"`
	Done    *jsonSync   `json:"done,omitempty"`
	Heard   *jsonSync   `json:"heard,omitempty"`
	Stack   []jsonFrame `json:"stack"`
}

type jsonSought struct {
	Kind  string    `json:"kind"`
	Text  string    `json:"text"`
	From  *jsonSync `json:"from,omitempty"`
	Found *jsonSync `json:"found,omitempty"`
}

type jsonFix struct {
	Kind    string     `json:"kind"`
	Text    string     `json:"text"`
	At      *jsonSync  `json:"at,omitempty"`
	Steps   []jsonStep `json:"steps,omitempty"`
	Tried   bool       `json:"tried"`
	Untried string     `json:"untried,omitempty"`
	Removes []int      `json:"removes,omitempty"`
}

type jsonStep struct {
	Do    string    `json:"do"`
	Calls []string  `json:"calls,omitempty"`
	At    *jsonSync `json:"at,omitempty"`
	To    *jsonSync `json:"to,omitempty"`
	Near  string    `json:"near,omitempty"`
}

type jsonLock struct {
	Exclusive bool   `json:"exclusive"`
	NoCheck   bool   `json:"nocheck,omitempty"`
	Target    int    `json:"target"`
	Window    int64  `json:"window"`
	WinName   string `json:"window_name,omitempty"`
}

type jsonSync struct {
	Call  string      `json:"call"`
	Rank  int         `json:"rank"`
	Stack []jsonFrame `json:"stack"`
}

type jsonFrame struct {
	Func    string `json:"func,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Module  string `json:"module,omitempty"`
	Offset  string `json:"offset,omitempty"`
	Inlined bool   `json:"inlined"`
	Reason  string `json:"reason,omitempty"`
	Layer   string `json:"layer,omitempty"`
}

func findingToJSON(f *conflicts.Finding, lines *sources.Reader) jsonFinding {
	rule, _ := models.Lookup(f.Rule)
	fixes := fixesToJSON(f)
	out := jsonFinding{
		Rule:     f.Rule,
		Title:    rule.Title,
		Severity: string(f.Severity),
		Class:    string(f.Class),
		Print:    fingerprint.Of(f, lines).Hash(),
		Message:  Message(f),
		First:    sideToJSON(&f.First),
		Lead:     "first",
		Memory:   memoryToJSON(f),
		Region:   f.Region,
		Why:      f.Why,
		Fix:      f.Fix(),
		Mend:     f.Fix(),
		Began:    [...]string{"either", "first", "second"}[f.Began],
		Sought:   soughtToJSON(f),
		Fixes:    fixes,
		Mends:    fixes,
		Count:    f.Count,
		Ranks:    list(f.Ranks),
		Runs:     runsToJSON(&f.Runs),
	}
	if lead, _ := explain.Sides(f); lead == &f.Second {
		out.Lead = "second"
	}
	if !f.Alone() {
		second := sideToJSON(&f.Second)
		out.Second = &second
	}
	return out
}

func soughtToJSON(f *conflicts.Finding) []jsonSought {
	out := []jsonSought{}
	for _, q := range f.Sought {
		out = append(out, jsonSought{string(q.Kind), q.Text, syncToJSON(q.From), syncToJSON(q.Found)})
	}
	return out
}

func fixesToJSON(f *conflicts.Finding) []jsonFix {
	out := []jsonFix{}
	for _, m := range f.Fixes {
		fix := jsonFix{Kind: string(m.Kind), Text: m.Text, At: syncToJSON(m.At), Tried: m.Trial.Tried, Untried: m.Trial.Untried}
		for i := range m.Steps {
			step := &m.Steps[i]
			fix.Steps = append(fix.Steps, jsonStep{string(step.Do), step.Calls, syncToJSON(step.At), syncToJSON(step.To), string(step.Near)})
		}
		for _, i := range m.Trial.Removes {
			fix.Removes = append(fix.Removes, i+1)
		}
		out = append(out, fix)
	}
	return out
}

func sideToJSON(s *conflicts.Side) jsonSide {
	out := jsonSide{
		Rank: s.Rank, Strand: s.Thread, Call: s.Call, Role: s.Role,
		Write: s.Write, Atomic: s.Atomic, Op: s.Op, Type: s.Type,
		Epoch: string(s.Epoch), Pending: s.Pending,
		Made: syncToJSON(s.Made), Started: syncToJSON(s.Started), Next: syncToJSON(s.Next), Done: syncToJSON(s.Done), Heard: syncToJSON(s.Heard),
		Stack: framesToJSON(s.Stack),
	}
	for _, l := range s.Locks {
		out.Locks = append(out.Locks, jsonLock{Exclusive: l.Exclusive, NoCheck: l.Void, Target: l.Target, Window: l.Window, WinName: l.WinName})
	}
	return out
}

func syncToJSON(p conflicts.SyncPoint) *jsonSync {
	if p.Call == "" {
		return nil
	}
	return &jsonSync{cmp.Or(p.Language(), p.Call), p.Rank, framesToJSON(p.Stack)}
}

func framesToJSON(frames []symbols.Frame) []jsonFrame {
	out := []jsonFrame{}
	for _, f := range frames {
		jf := jsonFrame{Func: f.Func, File: f.File, Line: f.Line, Column: f.Column, Module: f.Module, Inlined: f.Inlined, Reason: f.Reason, Layer: string(f.Layer)}
		if f.Module != "" {
			jf.Offset = fmt.Sprintf("0x%x", f.Offset)
		}
		out = append(out, jf)
	}
	return out
}

// list makes an absent list an empty one.
func list(ranks []int) []int {
	if ranks == nil {
		return []int{}
	}
	return ranks
}
