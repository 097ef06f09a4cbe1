package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/symbols"
)

// maxAnnotations is how many annotations of each kind GitHub shows for a step.
const maxAnnotations = 10

// GitHub writes a result as workflow commands, which GitHub Actions turns into
// annotations of the source: one a problem, ten of a severity, then a line with
// the number of the others. An undecided result is a warning without a place.
func GitHub(w io.Writer, res *analysis.Result, opts Options) error {
	bw := bufio.NewWriter(w)
	shown := map[conflicts.Severity]int{}
	for _, p := range problems.Of(res.Findings) {
		severity := res.Findings[p.Lead()].Severity
		if shown[severity]++; shown[severity] <= maxAnnotations {
			annotate(bw, res, p, opts)
		}
	}
	for _, s := range []conflicts.Severity{conflicts.Error, conflicts.Warning, conflicts.Note} {
		if more := shown[s] - maxAnnotations; more > 0 {
			fmt.Fprintf(bw, "mcchk: %s, for which GitHub shows no annotations; the text report has all\n", plural(more, "more "+string(s)))
		}
	}
	if res.Verdict == analysis.Undecided {
		for _, d := range res.Caveats {
			fmt.Fprintf(bw, "::warning title=mcchk is undecided::%s\n", commandText(d.Text))
		}
	}
	for _, d := range res.Allowed {
		fmt.Fprintf(bw, "mcchk: %s\n", d.Text)
	}
	fmt.Fprintf(bw, "mcchk: %s: %s\n", Verdict(res), foundation(res))
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write GitHub annotations: %w", err)
	}
	return nil
}

// annotate places a problem at its first finding, and lists the others.
func annotate(w io.Writer, res *analysis.Result, p problems.Problem, opts Options) {
	f := &res.Findings[p.Lead()]
	kind := string(f.Severity)
	if f.Severity == conflicts.Note {
		kind = "notice"
	}
	lead, _ := explain.Sides(f)
	var properties []string
	if file, line := fileLine(lead, opts.Dir); file != "" {
		properties = append(properties, "file="+commandValue(file))
		if line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", line))
		}
		if here, _ := symbols.Here(lead.Stack); here.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", here.Column))
		}
	}
	var text strings.Builder
	text.WriteString(plainFinding(res, p.Lead(), opts))
	for n, all := range alike(res, p.Findings[1:], opts.Dir) {
		if n == 0 {
			text.WriteString("\n\nOf the same problem:")
		}
		other := &res.Findings[all[0]]
		at, _ := explain.Sides(other)
		fmt.Fprintf(&text, "\n#%d %s: %s [%s]%s", all[0]+1, stackPlace(at.Stack, opts.Dir), Message(other), other.Rule, andMore(all[1:]))
	}
	rule, _ := models.Lookup(f.Rule)
	properties = append(properties, "title="+commandValue(f.Rule+": "+rule.Title))
	fmt.Fprintf(w, "::%s %s::%s\n", kind, strings.Join(properties, ","), commandText(text.String()))
}

// commandText escapes the text of a workflow command.
func commandText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// commandValue escapes the value of a property of a workflow command.
func commandValue(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
