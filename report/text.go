package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// Text writes a result for people: one block a problem, with one finding in full and the places of the
// others; then what the verdict does not rest on, and the verdict as the last line.
func Text(w io.Writer, res *analysis.Result, opts Options) error {
	bw := bufio.NewWriter(w)
	t := &textWriter{w: bw, opts: opts, paint: newPalette(opts.Color), sources: res.Sources}
	all := problems.Of(res.Findings)
	var before *conflicts.Finding
	for i := range all[:min(len(all), mostInFull)] {
		before = t.problem(res, &all[i], before)
	}
	t.summary(res, all)
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
	sources *sources.Reader
}

func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// again says what a finding has in common with the one before, which is about the
// same two places, and what tells it from that.
func (t *textWriter) again(f, before *conflicts.Finding) string {
	const same = "the same two places as above"
	lead, other := explain.Sides(f)
	oldLead, oldOther := explain.Sides(before)
	differ := func(a, b []symbols.Frame) bool { return !explain.SamePlace(symbols.Path(a), symbols.Path(b)) }
	through := func(a, b *conflicts.Side) bool { // other objects; memory of its own is accessed through none
		return a.Made.Call != "" && b.Made.Call != "" && differ(a.Made.Stack, b.Made.Stack)
	}
	switch {
	case differ(lead.Stack, oldLead.Stack) || differ(other.Stack, oldOther.Stack):
		return same + ", on other call paths"
	case through(lead, oldLead):
		return same + ", with the " + models.Terms(f).Object + " of " + lead.Made.Call + " at " + shortPlace(f, lead.Made.Stack)
	case through(other, oldOther):
		return same + ", with the " + models.Terms(f).Object + " of " + other.Made.Call + " at " + shortPlace(f, other.Made.Stack)
	}
	return same
}

// problem writes one problem, and returns the finding that it wrote in full. before is
// that of the problem before; nil: this is the first.
func (t *textWriter) problem(res *analysis.Result, p *problems.Problem, before *conflicts.Finding) *conflicts.Finding {
	f := &res.Findings[p.Lead()]
	again := ""
	if before != nil && samePlaces(f, before) {
		again = t.again(f, before)
	}
	t.finding(f, t.numbered(p.Lead(), f), again, t.others(res, p))
	return f
}

// others are lines about the findings of a problem beside its lead: one for all that are about
// the same two places, on other call paths or by other ranks. Where no fix of the lead removes
// them, they have the first of their own.
func (t *textWriter) others(res *analysis.Result, p *problems.Problem) []string {
	var lines []string
	left := len(p.Findings) - 1
	told := fixesTold{lead: res.Findings[p.Lead()].Fixes}
	for i, all := range alike(res, p.Findings, t.opts.Dir) {
		places := t.places
		if i == 0 { // with the lead
			all, places = all[1:], func(f *conflicts.Finding) string {
				return "the same places on another call path" + otherPath(f, &res.Findings[p.Lead()])
			}
		}
		switch {
		case len(all) == 0:
			continue
		case i > mostPlaces:
			return append(lines, fmt.Sprintf("and %d more (the JSON report has all)", left))
		}
		left -= len(all)
		line := "- " + t.numbered(all[0], &res.Findings[all[0]]) + ", " + places(&res.Findings[all[0]]) + andMore(all[1:])
		if fix := told.next(res, all[0]); fix != "" {
			line += "; fix: " + fix
		}
		lines = append(lines, line)
	}
	return lines
}

// otherPath shows the call path of a finding that is another one than that of one which reads alike; ""
// where what differs is not shown.
func otherPath(f, than *conflicts.Finding) string {
	own, others := [2]*conflicts.Side{&f.First, &f.Second}, [2]*conflicts.Side{&than.First, &than.Second}
	for i, s := range own {
		if text := stackText(f, s.Stack); text != "" && text != stackText(than, others[i].Stack) {
			return ": " + text
		}
	}
	return ""
}

// fixesTold are the fixes of a problem that the text has: those of its lead, and others.
type fixesTold struct {
	lead    []conflicts.Fix
	others  []string
	removed []int // the findings that these remove
}

