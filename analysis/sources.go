package analysis

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/sources"
	"github.com/mcchk/mcchk/symbols"
)

// beganAt is a moment of evidence as a time; zero for 0.
func beganAt(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// keptText returns the source text that was kept with the traces; nil where none
// was. Where it cannot be read, that becomes a warning.
func (r *run) keptText(e *evidence) *sources.Stored {
	text, err := readBeside(r.dir, sources.FileName, sources.ReadStored)
	if err != nil {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the stored source text cannot be read, and source lines are taken from the files as they are now: %v", err))
	}
	return text
}

// showSources gives a result the lines of its source places, and warns of files
// that are not what they were.
func (res *Result) showSources(text *sources.Reader) {
	res.Sources = text
	told := map[string]bool{}
	for i := range res.Findings {
		if b := &res.Findings[i].Block; len(b.Stack) > 0 {
			here, _ := symbols.Here(b.Stack)
			b.Name = allocated(res.Sources.Line(here.File, here.Line))
		}
		for _, s := range []*conflicts.Side{&res.Findings[i].First, &res.Findings[i].Second} {
			for _, f := range slices.Concat(symbols.Path(s.Stack), symbols.Path(s.Made.Stack)) {
				if f.File == "" || told[f.File] {
					continue
				}
				told[f.File] = true
				switch {
				case res.Sources.Changed(f.File):
					res.Warnings = append(res.Warnings, fmt.Sprintf("%s has changed since the run: its lines are shown as they were then", f.File))
				case !res.Began.IsZero() && res.Sources.Newer(f.File, res.Began):
					res.Warnings = append(res.Warnings, fmt.Sprintf("%s is newer than the run, and its text was not kept with the traces: its lines may be others than those that ran", f.File))
				}
			}
		}
	}
}
