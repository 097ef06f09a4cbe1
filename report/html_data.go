package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
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

// htmlData is what the script of the page reads. What occurs more than once
// stands in a table, and is named by its index there; texts[0] is "", so that 0
// is no text. The sides, the sought and the fixes of all findings stand one after
// another.
type htmlData struct {
	Texts       []string             `json:"texts"`
	Frames      columns[htmlFrame]   `json:"frames"`
	Stacks      [][]int              `json:"stacks"`
	Syncs       columns[htmlSync]    `json:"syncs"`
	Files       []htmlFile           `json:"files"`
	Windows     []htmlWindow         `json:"windows"`
	Rules       []htmlRule           `json:"rules"`
	Findings    columns[htmlFinding] `json:"findings"`
	Problems    [][]int              `json:"problems"` // findings that belong together, by their index; first the one to read first
	Sides       columns[htmlSide]    `json:"sides"`
	Sought      columns[htmlSought]  `json:"sought"`
	Fixes       columns[htmlFix]     `json:"fixes"`
	Events      map[int]*htmlLattice `json:"events,omitempty"`  // around findings, by their index
	Drawn       int                  `json:"drawn"`             // findings, from the first on, of which events were looked for
	Process     string               `json:"process"`           // what a process is called with its number
	Directories []string             `json:"directories"`       // of traces, by run
	Missing     string               `json:"missing,omitempty"` // why there are no drawings of windows and events
}

// textRef names a text: the index of its form in htmlData.Texts, or, of a text
// with numbers, a list of that index and the numbers, which stand in the form
// as "#". So thousands of findings that differ by their lines share their texts.
type textRef json.RawMessage

func (t textRef) MarshalJSON() ([]byte, error) {
	if len(t) == 0 {
		return []byte("0"), nil
	}
	return t, nil
}

// callRef names a call: its index in htmlData.Syncs, and the number of its
// event. Where there is none it is 0.
type callRef []uint64

func (c callRef) MarshalJSON() ([]byte, error) {
	if len(c) == 0 {
		return []byte("0"), nil
	}
	return json.Marshal([]uint64(c))
}

// bit is 1 or 0.
type bit bool

func (f bit) MarshalJSON() ([]byte, error) {
	if f {
		return []byte("1"), nil
	}
	return []byte("0"), nil
}

type htmlFrame struct {
	Func    textRef `json:"fn"`
	Place   textRef `json:"at"`
	Reason  textRef `json:"why"`
	Inlined bit     `json:"inl"`
}

type htmlSync struct {
	Call  textRef `json:"call"`
	Rank  int     `json:"rank"`
	Place textRef `json:"at"`
	In    textRef `json:"in"` // the function that makes it, where the place is in another
}

// htmlFile is a source file with those of its lines that are shown.
type htmlFile struct {
	Name  textRef           `json:"name"`
	Lines map[string]string `json:"lines,omitempty"` // by number
}

type htmlRule struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Fix   string `json:"fix"`
}

type htmlFinding struct {
	Rule     int     `json:"rule"`
	Severity textRef `json:"sev"`
	Message  textRef `json:"msg"`
	Sides    int     `json:"sides"` // how many; that a report speaks of first comes first
	Memory   textRef `json:"mem"`
	Owner    int     `json:"owner"`
	Window   int     `json:"win"` // index in htmlData.Windows and 1; 0: in none
	Lo       uint64  `json:"lo"`  // bytes, half-open; 0 and 0: none
	Hi       uint64  `json:"hi"`
	Region   int     `json:"region"`
	Why      textRef `json:"why"`
	Began    int     `json:"began"` // 1: the first side starts before the other, 2: the other way round
	Sought   int     `json:"sought"`
	Fixes    int     `json:"fixes"`
	Seen     textRef `json:"seen"`
	Ranks    textRef `json:"ranks"` // "0,4-7"
	Accepted textRef `json:"acc"`
	Print    string  `json:"print"` // the beginning of its fingerprint
	Run      int     `json:"run"`   // index in htmlData.Directories
}

type htmlSide struct {
	Rank    int     `json:"rank"`
	What    textRef `json:"what"`  // "MPI_Put by rank 0"
	Short   textRef `json:"short"` // "MPI_Put"
	Span    textRef `json:"span"`
	Place   textRef `json:"at"`
	Pending bit     `json:"pending"`
	Epoch   textRef `json:"epoch"`
	File    int     `json:"file"` // index in htmlData.Files and 1; 0: not known
	Line    int     `json:"line"`
	Caret   int     `json:"caret"` // rune of the line below which it belongs, from 1
	Stack   int     `json:"stack"`
	Event   uint64  `json:"event"`
	Started callRef `json:"started"`
	Next    callRef `json:"next"`
	Done    callRef `json:"done"`
	Heard   callRef `json:"heard"`
}

type htmlSought struct {
	Kind textRef `json:"kind"`
	Text textRef `json:"text"`
}

type htmlFix struct {
	Kind textRef `json:"kind"`
	Text textRef `json:"text"`
}

