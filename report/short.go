package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/explain"
	"github.com/mcchk/mcchk/problems"
)

// Line is a finding in one line, as Short begins it, without colours: where, how bad, what
// and the rule, and where the other access is.
func Line(f *conflicts.Finding, opts Options) string {
	lead, other := explain.Sides(f)
	line := fmt.Sprintf("%s: %s: %s [%s]", stackPlace(lead.Stack, opts.Dir), f.Severity, Message(f), f.Rule)
	if len(other.Stack) > 0 {
		line += fmt.Sprintf(" (%s at %s)", short(other), stackPlace(other.Stack, opts.Dir))
	}
	return line
}

// Short writes a result for people in a hurry: one line a problem, which is that of its
// first finding as Text begins it, with the number and the fingerprint; then what Text
// ends with.
func Short(w io.Writer, res *analysis.Result, opts Options) error {
	bw := bufio.NewWriter(w)
	t := &textWriter{w: bw, opts: opts, paint: newPalette(opts.Color), sources: res.Sources}
	all := problems.Of(res.Findings)
	line := func(p *problems.Problem) (place, message string) {
		f := &res.Findings[p.Lead()]
		lead, _ := explain.Sides(f)
		return stackPlace(lead.Stack, opts.Dir), Message(f)
	}
	alike := map[[2]string]int{}
	for i := range all {
		place, message := line(&all[i])
		alike[[2]string{place, message}]++
	}
	for i := range all {
		p := &all[i]
		f := &res.Findings[p.Lead()]
		place, message := line(p)
		var more []string
		if _, other := explain.Sides(f); alike[[2]string{place, message}] > 1 && len(other.Stack) > 0 {
			more = append(more, short(other)+" at "+stackPlace(other.Stack, opts.Dir))
		}
		if n := len(p.Findings); n > 1 {
			more = append(more, plural(n, "finding"))
		}
		if f.Runs.Counts != nil {
			more = append(more, inRuns(f))
		}
		behind := ""
		if len(more) > 0 {
			behind = " (" + strings.Join(more, ", ") + ")"
		}
		t.line("%s %s %s [%s] %s%s", t.paint.strong.Sprint(place+":"), t.paint.severity(f.Severity).Sprintf("%s:", f.Severity),
			message, f.Rule, t.numbered(p.Lead(), f), behind)
	}
	t.basis(res)
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write short report: %w", err)
	}
	return nil
}