// next returns the first fix of another finding of the problem, if fixes of the lead were tried,
// neither these nor others that the text has remove it; otherwise "".
func (t *fixesTold) next(res *analysis.Result, finding int) string {
	own := res.Findings[finding].Fixes
	tried := func(fix conflicts.Fix) bool { return fix.Trial.Tried }
	if len(own) == 0 || slices.Contains(t.removed, finding) || !slices.ContainsFunc(t.lead, tried) {
		return ""
	}
	for i := range t.lead {
		if t.lead[i].Text == own[0].Text || slices.Contains(t.lead[i].Trial.Removes, finding) {
			return ""
		}
	}
	text := fixTexts(own[:1])[0]
	if slices.Contains(t.others, text) {
		return ""
	}
	t.others, t.removed = append(t.others, text), append(t.removed, own[0].Trial.Removes...)
	return text
}

const (
	mostInFull  = 50 // problems that are told in full
	mostAtSight = 5  // problems that need no summary
)

// summary lists the problems of a long report, a line each.
func (t *textWriter) summary(res *analysis.Result, all []problems.Problem) {
	if len(all) <= mostAtSight {
		return
	}
	t.line("%s", t.paint.strong.Sprintf("%d problems:", len(all)))
	for i := range all {
		f := &res.Findings[all[i].Lead()]
		lead, _ := explain.Sides(f)
		more := ""
		if n := len(all[i].Findings); n > 1 {
			more = fmt.Sprintf(" (%d findings)", n)
		}
		t.line("%6s  %s: %s %s [%s]%s", fmt.Sprintf("#%d", all[i].Lead()+1), stackPlace(lead.Stack, t.opts.Dir), t.paint.severity(f.Severity).Sprintf("%s:", f.Severity), Message(f), f.Rule, more)
	}
	if len(all) > mostInFull {
		t.line("The first %d are told in full above, and all in the HTML and JSON reports.", mostInFull)
	}
	t.line("")
}

// mostPlaces is how many places of a problem are named beside those of the first finding.
const mostPlaces = 20

// places is a finding in one line.
func (t *textWriter) places(f *conflicts.Finding) string {
	lead, other := explain.Sides(f)
	text := stackPlace(lead.Stack, t.opts.Dir) + ": " + Message(f)
	if !f.Alone() {
		text += ", " + stackPlace(other.Stack, t.opts.Dir)
	}
	return text + " [" + f.Rule + "]"
}

// numbered is the number of a finding and the beginning of its fingerprint.
func (t *textWriter) numbered(i int, f *conflicts.Finding) string {
	return fmt.Sprintf("#%d %s", i+1, fingerprint.Of(f, t.sources).Hash()[:shownPrint])
}

// finding writes one finding; others are those of the same problem, a line each. again, if
// not "", says that the finding before is about the same two places, whose source need not
// be shown once more.
func (t *textWriter) finding(f *conflicts.Finding, number, again string, others []string) {
	lead, other := explain.Sides(f)
	t.line("%s %s %s [%s]", t.paint.strong.Sprint(stackPlace(lead.Stack, t.opts.Dir)+":"),
		t.paint.severity(f.Severity).Sprintf("%s:", f.Severity), Message(f), f.Rule)
	if again == "" {
		t.excerpt(lead)
	}
	if !f.Alone() {
		t.line("    %s %s", t.paint.strong.Sprint(stackPlace(other.Stack, t.opts.Dir)+":"), second(f, other))
		if again == "" && compareStacks(lead.Stack, other.Stack) != 0 {
			t.excerpt(other)
		}
	}
	if again != "" {
		t.line("    %s", t.paint.faint.Sprint("("+again+")"))
	}

	var rows []row
	add := func(label, text string, wrap bool) {
		if text != "" {
			rows = append(rows, row{label, text, wrap})
		}
	}
	if f.HasBytes() {
		add("memory", memory(f), true)
	} else {
		add(models.Terms(f).Object, f.WinName, false)
	}
	for _, s := range []*conflicts.Side{lead, other} {
		add(short(s), spanText(f, s), false)
		if stack := stackText(f, s.Stack); stack != "" {
			add("", "stack: "+stack, false)
		}
	}
	add("why", f.Why, true)
	for i, q := range f.Sought {
		add(label("looked for", i), "- "+q.Text, true)
	}
	fixes, more := fixesShown(f)
	for i, text := range fixTexts(fixes) {
		if i > 0 {
			text = "or " + text
		}
		add(label("fix", i), text, true)
	}
	if more > 0 {
		add("", fmt.Sprintf("or one of %d others, in the reports of --format html and json", more), true)
	}
	add("seen", seen(f), false)
	add("finding", number, false)
	for i, text := range others {
		if i == 0 {
			add("also", "of the same problem:", false)
		}
		add("", text, true)
	}
	t.rows(rows)
	t.line("")
}