// dataWriter makes the page's data.
type dataWriter struct {
	data    htmlData
	opts    Options
	sources *sources.Reader
	runs    int // 0: one
	around  int // lines shown around one that a finding names

	swapped []bool // of the findings whose sides are the other way round than in conflicts.Finding

	texts   map[string]int
	frames  map[symbols.Frame]int
	stacks  map[string]int
	syncs   map[string]int
	files   map[string]int
	windows map[windowKey]int
	rules   map[string]int
}

// windowKey is a window of one of the runs.
type windowKey struct {
	run int
	id  int64
}

// shownPrint is how much of a fingerprint tells findings apart.
const shownPrint = 12

// fewFindings is up to how many findings lines around theirs are shown.
const fewFindings = 1000

func newDataWriter(opts Options, lines *sources.Reader) *dataWriter {
	return &dataWriter{
		opts: opts, sources: lines,
		texts: map[string]int{"": 0}, frames: map[symbols.Frame]int{}, stacks: map[string]int{}, syncs: map[string]int{},
		files: map[string]int{}, windows: map[windowKey]int{}, rules: map[string]int{},
		data: htmlData{
			Texts: []string{""}, Stacks: [][]int{}, Problems: [][]int{}, Files: []htmlFile{}, Windows: []htmlWindow{}, Rules: []htmlRule{},
			Events: map[int]*htmlLattice{},
		},
	}
}

func newHTMLData(res *analysis.Result, opts Options) *htmlData {
	d := newDataWriter(opts, res.Sources)
	d.data.Directories, d.runs = []string{res.Directory}, len(res.Runs)
	d.data.Process = models.TermsOf(res.Basis.Model).Rank
	if d.runs > 0 {
		d.data.Directories = nil
	}
	for _, r := range res.Runs {
		d.data.Directories = append(d.data.Directories, r.Directory)
	}
	if len(res.Findings)+len(res.Accepted) <= fewFindings {
		d.around = 2
	}
	for i := range res.Findings {
		d.data.Findings = append(d.data.Findings, d.finding(&res.Findings[i]))
	}
	for i := range res.Accepted {
		a := &res.Accepted[i]
		f := d.finding(&a.Finding)
		f.Accepted = d.text(acceptedBy(a))
		d.data.Findings = append(d.data.Findings, f)
	}
	for _, p := range problems.Of(res.Findings) {
		d.data.Problems = append(d.data.Problems, p.Findings)
	}
	if res.Pictures != nil {
		d.pictures(res.Pictures)
	} else {
		d.data.Missing = "The traces were not read for drawings."
	}
	return &d.data
}

