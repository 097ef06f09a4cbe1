package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fatih/color"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/symbols"
)

// Text writes a result for people: one block a finding, sorted by place (those
// without a known source last), then
// what the verdict does not rest on, and the verdict as the last line.
func Text(w io.Writer, res *analysis.Result, opts Options) error {
	bw := bufio.NewWriter(w)
	t := &textWriter{w: bw, opts: opts, paint: newPalette(opts.Color), sources: map[string][]string{}}
	findings := make([]*conflicts.Finding, len(res.Findings))
	for i := range res.Findings {
		findings[i] = &res.Findings[i]
	}
	slices.SortStableFunc(findings, byPlace)
	for _, f := range findings {
		t.finding(f)
	}
	t.basis(res)
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write text report: %w", err)
	}
	return nil
}

// palette holds the colours of one writer: fatih/color's own switch is decided
// once for the whole process, by standard output.
type palette struct {
	err, warning, note, good, strong, faint *color.Color
}

func newPalette(on bool) palette {
	with := func(attrs ...color.Attribute) *color.Color {
		c := color.New(attrs...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return palette{
		err:     with(color.FgRed, color.Bold),
		warning: with(color.FgYellow, color.Bold),
		note:    with(color.FgCyan, color.Bold),
		good:    with(color.FgGreen, color.Bold),
		strong:  with(color.Bold),
		faint:   with(color.Faint),
	}
}

func (p *palette) severity(s conflicts.Severity) *color.Color {
	switch s {
	case conflicts.Error:
		return p.err
	case conflicts.Warning:
		return p.warning
	}
	return p.note
}

// textWriter writes to a bufio.Writer, whose first error stays until Flush.
type textWriter struct {
	w       *bufio.Writer
	opts    Options
	paint   palette
	sources map[string][]string // lines of the source files read so far
}

func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

func (t *textWriter) finding(f *conflicts.Finding) {
	lead, other := sides(f)
	t.line("%s %s %s [%s]", t.paint.strong.Sprint(stackPlace(lead.Stack, t.opts.Dir)+":"),
		t.paint.severity(f.Severity).Sprintf("%s:", f.Severity), Message(f), f.Rule)
	t.excerpt(lead.Stack)
	if !f.Alone() {
		t.line("    %s %s", t.paint.strong.Sprint(stackPlace(other.Stack, t.opts.Dir)+":"), second(other))
		if compareStacks(lead.Stack, other.Stack) != 0 {
			t.excerpt(other.Stack)
		}
	}

	var rows [][2]string
	add := func(label, text string) {
		if text != "" {
			rows = append(rows, [2]string{label, text})
		}
	}
	if f.HasBytes() {
		add("memory", memory(f))
	} else {
		add("window", f.WinName)
	}
	for _, s := range []*conflicts.Side{lead, other} {
		add(short(s), t.span(f, s))
		if stack := t.stack(s.Stack); stack != "" {
			add("", "stack: "+stack)
		}
	}
	add("why", f.Why)
	add("mend", f.Mend())
	if f.Count > 1 || len(f.Ranks) > 2 {
		add("seen", plural(f.Count, "time")+", in "+ranksOf(f.Ranks))
	}
	t.rows(rows)
	t.line("")
}

// short is the label of an access's row.
func short(s *conflicts.Side) string { return cmp.Or(s.Call, s.Role) }

// rows writes labelled lines with the texts aligned.
func (t *textWriter) rows(rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		t.line("    %s  %s", t.paint.faint.Sprintf("%-*s", width, r[0]), r[1])
	}
}

// span says when an access takes place: epoch, the synchronization before it,
// and what completes or follows it.
func (t *textWriter) span(f *conflicts.Finding, s *conflicts.Side) string {
	if s.Role == "" {
		return ""
	}
	parts := []string{who(s)}
	switch {
	case s.Epoch != "":
		parts = append(parts, s.Epoch+" epoch")
	case s.Call != "" && !isBuffer(s) && f.Class != conflicts.Usage:
		parts = append(parts, "in no epoch")
	}
	if s.Started.Call != "" {
		parts = append(parts, "after "+t.sync(s, &s.Started))
	}
	switch {
	case s.Pending && s.Done.Call == "" && f.Rule == conflicts.RuleMemoryGone:
		parts = append(parts, "not complete by then")
	case s.Pending && s.Done.Call == "":
		parts = append(parts, "never completed")
	case s.Pending:
		parts = append(parts, "completed by "+t.sync(s, &s.Done))
	case s.Done.Call != "" && (s.Done.Call != s.Call || compareStacks(s.Done.Stack, s.Stack) != 0): // not the call itself
		parts = append(parts, "before "+t.sync(s, &s.Done))
	}
	return strings.Join(parts, ", ")
}

// sync names a call by its place, in the access's own file by the line alone.
func (t *textWriter) sync(s *conflicts.Side, p *conflicts.SyncPoint) string {
	there, ok := symbols.Here(p.Stack)
	if !ok {
		return p.Call
	}
	if here, _ := symbols.Here(s.Stack); there.File != "" && there.File == here.File {
		return fmt.Sprintf("%s (line %d)", p.Call, there.Line)
	}
	return p.Call + " (" + place(there, t.opts.Dir) + ")"
}

// stack writes a call stack on one line, innermost first, and why a source
// line is missing.
func (t *textWriter) stack(frames []symbols.Frame) string {
	var parts []string
	reason := ""
	here, _ := symbols.Here(frames)
	for i, f := range frames {
		if i > 0 && f.File == "" && f.Func == "" {
			continue
		}
		if f.File == "" && reason == "" {
			reason = f.Reason
		}
		s := place(f, t.opts.Dir)
		if f.Func != "" && f.File != "" {
			if f.File == here.File { // its path stands above
				s = filepath.Base(s)
			}
			s = f.Func + " (" + s + ")"
		}
		parts = append(parts, s)
		if f.Func == "main" || f.Func == "MAIN__" {
			break
		}
	}
	s := strings.Join(parts, " < ")
	if reason != "" {
		s += "; no line: " + reason
	}
	return s
}

// excerpt shows the source line of a place, when it can be read.
func (t *textWriter) excerpt(stack []symbols.Frame) {
	f, ok := symbols.Here(stack)
	if !ok || f.File == "" || f.Line < 1 || t.opts.ReadFile == nil {
		return
	}
	lines, known := t.sources[f.File]
	if !known {
		if data, err := t.opts.ReadFile(f.File); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		t.sources[f.File] = lines
	}
	if f.Line > len(lines) {
		return
	}
	text := printable(strings.TrimSpace(lines[f.Line-1]))
	if text != "" {
		t.line("  %s %s", t.paint.faint.Sprintf("%6d |", f.Line), text)
	}
}

// maxExcerpt bounds the bytes of a source line that is shown.
const maxExcerpt = 160

// printable cuts a long line, and replaces what would disturb a terminal.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "?")
	runes := []rune(s)
	if len(runes) > maxExcerpt {
		runes = append(runes[:maxExcerpt], '…')
	}
	for i, r := range runes {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			runes[i] = ' '
		}
	}
	return string(runes)
}