// mostFixes is how many fixes the text has of a conflict between threads of several
// processes, for which there are many, beside those that are of no kind.
const mostFixes = 3

// fixesShown returns the fixes of a finding that the text has, and how many others there are.
func fixesShown(f *conflicts.Finding) (shown []conflicts.Fix, more int) {
	if f.First.Rank == f.Second.Rank || f.First.Thread == 0 && f.Second.Thread == 0 {
		return f.Fixes, 0
	}
	for i, m := range f.Fixes {
		if i < mostFixes || m.Kind == conflicts.FixOther {
			shown = append(shown, m)
		}
	}
	if more = len(f.Fixes) - len(shown); more == 1 {
		return f.Fixes, 0
	}
	return shown, more
}

// label is that of the first of several rows; the others have none.
func label(text string, i int) string {
	if i > 0 {
		return ""
	}
	return text
}

// short is the label of an access's row.
func short(s *conflicts.Side) string { return cmp.Or(s.Call, s.Role) }

// row is a line with a label; wrap allows to break it.
type row struct {
	label, text string
	wrap        bool
}

// textWidth is where sentences are broken.
const textWidth = 116

// rows writes labelled lines with the texts aligned.
func (t *textWriter) rows(rows []row) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r.label))
	}
	for _, r := range rows {
		lines := []string{r.text}
		if r.wrap {
			lines = wrapped(r.text, textWidth-width-6)
		}
		for i, text := range lines {
			if i > 0 && strings.HasPrefix(r.text, "- ") {
				text = "  " + text
			}
			t.line("    %s  %s", t.paint.faint.Sprintf("%-*s", width, label(r.label, i)), text)
		}
	}
}

// wrapped breaks a text between words so that no line has more runes than width,
// if no word has. A place, "(line 12)", is not broken.
func wrapped(text string, width int) []string {
	var lines []string
	line, runes := "", 0
	words := strings.Split(text, " ")
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "(line" && i+1 < len(words) {
			i++
			word += " " + words[i]
		}
		n := utf8.RuneCountInString(word)
		if line != "" && runes+1+n > width {
			lines, line, runes = append(lines, line), "", 0
		}
		if line != "" {
			line, runes = line+" ", runes+1
		}
		line, runes = line+word, runes+n
	}
	return append(lines, line)
}

// basis writes the caveats and the verdict.
func (t *textWriter) basis(res *analysis.Result) {
	if label, text := silence(res); label != "" {
		paint := t.paint.note
		if label == silenceWarning {
			paint = t.paint.warning
		}
		for i, line := range strings.Split(text, "\n") {
			if i == 0 {
				t.line("%s %s", paint.Sprint(label+":"), line)
			} else {
				t.line("%*s%s", len(label)+2, "", line)
			}
		}
	}
	for _, d := range res.Caveats {
		t.line("%s %s%s", t.paint.warning.Sprint("caveat:"), d.Text, ranksBehind(res, d.Ranks))
	}
	for _, d := range res.Allowed {
		t.line("%s %s%s", t.paint.note.Sprint("note:"), d.Text, ranksBehind(res, d.Ranks))
	}
	if !res.Began.IsZero() {
		t.line("%s", t.paint.faint.Sprint(runsOf(res)+" of "+relative(cmp.Or(res.Program, res.Directory), t.opts.Dir)+" that began "+began(res)))
	}
	t.line("%s: %s", t.verdict(res), foundation(res))
}

// ranksBehind names the processes that a caveat concerns, behind its text.
func ranksBehind(res *analysis.Result, ranks []int) string {
	if len(ranks) == 0 {
		return ""
	}
	return " [" + ranksOf(res, ranks) + "]"
}

// runsOf names the run, or the runs.
func runsOf(res *analysis.Result) string {
	if len(res.Runs) == 0 {
		return "the run"
	}
	return fmt.Sprintf("the %d runs", len(res.Runs))
}

// began is when the run began, or when the runs did.
func began(res *analysis.Result) string {
	const layout = "2006-01-02 15:04:05 UTC"
	if n := len(res.Runs); n > 0 && !res.Runs[n-1].Began.IsZero() {
		return "between " + res.Began.UTC().Format(layout) + " and " + res.Runs[n-1].Began.UTC().Format(layout)
	}
	return "on " + res.Began.UTC().Format(layout)
}

const silenceWarning = "WARNING"