func acceptedBy(a *analysis.Accepted) string {
	text := "accepted by a suppression"
	if a.By == analysis.Baseline {
		text = "accepted by the baseline"
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}

// finding adds what belongs to a finding, and returns the finding.
func (d *dataWriter) finding(f *conflicts.Finding) htmlFinding {
	lead, other := explain.Sides(f)
	out := htmlFinding{
		Rule: d.rule(f.Rule), Severity: d.text(string(f.Severity)), Message: d.text(Message(f)),
		Sides: 1, Owner: f.Owner, Window: d.window(f), Lo: f.Lo, Hi: f.Hi, Region: f.Region,
		Why: d.text(f.Why), Began: f.Began, Sought: len(f.Sought), Fixes: len(f.Fixes), Ranks: d.text(Ranks(f.Ranks)),
		Print: fingerprint.Of(f, d.sources).Hash()[:shownPrint], Run: f.Runs.Shown,
	}
	d.data.Sides = append(d.data.Sides, d.side(f, lead))
	if !f.Alone() {
		out.Sides = 2
		d.data.Sides = append(d.data.Sides, d.side(f, other))
	}
	swapped := lead != &f.First
	d.swapped = append(d.swapped, swapped)
	if swapped {
		out.Began = [...]int{0, 2, 1}[f.Began]
	}
	if f.HasBytes() {
		out.Memory = d.text(memory(f))
	}
	for _, q := range f.Sought {
		d.data.Sought = append(d.data.Sought, htmlSought{d.text(string(q.Kind)), d.text(q.Text)})
	}
	for i, text := range fixTexts(f.Fixes) {
		d.data.Fixes = append(d.data.Fixes, htmlFix{d.text(string(f.Fixes[i].Kind)), d.text(text)})
	}
	out.Seen = d.text(seen(f))
	return out
}

func (d *dataWriter) side(f *conflicts.Finding, s *conflicts.Side) htmlSide {
	out := htmlSide{
		Rank: s.Rank, What: d.text(second(f, s)), Short: d.text(cmp.Or(s.Call, s.Role)),
		Span: d.text(spanText(f, s)), Place: d.text(stackPlace(s.Stack, d.opts.Dir)),
		Pending: bit(s.Pending), Epoch: d.text(string(s.Epoch)), Stack: d.stack(s.Stack), Event: s.Event,
		Started: d.sync(&s.Started), Next: d.sync(&s.Next), Done: d.sync(&s.Done), Heard: d.sync(&s.Heard),
	}
	if here, _ := symbols.Here(s.Stack); here.File != "" {
		file := d.file(here.File)
		out.File, out.Line = file+1, here.Line
		d.lines(file, here)
		if e, ok := excerptOf(d.sources, s); ok && e.marked && e.line == here.Line {
			out.Caret = e.at + len(indentOf(d.sources.Line(here.File, here.Line))) + 1
		}
	}
	return out
}

func (d *dataWriter) rule(id string) int {
	i, ok := d.rules[id]
	if !ok {
		i = len(d.data.Rules)
		d.rules[id] = i
		r, _ := models.Lookup(id)
		d.data.Rules = append(d.data.Rules, htmlRule{id, r.Title, r.Text, r.Fix})
	}
	return i
}

func (d *dataWriter) window(f *conflicts.Finding) int {
	if f.Window == 0 {
		return 0
	}
	return d.windowIndex(windowKey{f.Runs.Shown, f.Window}, f.WinNumber, windowName(f)) + 1
}

func (d *dataWriter) windowIndex(key windowKey, number int, name string) int {
	i, ok := d.windows[key]
	if !ok {
		i = len(d.data.Windows)
		d.windows[key] = i
		w := htmlWindow{Number: number}
		if d.runs > 0 {
			w.Run = key.run + 1
			name = fmt.Sprintf("%s of run %d", name, w.Run)
		}
		w.Name = d.text(name)
		d.data.Windows = append(d.data.Windows, w)
	}
	return i
}

// numbers are what texts are taken apart at: numbers that a script reads and
// writes as they are.
var numbers = regexp.MustCompile(`0|[1-9][0-9]{0,14}`)

// text puts a text into the table.
func (d *dataWriter) text(s string) textRef {
	if s == "" {
		return nil
	}
	form, values := s, []json.Number(nil)
	if !strings.Contains(s, "#") {
		for _, n := range numbers.FindAllString(s, -1) {
			values = append(values, json.Number(n))
		}
		form = numbers.ReplaceAllString(s, "#")
	}
	i, ok := d.texts[form]
	if !ok {
		i = len(d.data.Texts)
		d.texts[form] = i
		d.data.Texts = append(d.data.Texts, form)
	}
	if values == nil {
		return marshal(i)
	}
	ref := []any{i}
	for _, v := range values {
		ref = append(ref, v)
	}
	return marshal(ref)
}

// marshal encodes numbers and lists of numbers.
func marshal(v any) textRef {
	data, err := json.Marshal(v)
	if err != nil {
		return textRef("null")
	}
	return data
}

func (d *dataWriter) stack(frames []symbols.Frame) int {
	ids := []int{}
	for _, f := range frames {
		ids = append(ids, d.frame(f))
		if f.Func == "main" || f.Func == "MAIN__" {
			break
		}
	}
	key := string(marshal(ids))
	i, ok := d.stacks[key]
	if !ok {
		i = len(d.data.Stacks)
		d.stacks[key] = i
		d.data.Stacks = append(d.data.Stacks, ids)
	}
	return i
}

func (d *dataWriter) frame(f symbols.Frame) int {
	f.Site = false // told where it matters
	i, ok := d.frames[f]
	if !ok {
		i = len(d.data.Frames)
		d.frames[f] = i
		out := htmlFrame{Func: d.text(functionIn(f)), Place: d.text(place(f, d.opts.Dir)), Inlined: bit(f.Inlined)}
		if f.File == "" {
			out.Reason = d.text(f.Reason)
		}
		d.data.Frames = append(d.data.Frames, out)
	}
	return i
}

// sync puts a call into the table.
func (d *dataWriter) sync(p *conflicts.SyncPoint) callRef {
	if p.Call == "" {
		return nil
	}
	site, within, _ := symbols.Site(p.Stack)
	s := htmlSync{d.text(p.Call), p.Rank, d.text(place(site, d.opts.Dir)), d.text(within)}
	key := p.Call + " " + strconv.Itoa(p.Rank) + " " + string(s.Place) + " " + string(s.In)
	i, ok := d.syncs[key]
	if !ok {
		i = len(d.data.Syncs)
		d.syncs[key] = i
		d.data.Syncs = append(d.data.Syncs, s)
	}
	return callRef{uint64(i), p.Event}
}

func (d *dataWriter) file(path string) int {
	i, ok := d.files[path]
	if !ok {
		i = len(d.data.Files)
		d.files[path] = i
		d.data.Files = append(d.data.Files, htmlFile{Name: d.text(relative(path, d.opts.Dir)), Lines: map[string]string{}})
	}
	return i
}

// lines takes the line of a place, and some around it, into the table.
func (d *dataWriter) lines(file int, at symbols.Frame) {
	for n := at.Line - d.around; n <= at.Line+d.around; n++ {
		source := d.sources.Line(at.File, n)
		if text := strings.TrimSpace(source); text != "" {
			d.data.Files[file].Lines[strconv.Itoa(n)] = indentOf(source) + printable(text)
		}
	}
}

// indentOf is the white space that a line begins with, as spaces.
func indentOf(source string) string {
	indent := source[:len(source)-len(strings.TrimLeft(source, " \t\r"))]
	return strings.NewReplacer("\t", "    ", "\r", "").Replace(indent)
}