// basis writes the doubts and the verdict.
func (t *textWriter) basis(res *analysis.Result) {
	b := &res.Basis
	if b.Loads+b.Stores == 0 && b.Ranks >= b.RanksInRun { // with ranks missing, little of the others is read
		switch {
		case b.Ended == 0: // how many parts are instrumented is said at the end
			t.line("%s no loads or stores were recorded before the run came to its end.", t.paint.note.Sprint("note:"))
		case b.Instruments == 0:
			t.line("%s no loads or stores of the program were recorded, so only MPI calls were compared with one another.",
				t.paint.warning.Sprint("WARNING:"))
			t.line("         Was the program compiled and linked with `mcchk cc`? `mcchk doctor PROGRAM` says.")
		default:
			t.line("%s no loads or stores were recorded: the code compiled with `mcchk cc` touched neither window memory nor", t.paint.note.Sprint("note:"))
			t.line("      buffers of pending operations. If it should have, `mcchk doctor PROGRAM` lists the parts compiled otherwise.")
		}
	}
	for _, d := range res.Doubts {
		ranks := ""
		if len(d.Ranks) > 0 {
			ranks = " [" + ranksOf(d.Ranks) + "]"
		}
		t.line("%s %s%s", t.paint.warning.Sprint("doubt:"), d.Text, ranks)
	}
	t.line("%s: %s", t.verdict(res), foundation(b))
}

func ranksOf(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + Ranks(ranks)
	}
	return "ranks " + Ranks(ranks)
}

func (t *textWriter) verdict(res *analysis.Result) string {
	c := Count(res)
	var counts []string
	for _, n := range []struct {
		n    int
		noun string
	}{{c.Errors, "error"}, {c.Warnings, "warning"}, {c.Notes, "note"}} {
		if n.n > 0 {
			counts = append(counts, plural(n.n, n.noun))
		}
	}
	if n := len(res.Accepted); n > 0 {
		counts = append(counts, fmt.Sprintf("%d accepted", n))
	}
	text := string(res.Verdict)
	if len(counts) > 0 {
		text += " (" + strings.Join(counts, ", ") + ")"
	}
	switch {
	case res.Verdict == analysis.Race, res.Verdict == analysis.Misuse:
		return t.paint.err.Sprint(text)
	case res.Verdict == analysis.NoRace && len(counts) == 0:
		return t.paint.good.Sprint(text)
	}
	return t.paint.warning.Sprint(text)
}

// foundation says what a verdict rests on.
func foundation(b *analysis.Basis) string {
	ranks := plural(b.Ranks, "rank")
	if b.RanksInRun > b.Ranks {
		ranks = fmt.Sprintf("%d of %d ranks", b.Ranks, b.RanksInRun)
	}
	lost := "nothing lost"
	if b.LostCalls+b.LostAccess > 0 {
		lost = fmt.Sprintf("LOST %s and %s", plural(b.LostCalls, "call"), plural(b.LostAccess, "access"))
	}
	return strings.Join([]string{
		ranks, plural(b.Windows, "window"), plural(b.Operations, "one-sided operation"),
		plural(b.Loads, "load"), plural(b.Stores, "store"), plural(b.Regions, "concurrent region"), lost,
	}, ", ")
}