// silence says what it means that no loads or stores were recorded, in lines,
// and how grave it is; "" where some were.
func silence(res *analysis.Result) (label, text string) {
	b := &res.Basis
	switch {
	case b.Loads+b.Stores > 0 || b.Ranks < b.RanksInRun: // with ranks missing, little of the others is read
		return "", ""
	case b.Preloaded, b.LostAccess > 0: // a caveat says it
		return "", ""
	case b.Ended == 0: // how many parts are instrumented is said at the end
		return "note", "no loads or stores were recorded before the run broke off."
	case b.Instruments > 0 && len(res.Findings) > 0: // what calls access is all that they need
		return "", ""
	case b.Instruments == 0:
		return silenceWarning, "no loads or stores of the program were recorded, so only MPI calls were compared with one another.\n" +
			"Was the program compiled and linked with `mcchk cc`? Check with `mcchk doctor PROGRAM`."
	}
	return "note", "no loads or stores were recorded: the code compiled with `mcchk cc` touched neither window memory nor\n" +
		"buffers of pending operations. If it should have, `mcchk doctor PROGRAM` lists the parts not compiled with it."
}

// seen says how often there was what a finding is, and where; "" where that goes
// without saying.
func seen(f *conflicts.Finding) string {
	switch {
	case f.Runs.Counts != nil:
		return inRuns(f) + " (" + timesInRuns(f.Runs.Counts) + "), in " + seenBy(f)
	case f.Count > 1 || len(f.Ranks) > 2:
		return plural(f.Count, "time") + ", in " + seenBy(f)
	}
	return ""
}

// seenBy names the processes that a finding was seen in.
func seenBy(f *conflicts.Finding) string { return numbered(models.Terms(f).Rank, f.Ranks) }

// ranksOf names processes as the model of the run does.
func ranksOf(res *analysis.Result, ranks []int) string {
	return numbered(models.TermsOf(res.Basis.Model).Rank, ranks)
}

// numbered names processes by what they are called and their numbers: "ranks 0,4-7".
func numbered(word string, ranks []int) string {
	if len(ranks) == 1 {
		return word + " " + Ranks(ranks)
	}
	return word + "s " + Ranks(ranks)
}

// verdict is the verdict in its colour.
func (t *textWriter) verdict(res *analysis.Result) string {
	text := Verdict(res)
	switch {
	case res.Verdict == analysis.Race, res.Verdict == analysis.Misuse:
		return t.paint.err.Sprint(text)
	case res.Verdict == analysis.NoRace && len(res.Findings) == 0:
		return t.paint.good.Sprint(text)
	}
	return t.paint.warning.Sprint(text)
}

// Verdict names the verdict of a result with the number of its findings.
func Verdict(res *analysis.Result) string {
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
	unseen := uint64(0)
	for _, d := range res.Allowed {
		unseen += d.Count
	}
	if unseen > 0 {
		counts = append(counts, plural(unseen, "part")+" unseen")
	}
	if n := len(problems.Of(res.Findings)); n < len(res.Findings) {
		counts = append(counts, "in "+plural(n, "problem"))
	}
	if len(counts) == 0 {
		return string(res.Verdict)
	}
	return string(res.Verdict) + " (" + strings.Join(counts, ", ") + ")"
}

// foundation says what a verdict rests on.
func foundation(res *analysis.Result) string {
	b := &res.Basis
	terms := models.TermsOf(b.Model)
	ranks := plural(b.Ranks, terms.Rank)
	if b.RanksInRun > b.Ranks {
		ranks = fmt.Sprintf("%d of %s", b.Ranks, plural(b.RanksInRun, terms.Rank))
	}
	lost := "nothing lost"
	if b.LostCalls+b.LostAccess > 0 {
		lost = fmt.Sprintf("LOST %s and %s", plural(b.LostCalls, "call"), plural(b.LostAccess, "access"))
	}
	if cut := b.Ranks - b.Ended; cut > 0 {
		if res.Interrupted {
			lost += " of what was analysed"
		} else {
			lost += fmt.Sprintf(" before the traces of %s end, what they did last may be", plural(cut, terms.Rank))
		}
	}
	windows := plural(b.Windows, terms.Counted)
	if n := len(res.Runs); n > 0 {
		ranks, windows = fmt.Sprintf("%d runs of %s", n, ranks), "in all "+windows
	}
	return strings.Join([]string{
		ranks, windows, plural(b.Operations, "one-sided operation"),
		plural(b.Loads, "load"), plural(b.Stores, "store"), plural(b.Regions, "concurrent region"), lost,
	}, ", ")
}
